//! What sessions of agents need, as they meet it: first hour, line tools, guard, what is offered.

mod first_hour;
mod guard;
mod line_tools;
mod offered;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::hostile::Client;

/// The binary in a folder, with a state folder beside what it edits and no model.
fn binary(root: &Path) -> Command {
    let mut command = crate::sandbox::binary();
    command.current_dir(root).env("RESTITCH_STATE_DIR", root.join(".state"));
    command
}

/// A session with the MCP server on stdio, by a client of this name.
struct Server {
    client: Client,
    id: u64,
}

impl Server {
    fn start(root: &Path, flags: &[&str], client: &str) -> Self {
        let mut command = binary(root);
        command.arg("mcp").args(flags).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = Self { client: Client::start(command), id: 0 };
        server.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": client, "version": "1" },
            }),
        );
        server.client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        self.client
            .send(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }));
        self.client.answer(&self.id.into(), Duration::from_secs(60))["result"].take()
    }

    /// The text of the answer to a call, and whether it is marked as an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let text = answer["content"][0]["text"].as_str().expect("text").to_owned();
        (text, answer["isError"] == true)
    }
}
