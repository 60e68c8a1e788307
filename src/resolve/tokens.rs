//! Words and marks of a text, and the blanks between them.

/// One token: a word, or a single mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// The white space before it.
    pub(super) gap: &'a str,
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || c == '\u{200d}'
}

/// The tokens of a text, and the white space after the last.
pub(super) fn tokens(text: &str) -> (Vec<Token<'_>>, &str) {
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let gap_len = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let (gap, rest) = rest.split_at(gap_len);
        let Some(first) = rest.chars().next() else { return (out, gap) };
        let len = if is_word(first) {
            rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        out.push(Token { text: &rest[..len], gap });
        at += gap_len + len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_tokens_and_gaps() {
        for text in ["", "  ", "let x_1 = 'é+b';\n\tnext ", "日本 a😀b"] {
            let (tokens, tail) = tokens(text);
            let back: String = tokens.iter().flat_map(|t| [t.gap, t.text]).collect();
            assert_eq!(back + tail, text);
        }
        assert_eq!(tokens("a1.b_2").0.len(), 3);
    }
}
