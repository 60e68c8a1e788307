//! Finds the places at which a text may stand, once, with everything that may differ: one search for
//! the joined lax keys of its lines, an alignment around the rare lines of the text, and the pieces
//! between placeholders.
//!
//! The work grows with file and text, not with their product.

mod aligned;
mod elided;
pub(super) use elided::begins_section;
mod joined;

use std::ops::Range;

use super::budget;
use super::call::Call;
use super::source_file::SourceFile;
pub(super) use aligned::Words;

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
    /// A link of whole lines, which break in the same way.
    fn new(file: &SourceFile<'_>, old: Range<usize>, lines: Range<usize>) -> Self {
        let bytes = file.byte_range(&lines);
        Self { old, lines, bytes, kind: LinkKind::Line }
    }

    /// The text that it matches in the file.
    pub(super) fn text<'t>(&self, file: &SourceFile<'t>) -> &'t str {
        &file.text[self.bytes.clone()]
    }

    /// Whether both sides have lines.
    pub(super) fn is_paired(&self) -> bool {
        !self.lines.is_empty() && !self.old.is_empty()
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

/// A place that the call may mean: links for all its lines and those of the file between, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) links: Vec<Link>,
}

impl Place {
    /// The lines of the file, from 0.
    pub(super) fn lines(&self) -> Range<usize> {
        self.span(|link| &link.lines)
    }

    /// The bytes from the first line to the last, without the ending of the last.
    pub(super) fn bytes(&self) -> Range<usize> {
        self.span(|link| &link.bytes)
    }

    /// From the first link with lines of the file to the last.
    fn span(&self, range_of: fn(&Link) -> &Range<usize>) -> Range<usize> {
        let mut ranges = self.links.iter().filter(|link| !link.lines.is_empty()).map(range_of);
        let first = ranges.next().cloned().unwrap_or_default();
        first.start..ranges.next_back().map_or(first.end, |last| last.end)
    }

    /// The index of the link with line `old` of the call (from 0).
    pub(super) fn link_index(&self, old: usize) -> usize {
        self.links.partition_point(|link| link.old.end <= old)
    }

    /// That link.
    pub(super) fn link_at(&self, old: usize) -> Option<&Link> {
        self.links.get(self.link_index(old))
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

/// The most lines of places of one text; further places only count as more.
const MAX_PLACE_LINES: usize = 100_000;

/// All places for the lines of `old_str`.
pub(super) fn places(file: &SourceFile<'_>, call: &Call<'_>, edges: Edges) -> Places {
    let old = &call.old;
    let full: Vec<usize> = (0..old.len()).filter(|&at| !old[at].trim().is_empty()).collect();
    if full.is_empty()
        || file.nonblank_lines().is_empty()
        || budget::spend(file.text.len() / 8 + old.len()).is_err()
    {
        return Places::default();
    }
    if let Some(found) = elided::elided(file, call) {
        return found;
    }
    let mut found = joined::joined(file, call, &full, edges);
    let seen: Vec<Range<usize>> = found.list.iter().map(Place::lines).collect();
    let is_new = |place: &Place| {
        let lines = place.lines();
        !seen.iter().any(|seen| seen.start == lines.start || seen.end == lines.end)
    };
    found.list.extend(aligned::aligned(file, call, &full, edges).into_iter().filter(is_new));
    found
}

/// The place with links for blank lines and for lines that only one side has, around these links.
fn with_blank_lines(file: &SourceFile<'_>, call: &Call<'_>, links: Vec<Link>) -> Place {
    let (Some(first), Some(last)) = (links.first(), links.last()) else { return Place { links } };
    let old = &call.old;
    // Of the blank lines around the links, as many as the call has there.
    let is_blank = |line: &&&str| line.trim().is_empty();
    let above = old[..first.old.start].iter().rev().take_while(is_blank).count();
    let above = (0..first.lines.start).rev().take(if first.starts_line(file) { above } else { 0 });
    let above = above.take_while(|&at| file.is_blank(at)).count();
    let below = old[last.old.end..].iter().take_while(is_blank).count();
    let below =
        (last.lines.end..file.lines().len()).take(if last.ends_line(file) { below } else { 0 });
    let end = last.lines.end + below.take_while(|&at| file.is_blank(at)).count();
    let (mut old_from, mut line_from) = (0, first.lines.start - above);
    let mut out: Vec<Link> = Vec::with_capacity(links.len() + 4);
    for link in links {
        push_between(file, call, old_from..link.old.start, line_from..link.lines.start, &mut out);
        (old_from, line_from) = (link.old.end, link.lines.end);
        out.push(link);
    }
    push_between(file, call, old_from..old.len(), line_from..end, &mut out);
    Place { links: out }
}

/// The most blank lines of the call that are looked at for those that it keeps.
const MAX_BLANK_LINES: usize = 64;

/// Adds links for lines between two links: blank lines in pairs, the others alone. Where the call has more
/// blank lines than the file, those of the file are the ones that it keeps.
fn push_between(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    mut old_lines: Range<usize>,
    mut lines: Range<usize>,
    out: &mut Vec<Link>,
) {
    while !old_lines.is_empty() || !lines.is_empty() {
        let (at, line) = (old_lines.start, lines.start);
        let nearest = old_lines.clone().take(MAX_BLANK_LINES);
        let mut blank = nearest.take_while(|&at| call.old[at].trim().is_empty());
        let is_blank = blank.next().is_some();
        let is_for_others = is_blank
            && !call.keeps(at)
            && lines.len() < MAX_BLANK_LINES
            && lines.clone().all(|line| file.is_blank(line))
            && blank.filter(|&below| call.keeps(below)).count() >= lines.len();
        let is_alone = !is_blank || lines.is_empty() || is_for_others;
        let takes_old = !old_lines.is_empty() && (is_alone || file.is_blank(line));
        old_lines.start += usize::from(takes_old);
        lines.start += usize::from(!(takes_old && is_alone));
        out.push(Link::new(file, at..old_lines.start, line..lines.start));
    }
}
