//! Wrappers around a text: diff markers, a code fence, blank lines.

use super::{Form, Mistake, UndoNew};
use crate::matching::costs::Difference;

/// `-`, `+` or a space in front of each line.
///
/// Evidence: tools that edit by lines strip these markers (oh-my-openagent's list of corrections).
pub(super) struct DiffMarkers;

impl Mistake for DiffMarkers {
    fn difference(&self) -> Difference {
        Difference::DiffMarkers
    }

    fn undo(&self, old: &str, new: &str) -> Option<(String, UndoNew)> {
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
        Some((
            text,
            Box::new(move |new| match diff_side(new, '+', '-') {
                Some(text) => vec![Form::usual(text), Form::as_sent(new)],
                // If only some lines have a marker, it may belong to the text.
                None if new.split('\n').any(|line| line.starts_with('+')) => {
                    let bare = new.split('\n').map(|line| line.strip_prefix('+').unwrap_or(line));
                    let bare = bare.collect::<Vec<_>>().join("\n");
                    vec![Form::usual(bare), Form::as_sent(new)]
                }
                None => {
                    let stripped = strip_context_markers(new).map(Form::usual);
                    stripped.into_iter().chain([Form::as_sent(new)]).collect()
                }
            }),
        ))
    }
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
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let depths: Vec<usize> =
        old.lines().filter(|line| !line.trim().is_empty()).map(depth).collect();
    let marked = new.lines().filter_map(|line| line.strip_prefix('+'));
    marked.map(depth).any(|depth| depth > 0 && depths.contains(&depth))
        && !depths.iter().any(|depth| depths.contains(&(depth + 1)))
}

/// `new` without the marks of a diff that only it has; `None` if they may be those of both texts.
pub(super) fn unmarked_new(old: &str, new: &str) -> Option<String> {
    if !is_diff_with_context(old, new) || !marks_precede_lines(old, new) {
        return None;
    }
    let lines = new.split('\n').filter(|line| !line.starts_with('-'));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix('+').unwrap_or(line)).collect();
    let kept: std::collections::HashSet<&str> = old.split('\n').map(str::trim_end).collect();
    let count_kept =
        |text: &str| text.split('\n').filter(|line| kept.contains(line.trim_end())).count();
    let in_front = lines.join("\n");
    // Its other lines have the space of a diff, or they do not.
    let side = diff_side(new, '+', '-').filter(|side| count_kept(side) > count_kept(&in_front));
    Some(side.unwrap_or(in_front))
}

/// Removes the space before each line; `None` if a line has none.
fn strip_context_markers(text: &str) -> Option<String> {
    let strip_line = |line: &str| match line.is_empty() {
        true => Some(String::new()),
        false => line.strip_prefix(' ').map(str::to_owned),
    };
    Some(text.split('\n').map(strip_line).collect::<Option<Vec<_>>>()?.join("\n"))
}

/// One side of a diff: the text without markers and without the lines of the other side. `None` if
/// no line has the mark of a side, or if some line has no mark at all.
pub(crate) fn diff_side(text: &str, own: char, other: char) -> Option<String> {
    let ends_with_newline = text.ends_with('\n');
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let is_header = |line: &str| line.starts_with("@@");
    let has_mark = lines.iter().any(|line| line.starts_with([own, other]));
    let all_are_marked = lines
        .iter()
        .all(|line| line.is_empty() || line.starts_with([own, other, ' ']) || is_header(line));
    if !has_mark || !all_are_marked {
        return None;
    }
    let has_both = [own, other].iter().all(|mark| lines.iter().any(|line| line.starts_with(*mark)));
    let own_lines =
        lines.iter().filter(|line| !(is_header(line) || has_both && line.starts_with(other)));
    let strip = |line: &&str| line.strip_prefix([own, other, ' ']).unwrap_or(line).to_owned();
    let mut out = own_lines.map(strip).collect::<Vec<_>>().join("\n");
    if ends_with_newline {
        out.push('\n');
    }
    Some(out)
}

/// A code fence around the text.
///
/// Evidence: models that answer in Markdown; aider and Copilot's editor strip it.
pub(super) struct CodeFence;

impl Mistake for CodeFence {
    fn difference(&self) -> Difference {
        Difference::CodeFence
    }

    fn undo(&self, old: &str, new: &str) -> Option<(String, UndoNew)> {
        let text = strip_fence(old)?;
        // If new_str has other fences than the one around its text, the call means to edit fences.
        let has_fence = |text: &str| text.lines().any(is_fence);
        let fence_is_content = match strip_fence(new) {
            Some(inner) => has_fence(&inner) && !has_fence(&text),
            None => has_fence(new),
        };
        if fence_is_content {
            return None;
        }
        // Without its fence old_str does not end with a line break, so new_str must not either.
        let plain = |new: &str| new.strip_suffix('\n').unwrap_or(new).to_owned();
        let undo =
            move |new: &str| vec![Form::usual(strip_fence(new).unwrap_or_else(|| plain(new)))];
        Some((text, Box::new(undo)))
    }
}

/// Whether a line opens or closes a code fence.
pub(in crate::matching) fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~")
}

/// The text inside a code fence; `None` if there is no fence around the text.
fn strip_fence(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let (opening, rest) = trimmed.split_once('\n')?;
    let fence = ["```", "~~~"].into_iter().find(|fence| opening.starts_with(fence))?;
    if opening[3..].trim().contains(char::is_whitespace) {
        return None;
    }
    if rest.trim_end() == fence {
        return Some(String::new());
    }
    let body = rest.strip_suffix(fence)?.strip_suffix('\n')?;
    Some(body.to_owned())
}

/// Blank lines around the text that the file does not have.
///
/// Evidence: aider tries again without a leading blank line.
pub(super) struct OuterBlankLines;

impl Mistake for OuterBlankLines {
    fn difference(&self) -> Difference {
        Difference::OuterBlankLines
    }

    fn undo(&self, old: &str, _new: &str) -> Option<(String, UndoNew)> {
        let (head, tail) = count_outer_blank_lines(old);
        if head + tail == 0 {
            return None;
        }
        let undo = move |new: &str| {
            let (new_head, new_tail) = count_outer_blank_lines(new);
            vec![Form::usual(strip_lines(new, new_head.min(head), new_tail.min(tail)))]
        };
        Some((strip_lines(old, head, tail), Box::new(undo)))
    }
}

/// How many blank lines a text begins with and ends with; (0, 0) if all its lines are blank.
fn count_outer_blank_lines(text: &str) -> (usize, usize) {
    let blank = |line: &&str| line.trim().is_empty();
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let head = lines.iter().take_while(|line| blank(line)).count();
    if head == lines.len() {
        return (0, 0);
    }
    (head, lines.iter().rev().take_while(|line| blank(line)).count())
}

/// The text without its first `head` and its last `tail` lines.
fn strip_lines(text: &str, head: usize, tail: usize) -> String {
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let mut kept = lines[head..lines.len() - tail].join("\n");
    if text.ends_with('\n') {
        kept.push('\n');
    }
    kept
}
