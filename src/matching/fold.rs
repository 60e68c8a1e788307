//! The canonical form of a line under a fold, mapped to its bytes.
//!
//! Two lines are the same under a fold if their canonical characters are equal. Each canonical
//! character has the range of bytes that it comes from, so equal lines of the call and the file are
//! also aligned character by character, and the merge does not have to guess.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use super::costs::Difference;
pub(super) use crate::text::is_word_char;

/// One character of the canonical form, and the bytes of the line that it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Canonical {
    pub(super) char: char,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Canonical {
    /// The bytes of the line that the character comes from.
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// The canonical form of `line` (one line, or part of one, without its ending).
pub(super) fn canonical(line: &str, fold: Difference) -> Vec<Canonical> {
    let mut chars = fold_look_alikes(line);
    if fold < Difference::Spacing {
        return chars;
    }
    let literals = literals(&chars);
    if fold >= Difference::Punctuation {
        for literal in &literals {
            chars[literal.start].char = '"';
            chars[literal.end - 1].char = '"';
        }
    }
    chars = drop_spacing(&chars, &literals);
    if fold >= Difference::Reflow {
        chars = drop_trailing_commas(&chars);
    }
    if fold >= Difference::Punctuation {
        chars.pop_if(|last| matches!(last.char, ',' | ';'));
    }
    chars
}

/// Removes a comma before a closing bracket, as formatters add it to a list that they break. The comma
/// of a tuple of one stays.
fn drop_trailing_commas(chars: &[Canonical]) -> Vec<Canonical> {
    // For each open bracket: whether it is no tuple's, such as that of a call, and its commas so far.
    let mut open: Vec<(bool, usize)> = Vec::new();
    let mut out: Vec<Canonical> = Vec::with_capacity(chars.len());
    for &canonical in chars {
        match canonical.char {
            '[' | '{' => open.push((true, 0)),
            '(' => {
                let follows =
                    |last: &Canonical| is_word_char(last.char) || ")]>".contains(last.char);
                open.push((out.last().is_some_and(follows), 0));
            }
            ',' => {
                if let Some((_, commas)) = open.last_mut() {
                    *commas += 1;
                }
            }
            ')' | ']' | '}' => {
                let (is_list, commas) = open.pop().unwrap_or_default();
                out.pop_if(|last| last.char == ',' && (is_list || commas > 1));
            }
            _ => {}
        }
        out.push(canonical);
    }
    out
}

/// A hash of the text as it is.
pub(super) fn plain_key(text: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(text.as_bytes())
}

/// Whether two lines are equal under a fold; whitespace at their ends does not count.
pub(super) fn is_equal(a: &str, b: &str, fold: Difference) -> bool {
    let chars = |line: &str| canonical(line.trim(), fold).into_iter().map(|c| c.char);
    chars(a).eq(chars(b))
}

/// Whether one of two lines that look alike has `--` inside where the other has `-`: either may stand for a
/// dash, but in code they differ.
pub(super) fn swaps_hyphens(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|line| canonical(line.trim(), Difference::LookAlikes));
    let are_hyphens = |a: &Canonical, b: &Canonical| {
        let [a, b] = [a, b].map(|c| c.range().len());
        a.min(b) == 1 && a.max(b) == "--".len()
    };
    let mut pairs = a.iter().zip(&b);
    pairs.any(|(a, b)| a.char == '-' && b.char == '-' && a.start > 0 && are_hyphens(a, b))
}

/// The most combining marks that are composed with one letter: sorting them takes quadratic time.
/// Unicode's stream-safe text format has the same limit.
const MAX_MARKS: usize = 30;

/// The characters of a line, with a plain character for each look-alike.
fn fold_look_alikes(line: &str) -> Vec<Canonical> {
    let mut out = Vec::with_capacity(line.len());
    if line.is_ascii() {
        let plain = |(start, char)| Canonical { char, start, end: start + 1 };
        out.extend(line.char_indices().map(plain));
        return if line.contains("--") { fold_double_hyphens(&out) } else { out };
    }
    let mut chars = line.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        // A base letter and its combining marks compose, so that NFC and NFD are the same.
        for _ in 0..MAX_MARKS {
            let is_mark = |(_, c): &(_, char)| unicode_normalization::char::is_combining_mark(*c);
            let Some((at, mark)) = chars.next_if(is_mark) else { break };
            end = at + mark.len_utf8();
        }
        for composed in line[start..end].nfc() {
            let Some(char) = plain_char(composed) else { continue };
            let plain = Canonical { char, start, end };
            out.push(plain);
            if composed == '…' {
                out.extend([plain; 2]);
            }
        }
    }
    fold_double_hyphens(&out)
}

/// Replaces ` -- ` by ` - `: two hyphens with whitespace around them stand for a dash.
fn fold_double_hyphens(mut chars: &[Canonical]) -> Vec<Canonical> {
    let is_gap = |c: Option<&Canonical>| c.is_none_or(|c| c.char.is_whitespace());
    let mut out: Vec<Canonical> = Vec::with_capacity(chars.len());
    while let [first, rest @ ..] = chars {
        let second = rest.first().filter(|second| first.char == '-' && second.char == '-');
        let second = second.filter(|_| is_gap(out.last()) && is_gap(rest.get(1)));
        out.push(Canonical { end: second.unwrap_or(first).end, ..*first });
        chars = &rest[usize::from(second.is_some())..];
    }
    out
}

/// The plain character that a character looks like, for an ellipsis one of its dots; `None` for an
/// invisible one.
pub(super) fn plain_char(c: char) -> Option<char> {
    Some(match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2bc}' | '\u{b4}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        '\u{2026}' => '.',
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => return None,
        '\u{ff01}'..='\u{ff5e}' => return char::from_u32(u32::from(c) - 0xFF01 + 0x21),
        c => c,
    })
}

/// Whether a stroke begins a regular expression: after what no value ends, and not as a comment.
fn begins_regex(before: &[Canonical], after: Option<&Canonical>) -> bool {
    let before = before.iter().rev().find(|c| !c.char.is_whitespace());
    before.is_some_and(|c| "(=,:[!&|?{;".contains(c.char))
        && after.is_some_and(|c| !matches!(c.char, '/' | '*') && !c.char.is_whitespace())
}

/// Whether an apostrophe opens a literal: not inside a word, but behind `f`, `b` or `rb`.
fn opens_literal(before: &[Canonical]) -> bool {
    let mut word = before.iter().rev().map(|c| c.char).take_while(|c| is_word_char(*c));
    word.by_ref().take(2).all(|c| "bfruBFRU".contains(c)) && word.next().is_none()
}

/// String literals that open and close on this line, quotes included, as index ranges.
fn literals(chars: &[Canonical]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    // After a quote that is not closed, later quotes of its kind are skipped, so that the work stays
    // linear.
    let mut unclosed: Vec<char> = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let quote = chars[at].char;
        let opens = match quote {
            '"' | '`' => true,
            '/' => begins_regex(&chars[..at], chars.get(at + 1)),
            '\'' => opens_literal(&chars[..at]),
            _ => false,
        };
        at += 1;
        if opens && !unclosed.contains(&quote) {
            match find_closing_quote(chars, at, quote) {
                Some(end) => {
                    out.push(at - 1..end + 1);
                    at = end + 1;
                }
                None => unclosed.push(quote),
            }
        }
    }
    out
}

/// The index, from `at` on, of the quote that closes a literal.
fn find_closing_quote(chars: &[Canonical], mut at: usize, quote: char) -> Option<usize> {
    while chars.get(at)?.char != quote {
        at += if chars[at].char == '\\' { 2 } else { 1 };
    }
    Some(at)
}

/// Removes whitespace outside of literals, except where it means something.
fn drop_spacing(chars: &[Canonical], literals: &[Range<usize>]) -> Vec<Canonical> {
    let mut out: Vec<Canonical> = Vec::with_capacity(chars.len());
    let mut quoted = literals.iter().cloned().flatten().peekable();
    let mut gap: Option<Canonical> = None;
    for (at, &c) in chars.iter().enumerate() {
        if quoted.next_if_eq(&at).is_none() && c.char.is_whitespace() {
            gap = Some(Canonical { char: ' ', end: c.end, ..gap.unwrap_or(c) });
            continue;
        }
        let is_significant = |last: &Canonical| is_significant_space(last.char, c.char);
        let gap = gap.take().filter(|_| out.last().is_some_and(is_significant));
        out.extend(gap.into_iter().chain([c]));
    }
    out
}

/// Whether whitespace between two characters means something: it separates two words, or two
/// operators that would otherwise become one.
fn is_significant_space(before: char, after: char) -> bool {
    is_word_char(before) && is_word_char(after) || before == after && "+-&|<>=*/:.".contains(before)
}
