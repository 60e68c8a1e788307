//! The state of one session, kept between its calls.

#[cfg(feature = "mcp")]
mod answer_tracker;
mod guard;
mod ledger;

#[cfg(feature = "mcp")]
pub(crate) use answer_tracker::{AnswerTracker, Received};
#[cfg(all(feature = "mcp", unix))]
pub(crate) use answer_tracker::{FULL_PIPE, bytes_received};
pub(crate) use guard::Guard;
pub(crate) use guard::{CallOutcome, FileHash, GuardPolicy, GuardVerdict, GuardedCall};
pub use ledger::SeenAnswers;
pub(crate) use ledger::{AnswerCount, CallId, Ledger, NumberingBasis, VersionRef, numbering_basis};
