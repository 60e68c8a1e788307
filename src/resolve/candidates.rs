//! Chooses what a model is shown of the file: the places that are most similar to `old_str`, found by
//! the same search that refusals use, with some lines around. An answer must be within them.

use std::ops::Range;

use crate::edit::{Conflict, EditRequest};
use crate::matching::nearest_lines;
use crate::port::Window;
use crate::text::{LineSpan, Snapshot, words};

/// The size of the largest file that is searched.
pub(super) const MAX_FILE_BYTES: usize = 32 << 20;
/// The most bytes of a question, besides the fixed text of its prompt: 8 KiB with it.
pub(super) const MAX_QUESTION_BYTES: usize = 6 << 10;
/// A file up to this size is shown whole.
const SMALL_FILE_BYTES: usize = 1 << 10;
/// The size of what is shown around the nearest region, and of all other regions together.
const MAX_AROUND_BYTES: usize = 3 << 9;
/// The most regions that are compared.
const MAX_REGIONS: usize = 10;
/// The most regions that are shown.
const MAX_CANDIDATES: usize = 3;
/// A region is shown if its score is this near to the best.
const MAX_LAG: f64 = 0.15;
/// The lines of context above and below a region, if there is room; and more of them, if the model
/// asks for more.
const CONTEXT: [usize; 4] = [5, 2, 1, 0];
const MORE_CONTEXT: [usize; 6] = [160, 80, 40, 20, 10, 5];
/// A definition of up to this many lines is shown whole, with at least so many lines around.
const SHORT_DEFINITION: usize = 30;
const BESIDE: usize = 3;
/// The lead of a place that the matcher knows.
const KNOWN_LEAD: f64 = 0.1;

/// A region of the file that is similar to `old_str`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    /// Whole lines.
    pub(super) range: Range<usize>,
    pub(super) score: f64,
}

/// The regions that the search found, and the parts of the file that the model is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    /// The regions that are similar to `old_str`, best first.
    pub(super) regions: Vec<Region>,
    /// The byte ranges that are shown, each of whole lines.
    pub(super) shown: Vec<Range<usize>>,
}

impl Candidates {
    /// Searches the file for the text of the call. `conflicts` are at its place, if that is known.
    pub(super) fn of(request: &EditRequest, snapshot: &Snapshot, conflicts: &[Conflict]) -> Self {
        let index = snapshot.lines();
        let found = nearest_lines(snapshot, &request.old, MAX_REGIONS).into_iter();
        let mut regions: Vec<Region> = found
            .map(|(lines, score)| Region {
                range: index.start(lines.start + 1)..index.start(lines.end + 1),
                score,
            })
            .collect();
        // A conflict without a line of the file is no place.
        let mut conflicts = conflicts.iter().filter(|conflict| !conflict.found.is_empty());
        if let Some(first) = conflicts.next() {
            let last = conflicts.next_back().unwrap_or(first);
            let known = index.start(first.start_line.max(1))
                ..index.start(last.end_line.max(first.start_line).min(index.total()) + 1);
            let best = regions.first().map_or(0.0, |region| region.score);
            let at = regions.iter().position(|region| overlap(&region.range, &known));
            let mut region = match at {
                Some(at) => regions.remove(at),
                None => Region { range: known, score: best },
            };
            region.score = region.score.max(best + KNOWN_LEAD);
            regions.insert(0, region);
        }
        let shown = shown_ranges(snapshot, &regions);
        Self { regions, shown }
    }

    /// The same regions with more shown of the file, or all of it, within `room` bytes; `None` if
    /// there is no room for more.
    pub(super) fn with_more(&self, snapshot: &Snapshot, room: usize) -> Option<Self> {
        let best = self.shown.first()?;
        let mut wider = std::iter::once(0..snapshot.text().len())
            .chain(MORE_CONTEXT.iter().map(|context| lines_around(snapshot, best, *context)));
        let shown = wider.find(|range| numbered_len(snapshot, range) <= room)?;
        let has_more = shown.len() > self.shown.iter().map(Range::len).sum();
        has_more.then(|| Self { regions: self.regions.clone(), shown: vec![shown] })
    }

    /// What is shown, with its line numbers.
    pub(super) fn windows(&self, snapshot: &Snapshot) -> Vec<Window> {
        let window = |range: &Range<usize>| {
            let LineSpan { start, end } = snapshot.lines_of(range);
            let text = snapshot.text()[range.clone()].to_owned();
            Window { start_line: start, end_line: end, text }
        };
        self.shown.iter().map(window).collect()
    }
}

/// Whether two ranges have something in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The byte ranges to show: the whole of a small file; otherwise the regions nearest to the best.
fn shown_ranges(snapshot: &Snapshot, regions: &[Region]) -> Vec<Range<usize>> {
    let text = snapshot.text();
    if text.len() <= SMALL_FILE_BYTES {
        return std::iter::once(0..text.len()).collect();
    }
    let best = regions.first().map_or(0.0, |region| region.score);
    let near = regions.iter().filter(|region| region.score >= best - MAX_LAG);
    let mut room = MAX_AROUND_BYTES;
    let mut shown: Vec<Range<usize>> = Vec::new();
    for (at, region) in near.take(MAX_CANDIDATES).enumerate() {
        // The nearest one is shown whatever its size.
        let own_room = if at == 0 { region.range.len() + MAX_AROUND_BYTES } else { room };
        let Some(range) = with_context(snapshot, &region.range, own_room) else { continue };
        room = room.saturating_sub(range.len());
        shown.push(range);
    }
    // The best comes first; one that touches it becomes a part of it.
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in shown {
        match merged.iter_mut().find(|other| range.start <= other.end && other.start <= range.end) {
            Some(other) => *other = other.start.min(range.start)..other.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

/// The whole lines of a region, with the rest of its definition or as much context as fits into
/// `room` bytes; `None` if the region itself does not fit.
fn with_context(snapshot: &Snapshot, region: &Range<usize>, room: usize) -> Option<Range<usize>> {
    let index = snapshot.lines();
    let definition = definition(snapshot, region);
    let lines = index.number_at(definition.end.max(1) - 1) - index.number_at(definition.start) + 1;
    let near = lines_around(snapshot, region, BESIDE);
    let both = definition.start.min(near.start)..definition.end.max(near.end);
    if lines <= SHORT_DEFINITION && both.len() <= room {
        return Some(both);
    }
    let mut around = CONTEXT.iter().map(|context| lines_around(snapshot, region, *context));
    around.find(|range| range.len() <= room)
}

/// The whole lines of a range and so many lines above and below it.
pub(super) fn lines_around(
    snapshot: &Snapshot,
    range: &Range<usize>,
    count: usize,
) -> Range<usize> {
    let index = snapshot.lines();
    let (first, last) = (index.number_at(range.start), index.number_at(range.end.max(1) - 1));
    index.start(first.saturating_sub(count).max(1))
        ..index.start((last + count).min(index.total()) + 1)
}

/// About the size of a range as it is shown, with line numbers.
fn numbered_len(snapshot: &Snapshot, range: &Range<usize>) -> usize {
    let line = |at| snapshot.lines().number_at(at);
    range.len() + 6 * (line(range.end.max(1) - 1) - line(range.start) + 1)
}

/// The whole lines of the function around a range, by indentation: from the nearest line above that
/// is less deep and begins a function, to its end. Without one, from the last line that begins at
/// the margin.
pub(super) fn definition(snapshot: &Snapshot, range: &Range<usize>) -> Range<usize> {
    let index = snapshot.lines();
    let line = |number: usize| snapshot.line(number).unwrap_or_default();
    let depth = |number: usize| line(number).len() - line(number).trim_start().len();
    let is_blank = |number: usize| line(number).trim().is_empty();
    let closes = |number: usize| {
        let text = line(number).trim_start();
        text.starts_with(['}', ')', ']']) || text.trim_end() == "end"
    };
    let place = index.number_at(range.start)..=index.number_at(range.end.max(range.start + 1) - 1);
    let mut first = *place.start();
    let own = place.clone().filter(|number| !is_blank(*number) && !closes(*number));
    let (mut head_depth, mut is_head) = own
        .map(|number| (depth(number), begins_function(line(number))))
        .min_by_key(|(depth, is_head)| (*depth, !is_head))
        .unwrap_or((usize::MAX, false));
    let mut above = first;
    while !is_head && head_depth > 0 && above > 1 {
        above -= 1;
        if !is_blank(above) && !closes(above) && depth(above) < head_depth {
            (first, head_depth, is_head) = (above, depth(above), begins_function(line(above)));
        }
    }
    let mut last = *place.end();
    let mut below = last;
    while below < index.total() {
        below += 1;
        if is_blank(below) || depth(below) > head_depth {
            continue;
        }
        if depth(below) == head_depth && closes(below) {
            last = below;
            continue;
        }
        break;
    }
    let inside = (last + 1..=index.total())
        .take_while(|number| is_blank(*number) || depth(*number) > head_depth);
    last = inside.filter(|number| !is_blank(*number)).last().unwrap_or(last);
    index.start(first)..index.start(last.min(index.total()) + 1).max(range.end)
}

/// Whether a line seems to begin a function: by a word for it, or as C does.
fn begins_function(line: &str) -> bool {
    let mut words = words(line);
    let first = words.clone().next().unwrap_or_default();
    let is_control = ["if", "else", "for", "while", "switch", "match", "catch", "return", "with"];
    words.any(|word| ["fn", "def", "func", "function", "fun", "sub", "proc"].contains(&word))
        || line.trim_end().ends_with('{') && line.contains('(') && !is_control.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_short_definition_is_shown() {
        let function = |n: usize| {
            let body: String = (0..12).map(|at| format!("    step_{n}_{at}()\n")).collect();
            format!("def task_{n}():\n{body}\n\n")
        };
        let text: String = (0..40).map(function).collect();
        let snapshot = Snapshot::from_text(text);
        let request = EditRequest::new("    step_7_10(a)\n", "    step_7_10(b)\n");
        let windows = Candidates::of(&request, &snapshot, &[]).windows(&snapshot);
        assert!(windows[0].text.contains("def task_7():\n"), "{windows:?}");
        assert!(windows[0].text.contains("    step_7_11()\n"), "{windows:?}");
    }

    #[test]
    fn a_place_that_is_known_comes_first() {
        let text = "alpha = load(\"a\", 1)\n".repeat(2) + "\n" + &"x = 1\n".repeat(300);
        let snapshot = Snapshot::from_text(text);
        let conflict = Conflict {
            start_line: 200,
            end_line: 200,
            believed: "y = 2".into(),
            found: "x = 1".into(),
            written: None,
        };
        let request = EditRequest::new("alpha = load(\"b\", 1)", "alpha = load(\"b\", 2)");
        let candidates = Candidates::of(&request, &snapshot, &[conflict]);
        assert_eq!(snapshot.lines().number_at(candidates.regions[0].range.start), 200);
        assert!(candidates.windows(&snapshot)[0].start_line > 180);
    }
}
