//! A file with what the matcher needs to know about it: its lines, one lax key a line, how often each
//! word stands in it, its literals and comments. Everything is computed on first use.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::LazyLock;

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
        push_plain_lax(line, out);
    } else {
        let chars = fold::canonical(line, super::costs::Difference::LookAlikes);
        out.extend(chars.iter().filter_map(|canonical| lax_char(canonical.char)));
    }
    // A line of commas alone is not blank.
    if out.len() == start && !line.trim().is_empty() {
        out.push(',');
    }
}

/// Adds the lax key of a line of ASCII.
fn push_plain_lax(line: &str, out: &mut String) {
    let lax_bytes = &*LAX_BYTES;
    let mut kept = [0; 64];
    for bytes in line.as_bytes().chunks(kept.len()) {
        let mut len = 0;
        for &byte in bytes {
            kept[len] = lax_bytes[usize::from(byte)];
            len += usize::from(kept[len] != LEFT_OUT);
        }
        out.push_str(std::str::from_utf8(&kept[..len]).unwrap_or_default());
    }
}

/// What a lax key has for each byte of ASCII.
static LAX_BYTES: LazyLock<[u8; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let c = u8::try_from(byte).ok().filter(u8::is_ascii).and_then(|b| lax_char(char::from(b)));
        c.and_then(|c| u8::try_from(c).ok()).unwrap_or(LEFT_OUT)
    })
});

/// Stands for a byte that a lax key leaves out.
const LEFT_OUT: u8 = 0xff;

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

/// Hashes keys that are hashes already.
#[derive(Debug, Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxhash_rust::xxh3::xxh3_64(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A map by keys that are hashes.
type KeyMap<T> = HashMap<u64, T, BuildHasherDefault<KeyHasher>>;

/// A line or word that occurs at more positions says little about the place and gets no vote.
pub(super) const MAX_POSITIONS: usize = 64;

/// How often keys stand in the file, and on which lines.
#[derive(Debug)]
struct Index {
    /// A number for each key.
    numbers: KeyMap<u32>,
    /// How often the key with each number stands in the file.
    counts: Vec<u32>,
    /// The number of each key of the file, in order, and its line.
    uses: Vec<(u32, u32)>,
    lines: OnceCell<KeyLines>,
}

/// The lines of each key.
#[derive(Debug)]
struct KeyLines {
    /// Where those of the key with each number are in `lines`.
    ranges: Vec<Range<usize>>,
    lines: Vec<u32>,
}

impl Index {
    /// The index of keys and their lines (from 0), in order.
    /// `lines` is how many lines have some.
    fn of(keys: impl Iterator<Item = (u64, usize)>, lines: usize) -> Self {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut numbers = KeyMap::with_capacity_and_hasher(lines, BuildHasherDefault::default());
        let (mut counts, mut uses) = (Vec::with_capacity(lines), Vec::with_capacity(4 * lines));
        for (key, line) in keys {
            let number = *numbers.entry(key).or_insert_with(|| {
                counts.push(0);
                small(counts.len() - 1)
            });
            counts[number as usize] += 1;
            uses.push((number, small(line)));
        }
        Self { numbers, counts, uses, lines: OnceCell::new() }
    }

    /// How often a key stands in the file.
    fn count(&self, key: u64) -> u32 {
        self.numbers.get(&key).map_or(0, |&number| self.counts[number as usize])
    }

    /// The lines (from 0) that have a key; of a common one only the first ones, more than
    /// [`MAX_POSITIONS`].
    fn lines_with(&self, key: u64) -> &[u32] {
        let Some(number) = self.numbers.get(&key).map(|&number| number as usize) else {
            return &[];
        };
        let KeyLines { ranges, lines } = self.lines.get_or_init(|| self.key_lines());
        &lines[ranges[number].clone()]
    }

    fn key_lines(&self) -> KeyLines {
        let mut room = 0;
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(self.counts.len());
        for &count in &self.counts {
            ranges.push(room..room);
            room += (count as usize).min(MAX_POSITIONS + 1);
        }
        let mut lines = vec![0; room];
        for &(number, line) in &self.uses {
            let range = &mut ranges[number as usize];
            let listed = &lines[range.clone()];
            if listed.len() <= MAX_POSITIONS && listed.last() != Some(&line) {
                lines[range.end] = line;
                range.end += 1;
            }
        }
        KeyLines { ranges, lines }
    }
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
struct CallKeys {
    keys: KeyMap<()>,
    /// For each first byte, the lengths of words that begin with it, a bit each: most words of a file
    /// are told apart from those of the call without their keys.
    lengths: [u16; 256],
}

impl CallKeys {
    fn of(texts: [&str; 2]) -> Self {
        let mut out = Self { keys: KeyMap::default(), lengths: [0; 256] };
        for text in texts {
            out.keys.extend(split_lines(text).into_iter().map(|line| (line_key(line), ())));
            for word in words(text) {
                out.keys.insert(fold::plain_key(word), ());
                out.lengths[usize::from(word.as_bytes()[0])] |= Self::length_bit(word);
            }
        }
        out
    }

    fn length_bit(word: &str) -> u16 {
        1 << word.len().min(15)
    }

    fn has(&self, key: u64) -> bool {
        self.keys.contains_key(&key)
    }

    /// The key of a word, if the call has it.
    fn of_word(&self, word: &str) -> Option<u64> {
        let lengths = self.lengths[usize::from(word.as_bytes()[0])];
        if lengths & Self::length_bit(word) == 0 {
            return None;
        }
        Some(fold::plain_key(word)).filter(|key| self.has(*key))
    }
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
    call_keys: OnceCell<CallKeys>,
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
        let body = self.body(at);
        match body.bytes().find(|byte| !matches!(byte, b' ' | b'\t')) {
            None => true,
            Some(byte) => !byte.is_ascii_graphic() && body.trim().is_empty(),
        }
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
            let count = f64::from(self.words_with(key).count(key).max(1)).log2();
            #[expect(clippy::cast_precision_loss, reason = "the length of a word")]
            let chars = word.chars().count() as f64;
            bits += ((2.0 + 2.0 * chars).min(12.0 + count) - count).clamp(0.0, 12.0);
        }
        if bits > MAX_LINE_BITS { MAX_LINE_BITS } else { bits }
    }

    /// The lines (from 0) that have the word with a key, as [`Index::lines_with`] gives them.
    pub(super) fn lines_with_word(&self, key: u64) -> &[u32] {
        self.words_with(key).lines_with(key)
    }

    /// The lines (from 0) that are not blank and have this lax key.
    pub(super) fn lines_with_key(&self, key: u64) -> &[u32] {
        self.lines_by_key(key).lines_with(key)
    }

    fn call_keys(&self) -> &CallKeys {
        self.call_keys.get_or_init(|| CallKeys::of(self.call))
    }

    /// The words of the file: if the call has the word with this key, only those of the call.
    fn words_with(&self, key: u64) -> &Index {
        let lines = self.nonblank_lines();
        if self.word_index.get().is_none() && self.call_keys().has(key) {
            return self.call_words.get_or_init(|| {
                let of_call = self.call_keys();
                let words_of = |&at: &usize| {
                    words(self.body(at)).filter_map(move |word| Some((of_call.of_word(word)?, at)))
                };
                Index::of(lines.iter().flat_map(words_of), 0)
            });
        }
        self.word_index.get_or_init(|| {
            let words_of =
                |&at: &usize| words(self.body(at)).map(move |word| (fold::plain_key(word), at));
            Index::of(lines.iter().flat_map(words_of), lines.len())
        })
    }

    /// The lines of the file by their lax keys: if the call has a line with this key, only those of the
    /// call.
    fn lines_by_key(&self, key: u64) -> &Index {
        let lines = self.nonblank_lines();
        let keys = lines.iter().map(|&at| (self.keys()[at], at));
        if self.line_index.get().is_none() && self.call_keys().has(key) {
            return self.call_lines.get_or_init(|| {
                let of_call = self.call_keys();
                Index::of(keys.filter(|(key, _)| of_call.has(*key)), 0)
            });
        }
        self.line_index.get_or_init(|| Index::of(keys, lines.len()))
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
