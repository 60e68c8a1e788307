//! What a call writes at a place: the merge of `old_str`, `new_str` and the file. Text that the call
//! keeps stays as the file has it; text that it changes is written; new lines are the caller's, except
//! for their indentation and line ending. Where the call would overwrite what `old_str` does not have,
//! there is a conflict.

use std::collections::VecDeque;
use std::ops::Range;

use super::call::{Call, Fate};
use super::costs::Difference;
use super::diff::{LineOp, MIN_SIMILARITY};
use super::difference::is_made;
use super::fold::is_word_char;
use super::indent_of;
use super::maps::IndentMap;
use super::places::{Link, LinkKind, Place, Words};
use super::source_file::SourceFile;
use super::tokens::{self, Merged};
use crate::edit::Splice;
use crate::text::LineEnding;

/// Lines that the call changes and that differ in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConflictHunk {
    /// Lines of the file, from 0.
    pub(super) lines: Range<usize>,
    /// What the call believed to be there.
    pub(super) believed: String,
    /// What is there.
    pub(super) found: String,
}

/// What the lines of the call do not decide: each combination is a result of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    /// New lines go below a blank line that only the file has there.
    pub(super) below_blank: bool,
    /// Changed lines have the quotes and closing marks of `new_str`, not those of the file.
    pub(super) marks_as_sent: bool,
}

impl Choice {
    pub(super) const ALL: [Self; 4] = [
        Self { below_blank: false, marks_as_sent: false },
        Self { below_blank: true, marks_as_sent: false },
        Self { below_blank: false, marks_as_sent: true },
        Self { below_blank: true, marks_as_sent: true },
    ];

    /// How it reads the call, in words.
    pub(super) fn how(self) -> Option<&'static str> {
        match (self.below_blank, self.marks_as_sent) {
            (false, false) => None,
            (true, false) => Some("new lines above the file's blank line"),
            (false, true) => Some("changed lines with the quotes and punctuation of the new text"),
            (true, true) => Some(
                "new lines above the file's blank line, changed lines with the quotes and punctuation of the new text",
            ),
        }
    }
}

/// A call at a place, with how each line differs there.
pub(super) struct Input<'c, 'a, 'f, 't> {
    pub(super) file: &'f SourceFile<'t>,
    pub(super) call: &'c Call<'a>,
    pub(super) place: &'c Place,
    /// For each link, how its lines differ apart from indentation.
    pub(super) differences: &'c [Option<Difference>],
    /// Whether the call ends lines in blanks that the file does not have, in all its lines.
    pub(super) is_padded: bool,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Written {
    Text {
        splice: Splice,
        /// The choices that made a difference.
        used: Choice,
    },
    Conflict(Vec<ConflictHunk>),
}

/// Merges the call at the place.
pub(super) fn write(input: &Input<'_, '_, '_, '_>, map: &IndentMap, choice: Choice) -> Written {
    let mut writer = Writer {
        input,
        map,
        choice,
        out: Vec::new(),
        hunks: Vec::new(),
        used: Choice { below_blank: false, marks_as_sent: false },
        inserts: Vec::new(),
        above: Status::Kept,
        deleted: VecDeque::new(),
        blank_above: 0,
    };
    writer.run();
    if !writer.hunks.is_empty() {
        return Written::Conflict(writer.hunks);
    }
    Written::Text { splice: writer.compose(), used: writer.used }
}

/// A line of the result; no ending means that of the lines around the place.
struct OutputLine {
    text: String,
    ending: Option<LineEnding>,
}

/// What happened to a line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Kept,
    Changed,
    Deleted,
}

/// Whether a blank at an end of the quote, which the file does not have there, may hold apart what would be
/// joined without it: `new` begins or ends with another kind of character than `old`.
fn joins_words(file: &SourceFile<'_>, link: &Link, old: &str, new: &str) -> bool {
    let kind = |c: Option<char>| c.map(|c| if is_word_char(c) { 'a' } else { c });
    let [from, to] = [old, new].map(str::trim);
    let is_padded = |rest: &str| rest.len() < old.len();
    !link.starts_line(file)
        && is_padded(old.trim_start())
        && kind(from.chars().next()) != kind(to.chars().next())
        || !link.ends_line(file)
            && is_padded(old.trim_end())
            && kind(from.chars().next_back()) != kind(to.chars().next_back())
}

struct Writer<'i, 'c, 'a, 'f, 't> {
    input: &'i Input<'c, 'a, 'f, 't>,
    map: &'i IndentMap,
    choice: Choice,
    out: Vec<OutputLine>,
    hunks: Vec<ConflictHunk>,
    used: Choice,
    /// New lines that wait until the lines that they replace are deleted.
    inserts: Vec<usize>,
    above: Status,
    /// The endings of the deleted lines that the next new lines replace.
    deleted: VecDeque<LineEnding>,
    /// How many blank lines that only the file has stand above these.
    blank_above: usize,
}

impl<'i> Writer<'i, '_, '_, '_, '_> {
    fn run(&mut self) {
        let (call, links) = (self.input.call, &self.input.place.links);
        let mut next_link = 0;
        let mut at = 0;
        while at < call.ops.len() {
            if let Some(end) = self.write_counted_blank_lines(at, &mut next_link) {
                at = end;
                continue;
            }
            let (old_at, status) = match call.ops[at] {
                LineOp::Insert(new_at) => {
                    self.inserts.push(new_at);
                    at += 1;
                    continue;
                }
                LineOp::Keep(old_at, _) => (old_at, Status::Kept),
                LineOp::Change(old_at, _) => (old_at, Status::Changed),
                LineOp::Delete(old_at) => (old_at, Status::Deleted),
            };
            // The lines before this one that only the file has.
            let mut gap = Vec::new();
            while let Some(link) = links.get(next_link).filter(|link| link.old.end <= old_at) {
                if link.old.is_empty() {
                    gap.push(link);
                }
                next_link += 1;
            }
            let Some(link) = links.get(next_link) else { break };
            if link.kind == LinkKind::Reflowed {
                let end = self.end_of_block(at, link);
                let kept = self.is_kept(at, end);
                self.write_boundary(
                    &gap,
                    if kept {
                        Status::Kept
                    } else if status == Status::Deleted {
                        status
                    } else {
                        Status::Changed
                    },
                );
                self.write_block(link, at, end, kept);
                at = end;
                continue;
            }
            self.write_boundary(&gap, status);
            self.write_line(next_link, old_at, at);
            if !link.lines.is_empty() || status == Status::Deleted {
                self.above = status;
            }
            at += 1;
        }
        // A new line below a deleted one has nothing to wait for.
        self.write_boundary(&[], Status::Kept);
    }

    /// Writes a run of blank lines whose number the call changes, but does not know: it gets the number
    /// that `new_str` has. Returns where the operations of the run end.
    fn write_counted_blank_lines(&mut self, at: usize, next_link: &mut usize) -> Option<usize> {
        let Input { file, call, place, .. } = *self.input;
        let is_blank = |op: &LineOp| match *op {
            LineOp::Keep(old, _) | LineOp::Change(old, _) | LineOp::Delete(old) => {
                call.old[old].trim().is_empty()
            }
            LineOp::Insert(new) => call.new[new].trim().is_empty(),
        };
        let run = call.ops[at..].iter().take_while(|op| is_blank(op)).count();
        let ends = |op: Option<&LineOp>| matches!(op, Some(LineOp::Keep(..) | LineOp::Change(..)));
        if run == 0
            || at == 0
            || !ends(call.ops.get(at - 1))
            || !ends(call.ops.get(at + run))
            || !self.inserts.is_empty()
        {
            return None;
        }
        let ops = &call.ops[at..at + run];
        let old = ops.iter().filter(|op| !matches!(op, LineOp::Insert(_))).count();
        let new = ops.iter().filter(|op| !matches!(op, LineOp::Delete(_))).count();
        let (
            Some(LineOp::Keep(above, _) | LineOp::Change(above, _)),
            Some(LineOp::Keep(below, _) | LineOp::Change(below, _)),
        ) = (call.ops.get(at - 1), call.ops.get(at + run))
        else {
            return None;
        };
        let (above, below) = (place.link_at(*above)?, place.link_at(*below)?);
        if old == new || above.lines.is_empty() || below.lines.is_empty() {
            return None;
        }
        let there = above.lines.end..below.lines.start;
        if there.len() == old || !there.clone().all(|line| file.is_blank(line)) {
            return None;
        }
        for n in 0..new {
            let line = there.start + n;
            let (text, ending) = match there.contains(&line) {
                true => (file.body(line).to_owned(), Some(file.lines()[line].ending)),
                false => (String::new(), None),
            };
            self.out.push(OutputLine { text, ending });
        }
        while place.links.get(*next_link).is_some_and(|link| {
            link.old.end <= below.old.start && link.lines.end <= below.lines.start
        }) {
            *next_link += 1;
        }
        Some(at + run)
    }

    /// Whether the call keeps every line in this range of operations.
    fn is_kept(&self, from: usize, to: usize) -> bool {
        self.input.call.ops[from..to].iter().all(|op| matches!(op, LineOp::Keep(..)))
    }

    /// Where the operations of a link of several lines end; they begin at `at`.
    fn end_of_block(&self, at: usize, link: &Link) -> usize {
        let ops = &self.input.call.ops;
        let within = |op: &&LineOp| match **op {
            LineOp::Keep(old, _) | LineOp::Change(old, _) | LineOp::Delete(old) => {
                link.old.contains(&old)
            }
            LineOp::Insert(_) => true,
        };
        let mut end = at + ops[at..].iter().take_while(within).count();
        // New lines after the last line of the link do not belong to it.
        while matches!(ops[end - 1], LineOp::Insert(_)) {
            end -= 1;
        }
        end
    }

    /// The text that a link matches in the file.
    fn text(&self, link: &Link) -> &'i str {
        &self.input.file.text[link.bytes.clone()]
    }

    /// Writes a link in which call and file break the lines differently. `from..to` are its operations.
    fn write_block(&mut self, link: &Link, from: usize, to: usize, kept: bool) {
        let Input { file, call, .. } = *self.input;
        let text = self.text(link);
        let ending = file.lines()[link.lines.end - 1].ending;
        if kept {
            self.push(text.to_owned(), Some(ending));
            self.above = Status::Kept;
            return;
        }
        let ops = &call.ops[from..to];
        if ops.iter().all(|op| matches!(op, LineOp::Delete(_))) {
            self.above = Status::Deleted;
            return;
        }
        self.above = Status::Changed;
        let old = call.old[link.old.clone()].join("\n");
        let new: Vec<&str> = ops
            .iter()
            .filter_map(|op| match *op {
                LineOp::Keep(_, at) | LineOp::Change(_, at) | LineOp::Insert(at) => {
                    Some(call.new[at])
                }
                LineOp::Delete(_) => None,
            })
            .collect();
        // The words may change, but if the line breaks change as well, it is unclear which are meant.
        let same_breaks = new.len() == link.old.len();
        let new = new.join("\n");
        let found = text.replace('\r', "");
        let [believed, there, wanted] =
            [old.as_str(), found.as_str(), new.as_str()].map(str::trim_start);
        let fold = Some(Difference::Reflow);
        // A statement that becomes a comment is another one.
        let is_comment =
            |text: &str| file.language.is_some_and(|language| language.is_comment(text));
        let same_kind = is_comment(believed) == is_comment(wanted);
        match tokens::merge(believed, there, wanted, fold, file.language) {
            Some(Merged::Certain(merged)) if same_breaks && same_kind => {
                let head = if link.starts_line(file) { indent_of(text) } else { "" };
                let merged =
                    if text.contains("\r\n") { merged.replace('\n', "\r\n") } else { merged };
                self.push(format!("{head}{merged}"), Some(ending));
            }
            // Otherwise the statement is replaced as a whole, by the lines of the call.
            _ => {
                let from_start = link.starts_line(file);
                let mut is_first = true;
                for op in ops {
                    let (LineOp::Keep(_, new_at)
                    | LineOp::Change(_, new_at)
                    | LineOp::Insert(new_at)) = *op
                    else {
                        continue;
                    };
                    let line = call.new[new_at];
                    let head = match std::mem::take(&mut is_first) && !from_start {
                        true => indent_of(line),
                        false => &self.map.indents[new_at],
                    };
                    let line = format!("{head}{}", &line[indent_of(line).len()..]);
                    self.push(line, Some(ending));
                }
            }
        }
    }

    /// Writes line `old_at` of the call, which the link with this index pairs with a line of the file or
    /// with none. `at` is the index of its operation.
    fn write_line(&mut self, link_at: usize, old_at: usize, at: usize) {
        let Input { file, call, place, differences, .. } = *self.input;
        let link = &place.links[link_at];
        let op = call.ops[at];
        let text = self.text(link);
        let ending = link.lines.end.checked_sub(1).map(|line| file.lines()[line].ending);
        let differs = matches!(differences[link_at], Some(Difference::Words | Difference::Comment));
        let is_blank = call.old[old_at].trim().is_empty();
        if link.kind == LinkKind::Elided {
            // What a placeholder stands for stays, once.
            if link.old.start == old_at && !link.lines.is_empty() {
                self.push(text.to_owned(), ending);
            }
            return;
        }
        if link.lines.is_empty() {
            match op {
                // If only the call has a blank line, a change of that line is a new line.
                LineOp::Change(_, new_at) if is_blank => self.inserts.push(new_at),
                LineOp::Change(..) | LineOp::Delete(_) if !is_blank => {
                    let line = place.lines().start + self.out.len();
                    self.push_conflict(line..line, call.old[old_at], "");
                }
                _ => {}
            }
            return;
        }
        match op {
            LineOp::Keep(_, new_at) => {
                let text = self.with_closing_mark_of_call(link_at, at, text, call.new[new_at]);
                let moved = self.map.moves_kept && link.starts_line(file) && !is_blank;
                let text = match moved {
                    true => {
                        format!("{}{}", self.map.indents[new_at], &text[indent_of(&text).len()..])
                    }
                    false => text,
                };
                self.push(text, ending);
            }
            LineOp::Change(_, new_at)
                if differs
                    && is_made(file, call, link)
                    && self.indent(link, old_at, new_at) == indent_of(text) =>
            {
                self.push(text.to_owned(), ending)
            }
            LineOp::Delete(_) if !differs => {
                self.deleted.extend(ending);
            }
            LineOp::Change(_, new_at)
                if joins_words(file, link, call.old[old_at], call.new[new_at]) =>
            {
                self.push_conflict(link.lines.clone(), call.old[old_at], text);
            }
            LineOp::Change(_, new_at) if !differs || call.fate(old_at) == Fate::Moved => {
                let line = match differs {
                    true => format!("{}{}", self.indent(link, old_at, new_at), text.trim_start()),
                    false => self.changed_line(link_at, old_at, new_at),
                };
                let line = self.with_closing_mark_of_call(link_at, at, &line, call.new[new_at]);
                self.push(line, ending);
            }
            LineOp::Change(..) | LineOp::Delete(_) => {
                self.push_conflict(link.lines.clone(), call.old[old_at], text);
            }
            LineOp::Insert(_) => {}
        }
    }

    /// The line with the closing `,` or `;` of the call, where the file has a different one, lines are
    /// added or removed below it, and this choice takes marks as they were sent.
    fn with_closing_mark_of_call(
        &mut self,
        link_at: usize,
        at: usize,
        line: &str,
        new: &str,
    ) -> String {
        let mark =
            |line: &str| line.trim_end().chars().next_back().filter(|c| matches!(c, ',' | ';'));
        let is_new_or_gone =
            |op: Option<&LineOp>| matches!(op, Some(LineOp::Insert(_) | LineOp::Delete(_)));
        let ops = &self.input.call.ops;
        let neighbour_changes = is_new_or_gone(ops.get(at + 1));
        if mark(line) == mark(new)
            || !neighbour_changes
            || self.input.differences[link_at] != Some(Difference::Punctuation)
        {
            return line.to_owned();
        }
        self.used.marks_as_sent = true;
        if !self.choice.marks_as_sent {
            return line.to_owned();
        }
        let bare = line.trim_end().trim_end_matches([',', ';']);
        bare.chars().chain(mark(new)).collect()
    }

    /// Writes a line that is certain.
    fn push(&mut self, text: String, ending: Option<LineEnding>) {
        self.out.push(OutputLine { text, ending });
    }

    /// Records that the file has `found` where the call changes `believed`.
    fn push_conflict(&mut self, lines: Range<usize>, believed: &str, found: &str) {
        if let Some(hunk) = self.hunks.last_mut()
            && (hunk.lines.end == lines.start || lines.is_empty())
        {
            // Conflicts in neighbouring lines are one.
            hunk.lines.end = hunk.lines.end.max(lines.end);
            for (text, more) in [(&mut hunk.believed, believed), (&mut hunk.found, found)] {
                if !more.is_empty() {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(more);
                }
            }
            return;
        }
        let [believed, found] = [believed, found].map(str::to_owned);
        self.hunks.push(ConflictHunk { lines, believed, found });
    }

    /// Writes what comes between two lines of the call: the lines in `gap`, which only the file has, and
    /// new lines.
    fn write_boundary(&mut self, gap: &[&Link], below: Status) {
        let file = self.input.file;
        // A line that only the file has is safe between kept lines. New lines could go on either side of
        // it, and it may belong to what is deleted or changed; a comment is safe beside a changed line.
        let is_comment = gap.iter().all(|link| {
            link.lines.clone().all(|line| file.is_blank(line) || file.is_comment(line))
        });
        let is_safe = |status| status == Status::Kept || is_comment && status == Status::Changed;
        let beside_change = !self.inserts.is_empty() || !is_safe(self.above) || !is_safe(below);
        for link in gap {
            let text = self.text(link);
            if beside_change && !text.trim().is_empty() {
                self.inserts.clear();
                self.push_conflict(link.lines.clone(), "", text);
                return;
            }
        }
        let gap_stays = self.above != Status::Deleted || below != Status::Deleted;
        let gap_lines: Vec<usize> =
            gap.iter().filter(|_| gap_stays).flat_map(|link| link.lines.clone()).collect();
        // New lines wait until the lines that they replace are deleted.
        if !self.inserts.is_empty() && below == Status::Deleted && gap_lines.is_empty() {
            return;
        }
        if below != Status::Deleted && self.inserts.is_empty() {
            self.deleted.clear();
        }
        self.used.below_blank |= !gap_lines.is_empty() && !self.inserts.is_empty();
        let push_gap = |out: &mut Vec<OutputLine>| {
            out.extend(gap_lines.iter().map(|&line| OutputLine {
                text: file.body(line).to_owned(),
                ending: Some(file.lines()[line].ending),
            }));
        };
        if !self.choice.below_blank {
            push_gap(&mut self.out);
        }
        let mut inserts = std::mem::take(&mut self.inserts);
        if gap_lines.is_empty() {
            // Blank lines above what was deleted are those above what replaces it.
            let is_blank = |at: &&usize| self.input.call.new[**at].trim().is_empty();
            let blank = inserts.iter().take_while(is_blank).count();
            inserts.drain(..blank.min(self.blank_above));
        }
        if !inserts.is_empty() || below != Status::Deleted {
            self.blank_above = 0;
        }
        if below == Status::Deleted {
            self.blank_above += gap_lines.len();
        }
        for new_at in inserts {
            let line = self.new_line(new_at);
            let ending = self.deleted.pop_front();
            self.push(line, ending);
        }
        if self.choice.below_blank {
            push_gap(&mut self.out);
        }
    }

    /// The file's form of line `new_at` of `new_str`, if the call moves that line here from elsewhere in
    /// `old_str`, which quotes it otherwise.
    fn moved_line(&self, new_at: usize) -> Option<&'i str> {
        let Input { call, place, differences, .. } = *self.input;
        let line = call.new[new_at].trim();
        let is_other_form = |difference: &Option<Difference>| {
            matches!(difference, Some(Difference::Spacing | Difference::Punctuation))
        };
        let mut from = place.links.iter().zip(differences).filter(|(link, difference)| {
            is_other_form(difference)
                && link.is_pair()
                && call.fate(link.old.start) == Fate::Deleted
                && call.old[link.old.start].trim() == line
        });
        from.next().map(|(link, _)| self.text(link).trim())
    }

    /// A new line: as sent, except for its indentation.
    fn new_line(&self, new_at: usize) -> String {
        let Input { file, call, place, is_padded, .. } = *self.input;
        let line = call.new[new_at];
        if let Some(moved) = self.moved_line(new_at) {
            return format!("{}{moved}", self.map.indents[new_at]);
        }
        let line = if is_padded { line.trim_end() } else { line };
        if line.trim().is_empty() {
            return line.to_owned();
        }
        let inside_line =
            self.out.is_empty() && place.links.first().is_some_and(|link| !link.starts_line(file));
        let head = if inside_line { indent_of(line) } else { &self.map.indents[new_at] };
        format!("{head}{}", &line[indent_of(line).len()..])
    }

    /// The indentation of line `new_at` of `new_str`, which replaces line `old_at` of `old_str`.
    fn indent(&self, link: &Link, old_at: usize, new_at: usize) -> String {
        let Input { file, call, .. } = *self.input;
        let (old, new) = (indent_of(call.old[old_at]), indent_of(call.new[new_at]));
        if !link.starts_line(file) {
            new.strip_prefix(old).unwrap_or_default().to_owned()
        } else if old == new && !self.map.moves_kept {
            indent_of(self.text(link)).to_owned()
        } else {
            self.map.indents[new_at].clone()
        }
    }

    /// Line `old_at` of `old` changed to line `new_at` of `new`, merged into the line of the file.
    fn changed_line(&mut self, link_at: usize, old_at: usize, new_at: usize) -> String {
        let Input { file, call, place, differences, is_padded } = *self.input;
        let link = &place.links[link_at];
        let (old, new, there) = (call.old[old_at], call.new[new_at], self.text(link));
        if new.trim().is_empty() {
            return if is_padded { String::new() } else { new.to_owned() };
        }
        let head = self.indent(link, old_at, new_at);
        // The blanks at the end are the caller's, never those of the line that is replaced.
        let tail = |line: &'_ str| line[line.trim_end().len()..].to_owned();
        let mut end = if is_padded || tail(old) == tail(new) && tail(there).is_empty() {
            String::new()
        } else {
            tail(new)
        };
        // In Markdown they break the line, so that either may be meant.
        let is_break = file.language.is_some_and(|language| language.name == "markdown");
        if is_break && tail(old).is_empty() && end.is_empty() && tail(there).len() > 1 {
            self.used.marks_as_sent = true;
            if !self.choice.marks_as_sent {
                end = tail(there);
            }
        }
        let there =
            if link.starts_line(file) { there.trim_start_matches(indent_of(there)) } else { there };
        let [old, there, new] =
            [&old[indent_of(old).len()..], there, &new[indent_of(new).len()..]].map(str::trim_end);
        let fold = differences[link_at].filter(|difference| *difference >= Difference::LookAlikes);
        let is_other = Words::of(old).similarity(&Words::of(new)) < MIN_SIMILARITY;
        let merged = (!is_other).then(|| tokens::merge(old, there, new, fold, file.language));
        let text = match merged.flatten() {
            Some(Merged::Certain(text)) => text,
            Some(Merged::Ambiguous(text, sent)) => {
                self.used.marks_as_sent = true;
                if self.choice.marks_as_sent { sent } else { text }
            }
            // Lines with nothing in common, or too long to be merged by tokens, are written as sent.
            None => new.to_owned(),
        };
        format!("{head}{text}{end}")
    }

    /// Joins the lines to the text that replaces the place.
    fn compose(&mut self) -> Splice {
        let Input { file, call, place, .. } = *self.input;
        let (mut range, lines) = (place.bytes(), place.lines());
        let last = lines.end.checked_sub(1).map(|last| &file.lines()[last]);
        let mut end = String::new();
        if let Some(last) = last.filter(|last| call.ends_with_newline && range.end == last.body.end)
        {
            end = file.text[range.end..last.full().end].to_owned();
            range.end = last.full().end;
        }
        let nearby = file.ending_near(lines.start).as_str();
        let count = self.out.len();
        let mut text = String::new();
        for (at, line) in self.out.iter().enumerate() {
            text.push_str(&line.text);
            if at + 1 < count {
                let known = line.ending.filter(|ending| *ending != LineEnding::None);
                text.push_str(known.map_or(nearby, LineEnding::as_str));
            } else {
                text.push_str(&end);
            }
        }
        Splice { range, text }
    }
}
