//! Decodings: mistakes that happened to the text as a whole on its way here, and
//! what undoes each. A decoding applies only where `old_str` shows it, and is carried
//! over to `new_str` only where `new_str` shows it too.

use std::collections::{HashMap, HashSet};

use super::canon::is_word;
use super::tokens::literals;

mod entities;
mod escapes;
mod line_numbers;
mod lines;
mod wrappers;

use entities::Entities;
use escapes::{EscapedSigns, Level, Unescape};
use line_numbers::LineNumbers;
use lines::{CarriageReturns, DoubleSpacing, OuterBlanks};
use wrappers::{CodeFence, DiffMarkers, Enclosed, NameAbove, Quotation};

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
    /// Whether the file itself has what is taken for the mistake, so that it is none.
    fn is_of_the_file(&self, _old: &str, _file: &str) -> bool {
        false
    }
    /// The text that was meant, if the mistake shows, and what undoes it in `new_str`.
    fn undo(&self, old: &str) -> Option<(String, UndoNew)>;
}

/// Undoes the same mistake in `new_str`; `None` where it cannot be told what was meant.
pub(super) type UndoNew = Box<dyn Fn(&str) -> Option<String>>;

/// In the order in which they are tried.
pub(super) const DECODINGS: &[&dyn Decoding] = &[
    // Before the escapes: in a string literal these stand within the quotes.
    &Enclosed,
    &Unescape(Level::Full),
    &Unescape(Level::Quotes),
    &Unescape(Level::Breaks),
    &Unescape(Level::QuotesAndBreaks),
    &Unescape(Level::Twice),
    &EscapedSigns,
    &CarriageReturns,
    &LineNumbers { spaced: true },
    &LineNumbers { spaced: false },
    &DiffMarkers,
    &Quotation,
    &CodeFence,
    &NameAbove,
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
                if old.trim().is_empty()
                    || out.iter().any(|seen| seen.old == old)
                    || decoding.is_of_the_file(&out[at].old, file)
                {
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
                let escapes = family(decoding.id()) == "unescape";
                let undone = undone.filter(|new| !(escapes && breaks_in_prose(new)));
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

/// What a text alone can mean, by each decoding that says more than where lines end, and the
/// decoding's rung.
pub(super) fn undone(text: &str, file: &str) -> impl Iterator<Item = (&'static str, String)> {
    let shape = ["line_endings", "outer_blank_lines"];
    let decodings = DECODINGS.iter().filter(move |d| !shape.contains(&d.rung()) && d.suits(file));
    decodings.filter_map(move |decoding| {
        let (_, undo) = decoding.undo(text).filter(|_| !decoding.is_of_the_file(text, file))?;
        Some((decoding.rung(), undo(text).filter(|meant| meant != text)?))
    })
}

/// Whether the file has one of the lines, whatever the white space.
fn has_line_of(file: &str, text: &str) -> bool {
    let dense = |line: &str| line.split_whitespace().collect::<String>();
    let lines: HashSet<String> = text.lines().map(dense).filter(|line| !line.is_empty()).collect();
    let begins: HashSet<char> = lines.iter().filter_map(|line| line.chars().next()).collect();
    let alike = |line: &&str| line.trim_start().starts_with(|c| begins.contains(&c));
    file.lines().filter(alike).any(|line| lines.contains(&dense(line)))
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

/// Whether a line break stays escaped between two quotes that hold no literal: a word follows
/// on the second one, as in prose.
fn breaks_in_prose(text: &str) -> bool {
    const KEYWORDS: [&str; 16] = [
        "if", "unless", "in", "and", "or", "for", "foreach", "else", "as", "is", "not", "while",
        "then", "do", "until", "of",
    ];
    text.contains("\\n")
        && text.lines().any(|line| {
            literals(line).into_iter().filter(|at| line[at.clone()].contains("\\n")).any(|at| {
                let behind = line[at.end..].strip_prefix(' ').unwrap_or_default();
                let word = behind.split(|c: char| !is_word(c)).next().unwrap_or_default();
                !word.is_empty() && !KEYWORDS.contains(&word)
            })
        })
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
    // Breaks that are escaped show that the words are, too.
    let escaped = old.1.contains('\n') && !new.contains('\n') && new.contains("\\n");
    if !old.0.contains("\\\\") || !new.contains('\\') || escaped {
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

    #[test]
    fn quotes_and_breaks_that_only_new_has() {
        let new = |old: &str, new: &str| {
            let all = readings(old, new, "");
            let read = all.iter().find(|r| r.ids[..] == ["unescape"]).expect("unescaped");
            (!read.unclear).then(|| read.new.clone())
        };
        let old = r"a,\n  b,";
        assert_eq!(new(old, "a: \\\"A\\\",\n  b,").as_deref(), Some("a: \"A\",\n  b,"));
        assert_eq!(new(old, "a: \\\"A\\\",\n  b: \"B\","), None);
        assert_eq!(new(old, "a: \"\\\"A\",\n  b,").as_deref(), Some("a: \"\\\"A\",\n  b,"));
        // A line that goes on, or an escaped backslash before an `n`?
        assert_eq!(new(old, r"a \\n  c,\n  b,"), None);
        assert_eq!(new(old, r"f('\\n '),\n  b,").as_deref(), Some("f('\\n '),\n  b,"));
    }

    #[test]
    fn what_was_escaped_or_wrapped_as_a_whole() {
        let read = |old: &str, new: &str, file: &str, ids: &[&str]| {
            let all = readings(old, new, file);
            let read = all.into_iter().find(|r| r.ids == ids && !r.unclear);
            read.map(|r| (r.old, r.new))
        };
        let both = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        let twice = read(r#"a(\\\"x\\\");\\nb"#, r#"a(\\\"y\\\");\\nb"#, "", &["unescape_twice"]);
        assert_eq!(twice, both("a(\"x\");\nb", "a(\"y\");\nb"));
        assert_eq!(read(r"a\\nb", "a\nc", "", &["unescape_twice"]), None);
        let quoted =
            read(r#""a(\"x\")\nb""#, r#""a(\"y\")\nb""#, "", &["enclosing_quotes", "unescape"]);
        assert_eq!(quoted, both("a(\"x\")\nb", "a(\"y\")\nb"));
        let ticks = |new: &str, file: &str| read("`a b`", new, file, &["enclosing_quotes"]);
        assert_eq!(ticks("`c`", "a b\n"), both("a b", "c"));
        assert_eq!((ticks("c", "a b\n"), ticks("`c`", "a b\n'a b'\n")), (None, None));
        let signs = |new: &str, file: &str| read(r"\$a = \$b", new, file, &["escaped_signs"]);
        assert_eq!(signs(r"\$a = \$c", "$a = $b"), both("$a = $b", "$a = $c"));
        assert_eq!(signs("$a = $c", "$a = $b"), both("$a = $b", "$a = $c"));
        assert_eq!((signs(r"\$a = $c", "$a = $b"), signs(r"\$c", r"'\$'")), (None, None));
        let quotation = read("> a\n>\n> b\n", "> a\n> c\n", "a\n\nb\n", &["quotation_marks"]);
        assert_eq!(quotation, both("a\n\nb\n", "a\nc\n"));
        let named = |new: &str, file: &str| read("# src/a.py\nb", new, file, &["file_name_above"]);
        assert_eq!(named("# src/a.py\nc", "b\n"), both("b", "c"));
        assert_eq!((named("c", "b\n"), named("# src/a.py\nc", "#  src/a.py\n")), (None, None));
        assert_eq!(read("# e.g.\nb", "# e.g.\nc", "b\n", &["file_name_above"]), None);
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
            "   9 │ a\n  10 │   b",
            "[9] a\n[10]   b",
            "12-a\n13:  b",
            "9  a\n10    b",
        ] {
            let read = undo_numbers(text).map(|(old, _)| old);
            assert_eq!(read.as_deref(), Some("a\n  b"), "{text:?}");
        }
        assert!(undo_numbers("12|a\n14|b").is_none());
        assert!(undo_numbers("12|a\n13: b").is_none());
        assert!(undo_numbers("12|a\nb").is_none());
        let (_, undo) = undo_numbers("12|a\n13|b").expect("numbered");
        assert_eq!(undo("12|a\nnew\n13|b").as_deref(), Some("a\nnew\nb"));
        // A blank line counts, be it numbered or not.
        for text in ["12: a\n\n14: b", "12\ta\n13\n14\tb", "12  a\n13\n14  b"] {
            let read = undo_numbers(text).map(|(old, _)| old);
            assert_eq!(read.as_deref(), Some("a\n\nb"), "{text:?}");
        }
        assert!(undo_numbers("12: a\n\n13: b").is_none());
        // What often is text must go on, and the file must not have it.
        for text in ["12-34", "[0] = a", "1  apple", "12-a\n12-b"] {
            assert!(undo_numbers(text).is_none(), "{text:?}");
        }
        let readings = |file: &str| readings("1. a\n2. b", "1. a\n2. c", file).len();
        assert_eq!((readings("x\n  1.  a\n"), readings("a\nb\n")), (1, 2));
    }

    #[test]
    fn a_gutter_without_a_number_is_one_of_the_view() {
        let undo = |old: &str, new: &str| undo_numbers(old).and_then(|(_, undo)| undo(new));
        for (old, new, meant) in [
            ("  5 | a\n  6 | b", "  5 | a\n    |   c\n  6 | b", Some("a\n  c\nb")),
            ("  5 | a\n  6 | b", "    | c\n    |\n    | d", Some("c\n\nd")),
            ("    5→a\n    6→b", "    5→a\n     →c", Some("a\nc")),
            ("    5\ta\n    6\tb", "    5\ta\n     \tc", Some("a\nc")),
            // In another column, or beside lines without one: not clear.
            ("  5 | a\n  6 | b", "  5 | a\n   + | c", None),
            ("  5 | a\n  6 | b", "  5 | a\n    | c\nd", None),
            ("5  a\n6  b", "5  a\n   c", None),
            ("5-a\n6-b", "5-a\n -c\n6-b", None),
            ("5-a\n6-b", "5-a\nc\n6-b", Some("a\nc\nb")),
            // A sign that the text itself has.
            ("5 | t =\n6 |  | A", "t =\n | A\n | B", Some("t =\n | A\n | B")),
        ] {
            assert_eq!(undo(old, new).as_deref(), meant, "{new:?}");
        }
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
        // The break before the closing fence is the fence's.
        let (_, undo) = CodeFence.undo("```\nx\n\n```").expect("fence");
        assert_eq!((undo("y\n").as_deref(), undo("y")), (Some("y\n\n"), None));
        let (old, undo) = OuterBlanks.undo("\n\na\n\n").expect("blanks");
        assert_eq!((old.as_str(), undo("b\n").as_deref()), ("a\n", Some("b\n")));
        // One blank line of two may be the new text's own.
        assert_eq!(undo("\nb\n"), None);
    }
}
