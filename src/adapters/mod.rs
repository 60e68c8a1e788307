//! Interfaces and backends that need a library of their own. Nothing below depends on them.

#[cfg(feature = "cli")]
pub mod formatter;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "llm")]
pub mod openai;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "syntax")]
pub mod syntax;
