//! Integration tests: the real binary and the public library, one link step.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "clippy knows tests by their attribute, and helpers of tests have none"
)]

mod agents;
mod apply;
#[cfg(all(unix, feature = "object-store"))]
mod buckets;
#[cfg(unix)]
mod disk;
mod docs;
mod format;
mod harness;
#[cfg(feature = "mine")]
mod harness_mine;
#[cfg(unix)]
mod hostile;
mod matching;
mod model;
mod moves;
mod notebook;
mod reading;
#[cfg(unix)]
mod report_page;
#[cfg(all(unix, feature = "redis"))]
mod shared;
mod syntax;

#[cfg(not(feature = "mine"))]
#[test]
fn mining_of_databases_and_packed_files() {
    println!("SKIPPED: 8 tests need SQLite and decompressors: cargo test --features mine");
}
