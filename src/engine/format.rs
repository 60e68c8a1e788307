//! Runs the user's formatter on the result of an edit before the commit, so that one commit has
//! both.

use std::sync::Arc;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Engine;
use crate::edit::{
    EditCode, EditPlan, Explanation, FormatNote, Rebase, Refusal, Rung, Splice, VerifiedEdit,
};
use crate::text::Snapshot;

/// How long the formatters of one call may take together, before the last one begins.
pub(super) const FORMAT_TIME: Duration = Duration::from_secs(30);

impl Engine {
    /// The edit with its result formatted. If the formatter fails, the edit stays as it is, with a
    /// note about that.
    /// After `ends` no formatter is started any more.
    pub(super) async fn formatted(
        &self,
        edit: VerifiedEdit,
        ends: Instant,
    ) -> Result<VerifiedEdit, Refusal> {
        let text = match (edit.before(), edit.plan(), edit.after()) {
            (Some(_), Some(plan), _) => plan.text_after(),
            (None, None, Some(content)) if edit.explanation().rung == Rung::Create => {
                match content.snapshot() {
                    Some(snapshot) => snapshot.text().to_owned(),
                    None => return Ok(edit),
                }
            }
            _ => return Ok(edit),
        };
        let formatted = if Instant::now() < ends {
            self.formatter.format(edit.path().as_str(), &text).await
        } else if self.formatter.formats(edit.path().as_str()) {
            let why = format!("the formatters of this call took {} s", FORMAT_TIME.as_secs());
            return Ok(edit.with_format(FormatNote::failed("the formatter".to_owned(), why)));
        } else {
            None
        };
        let Some(formatted) = formatted else { return Ok(edit) };
        let by = formatted.by;
        match formatted.text {
            Ok(new) if new == text => Ok(edit.with_format(FormatNote::unchanged(by))),
            Ok(new) => match with_result(&edit, &new) {
                Ok(formatted) => Ok(formatted.with_format(FormatNote::formatted(by))),
                Err(refusal) if refusal.code == EditCode::NoChange => Err(Refusal::new(
                    EditCode::NoChange,
                    format!("`{by}` formats the result back to the current content of the file"),
                )
                .at(edit.path().as_str())
                .hint("Nothing was written. The user's formatter would undo this edit; go on with the next step.")),
                Err(refusal) => Ok(edit.with_format(FormatNote::failed(by, refusal.message))),
            },
            Err(why) => {
                tracing::warn!(path = %edit.path(), formatter = %by, %why, "the formatter failed");
                Ok(edit.with_format(FormatNote::failed(by, why)))
            }
        }
    }
}

/// The same edit with another text as its result.
fn with_result(edit: &VerifiedEdit, text: &str) -> Result<VerifiedEdit, Refusal> {
    let path = edit.path().clone();
    let explanation: Explanation = edit.explanation().clone();
    let Some(before) = edit.before() else {
        return VerifiedEdit::create(path, text, explanation);
    };
    let plan = EditPlan::new(before, line_splices(before, text))?;
    let new = VerifiedEdit::new(path, before, plan, explanation)?;
    // On a newer version the formatter does not run again, because the store holds its lock then.
    let original = edit.clone();
    let rebase: Rebase = Arc::new(move |current| match original.rebase(current) {
        Some(rebased) => Ok(rebased?.with_format(FormatNote::failed(
            "the formatter".to_owned(),
            "the file changed while the formatter ran".to_owned(),
        ))),
        None => Err(Refusal::new(EditCode::Conflict, "the file changed while it was formatted")
            .hint("Nothing was written. Send the same call again.")),
    });
    Ok(new.with_rebase(rebase))
}

/// The splices of whole lines that turn a file into the text `after`.
fn line_splices(before: &Snapshot, after: &str) -> Vec<Splice> {
    let old: Vec<&str> = before.text().split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    // The byte offset of each line, and of the end of the text.
    let mut offset = 0;
    let mut offsets = vec![offset];
    for line in &old {
        offset += line.len();
        offsets.push(offset);
    }
    capture_diff_slices(Algorithm::Myers, &old, &new)
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| Splice {
            range: offsets[op.old_range().start]..offsets[op.old_range().end],
            text: new[op.new_range()].concat(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splices_lead_from_one_text_to_the_other() {
        for (old, new) in [
            ("a\nb\nc\n", "a\nB\nc\n"),
            ("a\nb\nc", "x\na\nb\nc\n"),
            ("", "a\n"),
            ("a\n", ""),
            ("a\r\nb\r\n", "a\nb\n"),
        ] {
            let before = Snapshot::from_text(old);
            let plan = EditPlan::new(&before, line_splices(&before, new)).expect("a plan");
            assert_eq!(plan.text_after(), new, "{old:?}");
        }
    }
}
