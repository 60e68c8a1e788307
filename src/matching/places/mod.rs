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

    /// Where the call has more blank lines than the file, those of the file are the ones that it keeps.
    pub(super) fn prefer_kept_blank_lines(
        &mut self,
        old: &[&str],
        is_kept: &dyn Fn(usize) -> bool,
    ) {
        let is_blank = |link: &Link| {
            link.kind == LinkKind::Line
                && link.old.len() == 1
                && old[link.old.start].trim().is_empty()
        };
        for at in 1..self.links.len() {
            let lacks_line = |link: &Link| is_blank(link) && link.lines.is_empty();
            if !(lacks_line(&self.links[at]) && is_kept(self.links[at].old.start)) {
                continue;
            }
            let above = self.links[..at].iter().rev().take(MAX_BLANK_LINES);
            let mut blank = above.take_while(|link| is_blank(link));
            let unkept = |link: &Link| link.lines.len() == 1 && !is_kept(link.old.start);
            let Some(back) = blank.position(unkept) else { continue };
            let from = at - 1 - back;
            // Each line of the file goes to the next blank line of the call that takes one.
            let mut to = at;
            for above in (from..at).rev() {
                if self.links[above].lines.is_empty() {
                    continue;
                }
                let (lines, bytes) =
                    (self.links[above].lines.clone(), self.links[above].bytes.clone());
                for link in &mut self.links[above..to] {
                    link.lines = lines.start..lines.start;
                    link.bytes = bytes.start..bytes.start;
                }
                (self.links[to].lines, self.links[to].bytes) = (lines, bytes);
                to = above;
            }
        }
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

/// The most blank lines above one that are looked at for a line of the file.
const MAX_BLANK_LINES: usize = 64;

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
const MAX_PLACE_LINES: usize = 100_000;

/// All places for the lines of `old_str`.
pub(super) fn places(file: &SourceFile<'_>, call: &Call<'_>, edges: Edges) -> Places {
    let old = &call.old;
    let full: Vec<usize> = (0..old.len()).filter(|&at| !old[at].trim().is_empty()).collect();
    if full.is_empty() || file.nonblank_lines().is_empty() {
        return Places::default();
    }
    if budget::spend(file.text.len() / 8 + old.len()).is_err() {
        return Places::default();
    }
    if let Some(pieces) = elided::split_at_placeholders(file, old, &full) {
        return elided::elided(file, old, &pieces);
    }
    let mut found = joined::joined(file, old, &full, edges);
    let seen: Vec<Range<usize>> = found.list.iter().map(Place::lines).collect();
    let is_new = |place: &Place| {
        let lines = place.lines();
        !seen.iter().any(|seen| seen.start == lines.start || seen.end == lines.end)
    };
    found.list.extend(aligned::aligned(file, call, &full, edges).into_iter().filter(is_new));
    found
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
    Place { links: out }
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
