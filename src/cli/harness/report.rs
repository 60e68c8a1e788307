//! `restitch harness report`: writes the score as a page.

use std::path::PathBuf;

use clap::Args;

use super::super::args::Common;
use super::super::exit::Exit;
use super::progress::parallel_shown;
use super::run::{CASES, CasesArgs};
use crate::cli::out;
use crate::harness::report::render;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    cases: CasesArgs,
    /// Where the page goes.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "harness.html", default_value = "harness.html")]
    html: PathBuf,
}

/// Judges the cases and writes the page.
pub(crate) fn run(common: &Common, args: &ReportArgs) -> Result<(), Exit> {
    let entries = args.cases.load(common)?;
    let judged_cases = parallel_shown(
        &entries,
        CASES,
        |_| 1,
        |entry| {
            let (judged, files) = entry.judge_with_files();
            (entry.clone(), judged, files)
        },
    );
    let page = common.root().join(&args.html);
    std::fs::write(&page, render(&judged_cases))
        .map_err(|error| super::write_fault(&page, &error))?;
    out::print(format!("{} cases in {}", judged_cases.len(), page.display()))
}
