//! A call at a place that somebody else chose: what it changes is merged with what the file
//! has there.
//!
//! Limits: a place whose lines times those of the call are more than a table may hold is none.

use std::ops::Range;

use super::call::merge_window;
use super::indent::IndentMap;
use super::merge::new_lines;
use super::slack::Slack;
use super::source::Source;
use super::tokens;
use super::window::{Piece, Step, Window, differences, split};
use crate::edit::{EditRequest, Splice};
use crate::text::Snapshot;

/// So many pairs of lines are compared.
const MOST_PAIRS: usize = 250_000;

/// The text that a call means by its new text, at a range of the file: see [`super::merge_onto`].
pub(super) fn merge(
    request: &EditRequest,
    snapshot: &Snapshot,
    range: Range<usize>,
) -> Option<String> {
    let source = Source::new(snapshot);
    let (old, new) = (split(&request.old), new_lines(&request.old, &request.new));
    let window = cover(&source, &old, range.clone())?;
    let map = IndentMap::fit(window.indents(&old, &source), source.unit());
    let candidate = merge_window(&source, &window, &old, &new, &map).ok()?;
    let Splice { range: covered, text } = candidate.splice;
    // The window may include the last line's ending; the caller replaces `range` alone.
    if covered.start != range.start || covered.end < range.end {
        return None;
    }
    let behind = &snapshot.text()[range.end..covered.end];
    text.strip_suffix(behind).map(str::to_owned).or_else(|| text.is_empty().then(String::new))
}

/// The window of `old` over a given range, every line of the range accounted for.
fn cover(source: &Source<'_>, old: &[&str], range: Range<usize>) -> Option<Window> {
    if range.is_empty() || range.end > source.text.len() {
        return None;
    }
    let text = &source.text[range.clone()];
    let first = source.line_at(range.start);
    let pieces: Vec<Piece> = crate::text::each_line(text)
        .enumerate()
        .map(|(at, line)| {
            let file = &source.lines[first + at];
            let (start, end) = (range.start + line.body.start, range.start + line.body.end);
            Piece {
                line: first + at,
                start,
                end,
                from_start: start == file.start,
                to_end: end == file.end,
            }
        })
        .collect();
    let body = |at: usize| &source.text[pieces[at].start..pieces[at].end];
    let (rows, columns) = (old.len(), pieces.len());
    if rows.saturating_mul(columns) > MOST_PAIRS {
        return None;
    }
    let alike = |i: usize, j: usize| -> f64 {
        match differences(old[i], body(j)) {
            Some(_) if old[i].trim().is_empty() => 0.5,
            Some(_) => 2.0,
            None => tokens::likeness(old[i].trim(), body(j).trim()),
        }
    };
    let mut table = vec![0.0_f64; rows * columns];
    for i in 0..rows {
        for j in 0..columns {
            table[i * columns + j] = alike(i, j);
        }
    }
    let one_for_one = rows == columns;
    let value = |i: usize, j: usize| {
        let like = table[i * columns + j];
        if like >= 0.4 || one_for_one && i == j { like.max(0.1) } else { f64::NEG_INFINITY }
    };
    let width = columns + 1;
    let mut best = vec![0.0_f64; (rows + 1) * width];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let paired = value(i, j) + best[(i + 1) * width + j + 1];
            best[i * width + j] =
                paired.max(best[(i + 1) * width + j]).max(best[i * width + j + 1]);
        }
    }
    let mut steps = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        let here = best[i * width + j];
        if value(i, j) + best[(i + 1) * width + j + 1] >= here {
            steps.push(Step::Pair(i, pieces[j]));
            i += 1;
            j += 1;
        } else if best[(i + 1) * width + j] >= here {
            steps.push(Step::OldOnly(i));
            i += 1;
        } else {
            steps.push(Step::FileOnly(pieces[j]));
            j += 1;
        }
    }
    steps.extend((i..rows).map(Step::OldOnly));
    steps.extend(pieces[j..].iter().copied().map(Step::FileOnly));
    Some(Window { steps, slack: Slack::PUNCTUATION | Slack::LOOK_ALIKE })
}
