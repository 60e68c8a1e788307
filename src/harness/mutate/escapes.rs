//! One level of escaping too many, in all its partial forms.
//!
//! Partial forms are undone only where no backslash can belong to the code itself,
//! so those mutations skip edits that contain one.

use super::super::rng::Rng;
use super::CallDraft;

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

fn no_backslash(call: &CallDraft) -> Option<()> {
    (!call.old.contains('\\') && !call.new.contains('\\')).then_some(())
}

fn both(call: &mut CallDraft, from: &str, to: &str) -> Option<()> {
    no_backslash(call)?;
    call.old.contains(from).then_some(())?;
    call.old = call.old.replace(from, to);
    call.new = call.new.replace(from, to);
    Some(())
}

/// Both strings as JSON string bodies: the one form a careless client produces.
pub(super) fn escape_both(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old = json_body(&call.old);
    call.new = json_body(&call.new);
    Some(())
}

/// Only `old_str`; the raw line breaks of `new_str` prove that it is not escaped.
pub(super) fn escape_old(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    (call.new.contains('\n') && !call.new.contains('\\')).then_some(())?;
    call.old = json_body(&call.old);
    Some(())
}

pub(super) fn line_breaks(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    both(call, "\n", "\\n")
}

pub(super) fn tabs(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    both(call, "\t", "\\t")
}

pub(super) fn double_quotes(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    both(call, "\"", "\\\"")
}

pub(super) fn single_quotes(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    both(call, "'", "\\'")
}

pub(super) fn backticks(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    both(call, "`", "\\`")
}

/// Every backslash doubled: all runs are even, in both strings, and the file's are not.
pub(super) fn backslashes(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let odd = |text: &str| text.split(|c| c != '\\').any(|run| run.len() % 2 == 1);
    odd(&call.old).then_some(())?;
    call.old = call.old.replace('\\', "\\\\");
    call.new = call.new.replace('\\', "\\\\");
    Some(())
}
