//! `restitch-evidence replay`: replays failed edits without a model, and with one that answers from
//! the agent's next call.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use restitch::internals::command::{self as out, Exit};
use restitch::internals::harness::replay::{
    FailedEdit, ReplayOutcome, ReplayRun, has_same_intention, with_model, without_model,
};

/// Lines of JSON: `id`, `file`, `before`, `old_str`, `new_str`, and as `retry` the two strings
/// that the agent sent next, or null.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The failed edits: JSON lines with `id`, `file`, `before`, `old_str`, `new_str` and `retry`.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Replays the edits and prints their outcomes.
pub(crate) fn run(json: bool, args: &ReplayArgs) -> Result<(), Exit> {
    let name = args.file.display();
    let text = fs::read_to_string(&args.file)
        .map_err(|error| Exit::usage(format!("cannot read {name}: {error}")))?;
    let mut replayed: Vec<ReplayedEdit> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let case: FailedEdit = serde_json::from_str(line)
            .map_err(|error| Exit::usage(format!("{name}, line {}: {error}", index + 1)))?;
        replayed.push(replay(&case));
    }
    if json {
        let cases: Vec<_> = replayed.iter().map(edit_json).collect();
        out::print(json!({ "cases": cases }))?;
    } else {
        out::print(table(&replayed).trim_end())?;
    }
    let has_other_result = |edit: &ReplayedEdit| {
        edit.with_model.as_ref().is_some_and(|model| model.outcome == ReplayOutcome::Other)
    };
    Exit::refused_if(replayed.iter().any(has_other_result))
}

/// An edit with the outcomes of its runs, as JSON.
fn edit_json(edit: &ReplayedEdit) -> serde_json::Value {
    let run_json = |run: &ReplayRun| json!({ "ending": run.outcome.as_str(), "asked": run.asked, "why": run.why, "after": run.after });
    json!({ "id": edit.id, "without_model": run_json(&edit.without_model), "with_model": edit.with_model.as_ref().map(run_json) })
}

/// The runs of one failed edit.
#[derive(Debug, Clone)]
struct ReplayedEdit {
    /// The case's id.
    id: String,
    /// The run without a model.
    without_model: ReplayRun,
    /// The run with a model; only if the run without one is refused, and the agent's next call has
    /// the same intention as the failed one.
    with_model: Option<ReplayRun>,
}

/// Returns the file after the agent's next call, if that call has the same intention as the failed
/// one and its `old_str` occurs once. `None` too if the failed `old_str` is in the file.
fn file_after_retry(case: &FailedEdit) -> Option<String> {
    let retry = case.retry.as_ref()?;
    let occurs_once = case.before.matches(&retry.old_str).count() == 1;
    if !occurs_once || case.before.contains(&case.old_str) {
        return None;
    }
    let intends_the_same =
        has_same_intention((&case.old_str, &case.new_str), (&retry.old_str, &retry.new_str));
    intends_the_same.then(|| case.before.replacen(&retry.old_str, &retry.new_str, 1))
}

/// Replays one failed edit.
fn replay(case: &FailedEdit) -> ReplayedEdit {
    let truth = file_after_retry(case);
    let without_model = without_model(case, truth.as_deref());
    let with_model = truth
        .as_deref()
        .filter(|_| without_model.outcome == ReplayOutcome::Refused)
        .map(|truth| with_model(case, truth));
    ReplayedEdit { id: case.id.clone(), without_model, with_model }
}

/// Returns the counts of each outcome as text, and each call whose result has other bytes even with
/// a model, or that is refused, with the reason.
fn table(edits: &[ReplayedEdit]) -> String {
    let mut out = String::new();
    let counts = |runs: &[&ReplayRun]| {
        let words = ReplayOutcome::ALL.iter().filter_map(|outcome| {
            let count = runs.iter().filter(|run| run.outcome == *outcome).count();
            (count > 0).then(|| format!("{count} {}", outcome.as_str()))
        });
        words.collect::<Vec<_>>().join(", ")
    };
    let without_model: Vec<&ReplayRun> = edits.iter().map(|edit| &edit.without_model).collect();
    let with_model: Vec<&ReplayRun> =
        edits.iter().filter_map(|edit| edit.with_model.as_ref()).collect();
    let _ = writeln!(out, "{}", format_args!("{} failed edits", edits.len()));
    let _ = writeln!(out, "without a model: {}", counts(&without_model));
    let _ = writeln!(
        out,
        "of those refused, with a model that knows the next edit: {}",
        counts(&with_model)
    );
    let is_recovered = |run: &&&ReplayRun| run.outcome == ReplayOutcome::Right;
    let questions: usize = with_model.iter().filter(is_recovered).map(|run| run.asked.len()).sum();
    let recovered = with_model.iter().filter(is_recovered).count();
    if recovered > 0 {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let per_edit = questions as f64 / recovered as f64;
        let _ = writeln!(out, "questions for each edit that a model recovers: {per_edit:.2}");
    }
    for edit in edits {
        if let Some(run) = &edit.with_model
            && run.outcome != ReplayOutcome::Right
        {
            let _ = writeln!(out, "  {} {}: {}", edit.id, run.outcome.as_str(), run.why);
        }
    }
    out
}
