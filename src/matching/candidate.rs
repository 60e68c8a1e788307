//! Finds the candidates for a text in the file, at a tolerance.
//!
//! The search is linear: each line has a key, and the sequence of keys is searched like a string.

use std::ops::Range;

use super::fold::{self, Fold, is_word_char};
use super::indent_of;
use super::source_file::{BLANK_LINE_KEY, SourceFile, Tolerance};

/// Lines of the call, and the lines of the file (or the part of one) that they match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Lines of the call; none where only the file has something.
    pub(super) old: Range<usize>,
    /// Lines of the file; none where only the call has something.
    pub(super) lines: Range<usize>,
    /// The matched bytes of those lines, without the last line's ending.
    pub(super) bytes: Range<usize>,
    /// Whether the bytes begin where a line begins.
    pub(super) from_start: bool,
    pub(super) kind: ChunkKind,
}

/// How the lines of a chunk match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkKind {
    /// The lines are equal at the tolerance.
    Same,
    /// A placeholder of the call stands for the lines of the file.
    Elided,
    /// The lines differ in words.
    Differs,
}

impl Chunk {
    /// A chunk of one line of the call (`old`) and one of the file, which are equal.
    pub(super) fn same(old: usize, line: usize, file: &SourceFile<'_>) -> Self {
        Self::new(old..old + 1, line..line + 1, file, ChunkKind::Same)
    }

    /// A chunk of whole lines.
    pub(super) fn new(
        old: Range<usize>,
        lines: Range<usize>,
        file: &SourceFile<'_>,
        kind: ChunkKind,
    ) -> Self {
        let bytes = file.byte_range(&lines);
        Self { old, lines, bytes, from_start: true, kind }
    }
}

/// A place in the file that the call may mean: chunks that match all lines of the call, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) chunks: Vec<Chunk>,
    pub(super) tolerance: Tolerance,
}

impl Candidate {
    /// The bytes from the first line to the last, without the ending of the last.
    pub(super) fn range(&self) -> Range<usize> {
        let mut ranges = self.chunks.iter().filter(|c| !c.lines.is_empty()).map(|c| &c.bytes);
        let first = ranges.next();
        let start = first.map_or(0, |range| range.start);
        let end = ranges.next_back().or(first).map_or(start, |range| range.end);
        start..end
    }

    /// The lines of the file that the candidate covers, from 0.
    pub(super) fn lines(&self) -> Range<usize> {
        let mut lines = self.chunks.iter().filter(|c| !c.lines.is_empty()).map(|c| &c.lines);
        let first = lines.next();
        let start = first.map_or(0, |lines| lines.start);
        let end = lines.next_back().or(first).map_or(start, |lines| lines.end);
        start..end
    }

    /// Whether the first line has text before the matched bytes, and whether the last line has text
    /// after them. White space is not text here.
    pub(super) fn partial_edges(&self, file: &SourceFile<'_>) -> (bool, bool) {
        let (range, lines) = (self.range(), self.lines());
        let Some((first, last)) = file.lines().get(lines.start).zip(lines.end.checked_sub(1))
        else {
            return (false, false);
        };
        let before = file.text.get(first.start..range.start).unwrap_or_default();
        let after = file.text.get(range.end..file.lines()[last].end).unwrap_or_default();
        (!before.trim().is_empty(), !after.trim().is_empty())
    }

    /// The chunk with line `old` of the call (from 0).
    pub(super) fn chunk_at(&self, old: usize) -> Option<&Chunk> {
        let at = self.chunks.partition_point(|chunk| chunk.old.end <= old);
        self.chunks[at..].iter().find(|chunk| chunk.old.contains(&old))
    }

    /// The text that a chunk matches in the file.
    pub(super) fn text<'t>(&self, chunk: &Chunk, file: &SourceFile<'t>) -> &'t str {
        &file.text[chunk.bytes.clone()]
    }
}

/// The text to search for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needle<'a> {
    pub(super) lines: &'a [&'a str],
    /// Whether it must match whole lines of the file.
    pub(super) whole_lines: bool,
    /// Whether the text ends with a line break.
    pub(super) ends_with_newline: bool,
}

/// The candidates for a text.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// All of them, or the first few if there are too many to compare line by line.
    pub(super) list: Vec<Candidate>,
    /// The line of the file, from 1, at which each candidate begins.
    pub(super) lines: Vec<usize>,
}

impl Candidates {
    /// Candidates of which none is left out.
    pub(super) fn of(list: Vec<Candidate>) -> Self {
        let lines = list.iter().map(|candidate| candidate.lines().start + 1).collect();
        Self { list, lines }
    }

    /// The candidates that begin at these lines (from 0), each of `line_count` lines.
    fn from_starts(
        starts: &[usize],
        line_count: usize,
        candidate_at: impl Fn(usize) -> Candidate,
    ) -> Self {
        let compared = match starts.len().saturating_mul(line_count) > MAX_COMPARED_LINES {
            true => &starts[..starts.len().min(MAX_COMPARED_IF_TOO_MANY)],
            false => starts,
        };
        let list = compared.iter().map(|start| candidate_at(*start)).collect();
        Self { list, lines: starts.iter().map(|start| start + 1).collect() }
    }

    /// Whether every candidate is in the list.
    pub(super) fn is_complete(&self) -> bool {
        self.list.len() == self.lines.len()
    }
}

/// The most lines that are compared, over all candidates.
const MAX_COMPARED_LINES: usize = 2_000_000;
/// How many candidates are compared if all of them would be too many.
const MAX_COMPARED_IF_TOO_MANY: usize = 4;

/// Finds the candidates for a text at a tolerance.
pub(super) fn find_candidates(
    file: &SourceFile<'_>,
    needle: Needle<'_>,
    tolerance: Tolerance,
) -> Candidates {
    let Needle { lines, whole_lines, ends_with_newline } = needle;
    let nonblank: Vec<usize> =
        (0..lines.len()).filter(|&at| !lines[at].trim().is_empty()).collect();
    if nonblank.is_empty() {
        return Candidates::default();
    }
    // Punctuation alone does not identify a place.
    let has_no_words = !lines.iter().any(|line| line.contains(is_word_char));
    if has_no_words && tolerance > Tolerance::TrailingBlanks {
        return Candidates::default();
    }
    let on_whole_lines = if tolerance.skips_blank_lines() {
        find_ignoring_blank_lines(file, lines, &nonblank, tolerance)
    } else {
        let keys: Vec<u64> = lines.iter().map(|line| tolerance.key(line)).collect();
        let starts = find_key_sequence(&keys, file.keys(tolerance));
        let candidate = |start: usize| Candidate {
            chunks: (0..lines.len()).map(|at| Chunk::same(at, start + at, file)).collect(),
            tolerance,
        };
        Candidates::from_starts(&starts, lines.len(), candidate)
    };
    if whole_lines || ends_with_newline && lines.len() == 1 || !on_whole_lines.is_complete() {
        return on_whole_lines;
    }
    match lines {
        [line] if on_whole_lines.list.is_empty() => {
            Candidates::of(find_inside_lines(file, line, tolerance))
        }
        [_] => on_whole_lines,
        _ => {
            let mut all = on_whole_lines.list;
            all.extend(find_with_partial_edges(file, lines, ends_with_newline, tolerance));
            all.sort_by_key(|candidate| candidate.range().start);
            Candidates::of(all)
        }
    }
}

/// Finds candidates of whole lines, with any number of blank lines between them.
fn find_ignoring_blank_lines(
    file: &SourceFile<'_>,
    lines: &[&str],
    nonblank: &[usize],
    tolerance: Tolerance,
) -> Candidates {
    let line_keys = file.keys(tolerance);
    let file_keys: Vec<u64> = file.nonblank_lines().iter().map(|&at| line_keys[at]).collect();
    let needle_keys: Vec<u64> = nonblank.iter().map(|&at| tolerance.key(lines[at])).collect();
    let candidate = |start: usize| {
        let matched = &file.nonblank_lines()[start..start + nonblank.len()];
        let mut chunks = Vec::new();
        for (at, (&old, &line)) in nonblank.iter().zip(matched).enumerate() {
            if let Some(previous) = at.checked_sub(1) {
                push_blank_lines(
                    file,
                    nonblank[previous] + 1..old,
                    matched[previous] + 1..line,
                    &mut chunks,
                );
            }
            chunks.push(Chunk::same(old, line, file));
        }
        // Blank lines that the call begins or ends with, as far as the file has them too.
        let first = matched[0];
        let blank_above =
            (0..first).rev().take(nonblank[0]).take_while(|&line| file.is_blank(line)).count();
        let mut all_chunks = Vec::new();
        push_blank_lines(file, 0..nonblank[0], first - blank_above..first, &mut all_chunks);
        all_chunks.extend(chunks);
        let old_end = nonblank[nonblank.len() - 1] + 1;
        let file_end = matched[matched.len() - 1] + 1;
        let below = (file_end..file.lines().len()).take(lines.len() - old_end);
        let blank_below = below.take_while(|&line| file.is_blank(line)).count();
        let blank_lines_below = file_end..file_end + blank_below;
        push_blank_lines(file, old_end..lines.len(), blank_lines_below, &mut all_chunks);
        Candidate { chunks: all_chunks, tolerance }
    };
    let starts = find_key_sequence(&needle_keys, &file_keys);
    let mut out = Candidates::from_starts(&starts, lines.len(), candidate);
    // `starts` counts only the lines that are not blank.
    out.lines = starts.iter().map(|start| file.nonblank_lines()[*start] + 1).collect();
    out
}

/// Adds chunks for blank lines of the call and of the file: pairs of one line each, then one chunk
/// for the lines that only one side has.
fn push_blank_lines(
    file: &SourceFile<'_>,
    old: Range<usize>,
    lines: Range<usize>,
    out: &mut Vec<Chunk>,
) {
    let pair_count = old.len().min(lines.len());
    out.extend((0..pair_count).map(|at| Chunk::same(old.start + at, lines.start + at, file)));
    let (old, lines) = (old.start + pair_count..old.end, lines.start + pair_count..lines.end);
    if !old.is_empty() {
        out.push(Chunk::new(old, lines.start..lines.start, file, ChunkKind::Same));
    } else if !lines.is_empty() {
        out.push(Chunk::new(old.start..old.start, lines, file, ChunkKind::Same));
    }
}

/// Finds candidates for a text of several lines whose first or last line is only a part of a line of
/// the file.
fn find_with_partial_edges(
    file: &SourceFile<'_>,
    lines: &[&str],
    ends_with_newline: bool,
    tolerance: Tolerance,
) -> Vec<Candidate> {
    if tolerance > Tolerance::LookAlikesAndIndentation {
        return Vec::new();
    }
    // A first line that has its indentation begins where a line of the file begins.
    let has_indentation = lines[0].starts_with(char::is_whitespace);
    let count = lines.len();
    let keys: Vec<u64> = lines.iter().map(|line| tolerance.key(line)).collect();
    let file_keys = file.keys(tolerance);
    let starts: Vec<usize> = match count {
        2 => (0..file_keys.len().saturating_sub(1)).collect(),
        _ => {
            let inner = find_key_sequence(&keys[1..count - 1], file_keys).into_iter();
            inner
                .filter(|at| *at > 0 && at - 1 + count <= file_keys.len())
                .map(|at| at - 1)
                .collect()
        }
    };
    let fold = tolerance.fold().unwrap_or(Fold::LookAlike);
    let compares_exactly = tolerance.fold().is_none();
    let match_edge = |old: &str, line: usize, edge: LineEdge| -> Option<Range<usize>> {
        let same_indent =
            tolerance.ignores_indentation() || indent_of(old) == indent_of(file.body(line));
        let found = match_line_edge(old, file.body(line), fold, edge)
            .filter(|_| same_indent || edge == LineEdge::End)?;
        let start = file.lines()[line].start;
        let is_same = !compares_exactly || file.body(line)[found.clone()].trim() == old.trim();
        is_same.then_some(start + found.start..start + found.end)
    };
    let mut out = Vec::new();
    for start in starts {
        let end = start + count - 1;
        let first_is_whole = keys[0] == file_keys[start];
        let last_is_whole = keys[count - 1] == file_keys[end];
        let has_forbidden_part =
            !first_is_whole && has_indentation || !last_is_whole && ends_with_newline;
        if first_is_whole && last_is_whole || has_forbidden_part {
            continue;
        }
        let first_part = match first_is_whole {
            true => None,
            false => match_edge(lines[0], start, LineEdge::End),
        };
        let last_part = match last_is_whole {
            true => None,
            false => match_edge(lines[count - 1], end, LineEdge::Start),
        };
        let first_matches = first_is_whole || first_part.is_some();
        let last_matches = last_is_whole || last_part.is_some();
        if !first_matches || !last_matches {
            continue;
        }
        let mut chunks: Vec<Chunk> =
            (0..count).map(|at| Chunk::same(at, start + at, file)).collect();
        if let Some(range) = first_part {
            // The chunk goes to the end of the line, trailing whitespace included.
            chunks[0].bytes.start = range.start;
            chunks[0].from_start = false;
        }
        if let Some(range) = last_part {
            chunks[count - 1].bytes.end = range.end;
        }
        out.push(Candidate { chunks, tolerance });
    }
    out
}

/// The side of a line of the file at which a text matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEdge {
    Start,
    End,
}

/// The bytes of `line` that `old` matches at one edge of it. At the start, the text must follow the
/// indentation, which the bytes then include.
fn match_line_edge(old: &str, line: &str, fold: Fold, edge: LineEdge) -> Option<Range<usize>> {
    let needle = fold::canonical(old.trim(), fold);
    let haystack = fold::canonical(line.trim_end(), fold);
    if needle.len() >= haystack.len() || !needle.iter().any(|c| is_word_char(c.char)) {
        return None;
    }
    let found = match edge {
        LineEdge::Start => {
            let indent = haystack.iter().take_while(|c| c.char.is_whitespace()).count();
            indent..indent + needle.len()
        }
        LineEdge::End => haystack.len() - needle.len()..haystack.len(),
    };
    let equal = haystack.get(found.clone())?.iter().zip(&needle).all(|(a, b)| a.char == b.char);
    if !equal || splits_word(&haystack, &found) {
        return None;
    }
    match edge {
        LineEdge::Start => Some(0..haystack[found.end - 1].end),
        // A text that begins inside the indentation matches the whole line, which is not an edge.
        LineEdge::End => {
            let start = haystack[found.start].start;
            (!line[..start].trim().is_empty()).then_some(start..line.trim_end().len())
        }
    }
}

/// Whether a range of canonical characters begins or ends inside a name or a number.
fn splits_word(chars: &[fold::Canonical], range: &Range<usize>) -> bool {
    let splits_at = |at: usize| {
        let (before, after) = chars.split_at(at.min(chars.len()));
        let char_of = |c: &fold::Canonical| c.char;
        is_same_name(before.iter().rev().map(char_of), after.iter().map(char_of))
    };
    splits_at(range.start) || splits_at(range.end)
}

/// Whether an offset in a text is inside a name or a number.
pub(super) fn splits_name(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    is_same_name(before.chars().rev(), after.chars())
}

/// Whether the characters before an offset, nearest first, and those after it belong to one name
/// or number. A dot between two of its characters belongs to it; a full stop does not.
fn is_same_name(
    mut before: impl Iterator<Item = char>,
    mut after: impl Iterator<Item = char>,
) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(is_word_char);
    match (before.next(), after.next()) {
        (Some('.'), b) => is_word(b) && is_word(before.next()),
        (a, Some('.')) => is_word(a) && is_word(after.next()),
        (a, b) => is_word(a) && is_word(b),
    }
}

/// Finds candidates for a text of one line inside lines of the file, under the tolerance's fold.
fn find_inside_lines(file: &SourceFile<'_>, old: &str, tolerance: Tolerance) -> Vec<Candidate> {
    let fold = match tolerance {
        Tolerance::LookAlikes | Tolerance::Spacing | Tolerance::Punctuation => tolerance.fold(),
        _ => None,
    };
    let Some(fold) = fold else { return Vec::new() };
    let to_text = |chars: &[fold::Canonical]| chars.iter().map(|c| c.char).collect::<String>();
    let needle = to_text(&fold::canonical(old.trim(), fold));
    let count = needle.chars().count();
    let finder = memchr::memmem::Finder::new(&needle);
    let mut out = Vec::new();
    for &line in file.nonblank_lines() {
        let body = file.body(line);
        let chars = fold::canonical(body, fold);
        let folded = to_text(&chars);
        let (mut at, mut offset) = (0, 0);
        for found in finder.find_iter(folded.as_bytes()) {
            // Moves `at`, an index of characters, and `offset`, an index of bytes, to the match.
            while offset < found {
                offset += chars[at].char.len_utf8();
                at += 1;
            }
            let range = at..at + count;
            if splits_word(&chars, &range) {
                continue;
            }
            let start = file.lines()[line].start;
            let bytes = start + chars[range.start].start..start + chars[range.end - 1].end;
            let from_start = body[..chars[range.start].start].trim().is_empty();
            let bytes = if from_start { start..bytes.end } else { bytes };
            let chunk = Chunk {
                old: 0..1,
                lines: line..line + 1,
                bytes,
                from_start,
                kind: ChunkKind::Same,
            };
            out.push(Candidate { chunks: vec![chunk], tolerance });
        }
    }
    out
}

/// Where a pattern of keys occurs, overlaps included (Knuth, Morris, Pratt).
pub(super) fn find_key_sequence(pattern: &[u64], text: &[u64]) -> Vec<usize> {
    let Some(&first) = pattern.first() else { return Vec::new() };
    if pattern.len() == 1 {
        return (0..text.len())
            .filter(|&at| text[at] == first && first != BLANK_LINE_KEY)
            .collect();
    }
    let mut border_lens = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        while matched > 0 && pattern[at] != pattern[matched] {
            matched = border_lens[matched - 1];
        }
        matched += usize::from(pattern[at] == pattern[matched]);
        border_lens[at] = matched;
    }
    let mut out = Vec::new();
    matched = 0;
    for (at, key) in text.iter().enumerate() {
        while matched > 0 && *key != pattern[matched] {
            matched = border_lens[matched - 1];
        }
        matched += usize::from(*key == pattern[matched]);
        if matched == pattern.len() {
            out.push(at + 1 - matched);
            matched = border_lens[matched - 1];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Snapshot;

    fn found(text: &str, lines: &[&str], tolerance: Tolerance) -> Vec<String> {
        let snapshot = Snapshot::from_text(text);
        let file = SourceFile::new(&snapshot, None);
        let needle = Needle { lines, whole_lines: false, ends_with_newline: false };
        let candidates = find_candidates(&file, needle, tolerance);
        candidates.list.iter().map(|candidate| text[candidate.range()].to_owned()).collect()
    }

    #[test]
    fn overlapping_occurrences_are_all_found() {
        assert_eq!(find_key_sequence(&[1, 1], &[1, 1, 1, 2, 1, 1]), [0, 1, 4]);
        assert_eq!(find_key_sequence(&[1, 2, 1], &[1, 2, 1, 2, 1]), [0, 2]);
    }

    #[test]
    fn each_tolerance_finds_what_it_forgives() {
        assert_eq!(found("\ta \n\t\tb\n", &["a", "\tb"], Tolerance::Indentation), ["\ta \n\t\tb"]);
        assert!(found("\ta\n\t\tb\n", &["a", "\tb"], Tolerance::LookAlikes).is_empty());
        assert_eq!(found("a\n\nb\n", &["a", "b"], Tolerance::BlankLines), ["a\n\nb"]);
        assert_eq!(found("x = f( a,b )\n", &["f(a, b)"], Tolerance::Spacing), ["f( a,b )"]);
        assert_eq!(found("“a” b\n", &["\"a\""], Tolerance::LookAlikes), ["“a”"]);
    }

    #[test]
    fn a_text_may_begin_and_end_inside_a_line() {
        let file = "x = call(one,  \n      two,\n      three); y()\n";
        let old = ["call(one,", "      two,", "      three)"];
        let whole = "call(one,  \n      two,\n      three)";
        assert_eq!(found(file, &old, Tolerance::TrailingBlanks), [whole]);
        for first in ["all(one,", "  call(one,"] {
            let old = [first, "      two,", "      three)"];
            assert!(found(file, &old, Tolerance::TrailingBlanks).is_empty(), "{first}");
        }
    }

    #[test]
    fn a_dot_is_part_of_a_name_and_not_of_a_sentence() {
        let cuts =
            |before: &str, after: &str| splits_name(&format!("{before}{after}"), before.len());
        assert!(cuts("self", ".load()") && cuts("self.", "load()") && cuts("1", ".5"));
        assert!(!cuts("It is fine", ". Go on") && !cuts("fine.", " Go on") && !cuts("end", "."));
        assert!(cuts("na", "me") && !cuts("f", "(x)"));
    }
}
