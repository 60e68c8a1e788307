//! One level of escaping too many: the text was put into a string once too often.
//!
//! Evidence: every model of the Gemini family (gemini-cli carries an unescape step of its
//! own), and the first requirement of the story that this project began with.

use super::{Mistake, NewText, UndoNew};
use crate::edit::{Rewrite, Rung};

/// Which escapes are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// All of them.
    All,
    /// Those of quotes.
    Quotes,
    /// Line breaks and tabs, outside of literals.
    Breaks,
    /// Quotes, then line breaks and tabs outside of what they enclose.
    QuotesAndBreaks,
}

impl Mistake for Escapes {
    fn rewrite(&self) -> Rewrite {
        Rewrite::Unescape
    }

    fn rung(&self) -> Rung {
        Rung::Unescaped
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn undo(&self, old: &str, _new: &str) -> Option<(String, UndoNew)> {
        let shown = Shown::of(old);
        let which = *self;
        if matches!(which, Self::Breaks | Self::QuotesAndBreaks) && shown.raw_break {
            return None;
        }
        let text = which.undone(old, QUOTES);
        if text == old {
            return None;
        }
        let undo = move |new: &str| which.undo_new(new, &shown);
        Some((text, Box::new(undo)))
    }
}

const QUOTES: &[char] = &['"', '\'', '`'];

/// Evidence in a text for and against one level of escaping too many.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    raw_break: bool,
    raw_tab: bool,
    bare_quotes: Vec<char>,
    lone_backslash: bool,
    /// Whether a line break or a tab is escaped.
    escaped_break: bool,
    /// Quotes that occur there only with a backslash.
    escaped_quotes: Vec<char>,
    /// Whether a line break is escaped within what looks like a literal.
    break_in_literal: bool,
    /// The fewest backslashes in a row, those before quotes apart.
    least_run: usize,
}

impl Shown {
    fn of(text: &str) -> Self {
        let mut shown = Self {
            raw_break: text.trim_end_matches('\n').contains('\n'),
            raw_tab: text.contains('\t'),
            bare_quotes: Vec::new(),
            lone_backslash: false,
            escaped_break: false,
            escaped_quotes: Vec::new(),
            break_in_literal: unescape_all(text) != Escapes::QuotesAndBreaks.undone(text, QUOTES),
            least_run: least_run(text),
        };
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if QUOTES.contains(&c) {
                shown.bare_quotes.push(c);
            }
            if c == '\\' {
                let next = chars.next();
                let known = next.is_some_and(|c| "ntr\\$\n".contains(c) || QUOTES.contains(&c));
                shown.lone_backslash |= !known;
                shown.escaped_break |= next.is_some_and(|c| "ntr".contains(c));
                shown.escaped_quotes.extend(next.filter(|c| QUOTES.contains(c)));
            }
        }
        shown.escaped_quotes.retain(|quote| !shown.bare_quotes.contains(quote));
        shown
    }
}

fn least_run(text: &str) -> usize {
    let mut least = usize::MAX;
    let mut run = 0;
    for c in text.chars() {
        if c == '\\' {
            run += 1;
            continue;
        }
        if run > 0 && !QUOTES.contains(&c) {
            least = least.min(run);
        }
        run = 0;
    }
    least
}

impl Escapes {
    fn undone(self, text: &str, quotes: &[char]) -> String {
        match self {
            Self::All => unescape(text, &|c| "ntr\\$".contains(c) || quotes.contains(&c)),
            Self::Quotes => unescape(text, &|c| quotes.contains(&c)),
            Self::Breaks => unescape_breaks(text),
            Self::QuotesAndBreaks => unescape_breaks(&unescape(text, &|c| quotes.contains(&c))),
        }
    }

    /// Undoes each kind of escape in `new`, unless `new` shows that it is meant: by a raw line
    /// break, a raw tab, a bare quote or a lone backslash that `old` does not have.
    fn undo_new(self, new: &str, old: &Shown) -> NewText {
        let own = Shown::of(new);
        let quotes: Vec<char> = QUOTES
            .iter()
            .copied()
            .filter(|quote| !own.bare_quotes.contains(quote) || old.bare_quotes.contains(quote))
            .collect();
        let breaks = !own.raw_break || old.raw_break;
        let tabs = !own.raw_tab || old.raw_tab;
        let backslashes = !own.lone_backslash || old.lone_backslash;
        let wanted = |c: char| match c {
            'n' | 'r' => breaks,
            't' => tabs,
            '\\' => backslashes,
            '$' => true,
            c => quotes.contains(&c),
        };
        let text = match self {
            Self::All => unescape(new, &wanted),
            Self::Quotes => unescape(new, &|c| quotes.contains(&c)),
            Self::Breaks if !breaks => new.to_owned(),
            Self::Breaks => unescape_breaks(new),
            Self::QuotesAndBreaks => {
                let unquoted = unescape(new, &|c| quotes.contains(&c));
                if breaks { unescape_breaks(&unquoted) } else { unquoted }
            }
        };
        // new_str has a bare quote that old_str always escapes, or fewer backslashes than old_str
        // ever has. Where nothing else shows the mistake, it was not escaped once more.
        let among = |quotes: &[char]| quotes.iter().any(|quote| old.escaped_quotes.contains(quote));
        let fewer = old.least_run < usize::MAX && own.least_run < old.least_run;
        let right = among(&own.bare_quotes) || self == Self::All && fewer;
        if right && !old.escaped_break && !among(&own.escaped_quotes) {
            return NewText::Known(new.to_owned());
        }
        let kept = unescape_breaks(&unescape(new, &|c| quotes.contains(&c)));
        if self == Self::All && fewer {
            return NewText::Known(kept);
        }
        // A line break that a literal on one line of new_str keeps may be the literal's own.
        let own_break =
            self == Self::All && text != kept && !old.break_in_literal && !new.contains("\\\\");
        if own_break { NewText::Either(text, kept) } else { NewText::Known(text) }
    }
}

/// One level of escaping undone, for the characters that are wanted.
fn unescape(text: &str, wanted: &dyn Fn(char) -> bool) -> String {
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

/// Escaped line breaks and tabs undone where they are outside of what looks like a
/// literal.
fn unescape_breaks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<char> = None;
    let mut chars = text.chars();
    let mut before = ' ';
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
                && !(c == '\'' && before.is_alphanumeric()) =>
            {
                open = Some(c);
                out.push(c);
            }
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// One level of escaping undone, whatever is escaped.
pub(crate) fn unescape_all(text: &str) -> String {
    Escapes::All.undone(text, QUOTES)
}

/// Escaped quotes undone.
pub(crate) fn unescape_quotes(text: &str) -> String {
    Escapes::Quotes.undone(text, QUOTES)
}

#[cfg(test)]
mod tests {
    use super::super::readings;
    use super::*;

    #[test]
    fn one_level_is_undone() {
        for (text, meant) in [
            (r"a\nb", "a\nb"),
            (r"a\tb", "a\tb"),
            (r#"say \"hi\""#, "say \"hi\""),
            (r"a\\b", r"a\b"),
            (r"a\\nb", r"a\nb"),
            ("mixed\nand\\n", "mixed\nand\n"),
            ("none", "none"),
            ("", ""),
            (r"it\'s \`x\`", "it's `x`"),
            (r"\d+ \q", r"\d+ \q"),
            ("trailing\\", "trailing\\"),
        ] {
            assert_eq!(unescape_all(text), meant, "{text:?}");
        }
    }

    #[test]
    fn new_is_unescaped_where_it_shows_the_same_mistake() {
        let new = |old: &str, new: &str| -> Vec<NewText> {
            let all = readings(old, new);
            let read = |reading: &&super::super::Reading| reading.rewrites == [Rewrite::Unescape];
            all.iter().filter(read).map(|reading| reading.new.clone()).collect()
        };
        let told = |text: &str| NewText::Known(text.to_owned());
        assert_eq!(new(r#"f(\"a\")"#, "f(\\\"b\\\");\ng();")[0], told("f(\"b\");\ng();"));
        assert_eq!(new(r#"f(\"a\")"#, r#"f("b\"")"#)[0], told(r#"f("b\"")"#));
        assert_eq!(new(r"a\nb", "print('\\n')\nb")[0], told("print('\\n')\nb"));
        assert_eq!(new(r#"p("\n");\nq();"#, r#"p("\n");\nr();"#)[1], told("p(\"\\n\");\nr();"));
        assert_eq!(
            new(r"a();\nb();", r#"p(\"x\ny\");\nb();"#)[0],
            NewText::Either("p(\"x\ny\");\nb();".into(), "p(\"x\\ny\");\nb();".into())
        );
    }
}
