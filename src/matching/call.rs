//! A call under one reading: its lines, and what it does to each.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::diff::{LineOp, line_ops};
use super::fold::plain_key;
use super::indent::{TAB_WIDTH, columns};
use super::indent_of;
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
    fates: Vec<Fate>,
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
        let mut fates = vec![Fate::Deleted; old.len()];
        let mut partners = vec![None; new.len()];
        for op in &ops {
            match *op {
                LineOp::Keep(at, new_at) => {
                    (fates[at], partners[new_at]) = (Fate::Kept, Some(at));
                }
                LineOp::Change(at, new_at) => {
                    let is_moved = old[at].trim() == new[new_at].trim();
                    fates[at] = if is_moved { Fate::Moved } else { Fate::Changed };
                    partners[new_at] = Some(at);
                }
                LineOp::Delete(_) | LineOp::Insert(_) => {}
            }
        }
        let gone_names = OnceCell::new();
        Self { old, new, ops, fates, partners, ends_with_newline, gone_names }
    }

    /// What the call does to a line of `old_str`.
    pub(super) fn fate(&self, old: usize) -> Fate {
        self.fates[old]
    }

    /// Whether the words of a line of `old_str` stay.
    pub(super) fn keeps(&self, old: usize) -> bool {
        matches!(self.fates[old], Fate::Kept | Fate::Moved)
    }

    /// The line of `old_str` that a line of `new_str` is or replaces.
    pub(super) fn partner(&self, new: usize) -> Option<usize> {
        self.partners[new]
    }

    /// The names that `old_str` has and `new_str` has not.
    pub(super) fn gone_names(&self) -> &HashSet<u64> {
        self.gone_names.get_or_init(|| {
            let is_name = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit());
            let names = |lines: &[&str]| -> HashSet<u64> {
                lines.iter().flat_map(|line| words(line).filter(is_name)).map(plain_key).collect()
            };
            let new = names(&self.new);
            names(&self.old).into_iter().filter(|name| !new.contains(name)).collect()
        })
    }

    /// Whether the call indents all lines that it keeps otherwise, and not by one step: then `new_str` only
    /// has levels of another width, or none.
    pub(super) fn rescales(&self) -> bool {
        let width = |line: &str| columns(indent_of(line), TAB_WIDTH).cast_signed();
        let steps = self.partners.iter().enumerate().filter_map(|(new, old)| {
            let old = old.filter(|&old| self.keeps(old) && !self.old[old].trim().is_empty())?;
            Some(width(self.new[new]) - width(self.old[old]))
        });
        let steps: Vec<isize> = steps.collect();
        !steps.contains(&0) && steps.iter().any(|step| *step != steps[0])
    }

    /// Whether `new_str` has lost the indentation of its first line, where lines below keep theirs, or of
    /// all its lines.
    pub(super) fn new_lost_indent(&self) -> bool {
        let is_deep = |line: &str| line.starts_with([' ', '\t']);
        let is_full = |line: &&&str| !line.trim().is_empty();
        let mut new = self.new.iter().filter(is_full);
        let Some(first) = self.new.iter().position(|line| is_full(&line)) else { return false };
        let keeps = |new: usize| self.partner(new).is_some_and(|old| self.keeps(old));
        if is_deep(self.new[first]) {
            return false;
        }
        let is_alone = !(0..self.new.len()).any(keeps);
        let is_flat = !new.any(|line| is_deep(line)) && self.new.len() > 1;
        let keeps_depth = |new: usize| {
            let old = self.partner(new);
            old.is_some_and(|old| self.fates[old] == Fate::Kept) && is_deep(self.new[new])
        };
        let is_lost = self.partner(first).is_some_and(|old| is_deep(self.old[old]));
        self.old.iter().filter(is_full).all(|line| is_deep(line)) && (is_alone || is_flat)
            || is_lost && (first + 1..self.new.len()).any(keeps_depth)
    }

    /// Whether the call changes, removes or adds a line beside line `old`, blank lines aside.
    pub(super) fn changes_beside(&self, old: usize) -> bool {
        let changes = |op: &LineOp| match *op {
            LineOp::Keep(..) => false,
            LineOp::Change(at, _) => self.fates[at] != Fate::Moved,
            LineOp::Delete(_) | LineOp::Insert(_) => true,
        };
        self.beside(old, changes) != (false, false)
    }

    /// Whether the call adds a line above and below line `old`, blank lines aside.
    pub(super) fn adds_beside(&self, old: usize) -> (bool, bool) {
        self.beside(
            old,
            |op| matches!(op, LineOp::Insert(new) if !self.new[*new].trim().is_empty()),
        )
    }

    /// Whether there is such an operation above and below line `old`: those of the nearest line with text
    /// and of all blank ones up to it count.
    fn beside(&self, old: usize, is_such: impl Fn(&LineOp) -> bool) -> (bool, bool) {
        let is_at = |op: &LineOp| matches!(*op, LineOp::Keep(at, _) | LineOp::Change(at, _) | LineOp::Delete(at) if at == old);
        let Some(at) = self.ops.iter().position(is_at) else { return (true, true) };
        let is_blank = |op: &LineOp| match *op {
            LineOp::Keep(at, _) | LineOp::Change(at, _) | LineOp::Delete(at) => {
                self.old[at].trim().is_empty()
            }
            LineOp::Insert(at) => self.new[at].trim().is_empty(),
        };
        let is_on = |ops: &mut dyn Iterator<Item = &LineOp>| {
            for op in ops {
                if is_such(op) {
                    return true;
                }
                if !is_blank(op) {
                    return false;
                }
            }
            false
        };
        (is_on(&mut self.ops[..at].iter().rev()), is_on(&mut self.ops[at + 1..].iter()))
    }
}
