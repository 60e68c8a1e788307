//! Displaying untrusted text: names that cannot be mistaken for something else, and no control
//! characters on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Control characters, and those that change the reading direction; not tabs and line ends.
fn steers(c: char) -> bool {
    let turns = matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    turns || c.is_control() && !matches!(c, '\t' | '\n')
}

/// Text for a terminal: what would steer it is shown as an escape.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // The end of a line in files of Windows.
            '\r' if chars.peek() == Some(&'\n') => out.push(c),
            c if steers(c) => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A file's name in a text for people and models: as it is, or in quotes with escapes where
/// it has characters that could be taken for something else.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c == '\n' || c == '\t' || steers(c);
    match name.contains(is_odd) {
        false => Cow::Borrowed(name),
        true => {
            let mut out = String::from("\"");
            for c in name.chars() {
                match c {
                    '"' | '\\' => out.extend(['\\', c]),
                    '\n' => out.push_str("\\n"),
                    '\t' => out.push_str("\\t"),
                    '\r' => out.push_str("\\r"),
                    c if steers(c) => {
                        let _ = write!(out, "\\u{:04x}", u32::from(c));
                    }
                    c => out.push(c),
                }
            }
            out.push('"');
            Cow::Owned(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_the_rest_stays() {
        for plain in ["a\tb\n", "one\r\ntwo", "ünï 日本 😀", ""] {
            assert_eq!(visible(plain), plain);
        }
        assert_eq!(
            visible("a\x1b]0;t\x07\u{9b}1m\u{202e}\rb"),
            "a\\u{1b}]0;t\\u{7}\\u{9b}1m\\u{202e}\\u{d}b"
        );
        assert_eq!(quoted("plain name.rs"), "plain name.rs");
        assert_eq!(quoted("a\nb\"\x1b"), r#""a\nb\"\u001b""#);
    }
}
