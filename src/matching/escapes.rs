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

use super::costs::{Difference, NEW_OTHERWISE};
use super::reading::{Form, Mistake, Signs, UndoNew, own_lines};
use super::source_file::SourceFile;
use crate::language::{Language, Lexed, TokenKind};
use crate::text::Snapshot;

/// Which escapes are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Escapes {
    /// The quotes that are undone.
    quotes: &'static [char],
    breaks: Breaks,
    backslashes: bool,
}

/// Which escaped line breaks and tabs are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breaks {
    None,
    /// Those outside of literals.
    Outside,
    All,
}

impl Mistake for Escapes {
    fn difference(&self) -> Difference {
        Difference::Unescape
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn undo(&self, old: &str, _new: &str) -> Option<(String, UndoNew)> {
        let has_break = old.trim_end_matches('\n').contains('\n');
        if self.breaks == Breaks::Outside && has_break {
            return None;
        }
        let undone = self.unescape(old);
        if undone == old {
            return None;
        }
        let (sent, text) = (old.to_owned(), undone.clone());
        let undo = move |new: &str| {
            let own = own_lines(&sent, new);
            let mut signs = [signs(&sent), signs(&own)];
            // Where old_str has all backslashes doubled, single ones are as they are.
            let [in_old, in_new] = [&sent, new].map(backslash_runs);
            if let (Some(least), Some(most)) = (in_old.iter().min(), in_new.iter().max())
                && most < least
            {
                signs[1].bare.push('\\');
            }
            // An escape that the file has, too, shows that backslashes are not doubled.
            if has_escape(&undone) && !signs[0].written.contains(&'\\') {
                signs[0].bare.push('\\');
            }
            let is_guess = Signs::are_unclear(&signs[0], &signs[1]);
            let form = |way: Self| {
                let text = way.unescape(new);
                if text == new {
                    return Signs::as_sent(&signs[0], &signs[1], new);
                }
                let against = Signs::against(&signs[0], &signs[1], |c| way.undoes(c));
                let other = if way.unescape(&sent) == undone { 0.0 } else { NEW_OTHERWISE };
                Form { text, price: other + against, is_guess }
            };
            Self::every().map(form).collect()
        };
        Some((text, Box::new(undo)))
    }
}

/// The quotes of programming languages.
pub(super) const QUOTES: &[char] = &['"', '\'', '`'];

impl Escapes {
    /// All of them.
    pub(super) const ALL: Self = Self { quotes: QUOTES, breaks: Breaks::All, backslashes: true };
    /// Escaped quotes.
    pub(super) const QUOTES: Self =
        Self { quotes: QUOTES, breaks: Breaks::None, backslashes: false };
    /// Line breaks and tabs, outside of literals.
    pub(super) const BREAKS: Self =
        Self { quotes: &[], breaks: Breaks::Outside, backslashes: false };
    /// Quotes, then line breaks and tabs outside of the literals that they enclose.
    pub(super) const QUOTES_AND_BREAKS: Self = Self { quotes: QUOTES, ..Self::BREAKS };

    /// Every way to undo some of them, none among them.
    fn every() -> impl Iterator<Item = Self> {
        let quotes: [&[char]; 5] = [QUOTES, &['"'], &['\''], &['`'], &[]];
        let breaks = [Breaks::All, Breaks::Outside, Breaks::None];
        quotes.into_iter().flat_map(move |quotes| {
            breaks.into_iter().flat_map(move |breaks| {
                [true, false].map(|backslashes| Self { quotes, breaks, backslashes })
            })
        })
    }

    /// The text with these escapes undone.
    fn unescape(self, text: &str) -> String {
        let undo = |breaks: bool, backslashes: bool, quotes: &[char], text: &str| {
            unescape_chars(text, &|c| match c {
                'n' | 'r' | 't' => breaks,
                '\\' | '$' => backslashes,
                c => quotes.contains(&c),
            })
        };
        if self.breaks != Breaks::Outside {
            return undo(self.breaks == Breaks::All, self.backslashes, self.quotes, text);
        }
        let text = unescape_breaks(&undo(false, false, self.quotes, text));
        if self.backslashes { undo(false, true, &[], &text) } else { text }
    }

    /// Whether it undoes the escapes of a character; a line break or tab perhaps only outside of literals.
    fn undoes(self, c: char) -> bool {
        match c {
            '\n' | '\t' => self.breaks != Breaks::None,
            '\\' => self.backslashes,
            c => self.quotes.contains(&c),
        }
    }
}

/// The characters that a text has as they are and escaped. A backslash is as it is if it forms no known
/// escape.
fn signs(text: &str) -> Signs {
    let mut out = Signs { bare: Vec::new(), written: Vec::new() };
    let mut chars = text.trim_end_matches('\n').chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n' | 'r') => out.written.push('\n'),
                Some('t') => out.written.push('\t'),
                Some(c) if c == '\\' || QUOTES.contains(&c) => out.written.push(c),
                Some('$' | '\n') => {}
                _ => out.bare.push('\\'),
            },
            c if "\n\t".contains(c) || QUOTES.contains(&c) => out.bare.push(c),
            _ => {}
        }
    }
    for found in [&mut out.bare, &mut out.written] {
        found.sort_unstable();
        found.dedup();
    }
    out
}

/// The lengths of the runs of backslashes that do not escape a quote.
fn backslash_runs(text: &str) -> Vec<usize> {
    let (mut out, mut run) = (Vec::new(), 0);
    for c in text.chars() {
        if c == '\\' {
            run += 1;
            continue;
        }
        // The last of an odd number escapes the quote.
        if run > 0 && (!QUOTES.contains(&c) || run % 2 == 0) {
            out.push(run);
        }
        run = 0;
    }
    out
}

/// The forms of a `new_str` that is one line with escaped line breaks, where `old_str` has its lines as
/// they are: the breaks outside of literals undone, and if quotes are escaped as well, all escapes.
pub(super) fn undo_in_new_only(old: &str, new: &str) -> Vec<String> {
    let has_break = old.contains("\\n") || old.contains("\\t");
    let is_one_line = !new.trim_end_matches('\n').contains('\n');
    if !is_one_line {
        return Vec::new();
    }
    let breaks = unescape_breaks(new);
    // Where old_str has such escapes, too, a line that both have shows that new_str has more of them.
    let shares_line = || breaks.lines().any(|line| old.lines().any(|other| other == line));
    if !breaks.trim_end_matches('\n').contains('\n') || has_break && !shares_line() {
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
    Escapes::ALL.unescape(text)
}

/// Undoes one level of escaping for quotes.
pub(crate) fn unescape_quotes(text: &str) -> String {
    Escapes::QUOTES.unescape(text)
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

/// Code in which a backslash before a quote may be outside of literals.
const QUOTES_IN_CODE: &[&str] =
    &["shell", "powershell", "perl", "make", "cmake", "dockerfile", "lisp", "vim"];

/// Whether a text has an escaped quote outside of literals, in a language that has none there.
fn has_written_quote(language: Option<&'static Language>, text: &str) -> bool {
    let has_quote = ["\\\"", "\\'"].iter().any(|quote| text.contains(quote));
    let is_other = |l: &&Language| l.is_code() && !QUOTES_IN_CODE.contains(&l.name);
    let Some(language) = language.filter(is_other).filter(|_| has_quote) else { return false };
    let lexed = language.lex(text);
    text.match_indices('\\').any(|(at, _)| {
        text[at + 1..].starts_with(['"', '\'']) && lexed.kind_at(at) == TokenKind::Code
    })
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
    let least = Escapes::BREAKS.unescape(new);
    if is_clean(&least, true) {
        return EscapeReview::Proven(least);
    }
    let all = unescape_all(new);
    let valid: Vec<String> =
        [all.clone(), unescape_quotes(new), Escapes::QUOTES_AND_BREAKS.unescape(new)]
            .into_iter()
            .filter(|text| is_clean(text, true))
            .collect();
    // Where every quote and backslash of a line is escaped, the line as a whole was, behind its indentation.
    let mut lines = new.split('\n').map(str::trim_start);
    let was_escaped_whole = lines.all(|line| escape(&unescape_all(line)) == line);
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
