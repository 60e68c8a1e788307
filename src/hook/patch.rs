//! Rewrites a patch for a client that applies each hunk at the first exact match, so that this
//! match is the right one.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use super::TrialOutcome;
use crate::edit::{Rung, VerifiedEdit};
use crate::engine::{CallOptions, Engine};
use crate::patch::{BEGIN, Change, END, Patch, render};
use crate::tools::prepare_patch;

/// The V4A patch in the arguments of a call.
struct Found<'a> {
    field: &'static str,
    text: &'a str,
    range: Range<usize>,
    patch: Patch,
}

/// Finds the patch in the arguments of a call.
fn find(arguments: &Value) -> Option<Found<'_>> {
    let field = ["command", "input", "patch", "patchText"]
        .into_iter()
        .find(|name| arguments.get(name).is_some_and(Value::is_string))?;
    let text = arguments[field].as_str()?;
    let range = text.find(BEGIN)?..text.rfind(END)? + END.len();
    let patch = Patch::parse(text.get(range.clone())?, None).ok()?;
    Some(Found { field, text, range, patch })
}

/// The files that the patch of a call names.
pub(super) fn paths_in(arguments: &Value) -> BTreeSet<String> {
    find(arguments).into_iter().flat_map(|found| found.patch.files).map(|file| file.path).collect()
}

/// Tries the patch of a call in memory; `None` if the call contains no V4A patch, or no form of it
/// that the client could apply was found.
pub(super) async fn try_patch(arguments: &Value, engine: &Engine) -> Option<TrialOutcome> {
    let Found { field, text, range, patch } = find(arguments)?;
    let batch = match prepare_patch(engine, &patch).await {
        Ok(batch) => batch,
        Err(refusal) => return Some(TrialOutcome::Refused(Box::new(refusal))),
    };
    let applies_as_sent = batch.iter().all(|edit| {
        matches!(edit.explanation().rung, Rung::Exact | Rung::Create | Rung::Delete | Rung::Move)
    });
    if applies_as_sent {
        return Some(TrialOutcome::Unchanged);
    }
    let rewritten = render_patch(&patch, batch, engine).await?;
    let new_text = format!("{}{rewritten}{}", &text[..range.start], &text[range.end..]);
    Some(TrialOutcome::Rewritten {
        fields: vec![(field, new_text)],
        how: "its lines are now as in the files".to_owned(),
    })
}

/// The patch with its context and removed lines exactly as they are in the files. `None` if a file to
/// change has line endings other than LF, or bytes that are not valid text.
async fn render_patch(patch: &Patch, batch: Vec<VerifiedEdit>, engine: &Engine) -> Option<String> {
    let trial = engine.staged();
    trial.commit(batch, &CallOptions::default()).await.ok()?;
    let mut out = format!("{BEGIN}\n");
    for file in &patch.files {
        match &file.change {
            Change::Add(content) => {
                out.push_str(&format!("*** Add File: {}\n", file.path));
                out.extend(content.lines().map(|line| format!("+{line}\n")));
            }
            Change::Delete => out.push_str(&format!("*** Delete File: {}\n", file.path)),
            Change::Update { move_to, .. } => {
                let before = engine.snapshot(&engine.path(&file.path).ok()?).await.ok()?;
                if before.line_ending() != "lf" || before.has_invalid_bytes() {
                    return None;
                }
                let target = engine.path(move_to.as_deref().unwrap_or(&file.path)).ok()?;
                let after = trial.snapshot(&target).await.ok()?;
                let section = render(&file.path, &before, after.text());
                let (header, body) = section.split_once('\n')?;
                out.push_str(header);
                out.push('\n');
                if let Some(new_path) = move_to {
                    out.push_str(&format!("*** Move to: {new_path}\n"));
                }
                out.push_str(body);
            }
        }
    }
    out.push_str(END);
    Some(out)
}
