//! `restitch harness run` and `bless`: every case below a folder, counted by family and
//! cause, and compared with the baseline.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::super::args::Common;
use super::super::exit::Exit;
use super::RowsArgs;
use crate::cli::progress::Progress;
use crate::harness::baseline::{Baseline, Difference, Scope};
use crate::harness::ci::{self, CiOutcome};
use crate::harness::fixture::{Status, Tree};
use crate::harness::judge::{CaseVerdict, Judgment};
use crate::harness::measure::parallel;
use crate::harness::pack;
use crate::harness::rows::ResultRow;
use crate::harness::score::Score;
use crate::harness::shard::Shard;
use crate::harness::suite::{CaseSource, RunOutcome, SuiteCase, load, select};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The folder with the cases.
    #[arg(default_value = "fixtures")]
    dir: PathBuf,
    /// Only cases whose path, family, cause or language contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Only a part, for example 2/4 for the second of four.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
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
    #[command(flatten)]
    rows: RowsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum GroupBy {
    Family,
    Cause,
    Language,
}

/// A case with what came of it.
struct CaseRun {
    entry: SuiteCase,
    judged: Judgment,
    files: Tree,
    outcome: RunOutcome,
}

pub(crate) fn bless(common: &Common, args: RunArgs) -> Exit {
    run(common, RunArgs { bless: true, ..args })
}

pub(crate) fn run(common: &Common, args: RunArgs) -> Exit {
    let dir = common.root().join(&args.dir);
    let entries = match load(&dir) {
        Ok(entries) => entries,
        Err(error) => {
            return Exit::usage(format!("cannot read the cases below {}: {error}", dir.display()));
        }
    };
    if entries.is_empty() {
        return Exit::usage(format!(
            "there is no case below {}: a case is a folder with a case.toml, or a line of a {} file",
            dir.display(),
            pack::SUFFIX
        ));
    }
    let scope =
        if args.filter.is_none() && args.shard.is_none() { Scope::Whole } else { Scope::Part };
    let entries = select(entries, args.filter.as_deref(), args.shard);
    if entries.is_empty() {
        return Exit::usage("no case matches the filter");
    }
    let start = Instant::now();
    let mut seen = judge_all(entries);
    let took = start.elapsed();
    if args.bless
        && let Err(error) = bless_all(&mut seen)
    {
        return Exit::fault(format!("cannot write a case: {error}"));
    }
    let mut now = Baseline::default();
    seen.iter().for_each(|case| now.record(&case.entry.id, &case.judged.verdict));
    let file = args.baseline.clone().unwrap_or_else(|| dir.join("baseline.json"));
    let was = match baseline(&file, args.baseline.is_some()) {
        Ok(was) => was,
        Err(exit) => return exit,
    };
    let changes = was.as_ref().map(|was| was.changes(&now, scope)).unwrap_or_default();
    if args.bless {
        let mut updated = was.unwrap_or_default();
        updated.update(now, scope);
        let written = serde_json::to_string_pretty(&updated).map_err(io::Error::other);
        if let Err(error) = written.and_then(|text| std::fs::write(&file, text + "\n")) {
            return Exit::fault(format!("cannot write {}: {error}", file.display()));
        }
    }
    if let Err(exit) = write_rows(common, &args.rows, &seen) {
        return exit;
    }
    let lost = changes.iter().any(Difference::is_regression) && !args.bless;
    let bad = seen
        .iter()
        .any(|case| matches!(case.outcome, RunOutcome::Unexpected | RunOutcome::FixedFailure));
    let rows = || rows(common.root(), &seen, &changes);
    if let Some(file) = &args.junit
        && let Err(error) = std::fs::write(file, ci::junit(&rows()))
    {
        return Exit::fault(format!("cannot write {}: {error}", file.display()));
    }
    if args.annotations {
        // A closed standard error does not change the verdict.
        let _ = io::stderr().lock().write_all(ci::annotations(&rows()).as_bytes());
    }
    let text =
        if common.json { as_json(&seen, &changes) } else { as_text(&args, &seen, &changes, took) };
    if let Err(error) = writeln!(io::stdout().lock(), "{text}") {
        return Exit::fault(format!("cannot write to stdout: {error}"));
    }
    if bad || lost { Exit::Refused } else { Exit::Done }
}

fn write_rows(common: &Common, args: &RowsArgs, seen: &[CaseRun]) -> Result<(), Exit> {
    let rows = args.open(common)?;
    if let Some(rows) = &rows {
        for case in seen {
            rows.add(&ResultRow::from_suite_case(&case.entry, &case.judged, args.texts));
        }
    }
    args.close(rows)
}

/// The run for a report; paths are relative to the root.
fn rows(root: &Path, seen: &[CaseRun], changes: &[Difference]) -> Vec<ci::CiCase> {
    let row = |case: &CaseRun| {
        let file = match &case.entry.source {
            CaseSource::Folder(fixture) => fixture.dir.join("case.toml"),
            CaseSource::Packed(_, file) => file.clone(),
            CaseSource::Unreadable(_) => PathBuf::from(&case.entry.id).join("case.toml"),
        };
        let change = changes.iter().find(|change| change.id == case.entry.id);
        let lost = change.is_some_and(Difference::is_regression);
        let outcome = match case.outcome {
            RunOutcome::Unexpected => {
                CiOutcome::Failed(case.entry.explain(&case.judged, &case.files))
            }
            RunOutcome::FixedFailure => {
                CiOutcome::Failed("known to fail, and it passes now: promote it".into())
            }
            _ if lost => CiOutcome::Failed(change.map(ToString::to_string).unwrap_or_default()),
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
    seen.iter().map(row).collect()
}

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

fn baseline(file: &Path, named: bool) -> Result<Option<Baseline>, Exit> {
    match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| Exit::usage(format!("{} is not a baseline: {error}", file.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !named => Ok(None),
        Err(error) => Err(Exit::usage(format!("cannot read {}: {error}", file.display()))),
    }
}

/// Rewrites the expectation of every case that did something else. A packed case keeps its
/// truth, which its generator knows; only its standing as a known failure is set.
fn bless_all(seen: &mut [CaseRun]) -> io::Result<()> {
    let mut packs: Vec<PathBuf> = Vec::new();
    for case in seen.iter_mut() {
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
                packs.push(file.clone());
                let fails = !case.judged.verdict.is_good();
                case.entry.status = if fails { Status::KnownFailure } else { Status::Pass };
                case.outcome = if fails { RunOutcome::KnownFailure } else { RunOutcome::Expected };
            }
            CaseSource::Folder(_) | CaseSource::Unreadable(_) => {}
        }
    }
    packs.sort();
    packs.dedup();
    for file in packs {
        let mut all = pack::read(&std::fs::read_to_string(&file)?)
            .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        for (case, known) in &mut all {
            if let Some(seen) = seen.iter().find(|seen| seen.entry.id == case.id) {
                let fails = seen.entry.status == Status::KnownFailure;
                *known = fails.then(|| {
                    format!("{} by {}", seen.judged.verdict.as_str(), seen.judged.decided_by)
                });
            }
        }
        let text = pack::write(all.iter().map(|(case, known)| (case, known.as_deref())))?;
        std::fs::write(&file, text)?;
    }
    Ok(())
}

fn as_text(
    args: &RunArgs,
    seen: &[CaseRun],
    changes: &[Difference],
    took: std::time::Duration,
) -> String {
    let mut score = Score::default();
    let mut known = 0;
    for case in seen {
        if case.outcome == RunOutcome::KnownFailure {
            known += 1;
            continue;
        }
        let e = &case.entry;
        let name = |name: &str| if name.is_empty() { "other".to_owned() } else { name.to_owned() };
        match args.by {
            GroupBy::Family => score.add("", &name(&e.family), &case.judged),
            GroupBy::Cause => score.add(&name(&e.family), &name(&e.cause), &case.judged),
            GroupBy::Language => score.add("", &name(&e.language), &case.judged),
        }
    }
    let mut out = String::new();
    let bad =
        |case: &&CaseRun| matches!(case.outcome, RunOutcome::Unexpected | RunOutcome::FixedFailure);
    for case in seen.iter().filter(bad).take(args.limit) {
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
    let all_bad = seen.iter().filter(bad).count();
    if all_bad > args.limit {
        let _ =
            writeln!(out, "… and {} more (--limit {all_bad} shows them)\n", all_bad - args.limit);
    }
    out.push_str(&score.table());
    let fresh =
        changes.iter().filter(|change| change.was.is_none() && !change.is_regression()).count();
    if changes.len() > fresh {
        let _ = writeln!(out, "\nchanged since the baseline:");
        changes.iter().filter(|change| change.was.is_some() || change.is_regression()).for_each(
            |change| {
                let _ = writeln!(
                    out,
                    "  {}{change}",
                    if change.is_regression() { "LOSS " } else { "" }
                );
            },
        );
    }
    if fresh > 0 {
        let _ = writeln!(out, "\n{fresh} cases are new to the baseline");
    }
    if !changes.is_empty() && !changes.iter().any(Difference::is_regression) && !args.bless {
        let _ = writeln!(out, "nothing got worse; `restitch harness bless` records the changes");
    }
    let promote = seen.iter().filter(|case| case.outcome == RunOutcome::FixedFailure).count();
    let mut last = score.last_line_with(promote);
    if known > 0 {
        let _ = write!(last, ", {known} known failures");
    }
    let _ = write!(out, "\n{} cases in {:.2} s\n{last}", seen.len(), took.as_secs_f64());
    out
}

fn as_json(seen: &[CaseRun], changes: &[Difference]) -> String {
    let cases: Vec<_> = seen
        .iter()
        .map(|case| {
            let j = &case.judged;
            json!({
                "id": case.entry.id, "family": case.entry.family, "cause": case.entry.cause,
                "language": case.entry.language, "verdict": j.verdict.as_str(), "by": j.decided_by,
                "standing": match case.outcome {
                    RunOutcome::Expected => "expected",
                    RunOutcome::Unexpected => "unexpected",
                    RunOutcome::KnownFailure => "known_failure",
                    RunOutcome::FixedFailure => "promote",
                },
                "micros": u64::try_from(j.took.as_micros()).unwrap_or(u64::MAX),
                "model_calls": j.model.calls, "prompt_bytes": j.model.prompt_bytes,
            })
        })
        .collect();
    let count = |good: fn(&CaseVerdict) -> bool| {
        seen.iter()
            .filter(|c| c.outcome != RunOutcome::KnownFailure && good(&c.judged.verdict))
            .count()
    };
    let changes: Vec<_> = changes
        .iter()
        .map(|c| json!({ "id": c.id, "was": c.was, "is": c.is, "loss": c.is_regression() }))
        .collect();
    json!({
        "right": count(|v| *v == CaseVerdict::Right),
        "refused": count(|v| matches!(v, CaseVerdict::Refused(_))),
        "silently_wrong": count(|v| *v == CaseVerdict::Wrong),
        "failed": count(|v| !v.is_good() && *v != CaseVerdict::Wrong),
        "known_failures": seen.iter().filter(|c| c.outcome == RunOutcome::KnownFailure).count(),
        "promote": seen.iter().filter(|c| c.outcome == RunOutcome::FixedFailure).count(),
        "changes": changes,
        "cases": cases,
    })
    .to_string()
}
