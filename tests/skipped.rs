//! What the other tests of the run could not do here, as the runner counts ignored tests. libtest
//! knows no test that finds out only while it runs that it cannot.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a test")]

use std::path::Path;

fn main() {
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped");
    let skipped = std::fs::read_to_string(&list).unwrap_or_default();
    let mut skipped: Vec<&str> = skipped.lines().collect();
    skipped.sort_unstable();
    println!("\nrunning {} tests", skipped.len());
    for line in &skipped {
        println!("test {line}");
    }
    println!("\ntest result: ok. 0 passed; 0 failed; {} ignored\n", skipped.len());
    if list.exists() {
        // The next run makes its own.
        std::fs::remove_file(&list).expect("list of skipped tests");
    }
}
