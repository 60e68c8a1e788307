//! Literals and here-documents that `new_str` opens: where the white space of their lines is a part of
//! the text.

use super::fold::is_word_char;
use super::indent::{depth, indent_of};
use super::shape::is_among;
use super::source_file::SourceFile;
use crate::language::{Language, TokenKind};

/// The lines of `new_str` inside a here-document that it opens, and the one that ends it: the language
/// gives their white space meaning, so they are as they were sent.
pub(super) fn heredoc_lines(file: &SourceFile<'_>, new: &[&str]) -> Vec<usize> {
    const WITH_HEREDOCS: &str = "yaml shell ruby perl php dockerfile make terraform";
    let Some(language) = file.language.filter(|it| is_among(WITH_HEREDOCS, it.name)) else {
        return Vec::new();
    };
    // In YAML the lines are inside a block of their own, which has its depth.
    let in_block = language.name == "yaml";
    let (mut out, mut at) = (Vec::new(), 0);
    while at < new.len() {
        let opener = new[at];
        at += 1;
        let Some(word) = heredoc_word(opener) else { continue };
        let ends = |line: &&str| line.trim().trim_end_matches([';', ',', ')']) == word;
        let Some(len) = new[at..].iter().position(ends) else { continue };
        let end = new[at + len];
        if depth(end) < depth(opener)
            || !in_block && (indent_of(opener).is_empty() || indent_of(end).contains('\t'))
        {
            out.extend(at..=at + len);
        }
        at += len + 1;
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
    let word = rest.split(|c| !is_word_char(c)).next()?;
    word.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(word)
}

/// The lines of `new_str` that begin inside a literal, each with the line that opens it. `above` is what the
/// file has above it of the comment or literal in which it begins, whose lines are not among them.
pub(super) fn literal_lines(
    file: &SourceFile<'_>,
    above: &str,
    new: &[&str],
) -> Vec<(usize, usize)> {
    let Some(language) = file.language else { return Vec::new() };
    if !file.proves_structure() {
        return long_literal_lines(language, new);
    }
    let lexed = language.lex(&(above.to_owned() + &new.join("\n")));
    let (mut out, mut start, mut opener) = (Vec::new(), above.len(), None);
    for (at, line) in new.iter().enumerate().filter(|_| lexed.closed) {
        match lexed.kind_across(start) {
            TokenKind::Literal => out.extend(opener.map(|opener| (at, opener))),
            _ => opener = Some(at),
        }
        start += line.len() + 1;
    }
    out
}

/// The same in languages that are not lexed as a whole, by the marks of literals of several lines.
fn long_literal_lines(language: &Language, new: &[&str]) -> Vec<(usize, usize)> {
    let marks: &[(&str, &str)] = match language.name {
        "lua" => &[("[[", "]]"), ("[=[", "]=]"), ("[==[", "]==]")],
        "c#" => &[("\"\"\"", "\"\"\""), ("@\"", "\"")],
        "html" => &[("<pre>", "</pre>"), ("<pre ", "</pre>"), ("<textarea", "</textarea>")],
        "ruby" => &[("%q(", ")"), ("%Q(", ")"), ("\"", "\"")],
        "shell" | "r" | "scala" | "lisp" => &[("\"\"\"", "\"\"\""), ("\"", "\"")],
        _ => &[],
    };
    let last = |close: &str| new.iter().rposition(|line| line.contains(close));
    let marks = marks.iter().filter_map(|(mark, close)| Some((*mark, *close, last(close)?)));
    let marks: Vec<(&str, &str, usize)> = marks.collect();
    let (mut out, mut open) = (Vec::new(), None);
    for (at, line) in new.iter().enumerate() {
        if let Some((opener, close)) = open {
            out.push((at, opener));
            open = open.filter(|_| !line.contains(close));
            continue;
        }
        // A quote in other quotes opens nothing.
        let code = language.strip_trailing_comment(line).replace("'\"'", "");
        let count = |mark: &str| code.matches(mark).count();
        let opens = |(mark, close, last): &&(&str, &str, usize)| {
            let is_open = match mark == close {
                true => (count(mark) - count(&format!("\\{mark}"))) % 2 == 1,
                false => code.split_once(mark).is_some_and(|(_, rest)| !rest.contains(close)),
            };
            at < *last && is_open && !language.is_comment(line)
        };
        open = marks.iter().find(opens).map(|(_, close, _)| (at, *close));
    }
    out
}
