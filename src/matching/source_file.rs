//! A file with what the matcher needs to know about it: its lines, one lax key a line, how often each
//! word stands in it, its literals and comments. Everything is computed on first use.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::costs::MAX_LINE_BITS;
use super::fold::{self, is_word_char};
use super::indent;
use super::tokens::words;
use crate::language::{Language, Lexed, TokenKind};
use crate::text::{Line, LineEnding, Snapshot};

/// The key of every blank line.
pub(super) const BLANK_LINE_KEY: u64 = 0;

/// Adds the lax key of a line: what is left of it without white space, `,` and `;`, with one kind of
/// quotes, and with plain characters for look-alikes. Lines that differ in their key differ in words.
pub(super) fn push_lax(line: &str, out: &mut String) {
    let start = out.len();
    if is_plain(line) {
        out.extend(line.chars().filter_map(lax_char));
    } else {
        let chars = fold::canonical(line, super::costs::Difference::LookAlikes);
        out.extend(chars.iter().filter_map(|canonical| lax_char(canonical.char)));
    }
    // A line of commas alone is not blank.
    if out.len() == start && !line.trim().is_empty() {
        out.push(',');
    }
}

/// Whether a line has no look-alikes.
fn is_plain(line: &str) -> bool {
    line.is_ascii()
        && !memchr::memchr_iter(b'-', line.as_bytes()).any(|at| line[at + 1..].starts_with('-'))
}

/// The character of a lax key for a plain character; `None` if the key leaves it out.
pub(super) fn lax_char(c: char) -> Option<char> {
    match c {
        ',' | ';' | ' ' | '\t' => None,
        '"' | '`' => Some('\''),
        c if c.is_whitespace() => None,
        c => Some(c),
    }
}

/// The hash of the lax key of a line.
pub(super) fn line_key(line: &str) -> u64 {
    let mut key = String::with_capacity(line.len());
    push_lax(line, &mut key);
    hash(&key)
}

/// The hash of a lax key.
fn hash(key: &str) -> u64 {
    if key.is_empty() { BLANK_LINE_KEY } else { xxhash_rust::xxh3::xxh3_64(key.as_bytes()).max(1) }
}

/// A line or word that occurs at more positions says little about the place and gets no vote.
pub(super) const MAX_POSITIONS: usize = 64;

/// How often a key stands in the file, and the lines (from 0) that have it: of a common one only the
/// first ones, more than [`MAX_POSITIONS`].
#[derive(Debug, Default)]
struct KeyUses {
    count: u32,
    lines: Vec<u32>,
}

/// The uses of keys.
type Index = HashMap<u64, KeyUses>;

/// The index of keys and their lines (from 0), in order.
fn index(keys: impl Iterator<Item = (u64, usize)>) -> Index {
    let mut out = Index::new();
    for (key, line) in keys {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let uses = out.entry(key).or_default();
        uses.count += 1;
        if uses.lines.len() <= MAX_POSITIONS && uses.lines.last() != Some(&line) {
            uses.lines.push(line);
        }
    }
    out
}

/// The lines that have a key.
fn lines_with(index: &Index, key: u64) -> &[u32] {
    index.get(&key).map_or(&[], |uses| &uses.lines)
}

/// The lax keys of all lines that are not blank, joined, so that text that is broken into lines in
/// another way is found by one search.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) text: String,
    /// Where the key of each line that is not blank begins, and where the last one ends.
    pub(super) starts: Vec<usize>,
}

/// The keys of the lines and words of a call. Nearly all that is asked about a file is asked about
/// these, and a file has many more.
fn keys_of_call(texts: [&str; 2]) -> HashSet<u64> {
    let lines = texts.into_iter().flat_map(split_lines).map(line_key);
    lines.chain(texts.into_iter().flat_map(words).map(fold::plain_key)).collect()
}

/// A file and what is computed from it during one call.
pub(super) struct SourceFile<'t> {
    pub(super) snapshot: &'t Snapshot,
    pub(super) text: &'t str,
    pub(super) language: Option<&'static Language>,
    lines: OnceCell<Vec<Line>>,
    nonblank_lines: OnceCell<Vec<usize>>,
    joined: OnceCell<Joined>,
    keys: OnceCell<Vec<u64>>,
    call: [&'t str; 2],
    call_keys: OnceCell<HashSet<u64>>,
    call_words: OnceCell<Index>,
    call_lines: OnceCell<Index>,
    word_index: OnceCell<Index>,
    line_index: OnceCell<Index>,
    lexed: OnceCell<Option<Lexed>>,
    indent_unit: OnceCell<Option<usize>>,
}

impl<'t> SourceFile<'t> {
    /// The file of a snapshot, with nothing computed yet.
    pub(super) fn new(snapshot: &'t Snapshot, language: Option<&'static Language>) -> Self {
        Self {
            snapshot,
            text: snapshot.text(),
            language,
            lines: OnceCell::new(),
            nonblank_lines: OnceCell::new(),
            joined: OnceCell::new(),
            keys: OnceCell::new(),
            call: [""; 2],
            call_keys: OnceCell::new(),
            call_words: OnceCell::new(),
            call_lines: OnceCell::new(),
            word_index: OnceCell::new(),
            line_index: OnceCell::new(),
            lexed: OnceCell::new(),
            indent_unit: OnceCell::new(),
        }
    }

    /// The same file, about whose lines and words a call with these strings will ask.
    pub(super) fn for_call(self, old: &'t str, new: &'t str) -> Self {
        Self { call: [old, new], ..self }
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> &[Line] {
        self.lines.get_or_init(|| crate::text::each_line(self.text).collect())
    }

    /// The content of a line (from 0).
    pub(super) fn body(&self, at: usize) -> &'t str {
        &self.text[self.lines()[at].body.clone()]
    }

    /// Whether a line (from 0) has nothing but whitespace.
    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.body(at).trim().is_empty()
    }

    /// The lines that are not blank, from 0.
    pub(super) fn nonblank_lines(&self) -> &[usize] {
        self.nonblank_lines
            .get_or_init(|| (0..self.lines().len()).filter(|&at| !self.is_blank(at)).collect())
    }

    /// The joined lax keys.
    pub(super) fn joined(&self) -> &Joined {
        self.joined.get_or_init(|| {
            let mut text = String::with_capacity(self.text.len());
            let mut starts = Vec::with_capacity(self.nonblank_lines().len() + 1);
            for &at in self.nonblank_lines() {
                starts.push(text.len());
                push_lax(self.body(at), &mut text);
            }
            starts.push(text.len());
            Joined { text, starts }
        })
    }

    /// The key of every line, blank ones included.
    pub(super) fn keys(&self) -> &[u64] {
        self.keys.get_or_init(|| {
            let mut keys = vec![BLANK_LINE_KEY; self.lines().len()];
            let joined = self.joined();
            for (&at, span) in self.nonblank_lines().iter().zip(joined.starts.windows(2)) {
                keys[at] = hash(&joined.text[span[0]..span[1]]);
            }
            keys
        })
    }

    /// How much a line says about a place, in bits: long and rare words say much, brackets nothing.
    pub(super) fn bits(&self, line: &str) -> f64 {
        let mut seen: Vec<u64> = Vec::new();
        let mut bits = 0.0;
        for word in words(line) {
            if bits > MAX_LINE_BITS {
                return MAX_LINE_BITS;
            }
            let key = fold::plain_key(word);
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            let count =
                f64::from(self.words_with(key).get(&key).map_or(1, |uses| uses.count)).log2();
            #[expect(clippy::cast_precision_loss, reason = "the length of a word")]
            let chars = word.chars().count() as f64;
            bits += ((2.0 + 2.0 * chars).min(12.0 + count) - count).clamp(0.0, 12.0);
        }
        if bits > MAX_LINE_BITS { MAX_LINE_BITS } else { bits }
    }

    /// The lines (from 0) that have the word with a key; of a common one only the first.
    pub(super) fn lines_with_word(&self, key: u64) -> &[u32] {
        lines_with(self.words_with(key), key)
    }

    /// The lines (from 0) that are not blank and have this lax key.
    pub(super) fn lines_with_key(&self, key: u64) -> &[u32] {
        lines_with(self.lines_by_key(key), key)
    }

    fn call_keys(&self) -> &HashSet<u64> {
        self.call_keys.get_or_init(|| keys_of_call(self.call))
    }

    /// The words of the file: if the call has the word with this key, only those of the call.
    fn words_with(&self, key: u64) -> &Index {
        let words_of =
            |&at: &usize| words(self.body(at)).map(move |word| (fold::plain_key(word), at));
        let keys = self.nonblank_lines().iter().flat_map(words_of);
        if self.word_index.get().is_none() && self.call_keys().contains(&key) {
            let of_call = self.call_keys();
            return self
                .call_words
                .get_or_init(|| index(keys.filter(|(key, _)| of_call.contains(key))));
        }
        self.word_index.get_or_init(|| index(keys))
    }

    /// The lines of the file by their lax keys: if the call has a line with this key, only those of the
    /// call.
    fn lines_by_key(&self, key: u64) -> &Index {
        let lines = self.nonblank_lines();
        let keys = lines.iter().map(|&at| (self.keys()[at], at));
        if self.line_index.get().is_none() && self.call_keys().contains(&key) {
            return self.call_lines.get_or_init(|| {
                let of_call = self.call_keys();
                index(keys.filter(|(key, _)| of_call.contains(key)))
            });
        }
        self.line_index.get_or_init(|| index(keys))
    }

    /// The line (from 0) that contains an offset.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.lines().partition_point(|line| line.body.start <= offset).saturating_sub(1)
    }

    /// The tokens and brackets of the file; `None` for a language that is not lexed.
    pub(super) fn lexed(&self) -> Option<&Lexed> {
        self.lexed.get_or_init(|| self.language.map(|l| l.lex(self.text))).as_ref()
    }

    /// Whether the language is lexed well enough to prove that a text is well formed.
    pub(super) fn proves_structure(&self) -> bool {
        self.language.is_some_and(Language::is_lexed)
    }

    /// Whether white space between tokens and the kind of quotes mean nothing here.
    pub(super) fn is_free_form(&self) -> bool {
        self.language.is_some_and(Language::is_free_form)
    }

    /// What a line (from 0) begins in: code, or a comment or literal that began on a line above.
    pub(super) fn kind_across(&self, at: usize) -> TokenKind {
        let start = self.lines()[at].body.start;
        self.lexed().map_or(TokenKind::Code, |lexed| lexed.kind_across(start))
    }

    /// Whether a line (from 0) begins inside a literal that began on a line above.
    pub(super) fn begins_in_literal(&self, at: usize) -> bool {
        self.kind_across(at) == TokenKind::Literal
    }

    /// Whether a line (from 0) of the file is a comment and nothing else.
    pub(super) fn is_comment(&self, at: usize) -> bool {
        let Some(language) = self.language.filter(|language| language.is_code()) else {
            return false;
        };
        let body = self.body(at);
        if body.trim_start().starts_with('*') {
            let start = self.lines()[at].body.start + body.len() - body.trim_start().len();
            return self.lexed().is_some_and(|lexed| lexed.kind_at(start) == TokenKind::Comment);
        }
        language.is_comment(body)
    }

    /// The width of a level of indentation in spaces; `None` for a file that is indented by
    /// tabs, or not at all.
    pub(super) fn indent_unit(&self) -> Option<usize> {
        *self.indent_unit.get_or_init(|| {
            let lines = self.nonblank_lines().iter().take(MAX_SAMPLED_LINES);
            indent::unit(lines.map(|&at| self.body(at)))
        })
    }

    /// Whether some line is indented by tabs.
    pub(super) fn has_tabs(&self) -> bool {
        let mut lines = self.nonblank_lines().iter().take(MAX_SAMPLED_LINES);
        lines.any(|&at| self.body(at).starts_with('\t'))
    }

    /// The bytes of consecutive whole lines, without the last line's ending.
    pub(super) fn byte_range(&self, lines: &Range<usize>) -> Range<usize> {
        let all = self.lines();
        match lines.is_empty() {
            true => {
                let at = all.get(lines.start).map_or(self.text.len(), |line| line.body.start);
                at..at
            }
            false => all[lines.start].body.start..all[lines.end - 1].body.end,
        }
    }

    /// Whether an offset is inside a name or a number.
    pub(super) fn splits_name(&self, at: usize) -> bool {
        let before = self.text[..at].chars().next_back();
        let after = self.text[at..].chars().next();
        before.is_some_and(is_word_char) && after.is_some_and(is_word_char)
    }

    /// The line ending of the lines around a line (from 0).
    pub(super) fn ending_near(&self, at: usize) -> LineEnding {
        let around = [Some(at), at.checked_sub(1)];
        let endings = around.iter().flatten().filter_map(|&at| self.lines().get(at));
        endings
            .map(|line| line.ending)
            .find(|ending| *ending != LineEnding::None)
            .unwrap_or(LineEnding::Lf)
    }
}

/// The most lines that are sampled for the width of a level.
const MAX_SAMPLED_LINES: usize = 4_000;

/// The lines of `old_str` or `new_str`. A line break at the end of the text opens no further line.
pub(super) fn split_lines(text: &str) -> Vec<&str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
}

/// The lines of `new` as a replacement of `old`. A line break at the end that only `new` has adds a
/// blank line, as it does in an exact replacement.
pub(super) fn new_lines<'a>(old: &str, new: &'a str) -> Vec<&'a str> {
    if new.is_empty() && old.ends_with('\n') {
        return Vec::new();
    }
    let mut lines = split_lines(new);
    if new.ends_with('\n') && !old.ends_with('\n') {
        lines.push("");
    }
    lines
}
