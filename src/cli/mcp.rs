//! `restitch mcp`: the tools as an MCP server.

use super::args::{Common, McpArgs};
use super::exit::Exit;
use super::settings;
use crate::adapters::mcp;
use crate::session::Policy;

pub(crate) async fn run(common: &Common, args: McpArgs) -> Exit {
    let mut toolbox = match settings::toolbox(common) {
        Ok(toolbox) => toolbox,
        Err(exit) => return exit,
    };
    toolbox = match args.guard.as_deref() {
        None => toolbox,
        Some("soft") => toolbox.guarded(Policy::soft()),
        Some(_) => toolbox.guarded(Policy::strict()),
    };
    match mcp::serve_stdio(toolbox).await {
        Ok(()) => Exit::Done,
        Err(message) => Exit::fault(message),
    }
}
