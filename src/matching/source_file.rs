//! A file with what the matcher needs to know about it: its lines, one lax key a line, how often each
//! word stands in it, its literals and comments. Everything is computed on first use.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
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

/// Adds the lax key of a line of ASCII, many characters at a time.
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
    let lax = |byte: usize| u8::try_from(lax_char(char::from(u8::try_from(byte).ok()?))?).ok();
    std::array::from_fn(|byte| lax(byte).unwrap_or(LEFT_OUT))
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
        ',' | ';' => None,
        '"' | '`' => Some('\''),
        c => Some(c).filter(|c| !c.is_whitespace()),
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

/// How often a key stands in the file, and the lines (from 0) that have it: of a common one only the
/// first ones, more than [`MAX_POSITIONS`].
#[derive(Debug, Default)]
struct KeyUses {
    count: u32,
    lines: Vec<u32>,
}

/// Where keys stand in the file: those of the call, which nearly all questions are about, and once another
/// one is asked for, all.
#[derive(Default)]
struct Index {
    of_call: OnceCell<KeyMap<KeyUses>>,
    of_all: OnceCell<KeyMap<KeyUses>>,
}

impl Index {
    /// The uses of a key. `keys` has the keys of the file with their lines, in order; given the call, it
    /// may leave out those that the call has not.
    fn uses<'c, K: Iterator<Item = (u64, usize)>>(
        &self,
        key: u64,
        call: &'c CallKeys,
        keys: impl Fn(Option<&'c CallKeys>) -> K,
    ) -> Option<&KeyUses> {
        let collect = |call: Option<&'c CallKeys>| {
            let mut uses: KeyMap<KeyUses> = KeyMap::default();
            let is_asked = |key: u64| call.is_none_or(|call| call.has(key));
            for (key, line) in keys(call).filter(|(key, _)| is_asked(*key)) {
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                let uses = uses.entry(key).or_default();
                uses.count += 1;
                if uses.lines.len() <= MAX_POSITIONS && uses.lines.last() != Some(&line) {
                    uses.lines.push(line);
                }
            }
            uses
        };
        let uses = match self.of_all.get().is_none() && call.has(key) {
            true => self.of_call.get_or_init(|| collect(Some(call))),
            false => self.of_all.get_or_init(|| collect(None)),
        };
        uses.get(&key)
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

/// The keys of the lines and words of a call.
#[derive(Debug)]
struct CallKeys {
    keys: HashSet<u64, BuildHasherDefault<KeyHasher>>,
    /// For each first byte, the lengths of words that begin with it, a bit each: most words of a file
    /// are told apart from those of the call without their keys.
    lengths: [u16; 256],
}

impl CallKeys {
    fn of(texts: [&str; 2]) -> Self {
        let mut out = Self { keys: HashSet::default(), lengths: [0; 256] };
        for text in texts {
            out.keys.extend(split_lines(text).into_iter().map(line_key));
            for word in words(text) {
                out.keys.insert(fold::plain_key(word));
                out.lengths[usize::from(word.as_bytes()[0])] |= Self::length_bit(word);
            }
        }
        out
    }

    fn length_bit(word: &str) -> u16 {
        1 << word.len().min(15)
    }

    fn has(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }

    /// Whether a word of the call may be this one.
    fn may_have_word(&self, word: &str) -> bool {
        self.lengths[usize::from(word.as_bytes()[0])] & Self::length_bit(word) != 0
    }
}

/// A file and what is computed from it during one call.
pub(super) struct SourceFile<'t> {
    pub(super) snapshot: &'t Snapshot,
    pub(super) text: &'t str,
    pub(super) language: Option<&'static Language>,
    call: [&'t str; 2],
    known: Known,
}

/// What has been computed from a file and a call.
#[derive(Default)]
struct Known {
    lines: OnceCell<Vec<Line>>,
    nonblank_lines: OnceCell<Vec<usize>>,
    joined: OnceCell<Joined>,
    keys: OnceCell<Vec<u64>>,
    call_keys: OnceCell<CallKeys>,
    word_index: Index,
    line_index: Index,
    lexed: OnceCell<Option<Lexed>>,
    indent_unit: OnceCell<Option<usize>>,
    has_tabs: OnceCell<bool>,
    mixes_indentation: OnceCell<bool>,
}

impl<'t> SourceFile<'t> {
    /// The file of a snapshot, with nothing computed yet.
    pub(super) fn new(snapshot: &'t Snapshot, language: Option<&'static Language>) -> Self {
        let text = snapshot.text();
        Self { snapshot, text, language, call: [""; 2], known: Known::default() }
    }

    /// The same file, about whose lines and words a call with these strings will ask.
    pub(super) fn for_call(self, old: &'t str, new: &'t str) -> Self {
        Self { call: [old, new], ..self }
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> &[Line] {
        self.known.lines.get_or_init(|| crate::text::each_line(self.text).collect())
    }

    /// The content of a line (from 0).
    pub(super) fn body(&self, at: usize) -> &'t str {
        &self.text[self.lines()[at].body.clone()]
    }

    /// Whether a line (from 0) has nothing but whitespace.
    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.body(at).trim_start().is_empty()
    }

    /// The lines that are not blank, from 0.
    pub(super) fn nonblank_lines(&self) -> &[usize] {
        self.known
            .nonblank_lines
            .get_or_init(|| (0..self.lines().len()).filter(|&at| !self.is_blank(at)).collect())
    }

    /// The joined lax keys.
    pub(super) fn joined(&self) -> &Joined {
        self.known.joined.get_or_init(|| {
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
        self.known.keys.get_or_init(|| {
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
                break;
            }
            let key = fold::plain_key(word);
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            let count = self.uses_of_word(key).map_or(1, |uses| uses.count);
            let count = f64::from(count).log2();
            #[expect(clippy::cast_precision_loss, reason = "the length of a word")]
            let chars = word.chars().count() as f64;
            bits += ((2.0 + 2.0 * chars).min(12.0 + count) - count).clamp(0.0, 12.0);
        }
        bits.min(MAX_LINE_BITS)
    }

    /// The lines (from 0) that have the word with a key; of a common one only the first ones, more than
    /// [`MAX_POSITIONS`].
    pub(super) fn lines_with_word(&self, key: u64) -> &[u32] {
        self.uses_of_word(key).map_or(&[], |uses| &uses.lines)
    }

    /// The lines (from 0) that are not blank and have this lax key, as far as
    /// [`Self::lines_with_word`] gives them.
    pub(super) fn lines_with_key(&self, key: u64) -> &[u32] {
        let keys = |_| self.nonblank_lines().iter().map(|&at| (self.keys()[at], at));
        let uses = self.known.line_index.uses(key, self.call_keys(), keys);
        uses.map_or(&[], |uses| &uses.lines)
    }

    /// The uses of the word with a key.
    fn uses_of_word(&self, key: u64) -> Option<&KeyUses> {
        self.known.word_index.uses(key, self.call_keys(), |call| {
            self.nonblank_lines().iter().flat_map(move |&at| {
                let words = words(self.body(at));
                let words = words.filter(move |word| call.is_none_or(|c| c.may_have_word(word)));
                words.map(move |word| (fold::plain_key(word), at))
            })
        })
    }

    fn call_keys(&self) -> &CallKeys {
        self.known.call_keys.get_or_init(|| CallKeys::of(self.call))
    }

    /// The line (from 0) that contains an offset.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.lines().partition_point(|line| line.body.start <= offset).saturating_sub(1)
    }

    /// The tokens and brackets of the file; `None` for a language that is not lexed.
    pub(super) fn lexed(&self) -> Option<&Lexed> {
        self.known.lexed.get_or_init(|| self.language.map(|l| l.lex(self.text))).as_ref()
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

    /// The comment or literal that a line (from 0) begins in, up to that line.
    pub(super) fn open_above(&self, at: usize) -> &'t str {
        let start = self.lines()[at].body.start;
        let Some(lexed) = self.lexed() else { return "" };
        let first = lexed.tokens.partition_point(|token| token.range.end <= start);
        let token = lexed.tokens.get(first).filter(|token| token.kind != TokenKind::Code);
        token.map_or("", |token| &self.text[token.range.start.min(start)..start])
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
        let text = self.body(at).trim_start();
        let start = self.lines()[at].body.end - text.len();
        let is_lexed = || self.lexed().map(|lexed| lexed.kind_at(start) == TokenKind::Comment);
        match text.starts_with('*') {
            true => is_lexed() == Some(true),
            // Inside a literal it is text.
            false => language.is_comment(text) && is_lexed() != Some(false),
        }
    }

    /// The first lines that are not blank, enough to see how the file is indented.
    fn sampled_lines(&self) -> impl Iterator<Item = &'t str> {
        self.nonblank_lines().iter().take(MAX_SAMPLED_LINES).map(|&at| self.body(at))
    }

    /// The width of a level of indentation in spaces; `None` for a file that is indented by
    /// tabs, or not at all.
    pub(super) fn indent_unit(&self) -> Option<usize> {
        *self.known.indent_unit.get_or_init(|| indent::unit(self.sampled_lines()))
    }

    /// Whether some line is indented by tabs.
    pub(super) fn has_tabs(&self) -> bool {
        let has_tabs = || self.sampled_lines().any(|line| line.starts_with('\t'));
        *self.known.has_tabs.get_or_init(has_tabs)
    }

    /// Whether some line has blanks behind the tabs of its indentation, or before them.
    pub(super) fn mixes_indentation(&self) -> bool {
        *self.known.mixes_indentation.get_or_init(|| {
            let mut indents = (0..self.lines().len()).map(|at| indent::indent_of(self.body(at)));
            indents.any(|indent| indent.contains('\t') && indent.contains(' '))
        })
    }

    /// The bytes of consecutive whole lines, without the last line's ending.
    pub(super) fn byte_range(&self, lines: &Range<usize>) -> Range<usize> {
        let all = self.lines();
        let start = all.get(lines.start).map_or(self.text.len(), |line| line.body.start);
        start..if lines.is_empty() { start } else { all[lines.end - 1].body.end }
    }

    /// Whether an offset is inside a name or a number.
    pub(super) fn splits_name(&self, at: usize) -> bool {
        self.text[..at].ends_with(is_word_char) && self.text[at..].starts_with(is_word_char)
    }

    /// The line ending of the lines around a line (from 0).
    pub(super) fn ending_near(&self, at: usize) -> LineEnding {
        let around = [Some(at), at.checked_sub(1)].into_iter().flatten();
        let mut endings = around.filter_map(|at| Some(self.lines().get(at)?.ending));
        endings.find(|ending| *ending != LineEnding::None).unwrap_or(LineEnding::Lf)
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
