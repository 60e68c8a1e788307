//! restitch applies the edit a language model meant, or refuses with a reason that
//! makes the next call succeed. It is never silently wrong.
//!
//! The modules stand in the order in which an edit flows through them.

pub mod text;

pub mod language;

pub mod edit;

pub mod matching;

pub mod patch;

pub mod line_edit;

pub mod hashline;

pub mod reading;

#[cfg(feature = "search")]
pub mod search;

pub mod port;

pub mod resolve;

pub mod correct;

pub mod store;

pub mod session;

pub mod engine;

pub mod tools;

pub mod hook;

pub mod agent;

pub mod adapters;

#[cfg(feature = "harness")]
pub mod harness;

#[cfg(feature = "cli")]
pub mod cli;
