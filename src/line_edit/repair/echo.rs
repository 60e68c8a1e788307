//! Finds and removes new lines that repeat the lines around the edit. The lines around it stay, so the
//! file would have them twice.

use crate::edit::Rewrite;
use crate::text::Snapshot;

use super::{LocatedEdit, Repair, is_blank};

impl Repair<'_> {
    /// Drops the first and the last lines of an edit that are exact copies of the lines around it, if these
    /// are hardly meant twice: the file has them once, and they are several, or one that says enough. The
    /// copy on the other side, such as a brace that closes the block, goes too if only that leaves the file
    /// well formed.
    pub(super) fn drop_copies(&mut self, at: usize) {
        let span = self.edits[at].span;
        // A line beside which the caller inserts, and that it repeats, needs to say less.
        let enough = if span.end < span.start { 2 } else { 5 };
        let (head, tail) = (self.echo_at_head(at), self.echo_at_tail(at));
        let says_enough = |start, count| is_telling(self.file, start, count, enough);
        let telling_head = if says_enough(span.start - head, head) { head } else { 0 };
        let telling_tail = if says_enough(span.end + 1, tail) { tail } else { 0 };
        let telling = (telling_head, telling_tail);
        if telling == (0, 0) {
            return;
        }
        for (head, tail) in [telling, (head, tail)] {
            let lines = &self.edits[at].lines;
            let kept = lines.get(head..lines.len() - tail).unwrap_or_default().to_vec();
            // An edit of nothing but copies may be meant to move lines.
            let is_edit = kept.iter().any(|line| !is_blank(line));
            let is_fine = if (head, tail) == telling {
                !self.structure.is_broken_only_with(self.edits, at, &kept)
            } else {
                self.structure.is_well_formed_with(self.edits, at, &kept) == Some(true)
            };
            if is_edit && is_fine {
                self.drop_echoes(at, (head, tail));
                let number = self.edits[at].number;
                self.log.warnings.push(format!(
                    "edit {number}: to have them twice, insert them in an edit of their own"
                ));
                return;
            }
        }
    }

    /// Removes the first `head` and the last `tail` lines of an edit, which repeat the lines around it.
    pub(super) fn drop_echoes(&mut self, at: usize, (head, tail): (usize, usize)) {
        let edit = &mut self.edits[at];
        let (number, before, after) = (edit.number, edit.span.start - 1, edit.span.end + 1);
        edit.lines.truncate(edit.lines.len() - tail);
        edit.lines.drain(..head);
        for (count, side, place) in [
            (tail, "last", format!("from line {after} on")),
            (head, "first", format!("that end at line {before}")),
        ] {
            if count > 0 {
                self.log.record(
                    Rewrite::BoundaryEcho,
                    format!("edit {number}: dropped its {side} {count} line(s), which repeat the {count} line(s) of the file {place}"),
                );
            }
        }
    }

    /// How many of an edit's last lines repeat the lines below it, which stay.
    pub(super) fn echo_at_tail(&self, at: usize) -> usize {
        let edit = &self.edits[at];
        (1..=max_echo(edit))
            .rev()
            .find(|&count| {
                let tail = &edit.lines[edit.lines.len() - count..];
                tail.iter().enumerate().all(|(offset, line)| {
                    let number = edit.span.end + 1 + offset;
                    self.is_kept(number) && same(self.file.line(number), line)
                })
            })
            .unwrap_or(0)
    }

    /// How many of an edit's first lines repeat the lines above it, which stay.
    pub(super) fn echo_at_head(&self, at: usize) -> usize {
        let edit = &self.edits[at];
        (1..=max_echo(edit).min(edit.span.start - 1))
            .rev()
            .find(|&count| {
                edit.lines[..count].iter().enumerate().all(|(offset, line)| {
                    let number = edit.span.start - count + offset;
                    self.is_kept(number) && same(self.file.line(number), line)
                })
            })
            .unwrap_or(0)
    }
}

/// Whether the `count` lines of the file from `start` on stand there only, and are several lines with
/// words, or one with at least `enough` letters and digits.
fn is_telling(file: &Snapshot, start: usize, count: usize, enough: usize) -> bool {
    let line = |number: usize| file.line(number).map(str::trim_end);
    let closes_block =
        |line: &str| ["</", "end"].iter().any(|word| line.trim_start().starts_with(word));
    let letters = |line: &str| match closes_block(line) {
        true => 0,
        false => line.chars().filter(|c| c.is_alphanumeric()).count(),
    };
    let counts: Vec<usize> =
        (start..start + count).filter_map(line).map(letters).filter(|count| *count > 0).collect();
    let says_enough = match counts.as_slice() {
        [] => false,
        [only] => *only >= enough,
        _ => true,
    };
    let is_copy = |other: usize| (0..count).all(|k| line(other + k) == line(start + k));
    says_enough && (1..=file.lines().total()).filter(|other| is_copy(*other)).nth(1).is_none()
}

/// The longest copy of the surrounding lines that is searched for.
const MAX_ECHO: usize = 20;

/// How many lines of an edit may count as copies: all of them, but of an insertion all except one.
fn max_echo(edit: &LocatedEdit) -> usize {
    let is_insertion = edit.span.end < edit.span.start;
    edit.lines.len().saturating_sub(usize::from(is_insertion)).min(MAX_ECHO)
}

/// Whether two lines are equal, apart from whitespace at their ends.
fn same(old: Option<&str>, new: &str) -> bool {
    old.is_some_and(|old| old.trim_end() == new.trim_end())
}
