//! Unified diffs of the touched regions only, so that a one-line edit of a large
//! file costs what the line costs.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use super::spans::Span;
use crate::text::Snapshot;

const CONTEXT: usize = 3;

/// The unified diff of the given spans.
pub(crate) fn unified_diff(
    path: &str,
    before: &Snapshot,
    after: &Snapshot,
    spans: &[Span],
) -> String {
    let mut out = format!("--- a/{path}\n+++ b/{path}\n");
    let mut spans = spans.iter().peekable();
    while let Some(first) = spans.next() {
        let mut last = first;
        while let Some(next) =
            spans.next_if(|next| next.before.start_line <= last.before.end_line + 2 * CONTEXT)
        {
            last = next;
        }
        let old = (first.before.start_line, last.before.end_line);
        let new = (first.after.start_line, last.after.end_line);
        push_hunk(&mut out, before, after, old, new);
    }
    out
}

/// The changed lines of some splices, without the file's name.
pub(crate) fn short_diff(before: &Snapshot, splices: &[super::Splice], after: &Snapshot) -> String {
    let Ok(plan) = super::EditPlan::new(before, splices.to_vec()) else { return String::new() };
    let spans = super::spans::spans(before, after, &plan);
    let whole = unified_diff("", before, after, &spans);
    let body = whole.splitn(3, '\n').nth(2).unwrap_or_default();
    let max = body.char_indices().nth(MAX_CHARACTERS).map_or(body.len(), |(at, _)| at);
    body[..max].to_owned()
}

/// Characters of a short diff.
const MAX_CHARACTERS: usize = 1_500;

fn push_hunk(
    out: &mut String,
    before: &Snapshot,
    after: &Snapshot,
    old: (usize, usize),
    new: (usize, usize),
) {
    let above = CONTEXT.min(old.0 - 1).min(new.0 - 1);
    let left = |s: &Snapshot, end: usize| s.lines().total().saturating_sub(end);
    let below = CONTEXT.min(left(before, old.1)).min(left(after, new.1));
    let slice = |s: &Snapshot, (start, end): (usize, usize)| {
        let index = s.lines();
        s.text()[index.start(start - above)..index.start(end + below + 1)].to_owned()
    };
    let (a, b) = (slice(before, old), slice(after, new));
    let diff = TextDiff::from_lines(a.as_str(), b.as_str());
    let lines = |start: usize, text: &str| {
        let count = crate::text::LineIndex::new(text).total();
        let start = if count == 0 { (start - above).saturating_sub(1) } else { start - above };
        format!("{start},{count}")
    };
    let _ = writeln!(out, "@@ -{} +{} @@", lines(old.0, &a), lines(new.0, &b));
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        out.push(sign);
        out.push_str(change.value());
        if !change.value().ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}
