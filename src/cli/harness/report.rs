//! `restitch harness report`: writes the score as a page.

use std::path::PathBuf;

use clap::Args;

use super::super::args::Common;
use super::super::exit::Exit;
use super::progress::parallel_shown;
use super::run::{CASES, CasesArgs};
use crate::cli::out;
use crate::harness::report::render;
use crate::harness::suite::SuiteCase;

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
    let judged = parallel_shown(&entries, CASES, |_| 1, SuiteCase::judge_with_files);
    let cases = entries.into_iter().zip(judged);
    let judged_cases: Vec<_> =
        cases.map(|(entry, (judged, files))| (entry, judged, files)).collect();
    let page = common.root().join(&args.html);
    std::fs::write(&page, render(&judged_cases))
        .map_err(|error| super::write_fault(&page, &error))?;
    out::print(format!("{} cases in {}", judged_cases.len(), page.display()))
}
