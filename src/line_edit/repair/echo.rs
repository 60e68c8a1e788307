//! Copies of the lines around an edit, which stay and would be there twice.

use crate::edit::Rewrite;
use crate::text::Snapshot;

use super::structure::Structure;
use super::{Draft, Notes, stays};

/// Drops the block's own first and last line around its new body: exact copies of both
/// neighbours, of which the first opens what the last closes.
pub(super) fn enclosed_body(
    drafts: &mut [Draft],
    at: usize,
    file: &Snapshot,
    structure: &Structure<'_>,
    notes: &mut Notes,
) {
    let Some(language) = structure.language else { return };
    let (head, tail) = (echo_at_head(drafts, at, file), echo_at_tail(drafts, at, file));
    let draft = &drafts[at];
    let lines = &draft.lines;
    if head == 0 || tail == 0 || head + tail >= lines.len() {
        return;
    }
    let (first, last) = (lines[..head].join("\n"), lines[lines.len() - tail..].join("\n"));
    let opened = language.lex(&first);
    let worded =
        lines[..head].iter().any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 3);
    let enclose = worded
        && !opened.unmatched.is_empty()
        && language.lex(&format!("{first}\n{last}")).is_well_formed();
    if enclose {
        cut(drafts, at, (head, tail), notes);
    }
}

/// Takes copies of the lines around off a draft.
pub(super) fn cut(
    drafts: &mut [Draft],
    at: usize,
    (head, tail): (usize, usize),
    notes: &mut Notes,
) {
    let draft = &mut drafts[at];
    let (number, before, after) = (draft.number, draft.span.start - 1, draft.span.end + 1);
    draft.lines.truncate(draft.lines.len() - tail);
    draft.lines.drain(..head);
    if tail > 0 {
        notes.did(
            Rewrite::BoundaryEcho,
            format!("edit {number}: dropped its last {tail} line(s), which repeat the file from line {after} on"),
        );
    }
    if head > 0 {
        notes.did(
            Rewrite::BoundaryEcho,
            format!("edit {number}: dropped its first {head} line(s), which repeat the file up to line {before}"),
        );
    }
}

/// How many of the last new lines are the surviving lines below.
pub(super) fn echo_at_tail(drafts: &[Draft], at: usize, file: &Snapshot) -> usize {
    let draft = &drafts[at];
    (1..=most_echoed(draft))
        .rev()
        .find(|&k| {
            let tail = &draft.lines[draft.lines.len() - k..];
            tail.iter().enumerate().all(|(i, line)| {
                let number = draft.span.end + 1 + i;
                stays(drafts, number) && same(file.line(number), line)
            })
        })
        .unwrap_or(0)
}

/// How many of the first new lines are the surviving lines above.
pub(super) fn echo_at_head(drafts: &[Draft], at: usize, file: &Snapshot) -> usize {
    let draft = &drafts[at];
    (1..=most_echoed(draft).min(draft.span.start - 1))
        .rev()
        .find(|&k| {
            draft.lines[..k].iter().enumerate().all(|(i, line)| {
                let number = draft.span.start - k + i;
                stays(drafts, number) && same(file.line(number), line)
            })
        })
        .unwrap_or(0)
}

/// The longest copy of the lines around that is looked for.
const MOST_ECHOED: usize = 20;

/// An insertion has at least one line of its own.
fn most_echoed(draft: &Draft) -> usize {
    let inserts = draft.span.end < draft.span.start;
    draft.lines.len().saturating_sub(usize::from(inserts)).min(MOST_ECHOED)
}

fn same(old: Option<&str>, new: &str) -> bool {
    old.is_some_and(|old| old.trim_end() == new.trim_end())
}
