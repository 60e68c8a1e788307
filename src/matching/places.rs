//! Finds the places at which a text may stand, once, with everything that may differ: one search for
//! the joined lax keys of its lines, an alignment around the rare lines of the text, and the pieces
//! between placeholders.
//!
//! The work grows with file and text, not with their product.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem::Finder;

use super::budget;
use super::costs::{Difference, EXTRA, LOST, MISSING, PART, STALE};
use super::fold::{self, is_word_char, plain_key};
use super::indent_of;
use super::placeholder::is_placeholder;
use super::source_file::{SourceFile, lax_char, line_key, push_lax};
use super::tokens::words;

/// Lines of the call, and the lines of the file that they stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// Lines of the call; none where only the file has something.
    pub(super) old: Range<usize>,
    /// Lines of the file; none where only the call has something.
    pub(super) lines: Range<usize>,
    /// The bytes of those lines that match, without the last line's ending.
    pub(super) bytes: Range<usize>,
    pub(super) kind: LinkKind,
}

/// How the lines of a link belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkKind {
    /// One line each, or blank lines that one side lacks, or lines that one side lacks.
    Line,
    /// The same words on other lines.
    Reflowed,
    /// A placeholder of the call, and what it stands for.
    Elided,
}

impl Link {
    /// A link of whole lines.
    pub(super) fn new(
        file: &SourceFile<'_>,
        old: Range<usize>,
        lines: Range<usize>,
        kind: LinkKind,
    ) -> Self {
        let bytes = file.byte_range(&lines);
        Self { old, lines, bytes, kind }
    }

    /// Whether it is one line of the call and one of the file.
    pub(super) fn is_pair(&self) -> bool {
        self.kind == LinkKind::Line && self.old.len() == 1 && self.lines.len() == 1
    }

    /// Whether it begins where a line of the file begins.
    pub(super) fn starts_line(&self, file: &SourceFile<'_>) -> bool {
        self.lines.is_empty() || self.bytes.start == file.lines()[self.lines.start].body.start
    }

    /// Whether it ends where a line of the file ends.
    pub(super) fn ends_line(&self, file: &SourceFile<'_>) -> bool {
        self.lines.is_empty() || self.bytes.end == file.lines()[self.lines.end - 1].body.end
    }
}

/// A place that the call may mean: links that cover all its lines, in order, and the lines of the file
/// between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) links: Vec<Link>,
    /// Whether there are more places like it than are compared.
    pub(super) is_crowded: bool,
}

impl Place {
    /// The lines of the file, from 0.
    pub(super) fn lines(&self) -> Range<usize> {
        let mut lines = self.links.iter().filter(|l| !l.lines.is_empty()).map(|l| &l.lines);
        let first = lines.next();
        let start = first.map_or(0, |lines| lines.start);
        start..lines.next_back().or(first).map_or(start, |lines| lines.end)
    }

    /// The bytes from the first line to the last, without the ending of the last.
    pub(super) fn bytes(&self) -> Range<usize> {
        let mut bytes = self.links.iter().filter(|l| !l.lines.is_empty()).map(|l| &l.bytes);
        let first = bytes.next();
        let start = first.map_or(0, |bytes| bytes.start);
        start..bytes.next_back().or(first).map_or(start, |bytes| bytes.end)
    }

    /// The link with line `old` of the call (from 0).
    pub(super) fn link_at(&self, old: usize) -> Option<&Link> {
        let at = self.links.partition_point(|link| link.old.end <= old);
        self.links[at..].iter().find(|link| link.old.contains(&old))
    }

    /// Whether the first line of the file has text before the matched bytes, and the last one after
    /// them. White space is not text here.
    pub(super) fn partial_edges(&self, file: &SourceFile<'_>) -> (bool, bool) {
        let (bytes, lines) = (self.bytes(), self.lines());
        if lines.is_empty() {
            return (false, false);
        }
        let before = &file.text[file.lines()[lines.start].body.start..bytes.start];
        let after = &file.text[bytes.end..file.lines()[lines.end - 1].body.end.max(bytes.end)];
        (!before.trim().is_empty(), !after.trim().is_empty())
    }
}

/// The places of a text.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) list: Vec<Place>,
    /// Whether there are more, so that their number is not known.
    pub(super) truncated: bool,
}

/// Whether a text may begin and end inside lines of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edges {
    pub(super) may_begin_inside: bool,
    pub(super) may_end_inside: bool,
}

impl Edges {
    const WHOLE_LINES: Self = Self { may_begin_inside: false, may_end_inside: false };
}

/// The most lines of places of one text; further places only count as more.
const MAX_PLACE_LINES: usize = 400_000;
/// The most ways to fill the gaps of placeholders that are compared.
const MAX_CHAINS: usize = 48;
/// The most placeholders of one text.
const MAX_PLACEHOLDERS: usize = 32;

/// All places for the lines of a text. `is_kept` says whether the call keeps a line.
pub(super) fn places(
    file: &SourceFile<'_>,
    old: &[&str],
    edges: Edges,
    is_kept: &dyn Fn(usize) -> bool,
) -> Places {
    let full: Vec<usize> = (0..old.len()).filter(|&at| !old[at].trim().is_empty()).collect();
    if full.is_empty() || file.nonblank_lines().is_empty() {
        return Places::default();
    }
    if budget::spend(file.text.len() / 8 + old.len()).is_err() {
        return Places::default();
    }
    if let Some(pieces) = split_at_placeholders(file, old, &full) {
        return elided(file, old, &pieces);
    }
    let mut found = joined(file, old, &full, edges);
    let seen: Vec<Range<usize>> = found.list.iter().map(Place::lines).collect();
    let is_new = |place: &Place| {
        let lines = place.lines();
        !seen.iter().any(|seen| seen.start == lines.start || seen.end == lines.end)
    };
    found.list.extend(aligned(file, old, &full, edges, is_kept).into_iter().filter(is_new));
    found
}

/// Where all the keys of a text stand one after the other, wherever the lines break.
fn joined(file: &SourceFile<'_>, old: &[&str], full: &[usize], edges: Edges) -> Places {
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
        if out.list.len() * (full.len() + 4) > MAX_PLACE_LINES {
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
fn head_offset(line: &str, count: usize) -> Option<usize> {
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
fn tail_offset(line: &str, count: usize, closing: Option<char>) -> Option<usize> {
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
fn splits_run(file: &SourceFile<'_>, at: usize) -> bool {
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

/// The place with links for the blank lines, and for the lines that only one side has, between,
/// above and below these links.
fn with_blank_lines(file: &SourceFile<'_>, old: &[&str], links: Vec<Link>) -> Place {
    let mut out: Vec<Link> = Vec::with_capacity(links.len() + 4);
    if let Some(first) = links.first() {
        let is_whole = first.starts_line(file);
        let blank_old = old[..first.old.start].iter().rev().take_while(|l| l.trim().is_empty());
        let above = (0..first.lines.start).rev().take(blank_old.count());
        let blank = above.take_while(|&at| is_whole && file.is_blank(at)).count();
        push_between(
            file,
            old,
            0..first.old.start,
            first.lines.start - blank..first.lines.start,
            &mut out,
        );
    }
    let mut previous: Option<(usize, usize)> = None;
    for link in links {
        if let Some((old_end, file_end)) = previous {
            push_between(file, old, old_end..link.old.start, file_end..link.lines.start, &mut out);
        }
        previous = Some((link.old.end, link.lines.end));
        out.push(link);
    }
    if let Some((old_end, file_end)) = previous {
        let is_whole = out.last().is_some_and(|last| last.ends_line(file));
        let blank_old = old[old_end..].iter().take_while(|line| line.trim().is_empty());
        let below = (file_end..file.lines().len()).take(blank_old.count());
        let blank = below.take_while(|&at| is_whole && file.is_blank(at)).count();
        push_between(file, old, old_end..old.len(), file_end..file_end + blank, &mut out);
    }
    Place { links: out, is_crowded: false }
}

/// Adds links for lines between two links: blank lines in pairs, the others alone.
fn push_between(
    file: &SourceFile<'_>,
    old: &[&str],
    old_lines: Range<usize>,
    lines: Range<usize>,
    out: &mut Vec<Link>,
) {
    let (mut at, mut line) = (old_lines.start, lines.start);
    let push = |out: &mut Vec<Link>, old: Range<usize>, lines: Range<usize>| {
        out.push(Link::new(file, old, lines, LinkKind::Line));
    };
    while at < old_lines.end || line < lines.end {
        let call_is_blank = at < old_lines.end && old[at].trim().is_empty();
        let file_is_blank = line < lines.end && file.is_blank(line);
        if call_is_blank && file_is_blank {
            push(out, at..at + 1, line..line + 1);
            (at, line) = (at + 1, line + 1);
        } else if at < old_lines.end && (!call_is_blank || line == lines.end) {
            push(out, at..at + 1, line..line);
            at += 1;
        } else if line < lines.end {
            push(out, at..at, line..line + 1);
            line += 1;
        } else {
            push(out, at..at + 1, line..line);
            at += 1;
        }
    }
}

/// A line of the call and one of the file are compared only if their diagonals differ by at most this.
const SLACK: isize = 6;
/// The widest band of diagonals.
const MAX_BAND: isize = 60;
/// The most bands that are aligned.
const MAX_BANDS: usize = 8;
/// A line that stands in the file more often is no anchor.
const MAX_ANCHORS: usize = 40;
/// A band must have at least this share of the evidence of the text.
const MIN_SHARE: f64 = 0.15;
/// Alignments that are this much worse than the best of their band are no rivals.
const RIVAL: f64 = 60.0;
/// The most alignments of one band.
const MAX_ALIGNMENTS: usize = 8;
/// The most lines of the text times the width of a band.
const MAX_CELLS: usize = 2_000_000;

/// Places around the rare lines of a text, at which a few lines differ in words, are missing, or are
/// more.
fn aligned(
    file: &SourceFile<'_>,
    old: &[&str],
    full: &[usize],
    edges: Edges,
    is_kept: &dyn Fn(usize) -> bool,
) -> Vec<Place> {
    if full.len() < 2 {
        return Vec::new();
    }
    let lines = file.nonblank_lines();
    let keys = file.keys();
    let mut positions: HashMap<u64, Vec<usize>> = HashMap::new();
    for (n, &line) in lines.iter().enumerate() {
        let at = positions.entry(keys[line]).or_default();
        if at.len() <= MAX_ANCHORS {
            at.push(n);
        }
    }
    let text = Text::new(file, old, full, edges, is_kept);
    let mut votes: HashMap<isize, f64> = HashMap::new();
    for (at, key) in text.keys.iter().enumerate() {
        let hits = positions.get(key).map_or(&[][..], Vec::as_slice);
        if (1..=MAX_ANCHORS).contains(&hits.len()) {
            #[expect(clippy::cast_precision_loss, reason = "at most MAX_ANCHORS")]
            let weight = text.bits[at] / (hits.len() as f64).sqrt();
            for hit in hits {
                *votes.entry(hit.cast_signed() - at.cast_signed()).or_default() += weight;
            }
        }
    }
    let mut diagonals: Vec<(isize, f64)> = votes.into_iter().collect();
    diagonals.sort_unstable_by_key(|(diagonal, _)| *diagonal);
    let mut bands: Vec<(Range<isize>, f64)> = Vec::new();
    for (diagonal, weight) in diagonals {
        match bands.last_mut() {
            Some((band, sum))
                if diagonal - band.end < SLACK && diagonal - band.start < MAX_BAND =>
            {
                band.end = diagonal + 1;
                *sum += weight;
            }
            _ => bands.push((diagonal..diagonal + 1, weight)),
        }
    }
    bands.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.start.cmp(&b.0.start)));
    let total: f64 = text.bits.iter().sum();
    let mut out: Vec<Place> = Vec::new();
    let best = bands.first().map_or(0.0, |(_, weight)| *weight);
    let is_crowded = bands.get(MAX_BANDS).is_some_and(|(_, weight)| *weight >= best / 2.0);
    for (band, weight) in bands.into_iter().take(MAX_BANDS) {
        if weight < MIN_SHARE * total || weight < 4.0 {
            break;
        }
        for links in text.align(band.start - SLACK..band.end + SLACK) {
            let place = Place { is_crowded, ..with_blank_lines(file, old, links) };
            if !out.contains(&place) {
                out.push(place);
            }
        }
    }
    out
}

/// The lines of a text that are not blank, ready to be aligned with those of the file.
struct Text<'a, 't> {
    file: &'a SourceFile<'t>,
    old: &'a [&'a str],
    full: &'a [usize],
    edges: Edges,
    keys: Vec<u64>,
    lax: Vec<String>,
    bits: Vec<f64>,
    words: Vec<Words>,
    is_kept: &'a dyn Fn(usize) -> bool,
}

/// How a cell of an alignment was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    None,
    Pair,
    /// The line is missing in the file.
    Missing,
    /// The file has a line more.
    Extra,
}

impl<'a, 't> Text<'a, 't> {
    fn new(
        file: &'a SourceFile<'t>,
        old: &'a [&'a str],
        full: &'a [usize],
        edges: Edges,
        is_kept: &'a dyn Fn(usize) -> bool,
    ) -> Self {
        let lax = |&at: &usize| {
            let mut key = String::new();
            push_lax(old[at], &mut key);
            key
        };
        Self {
            file,
            old,
            full,
            edges,
            keys: full.iter().map(|&at| line_key(old[at])).collect(),
            lax: full.iter().map(lax).collect(),
            bits: full.iter().map(|&at| file.bits(old[at])).collect(),
            words: full.iter().map(|&at| Words::of(old[at])).collect(),
            is_kept,
        }
    }

    /// The best alignments with the file between two diagonals, as links of lines that are not blank.
    fn align(&self, band: Range<isize>) -> Vec<Vec<Link>> {
        let count = self.full.len();
        let width = usize::try_from(band.end - band.start).unwrap_or(1);
        let total = self.file.nonblank_lines().len().cast_signed();
        if count.saturating_mul(width) > MAX_CELLS {
            return Vec::new();
        }
        if budget::spend(8 * count * width).is_err() {
            return Vec::new();
        }
        const NEVER: f64 = f64::NEG_INFINITY;
        let line_at = |at: usize, d: usize| {
            let line = at.cast_signed() + band.start + d.cast_signed();
            (0..total).contains(&line).then(|| line.cast_unsigned())
        };
        let mut file_words: HashMap<usize, Words> = HashMap::new();
        let mut best = vec![0.0; width + 1];
        let mut steps = vec![Step::None; count * (width + 1)];
        for at in 0..count {
            let mut row = vec![NEVER; width + 1];
            let from = &mut steps[at * (width + 1)..(at + 1) * (width + 1)];
            for d in 0..=width {
                if let Some(line) = line_at(at, d)
                    && let Some(score) = self.pair_score(at, line, &mut file_words)
                    && best[d] + score > row[d]
                {
                    (row[d], from[d]) = (best[d] + score, Step::Pair);
                }
                if d < width {
                    let change = if (self.is_kept)(self.full[at]) { 0.0 } else { CONFLICT };
                    let is_comment = self
                        .file
                        .language
                        .is_some_and(|language| language.is_comment(self.old[self.full[at]]));
                    let price = if is_comment { Difference::Comment.cost() } else { MISSING };
                    let score = best[d + 1] - price - LOST * self.bits[at] - change;
                    if score > row[d] {
                        (row[d], from[d]) = (score, Step::Missing);
                    }
                }
            }
            if at + 1 < count {
                for d in 1..=width {
                    let is_comment = line_at(at + 1, d - 1)
                        .is_some_and(|line| self.file.is_comment(self.file.nonblank_lines()[line]));
                    let price = if is_comment { Difference::Comment.cost() } else { EXTRA };
                    if row[d - 1] - price > row[d] {
                        (row[d], from[d]) = (row[d - 1] - price, Step::Extra);
                    }
                }
            }
            best = row;
        }
        let top = best.iter().copied().fold(NEVER, f64::max);
        let mut ends: Vec<usize> =
            (0..=width).filter(|&d| best[d].is_finite() && best[d] > top - RIVAL).collect();
        ends.sort_by(|&a, &b| best[b].total_cmp(&best[a]));
        let mut out: Vec<Vec<Link>> = Vec::new();
        for links in ends.into_iter().filter_map(|d| self.trace(&steps, width, d, band.start)) {
            // The same lines in a worse alignment are no other place.
            let overlaps = |seen: &Vec<Link>| {
                let span =
                    |links: &[Link]| (links[0].lines.start, links[links.len() - 1].lines.end);
                let (a, b) = (span(seen), span(&links));
                a.0 < b.1 && b.0 < a.1
            };
            if out.len() < MAX_ALIGNMENTS && !out.iter().any(overlaps) {
                out.push(links);
            }
        }
        out
    }

    /// The links of the alignment that ends on a diagonal.
    fn trace(&self, steps: &[Step], width: usize, mut d: usize, start: isize) -> Option<Vec<Link>> {
        let lines = self.file.nonblank_lines();
        let mut at = self.full.len();
        let mut links = Vec::new();
        while at > 0 {
            match steps[(at - 1) * (width + 1) + d] {
                Step::Pair => {
                    at -= 1;
                    let n = (at.cast_signed() + start + d.cast_signed()).cast_unsigned();
                    let (old, line) = (self.full[at], lines[n]);
                    let mut link =
                        Link::new(self.file, old..old + 1, line..line + 1, LinkKind::Line);
                    self.narrow(at, line, &mut link);
                    links.push(link);
                }
                Step::Missing => {
                    at -= 1;
                    d += 1;
                }
                Step::Extra => d -= 1,
                Step::None => return None,
            }
        }
        links.reverse();
        (!links.is_empty()).then_some(links)
    }

    /// Limits the link of a first or last line to the part of the file's line that it quotes.
    fn narrow(&self, at: usize, line: usize, link: &mut Link) {
        if self.keys[at] == self.file.keys()[line] {
            return;
        }
        let body = self.file.body(line);
        let mut lax = String::new();
        push_lax(body, &mut lax);
        let start = self.file.lines()[line].body.start;
        let text = self.old[self.full[at]];
        if at == 0
            && indent_of(text).is_empty()
            && self.is_part(at)
            && lax.ends_with(&self.lax[at])
            && let Some(head) = head_offset(body, lax.len() - self.lax[at].len())
            && !splits_run(self.file, start + head)
        {
            link.bytes.start = start + head;
        } else if at + 1 == self.full.len()
            && self.is_part(at)
            && lax.starts_with(&self.lax[at])
            && let Some(tail) =
                tail_offset(body, self.lax[at].len(), text.trim_end().chars().next_back())
            && !splits_run(self.file, start + tail)
        {
            link.bytes.end = start + tail;
        }
    }

    /// Whether a first or last line may be the part of a line: it is long enough, and the call keeps it
    /// or does not say that it is whole.
    fn is_part(&self, at: usize) -> bool {
        let Edges { may_begin_inside, may_end_inside } = self.edges;
        let may_be = if at == 0 { may_begin_inside } else { may_end_inside };
        (may_be || (self.is_kept)(self.full[at]))
            && self.lax[at].len() > 3
            && self.lax[at].contains(is_word_char)
    }

    /// What it is worth to take a line of the text for line `n` of those that are not blank; `None` if
    /// they are not alike.
    fn pair_score(
        &self,
        at: usize,
        n: usize,
        file_words: &mut HashMap<usize, Words>,
    ) -> Option<f64> {
        let line = self.file.nonblank_lines()[n];
        let bits = self.bits[at] + 1.0;
        if self.keys[at] == self.file.keys()[line] {
            return Some(bits);
        }
        let joined = self.file.joined();
        let lax = &joined.text[joined.starts[n]..joined.starts[n + 1]];
        let text = self.old[self.full[at]];
        let is_head = at == 0 && indent_of(text).is_empty() && lax.ends_with(&self.lax[at]);
        let is_tail = at + 1 == self.full.len() && lax.starts_with(&self.lax[at]);
        if self.is_part(at) && (is_head || is_tail) {
            return Some(bits - PART);
        }
        let (a, b) = (self.lax[at].len(), lax.len());
        if a.abs_diff(b) > a.max(12) {
            return None;
        }
        let words = file_words.entry(n).or_insert_with(|| Words::of(self.file.body(line)));
        let similarity = self.words[at].similarity(words);
        let are_comments = self.file.is_comment(line)
            && self.file.language.is_some_and(|language| language.is_comment(text));
        if similarity < 0.5 && !are_comments {
            return None;
        }
        let price = if are_comments { Difference::Comment } else { Difference::Words }.cost();
        let change = if (self.is_kept)(self.full[at]) { 0.0 } else { CONFLICT };
        Some(-price - LOST * bits * (1.0 - similarity) - change)
    }
}

/// What it costs an alignment that a line which the call changes differs in words. It is little, so
/// that the place which has changed since stays in the race.
const CONFLICT: f64 = STALE;

/// The words of a line, sorted, for a quick comparison.
#[derive(Debug)]
pub(super) struct Words {
    keys: Vec<(u64, u32)>,
    weight: u32,
}

impl Words {
    /// The words and marks of a line.
    pub(super) fn of(line: &str) -> Self {
        let mut keys: Vec<(u64, u32)> = words(line)
            .map(|word| (plain_key(word), u32::try_from(word.len()).unwrap_or(u32::MAX / 2) + 1))
            .collect();
        let marks = line.chars().filter(|c| !c.is_whitespace() && !is_word_char(*c));
        keys.extend(marks.map(|c| (u64::from(u32::from(c)), 1)));
        keys.sort_unstable();
        let weight = keys.iter().map(|(_, weight)| weight).sum();
        Self { keys, weight }
    }

    /// The share of words and marks that two lines have in common, weighted by length.
    pub(super) fn similarity(&self, other: &Self) -> f64 {
        let (mut a, mut b, mut same) = (0, 0, 0);
        while a < self.keys.len() && b < other.keys.len() {
            match self.keys[a].cmp(&other.keys[b]) {
                std::cmp::Ordering::Less => a += 1,
                std::cmp::Ordering::Greater => b += 1,
                std::cmp::Ordering::Equal => {
                    same += self.keys[a].1;
                    (a, b) = (a + 1, b + 1);
                }
            }
        }
        match self.weight + other.weight {
            0 => 0.0,
            both => 2.0 * f64::from(same) / f64::from(both),
        }
    }
}

/// The ranges of lines above, between and below the placeholders of a text. `None` if it has none or
/// too many, or if nothing is between two of them. A placeholder that the file has too is ordinary
/// text.
fn split_at_placeholders(
    file: &SourceFile<'_>,
    old: &[&str],
    full: &[usize],
) -> Option<Vec<Range<usize>>> {
    let is_mark = |at: &usize| is_placeholder(old[*at]) && !file.text.contains(old[*at].trim());
    let marks: Vec<usize> = full.iter().copied().filter(is_mark).collect();
    if marks.is_empty() || marks.len() > MAX_PLACEHOLDERS {
        return None;
    }
    let mut pieces = Vec::new();
    let mut from = 0;
    for &mark in marks.iter().chain([&old.len()]) {
        pieces.push(from..mark);
        from = mark + 1;
    }
    let is_blank = |piece: &Range<usize>| old[piece.clone()].iter().all(|l| l.trim().is_empty());
    if pieces[1..pieces.len() - 1].iter().any(is_blank) {
        return None;
    }
    pieces.retain(|piece| !is_blank(piece));
    let has_words =
        |piece: &Range<usize>| old[piece.clone()].iter().any(|l| l.contains(is_word_char));
    pieces.iter().any(has_words).then_some(pieces)
}

/// The places of a text with placeholders: each piece stands in the file, in order.
fn elided(file: &SourceFile<'_>, old: &[&str], pieces: &[Range<usize>]) -> Places {
    let mut out = Places::default();
    let mut spots: Vec<Vec<Vec<Link>>> = Vec::new();
    for piece in pieces {
        let full: Vec<usize> = piece.clone().filter(|&at| !old[at].trim().is_empty()).collect();
        let has_words = full.iter().any(|&at| old[at].contains(is_word_char));
        let found = match has_words {
            true => joined(file, old, &full, Edges::WHOLE_LINES),
            false => bracket_lines(file, old, &full),
        };
        if budget::spend(64 * found.list.len()).is_err() {
            return Places::default();
        }
        out.truncated |= found.truncated;
        let inner = |place: Place| {
            let is_inner = |link: &Link| piece.contains(&link.old.start) || link.old.is_empty();
            place.links.into_iter().filter(is_inner).collect()
        };
        spots.push(found.list.into_iter().map(inner).collect());
    }
    let mut chains: Vec<Vec<usize>> = (0..spots[0].len()).map(|at| vec![at]).collect();
    chains.truncate(MAX_CHAINS + 1);
    for part in 1..pieces.len() {
        let mut longer = Vec::new();
        for chain in &chains {
            let above = &spots[part - 1][chain[part - 1]];
            let after = (0..spots[part].len())
                .filter(|&at| stays_in_block(file, old, above, &spots[part][at]));
            longer.extend(after.take(MAX_CHAINS).map(|at| [chain.as_slice(), &[at]].concat()));
            if longer.len() > MAX_CHAINS {
                break;
            }
        }
        chains = longer;
    }
    out.truncated |= chains.len() > MAX_CHAINS;
    for chain in chains {
        let mut links: Vec<Link> = Vec::new();
        for (part, &at) in chain.iter().enumerate() {
            let piece = &spots[part][at];
            let (old_start, line_start) = (piece[0].old.start, piece[0].lines.start);
            // The edit needs none of the lines that a placeholder at an edge stands for.
            let (old_from, line_from) =
                links.last().map_or((0, line_start), |last| (last.old.end, last.lines.end));
            if old_from < old_start {
                let kind = LinkKind::Elided;
                links.push(Link::new(file, old_from..old_start, line_from..line_start, kind));
            }
            links.extend(piece.iter().cloned());
        }
        if let Some((old_end, line_end)) = links.last().map(|last| (last.old.end, last.lines.end))
            && old_end < old.len()
        {
            let kind = LinkKind::Elided;
            links.push(Link::new(file, old_end..old.len(), line_end..line_end, kind));
        }
        out.list.push(Place { links, is_crowded: false });
    }
    out
}

/// The places of lines without words: equal lines one after the other.
fn bracket_lines(file: &SourceFile<'_>, old: &[&str], full: &[usize]) -> Places {
    let lines = file.nonblank_lines();
    let keys: Vec<u64> = full.iter().map(|&at| line_key(old[at])).collect();
    let starts = (0..(lines.len() + 1).saturating_sub(full.len()))
        .filter(|&n| keys.iter().enumerate().all(|(k, key)| file.keys()[lines[n + k]] == *key));
    let place = |n: usize| {
        let links = full.iter().enumerate().map(|(k, &at)| {
            let line = lines[n + k];
            Link::new(file, at..at + 1, line..line + 1, LinkKind::Line)
        });
        with_blank_lines(file, old, links.collect())
    };
    let mut list: Vec<Place> = starts.take(MAX_PLACE_LINES / 8 + 1).map(place).collect();
    let truncated = list.len() > MAX_PLACE_LINES / 8;
    list.truncate(MAX_PLACE_LINES / 8);
    Places { list, truncated }
}

/// Whether the lines between two pieces stay in the block, the section and the definition that the
/// call shows: an elision never stands for the end of one and the beginning of another.
fn stays_in_block(file: &SourceFile<'_>, old: &[&str], above: &[Link], below: &[Link]) -> bool {
    let (Some(last), Some(first)) = (above.last(), below.first()) else { return false };
    let (from, to) = (last.lines.end, first.lines.start);
    if to < from {
        return false;
    }
    let width = |line: usize| super::indent::columns(indent_of(file.body(line)), 4);
    let (upper, lower) = (width(last.lines.end - 1), width(to));
    // In prose and unknown languages nothing shows where a section ends.
    let knows_blocks = file.language.is_some_and(|language| language.is_code());
    if upper == lower && !knows_blocks {
        return false;
    }
    let shows_deeper = {
        let columns = |at: usize| super::indent::columns(indent_of(old[at]), 4);
        let mark = last.old.end;
        mark < old.len() && columns(mark) > columns(last.old.end - 1)
    };
    (from..to).filter(|&line| !file.is_blank(line)).all(|line| {
        let body = file.body(line).trim();
        let is_opening_brace = body == "{";
        if begins_section(file, line) {
            return false;
        }
        let here = width(line);
        // Inside the block that the line above opens, or that the line below closes.
        let inside = match upper.cmp(&lower) {
            _ if shows_deeper => here > upper,
            std::cmp::Ordering::Less => here > upper,
            // The lines of a block comment are one column deeper than its ends.
            std::cmp::Ordering::Equal => here + 1 >= upper,
            std::cmp::Ordering::Greater => here > lower,
        };
        inside || is_opening_brace
    })
}

/// Whether a line begins a section of a flat file, or a definition at the margin.
fn begins_section(file: &SourceFile<'_>, line: usize) -> bool {
    let body = file.body(line);
    let text = body.trim();
    let at_margin = indent_of(body).is_empty();
    let language = file.language.map_or("", |language| language.name);
    let is_header = text.starts_with('[') && text.ends_with(']') && !text.contains('(');
    match language {
        "ini" | "toml" | "" if is_header => true,
        "markdown" | "text" | "" if text.starts_with("# ") || text.starts_with("## ") => true,
        "markdown" if text.starts_with('#') => true,
        "tex" => {
            ["\\section", "\\chapter", "\\subsection", "\\begin", "\\end", "\\part", "\\paragraph"]
                .iter()
                .any(|head| text.starts_with(head))
        }
        "dockerfile" => text.len() >= 5 && text[..5].eq_ignore_ascii_case("from "),
        "yaml" => text.starts_with("---"),
        "make" => at_margin && text.contains(':') && !text.starts_with('#'),
        "markdown" | "text" => false,
        _ => at_margin && is_definition(text),
    }
}

/// Whether a line begins a definition.
fn is_definition(text: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "def",
        "class",
        "fn",
        "func",
        "function",
        "impl",
        "struct",
        "enum",
        "trait",
        "interface",
        "module",
        "mod",
        "namespace",
        "type",
        "server",
        "msgid",
        "FROM",
        "stage",
    ];
    const MODIFIERS: &[&str] = &[
        "pub",
        "export",
        "default",
        "async",
        "public",
        "private",
        "protected",
        "static",
        "final",
        "abstract",
        "unsafe",
        "const",
        "pub(crate)",
    ];
    let mut rest = text.split_whitespace().skip_while(|word| MODIFIERS.contains(word));
    rest.next().is_some_and(|word| KEYWORDS.contains(&word.trim_end_matches(['(', '{', '*'])))
}
