//! The short and the long form of a proof.

use std::io::Write as _;

/// Whether the full counts are asked for.
pub(crate) fn is_long_run() -> bool {
    std::env::var_os("RESTITCH_LONG").is_some_and(|value| value == "1")
}

/// `short` or `long` as the run wants it.
pub(crate) fn count(short: usize, long_form: usize) -> usize {
    if is_long_run() { long_form } else { short }
}

/// Says that a test, or the part `what` of it, did not run here. `cargo test` ends with the list of
/// these (`tests/skipped.rs`), because libtest counts such a test as passed.
pub(crate) fn skip(what: &str, why: &str) {
    static BEGIN: std::sync::Once = std::sync::Once::new();
    let list = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped");
    BEGIN.call_once(|| std::fs::write(&list, "").expect("list of skipped tests"));
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread");
    let line = format!("{test} ({what}) ... ignored, {why}\n");
    let list = std::fs::OpenOptions::new().append(true).open(&list);
    list.and_then(|mut list| list.write_all(line.as_bytes())).expect("list of skipped tests");
    println!("skipped: {what}: {why}");
}
