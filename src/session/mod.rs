//! The state of one session, kept between its calls.

mod guard;
mod ledger;

pub(crate) use guard::Guard;
pub(crate) use guard::{CallOutcome, FileHash, GuardPolicy, GuardVerdict, GuardedCall};
pub(crate) use ledger::Ledger;
