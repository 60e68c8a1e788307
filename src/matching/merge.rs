//! The three-way merge of lines. Base is `old_str` as read, theirs is `new_str` as
//! read, ours is the file: what the call keeps stays the file's bytes, what it changes
//! is written, and where the file has something that the change would run over without
//! having known it, there is no merge.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::indent::{self, IndentMap};
use super::source::Source;
use super::tokens::{self, QuoteMap};
use super::window::{Piece, Step, Window, split};
use crate::text::Ending;

/// Why a change cannot be carried over to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    /// The file line (0-based) where it shows.
    pub(super) line: usize,
    pub(super) why: &'static str,
}

/// What happens to the lines of `old` and `new`, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// `new` has the line as `old` has it.
    Keep(usize, usize),
    /// A line that was changed into another.
    Change(usize, usize),
    /// A line that is gone.
    Delete(usize),
    /// A line that is new.
    Insert(usize),
}

/// What a call does to its lines.
pub(super) fn events(old: &[&str], new: &[&str]) -> Vec<Event> {
    let key = |lines: &[&str]| lines.iter().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>();
    let ops = capture_diff_slices(Algorithm::Patience, &key(old), &key(new));
    let mut out = Vec::new();
    for op in ops {
        let (o, n) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } => out.extend(o.zip(n).map(|(o, n)| Event::Keep(o, n))),
            DiffOp::Delete { .. } => out.extend(o.map(Event::Delete)),
            DiffOp::Insert { .. } => out.extend(n.map(Event::Insert)),
            DiffOp::Replace { .. } => pair_up(old, new, o, n, &mut out),
        }
    }
    out
}

/// Inside a replaced block: which new line is which old line, changed.
fn pair_up(old: &[&str], new: &[&str], o: Range<usize>, n: Range<usize>, out: &mut Vec<Event>) {
    let (rows, columns) = (o.len(), n.len());
    if rows * columns > 40_000 {
        out.extend(o.map(Event::Delete));
        out.extend(n.map(Event::Insert));
        return;
    }
    let mut likeness = vec![0.0_f64; rows * columns];
    for (r, a) in o.clone().enumerate() {
        for (c, b) in n.clone().enumerate() {
            let (a, b) = (old[a].trim(), new[b].trim());
            likeness[r * columns + c] = match (a.is_empty(), b.is_empty()) {
                (true, true) => 0.5,
                (false, false) if a == b => 2.0,
                (false, false) => tokens::likeness(a, b),
                _ => 0.0,
            };
        }
    }
    // One line for one line is a changed line even if little is left of it.
    let floor = if rows == 1 && columns == 1 { 0.2 } else { 0.5 };
    let value = |r: usize, c: usize| {
        let like = likeness[r * columns + c];
        if like >= floor { like } else { f64::NEG_INFINITY }
    };
    let width = columns + 1;
    let mut best = vec![0.0_f64; (rows + 1) * width];
    for r in (0..rows).rev() {
        for c in (0..columns).rev() {
            let paired = value(r, c) + best[(r + 1) * width + c + 1];
            let skipped = best[(r + 1) * width + c].max(best[r * width + c + 1]);
            best[r * width + c] = paired.max(skipped);
        }
    }
    let (mut r, mut c) = (0, 0);
    while r < rows && c < columns {
        let here = best[r * width + c];
        if value(r, c) + best[(r + 1) * width + c + 1] >= here && value(r, c) > 0.0 {
            out.push(Event::Change(o.start + r, n.start + c));
            r += 1;
            c += 1;
        } else if best[(r + 1) * width + c] >= here {
            out.push(Event::Delete(o.start + r));
            r += 1;
        } else {
            out.push(Event::Insert(n.start + c));
            c += 1;
        }
    }
    out.extend((o.start + r..o.end).map(Event::Delete));
    out.extend((n.start + c..n.end).map(Event::Insert));
}

/// A line of the result.
struct Line {
    text: String,
    /// `None` takes the ending of its neighbours.
    ending: Option<Ending>,
}

/// Everything one merge looks at.
pub(super) struct Merge<'a, 't> {
    pub(super) source: &'a Source<'t>,
    pub(super) window: &'a Window,
    pub(super) old: &'a [&'a str],
    pub(super) new: &'a [&'a str],
    pub(super) map: &'a IndentMap,
    pub(super) quotes: &'a QuoteMap,
}

/// The text that replaces the window's range, and that range.
pub(super) struct Merged {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// The lines of a new text that replaces `old`. A closing line break that only
/// `new` has is a blank line more, as it would be in a plain replacement.
pub(super) fn new_lines<'a>(old: &str, new: &'a str) -> Vec<&'a str> {
    if new.is_empty() && old.ends_with('\n') {
        return Vec::new();
    }
    let mut lines = split(new);
    if new.ends_with('\n') && !old.ends_with('\n') {
        lines.push("");
    }
    lines
}

impl Merge<'_, '_> {
    pub(super) fn run(&self) -> Result<Merged, Conflict> {
        let (Some(first), Some(last)) = (self.window.first(), self.window.last()) else {
            return Err(Conflict { line: 0, why: "the match is empty" });
        };
        let events = events(self.old, self.new);
        let own_depth = self.new_lines_have_own_depth(&events);
        let mut out: Vec<Line> = Vec::new();
        let mut steps = self.window.steps.iter().copied().peekable();
        let mut inserts: Vec<usize> = Vec::new();
        let mut above = Side::Kept;
        for event in &events {
            let (o, below) = match *event {
                Event::Insert(n) => {
                    inserts.push(n);
                    continue;
                }
                Event::Keep(o, _) => (o, Side::Kept),
                Event::Change(o, _) => (o, Side::Changed),
                Event::Delete(o) => (o, Side::Gone),
            };
            let mut gap: Vec<Piece> = Vec::new();
            while let Some(Step::FileOnly(piece)) = steps.peek() {
                gap.push(*piece);
                steps.next();
            }
            let ours = match steps.next() {
                Some(Step::Pair(at, piece)) if at == o => Some(piece),
                _ => None,
            };
            self.boundary(&mut out, &gap, &mut inserts, above, below, o, own_depth)?;
            match (*event, ours) {
                (Event::Keep(_, n), Some(piece)) => {
                    let ending = piece.to_end.then(|| self.source.lines[piece.line].ending);
                    let _ = n;
                    out.push(Line { text: self.file(piece).to_owned(), ending });
                }
                (Event::Change(_, n), Some(piece)) => {
                    let ending = piece.to_end.then(|| self.source.lines[piece.line].ending);
                    out.push(Line { text: self.changed(o, piece, n)?, ending });
                }
                // The file has no such line: a change of it is a new line.
                (Event::Change(_, n), None) => out.push(self.inserted(n, o, &out, own_depth)?),
                (Event::Keep(..) | Event::Delete(_), _) | (Event::Insert(_), _) => {}
            }
            above = if ours.is_some() { below } else { above };
        }
        let mut gap: Vec<Piece> = Vec::new();
        for step in steps {
            if let Step::FileOnly(piece) = step {
                gap.push(piece);
            }
        }
        let end = self.old.len();
        self.boundary(&mut out, &gap, &mut inserts, above, Side::Kept, end, own_depth)?;
        self.closing_mark(&mut out, last);
        Ok(self.compose(out, first, last))
    }

    fn file(&self, piece: Piece) -> &str {
        &self.source.text[piece.start..piece.end]
    }

    /// Between two lines of `old`: the file's own lines there, and new ones.
    #[expect(clippy::too_many_arguments, reason = "one place, all of it local state of the walk")]
    fn boundary(
        &self,
        out: &mut Vec<Line>,
        gap: &[Piece],
        inserts: &mut Vec<usize>,
        above: Side,
        below: Side,
        old: usize,
        own_depth: bool,
    ) -> Result<(), Conflict> {
        let solid = gap.iter().find(|piece| !self.file(**piece).trim().is_empty());
        if let Some(piece) = solid
            && (!inserts.is_empty() || above != Side::Kept || below != Side::Kept)
        {
            let why = "the file has a line there that the call does not know";
            return Err(Conflict { line: piece.line, why });
        }
        let stays = above != Side::Gone || below != Side::Gone;
        let gap = gap.iter().filter(|_| stays).map(|piece| Line {
            text: self.file(*piece).to_owned(),
            ending: Some(self.source.lines[piece.line].ending),
        });
        let gap: Vec<Line> = gap.collect();
        if inserts.is_empty() {
            out.extend(gap);
            return Ok(());
        }
        let mut lines: Vec<Line> = Vec::new();
        for n in inserts.drain(..) {
            let before = if lines.is_empty() { &*out } else { &lines };
            let line = self.inserted(n, old, before, own_depth)?;
            lines.push(line);
        }
        let belongs_above = !gap.is_empty() && self.belongs_above(&lines, out, old);
        if belongs_above {
            out.extend(lines);
            out.extend(gap);
        } else {
            out.extend(gap);
            out.extend(lines);
        }
        Ok(())
    }

    /// Whether new lines continue the block above rather than start the one below.
    fn belongs_above(&self, lines: &[Line], out: &[Line], old: usize) -> bool {
        let depth = |text: &str| indent::columns(indent::of(text), 4);
        let Some(first) = lines.iter().find(|l| !l.text.trim().is_empty()) else { return false };
        let above = out.iter().rev().find(|l| !l.text.trim().is_empty()).map(|l| depth(&l.text));
        let below = self.window.steps.iter().find_map(|step| match step {
            Step::Pair(at, piece) if *at >= old => Some(depth(self.file(*piece))),
            _ => None,
        });
        above != below && above == Some(depth(&first.text))
    }

    /// A line that the call changes.
    fn changed(&self, o: usize, piece: Piece, n: usize) -> Result<String, Conflict> {
        let (old, file, new) = (self.old[o], self.file(piece), self.new[n]);
        if new.trim().is_empty() {
            return Ok(new.to_owned());
        }
        let (old_indent, new_indent) = (indent::of(old), indent::of(new));
        let head = if !piece.from_start {
            new_indent.strip_prefix(old_indent).unwrap_or_default().to_owned()
        } else if new_indent == old_indent {
            indent::of(file).to_owned()
        } else {
            self.depth(new_indent, o, piece.line)?
        };
        let skip = |line: &str| line.len() - line.trim_start().len();
        let (old, file, new) = (&old[skip(old)..], &file[skip(file)..], &new[skip(new)..]);
        let body = tokens::merge(old, file, new, self.quotes).or_else(|| {
            // The same code with another comment behind it: the file's comment stays.
            let (o, f, n) = (
                tokens::without_comment(old),
                tokens::without_comment(file),
                tokens::without_comment(new),
            );
            (old[o.len()..] == new[n.len()..])
                .then(|| tokens::merge(o, f, n, self.quotes))
                .flatten()
                .map(|code| code.trim_end().to_owned() + &file[f.len()..])
        });
        let why = "the file's line is not the one that the call changes";
        body.map(|body| head + &body).ok_or(Conflict { line: piece.line, why })
    }

    fn depth(&self, indent: &str, near: usize, line: usize) -> Result<String, Conflict> {
        let why = "nothing tells how deep the new line is to be indented";
        self.map.apply(indent, near).ok_or(Conflict { line, why })
    }

    /// A line that is new.
    fn inserted(
        &self,
        n: usize,
        old: usize,
        before: &[Line],
        own_depth: bool,
    ) -> Result<Line, Conflict> {
        let new = self.new[n];
        let body = self.quotes.apply(&new[indent::of(new).len()..]);
        if body.trim().is_empty() {
            return Ok(Line { text: new.to_owned(), ending: None });
        }
        let first = before.is_empty() && self.window.first().is_some_and(|piece| !piece.from_start);
        let head = if own_depth || first || self.map.is_same() {
            indent::of(new).to_owned()
        } else {
            let line = self.window.first().map_or(0, |piece| piece.line);
            self.depth(indent::of(new), old, line)?
        };
        Ok(Line { text: head + &body, ending: None })
    }

    /// A model that quotes the context too shallow may still indent its new lines as
    /// the file has it. The new lines say which: they stand right beside a changed
    /// line, or below a line that opens a block or does not.
    fn new_lines_have_own_depth(&self, events: &[Event]) -> bool {
        if !self.map.is_shift() {
            return false;
        }
        let piece_of = |o: usize| {
            self.window.steps.iter().find_map(|step| match step {
                Step::Pair(at, piece) if *at == o && piece.from_start => Some(*piece),
                _ => None,
            })
        };
        for event in events {
            if let Event::Change(o, n) = *event
                && let Some(piece) = piece_of(o)
                && !self.new[n].trim().is_empty()
            {
                let (old, new) = (indent::of(self.old[o]), indent::of(self.new[n]));
                let file = indent::of(self.file(piece));
                if new == old {
                    return false;
                }
                if new == file && tokens::likeness(self.old[o].trim(), self.new[n].trim()) < 1.0 {
                    return true;
                }
            }
        }
        let mut above: Option<usize> = None;
        let mut votes = 0_i32;
        let mut fresh = true;
        for event in events {
            match *event {
                Event::Keep(o, _) | Event::Change(o, _) => {
                    if !self.old[o].trim().is_empty() {
                        above = Some(o);
                        fresh = true;
                    }
                }
                Event::Insert(n) if fresh && !self.new[n].trim().is_empty() => {
                    fresh = false;
                    let Some((o, piece)) = above.and_then(|o| Some((o, piece_of(o)?))) else {
                        continue;
                    };
                    votes += self.vote(self.old[o], self.file(piece), self.new[n]);
                }
                Event::Insert(_) | Event::Delete(_) => {}
            }
        }
        votes > 0
    }

    /// +1 when a new line fits below the file's line but not below the call's.
    fn vote(&self, old: &str, file: &str, new: &str) -> i32 {
        let unit = self.unit();
        let depth = |line: &str| indent::columns(indent::of(line), unit).cast_signed();
        let line = tokens::without_comment(old).trim_end();
        let opens = line.ends_with(['{', '(', '[', ':'])
            || line.ends_with("=>")
            || line.ends_with("then")
            || line.ends_with("do");
        let continues = line.ends_with([',', '=', '+', '|', '&', '?', '\\'])
            || new.trim_start().starts_with(['.', '?', '&', '|', '+', ':']);
        let unit = unit.cast_signed();
        let expected = if opens { unit } else { 0 };
        let cost = |above: &str| {
            let off = depth(new) - depth(above) - expected;
            if continues && (0..=2 * unit).contains(&off) { 0 } else { off.abs() }
        };
        match (cost(old), cost(file)) {
            (0, _) => -1,
            (as_call, as_file) if as_file < as_call => 1,
            _ => -1,
        }
    }

    fn unit(&self) -> usize {
        let widths =
            self.window.indents(self.old, self.source).into_iter().flat_map(|(a, b)| [a, b]);
        let spaces = widths.filter(|i| !i.contains('\t')).map(|i| i.len()).filter(|&w| w > 1).min();
        spaces.map_or(4, |width| if width % 4 == 0 { 4 } else { 2 })
    }

    /// The closing `,` or `;` that the file has behind the last line and neither
    /// string has stays behind the new text.
    fn closing_mark(&self, out: &mut [Line], last: Piece) {
        let Some(line) = out.last_mut() else { return };
        let rest = &self.source.text[last.end..self.source.lines[last.line].end];
        let (Some(old), Some(new)) = (self.old.last(), self.new.last()) else { return };
        for mark in [',', ';'] {
            if rest.starts_with(mark) && !old.ends_with(mark) && line.text.ends_with(mark) {
                line.text.pop();
                return;
            }
            let file = self.file(last).trim_end();
            if last.to_end
                && file.ends_with(mark)
                && !old.trim_end().ends_with([',', ';'])
                && !new.trim_end().ends_with([',', ';', '{', '(', '['])
                && !line.text.trim_end().ends_with(mark)
                && !line.text.trim().is_empty()
            {
                line.text.push(mark);
                return;
            }
        }
    }

    /// Puts endings on the lines and the whole in its place.
    fn compose(&self, lines: Vec<Line>, first: Piece, last: Piece) -> Merged {
        let file = &self.source.lines;
        let (end, closing) = if last.to_end {
            (file[last.line].full_end(), Some(file[last.line].ending))
        } else {
            (last.end, None)
        };
        let local = self.source.snapshot.ending_near(first.start);
        let mut text = String::new();
        let count = lines.len();
        let mut previous = local;
        for (at, line) in lines.into_iter().enumerate() {
            text.push_str(&line.text);
            let ending = if at + 1 == count {
                closing.unwrap_or(Ending::None)
            } else {
                match line.ending {
                    Some(Ending::None) | None => previous,
                    Some(ending) => ending,
                }
            };
            text.push_str(ending.as_str());
            if ending != Ending::None {
                previous = ending;
            }
        }
        Merged { range: first.start..end, text }
    }
}

/// What happens to the line above or below a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Kept,
    Changed,
    Gone,
}
