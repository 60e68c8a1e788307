//! `restitch harness replay`: failed edits, without a model and with one that knows.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::super::args::Common;
use super::super::exit::Exit;
use crate::harness::replay::{FailedEdit, ReplayOutcome, ReplayedEdit, replay, table};

/// Lines of JSON: `id`, `file`, `before`, `old_str`, `new_str`, and as `retry` the two strings
/// that the agent sent next, or null.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The failed edits: JSON lines with `id`, `file`, `before`, `old_str`, `new_str` and `retry`.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(common: &Common, args: &ReplayArgs) -> Exit {
    let name = args.file.display();
    let text = match fs::read_to_string(&args.file) {
        Ok(text) => text,
        Err(error) => return Exit::usage(format!("cannot read {name}: {error}")),
    };
    let mut runs: Vec<ReplayedEdit> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<FailedEdit>(line) {
            Ok(case) => runs.push(replay(&case)),
            Err(error) => return Exit::usage(format!("{name}, line {}: {error}", at + 1)),
        }
    }
    let mut out = io::stdout().lock();
    let written = if common.json {
        let cases: Vec<_> = runs.iter().map(edit_json).collect();
        writeln!(out, "{}", json!({ "cases": cases }))
    } else {
        write!(out, "{}", table(&runs))
    };
    let other = |run: &ReplayedEdit| {
        run.with_model.as_ref().is_some_and(|model| model.outcome == ReplayOutcome::Other)
    };
    match written {
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
        Ok(()) if runs.iter().any(other) => Exit::Refused,
        Ok(()) => Exit::Done,
    }
}

fn edit_json(run: &ReplayedEdit) -> serde_json::Value {
    let one = |run: &crate::harness::replay::ReplayRun| json!({ "ending": run.outcome.label(), "asked": run.asked, "why": run.why, "after": run.after });
    json!({ "id": run.id, "without_model": one(&run.without_model), "with_model": run.with_model.as_ref().map(one) })
}
