//! The rung for an elided middle: "... existing code ..." in `old_str` stands for the
//! lines between the text above it and the text below it.
//!
//! Evidence: models are taught the form by editors that apply it (Cursor, Morph, aider).
//! What counts is the resulting text: ways to fill the gap that lead to the same bytes
//! are one.

use std::ops::Range;

use super::budget;
use super::candidate::{self, Candidate, Chunk, ChunkKind, Needle};
use super::fold::is_word_char;
use super::indent;
use super::indent_of;
use super::placeholder::is_placeholder;
use super::source_file::{SourceFile, Tolerance};

/// Placeholders of one text; more than these are literal text.
const MAX_MARKS: usize = 32;
/// How many ways to fill the gaps are compared.
const MAX_CHAINS: usize = 48;

/// A candidate for every way to fill the gaps of the call.
pub(super) fn find_candidates(
    file: &SourceFile<'_>,
    old: &[&str],
    tolerance: Tolerance,
) -> Vec<Candidate> {
    let marks: Vec<usize> = (0..old.len()).filter(|&at| is_placeholder(old[at])).collect();
    // A placeholder that the file has is text.
    if marks.is_empty()
        || marks.len() > MAX_MARKS
        || marks.iter().any(|&at| file.text.contains(old[at].trim()))
    {
        return Vec::new();
    }
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    for &mark in marks.iter().chain([&old.len()]) {
        parts.push((from, mark));
        from = mark + 1;
    }
    let blank =
        |&(from, to): &(usize, usize)| old[from..to].iter().all(|line| line.trim().is_empty());
    let outer = (blank(&parts[0]), parts.last().is_some_and(blank));
    let inner: Vec<(usize, usize)> = parts.into_iter().filter(|part| !blank(part)).collect();
    if inner.is_empty()
        || inner.len() + usize::from(outer.0) + usize::from(outer.1) != marks.len() + 1
    {
        return Vec::new();
    }
    let says =
        |&(from, to): &(usize, usize)| old[from..to].iter().any(|line| line.contains(is_word_char));
    if !inner.iter().any(says) {
        return Vec::new();
    }
    let found: Vec<Vec<Candidate>> = inner
        .iter()
        .map(|&(from, to)| {
            let needle =
                Needle { lines: &old[from..to], whole_lines: true, ends_with_newline: true };
            let candidates = candidate::find_candidates(file, needle, tolerance).list;
            budget::spend(64 * candidates.len());
            candidates
        })
        .collect();
    let mut chains: Vec<Vec<usize>> = (0..found[0].len()).map(|at| vec![at]).collect();
    for part in 1..found.len() {
        let mut next = Vec::new();
        for chain in &chains {
            let end = found[part - 1][chain[part - 1]].lines().end;
            let after = (0..found[part].len()).filter(|&at| {
                let start = found[part][at].lines().start;
                let mark = indent_of(old[inner[part].0 - 1]);
                let head = indent_of(old[inner[part - 1].1 - 1]);
                start >= end && stays_in_block(file, end - 1..start, head, mark)
            });
            next.extend(after.take(MAX_CHAINS).map(|at| [chain.as_slice(), &[at]].concat()));
            if next.len() > MAX_CHAINS {
                break;
            }
        }
        chains = next;
    }
    chains.truncate(MAX_CHAINS + 1);
    let join = |chain: Vec<usize>| {
        let mut chunks: Vec<Chunk> = Vec::new();
        for (part, &at) in chain.iter().enumerate() {
            let candidate = &found[part][at];
            let shift = inner[part].0;
            if let Some(before) = chunks.last().map(|chunk| (chunk.old.end, chunk.lines.end)) {
                let lines = before.1..candidate.lines().start;
                chunks.push(Chunk::new(before.0..shift, lines, file, ChunkKind::Elided));
            } else if shift > 0 {
                // A placeholder at the head stands for nothing that the edit needs.
                let line = candidate.lines().start;
                chunks.push(Chunk::new(0..shift, line..line, file, ChunkKind::Elided));
            }
            chunks.extend(candidate.chunks.iter().map(|chunk| Chunk {
                old: chunk.old.start + shift..chunk.old.end + shift,
                ..chunk.clone()
            }));
        }
        if let Some(last) = chunks.last().map(|chunk| (chunk.old.end, chunk.lines.end))
            && last.0 < old.len()
        {
            chunks.push(Chunk::new(last.0..old.len(), last.1..last.1, file, ChunkKind::Elided));
        }
        Candidate { chunks, tolerance }
    };
    chains.into_iter().map(join).collect()
}

/// Whether the elided lines are in the block of the line above them, if the call indents the
/// placeholder further than that line. The first of `lines` is that line; `head` and `mark` are the
/// indentation of the two.
fn stays_in_block(file: &SourceFile<'_>, lines: Range<usize>, head: &str, mark: &str) -> bool {
    let columns = |indent: &str| indent::columns(indent, 4);
    let width = |line: usize| columns(indent_of(file.body(line)));
    let outer = width(lines.start);
    let opens = |line: usize| file.body(line).trim() == "{";
    let mut nonblank = lines.skip(1).filter(|&line| !file.body(line).trim().is_empty());
    columns(mark) <= columns(head) || nonblank.all(|line| width(line) > outer || opens(line))
}

/// Whether there are more candidates than are compared.
pub(super) fn is_truncated(candidates: &[Candidate]) -> bool {
    candidates.len() > MAX_CHAINS
}
