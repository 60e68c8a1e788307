//! The two letters of a line, byte-compatible with the hashline tools in the field.
//!
//! `xxh32(content without carriage returns and trailing blanks) mod 256`, seeded with
//! the line number when the line has no letter and no digit, so that closing braces
//! and blank lines get different ids. Blanks are JavaScript's, not Unicode's.

use xxhash_rust::xxh32::xxh32;

const ALPHABET: &[u8; 16] = b"ZPMQVRWSNKTXJBYH";

/// The id of a line.
pub fn id(number: usize, content: &str) -> [char; 2] {
    let clean: String = content.chars().filter(|&c| c != '\r').collect();
    letters(number, clean.trim_end_matches(is_js_blank))
}

/// The id by the older rule, which drops all white space first.
pub fn legacy_id(number: usize, content: &str) -> [char; 2] {
    let clean: String = content.chars().filter(|&c| !is_js_blank(c)).collect();
    letters(number, &clean)
}

/// `12#VK|content`
pub fn render(number: usize, content: &str) -> String {
    let [a, b] = id(number, content);
    format!("{number}#{a}{b}|{content}")
}

fn letters(number: usize, content: &str) -> [char; 2] {
    let has_word = content.chars().any(char::is_alphanumeric);
    let seed = if has_word { 0 } else { u32::try_from(number).unwrap_or(u32::MAX) };
    let hash = xxh32(content.as_bytes(), seed) & 0xFF;
    let letter = |nibble: u32| char::from(ALPHABET[(nibble & 15) as usize]);
    [letter(hash >> 4), letter(hash)]
}

/// What JavaScript's `trimEnd` and `\s` take for white space.
fn is_js_blank(c: char) -> bool {
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

    #[test]
    fn known_vectors() {
        let tag = |n, s: &str| id(n, s).iter().collect::<String>();
        for (number, content, expected) in [
            (1, "", "KM"),
            (14, "", "BY"),
            (1, "}", "PS"),
            (2, "}", "RT"),
            (9, "function hello() {", "RM"),
            (9, "\treturn x;", "ZM"),
            (9, "const x = 1;  \r", "BP"),
            (1, "😀", "PV"),
            (9, "x\u{feff}", "YT"),
            (9, "x\u{85}", "MH"),
        ] {
            assert_eq!(tag(number, content), expected, "{content:?}");
        }
        assert_eq!(legacy_id(9, "function hello() {").iter().collect::<String>(), "VM");
    }
}
