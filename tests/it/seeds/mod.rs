//! What sessions of agents need, as they meet it: first hour, guard, what is offered.

mod first_hour;
mod guard;
mod offered;

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::client::Client;

/// The binary in a folder, with a state folder beside what it edits and no model.
fn binary(root: &Path) -> Command {
    let mut command = crate::sandbox::binary();
    command.current_dir(root).env("RESTITCH_STATE_DIR", root.join(".state"));
    command
}

/// A session with the MCP server on stdio, by a client of this name.
fn server(root: &Path, flags: &[&str], client: &str) -> Client {
    Client::session_of(client, json!({}), binary(root), flags)
}
