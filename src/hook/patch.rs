//! A patch that is about to be applied by another reader, which takes the first exact
//! place: written again so that this place is the right one.

use serde_json::Value;

use crate::edit::Rung;
use crate::engine::{CallOptions, Engine};
use crate::patch::{Change, Patch, render};
use crate::tools::prepare_patch;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The field that holds the patch and the patch written again; `None` when it is fine
/// as it is, or cannot be helped.
pub(super) async fn repaired(given: &Value, engine: &Engine) -> Option<(&'static str, String)> {
    let field = ["command", "input", "patch"]
        .into_iter()
        .find(|name| given.get(name).is_some_and(Value::is_string))?;
    let text = given[field].as_str()?;
    let (start, end) = (text.find(BEGIN)?, text.rfind(END)? + END.len());
    let patch = Patch::parse(text.get(start..end)?, None).ok()?;
    let batch = prepare_patch(engine, &patch).await.ok()?;
    if batch.iter().all(|edit| {
        matches!(edit.explanation().rung, Rung::Exact | Rung::Create | Rung::Delete | Rung::Move)
    }) {
        return None;
    }
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
    Some((field, format!("{}{out}{}", &text[..start], &text[end..])))
}
