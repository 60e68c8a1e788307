//! The rung for an elided middle: "... existing code ..." in `old_str` stands for the
//! lines between the text above it and the text below it.
//!
//! Evidence: models learn this form from editors that apply it (Cursor, Morph, aider).
//! Several ways to fill the gap are no ambiguity if they lead to the same bytes.

use std::ops::Range;

use super::budget;
use super::candidate::{self, Candidate, Chunk, ChunkKind, Needle};
use super::fold::is_word_char;
use super::indent;
use super::indent_of;
use super::placeholder::is_placeholder;
use super::source_file::{SourceFile, Tolerance};

/// The most placeholders of one text; a text with more is taken literally.
const MAX_MARKS: usize = 32;
/// The most ways to fill the gaps that are compared.
const MAX_CHAINS: usize = 48;

/// The candidates for a text with placeholders: one for every way to fill the gaps.
pub(super) fn find_candidates(
    file: &SourceFile<'_>,
    old: &[&str],
    tolerance: Tolerance,
) -> Vec<Candidate> {
    let Some(parts) = split_at_placeholders(file, old) else { return Vec::new() };
    let found: Vec<Vec<Candidate>> = parts
        .iter()
        .map(|part| {
            let needle =
                Needle { lines: &old[part.clone()], whole_lines: true, ends_with_newline: true };
            let candidates = candidate::find_candidates(file, needle, tolerance).list;
            budget::spend(64 * candidates.len());
            candidates
        })
        .collect();
    chains(file, old, &parts, &found)
        .into_iter()
        .map(|chain| {
            let candidates = chain.iter().zip(&found).map(|(&at, of_part)| &of_part[at]);
            let chunks = join(file, old.len(), parts.iter().zip(candidates));
            Candidate { chunks, tolerance }
        })
        .collect()
}

/// The ranges of lines above, between and below the placeholders of a text. `None` if it has no
/// placeholder or too many, or if nothing but blank lines is between two of them.
fn split_at_placeholders(file: &SourceFile<'_>, old: &[&str]) -> Option<Vec<Range<usize>>> {
    let marks: Vec<usize> = (0..old.len()).filter(|&at| is_placeholder(old[at])).collect();
    // A placeholder that the file has too is ordinary text.
    let is_text = |&at: &usize| file.text.contains(old[at].trim());
    if marks.is_empty() || marks.len() > MAX_MARKS || marks.iter().any(is_text) {
        return None;
    }
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for &mark in marks.iter().chain([&old.len()]) {
        parts.push(from..mark);
        from = mark + 1;
    }
    let is_blank =
        |part: &Range<usize>| old[part.clone()].iter().all(|line| line.trim().is_empty());
    if parts[1..parts.len() - 1].iter().any(is_blank) {
        return None;
    }
    parts.retain(|part| !is_blank(part));
    let has_words =
        |part: &Range<usize>| old[part.clone()].iter().any(|line| line.contains(is_word_char));
    parts.iter().any(has_words).then_some(parts)
}

/// The ways to choose one candidate for each part, by its index in `found`, so that each begins
/// after the one before; at most one more than `MAX_CHAINS`.
fn chains(
    file: &SourceFile<'_>,
    old: &[&str],
    parts: &[Range<usize>],
    found: &[Vec<Candidate>],
) -> Vec<Vec<usize>> {
    let Some(first) = found.first() else { return Vec::new() };
    let mut chains: Vec<Vec<usize>> = (0..first.len()).map(|at| vec![at]).collect();
    for part in 1..found.len() {
        let placeholder_indent = indent_of(old[parts[part].start - 1]);
        let line_above_indent = indent_of(old[parts[part - 1].end - 1]);
        let mut longer = Vec::new();
        for chain in &chains {
            let end = found[part - 1][chain[part - 1]].lines().end;
            let after = (0..found[part].len()).filter(|&at| {
                let start = found[part][at].lines().start;
                start >= end
                    && stays_in_block(file, end - 1..start, line_above_indent, placeholder_indent)
            });
            longer.extend(after.take(MAX_CHAINS).map(|at| [chain.as_slice(), &[at]].concat()));
            if longer.len() > MAX_CHAINS {
                break;
            }
        }
        chains = longer;
    }
    chains.truncate(MAX_CHAINS + 1);
    chains
}

/// The chunks of the parts of a text and of the placeholders around them. The text has `old_len`
/// lines.
fn join<'c>(
    file: &SourceFile<'_>,
    old_len: usize,
    parts: impl Iterator<Item = (&'c Range<usize>, &'c Candidate)>,
) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for (part, candidate) in parts {
        let first_line = candidate.lines().start;
        if let Some((old_end, file_end)) = chunks.last().map(|c| (c.old.end, c.lines.end)) {
            let (old, lines) = (old_end..part.start, file_end..first_line);
            chunks.push(Chunk::new(old, lines, file, ChunkKind::Elided));
        } else if part.start > 0 {
            // The edit needs none of the lines that a placeholder at the head stands for.
            let no_lines = first_line..first_line;
            chunks.push(Chunk::new(0..part.start, no_lines, file, ChunkKind::Elided));
        }
        chunks.extend(candidate.chunks.iter().map(|chunk| Chunk {
            old: chunk.old.start + part.start..chunk.old.end + part.start,
            ..chunk.clone()
        }));
    }
    if let Some((old_end, file_end)) = chunks.last().map(|c| (c.old.end, c.lines.end))
        && old_end < old_len
    {
        chunks.push(Chunk::new(old_end..old_len, file_end..file_end, file, ChunkKind::Elided));
    }
    chunks
}

/// Whether all elided lines are in the block that the line above them opens. This is asked only if
/// the call indents the placeholder further than the line above; otherwise the answer is true. `lines`
/// are the line above and the elided lines in the file; the two indentations are those in the call.
fn stays_in_block(
    file: &SourceFile<'_>,
    lines: Range<usize>,
    line_above_indent: &str,
    placeholder_indent: &str,
) -> bool {
    let columns = |indent: &str| indent::columns(indent, 4);
    let width = |line: usize| columns(indent_of(file.body(line)));
    let outer = width(lines.start);
    let is_opening_brace = |line: usize| file.body(line).trim() == "{";
    let mut nonblank = lines.skip(1).filter(|&line| !file.body(line).trim().is_empty());
    columns(placeholder_indent) <= columns(line_above_indent)
        || nonblank.all(|line| width(line) > outer || is_opening_brace(line))
}

/// Whether the text has more candidates than are compared.
pub(super) fn is_truncated(candidates: &[Candidate]) -> bool {
    candidates.len() > MAX_CHAINS
}
