//! Wrappers around a text: diff markers, a code fence, blank lines.

use std::collections::HashSet;

use super::{Form, Undone, depth};

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
fn strip_context_markers(text: &str) -> Option<String> {
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
