//! Checks the indentation of a text, for languages in which it is syntax.

use super::{Lexed, TokenKind};

/// The first line whose indentation is not valid: its offset, and what is wrong. The line after one
/// that opens a block is indented further, no other line is, and a dedent returns to an open level.
/// Lines within brackets and literals may have any indentation.
pub(super) fn first_error(lexed: &Lexed, text: &str) -> Option<(usize, &'static str)> {
    let mut levels: Vec<&str> = vec![""];
    let mut depth = 0_usize;
    // The last character of the statement before; `"` stands for a literal.
    let mut last_char = None;
    let mut tokens = lexed.tokens.as_slice();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let body = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - body.len()];
        let first = start + indent.len();
        tokens = &tokens[tokens.iter().take_while(|token| token.range.end <= start).count()..];
        let is_blank = body.trim().is_empty();
        let first_token = tokens.iter().find(|token| token.range.end > first);
        let is_comment = first_token.is_some_and(|token| token.kind == TokenKind::Comment);
        let inside_literal = tokens
            .first()
            .is_some_and(|token| token.kind == TokenKind::Literal && token.range.start < start);
        let is_continuation = inside_literal || depth > 0 || last_char == Some('\\');
        if !is_continuation && !is_blank && !is_comment {
            let top = levels.last().copied().unwrap_or_default();
            if last_char == Some(':') {
                if ![1, 8].into_iter().all(|tab| column(indent, tab) > column(top, tab)) {
                    return Some((
                        first,
                        "this line is not indented further than the one that opens its block",
                    ));
                }
                levels.push(indent);
            } else {
                while levels.last().is_some_and(|level| level.len() > indent.len()) {
                    levels.pop();
                }
                if levels.last() != Some(&indent) {
                    return Some((
                        first,
                        "the indentation of this line matches no enclosing block",
                    ));
                }
            }
            last_char = None;
        }
        for token in tokens.iter().take_while(|token| token.range.start < at) {
            let part = &text[token.range.start.max(start)..token.range.end.min(at)];
            match token.kind {
                TokenKind::Comment => {}
                TokenKind::Literal if part.trim().is_empty() => {}
                TokenKind::Literal => last_char = Some('"'),
                TokenKind::Code => {
                    for c in part.chars().filter(|c| !c.is_whitespace()) {
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
    }
    (last_char == Some(':')).then_some((text.len(), "an indented block is missing"))
}

/// The column that an indentation reaches with tabs of this width. Python wants a block to be deeper
/// whatever the width.
fn column(indent: &str, tab: usize) -> usize {
    indent.bytes().fold(0, |at, byte| if byte == b'\t' { (at / tab + 1) * tab } else { at + 1 })
}

#[cfg(test)]
mod tests {
    use crate::language::Language;

    #[test]
    fn a_statement_is_as_deep_as_its_block() {
        let python = Language::from_name("python").expect("known");
        for (text, wanted) in [
            ("", None),
            ("a = 1\n", None),
            ("def f():\n    a = 1\n\n    b = 2\nx = 1\n", None),
            (
                "def f():  # why: this\n    \"\"\"Text:\n  at any depth\n    \"\"\"\n    return {\n  'a':\n1}\n",
                None,
            ),
            ("if a:\n  if b:\n    c\n  d\nelse:\n\te\n", None),
            ("x = 1 + \\\n      2\n# a comment\n    # anywhere\ny: int = 3\n", None),
            ("class A: ...\n", None),
            ("if a: b\nelse: c\n", None),
            ("@d\nasync def f():\n\tif a:\n\t\tb; c\n\telse:\n\t\td\n", None),
            ("try:\n    a\nexcept (B, C):\n    d\nfinally:\n    e\n", None),
            ("match a:\n    case 1:\n        b\n    case _:\n        c\n", None),
            ("if x:\n# c\n    y\n", None),
            ("with a as b, \\\n   c as d:\n    e\n\n\nf = lambda: 1\n", None),
            ("\u{c}\nclass A:\n    b: int = 1\n\n    @property\n    def c(self): ...\n", None),
            ("def f():\na = 1\n", Some(2)),
            ("class A:\n    def f(self):\n    y = 2\n", Some(3)),
            ("def f():\n  x = 1\n    y = 2\n", Some(3)),
            ("def f():\n    a = 1\nb = 2\n    return b\n", Some(4)),
            ("  a = 1\n", Some(1)),
            ("if a:\n    b\n  c\n", Some(3)),
            ("if a:\n    b\n  else:\n    c\n", Some(3)),
            ("def f():\n", Some(2)),
        ] {
            let found =
                python.misindented(text).map(|(at, _)| text[..at].matches('\n').count() + 1);
            assert_eq!(found, wanted, "{text}");
            assert_eq!(python.is_well_formed(text), wanted.is_none(), "{text}");
        }
    }
}
