//! The merge: goes through the lines of a call at a candidate and writes the result, or records a
//! conflict where the call changes lines that differ in the file.

use std::collections::VecDeque;
use std::ops::Range;

use super::super::candidate::{Chunk, ChunkKind};
use super::super::diff::LineOp;
use super::super::fold::Fold;
use super::super::indent_of;
use super::super::indent_reading::IndentReading;
use super::super::source_file::Tolerance;
use super::super::tokens::{self, Merged};
use super::character_map::look_alikes;
use super::{BlankLinePlacement, ConflictHunk, MergeDraft, MergeInput, OutputLine};
use crate::text::LineEnding;

/// The state of a merge.
pub(super) struct Writer<'c, 'a, 't> {
    call: &'c MergeInput<'a, 't>,
    indent_reading: IndentReading,
    blank_lines: BlankLinePlacement,
    out: Vec<OutputLine>,
    hunks: Vec<ConflictHunk>,
    uses_blank_lines: bool,
    /// New lines (indices in `new`) that wait until the lines that they replace are deleted.
    inserts: Vec<usize>,
    /// What happened to the line above.
    above: LineStatus,
    /// The deleted lines that the next new lines replace.
    deleted: VecDeque<DeletedLine<'a>>,
}

/// A line that the call deletes: as the call has it, and as the file has it.
struct DeletedLine<'a> {
    old: &'a str,
    file: &'a str,
    ending: LineEnding,
}

impl DeletedLine<'_> {
    /// The new `line`, with the file's quotes or punctuation where this line of the file differs from
    /// the call's. `None` if they do not differ in a character of the new line.
    fn with_marks_of_file(&self, line: &str, tolerance: Tolerance) -> Option<String> {
        let last_char = |line: &str| line.trim_end().chars().next_back();
        let is_mark = |c: &char| matches!(c, ',' | ';');
        match tolerance {
            Tolerance::Punctuation => {
                let mark = last_char(self.file).filter(is_mark)?;
                let call_lacks_mark = last_char(self.old).filter(is_mark).is_none();
                let new_line_lacks_mark = last_char(line).is_some_and(|c| !is_mark(&c));
                (call_lacks_mark && new_line_lacks_mark)
                    .then(|| format!("{}{mark}", line.trim_end()))
            }
            Tolerance::LookAlikes | Tolerance::LookAlikesAndIndentation => {
                let pairs = look_alikes(self.old, self.file);
                let is_visible_ascii = |text: &str| text.is_ascii() && !text.trim().is_empty();
                let differ = |pair: &&(&str, &str)| pair.0 != pair.1 && is_visible_ascii(pair.0);
                let (from, first) = *pairs.iter().find(differ)?;
                let written: Vec<&str> =
                    pairs.iter().filter(|(a, _)| *a == from).map(|(_, b)| *b).collect();
                // If the file has different characters for it, the new line must have as many of them.
                let all_equal = written.iter().all(|to| *to == first);
                let mut parts = line.split(from);
                let mut out = parts.next()?.to_owned();
                let parts: Vec<&str> = parts.collect();
                if parts.is_empty() || !all_equal && parts.len() != written.len() {
                    return None;
                }
                for (at, part) in parts.into_iter().enumerate() {
                    out.push_str(written.get(at).copied().unwrap_or(first));
                    out.push_str(part);
                }
                Some(out)
            }
            _ => None,
        }
    }
}

/// What the call does to a line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineStatus {
    Kept,
    Changed,
    Deleted,
}

impl<'c, 'a, 't> Writer<'c, 'a, 't> {
    /// A merge that has written nothing yet.
    pub(super) fn new(
        call: &'c MergeInput<'a, 't>,
        indent_reading: IndentReading,
        blank_lines: BlankLinePlacement,
    ) -> Self {
        Self {
            call,
            indent_reading,
            blank_lines,
            out: Vec::new(),
            hunks: Vec::new(),
            uses_blank_lines: false,
            inserts: Vec::new(),
            above: LineStatus::Kept,
            deleted: VecDeque::new(),
        }
    }

    /// The merge. `None` if the indentation of a new line cannot be determined, or if blank lines are
    /// to be placed below new lines and there are none to place.
    pub(super) fn run(mut self) -> Option<MergeDraft> {
        let call = self.call;
        let chunks = &call.candidate.chunks;
        let mut next_chunk = 0;
        let mut at = 0;
        while at < call.line_ops.len() {
            let op = call.line_ops[at];
            let (old_at, status) = match op {
                LineOp::Insert(new_at) => {
                    self.inserts.push(new_at);
                    at += 1;
                    continue;
                }
                LineOp::Keep(old_at, _) => (old_at, LineStatus::Kept),
                LineOp::Change(old_at, _) => (old_at, LineStatus::Changed),
                LineOp::Delete(old_at) => (old_at, LineStatus::Deleted),
            };
            // The chunks before this line that only the file has.
            let mut gap = Vec::new();
            while let Some(chunk) = chunks.get(next_chunk).filter(|chunk| chunk.old.end <= old_at) {
                if chunk.old.is_empty() {
                    gap.push(chunk);
                }
                next_chunk += 1;
            }
            let chunk = chunks.get(next_chunk)?;
            let is_block = chunk.old.len() != 1 || chunk.lines.len() != 1;
            if is_block && chunk.kind != ChunkKind::Elided && !chunk.lines.is_empty() {
                let end = self.end_of_block(at, chunk);
                self.push_boundary(&gap, LineStatus::of_block(status, self.is_kept(at, end)))?;
                self.push_block(chunk, at, end)?;
                at = end;
                continue;
            }
            self.push_boundary(&gap, status)?;
            self.push_line(chunk, old_at, at)?;
            if !chunk.lines.is_empty() || status == LineStatus::Deleted {
                self.above = status;
            }
            at += 1;
        }
        self.push_boundary(&[], LineStatus::Kept)?;
        Some(MergeDraft {
            lines: self.out,
            hunks: self.hunks,
            uses_blank_lines: self.uses_blank_lines,
        })
        .filter(|draft| self.blank_lines == BlankLinePlacement::Above || draft.uses_blank_lines)
    }

    /// Whether the call keeps every line in this range of operations.
    fn is_kept(&self, from: usize, to: usize) -> bool {
        self.call.line_ops[from..to].iter().all(|op| matches!(op, LineOp::Keep(..)))
    }

    /// Where the line operations of a chunk of several lines end; they begin at `at`.
    fn end_of_block(&self, at: usize, chunk: &Chunk) -> usize {
        let within = |op: &LineOp| match *op {
            LineOp::Keep(old_at, _) | LineOp::Change(old_at, _) | LineOp::Delete(old_at) => {
                chunk.old.contains(&old_at)
            }
            LineOp::Insert(_) => true,
        };
        let mut end = at + self.call.line_ops[at..].iter().take_while(|op| within(op)).count();
        // New lines after the chunk's last line do not belong to it.
        while matches!(self.call.line_ops[end - 1], LineOp::Insert(_)) {
            end -= 1;
        }
        end
    }

    /// Writes a chunk in which call and file break the lines differently. `from..to` are its line
    /// operations.
    fn push_block(&mut self, chunk: &Chunk, from: usize, to: usize) -> Option<()> {
        let call = self.call;
        let text = call.candidate.text(chunk, call.file);
        let ending = call.file.lines()[chunk.lines.end - 1].ending;
        let line_ops = &call.line_ops[from..to];
        if self.is_kept(from, to) {
            self.push_text(text.to_owned(), Some(ending));
            self.above = LineStatus::Kept;
            return Some(());
        }
        self.above = LineStatus::Deleted;
        if line_ops.iter().all(|op| matches!(op, LineOp::Delete(_))) {
            return Some(());
        }
        self.above = LineStatus::Changed;
        let old = call.old[chunk.old.clone()].join("\n");
        let new: Vec<&str> = line_ops
            .iter()
            .filter_map(|op| match *op {
                LineOp::Keep(_, new_at) | LineOp::Change(_, new_at) | LineOp::Insert(new_at) => {
                    Some(call.new[new_at])
                }
                LineOp::Delete(_) => None,
            })
            .collect();
        // The words may change, but if the line breaks change as well, it is unclear which are meant.
        let same_breaks = new.len() == chunk.old.len() && !text.contains('\r');
        let new = new.join("\n");
        let [believed, found, wanted] = [old.as_str(), text, new.as_str()].map(str::trim_start);
        let fold = Some(Fold::Spacing);
        match tokens::merge(believed, found, wanted, fold, call.file.language) {
            Some(Merged::Certain(merged)) if same_breaks => {
                let head = if chunk.from_start { indent_of(text) } else { "" };
                self.push_text(format!("{head}{merged}"), Some(ending));
            }
            _ => self.push_conflict(chunk.lines.clone(), &old, text, &new),
        }
        Some(())
    }

    /// Writes line `old_at` of the call, which `chunk` pairs with a line of the file or with none. `at`
    /// is the index of its line operation.
    fn push_line(&mut self, chunk: &Chunk, old_at: usize, at: usize) -> Option<()> {
        let call = self.call;
        let op = call.line_ops[at];
        let text = call.candidate.text(chunk, call.file);
        let ending = chunk.lines.end.checked_sub(1).map(|line| call.file.lines()[line].ending);
        let is_same = chunk.kind == ChunkKind::Same;
        match op {
            _ if chunk.lines.is_empty() => {
                // If only the call has a blank line, a change of that line is a new line.
                if let LineOp::Change(old_at, new_at) = op {
                    if call.old[old_at].trim().is_empty() {
                        self.inserts.push(new_at);
                    } else {
                        let next_line = self.next_line();
                        self.push_conflict(
                            next_line..next_line,
                            call.old[old_at],
                            "",
                            call.new[new_at],
                        );
                    }
                } else if let (LineOp::Delete(old_at), false) =
                    (op, call.old[old_at].trim().is_empty())
                {
                    let next_line = self.next_line();
                    self.push_conflict(next_line..next_line, call.old[old_at], "", "");
                }
            }
            LineOp::Keep(_, new_at) => {
                let sent = self.with_closing_mark_of_call(at, text, call.new[new_at]);
                let text = match self.indent_reading == IndentReading::AllAsSent && chunk.from_start
                {
                    true => format!("{}{}", indent_of(call.new[new_at]), text.trim_start()),
                    false => text.to_owned(),
                };
                self.out.push(OutputLine::Text { text, sent, ending });
            }
            LineOp::Delete(_) if is_same || chunk.kind == ChunkKind::Elided => {
                let old = call.old[old_at];
                self.deleted.extend(ending.map(|ending| DeletedLine { old, file: text, ending }));
            }
            LineOp::Delete(_) => {
                self.push_conflict(chunk.lines.clone(), call.old[old_at], text, "")
            }
            LineOp::Change(_, new_at) if is_same => {
                let (text, sent) = match self.changed_line(old_at, chunk, new_at)? {
                    Merged::Certain(text) => {
                        let sent = self.with_closing_mark_of_call(at, &text, call.new[new_at]);
                        (text, sent)
                    }
                    Merged::Ambiguous(text, sent) => (text, Some(sent)),
                };
                self.out.push(OutputLine::Text { text, sent, ending });
            }
            LineOp::Change(_, new_at) => {
                self.push_conflict(chunk.lines.clone(), call.old[old_at], text, call.new[new_at])
            }
            LineOp::Insert(_) => {}
        }
        Some(())
    }

    /// The line with the closing `,` or `;` of the call, if the file has a different one and lines are
    /// added or removed next to it, so that either may be right.
    fn with_closing_mark_of_call(&self, at: usize, line: &str, new: &str) -> Option<String> {
        let mark =
            |line: &str| line.trim_end().chars().next_back().filter(|c| matches!(c, ',' | ';'));
        let is_inserted_or_deleted =
            |op: Option<&LineOp>| matches!(op, Some(LineOp::Insert(_) | LineOp::Delete(_)));
        let line_ops = &self.call.line_ops;
        let neighbour_changes = is_inserted_or_deleted(line_ops.get(at + 1))
            || at.checked_sub(1).is_some_and(|at| is_inserted_or_deleted(line_ops.get(at)));
        if mark(line) == mark(new)
            || !neighbour_changes
            || self.call.candidate.tolerance != Tolerance::Punctuation
        {
            return None;
        }
        let bare = line.trim_end().trim_end_matches([',', ';']);
        Some(bare.chars().chain(mark(new)).collect())
    }

    /// The line of the file (from 0) that would come next.
    fn next_line(&self) -> usize {
        self.call.candidate.lines().start + self.out.len()
    }

    /// Writes a line that is certain.
    fn push_text(&mut self, text: String, ending: Option<LineEnding>) {
        self.out.push(OutputLine::Text { text, sent: None, ending });
    }

    /// Records that the call wants to write `wanted` for `believed` where the file has `found`.
    fn push_conflict(&mut self, lines: Range<usize>, believed: &str, found: &str, wanted: &str) {
        // Conflicts in neighbouring lines become one.
        if let (Some(OutputLine::Conflict(at)), true) = (self.out.last(), self.inserts.is_empty()) {
            let hunk = &mut self.hunks[*at];
            if hunk.lines.end == lines.start || lines.is_empty() {
                hunk.lines.end = hunk.lines.end.max(lines.end);
                for (text, more) in [
                    (&mut hunk.believed, believed),
                    (&mut hunk.found, found),
                    (&mut hunk.wanted, wanted),
                ] {
                    if !more.is_empty() {
                        if !text.is_empty() {
                            text.push('\n');
                        }
                        text.push_str(more);
                    }
                }
                return;
            }
        }
        self.out.push(OutputLine::Conflict(self.hunks.len()));
        let [believed, found, wanted] = [believed, found, wanted].map(str::to_owned);
        self.hunks.push(ConflictHunk { lines, believed, found, wanted });
    }

    /// Writes what comes between two lines of the call: the lines in `gap`, which only the file has,
    /// and new lines. `None` if the indentation of a new line cannot be determined.
    fn push_boundary(&mut self, gap: &[&Chunk], below: LineStatus) -> Option<()> {
        let call = self.call;
        // A line that only the file has is safe next to one changed line. New lines could go on
        // either side of it, and it may belong to a block that is deleted or changed.
        let next_to_deleted = self.above == LineStatus::Deleted || below == LineStatus::Deleted;
        let inside_change = self.above != LineStatus::Kept && below != LineStatus::Kept;
        let gap_conflicts = !self.inserts.is_empty() || next_to_deleted || inside_change;
        for chunk in gap {
            let text = call.candidate.text(chunk, call.file);
            if gap_conflicts && !text.trim().is_empty() {
                let wanted: Vec<&str> =
                    self.inserts.drain(..).map(|new_at| call.new[new_at]).collect();
                self.push_conflict(chunk.lines.clone(), "", text, &wanted.join("\n"));
                return Some(());
            }
        }
        let gap_stays = self.above != LineStatus::Deleted || below != LineStatus::Deleted;
        let gap_lines: Vec<usize> =
            gap.iter().filter(|_| gap_stays).flat_map(|c| c.lines.clone()).collect();
        // New lines wait until the lines that they replace are deleted.
        if !self.inserts.is_empty() && below == LineStatus::Deleted && gap_lines.is_empty() {
            return Some(());
        }
        if below != LineStatus::Deleted && self.inserts.is_empty() {
            self.deleted.clear();
        }
        self.uses_blank_lines |= !gap_lines.is_empty() && !self.inserts.is_empty();
        let file_line = |at: &usize| OutputLine::Text {
            text: call.file.body(*at).to_owned(),
            sent: None,
            ending: Some(call.file.lines()[*at].ending),
        };
        if self.blank_lines == BlankLinePlacement::Above {
            self.out.extend(gap_lines.iter().map(file_line));
        }
        // If as many lines are added as removed, each old line shows how the file writes characters
        // that the call writes differently. It is unclear whether the new line should have them.
        let line_for_line = self.inserts.len() == self.deleted.len();
        for new_at in std::mem::take(&mut self.inserts) {
            let text = self.inserted_line(new_at)?;
            let replaced = self.deleted.pop_front();
            let ending = replaced.as_ref().map(|deleted| deleted.ending);
            let with_file_marks = replaced
                .filter(|_| line_for_line)
                .and_then(|deleted| deleted.with_marks_of_file(&text, call.candidate.tolerance));
            self.out.push(match with_file_marks {
                Some(with_file_marks) => {
                    OutputLine::Text { text: with_file_marks, sent: Some(text), ending }
                }
                None => OutputLine::Text { text, sent: None, ending },
            });
        }
        if self.blank_lines == BlankLinePlacement::Below {
            self.out.extend(gap_lines.iter().map(file_line));
        }
        Some(())
    }

    /// A new line: as sent, except for its indentation.
    fn inserted_line(&self, new_at: usize) -> Option<String> {
        let call = self.call;
        let line = call.new[new_at];
        if line.trim().is_empty() {
            return Some(line.to_owned());
        }
        let inside_line =
            self.out.is_empty() && call.candidate.chunks.first().is_some_and(|c| !c.from_start);
        let head = match inside_line {
            true => indent_of(line).to_owned(),
            false => self.indent_reading.apply(call, new_at)?,
        };
        Some(format!("{head}{}", &line[indent_of(line).len()..]))
    }

    /// Line `old_at` of `old` changed to line `new_at` of `new`, merged into the line of the file.
    fn changed_line(&self, old_at: usize, chunk: &Chunk, new_at: usize) -> Option<Merged> {
        let call = self.call;
        let (old, new, file) =
            (call.old[old_at], call.new[new_at], call.candidate.text(chunk, call.file));
        if new.trim().is_empty() {
            return Some(Merged::Certain(new.to_owned()));
        }
        let (old_indent, new_indent) = (indent_of(old), indent_of(new));
        let head = if !chunk.from_start {
            new_indent.strip_prefix(old_indent).unwrap_or_default().to_owned()
        } else if old_indent == new_indent && self.indent_reading != IndentReading::AllAsSent {
            indent_of(file).to_owned()
        } else {
            self.indent_reading.apply(call, new_at)?
        };
        let body = |line: &'_ str| line[indent_of(line).len()..].to_owned();
        let fold = call.candidate.tolerance.fold();
        let (old, file, new) =
            (body(old), if chunk.from_start { body(file) } else { file.to_owned() }, body(new));
        Some(match tokens::merge(&old, &file, &new, fold, call.file.language) {
            Some(Merged::Certain(text)) => Merged::Certain(head + &text),
            Some(Merged::Ambiguous(text, sent)) => {
                Merged::Ambiguous(format!("{head}{text}"), head + &sent)
            }
            // Lines that are too long to be merged by tokens are written as sent.
            None => Merged::Certain(head + &new),
        })
    }
}

impl LineStatus {
    /// The status of a block whose first line has the status `first`. `is_kept` says whether the call
    /// keeps all lines of the block.
    fn of_block(first: Self, is_kept: bool) -> Self {
        match (is_kept, first) {
            (true, _) => Self::Kept,
            (false, Self::Deleted) => Self::Deleted,
            (false, _) => Self::Changed,
        }
    }
}
