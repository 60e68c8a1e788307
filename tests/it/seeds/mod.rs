//! The five seeds, requirement by requirement: [`table`] names a test for each, and the tests for those
//! that had none are here.

mod first_hour;
mod guard;
mod line_tools;
mod offered;
mod table;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The binary in a folder, with a state folder beside what it edits and no model.
fn binary(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command
        .current_dir(root)
        .env("RESTITCH_STATE_DIR", root.join(".state"))
        .env_remove("RESTITCH_CONFIG")
        .env_remove("RESTITCH_CLIENT")
        .env_remove("RESTITCH_MODEL")
        .env_remove("OPENAI_API_KEY");
    command
}

/// A session with the MCP server on stdio, by a client of this name.
struct Server {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    id: u64,
}

impl Server {
    fn start(root: &Path, flags: &[&str], client: &str) -> Self {
        let mut child = binary(root)
            .arg("mcp")
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let to = child.stdin.take().expect("piped");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        let mut server = Self { child, to, from, id: 0 };
        server.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": client, "version": "1" },
            }),
        );
        let started = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(server.to, "{started}").expect("written");
        server
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        writeln!(self.to, "{request}").expect("written");
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).expect("read"), 0, "the server ended");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["id"] == self.id {
                return message["result"].clone();
            }
        }
    }

    /// The text of the answer to a call, and whether it is marked as an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let text = answer["content"][0]["text"].as_str().expect("text").to_owned();
        (text, answer["isError"] == true)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
