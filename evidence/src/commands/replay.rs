//! `restitch-evidence replay`: replays failed edits without a model, and with one that answers from
//! the agent's next call.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use restitch::internals::command::{self as out, Exit};
use restitch::internals::harness::replay::{
    FailedEdit, ReplayOutcome, ReplayRun, ReplayedEdit, replay, table,
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
        out::written(write!(out::stdout(), "{}", table(&replayed)))?;
    }
    let has_other_result = |edit: &ReplayedEdit| {
        edit.with_model.as_ref().is_some_and(|model| model.outcome == ReplayOutcome::Other)
    };
    Exit::refused_if(replayed.iter().any(has_other_result))
}

/// An edit with the outcomes of its runs, as JSON.
fn edit_json(edit: &ReplayedEdit) -> serde_json::Value {
    let run_json = |run: &ReplayRun| json!({ "ending": run.outcome.label(), "asked": run.asked, "why": run.why, "after": run.after });
    json!({ "id": edit.id, "without_model": run_json(&edit.without_model), "with_model": edit.with_model.as_ref().map(run_json) })
}
