//! Texts that a grammar's scanner must not see. tree-sitter gives a scanner 1,024 bytes to store its
//! state after every token. Most scanners drop what does not fit; two of them write beyond it, or
//! write what they cannot read back, and the parser's assertions then end the process.
//!
//! The bounds are taken from the text alone and hold whatever the parser makes of it, so that they
//! also hold for broken code.

/// Ruby stores the words of all open heredocs, each with its length in one byte.
const MAX_HEREDOC_WORD: usize = u8::MAX as usize;
/// The bytes that Ruby's state may take: for each open heredoc its word and four more, for each
/// open literal five.
const MAX_RUBY_STATE: usize = 1_000;
/// Python stores two bytes for each level of indentation, besides up to 257 bytes for strings.
/// Each level is at least one column wider than the one before.
const MAX_INDENTATION: usize = 380;

/// Whether the scanner of this grammar could end the process on this text.
pub(super) fn would_abort(grammar: &str, text: &str) -> bool {
    match grammar {
        "ruby" => heredocs_overflow(text),
        "python" => widest_indentation(text) > MAX_INDENTATION,
        _ => false,
    }
}

/// Whether the heredocs that a text may open would not fit, were none of them ever closed. A literal
/// is left open only by an interpolation in it. Without heredocs, too many literals are dropped.
fn heredocs_overflow(text: &str) -> bool {
    let interpolations = memchr::memchr_iter(b'#', text.as_bytes())
        .filter(|at| matches!(text.as_bytes().get(at + 1), Some(b'{' | b'@' | b'$')))
        .count();
    let mut total = 5 * (interpolations + 1);
    for at in memchr::memchr_iter(b'<', text.as_bytes()) {
        let Some(rest) = text[at..].strip_prefix("<<") else { continue };
        let word = heredoc_word(rest.strip_prefix(['-', '~']).unwrap_or(rest));
        if word == 0 {
            continue;
        }
        total += 4 + word;
        if word > MAX_HEREDOC_WORD || total > MAX_RUBY_STATE {
            return true;
        }
    }
    false
}

/// The number of bytes of the word of a heredoc at the start of `rest`. Counting ends soon after
/// the longest word that is allowed.
fn heredoc_word(rest: &str) -> usize {
    let mut chars = rest.chars().take(MAX_HEREDOC_WORD + 2);
    match rest.chars().next() {
        Some(quote @ ('\'' | '"' | '`')) => {
            chars.next();
            chars.take_while(|&char| char != quote).count()
        }
        _ => chars.take_while(|&char| crate::text::is_word_char(char)).count(),
    }
}

/// The widest indentation of a text, as Python's scanner counts it: a tab is eight columns, and
/// blanks after a continued line are added to those before.
fn widest_indentation(text: &str) -> usize {
    let (mut widest, mut width) = (0, 0);
    let mut is_leading = true;
    let mut is_continued = false;
    for byte in text.bytes() {
        match byte {
            b'\n' => {
                if !(is_leading && is_continued) {
                    width = 0;
                }
                is_leading = true;
            }
            b'\r' | b'\x0c' => {
                if byte == b'\x0c' || !is_continued {
                    width = 0;
                }
                continue;
            }
            b' ' => width += 1,
            b'\t' => width += 8,
            b'\\' if is_leading => {}
            _ => is_leading = false,
        }
        is_continued = byte == b'\\';
        if is_leading {
            widest = widest.max(width);
        }
    }
    widest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_could_overflow_a_scanner_is_kept_from_it() {
        for (grammar, text, expected) in [
            ("ruby", format!("<<{}\n", "a".repeat(255)), false),
            ("ruby", format!("<<{}\n", "a".repeat(256)), true),
            ("ruby", format!("x = <<~'{}'\n", " ".repeat(256)), true),
            ("ruby", format!("<<<\"{}\"", "é".repeat(256)), true),
            ("ruby", "a << b\n".repeat(5_000), false),
            ("ruby", "<<~SQL\n".repeat(140), false),
            ("ruby", "<<~SQL\n".repeat(150), true),
            ("ruby", "\"#{".repeat(300), false),
            ("ruby", "\"#{".repeat(300) + "<<~A", true),
            ("python", format!("{}x\n", " ".repeat(380)), false),
            ("python", format!("{}x\n", "\t".repeat(48)), true),
            ("python", format!("if a:\n{}x\n", (" ".repeat(40) + "\\\r\n").repeat(10)), true),
            ("python", format!("x = {}1\n", " ".repeat(400)), false),
            ("rust", " ".repeat(1_000), false),
        ] {
            assert_eq!(would_abort(grammar, &text), expected, "{grammar}: {text:?}");
        }
    }
}
