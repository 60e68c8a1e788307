//! Escapes in `new_str` where the file's language does not allow them: outside of all literals and
//! comments, `\n` or `\"` is an error, so the text was escaped once too often.
//!
//! Proven by the lexer, they are undone; merely suspicious, they are written as sent, and a
//! model may be asked.

use std::ops::Range;

use super::reading::{unescape_all, unescape_quotes};
use super::source_file::SourceFile;
use crate::language::{Language, Lexed, TokenKind};
use crate::text::Snapshot;

/// Languages in which a backslash before `n`, `t` or a quote is a fault in code.
const STRICT: &[&str] = &[
    "rust",
    "python",
    "javascript",
    "typescript",
    "go",
    "c",
    "c++",
    "java",
    "kotlin",
    "dart",
    "json",
    "protobuf",
];

pub(crate) const WARNING: &str =
    "new_str holds escapes (\\n, \\\") outside of string literals; they were written as sent";

/// What the escapes of a new text are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Review {
    /// None, or where they belong.
    Fine,
    /// A fault for sure; this is the text without it.
    Proven(String),
    /// Perhaps a fault.
    Suspicious,
}

/// Reviews `new` in the place of a range of the file.
pub(super) fn review(file: &SourceFile<'_>, place: &Range<usize>, old: &str, new: &str) -> Review {
    let strict = file.language.filter(|language| STRICT.contains(&language.name));
    let Some(language) = strict.filter(|_| has_escape(new)) else { return Review::Fine };
    let with = |new: &str| [&file.text[..place.start], new, &file.text[place.end..]].concat();
    let inside = |new: &str| place.start..place.start + new.len();
    let sent = language.lex(&with(new));
    if !escapes_in_code(&sent, &with(new), inside(new)) {
        return Review::Fine;
    }
    // The file already has such text, so here it is no mistake.
    let before = file.lexed();
    if has_escape(old)
        && before.is_some_and(|lexed| escapes_in_code(lexed, file.text, place.clone()))
    {
        return Review::Fine;
    }
    let proven = before.is_some_and(Lexed::is_well_formed) && !may_be_markup(language, new);
    match repaired(language, new, with, inside) {
        Some(text) if proven => Review::Proven(text),
        _ => Review::Suspicious,
    }
}

/// Reviews new text in the place of whole lines, for a caller that has no `old_str`.
pub(crate) fn review_lines(
    snapshot: &Snapshot,
    language: Option<&'static Language>,
    place: &Range<usize>,
    new: &str,
) -> Review {
    let file = SourceFile::new(snapshot, language);
    review(&file, place, &file.text[place.clone()], new)
}

/// Reviews the content of a new file.
pub(crate) fn review_content(language: Option<&'static Language>, content: &str) -> Review {
    let strict = language.filter(|language| STRICT.contains(&language.name));
    let Some(language) = strict.filter(|_| has_escape(content)) else { return Review::Fine };
    if !escapes_in_code(&language.lex(content), content, 0..content.len()) {
        return Review::Fine;
    }
    match repaired(language, content, str::to_owned, |text| 0..text.len()) {
        Some(text) if !may_be_markup(language, content) => Review::Proven(text),
        _ => Review::Suspicious,
    }
}

/// The first unescaped form in which all literals and brackets are closed and no escape is left in
/// code.
fn repaired(
    language: &Language,
    new: &str,
    with: impl Fn(&str) -> String,
    inside: impl Fn(&str) -> Range<usize>,
) -> Option<String> {
    let candidates = [unescape_all(new), unescape_quotes(new)];
    candidates.into_iter().find(|text| {
        let whole = with(text);
        let lexed = language.lex(&whole);
        lexed.is_well_formed() && !escapes_in_code(&lexed, &whole, inside(text))
    })
}

/// The readings of escapes that a model may choose from, the mildest last.
pub(crate) fn readings(new: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for text in [unescape_all(new), unescape_quotes(new)] {
        if text != new && !out.contains(&text) {
            out.push(text);
        }
    }
    out
}

fn has_escape(text: &str) -> bool {
    ["\\n", "\\t", "\\\"", "\\'", "\\`"].iter().any(|escape| text.contains(escape))
}

/// Text between tags may hold a backslash.
fn may_be_markup(language: &Language, text: &str) -> bool {
    matches!(language.name, "javascript" | "typescript") && text.contains("</")
}

fn escapes_in_code(lexed: &Lexed, text: &str, inside: Range<usize>) -> bool {
    let escaped = memchr::memchr_iter(b'\\', &text.as_bytes()[inside.clone()]);
    escaped.map(|at| inside.start + at).any(|at| {
        let next = text.as_bytes().get(at + 1).copied().unwrap_or(b' ');
        matches!(next, b'n' | b't' | b'"' | b'\'' | b'`') && lexed.kind_at(at) == TokenKind::Code
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reviewed(language: &str, text: &str, old: &str, new: &str) -> Review {
        let snapshot = Snapshot::from_text(text);
        let file = SourceFile::new(&snapshot, Language::from_name(language));
        let at = text.find(old).expect("there");
        review(&file, &(at..at + old.len()), old, new)
    }

    #[test]
    fn escapes_in_code_are_proven_to_be_a_mistake() {
        for language in ["go", "python", "rust", "typescript"] {
            let review = reviewed(language, "f(1)\ng(2)\n", "g(2)", "g(\\\"a\\\")\\nh(3)");
            assert_eq!(review, Review::Proven("g(\"a\")\nh(3)".into()), "{language}");
        }
        assert_eq!(
            reviewed("json", "{\"a\": 1}\n", "1", "{\\\"b\\\": 2}"),
            Review::Proven("{\"b\": 2}".into())
        );
    }

    #[test]
    fn escapes_that_may_be_meant_are_left() {
        assert_eq!(reviewed("go", "f(1)\n", "1", "\"a\\n\\\"b\\\"\""), Review::Fine);
        assert_eq!(
            reviewed("shell", "sh -c \"echo hi\"\n", "echo hi", "echo \\\"hi\\\""),
            Review::Fine
        );
        assert_eq!(reviewed("go", "f(1\n", "1", "\\\"a\\\""), Review::Suspicious);
        assert_eq!(reviewed("rust", "// a\nf();\n", "a", "a\\nb"), Review::Fine);
    }
}
