//! Merging inside a line: what the call kept of `old` is taken from the file, what it
//! changed is taken from `new`.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::canon::{self, Canonical, Fold, canonical, is_word};

/// Cuts a text into words, runs of white space and single other characters.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut last: Option<char> = None;
    for (at, c) in text.char_indices() {
        if let Some(before) = last {
            let joined =
                is_word(before) && is_word(c) || before.is_whitespace() && c.is_whitespace();
            if !joined {
                out.push(&text[start..at]);
                start = at;
            }
        }
        last = Some(c);
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// What the call writes in one way and the file in another, as all their common lines
/// show it: the kind of quotes, look-alike characters, a `;` at the end of statements.
/// New text goes through it, because the same hand wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct EditMap {
    quotes: Option<(char, char)>,
    /// Whether all that the file's quotes hold is one letter each, so that longer texts may
    /// need others.
    letters: bool,
    characters: Vec<(String, String)>,
    /// Characters that the file never has, and that stand for now this, now that.
    unsettled: Vec<String>,
    semicolons: Option<Semicolons>,
    /// Whether the last expression of a block has no `;` in the file, as it is its value.
    tails: bool,
}

/// What the call did to the `;` at the end of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Semicolons {
    Lost,
    Added,
}

impl EditMap {
    /// Learns from pairs of a line of the call and its line of the file.
    pub(super) fn learn<'a>(pairs: &[(&'a str, &'a str)]) -> Self {
        Self {
            quotes: quotes(pairs),
            letters: only_letters(pairs),
            characters: characters(pairs),
            unsettled: Vec::new(),
            semicolons: semicolons(pairs),
            tails: false,
        }
    }

    /// Forgets what a whole file or a whole new text speaks against: a file that ends
    /// lines in `;` has that habit, and so has a text that does.
    pub(super) fn unless_contradicted(mut self, file: &str, new: &[&str]) -> Self {
        let ends = |line: &str| without_comment(line).trim_end().ends_with(';');
        let contradicted = match self.semicolons {
            Some(Semicolons::Added) => file.contains(";\n") || file.contains(";\r\n"),
            Some(Semicolons::Lost) => new.iter().any(|line| ends(line)),
            None => false,
        };
        if contradicted {
            self.semicolons = None;
        }
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
        self.letters = self.letters && has_characters(file) && !file.lines().any(holds_a_word);
        self.tails = self.semicolons == Some(Semicolons::Lost) && has_tails(file);
        self
    }

    /// A sign in a new text of which nothing tells what it stands for.
    pub(super) fn unsettled(&self, text: &str) -> Option<&str> {
        self.unsettled.iter().map(String::as_str).find(|sign| text.contains(sign))
    }

    /// Knows a dash that stands for a hyphen at one place and for two at another of the lines
    /// that both have, if the file has no such dash.
    pub(super) fn with_doubts(mut self, pairs: &[(&str, &str)], file: &str) -> Self {
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
        if (stands_for(true) && stands_for(false) || both_in_one) && !file.contains(dash) {
            self.unsettled.push(dash.to_string());
        }
        self
    }

    /// New text as the file would write it.
    pub(super) fn apply(&self, text: &str) -> String {
        let text = self.with_quotes(text);
        let mut out = text;
        for (from, to) in &self.characters {
            if from == "\u{2014}" && to == "-" {
                out = long_options(&out);
            }
            out = out.replace(from.as_str(), to);
        }
        out
    }

    /// A whole new line as the file would write it. `goes_on` says that it is no end of a
    /// statement; `above` and `next` are the new lines around it.
    pub(super) fn apply_line(
        &self,
        line: &str,
        goes_on: bool,
        above: Option<&str>,
        next: Option<&str>,
    ) -> String {
        let mut line = self.apply(line);
        let code = without_comment(&line).trim_end().len();
        match self.semicolons {
            Some(Semicolons::Lost)
                if !goes_on && self.wants_semicolon(&line[..code], above, next) =>
            {
                line.insert(code, ';');
            }
            Some(Semicolons::Added) if line[..code].ends_with(';') => {
                line.remove(code - 1);
            }
            _ => {}
        }
        line
    }

    fn wants_semicolon(&self, code: &str, above: Option<&str>, next: Option<&str>) -> bool {
        let above = above.map(|above| without_comment(above).trim_end());
        let inside = above.is_some_and(|above| above.ends_with(',') || above.ends_with("${"));
        let value = self.tails && next.is_some_and(|next| next.trim_start().starts_with('}'));
        !inside && !value && ends_statement(code, next)
    }

    fn with_quotes(&self, text: &str) -> String {
        let Some((from, to)) = self.quotes else { return text.to_owned() };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find(from) {
            let inside = &rest[open + from.len_utf8()..];
            let Some(close) = inside.find(from) else { break };
            let literal = &inside[..close];
            out.push_str(&rest[..open]);
            // A name or an escape in it may be for one kind of quotes only.
            if literal.contains([to, '\\', '\n', '$'])
                || literal.contains("#{")
                || self.letters && literal.chars().count() != 1
            {
                out.push_str(&rest[open..open + from.len_utf8() + close + from.len_utf8()]);
            } else {
                out.push(to);
                out.push_str(literal);
                out.push(to);
            }
            rest = &inside[close + from.len_utf8()..];
        }
        out.push_str(rest);
        out
    }
}

/// A long dash right before a word, with a blank before it, is the two hyphens of an
/// option, however a dash alone is written.
fn long_options(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{2014}') {
        let (head, tail) = (&rest[..at], &rest[at + '\u{2014}'.len_utf8()..]);
        let apart = head.chars().next_back().map_or(!out.is_empty(), char::is_whitespace);
        let word = tail.chars().take(2).filter(|c| c.is_alphabetic()).count() == 2;
        out.push_str(head);
        out.push_str(if apart && word { "--" } else { "\u{2014}" });
        rest = tail;
    }
    out + rest
}

/// The one exchange of quotes that all pairs show, if there is one.
fn quotes(pairs: &[(&str, &str)]) -> Option<(char, char)> {
    let mut found: Option<(char, char)> = None;
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
            match found {
                None => found = Some((from, to)),
                Some(seen) if seen == (from, to) => {}
                Some(_) => return None,
            }
        }
    }
    found.filter(|(from, to)| from != to)
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
        if old.replace('\u{2014}', "--") == **file {
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
            if !from.is_ascii() {
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
    let invisible = |text: &str| {
        text.chars()
            .filter(|c| matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'))
            .count()
    };
    let hidden = pairs.iter().any(|(old, _)| invisible(old) > 0)
        && pairs.iter().all(|(_, file)| invisible(file) == 0);
    if hidden {
        out.extend(
            ['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}']
                .map(|c| (c.to_string(), String::new())),
        );
    }
    out
}

fn semicolons(pairs: &[(&str, &str)]) -> Option<Semicolons> {
    let ends = |line: &str| without_comment(line).trim_end().ends_with(';');
    let (mut lost, mut added, mut both) = (0, 0, 0);
    // The end of the text alone may have been cut; a habit shows before it.
    let inner = pairs.len().saturating_sub(1);
    for (at, (old, file)) in pairs[..inner].iter().enumerate() {
        let next = pairs.get(at + 1).map(|(_, file)| *file);
        match (ends(old), ends(file)) {
            (false, true) => lost += 1,
            (true, false) => added += 1,
            (true, true) => both += 1,
            // A statement that the file does not end so: it has no such habit.
            (false, false) if ends_statement(file.trim(), next) => both += 1,
            (false, false) => {}
        }
    }
    match (lost, added, both) {
        (1.., 0, 0) => Some(Semicolons::Lost),
        (0, 1.., 0) => Some(Semicolons::Added),
        _ => None,
    }
}

/// Whether a line of code is a statement that a `;` would end.
pub(super) fn ends_statement(code: &str, next: Option<&str>) -> bool {
    let code = code.trim();
    let continued = next.is_some_and(|next| {
        let next = next.trim_start();
        next.starts_with(['.', '?', ':', '&', '|', '+', '*', '=', ')', ']', '{'])
    });
    !code.is_empty()
        && !is_comment(code)
        && !code.starts_with('#')
        && !continued
        && code.ends_with(|c: char| is_word(c) || matches!(c, ')' | ']' | '"' | '\'' | '`' | '>'))
        && !["if", "else", "for", "while", "do", "try", "function", "@", "case", "default"]
            .iter()
            .any(|word| {
                code == *word
                    || code
                        .strip_prefix(word)
                        .is_some_and(|rest| *word == "@" || rest.starts_with([' ', '(']))
            })
}

/// Whether a file often leaves out the `;` before a `}`, where others of its lines have
/// one: there the last expression of a block is its value. Items of a literal do not count.
fn has_tails(file: &str) -> bool {
    let lines: Vec<&str> = file.lines().filter(|line| !line.trim().is_empty()).collect();
    let (mut ended, mut bare) = (0, 0);
    for three in lines.windows(3).filter(|three| three[2].trim_start().starts_with('}')) {
        let (above, code) = (without_comment(three[0]).trim_end(), without_comment(three[1]));
        if code.trim_end().ends_with(';') {
            ended += 1;
        } else if ends_statement(code, None)
            && !code.contains(':')
            && !above.ends_with(',')
            && !["return", "throw", "break", "continue"].iter().any(|w| code.trim().starts_with(w))
        {
            bare += 1;
        }
    }
    bare * 5 > ended + bare
}

/// By how much a line changes the number of open brackets.
pub(super) fn brackets(line: &str) -> i32 {
    without_comment(line)
        .chars()
        .map(|c| match c {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        })
        .sum()
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// The file's line with the change from `old` to `new` made in it. `None` when the
/// lines are not the same under any fold, so that the change cannot be placed.
pub(super) fn merge(old: &str, file: &str, new: &str, map: &EditMap) -> Option<String> {
    if old == file && *map == EditMap::default() {
        return Some(new.to_owned());
    }
    // Both strings in the file's style first, so that a literal is turned as a whole.
    let (old, new) = (&map.apply(old), &map.apply(new));
    let (core_old, core_new) = (old.trim_end(), new.trim_end());
    let (a, b) =
        [Fold::LookAlike, Fold::Spacing, Fold::Punctuation].into_iter().find_map(|fold| {
            let (a, b) = (canonical(core_old, fold), canonical(file.trim_end(), fold));
            (a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.c == b.c)).then_some((a, b))
        })?;
    let (old_tokens, new_tokens) = (tokens(core_old), tokens(core_new));
    let starts = offsets(&old_tokens);
    let new_starts = offsets(&new_tokens);
    let aligned = Aligned { old: core_old, file, a: &a, b: &b };
    let mut out = String::new();
    let ops = capture_diff_slices(Algorithm::Myers, &old_tokens, &new_tokens);
    let mut gap_open = true;
    for (at, op) in ops.iter().enumerate() {
        let old_range = starts[op.old_range().start]..starts[op.old_range().end];
        if let DiffOp::Equal { .. } = op {
            let with_head = gap_open || at == 0;
            out.push_str(aligned.kept(old_range, with_head, at + 1 == ops.len()));
            gap_open = true;
        } else {
            let text = &core_new[new_starts[op.new_range().start]..new_starts[op.new_range().end]];
            let gap = aligned.gap_before_change(old_range.clone());
            if gap_open {
                out.push_str(gap);
            }
            out.push_str(text);
            let behind = aligned.gap_after_change(old_range);
            push_without_double(&mut out, behind, text);
            gap_open = false;
        }
    }
    if ops.is_empty() {
        return Some(file.to_owned());
    }
    if aligned.is_torn_by(core_old, core_new) || unturned(core_old, core_new, map) {
        return None;
    }
    // A typographic quote needs no escape; it went with the plain one.
    for quote in DOUBLE.chars().chain(SINGLE.chars()) {
        let escaped = format!("\\{quote}");
        if out.contains(&escaped) && !file.contains(&escaped) && !new.contains(&escaped) {
            out = out.replace(&escaped, &quote.to_string());
        }
    }
    // Blanks that the call has behind both are the call's habit, and not the file's.
    let tail = &new[core_new.len()..];
    let habit = !tail.is_empty() && *tail == old[core_old.len()..];
    out.push_str(if habit { &file[file.trim_end().len()..] } else { tail });
    Some(out)
}

const DOUBLE: &str = "\u{201c}\u{201d}\u{201e}\u{201f}";
const SINGLE: &str = "\u{2018}\u{2019}\u{201a}\u{201b}";

/// Whether literals that could not be turned into the file's quotes differ: what is within
/// them may mean something else there.
fn unturned(old: &str, new: &str, map: &EditMap) -> bool {
    let Some((from, _)) = map.quotes else { return false };
    let literals = |text: &str| -> Vec<String> {
        text.split(from).skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (before, after) = (literals(old), literals(new));
    !before.is_empty()
        && after.iter().any(|literal| !before.contains(literal))
        && before.iter().any(|literal| !after.contains(literal))
}

/// A `,` or `;` that the file has behind the change and that the change brings itself.
fn push_without_double(out: &mut String, gap: &str, change: &str) {
    let mark = gap.trim();
    if matches!(mark, "," | ";") && change.trim_end().ends_with(mark) {
        return;
    }
    out.push_str(gap);
}

fn offsets(tokens: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut out = vec![0];
    out.extend(tokens.iter().map(|token| {
        at += token.len();
        at
    }));
    out
}

/// Two texts whose canonical characters are equal.
struct Aligned<'a> {
    old: &'a str,
    file: &'a str,
    a: &'a [Canonical],
    b: &'a [Canonical],
}

impl<'a> Aligned<'a> {
    /// Canonical characters of the old side before an offset.
    fn count(&self, offset: usize) -> usize {
        self.a.partition_point(|c| c.end <= offset)
    }

    fn file_end(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.b[last].end)
    }

    fn file_start(&self, count: usize) -> usize {
        self.b.get(count).map_or(self.file.trim_end().len(), |c| c.start)
    }

    /// The file's text for a kept range, with what the file alone has at its ends
    /// when no change touches it there.
    fn kept(&self, old: Range<usize>, with_head: bool, is_last: bool) -> &'a str {
        let (from, to) = (self.count(old.start), self.count(old.end));
        let own_head = self.old[old.clone()].starts_with(char::is_whitespace);
        let start = if with_head || own_head { self.file_end(from) } else { self.file_start(from) };
        let own_tail = self.old[..old.end].trim_end().len() < old.end;
        let end = if own_tail || is_last { self.file_start(to) } else { self.file_end(to) };
        &self.file[start.min(end)..end.max(start.min(end))]
    }

    /// Whether the file has some plain quotes of the call as typographic ones and others as
    /// they are, and the change brings more of them: nothing tells what those are.
    fn is_torn_by(&self, old: &str, new: &str) -> bool {
        ['"', '\''].into_iter().any(|quote| {
            let as_file = |(a, b): (&Canonical, &Canonical)| {
                old[a.range()].starts_with(quote).then(|| self.file[b.range()].starts_with(quote))
            };
            let pairs: Vec<bool> = self.a.iter().zip(self.b).filter_map(as_file).collect();
            pairs.contains(&true)
                && pairs.contains(&false)
                && new.matches(quote).count() > old.matches(quote).count()
        })
    }

    /// White space that only the file has, between kept text and a change behind it.
    fn gap_before_change(&self, old: Range<usize>) -> &'a str {
        let at = self.count(old.start);
        let governed = self.old[old.clone()].starts_with(char::is_whitespace)
            || self.old[..old.start].ends_with(char::is_whitespace)
            || old.is_empty() && self.old[old.end..].starts_with(char::is_whitespace);
        if governed || old.start == 0 {
            return "";
        }
        let (start, end) = (self.file_end(at), self.file_start(at));
        // An insertion at the end of the line goes before the closing mark of the file.
        if at == self.b.len() && old.is_empty() {
            return "";
        }
        &self.file[start..end]
    }

    /// What only the file has between a change and the kept text behind it.
    fn gap_after_change(&self, old: Range<usize>) -> &'a str {
        let from = self.count(old.start);
        let at = self.count(old.end);
        let own = self.old[old.clone()].ends_with(char::is_whitespace)
            || self.old[old.end..].starts_with(char::is_whitespace);
        let insertion_with_gap_before = from == at && at < self.b.len();
        if own && old.end < self.old.len() || insertion_with_gap_before {
            return "";
        }
        &self.file[self.file_end(at)..self.file_start(at)]
    }
}

/// How many words two lines share, from 0 to 1. White space and order aside.
pub(super) fn likeness(a: &str, b: &str) -> f64 {
    let words = |text: &'_ str| {
        let mut words: Vec<String> =
            tokens(text).into_iter().filter(|t| !t.trim().is_empty()).map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    let (a, b) = (words(a), words(b));
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let (mut i, mut j, mut shared) = (0, 0, 0_usize);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "token counts of a line are small")]
    let ratio = 2.0 * shared as f64 / (a.len() + b.len()) as f64;
    ratio
}

/// Whether a line is a comment only, in the usual languages.
pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim();
    // A comment in front of code is a part of the line.
    if line.starts_with("/*") && !without_comment(line).trim().is_empty() {
        return false;
    }
    ["//", "#", "--", "/*", "*/", "* ", "<!--", ";", "%", "\"\"\"", "'''"]
        .iter()
        .any(|mark| line.starts_with(mark))
        && !line.starts_with("#include")
        && !line.starts_with("#define")
        && !line.starts_with("#if")
        && !line.starts_with("#e")
        && !line.starts_with("#[")
        && !line.starts_with("#!")
        && !line.starts_with("#undef")
        && !line.starts_with("#pragma")
        || line == "*"
}

/// A line without the comment at its end.
pub(super) fn without_comment(line: &str) -> &str {
    let chars = canon::canonical(line, Fold::LookAlike);
    let mut open: Option<char> = None;
    let mut escaped = false;
    let mut resume = 0;
    for (at, here) in chars.iter().enumerate() {
        if here.start < resume {
            continue;
        }
        let blank_before = at == 0 || chars[at - 1].c.is_whitespace();
        let next = chars.get(at + 1).map(|c| c.c);
        match (open, here.c) {
            (Some(_), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(quote), c) if c == quote && !escaped => open = None,
            (None, c @ ('"' | '`')) => open = Some(c),
            (None, '\'') if at == 0 || !is_word(chars[at - 1].c) => open = Some('\''),
            (None, '/')
                if matches!(next, Some('/' | '*')) && (blank_before || next == Some('*')) =>
            {
                let comment = &line[here.start..];
                if next == Some('*')
                    && let Some(end) = comment.get(2..).and_then(|rest| rest.find("*/"))
                    && !comment[end + 4..].trim().is_empty()
                {
                    // It ends amid the line, and more code follows.
                    resume = here.start + end + 4;
                    continue;
                }
                return line[..here.start].trim_end();
            }
            (None, '#') if blank_before && at > 0 && next.is_none_or(char::is_whitespace) => {
                return line[..here.start].trim_end();
            }
            _ => {}
        }
        escaped = false;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(old: &str, file: &str, new: &str) -> Option<String> {
        merge(old, file, new, &EditMap::learn(&[(old, file)]))
    }

    #[test]
    fn kept_tokens_are_the_files() {
        for (old, file, new, result) in [
            ("f( a, b )", "f(a,b)", "f( a, c )", "f(a,c)"),
            ("f(a,b)", "f(a, b)", "f(a,c)", "f(a, c)"),
            ("f(a,b)", "f(a, b)", "f(c,b)", "f(c, b)"),
            ("say \"hi\"", "say “hi”", "say \"ho\"", "say “ho”"),
            ("x = 'old';", "x = \"old\"", "x = 'new';", "x = \"new\""),
            ("x = 'old'", "x = \"old\";", "x = 'new'", "x = \"new\";"),
            ("f('a')", "f(\"a\")", "f('a', 'b')", "f(\"a\", 'b')".replace('\'', "\"").as_str()),
            ("a: 1", "a: 1,", "a: 1,", "a: 1,"),
            ("a: 1", "a: 1,", "a: 2,", "a: 2,"),
            ("a: 1,", "a: 1", "a: 2,", "a: 2"),
            ("x = 1", "x = 1  ", "x = 2", "x = 2"),
            ("a - b", "a – b", "a - c", "a – c"),
            ("wait...", "wait…", "wait... now", "wait… now"),
        ] {
            assert_eq!(merged(old, file, new).as_deref(), Some(result), "{old:?} {file:?} {new:?}");
        }
        assert_eq!(merged("f(a)", "g(a)", "f(b)"), None);
    }

    #[test]
    fn comments_are_told_from_code() {
        assert_eq!(without_comment("x = 1; // why"), "x = 1;");
        assert_eq!(without_comment("x = 'http://a' # why"), "x = 'http://a'");
        assert_eq!(without_comment("url(//x)"), "url(//x)");
        assert!(is_comment("  # why") && !is_comment("#include <x>") && is_comment(" * text"));
    }
}
