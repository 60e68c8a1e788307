//! Escapes: one level too many, because the text was put into a string once too often.
//!
//! As a reading, they are undone in both strings where `old_str` shows the mistake. As a review, they
//! are undone in what is written where the language forbids them: outside of literals and comments,
//! `\\n` or `\\"` is an error. Of the forms that lex clean, the one that touches only forbidden spots
//! counts; if several others differ, the text is written as sent, with a warning, or a model is asked.
//!
//! Evidence: all models of the Gemini family make this mistake, and gemini-cli has an unescape step
//! of its own for it.

use std::ops::Range;

use super::costs::Difference;
use super::reading::{Mistake, NewText, UndoNew};
use super::source_file::SourceFile;
use crate::language::{Language, Lexed, TokenKind};
use crate::text::Snapshot;

/// Which escapes are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// All of them.
    All,
    /// Escaped quotes.
    Quotes,
    /// Line breaks and tabs, outside of literals.
    Breaks,
    /// Quotes, then line breaks and tabs outside of the literals that they enclose.
    QuotesAndBreaks,
}

impl Mistake for Escapes {
    fn difference(&self) -> Difference {
        Difference::Unescape
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn undo(&self, old: &str, _new: &str) -> Option<(String, UndoNew)> {
        let evidence = EscapeEvidence::of(old);
        let which = *self;
        if matches!(which, Self::Breaks | Self::QuotesAndBreaks) && evidence.raw_break {
            return None;
        }
        let text = which.unescape_text(old, QUOTES);
        if text == old {
            return None;
        }
        let undo = move |new: &str| which.undo_new(new, &evidence);
        Some((text, Box::new(undo)))
    }
}

/// The quotes of programming languages.
pub(super) const QUOTES: &[char] = &['"', '\'', '`'];

/// Evidence in a text for or against one level of escaping too many.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EscapeEvidence {
    /// Whether the text has a line break that is not escaped, except at its end.
    raw_break: bool,
    /// Whether the text has a tab that is not escaped.
    raw_tab: bool,
    /// Quotes that occur without a backslash.
    bare_quotes: Vec<char>,
    /// Whether a backslash is before a character with which it forms no known escape.
    lone_backslash: bool,
    /// Whether a line break or a tab is escaped.
    escaped_break: bool,
    /// Quotes that occur only with a backslash.
    escaped_quotes: Vec<char>,
    /// Whether a line break is escaped within what looks like a literal.
    break_in_literal: bool,
    /// The length of the shortest run of backslashes, except before quotes; `usize::MAX` if there is
    /// none.
    shortest_run: usize,
}

impl EscapeEvidence {
    /// The evidence in a text.
    fn of(text: &str) -> Self {
        let mut evidence = Self {
            raw_break: text.trim_end_matches('\n').contains('\n'),
            raw_tab: text.contains('\t'),
            bare_quotes: Vec::new(),
            lone_backslash: false,
            escaped_break: false,
            escaped_quotes: Vec::new(),
            break_in_literal: unescape_all(text)
                != Escapes::QuotesAndBreaks.unescape_text(text, QUOTES),
            shortest_run: shortest_run(text),
        };
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if QUOTES.contains(&c) {
                evidence.bare_quotes.push(c);
            }
            if c == '\\' {
                let next = chars.next();
                let is_known = next.is_some_and(|c| "ntr\\$\n".contains(c) || QUOTES.contains(&c));
                evidence.lone_backslash |= !is_known;
                evidence.escaped_break |= next.is_some_and(|c| "ntr".contains(c));
                evidence.escaped_quotes.extend(next.filter(|c| QUOTES.contains(c)));
            }
        }
        evidence.escaped_quotes.retain(|quote| !evidence.bare_quotes.contains(quote));
        evidence
    }
}

/// The length of the shortest run of backslashes that do not escape a quote; `usize::MAX` if there is
/// none.
fn shortest_run(text: &str) -> usize {
    let mut least = usize::MAX;
    let mut run = 0;
    for c in text.chars() {
        if c == '\\' {
            run += 1;
            continue;
        }
        // The last of an odd number escapes the quote.
        if run > 0 && (!QUOTES.contains(&c) || run % 2 == 0) {
            least = least.min(run);
        }
        run = 0;
    }
    least
}

impl Escapes {
    /// Undoes these escapes in a text; of escaped quotes only those in `quotes`.
    fn unescape_text(self, text: &str, quotes: &[char]) -> String {
        match self {
            Self::All => unescape_chars(text, &|c| "ntr\\$".contains(c) || quotes.contains(&c)),
            Self::Quotes => unescape_chars(text, &|c| quotes.contains(&c)),
            Self::Breaks => unescape_breaks(text),
            Self::QuotesAndBreaks => {
                unescape_breaks(&unescape_chars(text, &|c| quotes.contains(&c)))
            }
        }
    }

    /// Undoes each kind of escape in `new`, unless `new` shows that its escapes are meant: by a raw
    /// line break, a raw tab, a bare quote or a lone backslash, if `old` has none.
    fn undo_new(self, new: &str, old: &EscapeEvidence) -> NewText {
        let new_evidence = EscapeEvidence::of(new);
        let quotes_to_unescape: Vec<char> = QUOTES
            .iter()
            .copied()
            .filter(|quote| {
                !new_evidence.bare_quotes.contains(quote) || old.bare_quotes.contains(quote)
            })
            .collect();
        let undoes_backslashes = !new_evidence.lone_backslash || old.lone_backslash;
        // A lone backslash shows that a text is not escaped. There, `\n` may be a backslash and the
        // start of a word, as in a path.
        let is_escaped = undoes_backslashes || old.escaped_break;
        // Where old_str has line breaks or tabs as they are, and none escaped, so does new_str.
        let undoes = |raw_in_new: bool, raw_in_old: bool| {
            is_escaped && if raw_in_old { old.escaped_break } else { !raw_in_new }
        };
        let undoes_breaks = undoes(new_evidence.raw_break, old.raw_break);
        let undoes_tabs = undoes(new_evidence.raw_tab, old.raw_tab);
        let wanted = |c: char| match c {
            'n' | 'r' => undoes_breaks,
            't' => undoes_tabs,
            '\\' => undoes_backslashes,
            '$' => true,
            c => quotes_to_unescape.contains(&c),
        };
        let unquoted = unescape_chars(new, &|c| quotes_to_unescape.contains(&c));
        let outside_literals =
            if undoes_breaks { unescape_breaks(&unquoted) } else { unquoted.clone() };
        let text = match self {
            Self::All => unescape_chars(new, &wanted),
            Self::Quotes => unquoted,
            Self::Breaks if !undoes_breaks => new.to_owned(),
            Self::Breaks => unescape_breaks(new),
            Self::QuotesAndBreaks => outside_literals.clone(),
        };
        // A bare quote that old_str always escapes, or fewer backslashes in a row than old_str ever
        // has, show that new_str was not escaped, unless something else shows that it was.
        let occurs_escaped_in_old =
            |quotes: &[char]| quotes.iter().any(|quote| old.escaped_quotes.contains(quote));
        let has_fewer_backslashes =
            old.shortest_run < usize::MAX && new_evidence.shortest_run < old.shortest_run;
        let seems_unescaped = occurs_escaped_in_old(&new_evidence.bare_quotes)
            || self == Self::All && has_fewer_backslashes;
        if seems_unescaped
            && !old.escaped_break
            && !occurs_escaped_in_old(&new_evidence.escaped_quotes)
        {
            return NewText::Known(new.to_owned());
        }
        if self == Self::All && has_fewer_backslashes {
            return NewText::Known(outside_literals);
        }
        // An escaped line break inside a literal of new_str may belong to the literal.
        let may_be_literal_break = self == Self::All
            && text != outside_literals
            && !old.break_in_literal
            && !new.contains("\\\\");
        match may_be_literal_break {
            true => NewText::Either(text, outside_literals),
            false => NewText::Known(text),
        }
    }
}

/// The forms of a `new_str` that is one line with escaped line breaks, where `old_str` has its lines as
/// they are: the breaks outside of literals undone, and if quotes are escaped as well, all escapes.
pub(super) fn undo_in_new_only(old: &str, new: &str) -> Vec<String> {
    let evidence = EscapeEvidence::of(old);
    let is_one_line = !new.trim_end_matches('\n').contains('\n');
    if !is_one_line {
        return Vec::new();
    }
    let breaks = unescape_breaks(new);
    // Where old_str has such escapes, too, a line that both have shows that new_str has more of them.
    let shares_line = || breaks.lines().any(|line| old.lines().any(|other| other == line));
    if !breaks.trim_end_matches('\n').contains('\n') || evidence.escaped_break && !shares_line() {
        return Vec::new();
    }
    let mut out = vec![breaks];
    let all = unescape_all(new);
    if QUOTES.iter().any(|quote| new.contains(&format!("\\{quote}"))) && all != out[0] {
        out.push(all);
    }
    out
}

/// Undoes one level of escaping for the characters for which `wanted` is true.
fn unescape_chars(text: &str, wanted: &dyn Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(next) if wanted(next) => out.push(match next {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                c => c,
            }),
            Some(next) => out.extend(['\\', next]),
            None => out.push('\\'),
        }
    }
    out
}

/// Unescapes line breaks and tabs outside of what looks like a literal.
fn unescape_breaks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<char> = None;
    let mut chars = text.chars();
    let mut previous = ' ';
    while let Some(c) = chars.next() {
        match c {
            '\\' => match (chars.next(), open) {
                (Some('n'), None) => out.push('\n'),
                (Some('t'), None) => out.push('\t'),
                (Some('r'), None) => out.push('\r'),
                (Some(next), _) => out.extend(['\\', next]),
                (None, _) => out.push('\\'),
            },
            '\n' => {
                open = None;
                out.push(c);
            }
            c if open == Some(c) => {
                open = None;
                out.push(c);
            }
            c if open.is_none()
                && QUOTES.contains(&c)
                && !(c == '\'' && previous.is_alphanumeric()) =>
            {
                open = Some(c);
                out.push(c);
            }
            c => out.push(c),
        }
        previous = c;
    }
    out
}

/// Undoes one level of escaping for all characters.
pub(crate) fn unescape_all(text: &str) -> String {
    Escapes::All.unescape_text(text, QUOTES)
}

/// Undoes one level of escaping for quotes.
pub(crate) fn unescape_quotes(text: &str) -> String {
    Escapes::Quotes.unescape_text(text, QUOTES)
}

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

/// Whether a language has no escapes outside of literals.
pub(super) fn forbids_escapes(language: &Language) -> bool {
    STRICT.contains(&language.name)
}

/// Whether a text has a line break that is written as `\\n`, outside of literals as far as the language
/// is lexed. In code, it may be a command or a part of a path between letters.
fn has_written_break(language: Option<&'static Language>, text: &str) -> bool {
    let is_tex = language.is_some_and(|language| language.name == "tex");
    let is_prose = language.is_none_or(|language| !language.is_code());
    // In prose, a break is also between two words, unless it is quoted, in a path, or in a formula.
    let joins_words = |at: usize| {
        let line_start = text[..at].rfind('\n').map_or(0, |at| at + 1);
        let before = &text[line_start..at];
        let rest = text[at + 2..].split('\n').next().unwrap_or_default();
        let is_other = |text: &str| {
            let mut escaped = text.split('\\').skip(1);
            escaped.any(|after| !after.starts_with(['n', 't', 'r'])) || text.contains('$')
        };
        is_prose
            && before.ends_with(|c: char| c.is_alphanumeric() || ".,!?".contains(c))
            && rest.starts_with(char::is_alphabetic)
            && ['`', '"', '\''].iter().all(|quote| before.matches(*quote).count() % 2 == 0)
            && !is_other(before)
            && !is_other(rest)
    };
    let may_be_break = |at: usize| {
        let (before, after) = (text[..at].chars().next_back(), text[at + 2..].chars().next());
        let ends_statement =
            before.is_some_and(|c| c.is_ascii_digit() || ";>)}],\"'".contains(c)) && !is_tex;
        before != Some('\\')
            && (ends_statement
                || after.is_none_or(|c| c.is_whitespace() || "}])<#/*-".contains(c))
                || joins_words(at))
    };
    let mut breaks =
        text.match_indices("\\n").map(|(at, _)| at).filter(|&at| may_be_break(at)).peekable();
    if breaks.peek().is_none() {
        return false;
    }
    let lexed = language.filter(|language| language.is_code()).map(|language| language.lex(text));
    breaks.any(|at| lexed.as_ref().is_none_or(|lexed| lexed.kind_at(at) == TokenKind::Code))
}

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
    if !has_escape(new) {
        return EscapeReview::Fine;
    }
    let Some(language) = file.language.filter(|l| forbids_escapes(l)) else {
        return match has_written_break(file.language, new)
            && !has_written_break(file.language, file.text)
        {
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
    let whole = |new: &str| [&file.text[..place.start], new, &file.text[place.end..]].concat();
    let may_be_proven = file.lexed().is_some_and(Lexed::is_well_formed);
    review(language, new, place.start, &whole, may_be_proven)
}

/// Reviews `new` at `start` of the text that `whole` makes of it.
fn review(
    language: &Language,
    new: &str,
    start: usize,
    whole: &dyn Fn(&str) -> String,
    may_be_proven: bool,
) -> EscapeReview {
    let is_clean = |new: &str, must_be_whole: bool| {
        let text = whole(new);
        let lexed = language.lex(&text);
        (!must_be_whole || lexed.is_well_formed())
            && !escapes_in_code(&lexed, &text, start..start + new.len())
    };
    if is_clean(new, false) {
        return EscapeReview::Fine;
    }
    if !may_be_proven || may_be_markup(language, new) {
        return EscapeReview::Suspicious;
    }
    // Breaks outside of literals are all that a language forbids, if the quotes are bare.
    let least = Escapes::Breaks.unescape_text(new, QUOTES);
    if is_clean(&least, true) {
        return EscapeReview::Proven(least);
    }
    let all = unescape_all(new);
    let valid: Vec<String> =
        [all.clone(), unescape_quotes(new), Escapes::QuotesAndBreaks.unescape_text(new, QUOTES)]
            .into_iter()
            .filter(|text| is_clean(text, true))
            .collect();
    // Where every quote and backslash of a line is escaped, the line as a whole was.
    let was_escaped_whole = new.split('\n').all(|line| escape(&unescape_all(line)) == line);
    match &valid[..] {
        [first, ..] if *first == all && was_escaped_whole => EscapeReview::Proven(all),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            EscapeReview::Proven(first.clone())
        }
        _ => EscapeReview::Suspicious,
    }
}

/// The text with one level of escaping more, in the form that most serialisers write.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
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
    let Some(language) = language.filter(|language| forbids_escapes(language)) else {
        return match has_written_break(language, content) {
            true => EscapeReview::Suspicious,
            false => EscapeReview::Fine,
        };
    };
    if !has_escape(content) {
        return EscapeReview::Fine;
    }
    review(language, content, 0, &|text| text.to_owned(), true)
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
