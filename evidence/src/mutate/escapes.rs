//! Mutations that escape the strings once too often, wholly or in part.
//!
//! A string that is escaped in part can be unescaped only if no backslash belongs to the code
//! itself. So these mutations do not apply to edits with a backslash.

use super::{CallDraft, EditDraft, LineRole};
use crate::rng::Rng;

/// Returns the text as it is between the quotes of a JSON string.
fn json_body(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
    out
}

/// `None` if one of the strings has a backslash.
fn require_no_backslash(call: &CallDraft) -> Option<()> {
    (!call.old.contains('\\') && !call.new.contains('\\')).then_some(())
}

/// Replaces `from` by `to` in both strings; `None` if `old_str` has no `from`, or if one of the
/// strings has a backslash.
fn replace_in_both(call: &mut CallDraft, from: &str, to: &str) -> Option<()> {
    require_no_backslash(call)?;
    call.old.contains(from).then_some(())?;
    call.old = call.old.replace(from, to);
    call.new = call.new.replace(from, to);
    Some(())
}

/// Escapes both strings as in JSON, which is what a client does that encodes them twice.
pub(super) fn escape_both(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old = json_body(&call.old);
    call.new = json_body(&call.new);
    Some(())
}

/// Escapes only `old_str`. The line breaks in `new_str` show that it is not escaped.
pub(super) fn escape_old(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    (call.new.contains('\n') && !call.new.contains('\\')).then_some(())?;
    call.old = json_body(&call.old);
    Some(())
}

/// Escapes the line breaks.
pub(super) fn line_breaks(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    replace_in_both(call, "\n", "\\n")
}

/// Escapes the tabs.
pub(super) fn tabs(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    replace_in_both(call, "\t", "\\t")
}

/// Escapes the double quotes.
pub(super) fn double_quotes(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    replace_in_both(call, "\"", "\\\"")
}

/// Escapes the single quotes.
pub(super) fn single_quotes(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    replace_in_both(call, "'", "\\'")
}

/// Escapes the backticks.
pub(super) fn backticks(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    replace_in_both(call, "`", "\\`")
}

/// Doubles every backslash. The call then has only runs of an even number of backslashes, while the
/// file also has runs of an odd number, which shows that they are doubled.
pub(super) fn backslashes(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let has_odd_run = |text: &str| text.split(|c| c != '\\').any(|run| run.len() % 2 == 1);
    has_odd_run(&call.old).then_some(())?;
    call.old = call.old.replace('\\', "\\\\");
    call.new = call.new.replace('\\', "\\\\");
    Some(())
}

/// Escapes the quotes and backslashes of the kept lines only: the new ones are right.
pub(super) fn kept_lines(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let is_escaped = |line: &str| line.contains(['"', '\\']);
    let kept = draft.positions(|draft_line| {
        draft_line.is_context_text() && draft_line.file.as_deref().is_some_and(is_escaped)
    });
    let added = |role| draft.positions(|draft_line| draft_line.role == role);
    (!kept.is_empty() && !added(LineRole::Added).is_empty()).then_some(())?;
    for draft_line in &mut draft.lines {
        if draft_line.role != LineRole::Added {
            draft_line.change_in_call(|line| line.replace('\\', "\\\\").replace('"', "\\\""));
        }
    }
    Some(())
}
