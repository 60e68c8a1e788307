//! The candidates for a text of the call in the file, and the search for them at a tolerance.
//!
//! The search is linear: each line has a key, and the keys are searched like a string.

use std::ops::Range;

use super::fold::{self, Fold, is_word_char};
use super::indent_of;
use super::source_file::{BLANK_LINE_KEY, SourceFile, Tolerance};

/// Lines of the call and the lines of the file, or the part of a line, that they match.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkKind {
    /// The lines say the same, as far as the tolerance goes.
    Same,
    /// A placeholder of the call for lines of the file.
    Elided,
    /// The lines differ in words.
    Differs,
}

impl Chunk {
    pub(super) fn same(old: usize, line: usize, file: &SourceFile<'_>) -> Self {
        Self::new(old..old + 1, line..line + 1, file, ChunkKind::Same)
    }

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

/// A place in the file that may be meant: each line of the call with what it matches, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) chunks: Vec<Chunk>,
    pub(super) tolerance: Tolerance,
}

impl Candidate {
    /// The bytes from the first line to the last, without its ending.
    pub(super) fn range(&self) -> Range<usize> {
        let mut ranges = self.chunks.iter().filter(|c| !c.lines.is_empty()).map(|c| &c.bytes);
        let first = ranges.next();
        let start = first.map_or(0, |range| range.start);
        let end = ranges.next_back().or(first).map_or(start, |range| range.end);
        start..end
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> Range<usize> {
        let mut lines = self.chunks.iter().filter(|c| !c.lines.is_empty()).map(|c| &c.lines);
        let first = lines.next();
        let start = first.map_or(0, |lines| lines.start);
        let end = lines.next_back().or(first).map_or(start, |lines| lines.end);
        start..end
    }

    /// Whether the bytes begin, and end, inside a line.
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

    /// The chunk that holds a line of the call.
    pub(super) fn chunk_at(&self, old: usize) -> Option<&Chunk> {
        let at = self.chunks.partition_point(|chunk| chunk.old.end <= old);
        self.chunks[at..].iter().find(|chunk| chunk.old.contains(&old))
    }

    /// The file's text of a chunk.
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
    /// Whether its last line is ended.
    pub(super) ends_with_newline: bool,
}

/// The candidates for a text.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// All of them, or the first few if there are too many to compare line by line.
    pub(super) list: Vec<Candidate>,
    /// Where each begins, as lines of the file from 1.
    pub(super) lines: Vec<usize>,
}

impl Candidates {
    pub(super) fn of(list: Vec<Candidate>) -> Self {
        let lines = list.iter().map(|candidate| candidate.lines().start + 1).collect();
        Self { list, lines }
    }

    /// The candidates that begin at these lines (from 0).
    fn from_starts(starts: &[usize], size: usize, make: impl Fn(usize) -> Candidate) -> Self {
        let compared = match starts.len().saturating_mul(size) > MAX_COMPARED_LINES {
            true => &starts[..starts.len().min(MAX_COMPARED_IF_TOO_MANY)],
            false => starts,
        };
        let list = compared.iter().map(|start| make(*start)).collect();
        Self { list, lines: starts.iter().map(|start| start + 1).collect() }
    }

    /// Whether every candidate is in the list.
    pub(super) fn is_complete(&self) -> bool {
        self.list.len() == self.lines.len()
    }
}

/// The most lines that are compared, over all candidates.
const MAX_COMPARED_LINES: usize = 2_000_000;
/// How many candidates are compared where all would be too many.
const MAX_COMPARED_IF_TOO_MANY: usize = 4;

/// Every candidate for the text at a tolerance.
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
    let whole = if tolerance.skips_blank_lines() {
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
    if whole_lines || ends_with_newline && lines.len() == 1 || !whole.is_complete() {
        return whole;
    }
    match lines {
        [line] if whole.list.is_empty() => Candidates::of(find_inside_lines(file, line, tolerance)),
        [_] => whole,
        _ => {
            let mut all = whole.list;
            all.extend(find_with_partial_edges(file, lines, ends_with_newline, tolerance));
            all.sort_by_key(|candidate| candidate.range().start);
            Candidates::of(all)
        }
    }
}

fn find_ignoring_blank_lines(
    file: &SourceFile<'_>,
    lines: &[&str],
    nonblank: &[usize],
    tolerance: Tolerance,
) -> Candidates {
    let all = file.keys(tolerance);
    let text: Vec<u64> = file.nonblank_lines().iter().map(|&at| all[at]).collect();
    let keys: Vec<u64> = nonblank.iter().map(|&at| tolerance.key(lines[at])).collect();
    let candidate = |start: usize| {
        let at: Vec<usize> = file.nonblank_lines()[start..start + nonblank.len()].to_vec();
        let mut chunks = Vec::new();
        for (n, (&old, &line)) in nonblank.iter().zip(&at).enumerate() {
            if let Some(before) = n.checked_sub(1) {
                push_blank_lines(
                    file,
                    nonblank[before] + 1..old,
                    at[before] + 1..line,
                    &mut chunks,
                );
            }
            chunks.push(Chunk::same(old, line, file));
        }
        // Blank lines that the call begins or ends with, as far as the file has them too.
        let head =
            (0..at[0]).rev().take(nonblank[0]).take_while(|&line| file.is_blank(line)).count();
        let mut above = Vec::new();
        push_blank_lines(file, 0..nonblank[0], at[0] - head..at[0], &mut above);
        let (last, end) = (nonblank[nonblank.len() - 1] + 1, at[at.len() - 1] + 1);
        let tail = (end..file.lines().len()).take(lines.len() - last);
        let tail = tail.take_while(|&line| file.is_blank(line)).count();
        push_blank_lines(file, last..lines.len(), end..end + tail, &mut chunks);
        above.extend(chunks);
        Candidate { chunks: above, tolerance }
    };
    let starts = find_key_sequence(&keys, &text);
    let mut out = Candidates::from_starts(&starts, lines.len(), candidate);
    out.lines = starts.iter().map(|start| file.nonblank_lines()[*start] + 1).collect();
    out
}

/// Blank lines of both sides between two lines: paired one for one, then the rest.
fn push_blank_lines(
    file: &SourceFile<'_>,
    old: Range<usize>,
    lines: Range<usize>,
    out: &mut Vec<Chunk>,
) {
    let both = old.len().min(lines.len());
    out.extend((0..both).map(|at| Chunk::same(old.start + at, lines.start + at, file)));
    let (old, lines) = (old.start + both..old.end, lines.start + both..lines.end);
    if !old.is_empty() {
        out.push(Chunk::new(old, lines.start..lines.start, file, ChunkKind::Same));
    } else if !lines.is_empty() {
        out.push(Chunk::new(old.start..old.start, lines, file, ChunkKind::Same));
    }
}

/// Candidates for a text of several lines that begin or end inside a line of the file. The lines
/// between them are whole.
fn find_with_partial_edges(
    file: &SourceFile<'_>,
    lines: &[&str],
    ends_with_newline: bool,
    tolerance: Tolerance,
) -> Vec<Candidate> {
    if tolerance > Tolerance::LookAlikesAndIndentation {
        return Vec::new();
    }
    // A line that begins with its indentation is a whole one.
    let from_start = lines[0].starts_with(char::is_whitespace);
    let count = lines.len();
    let keys: Vec<u64> = lines.iter().map(|line| tolerance.key(line)).collect();
    let all = file.keys(tolerance);
    let starts: Vec<usize> = match count {
        2 => (0..all.len().saturating_sub(1)).collect(),
        _ => {
            let inner = find_key_sequence(&keys[1..count - 1], all).into_iter();
            inner.filter(|at| *at > 0 && at - 1 + count <= all.len()).map(|at| at - 1).collect()
        }
    };
    let fold = tolerance.fold().unwrap_or(Fold::LookAlike);
    let strict = tolerance.fold().is_none();
    let match_edge = |old: &str, line: usize, edge: LineEdge| -> Option<Range<usize>> {
        let same_indent =
            tolerance.ignores_indentation() || indent_of(old) == indent_of(file.body(line));
        let found = match_line_edge(old, file.body(line), fold, edge)
            .filter(|_| same_indent || edge == LineEdge::End)?;
        let start = file.lines()[line].start;
        let same = !strict || file.body(line)[found.clone()].trim() == old.trim();
        same.then_some(start + found.start..start + found.end)
    };
    let mut out = Vec::new();
    for start in starts {
        let end = start + count - 1;
        let whole = |at: usize, line: usize| keys[at] == all[line];
        let head = match whole(0, start) {
            true => None,
            false if from_start => continue,
            false => Some(match_edge(lines[0], start, LineEdge::End)),
        };
        let tail = match whole(count - 1, end) {
            true => None,
            false if ends_with_newline => Some(None),
            false => Some(match_edge(lines[count - 1], end, LineEdge::Start)),
        };
        let is_partial = head.is_some() || tail.is_some();
        if !is_partial || matches!(head, Some(None)) || matches!(tail, Some(None)) {
            continue;
        }
        let mut chunks: Vec<Chunk> =
            (0..count).map(|at| Chunk::same(at, start + at, file)).collect();
        if let Some(Some(range)) = head {
            // To the end of the line with its trailing whitespace: nothing follows there.
            chunks[0].bytes.start = range.start;
            chunks[0].from_start = false;
        }
        if let Some(Some(range)) = tail {
            chunks[count - 1].bytes.end = range.end;
        }
        out.push(Candidate { chunks, tolerance });
    }
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEdge {
    Start,
    End,
}

/// The part of a line that a text matches at its start or end, apart from the indentation.
fn match_line_edge(old: &str, line: &str, fold: Fold, edge: LineEdge) -> Option<Range<usize>> {
    let a = fold::canonical(old.trim(), fold);
    let b = fold::canonical(line.trim_end(), fold);
    if a.len() >= b.len() || !a.iter().any(|c| is_word_char(c.c)) {
        return None;
    }
    let found = match edge {
        LineEdge::Start => {
            let indent = b.iter().take_while(|c| c.c.is_whitespace()).count();
            indent..indent + a.len()
        }
        LineEdge::End => b.len() - a.len()..b.len(),
    };
    let equal = b.get(found.clone())?.iter().zip(&a).all(|(a, b)| a.c == b.c);
    if !equal || splits_word(&b, &found) {
        return None;
    }
    match edge {
        LineEdge::Start => Some(0..b[found.end - 1].end),
        // Text that begins inside the indentation is the whole line.
        LineEdge::End => {
            let start = b[found.start].start;
            (!line[..start].trim().is_empty()).then_some(start..line.trim_end().len())
        }
    }
}

fn splits_word(chars: &[fold::Canonical], range: &Range<usize>) -> bool {
    let at = |at: usize| {
        let (before, after) = chars.split_at(at.min(chars.len()));
        let char_of = |c: &fold::Canonical| c.c;
        is_same_name(before.iter().rev().map(char_of), after.iter().map(char_of))
    };
    at(range.start) || at(range.end)
}

/// Whether an offset in a text is inside a name or a number.
pub(super) fn splits_name(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    is_same_name(before.chars().rev(), after.chars())
}

/// Whether the characters before an offset, nearest first, and those after it belong to one name
/// or number. A dot belongs to it between two of its characters, and not as a full stop.
fn is_same_name(
    mut before: impl Iterator<Item = char>,
    mut after: impl Iterator<Item = char>,
) -> bool {
    let word = |c: Option<char>| c.is_some_and(is_word_char);
    match (before.next(), after.next()) {
        (Some('.'), b) => word(b) && word(before.next()),
        (a, Some('.')) => word(a) && word(after.next()),
        (a, b) => word(a) && word(b),
    }
}

/// Candidates for a text of one line inside lines of the file, under the tolerance's fold.
fn find_inside_lines(file: &SourceFile<'_>, old: &str, tolerance: Tolerance) -> Vec<Candidate> {
    let fold = match tolerance {
        Tolerance::LookAlikes | Tolerance::Spacing | Tolerance::Punctuation => tolerance.fold(),
        _ => None,
    };
    let Some(fold) = fold else { return Vec::new() };
    let text = |chars: &[fold::Canonical]| chars.iter().map(|c| c.c).collect::<String>();
    let needle = text(&fold::canonical(old.trim(), fold));
    let count = needle.chars().count();
    let finder = memchr::memmem::Finder::new(&needle);
    let mut out = Vec::new();
    for &line in file.nonblank_lines() {
        let body = file.body(line);
        let chars = fold::canonical(body, fold);
        let folded = text(&chars);
        let (mut at, mut offset) = (0, 0);
        for found in finder.find_iter(folded.as_bytes()) {
            // Characters and bytes are counted together, once a line.
            while offset < found {
                offset += chars[at].c.len_utf8();
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
    let mut back = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        while matched > 0 && pattern[at] != pattern[matched] {
            matched = back[matched - 1];
        }
        matched += usize::from(pattern[at] == pattern[matched]);
        back[at] = matched;
    }
    let mut out = Vec::new();
    matched = 0;
    for (at, key) in text.iter().enumerate() {
        while matched > 0 && *key != pattern[matched] {
            matched = back[matched - 1];
        }
        matched += usize::from(*key == pattern[matched]);
        if matched == pattern.len() {
            out.push(at + 1 - matched);
            matched = back[matched - 1];
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
