//! What the call writes in one way and the file in another, throughout: quotes, look-alike
//! characters, and the `;` of `statements.rs`. New text goes through it, because the same
//! hand wrote it.

use std::ops::Range;

use super::canon::{self, Fold, canonical, is_word};
use super::code::{is_comment, without_comment};
use super::statements::{At, Semicolons, is_plain_statement};
use super::tokens;

/// Typographic quotes for plain double ones.
pub(super) const DOUBLE: &str = "\u{201c}\u{201d}\u{201e}\u{201f}";
/// Typographic quotes for plain single ones.
pub(super) const SINGLE: &str = "\u{2018}\u{2019}\u{201a}\u{201b}";

/// What the call writes in one way and the file in another, as all their common lines
/// show it: the kind of quotes, look-alike characters, a `;` at the end of statements.
/// New text goes through it, because the same hand wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct EditMap {
    quotes: Option<(char, char)>,
    /// Whether all that the file's quotes hold is one letter each, so that longer texts may
    /// need others.
    letters: bool,
    /// Whether a literal of one letter is another thing in single quotes than in double ones, and
    /// new quotes change the kind: of the file, or of what is named in a query.
    kind_matters: Option<Kind>,
    characters: Vec<(String, String)>,
    /// Characters that the file never has, and that stand for now this, now that.
    unsettled: Vec<String>,
    /// Whether a long dash at the head of a word stands for two hyphens.
    options: bool,
    semicolons: Semicolons,
    /// Whether the file has the call's kind of quotes nowhere.
    foreign: bool,
    /// Whether literals that hold values stand in other quotes in the file: there they mean
    /// something else.
    expands: bool,
}

/// What the kind of its quotes makes of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One character, or a text.
    Letters,
    /// The name of a column, or a text.
    Names,
}

impl EditMap {
    /// Learns from pairs of a line of the call and its line of the file.
    pub(super) fn learn<'a>(pairs: &[(&'a str, &'a str)]) -> Self {
        Self {
            quotes: quotes(pairs),
            letters: only_letters(pairs),
            kind_matters: None,
            characters: characters(pairs),
            unsettled: Vec::new(),
            options: pairs.iter().any(|(old, file)| {
                let turned = long_options(old);
                turned != *old && canon::same(&turned, file, Fold::LookAlike)
            }),
            semicolons: Semicolons::learn(pairs),
            foreign: false,
            expands: expands(pairs),
        }
    }

    /// Forgets what a whole file or a whole new text speaks against: a file that ends
    /// lines in `;` has that habit, and so has a text that does.
    pub(super) fn unless_contradicted(
        mut self,
        pairs: &[(&str, &str)],
        file: &str,
        new: &[&str],
    ) -> Self {
        self.semicolons.settle(file, new);
        // One kind of typographic quotes that stands for plain ones in code speaks for the
        // other, unless the file has such quotes itself.
        for (kind, other, plain) in [(DOUBLE, SINGLE, "'"), (SINGLE, DOUBLE, "\"")] {
            let learnt = self
                .characters
                .iter()
                .any(|(from, to)| kind.contains(from.as_str()) && to.is_ascii());
            let known = self.characters.iter().any(|(from, _)| other.contains(from.as_str()));
            if learnt && !known && !file.contains(|c| other.contains(c)) {
                self.characters.extend(other.chars().map(|c| (c.to_string(), plain.to_owned())));
            }
        }
        // One full-width form that stands for a plain one speaks for all that the file has not.
        let wide = |c: char| ('\u{ff01}'..='\u{ff5e}').contains(&c);
        let known = |from: &str| from.chars().all(wide);
        if self.characters.iter().any(|(from, to)| known(from) && to.is_ascii()) {
            let plain = |c: char| char::from_u32(u32::from(c) - 0xFF01 + 0x21);
            // Not what a literal or a comment says.
            let text = |line: &str| {
                let code = without_comment(line);
                let literals = tokens::literals(code).into_iter();
                let said: String = literals.map(|literal| &code[literal]).collect();
                said + &line[code.len()..]
            };
            let said: String = new.iter().map(|line| text(line)).collect();
            let mut others: Vec<(String, String)> = new
                .iter()
                .flat_map(|line| line.chars())
                .filter(|c| wide(*c) && !file.contains(*c) && !said.contains(*c))
                .filter_map(|c| Some((c.to_string(), plain(c)?.to_string())))
                .collect();
            others.sort_unstable();
            others.dedup();
            others.retain(|(from, _)| !self.characters.iter().any(|(known, _)| known == from));
            self.characters.extend(others);
        }
        let has_letters = || has_characters(file) && !file.lines().any(holds_a_word);
        self.letters = self.letters && has_letters();
        self.kind_matters = match self.quotes {
            Some(('\'', '"')) if is_query(file) => Some(Kind::Names),
            Some(('\'', '"')) if !self.letters && has_letters() => Some(Kind::Letters),
            _ => None,
        };
        // A line of the call that `new` has as the file has it was not written by that habit.
        let clean = |(old, file): &(&str, &str)| {
            old != file && new.iter().any(|line| line.trim() == file.trim())
        };
        if pairs.iter().any(clean) {
            self.quotes = None;
            self.characters.clear();
            self.options = false;
        }
        // What the file has elsewhere may be meant; of quotes, code has but plain ones.
        let is_quote = |sign: &str| DOUBLE.contains(sign) || SINGLE.contains(sign);
        let (open, settled) = std::mem::take(&mut self.characters)
            .into_iter()
            .partition(|(from, _)| !is_quote(from) && file.contains(from.as_str()));
        self.characters = settled;
        self.unsettled.extend(open.into_iter().map(|(from, _): (String, String)| from));
        self.foreign = self.quotes.is_some_and(|(from, _)| !file.contains(from));
        self
    }

    /// Whether a literal in plain quotes holds a sign that would become such a quote.
    pub(super) fn tears_a_literal(&self, line: &str) -> bool {
        let torn = |literal: &str| {
            self.characters.iter().any(|(from, to)| {
                matches!(to.as_str(), "'" | "\"")
                    && literal.starts_with(to.as_str())
                    && literal.contains(from.as_str())
            })
        };
        !self.characters.is_empty()
            && tokens::literals(line).into_iter().any(|literal| torn(&line[literal]))
    }

    /// Whether the call leaves out the `;` of the file.
    pub(super) fn loses_marks(&self) -> bool {
        self.semicolons.are_lost()
    }

    /// Whether a new line in the body of a function within brackets lacks a `;` of the file.
    pub(super) fn would_end(&self, line: &str) -> bool {
        self.semicolons.would_end(line)
    }

    /// Whether nothing tells if a new line is a statement, which ends in `;` in the file.
    pub(super) fn is_unsure(&self, line: &str, above: Option<&str>, next: Option<&str>) -> bool {
        self.semicolons.is_unsure(line, above, next)
    }

    /// A sign in a new text of which nothing tells what it stands for.
    pub(super) fn unsettled(&self, text: &str) -> Option<&str> {
        self.unsettled.iter().map(String::as_str).find(|sign| text.contains(sign))
    }

    /// Whether a line as `sent` keeps a literal in quotes that the file has nowhere, as it holds the
    /// file's own, or in the call's although those of the file mean something else.
    pub(super) fn leaves_foreign(&self, sent: &str, line: &str) -> bool {
        let Some((from, to)) = self.quotes else { return false };
        if self.names_another(sent, "") || self.has_another_letter(sent) {
            return true;
        }
        if self.quotes_in_comment(sent, "") {
            return true;
        }
        // In words for people, some of them were turned and some were not.
        let count = |text: &str, quote: char| text.matches(quote).count();
        if count(line, to) > count(sent, to)
            && tokens::literals(line).into_iter().any(|literal| {
                line[literal.clone()].starts_with(from) && is_prose(&line[..literal.start])
            })
        {
            return true;
        }
        let foreign = self.foreign && from == '\'';
        let code = without_comment(line);
        tokens::literals(code).into_iter().any(|literal| {
            let text = &code[literal.clone()];
            // Only between double quotes do values come into it.
            let torn = from == '\'' && text.contains("#{");
            let values = torn || self.expands && holds_values(text);
            let left = foreign && text.contains(to) || values;
            text.starts_with(from) && left && !is_prose(&code[..literal.start])
        })
    }

    /// Whether a line of `new` has a literal that its line in `old` has not, and that would be a
    /// name in the file's quotes.
    pub(super) fn names_another(&self, new: &str, old: &str) -> bool {
        let code = without_comment(new);
        self.kind_matters == Some(Kind::Names)
            && tokens::literals(code).into_iter().any(|literal| !old.contains(&code[literal]))
    }

    /// Whether the comment of a line of `new` has a word in the call's quotes that its line in `old`
    /// has not: of those in a comment, nothing is known.
    pub(super) fn quotes_in_comment(&self, new: &str, old: &str) -> bool {
        let Some((from, _)) = self.quotes else { return false };
        let comment = match is_comment(new) {
            true => new,
            false => &new[without_comment(new).len()..],
        };
        !comment.is_empty()
            && tokens::literals(comment).into_iter().any(|literal| {
                let text = &comment[literal];
                let word = text.len() > 2 && !text[1..text.len() - 1].contains(' ');
                text.starts_with(from) && word && !old.contains(text)
            })
    }

    /// Whether a line has a literal of one letter, which the file would have in other quotes than a
    /// text.
    fn has_another_letter(&self, line: &str) -> bool {
        let letter = |literal: &str| {
            let text = literal.trim_matches('\'');
            literal.starts_with('\'') && (text.chars().count() == 1 || text.starts_with('\\'))
        };
        let code = without_comment(line);
        self.kind_matters == Some(Kind::Letters)
            && tokens::literals(code).into_iter().any(|literal| letter(&code[literal]))
    }

    /// Knows a dash that stands for a hyphen at one place and for two at another of the lines
    /// that both have, if the file has no such dash.
    pub(super) fn with_doubts(mut self, pairs: &[(&str, &str)], file: &str, new: &[&str]) -> Self {
        let dash = '\u{2014}';
        let stands_for = |two: bool| {
            pairs.iter().any(|(old, file)| {
                let double = |line: &str| line.matches("--").count();
                old.contains(dash) && (double(file) > double(old)) == two
            })
        };
        let lines = pairs.iter().filter(|(old, _)| old.contains(dash));
        let both_in_one = lines.clone().any(|(old, file)| {
            let doubles = file.matches("--").count();
            doubles > 0 && old.matches(dash).count() > doubles
        });
        // A dash beside another one, or beside a hyphen, is no sign that anybody knows.
        let beside = new.iter().any(|line| {
            ["\u{2014}-", "-\u{2014}", "\u{2014}\u{2014}"].iter().any(|pair| line.contains(pair))
        });
        // What stands for a hyphen at the start of an item may be two of them elsewhere.
        let items = || lines.clone().all(|(old, _)| old.trim_start().starts_with(dash));
        let elsewhere = || {
            let inner = |line: &&str| line.trim_start().trim_start_matches(dash).contains(dash);
            new.iter().any(inner) && lines.clone().next().is_some() && items()
        };
        // Behind a word and before a sign, as a counter has them.
        let behind = |line: &str| {
            line.match_indices(dash).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let next = line[at + dash.len_utf8()..].chars().next();
                before.is_some_and(|c| is_word(c) || matches!(c, ')' | ']'))
                    && next.is_none_or(|c| matches!(c, ')' | ']' | ';' | ','))
            })
        };
        let counts =
            || new.iter().any(|line| behind(line)) && !lines.clone().any(|(old, _)| behind(old));
        // A file that writes both between words.
        let both = || {
            new.iter().any(|line| line.contains(" \u{2014} "))
                && file.contains(" - ")
                && file.lines().any(|line| line.contains(" -- ") && !line.contains("--;"))
        };
        let known = lines.clone().next().is_some();
        // What stands for a minus in code tells nothing of text.
        let in_text = |line: &str| {
            let code = without_comment(line);
            let literals = tokens::literals(code).into_iter();
            line[code.len()..].contains(dash)
                || literals.into_iter().any(|literal| code[literal].contains(dash))
        };
        let code = |line: &str| !in_text(line) && is_plain_statement(line);
        let only_code =
            || lines.clone().all(|(old, _)| code(old)) && new.iter().any(|line| in_text(line));
        // Nor does what text has tell it of code.
        let only_text = || {
            let fresh = |line: &str| !lines.clone().any(|(old, _)| old.trim() == line.trim());
            lines.clone().all(|(old, _)| in_text(old))
                && new.iter().any(|line| line.contains(dash) && code(line) && fresh(line))
        };
        if (stands_for(true) && stands_for(false)
            || both_in_one
            || known && (beside || elsewhere() || counts() || both() || only_code() || only_text()))
            && !file.contains(dash)
        {
            self.unsettled.push(dash.to_string());
        }
        self
    }

    /// New text as the file would write it.
    pub(super) fn apply(&self, text: &str) -> String {
        self.with_characters(self.with_quotes(text))
    }

    fn with_characters(&self, text: String) -> String {
        let mut out = text;
        if self.options {
            out = long_options(&out);
        }
        for (from, to) in &self.characters {
            if from == "\u{2014}" && to == "-" {
                out = long_options(&out);
            }
            out = out.replace(from.as_str(), to);
        }
        out
    }

    /// A whole new line as the file would write it. `above` and `next` are the new lines around it.
    pub(super) fn apply_line(
        &self,
        line: &str,
        place: At,
        above: Option<&str>,
        next: Option<&str>,
    ) -> String {
        let mut line = match place.in_literal {
            true => self.with_characters(line.to_owned()),
            false => self.apply(line),
        };
        self.semicolons.apply(&mut line, place, above, next);
        line
    }

    fn with_quotes(&self, text: &str) -> String {
        let Some((from, to)) = self.quotes.filter(|_| !self.letters) else {
            return text.to_owned();
        };
        let code = without_comment(text).len();
        let chars: Vec<char> = text[..code].chars().collect();
        let prose = chars.windows(3).any(|c| {
            let mark = matches!(c[0].to_ascii_lowercase(), 'f' | 'r' | 'b' | 'u');
            c[1] == '\'' && c[0].is_alphabetic() && !mark && c[2].is_alphabetic()
        });
        // Text of several lines, and prose, have quotes of their own.
        if text.contains(&String::from_iter([from; 3])) || prose && !text.contains(['(', '=', ':'])
        {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let (mut done, escaped) = (0, format!("\\{from}"));
        for Range { start, end } in tokens::literals(&text[..code]) {
            let ends = start + from.len_utf8()..end - from.len_utf8();
            let head = &text[..start];
            let between_tags = text[end..].contains("</")
                && head.rfind('>') > head.rfind('<')
                && head.matches('{').count() == head.matches('}').count();
            if !text[start..].starts_with(from) || is_prose(&text[..start]) || between_tags {
                continue;
            }
            let literal = text[ends].replace(&escaped, &from.to_string());
            // A name or an escape in it may be for one kind of quotes only.
            if literal.contains([to, '\\', '\n', '`']) || holds_values(&literal) {
                continue;
            }
            out.push_str(&text[done..start]);
            out.push(to);
            out.push_str(&literal);
            out.push(to);
            done = end;
        }
        out + &text[done..]
    }

    /// Whether the new text ends lines in `;` itself, so that a line without one is meant so.
    pub(super) fn ends_statements(&self) -> bool {
        self.semicolons.are_in_new()
    }

    /// Whether the kind of quotes tells what a literal is: one character or a text.
    pub(super) fn has_letters(&self) -> bool {
        self.letters
    }

    /// Whether literals that could not be turned into the file's quotes differ: what is within
    /// them may mean something else there.
    pub(super) fn leaves_literals(&self, old: &str, new: &str) -> bool {
        let Some((from, _)) = self.quotes else { return false };
        let literals = |text: &str| -> Vec<String> {
            text.split(from).skip(1).step_by(2).map(str::to_owned).collect()
        };
        let (before, after) = (literals(old), literals(new));
        !before.is_empty()
            && after.iter().any(|literal| !before.contains(literal) && means_more(literal))
            && before.iter().any(|literal| !after.contains(literal))
    }
}

/// Whether a literal says something that depends on its quotes.
fn means_more(literal: &str) -> bool {
    literal.contains(['\\', '$']) || literal.contains("#{")
}

/// Whether what stands before a quote is prose: two words or more that no sign parts, or one
/// behind a tag.
fn is_prose(before: &str) -> bool {
    const KEYWORDS: [&str; 40] = [
        "alias",
        "and",
        "as",
        "assert",
        "await",
        "case",
        "const",
        "declare",
        "default",
        "else",
        "except",
        "export",
        "extends",
        "extern",
        "from",
        "if",
        "import",
        "in",
        "include",
        "is",
        "module",
        "namespace",
        "not",
        "of",
        "or",
        "package",
        "print",
        "raise",
        "require",
        "return",
        "set",
        "static",
        "throw",
        "type",
        "use",
        "using",
        "when",
        "with",
        "yield",
        "elif",
    ];
    let head = before.trim_end();
    if head.len() == before.len() {
        return false;
    }
    let mut words = head.rsplit(char::is_whitespace);
    let plain = |word: &str| !word.is_empty() && word.chars().all(is_word);
    let keyword = |word: &str| KEYWORDS.contains(&word);
    let (last, other) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let behind_tag =
        last.rsplit_once('>').is_some_and(|(tag, word)| plain(word) && tag.contains('<'));
    behind_tag || plain(last) && plain(other) && !keyword(last) && !keyword(other)
}

/// A long dash right before a word, with a blank before it, is the two hyphens of an
/// option, however a dash alone is written.
fn long_options(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{2014}') {
        let (head, tail) = (&rest[..at], &rest[at + '\u{2014}'.len_utf8()..]);
        let first = head.is_empty() && out.is_empty();
        let apart = first || head.ends_with(|c: char| c.is_whitespace() || is_quote(c));
        let word = tail.chars().take(2).filter(|c| c.is_alphabetic()).count() == 2;
        out.push_str(head);
        out.push_str(if apart && word { "--" } else { "\u{2014}" });
        rest = tail;
    }
    out + rest
}

/// The one exchange of quotes that all pairs show, if there is one.
fn quotes(pairs: &[(&str, &str)]) -> Option<(char, char)> {
    let mut found: Vec<(char, char)> = Vec::new();
    for (old, file) in pairs {
        let (a, b) = (canonical(old, Fold::Punctuation), canonical(file, Fold::Punctuation));
        if a.len() != b.len() {
            continue;
        }
        for (a, b) in a.iter().zip(&b).filter(|(a, _)| a.c == '"') {
            let (Some(from), Some(to)) =
                (old[a.range()].chars().next(), file[b.range()].chars().next())
            else {
                continue;
            };
            if !(is_quote(from) && is_quote(to)) {
                continue;
            }
            if !found.contains(&(from, to)) {
                found.push((from, to));
            }
        }
    }
    let mut exchanges = found.iter().filter(|(from, to)| from != to);
    let exchange = exchanges.next().filter(|_| exchanges.next().is_none())?;
    // Others that stay say nothing against it.
    (!found.contains(&(exchange.0, exchange.0))).then_some(*exchange)
}

/// Whether a literal looks as if values came into it, which they do in one kind of quotes only.
fn holds_values(literal: &str) -> bool {
    literal.contains('$') || literal.contains("#{")
}

/// Whether such a literal stands in other quotes in the file.
fn expands(pairs: &[(&str, &str)]) -> bool {
    pairs.iter().any(|(old, file)| {
        let turned = |(from, to): (char, char)| {
            let literals = old.split(from).skip(1).step_by(2).filter(|text| holds_values(text));
            literals.into_iter().any(|text| file.contains(&format!("{to}{text}{to}")))
        };
        turned(('\'', '"')) || turned(('"', '\''))
    })
}

/// Whether each text in single quotes of the file is one character, as in the languages
/// where it can be no more.
fn only_letters(pairs: &[(&str, &str)]) -> bool {
    let mut found =
        pairs.iter().flat_map(|(_, file)| file.split('\'').skip(1).step_by(2)).peekable();
    found.peek().is_some() && found.all(|inside| inside.chars().count() == 1)
}

/// Whether a file is of a language in which single quotes hold one character.
fn has_characters(file: &str) -> bool {
    let signs = ["#include", "\npackage ", "\nfn ", "pub fn ", "using System", "public class"];
    signs.iter().any(|sign| file.contains(sign)) || file.starts_with("package ")
}

/// Whether a file is in SQL, by its first line that says something.
fn is_query(file: &str) -> bool {
    const WORDS: [&str; 7] = ["select", "insert", "create", "update", "delete", "alter", "with"];
    let mut lines = file.lines().filter(|line| !line.trim().is_empty() && !is_comment(line));
    let first = lines.next().and_then(|line| line.split_whitespace().next());
    let clause = |line: &str| {
        let line = line.trim_start().to_lowercase();
        ["from ", "into ", "table ", "where ", "set "].iter().any(|word| line.contains(word))
    };
    first.is_some_and(|word| WORDS.contains(&word.to_lowercase().as_str()))
        && file.lines().any(clause)
        && !file.contains('{')
}

/// Whether a line of code has a word in single quotes.
fn holds_a_word(line: &str) -> bool {
    let word = |inside: &str| inside.len() > 1 && !inside.contains([' ', '\\']);
    !is_comment(line) && line.split('\'').skip(1).step_by(2).any(word)
}

/// Characters beyond ASCII that the call has wherever the file has one other.
fn characters(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    fn note<'a>(seen: &mut Vec<(&'a str, Option<&'a str>)>, from: &'a str, to: &'a str) {
        match seen.iter_mut().find(|(known, _)| *known == from) {
            Some((_, known)) if *known == Some(to) => {}
            Some((_, known)) => *known = None,
            None => seen.push((from, Some(to))),
        }
    }
    let mut seen: Vec<(&str, Option<&str>)> = Vec::new();
    for (old, file) in pairs {
        if old.is_ascii() {
            continue;
        }
        let alone = old.contains('\u{2014}') && long_options(old) == **old;
        if alone && old.replace('\u{2014}', "--") == **file {
            note(&mut seen, "\u{2014}", "--");
            continue;
        }
        let (a, b) = (canonical(old, Fold::LookAlike), canonical(file, Fold::LookAlike));
        if a.len() != b.len() || a.iter().zip(&b).any(|(a, b)| a.c != b.c) {
            continue;
        }
        let mut at = 0;
        while at < a.len() {
            let run = a[at..].iter().take_while(|c| c.start == a[at].start).count();
            let (from, to) = (&old[a[at].range()], &file[b[at].start..b[at + run - 1].end]);
            // What the head of a word tells, it tells of no other dash.
            let head = run == 2 && from == "\u{2014}";
            if !from.is_ascii() && !head {
                note(&mut seen, from, to);
            }
            at += run;
        }
    }
    let mut out: Vec<(String, String)> = seen
        .into_iter()
        .filter_map(|(from, to)| Some((from.to_owned(), to.filter(|to| *to != from)?.to_owned())))
        .collect();
    // One family of quotes is one habit.
    for (family, plain) in [(DOUBLE, "\""), (SINGLE, "'")] {
        if out.iter().any(|(from, to)| family.contains(from.as_str()) && to == plain) {
            for member in family.chars().map(String::from) {
                if !out.iter().any(|(from, _)| *from == member) {
                    out.push((member, plain.to_owned()));
                }
            }
        }
    }
    let is_invisible = |c: char| matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}');
    let nbsp = '\u{a0}';
    let known = out.iter().any(|(from, _)| from.contains(nbsp));
    if !known
        && pairs.iter().any(|(old, _)| old.contains(nbsp))
        && !pairs.iter().any(|(_, file)| file.contains(nbsp))
    {
        out.push((nbsp.to_string(), " ".to_owned()));
    }
    if pairs.iter().all(|(_, file)| !file.contains(is_invisible)) {
        let mut hidden: Vec<char> =
            pairs.iter().flat_map(|(old, _)| old.chars()).filter(|c| is_invisible(*c)).collect();
        hidden.sort_unstable();
        hidden.dedup();
        out.extend(hidden.into_iter().map(|c| (c.to_string(), String::new())));
    }
    out
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_quotes_that_stay_do_not_hide_an_exchange() {
        let pairs = [("a: 'x',", "a: \"x\","), ("b: c ? `d` : e", "b: c ? `d` : e")];
        assert_eq!(EditMap::learn(&pairs).apply("f: 'g'"), "f: \"g\"");
        for stays in [("h('i')", "h('i')"), ("j(`k`)", "j('k')")] {
            let pairs = [pairs[0], stays];
            assert_eq!(EditMap::learn(&pairs).apply("f: 'g'"), "f: 'g'", "{stays:?}");
        }
    }

    #[test]
    fn a_dash_that_no_line_of_old_str_has_stays() {
        let pairs = [("titel = Grüße", "titel = Grüße"), ("name", "name")];
        assert_eq!(EditMap::learn(&pairs).apply("a — b —cc"), "a — b —cc");
        let pairs = [("a — b", "a -- b")];
        assert_eq!(EditMap::learn(&pairs).apply("c — d"), "c -- d");
    }
}
