//! What a call writes at a place: the merge of `old_str`, `new_str` and the file. Text that the call
//! keeps stays as the file has it; text that it changes is written; new lines are the caller's, except
//! for their indentation and line ending. Where the call would overwrite what `old_str` does not have,
//! there is a conflict.

use std::collections::VecDeque;
use std::iter;
use std::ops::Range;

use super::call::{Call, Fate};
use super::costs::Difference;
use super::diff::{LineOp, MIN_SIMILARITY};
use super::difference::is_made;
use super::fold::is_word_char;
use super::forbidden;
use super::indent::{indent_of, unindented, with_indent};
use super::made::Made;
use super::maps::IndentMap;
use super::places::{Link, LinkKind, Place, Words};
use super::source_file::SourceFile;
use super::tokens::{self, Merged, statement_continues};
use crate::edit::{Conflict, Splice};
use crate::text::LineEnding;

/// What the lines of the call do not decide: each combination is a result of its own.
#[derive(Debug, Clone, Copy, Default)]
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
    pub(super) fn how(self) -> [Option<&'static str>; 2] {
        [
            self.below_blank.then_some("new lines above the file's blank line"),
            self.marks_as_sent
                .then_some("changed lines with the quotes and punctuation of the new text"),
        ]
    }
}

/// A call at a place, with how each line differs there.
pub(super) struct Input<'p> {
    pub(super) file: &'p SourceFile<'p>,
    pub(super) call: &'p Call<'p>,
    pub(super) place: &'p Place,
    /// For each link, how its lines differ apart from indentation.
    pub(super) differences: &'p [Option<Difference>],
    /// The parts that are made already.
    pub(super) made: &'p [Made],
    /// Whether the call ends lines in blanks that the file does not have, in all its lines.
    pub(super) is_padded: bool,
}

/// Merges the call at the place: what it writes, and the choices that made a difference, or the conflicts.
pub(super) fn write(
    input: &Input<'_>,
    map: &IndentMap,
    choice: Choice,
) -> Result<(Splice, Choice), Vec<Conflict>> {
    let is_movable = |(link, difference): &(&Link, &Option<Difference>)| {
        matches!(difference, Some(Difference::Spacing | Difference::Punctuation))
            && link.is_pair()
            && input.call.fate(link.old.start) == Fate::Deleted
    };
    let links = input.place.links.iter().zip(input.differences).filter(is_movable);
    let mut writer = Writer {
        input,
        movable: links.map(|(link, _)| link).collect(),
        map,
        choice,
        out: Vec::new(),
        hunks: Vec::new(),
        used: Choice::default(),
        next_link: 0,
        inserts: Vec::new(),
        above: Status::Kept,
        deleted: VecDeque::new(),
        blank_above: 0,
    };
    writer.run();
    match writer.hunks.is_empty() {
        true => Ok((writer.compose(), writer.used)),
        false => Err(writer.hunks),
    }
}

/// What happened to lines of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Kept,
    Changed,
    Deleted,
}

impl Status {
    /// What operations do to the lines of one link.
    fn of(ops: &[LineOp]) -> Self {
        if ops.iter().all(|op| matches!(op, LineOp::Keep(..))) {
            Self::Kept
        } else if ops.iter().all(|op| matches!(op, LineOp::Delete(_))) {
            Self::Deleted
        } else {
            Self::Changed
        }
    }
}

struct Writer<'p> {
    input: &'p Input<'p>,
    /// The deleted lines that the file has in another form, which new lines may be.
    movable: Vec<&'p Link>,
    map: &'p IndentMap,
    choice: Choice,
    /// The lines of the result; no ending means that of the lines around the place.
    out: Vec<(String, LineEnding)>,
    hunks: Vec<Conflict>,
    used: Choice,
    /// The first link that is not written.
    next_link: usize,
    /// New lines that wait until the lines that they replace are deleted.
    inserts: Vec<usize>,
    above: Status,
    /// The endings of the deleted lines that the next new lines replace, each with the closing mark that
    /// the call lacks there.
    deleted: VecDeque<(LineEnding, Option<char>)>,
    /// How many blank lines that only the file has stand above these.
    blank_above: usize,
}

impl<'p> Writer<'p> {
    fn run(&mut self) {
        let Input { call, place, made, .. } = *self.input;
        let mut at = 0;
        while at < call.ops.len() {
            if let Some(made) = made.iter().find(|made| made.ops.start == at) {
                at = self.write_made(made);
                continue;
            }
            if let Some(end) = self.write_counted_blank_lines(at) {
                at = end;
                continue;
            }
            let op = call.ops[at];
            let Some(old_at) = op.old_at() else {
                self.inserts.extend(op.new_at());
                at += 1;
                continue;
            };
            let link_at = place.link_index(old_at);
            let Some(link) = place.links.get(link_at) else { break };
            let is_block = link.kind == LinkKind::Reflowed;
            let end = if is_block { self.end_of_block(at, link) } else { at + 1 };
            let ops = &call.ops[at..end];
            let status = Status::of(ops);
            // The lines before this one that only the file has.
            let unseen = place.links[self.next_link..link_at].iter().filter(|l| l.old.is_empty());
            let gap: Vec<usize> = unseen.flat_map(|link| link.lines.clone()).collect();
            self.next_link = link_at;
            let below = if matches!(op, LineOp::Delete(_)) { Status::Deleted } else { status };
            self.write_boundary(&gap, below);
            match is_block {
                true => self.write_block(link, ops, status),
                false => self.write_line(link_at, old_at, at),
            }
            if !link.lines.is_empty() || status == Status::Deleted {
                self.above = status;
            }
            at = end;
        }
        // A new line below a deleted one has nothing to wait for.
        self.write_boundary(&[], Status::Kept);
    }

    /// Leaves a part that is made already as it is, if the lines would be written as deep as they are. Returns
    /// where its operations end.
    fn write_made(&mut self, made: &Made) -> usize {
        let file = self.input.file;
        for (&new, line) in made.new.iter().zip(made.lines.clone()) {
            let there = file.body(line);
            if !file.is_blank(line) && self.map.indents[new] != indent_of(there) {
                self.push_conflict(line..line + 1, "", there);
            }
            self.out.push(line_there(file, line));
        }
        (self.next_link, self.above) = (made.links.end, Status::Kept);
        made.ops.end
    }

    /// Writes a run of blank lines whose number the call changes, but does not know: it gets the number
    /// that `new_str` has. Returns where the operations of the run end.
    fn write_counted_blank_lines(&mut self, at: usize) -> Option<usize> {
        let Input { file, call, place, .. } = *self.input;
        let (above, ops) = call.ops.split_at(at);
        let (ops, below) = ops.split_at(ops.iter().take_while(|op| call.is_blank(op)).count());
        let old_count = ops.iter().filter_map(|op| op.old_at()).count();
        let new_count = ops.iter().filter_map(|op| op.new_at()).count();
        if old_count == new_count || !self.inserts.is_empty() {
            return None;
        }
        let link_index = |op: Option<&LineOp>| {
            let op = op.filter(|op| op.new_at().is_some());
            Some(place.link_index(op?.old_at()?))
        };
        let (above, next_link) = (link_index(above.last())?, link_index(below.first())?);
        let (above, below) = (place.links.get(above)?, place.links.get(next_link)?);
        let there = above.lines.end..below.lines.start;
        if above.lines.is_empty()
            || below.lines.is_empty()
            || there.len() == old_count
            || !there.clone().all(|line| file.is_blank(line))
        {
            return None;
        }
        let more = iter::repeat((String::new(), LineEnding::None));
        self.out.extend(there.map(|line| line_there(file, line)).chain(more).take(new_count));
        self.next_link = next_link;
        Some(at + ops.len())
    }

    /// Where the operations of a link of several lines end; they begin at `at`.
    fn end_of_block(&self, at: usize, link: &Link) -> usize {
        let ops = &self.input.call.ops[at..];
        let is_below = |op: &LineOp| op.old_at().is_some_and(|old| old >= link.old.end);
        let len = ops.iter().position(is_below).unwrap_or(ops.len());
        // New lines after the last line of the link do not belong to it.
        at + 1 + ops[..len].iter().rposition(|op| op.old_at().is_some()).unwrap_or(0)
    }

    /// The text that a link matches in the file.
    fn text(&self, link: &Link) -> &'p str {
        &self.input.file.text[link.bytes.clone()]
    }

    /// Writes a line or block that is certain, with the ending that the link has.
    fn push(&mut self, text: String, link: &Link) {
        self.out.push((text, self.input.file.lines()[link.lines.end - 1].ending));
    }

    /// Writes a link in which call and file break the lines differently.
    fn write_block(&mut self, link: &Link, ops: &[LineOp], status: Status) {
        let Input { file, call, .. } = *self.input;
        let text = self.text(link);
        match status {
            Status::Kept => return self.push(text.to_owned(), link),
            Status::Deleted => return,
            Status::Changed => {}
        }
        let old = call.old[link.old.clone()].join("\n");
        let new_lines: Vec<usize> = ops.iter().filter_map(|op| op.new_at()).collect();
        let new = new_lines.iter().map(|&at| call.new[at]).collect::<Vec<_>>().join("\n");
        let found = text.replace('\r', "");
        let [believed, there, wanted] = [&old, &found, &new].map(|text| text.trim_start());
        // A statement that becomes a comment is another one.
        let is_comment = |text: &str| file.language.is_some_and(|l| l.is_comment(text));
        let same_kind = is_comment(believed) == is_comment(wanted);
        let merged =
            tokens::merge(believed, there, wanted, Some(Difference::Reflow), file.language);
        // The words may change, but if the line breaks change as well, it is unclear which are meant. And
        // the file's must not end the new statement.
        if let Some(Merged::Certain(merged)) = merged
            && new_lines.len() == link.old.len()
            && same_kind
            && file.language.is_none_or(|l| forbidden::breaks_freely(l, &merged))
            && let Some(merged) = self.moved_block(link, &merged, new_lines[0])
        {
            let merged = if text.contains("\r\n") { merged.replace('\n', "\r\n") } else { merged };
            return self.push(merged, link);
        }
        // Otherwise the statement is replaced as a whole, by the lines of the call.
        for (n, &at) in new_lines.iter().enumerate() {
            let line = call.new[at];
            let line = match n == 0 && !link.starts_line(file) {
                true => line.to_owned(),
                false => with_indent(line, &self.map.indents[at]),
            };
            self.push(line, link);
        }
    }

    /// The text of a link that stands for line `new_at` and those below it, as deep as the call has them;
    /// `None` if it has lines less deep than its first, or in a literal.
    fn moved_block(&self, link: &Link, text: &str, new_at: usize) -> Option<String> {
        let file = self.input.file;
        let head = indent_of(self.text(link));
        let to = self.indent(link, link.old.start, new_at);
        if !link.starts_line(file) || head == to {
            return Some(format!("{to}{text}"));
        }
        let has_literal = link.lines.clone().skip(1).any(|line| file.begins_in_literal(line));
        let mut lines = text.split('\n');
        let mut out = format!("{to}{}", lines.next()?);
        for line in lines {
            out.push('\n');
            if !line.trim().is_empty() {
                out.push_str(to);
                out.push_str(line.strip_prefix(head)?);
            }
        }
        (!has_literal).then_some(out)
    }

    /// Writes line `old_at` of the call, which the link with this index pairs with a line of the file or
    /// with none. `at` is the index of its operation.
    fn write_line(&mut self, link_at: usize, old_at: usize, at: usize) {
        let Input { file, call, place, differences, .. } = *self.input;
        let (link, op, believed) = (&place.links[link_at], call.ops[at], call.old[old_at]);
        let text = self.text(link);
        let differs = matches!(differences[link_at], Some(Difference::Words | Difference::Comment));
        let is_blank = believed.trim().is_empty();
        let is_missing = link.lines.is_empty();
        let line = match op {
            // What a placeholder stands for stays, once.
            _ if link.kind == LinkKind::Elided => {
                if is_missing || link.old.start != old_at {
                    return;
                }
                text.to_owned()
            }
            // If only the call has a blank line, a change of that line is a new line.
            LineOp::Change(_, new_at) if is_missing && is_blank => {
                return self.inserts.push(new_at);
            }
            _ if is_missing && (is_blank || matches!(op, LineOp::Keep(..))) => return,
            _ if is_missing => {
                let line = place.lines().start + self.out.len();
                return self.push_conflict(line..line, believed, "");
            }
            LineOp::Keep(_, new_at)
                if self.map.moves_kept && link.starts_line(file) && !is_blank =>
            {
                with_indent(text, &self.map.indents[new_at])
            }
            LineOp::Keep(..) => text.to_owned(),
            LineOp::Change(_, new_at)
                if differs
                    && is_made(file, call, place, link)
                    && self.indent(link, old_at, new_at) == indent_of(text) =>
            {
                text.to_owned()
            }
            LineOp::Change(_, new_at)
                if (!differs || call.fate(old_at) == Fate::Moved)
                    && !joins_words(file, link, believed, call.new[new_at]) =>
            {
                match differs {
                    true => self.indent(link, old_at, new_at).to_owned() + text.trim_start(),
                    false => self.changed_line(link_at, old_at, new_at),
                }
            }
            LineOp::Delete(_) if !differs => {
                let lacks = differences[link_at] == Some(Difference::Punctuation)
                    && closing_mark(believed).is_none();
                let mark = closing_mark(text).filter(|mark| lacks && *mark == ';');
                return self.deleted.push_back((file.lines()[link.lines.end - 1].ending, mark));
            }
            _ => return self.push_conflict(link.lines.clone(), believed, text),
        };
        let line = self.with_closing_mark_of_call(link_at, at, line);
        self.push(line, link);
    }

    /// The line with the closing `,` or `;` of the call, where the file has a different one, which what the
    /// call changes may make wrong, and this choice takes marks as they were sent.
    fn with_closing_mark_of_call(&mut self, link_at: usize, at: usize, line: String) -> String {
        let Input { call, differences, .. } = *self.input;
        if differences[link_at] != Some(Difference::Punctuation) {
            return line;
        }
        let sent = call.ops[at].new_at().and_then(|new_at| closing_mark(call.new[new_at]));
        // Without any comma, the lines may be no list any more.
        let has_comma = |lines: &[&str]| lines.iter().any(|line| closing_mark(line) == Some(','));
        let below = call.ops.get(at + 1);
        let may_be_wrong = matches!(below, Some(LineOp::Insert(_) | LineOp::Delete(_)))
            || closing_mark(&line) == Some(',') && has_comma(&call.old) && !has_comma(&call.new);
        let is_open = may_be_wrong && closing_mark(&line) != sent;
        self.used.marks_as_sent |= is_open;
        if !is_open || !self.choice.marks_as_sent {
            return line;
        }
        line.trim_end().trim_end_matches([',', ';']).chars().chain(sent).collect()
    }

    /// Records that the file has `found` where the call changes `believed`.
    fn push_conflict(&mut self, lines: Range<usize>, believed: &str, found: &str) {
        // Conflicts in neighbouring lines are one.
        let goes_on = |hunk: &&mut Conflict| hunk.end_line == lines.start || lines.is_empty();
        let Some(hunk) = self.hunks.last_mut().filter(goes_on) else {
            let [believed, found] = [believed, found].map(str::to_owned);
            let (start_line, end_line) = (lines.start + 1, lines.end);
            let conflict = Conflict { start_line, end_line, believed, found, written: None };
            return self.hunks.push(conflict);
        };
        hunk.end_line = hunk.end_line.max(lines.end);
        for (text, more) in [(&mut hunk.believed, believed), (&mut hunk.found, found)] {
            if !text.is_empty() && !more.is_empty() {
                text.push('\n');
            }
            text.push_str(more);
        }
    }

    /// Writes what comes between two lines of the call: the lines in `gap`, which only the file has, and
    /// new lines.
    fn write_boundary(&mut self, gap: &[usize], below: Status) {
        let Input { file, call, .. } = *self.input;
        // A line that only the file has is safe between kept lines. New lines could go on either side of
        // it, and it may belong to what is deleted or changed; a comment is safe beside a changed line.
        let is_comment = gap.iter().all(|&line| file.is_blank(line) || file.is_comment(line));
        let is_safe = |status| status == Status::Kept || is_comment && status == Status::Changed;
        let beside_change = !self.inserts.is_empty() || !is_safe(self.above) || !is_safe(below);
        if let Some(&line) = gap.iter().find(|&&line| beside_change && !file.is_blank(line)) {
            self.inserts.clear();
            return self.push_conflict(line..line + 1, "", file.body(line));
        }
        let all_goes = self.above == Status::Deleted && below == Status::Deleted;
        let gap = if all_goes { &[] } else { gap };
        // New lines wait until the lines that they replace are deleted.
        if !self.inserts.is_empty() && below == Status::Deleted && gap.is_empty() {
            return;
        }
        if below != Status::Deleted && self.inserts.is_empty() {
            self.deleted.clear();
        }
        self.used.below_blank |= !gap.is_empty() && !self.inserts.is_empty();
        let mut gap_lines = gap.iter().map(|&line| line_there(file, line)).collect();
        if !self.choice.below_blank {
            self.out.append(&mut gap_lines);
        }
        let mut inserts = std::mem::take(&mut self.inserts);
        if gap.is_empty() {
            // Blank lines above what was deleted are those above what replaces it.
            let is_blank = |at: &&usize| call.new[**at].trim().is_empty();
            let blank = inserts.iter().take_while(is_blank).count();
            inserts.drain(..blank.min(self.blank_above));
        }
        if !inserts.is_empty() || below != Status::Deleted {
            self.blank_above = 0;
        }
        if below == Status::Deleted {
            self.blank_above += gap.len();
        }
        let mut lacking = None;
        for new_at in inserts {
            let mut line = self.new_line(new_at);
            let (ending, mark) = self.deleted.pop_front().unwrap_or((LineEnding::None, None));
            lacking = mark.or(lacking);
            // In brackets, the statement goes on, and ends below.
            if self.may_end(new_at) {
                self.add_closing_mark(&mut line, lacking.take());
            } else if !line.trim_end().ends_with(['(', '[', ',']) {
                lacking = None;
            }
            self.out.push((line, ending));
        }
        self.out.append(&mut gap_lines);
    }

    /// Whether a closing mark may be due at the end of line `new_at` of `new_str`.
    fn may_end(&self, new_at: usize) -> bool {
        let new = &self.input.call.new;
        let line = new[new_at].trim_end();
        let opens = new.get(new_at + 1).is_some_and(|b| indent_of(b).len() > indent_of(line).len());
        !opens && !line.ends_with([',', ';', '}']) && !statement_continues(line)
    }

    /// Adds the closing mark that the call lacks where the file has it, unless this choice takes marks as
    /// they were sent.
    fn add_closing_mark(&mut self, line: &mut String, mark: Option<char>) {
        let Some(mark) = mark else { return };
        self.used.marks_as_sent = true;
        if !self.choice.marks_as_sent {
            line.insert(line.trim_end().len(), mark);
        }
    }

    /// The file's form of line `new_at` of `new_str`, if the call moves that line here from elsewhere in
    /// `old_str`, which quotes it otherwise.
    fn moved_line(&self, new_at: usize) -> Option<&'p str> {
        let call = self.input.call;
        let line = call.new[new_at].trim();
        let mut links = self.movable.iter();
        let link = links.find(|link| call.old[link.old.start].trim() == line)?;
        Some(self.text(link).trim())
    }

    /// A new line: as sent, except for its indentation.
    fn new_line(&self, new_at: usize) -> String {
        let Input { file, call, place, is_padded, .. } = *self.input;
        let (line, indent) = (call.new[new_at], &self.map.indents[new_at]);
        if let Some(moved) = self.moved_line(new_at) {
            return format!("{indent}{moved}");
        }
        let line = if is_padded { line.trim_end() } else { line };
        let begins_inside = || place.links.first().is_some_and(|link| !link.starts_line(file));
        if line.trim().is_empty() || self.out.is_empty() && begins_inside() {
            return line.to_owned();
        }
        with_indent(line, indent)
    }

    /// The indentation of line `new_at` of `new_str`, which replaces line `old_at` of `old_str`.
    fn indent(&self, link: &Link, old_at: usize, new_at: usize) -> &'p str {
        let Input { file, call, .. } = *self.input;
        let (old, new) = (indent_of(call.old[old_at]), indent_of(call.new[new_at]));
        if !link.starts_line(file) {
            new.strip_prefix(old).unwrap_or_default()
        } else if old == new && !self.map.moves_kept {
            indent_of(self.text(link))
        } else {
            &self.map.indents[new_at]
        }
    }

    /// Line `old_at` of `old` changed to line `new_at` of `new`, merged into the line of the file.
    fn changed_line(&mut self, link_at: usize, old_at: usize, new_at: usize) -> String {
        let Input { file, call, place, differences, is_padded, .. } = *self.input;
        let link = &place.links[link_at];
        let (old, new, there) = (call.old[old_at], call.new[new_at], self.text(link));
        if new.trim().is_empty() {
            return if is_padded { String::new() } else { new.to_owned() };
        }
        let head = self.indent(link, old_at, new_at);
        // The blanks at the end are the caller's, never those of the line that is replaced.
        let tail = |line: &'p str| &line[line.trim_end().len()..];
        let has_mistake = is_padded || tail(old) == tail(new) && tail(there).is_empty();
        let mut end = if has_mistake { "" } else { tail(new) };
        // In Markdown they break the line, so that either may be meant.
        let is_break = file.language.is_some_and(|language| language.name == "markdown");
        if is_break && tail(old).is_empty() && end.is_empty() && tail(there).len() > 1 {
            self.used.marks_as_sent = true;
            if !self.choice.marks_as_sent {
                end = tail(there);
            }
        }
        let there = if link.starts_line(file) { unindented(there) } else { there };
        let [old, there, new] = [unindented(old), there, unindented(new)].map(str::trim_end);
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
            None => {
                let lacks = differences[link_at] == Some(Difference::Punctuation)
                    && closing_mark(old).is_none()
                    && self.may_end(new_at);
                let mark = closing_mark(there).filter(|mark| lacks && *mark == ';');
                let mut text = new.to_owned();
                self.add_closing_mark(&mut text, mark);
                text
            }
        };
        format!("{head}{text}{end}")
    }

    /// Joins the lines to the text that replaces the place.
    fn compose(&self) -> Splice {
        let Input { file, call, place, .. } = *self.input;
        let (mut range, lines) = (place.bytes(), place.lines());
        let last = lines.end.checked_sub(1).map(|last| &file.lines()[last]);
        // What stays of the call is a placeholder beside the place, so that nothing is in place of the lines.
        let is_gone = || self.out.is_empty() && call.new.iter().any(|line| !line.trim().is_empty());
        let takes_break = call.ends_with_newline || is_gone();
        let last = last.filter(|last| takes_break && range.end == last.body.end);
        let end = last.map_or("", |last| &file.text[range.end..last.full().end]);
        range.end += end.len();
        let nearby = file.ending_near(lines.start).as_str();
        let mut text = String::new();
        for (at, (line, ending)) in self.out.iter().enumerate() {
            text.push_str(line);
            text.push_str(match ending {
                _ if at + 1 == self.out.len() => end,
                LineEnding::None => nearby,
                ending => ending.as_str(),
            });
        }
        Splice { range, text }
    }
}

/// The `,` or `;` at the end of a line.
fn closing_mark(line: &str) -> Option<char> {
    line.trim_end().chars().next_back().filter(|c| matches!(c, ',' | ';'))
}

/// A line of the file and its ending.
fn line_there(file: &SourceFile<'_>, at: usize) -> (String, LineEnding) {
    (file.body(at).to_owned(), file.lines()[at].ending)
}

/// Whether a blank at an end of the quote, which the file does not have there, may hold apart what would be
/// joined without it: `new` begins or ends with another kind of character than `old`.
fn joins_words(file: &SourceFile<'_>, link: &Link, old: &str, new: &str) -> bool {
    let kind = |c: Option<char>| c.map(|c| if is_word_char(c) { 'a' } else { c });
    let head = |line: &str| kind(line.trim_start().chars().next());
    let tail = |line: &str| kind(line.trim_end().chars().next_back());
    !link.starts_line(file) && old.starts_with(char::is_whitespace) && head(old) != head(new)
        || !link.ends_line(file) && old.ends_with(char::is_whitespace) && tail(old) != tail(new)
}
