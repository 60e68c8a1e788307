//! Our own search for what the caller may have meant: the regions of the file that
//! share most with `old_str`. They bound what the model sees, and what it may choose.
//!
//! Shared runs of three characters vote for lines, rare runs more than common ones;
//! the best regions are then aligned character by character. Linear in the file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::nearness::{best_part, folded};
use crate::port::Window;
use crate::text::Snapshot;

/// No file larger than this is searched.
pub(super) const MOST_FILE_BYTES: usize = 32 << 20;
/// `old_str` and `new_str` together, when they are sent.
pub(super) const MOST_CALLER_BYTES: usize = 48 << 10;
/// All windows together; a file of this size is sent whole.
const MOST_WINDOW_BYTES: usize = 32 << 10;
/// A larger file sends one part in so many.
const SHARE: usize = 24;
/// But at least this much.
const LEAST_WINDOW_BYTES: usize = 2 << 10;
/// Regions that are looked at closely.
const MOST_REGIONS: usize = 10;
/// Lines by which a region may begin earlier or end later than its votes say.
const SLACK: usize = 2;
/// Lines of context around a region.
const CONTEXT: usize = 8;
/// Places among which a model may choose.
pub(super) const MOST_PLACES: usize = 20;

/// A region of the file that is like `old_str`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    pub(super) range: Range<usize>,
    pub(super) score: f64,
}

/// What the search found.
#[derive(Debug, Clone)]
pub(super) struct Survey {
    /// Like `old_str`, best first.
    pub(super) regions: Vec<Region>,
    /// What is shown.
    pub(super) windows: Vec<Window>,
    /// Where the windows are, in the same order.
    pub(super) shown: Vec<Range<usize>>,
}

impl Survey {
    pub(super) fn of(old: &str, snapshot: &Snapshot) -> Self {
        let regions = regions(old, snapshot);
        let shown = shown(old, snapshot, &regions);
        let windows = shown.iter().map(|range| window(snapshot, range)).collect();
        Self { regions, windows, shown }
    }

    /// Whether some window holds all of `range`.
    pub(super) fn shows(&self, range: &Range<usize>) -> bool {
        self.shown.iter().any(|w| w.start <= range.start && range.end <= w.end)
    }
}

/// Windows around the lines of equal candidates.
pub(super) fn around(snapshot: &Snapshot, lines: &[usize]) -> Vec<Window> {
    let total = snapshot.lines().total();
    let room = MOST_WINDOW_BYTES / lines.len().max(1);
    lines
        .iter()
        .map(|&line| {
            let index = snapshot.lines();
            let from = line.saturating_sub(CONTEXT).max(1);
            let to = (line + CONTEXT).min(total);
            let mut range = index.start(from)..index.start(to + 1);
            if range.len() > room {
                range = index.start(line)..index.start(line + 1);
                range.end = floor(snapshot.text(), range.start + range.len().min(room));
            }
            window(snapshot, &range)
        })
        .collect()
}

fn window(snapshot: &Snapshot, range: &Range<usize>) -> Window {
    let line = |at| snapshot.lines().number_at(at);
    Window {
        start_line: line(range.start),
        end_line: line(range.end.saturating_sub(1).max(range.start)),
        text: snapshot.text()[range.clone()].to_owned(),
    }
}

fn shown(old: &str, snapshot: &Snapshot, regions: &[Region]) -> Vec<Range<usize>> {
    let text = snapshot.text();
    if text.len() <= MOST_WINDOW_BYTES {
        return std::iter::once(0..text.len()).collect();
    }
    let share = (text.len() / SHARE).max(LEAST_WINDOW_BYTES).max(old.len() * 2);
    let mut room = share.min(MOST_WINDOW_BYTES);
    let mut shown: Vec<Range<usize>> = Vec::new();
    for region in regions {
        let Some(range) = with_context(snapshot, &region.range, room) else { continue };
        room -= range.len();
        shown.push(range);
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

/// The whole lines of a region with as much context as fits into `room` bytes. A line
/// that does not fit at all is cut around the region.
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
    let spare = room.checked_sub(region.len())? / 2;
    let spare = spare.min(400);
    let (line_start, line_end) = (index.start(first), index.start(last + 1));
    let from = floor(text, region.start.saturating_sub(spare)).max(line_start);
    let to = floor(text, region.end + spare).min(line_end);
    Some(from..to)
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

type Gram = [char; 3];

fn grams(text: &str) -> impl Iterator<Item = Gram> + '_ {
    let mut last = ['\0'; 2];
    text.chars().filter(|c| !c.is_whitespace()).filter_map(move |c| {
        let gram = [last[0], last[1], c];
        last = [last[1], c];
        (gram[0] != '\0').then_some(gram)
    })
}

fn regions(old: &str, snapshot: &Snapshot) -> Vec<Region> {
    let plain = super::escapes::unescaped(old);
    let old = if plain.lines().count() > old.lines().count() { &plain } else { old };
    let wanted: HashSet<Gram> = grams(old).collect();
    let index = snapshot.lines();
    let total = index.total();
    let span = old.trim().lines().count().max(1).min(total);
    let line_grams: Vec<Vec<Gram>> = (1..=total)
        .map(|number| {
            let line = snapshot.line(number).unwrap_or_default();
            let mut own: Vec<Gram> = grams(line).filter(|g| wanted.contains(g)).collect();
            own.sort_unstable();
            own.dedup();
            own
        })
        .collect();
    let mut seen: HashMap<Gram, u32> = HashMap::new();
    for gram in line_grams.iter().flatten() {
        *seen.entry(*gram).or_default() += 1;
    }
    let lines = f64::from(u32::try_from(total).unwrap_or(u32::MAX));
    let weight = |gram: &Gram| {
        seen.get(gram).map_or(0.0, |&count| (1.0 + lines / f64::from(count.max(1))).ln())
    };
    let votes: Vec<f64> = line_grams.iter().map(|own| own.iter().map(weight).sum()).collect();
    let mut sums: Vec<(f64, usize)> = Vec::with_capacity(total);
    let mut sum: f64 = votes.iter().take(span).sum();
    for start in 0..=total - span {
        sums.push((sum, start));
        sum += votes.get(start + span).unwrap_or(&0.0) - votes[start];
    }
    sums.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut starts: Vec<usize> = Vec::new();
    for (sum, start) in sums {
        if starts.len() == MOST_REGIONS || (sum <= 0.0 && !starts.is_empty()) {
            break;
        }
        if starts.iter().all(|&taken| taken.abs_diff(start) >= span) {
            starts.push(start);
        }
    }
    let wanted = folded(old);
    let mut regions: Vec<Region> = Vec::with_capacity(starts.len());
    for start in starts {
        let mut found = region(&wanted, snapshot, start + 1, span, SLACK.min(span));
        let taken = |found: &Region| {
            let apart =
                |r: &Region| r.range.end <= found.range.start || found.range.end <= r.range.start;
            !regions.iter().all(apart)
        };
        // Two neighbours that are drawn to the same text are two places all the same.
        if taken(&found) {
            found = region(&wanted, snapshot, start + 1, span, 0);
        }
        if !taken(&found) {
            regions.push(found);
        }
    }
    regions.sort_by(|a, b| b.score.total_cmp(&a.score));
    regions
}

/// The part nearest to `wanted` around `span` lines from `line` on, as a range of the text.
fn region(wanted: &[char], snapshot: &Snapshot, line: usize, span: usize, slack: usize) -> Region {
    let index = snapshot.lines();
    let from = index.start(line.saturating_sub(slack).max(1));
    let to = index.start((line + span + slack).min(index.total() + 1));
    let (chars, offsets) = folded_with_offsets(&snapshot.text()[from..to]);
    let (score, start, end) = best_part(wanted, &chars);
    let at = |i: usize| offsets.get(i).copied().unwrap_or(to - from);
    Region { range: from + at(start)..from + at(end.max(start + 1)), score }
}

/// Like [`folded`], and where each character stands in the text.
fn folded_with_offsets(text: &str) -> (Vec<char>, Vec<usize>) {
    let mut chars: Vec<char> = Vec::new();
    let mut offsets = Vec::new();
    for (at, c) in text.char_indices() {
        let blank = c.is_whitespace();
        if blank && chars.last().is_none_or(|&last| last == ' ') {
            continue;
        }
        chars.push(if blank { ' ' } else { c });
        offsets.push(at);
    }
    (chars, offsets)
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
        let survey =
            Survey::of("fn dead_line(limits: Duration) -> Result<Instant, Overflow> {", &snapshot);
        let sent: usize = survey.windows.iter().map(|w| w.text.len()).sum();
        assert!(sent * 20 < text.len(), "{sent} of {}", text.len());
        assert_eq!(survey.windows[0].start_line, 1);
        assert!(survey.regions[0].score > 0.9, "{:?}", survey.regions[0]);
        assert!(survey.shows(&survey.regions[0].range));
    }

    #[test]
    fn one_endless_line_is_cut_around_the_region() {
        let text = format!(
            "{}function wanted(a){{return a+1}}{}",
            "x=1;".repeat(20_000),
            "y=2;".repeat(20_000)
        );
        let snapshot = Snapshot::from_text(text.clone());
        let survey = Survey::of("function wanted(b){return a+1}", &snapshot);
        let sent: usize = survey.windows.iter().map(|w| w.text.len()).sum();
        assert!(sent < 10_000, "{sent}");
    }
}
