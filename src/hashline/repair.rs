//! Repairs of the new lines, each only where it is proven, each reported; what only
//! looks like a mistake is written as given, with a warning.
//!
//! | repair | proof |
//! | --- | --- |
//! | line prefixes | every line has one and they name lines of this place |
//! | diff markers | without them the lines are the replaced ones, plus new ones |
//! | boundary echo | an exact copy of the surviving neighbour, and the brackets of the whole call balance only without it |
//! | lost indentation | lines copied from the range all miss the same blanks, and so would the block around it |
//! | merged lines | literal `\n` that splits into as many lines as were replaced, with their indentation |

use crate::edit::Rewrite;
use crate::text::{LineSpan, Snapshot};

use super::ops::Op;
use super::tag;

/// An edit whose place is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    /// Its number in the call, from 1.
    pub(super) number: usize,
    pub(super) op: Op,
    /// In the present file; an empty span for insertions.
    pub(super) span: LineSpan,
    pub(super) lines: Vec<String>,
    /// Where it stands among insertions at the same gap.
    pub(super) order: u8,
}

impl Draft {
    fn replaces(&self) -> bool {
        self.span.start <= self.span.end
    }

    fn old<'a>(&self, file: &'a Snapshot) -> Vec<&'a str> {
        (self.span.start..=self.span.end).filter_map(|number| file.line(number)).collect()
    }
}

/// What was done and what the caller should look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) rewrites: Vec<Rewrite>,
    pub(crate) warnings: Vec<String>,
}

impl Notes {
    fn did(&mut self, rewrite: Rewrite, what: String) {
        if !self.rewrites.contains(&rewrite) {
            self.rewrites.push(rewrite);
        }
        self.warnings.push(what);
    }
}

/// Repairs the drafts of one call.
pub(super) fn repair(drafts: &mut [Draft], file: &Snapshot) -> Notes {
    let mut notes = Notes::default();
    for draft in drafts.iter_mut() {
        let name = format!("edit {}", draft.number);
        carriage_returns(&name, &mut draft.lines, &mut notes);
        prefixes(&name, draft.span, &mut draft.lines, file, &mut notes);
        diff_markers(draft, file, &mut notes);
        merged_lines(draft, file, &mut notes);
    }
    for at in 0..drafts.len() {
        indentation(drafts, at, file, &mut notes);
    }
    echoes(drafts, file, &mut notes);
    notes
}

/// A carriage return at the end of a line is half a line ending; the file has its own.
pub(crate) fn carriage_returns(name: &str, lines: &mut [String], notes: &mut Notes) {
    let mut dropped = 0;
    for line in lines.iter_mut().filter(|line| line.ends_with('\r')) {
        line.pop();
        dropped += 1;
    }
    if dropped > 0 {
        notes.did(Rewrite::CarriageReturns, format!("{name}: dropped the carriage return at the end of {dropped} line(s); the file's own line endings are used"));
    }
}

/// Drops `12#VK|` or `<<12>>` in front of every line, when they name lines of this place.
pub(crate) fn prefixes(
    name: &str,
    span: LineSpan,
    lines: &mut [String],
    file: &Snapshot,
    notes: &mut Notes,
) {
    let parsed: Vec<Option<Prefix<'_>>> = lines.iter().map(|line| Prefix::of(line)).collect();
    let full: Vec<usize> = (0..lines.len()).filter(|&k| !lines[k].trim().is_empty()).collect();
    let marked = full.iter().filter(|&&k| parsed[k].is_some()).count();
    if marked == 0 {
        return;
    }
    let numbers: Vec<usize> = parsed.iter().flatten().map(|prefix| prefix.line).collect();
    let rising = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let around = span.start.saturating_sub(1)..=span.end.max(span.start) + 1;
    let here = numbers.first().is_some_and(|first| around.contains(first));
    let real = parsed.iter().flatten().filter(|prefix| prefix.is_real(file)).count();
    let content = (span.start..=span.end)
        .any(|number| file.line(number).is_some_and(|line| Prefix::of(line).is_some()));
    let proven = marked == full.len() && !content && (real == marked || real > 0 && rising && here);
    if !proven {
        if !content {
            notes.warnings.push(format!(
                "{name}: {marked} of its lines start like a line number prefix; they were written as given"
            ));
        }
        return;
    }
    let stripped: Vec<String> = lines
        .iter()
        .map(|line| Prefix::of(line).map_or_else(|| line.clone(), |prefix| prefix.rest.to_owned()))
        .collect();
    lines.clone_from_slice(&stripped);
    notes.did(Rewrite::LinePrefixes, format!("{name}: dropped the line prefixes of its lines"));
}

struct Prefix<'a> {
    line: usize,
    id: Option<&'a str>,
    rest: &'a str,
}

impl<'a> Prefix<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let text = text.strip_prefix(">>>").map_or(text, str::trim_start);
        if let Some(inner) = text.strip_prefix("<<") {
            let (digits, rest) = inner.split_once(">>")?;
            return Some(Self { line: digits.parse().ok()?, id: None, rest });
        }
        let (digits, after) = text.split_once('#')?;
        let (id, rest) = after.split_once('|')?;
        let known = tag::Width::of_letters(id.len()).is_some()
            && id.bytes().all(|b| tag::ALPHABET.contains(&b));
        let line = digits.parse().ok()?;
        known.then_some(Self { line, id: Some(id), rest })
    }

    /// Whether the file has this line at this number.
    fn is_real(&self, file: &Snapshot) -> bool {
        file.line(self.line).is_some_and(|line| match self.id {
            Some(id) => tag::matches(self.line, line, id),
            None => line.trim_end() == self.rest.trim_end() && !line.trim().is_empty(),
        })
    }
}

/// Drops the first column, when the lines are a diff of exactly the replaced ones.
fn diff_markers(draft: &mut Draft, file: &Snapshot, notes: &mut Notes) {
    let old = draft.old(file);
    let full: Vec<&String> = draft.lines.iter().filter(|line| !line.is_empty()).collect();
    let plus = full.iter().filter(|line| line.starts_with('+')).count();
    if plus == 0 || old.iter().any(|line| line.starts_with('+')) {
        return;
    }
    let column = |line: &str, marks: [char; 2]| line.is_empty() || line.starts_with(marks);
    let rest = |line: &str| line.get(1..).unwrap_or_default().to_owned();
    // Context and removed lines, in order, must be the replaced lines, all of them.
    let kept: Vec<String> =
        draft.lines.iter().filter(|line| column(line, [' ', '-'])).map(|line| rest(line)).collect();
    let hunk = !kept.is_empty()
        && full.iter().all(|line| line.starts_with(['+', '-', ' ']))
        && kept.iter().map(String::as_str).eq(old.iter().copied());
    // Or every line is marked, and one of them is a replaced line but for the mark.
    let echo = |line: &&String| {
        let text = rest(line);
        text.trim().len() >= 4 && old.contains(&text.as_str())
    };
    let added = draft.replaces() && plus == full.len() && full.iter().any(echo);
    if hunk || added {
        draft.lines = draft
            .lines
            .iter()
            .filter(|line| !(hunk && line.starts_with('-')))
            .map(|line| rest(line))
            .collect();
        notes.did(
            Rewrite::StripDiffMarkers,
            format!("edit {}: dropped the diff markers of its lines", draft.number),
        );
    } else if plus == full.len() {
        notes.warnings.push(format!(
            "edit {}: every line starts with `+`; written as given, since nothing proves it a diff marker",
            draft.number
        ));
    }
}

/// Splits one line at literal `\n` into as many lines as it replaces.
fn merged_lines(draft: &mut Draft, file: &Snapshot, notes: &mut Notes) {
    let old = draft.old(file);
    let [line] = draft.lines.as_slice() else { return };
    if old.len() < 2 {
        return;
    }
    let parts: Vec<&str> = line.split("\\n").collect();
    let same = |k: usize| parts[k].trim_end() == old[k].trim_end();
    let proven = parts.len() == old.len()
        && !old.iter().any(|line| line.contains("\\n"))
        && (0..old.len()).any(|k| same(k) && !old[k].trim().is_empty())
        && (0..old.len()).all(|k| indent(parts[k]) == indent(old[k]));
    if proven {
        draft.lines = parts.into_iter().map(str::to_owned).collect();
        notes.did(
            Rewrite::ExpandMergedLines,
            format!("edit {}: split at literal \\n into {} lines", draft.number, old.len()),
        );
        return;
    }
    let solid = |text: &str| text.split_whitespace().collect::<String>();
    let pieces: Vec<String> = old.iter().map(|line| solid(line)).collect();
    let joined = solid(line);
    let found = pieces.iter().filter(|piece| piece.len() > 1 && joined.contains(*piece)).count();
    if found > 1 && found + 1 >= pieces.len() {
        notes.warnings.push(format!(
            "edit {}: one line now holds what were {} lines; if they should stay apart, send them as separate entries of lines",
            draft.number,
            old.len()
        ));
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Gives a block its indentation back, when copied lines show that it was dropped.
fn indentation(drafts: &mut [Draft], at: usize, file: &Snapshot, notes: &mut Notes) {
    let draft = &drafts[at];
    let old = draft.old(file);
    let blank = |line: &str| line.trim().is_empty();
    let Some(lost) =
        old.iter().filter(|line| !blank(line)).map(|line| indent(line)).min_by_key(|i| i.len())
    else {
        return;
    };
    let full: Vec<&String> = draft.lines.iter().filter(|line| !blank(line)).collect();
    let bare = full.iter().any(|line| indent(line).is_empty());
    if lost.is_empty() || !bare {
        return;
    }
    let copied = |line: &String| {
        line.chars().any(char::is_alphanumeric)
            && old.iter().any(|old| old.strip_prefix(lost) == Some(line.as_str()))
    };
    let copies = full.iter().filter(|line| copied(line)).count();
    // A copied line that is not at its old place less the block's blanks speaks against it.
    let against = full
        .iter()
        .filter(|line| !copied(line))
        .any(|line| old.iter().any(|old| old.trim() == line.trim() && line.trim().len() > 1));
    let inside = |line: Option<&str>, opens: bool| {
        line.is_none_or(|line| {
            indent(line).starts_with(lost)
                || opens && line.trim_end().ends_with(['{', '(', '[', ':'])
        })
    };
    let above = survivor(drafts, file, draft.span.start, Way::Up);
    let below = survivor(drafts, file, draft.span.end, Way::Down);
    let closed = below.is_none_or(|line| {
        indent(line).starts_with(lost) || line.trim_start().starts_with(['}', ')', ']'])
    });
    let proven = copies > 0
        && copies < full.len()
        && !against
        && above.is_some()
        && inside(above, true)
        && closed
        && old.iter().all(|line| blank(line) || line.starts_with(lost));
    let (number, lost) = (draft.number, lost.to_owned());
    if proven {
        for line in &mut drafts[at].lines {
            if !blank(line) {
                line.insert_str(0, &lost);
            }
        }
        notes.did(
            Rewrite::RestoreIndent,
            format!(
                "edit {number}: put back the {} blanks of indentation that all its lines had lost",
                lost.len()
            ),
        );
    } else if full.iter().all(|line| indent(line).is_empty())
        && above.is_some_and(|line| indent(line).starts_with(&lost))
        && below.is_some_and(|line| indent(line).starts_with(&lost))
    {
        notes.warnings.push(format!(
            "edit {number}: its lines start at column 0 inside a block that is indented by {}; written as given",
            lost.len()
        ));
    }
}

enum Way {
    Up,
    Down,
}

/// The nearest line above or below that no edit of the call replaces and that is not blank.
fn survivor<'a>(drafts: &[Draft], file: &'a Snapshot, from: usize, way: Way) -> Option<&'a str> {
    let gone = |number: &usize| drafts.iter().any(|d| (d.span.start..=d.span.end).contains(number));
    let solid = |number: usize| file.line(number).filter(|line| !line.trim().is_empty());
    match way {
        Way::Up => (1..from).rev().filter(|n| !gone(n)).take(50).find_map(solid),
        Way::Down => {
            (from + 1..=file.lines().total()).filter(|n| !gone(n)).take(50).find_map(solid)
        }
    }
}

type Balance = [i64; 3];

/// Opened minus closed brackets, outside quotes that end on the same line.
fn balance<'a>(lines: impl IntoIterator<Item = &'a str>) -> Balance {
    let mut out = [0; 3];
    for line in lines {
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '(' => out[0] += 1,
                ')' => out[0] -= 1,
                '[' => out[1] += 1,
                ']' => out[1] -= 1,
                '{' => out[2] += 1,
                '}' => out[2] -= 1,
                '"' | '\'' | '`' => {
                    if let Some(end) = closing(rest, c) {
                        rest = &rest[end..];
                    }
                }
                _ => {}
            }
        }
    }
    out
}

fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

fn minus(a: Balance, b: Balance) -> Balance {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Copies of the surviving neighbours at either end of the new lines.
fn echoes(drafts: &mut [Draft], file: &Snapshot, notes: &mut Notes) {
    let strs = |lines: &[String]| balance(lines.iter().map(String::as_str));
    // In a file that does not balance, an added bracket may be the very repair.
    let mut balanced = None;
    for at in 0..drafts.len() {
        let total: Balance = drafts.iter().fold([0; 3], |sum, draft| {
            let change = minus(strs(&draft.lines), balance(draft.old(file)));
            [sum[0] + change[0], sum[1] + change[1], sum[2] + change[2]]
        });
        let draft = &drafts[at];
        let head = echo_at_head(drafts, at, file);
        let tail = echo_at_tail(drafts, at, file);
        if head == 0 && tail == 0 {
            continue;
        }
        let lines = &draft.lines;
        let of_head = strs(&lines[..head]);
        let of_tail = strs(&lines[lines.len() - tail..]);
        let number = draft.number;
        let balanced = *balanced.get_or_insert_with(|| balance(file.text().split('\n')) == [0; 3]);
        let proven = |part: Balance| balanced && part != [0; 3] && part == total;
        // The block's own first and last line around its new body.
        let both = head > 0
            && tail > 0
            && head + tail < lines.len()
            && total == [0; 3]
            && of_head != [0; 3]
            && minus([0; 3], of_head) == of_tail
            && lines[..head]
                .iter()
                .any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 3);
        let (cut_head, cut_tail) = match (head, tail) {
            _ if both => (head, tail),
            (_, 1..) if proven(of_tail) => (0, tail),
            (1.., _) if proven(of_head) => (head, 0),
            _ => (0, 0),
        };
        let (before, after) = (draft.span.start.saturating_sub(1), draft.span.end + 1);
        let lines = &mut drafts[at].lines;
        if cut_tail > 0 {
            lines.truncate(lines.len() - cut_tail);
            notes.did(Rewrite::BoundaryEcho, format!(
                "edit {number}: dropped its last {cut_tail} line(s), a copy of line {after} on, which stays; the brackets balance only without them"
            ));
        }
        if cut_head > 0 {
            lines.drain(..cut_head);
            notes.did(Rewrite::BoundaryEcho, format!(
                "edit {number}: dropped its first {cut_head} line(s), a copy of the line(s) up to {before}, which stay; the brackets balance only without them"
            ));
        }
        if cut_head + cut_tail == 0 {
            let solid = |lines: &[String]| lines.iter().any(|line| !line.trim().is_empty());
            let lines = &drafts[at].lines;
            if tail > 0 && solid(&lines[lines.len() - tail..]) {
                notes.warnings.push(format!("edit {number}: its last line equals line {after}, which stays; both are there now"));
            }
            if head > 0 && solid(&lines[..head]) {
                notes.warnings.push(format!("edit {number}: its first line equals line {before}, which stays; both are there now"));
            }
        }
    }
}

fn stays(drafts: &[Draft], number: usize) -> bool {
    !drafts.iter().any(|draft| (draft.span.start..=draft.span.end).contains(&number))
}

/// How many of the last new lines are the surviving lines below.
fn echo_at_tail(drafts: &[Draft], at: usize, file: &Snapshot) -> usize {
    let draft = &drafts[at];
    let most = draft.lines.len().saturating_sub(usize::from(!draft.replaces()));
    (1..=most)
        .rev()
        .find(|&k| {
            let tail = &draft.lines[draft.lines.len() - k..];
            tail.iter().enumerate().all(|(i, line)| {
                let number = draft.span.end + 1 + i;
                stays(drafts, number) && same(file.line(number), line)
            })
        })
        .unwrap_or(0)
}

/// How many of the first new lines are the surviving lines above.
fn echo_at_head(drafts: &[Draft], at: usize, file: &Snapshot) -> usize {
    let draft = &drafts[at];
    let most = draft.lines.len().saturating_sub(usize::from(!draft.replaces()));
    (1..=most.min(draft.span.start - 1))
        .rev()
        .find(|&k| {
            draft.lines[..k].iter().enumerate().all(|(i, line)| {
                let number = draft.span.start - k + i;
                stays(drafts, number) && same(file.line(number), line)
            })
        })
        .unwrap_or(0)
}

fn same(old: Option<&str>, new: &str) -> bool {
    old.is_some_and(|old| old.trim_end() == new.trim_end())
}
