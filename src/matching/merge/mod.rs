//! The three-way merge of lines. Base is `old_str` as read, theirs is `new_str` as
//! read, ours is the file: what the call keeps stays the file's bytes, what it changes
//! is written, and where the file has something that the change would run over without
//! having known it, there is no merge.

mod assign;
mod beside;
mod commas;
mod depths;
mod doubts;
mod levels;
mod lines;
mod marks;
mod shape;

use std::collections::VecDeque;
use std::ops::Range;

use super::canon::is_word;
use super::code::{Slashes, ends_statement, without_comment};
use super::events::{Event, events, keep_the_last, stay_first};
use super::exact::repeated_end;
use super::indent::{self, IndentMap};
use super::source::{Source, skeleton};
use super::style::EditMap;
use super::window::{Piece, Step, Window, split};
use crate::text::Ending;
use assign::Assignments;
pub(super) use doubts::FOREIGN;
use marks::Marks;
pub(super) use shape::Shape;

/// Why a change cannot be carried over to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    /// The file line (0-based) where it shows.
    pub(super) line: usize,
    pub(super) why: &'static str,
}

/// A line of the result.
pub(super) struct Line {
    pub(super) text: String,
    /// `None` takes the ending of its neighbours.
    ending: Option<Ending>,
    /// The line of `new` that it is.
    new: Option<usize>,
}

impl Line {
    /// One more line of the file like this.
    fn again(&self) -> Self {
        Self { text: self.text.clone(), ending: self.ending, new: None }
    }
}

/// Everything one merge looks at.
pub(super) struct Merge<'a, 't> {
    pub(super) source: &'a Source<'t>,
    pub(super) window: &'a Window,
    pub(super) old: &'a [&'a str],
    pub(super) new: &'a [&'a str],
    pub(super) map: &'a IndentMap,
    style: &'a EditMap,
    slashes: Slashes,
    assignments: Assignments<'a>,
    /// The call ends lines in `;` that the file does not, nor any other line of its.
    has_no_semicolons: bool,
    shape: Shape,
    /// The text of literals over several lines stands elsewhere in the file than in the call, as
    /// the code around it does.
    text_moves: bool,
    /// All lines of the call are the file's, character for character.
    is_literal: bool,
    /// Whether `new` has lines of `old` without the blanks that it has at their ends and the file
    /// has not: the slip is that of `old` alone.
    is_clean: bool,
    /// The blanks that the call has at the ends of lines, if it has some at every line, and
    /// the file at none of them.
    added_blanks: Vec<&'a str>,
}

/// The text that replaces the window's range, and that range.
pub(super) struct Merged {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// The lines of a new text that replaces `old`. A closing line break that only `new` has is a
/// slip as the others of the call, unless it is all that is new.
pub(super) fn new_lines<'a>(old: &str, new: &'a str) -> Vec<&'a str> {
    if new.is_empty() && old.ends_with('\n') {
        return Vec::new();
    }
    let mut lines = split(new);
    let closes = || {
        // Or the blank line that `old` has behind the same line stays.
        let old = split(old);
        let last = lines.last().map(|line| line.trim_end());
        let same = |pair: &[&str]| Some(pair[0].trim_end()) == last && pair[1].trim().is_empty();
        old.windows(2).any(same)
    };
    if new.ends_with('\n') && !old.ends_with('\n') && (new.trim_end() == old.trim_end() || closes())
    {
        lines.push("");
    }
    lines
}

impl<'a, 't> Merge<'a, 't> {
    pub(super) fn new(
        source: &'a Source<'t>,
        window: &'a Window,
        (old, new): (&'a [&'a str], &'a [&'a str]),
        map: &'a IndentMap,
        style: &'a EditMap,
        slashes: Slashes,
    ) -> Self {
        let ends = |line: &str| line.ends_with([' ', '\t']);
        let pairs = window.steps.iter().filter_map(|step| match step {
            Step::Pair(at, piece) if piece.to_end => {
                Some((old[*at], &source.text[piece.start..piece.end]))
            }
            _ => None,
        });
        let pairs: Vec<_> = pairs.filter(|(old, _)| !old.trim().is_empty()).collect();
        let all = source.lines.iter().map(|line| &source.text[line.body()]);
        let assignments = Assignments::learn(&pairs, all);
        let added: Option<Vec<&str>> = pairs
            .iter()
            .map(|(old, file)| (ends(old) && !ends(file)).then(|| &old[old.trim_end().len()..]))
            .collect();
        // If `new` shows the slip as well.
        let clean = |(old, _): &(&str, &str)| new.contains(&old.trim_end());
        let mut slipped = pairs.iter().filter(|(old, file)| ends(old) && !ends(file));
        let says = |pair: &&(&str, &str)| pair.0.contains(is_word);
        let is_clean =
            slipped.clone().filter(says).any(clean) && !slipped.any(|(old, _)| new.contains(old));
        // Nor if a line of `new` has none: the others are meant.
        let bare = |line: &&str| !line.trim().is_empty() && !ends(line);
        let inner = &new[..new.len().saturating_sub(1)];
        let added_blanks = added
            .filter(|_| !pairs.iter().any(clean) && !inner.iter().any(bare))
            .unwrap_or_default();
        let ends = |line: &str| line.trim_end().ends_with(';');
        // Unless the call leaves it out as the file does: then new ones are meant.
        let bare = |(at, (old, _)): (usize, &(&str, &str))| {
            let next = pairs.get(at + 1).map(|(next, _)| *next);
            !ends(old) && ends_statement(without_comment(old), next)
        };
        let added = |(at, (old, file)): (usize, &(&str, &str))| {
            let next = pairs.get(at + 1).map(|(_, next)| *next);
            ends(old) && !ends(file) && ends_statement(without_comment(file), next)
        };
        let has_no_semicolons = pairs.iter().enumerate().any(added)
            && !source.has_semicolons()
            && !pairs.iter().enumerate().any(bare);
        let is_literal = window.steps.iter().all(|step| {
            matches!(step, Step::Pair(at, piece) if old[*at] == &source.text[piece.start..piece.end])
        });
        let shape = Shape::of(new);
        let text_moves = shape.has_literals() && {
            let old_shape = Shape::of(old);
            window.steps.iter().any(|step| match *step {
                Step::Pair(at, piece) if piece.from_start && !old[at].trim().is_empty() => {
                    let file = &source.text[piece.start..piece.end];
                    old_shape.in_literal(at) && indent::of(old[at]) != indent::of(file)
                }
                _ => false,
            })
        };
        Self {
            source,
            window,
            old,
            new,
            map,
            style,
            slashes,
            assignments,
            has_no_semicolons,
            shape,
            text_moves,
            is_literal,
            is_clean,
            added_blanks,
        }
    }

    pub(super) fn run(&self) -> Result<Merged, Conflict> {
        let (Some(first), Some(last)) = (self.window.first(), self.window.last()) else {
            return Err(Conflict { line: 0, why: "the match is empty" });
        };
        let mut events = events(self.old, self.new);
        keep_the_last(self.old, self.new, &mut events, |o| {
            let file = self.piece_of(o).map(|piece| self.file(piece).trim_end());
            let mark = |line: &str| line.ends_with([',', ';', '，', '；']);
            file.is_some_and(|file| mark(file) != mark(self.old[o].trim_end()))
        });
        stay_first(self.old, self.new, &mut events);
        // Of blank lines in a row, those stay that the file has.
        for at in 1..events.len() {
            if let (Event::Delete(gone), Event::Keep(o, n)) = (events[at - 1], events[at])
                && self.old[gone].trim().is_empty()
                && self.old[o].trim().is_empty()
                && self.piece_of(o).is_none()
                && self.piece_of(gone).is_some()
            {
                events[at - 1] = Event::Keep(gone, n);
                events[at] = Event::Delete(o);
            }
        }
        self.quotes_are_known(&events)?;
        let own = self.own_depths(&events)?;
        let mut walk = Walk {
            out: Vec::new(),
            inserts: Vec::new(),
            freed: VecDeque::new(),
            above: Side::Kept,
        };
        let mut steps = self.window.steps.iter().copied().peekable();
        for (at, event) in events.iter().enumerate() {
            let (o, below) = match *event {
                Event::Insert(n) => {
                    walk.inserts.push((n, own[at]));
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
                Some(Step::Pair(step, piece)) if step == o => Some(piece),
                Some(Step::OldOnly(step)) if step == o => None,
                // Every line of `old` has its step; anything else would drop text.
                _ => return Err(Conflict { line: first.line, why: "the lines do not line up" }),
            };
            self.boundary(&mut walk, &gap, below, o)?;
            let ending = |piece: Piece| piece.to_end.then(|| self.source.lines[piece.line].ending);
            match (*event, ours) {
                (Event::Keep(_, n), Some(piece)) => {
                    walk.freed.clear();
                    self.stays_in_its_block(o, n, piece)?;
                    let text = self.kept(o, n, piece)?;
                    walk.out.push(Line { text, ending: ending(piece), new: Some(n) });
                }
                (Event::Change(_, n), Some(piece)) => {
                    let text = self.changed(o, piece, n, own[at])?;
                    walk.out.push(Line { text, ending: ending(piece), new: Some(n) });
                }
                // The file has no such line: a change of it is a new line.
                (Event::Change(_, n), None) => {
                    let line = self.inserted(n, &walk.out, own[at])?;
                    walk.out.push(line);
                }
                // A blank line that only `old` has there, and new lines around it.
                (Event::Keep(o, n), None) if self.is_of_new(&events, at, (o, n)) => {
                    let line = self.inserted(n, &walk.out, own[at])?;
                    walk.out.push(line);
                }
                (Event::Delete(_), Some(piece)) => walk.freed.extend(ending(piece)),
                _ => {}
            }
            walk.above = if ours.is_some() { below } else { walk.above };
        }
        let gap: Vec<Piece> = steps
            .filter_map(|step| match step {
                Step::FileOnly(piece) => Some(piece),
                _ => None,
            })
            .collect();
        self.boundary(&mut walk, &gap, Side::Kept, self.old.len())?;
        // What parted the lines that are gone from those above them parts nothing at the end.
        if walk.above == Side::Gone && self.beyond(last, false).is_none() {
            let parts = |line: &Line| line.new.is_none() && line.text.trim().is_empty();
            while walk.out.len() > 1 && walk.out.last().is_some_and(parts) {
                walk.out.pop();
            }
        }
        self.closing_mark(&mut walk.out, last, &events);
        let Self { source, window, old, new, slashes, .. } = *self;
        let marks = Marks { source, window, old, new, slashes };
        let wanted = marks.wanted(&events);
        if let Some(line) = marks.comes_again(&events, &wanted) {
            let why = "a line of old_str comes again in new_str, with a mark at its end that the file has not";
            return Err(Conflict { line, why });
        }
        for line in &mut walk.out {
            if let Some(mark) = line.new.and_then(|n| wanted.get(&n)) {
                marks::set(&mut line.text, mark, slashes);
            }
        }
        self.ends_as_before(&walk.out, &events, &wanted)?;
        marks.part_items(&mut walk.out, &events, &self.shape)?;
        marks.end_lists(&mut walk.out, &events, &self.shape);
        self.has_no_foreign_signs(&walk.out)?;
        self.keys_stand_in_their_items(&walk.out)?;
        self.stand_as_meant(&walk.out, (first, last), events.iter().copied().zip(own))?;
        Ok(self.compose(walk.out, first, last))
    }

    /// Whether a blank line that both strings have and the file has not parts new lines from
    /// each other, or from the end of the old text.
    fn is_of_new(&self, events: &[Event], at: usize, (o, n): (usize, usize)) -> bool {
        let blank = |line: &&str| line.trim().is_empty();
        let is_new = |event: &Event| matches!(event, Event::Insert(n) if !blank(&self.new[*n]));
        let solid = |event: &&Event| match **event {
            Event::Keep(o, _) | Event::Change(o, _) | Event::Delete(o) => !blank(&self.old[o]),
            Event::Insert(n) => !blank(&self.new[n]),
        };
        let above = events[..at].iter().rev().find(solid);
        let below = events[at + 1..].iter().find(solid);
        let (starts, ends) = (self.old[..o].iter().all(&blank), self.old[o..].iter().all(&blank));
        // Where both have as many in a row, one of them is the mistake.
        let row = |lines: &[&str], at: usize| {
            lines[..at].iter().rev().take_while(|line| blank(line)).count()
                + lines[at..].iter().take_while(|line| blank(line)).count()
        };
        let others = !starts && !ends && row(self.old, o) != row(self.new, n);
        blank(&self.old[o])
            && (others
                || (ends || above.is_some_and(is_new)) && (starts || below.is_some_and(is_new)))
    }

    /// How many blank lines the file has right above the place.
    fn blanks_above(&self) -> usize {
        let first = self.window.first().map_or(0, |piece| piece.line);
        let above = (0..first).rev().map(|at| self.source.body(at));
        above.take_while(|line| line.trim().is_empty()).count()
    }

    pub(super) fn file(&self, piece: Piece) -> &str {
        &self.source.text[piece.start..piece.end]
    }

    /// Between two lines of `old`: the file's own lines there, and new ones.
    fn boundary(
        &self,
        walk: &mut Walk,
        gap: &[Piece],
        next: Side,
        old: usize,
    ) -> Result<(), Conflict> {
        if let Some(known) = self.in_gap(gap, &walk.inserts) {
            // Blank lines stand there already, above the lines that are gone.
            let blank = |text: &str| text.trim().is_empty();
            if walk.above == Side::Gone && walk.inserts.iter().all(|(n, _)| blank(self.new[*n])) {
                let there = walk.out.iter().rev().take_while(|line| blank(&line.text)).count();
                walk.inserts.drain(..there.min(walk.inserts.len()));
            }
            let mut lines: Vec<Line> = Vec::new();
            for ((n, own), piece) in walk.inserts.drain(..).zip(known) {
                let before = if lines.is_empty() { &walk.out } else { &lines };
                // One that the file has stands as deep as the call has it: its block may move.
                let mut line = self.inserted(n, before, own)?;
                if let Some(piece) = piece {
                    line.ending = Some(self.source.lines[piece.line].ending);
                    if line.text.trim_end() == self.file(piece).trim_end() {
                        self.file(piece).clone_into(&mut line.text);
                    }
                }
                lines.push(line);
            }
            walk.out.extend(lines);
            return Ok(());
        }
        let above = walk.above;
        let solid = gap.iter().find(|piece| !self.file(**piece).trim().is_empty());
        if let Some(piece) = solid
            && (!walk.inserts.is_empty() || above != Side::Kept || next != Side::Kept)
        {
            let why = "the file has a line there that the call does not know";
            return Err(Conflict { line: piece.line, why });
        }
        let stays = above != Side::Gone || next != Side::Gone;
        let gap = gap.iter().filter(|_| stays).map(|piece| Line {
            text: self.file(*piece).to_owned(),
            ending: Some(self.source.lines[piece.line].ending),
            new: None,
        });
        let gap: Vec<Line> = gap.collect();
        // New lines wait until the lines they replace are gone.
        if walk.inserts.is_empty() || next == Side::Gone && gap.is_empty() {
            // Of the blank lines around what is gone, one side stays.
            let blank = |line: &&Line| line.text.trim().is_empty();
            let known = match above {
                Side::Gone if walk.out.iter().all(|line| blank(&line)) => {
                    walk.out.len() + self.blanks_above()
                }
                Side::Gone => walk.out.iter().rev().take_while(blank).count(),
                _ => 0,
            };
            walk.out.extend(gap.into_iter().skip(known));
            return Ok(());
        }
        let mut lines: Vec<Line> = Vec::new();
        for (n, own) in walk.inserts.drain(..) {
            let before = if lines.is_empty() { &walk.out } else { &lines };
            let mut line = self.inserted(n, before, own)?;
            line.ending = walk.freed.pop_front();
            lines.push(line);
        }
        let below = self.window.steps.iter().find_map(|step| match step {
            Step::Pair(at, piece) if *at >= old => Some(self.file(*piece)),
            _ => None,
        });
        let side = match gap.is_empty() {
            true => beside::Place::Below,
            false => beside::side(&mut lines, &walk.out, below, (above, next)),
        };
        match side {
            beside::Place::Above => {
                walk.out.extend(lines);
                walk.out.extend(gap);
            }
            beside::Place::Below => {
                walk.out.extend(gap);
                walk.out.extend(lines);
            }
            beside::Place::Between => {
                walk.out.extend(gap.iter().map(Line::again));
                walk.out.extend(lines);
                walk.out.extend(gap);
            }
        }
        Ok(())
    }

    /// Which of the new lines are the file's lines in the gap, that only `old` left out:
    /// all of its code, or the blank lines on both sides of what is new.
    fn in_gap(&self, gap: &[Piece], inserts: &[(usize, bool)]) -> Option<Vec<Option<Piece>>> {
        let (first, last) = (inserts.first()?, inserts.last()?);
        let new = |insert: &(usize, bool)| self.new[insert.0].trim();
        let is_blank = |piece: &&Piece| self.file(**piece).trim().is_empty();
        if gap.is_empty() {
            return None;
        }
        let mut known: Vec<Option<Piece>> = vec![None; inserts.len()];
        if gap.iter().all(|piece| is_blank(&piece)) {
            if inserts.iter().all(|insert| new(insert).is_empty()) {
                return (inserts.len() >= gap.len()).then_some(known);
            }
            let around = new(first).is_empty() && new(last).is_empty();
            let is_blank = |insert: &&(usize, bool)| new(insert).is_empty();
            let above = inserts.iter().take_while(is_blank).count();
            let below = inserts.iter().rev().take_while(is_blank).count();
            // What ends as the lines above do has the room below that those have.
            let ended = first.0.checked_sub(1).map(|above| self.new[above].trim());
            let alike = below == 0 && ended == Some(new(last));
            return (!alike && (around || above.max(below) >= gap.len())).then_some(known);
        }
        let mut from = 0;
        for piece in gap {
            let line = self.file(*piece).trim();
            // A line that stands in many places may well be meant to come again.
            let rare = self.source.solid().places(skeleton(line)).len() == 1;
            if !rare && !line.is_empty() {
                return None;
            }
            match inserts[from..].iter().position(|insert| new(insert) == line) {
                Some(at) => {
                    known[from + at] = Some(*piece);
                    from += at + 1;
                }
                None if is_blank(&piece) => {}
                None => return None,
            }
        }
        Some(known)
    }

    /// The file's whole line for a line of the call.
    pub(super) fn piece_of(&self, o: usize) -> Option<Piece> {
        self.window.steps.iter().find_map(|step| match step {
            Step::Pair(at, piece) if *at == o && piece.from_start => Some(*piece),
            _ => None,
        })
    }

    /// The width of one level of the file, in columns.
    pub(super) fn unit(&self) -> usize {
        self.source.unit().filter(|unit| (2..=8).contains(unit)).unwrap_or(4)
    }

    /// The closing `,` or `;` that the file has behind the last line and neither
    /// string has stays behind the new text.
    fn closing_mark(&self, out: &mut [Line], last: Piece, events: &[Event]) {
        let Some(line) = out.last_mut() else { return };
        let slashes = self.slashes;
        let rest = &self.source.text[last.end..self.source.lines[last.line].end];
        let (Some(old), Some(new)) = (self.old.last(), self.new.last()) else { return };
        if !last.to_end
            && !self.file(last).ends_with(rest.trim())
            && let Some(kept) = repeated_end(old, &line.text, rest)
        {
            line.text.truncate(kept);
            return;
        }
        for mark in [',', ';', ':', '.'] {
            if rest.starts_with(mark) && !old.ends_with(mark) && line.text.ends_with(mark) {
                line.text.pop();
                return;
            }
        }
        // A line that is there in both has its mark already.
        let fresh = line.new == self.new.len().checked_sub(1)
            && !events.iter().any(|event| matches!(event, Event::Keep(_, n) | Event::Change(_, n) if line.new == Some(*n)));
        if last.to_end
            && fresh
            && indent::of(old) == indent::of(new)
            && let Some(mark) = marks::lost([old, self.file(last), new, &line.text], slashes)
            && (mark == "," || !self.style.ends_statements())
        {
            marks::set(&mut line.text, mark, slashes);
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

/// What the walk through the lines carries along.
struct Walk {
    out: Vec<Line>,
    /// New lines that wait for their place, and whether their depth is the file's.
    inserts: Vec<(usize, bool)>,
    /// Endings of lines that are gone, for the lines that come instead.
    freed: VecDeque<Ending>,
    above: Side,
}

/// What happens to the line above or below a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Kept,
    Changed,
    Gone,
}

#[cfg(test)]
mod tests {
    use crate::edit::EditRequest;
    use crate::matching::explain;
    use crate::text::Snapshot;

    /// The file after a call that must be explained.
    pub(super) fn applied(file: &str, old: &str, new: &str) -> String {
        let snapshot = Snapshot::from_text(file);
        let explained = explain(&EditRequest::new(old, new), &snapshot).expect("explained");
        let mut text = file.to_owned();
        for splice in explained.splices.iter().rev() {
            text.replace_range(splice.range.clone(), &splice.text);
        }
        text
    }
}
