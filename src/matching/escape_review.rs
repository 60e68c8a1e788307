//! The review of escapes in what is written: where the language forbids them, outside of literals and
//! comments, `\\n` or `\\"` is an error. Of the forms that lex clean, the one that touches only forbidden
//! spots counts; if several others differ, the text is written as sent, with a warning, or a model is asked.

use std::cell::LazyCell;
use std::ops::Range;

use super::budget;
use super::escapes::{
    Escapes, QUOTES, escape, has_break, has_escape, share_line, undo_in_new_only,
};
use super::shape::is_among;
use super::source_file::SourceFile;
use crate::edit::{Explanation, Rewrite};
use crate::language::{Language, Lexed, TokenKind};
use crate::text::Snapshot;

/// Languages in which a backslash before `n`, `t` or a quote is an error outside of literals.
const STRICT: &str = "rust python javascript typescript go c c++ java kotlin dart json protobuf";

/// Whether a language has no escapes outside of literals.
pub(super) fn forbids_escapes(language: &Language) -> bool {
    STRICT.split(' ').any(|name| name == language.name)
}

/// Whether a text has a line break that is written as `\\n`, outside of literals as far as the language
/// is lexed. In code, it may be a command or a part of a path between letters.
fn has_written_break(language: Option<&'static Language>, text: &str) -> bool {
    let is_tex = language.is_some_and(|language| language.name == "tex");
    let is_prose = language.is_none_or(|language| !language.is_code());
    // In prose, a break is also between two words, unless it is quoted, in a path, or in a formula.
    let joins_words = |before: &str, after: &str| {
        let before = before.rsplit('\n').next().unwrap_or_default();
        let after = after.split('\n').next().unwrap_or_default();
        let is_other = |text: &str| {
            let mut escaped = text.split('\\').skip(1);
            escaped.any(|after| !after.starts_with(['n', 't', 'r'])) || text.contains('$')
        };
        before.ends_with(|c: char| c.is_alphanumeric() || ".,!?".contains(c))
            && after.starts_with(char::is_alphabetic)
            && QUOTES.iter().all(|quote| before.matches(*quote).count() % 2 == 0)
            && !is_other(before)
            && !is_other(after)
    };
    let may_be_break = |at: usize| {
        let (before, after) = (&text[..at], &text[at + 2..]);
        let ends_statement =
            before.ends_with(|c: char| c.is_ascii_digit() || ";>)}],\"'".contains(c)) && !is_tex;
        !before.ends_with('\\')
            && (ends_statement
                || after.is_empty()
                || after.starts_with(|c: char| c.is_whitespace() || "}])<#/*-".contains(c))
                || is_prose && joins_words(before, after))
    };
    let language = language.filter(|language| language.is_code());
    let lexed = LazyCell::new(|| language.map(|language| language.lex(text)));
    text.match_indices("\\n").any(|(at, _)| {
        may_be_break(at) && lexed.as_ref().is_none_or(|lexed| lexed.kind_at(at) == TokenKind::Code)
    })
}

/// Code in which a backslash before a quote may be outside of literals.
const QUOTES_IN_CODE: &str = "shell powershell perl make cmake dockerfile lisp vim";

/// Whether a text has an escaped quote outside of literals, in a language that has none there.
fn has_written_quote(language: Option<&'static Language>, text: &str) -> bool {
    let is_other =
        |l: &&Language| l.is_code() && !QUOTES_IN_CODE.split(' ').any(|name| name == l.name);
    let Some(language) = language.filter(is_other) else { return false };
    let lexed = LazyCell::new(|| language.lex(text));
    text.match_indices('\\').any(|(at, _)| {
        text[at + 1..].starts_with(['"', '\'']) && lexed.kind_at(at) == TokenKind::Code
    })
}

/// Whether `text`, at a place of the file, has an entity, a Unicode escape or a typographic character for a
/// mark of code outside of literals and comments, and the file has none.
pub(super) fn has_written_mark(file: &SourceFile<'_>, place: &Range<usize>, text: &str) -> bool {
    const MARKS: [(&str, char); 11] = [
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&amp;", '&'),
        ("&quot;", '"'),
        ("\\u003", '\0'),
        ("\\u002", '\0'),
        ("“", '\0'),
        ("”", '\0'),
        ("‘", '\0'),
        ("’", '\0'),
        ("\u{a0}", '\0'),
    ];
    const MARKUP: &str = "html xml vue svelte php css";
    let Some(language) = file.language.filter(|language| language.is_code()) else { return false };
    let may_be_markup = || {
        !language.is_lexed()
            || is_among(MARKUP, language.name)
            || may_be_markup(language, file.text)
    };
    // What the text has bare as well, it may have on purpose.
    let is_bare = |mark: &str, c: char| text.replace(mark, "").contains(c);
    let mut marks = MARKS.iter().filter(|(mark, c)| {
        text.contains(mark)
            && !is_bare(mark, *c)
            && !file.text.contains(mark)
            && (mark.starts_with('\\') || !may_be_markup())
    });
    if marks.clone().next().is_none() {
        return false;
    }
    let after = [&file.text[..place.start], text, &file.text[place.end..]].concat();
    let lexed = language.lex(&after);
    let is_code = |at: usize| lexed.kind_at(place.start + at) == TokenKind::Code;
    marks.any(|(mark, _)| text.match_indices(mark).any(|(at, _)| is_code(at)))
}

/// The warning about suspicious escapes.
pub(crate) const ESCAPES_WARNING: &str =
    "the new text holds escapes (\\n, \\\") outside of string literals; they were written as sent";

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

impl EscapeReview {
    /// Undoes the mistake in `text`, or warns of what may be one.
    pub(super) fn settle(self, text: &mut String, explanation: &mut Explanation) {
        match self {
            Self::Fine => {}
            Self::Proven(unescaped) => {
                *text = unescaped;
                if explanation.rewrites.last() != Some(&Rewrite::UnescapeNew) {
                    explanation.rewrites.push(Rewrite::UnescapeNew);
                }
            }
            Self::Suspicious if explanation.warnings.iter().any(|it| it == ESCAPES_WARNING) => {}
            Self::Suspicious => explanation.warnings.push(ESCAPES_WARNING.to_owned()),
        }
    }
}

/// Reviews `new` as the replacement of a range of the file.
pub(super) fn review_escapes(
    file: &SourceFile<'_>,
    place: &Range<usize>,
    old: &str,
    new: &str,
) -> EscapeReview {
    if !has_escape(new) {
        return EscapeReview::Fine;
    }
    // The text around the place is lexed with it.
    if budget::spend(file.text.len() / 2).is_err() {
        return EscapeReview::Suspicious;
    }
    match review_in_language(file, place, old, new) {
        EscapeReview::Fine if has_written_mark(file, place, new) => EscapeReview::Suspicious,
        review => review,
    }
}

/// Reviews the escapes of `new` as its language has them.
fn review_in_language(
    file: &SourceFile<'_>,
    place: &Range<usize>,
    old: &str,
    new: &str,
) -> EscapeReview {
    let Some(language) = file.language.filter(|l| forbids_escapes(l)) else {
        let has_new = |check: fn(Option<&'static Language>, &str) -> bool| {
            check(file.language, new) && !check(file.language, file.text)
        };
        return match has_new(has_written_break) || has_new(has_written_quote) {
            true => EscapeReview::Suspicious,
            false => EscapeReview::Fine,
        };
    };
    // The file already has such text, so here it is no mistake.
    if has_escape(old)
        && file.lexed().is_some_and(|lexed| escapes_in_code(lexed, file.text, place.clone()))
    {
        return EscapeReview::Fine;
    }
    let may_be_proven = file.lexed().is_some_and(Lexed::is_well_formed);
    let around = [&file.text[..place.start], &file.text[place.end..]];
    match review(language, new, around, may_be_proven) {
        EscapeReview::Fine if may_be_lines(file, place, old, new) => EscapeReview::Suspicious,
        review => review,
    }
}

/// Whether `new`, one line in place of whole lines of code, has one of them behind an escaped break: a
/// comment would take that break as it is, and the code behind it.
fn may_be_lines(file: &SourceFile<'_>, place: &Range<usize>, old: &str, new: &str) -> bool {
    let head = file.text[..place.start].rsplit('\n').next().unwrap_or_default();
    let in_literal =
        file.lexed().is_none_or(|lexed| lexed.kind_across(place.start) == TokenKind::Literal);
    let forms = undo_in_new_only(old, new);
    head.trim().is_empty()
        && !in_literal
        && has_break(old)
        && forms.first().is_some_and(|form| share_line(old, form))
}

/// Reviews `new` between the texts above and below it.
fn review(
    language: &Language,
    new: &str,
    [above, below]: [&str; 2],
    may_be_proven: bool,
) -> EscapeReview {
    let is_clean = |new: &str, must_be_whole: bool| {
        let text = [above, new, below].concat();
        let lexed = language.lex(&text);
        (!must_be_whole || lexed.is_well_formed())
            && !escapes_in_code(&lexed, &text, above.len()..above.len() + new.len())
    };
    if is_clean(new, false) {
        return EscapeReview::Fine;
    }
    if !may_be_proven || may_be_markup(language, new) {
        return EscapeReview::Suspicious;
    }
    // Breaks outside of literals are all that a language forbids, if the quotes are bare.
    let least = Escapes::BREAKS.unescape(new);
    if is_clean(&least, true) {
        return match splits_text(language, &least, new) {
            true => EscapeReview::Suspicious,
            false => EscapeReview::Proven(least),
        };
    }
    // Where every quote and backslash of a line is escaped, the line as a whole was, behind its indentation.
    let is_escaped_whole = |line: &str| escape(&Escapes::ALL.unescape(line)) == line;
    if new.split('\n').map(str::trim_start).all(is_escaped_whole) {
        let whole = Escapes::ALL.unescape(new);
        if is_clean(&whole, true) {
            return EscapeReview::Proven(whole);
        }
    }
    // A line that has nothing forbidden has its escapes where they belong.
    let text = [above, new, below].concat();
    let lexed = language.lex(&text);
    let mut end = above.len();
    let is_forbidden: Vec<bool> = new
        .split_inclusive('\n')
        .map(|line| {
            let start = end;
            end += line.len();
            escapes_in_code(&lexed, &text, start..end)
        })
        .collect();
    let unescape = |way: Escapes| -> String {
        let lines = new.split_inclusive('\n').zip(&is_forbidden);
        lines.map(|(line, bad)| if *bad { way.unescape(line) } else { line.to_owned() }).collect()
    };
    let ways = [Escapes::ALL, Escapes::QUOTES, Escapes::QUOTES_AND_BREAKS];
    let mut valid = ways.map(unescape).to_vec();
    valid.retain(|text| is_clean(text, true));
    valid.dedup();
    match &valid[..] {
        [text] => EscapeReview::Proven(text.clone()),
        _ => EscapeReview::Suspicious,
    }
}

/// The most breaks of a text that are undone one after the other.
const MAX_BREAKS: usize = 64;

/// Whether a break that was undone in `new` is inside a literal, such as a pattern, once those above it are
/// undone.
fn splits_text(language: &Language, undone: &str, new: &str) -> bool {
    let (mut text, mut at) = (new.to_owned(), 0);
    for _ in 0..MAX_BREAKS {
        let Some(next) = text[at..].find("\\n").map(|next| at + next) else { break };
        match language.lex(&text).kind_at(next) {
            TokenKind::Literal => at = next + 2,
            // A sentence may go on behind a blank.
            TokenKind::Comment if text[..next].ends_with(' ') => return true,
            _ if opens_quote(&text[..next]) => return true,
            _ => text.replace_range(next..next + 2, "\n"),
        }
    }
    let plain = |text: &str| text.replace("\\t", "\t");
    !text[at..].contains("\\n") && plain(&text) != plain(undone)
}

/// Whether a quotation that is not one of code, because its marks are typographic or encoded, is open at the
/// end of a text, in its last line.
fn opens_quote(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let count = |mark: &str| line.matches(mark).count();
    count("“") > count("”") || count("&quot;") % 2 == 1
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
pub(super) fn review_file_escapes(
    language: Option<&'static Language>,
    content: &str,
) -> EscapeReview {
    match language.filter(|language| forbids_escapes(language)) {
        Some(language) if has_escape(content) => review(language, content, ["", ""], true),
        None if has_written_break(language, content) => EscapeReview::Suspicious,
        _ => EscapeReview::Fine,
    }
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
