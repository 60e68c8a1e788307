//! Describes the errors of a syntax tree in plain words. A specific cause is named if it is certain:
//! an unpaired bracket, a literal that is not closed, a missing token. Otherwise the message says
//! only where the text no longer parses.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::{misindented, nodes};
use crate::edit::SyntaxError;
use crate::language::Language;
use crate::text::clip;

/// How many errors are reported at most.
const MAX_ERRORS: usize = 8;
/// How many characters of a line are shown.
const MAX_SHOWN: usize = 120;
/// How many characters of the text are quoted within a sentence.
const MAX_QUOTED: usize = 40;

/// A text and its syntax tree.
pub(super) struct ParsedText<'a> {
    pub(super) text: &'a str,
    pub(super) tree: &'a Tree,
}

/// The errors of a text that had none before.
pub(super) fn new_errors(
    path: &str,
    before: &ParsedText<'_>,
    after: &ParsedText<'_>,
) -> Vec<SyntaxError> {
    let changed = changed_range(before.text, after.text);
    // An unclosed literal or an unpaired bracket causes further errors, which are not reported.
    match unclosed(path, before, after).or_else(|| unpaired(before, after)) {
        Some(cause) => vec![cause],
        None => collect_errors(after, &changed),
    }
}

/// The errors of a tree, at most one for each line. `changed` is the part of the text that an edit
/// has changed; it is empty if there was no edit.
pub(super) fn collect_errors(parsed: &ParsedText<'_>, changed: &Range<usize>) -> Vec<SyntaxError> {
    let mut found: Vec<SyntaxError> = Vec::new();
    for node in error_nodes(parsed.tree.root_node()) {
        if found.len() == MAX_ERRORS {
            break;
        }
        let error = describe(parsed.text, node, changed);
        if found.iter().all(|other| other.line != error.line) {
            found.push(error);
        }
    }
    if !found.is_empty() {
        return found;
    }
    let misindented = misindented(parsed.tree, parsed.text).into_iter().take(MAX_ERRORS);
    misindented.map(|(at, what)| error_at(parsed.text, at, what)).collect()
}

/// The outermost nodes that are errors or stand for missing tokens, in the order of the text.
fn error_nodes(root: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let is_broken = |node: Node<'_>| node.is_error() || node.is_missing();
    let may_have_broken_children = move |node: Node<'_>| node.has_error() && !is_broken(node);
    nodes(root, may_have_broken_children).filter(move |node| is_broken(*node))
}

/// Describes a node that is an error or stands for a missing token.
fn describe(text: &str, node: Node<'_>, changed: &Range<usize>) -> SyntaxError {
    if node.is_missing() {
        let what = match node.is_named() {
            true => format!("there is no {} here", node.kind().replace('_', " ")),
            false => format!("`{}` is missing", node.kind()),
        };
        return error_at(text, node.start_byte(), what);
    }
    let range = node.start_byte()..node.end_byte();
    // For a long range, report the part that was edited.
    let start = match range.start < changed.start && changed.start < range.end {
        true => changed.start,
        false => range.start,
    };
    let last_byte = range.end.max(1) - 1;
    let (first, last) = (line_of(text, range.start), line_of(text, last_byte));
    let what = match last > first {
        true => format!("lines {first}-{last} do not parse"),
        false => {
            let quoted = clip(text[range].trim(), MAX_QUOTED);
            match quoted.is_empty() {
                true => "something is missing".to_owned(),
                false => format!("`{quoted}` is unexpected here"),
            }
        }
    };
    error_at(text, start, what)
}

/// The error of a string or comment that is not closed, if all were closed before.
fn unclosed(path: &str, before: &ParsedText<'_>, after: &ParsedText<'_>) -> Option<SyntaxError> {
    let language = Language::from_path(path).filter(|language| language.is_lexed())?;
    if !language.lex(before.text).closed {
        return None;
    }
    let lexed = language.lex(after.text);
    if lexed.closed {
        return None;
    }
    let start = changed_range(before.text, after.text).start;
    Some(error_at(after.text, start, "a string or a comment is not closed"))
}

/// The error of a bracket without its partner, if every bracket had one before.
fn unpaired(before: &ParsedText<'_>, after: &ParsedText<'_>) -> Option<SyntaxError> {
    if find_unpaired_bracket(before.tree.root_node()).is_some() {
        return None;
    }
    let (bracket, at) = find_unpaired_bracket(after.tree.root_node())?;
    let what = match PAIRS.iter().find(|(_, closing)| *closing == bracket) {
        Some((opening, _)) => format!("`{bracket}` without `{opening}`"),
        None => format!("`{bracket}` is never closed"),
    };
    Some(error_at(after.text, at, what))
}

const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// The first bracket that is found to have no partner; if only opening brackets are left at the end
/// of the text, the last of them. Brackets in literals and comments are ignored.
fn find_unpaired_bracket(root: Node<'_>) -> Option<(char, usize)> {
    let mut open: Vec<(char, usize)> = Vec::new();
    // Some tokens hold a bracket and other characters, such as `${`.
    let is_short_token = |node: &Node<'_>| {
        node.child_count() == 0 && !node.is_named() && !node.is_missing() && node.kind().len() <= 3
    };
    for node in nodes(root, |_| true).filter(is_short_token) {
        for bracket in node.kind().chars() {
            if PAIRS.iter().any(|(opening, _)| *opening == bracket) {
                open.push((bracket, node.start_byte()));
            }
            let pair = PAIRS.iter().find(|(_, closing)| *closing == bracket);
            let Some((opening, _)) = pair else { continue };
            match open.pop() {
                Some((last, _)) if last == *opening => {}
                // The partner is further out, so the bracket in between is not closed.
                Some(last) if open.iter().any(|(outer, _)| outer == opening) => {
                    return Some(last);
                }
                _ => return Some((bracket, node.start_byte())),
            }
        }
    }
    open.pop()
}

/// The range of `after` between the prefix and the suffix that it shares with `before`.
fn changed_range(before: &str, after: &str) -> Range<usize> {
    let (a, b) = (before.as_bytes(), after.as_bytes());
    let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let max_suffix = a.len().min(b.len()) - prefix;
    let from_end = a.iter().rev().zip(b.iter().rev()).take(max_suffix);
    let suffix = from_end.take_while(|(a, b)| a == b).count();
    prefix..b.len() - suffix
}

/// An error at a byte offset, with the number and the text of its line.
fn error_at(text: &str, at: usize, what: impl Into<String>) -> SyntaxError {
    error_on_line(text, line_of(text, at), what)
}

/// An error on a line, from 1, with the text of that line. The end of a text that ends with a
/// newline counts as its last line.
pub(super) fn error_on_line(text: &str, number: usize, what: impl Into<String>) -> SyntaxError {
    let number = number.clamp(1, text.lines().count().max(1));
    let line = text.lines().nth(number - 1).unwrap_or_default();
    SyntaxError::new(number, clip(line.trim(), MAX_SHOWN), what)
}

/// The number of the line that a byte offset is on, from 1.
fn line_of(text: &str, at: usize) -> usize {
    let head = &text.as_bytes()[..at.min(text.len())];
    let number = 1 + memchr::memchr_iter(b'\n', head).count();
    // The end of a text that ends with a newline is on its last line.
    match at >= text.len() && text.ends_with('\n') && number > 1 {
        true => number - 1,
        false => number,
    }
}
