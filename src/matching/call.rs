//! A call under one reading: its lines, and what it does to each.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::diff::{LineOp, line_ops};
use super::fold::plain_key;
use super::indent::{depth, indent_of};
use super::source_file::{new_lines, split_lines};
use crate::text::words;

/// What a call does to a line of `old_str`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays, white space included.
    Kept,
    /// Only its indentation or its trailing blanks change.
    Moved,
    Changed,
    Deleted,
}

/// The lines of a call and what it does to them.
pub(super) struct Call<'a> {
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    pub(super) ops: Vec<LineOp>,
    /// For each line of `old_str`: what becomes of it, and the line of `new_str` that it becomes.
    fates: Vec<(Fate, Option<usize>)>,
    /// For each line of `new_str`: the line of `old_str` that it is or that it replaces.
    partners: Vec<Option<usize>>,
    /// Whether `old_str` ends with a line break.
    pub(super) ends_with_newline: bool,
    gone_names: OnceCell<HashSet<u64>>,
}

impl<'a> Call<'a> {
    /// The call that replaces `old` by `new`.
    pub(super) fn new(old: &'a str, new: &'a str) -> Self {
        let ends_with_newline = old.ends_with('\n');
        let (new, old) = (new_lines(old, new), split_lines(old));
        let ops = line_ops(&old, &new);
        let (mut fates, mut partners) =
            (vec![(Fate::Deleted, None); old.len()], vec![None; new.len()]);
        for op in &ops {
            let (LineOp::Keep(at, new_at) | LineOp::Change(at, new_at)) = *op else { continue };
            let fate = match op {
                LineOp::Keep(..) => Fate::Kept,
                _ if old[at].trim() == new[new_at].trim() => Fate::Moved,
                _ => Fate::Changed,
            };
            (fates[at], partners[new_at]) = ((fate, Some(new_at)), Some(at));
        }
        let gone_names = OnceCell::new();
        Self { old, new, ops, fates, partners, ends_with_newline, gone_names }
    }

    /// What the call does to a line of `old_str`.
    pub(super) fn fate(&self, old: usize) -> Fate {
        self.fates[old].0
    }

    /// Whether the words of a line of `old_str` stay.
    pub(super) fn keeps(&self, old: usize) -> bool {
        matches!(self.fates[old].0, Fate::Kept | Fate::Moved)
    }

    /// The line of `old_str` that a line of `new_str` is or replaces.
    pub(super) fn partner(&self, new: usize) -> Option<usize> {
        self.partners[new]
    }

    /// The line of `new_str` that a line of `old_str` becomes.
    pub(super) fn successor(&self, old: usize) -> Option<usize> {
        self.fates[old].1
    }

    /// The line that an operation is about; of a changed one, that of `old_str`.
    pub(super) fn line(&self, op: &LineOp) -> &'a str {
        match *op {
            LineOp::Insert(new) => self.new[new],
            LineOp::Keep(old, _) | LineOp::Change(old, _) | LineOp::Delete(old) => self.old[old],
        }
    }

    /// Whether that line is blank.
    pub(super) fn is_blank(&self, op: &LineOp) -> bool {
        self.line(op).trim().is_empty()
    }

    /// The lines of `new_str` that `old_str` does not have as they are.
    pub(super) fn written(&self) -> impl Iterator<Item = &'a str> {
        let ops = self.ops.iter().filter(|op| !matches!(op, LineOp::Keep(..)));
        ops.filter_map(|op| Some(self.new[op.new_at()?]))
    }

    /// The names that `old_str` has and `new_str` has not.
    pub(super) fn gone_names(&self) -> &HashSet<u64> {
        self.gone_names.get_or_init(|| {
            let is_name = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit());
            let names = |lines: &[&str]| -> HashSet<u64> {
                lines.iter().flat_map(|line| words(line).filter(is_name)).map(plain_key).collect()
            };
            &names(&self.old) - &names(&self.new)
        })
    }

    /// Whether the call indents all lines that it keeps otherwise, and not by one step: then `new_str` only
    /// has levels of another width, or none.
    pub(super) fn rescales(&self) -> bool {
        let steps = self.steps(|old, _| self.keeps(old));
        !steps.contains(&0) && steps.iter().any(|step| *step != steps[0])
    }

    /// Whether `new_str` only begins at the margin: of the lines from this one on, the outermost is moved
    /// there, and with it all that the call has, or the first line.
    pub(super) fn moves_out(&self, from: usize) -> bool {
        let outermost = |lines: &[&str]| {
            let full = lines.iter().skip(from).filter(|line| !line.trim().is_empty());
            full.map(|line| depth(line)).min()
        };
        let (Some(old), Some(new)) = (outermost(&self.old), outermost(&self.new)) else {
            return false;
        };
        let by = new.cast_signed() - old.cast_signed();
        let steps = self.steps(|old, new| old >= from && new >= from);
        new == 0
            && by < 0
            && !steps.is_empty()
            && (!steps.contains(&0) || steps.first() == Some(&by))
    }

    /// By how many columns `new_str` has such pairs of lines deeper than `old_str`.
    fn steps(&self, is_such: impl Fn(usize, usize) -> bool) -> Vec<isize> {
        let step = |new: usize| {
            let is_full = |old: usize| !self.old[old].trim().is_empty();
            let old = self.partners[new].filter(|&old| is_such(old, new) && is_full(old))?;
            Some(depth(self.new[new]).cast_signed() - depth(self.old[old]).cast_signed())
        };
        (0..self.new.len()).filter_map(step).collect()
    }

    /// Whether `new_str` has lost the indentation of all its lines, or of only the first one.
    pub(super) fn new_lost_indent(&self) -> bool {
        let is_deep = |line: &str| depth(line) > 0;
        let is_full = |line: &&str| !line.trim().is_empty();
        let Some(first) = self.new.iter().position(is_full) else { return false };
        if is_deep(self.new[first]) {
            return false;
        }
        let is_alone = !self.partners.iter().flatten().any(|&old| self.keeps(old));
        let is_flat = self.new.len() > 1 && !self.new.iter().copied().filter(is_full).any(is_deep);
        let was_deep = self.partners[first].is_some_and(|old| is_deep(self.old[old]));
        let keeps_deep = |new: usize| {
            let is_kept = |old: usize| self.fates[old].0 == Fate::Kept;
            self.partners[new].is_some_and(is_kept) && is_deep(self.new[new])
        };
        (is_alone || is_flat) && self.old.iter().copied().filter(is_full).all(is_deep)
            || was_deep && (first + 1..self.new.len()).any(keeps_deep)
    }

    /// Whether the first line below such a head, which stays, is moved out of its block, and nothing is inside
    /// any more.
    pub(super) fn empties_block(&self, is_head: impl Fn(&str) -> bool) -> bool {
        let is_full = |line: &str| !line.trim().is_empty();
        let full = (0..self.old.len()).filter(|&old| is_full(self.old[old]));
        let kept = |old: usize| self.successor(old).filter(|_| self.keeps(old));
        full.clone().zip(full.skip(1)).any(|(head, inner)| {
            let (Some(at), Some(inner_at)) = (kept(head), kept(inner)) else { return false };
            let [old_head, old] = [head, inner].map(|old| indent_of(self.old[old]));
            let [head_there, there] = [at, inner_at].map(|new| indent_of(self.new[new]));
            let below = self.new[at + 1..].iter().find(|line| is_full(line));
            is_head(self.old[head].trim())
                && !self.old[inner].trim_start().starts_with("- ")
                && old.len() > old_head.len()
                && old.starts_with(old_head)
                && old.len() > there.len()
                && head_there.starts_with(there)
                && below.is_some_and(|below| depth(below) <= depth(head_there))
        })
    }

    /// Whether the call changes, removes or adds a line beside line `old`, blank lines aside.
    pub(super) fn changes_beside(&self, old: usize) -> bool {
        self.beside(old, |op| !matches!(op, LineOp::Keep(..))) != (false, false)
    }

    /// Whether the call adds a line above and below line `old`, blank lines aside.
    pub(super) fn adds_beside(&self, old: usize) -> (bool, bool) {
        self.beside(old, |op| matches!(op, LineOp::Insert(_)) && !self.is_blank(op))
    }

    /// Whether the call adds or deletes a line above and below line `old`, blank lines aside.
    pub(super) fn cuts_beside(&self, old: usize) -> (bool, bool) {
        let cuts = |op: &LineOp| matches!(op, LineOp::Insert(_) | LineOp::Delete(_));
        self.beside(old, |op| cuts(op) && !self.is_blank(op))
    }

    /// Whether there is such an operation above and below line `old`: those of the nearest line with text
    /// and of all blank ones up to it count.
    fn beside(&self, old: usize, is_such: impl Fn(&LineOp) -> bool) -> (bool, bool) {
        let is_at = |op: &LineOp| op.old_at() == Some(old);
        let Some(at) = self.ops.iter().position(is_at) else { return (true, true) };
        let ends = |op: &&LineOp| is_such(op) || !self.is_blank(op);
        let above = self.ops[..at].iter().rev().find(ends);
        let below = self.ops[at + 1..].iter().find(ends);
        (above.is_some_and(&is_such), below.is_some_and(&is_such))
    }
}
