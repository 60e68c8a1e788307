//! Decodings: mistakes that happened to the text as a whole on its way here, and
//! what undoes each. A decoding applies only where `old_str` shows it, and is carried
//! over to `new_str` only where `new_str` shows it too.

use std::borrow::Cow;

/// One mistake of the whole text.
pub(super) trait Decoding: Sync {
    /// The rewrite's name in reports.
    fn id(&self) -> &'static str;
    /// The rung it stands for when it explains the call alone.
    fn rung(&self) -> &'static str;
    /// Whether the decoded text consists of whole lines by its nature.
    fn whole_lines(&self) -> bool;
    /// The text that was meant, if the mistake shows, and what undoes it in `new_str`.
    fn undo(&self, old: &str) -> Option<(String, UndoNew)>;
}

/// Undoes the same mistake in `new_str`.
pub(super) type UndoNew = Box<dyn Fn(&str) -> String>;

/// In the order in which they are tried.
pub(super) const DECODINGS: &[&dyn Decoding] = &[
    &Unescape(Level::Full),
    &Unescape(Level::Quotes),
    &Unescape(Level::Breaks),
    &Unescape(Level::QuotesAndBreaks),
    &CarriageReturns,
    &LineNumbers,
    &DiffMarkers,
    &CodeFence,
    &Entities,
    &OuterBlanks,
    &DoubleSpacing,
];

/// A text as some decodings read it.
pub(super) struct Reading {
    pub(super) old: String,
    pub(super) new: String,
    /// Names of the decodings, in the order applied.
    pub(super) ids: Vec<&'static str>,
    /// The last one's rung.
    pub(super) rung: &'static str,
    pub(super) whole_lines: bool,
}

/// How many decodings may be composed.
const DEPTH: usize = 3;

/// All readings of a call: as it is, then by one decoding, by two, by three.
pub(super) fn readings(old: &str, new: &str) -> Vec<Reading> {
    let plain = Reading {
        old: old.to_owned(),
        new: new.to_owned(),
        ids: Vec::new(),
        rung: "exact",
        whole_lines: false,
    };
    let mut out = vec![plain];
    let mut from = 0;
    for _ in 0..DEPTH {
        let to = out.len();
        for at in from..to {
            for decoding in DECODINGS {
                if out[at].ids.iter().any(|id| family(id) == family(decoding.id())) {
                    continue;
                }
                let Some((old, undo)) = decoding.undo(&out[at].old) else { continue };
                if old.trim().is_empty() || out.iter().any(|seen| seen.old == old) {
                    continue;
                }
                let mut ids = out[at].ids.clone();
                ids.push(decoding.id());
                let new = undo(&out[at].new);
                let whole_lines = out[at].whole_lines || decoding.whole_lines();
                out.push(Reading { old, new, ids, rung: decoding.rung(), whole_lines });
            }
        }
        from = to;
    }
    out
}

/// One level of escaping is undone once, whichever way.
fn family(id: &str) -> &str {
    id.split('_').next().unwrap_or(id)
}

/// Which escapes are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Every escape: the text was a JSON string body once too often.
    Full,
    /// Quotes only.
    Quotes,
    /// Line breaks and tabs, where they stand outside string literals.
    Breaks,
    /// Quotes, then line breaks and tabs outside the literals.
    QuotesAndBreaks,
}

struct Unescape(Level);

impl Decoding for Unescape {
    fn id(&self) -> &'static str {
        match self.0 {
            Level::Full => "unescape",
            Level::Quotes => "unescape_quotes",
            Level::Breaks => "unescape_breaks",
            Level::QuotesAndBreaks => "unescape_quotes_and_breaks",
        }
    }

    fn rung(&self) -> &'static str {
        "unescaped"
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let level = self.0;
        let changed = |text: String| (text != old).then_some(text);
        let text = match level {
            Level::Full => unescape(old),
            Level::Quotes => unescape_quotes(old, &QUOTES),
            // Raw line breaks in old_str show that the caller's line breaks are not escaped.
            Level::Breaks | Level::QuotesAndBreaks if has_inner_break(old) => return None,
            Level::Breaks => unescape_breaks(old),
            Level::QuotesAndBreaks => unescape_breaks(&unescape_quotes(old, &QUOTES)),
        };
        let text = changed(text)?;
        let mut shown = kinds(old);
        // What old_str has both ways, new_str may have both ways too.
        shown.mixed = (has_inner_break(old), old.contains('\t'));
        let undo = move |new: &str| match level {
            Level::Full => undo_like(new, shown),
            Level::Quotes => unescape_quotes(new, &escaped_quotes(new, shown)),
            Level::Breaks if has_inner_break(new) => new.to_owned(),
            Level::Breaks => unescape_breaks(new),
            Level::QuotesAndBreaks => {
                let unquoted = unescape_quotes(new, &escaped_quotes(new, shown));
                if has_inner_break(new) { unquoted } else { unescape_breaks(&unquoted) }
            }
        };
        Some((text, Box::new(undo)))
    }
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

/// The quotes that `old` had escaped and that stand nowhere bare in `new`.
fn escaped_quotes(new: &str, shown: Kinds) -> Vec<char> {
    let wanted =
        |(at, quote): (usize, char)| (shown.quotes[at] && !has_bare(new, quote)).then_some(quote);
    QUOTES.into_iter().enumerate().filter_map(wanted).collect()
}

/// Undoes in `new` each kind of escape that `old` showed and against which `new` shows
/// nothing: no raw line break, no raw tab, no bare quote, no lone backslash.
fn undo_like(new: &str, shown: Kinds) -> String {
    let body = was_string_body(new);
    if body && (shown.breaks || shown.backslashes) {
        let full = unescape(new);
        // A line break that falls into a literal was the literal's own escape.
        if !has_open_literal(&full) {
            return full;
        }
    }
    let quotes = escaped_quotes(new, shown);
    let breaks = (shown.breaks || body) && (shown.mixed.0 || !has_inner_break(new));
    let tabs = shown.tabs && (shown.mixed.1 || !new.contains('\t'));
    let lone = has_lone_backslash(new);
    let mut out = String::with_capacity(new.len());
    let mut chars = new.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek().copied()) {
            ('\\', Some('\\')) => {
                out.push_str(if shown.backslashes && !lone { "\\" } else { "\\\\" });
                chars.next();
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
    if breaks { unescape_breaks(&out) } else { out }
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

/// Whether some line opens a `"` and does not close it.
fn has_open_literal(text: &str) -> bool {
    text.split('\n').any(|line| {
        let mut open = false;
        let mut escaped = false;
        for c in line.chars() {
            open ^= c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
        }
        open
    })
}

/// One level of the usual escapes.
fn unescape(text: &str) -> String {
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

fn unescape_breaks(text: &str) -> String {
    outside_literals(text, |escape| match escape {
        'n' => Some("\n"),
        'r' => Some("\r"),
        't' => Some("\t"),
        _ => None,
    })
}

/// Replaces `\x` outside string literals. A literal is what a quote opens and the
/// same quote closes before the (real or escaped) line break.
fn outside_literals(text: &str, meant: impl Fn(char) -> Option<&'static str>) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if matches!(c, '"' | '\'')
            && !(c == '\'' && at > 0 && chars[at - 1].is_alphanumeric())
            && let Some(end) = literal_end(&chars, at)
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

/// Where a literal that opens at `open` closes. An escaped break followed by
/// indentation or more breaks is taken for the end of a line, not for a part of it.
fn literal_end(chars: &[char], open: usize) -> Option<usize> {
    let mut at = open + 1;
    while at < chars.len() {
        match chars[at] {
            '\n' => return None,
            '\\' => at += 2,
            c if c == chars[open] => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// A file of lone carriage returns, quoted with line feeds.
struct CarriageReturns;

impl Decoding for CarriageReturns {
    fn id(&self) -> &'static str {
        "line_endings"
    }

    fn rung(&self) -> &'static str {
        "line_endings"
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let turn = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r");
        (old.trim_matches('\n').contains('\n')).then(|| {
            let undo: UndoNew = Box::new(turn);
            (turn(old), undo)
        })
    }
}

/// Line numbers copied from a view of the file.
struct LineNumbers;

impl Decoding for LineNumbers {
    fn id(&self) -> &'static str {
        "line_numbers"
    }

    fn rung(&self) -> &'static str {
        "line_numbers"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let body = old.strip_suffix('\n').unwrap_or(old);
        let styles: Vec<(Style, usize, &str)> =
            body.split('\n').map(number).collect::<Option<_>>()?;
        let (style, first, _) = *styles.first()?;
        let uniform =
            styles.iter().enumerate().all(|(at, (s, n, _))| *s == style && *n == first + at);
        // `12: x` or `12|x` alone is often real text; then the match itself must prove it,
        // which whole lines do.
        if !uniform {
            return None;
        }
        let last = first + styles.len();
        // Behind a colon a blank belongs to the view when every line has it.
        let spaced = matches!(style, Style::Colon | Style::Letter)
            && styles.iter().all(|(.., rest)| rest.is_empty() || rest.starts_with(' '));
        let strip = move |line: &str| match number(line) {
            Some((s, n, rest)) if s == style && n + 1 >= first && n <= last + 1000 => {
                if spaced {
                    rest.strip_prefix(' ').unwrap_or(rest).to_owned()
                } else {
                    rest.to_owned()
                }
            }
            _ => line.to_owned(),
        };
        let mut text = body.split('\n').map(strip).collect::<Vec<_>>().join("\n");
        if old.ends_with('\n') {
            text.push('\n');
        }
        let undo = move |new: &str| new.split('\n').map(strip).collect::<Vec<_>>().join("\n");
        Some((text, Box::new(undo)))
    }
}

/// What stands between a line number and the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Bar,
    Arrow,
    Colon,
    Tab,
    Angles,
    Hash,
    Letter,
    Dot,
}

/// The number in front of a line, its style, and the rest.
fn number(line: &str) -> Option<(Style, usize, &str)> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let start = line.trim_start_matches(' ');
    if let Some(inside) = start.strip_prefix("<<") {
        let (digits, rest) = inside.split_once(">>")?;
        return Some((Style::Angles, digits.parse().ok()?, rest));
    }
    let (lettered, start) = match start.strip_prefix('L') {
        Some(rest) => (true, rest),
        None => (false, start),
    };
    let digits = start.len() - start.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = start[..digits].parse().ok()?;
    let rest = &start[digits..];
    if lettered {
        return Some((Style::Letter, number, rest.strip_prefix(':')?));
    }
    if let Some(tagged) = rest.strip_prefix('#') {
        let (tag, rest) = tagged.split_once('|').or_else(|| tagged.split_once(':'))?;
        let is_tag = (2..=8).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric());
        return is_tag.then_some((Style::Hash, number, rest));
    }
    if let Some(rest) = rest.trim_start_matches(' ').strip_prefix('|') {
        return Some((Style::Bar, number, rest));
    }
    let styles = [
        ("│", Style::Bar),
        ("→", Style::Arrow),
        (":", Style::Colon),
        ("\t", Style::Tab),
        (". ", Style::Dot),
    ];
    styles.into_iter().find_map(|(mark, style)| Some((style, number, rest.strip_prefix(mark)?)))
}

/// `-`, `+` and blank in front of each line, from a diff.
struct DiffMarkers;

impl Decoding for DiffMarkers {
    fn id(&self) -> &'static str {
        "diff_markers"
    }

    fn rung(&self) -> &'static str {
        "diff_markers"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let lines: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
        let marked = lines.iter().any(|line| line.starts_with(['-', '+']));
        let all = lines.iter().all(|line| line.is_empty() || line.starts_with(['-', '+', ' ']));
        let hunk = lines.iter().any(|line| line.starts_with("@@"));
        if !(marked && all || hunk) {
            return None;
        }
        let strip_old = |line: &&str| match line.chars().next() {
            // The side that is gone does not belong to the text to be found, unless
            // the call marks all of it so.
            Some('-' | ' ' | '+') => line[1..].to_owned(),
            _ => (*line).to_owned(),
        };
        let both =
            lines.iter().any(|l| l.starts_with('-')) && lines.iter().any(|l| l.starts_with('+'));
        let wanted = |line: &&&str| !(line.starts_with("@@") || both && line.starts_with('+'));
        let mut text = lines.iter().filter(wanted).map(strip_old).collect::<Vec<_>>().join("\n");
        if old.ends_with('\n') {
            text.push('\n');
        }
        Some((text, Box::new(undo_markers)))
    }
}

fn undo_markers(new: &str) -> String {
    let all = |marks: &[char]| {
        new.split('\n')
            .all(|line| line.is_empty() || line.starts_with("@@") || line.starts_with(marks))
    };
    let some = new.split('\n').any(|line| line.starts_with(['+', '-']));
    if !some || !all(&['+', '-', ' ']) {
        return new.to_owned();
    }
    let has_plus = new.split('\n').any(|line| line.starts_with('+'));
    let kept = new
        .split('\n')
        .filter(|line| !(line.starts_with("@@") || has_plus && line.starts_with('-')));
    let strip = |line: &str| line.strip_prefix(['+', '-', ' ']).unwrap_or(line).to_owned();
    kept.map(strip).collect::<Vec<_>>().join("\n")
}

/// A code fence around the text.
struct CodeFence;

impl Decoding for CodeFence {
    fn id(&self) -> &'static str {
        "code_fence"
    }

    fn rung(&self) -> &'static str {
        "code_fence"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let text = unfenced(old)?;
        Some((text, Box::new(|new| unfenced(new).unwrap_or_else(|| new.to_owned()))))
    }
}

fn unfenced(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let (opening, rest) = trimmed.split_once('\n')?;
    let fence = ["```", "~~~"].into_iter().find(|fence| opening.starts_with(fence))?;
    if opening[3..].contains(char::is_whitespace) && opening.len() > 24 {
        return None;
    }
    if rest.trim_end() == fence {
        return Some(String::new());
    }
    let body = rest.strip_suffix(fence)?.strip_suffix('\n')?;
    Some(body.to_owned())
}

/// HTML entities for characters of the source.
struct Entities;

const ENTITIES: &[(&str, &str, &str)] = &[
    ("&lt;", "<", "<"),
    ("&gt;", ">", ">"),
    ("&quot;", "\"", "\""),
    ("&#34;", "\"", "\""),
    ("&#39;", "'", "'"),
    ("&#x27;", "'", "'"),
    ("&apos;", "'", "'"),
    ("&nbsp;", " ", "\u{a0}"),
    ("&amp;", "&", "&"),
];

impl Decoding for Entities {
    fn id(&self) -> &'static str {
        "html_entities"
    }

    fn rung(&self) -> &'static str {
        "html_entities"
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let used: Vec<_> = ENTITIES.iter().filter(|(entity, ..)| old.contains(entity)).collect();
        if used.is_empty() {
            return None;
        }
        let undo = |new: &str| {
            // What stands bare in new_str was not encoded there.
            let encoded = |(entity, c, _): &&(&str, &str, &'static str)| {
                new.contains(entity) && !bare(new, c)
            };
            let used: Vec<_> = ENTITIES.iter().filter(encoded).collect();
            decode_entities(new, &used)
        };
        Some((decode_entities(old, &used), Box::new(undo)))
    }
}

fn bare(text: &str, c: &str) -> bool {
    match c {
        "&" => text
            .match_indices('&')
            .any(|(at, _)| !ENTITIES.iter().any(|(e, ..)| text[at..].starts_with(e))),
        " " => false,
        c => text.contains(c),
    }
}

fn decode_entities(text: &str, used: &[&(&str, &str, &'static str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match used.iter().find(|(entity, ..)| rest.starts_with(entity)) {
            Some((entity, _, meant)) => {
                out.push_str(meant);
                rest = &rest[entity.len()..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Blank lines around the text that the file does not have.
struct OuterBlanks;

impl Decoding for OuterBlanks {
    fn id(&self) -> &'static str {
        "outer_blank_lines"
    }

    fn rung(&self) -> &'static str {
        "outer_blank_lines"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let (head, tail) = outer_blanks(old);
        if head == 0 && tail == 0 {
            return None;
        }
        let text = without_outer(old, head, tail).into_owned();
        Some((
            text,
            Box::new(move |new| {
                let (h, t) = outer_blanks(new);
                if new.trim().is_empty() {
                    new.to_owned()
                } else {
                    without_outer(new, h.min(head), t.min(tail)).into_owned()
                }
            }),
        ))
    }
}

/// A blank line after every line.
struct DoubleSpacing;

impl Decoding for DoubleSpacing {
    fn id(&self) -> &'static str {
        "double_spacing"
    }

    fn rung(&self) -> &'static str {
        "outer_blank_lines"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let text = single_spaced(old)?;
        let undo = |new: &str| single_spaced(new).unwrap_or_else(|| new.to_owned());
        Some((text, Box::new(undo)))
    }
}

fn single_spaced(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let doubled =
        lines.len() >= 3 && lines.iter().skip(1).step_by(2).all(|line| line.trim().is_empty());
    if !doubled {
        return None;
    }
    let mut single = lines.iter().step_by(2).copied().collect::<Vec<_>>().join("\n");
    if text.ends_with('\n') {
        single.push('\n');
    }
    Some(single)
}

/// Blank lines at the head and at the tail of a text.
fn outer_blanks(text: &str) -> (usize, usize) {
    let blank = |line: &&str| line.trim().is_empty();
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let head = lines.iter().take_while(|line| blank(line)).count();
    if head == lines.len() {
        return (0, 0);
    }
    (head, lines.iter().rev().take_while(|line| blank(line)).count())
}

fn without_outer(text: &str, head: usize, tail: usize) -> Cow<'_, str> {
    if head == 0 && tail == 0 {
        return Cow::Borrowed(text);
    }
    let closed = text.ends_with('\n');
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let mut kept = lines[head..lines.len() - tail].join("\n");
    if closed {
        kept.push('\n');
    }
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unescape_undoes_one_level() {
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
            assert_eq!(unescape(text), meant, "{text:?}");
        }
    }

    #[test]
    fn new_is_unescaped_only_where_it_shows_the_same() {
        let new = |old: &str, new: &str, id: &str| {
            let all = readings(old, new);
            all.iter().find(|r| r.ids == [id]).map(|r| r.new.clone())
        };
        assert_eq!(new(r"a\nb", r"a\nc", "unescape").as_deref(), Some("a\nc"));
        assert_eq!(new(r"a\nb", "a\nprint('\\n')", "unescape").as_deref(), Some("a\nprint('\\n')"));
        let quoted = new(r#"f(\"a\");"#, "f(\\\"b\\\");\ng();", "unescape");
        assert_eq!(quoted.as_deref(), Some("f(\"b\");\ng();"));
        assert_eq!(new(r#"f(\"a\")"#, r#"f("b\"")"#, "unescape").as_deref(), Some(r#"f("b\"")"#));
        let breaks = new(r#"p("\n");\nq();"#, r#"p("\n");\nr();"#, "unescape_breaks");
        assert_eq!(breaks.as_deref(), Some("p(\"\\n\");\nr();"));
    }

    #[test]
    fn line_numbers_are_stripped_when_uniform_and_consecutive() {
        for text in [
            "12|a\n13|  b",
            "   12→a\n   13→  b",
            "12: a\n13:   b",
            "12\ta\n13\t  b",
            "<<12>>a\n<<13>>  b",
            "12#VK|a\n13#XJ|  b",
            "L12: a\nL13:   b",
            "12 |a\n13 |  b",
        ] {
            let read = LineNumbers.undo(text).map(|(old, _)| old);
            assert_eq!(read.as_deref(), Some("a\n  b"), "{text:?}");
        }
        assert!(LineNumbers.undo("12|a\n14|b").is_none());
        assert!(LineNumbers.undo("12|a\n13: b").is_none());
        assert!(LineNumbers.undo("12|a\nb").is_none());
        let (_, undo) = LineNumbers.undo("12|a\n13|b").expect("numbered");
        assert_eq!(undo("12|a\nnew\n13|b"), "a\nnew\nb");
    }

    #[test]
    fn markers_fences_entities_and_blanks() {
        let (old, undo) = DiffMarkers.undo(" a\n-b").expect("markers");
        assert_eq!((old.as_str(), undo(" a\n+c").as_str()), ("a\nb", "a\nc"));
        let (old, undo) = CodeFence.undo("```rust\nx\n```").expect("fence");
        assert_eq!(
            (old.as_str(), undo("```rust\ny\n```").as_str(), undo("z").as_str()),
            ("x", "y", "z")
        );
        let (old, undo) = Entities.undo("a &lt; b &amp;&amp; c").expect("entities");
        assert_eq!((old.as_str(), undo("a &gt; b").as_str()), ("a < b && c", "a > b"));
        assert_eq!(undo("\"&lt;\" < x"), "\"&lt;\" < x");
        let (old, undo) = OuterBlanks.undo("\n\na\n\n").expect("blanks");
        assert_eq!((old.as_str(), undo("\nb\n").as_str()), ("a\n", "b\n"));
    }
}
