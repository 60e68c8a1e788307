//! Reviews escapes in `new_str` where the file's language does not allow them: outside of literals
//! and comments, `\n` or `\"` is an error, so the text was probably escaped once too often.
//!
//! If the lexer proves the mistake, it is undone. If the escapes are only suspicious, they are written
//! as sent, and a model may be asked.

use std::ops::Range;

use super::reading::{unescape_all, unescape_quotes};
use super::source_file::SourceFile;
use crate::language::{Language, Lexed, TokenKind};
use crate::text::Snapshot;

/// Languages in which a backslash before `n`, `t` or a quote is an error outside of literals.
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

/// The warning about suspicious escapes.
pub(crate) const ESCAPES_WARNING: &str =
    "new_str holds escapes (\\n, \\\") outside of string literals; they were written as sent";

/// What a review of the escapes of a new text found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EscapeReview {
    /// There are none, or the language allows them where they are.
    Fine,
    /// They are a mistake; the text without it.
    Proven(String),
    /// They are perhaps a mistake.
    Suspicious,
}

/// Reviews `new` as the replacement of a range of the file.
pub(super) fn review_escapes(
    file: &SourceFile<'_>,
    place: &Range<usize>,
    old: &str,
    new: &str,
) -> EscapeReview {
    let strict = file.language.filter(|language| STRICT.contains(&language.name));
    let Some(language) = strict.filter(|_| has_escape(new)) else { return EscapeReview::Fine };
    let whole_file = |new: &str| [&file.text[..place.start], new, &file.text[place.end..]].concat();
    let range_of = |new: &str| place.start..place.start + new.len();
    let lexed_as_sent = language.lex(&whole_file(new));
    if !escapes_in_code(&lexed_as_sent, &whole_file(new), range_of(new)) {
        return EscapeReview::Fine;
    }
    // The file already has such text, so here it is no mistake.
    let lexed_file = file.lexed();
    if has_escape(old)
        && lexed_file.is_some_and(|lexed| escapes_in_code(lexed, file.text, place.clone()))
    {
        return EscapeReview::Fine;
    }
    let may_be_proven =
        lexed_file.is_some_and(Lexed::is_well_formed) && !may_be_markup(language, new);
    match unescaped_if_valid(language, new, whole_file, range_of) {
        Some(text) if may_be_proven => EscapeReview::Proven(text),
        _ => EscapeReview::Suspicious,
    }
}

/// Reviews new text as the replacement of whole lines, for a caller that has no `old_str`.
pub(crate) fn review_line_escapes(
    snapshot: &Snapshot,
    language: Option<&'static Language>,
    place: &Range<usize>,
    new: &str,
) -> EscapeReview {
    let file = SourceFile::new(snapshot, language);
    review_escapes(&file, place, &file.text[place.clone()], new)
}

/// Reviews the content of a new file.
pub(crate) fn review_file_escapes(
    language: Option<&'static Language>,
    content: &str,
) -> EscapeReview {
    let strict = language.filter(|language| STRICT.contains(&language.name));
    let Some(language) = strict.filter(|_| has_escape(content)) else { return EscapeReview::Fine };
    if !escapes_in_code(&language.lex(content), content, 0..content.len()) {
        return EscapeReview::Fine;
    }
    match unescaped_if_valid(language, content, str::to_owned, |text| 0..text.len()) {
        Some(text) if !may_be_markup(language, content) => EscapeReview::Proven(text),
        _ => EscapeReview::Suspicious,
    }
}

/// The first unescaped form of `new` with which the file is well formed and has no escape in code
/// there. `whole_file` inserts a text into the file, and `range_of` says where the text is then.
fn unescaped_if_valid(
    language: &Language,
    new: &str,
    whole_file: impl Fn(&str) -> String,
    range_of: impl Fn(&str) -> Range<usize>,
) -> Option<String> {
    let candidates = [unescape_all(new), unescape_quotes(new)];
    candidates.into_iter().find(|text| {
        let whole = whole_file(text);
        let lexed = language.lex(&whole);
        lexed.is_well_formed() && !escapes_in_code(&lexed, &whole, range_of(text))
    })
}

/// The unescaped forms of `new` that a model may choose from, those that change most first.
pub(crate) fn escape_readings(new: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for text in [unescape_all(new), unescape_quotes(new)] {
        if text != new && !out.contains(&text) {
            out.push(text);
        }
    }
    out
}

/// Whether a text has an escape that is an error outside of literals.
fn has_escape(text: &str) -> bool {
    ["\\n", "\\t", "\\\"", "\\'", "\\`"].iter().any(|escape| text.contains(escape))
}

/// Whether a text may be JSX, which allows backslashes in the text between tags.
fn may_be_markup(language: &Language, text: &str) -> bool {
    matches!(language.name, "javascript" | "typescript") && text.contains("</")
}

/// Whether a range of a lexed text has an escape outside of literals and comments.
fn escapes_in_code(lexed: &Lexed, text: &str, range: Range<usize>) -> bool {
    let backslashes = memchr::memchr_iter(b'\\', &text.as_bytes()[range.clone()]);
    backslashes.map(|at| range.start + at).any(|at| {
        let next = text.as_bytes().get(at + 1).copied().unwrap_or(b' ');
        matches!(next, b'n' | b't' | b'"' | b'\'' | b'`') && lexed.kind_at(at) == TokenKind::Code
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reviewed(language: &str, text: &str, old: &str, new: &str) -> EscapeReview {
        let snapshot = Snapshot::from_text(text);
        let file = SourceFile::new(&snapshot, Language::from_name(language));
        let at = text.find(old).expect("there");
        review_escapes(&file, &(at..at + old.len()), old, new)
    }

    #[test]
    fn escapes_in_code_are_proven_to_be_a_mistake() {
        for language in ["go", "python", "rust", "typescript"] {
            let review = reviewed(language, "f(1)\ng(2)\n", "g(2)", "g(\\\"a\\\")\\nh(3)");
            assert_eq!(review, EscapeReview::Proven("g(\"a\")\nh(3)".into()), "{language}");
        }
        assert_eq!(
            reviewed("json", "{\"a\": 1}\n", "1", "{\\\"b\\\": 2}"),
            EscapeReview::Proven("{\"b\": 2}".into())
        );
    }

    #[test]
    fn escapes_that_may_be_meant_are_left() {
        assert_eq!(reviewed("go", "f(1)\n", "1", "\"a\\n\\\"b\\\"\""), EscapeReview::Fine);
        assert_eq!(
            reviewed("shell", "sh -c \"echo hi\"\n", "echo hi", "echo \\\"hi\\\""),
            EscapeReview::Fine
        );
        assert_eq!(reviewed("go", "f(1\n", "1", "\\\"a\\\""), EscapeReview::Suspicious);
        assert_eq!(reviewed("rust", "// a\nf();\n", "a", "a\\nb"), EscapeReview::Fine);
    }
}
