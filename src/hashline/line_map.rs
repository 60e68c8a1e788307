//! Maps the lines of one version of a file to those of a later one.
//!
//! For an edit of this session, the map is known from its splices. For a change by another program it
//! is inferred, and only unambiguous lines are mapped: lines that occur once in both versions, in the
//! same order, are landmarks; a line that occurs more often is mapped only if everything between two
//! landmarks is unchanged; and a run of mapped lines must be long enough to be recognised. A brace
//! among equal braces is left unmapped rather than guessed.

use std::collections::HashMap;
use std::ops::Range;

use crate::edit::Span;
use crate::text::{LineSpan, Snapshot};

/// A run of lines that are unchanged in both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineRun {
    old: usize,
    new: usize,
    len: usize,
}

/// Maps the line numbers of one version to those of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineMap {
    runs: Vec<LineRun>,
    old_total: usize,
    new_total: usize,
}

impl LineMap {
    /// The map of a file of `total` lines to itself.
    pub(crate) fn identity(total: usize) -> Self {
        let runs = if total == 0 { vec![] } else { vec![LineRun { old: 1, new: 1, len: total }] };
        Self { runs, old_total: total, new_total: total }
    }

    /// The map across a change by another program, inferred by a diff.
    pub(crate) fn diff(old: &Snapshot, new: &Snapshot) -> Self {
        if old == new {
            return Self::identity(old.lines().total());
        }
        let (old_total, new_total) = (old.lines().total(), new.lines().total());
        let mut out = Self { runs: Vec::new(), old_total, new_total };
        let targets = align(&bodies(old, 0..old_total), &bodies(new, 0..new_total));
        for (at, new) in targets.into_iter().enumerate().filter(|(_, new)| *new > 0) {
            out.push(LineRun { old: at + 1, new, len: 1 });
        }
        out
    }

    /// The map across an edit of this session with these spans.
    pub(crate) fn from_edit(before: &Snapshot, after: &Snapshot, spans: &[Span]) -> Self {
        let (old_total, new_total) = (before.lines().total(), after.lines().total());
        let mut out = Self { runs: Vec::new(), old_total, new_total };
        let (mut old_at, mut new_at) = (0, 0);
        for span in spans {
            let (old, new) = (line_indices(span.before.lines()), line_indices(span.after.lines()));
            if old.end > old_total
                || new.end > new_total
                || old.start < old_at
                || new.start < new_at
            {
                return Self::diff(before, after);
            }
            out.push(LineRun { old: old_at + 1, new: new_at + 1, len: old.start - old_at });
            // The edit may have kept lines inside the span.
            let targets = align(&bodies(before, old.clone()), &bodies(after, new.clone()));
            for (offset, target) in
                targets.into_iter().enumerate().filter(|(_, target)| *target > 0)
            {
                out.push(LineRun { old: old.start + offset + 1, new: new.start + target, len: 1 });
            }
            (old_at, new_at) = (old.end, new.end);
        }
        if old_total - old_at != new_total - new_at {
            return Self::diff(before, after);
        }
        out.push(LineRun { old: old_at + 1, new: new_at + 1, len: old_total - old_at });
        out
    }

    /// Adds a run below all others. One that goes on with the last becomes a part of it.
    fn push(&mut self, next: LineRun) {
        match self.runs.last_mut() {
            Some(run) if run.old + run.len == next.old && run.new + run.len == next.new => {
                run.len += next.len;
            }
            _ if next.len > 0 => self.runs.push(next),
            _ => {}
        }
    }

    /// The first line that has another number after this map; `None` if each line has the same.
    pub(crate) fn first_moved(&self) -> Option<usize> {
        let moved = self.runs.iter().find(|run| run.old != run.new).map(|run| run.old);
        let is_longer = self.old_total != self.new_total;
        moved.or_else(|| is_longer.then_some(self.old_total.min(self.new_total) + 1))
    }

    /// The new number of a line; `None` if it changed, was deleted or cannot be identified.
    pub(crate) fn line(&self, old: usize) -> Option<usize> {
        let at = self.runs.partition_point(|run| run.old + run.len <= old);
        let run = self.runs.get(at).filter(|run| run.old <= old)?;
        Some(run.new + (old - run.old))
    }

    /// The last line above `old` that is still there, and its new number.
    pub(crate) fn last_above(&self, old: usize) -> Option<(usize, usize)> {
        let at = self.runs.partition_point(|run| run.old < old);
        let run = self.runs.get(at.checked_sub(1)?)?;
        let above = (run.old + run.len - 1).min(old - 1);
        Some((above, run.new + (above - run.old)))
    }

    /// The new numbers of a span; `None` unless all its lines are still there, next to each other. An
    /// empty span is the gap before its start, and stays before the same line.
    pub(crate) fn span(&self, old: LineSpan) -> Option<LineSpan> {
        if old.is_empty() {
            let start = match old.start {
                start if start == self.old_total + 1 => self.new_total + 1,
                start => self.line(start)?,
            };
            return Some(LineSpan { start, end: start - 1 });
        }
        let start = self.line(old.start)?;
        let end = start + (old.end - old.start);
        (old.start..=old.end)
            .all(|number| self.line(number) == Some(start + number - old.start))
            .then_some(LineSpan { start, end })
    }

    /// This map followed by `next`.
    #[must_use]
    pub(crate) fn then(&self, next: &Self) -> Self {
        let mut out =
            Self { runs: Vec::new(), old_total: self.old_total, new_total: next.new_total };
        for run in &self.runs {
            let end = run.new + run.len;
            let from = next.runs.partition_point(|other| other.old + other.len <= run.new);
            for other in next.runs[from..].iter().take_while(|other| other.old < end) {
                let start = run.new.max(other.old);
                out.push(LineRun {
                    old: run.old + (start - run.new),
                    new: other.new + (start - other.old),
                    len: end.min(other.old + other.len) - start,
                });
            }
        }
        out
    }

    /// Maps spans of the old version to spans of the new one.
    pub(crate) fn map_spans(&self, old: &[LineSpan]) -> Vec<LineSpan> {
        let mut out = Vec::new();
        for span in old {
            for run in &self.runs {
                let start = span.start.max(run.old);
                let end = span.end.min(run.old + run.len - 1);
                if start <= end {
                    out.push(LineSpan {
                        start: run.new + start - run.old,
                        end: run.new + end - run.old,
                    });
                }
            }
        }
        out
    }
}

/// The indices of the lines of a span, from 0.
fn line_indices(span: LineSpan) -> Range<usize> {
    span.start - 1..span.end.max(span.start - 1)
}

/// Some lines, from 0, without trailing whitespace, which the ids of lines ignore too.
fn bodies(snapshot: &Snapshot, lines: Range<usize>) -> Vec<&str> {
    lines.filter_map(|at| snapshot.line(at + 1)).map(str::trim_end).collect()
}

/// How many letters and digits the landmarks of a run must have in total, so that the run is
/// recognised anywhere in the file: about two short lines.
const MIN_EVIDENCE: usize = 12;

/// For each old line the number of the same line in `new`, from 1, or 0 if there is none.
fn align(old: &[&str], new: &[&str]) -> Vec<usize> {
    let mut targets = vec![0_usize; old.len()];
    let mut evidence = vec![0_usize; old.len()];
    let (mut old_at, mut new_at) = (0, 0);
    let ends = std::iter::once((old.len(), new.len()));
    for (old_landmark, new_landmark) in landmarks(old, new).into_iter().chain(ends) {
        if old[old_at..old_landmark] == new[new_at..new_landmark] {
            for (offset, target) in targets[old_at..old_landmark].iter_mut().enumerate() {
                *target = new_at + offset + 1;
            }
        }
        if let Some(line) = old.get(old_landmark) {
            targets[old_landmark] = new_landmark + 1;
            evidence[old_landmark] =
                line.chars().filter(|c| c.is_alphanumeric()).take(MIN_EVIDENCE).count();
        }
        (old_at, new_at) = (old_landmark + 1, new_landmark + 1);
    }
    drop_weak_runs(&mut targets, &evidence, new.len());
    drop_coincidences(old, new, &targets)
}

/// Unmaps runs that are too short to be recognised, since a line such as `end` may occur once in both
/// versions without being the same line. A run at the start or the end of both files stays mapped.
fn drop_weak_runs(targets: &mut [usize], evidence: &[usize], total: usize) {
    let mut start = 0;
    while start < targets.len() {
        let mut end = start + 1;
        while end < targets.len() && targets[start] > 0 && targets[end] == targets[end - 1] + 1 {
            end += 1;
        }
        let is_at_start = start == 0 && targets[start] == 1;
        let is_at_end = end == targets.len() && targets[end - 1] == total;
        let letters: usize = evidence[start..end].iter().sum();
        if !is_at_start && !is_at_end && letters < MIN_EVIDENCE {
            targets[start..end].fill(0);
        }
        start = end;
    }
}

/// Unmaps each line whose two neighbours both differ between the versions, since it may be the same
/// only by chance.
fn drop_coincidences(old: &[&str], new: &[&str], targets: &[usize]) -> Vec<usize> {
    (0..targets.len())
        .map(|at| {
            let target = targets[at];
            // The start and the end of both files count as equal neighbours.
            let is_same_above = match (at, target) {
                (_, 0) => return 0,
                (0, 1) => true,
                (0, _) | (_, 1) => false,
                _ => old[at - 1] == new[target - 2],
            };
            let is_same_below = match (at + 1 == old.len(), target == new.len()) {
                (true, true) => true,
                (false, false) => old[at + 1] == new[target],
                _ => false,
            };
            if is_same_above || is_same_below { target } else { 0 }
        })
        .collect()
}

/// How often a line occurs in each version, and the index of one occurrence in each.
#[derive(Default)]
struct Occurrences {
    old_count: usize,
    old_at: usize,
    new_count: usize,
    new_at: usize,
}

/// The lines that occur once in both versions, as pairs of indices: the longest sequence that has the
/// same order in both.
fn landmarks(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut by_line: HashMap<&str, Occurrences> = HashMap::with_capacity(old.len());
    for (at, line) in old.iter().enumerate() {
        let occurrences = by_line.entry(line).or_default();
        occurrences.old_count += 1;
        occurrences.old_at = at;
    }
    for (at, line) in new.iter().enumerate() {
        if let Some(occurrences) = by_line.get_mut(line) {
            occurrences.new_count += 1;
            occurrences.new_at = at;
        }
    }
    let mut pairs: Vec<(usize, usize)> = by_line
        .values()
        .filter(|occurrences| occurrences.old_count == 1 && occurrences.new_count == 1)
        .map(|occurrences| (occurrences.old_at, occurrences.new_at))
        .collect();
    pairs.sort_unstable();
    longest_increasing(&pairs)
}

/// The longest subsequence of the pairs whose second members increase.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair with the smallest second member that ends a subsequence of it.
    let mut tails: Vec<usize> = Vec::new();
    let mut predecessors: Vec<Option<usize>> = vec![None; pairs.len()];
    for (at, &(_, second)) in pairs.iter().enumerate() {
        let slot = tails.partition_point(|&tail| pairs[tail].1 < second);
        predecessors[at] = slot.checked_sub(1).map(|shorter| tails[shorter]);
        if slot == tails.len() {
            tails.push(at);
        } else {
            tails[slot] = at;
        }
    }
    let mut out = Vec::with_capacity(tails.len());
    let mut next = tails.last().copied();
    while let Some(at) = next {
        out.push(pairs[at]);
        next = predecessors[at];
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
        let text = |lines: &[&str]| Snapshot::from_text(lines.join("\n") + "\n");
        let map = LineMap::diff(&text(old), &text(new));
        (1..=old.len()).map(|n| map.line(n)).collect()
    }

    #[test]
    fn lines_move_with_their_neighbours() {
        assert_eq!(map(&["a", "b", "c"], &["new", "a", "b", "c"]), [Some(2), Some(3), Some(4)],);
        assert_eq!(map(&["a", "b", "c"], &["a", "c"]), [Some(1), None, Some(2)]);
        assert_eq!(
            map(
                &["first line", "}", "second", "}", "c"],
                &["x", "first line", "}", "second", "y", "}", "c"]
            ),
            [Some(2), Some(3), Some(4), None, Some(7)],
        );
    }

    #[test]
    fn equal_lines_are_lost_rather_than_guessed() {
        assert_eq!(map(&["a", "}", "b"], &["a", "}", "}", "b"]), [Some(1), None, Some(3 + 1)]);
        assert_eq!(map(&["a", "}", "}", "b"], &["a", "}", "b"]), [Some(1), None, None, Some(3)]);
        // The first was deleted and x came behind the second, or x took the second's place.
        assert_eq!(map(&["a", "}", "}", "b"], &["a", "}", "x", "b"])[1..3], [None, None]);
        let braces = vec!["}"; 50];
        assert!(map(&braces, &vec!["}"; 51]).iter().all(Option::is_none));
        assert!(map(&braces, &vec!["}"; 49]).iter().all(Option::is_none));
    }

    #[test]
    fn short_lines_in_a_changed_stretch_are_not_mapped() {
        let old = ["some text", "gone", "", "end", "other text"];
        let new = ["some text", "", "end", "end", "end", "other text"];
        assert_eq!(map(&old, &new), [Some(1), None, None, None, Some(6)]);
    }

    #[test]
    fn a_single_line_between_changes_is_a_coincidence() {
        assert_eq!(map(&["p", "x", "return", "y"], &["p", "z", "return", "w"])[2], None);
    }

    #[test]
    fn maps_compose_and_spans_stay_whole() {
        let (one, two, three) = (
            Snapshot::from_text("a\nb\nc\nd\n"),
            Snapshot::from_text("new\na\nb\nc\nd\n"),
            Snapshot::from_text("new\na\nb\nbetween\nc\nd\n"),
        );
        let map = LineMap::diff(&one, &two).then(&LineMap::diff(&two, &three));
        assert_eq!(map.span(LineSpan { start: 1, end: 2 }), Some(LineSpan { start: 2, end: 3 }));
        assert_eq!(map.span(LineSpan { start: 2, end: 3 }), None);
        assert_eq!(map.span(LineSpan { start: 4, end: 3 }), Some(LineSpan { start: 6, end: 5 }));
        // Before `c`, not behind `b`: a line came between them.
        assert_eq!(map.span(LineSpan { start: 3, end: 2 }), Some(LineSpan { start: 5, end: 4 }));
        assert_eq!(map.span(LineSpan { start: 5, end: 4 }), Some(LineSpan { start: 7, end: 6 }));
        assert_eq!(
            map.map_spans(&[LineSpan { start: 1, end: 3 }]),
            [LineSpan { start: 2, end: 3 }, LineSpan { start: 5, end: 5 }]
        );
    }
}
