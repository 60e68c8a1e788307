//! The places where a text stands but for its form: one search for the joined lax keys of its lines.

use memchr::memmem::Finder;

use super::{Edges, Link, LinkKind, MAX_PLACE_LINES, Place, Places, with_blank_lines};
use crate::matching::budget;
use crate::matching::costs::Difference;
use crate::matching::fold::{self, is_word_char};
use crate::matching::indent_of;
use crate::matching::source_file::{SourceFile, lax_char, push_lax};

/// A text begins or ends inside a line only if the line has at most so many bytes.
const MAX_PART_LINE: usize = 100_000;

/// Where all the keys of a text stand one after the other, wherever the lines break.
pub(super) fn joined(file: &SourceFile<'_>, old: &[&str], full: &[usize], edges: Edges) -> Places {
    let mut needle = String::new();
    let mut ends = Vec::with_capacity(full.len());
    for &at in full {
        push_lax(old[at], &mut needle);
        ends.push(needle.len());
    }
    // Punctuation alone does not identify a place.
    if !needle.contains(is_word_char) {
        return Places::default();
    }
    let joined = file.joined();
    let finder = Finder::new(&needle);
    let mut out = Places::default();
    let mut from = 0;
    while let Some(at) = finder.find(&joined.text.as_bytes()[from..]).map(|at| from + at) {
        if out.list.len() * full.len() > MAX_PLACE_LINES {
            out.truncated = true;
            break;
        }
        if budget::spend(full.len() + 16).is_err() {
            break;
        }
        from = at + 1;
        while !joined.text.is_char_boundary(from) {
            from += 1;
        }
        out.list.extend(cut(file, old, full, &ends, at).filter(|place| {
            let (head, tail) = place.partial_edges(file);
            (edges.may_begin_inside || !head) && (edges.may_end_inside || !tail)
        }));
    }
    out
}

/// The place of one occurrence of joined keys that begins at `start`: links at the line breaks that
/// both sides have. `None` if it begins or ends inside a word.
fn cut(
    file: &SourceFile<'_>,
    old: &[&str],
    full: &[usize],
    ends: &[usize],
    start: usize,
) -> Option<Place> {
    let joined = file.joined();
    let end = start + ends[ends.len() - 1];
    let line_of = |offset: usize| joined.starts.partition_point(|&at| at <= offset) - 1;
    let (first, last) = (line_of(start), line_of(end - 1));
    let lines = file.nonblank_lines();
    let (head_line, tail_line) = (&file.lines()[lines[first]], &file.lines()[lines[last]]);
    // Each part of a line is sought from its start, so that a long line with many would take its square.
    let (begins_inside, ends_inside) =
        (start > joined.starts[first], end < joined.starts[last + 1]);
    let length = |line: &crate::text::Line, is_inside: bool| {
        if is_inside { line.body.len() } else { 0 }
    };
    let read = length(head_line, begins_inside) + length(tail_line, ends_inside);
    if read > MAX_PART_LINE || budget::spend(read / 8).is_err() {
        return None;
    }
    let mut from = head_line.body.start;
    if start > joined.starts[first] {
        from += head_offset(file.body(lines[first]), start - joined.starts[first])?;
        // A line that has its indentation begins where a line of the file begins.
        let blanks = indent_of(old[full[0]]);
        let has_indentation =
            blanks.len() > 1 || blanks == "\t" || full.len() > 1 && !blanks.is_empty();
        if has_indentation || splits_run(file, from) {
            return None;
        }
    }
    let mut to = tail_line.body.end;
    let closing = old[full[full.len() - 1]].trim_end().chars().next_back();
    // A part of a line ends where the call ends it, before a closing mark of the file.
    let is_part = first == last && start > joined.starts[first];
    if end < joined.starts[last + 1] || is_part && !matches!(closing, Some(',' | ';')) {
        to = tail_line.body.start
            + tail_offset(file.body(lines[last]), end - joined.starts[last], closing)?;
        if splits_run(file, to) {
            return None;
        }
    }
    if to < from {
        return None;
    }
    let mut links: Vec<Link> = Vec::new();
    let (mut n, mut old_from, mut line_from) = (first, 0, first);
    for at in 0..full.len() {
        let old_end = start + ends[at];
        while n <= last && joined.starts[n + 1].min(end) <= old_end {
            n += 1;
        }
        let file_end = joined.starts.get(n).map_or(end, |&at| at.min(end));
        if file_end == old_end && n > line_from {
            let (old, lines) = (full[old_from]..full[at] + 1, lines[line_from]..lines[n - 1] + 1);
            let is_line = at == old_from && n - line_from == 1;
            let kind = if is_line { LinkKind::Line } else { LinkKind::Reflowed };
            links.push(Link::new(file, old, lines, kind));
            (old_from, line_from) = (at + 1, n);
        }
    }
    if old_from != full.len() {
        return None;
    }
    links.first_mut()?.bytes.start = from;
    links.last_mut()?.bytes.end = to;
    Some(with_blank_lines(file, old, links))
}

/// The offset in a line before which `count` bytes of its lax key stand, and after which the next one
/// does; `None` inside a character.
pub(super) fn head_offset(line: &str, count: usize) -> Option<usize> {
    let mut seen = 0;
    for canonical in fold::canonical(line, Difference::LookAlikes) {
        let Some(c) = lax_char(canonical.char) else { continue };
        if seen == count {
            return Some(canonical.start);
        }
        seen += c.len_utf8();
    }
    None
}

/// The offset in a line after the first `count` bytes of its lax key. If the call has a closing mark
/// there, so must the line.
pub(super) fn tail_offset(line: &str, count: usize, closing: Option<char>) -> Option<usize> {
    let mut seen = 0;
    let mut end = 0;
    for canonical in fold::canonical(line, Difference::LookAlikes) {
        if seen == count {
            break;
        }
        if let Some(c) = lax_char(canonical.char) {
            seen += c.len_utf8();
            end = canonical.end;
        }
    }
    if seen != count {
        return None;
    }
    match closing.filter(|c| matches!(c, ',' | ';')) {
        Some(mark) => {
            let rest = &line[end..];
            let skipped = rest.len() - rest.trim_start().len();
            rest.trim_start().starts_with(mark).then_some(end + skipped + 1)
        }
        None => Some(end),
    }
}

/// Whether an offset is beside the point inside a number.
fn splits_number(text: &str, at: usize) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let (mut before, mut after) = (text[..at].chars().rev(), text[at..].chars());
    match (before.next(), after.next()) {
        (Some('.'), after) => is_digit(after) && is_digit(before.next()),
        (before, Some('.')) => is_digit(before) && is_digit(after.next()),
        // `1.2.3-rc1`
        (before, Some('-')) => is_digit(before) && after.next().is_some_and(is_word_char),
        _ => false,
    }
}

/// Whether an offset is inside a word, a number, or a run of characters that look alike.
pub(super) fn splits_run(file: &SourceFile<'_>, at: usize) -> bool {
    if file.splits_name(at) || splits_number(file.text, at) {
        return true;
    }
    let plain = |c: char| {
        let mut buffer = [0; 4];
        let folded = fold::canonical(c.encode_utf8(&mut buffer), Difference::LookAlikes);
        folded.first().map(|canonical| canonical.char)
    };
    let before = file.text[..at].chars().next_back();
    let after = file.text[at..].chars().next();
    let is_mark = |c: &char| !c.is_whitespace() && !c.is_alphanumeric() && !"()[]{}".contains(*c);
    match (before.filter(is_mark), after.filter(is_mark)) {
        (Some(before), Some(after)) => plain(before) == plain(after),
        _ => false,
    }
}
