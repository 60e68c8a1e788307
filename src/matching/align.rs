//! Alignment, the last rung: the region that is nearest to the call, where every line that
//! the edit removes or rewrites is what the call expects, and of the lines that it
//! only keeps, comments and blank lines alone may differ.
//!
//! Evidence: transcripts in which a comment was misremembered, left out or put in. The
//! laxest rung has the strictest proof: the place must be the only one, and no other part
//! of the file may hold the words that differ.

use super::diff::{Event, events};
use super::file::{File, Tolerance, split};
use super::fold::is_word;
use super::nearest::{self, Region};
use super::outcome::new_lines;
use super::place::{Chunk, ChunkKind, Place};

/// How a call compares with the region that is nearest to it.
#[derive(Debug)]
pub(super) enum Aligned {
    /// Everything that the edit touches is there.
    Here(Place),
    /// The place is known, and some lines that count differ.
    Stale(Place),
    /// No region is near enough, or several are.
    Nowhere,
}

/// A region less alike than this is no place.
const LEAST_ALIKE: f64 = 0.6;
/// Another region must be this much less alike.
const MARGIN: f64 = 0.1;
/// Fewer lines with words say too little for an edit.
const FEWEST: usize = 2;

pub(super) fn align(file: &File<'_>, old: &str, new: &str) -> Aligned {
    let lines = split(old);
    let regions = nearest::regions(file, &lines, 2);
    let Some(best) = regions.first().filter(|best| best.score >= LEAST_ALIKE) else {
        return Aligned::Nowhere;
    };
    if regions.get(1).is_some_and(|rival| rival.score > best.score - MARGIN) {
        return Aligned::Nowhere;
    }
    let place = place(file, &lines, best);
    let worded = lines.iter().filter(|line| line.contains(is_word)).count();
    let same = |at: usize| {
        place
            .chunk_of(at)
            .is_some_and(|chunk| chunk.kind == ChunkKind::Same && !chunk.lines.is_empty())
    };
    let equal: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].contains(is_word) && same(at)).collect();
    // Where another region has all of these lines, only the lines that differ chose between them.
    let has = |rival: &Region, at: usize| {
        rival.pairs[at].is_some_and(|line| place.tolerance.same(lines[at], file.body(line)))
    };
    let is_twin = |rival: &Region| equal.iter().all(|&at| has(rival, at));
    if !equal.is_empty() && regions.get(1).is_some_and(is_twin) {
        return Aligned::Nowhere;
    }
    let enough = equal.len() >= FEWEST && 2 * equal.len() > worded;
    let touched = touched(&lines, &new_lines(old, new));
    let residue_is_fine = (0..lines.len()).all(|at| {
        lines[at].trim().is_empty()
            || same(at)
            || !touched[at] && differs_in_comment(file, &place, &lines, at)
    });
    let own_lines_are_comments =
        place.chunks.iter().filter(|chunk| chunk.old.is_empty()).all(|chunk| {
            chunk.lines.clone().all(|line| file.is_blank(line) || is_comment(file, file.body(line)))
        });
    match enough && residue_is_fine && own_lines_are_comments {
        true => Aligned::Here(place),
        false => Aligned::Stale(place),
    }
}

/// For each line of `old` whether the edit removes or rewrites it.
fn touched(old: &[&str], new: &[&str]) -> Vec<bool> {
    let mut out = vec![false; old.len()];
    for event in events(old, new) {
        if let Event::Change(o, _) | Event::Delete(o) = event {
            out[o] = true;
        }
    }
    out
}

fn is_comment(file: &File<'_>, line: &str) -> bool {
    file.language.is_some_and(|language| language.is_comment(line))
}

/// Whether a line differs from the file's only in a comment, or is a comment that the file does
/// not have. The line must not occur elsewhere in the file.
fn differs_in_comment(file: &File<'_>, place: &Place, old: &[&str], at: usize) -> bool {
    let Some(language) = file.language else { return false };
    let line = old[at];
    let key = Tolerance::Indentation.key(line);
    if file.keys(Tolerance::Indentation).contains(&key) {
        return false;
    }
    let chunk = place.chunk_of(at).filter(|chunk| !chunk.lines.is_empty());
    let Some(found) = chunk.map(|chunk| place.text(chunk, file)) else {
        return language.is_comment(line);
    };
    if language.is_comment(line) || language.is_comment(found) {
        let only_words = |line: &str| language.is_comment(line) && !is_directive(line);
        return only_words(line) && only_words(found);
    }
    language.strip_trailing_comment(line).trim() == language.strip_trailing_comment(found).trim()
}

/// Whether a comment is read by a tool: `//go:build`, `#!/bin/sh`.
fn is_directive(comment: &str) -> bool {
    let text = comment.trim().trim_start_matches(['/', '#', '*', '-', ';', '%']);
    text.starts_with('!')
        || !text.starts_with(char::is_whitespace)
            && text.split_whitespace().next().is_some_and(|word| word.contains(':'))
}

/// The laxest tolerance at which two lines of this file count as the same.
pub(super) fn loosest(file: &File<'_>) -> Tolerance {
    match file.language.is_some_and(|language| language.is_free_form()) {
        true => Tolerance::Punctuation,
        false => Tolerance::LookAlikesAndIndentation,
    }
}

/// The region as chunks: equal lines, lines that differ, and what only one side has.
pub(super) fn place(file: &File<'_>, old: &[&str], region: &Region) -> Place {
    let tolerance = loosest(file);
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut next = region.lines.start;
    for (at, line) in old.iter().enumerate() {
        let blank = line.trim().is_empty();
        let pair = match region.pairs[at] {
            Some(pair) => Some(pair),
            // A blank line pairs with the blank line that comes next.
            None if blank => (next < region.lines.end && file.is_blank(next)).then_some(next),
            None => None,
        };
        let Some(pair) = pair.filter(|pair| *pair >= next) else {
            let kind = if blank { ChunkKind::Same } else { ChunkKind::Differs };
            chunks.push(Chunk::of(at..at + 1, next..next, file, kind));
            continue;
        };
        chunks.extend(
            (next..pair).map(|own| Chunk::of(at..at, own..own + 1, file, ChunkKind::Differs)),
        );
        let same = tolerance.same(line, file.body(pair));
        let kind = if same { ChunkKind::Same } else { ChunkKind::Differs };
        chunks.push(Chunk::of(at..at + 1, pair..pair + 1, file, kind));
        next = pair + 1;
    }
    Place { chunks, tolerance }
}
