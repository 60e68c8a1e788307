//! Interfaces and backends that each need an external library. No other module of the core
//! depends on them.

#[cfg(feature = "cli")]
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "llm")]
pub mod openai;
#[cfg(feature = "syntax")]
pub mod syntax {
    //! The parsers for the [`Syntax`](crate::port::Syntax) port.

    pub use crate::syntax::TreeSitter;
}
