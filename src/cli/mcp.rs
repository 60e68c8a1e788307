//! `restitch mcp`: the tools as an MCP server.

use super::args::{Common, McpArgs};
use super::exit::Exit;
use super::settings;
use crate::adapters::mcp;

pub(crate) async fn run(common: &Common, _args: McpArgs) -> Exit {
    let toolbox = match settings::toolbox(common) {
        Ok(toolbox) => toolbox,
        Err(exit) => return exit,
    };
    match mcp::serve_stdio(toolbox).await {
        Ok(()) => Exit::Done,
        Err(message) => Exit::fault(message),
    }
}
