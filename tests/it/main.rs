//! Integration tests: the real binary and the public library, one link step.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "clippy knows tests by their attribute, and helpers of tests have none"
)]

mod agents;
#[cfg(unix)]
mod disk;
mod docs;
mod harness;
mod harness_mine;
#[cfg(unix)]
mod hostile;
mod matching;
mod model;
mod reading;
