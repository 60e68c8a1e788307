//! Finds and removes new lines that repeat the lines around the edit. The lines around it stay, so the
//! file would have them twice.

use crate::edit::Rewrite;
use crate::text::Snapshot;

use super::{LocatedEdit, Repair, is_blank};

impl Repair<'_> {
    /// Drops the first and the last lines of an edit if they are exact copies of the lines around it and
    /// enclose a block: the first ones open brackets that the last ones close.
    pub(super) fn drop_enclosing_copies(&mut self, at: usize) {
        let Some(language) = self.structure.language else { return };
        let (head, tail) = (self.echo_at_head(at), self.echo_at_tail(at));
        let lines = &self.edits[at].lines;
        if head == 0 || tail == 0 || head + tail >= lines.len() {
            return;
        }
        let (first, last) = (lines[..head].join("\n"), lines[lines.len() - tail..].join("\n"));
        let has_words = lines[..head]
            .iter()
            .any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 3);
        let opens_block = !language.lex(&first).unmatched.is_empty();
        let closes_block = language.lex(&format!("{first}\n{last}")).is_well_formed();
        if has_words && opens_block && closes_block {
            self.drop_echoes(at, (head, tail));
        }
    }

    /// Drops the first and the last lines of an edit that are exact copies of the lines around it, if these
    /// are hardly meant twice: the file has them once, and they are several, or one that says enough.
    pub(super) fn drop_telling_copies(&mut self, at: usize) {
        let span = self.edits[at].span;
        // A line beside which the caller inserts, and that it repeats, needs to say less.
        let enough = if span.is_empty() { 2 } else { 5 };
        let tail = self.echo_at_tail(at);
        let tail = if is_telling(self.file, span.end + 1, tail, enough) { tail } else { 0 };
        let head = self.echo_at_head(at);
        let head = if is_telling(self.file, span.start - head, head, enough) { head } else { 0 };
        let lines = &self.edits[at].lines;
        if head + tail == 0 || head + tail >= lines.len() {
            return;
        }
        let kept = lines[head..lines.len() - tail].to_vec();
        // An edit of nothing but copies may be meant to move lines.
        let is_edit = kept.iter().any(|line| !is_blank(line));
        if is_edit && !self.structure.is_broken_only_with(self.edits, at, &kept) {
            self.drop_echoes(at, (head, tail));
            let number = self.edits[at].number;
            self.log.warnings.push(format!(
                "edit {number}: to have them twice, insert them in an edit of their own"
            ));
        }
    }

    /// Removes the first `head` and the last `tail` lines of an edit, which repeat the lines around it.
    pub(super) fn drop_echoes(&mut self, at: usize, (head, tail): (usize, usize)) {
        let edit = &mut self.edits[at];
        let (number, before, after) = (edit.number, edit.span.start - 1, edit.span.end + 1);
        edit.lines.truncate(edit.lines.len() - tail);
        edit.lines.drain(..head);
        if tail > 0 {
            self.log.record(
            Rewrite::BoundaryEcho,
            format!("edit {number}: dropped its last {tail} line(s), which repeat the {tail} line(s) of the file from line {after} on"),
        );
        }
        if head > 0 {
            self.log.record(
            Rewrite::BoundaryEcho,
            format!("edit {number}: dropped its first {head} line(s), which repeat the {head} line(s) of the file that end at line {before}"),
        );
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
    edit.lines.len().saturating_sub(usize::from(edit.span.is_empty())).min(MAX_ECHO)
}

/// Whether two lines are equal, apart from whitespace at their ends.
fn same(old: Option<&str>, new: &str) -> bool {
    old.is_some_and(|old| old.trim_end() == new.trim_end())
}
