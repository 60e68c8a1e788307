//! Escapes: one level too many, because the text was put into a string once too often.
//!
//! As a reading, they are undone in both strings where `old_str` shows the mistake. As a review, they
//! are undone in what is written where the language forbids them: outside of literals and comments,
//! `\\n` or `\\"` is an error. Of the forms that lex clean, the one that touches only forbidden spots
//! counts; if several others differ, the text is written as sent, with a warning, or a model is asked.
//!
//! Evidence: all models of the Gemini family make this mistake, and gemini-cli has an unescape step
//! of its own for it.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::ops::Range;

use super::budget;
use super::costs::NEW_OTHERWISE;
use super::fold::is_word_char;
use super::reading::{Form, Seen, Signs, Undone};
use super::shape::is_among;
use super::source_file::SourceFile;
use crate::edit::{Explanation, Rewrite};
use crate::language::{Language, Lexed, TokenKind};
use crate::text::{Snapshot, words};

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

    /// Undoes them in the strings of a call, if `old` has some.
    pub(super) fn undo(self, old: &str) -> Option<Undone<'_>> {
        if self.breaks == Breaks::Outside && has_break(old) {
            return None;
        }
        let undone = self.unescape(old);
        if undone == old {
            return None;
        }
        let text = undone.clone();
        // Where only the last break of several lines is escaped, no other is.
        let is_last = |whole: &&str| has_break(whole) && self.unescape(whole) == **whole;
        if old.strip_suffix("\\n").filter(is_last).is_some() {
            let undo_new = |new: &str| {
                let is_last = |whole: &&str| has_break(new) || !whole.contains("\\n");
                let undone = new.strip_suffix("\\n").filter(is_last);
                vec![Form::usual(undone.map_or(new.to_owned(), |whole| format!("{whole}\n")))]
            };
            return Some(Undone { text, undo_new: Box::new(undo_new) });
        }
        let undo_new = move |new: &str| {
            let mut signs = Signs::of(old, new, seen);
            // Where old_str has all backslashes doubled, single ones are as they are. Those of line
            // breaks say nothing, unless new_str has its breaks as they are.
            let run = match has_break(new) {
                true => backslash_runs(new).min(),
                false => backslash_runs(new).max(),
            };
            if let (Some(least), Some(run)) = (backslash_runs(old).min(), run)
                && run < least
            {
                signs.new.bare.insert('\\');
            }
            // An escape that the file has, too, shows that backslashes are not doubled.
            if has_escape(&undone) && !signs.old.written.contains(&'\\') {
                signs.old.bare.insert('\\');
            }
            // Where a serialiser escaped both as a whole, so are what looks like escapes of the text.
            let is_serialised = |text: &str| escape(&Self::ALL.unescape(text)) == text;
            let shows_all =
                QUOTES.iter().any(|c| signs.new.written.contains(c) && !signs.new.bare.contains(c));
            if self == Self::ALL
                && shows_all
                && old.contains("\\\\")
                && [old, new].into_iter().all(is_serialised)
            {
                return vec![Form::usual(Self::ALL.unescape(new))];
            }
            // Otherwise a doubled backslash before a break may be one that continues the line.
            let is_backslash = |text: &str| unescape_chars(text, true, |c| c == '\\') != text;
            let may_continue = !shows_all
                && !signs.old.written.contains(&'\\')
                && !signs.old.bare.contains(&'\\')
                && ["\\\\n", "\\\\r"].iter().any(|escape| new.contains(escape))
                && is_backslash(new);
            let form = |way: Self| {
                let text = way.unescape(new);
                if text == new {
                    return signs.as_sent(new);
                }
                let mut form = signs.form(text, |c| way.undoes(c));
                if way.unescape(old) != undone {
                    form.price += NEW_OTHERWISE;
                }
                form.is_guess |= way.breaks != Breaks::None
                    && !has_break(new)
                    && (may_continue || may_split(&undone, &form.text));
                form
            };
            // Where the lines of old_str are as they are, so are those of new_str.
            let decodes = Self { breaks: Breaks::None, ..self }.unescape(old) != undone;
            let keeps_breaks = has_break(old) && has_break(new) && !decodes;
            let ways = Self::every([old, new]).into_iter();
            ways.filter(|way| !keeps_breaks || way.breaks == Breaks::None).map(form).collect()
        };
        Some(Undone { text, undo_new: Box::new(undo_new) })
    }

    /// Every way to undo some of them, none among them, that makes a difference in these texts.
    fn every(texts: [&str; 2]) -> Vec<Self> {
        let has = |c: &char| texts.iter().any(|text| text.contains(&*format!("\\{c}")));
        let (all_breaks, both) = ([Breaks::All, Breaks::Outside, Breaks::None], [true, false]);
        let breaks = &all_breaks[if ['n', 'r', 't'].iter().any(has) { 0 } else { 2 }..];
        let backslashes = &both[usize::from(!['\\', '$'].iter().any(has))..];
        let mut sets: Vec<(Vec<char>, &'static [char])> = Vec::new();
        for quotes in [QUOTES, &['"'], &['\''], &['`'], &[]] {
            let there: Vec<char> = quotes.iter().copied().filter(has).collect();
            if !sets.iter().any(|(other, _)| *other == there) {
                sets.push((there, quotes));
            }
        }
        let mut out = Vec::new();
        for (_, quotes) in sets {
            for &breaks in breaks {
                out.extend(backslashes.iter().map(|&backslashes| Self {
                    quotes,
                    breaks,
                    backslashes,
                }));
            }
        }
        out
    }

    /// The text with these escapes undone.
    fn unescape(self, text: &str) -> String {
        let is_quote = |c: char| self.quotes.contains(&c);
        let is_break = |c: char| matches!(c, 'n' | 'r' | 't');
        let is_backslash = |c: char| self.backslashes && matches!(c, '\\' | '$');
        if self.breaks == Breaks::Outside {
            let text = unescape_chars(text, false, is_quote);
            let text = unescape_chars(&text, true, is_break);
            return unescape_chars(&text, false, is_backslash);
        }
        let breaks = self.breaks == Breaks::All;
        unescape_chars(text, false, |c| is_quote(c) || is_backslash(c) || breaks && is_break(c))
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

/// Whether a text has several lines.
fn has_break(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
}

/// Whether a line break that comes out of an escape in `new` may be one of a literal or a comment, so that
/// it splits a line: what follows is less deep than all lines of `old`, or at the margin, what is above or
/// below is only a part of a line, as nothing is in `old`.
fn may_split(old: &str, new: &str) -> bool {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let full = || old.lines().filter(|line| !line.trim().is_empty());
    let known: HashSet<&str> = full().map(str::trim).collect();
    let least = full().map(depth).min().unwrap_or_default();
    let old_has_parts = neighbours(old).any(is_part);
    neighbours(new).any(|(above, below)| {
        above.contains(is_word_char)
            && !below.trim().is_empty()
            && !known.contains(below.trim())
            && (above.ends_with([' ', '\t'])
                || depth(below) < least && !ends_code(above)
                || depth(below) == 0 && !old_has_parts && is_part((above, below)))
    })
}

/// Each line of a text and the one below it.
fn neighbours(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().zip(text.lines().skip(1))
}

/// Whether a line ends as a line of code often does.
fn ends_code(line: &str) -> bool {
    line.ends_with(|c: char| c.is_ascii_digit() || ";{}()[],:>\"'".contains(c))
}

/// Whether one of two neighbouring lines looks like a part of a line.
fn is_part((above, below): (&str, &str)) -> bool {
    let count = |marks: &str| above.chars().filter(|c| marks.contains(*c)).count();
    !ends_code(above)
        && (words(below).count() == 1
            || count("([{") != count(")]}")
            || above.ends_with('`') && below.starts_with('`'))
}

/// The characters that a text has as they are and escaped. A backslash is as it is if it forms no known
/// escape.
fn seen(text: &str) -> Seen {
    let mut out = Seen::default();
    let mut chars = text.trim_end_matches('\n').chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n' | 'r') => out.written.insert('\n'),
                Some('t') => out.written.insert('\t'),
                Some(c) if c == '\\' || QUOTES.contains(&c) => out.written.insert(c),
                Some('$' | '\n') => continue,
                _ => out.bare.insert('\\'),
            },
            '\n' | '\t' => out.bare.insert(c),
            c => QUOTES.contains(&c) && out.bare.insert(c),
        };
    }
    out
}

/// The lengths of the runs of backslashes that do not escape a quote.
fn backslash_runs(text: &str) -> impl Iterator<Item = usize> {
    text.split_inclusive(|c| c != '\\').filter_map(|run| {
        let len = run.len() - run.trim_start_matches('\\').len();
        // The last of an odd number escapes the quote.
        let escapes_quote = run.ends_with(QUOTES) && len % 2 == 1;
        (len > 0 && len < run.len() && !escapes_quote).then_some(len)
    })
}

/// The forms of a `new_str` that is one line with escaped line breaks, where `old_str` has its lines as
/// they are: the breaks outside of literals undone, and if quotes are escaped as well, all escapes.
pub(super) fn undo_in_new_only(old: &str, new: &str) -> Vec<String> {
    let breaks = Escapes::BREAKS.unescape(new);
    // Where old_str has such escapes, too, a line that both have shows that new_str has more of them.
    let old_has_escapes = old.contains("\\n") || old.contains("\\t");
    if has_break(new) || !has_break(&breaks) || old_has_escapes && !share_line(old, &breaks) {
        return Vec::new();
    }
    let has_quote = QUOTES.iter().any(|quote| new.contains(&format!("\\{quote}")));
    let all = Some(Escapes::ALL.unescape(new)).filter(|all| has_quote && *all != breaks);
    [breaks].into_iter().chain(all).collect()
}

/// Whether two texts have a line with words in common.
fn share_line(a: &str, b: &str) -> bool {
    a.lines().filter(|line| line.contains(is_word_char)).any(|line| b.lines().any(|it| it == line))
}

/// Undoes one level of escaping for the wanted characters; perhaps only outside of what looks like a
/// literal.
fn unescape_chars(text: &str, only_outside: bool, is_wanted: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<char> = None;
    let mut word = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next) if is_wanted(next) && !(only_outside && open.is_some()) => {
                    out.push(match next {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        c => c,
                    });
                }
                next => out.extend([c].into_iter().chain(next)),
            },
            _ => {
                // Behind a word it is one, but not behind the prefix of a literal.
                let is_prefix = word.len() <= 2 && word.chars().all(|c| "rbfuRBFUL".contains(c));
                let is_apostrophe = c == '\'' && !word.is_empty() && !is_prefix;
                open = match open {
                    Some(quote) => Some(quote).filter(|quote| c != *quote && c != '\n'),
                    None => Some(c).filter(|c| QUOTES.contains(c) && !is_apostrophe),
                };
                out.push(c);
            }
        }
        match c.is_alphanumeric() {
            true => word.push(c),
            false => word.clear(),
        }
    }
    out
}

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

/// The text with one level of escaping more, in the form that most serialisers write.
fn escape(text: &str) -> String {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    quoted.replace('\n', "\\n").replace('\t', "\\t")
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

/// The unescaped forms of `new` that a model may choose from, those that change most first.
pub(crate) fn escape_readings(new: &str) -> Vec<String> {
    let mut out = [Escapes::ALL, Escapes::QUOTES].map(|way| way.unescape(new)).to_vec();
    out.dedup();
    out.retain(|text| text != new);
    out
}

/// Whether a text has an escape that is an error outside of literals.
pub(super) fn has_escape(text: &str) -> bool {
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
