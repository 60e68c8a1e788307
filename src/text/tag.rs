//! Computes the letters of an anchor exactly as other hashline tools do.
//!
//! They stand for `xxh32(content without carriage returns and trailing whitespace) mod 256`. If the
//! line has no letter and no digit, the hash is seeded with the line number, so that closing braces
//! and blank lines get different ids. Whitespace is what JavaScript calls so, not Unicode.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_normalization::char::is_combining_mark;
use xxhash_rust::xxh32::xxh32;

/// The letter for each half of a byte.
pub(crate) const ALPHABET: &[u8; 16] = b"ZPMQVRWSNKTXJBYH";

/// The two letters for a line.
pub fn id(number: usize, content: &str) -> [char; 2] {
    pair(hash(number, &normalize(content)))
}

/// A line with its anchor, as `12#VK|content`.
pub fn render(number: usize, content: &str) -> String {
    let mut out = String::with_capacity(content.len() + 12);
    push(&mut out, number, content);
    out.push('|');
    out.push_str(content);
    out
}

/// Appends the anchor of a line, such as `12#VK`.
pub(crate) fn push(out: &mut String, number: usize, content: &str) {
    let _ = write!(out, "{number}#");
    out.extend(id(number, content));
}

/// Whether `letters` is this line's id, by the current or the older rule.
pub fn matches(number: usize, content: &str, letters: &str) -> bool {
    let has_hash = |hash: u32| letters.chars().eq(pair(hash));
    let without_blanks = || content.chars().filter(|&c| !is_js_whitespace(c)).collect::<String>();
    has_hash(hash(number, &normalize(content))) || has_hash(hash(number, &without_blanks()))
}

/// The hash of a line whose content is normalised already.
fn hash(number: usize, content: &str) -> u32 {
    let seed = if has_word(content) { 0 } else { u32::try_from(number).unwrap_or(u32::MAX) };
    xxh32(content.as_bytes(), seed)
}

/// The two letters for the lowest byte of a hash.
fn pair(hash: u32) -> [char; 2] {
    [letter(hash >> 4), letter(hash)]
}

/// The letter for the lowest four bits of a number.
fn letter(nibble: u32) -> char {
    char::from(ALPHABET[(nibble & 15) as usize])
}

/// The content without carriage returns and trailing whitespace.
fn normalize(content: &str) -> Cow<'_, str> {
    let trimmed = content.trim_end_matches(is_js_whitespace);
    // Carriage returns inside a line are rare, so most lines need no copy.
    if memchr::memchr(b'\r', trimmed.as_bytes()).is_none() {
        return Cow::Borrowed(trimmed);
    }
    Cow::Owned(trimmed.chars().filter(|&c| c != '\r').collect())
}

/// Whether the text has a letter or a number: Unicode's categories L and N.
fn has_word(content: &str) -> bool {
    content
        .chars()
        .any(|c| c.is_ascii_alphanumeric() || !c.is_ascii() && (c.is_numeric() || is_letter(c)))
}

/// Whether a character is in Unicode's category L. Rust's `is_alphabetic` also accepts combining marks
/// and circled letters, which are not.
fn is_letter(c: char) -> bool {
    let circled = matches!(c, '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f149}'
        | '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}');
    c.is_alphabetic() && !circled && !is_combining_mark(c)
}

/// Whether JavaScript's `trimEnd` and `\s` treat a character as whitespace.
fn is_js_whitespace(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202f}'
                | '\u{205f}'
                | '\u{3000}'
                | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(letters: [char; 2]) -> String {
        letters.iter().collect()
    }

    #[test]
    fn all_208_vectors_of_the_wire_format() {
        let vectors: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../tests/it/data/hashline_vectors.json"))
                .expect("vectors");
        assert_eq!(vectors.len(), 208);
        for vector in &vectors {
            let number = usize::try_from(vector["line"].as_u64().expect("line")).expect("small");
            let content = vector["content"].as_str().expect("content");
            assert_eq!(text(id(number, content)), vector["hash"], "{vector}");
            let legacy = vector["legacy"].as_str().expect("letters");
            assert!(matches(number, content, legacy), "{vector}");
        }
    }

    #[test]
    fn marks_and_circled_letters_are_no_letters() {
        for c in ['\u{345}', '\u{903}', 'Ⓐ', '🅰', '_', '$', '😀'] {
            assert!(!has_word(&c.to_string()), "{c:?}");
        }
        for c in ['²', 'Ⅷ', '٣', 'é', '日', 'ª', 'ʰ'] {
            assert!(has_word(&c.to_string()), "{c:?}");
        }
    }
}
