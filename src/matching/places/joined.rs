//! The places where a text stands but for its form: one search for the joined lax keys of its lines.

use std::ops::Range;

use memchr::memmem::Finder;

use super::{Edges, Link, LinkKind, MAX_PLACE_LINES, Place, Places, with_blank_lines};
use crate::matching::budget;
use crate::matching::call::Call;
use crate::matching::costs::Difference;
use crate::matching::fold::{self, is_word_char};
use crate::matching::indent_of;
use crate::matching::source_file::{SourceFile, lax_char, push_lax};

/// A text begins or ends inside a line only if the line has at most so many bytes.
const MAX_PART_LINE: usize = 100_000;

/// Where all the keys of a text stand one after the other, wherever the lines break.
pub(super) fn joined(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    full: &[usize],
    edges: Edges,
) -> Places {
    let mut needle = String::new();
    let mut ends = Vec::with_capacity(full.len());
    for &at in full {
        push_lax(call.old[at], &mut needle);
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
        from = joined.text.ceil_char_boundary(at + 1);
        out.list.extend(cut(file, call, full, &ends, at).filter(|place| {
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
    call: &Call<'_>,
    full: &[usize],
    ends: &[usize],
    start: usize,
) -> Option<Place> {
    let joined = file.joined();
    let end = start + ends[ends.len() - 1];
    let line_of = |offset: usize| joined.starts.partition_point(|&at| at <= offset) - 1;
    let (first, last) = (line_of(start), line_of(end - 1));
    let lines = file.nonblank_lines();
    let [head, tail] = [first, last].map(|n| file.lines()[lines[n]].body.clone());
    let begins_inside = start > joined.starts[first];
    let ends_inside = end < joined.starts[last + 1];
    // Each part of a line is sought from its start, so that a long line with many would take its square.
    let read =
        if begins_inside { head.len() } else { 0 } + if ends_inside { tail.len() } else { 0 };
    if read > MAX_PART_LINE || budget::spend(read / 8).is_err() {
        return None;
    }
    let (mut from, mut to) = (head.start, tail.end);
    if begins_inside {
        // A line that has its indentation begins where a line of the file begins.
        let blanks = indent_of(call.old[full[0]]);
        if blanks.len() > 1 || blanks == "\t" || full.len() > 1 && !blanks.is_empty() {
            return None;
        }
        from = head_offset(file, lines[first], start - joined.starts[first])?;
    }
    let closing = call.old[full[full.len() - 1]].trim_end().chars().next_back();
    // A part of a line ends where the call ends it, before a closing mark of the file.
    let is_part = first == last && begins_inside;
    if ends_inside || is_part && !matches!(closing, Some(',' | ';')) {
        to = tail_offset(file, lines[last], end - joined.starts[last], closing)?;
    }
    let mut links: Vec<Link> = Vec::new();
    let (mut n, mut old_from, mut line_from) = (first, 0, first);
    for at in 0..full.len() {
        let old_end = start + ends[at];
        while n <= last && joined.starts[n + 1].min(end) <= old_end {
            n += 1;
        }
        if joined.starts[n].min(end) == old_end && n > line_from {
            let is_line = at == old_from && n - line_from == 1;
            let kind = if is_line { LinkKind::Line } else { LinkKind::Reflowed };
            let (old, lines) = (full[old_from]..full[at] + 1, lines[line_from]..lines[n - 1] + 1);
            links.push(Link { kind, ..Link::new(file, old, lines) });
            (old_from, line_from) = (at + 1, n);
        }
    }
    if old_from != full.len() || to < from {
        return None;
    }
    links.first_mut()?.bytes.start = from;
    links.last_mut()?.bytes.end = to;
    Some(with_blank_lines(file, call, links))
}

/// The characters of the lax key of a line: where each is in the key, and in the line.
fn lax_spans(line: &str) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let mut end = 0;
    fold::canonical(line, Difference::LookAlikes).into_iter().filter_map(move |canonical| {
        let start = end;
        end += lax_char(canonical.char)?.len_utf8();
        Some((start..end, canonical.range()))
    })
}

/// The offset before which `count` bytes of the lax key of a line of the file stand, and after which the
/// next one does; `None` inside a character or a word.
pub(super) fn head_offset(file: &SourceFile<'_>, line: usize, count: usize) -> Option<usize> {
    let (_, bytes) = lax_spans(file.body(line)).find(|(in_key, _)| in_key.start == count)?;
    Some(file.lines()[line].body.start + bytes.start).filter(|&at| !splits_run(file, at))
}

/// The offset after the first `count` bytes of the lax key of a line of the file. If the call has a closing
/// mark there, so must the line.
pub(super) fn tail_offset(
    file: &SourceFile<'_>,
    line: usize,
    count: usize,
    closing: Option<char>,
) -> Option<usize> {
    let body = file.body(line);
    let mut end = lax_spans(body).find(|(in_key, _)| in_key.end == count)?.1.end;
    if let Some(mark) = closing.filter(|c| matches!(c, ',' | ';')) {
        let rest = body[end..].trim_start().strip_prefix(mark)?;
        end = body.len() - rest.len();
    }
    Some(file.lines()[line].body.start + end).filter(|&at| !splits_run(file, at))
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
fn splits_run(file: &SourceFile<'_>, at: usize) -> bool {
    if file.splits_name(at) || splits_number(file.text, at) {
        return true;
    }
    // Marks that look alike are a run.
    let plain = |c: char| {
        let folded = fold::canonical(c.encode_utf8(&mut [0; 4]), Difference::LookAlikes);
        folded.first().map(|canonical| canonical.char)
    };
    let is_mark = |c: &char| !c.is_whitespace() && !c.is_alphanumeric() && !"()[]{}".contains(*c);
    let before = file.text[..at].chars().next_back().filter(is_mark);
    let after = file.text[at..].chars().next().filter(is_mark);
    before.zip(after).is_some_and(|(before, after)| plain(before) == plain(after))
}
