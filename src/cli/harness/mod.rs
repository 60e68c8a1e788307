//! `restitch harness`: replays failed edits, scores the results, and makes test cases.

mod junit;
mod mine;
pub(crate) mod progress;
mod report;
mod run;

use std::io;
use std::path::Path;

use clap::Subcommand;

use super::args::{Common, OFFLINE, common};
use super::exit::Exit;
use crate::harness::fixture::Tree;
use crate::harness::judge::Judgment;
use crate::harness::pack;
use crate::harness::suite::{RunOutcome, SuiteCase, load};

#[derive(Debug, Subcommand)]
pub(crate) enum HarnessCommand {
    /// Replay the cases below a folder; exit 1 when any verdict is not the expected one.
    #[command(args = common(OFFLINE))]
    Run(run::RunArgs),
    /// Record the current results as the expected ones.
    #[command(args = common(OFFLINE))]
    Bless(run::CasesArgs),
    /// Write the score as one page for a browser.
    #[command(args = common(&["root", "no_model"]))]
    Report(report::ReportArgs),
    /// Find the failed edits in an agent's transcripts and replay them.
    #[command(args = common(OFFLINE))]
    Mine(mine::MineArgs),
}

/// Runs one command of the harness.
pub(crate) fn run(common: &Common, command: HarnessCommand) -> Result<(), Exit> {
    match command {
        HarnessCommand::Run(args) => run::run(common, &args),
        HarnessCommand::Bless(args) => run::bless(common, &args),
        HarnessCommand::Mine(args) => mine::run(common, &args),
        HarnessCommand::Report(args) => report::run(common, &args),
    }
}

/// A case and its result.
struct CaseRun {
    entry: SuiteCase,
    judged: Judgment,
    files: Tree,
    outcome: RunOutcome,
}

impl CaseRun {
    /// Whether the case fails unexpectedly, or passes although it is known to fail.
    fn is_unexpected(&self) -> bool {
        matches!(self.outcome, RunOutcome::Unexpected | RunOutcome::FixedFailure)
    }

    /// What is unexpected, and what to do.
    fn explain(&self) -> String {
        let id = &self.entry.id;
        match self.outcome {
            RunOutcome::FixedFailure => format!(
                "{id}: known to fail, and it passes now. Promote it: restitch harness bless --filter {id}"
            ),
            _ => self.entry.explain(&self.judged, &self.files),
        }
    }
}

/// The fault of a file that cannot be written.
pub fn write_fault(file: &Path, error: &io::Error) -> Exit {
    Exit::fault(format!("cannot write {}: {error}", file.display()))
}

/// The cases below a folder that the filter selects; at least one.
pub fn load_cases(dir: &Path, filter: Option<&str>) -> Result<Vec<SuiteCase>, Exit> {
    let mut cases = load(dir).map_err(|error| {
        Exit::usage(format!("cannot read the cases below {}: {error}", dir.display()))
    })?;
    if cases.is_empty() {
        return Err(Exit::usage(format!(
            "there is no case below {}: a case is a folder with a case.toml, or a line of a {} file",
            dir.display(),
            pack::SUFFIX
        )));
    }
    cases.retain(|case| filter.is_none_or(|filter| case.contains(filter)));
    if cases.is_empty() {
        return Err(Exit::usage("no case matches the filter"));
    }
    Ok(cases)
}
