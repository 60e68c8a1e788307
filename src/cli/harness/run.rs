//! `restitch harness run` and `bless`: judges every case below a folder, and counts the verdicts by
//! family and cause.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::super::args::Common;
use super::super::exit::Exit;
use super::progress::{Unit, parallel_shown};
use super::{CaseRun, junit};
use crate::cli::out;
use crate::harness::fixture::Status;
use crate::harness::pack;
use crate::harness::score::Score;
use crate::harness::suite::{CaseSource, RunOutcome, SuiteCase};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    cases: CasesArgs,
    /// Write a JUnit report, which forges and CI servers show.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// The cases to run.
#[derive(Debug, Args)]
pub(crate) struct CasesArgs {
    /// The folder with the cases.
    #[arg(default_value = "fixtures")]
    dir: PathBuf,
    /// Only cases whose path, family, cause or language contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

impl CasesArgs {
    /// The cases; at least one.
    pub(crate) fn load(&self, common: &Common) -> Result<Vec<SuiteCase>, Exit> {
        super::load_cases(&common.root().join(&self.dir), self.filter.as_deref())
    }
}

/// How many unexpected verdicts the text shows in full.
const MAX_SHOWN: usize = 10;

/// Runs the cases, and records their results as the expected ones.
pub(crate) fn bless(common: &Common, args: &CasesArgs) -> Result<(), Exit> {
    let start = Instant::now();
    let mut runs = judge_all(args.load(common)?);
    bless_all(&mut runs).map_err(|error| Exit::fault(format!("cannot write a case: {error}")))?;
    finish(common, &runs, start)
}

/// Runs the cases and prints the score. Exits with 1 if a verdict is unexpected.
pub(crate) fn run(common: &Common, args: &RunArgs) -> Result<(), Exit> {
    let start = Instant::now();
    let runs = judge_all(args.cases.load(common)?);
    if let Some(file) = &args.junit {
        std::fs::write(common.root().join(file), junit::report(common.root(), &runs))
            .map_err(|error| super::write_fault(file, &error))?;
    }
    finish(common, &runs, start)
}

/// Prints the verdicts.
fn finish(common: &Common, runs: &[CaseRun], start: Instant) -> Result<(), Exit> {
    out::print(if common.json { as_json(runs) } else { as_text(runs, start.elapsed()) })?;
    Exit::refused_if(runs.iter().any(CaseRun::is_unexpected))
}

/// What is counted while cases are judged.
pub(super) const CASES: Unit = ("cases", 1);

/// Judges the cases in parallel.
fn judge_all(entries: Vec<SuiteCase>) -> Vec<CaseRun> {
    let judged = parallel_shown(&entries, CASES, |_| 1, SuiteCase::judge_with_files);
    entries
        .into_iter()
        .zip(judged)
        .map(|(entry, (judged, files))| {
            let outcome = entry.outcome(&judged.verdict);
            CaseRun { entry, judged, files, outcome }
        })
        .collect()
}

/// Makes the result of each unexpected case the expected one. A packed case keeps the expectation of its
/// generator; it is marked as a known failure if it fails, and unmarked if it passes.
fn bless_all(runs: &mut [CaseRun]) -> io::Result<()> {
    let mut changed_packs: Vec<PathBuf> = Vec::new();
    for case in runs.iter_mut() {
        if matches!(case.outcome, RunOutcome::Expected | RunOutcome::KnownFailure) {
            continue;
        }
        match &mut case.entry.source {
            CaseSource::Folder(fixture) => {
                fixture.bless(&case.judged, &case.files)?;
                case.entry.status = Status::Pass;
                (case.judged, case.files) = case.entry.judge_with_files();
                case.outcome = case.entry.outcome(&case.judged.verdict);
            }
            CaseSource::Packed(_, file) => {
                changed_packs.push(file.clone());
                let fails = !case.judged.verdict.is_good();
                case.entry.status = if fails { Status::KnownFailure } else { Status::Pass };
                case.outcome = if fails { RunOutcome::KnownFailure } else { RunOutcome::Expected };
            }
        }
    }
    changed_packs.sort();
    changed_packs.dedup();
    for file in changed_packs {
        let mut packed = pack::read(&std::fs::read_to_string(&file)?)
            .map_err(|reason| io::Error::new(io::ErrorKind::InvalidData, reason))?;
        for (case, known_failure) in &mut packed {
            if let Some(run) = runs.iter().find(|run| run.entry.id == case.id) {
                let fails = run.entry.status == Status::KnownFailure;
                *known_failure = fails.then(|| {
                    format!("{} by {}", run.judged.verdict.as_str(), run.judged.decided_by)
                });
            }
        }
        let text = pack::write(
            packed.iter().map(|(case, known_failure)| (case, known_failure.as_deref())),
        )?;
        std::fs::write(&file, text)?;
    }
    Ok(())
}

/// The verdicts by family and cause, without those of known failures.
fn score_of(runs: &[CaseRun]) -> Score {
    let mut score = Score::default();
    for case in runs.iter().filter(|case| case.outcome != RunOutcome::KnownFailure) {
        let or_other = |name: &str| if name.is_empty() { "other".into() } else { name.to_owned() };
        score.add(&or_other(&case.entry.family), &or_other(&case.entry.cause), &case.judged);
    }
    score
}

/// How many cases came out so.
fn count_of(runs: &[CaseRun], outcome: RunOutcome) -> usize {
    runs.iter().filter(|case| case.outcome == outcome).count()
}

/// The unexpected verdicts and the score, for a person.
fn as_text(runs: &[CaseRun], took: std::time::Duration) -> String {
    let score = score_of(runs);
    let mut out = String::new();
    let unexpected: Vec<&CaseRun> = runs.iter().filter(|case| case.is_unexpected()).collect();
    for case in unexpected.iter().take(MAX_SHOWN) {
        let _ = writeln!(out, "{}\n", case.explain());
    }
    let count = unexpected.len();
    if count > MAX_SHOWN {
        let _ = writeln!(out, "… and {} more (--junit FILE has them)\n", count - MAX_SHOWN);
    }
    out.push_str(&score.table());
    let mut last_line = score.last_line(count_of(runs, RunOutcome::FixedFailure));
    let known_failures = count_of(runs, RunOutcome::KnownFailure);
    if known_failures > 0 {
        let _ = write!(last_line, ", {known_failures} known failures");
    }
    let _ = write!(out, "\n{} cases in {:.2} s\n{last_line}", runs.len(), took.as_secs_f64());
    out
}

/// The verdicts and their counts, as JSON.
fn as_json(runs: &[CaseRun]) -> String {
    let cases: Vec<_> = runs
        .iter()
        .map(|case| {
            let judged = &case.judged;
            json!({
                "id": case.entry.id, "family": case.entry.family, "cause": case.entry.cause,
                "language": case.entry.language, "verdict": judged.verdict.as_str(), "by": judged.decided_by,
                "standing": case.outcome,
                "micros": u64::try_from(judged.took.as_micros()).unwrap_or(u64::MAX),
                "model_calls": judged.model.calls, "prompt_bytes": judged.model.prompt_bytes,
            })
        })
        .collect();
    let total = score_of(runs).total();
    json!({
        "right": total.right,
        "refused": total.refused,
        "silently_wrong": total.wrong,
        "failed": total.failed(),
        "known_failures": count_of(runs, RunOutcome::KnownFailure),
        "promote": count_of(runs, RunOutcome::FixedFailure),
        "cases": cases,
    })
    .to_string()
}
