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
    if fold >= Difference::Spacing {
        let literals = literals(&chars);
        if fold >= Difference::Punctuation {
            for literal in &literals {
                chars[literal.start].char = '"';
                chars[literal.end - 1].char = '"';
            }
        }
        chars = drop_spacing(&chars, &literals);
        if fold >= Difference::Reflow {
            chars = drop_trailing_commas(chars);
        }
        if fold >= Difference::Punctuation
            && chars.last().is_some_and(|last| matches!(last.char, ',' | ';'))
        {
            chars.pop();
        }
    }
    chars
}

/// Removes a comma before a closing bracket, as formatters add it to a list that they break. The comma
/// of a tuple of one stays.
fn drop_trailing_commas(chars: Vec<Canonical>) -> Vec<Canonical> {
    // For each open bracket: whether it follows a word, as that of a call, and its commas so far.
    let mut open: Vec<(bool, usize)> = Vec::new();
    let mut out: Vec<Canonical> = Vec::with_capacity(chars.len());
    for canonical in chars {
        match canonical.char {
            '(' | '[' | '{' => {
                let follows_word = canonical.char != '('
                    || out
                        .last()
                        .is_some_and(|last| is_word_char(last.char) || ")]>".contains(last.char));
                open.push((follows_word, 0));
            }
            ',' => {
                if let Some((_, commas)) = open.last_mut() {
                    *commas += 1;
                }
            }
            ')' | ']' | '}' => {
                let (follows_word, commas) = open.pop().unwrap_or((false, 0));
                if out.last().is_some_and(|last| last.char == ',') && (follows_word || commas > 1) {
                    out.pop();
                }
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
    let (a, b) = (canonical(a.trim(), fold), canonical(b.trim(), fold));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.char == b.char)
}

/// The most combining marks that are composed with one letter: sorting them takes quadratic time.
/// Unicode's stream-safe text format has the same limit.
const MAX_MARKS: usize = 30;

/// The characters of a line, with a plain character for each look-alike.
fn fold_look_alikes(line: &str) -> Vec<Canonical> {
    if line.is_ascii() {
        let chars = line.bytes().enumerate();
        let chars = chars
            .map(|(at, b)| Canonical { char: char::from(b), start: at, end: at + 1 })
            .collect();
        return if line.contains("--") { fold_double_hyphens(chars) } else { chars };
    }
    let mut out = Vec::with_capacity(line.len());
    let mut chars = line.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let mut marks = 0;
        // A base letter and its combining marks compose, so that NFC and NFD are the same.
        while let Some(&(at, mark)) = chars.peek()
            && marks < MAX_MARKS
            && unicode_normalization::char::is_combining_mark(mark)
        {
            end = at + mark.len_utf8();
            marks += 1;
            chars.next();
        }
        for composed in line[start..end].nfc() {
            fold_char(composed, |c| out.push(Canonical { char: c, start, end }));
        }
    }
    fold_double_hyphens(out)
}

/// Replaces ` -- ` by ` - `: two hyphens with whitespace around them stand for a dash.
fn fold_double_hyphens(chars: Vec<Canonical>) -> Vec<Canonical> {
    let is_gap = |c: Option<&Canonical>| c.is_none_or(|c| c.char.is_whitespace());
    let is_hyphen = |at: usize| chars.get(at).is_some_and(|c| c.char == '-');
    let mut out: Vec<Canonical> = Vec::with_capacity(chars.len());
    let mut at = 0;
    while at < chars.len() {
        let is_pair =
            is_hyphen(at) && is_hyphen(at + 1) && is_gap(out.last()) && is_gap(chars.get(at + 2));
        let end = if is_pair { chars[at + 1].end } else { chars[at].end };
        out.push(Canonical { end, ..chars[at] });
        at += if is_pair { 2 } else { 1 };
    }
    out
}

/// Emits the plain characters that a character looks like; none for an invisible one.
fn fold_char(c: char, mut emit: impl FnMut(char)) {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2bc}' | '\u{b4}' => emit('\''),
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => emit('"'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => emit('-'),
        '\u{2026}' => "...".chars().for_each(emit),
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            emit(' ')
        }
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => {}
        '\u{ff01}'..='\u{ff5e}' => {
            emit(char::from_u32(u32::from(c) - 0xFF01 + 0x21).unwrap_or(c));
        }
        c => emit(c),
    }
}

/// Whether a stroke begins a regular expression: after what no value ends, and not as a comment.
fn begins_regex(chars: &[Canonical], at: usize) -> bool {
    let before = chars[..at].iter().rev().find(|c| !c.char.is_whitespace());
    before.is_some_and(|c| "(=,:[!&|?{;".contains(c.char))
        && chars
            .get(at + 1)
            .is_some_and(|c| !matches!(c.char, '/' | '*') && !c.char.is_whitespace())
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
        let opens = !unclosed.contains(&quote)
            && match quote {
                '"' | '`' => true,
                '/' => begins_regex(chars, at),
                // An apostrophe inside a word, or a lifetime, opens nothing.
                '\'' => {
                    at == 0
                        || !is_word_char(chars[at - 1].char)
                        || ends_in_string_prefix(&chars[..at])
                }
                _ => false,
            };
        if opens && let Some(end) = find_closing_quote(chars, at) {
            out.push(at..end + 1);
            at = end + 1;
        } else {
            if opens {
                unclosed.push(quote);
            }
            at += 1;
        }
    }
    out
}

/// Whether the word at the end of a text is the prefix of a literal: `f'…'`, `b'…'`, `rb'…'`.
fn ends_in_string_prefix(before: &[Canonical]) -> bool {
    let word = before.iter().rev().take(3).take_while(|canonical| is_word_char(canonical.char));
    let word: Vec<char> = word.map(|canonical| canonical.char.to_ascii_lowercase()).collect();
    word.len() <= 2 && word.iter().all(|c| matches!(c, 'b' | 'f' | 'r' | 'u'))
}

/// The index of the quote that closes the literal opened at `open`.
fn find_closing_quote(chars: &[Canonical], open: usize) -> Option<usize> {
    let mut at = open + 1;
    while at < chars.len() {
        match chars[at].char {
            '\\' => at += 2,
            c if c == chars[open].char => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Removes whitespace outside of literals, except where it means something.
fn drop_spacing(chars: &[Canonical], literals: &[Range<usize>]) -> Vec<Canonical> {
    let mut out: Vec<Canonical> = Vec::with_capacity(chars.len());
    let mut literals = literals.iter().peekable();
    let mut at = 0;
    while at < chars.len() {
        if let Some(literal) = literals.next_if(|literal| literal.start == at) {
            out.extend_from_slice(&chars[literal.clone()]);
            at = literal.end;
            continue;
        }
        if !chars[at].char.is_whitespace() {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        let run = chars[at..].iter().take_while(|canonical| canonical.char.is_whitespace()).count();
        let (before, after) =
            (out.last().map(|last| last.char), chars.get(at + run).map(|next| next.char));
        if let (Some(before), Some(after)) = (before, after)
            && is_significant_space(before, after)
        {
            out.push(Canonical { char: ' ', start: chars[at].start, end: chars[at + run - 1].end });
        }
        at += run;
    }
    out
}

/// Whether whitespace between two characters means something: it separates two words, or two
/// operators that would otherwise become one.
fn is_significant_space(before: char, after: char) -> bool {
    is_word_char(before) && is_word_char(after) || before == after && "+-&|<>=*/:.".contains(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str, fold: Difference) -> String {
        canonical(line, fold).into_iter().map(|canonical| canonical.char).collect()
    }

    #[test]
    fn each_fold_ignores_what_it_names() {
        assert_eq!(text("say “hi” – ok…", Difference::LookAlikes), "say \"hi\" - ok...");
        assert_eq!(text("cafe\u{301}\u{200b}\u{a0}x", Difference::LookAlikes), "café x");
        assert_eq!(text("ｆｏｏ（１）", Difference::LookAlikes), "foo(1)");
        assert_eq!(
            text("so — or -- so; i-- and --x", Difference::LookAlikes),
            "so - or - so; i-- and --x"
        );
        assert_eq!(text("if ( a  ==  b ) {", Difference::Spacing), "if(a==b){");
        assert_eq!(text("x = 'a  b' ; y", Difference::Spacing), "x='a  b';y");
        assert_eq!(text("return value", Difference::Spacing), "return value");
        assert_eq!(text("a + +b", Difference::Spacing), "a+ +b");
        assert_eq!(text("f('x', `y`);", Difference::Punctuation), "f(\"x\",\"y\")");
        assert_eq!(text("don't, won't", Difference::Punctuation), "don't,won't");
        assert_eq!(text("f(b'x', f'{y}')", Difference::Punctuation), "f(b\"x\",f\"{y}\")");
    }
}
