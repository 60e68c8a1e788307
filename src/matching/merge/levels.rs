//! A last look at the result: whether lines that stand beside each other there are deeper,
//! less deep or as deep as `new_str` has them. Where they are not, a mistake of the call was
//! undone for one of them and not for the other.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::super::code::is_comment;
use super::super::events::Event;
use super::super::fit::closes;
use super::super::indent;
use super::super::steps::{opens, shows_depth};
use super::super::window::Piece;
use super::{Conflict, Line, Merge};

const WHY: &str = "the lines would stand to each other otherwise than in new_str; indent both strings as the file";

/// What is known of the lines of `new`: the line of `old` that one is, and those that stand
/// as deep as the call has them.
struct Known {
    olds: HashMap<usize, usize>,
    own: HashSet<usize>,
}

impl Merge<'_, '_> {
    /// With the events it is said which new lines stand as deep as the call has them, among
    /// others that moved.
    pub(super) fn stand_as_meant(
        &self,
        out: &[Line],
        (first, last): (Piece, Piece),
        events: impl Iterator<Item = (Event, bool)>,
    ) -> Result<(), Conflict> {
        if self.map.is_same() && self.map.is_uniform() {
            return Ok(());
        }
        let solid: Vec<&Line> = out.iter().filter(|line| !line.text.trim().is_empty()).collect();
        let mut known = Known { olds: HashMap::new(), own: HashSet::new() };
        for (event, own) in events {
            match event {
                Event::Keep(o, n) | Event::Change(o, n) => known.olds.insert(n, o),
                _ => None,
            };
            if let (Event::Insert(n) | Event::Change(_, n), true) = (event, own) {
                known.own.insert(n);
            }
        }
        // What begins amid a line has its depth in front of it.
        let whole = &solid[usize::from(!first.from_start).min(solid.len())..];
        let apart = whole.windows(2).any(|pair| self.is_turned(pair[0], pair[1], &known));
        let (above, below) = (self.beyond(first, true), self.beyond(last, false));
        let (Some(head), Some(tail)) = (solid.first(), solid.last()) else { return Ok(()) };
        let starts = first.from_start
            && above.is_some_and(|above| {
                let was = self.order(above, self.whole(self.solid_piece(true)));
                let is = self.order(above, &head.text);
                was != is && !self.can_stand(above, &head.text)
            });
        let ends = last.to_end
            && below.is_some_and(|below| {
                let was = self.order(self.whole(self.solid_piece(false)), below);
                let is = self.order(&tail.text, below);
                was != is && !self.can_stand(&tail.text, below)
            });
        let finer = whole.windows(2).any(|pair| self.goes_finer(pair[0], pair[1]));
        if apart || starts || ends || finer {
            return Err(Conflict { line: first.line, why: WHY });
        }
        Ok(())
    }

    /// Whether two lines of `new` stand to each other in another way than there, and the file's
    /// own lines do not explain it.
    fn is_turned(&self, above: &Line, below: &Line, known: &Known) -> bool {
        let (Some(a), Some(b)) = (above.new, below.new) else { return false };
        let text = |n: usize| self.shape.in_literal(n) || self.shape.is_continued(n);
        let meant = self.order(self.new[a], self.new[b]);
        let is = self.order(&above.text, &below.text);
        let own = |n: usize| known.own.contains(&n);
        if meant == is || text(a) || text(b) || own(a) != own(b) {
            return false;
        }
        let lost = self.map.first_lost().is_some_and(|(from, _)| {
            self.new[..a].iter().all(|line| line.trim().is_empty())
                && indent::of(self.new[a]) == from
        });
        // A line that the call has as the file has it tells nothing of those that it moves.
        let right = |n: usize| {
            let o = known.olds.get(&n).copied().filter(|o| self.old[*o] == self.new[n]);
            let piece = o.and_then(|o| self.piece_of(o));
            piece.is_some_and(|piece| self.file(piece) == self.new[n])
        };
        let as_quoted = known.olds.get(&a).zip(known.olds.get(&b)).is_some_and(|(a, b)| {
            let mut between = a + 1..*b;
            let as_file = || {
                let (a, b) = (self.piece_of(*a)?, self.piece_of(*b)?);
                Some(self.order(self.file(a), self.file(b)) == is)
            };
            between.all(|o| self.old[o].trim().is_empty())
                && self.order(self.old[*a], self.old[*b]) == meant
                && as_file().unwrap_or(true)
        });
        !lost && !as_quoted && !right(a) && !right(b)
    }

    /// Whether a new line goes deeper by a part of a level, as no line of the file does.
    fn goes_finer(&self, above: &Line, below: &Line) -> bool {
        let Some(unit) = self.source.unit() else { return false };
        let (Some(n), Some(step)) =
            (below.new, indent::of(&below.text).strip_prefix(indent::of(&above.text)))
        else {
            return false;
        };
        // As a line of the call that the file has elsewhere.
        let known = |line: &&str| indent::of(line) == step;
        self.old.iter().any(known)
            && !step.is_empty()
            && step.bytes().all(|b| b == b' ')
            && step.len() < unit
            && unit.is_multiple_of(step.len())
            && !self.source.steps().knows(step)
            && !self.shape.in_literal(n)
            && !is_comment(&above.text)
            && !is_comment(&below.text)
            && shows_depth(&below.text)
    }

    /// Whether a line can stand below another: deeper, where that opens something, and nowhere
    /// else.
    fn can_stand(&self, above: &str, below: &str) -> bool {
        match self.order(above, below) {
            Ordering::Less => opens(above),
            _ => !opens(above) || closes(below),
        }
    }

    fn order(&self, above: &str, below: &str) -> Ordering {
        let depth = |line: &str| indent::columns(indent::of(line), self.unit());
        depth(above).cmp(&depth(below))
    }

    /// The nearest line of the file outside of the place that is not blank.
    pub(super) fn beyond(&self, piece: Piece, above: bool) -> Option<&str> {
        let solid = |at: &usize| !self.source.body(*at).trim().is_empty();
        let at = match above {
            true => (0..piece.line).rev().find(solid),
            false => (piece.line + 1..self.source.lines.len()).find(solid),
        };
        at.map(|at| self.source.body(at))
    }

    /// The first or the last line of the place that is not blank.
    fn solid_piece(&self, first: bool) -> Option<Piece> {
        let mut solid = self.window.pieces().filter(|piece| !self.file(*piece).trim().is_empty());
        if first { solid.next() } else { solid.next_back() }
    }

    fn whole(&self, piece: Option<Piece>) -> &str {
        piece.map_or("", |piece| self.source.body(piece.line))
    }
}
