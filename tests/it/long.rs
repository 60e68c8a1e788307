//! The short and the long form of a proof.

/// Whether the full counts are asked for.
pub(crate) fn is_long_run() -> bool {
    std::env::var_os("RESTITCH_LONG").is_some_and(|value| value == "1")
}

/// `short` or `long` as the run wants it.
pub(crate) fn count(short: usize, long_form: usize) -> usize {
    if is_long_run() { long_form } else { short }
}

/// Says loudly that a proof did not run here.
pub(crate) fn skip(what: &str, why: &str) {
    println!("skipped: {what}: {why}");
    eprintln!("skipped: {what}: {why}");
}
