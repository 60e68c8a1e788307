//! Every case below `fixtures/` as a named test of its own.

#![allow(clippy::expect_used, reason = "a test may stop where it stands")]

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use restitch::internals::harness::{RunOutcome, load};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let entries = load(&root).expect("fixtures can be read");
    assert!(!entries.is_empty(), "there are no fixtures below {}", root.display());
    let trials = entries.into_iter().map(|entry| {
        Trial::test(entry.id.clone(), move || {
            let (judged, files) = entry.judge_with_files();
            match entry.outcome(&judged.verdict) {
                RunOutcome::Expected | RunOutcome::KnownFailure => Ok(()),
                RunOutcome::FixedFailure => Err(Failed::from(
                    "known to fail, and it passes now: promote it (restitch harness bless)",
                )),
                RunOutcome::Unexpected => Err(Failed::from(entry.explain(&judged, &files))),
            }
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
