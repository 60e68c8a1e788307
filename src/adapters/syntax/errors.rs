//! The errors of a tree, in plain words. A specific cause is named if it is certain: an unpaired
//! bracket, a literal that is not closed, a missing token. Otherwise the message says only where
//! the text no longer parses.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::depth;
use crate::edit::SyntaxError;
use crate::language::Language;

/// More are not told.
const MOST_ERRORS: usize = 8;
/// Characters of a line that are shown.
const MOST_SHOWN: usize = 120;
/// And of a text within a sentence.
const MOST_QUOTED: usize = 40;

/// A text and its tree.
pub(super) struct Side<'a> {
    pub(super) text: &'a str,
    pub(super) tree: &'a Tree,
}

/// The errors of a text that had none before.
pub(super) fn new_ones(path: &str, before: &Side<'_>, after: &Side<'_>) -> Vec<SyntaxError> {
    let changed = changed(before.text, after.text);
    // What follows from a lost partner is no error of its own.
    match unclosed(path, before, after).or_else(|| unpaired(before, after)) {
        Some(cause) => vec![cause],
        None => gathered(after, &changed),
    }
}

/// The errors of a text of which nothing else is known.
pub(super) fn all(side: &Side<'_>) -> Vec<SyntaxError> {
    gathered(side, &(0..0))
}

fn gathered(side: &Side<'_>, changed: &Range<usize>) -> Vec<SyntaxError> {
    let mut found: Vec<SyntaxError> = Vec::new();
    for node in broken(side.tree.root_node()) {
        let error = described(side.text, node, changed);
        if found.len() == MOST_ERRORS {
            break;
        }
        if found.iter().all(|other| other.line != error.line) {
            found.push(error);
        }
    }
    if !found.is_empty() {
        return found;
    }
    let misplaced = depth::misplaced(side.tree, side.text).into_iter().take(MOST_ERRORS);
    misplaced.map(|misplaced| at(side.text, misplaced.at, misplaced.what)).collect()
}

/// The outermost nodes that are errors or stand for missing tokens, in the order of the text.
fn broken(root: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let is_broken = node.is_error() || node.is_missing();
        if is_broken {
            found.push(node);
        }
        let deeper = !is_broken && node.has_error() && cursor.goto_first_child();
        if deeper {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

fn described(text: &str, node: Node<'_>, changed: &Range<usize>) -> SyntaxError {
    if node.is_missing() {
        let what = match node.is_named() {
            true => format!("{} is missing", with_article(&node.kind().replace('_', " "))),
            false => format!("`{}` is missing", node.kind()),
        };
        return at(text, node.start_byte(), what);
    }
    let range = node.start_byte()..node.end_byte();
    // For a long range, report the part that was edited.
    let start = match range.start < changed.start && changed.start < range.end {
        true => changed.start,
        false => range.start,
    };
    let (first, last) = (line_of(text, range.start), line_of(text, range.end.max(1) - 1));
    let what = match last > first {
        true => format!("lines {first}-{last} do not parse"),
        false => {
            let quoted = clip(text[range].trim(), MOST_QUOTED);
            match quoted.is_empty() {
                true => "something is missing".to_owned(),
                false => format!("`{quoted}` does not fit there"),
            }
        }
    };
    at(text, start, what)
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// A literal or comment that was opened and is not closed, where all were closed before.
fn unclosed(path: &str, before: &Side<'_>, after: &Side<'_>) -> Option<SyntaxError> {
    let language = Language::from_path(path).filter(|language| language.is_lexed())?;
    if !language.lex(before.text).closed {
        return None;
    }
    let lexed = language.lex(after.text);
    if lexed.closed {
        return None;
    }
    let start = changed(before.text, after.text).start;
    Some(at(after.text, start, "a string or a comment is not closed"))
}

/// A bracket without its partner, where every bracket had one before.
fn unpaired(before: &Side<'_>, after: &Side<'_>) -> Option<SyntaxError> {
    if lone(before.tree.root_node()).is_some() {
        return None;
    }
    let lone = lone(after.tree.root_node())?;
    let partner = match lone.bracket {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        ')' => '(',
        ']' => '[',
        _ => '{',
    };
    let what = match lone.bracket {
        '(' | '[' | '{' => format!("`{}` is never closed", lone.bracket),
        _ => format!("`{}` without `{partner}`", lone.bracket),
    };
    Some(at(after.text, lone.at, what))
}

/// A bracket that has no partner.
struct Lone {
    bracket: char,
    at: usize,
}

/// The first bracket that closes nothing, or else the last that is not closed. Only tokens
/// count: brackets in literals and comments are none.
fn lone(root: Node<'_>) -> Option<Lone> {
    let mut open: Vec<Lone> = Vec::new();
    let mut cursor = root.walk();
    loop {
        if cursor.goto_first_child() {
            continue;
        }
        let node = cursor.node();
        if !node.is_named() && !node.is_missing() && node.kind().len() <= 3 {
            for bracket in node.kind().chars() {
                let closes = match bracket {
                    '(' | '[' | '{' => {
                        open.push(Lone { bracket, at: node.start_byte() });
                        continue;
                    }
                    ')' => '(',
                    ']' => '[',
                    '}' => '{',
                    _ => continue,
                };
                match open.pop() {
                    Some(last) if last.bracket == closes => {}
                    // The one in between was not closed.
                    Some(last) if open.iter().any(|one| one.bracket == closes) => {
                        return Some(last);
                    }
                    _ => return Some(Lone { bracket, at: node.start_byte() }),
                }
            }
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return open.pop();
            }
        }
    }
}

/// The part of `after` that differs.
fn changed(before: &str, after: &str) -> Range<usize> {
    let (a, b) = (before.as_bytes(), after.as_bytes());
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let rest = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    head..b.len() - tail
}

fn at(text: &str, at: usize, what: impl Into<String>) -> SyntaxError {
    let number = line_of(text, at);
    let line = text.lines().nth(number - 1).unwrap_or_default();
    SyntaxError::new(number, clip(line.trim(), MOST_SHOWN), what)
}

fn line_of(text: &str, at: usize) -> usize {
    let head = &text.as_bytes()[..at.min(text.len())];
    let number = 1 + memchr::memchr_iter(b'\n', head).count();
    // Behind the last newline there is no line.
    match at >= text.len() && text.ends_with('\n') && number > 1 {
        true => number - 1,
        false => number,
    }
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
