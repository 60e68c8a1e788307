//! Escapes: one level too many, because the text was put into a string once too often.
//!
//! As a reading, they are undone in both strings where `old_str` shows the mistake; `escape_review` looks at
//! what is written.
//!
//! Evidence: all models of the Gemini family make this mistake, and gemini-cli has an unescape step
//! of its own for it.

use std::collections::HashSet;

use super::costs::NEW_OTHERWISE;
use super::fold::is_word_char;
use super::reading::{Form, Seen, Signs, Undone};
use crate::text::words;

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
    pub(super) fn unescape(self, text: &str) -> String {
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
pub(super) fn has_break(text: &str) -> bool {
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
pub(super) fn share_line(a: &str, b: &str) -> bool {
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

/// The text with one level of escaping more, in the form that most serialisers write.
pub(super) fn escape(text: &str) -> String {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    quoted.replace('\n', "\\n").replace('\t', "\\t")
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
