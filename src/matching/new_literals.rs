//! Literals and here-documents that `new_str` opens: where the white space of their lines is a part of
//! the text.

use std::collections::HashSet;

use super::call::{Call, Fate};
use super::indent::{TAB_WIDTH, columns};
use super::indent_of;
use super::source_file::SourceFile;
use crate::language::TokenKind;

/// The lines of `new_str` inside a here-document that it opens, and the one that ends it: the language
/// gives their white space meaning, so they are as they were sent.
pub(super) fn unmapped_lines(
    file: &SourceFile<'_>,
    new: &[&str],
    begins_in_literal: bool,
) -> HashSet<usize> {
    let mut out = HashSet::new();
    let has_heredocs = file.language.is_some_and(|l| {
        matches!(
            l.name,
            "shell" | "ruby" | "perl" | "php" | "dockerfile" | "make" | "yaml" | "terraform"
        )
    });
    // In YAML the lines are inside a block of their own, which has its depth.
    let in_block = file.language.is_some_and(|language| language.name == "yaml");
    let mut at = 0;
    while has_heredocs && at < new.len() {
        let (opener, word) = (indent_of(new[at]), heredoc_word(new[at]));
        at += 1;
        let Some(word) = word else { continue };
        let ends = |line: &&str| line.trim().trim_end_matches([';', ',', ')']) == word;
        if let Some(len) = new[at..].iter().position(ends) {
            let end = indent_of(new[at + len]);
            if columns(end, TAB_WIDTH) < columns(opener, TAB_WIDTH)
                || !in_block && (opener.is_empty() || end.contains('\t'))
            {
                out.extend(at..=at + len);
            }
            at += len + 1;
        }
    }
    if !begins_in_literal {
        out.extend(outdented_literal_lines(file, new));
    }
    out
}

/// The lines of `new_str` inside a literal that it opens, if they are less deep than the line that opens
/// it: their white space is a part of the literal.
fn outdented_literal_lines(file: &SourceFile<'_>, new: &[&str]) -> Vec<usize> {
    let width = |at: usize| columns(indent_of(new[at]), TAB_WIDTH);
    let lines = literal_lines(file, new).into_iter();
    lines.filter(|&(at, opener)| width(at) < width(opener)).map(|(at, _)| at).collect()
}

/// The lines of literals that only `new_str` has. Nothing shows whether their white space is a part of
/// the text, but for a docstring, where it is not.
pub(super) fn lines_of_new_literals(file: &SourceFile<'_>, call: &Call<'_>) -> HashSet<usize> {
    let quotes = ["\"\"\"", "'''"];
    let is_docstring =
        |at: usize| quotes.iter().any(|quote| call.new[at].trim_start().starts_with(quote));
    let lines = literal_lines(file, &call.new).into_iter();
    let of_new = lines.filter(|&(at, opener)| {
        let opener_is_new = call.partner(opener).is_none_or(|old| call.fate(old) == Fate::Changed);
        opener_is_new && call.partner(at).is_none() && !is_docstring(opener)
    });
    of_new.map(|(at, _)| at).collect()
}

/// The lines of `new_str` that begin inside a literal, each with the line that opens it.
fn literal_lines(file: &SourceFile<'_>, new: &[&str]) -> Vec<(usize, usize)> {
    let Some(language) = file.language else { return Vec::new() };
    if !file.proves_structure() {
        return long_literal_lines(language.name, new);
    }
    let text = new.join("\n");
    let lexed = language.lex(&text);
    if !lexed.closed {
        return Vec::new();
    }
    let mut out = Vec::new();
    let (mut start, mut opener) = (0, 0);
    for (at, line) in new.iter().enumerate() {
        let token = lexed.tokens.partition_point(|token| token.range.end <= start);
        let inside = lexed
            .tokens
            .get(token)
            .is_some_and(|token| token.kind == TokenKind::Literal && token.range.start < start);
        if inside {
            out.push((at, opener));
        } else {
            opener = at;
        }
        start += line.len() + 1;
    }
    out
}

/// The same in languages that are not lexed as a whole, by the marks of literals of several lines.
fn long_literal_lines(language: &str, new: &[&str]) -> Vec<(usize, usize)> {
    let marks: &[(&str, &str)] = match language {
        "lua" => &[("[[", "]]")],
        "c#" => &[("\"\"\"", "\"\"\""), ("@\"", "\"")],
        _ => &[],
    };
    let (mut out, mut open): (_, Option<(usize, &str)>) = (Vec::new(), None);
    for (at, line) in new.iter().enumerate() {
        let Some((opener, close)) = open else {
            let opens = |(mark, close): &(&str, &'static str)| {
                line.split_once(mark)
                    .filter(|(_, rest)| !rest.contains(close))
                    .map(|_| (at, *close))
            };
            open = marks.iter().find_map(opens);
            continue;
        };
        out.push((at, opener));
        open = open.filter(|_| !line.contains(close));
    }
    out
}

/// The word that ends a here-document whose lines may not be indented, if a line opens one.
fn heredoc_word(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("<<")?;
    let rest = rest.trim_start_matches('<').trim_start_matches(' ');
    if rest.starts_with(['~', '=']) {
        return None;
    }
    let rest = rest.trim_start_matches(['-', '\'', '"', '\\']);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let word = &rest[..end];
    word.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(word)
}
