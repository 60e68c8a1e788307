//! Decodings: mistakes that happened to the text as a whole on its way here, and
//! what undoes each. A decoding applies only where `old_str` shows it, and is carried
//! over to `new_str` only where `new_str` shows it too.

use std::collections::{HashMap, HashSet};

mod entities;
mod escapes;
mod line_numbers;
mod lines;
mod wrappers;

use entities::Entities;
use escapes::{Level, Unescape};
use line_numbers::LineNumbers;
use lines::{CarriageReturns, DoubleSpacing, OuterBlanks};
use wrappers::{CodeFence, DiffMarkers};

/// One mistake of the whole text.
pub(super) trait Decoding: Sync {
    /// The rewrite's name in reports.
    fn id(&self) -> &'static str;
    /// The rung it stands for when it explains the call alone.
    fn rung(&self) -> &'static str;
    /// Whether the decoded text consists of whole lines by its nature.
    fn whole_lines(&self) -> bool;
    /// Whether each line is decoded for itself, so that a line that both strings have is
    /// one line.
    fn by_line(&self) -> bool {
        false
    }
    /// Whether such a text can be in this file.
    fn suits(&self, _file: &str) -> bool {
        true
    }
    /// Whether both strings together can show the mistake.
    fn suits_call(&self, _old: &str, _new: &str) -> bool {
        true
    }
    /// The text that was meant, if the mistake shows, and what undoes it in `new_str`.
    fn undo(&self, old: &str) -> Option<(String, UndoNew)>;
}

/// Undoes the same mistake in `new_str`; `None` where it cannot be told what was meant.
pub(super) type UndoNew = Box<dyn Fn(&str) -> Option<String>>;

/// In the order in which they are tried.
pub(super) const DECODINGS: &[&dyn Decoding] = &[
    &Unescape(Level::Full),
    &Unescape(Level::Quotes),
    &Unescape(Level::Breaks),
    &Unescape(Level::QuotesAndBreaks),
    &CarriageReturns,
    &LineNumbers { spaced: true },
    &LineNumbers { spaced: false },
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
    /// `old` is read so, but nothing tells what `new` means then.
    pub(super) unclear: bool,
}

/// How many decodings may be composed.
const DEPTH: usize = 3;

/// All readings of a call: as it is, then by one decoding, by two, by three.
pub(super) fn readings(old: &str, new: &str, file: &str) -> Vec<Reading> {
    let plain = Reading {
        old: old.to_owned(),
        new: new.to_owned(),
        ids: Vec::new(),
        rung: "exact",
        whole_lines: false,
        unclear: false,
    };
    let mut out = vec![plain];
    let decodings: Vec<&&dyn Decoding> = DECODINGS.iter().filter(|d| d.suits(file)).collect();
    let mut from = 0;
    for _ in 0..DEPTH {
        let to = out.len();
        for at in from..to {
            for decoding in &decodings {
                if out[at].ids.iter().any(|id| family(id) == family(decoding.id())) {
                    continue;
                }
                let Some((old, undo)) = decoding.undo(&out[at].old) else { continue };
                let undo =
                    if decoding.by_line() { shared_first(&out[at].old, &old, undo) } else { undo };
                if old.trim().is_empty() || out.iter().any(|seen| seen.old == old) {
                    continue;
                }
                let mut ids = out[at].ids.clone();
                ids.push(decoding.id());
                let undone = match written((&out[at].old, &old), &out[at].new) {
                    Some(Written::AsMeant) => Some(out[at].new.clone()),
                    Some(Written::Mixed) => None,
                    None => undo(&out[at].new).filter(|new| {
                        !decoding.by_line()
                            || starts_alike((&out[at].old, &old), (&out[at].new, new))
                    }),
                };
                if undone.is_none() && !decoding.suits_call(&out[at].old, &out[at].new) {
                    continue;
                }
                let whole_lines = out[at].whole_lines || decoding.whole_lines();
                let unclear = out[at].unclear || undone.is_none();
                let new = undone.unwrap_or_else(|| out[at].new.clone());
                out.push(Reading { old, new, ids, rung: decoding.rung(), whole_lines, unclear });
            }
        }
        from = to;
    }
    out
}

/// Lines of `new` that are lines of `old` are decoded as these are; the others decide for
/// themselves how they are written.
fn shared_first(old: &str, decoded: &str, undo: UndoNew) -> UndoNew {
    let (from, to): (Vec<&str>, Vec<&str>) =
        (old.split('\n').collect(), decoded.split('\n').collect());
    if from.len() < 2 && !old.contains(char::is_whitespace) || from.len() != to.len() {
        return undo;
    }
    let pairs = from.iter().zip(to).filter(|(from, to)| *from != to);
    let known: HashMap<String, String> = pairs
        .map(|(from, to)| {
            let (line, tail) = from.split_at(from.trim_end().len());
            (line.to_owned(), to.strip_suffix(tail).unwrap_or(to).to_owned())
        })
        .collect();
    let meant: HashSet<String> = known.values().cloned().collect();
    Box::new(move |new| {
        let is_known = |line: &&str| known.contains_key(line.trim_end());
        // A line that stands in `new` as it is meant was written without the mistake, and so
        // was the rest.
        let is_meant = |line: &&str| meant.contains(line.trim_end()) && !is_known(line);
        if new.split('\n').any(|line| is_meant(&line)) {
            let mixed = new.split('\n').any(|line| is_known(&line));
            return (!mixed && undo(new).as_deref() == Some(new)).then(|| new.to_owned());
        }
        let own: Vec<&str> = new.split('\n').filter(|line| !is_known(line)).collect();
        if own.len() == new.split('\n').count() {
            return undo(new);
        }
        let turned = undo(&own.join("\n"))?;
        let mut turned = turned.split('\n');
        if turned.clone().count() != own.len() && !own.is_empty() {
            return undo(new);
        }
        let lines = new.split('\n').map(|line| match known.get(line.trim_end()) {
            Some(known) => format!("{known}{}", &line[line.trim_end().len()..]),
            None => turned.next().unwrap_or(line).to_owned(),
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    })
}

/// Whether a text has line breaks with an indentation behind them, outside of literals, that
/// are still escaped.
pub(super) fn hides_breaks(text: &str) -> bool {
    let more = text.matches('\n').count();
    let undone = escapes::unescape_breaks(text);
    undone.matches('\n').count() > more
        && ["\\n  ", "\\n\t", "\\n\\t"].iter().any(|sign| text.contains(sign))
}

/// How the new text was written, as far as it has words of the old one.
enum Written {
    /// Without the mistake.
    AsMeant,
    /// Now with it, now without.
    Mixed,
}

/// Words with backslashes that the new text has as the file does, and not as the old text.
/// `(as sent, decoded)` of the old text.
fn written(old: (&str, &str), new: &str) -> Option<Written> {
    if !old.0.contains("\\\\") || !new.contains('\\') {
        return None;
    }
    let words = |text: &'_ str| -> HashSet<String> {
        let words = text.split_whitespace().filter(|word| word.contains('\\'));
        words.map(str::to_owned).collect()
    };
    let (sent, meant) = (words(old.0), words(old.1));
    let (mut as_sent, mut as_meant) = (false, false);
    for word in words(new) {
        as_sent |= sent.contains(&word) && !meant.contains(&word);
        as_meant |= meant.contains(&word) && !sent.contains(&word);
    }
    match (as_meant, as_sent) {
        (true, false) => Some(Written::AsMeant),
        (true, true) => Some(Written::Mixed),
        _ => None,
    }
}

/// Whether what both strings begin with was decoded alike. `(as sent, decoded)` of each.
fn starts_alike(old: (&str, &str), new: (&str, &str)) -> bool {
    let shared = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let sent = shared(old.0, new.0);
    let escapes = old.0.as_bytes()[..sent].iter().filter(|b| matches!(b, b'\\' | b'&')).count();
    // An entity is a few characters more than what it stands for.
    let longest = if old.0.as_bytes()[..sent].contains(&b'&') { 7 } else { 1 };
    shared(old.1, new.1) + (escapes + 1) * longest >= sent
}

/// One level of escaping is undone once, whichever way.
fn family(id: &str) -> &str {
    id.split('_').next().unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::escapes::unescape;
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
            let all = readings(old, new, "");
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

    fn undo_numbers(text: &str) -> Option<(String, UndoNew)> {
        let read = |spaced| LineNumbers { spaced }.undo(text);
        read(true).or_else(|| read(false))
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
            let read = undo_numbers(text).map(|(old, _)| old);
            assert_eq!(read.as_deref(), Some("a\n  b"), "{text:?}");
        }
        assert!(undo_numbers("12|a\n14|b").is_none());
        assert!(undo_numbers("12|a\n13: b").is_none());
        assert!(undo_numbers("12|a\nb").is_none());
        let (_, undo) = undo_numbers("12|a\n13|b").expect("numbered");
        assert_eq!(undo("12|a\nnew\n13|b").as_deref(), Some("a\nnew\nb"));
    }

    #[test]
    fn markers_fences_entities_and_blanks() {
        let (old, undo) = DiffMarkers.undo(" a\n-b").expect("markers");
        assert_eq!((old.as_str(), undo(" a\n+c").as_deref()), ("a\nb", Some("a\nc")));
        let (old, undo) = CodeFence.undo("```rust\nx\n```").expect("fence");
        assert_eq!(
            (old.as_str(), undo("```rust\ny\n```").as_deref(), undo("z").as_deref()),
            ("x\n", Some("y\n"), Some("z\n"))
        );
        let (old, undo) = Entities.undo("a &lt; b &amp;&amp; c").expect("entities");
        assert_eq!((old.as_str(), undo("a &gt; b").as_deref()), ("a < b && c", Some("a > b")));
        assert_eq!(undo("\"&lt;\" < x").as_deref(), Some("\"&lt;\" < x"));
        // Both ways in both: which of them are meant?
        let (_, undo) = Entities.undo("a < b &amp;&amp; c").expect("entities");
        assert_eq!(undo("a < b &amp;&amp; \"&lt;\""), None);
        let (old, undo) = OuterBlanks.undo("\n\na\n\n").expect("blanks");
        assert_eq!((old.as_str(), undo("\nb\n").as_deref()), ("a\n", Some("b\n")));
    }
}
