//! What agents meet: tool forms, dialects, MCP, hooks, the guard and the agent.

mod agent;
mod clients;
mod hints;
mod hooks;
#[cfg(unix)]
mod http_access;
mod interfaces;
pub(crate) mod mcp;
mod server;
mod sessions;
mod snapshots;
mod tools;
mod turns;
mod worktree;
