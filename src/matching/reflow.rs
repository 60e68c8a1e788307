//! The rung for different line breaks: the file has the words of the call in their order, but
//! wraps them differently.
//!
//! Evidence: a call from a transcript that joined a wrapped statement. Lines that end at the same
//! word in call and file are paired; only the lines between them are read as one block.

use super::candidate::{Candidate, Chunk, ChunkKind, splits_name};
use super::fold::{self, Fold, is_word_char};
use super::source_file::{SourceFile, Tolerance};

/// Fewer words do not identify a place.
const MIN_WORDS: usize = 3;

/// A text without whitespace, except a space between two words.
struct Compacted {
    text: String,
    /// For each byte of `text`, where its character begins in the source.
    from: Vec<u32>,
    /// For each byte of `text`, where its character ends in the source.
    to: Vec<u32>,
}

impl Compacted {
    /// Compacts lines, each with its offset in the source.
    fn of<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Self {
        let mut out = Self { text: String::new(), from: Vec::new(), to: Vec::new() };
        for (start, line) in lines {
            let chars = fold::canonical(line.trim_end(), Fold::Spacing);
            let before = out.text.chars().next_back();
            if let (Some(before), Some(first)) = (before, chars.iter().find(|c| c.char != ' '))
                && is_word_char(before)
                && is_word_char(first.char)
            {
                out.push(' ', start + first.start, start + first.start);
            }
            for c in chars.iter().skip_while(|c| c.char == ' ') {
                out.push(c.char, start + c.start, start + c.end);
            }
        }
        out
    }

    /// Adds a character that is at `from..to` in the source.
    fn push(&mut self, c: char, from: usize, to: usize) {
        self.text.push(c);
        let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.from.resize(self.text.len(), byte(from));
        self.to.resize(self.text.len(), byte(to));
    }

    /// How many bytes of `text` belong to characters that end at or before an offset of the source.
    fn len_before(&self, offset: usize) -> usize {
        self.to.partition_point(|to| (*to as usize) <= offset)
    }
}

/// Every candidate that has the words of the call in their order.
pub(super) fn find_candidates(file: &SourceFile<'_>, old: &[&str]) -> Vec<Candidate> {
    let words: usize = old.iter().map(|line| super::tokens::words(line).count()).sum();
    if words < MIN_WORDS || file.text.len() > u32::MAX as usize {
        return Vec::new();
    }
    let mut starts = Vec::with_capacity(old.len());
    let mut next_start = 0;
    for line in old {
        starts.push(next_start);
        next_start += line.len() + 1;
    }
    let needle = Compacted::of(starts.iter().copied().zip(old.iter().copied()));
    let all = (0..file.lines().len()).map(|at| (file.lines()[at].start, file.body(at)));
    let compacted_file = Compacted::of(all);
    let found = memchr::memmem::find_iter(compacted_file.text.as_bytes(), &needle.text);
    found
        .take(64)
        .filter_map(|at| candidate(file, old, &starts, &needle, &compacted_file, at))
        .collect()
}

/// The candidate for a match at byte `at` of the compacted file: pairs of lines where the line breaks
/// agree, and blocks elsewhere. `None` if the match splits a name or a comment.
fn candidate(
    file: &SourceFile<'_>,
    old: &[&str],
    starts: &[usize],
    needle: &Compacted,
    compacted_file: &Compacted,
    at: usize,
) -> Option<Candidate> {
    let end = at + needle.text.len();
    let (from, to) = (compacted_file.from[at] as usize, compacted_file.to[end - 1] as usize);
    let (first, last) = (file.line_at(from), file.line_at(to - 1));
    if splits_name(file.text, from) || splits_name(file.text, to) {
        return None;
    }
    let starts_line = file.text[file.lines()[first].start..from].trim().is_empty();
    // Where the lines of call and file end, in compacted bytes from the start of the match.
    let call_ends: Vec<usize> =
        (0..old.len()).map(|n| needle.len_before(starts[n] + old[n].len())).collect();
    let file_ends: Vec<usize> = (first..=last)
        .map(|line| compacted_file.len_before(file.lines()[line].end.min(to)) - at)
        .collect();
    let mut chunks = Vec::new();
    let (mut call_at, mut file_at) = (0, 0);
    while call_at < call_ends.len() || file_at < file_ends.len() {
        let (call_from, file_from) = (call_at, file_at);
        loop {
            match (call_ends.get(call_at).copied(), file_ends.get(file_at).copied()) {
                (Some(call_end), Some(file_end))
                    if skip_space(&needle.text, call_end) == skip_space(&needle.text, file_end) =>
                {
                    (call_at, file_at) = (call_at + 1, file_at + 1);
                    break;
                }
                (Some(call_end), Some(file_end)) if call_end < file_end => call_at += 1,
                (Some(_), Some(_)) => file_at += 1,
                (Some(_), None) => call_at += 1,
                (None, Some(_)) => file_at += 1,
                (None, None) => break,
            }
        }
        if (call_at, file_at) == (call_from, file_from) {
            break;
        }
        let lines = first + file_from..first + file_at;
        let mut chunk = Chunk::new(call_from..call_at, lines, file, ChunkKind::Same);
        if file_from == 0 && file_at > 0 && !starts_line {
            chunk.bytes.start = from;
            chunk.from_start = false;
        }
        if file_at == file_ends.len() && file_at > file_from {
            chunk.bytes.end = to;
        }
        chunks.push(chunk);
    }
    // A comment that ends where its line ends cannot be broken elsewhere.
    let blocks = chunks.iter().filter(|c| c.old.len() != 1 || c.lines.len() != 1);
    let has_comment = |line: &str| {
        file.language.is_some_and(|l| l.strip_trailing_comment(line) != line.trim_end())
    };
    let breaks_comment =
        blocks.flat_map(|c| c.lines.clone()).any(|line| has_comment(file.body(line)));
    (!breaks_comment).then_some(Candidate { chunks, tolerance: Tolerance::Spacing })
}

/// The offset after a space at `at`, if there is one: at a line break it belongs to neither line.
fn skip_space(text: &str, at: usize) -> usize {
    at + usize::from(text.as_bytes().get(at) == Some(&b' '))
}
