//! What is remembered between the calls of one session.

mod guard;
#[cfg(feature = "mcp")]
mod hearing;
mod ledger;

pub use guard::{
    Asked, Done, FileState, Guard, Level, Moment, Policy, RULES, Rule, Verdict, is_exploration,
};
#[cfg(all(feature = "mcp", unix))]
pub(crate) use hearing::{FULL, received};
#[cfg(feature = "mcp")]
pub(crate) use hearing::{Hearing, Received};
pub use ledger::{Answers, Heard, Ledger, Unread};
pub(crate) use ledger::{At, Basis, CallId, basis};
