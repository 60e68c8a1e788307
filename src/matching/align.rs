//! Alignment, the last rung: the region that is most like the call. Every line that the edit
//! removes or rewrites must be as the call expects; of the lines that it keeps, only comments and
//! blank lines may differ.
//!
//! Evidence: transcripts in which a comment was misremembered, left out or put in. This rung
//! is the laxest, so it asks for the strictest proof: the place must be the only one, and no other
//! part of the file may have a line of `old_str` that differs there.

use super::candidate::{Candidate, Chunk, ChunkKind};
use super::diff::{LineOp, line_ops};
use super::fold::is_word_char;
use super::nearest::{self, Region};
use super::outcome::new_lines;
use super::source_file::{SourceFile, Tolerance, split_lines};

/// How a call compares with the region that is most like it.
#[derive(Debug)]
pub(super) enum Alignment {
    /// The region has every line that the edit touches.
    Match(Candidate),
    /// The place is known, but lines other than comments and blank lines differ, or lines that the
    /// edit touches.
    Stale(Candidate),
    /// No region is similar enough, or several are.
    None,
}

/// A region less similar than this does not count.
const MIN_SIMILARITY: f64 = 0.6;
/// The score of the best region must be higher than the next by this much.
const MIN_LEAD: f64 = 0.1;
/// At least this many equal lines with words prove a place.
const MIN_EQUAL_LINES: usize = 2;

/// Compares a call with the region that is most similar to its `old`.
pub(super) fn align(file: &SourceFile<'_>, old: &str, new: &str) -> Alignment {
    let lines = split_lines(old);
    let regions = nearest::regions(file, &lines, 2);
    let Some(best) = regions.first().filter(|best| best.score >= MIN_SIMILARITY) else {
        return Alignment::None;
    };
    if regions.get(1).is_some_and(|rival| rival.score > best.score - MIN_LEAD) {
        return Alignment::None;
    }
    let candidate = to_candidate(file, &lines, best);
    let word_lines = lines.iter().filter(|line| line.contains(is_word_char)).count();
    let is_same = |at: usize| {
        candidate
            .chunk_at(at)
            .is_some_and(|chunk| chunk.kind == ChunkKind::Same && !chunk.lines.is_empty())
    };
    let equal_lines: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].contains(is_word_char) && is_same(at)).collect();
    // If the next region has all of these lines too, only lines that differ tell the two apart.
    let has_line = |rival: &Region, at: usize| {
        rival.pairs[at].is_some_and(|line| candidate.tolerance.matches(lines[at], file.body(line)))
    };
    let is_twin = |rival: &Region| equal_lines.iter().all(|&at| has_line(rival, at));
    if !equal_lines.is_empty() && regions.get(1).is_some_and(is_twin) {
        return Alignment::None;
    }
    let proves_place = equal_lines.len() >= MIN_EQUAL_LINES && 2 * equal_lines.len() > word_lines;
    let changed_lines = changed_lines(&lines, &new_lines(old, new));
    let rest_differs_in_comments = (0..lines.len()).all(|at| {
        lines[at].trim().is_empty()
            || is_same(at)
            || !changed_lines[at] && differs_in_comment(file, &candidate, &lines, at)
    });
    let added_lines_are_comments =
        candidate.chunks.iter().filter(|chunk| chunk.old.is_empty()).all(|chunk| {
            chunk.lines.clone().all(|line| file.is_blank(line) || is_comment(file, file.body(line)))
        });
    match proves_place && rest_differs_in_comments && added_lines_are_comments {
        true => Alignment::Match(candidate),
        false => Alignment::Stale(candidate),
    }
}

/// For each line of `old`, whether the edit removes or rewrites it.
fn changed_lines(old: &[&str], new: &[&str]) -> Vec<bool> {
    let mut out = vec![false; old.len()];
    for op in line_ops(old, new) {
        if let LineOp::Change(old_at, _) | LineOp::Delete(old_at) = op {
            out[old_at] = true;
        }
    }
    out
}

/// Whether a line is a comment in the language of the file.
fn is_comment(file: &SourceFile<'_>, line: &str) -> bool {
    file.language.is_some_and(|language| language.is_comment(line))
}

/// Whether a line differs from the file's only in a comment, or is a comment that the file does
/// not have. The line must not occur elsewhere in the file.
fn differs_in_comment(
    file: &SourceFile<'_>,
    candidate: &Candidate,
    old: &[&str],
    at: usize,
) -> bool {
    let Some(language) = file.language else { return false };
    let line = old[at];
    let key = Tolerance::Indentation.key(line);
    if file.keys(Tolerance::Indentation).contains(&key) {
        return false;
    }
    let chunk = candidate.chunk_at(at).filter(|chunk| !chunk.lines.is_empty());
    let Some(found) = chunk.map(|chunk| candidate.text(chunk, file)) else {
        return language.is_comment(line);
    };
    if language.is_comment(line) || language.is_comment(found) {
        let is_plain_comment = |line: &str| language.is_comment(line) && !is_directive(line);
        return is_plain_comment(line) && is_plain_comment(found);
    }
    language.strip_trailing_comment(line).trim() == language.strip_trailing_comment(found).trim()
}

/// Whether a comment is an instruction to a tool, such as `//go:build` or `#!/bin/sh`.
fn is_directive(comment: &str) -> bool {
    let text = comment.trim().trim_start_matches(['/', '#', '*', '-', ';', '%']);
    text.starts_with('!')
        || !text.starts_with(char::is_whitespace)
            && text.split_whitespace().next().is_some_and(|word| word.contains(':'))
}

/// The laxest tolerance at which two lines of this file count as the same.
pub(super) fn laxest_tolerance(file: &SourceFile<'_>) -> Tolerance {
    match file.language.is_some_and(|language| language.is_free_form()) {
        true => Tolerance::Punctuation,
        false => Tolerance::LookAlikesAndIndentation,
    }
}

/// The candidate at a region, with chunks for equal lines, for lines that differ, and for lines that
/// only one side has.
pub(super) fn to_candidate(file: &SourceFile<'_>, old: &[&str], region: &Region) -> Candidate {
    let tolerance = laxest_tolerance(file);
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut next_line = region.lines.start;
    for (at, line) in old.iter().enumerate() {
        let is_blank = line.trim().is_empty();
        let pair = match region.pairs[at] {
            Some(pair) => Some(pair),
            // A blank line pairs with the blank line that comes next.
            None if is_blank => {
                (next_line < region.lines.end && file.is_blank(next_line)).then_some(next_line)
            }
            None => None,
        };
        let Some(pair) = pair.filter(|pair| *pair >= next_line) else {
            let kind = if is_blank { ChunkKind::Same } else { ChunkKind::Differs };
            chunks.push(Chunk::new(at..at + 1, next_line..next_line, file, kind));
            continue;
        };
        chunks.extend((next_line..pair).map(|file_line| {
            Chunk::new(at..at, file_line..file_line + 1, file, ChunkKind::Differs)
        }));
        let is_same = tolerance.matches(line, file.body(pair));
        let kind = if is_same { ChunkKind::Same } else { ChunkKind::Differs };
        chunks.push(Chunk::new(at..at + 1, pair..pair + 1, file, kind));
        next_line = pair + 1;
    }
    Candidate { chunks, tolerance }
}
