//! Copies of the lines around an edit, which are kept and would then be there twice.

use crate::edit::Rewrite;
use crate::text::Snapshot;

use super::structure::Structure;
use super::{LocatedEdit, RepairLog, is_kept};

/// Drops the block's own first and last line around its new body: exact copies of both
/// neighbours, of which the first opens what the last closes.
pub(super) fn drop_enclosing_copies(
    edits: &mut [LocatedEdit],
    at: usize,
    file: &Snapshot,
    structure: &Structure<'_>,
    log: &mut RepairLog,
) {
    let Some(language) = structure.language else { return };
    let (head, tail) = (echo_at_head(edits, at, file), echo_at_tail(edits, at, file));
    let edit = &edits[at];
    let lines = &edit.lines;
    if head == 0 || tail == 0 || head + tail >= lines.len() {
        return;
    }
    let (first, last) = (lines[..head].join("\n"), lines[lines.len() - tail..].join("\n"));
    let opened = language.lex(&first);
    let has_words =
        lines[..head].iter().any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 3);
    let enclose = has_words
        && !opened.unmatched.is_empty()
        && language.lex(&format!("{first}\n{last}")).is_well_formed();
    if enclose {
        drop_echoes(edits, at, (head, tail), log);
    }
}

/// Removes copies of the surrounding lines from an edit.
pub(super) fn drop_echoes(
    edits: &mut [LocatedEdit],
    at: usize,
    (head, tail): (usize, usize),
    log: &mut RepairLog,
) {
    let edit = &mut edits[at];
    let (number, before, after) = (edit.number, edit.span.start - 1, edit.span.end + 1);
    edit.lines.truncate(edit.lines.len() - tail);
    edit.lines.drain(..head);
    if tail > 0 {
        log.record(
            Rewrite::BoundaryEcho,
            format!("edit {number}: dropped its last {tail} line(s), which repeat the file from line {after} on"),
        );
    }
    if head > 0 {
        log.record(
            Rewrite::BoundaryEcho,
            format!("edit {number}: dropped its first {head} line(s), which repeat the file up to line {before}"),
        );
    }
}

/// How many of the last new lines repeat the kept lines below.
pub(super) fn echo_at_tail(edits: &[LocatedEdit], at: usize, file: &Snapshot) -> usize {
    let edit = &edits[at];
    (1..=max_echo(edit))
        .rev()
        .find(|&k| {
            let tail = &edit.lines[edit.lines.len() - k..];
            tail.iter().enumerate().all(|(i, line)| {
                let number = edit.span.end + 1 + i;
                is_kept(edits, number) && same(file.line(number), line)
            })
        })
        .unwrap_or(0)
}

/// How many of the first new lines repeat the kept lines above.
pub(super) fn echo_at_head(edits: &[LocatedEdit], at: usize, file: &Snapshot) -> usize {
    let edit = &edits[at];
    (1..=max_echo(edit).min(edit.span.start - 1))
        .rev()
        .find(|&k| {
            edit.lines[..k].iter().enumerate().all(|(i, line)| {
                let number = edit.span.start - k + i;
                is_kept(edits, number) && same(file.line(number), line)
            })
        })
        .unwrap_or(0)
}

/// The longest copy of the surrounding lines that is searched for.
const MAX_ECHO: usize = 20;

/// An insertion has at least one line of its own.
fn max_echo(edit: &LocatedEdit) -> usize {
    let inserts = edit.span.end < edit.span.start;
    edit.lines.len().saturating_sub(usize::from(inserts)).min(MAX_ECHO)
}

fn same(old: Option<&str>, new: &str) -> bool {
    old.is_some_and(|old| old.trim_end() == new.trim_end())
}
