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
pub struct LineMap {
    runs: Vec<LineRun>,
    old_total: usize,
    new_total: usize,
}

impl LineMap {
    /// The map of a file of `total` lines to itself.
    pub fn identity(total: usize) -> Self {
        let runs = if total == 0 { vec![] } else { vec![LineRun { old: 1, new: 1, len: total }] };
        Self { runs, old_total: total, new_total: total }
    }

    /// The map across a change by another program, inferred by a diff.
    pub fn diff(old: &Snapshot, new: &Snapshot) -> Self {
        if old == new {
            return Self::identity(old.lines().total());
        }
        let (a, b) = (bodies(old), bodies(new));
        let (old_total, new_total) = (a.len(), b.len());
        Self::from_targets(&align(&a, &b), old_total, new_total)
    }

    /// The map across an edit of this session with these spans.
    pub fn from_edit(before: &Snapshot, after: &Snapshot, spans: &[Span]) -> Self {
        let (a, b) = (bodies(before), bodies(after));
        let (old_total, new_total) = (a.len(), b.len());
        let mut targets = vec![0; old_total];
        let (mut old_at, mut new_at) = (0, 0);
        for span in spans {
            let (old, new) = (lines(span.lines_before()), lines(span.lines_after()));
            if old.end > old_total
                || new.end > new_total
                || old.start < old_at
                || new.start < new_at
            {
                return Self::diff(before, after);
            }
            for (k, target) in targets[old_at..old.start].iter_mut().enumerate() {
                *target = new_at + k + 1;
            }
            // The edit may have kept lines inside the span.
            for (k, target) in align(&a[old.clone()], &b[new.clone()]).into_iter().enumerate() {
                if target > 0 {
                    targets[old.start + k] = new.start + target;
                }
            }
            (old_at, new_at) = (old.end, new.end);
        }
        if old_total - old_at != new_total - new_at {
            return Self::diff(before, after);
        }
        for (k, target) in targets[old_at..].iter_mut().enumerate() {
            *target = new_at + k + 1;
        }
        Self::from_targets(&targets, old_total, new_total)
    }

    /// The map in which each old line goes to the line in `targets`, or to none if that is 0.
    fn from_targets(targets: &[usize], old_total: usize, new_total: usize) -> Self {
        let mut runs: Vec<LineRun> = Vec::new();
        for (k, &new) in targets.iter().enumerate().filter(|(_, new)| **new > 0) {
            match runs.last_mut() {
                Some(run) if run.old + run.len == k + 1 && run.new + run.len == new => run.len += 1,
                _ => runs.push(LineRun { old: k + 1, new, len: 1 }),
            }
        }
        Self { runs, old_total, new_total }
    }

    /// The new number of a line; `None` if it changed, was deleted or cannot be identified.
    pub fn line(&self, old: usize) -> Option<usize> {
        let at = self.runs.partition_point(|run| run.old + run.len <= old);
        let run = self.runs.get(at).filter(|run| run.old <= old)?;
        Some(run.new + (old - run.old))
    }

    /// The new numbers of a span; `None` unless all its lines are still there, next to each other. An
    /// empty span is the gap before its start, and stays before the same line.
    pub fn span(&self, old: LineSpan) -> Option<LineSpan> {
        if old.end < old.start {
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
    pub fn then(&self, next: &Self) -> Self {
        let mut targets = vec![0; self.old_total];
        for run in &self.runs {
            for k in 0..run.len {
                targets[run.old - 1 + k] = next.line(run.new + k).unwrap_or(0);
            }
        }
        Self::from_targets(&targets, self.old_total, next.new_total)
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
fn lines(span: LineSpan) -> Range<usize> {
    span.start - 1..span.end.max(span.start - 1)
}

/// The lines without trailing whitespace, which the ids of lines ignore too.
fn bodies(snapshot: &Snapshot) -> Vec<&str> {
    let text = snapshot.text();
    crate::text::each_line(text).map(|line| text[line.body].trim_end()).collect()
}

/// How many letters and digits the landmarks of a run must have in total, so that the run is
/// recognised anywhere in the file: about two short lines.
const MIN_EVIDENCE: usize = 12;

/// For each line of `a` the number of the same line in `b`, from 1, or 0 if there is none.
fn align(a: &[&str], b: &[&str]) -> Vec<usize> {
    let mut targets = vec![0_usize; a.len()];
    let mut evidence = vec![0_usize; a.len()];
    let (mut i, mut j) = (0, 0);
    let ends = std::iter::once((a.len(), b.len()));
    for (next_i, next_j) in landmarks(a, b).into_iter().chain(ends) {
        if a[i..next_i] == b[j..next_j] {
            for (k, target) in targets[i..next_i].iter_mut().enumerate() {
                *target = j + k + 1;
            }
        }
        if let Some(line) = a.get(next_i) {
            targets[next_i] = next_j + 1;
            evidence[next_i] =
                line.chars().filter(|c| c.is_alphanumeric()).take(MIN_EVIDENCE).count();
        }
        (i, j) = (next_i + 1, next_j + 1);
    }
    drop_weak_runs(&mut targets, &evidence, b.len());
    drop_coincidences(a, b, &targets)
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
fn drop_coincidences(a: &[&str], b: &[&str], targets: &[usize]) -> Vec<usize> {
    (0..targets.len())
        .map(|i| {
            let target = targets[i];
            let above = match (i, target) {
                (_, 0) => return 0,
                (0, 1) => true,
                (0, _) | (_, 1) => false,
                _ => a[i - 1] == b[target - 2],
            };
            let below = match (i + 1 == a.len(), target == b.len()) {
                (true, true) => true,
                (false, false) => a[i + 1] == b[target],
                _ => false,
            };
            if above || below { target } else { 0 }
        })
        .collect()
}

/// The lines that occur once in both versions, as pairs of indices: the longest sequence that has the
/// same order in both.
fn landmarks(a: &[&str], b: &[&str]) -> Vec<(usize, usize)> {
    let mut seen: HashMap<&str, (usize, usize, usize)> = HashMap::with_capacity(a.len());
    for (i, line) in a.iter().enumerate() {
        let entry = seen.entry(line).or_insert((0, i, 0));
        entry.0 += 1;
    }
    let mut at: HashMap<&str, usize> = HashMap::new();
    for (j, line) in b.iter().enumerate() {
        if let Some(entry) = seen.get_mut(line) {
            entry.2 += 1;
            at.insert(line, j);
        }
    }
    let mut pairs: Vec<(usize, usize)> = seen
        .iter()
        .filter(|(_, (old, _, new))| *old == 1 && *new == 1)
        .map(|(line, (_, i, _))| (*i, at[line]))
        .collect();
    pairs.sort_unstable();
    longest_increasing(&pairs)
}

/// The longest subsequence of the pairs whose second members increase.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut tails: Vec<usize> = Vec::new();
    let mut back: Vec<Option<usize>> = vec![None; pairs.len()];
    for (k, &(_, j)) in pairs.iter().enumerate() {
        let slot = tails.partition_point(|&t| pairs[t].1 < j);
        back[k] = slot.checked_sub(1).map(|p| tails[p]);
        if slot == tails.len() {
            tails.push(k);
        } else {
            tails[slot] = k;
        }
    }
    let mut out = Vec::with_capacity(tails.len());
    let mut next = tails.last().copied();
    while let Some(k) = next {
        out.push(pairs[k]);
        next = back[k];
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
