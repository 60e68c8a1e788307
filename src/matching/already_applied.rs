//! Finds signs that an edit was already made. They take precedence over a lenient match, because the
//! matched text may only be similar to the text that the edit replaced.

use super::candidate::{self, Candidate, Needle};
use super::diff::{LineOp, line_ops};
use super::fold::is_word_char;
use super::outcome::new_lines;
use super::reading::Reading;
use super::source_file::{SourceFile, Tolerance, split_lines};

/// The most runs of new lines that are searched for.
const MAX_RUNS: usize = 8;

/// The line (from 1) at which the edit was already made. `tolerance` is the strictest one at which
/// the file has `old`, or, if the file does not have `old`, the laxest one to search with.
pub(super) fn find_applied_edit(
    file: &SourceFile<'_>,
    reading: &Reading,
    tolerance: Tolerance,
) -> Option<usize> {
    reading.new.texts().find_map(|new| find_new_lines(file, &reading.old, new, tolerance))
}

/// The line (from 1) at which the edit from `old` to `new` was already made.
fn find_new_lines(
    file: &SourceFile<'_>,
    old: &str,
    new: &str,
    tolerance: Tolerance,
) -> Option<usize> {
    let lines = new_lines(old, new);
    let old = split_lines(old);
    let line_ops = line_ops(&old, &lines);
    let adds_lines = line_ops.iter().any(|op| matches!(op, LineOp::Insert(_) | LineOp::Change(..)));
    let keeps_lines = line_ops.iter().any(|op| match op {
        LineOp::Keep(old_at, new_at) | LineOp::Change(old_at, new_at) => {
            old[*old_at].contains(is_word_char) && old[*old_at].trim() == lines[*new_at].trim()
        }
        _ => false,
    });
    if !contains(&old, &lines, tolerance) {
        // If kept lines tie the new text to the place, it may match as loosely as the old text;
        // otherwise it must match more strictly.
        let tolerances = Tolerance::ALL
            .into_iter()
            .take_while(|t| *t < tolerance || keeps_lines && *t == tolerance);
        for new_tolerance in tolerances {
            if is_distinctive(&lines)
                && let Some(candidate) = find_whole_lines(file, &lines, new_tolerance).first()
                && !still_has_removed(file, &line_ops, &old, candidate)
            {
                return Some(candidate.lines().start + 1);
            }
        }
    }
    if !adds_lines {
        return None;
    }
    find_inserted_runs(&line_ops, &old, &lines, file, tolerance)
}

/// The line (from 1) of the first run of new lines, if the file has every run together with the
/// kept lines around it.
fn find_inserted_runs(
    line_ops: &[LineOp],
    old: &[&str],
    new: &[&str],
    file: &SourceFile<'_>,
    tolerance: Tolerance,
) -> Option<usize> {
    let mut first_line = None;
    let mut run_count = 0;
    let mut at = 0;
    while at < line_ops.len() {
        let is_change =
            |op: &LineOp| matches!(op, LineOp::Insert(_) | LineOp::Change(..) | LineOp::Delete(_));
        let run_len = line_ops[at..].iter().take_while(|op| is_change(op)).count();
        if run_len == 0 {
            at += 1;
            continue;
        }
        let run = &line_ops[at..at + run_len];
        let (above_run, below_run) = (&line_ops[..at], &line_ops[at + run_len..]);
        at += run_len;
        let new_line = |op: &LineOp| match *op {
            LineOp::Insert(new_at) | LineOp::Change(_, new_at) | LineOp::Keep(_, new_at) => {
                Some(new_at)
            }
            LineOp::Delete(_) => None,
        };
        let run_lines: Vec<usize> = run.iter().filter_map(new_line).collect();
        let (Some(&first), Some(&last)) = (run_lines.first(), run_lines.last()) else { continue };
        if !run_lines.iter().any(|&new_at| new[new_at].contains(is_word_char)) {
            continue;
        }
        run_count += 1;
        if run_count > MAX_RUNS {
            return None;
        }
        // The nearest line with words above and below, if only kept lines are in between.
        let kept = |op: &LineOp| match op {
            LineOp::Keep(old_at, new_at) => Some((*new_at, old[*old_at].contains(is_word_char))),
            _ => None,
        };
        let above = above_run.iter().rev().map_while(kept).find(|(_, has_words)| *has_words);
        let below = below_run.iter().map_while(kept).find(|(_, has_words)| *has_words);
        if above.is_none() && below.is_none() {
            return None;
        }
        let start = above.map_or(first, |(kept_line, _)| kept_line);
        let end = below.map_or(last, |(kept_line, _)| kept_line) + 1;
        let text = &new[start..end];
        if contains(old, text, tolerance) {
            return None;
        }
        let candidates = find_whole_lines(file, text, tolerance);
        let candidate = candidates.first()?;
        if still_has_removed(file, line_ops, old, candidate) {
            return None;
        }
        first_line.get_or_insert(candidate.lines().start + 1);
    }
    first_line
}

/// Whether a line that the edit deletes is still next to a candidate. If so, the edit was not made
/// there.
fn still_has_removed(
    file: &SourceFile<'_>,
    line_ops: &[LineOp],
    old: &[&str],
    candidate: &Candidate,
) -> bool {
    let key = |line: &str| Tolerance::Indentation.key(line);
    let removed = line_ops.iter().filter_map(|op| match *op {
        LineOp::Delete(old_at) if old[old_at].contains(is_word_char) => Some(key(old[old_at])),
        _ => None,
    });
    let removed: Vec<u64> = removed.collect();
    let (start, end) = (candidate.lines().start, candidate.lines().end);
    let keys = file.keys(Tolerance::Indentation);
    let above = start.saturating_sub(removed.len())..start;
    let below = end..keys.len().min(end + removed.len());
    above.chain(below).any(|line| removed.contains(&keys[line]))
}

/// Whether `all` has `lines` next to each other and in order, at the tolerance. Blank lines are
/// skipped.
fn contains(all: &[&str], lines: &[&str], tolerance: Tolerance) -> bool {
    let tolerance = tolerance.max(Tolerance::Indentation);
    let keys = |lines: &[&str]| -> Vec<u64> {
        let nonblank = lines.iter().filter(|line| !line.trim().is_empty());
        nonblank.map(|line| tolerance.key(line)).collect()
    };
    let needle = keys(lines);
    needle.is_empty() || !candidate::find_key_sequence(&needle, &keys(all)).is_empty()
}

/// Whether lines say enough to prove that an edit was made. A single short line occurs in many
/// files.
fn is_distinctive(lines: &[&str]) -> bool {
    let word_lines = lines.iter().filter(|line| line.contains(is_word_char)).count();
    let word_chars: usize =
        lines.iter().map(|line| line.chars().filter(|c| is_word_char(*c)).count()).sum();
    word_lines > 1 || word_chars >= 8
}

/// The candidates of whole lines for `lines`, leaving out the blank lines at their start and end.
fn find_whole_lines(file: &SourceFile<'_>, lines: &[&str], tolerance: Tolerance) -> Vec<Candidate> {
    let mut lines = lines;
    while let [first, rest @ ..] = lines
        && first.trim().is_empty()
    {
        lines = rest;
    }
    while let [rest @ .., last] = lines
        && last.trim().is_empty()
    {
        lines = rest;
    }
    candidate::find_candidates(
        file,
        Needle { lines, whole_lines: true, ends_with_newline: true },
        tolerance,
    )
    .list
}

/// The line (from 1) of another region that has more lines of `old` character for character than the
/// candidate has. If there is one, the call may mean that region, which has changed since.
pub(super) fn find_closer_region(
    file: &SourceFile<'_>,
    old: &[&str],
    candidate: &Candidate,
) -> Option<usize> {
    let word_lines: Vec<usize> =
        (0..old.len()).filter(|&at| old[at].contains(is_word_char)).collect();
    if word_lines.len() < 3 {
        return None;
    }
    let is_exact = |at: usize, line: usize| file.body(line) == old[at];
    let exact_here = word_lines.iter().filter(|&&at| {
        candidate
            .chunk_at(at)
            .is_some_and(|chunk| !chunk.lines.is_empty() && is_exact(at, chunk.lines.start))
    });
    let exact_here = exact_here.count();
    if exact_here == word_lines.len() {
        return None;
    }
    let here = candidate.lines();
    super::nearest::regions(file, old, 4).into_iter().find_map(|region| {
        let is_elsewhere = region.lines.end <= here.start || here.end <= region.lines.start;
        let exact_there = word_lines
            .iter()
            .filter(|&&at| region.pairs[at].is_some_and(|line| is_exact(at, line)))
            .count();
        (is_elsewhere && exact_there > exact_here && 2 * exact_there > word_lines.len())
            .then_some(region.lines.start + 1)
    })
}
