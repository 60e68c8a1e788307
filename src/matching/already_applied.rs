//! Signs that an edit was already made. They take precedence over a lenient match, which may be a
//! similar copy of text that is gone.

use super::candidate::{self, Candidate, Needle};
use super::diff::{LineOp, line_ops};
use super::fold::is_word_char;
use super::outcome::new_lines;
use super::reading::Reading;
use super::source_file::{SourceFile, Tolerance, split_lines};

/// Runs of new lines that are searched for.
const MAX_RUNS: usize = 8;

/// The line (from 1) at which the edit was already made, if `old` is found at `tolerance` only.
pub(super) fn find_applied_edit(
    file: &SourceFile<'_>,
    reading: &Reading,
    tolerance: Tolerance,
) -> Option<usize> {
    reading.new.texts().find_map(|new| find_new_lines(file, &reading.old, new, tolerance))
}

fn find_new_lines(
    file: &SourceFile<'_>,
    old: &str,
    new: &str,
    tolerance: Tolerance,
) -> Option<usize> {
    let lines = new_lines(old, new);
    let old = split_lines(old);
    let line_ops = line_ops(&old, &lines);
    let adds = line_ops.iter().any(|op| matches!(op, LineOp::Insert(_) | LineOp::Change(..)));
    let keeps = line_ops.iter().any(|op| match op {
        LineOp::Keep(o, n) | LineOp::Change(o, n) => {
            old[*o].contains(is_word_char) && old[*o].trim() == lines[*n].trim()
        }
        _ => false,
    });
    if !contains(&old, &lines, tolerance) {
        // If kept lines tie it to the place, the new text may match as loosely as the old text;
        // otherwise it must match more strictly.
        let upto =
            Tolerance::ALL.into_iter().take_while(|t| *t < tolerance || keeps && *t == tolerance);
        for at in upto {
            if is_distinctive(&lines)
                && let Some(candidate) = find(file, &lines, at).first()
                && !still_has_removed(file, &line_ops, &old, candidate)
            {
                return Some(candidate.lines().start + 1);
            }
        }
    }
    if !adds {
        return None;
    }
    find_inserted_runs(&line_ops, &old, &lines, file, tolerance)
}

/// Where the new lines are, if each run of them is in the file together with the kept lines around
/// it.
fn find_inserted_runs(
    line_ops: &[LineOp],
    old: &[&str],
    new: &[&str],
    file: &SourceFile<'_>,
    tolerance: Tolerance,
) -> Option<usize> {
    let mut found = None;
    let mut count = 0;
    let mut at = 0;
    while at < line_ops.len() {
        let is_change =
            |op: &LineOp| matches!(op, LineOp::Insert(_) | LineOp::Change(..) | LineOp::Delete(_));
        let run = line_ops[at..].iter().take_while(|op| is_change(op)).count();
        if run == 0 {
            at += 1;
            continue;
        }
        let line = |op: &LineOp| match *op {
            LineOp::Insert(n) | LineOp::Change(_, n) | LineOp::Keep(_, n) => Some(n),
            LineOp::Delete(_) => None,
        };
        let lines: Vec<usize> = line_ops[at..at + run].iter().filter_map(line).collect();
        let (Some(&first), Some(&last)) = (lines.first(), lines.last()) else {
            at += run;
            continue;
        };
        let has_words = |n: &usize| new[*n].contains(is_word_char);
        if !lines.iter().any(has_words) {
            at += run;
            continue;
        }
        count += 1;
        if count > MAX_RUNS {
            return None;
        }
        // The nearest kept lines with words, above and below, as far as they follow.
        let kept = |op: &LineOp| match op {
            LineOp::Keep(o, n) => Some((*n, old[*o].contains(is_word_char))),
            _ => None,
        };
        let above = line_ops[..at].iter().rev().map_while(kept).find(|(_, has_words)| *has_words);
        let below = line_ops[at + run..].iter().map_while(kept).find(|(_, has_words)| *has_words);
        if above.is_none() && below.is_none() {
            return None;
        }
        let range = above.map_or(first, |(n, _)| n)..below.map_or(last, |(n, _)| n) + 1;
        let text = &new[range];
        let line = Some(text).filter(|text| !contains(old, text, tolerance)).and_then(|text| {
            let found = find(file, text, tolerance);
            let candidate =
                found.first().filter(|at| !still_has_removed(file, line_ops, old, at))?;
            Some(candidate.lines().start + 1)
        });
        found = found.or(Some(line?));
        at += run;
    }
    found
}

/// Whether a line that the edit deletes is still next to a candidate: then the edit was not made
/// there.
fn still_has_removed(
    file: &SourceFile<'_>,
    line_ops: &[LineOp],
    old: &[&str],
    candidate: &Candidate,
) -> bool {
    let key = |line: &str| Tolerance::Indentation.key(line);
    let removed = line_ops.iter().filter_map(|op| match *op {
        LineOp::Delete(o) if old[o].contains(is_word_char) => Some(key(old[o])),
        _ => None,
    });
    let removed: Vec<u64> = removed.collect();
    let (start, end) = (candidate.lines().start, candidate.lines().end);
    let keys = file.keys(Tolerance::Indentation);
    let above = start.saturating_sub(removed.len())..start;
    let below = end..keys.len().min(end + removed.len());
    above.chain(below).any(|line| removed.contains(&keys[line]))
}

/// Whether lines occur among others, in order and side by side, at the tolerance.
fn contains(all: &[&str], lines: &[&str], tolerance: Tolerance) -> bool {
    let tolerance = tolerance.max(Tolerance::Indentation);
    let keys = |lines: &[&str]| -> Vec<u64> {
        let nonblank = lines.iter().filter(|line| !line.trim().is_empty());
        nonblank.map(|line| tolerance.key(line)).collect()
    };
    let needle = keys(lines);
    needle.is_empty() || !candidate::find_key_sequence(&needle, &keys(all)).is_empty()
}

/// One short line occurs in many files; it proves nothing.
fn is_distinctive(lines: &[&str]) -> bool {
    let nonblank = lines.iter().filter(|line| line.contains(is_word_char)).count();
    let letters: usize =
        lines.iter().map(|line| line.chars().filter(|c| is_word_char(*c)).count()).sum();
    nonblank > 1 || letters >= 8
}

fn find(file: &SourceFile<'_>, lines: &[&str], tolerance: Tolerance) -> Vec<Candidate> {
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

/// The line of another part of the file that has more lines of the call byte for byte than the
/// candidate has. Then the candidate is only similar, and the text that was meant has changed.
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
    let exact = |at: usize, line: usize| file.body(line) == old[at];
    let exact_here = word_lines.iter().filter(|&&at| {
        candidate
            .chunk_at(at)
            .is_some_and(|chunk| !chunk.lines.is_empty() && exact(at, chunk.lines.start))
    });
    let exact_here = exact_here.count();
    if exact_here == word_lines.len() {
        return None;
    }
    let here = candidate.lines();
    super::nearest::regions(file, old, 4).into_iter().find_map(|region| {
        let apart = region.lines.end <= here.start || here.end <= region.lines.start;
        let same =
            word_lines.iter().filter(|&&at| region.pairs[at].is_some_and(|line| exact(at, line)));
        let same = same.count();
        (apart && same > exact_here && 2 * same > word_lines.len())
            .then_some(region.lines.start + 1)
    })
}
