//! What is remembered between the calls of one session.

mod guard;
#[cfg(feature = "mcp")]
mod hearing;
mod ledger;

pub(crate) use guard::Guard;
pub(crate) use guard::{Asked, Done, FileState, GuardVerdict, Policy};
#[cfg(all(feature = "mcp", unix))]
pub(crate) use hearing::{FULL, received};
#[cfg(feature = "mcp")]
pub(crate) use hearing::{Hearing, Received};
pub use ledger::Heard;
pub(crate) use ledger::{Answers, At, Basis, CallId, Ledger, Unread, basis};
