//! The canonical form of a line under a fold, with the way back to its bytes.
//!
//! Two lines are the same under a fold when their canonical characters are equal.
//! Because each canonical character knows its source, a line of the call and a line
//! of the file that are the same are also aligned, character by character; the merge
//! needs no guess.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

/// How much of a line its canonical form forgets. Each forgets more than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fold {
    /// Look-alike characters.
    LookAlike,
    /// Also white space outside string literals, unless it parts two words.
    Spacing,
    /// Also the kind of quote around a literal, and one `,` or `;` at the end.
    Punctuation,
}

/// One character of the canonical form and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Canonical {
    pub(super) c: char,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Canonical {
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// The canonical form of `line` (one line, or part of one, without its ending).
pub(super) fn canonical(line: &str, fold: Fold) -> Vec<Canonical> {
    let mut chars = look_alikes(line);
    if fold >= Fold::Spacing {
        let literals = literals(&chars);
        if fold >= Fold::Punctuation {
            for literal in &literals {
                chars[literal.start].c = '"';
                chars[literal.end - 1].c = '"';
            }
        }
        chars = drop_spacing(&chars, &literals);
        if fold >= Fold::Punctuation && chars.last().is_some_and(|last| matches!(last.c, ',' | ';'))
        {
            chars.pop();
        }
    }
    chars
}

/// Whether two lines are the same under a fold, spaces at the ends aside.
pub(super) fn same(a: &str, b: &str, fold: Fold) -> bool {
    let (a, b) = (canonical(a.trim(), fold), canonical(b.trim(), fold));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.c == b.c)
}

fn look_alikes(line: &str) -> Vec<Canonical> {
    if line.is_ascii() {
        let chars = line.bytes().enumerate();
        let chars =
            chars.map(|(at, b)| Canonical { c: char::from(b), start: at, end: at + 1 }).collect();
        return if line.contains("--") { one_dash(chars) } else { chars };
    }
    let mut out = Vec::with_capacity(line.len());
    let mut chars = line.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        // A base letter and its combining marks compose, so that NFC and NFD are the same.
        while let Some(&(at, mark)) = chars.peek()
            && unicode_normalization::char::is_combining_mark(mark)
        {
            end = at + mark.len_utf8();
            chars.next();
        }
        // A long dash at the head of a word is how two hyphens come out of a text processor.
        let head = out.last().is_none_or(|last: &Canonical| last.c.is_whitespace());
        let word = || line[end..].chars().take(2).filter(|c| c.is_alphabetic()).count() == 2;
        if c == '\u{2014}' && head && word() {
            out.extend([Canonical { c: '-', start, end }; 2]);
            continue;
        }
        for composed in line[start..end].nfc() {
            fold_char(composed, |c| out.push(Canonical { c, start, end }));
        }
    }
    one_dash(out)
}

/// Two hyphens between blanks are how ASCII writes a dash.
fn one_dash(mut chars: Vec<Canonical>) -> Vec<Canonical> {
    let apart = |c: Option<&Canonical>| c.is_none_or(|c| c.c.is_whitespace());
    let mut at = 0;
    while at + 1 < chars.len() {
        let pair = chars[at].c == '-' && chars[at + 1].c == '-';
        if pair && apart(at.checked_sub(1).map(|b| &chars[b])) && apart(chars.get(at + 2)) {
            chars[at].end = chars[at + 1].end;
            chars.remove(at + 1);
        }
        at += 1;
    }
    chars
}

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

/// String literals that open and close on this line, quotes included, as index ranges.
fn literals(chars: &[Canonical]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut ends = LiteralEnds::default();
    let mut at = 0;
    while at < chars.len() {
        let quote = chars[at].c;
        let opens = match quote {
            '"' | '`' => true,
            // An apostrophe inside a word, or a lifetime, opens nothing.
            '\'' => {
                at == 0
                    || !is_word(chars[at - 1].c)
                    || is_prefix(chars[..at].iter().rev().map(|canonical| canonical.c))
            }
            _ => false,
        };
        if opens && let Some(end) = ends.of(chars, |c| c.c, at) {
            out.push(at..end + 1);
            at = end + 1;
        } else {
            at += 1;
        }
    }
    out
}

/// Whether a text, read backwards, ends in the prefix of a literal: `f'…'`, `b'…'`, `rb'…'`.
pub(super) fn is_prefix(before: impl Iterator<Item = char>) -> bool {
    let word: Vec<char> = before.take(3).take_while(|c| is_word(*c)).collect();
    word.len() <= 2 && word.iter().all(|c| matches!(c.to_ascii_lowercase(), 'b' | 'f' | 'r' | 'u'))
}

/// Where literals close. What one look for the end of a literal has passed over are escaped
/// quotes, so that the same end holds from each of them, and nothing is read twice.
#[derive(Default)]
pub(super) struct LiteralEnds {
    stop: Option<char>,
    /// For each kind of quote: up to where the last look went, and what it found.
    seen: [(usize, Option<usize>); 3],
}

impl LiteralEnds {
    /// Literals that end before a character, such as a line break, or not at all.
    pub(super) fn stopping_at(stop: char) -> Self {
        Self { stop: Some(stop), ..Self::default() }
    }

    /// Where a literal that opens at `open` closes. The places asked for go up.
    pub(super) fn of<T>(
        &mut self,
        chars: &[T],
        char_of: impl Fn(&T) -> char,
        open: usize,
    ) -> Option<usize> {
        let quote = char_of(&chars[open]);
        let kind = match quote {
            '"' => 0,
            '`' => 1,
            _ => 2,
        };
        let (upto, end) = &mut self.seen[kind];
        if open >= *upto {
            let at_end = |c: char| c == quote || Some(c) == self.stop;
            let mut at = open + 1;
            while let Some(c) = chars.get(at).map(&char_of).filter(|c| !at_end(*c)) {
                at += if c == '\\' { 2 } else { 1 };
            }
            *upto = at.min(chars.len());
            *end = chars.get(at).is_some_and(|c| char_of(c) == quote).then_some(at);
        }
        *end
    }
}

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
        if !chars[at].c.is_whitespace() {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        let run = chars[at..].iter().take_while(|canonical| canonical.c.is_whitespace()).count();
        let (before, after) =
            (out.last().map(|last| last.c), chars.get(at + run).map(|next| next.c));
        if let (Some(before), Some(after)) = (before, after)
            && parts(before, after)
        {
            out.push(Canonical { c: ' ', start: chars[at].start, end: chars[at + run - 1].end });
        }
        at += run;
    }
    out
}

/// Whether white space between two characters means something: it parts two words,
/// or two operators that would become another one.
pub(super) fn parts(before: char, after: char) -> bool {
    is_word(before) && is_word(after) || before == after && "+-&|<>=*/:.".contains(before)
}

/// A character of a word.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str, fold: Fold) -> String {
        canonical(line, fold).into_iter().map(|canonical| canonical.c).collect()
    }

    #[test]
    fn folds_forget_what_they_say() {
        assert_eq!(text("say “hi” – ok…", Fold::LookAlike), "say \"hi\" - ok...");
        assert_eq!(text("cafe\u{301}\u{200b}\u{a0}x", Fold::LookAlike), "café x");
        assert_eq!(text("ｆｏｏ（１）", Fold::LookAlike), "foo(1)");
        assert_eq!(
            text("so — or -- so; i-- and --x", Fold::LookAlike),
            "so - or - so; i-- and --x"
        );
        assert_eq!(text("if ( a  ==  b ) {", Fold::Spacing), "if(a==b){");
        assert_eq!(text("x = 'a  b' ; y", Fold::Spacing), "x='a  b';y");
        assert_eq!(text("return value", Fold::Spacing), "return value");
        assert_eq!(text("a + +b", Fold::Spacing), "a+ +b");
        assert_eq!(text("f('x', `y`);", Fold::Punctuation), "f(\"x\",\"y\")");
        assert_eq!(text("don't, won't", Fold::Punctuation), "don't,won't");
        assert_eq!(text("f(b'x', f'{y}')", Fold::Punctuation), "f(b\"x\",f\"{y}\")");
    }

    #[test]
    fn a_laxer_fold_keeps_what_a_stricter_one_finds_equal() {
        for (a, b) in [("a\u{a0}b", "a b"), ("x = ‘y’", "x = 'y'"), ("naïve", "nai\u{308}ve")]
        {
            for fold in [Fold::LookAlike, Fold::Spacing, Fold::Punctuation] {
                assert!(same(a, b, fold), "{a} {b} {fold:?}");
            }
        }
        assert!(!same("returnvalue", "return value", Fold::Punctuation));
        assert!(!same("x = 'a b'", "x = 'ab'", Fold::Spacing));
    }
}
