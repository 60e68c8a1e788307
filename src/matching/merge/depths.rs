//! How deep new lines are to stand when the call quotes its context at another depth: moved as
//! the context is, or as they came.

use super::super::code::behind_key;
use super::super::events::Event;
use super::super::fit::{self, Fit, closes, strain};
use super::super::indent;
use super::super::steps::{self, Steps, opens};
use super::super::window::{Piece, Step};
use super::{Conflict, Merge};

impl Merge<'_, '_> {
    /// A line that stays, though what opened its block goes, was to stand elsewhere, if
    /// nothing else holds it: then the new text is not indented as the old one is.
    pub(super) fn stays_in_its_block(
        &self,
        o: usize,
        n: usize,
        piece: Piece,
    ) -> Result<(), Conflict> {
        let solid = |line: &&&str| !line.trim().is_empty();
        let near = |lines: &[&str], at: usize| {
            let above = lines[..at].iter().rev().find(solid).copied().map(str::to_owned);
            above.zip(lines[at + 1..].iter().find(solid).copied().map(str::to_owned))
        };
        let Some(((above, below), (held, _))) = near(self.new, n).zip(near(self.old, o)) else {
            return Ok(());
        };
        let freed = opens(&held) && above.trim() != held.trim();
        if self.map.is_shift() && freed && fit::is_astray(&above, self.new[n], &below, self.unit())
        {
            let why = "nothing tells how deep the line is to stand once its block is gone";
            return Err(Conflict { line: piece.line, why });
        }
        Ok(())
    }

    /// A model that quotes the context too shallow may still indent its new lines as
    /// the file has it. For each run of changes: do its new lines fit between what the
    /// call quotes, or between what the file has?
    pub(super) fn own_depths(&self, events: &[Event]) -> Result<Vec<bool>, Conflict> {
        let mut own = vec![false; events.len()];
        if !self.map.is_shift() {
            return Ok(own);
        }
        let line = self.window.first().map_or(0, |piece| piece.line);
        let why = "how deep the new lines are to stand can be read in two ways: as in new_str, or moved as the lines around them";
        if !self.map.is_scale() && self.may_be_of_another_width() {
            let why = "the new lines have other steps of indentation than the file, and old_str has none that tells whether they are meant";
            return Err(Conflict { line, why });
        }
        let solid = |line: &str| !line.trim().is_empty();
        let keeps = |event: &Event| matches!(event, Event::Keep(o, _) if solid(self.old[*o]));
        let mut at = 0;
        while at < events.len() {
            if keeps(&events[at]) {
                at += 1;
                continue;
            }
            let end = events[at..].iter().position(keeps).map_or(events.len(), |more| at + more);
            let run = &events[at..end];
            let old_of = |event: Option<&Event>| match event {
                Some(Event::Keep(o, _)) => Some(*o),
                _ => None,
            };
            let above = old_of(at.checked_sub(1).and_then(|before| events.get(before)));
            let below = old_of(events.get(end));
            // Both among the file's lines: moved as the context was, and as they came.
            let as_call = self.fit(run, above, below, true);
            let as_file = self.fit(run, above, below, false);
            // A changed line that stands neither as the call has it nor as the file was moved, and
            // so was one that is changed in nothing else.
            let moved = |event: &Event| match *event {
                Event::Change(o, n) => self.piece_of(o).is_some_and(|piece| {
                    let new = indent::of(self.new[n]);
                    let alone = self.new[n].trim() == self.old[o].trim();
                    new != indent::of(self.old[o]) && (alone || new != indent::of(self.file(piece)))
                }),
                _ => false,
            };
            let alone = |event: &Event| match *event {
                Event::Change(o, n) => self.new[n].trim() == self.old[o].trim(),
                _ => false,
            };
            let as_call_is_between = as_call.between;
            let no_worse = !as_call.is_better_in_all(&as_file);
            let as_file = match as_file.is_rather_than(&as_call) {
                _ if run.iter().any(moved) => false,
                // Nor is it told whether a line that only moves does, or stands where it was.
                Some(true) if run.iter().any(alone) => return Err(Conflict { line, why }),
                // In a text, lines go deeper as they like, and new code may have another step.
                Some(true)
                    if self.can_stand_at_both(run, above)
                        || self.is_in_text()
                        || self.has_its_own_step(run)
                        || self.goes_on_otherwise(run) =>
                {
                    return Err(Conflict { line, why });
                }
                Some(rather) => rather,
                None => return Err(Conflict { line, why }),
            };
            let leaves = match no_worse && !as_file {
                true => match self.leaves_the_grid(run) {
                    // No open block is as deep, whatever the step.
                    None if as_call_is_between && !run.iter().any(alone) => true,
                    leaves => leaves.ok_or(Conflict { line, why })?,
                },
                false => false,
            };
            // Levels of another width would explain the call as well.
            if as_call_is_between && !as_file && !leaves && self.is_half_or_double() {
                return Err(Conflict { line, why });
            }
            own[at..end].fill(as_file || leaves);
            at = end;
        }
        Ok(own)
    }

    /// Whether the first line of a run goes further out than the one above it, and stands beside a
    /// line of the file that holds that one, moved or not.
    fn can_stand_at_both(&self, run: &[Event], above: Option<usize>) -> bool {
        let depth = |line: &str| indent::columns(indent::of(line), self.unit());
        let first = run.iter().find_map(|event| match *event {
            Event::Insert(n) => Some(self.new[n]).filter(|line| !line.trim().is_empty()),
            _ => None,
        });
        let Some((new, o)) = first.zip(above) else { return false };
        let Some((piece, moved)) = self.piece_of(o).zip(self.map.apply(indent::of(new))) else {
            return false;
        };
        let beside = |at: usize| {
            let nearest = self.source.nearest(piece.line, at, depth);
            nearest.is_some_and(|line| depth(line) == at)
        };
        let (came, moved) = (depth(new), indent::columns(&moved, self.unit()));
        came != moved && depth(new) < depth(self.old[o]) && beside(came) && beside(moved)
    }

    /// Whether the first line of a run goes on a bracket, and at another depth than before: there
    /// lines stand where they like.
    fn goes_on_otherwise(&self, run: &[Event]) -> bool {
        run.first().is_some_and(|event| match *event {
            Event::Change(o, n) => {
                indent::of(self.new[n]) != indent::of(self.old[o])
                    && n.checked_sub(1).is_some_and(|above| self.shape.open_brackets(above) > 0)
            }
            _ => false,
        })
    }

    /// Whether all lines of the call are twice or half as deep as in the file.
    fn is_half_or_double(&self) -> bool {
        let depth = |line: &str| indent::columns(indent::of(line), self.unit());
        let pairs = self.window.steps.iter().filter_map(|step| match step {
            Step::Pair(o, piece) if !self.old[*o].trim().is_empty() => {
                Some((depth(self.old[*o]), depth(self.file(*piece))))
            }
            _ => None,
        });
        let all = |is: fn(&(usize, usize)) -> bool| pairs.clone().all(|pair| is(&pair));
        all(|(old, file)| *old == 2 * file) || all(|(old, file)| 2 * old == *file && *old > 0)
    }

    /// Whether the place lies within a text between triple quotes.
    fn is_in_text(&self) -> bool {
        let above = self.text_above();
        ["\"\"\"", "'''"].iter().any(|mark| above.matches(mark).count() % 2 == 1)
    }

    /// Whether new lines would stand between the levels of the file if they were moved as the
    /// context is, and as they came they do not. `None` where a finer step of their own would
    /// explain that.
    fn leaves_the_grid(&self, run: &[Event]) -> Option<bool> {
        let Some(unit) = self.source.unit().filter(|unit| (2..=8).contains(unit)) else {
            return Some(false);
        };
        let spaces = |indent: &str| indent.bytes().all(|b| b == b' ');
        let on_grid = |indent: &str| spaces(indent) && indent.len().is_multiple_of(unit);
        // Within a bracket, lines stand where they like.
        let inside = |n: usize| n.checked_sub(1).is_some_and(|n| self.shape.open_brackets(n) > 0);
        let news = run.iter().filter_map(|event| match *event {
            Event::Insert(n) | Event::Change(_, n) if !inside(n) => Some(self.new[n]),
            _ => None,
        });
        let news = news.filter(|line| !line.trim().is_empty()).map(indent::of);
        let off = |indent: &str| {
            let moved = self.map.apply(indent);
            on_grid(indent) && moved.is_some_and(|moved| spaces(&moved) && !on_grid(&moved))
        };
        let leaves = news.clone().next().is_some()
            && news.clone().all(off)
            && self.window.pieces().all(|piece| on_grid(indent::of(self.source.body(piece.line))));
        let even = |indent: &str| {
            self.map.apply(indent).is_some_and(|moved| moved.len().is_multiple_of(2))
        };
        let finer = leaves && unit > 2 && unit.is_multiple_of(2) && news.clone().all(even);
        (!finer).then_some(leaves)
    }

    /// Whether the steps of the new text are twice or half those of the file and the old text shows
    /// none, so that nothing tells whether they are its own or those of the whole call.
    fn may_be_of_another_width(&self) -> bool {
        let Some(unit) = self.source.unit().filter(|unit| [2, 4].contains(unit)) else {
            return false;
        };
        let depths = |lines: &[&str]| -> Vec<usize> {
            let solid = lines.iter().filter(|line| !line.trim().is_empty());
            solid.map(|line| indent::columns(indent::of(line), unit)).collect()
        };
        // What stands behind a bracket of the line above has no step.
        let lines: Vec<&&str> = self.new.iter().filter(|line| !line.trim().is_empty()).collect();
        let steps = lines.windows(2).filter_map(|two| {
            let depth = |line: &str| indent::columns(indent::of(line), unit);
            let step = depth(two[1]).checked_sub(depth(two[0])).filter(|step| *step > 0)?;
            (steps::within(two[0].trim()) != Some(step)).then_some(step)
        });
        let (olds, news): (_, Vec<usize>) = (depths(self.old), steps.collect());
        if olds.windows(2).any(|two| two[0] != two[1]) || news.iter().any(|step| step % 2 == 1) {
            return false;
        }
        let other = |step: usize| if unit == 2 { step / 2 } else { 2 * step };
        let foreign = |known: &[usize]| {
            let may_be = |step: &usize| {
                known.contains(step) || known.contains(&other(*step)) || known.contains(&(step / 2))
            };
            news.iter().any(|step| !known.contains(step)) && news.iter().all(may_be)
        };
        let around = self.steps_around().levels();
        // What brackets hold has steps of its own.
        let (own, new) = (self.source.steps(), Steps::of(self.new.iter().copied()));
        let held = |at: usize| own.steps_in_brackets()[at].zip(new.steps_in_brackets()[at]);
        self.hangs_otherwise()
            || news.iter().any(|step| !own.knows(&" ".repeat(*step)))
            || foreign(&own.levels())
            || foreign(&around)
            || around.first().is_some_and(|usual| {
                !news.is_empty()
                    && news.iter().all(|step| step == &(2 * usual) || 2 * step == *usual)
            })
            || (0..2).filter_map(held).any(|(file, new)| file == other(new))
    }

    /// Whether a new item of a text goes on by twice the width of its mark, and none of the file
    /// does: the mark tells how deep it goes on, unless all steps are twice as wide.
    fn hangs_otherwise(&self) -> bool {
        let hangs = |lines: &[&str]| {
            let solid: Vec<&str> =
                lines.iter().copied().filter(|line| !line.trim().is_empty()).collect();
            solid.windows(2).any(|two| {
                let step = indent::of(two[1]).strip_prefix(indent::of(two[0]));
                two[0].trim_start().starts_with("* ") && step.is_some_and(|step| step == "    ")
            })
        };
        let file = || -> Vec<&str> {
            (0..self.source.lines.len()).map(|at| self.source.body(at)).collect()
        };
        hangs(self.new) && !hangs(self.old) && !hangs(&file())
    }

    /// The steps of the lines around the place.
    fn steps_around(&self) -> Steps {
        const NEAR: usize = 30;
        let (Some(first), Some(last)) = (self.window.first(), self.window.last()) else {
            return Steps::default();
        };
        let end = (last.line + NEAR).min(self.source.lines.len());
        Steps::of((first.line.saturating_sub(NEAR)..end).map(|at| self.source.body(at)))
    }

    /// Whether the first new line of a run is as much deeper than what opens its block as a later
    /// one is, and that is not the step of the file.
    fn has_its_own_step(&self, run: &[Event]) -> bool {
        let unit = self.unit();
        let solid = |n: &usize| !self.new[*n].trim().is_empty();
        let step = |n: usize| {
            let above = (0..n).rev().find(solid).map(|above| self.new[above]);
            let depth = |line: &str| indent::columns(indent::of(line), unit);
            let above = above.filter(|above| opens(above))?;
            depth(self.new[n]).checked_sub(depth(above)).filter(|step| ![0, unit].contains(step))
        };
        let mut news = run.iter().filter_map(|event| match *event {
            Event::Insert(n) | Event::Change(_, n) => Some(n).filter(solid),
            _ => None,
        });
        let first = news.next().and_then(step);
        first.is_some() && news.any(|n| step(n) == first)
    }

    /// Whether the first new line of a run stands beside a line of the call that holds the one
    /// above it.
    fn goes_out(&self, run: &[Event]) -> bool {
        let solid = |line: &&&str| !line.trim().is_empty();
        let first = run.iter().find_map(|event| match *event {
            Event::Insert(n) | Event::Change(_, n) => Some(n).filter(|n| solid(&&self.new[*n])),
            _ => None,
        });
        let depth = |line: &str| indent::columns(indent::of(line), self.unit());
        first.is_some_and(|n| {
            let here = depth(self.new[n]);
            let mut above = self.new[..n].iter().rev().filter(solid).map(|line| depth(line));
            above.find(|depth| *depth <= here) == Some(here)
        })
    }

    /// How badly the new lines of a run fit into the file, `moved` as the context was or
    /// at the depth that they have.
    fn fit(&self, run: &[Event], above: Option<usize>, below: Option<usize>, moved: bool) -> Fit {
        let moved_as_call = moved;
        let solid = |text: &str| !text.trim().is_empty();
        let lost = self.map.first_lost();
        let moved = |line: &str| {
            let indent = indent::of(line);
            let first =
                self.new.iter().find(|line| solid(line)).is_some_and(|first| *first == line);
            let to = match lost.filter(|(from, _)| first && *from == indent) {
                Some((_, to)) => Some(to.to_owned()),
                None if moved => self.map.apply(indent),
                None => None,
            };
            to.unwrap_or_else(|| indent.to_owned()) + &line[indent.len()..]
        };
        let context = |o: usize| match self.piece_of(o) {
            Some(piece) => self.file(piece).to_owned(),
            None => moved(self.old[o]),
        };
        let news: Vec<String> = run
            .iter()
            .filter_map(|event| match *event {
                Event::Insert(n) | Event::Change(_, n) => Some(self.new[n]),
                _ => None,
            })
            .filter(|text| solid(text) && !self.is_marginal(text))
            .map(moved)
            .collect();
        let olds: Vec<usize> = run
            .iter()
            .filter_map(|event| match *event {
                Event::Delete(o) | Event::Change(o, _) => Some(o),
                _ => None,
            })
            .filter(|o| solid(self.old[*o]))
            .collect();
        let (Some(first), Some(last)) = (news.first(), news.last()) else { return Fit::default() };
        let unit = self.unit();
        let depth = |text: &str| indent::columns(indent::of(text), unit);
        let mut fit = Fit::default();
        // A block that takes another's place starts as deep as that one, and comes as far
        // to the left.
        let floor = news.iter().map(|line| depth(line)).min().unwrap_or(0);
        let replaced = olds.iter().map(|&old| depth(&context(old)));
        if let (Some(from), Some(lowest)) = (olds.first(), replaced.min()) {
            fit.place += 8 * depth(first).abs_diff(depth(&context(*from)));
            fit.place += 8 * floor.abs_diff(lowest);
        }
        let beyond = || {
            let first = self.window.first().filter(|piece| piece.from_start)?;
            let mut above = (0..first.line).rev().map(|at| self.source.body(at));
            above.find(|line| solid(line))
        };
        if let Some(beyond) = beyond().filter(|_| above.is_none() && olds.is_empty()) {
            fit.above = strain(beyond, first, unit);
        }
        if let Some(above) = above {
            let line = self.piece_of(above).map(|piece| piece.line);
            let above = context(above);
            fit.between = depth(first) < depth(&above)
                && line.is_some_and(|line| {
                    let beside = self.source.nearest(line, depth(first), depth);
                    // Nor is there a key among items.
                    beside.is_some_and(|beside| {
                        let item = |line: &str| line.trim_start().starts_with("- ");
                        let key = behind_key(first).is_some();
                        depth(beside) != depth(first) || item(beside) && key
                    })
                });
            // What comes after a blank line may stand as far out as it likes.
            let apart = run
                .first()
                .is_some_and(|event| matches!(*event, Event::Insert(n) if !solid(self.new[n])));
            let outward =
                (apart || moved_as_call && self.goes_out(run)) && depth(first) < depth(&above);
            fit.above = if outward { 0 } else { strain(&above, first, unit) };
            if let Some(was) = olds.first().map(|&old| context(old)) {
                fit.known = strain(&above, &was, unit);
                fit.is_flat = depth(&was) == depth(&above) && depth(first) > depth(&above);
            }
            fit.broken = below.map(|below| fit::is_astray(&above, first, &context(below), unit));
        }
        if let Some(below) = below {
            let below = context(below);
            let opened = fit::left_open(&news).map(depth);
            let statement = above.filter(|_| fit::begins_amid(first)).map(context);
            let after = |above: &String| depth(above) == depth(&below);
            fit.below = if statement.as_ref().is_some_and(after) {
                0
            } else if let Some(opened) = opened.filter(|_| closes(&below)) {
                4 * depth(&below).abs_diff(opened)
            } else if depth(last) == floor {
                strain(last, &below, unit)
            } else {
                // What the new lines opened is closed again: the line below stands beside
                // their shallowest, or closes what holds them.
                let beside = match below.trim_start().starts_with("- ") {
                    // What goes on with an item stands behind its mark, before the next one.
                    true if floor == depth(&below) + 2 => 0,
                    _ => depth(&below).abs_diff(floor),
                };
                let outside = (depth(&below) + unit).abs_diff(floor);
                let shut = 4 * if closes(&below) { beside.min(outside) } else { beside };
                // Or what they opened goes on below.
                shut.min(strain(last, &below, unit))
            };
        }
        fit
    }
}
