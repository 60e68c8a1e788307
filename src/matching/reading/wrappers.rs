//! Wrappers around a text: diff markers, a code fence, blank lines.

use std::collections::HashSet;

use super::{Form, Undone, depth};
use crate::language::Language;
use crate::matching::fold::is_word_char;
use crate::matching::shape::is_among;

/// Removes `-`, `+` or a space in front of each line.
///
/// Evidence: tools that edit by lines strip these markers (oh-my-openagent's list of corrections).
pub(super) fn undo_diff_markers<'a>(old: &'a str, new: &str) -> Option<Undone<'a>> {
    let marked = |text: &str, mark: char| text.split('\n').any(|line| line.starts_with(mark));
    // In a diff, `-` marks removed lines, which only old_str has. If both strings have it, and
    // neither has `+`, they are lists.
    if marked(old, '-') && marked(new, '-') && !marked(new, '+') && !marked(old, '+') {
        return None;
    }
    let text = match is_diff_with_context(old, new) {
        // The marks stand before whole lines, so that the first blanks of the others are no marks.
        true if marks_precede_lines(old, new) => return None,
        true => strip_context_markers(old)?,
        false => diff_side(old, '-', '+')?,
    };
    let undo_new = move |new: &str| {
        let bare = diff_side(new, '+', '-').or_else(|| match marked(new, '+') {
            // If only some lines have a marker, it may belong to the text.
            true => Some(strip_plus(new.split('\n'))),
            false => strip_context_markers(new),
        });
        bare.map(Form::usual).into_iter().chain([Form::as_sent(new)]).collect()
    };
    Some(Undone { text, undo_new: Box::new(undo_new) })
}

/// Whether `new` is a diff and `old` consists of its context lines, each with a space in front.
pub(in crate::matching) fn is_diff_with_context(old: &str, new: &str) -> bool {
    let is_context = |line: &str| line.is_empty() || line.starts_with(' ');
    let is_mark = |line: &str| line.starts_with(['+', '-']);
    old.split('\n').all(is_context)
        && new.split('\n').all(|line| is_context(line) || is_mark(line))
        && new.split('\n').any(|line| line.starts_with('+'))
        && new.split('\n').any(|line| line.starts_with(' '))
}

/// Whether a line behind its mark is as deep as a line of `old` that has none.
fn marks_precede_lines(old: &str, new: &str) -> bool {
    let full = old.lines().filter(|line| !line.trim().is_empty());
    let depths: HashSet<usize> = full.map(depth).collect();
    let mut marked = new.lines().filter_map(|line| line.strip_prefix('+')).map(depth);
    marked.any(|depth| depth > 0 && depths.contains(&depth))
        && !depths.iter().any(|depth| depths.contains(&(depth + 1)))
}

/// `new` without the marks of a diff that only it has; `None` if they may be those of both texts.
pub(super) fn unmarked_new(old: &str, new: &str) -> Option<String> {
    if !is_diff_with_context(old, new) || !marks_precede_lines(old, new) {
        return None;
    }
    let in_front = strip_plus(new.split('\n').filter(|line| !line.starts_with('-')));
    let kept: HashSet<&str> = old.split('\n').map(str::trim_end).collect();
    let count_kept =
        |text: &str| text.split('\n').filter(|line| kept.contains(line.trim_end())).count();
    // Its other lines have the space of a diff, or they do not.
    let side = diff_side(new, '+', '-').filter(|side| count_kept(side) > count_kept(&in_front));
    Some(side.unwrap_or(in_front))
}

/// The lines without a `+` in front.
fn strip_plus<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    lines.map(|line| line.strip_prefix('+').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Removes the space before each line; `None` if a line has none.
pub(super) fn strip_context_markers(text: &str) -> Option<String> {
    let lines = text.split('\n').map(|line| match line {
        "" => Some(line),
        line => line.strip_prefix(' '),
    });
    Some(lines.collect::<Option<Vec<_>>>()?.join("\n"))
}

/// One side of a diff: the text without markers and without the lines of the other side. `None` if
/// no line has the mark of a side, or if some line has no mark at all.
pub(crate) fn diff_side(text: &str, own: char, other: char) -> Option<String> {
    let lines = || text.strip_suffix('\n').unwrap_or(text).split('\n');
    let has_mark = |mark: char| lines().any(|line| line.starts_with(mark));
    let is_header = |line: &str| line.starts_with("@@");
    let (has_own, has_other) = (has_mark(own), has_mark(other));
    let is_marked =
        |line: &str| line.is_empty() || line.starts_with([own, other, ' ']) || is_header(line);
    if !(has_own || has_other) || !lines().all(is_marked) {
        return None;
    }
    let is_on_side = |line: &&str| {
        let is_other = has_own && has_other && line.starts_with(other);
        !is_header(line) && !is_other
    };
    let side =
        lines().filter(is_on_side).map(|line| line.strip_prefix([own, other, ' ']).unwrap_or(line));
    let side = side.collect::<Vec<_>>().join("\n");
    Some(if text.ends_with('\n') { side + "\n" } else { side })
}

/// Marks that a view, a quotation or a prompt writes before every line.
const BEFORE: &str = "|>#$%/;│┃¦»";
/// Those of them that need no blank behind.
const BORDERS: &str = "|>│┃¦»";
/// Marks that a view or a quotation writes behind every line.
const BEHIND: &str = "\\|│┃¦¶";

/// The same mark before or behind every line of both strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::matching) struct StrayMark {
    mark: String,
    is_before: bool,
}

impl StrayMark {
    /// The mark of a call; `None` if there is none, or if too few lines show it.
    pub(super) fn of(old: &str, new: &str) -> Option<Self> {
        const MIN_LINES: usize = 2;
        let is_full = |line: &&str| !line.trim().is_empty();
        let first = old.lines().find(is_full)?;
        let head = &first[..first.find(|c| !BEFORE.contains(c)).unwrap_or(first.len())];
        let tail = first.trim_end();
        let tail = &tail[tail.trim_end_matches(|c| BEHIND.contains(c)).len()..];
        let with_words = old.lines().filter(|line| line.contains(is_word_char)).count();
        if with_words < MIN_LINES || new.trim().is_empty() {
            return None;
        }
        let lines = || old.lines().chain(new.lines()).filter(is_full);
        let marks = [(head, true), (tail, false)].into_iter().filter(|(mark, _)| !mark.is_empty());
        let marks = marks.map(|(mark, is_before)| Self { mark: mark.to_owned(), is_before });
        marks.into_iter().find(|mark| lines().all(|line| mark.is_on(line)))
    }

    /// Whether a line has it, at the margin.
    fn is_on(&self, line: &str) -> bool {
        if !self.is_before {
            return line.trim_end().ends_with(&self.mark);
        }
        line.strip_prefix(&self.mark).is_some_and(|rest| {
            rest.is_empty()
                || rest.starts_with([' ', '\t'])
                || self.mark.chars().all(|c| BORDERS.contains(c))
        })
    }

    /// The line without it, and without the blank behind it.
    fn strip<'l>(&self, line: &'l str, with_blank: bool) -> &'l str {
        let mark = self.mark.as_str();
        match self.is_before {
            true => {
                let rest = line.strip_prefix(mark).unwrap_or(line);
                rest.strip_prefix(' ').filter(|_| with_blank).unwrap_or(rest)
            }
            false => line.trim_end().strip_suffix(mark).unwrap_or(line).trim_end(),
        }
    }

    /// The text without it.
    fn strip_all(&self, text: &str, with_blank: bool) -> String {
        let lines = text.split('\n').map(|line| self.strip(line, with_blank));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether `undone` is the text without it, and not without another mistake.
    pub(super) fn is_undone(&self, sent: &str, undone: &str) -> bool {
        [true, false].iter().any(|&with_blank| self.strip_all(sent, with_blank) == undone)
    }

    /// Whether a line of a file has the mark.
    pub(in crate::matching) fn is_there(&self, line: &str) -> bool {
        self.is_on(line.trim_start())
    }

    /// Whether the language gives it a meaning: it makes a line a comment, or it continues one.
    pub(in crate::matching) fn is_syntax(&self, language: &Language) -> bool {
        // A stroke at the end goes on below.
        const WITH_CONTINUATIONS: &str =
            "c c++ objective-c shell make dockerfile python ruby tex vim";
        // A bar is an operator nearly everywhere.
        const WITHOUT_BARS: &str = "kotlin json";
        self.is_before && language.is_comment(&format!("{} -", self.mark))
            || self.mark.contains('\\') && is_among(WITH_CONTINUATIONS, language.name)
            || self.mark.contains('|') && !is_among(WITHOUT_BARS, language.name)
    }
}

/// Removes the mark that every line of both strings has, and one blank behind it.
///
/// Evidence: answers that quote code as a terminal, a mail or a table shows it.
pub(super) fn undo_stray_mark<'a>(old: &'a str, new: &str, with_blank: bool) -> Option<Undone<'a>> {
    let mark = StrayMark::of(old, new)?;
    let text = mark.strip_all(old, with_blank);
    let undo_new = move |new: &str| vec![Form::usual(mark.strip_all(new, with_blank))];
    Some(Undone { text, undo_new: Box::new(undo_new) })
}

/// Turns `\s` where a line begins, or only its backslash, into the tab that is meant.
///
/// Evidence: real calls for Go files, with `\sqlType string` for a field.
pub(super) fn undo_written_tabs<'a>(
    old: &'a str,
    new: &str,
    written: &'static str,
) -> Option<Undone<'a>> {
    let undo = move |text: &str| {
        let lines = text.split('\n').map(|line| {
            let rest = line.trim_start();
            match rest.strip_prefix(written).filter(|_| rest.starts_with("\\s")) {
                Some(behind) => format!("{}\t{behind}", &line[..line.len() - rest.len()]),
                None => line.to_owned(),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let text = undo(old);
    let known: HashSet<&str> = old.lines().collect();
    // A word of new_str that begins with an `s` says nothing about where the escape ends.
    let is_new = |line: &str| line.trim_start().starts_with("\\s") && !known.contains(line);
    let is_guess = written.len() == 1 && new.lines().any(is_new);
    let undo_new = move |new: &str| vec![Form { is_guess, ..Form::usual(undo(new)) }];
    (text != old).then(|| Undone { text, undo_new: Box::new(undo_new) })
}

/// Removes a code fence around the text.
///
/// Evidence: models that answer in Markdown; aider and Copilot's editor strip it.
pub(super) fn undo_fence<'a>(old: &'a str, new: &str) -> Option<Undone<'a>> {
    let text = strip_fence(old)?;
    // If new_str has other fences than the one around its text, the call means to edit fences.
    let has_fence = |text: &str| text.lines().any(is_fence);
    let fence_is_content = match strip_fence(new) {
        Some(inner) => has_fence(inner) && !has_fence(text),
        None => has_fence(new),
    };
    // Without its fence old_str does not end with a line break, so new_str must not either.
    let undo_new = |new: &str| {
        let bare = strip_fence(new).unwrap_or(new.strip_suffix('\n').unwrap_or(new));
        vec![Form::usual(bare.to_owned())]
    };
    (!fence_is_content).then(|| Undone { text: text.to_owned(), undo_new: Box::new(undo_new) })
}

/// Whether a line opens or closes a code fence.
pub(in crate::matching) fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~")
}

/// The text inside a code fence; `None` if there is no fence around the text.
fn strip_fence(text: &str) -> Option<&str> {
    let (opening, rest) = text.trim().split_once('\n')?;
    let fence = ["```", "~~~"].into_iter().find(|fence| opening.starts_with(fence))?;
    if opening[3..].trim().contains(char::is_whitespace) {
        return None;
    }
    if rest.trim_end() == fence {
        return Some("");
    }
    rest.strip_suffix(fence)?.strip_suffix('\n')
}

/// Removes blank lines around the text that the file does not have.
///
/// Evidence: aider tries again without a leading blank line.
pub(super) fn undo_outer_blank_lines<'a>(old: &'a str, _new: &str) -> Option<Undone<'a>> {
    let (text, counts) = strip_blank_lines(old, [usize::MAX; 2]);
    let undo_new = move |new: &str| vec![Form::usual(strip_blank_lines(new, counts).0)];
    (counts != [0, 0]).then(|| Undone { text, undo_new: Box::new(undo_new) })
}

/// The text without the blank lines at its start and its end, at most so many, and how many those are. A
/// text of blank lines stays.
fn strip_blank_lines(text: &str, most: [usize; 2]) -> (String, [usize; 2]) {
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let is_blank = |line: &&&str| line.trim().is_empty();
    let head = lines.iter().take_while(is_blank).count();
    if head == lines.len() {
        return (text.to_owned(), [0, 0]);
    }
    let tail = lines.iter().rev().take_while(is_blank).count();
    let (head, tail) = (head.min(most[0]), tail.min(most[1]));
    let kept = lines[head..lines.len() - tail].join("\n");
    (if text.ends_with('\n') { kept + "\n" } else { kept }, [head, tail])
}
