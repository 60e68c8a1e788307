//! Chooses what a model is shown of the file: the lines around the regions that are most similar to
//! `old_str`, found by the same search that refusals use. A correction must be within them.

use std::ops::Range;

use crate::matching::nearest_lines;
use crate::port::Window;
use crate::text::{LineSpan, Snapshot};

/// The size of the largest file that is searched.
pub(super) const MAX_FILE_BYTES: usize = 32 << 20;
/// The largest `old_str` and `new_str` together that are sent.
pub(super) const MAX_CALLER_BYTES: usize = 48 << 10;
/// The size of all windows together; a file up to this size is sent whole.
const MAX_WINDOW_BYTES: usize = 32 << 10;
/// Of a larger file, about one part in this many is sent.
const SHARE: usize = 24;
/// Of a larger file, at least this much is sent.
const MIN_WINDOW_BYTES: usize = 2 << 10;
/// The most regions that are compared in full.
const MAX_REGIONS: usize = 10;
/// The lines of context above and below a region, if there is room.
const CONTEXT: usize = 8;

/// A region of the file that is similar to `old_str`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    pub(super) range: Range<usize>,
    pub(super) score: f64,
}

/// The regions that the search found, and the parts of the file that the model is shown.
#[derive(Debug, Clone)]
pub(super) struct Survey {
    /// The regions that are similar to `old_str`, best first.
    pub(super) regions: Vec<Region>,
    /// The parts of the file that are shown.
    pub(super) windows: Vec<Window>,
    /// The byte ranges of the windows, in the same order.
    pub(super) shown: Vec<Range<usize>>,
}

impl Survey {
    /// Searches the file for `old`. `read` are the lines that the caller has read in this session.
    pub(super) fn of(old: &str, snapshot: &Snapshot, read: &[LineSpan]) -> Self {
        let index = snapshot.lines();
        let found = nearest_lines(snapshot, old, MAX_REGIONS).into_iter();
        let regions: Vec<Region> = found
            .map(|(lines, score)| Region {
                range: index.start(lines.start + 1)..index.start(lines.end + 1),
                score,
            })
            .collect();
        let shown = shown_ranges(old, snapshot, &regions, read);
        let windows = shown.iter().map(|range| window(snapshot, range)).collect();
        Self { regions, windows, shown }
    }
}

/// A byte range of the file as a window with its line numbers.
fn window(snapshot: &Snapshot, range: &Range<usize>) -> Window {
    let line = |at| snapshot.lines().number_at(at);
    Window {
        start_line: line(range.start),
        end_line: line(range.end.saturating_sub(1).max(range.start)),
        text: snapshot.text()[range.clone()].to_owned(),
    }
}

/// The byte ranges to show: the whole of a small file; otherwise the regions, and the lines that the
/// caller has read, as far as there is room.
fn shown_ranges(
    old: &str,
    snapshot: &Snapshot,
    regions: &[Region],
    read: &[LineSpan],
) -> Vec<Range<usize>> {
    let text = snapshot.text();
    if text.len() <= MAX_WINDOW_BYTES {
        return std::iter::once(0..text.len()).collect();
    }
    let share = (text.len() / SHARE).max(MIN_WINDOW_BYTES).max(old.len() * 2);
    let mut room = share.min(MAX_WINDOW_BYTES);
    let mut shown: Vec<Range<usize>> = Vec::new();
    for region in regions {
        let Some(range) = with_context(snapshot, &region.range, room) else { continue };
        room -= range.len();
        shown.push(range);
    }
    // The caller probably means lines that it has read; the latest ones come first.
    for span in read.iter().rev() {
        let index = snapshot.lines();
        let range = index.start(span.start.max(1))..index.start(span.end.min(index.total()) + 1);
        if !range.is_empty() && range.len() <= room {
            room -= range.len();
            shown.push(range);
        }
    }
    shown.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in shown {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The whole lines of a region, with as much context as fits into `room` bytes. If the lines do not
/// fit, they are cut around the region; `None` if the region itself does not fit.
fn with_context(snapshot: &Snapshot, region: &Range<usize>, room: usize) -> Option<Range<usize>> {
    let index = snapshot.lines();
    let (first, last) = (index.number_at(region.start), index.number_at(region.end.max(1) - 1));
    for context in [CONTEXT, 4, 2, 1, 0] {
        let from = index.start(first.saturating_sub(context).max(1));
        let to = index.start((last + context).min(index.total()) + 1);
        if to - from <= room {
            return Some(from..to);
        }
    }
    let text = snapshot.text();
    let margin = (room.checked_sub(region.len())? / 2).min(400);
    let (line_start, line_end) = (index.start(first), index.start(last + 1));
    let from = floor_char_boundary(text, region.start.saturating_sub(margin)).max(line_start);
    let to = floor_char_boundary(text, region.end + margin).min(line_end);
    Some(from..to)
}

/// The last character boundary that is not after `at`.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_shows_a_small_part_around_the_best_regions() {
        let mut text = String::new();
        for n in 0..5_000 {
            text.push_str(&format!("    let value_{n} = compute({n}, \"name {n}\");\n"));
        }
        text.insert_str(0, "fn deadline(limit: Duration) -> Result<Instant, Overflow> {\n");
        let snapshot = Snapshot::from_text(text.clone());
        let survey = Survey::of(
            "fn dead_line(limits: Duration) -> Result<Instant, Overflow> {",
            &snapshot,
            &[],
        );
        let sent: usize = survey.windows.iter().map(|w| w.text.len()).sum();
        assert!(sent * 20 < text.len(), "{sent} of {}", text.len());
        assert_eq!(survey.windows[0].start_line, 1);
        assert!(survey.regions[0].score > 0.8, "{:?}", survey.regions[0]);
        let region = &survey.regions[0].range;
        assert!(survey.shown.iter().any(|w| w.start <= region.start && region.end <= w.end));
    }
}
