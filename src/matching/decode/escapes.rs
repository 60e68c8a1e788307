//! One level of escaping too many: the text was put into a string once too often.

use std::ops::Range;

use super::super::canon::{LiteralEnds, is_word};
use super::super::tokens;
use super::{Decoding, UndoNew};

/// Which escapes are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Every escape: the text was a JSON string body once too often.
    Full,
    /// Quotes only.
    Quotes,
    /// Line breaks and tabs, where they stand outside string literals.
    Breaks,
    /// Quotes, then line breaks and tabs outside the literals.
    QuotesAndBreaks,
    /// Every escape, and then every escape again.
    Twice,
}

pub(super) struct Unescape(pub(super) Level);

impl Decoding for Unescape {
    fn id(&self) -> &'static str {
        match self.0 {
            Level::Full => "unescape",
            Level::Quotes => "unescape_quotes",
            Level::Breaks => "unescape_breaks",
            Level::QuotesAndBreaks => "unescape_quotes_and_breaks",
            Level::Twice => "unescape_twice",
        }
    }

    fn rung(&self) -> &'static str {
        "unescaped"
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn by_line(&self) -> bool {
        true
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let level = self.0;
        if level == Level::Twice {
            // What has nothing to undo is the same, however often it was escaped.
            let plain = |new: &str| !new.contains(['\\', '\n', '\t', '"']);
            let undo = move |new: &str| match plain(new) {
                true => Some(new.to_owned()),
                false => unescape_twice(new),
            };
            return Some((unescape_twice(old)?, Box::new(undo)));
        }
        let changed = |text: String| (text != old).then_some(text);
        let text = match level {
            Level::Full => unescape(old),
            Level::Quotes => unescape_quotes(old, &QUOTES),
            // Raw line breaks in old_str show that the caller's line breaks are not escaped.
            Level::Breaks | Level::QuotesAndBreaks if has_inner_break(old) => return None,
            Level::Breaks => unescape_breaks(old),
            Level::QuotesAndBreaks => unescape_breaks(&unescape_quotes(old, &QUOTES)),
            Level::Twice => return None,
        };
        let text = changed(text)?;
        let mut shown = kinds(old);
        // What old_str has both ways, new_str may have both ways too.
        shown.mixed = (has_inner_break(old), old.contains('\t'));
        shown.in_literals = kinds(&unescape_breaks(&unescape_quotes(old, &QUOTES))).breaks;
        shown.lone = has_lone_backslash(old);
        shown.bare = QUOTES.map(|quote| has_bare(old, quote));
        shown.doubled = text.contains("\\\\") && !has_lone_backslash(&text);
        let old = old.to_owned();
        let known: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        let undo = move |new: &str| {
            if shown.breaks && !shown.backslashes && continues(new)
                || shown.lone && shown.breaks && may_name_commands(new, &known)
            {
                return None;
            }
            let undone = match level {
                Level::Full => undo_like(&old, new, shown)?,
                Level::Quotes => {
                    let text = unescape_quotes(new, &escaped_quotes(new, shown));
                    // More was escaped there than quotes; how much, old_str does not show.
                    let more = unescape_breaks(&text) != text && unescape_breaks(&old) == old;
                    let doubled = new.contains("\\\\") && !shown.backslashes;
                    if text != new && (more || doubled) || mixes_quotes(new, shown) {
                        return None;
                    }
                    text
                }
                Level::Breaks if has_inner_break(new) => new.to_owned(),
                Level::Breaks => {
                    let (known, rest) = new.split_at(known_start(&old, new));
                    let rest = unescape_breaks(rest);
                    if keeps_indented_breaks(&rest) {
                        return None;
                    }
                    unescape_breaks(known) + &rest
                }
                Level::QuotesAndBreaks => {
                    let unquoted = unescape_quotes(new, &escaped_quotes(new, shown));
                    if has_inner_break(new) { unquoted } else { unescape_breaks(&unquoted) }
                }
                Level::Twice => return None,
            };
            (undone == new || !is_torn(&undone, &known, shown)).then_some(undone)
        };
        Some((text, Box::new(undo)))
    }
}

/// A backslash before signs that have a meaning elsewhere: in a shell, a template, a text with
/// markup.
pub(super) struct EscapedSigns;

const SIGNS: [char; 7] = ['$', '_', '*', '[', ']', '#', '~'];

/// Whether a sign stands in a text, with and without a backslash before it.
fn stands(text: &str, sign: char) -> (bool, bool) {
    (text.contains(&format!("\\{sign}")), has_bare(text, sign))
}

impl Decoding for EscapedSigns {
    fn id(&self) -> &'static str {
        "escaped_signs"
    }

    fn rung(&self) -> &'static str {
        "unescaped"
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn by_line(&self) -> bool {
        true
    }

    fn is_of_the_file(&self, old: &str, file: &str) -> bool {
        SIGNS.iter().any(|sign| stands(old, *sign).0 && file.contains(&format!("\\{sign}")))
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let all = |text: &str| -> Option<Vec<char>> {
            let shown = SIGNS.into_iter().filter(|sign| stands(text, *sign).0);
            shown.map(|sign| (!stands(text, sign).1).then_some(sign)).collect()
        };
        let escaped = all(old).filter(|escaped| !escaped.is_empty())?;
        let text = unescape_quotes(old, &escaped);
        let undo = move |new: &str| {
            let shown = all(new)?;
            // A sign that old_str does not tell of.
            let known = shown.iter().all(|sign| escaped.contains(sign));
            // Now with the backslash, now without.
            let plain = escaped.iter().any(|sign| stands(new, *sign).1);
            let clear = shown.is_empty() || known && !plain;
            clear.then(|| unescape_quotes(new, &shown))
        };
        Some((text, Box::new(undo)))
    }
}

/// Whether what looks like an escaped break before a new line may be the head of a command, as
/// `\newline` is, in a text that has such commands.
fn may_name_commands(new: &str, known: &[String]) -> bool {
    new.match_indices('\\').any(|(at, _)| {
        let rest = &new[at + 1..];
        let doubled = new[..at].ends_with('\\');
        let Some(rest) = rest.strip_prefix(['n', 't', 'r']).filter(|_| !doubled) else {
            return false;
        };
        let line = rest.split("\\n").next().unwrap_or_default().trim();
        rest.starts_with(char::is_alphabetic) && !known.iter().any(|known| known == line)
    })
}

/// Whether a new line that was escaped has a literal or a pattern that is torn once it is not:
/// a quote or a break in it was its own.
fn is_torn(undone: &str, known: &[String], shown: Kinds) -> bool {
    let lines: Vec<&str> = undone.lines().collect();
    let fresh = |line: &str| !known.iter().any(|known| known == line.trim());
    let quotes = |line: &str| {
        // Back-ticks stand in pairs in text, and single quotes before names.
        let bare = !line.contains("&'") && !line.contains("<'");
        let kinds = QUOTES.into_iter().zip(shown.quotes);
        let kinds = kinds.filter(|(quote, _)| *quote == '"' || *quote == '\'' && bare);
        kinds.filter(|(_, escaped)| *escaped).any(|(quote, _)| {
            let of_kind = |literal: &Range<usize>| line[literal.clone()].starts_with(quote);
            let literals: Vec<Range<usize>> =
                tokens::literals(line).into_iter().filter(of_kind).collect();
            let glued = literals.windows(2).any(|two| {
                let between = &line[two[0].end..two[1].start];
                !between.is_empty() && between.chars().all(is_word)
            });
            let rest = literals.last().map_or("", |last| &line[last.end..]);
            glued || rest.starts_with(is_word) && rest.contains(quote)
        })
    };
    let pattern = |pair: &[&str]| {
        let (above, below) = (pair[0].trim_end(), pair[1]);
        let begins = ["(/", "= /", ", /"].iter().any(|sign| above.ends_with(sign));
        let flags = below.strip_prefix('/').map(|rest| rest.trim_start_matches(is_word));
        begins && flags.is_some_and(|rest| rest.starts_with([',', ')', '.', ';']))
    };
    lines.iter().any(|line| fresh(line) && quotes(line)) || lines.windows(2).any(pattern)
}

/// The kinds of escape that a text shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Kinds {
    breaks: bool,
    tabs: bool,
    returns: bool,
    quotes: [bool; 3],
    backslashes: bool,
    /// Whether raw line breaks and raw tabs stand beside the escapes.
    mixed: (bool, bool),
    /// Whether line breaks were escaped between what looks like quotes, too.
    in_literals: bool,
    /// Whether a backslash stands alone, so that no escaper made the text.
    lone: bool,
    /// The quotes that stand bare.
    bare: [bool; 3],
    /// Whether backslashes are doubled still once the escapes are undone, and none is alone.
    doubled: bool,
}

impl Kinds {
    fn escapes(self, c: char) -> bool {
        QUOTES.into_iter().zip(self.quotes).any(|(quote, escaped)| escaped && quote == c)
    }

    fn with_bare_quotes(mut self) -> Self {
        self.bare[0] = true;
        self
    }

    /// Whether `new` shows that it was written without the escapes that `old` has
    /// throughout: a quote stands bare, or a backslash alone.
    fn is_clean(self, new: &str) -> bool {
        let quote = |at: usize| self.quotes[at] && !self.bare[at] && has_bare(new, QUOTES[at]);
        (0..QUOTES.len()).any(quote) || self.backslashes && !self.lone && has_lone_backslash(new)
    }
}

fn kinds(text: &str) -> Kinds {
    let mut kinds = Kinds::default();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            continue;
        }
        match chars.next() {
            Some('n') => kinds.breaks = true,
            Some('t') => kinds.tabs = true,
            Some('r') => kinds.returns = true,
            Some('\\') => kinds.backslashes = true,
            Some(c) => {
                for (at, quote) in QUOTES.into_iter().enumerate() {
                    kinds.quotes[at] |= c == quote;
                }
            }
            None => {}
        }
    }
    kinds
}

/// Whether `new` has quotes of a kind that `old` has escaped now bare, now escaped outside of
/// any literal.
fn mixes_quotes(new: &str, shown: Kinds) -> bool {
    let chars: Vec<char> = new.chars().collect();
    let mixed = |quote: char| {
        let mut ends = LiteralEnds::stopping_at('\n');
        let mut at = 0;
        while at < chars.len() {
            let escaped = chars[at] == '\\' && chars.get(at + 1) == Some(&quote);
            if escaped {
                return true;
            }
            at = match chars[at] {
                '\\' => at + 2,
                '"' | '\'' | '`' => ends.of(&chars, |c| *c, at).unwrap_or(at) + 1,
                _ => at + 1,
            };
        }
        false
    };
    let clean = shown.is_clean(new);
    let kinds = QUOTES.into_iter().enumerate().filter(|(at, _)| shown.quotes[*at]);
    kinds.filter(|(_, quote)| clean || has_bare(new, *quote)).any(|(_, quote)| mixed(quote))
}

/// The quotes that `old` had escaped and that stand nowhere bare in `new`.
fn escaped_quotes(new: &str, shown: Kinds) -> Vec<char> {
    let wanted =
        |(at, quote): (usize, char)| (shown.quotes[at] && !has_bare(new, quote)).then_some(quote);
    QUOTES.into_iter().enumerate().filter_map(wanted).collect()
}

/// Whether the double quotes that only `new` has, where `old` was escaped, are escaped too;
/// `None` if that cannot be told.
fn brings_escaped_quotes(new: &str, shown: Kinds) -> Option<bool> {
    let proven = shown.breaks || shown.tabs || shown.backslashes && !shown.lone;
    if !proven || shown.quotes[0] || shown.bare[0] || !new.contains("\\\"") {
        return Some(false);
    }
    // Within a literal, the escapes may be its own.
    let outside = outside_literals(new, |c| (c == '"').then_some("\0")).contains('\0');
    match (outside, has_bare(new, '"')) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// Whether a backslash stands before an escaped line break, as where a line goes on: both
/// together look like an escaped backslash. Literals have such ones of their own.
fn continues(new: &str) -> bool {
    let unquoted = match has_bare(new, '"') {
        true => new.to_owned(),
        false => unescape_quotes(new, &QUOTES),
    };
    let marked = outside_literals(&unquoted, |c| (c == '\\').then_some("\0"));
    marked.contains(" \0n") || marked.contains("\0n ") || marked.contains("\0n\t")
}

/// How much of `new` stands in `old` as well, up to a line break that is none of a literal there:
/// then it is none in `new`, whatever quotes come behind it.
fn known_start(old: &str, new: &str) -> usize {
    let shared = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let whole = unescape_breaks(old);
    // The last ones will do; each is a look at the whole text.
    const MOST: usize = 8;
    let shared = &old[..old.floor_char_boundary(shared)];
    let mut ends = shared.rmatch_indices("\\n").map(|(at, _)| at + 2).take(MOST);
    let ends_there = |end: &usize| {
        let start = unescape_breaks(&old[..*end]);
        start.ends_with('\n') && whole.starts_with(&start)
    };
    ends.find(ends_there).unwrap_or(0)
}

/// Undoes in `new` each kind of escape that `old` showed and against which `new` shows
/// nothing: no raw line break, no raw tab, no bare quote, no lone backslash.
fn undo_like(old: &str, new: &str, shown: Kinds) -> Option<String> {
    if mixes_quotes(new, shown) {
        return None;
    }
    if shown.is_clean(new) {
        return Some(if shown.breaks && !has_inner_break(new) {
            unescape_breaks(new)
        } else {
            new.to_owned()
        });
    }
    if brings_escaped_quotes(new, shown)? && !was_string_body(new) {
        return undo_like(old, &unescape_quotes(new, &['"']), shown.with_bare_quotes());
    }
    let body = was_string_body(new);
    let unquoted = unescape_quotes(new, &QUOTES);
    let breaks_code = unescape_breaks(&unquoted) != unquoted;
    if body && (shown.breaks || shown.backslashes || breaks_code) {
        // A line break that a literal on one line keeps is the literal's own escape, unless
        // doubled backslashes show that the whole text was escaped.
        let kept = unescape_breaks(&unquoted);
        let whole = kinds(new).backslashes || shown.in_literals;
        if whole || !kinds(&kept).breaks {
            return Some(unescape(new));
        }
        // Elsewhere than at its end, it may as well be a break of the text.
        if !kept.split("\\n").skip(1).all(|rest| rest.starts_with(QUOTES)) {
            return None;
        }
        // Quotes in a row are not what opens a literal on one line.
        let row = ["\"\"\"", "'''"].iter().any(|quotes| unquoted.contains(quotes));
        return (!row && !keeps_indented_breaks(&kept)).then_some(kept);
    }
    let quotes = escaped_quotes(new, shown);
    // An escaped quote behind an escaped backslash: all of it was escaped. Else pairs of
    // backslashes of which old_str has none may be escaped, or stand as they are.
    let whole = !quotes.is_empty() && !has_lone_backslash(new) && new.contains("\\\\\\\"");
    let doubled = new.contains("\\\\");
    if !quotes.is_empty() && doubled && !shown.backslashes && !shown.lone && !whole {
        return None;
    }
    let breaks = (shown.breaks || body) && (shown.mixed.0 || !has_inner_break(new));
    let tabs = shown.tabs && (shown.mixed.1 || !new.contains('\t'));
    let lone = has_lone_backslash(new);
    let mut out = String::with_capacity(new.len());
    let mut chars = new.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek().copied()) {
            ('\\', Some('\\')) => {
                let single = (shown.backslashes || whole) && !lone;
                out.push_str(if single { "\\" } else { "\\\\" });
                chars.next();
                // An escaped quote that was escaped once more is so as a whole.
                let mut ahead = chars.clone();
                if single
                    && ahead.next() == Some('\\')
                    && let Some(quote) = ahead.next().filter(|c| shown.escapes(*c))
                {
                    out.push(quote);
                    chars = ahead;
                }
            }
            ('\\', Some(quote)) if quotes.contains(&quote) => {
                out.push(quote);
                chars.next();
            }
            ('\\', Some('t')) if tabs => {
                out.push('\t');
                chars.next();
            }
            _ => out.push(c),
        }
    }
    let out = match (breaks, shown.in_literals) {
        (false, _) => out,
        (true, false) => {
            let (known, rest) = out.split_at(known_start(old, &out));
            let rest = unescape_breaks(rest);
            if keeps_indented_breaks(&rest) {
                return None;
            }
            unescape_breaks(known) + &rest
        }
        (true, true) => everywhere(&out, line_break),
    };
    // The file doubles every backslash there; what would have single ones was not escaped.
    let halved = shown.doubled && !lone && has_lone_backslash(&out);
    (!halved).then_some(out)
}

/// Whether a literal on one line holds a break with an indentation behind it, or one in a comment
/// with the mark of a comment: that may as well be a break of the text.
fn keeps_indented_breaks(text: &str) -> bool {
    let indented = ["\\n\\t", "\\n\t", "\\n  "].iter().any(|sign| text.contains(sign));
    let commented = |line: &str| {
        let body = line.trim_start();
        ["#", "//", "--", "*"].iter().any(|mark| {
            body.starts_with(mark)
                && (body.contains(&format!("\\n{mark}")) || body.contains(&format!("\\n {mark}")))
        })
    };
    indented || text.contains("\\n") && text.lines().any(commented)
}

/// A backslash that is neither doubled nor in front of `n`, `t`, `r` or a quote.
fn has_lone_backslash(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && !matches!(chars.next(), Some('\\' | 'n' | 't' | 'r' | '"' | '\'' | '`')) {
            return true;
        }
    }
    false
}

const QUOTES: [char; 3] = ['"', '\'', '`'];

fn has_inner_break(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
}

/// One level of the usual escapes.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let meant = match (c, chars.peek()) {
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some(&c @ ('"' | '\'' | '`' | '\\'))) => c,
            _ => {
                out.push(c);
                continue;
            }
        };
        chars.next();
        out.push(meant);
    }
    out
}

/// Whether a text could be the body of a JSON string: nothing in it that would have
/// had to be escaped, and something that was.
fn was_string_body(text: &str) -> bool {
    !text.contains(['\n', '\t', '\r']) && !has_bare(text, '"')
}

/// The text whose string body was put into a string again, all of it.
fn unescape_twice(text: &str) -> Option<String> {
    let is_body = |text: &str| was_string_body(text) && !has_lone_backslash(text);
    let once = unescape(text);
    let twice = unescape(&once);
    (is_body(text) && is_body(&once) && twice != once).then_some(twice)
}

fn has_bare(text: &str, quote: char) -> bool {
    let mut escaped = false;
    text.chars().any(|c| {
        let bare = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        bare
    })
}

fn unescape_quotes(text: &str, quotes: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && quotes.contains(next) => {
                out.push(*next);
                chars.next();
            }
            Some('\\') if c == '\\' => {
                out.push_str("\\\\");
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

pub(super) fn unescape_breaks(text: &str) -> String {
    outside_literals(text, line_break)
}

fn line_break(escape: char) -> Option<&'static str> {
    match escape {
        'n' => Some("\n"),
        'r' => Some("\r"),
        't' => Some("\t"),
        _ => None,
    }
}

/// Replaces `\x` wherever it stands.
fn everywhere(text: &str, meant: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek().copied()) {
            ('\\', Some(next)) if meant(next).is_some() || next == '\\' => {
                out.push_str(meant(next).unwrap_or("\\\\"));
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// Replaces `\x` outside string literals. A literal is what a quote opens and the
/// same quote closes before the (real or escaped) line break.
fn outside_literals(text: &str, meant: impl Fn(char) -> Option<&'static str>) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let mut ends = LiteralEnds::stopping_at('\n');
    // Where the line starts that `counted` is on.
    let (mut line, mut counted) = (0, 0);
    while at < chars.len() {
        let c = chars[at];
        while counted < at {
            counted += 1;
            line = if is_break(&chars, counted - 1) { counted } else { line };
        }
        if matches!(c, '"' | '\'') && chars[at..].starts_with(&[c; 3]) {
            // Text between triple quotes goes over lines.
            out.extend([c; 3]);
            at += 3;
        } else if let Some(end) = raw_text(&chars, at) {
            let text: String = chars[at..end].iter().collect();
            out.push_str(&everywhere(&text, &meant));
            at = end;
        } else if matches!(c, '"' | '\'')
            && !(c == '\'' && is_apostrophe(&chars, at))
            && let Some(end) = ends.of(&chars, |c| *c, at)
            && !(c == '\'' && is_a_pair_of_lifetimes(&chars, at..end))
            && !goes_over_lines(&chars, line, at..end)
        {
            out.extend(&chars[at..=end]);
            at = end + 1;
        } else if c == '\\'
            && let Some(meant) = chars.get(at + 1).and_then(|next| meant(*next))
        {
            out.push_str(meant);
            at += 2;
        } else if c == '\\' && chars.get(at + 1) == Some(&'\\') {
            out.push_str("\\\\");
            at += 2;
        } else {
            out.push(c);
            at += 1;
        }
    }
    out
}

/// The end of a raw text, `r#"…"#`, that a line break begins: escapes mean nothing in it, so that
/// these are those of the call.
fn raw_text(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[..at].iter().rev().take_while(|c| **c == '#').count();
    let opens = hashes > 0 && at > hashes && chars[at - hashes - 1] == 'r' && chars[at] == '"';
    if !opens || chars.get(at + 1..at + 3) != Some(&['\\', 'n']) {
        return None;
    }
    let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let inside = at + 1;
    let found = chars[inside..].windows(close.len()).position(|end| end == close)?;
    Some(inside + found + close.len())
}

/// Whether two single quotes with a line break between them each stand before a name, as
/// lifetimes do, and no end of a literal.
fn is_a_pair_of_lifetimes(chars: &[char], literal: Range<usize>) -> bool {
    let name = |at: usize| chars.get(at + 1).copied().is_some_and(is_word);
    let inside: String = chars[literal.clone()].iter().collect();
    name(literal.start) && name(literal.end) && inside.contains("\\n") && {
        // Or the second is an apostrophe.
        let before = chars[literal.end - 1];
        is_word(before) || before.is_whitespace() || "<&(+,".contains(before)
    }
}

/// Whether a single quote belongs to the word, call or name before it. The letters that
/// mark a literal as raw, of bytes or formatted are no word.
fn is_apostrophe(chars: &[char], at: usize) -> bool {
    let word = chars[..at].iter().rev().take(3).take_while(|c| is_word(**c)).count();
    let mark = word <= 2
        && chars[at - word..at]
            .iter()
            .all(|c| matches!(c.to_ascii_lowercase(), 'f' | 'r' | 'b' | 'u'));
    let before = at.checked_sub(1).map(|before| chars[before]);
    before.is_some_and(|c| is_word(c) && !mark || matches!(c, ')' | ']' | '`'))
}

/// Whether a line break in a literal is one of the file: what follows it is indented as
/// deep as the line that it stands on, which begins at `line`.
fn goes_over_lines(chars: &[char], line: usize, literal: Range<usize>) -> bool {
    let blanks = |from: usize| chars[from..].iter().take_while(|c| **c == ' ').count();
    let depth = blanks(line).max(4);
    let mut inside = literal.start + 1..literal.end;
    inside.any(|at| is_break(chars, at) && blanks(at + 1) >= depth)
}

/// Whether a line ends here, be the break escaped or not.
fn is_break(chars: &[char], at: usize) -> bool {
    chars[at] == '\n' || chars[at] == 'n' && at > 0 && chars[at - 1] == '\\'
}
