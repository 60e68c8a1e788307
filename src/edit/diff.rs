//! Unified diffs, computed only for the changed lines, so that a one-line edit costs no more in a large
//! file than in a small one.

use std::fmt::Write as _;

use similar::TextDiff;

use super::spans::{Span, spans};
use super::{EditPlan, Splice, WorkPath};
use crate::text::Snapshot;

/// Unchanged lines around each hunk.
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
        // Spans whose context lines would meet share a hunk.
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

/// The changed spans of a plan, and its unified diff.
pub(crate) fn spans_and_diff(path: &WorkPath, plan: &EditPlan) -> (Vec<Span>, String) {
    let (before, after) = (plan.snapshot(), Snapshot::from_text(plan.text_after()));
    let spans = spans(before, &after, plan);
    let diff = unified_diff(path.as_str(), before, &after, &spans);
    (spans, diff)
}

/// The unified diff of a whole file; a side without the file is `/dev/null`.
pub(crate) fn file_diff(path: &str, before: Option<&Snapshot>, after: Option<&Snapshot>) -> String {
    let text = |side: Option<&Snapshot>| side.map_or(String::new(), |file| file.text().to_owned());
    let name = |side: Option<&Snapshot>, letter: char| match side {
        Some(_) => format!("{letter}/{path}"),
        None => "/dev/null".to_owned(),
    };
    TextDiff::from_lines(text(before), text(after))
        .unified_diff()
        .header(&name(before, 'a'), &name(after, 'b'))
        .to_string()
}

/// The unified diff of some splices, without the file's name and cut if it is long.
pub(crate) fn short_diff(before: &Snapshot, splices: &[Splice], after: &Snapshot) -> String {
    let Ok(plan) = EditPlan::new(before, splices.to_vec()) else { return String::new() };
    let spans = spans(before, after, &plan);
    let whole = unified_diff("", before, after, &spans);
    let body = whole.splitn(3, '\n').nth(2).unwrap_or_default();
    let end = body.char_indices().nth(MAX_CHARACTERS).map_or(body.len(), |(at, _)| at);
    body[..end].to_owned()
}

/// The most characters of a short diff.
const MAX_CHARACTERS: usize = 1_500;

/// Adds the hunk that replaces lines `old` of `before` by lines `new` of `after`. Both are pairs of
/// (first line, last line).
fn push_hunk(
    out: &mut String,
    before: &Snapshot,
    after: &Snapshot,
    old: (usize, usize),
    new: (usize, usize),
) {
    let above = CONTEXT.min(old.0 - 1).min(new.0 - 1);
    let lines_below = |file: &Snapshot, line: usize| file.lines().total().saturating_sub(line);
    let below = CONTEXT.min(lines_below(before, old.1)).min(lines_below(after, new.1));
    let with_context = |file: &Snapshot, (start, end): (usize, usize)| {
        let index = file.lines();
        file.text()[index.start(start - above)..index.start(end + below + 1)].to_owned()
    };
    let (old_text, new_text) = (with_context(before, old), with_context(after, new));
    let diff = TextDiff::from_lines(old_text.as_str(), new_text.as_str());
    let hunk_range = |start: usize, text: &str| {
        let count = crate::text::LineIndex::new(text).total();
        // By convention, a side without lines gets the number of the line above it.
        let start = if count == 0 { (start - above).saturating_sub(1) } else { start - above };
        format!("{start},{count}")
    };
    let (old_range, new_range) = (hunk_range(old.0, &old_text), hunk_range(new.0, &new_text));
    // All lines are shown, under a header with their numbers in the file.
    let hunk = diff.unified_diff().context_radius(old_text.len()).to_string();
    let lines = hunk.split_once('\n').map_or("", |(_, lines)| lines);
    let _ = write!(out, "@@ -{old_range} +{new_range} @@\n{lines}");
}
