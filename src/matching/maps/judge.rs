//! What a map of indentation costs at a place, and whether anything shows it.

use super::IndentMap;
use super::lines::{Frame, Lines, NewLine, Pair, Shared};
use crate::matching::call::Fate;
use crate::matching::costs::{AS_SENT, MOVED, ODD};
use crate::matching::fold::is_word_char;
use crate::matching::indent::{IndentRule, TAB_WIDTH, depth, indent_of};
use crate::matching::places::Place;
use crate::matching::shape::{line_of, must_hold, odd_by_itself, odd_lines};

/// The most odd lines that count.
const MAX_ODD: u8 = 2;

impl<'p> Lines<'p> {
    /// Whether the indentation takes lines that the call keeps from where `new_str` and the file have them,
    /// and only the first line, which may have lost its own, says that this is meant.
    pub(super) fn takes_from_file(&self, indents: &[String]) -> bool {
        let is_taken = |line: &NewLine<'p>| {
            let pair = line.pair.filter(|pair| self.call.fate(pair.old) != Fate::Changed);
            line.says == Some(Frame::File) && pair.is_some_and(|it| it.there != indents[line.at])
        };
        let mut full = self.full();
        let says = |line: &NewLine<'p>| line.says == Some(Frame::Call);
        full.next().is_some_and(|first| says(first) && first.pair.is_some())
            && full.clone().any(is_taken)
            && !full.any(says)
    }

    /// Whether a rule would change new lines that stay as they were sent, and of those beside them that both
    /// strings have none shows that they stay: there is none, or the rule changes none.
    pub(super) fn is_torn(&self, rule: &IndentRule) -> bool {
        let changes = |line: &&NewLine<'_>| rule.apply(line.sent).as_deref() != Some(line.sent);
        // A text at the margin has no indentation to lose.
        let loses = |line: &NewLine<'_>| {
            let mapped = rule.apply(line.sent);
            !line.sent.is_empty() && mapped.is_none_or(|it| depth(&it) < depth(line.sent))
        };
        self.new.chunk_by(|a, b| a.is_unmapped == b.is_unmapped).any(|run| {
            let run = run.iter().filter(|line| line.is_unmapped);
            let (new, shared): (Vec<_>, Vec<_>) = run.partition(|line| line.old.is_none());
            if !shared.is_empty() {
                return !shared.iter().any(changes) && new.iter().any(changes);
            }
            !new.iter().all(|line| line.is_blank) && new.iter().all(|l| l.is_blank || loses(l))
        })
    }

    /// Whether a new line is as deep as the first line of `old_str` in the call and not in the result,
    /// or comes before it, so that it may have lost its indentation instead.
    pub(super) fn contradicts_first(&self, line: &NewLine<'p>, indent: &str) -> bool {
        let Some(lost) = self.lost.filter(|_| !line.keeps_depth()) else { return false };
        match line.sent == lost.sent {
            true => indent != lost.there && self.code[1..].iter().all(|it| it.sent != line.sent),
            false => line.old.is_none() && self.is_lost(line),
        }
    }

    /// What it costs that the lines of `new_str` have the indentation of these, beside the rule: the runs of
    /// lines that the call then moves, of which three count at most, and a mistake of `old_str` alone.
    pub(super) fn price(&self, frames: &[Frame]) -> f64 {
        let has = |frame| self.full().any(|line| frames[line.at] == frame);
        let adds_wrong = |line: &NewLine<'_>| line.old.is_none() && line.says == Some(Frame::Call);
        let (by_call, by_file) = (has(Frame::Call), has(Frame::File));
        let is_mixed = by_call && by_file;
        // What is kept or only moved is as deep as in old_str, or not, in any case: changed lines say more.
        let fate = |pair: Pair<'_>| self.call.fate(pair.old);
        let changed_say = |frame| {
            self.new.iter().any(|line| {
                line.says == Some(frame) && line.pair.is_none_or(|pair| fate(pair) == Fate::Changed)
            })
        };
        let unlike = match by_call {
            true if by_file => 1.0,
            true if self.says(Frame::File) && !self.says(Frame::Call) => 1.0,
            true if changed_say(Frame::File) && !changed_say(Frame::Call) => 0.5,
            true => 0.0,
            false => f64::from(!self.is_as_sent() || self.new.iter().any(adds_wrong)),
        };
        let step = |shared: &Shared<'p>| match frames[shared.at] {
            Frame::Call => step(shared.old, shared.new),
            Frame::File => step(shared.there, shared.new),
        };
        // The outermost lines say nothing of lines of two kinds.
        let count = self.shared.len().saturating_sub(usize::from(is_mixed));
        let mut steps: Vec<isize> = self.shared[..count].iter().map(step).collect();
        steps.dedup();
        let runs: f64 = steps.iter().filter(|step| **step != 0).take(3).map(|_| 1.0).sum();
        // Where whose indentation it is changes, that is a move, too.
        MOVED * (runs + f64::from(is_mixed)) + AS_SENT * unlike
    }

    /// Whether the call moves all that it has, or its outermost line and with it the first or the last one,
    /// and not to where the file has it: then the two strings only begin at different depths, and nothing
    /// shows a move.
    pub(super) fn moves_everything(&self) -> bool {
        // A closing mark that is not at the same end of both strings may be that of another block, as deep
        // by chance.
        let mut full = self.call.ops.iter().filter(|op| !self.call.is_blank(op));
        let ends = [full.next(), full.next_back()].map(|op| op.and_then(|op| op.new_at()));
        let is_mark = |shared: &Shared<'_>| {
            !self.call.new[shared.at].contains(is_word_char) && !ends.contains(&Some(shared.at))
        };
        let is_moved = |shared: &Shared<'_>| shared.old != shared.new && shared.new != shared.there;
        let Some((outermost, lines)) = self.shared.split_last() else { return false };
        let by = step(outermost.old, outermost.new);
        let goes_with = |line: &&Shared<'_>| is_moved(line) && step(line.old, line.new) == by;
        is_moved(outermost)
            && (lines.iter().all(|line| is_moved(line) || is_mark(line))
                || lines.first().filter(goes_with).or(lines.last().filter(goes_with)).is_some())
    }

    /// Whether the call moves a line that alone it has at a wrong depth, and not to where the file has it, or
    /// only as it moves a right line beside it.
    pub(super) fn moves_wrong(&self) -> bool {
        let Some(right) = self.code.iter().find(|pair| pair.is_right()) else { return false };
        let moved_by = |pair: &Pair<'_>| match self.call.fate(pair.old) {
            Fate::Moved => Some(step(pair.sent, self.new[self.call.successor(pair.old)?].sent)),
            _ => None,
        };
        // A wrap moves all lines by a level, and mends the mistake of one.
        let unit = self.file.indent_unit().unwrap_or(TAB_WIDTH).cast_signed();
        let moves = [moved_by(right), Some(unit)];
        self.code.iter().enumerate().filter(|(_, pair)| !pair.is_right()).any(|(at, pair)| {
            let Some(by) = moved_by(pair) else { return false };
            let mends = step(pair.sent, pair.there);
            if by != mends {
                return !moves.contains(&Some(by - mends));
            }
            let mut beside = self.code.iter().take(at + 2).skip(at.saturating_sub(1));
            by != 0 && beside.any(|near| near.is_right() && moved_by(near) == Some(by))
        })
    }

    /// Whether `new_str` shows that `old_str` alone is wrong: some line is indented as in the file, and none
    /// as in `old_str`, or the first line is as deep as the file has the place, and `old_str` has not.
    pub(super) fn is_as_sent(&self) -> bool {
        let is = |side: fn(&Shared<'p>) -> &'p str| {
            self.shared.iter().any(|line| line.old != line.there && line.new == side(line))
        };
        let pair = self.code[0];
        is(|line| line.there) && !is(|line| line.old)
            || !pair.is_right()
                && self.full().next().is_some_and(|first| first.sent == pair.there)
                && self.call.old[..pair.old].iter().all(|line| line.trim().is_empty())
    }

    /// The first line of `new_str`, if it is less deep than the file has the place, others are not, and
    /// none of these has the wrong depth of `old_str`.
    pub(super) fn lost_first(&self) -> Option<usize> {
        let there = depth(self.code[0].there);
        let mut full = self.full();
        let first = full.next()?;
        // It begins as far from the next line as in `old_str`, whose first line has lost nothing.
        let is_even = full.clone().next().is_some_and(|second| {
            let old = first.old.zip(second.old);
            let is_shifted = |pairs: &[Pair<'_>]| {
                step(pairs[0].sent, pairs[1].sent) == step(pairs[0].there, pairs[1].there)
            };
            self.code.len() > 1
                && is_shifted(&self.code)
                && old.is_some_and(|(a, b)| step(a, b) == step(first.sent, second.sent))
        });
        (depth(first.sent) < there
            && !is_even
            && full.clone().any(|line| depth(line.sent) >= there)
            && !full.any(|line| line.says == Some(Frame::Call)))
        .then_some(first.at)
    }

    /// Charges what leaves more lines at an odd depth than another map of the place. Where each leaves
    /// many, none is right.
    pub(super) fn charge_odd_lines(&self, place: &Place, maps: &mut [IndentMap]) {
        let (file, call) = (self.file, self.call);
        let there = odd_lines(file, place, place.lines().map(|at| line_of(file, at)));
        // Where the call begins inside a line, that is the line to go on from.
        let begins_inside = place.links.first().is_some_and(|link| !link.starts_line(file));
        // A new line is where the line below it begins.
        let is_literal = |line: &NewLine<'p>| {
            let below = || self.neighbours(line).1.filter(|_| line.old.is_none());
            let pair = line.pair.or_else(|| below().copied());
            line.is_unmapped || pair.is_some_and(|pair| file.begins_in_literal(pair.line))
        };
        let is_literal: Vec<bool> = self.new.iter().map(is_literal).collect();
        let more = |map: &IndentMap| {
            let lines = (0..call.new.len()).map(|at| match at {
                0 if begins_inside => line_of(file, place.lines().start),
                _ => ((!is_literal[at]).then_some(map.indents[at].as_str()), call.new[at]),
            });
            odd_lines(file, place, lines).saturating_sub(there)
        };
        let more: Vec<u8> = maps.iter().map(more).collect();
        let least = more.iter().copied().min().unwrap_or(0);
        // A call without any indentation shows no shape.
        let is_flat = call.old.iter().chain(&call.new).all(|line| indent_of(line).is_empty());
        let (own, most) = if is_flat { (0, 1) } else { (odd_by_itself(file, &call.new), MAX_ODD) };
        let is_guess = (least + there).saturating_sub(there.max(own)) >= most
            || is_flat && self.opens_block(&is_literal);
        let cheapest =
            |maps: &[IndentMap]| maps.iter().map(|map| map.price).fold(f64::INFINITY, f64::min);
        let before = cheapest(maps);
        for (map, more) in maps.iter_mut().zip(more) {
            map.price += ODD * f64::from((more - least).min(MAX_ODD));
            map.is_guess |= is_guess;
        }
        // That only says which map it is: the place as such is as likely as before.
        let rise = cheapest(maps) - before;
        maps.iter_mut().for_each(|map| map.price -= rise);
    }

    /// Whether a new line of code opens a block, and lines follow.
    fn opens_block(&self, is_literal: &[bool]) -> bool {
        let opens = |line: &NewLine<'_>| {
            let text = self.call.new[line.at].trim();
            line.old.is_none() && !is_literal[line.at] && (must_hold(text) || text.ends_with("->"))
        };
        let mut full = self.full();
        full.any(opens) && full.next().is_some()
    }

    /// Whether each new line compares to the one above it in the result as it does in `new_str`: deeper, less
    /// deep, or as deep, and what a line opens is deeper by a level, or by as much as in the call. If not,
    /// the map does not suit these lines.
    pub(super) fn keeps_levels(&self, indents: &[String]) -> bool {
        let unit = self.file.indent_unit().unwrap_or(TAB_WIDTH).cast_signed();
        let full: Vec<&NewLine<'_>> = self.full().filter(|line| !line.is_unmapped).collect();
        full.windows(2).all(|pair| {
            let [above, below] = [pair[0], pair[1]];
            let sent = step(above.sent, below.sent);
            let result = step(&indents[above.at], &indents[below.at]);
            let opens = self.call.new[above.at].trim_end().ends_with(['{', '(', '[', ':']);
            let are_kept = above.keeps_depth() && below.keeps_depth();
            let keeps_order = match self.is_lost(above) {
                // It says nothing about the step to the next line, unless that is inside.
                true => !opens || below.keeps_depth() || result > 0,
                false => are_kept || sent.signum() == result.signum(),
            };
            let is_level = result == unit || self.levels.are_same_step(sent, result);
            keeps_order && (!opens || are_kept || sent <= 0 || sent == result || is_level)
        })
    }
}

/// By how many columns the second indentation is deeper.
fn step(from: &str, to: &str) -> isize {
    depth(to).cast_signed() - depth(from).cast_signed()
}
