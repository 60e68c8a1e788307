//! What is remembered between the calls of one session.

mod guard;
mod ledger;

pub use guard::{
    Asked, Done, FileState, Guard, Level, Moment, Policy, RULES, Rule, Verdict, is_exploration,
};
pub use ledger::{Ledger, Staleness, Unread};
