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
mod client;
mod commands;
mod disk;
mod docs;
#[cfg(unix)]
mod git_patches;
mod harness;
#[cfg(feature = "mine")]
mod harness_mine;
mod hostile;
mod http;
mod in_memory;
mod long;
mod matching;
mod model;
mod patches;
mod random;
mod reading;
mod rows;
mod sandbox;
mod says;
mod seeds;
mod syntax;
#[cfg(windows)]
mod windows;

/// Whether this process ignores the signal, as jobs in the background and under nohup do. So do
/// the processes that it starts, by design.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

#[cfg(not(feature = "mine"))]
#[test]
fn mining_of_databases() {
    disk::skip("6 tests", "they need SQLite: cargo test --features mine");
}

#[cfg(not(unix))]
#[test]
fn areas_for_posix() {
    let areas = [
        include_str!("disk/child.rs"),
        include_str!("disk/kill.rs"),
        include_str!("disk/kinds.rs"),
        include_str!("disk/paths.rs"),
        include_str!("disk/power.rs"),
        include_str!("disk/races.rs"),
        include_str!("disk/undo.rs"),
        include_str!("hostile/p03_moved_root.rs"),
        include_str!("hostile/p05_metadata.rs"),
        include_str!("hostile/p06_responsive.rs"),
        include_str!("hostile/p07_limits.rs"),
        include_str!("hostile/p08_ignore_files.rs"),
        include_str!("hostile/p10_http.rs"),
        include_str!("hostile/p14_state.rs"),
        include_str!("hostile/p16_bounds.rs"),
        include_str!("hostile/storm.rs"),
    ];
    let tests: usize = areas.iter().map(|area| area.matches("test]\n").count()).sum();
    disk::skip(&format!("{tests} tests of disk and hostile"), "they are for Unix");
}
