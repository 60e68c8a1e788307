//! Escapes untrusted text for display, so that no file name can be mistaken for other text and no
//! control character reaches a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is escaped: control characters but tab and line feed, and invisible
/// characters that change how the text around them is read.
fn needs_escape(c: char) -> bool {
    let is_invisible = matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    is_invisible || c.is_control() && !matches!(c, '\t' | '\n')
}

/// Text for a terminal, with control characters escaped.
pub fn escape_for_terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(needs_escape) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // A Windows line ending.
            '\r' if chars.peek() == Some(&'\n') => out.push(c),
            c if needs_escape(c) => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A path or another name, in the form in which it is shown to people and models: as it is, or in
/// quotes and escaped if it has characters that could be taken for something else.
pub fn quote_name(name: &str) -> Cow<'_, str> {
    let must_escape = |c: char| c == '\n' || c == '\t' || needs_escape(c);
    match name.contains(must_escape) {
        false => Cow::Borrowed(name),
        true => {
            let mut out = String::from("\"");
            for c in name.chars() {
                match c {
                    '"' | '\\' => out.extend(['\\', c]),
                    '\n' => out.push_str("\\n"),
                    '\t' => out.push_str("\\t"),
                    '\r' => out.push_str("\\r"),
                    c if needs_escape(c) => {
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
    fn control_characters_are_escaped_and_the_rest_stays() {
        for plain in ["a\tb\n", "one\r\ntwo", "ünï 日本 😀", ""] {
            assert_eq!(escape_for_terminal(plain), plain);
        }
        assert_eq!(
            escape_for_terminal("a\x1b]0;t\x07\u{9b}1m\u{202e}\rb"),
            "a\\u{1b}]0;t\\u{7}\\u{9b}1m\\u{202e}\\u{d}b"
        );
        assert_eq!(quote_name("plain name.rs"), "plain name.rs");
        assert_eq!(quote_name("a\nb\"\x1b"), r#""a\nb\"\u001b""#);
    }
}
