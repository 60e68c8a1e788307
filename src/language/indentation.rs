//! Checks the indentation of a text, for languages in which it is syntax.

use super::{Lexed, TokenKind};

/// Whether the indentation of every statement is valid: the line after one that opens a block is
/// indented further, no other line is, and a dedent returns to an open level. Lines within brackets
/// and literals may have any indentation.
pub(super) fn is_well_formed(lexed: &Lexed, text: &str) -> bool {
    let mut levels: Vec<&str> = vec![""];
    let mut depth = 0_usize;
    // The last character of the statement before; `"` stands for a literal.
    let mut last_char = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let body = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - body.len()];
        let first = start + indent.len();
        let inside_literal = {
            let next = lexed.tokens.partition_point(|token| token.range.end <= start);
            lexed
                .tokens
                .get(next)
                .is_some_and(|token| token.kind == TokenKind::Literal && token.range.start < start)
        };
        let is_blank = body.trim().is_empty();
        let is_continuation = inside_literal || depth > 0 || last_char == Some('\\');
        if !is_continuation && !is_blank && lexed.kind_at(first) != TokenKind::Comment {
            let top = levels.last().copied().unwrap_or_default();
            if last_char == Some(':') {
                if indent.len() <= top.len() || !indent.starts_with(top) {
                    return false;
                }
                levels.push(indent);
            } else {
                while levels.last().is_some_and(|level| level.len() > indent.len()) {
                    levels.pop();
                }
                if levels.last() != Some(&indent) {
                    return false;
                }
            }
            last_char = None;
        }
        for (offset, c) in line.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            match lexed.kind_at(start + offset) {
                TokenKind::Comment => {}
                TokenKind::Literal => last_char = Some('"'),
                TokenKind::Code => {
                    match c {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    last_char = Some(c);
                }
            }
        }
    }
    last_char != Some(':')
}

#[cfg(test)]
mod tests {
    use crate::language::Language;

    #[test]
    fn well_formed_indentation_is_recognised() {
        let python = Language::from_name("python").expect("known");
        for text in [
            "a = 1\n",
            "def f():\n    a = 1\n\n    b = 2\nx = 1\n",
            "def f():  # why: this\n    \"\"\"Text:\n  at any depth\n    \"\"\"\n    return {\n  'a':\n1}\n",
            "if a:\n  if b:\n    c\n  d\nelse:\n\te\n",
            "x = 1 + \\\n      2\n# a comment\n    # anywhere\ny: int = 3\n",
            "class A: ...\n",
            "",
        ] {
            assert!(python.is_well_formed(text), "{text}");
        }
        for text in [
            "def f():\na = 1\n",
            "def f():\n    a = 1\nb = 2\n    return b\n",
            "  a = 1\n",
            "if a:\n    b\n  c\n",
            "def f():\n",
            "def f():\ndef f():\n    return 1\n",
        ] {
            assert!(!python.is_well_formed(text), "{text}");
        }
    }
}
