//! Rewrites a patch for another reader that takes the first exact match, so that this match is the
//! right place.

use serde_json::Value;

use crate::edit::{Refusal, Rung, VerifiedEdit};
use crate::engine::{CallOptions, Engine};
use crate::patch::{Change, Patch, render};
use crate::tools::prepare_patch;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// How a patch comes out here.
pub(super) enum PatchOutcome {
    /// The client's own reader does the same.
    Unchanged,
    /// It applies, but only in this form: the field that holds it, and its text.
    Rewritten(&'static str, String),
    /// It does not apply, and why.
    Refused(Box<Refusal>),
}

/// Tries the patch of a call; `None` where it cannot be helped.
pub(super) async fn try_patch(given: &Value, engine: &Engine) -> Option<PatchOutcome> {
    let field = ["command", "input", "patch", "patchText"]
        .into_iter()
        .find(|name| given.get(name).is_some_and(Value::is_string))?;
    let text = given[field].as_str()?;
    let (start, end) = (text.find(BEGIN)?, text.rfind(END)? + END.len());
    let patch = Patch::parse(text.get(start..end)?, None).ok()?;
    let batch = match prepare_patch(engine, &patch).await {
        Ok(batch) => batch,
        Err(refusal) => return Some(PatchOutcome::Refused(Box::new(refusal))),
    };
    if batch.iter().all(|edit| {
        matches!(edit.explanation().rung, Rung::Exact | Rung::Create | Rung::Delete | Rung::Move)
    }) {
        return Some(PatchOutcome::Unchanged);
    }
    let fixed = render_patch(&patch, batch, engine).await?;
    Some(PatchOutcome::Rewritten(field, format!("{}{fixed}{}", &text[..start], &text[end..])))
}

/// The patch in the files' own words.
async fn render_patch(patch: &Patch, batch: Vec<VerifiedEdit>, engine: &Engine) -> Option<String> {
    let layer = engine.staged();
    layer.commit(batch, &CallOptions::default()).await.ok()?;
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
                let after = layer.snapshot(&target).await.ok()?;
                let section = render(&file.path, &before, after.text());
                let (header, body) = section.split_once('\n')?;
                out.push_str(header);
                out.push('\n');
                if let Some(target) = move_to {
                    out.push_str(&format!("*** Move to: {target}\n"));
                }
                out.push_str(body);
            }
        }
    }
    out.push_str(END);
    Some(out)
}
