//! What agents meet: tool forms, dialects, MCP, hooks, the guard and the agent.

mod snapshots;
mod tools;
