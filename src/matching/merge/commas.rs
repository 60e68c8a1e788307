//! The `,` between items where it is a habit of the whole call: left out at every item, or
//! added behind the last one in a file that has none there. The marks of single places are
//! in `marks.rs`; here the result is looked at once they are set.

use std::collections::HashSet;

use super::super::canon::is_word;
use super::super::code;
use super::super::events::Event;
use super::super::indent;
use super::marks::{self, Marks, continues, is_code};
use super::shape::Shape;
use super::{Conflict, Line};

const WHY: &str =
    "whether a new line needs a , as the lines around it, nothing tells; quote those with theirs";

impl Marks<'_, '_> {
    /// Puts commas between new items, where the call has none and the file has.
    pub(super) fn part_items(
        &self,
        out: &mut [Line],
        events: &[Event],
        shape: &Shape,
    ) -> Result<(), Conflict> {
        let Some((depth, sure)) = self.depth_without_commas() else { return Ok(()) };
        let fresh: HashSet<usize> = events
            .iter()
            .filter_map(|event| match *event {
                Event::Insert(n) | Event::Change(_, n) => Some(n),
                _ => None,
            })
            .collect();
        let first = self.window.first().map_or(0, |piece| piece.line);
        let mut closing = None;
        let items = self.items(out, shape);
        // What an item that has lost its comma shares a bracket with, and nothing beyond.
        let lost: HashSet<&str> = self
            .pairs()
            .filter(|(_, file, _)| self.mark(file) == ",")
            .map(|(_, file, _)| file.trim())
            .collect();
        let runs = items.split(|at| columns(&out[*at].text) < depth);
        let known: HashSet<usize> = runs
            .filter(|run| run.iter().any(|at| lost.contains(out[*at].text.trim())))
            .flatten()
            .copied()
            .collect();
        for pair in items.windows(2) {
            let (above, below) = (&out[pair[0]].text, &out[pair[1]].text);
            let here = columns(above);
            let new = |at: usize| out[at].new.is_some_and(|n| fresh.contains(&n));
            // The last item of a new list, in a file that ends such with a comma.
            let closed = || marks::closes(below) && here > columns(below) && here > depth;
            if sure
                && known.contains(&pair[0])
                && new(pair[0])
                && closed()
                && !marks::closes(above)
                && self.is_unmarked(above)
                && *closing.get_or_insert_with(|| self.has_closing_commas())
            {
                return Err(Conflict { line: first, why: WHY });
            }
            if here != columns(below)
                || !new(pair[0]) && !new(pair[1])
                || !self.is_unmarked(above)
                || marks::closes(below)
                || continues(below)
            {
                continue;
            }
            let listed = known.contains(&pair[0]) && known.contains(&pair[1]);
            let keys = code::behind_key(below).is_some()
                && (marks::closes(above) || !listed && code::behind_key(above).is_some());
            let beside = sure || self.is_lost(above) || self.is_lost(below);
            if listed && here == depth && new(pair[0]) && sure {
                marks::set(&mut out[pair[0]].text, ",", self.slashes);
            } else if listed && here >= depth && beside || keys {
                return Err(Conflict { line: first, why: WHY });
            }
        }
        Ok(())
    }

    /// Takes the comma behind the last item of a new list, where the call adds one and the file
    /// is one value of JSON, which has none behind any.
    pub(super) fn end_lists(&self, out: &mut [Line], events: &[Event], shape: &Shape) {
        let added = self.pairs().any(|(old, file, line)| {
            self.mark(old) == ","
                && self.mark(file).is_empty()
                && !file.trim().is_empty()
                && self.next_of(line).is_some_and(marks::closes)
        });
        if !added || !self.is_data() || self.has_closing_commas() {
            return;
        }
        let items = self.items(out, shape);
        let next = |at: usize| match items.get(at + 1) {
            Some(below) => Some(out[*below].text.clone()),
            None => self.window.last().and_then(|last| self.next_of(last.line)).map(str::to_owned),
        };
        let last: Vec<usize> = (0..items.len())
            .filter(|at| next(*at).is_some_and(|next| marks::closes(&next)))
            .map(|at| items[at])
            .collect();
        for at in last {
            let fresh = events.iter().any(|event| match *event {
                Event::Insert(n) | Event::Change(_, n) => out[at].new == Some(n),
                _ => false,
            });
            if fresh && self.mark(&out[at].text) == "," {
                marks::set(&mut out[at].text, "", self.slashes);
            }
        }
    }

    /// The lines of the result that are code, and no text in a literal.
    fn items(&self, out: &[Line], shape: &Shape) -> Vec<usize> {
        let text = |line: &Line| line.new.is_some_and(|n| shape.in_literal(n));
        (0..out.len()).filter(|at| is_code(&out[*at].text) && !text(&out[*at])).collect()
    }

    /// How deep the items of the file stand that have lost their commas in the call, if that
    /// is all of them, and whether these are several.
    fn depth_without_commas(&self) -> Option<(usize, bool)> {
        let ended = |lines: &[&str]| lines.iter().any(|line| self.mark(line) == ",");
        let sure = self.loses_all_commas();
        if !sure && (ended(self.old) || ended(self.new)) {
            return None;
        }
        let lost = self.pairs().filter(|(_, file, _)| self.mark(file) == ",");
        lost.map(|(_, file, _)| columns(file)).min().map(|depth| (depth, sure))
    }

    /// Whether a line is one of the file that has lost its comma in the call.
    fn is_lost(&self, line: &str) -> bool {
        let mut lost = self.pairs().filter(|(_, file, _)| self.mark(file) == ",");
        lost.any(|(_, file, _)| file.trim() == line.trim())
    }

    /// Whether an item may end on a line, without a mark.
    fn is_unmarked(&self, line: &str) -> bool {
        let code = code::code_of(line, self.slashes).trim_end();
        let operators = ['+', '*', '/', '=', '&', '|', '?', ':', '.', '<', '\\'];
        self.mark(line).is_empty()
            && !code.ends_with(['{', '(', '[', '>', '-'])
            && !code.ends_with(operators)
            && (code.contains(is_word) || marks::closes(code))
    }

    /// The next line of the file below one that is code.
    fn next_of(&self, line: usize) -> Option<&str> {
        let mut below = (line + 1..self.source.lines.len()).map(|at| self.source.body(at));
        below.find(|line| is_code(line))
    }

    /// Whether the file is one value in brackets.
    fn is_data(&self) -> bool {
        let text = self.source.text.trim();
        text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']')
    }

    /// Whether the file has a comma before a bracket that closes.
    fn has_closing_commas(&self) -> bool {
        let lines = (0..self.source.lines.len()).map(|at| self.source.body(at));
        let code: Vec<&str> = lines.filter(|line| is_code(line)).collect();
        code.windows(2).any(|two| self.mark(two[0]) == "," && marks::closes(two[1]))
    }
}

fn columns(line: &str) -> usize {
    indent::columns(indent::of(line), 4)
}
