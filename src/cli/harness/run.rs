//! `restitch harness run` and `bless`: judges every case below a folder, counts the verdicts by
//! family and cause, and compares them with the baseline.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::super::args::Common;
use super::super::exit::Exit;
use crate::cli::out;
use crate::cli::progress::Progress;
use crate::harness::baseline::{Baseline, Difference, Scope};
use crate::harness::ci::{self, CiOutcome};
use crate::harness::fixture::{Status, Tree};
use crate::harness::judge::{CaseVerdict, Judgment};
use crate::harness::pack;
use crate::harness::parallel;
use crate::harness::score::Score;
use crate::harness::suite::{CaseSource, RunOutcome, SuiteCase};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The folder with the cases.
    #[arg(default_value = "fixtures")]
    dir: PathBuf,
    /// Only cases whose path, family, cause or language contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Verdicts to compare with. Without it, baseline.json in the folder, if there is one.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Set by the command `bless`.
    #[arg(skip)]
    bless: bool,
    /// Rows of the table.
    #[arg(long, value_enum, default_value_t = GroupBy::Cause)]
    by: GroupBy,
    /// How many unexpected verdicts to show in full.
    #[arg(long, default_value_t = 10, value_name = "N")]
    limit: usize,
    /// Write a JUnit report, which forges and CI servers show.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print GitHub annotations on stderr for unexpected results and for changes since the
    /// baseline.
    #[arg(long)]
    annotations: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum GroupBy {
    Family,
    Cause,
    Language,
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
}

/// Runs the cases, and records their results as the expected ones.
pub(crate) fn bless(common: &Common, args: RunArgs) -> Result<(), Exit> {
    run(common, RunArgs { bless: true, ..args })
}

/// Runs the cases and prints the score. Exits with 1 if a verdict is unexpected or got worse.
pub(crate) fn run(common: &Common, args: RunArgs) -> Result<(), Exit> {
    let dir = common.root().join(&args.dir);
    let scope = if args.filter.is_none() { Scope::Whole } else { Scope::Part };
    let entries = super::load_cases(&dir, args.filter.as_deref())?;
    let start = Instant::now();
    let mut runs = judge_all(entries);
    let took = start.elapsed();
    if args.bless {
        bless_all(&mut runs)
            .map_err(|error| Exit::fault(format!("cannot write a case: {error}")))?;
    }
    let mut current = Baseline::default();
    runs.iter().for_each(|case| current.record(&case.entry.id, &case.judged.verdict));
    let baseline_file = args.baseline.clone().unwrap_or_else(|| dir.join("baseline.json"));
    let previous = read_baseline(&baseline_file, args.baseline.is_some())?;
    let changes =
        previous.as_ref().map(|previous| previous.changes(&current, scope)).unwrap_or_default();
    if args.bless {
        let mut updated = previous.unwrap_or_default();
        updated.update(current, scope);
        let written = serde_json::to_string_pretty(&updated).map_err(io::Error::other);
        written
            .and_then(|text| std::fs::write(&baseline_file, text + "\n"))
            .map_err(|error| super::write_fault(&baseline_file, &error))?;
    }
    let has_regression = changes.iter().any(Difference::is_regression) && !args.bless;
    let has_unexpected = runs.iter().any(CaseRun::is_unexpected);
    let ci_cases = || ci_cases(common.root(), &runs, &changes);
    if let Some(file) = &args.junit {
        std::fs::write(file, ci::junit(&ci_cases()))
            .map_err(|error| super::write_fault(file, &error))?;
    }
    if args.annotations {
        // A closed standard error does not change the exit code.
        let _ = io::stderr().lock().write_all(ci::annotations(&ci_cases()).as_bytes());
    }
    let text =
        if common.json { as_json(&runs, &changes) } else { as_text(&args, &runs, &changes, took) };
    out::print(text)?;
    Exit::refused_if(has_unexpected || has_regression)
}

/// The cases for a CI report, with paths relative to the root.
fn ci_cases(root: &Path, runs: &[CaseRun], changes: &[Difference]) -> Vec<ci::CiCase> {
    let ci_case = |case: &CaseRun| {
        let file = match &case.entry.source {
            CaseSource::Folder(fixture) => fixture.dir.join("case.toml"),
            CaseSource::Packed(_, file) => file.clone(),
            CaseSource::Unreadable(_) => PathBuf::from(&case.entry.id).join("case.toml"),
        };
        let change = changes.iter().find(|change| change.id == case.entry.id);
        let is_regression = change.is_some_and(Difference::is_regression);
        let outcome = match case.outcome {
            RunOutcome::Unexpected => {
                CiOutcome::Failed(case.entry.explain(&case.judged, &case.files))
            }
            RunOutcome::FixedFailure => {
                CiOutcome::Failed("known to fail, and it passes now: promote it".into())
            }
            _ if is_regression => {
                CiOutcome::Failed(change.map(ToString::to_string).unwrap_or_default())
            }
            RunOutcome::Expected => CiOutcome::Passed,
            RunOutcome::KnownFailure => CiOutcome::KnownFailure,
        };
        ci::CiCase {
            id: case.entry.id.clone(),
            family: case.entry.family.clone(),
            file: file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/"),
            took: case.judged.took,
            outcome,
            previous: change.and_then(|change| change.was.clone()),
            current: case.judged.verdict.as_str().to_owned(),
        }
    };
    runs.iter().map(ci_case).collect()
}

/// Judges the cases in parallel and shows the progress.
fn judge_all(entries: Vec<SuiteCase>) -> Vec<CaseRun> {
    let progress = Progress::new("cases", entries.len());
    let judged = parallel(&entries, |entry| {
        let result = entry.judge_with_files();
        progress.advance();
        result
    });
    drop(progress);
    entries
        .into_iter()
        .zip(judged)
        .map(|(entry, (judged, files))| {
            let outcome = entry.outcome(&judged.verdict);
            CaseRun { entry, judged, files, outcome }
        })
        .collect()
}

/// The baseline in the file; `None` if the file is missing and no flag named it.
fn read_baseline(file: &Path, is_named: bool) -> Result<Option<Baseline>, Exit> {
    match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| Exit::usage(format!("{} is not a baseline: {error}", file.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => Ok(None),
        Err(error) => Err(Exit::usage(format!("cannot read {}: {error}", file.display()))),
    }
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
            CaseSource::Folder(fixture)
                if !matches!(case.judged.verdict, CaseVerdict::Broken(_)) =>
            {
                fixture.bless(&case.judged, &case.files)?;
                case.entry.status = Status::Pass;
                let (judged, files) = case.entry.judge_with_files();
                (case.judged, case.files) = (judged, files);
                case.outcome = case.entry.outcome(&case.judged.verdict);
            }
            CaseSource::Packed(_, file) => {
                changed_packs.push(file.clone());
                let fails = !case.judged.verdict.is_good();
                case.entry.status = if fails { Status::KnownFailure } else { Status::Pass };
                case.outcome = if fails { RunOutcome::KnownFailure } else { RunOutcome::Expected };
            }
            CaseSource::Folder(_) | CaseSource::Unreadable(_) => {}
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

/// The unexpected verdicts, the score and the changes since the baseline, for a person.
fn as_text(
    args: &RunArgs,
    runs: &[CaseRun],
    changes: &[Difference],
    took: std::time::Duration,
) -> String {
    let mut score = Score::default();
    let mut known_failures = 0;
    for case in runs {
        if case.outcome == RunOutcome::KnownFailure {
            known_failures += 1;
            continue;
        }
        let or_other = |name: &str| if name.is_empty() { "other".into() } else { name.to_owned() };
        let family = or_other(&case.entry.family);
        match args.by {
            GroupBy::Family => score.add("", &family, &case.judged),
            GroupBy::Cause => score.add(&family, &or_other(&case.entry.cause), &case.judged),
            GroupBy::Language => score.add("", &or_other(&case.entry.language), &case.judged),
        }
    }
    let mut out = String::new();
    let unexpected: Vec<&CaseRun> = runs.iter().filter(|case| case.is_unexpected()).collect();
    for case in unexpected.iter().take(args.limit) {
        if case.outcome == RunOutcome::FixedFailure {
            let _ = writeln!(
                out,
                "{}: known to fail, and it passes now. Promote it: restitch harness bless --filter {}\n",
                case.entry.id, case.entry.id
            );
        } else {
            let _ = writeln!(out, "{}\n", case.entry.explain(&case.judged, &case.files));
        }
    }
    let count = unexpected.len();
    if count > args.limit {
        let _ = writeln!(out, "… and {} more (--limit {count} shows them)\n", count - args.limit);
    }
    out.push_str(&score.table());
    let (new, changed): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| change.was.is_none() && !change.is_regression());
    if !changed.is_empty() {
        let _ = writeln!(out, "\nchanged since the baseline:");
        for change in changed {
            let label = if change.is_regression() { "LOSS " } else { "" };
            let _ = writeln!(out, "  {label}{change}");
        }
    }
    if !new.is_empty() {
        let _ = writeln!(out, "\n{} cases are new to the baseline", new.len());
    }
    if !changes.is_empty() && !changes.iter().any(Difference::is_regression) && !args.bless {
        let _ = writeln!(out, "nothing got worse; `restitch harness bless` records the changes");
    }
    let to_promote = runs.iter().filter(|case| case.outcome == RunOutcome::FixedFailure).count();
    let mut last_line = score.last_line_with(to_promote);
    if known_failures > 0 {
        let _ = write!(last_line, ", {known_failures} known failures");
    }
    let _ = write!(out, "\n{} cases in {:.2} s\n{last_line}", runs.len(), took.as_secs_f64());
    out
}

/// The verdicts, their counts and the changes since the baseline, as JSON.
fn as_json(runs: &[CaseRun], changes: &[Difference]) -> String {
    let cases: Vec<_> = runs
        .iter()
        .map(|case| {
            let judged = &case.judged;
            json!({
                "id": case.entry.id, "family": case.entry.family, "cause": case.entry.cause,
                "language": case.entry.language, "verdict": judged.verdict.as_str(), "by": judged.decided_by,
                "standing": match case.outcome {
                    RunOutcome::Expected => "expected",
                    RunOutcome::Unexpected => "unexpected",
                    RunOutcome::KnownFailure => "known_failure",
                    RunOutcome::FixedFailure => "promote",
                },
                "micros": u64::try_from(judged.took.as_micros()).unwrap_or(u64::MAX),
                "model_calls": judged.model.calls, "prompt_bytes": judged.model.prompt_bytes,
            })
        })
        .collect();
    let count = |matches: fn(&CaseVerdict) -> bool| {
        runs.iter()
            .filter(|case| case.outcome != RunOutcome::KnownFailure)
            .filter(|case| matches(&case.judged.verdict))
            .count()
    };
    let count_outcome =
        |outcome: RunOutcome| runs.iter().filter(|case| case.outcome == outcome).count();
    let changes: Vec<_> = changes
        .iter()
        .map(|change| {
            json!({
                "id": change.id, "was": change.was, "is": change.is,
                "loss": change.is_regression(),
            })
        })
        .collect();
    json!({
        "right": count(|verdict| *verdict == CaseVerdict::Right),
        "refused": count(|verdict| matches!(verdict, CaseVerdict::Refused(_))),
        "silently_wrong": count(|verdict| *verdict == CaseVerdict::Wrong),
        "failed": count(|verdict| !verdict.is_good() && *verdict != CaseVerdict::Wrong),
        "known_failures": count_outcome(RunOutcome::KnownFailure),
        "promote": count_outcome(RunOutcome::FixedFailure),
        "changes": changes,
        "cases": cases,
    })
    .to_string()
}
