//! Checks the indentation of a text, for languages in which it is syntax.

use super::{Lexed, TokenKind};

/// The lines whose indentation is not valid: the offset of each, and what is wrong. The line after one
/// that opens a block is indented further, no other line is, and a dedent returns to an open level.
/// Lines within brackets and literals may have any indentation. Of a block without a body, the line
/// that opens it is named: what comes below may be right.
pub(super) fn errors(lexed: &Lexed, text: &str) -> Vec<(usize, &'static str)> {
    const NO_BODY: &str = "the block that this line opens has no indented line below it";
    let mut found = Vec::new();
    let mut levels: Vec<&str> = vec![""];
    // Where the statement begins that may open a block.
    let mut opener = 0;
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
            let opens_block = last_char == Some(':');
            let is_deeper = [1, 8].into_iter().all(|tab| column(indent, tab) > column(top, tab));
            if opens_block && !is_deeper {
                found.push((opener, NO_BODY));
            }
            if !opens_block || !is_deeper {
                while levels.last().is_some_and(|level| level.len() > indent.len()) {
                    levels.pop();
                }
            }
            if levels.last() != Some(&indent) {
                if !opens_block {
                    found.push((first, "the indentation of this line matches no enclosing block"));
                }
                // So that the lines beside this one are no further errors.
                levels.push(indent);
            }
            opener = first;
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
    if last_char == Some(':') {
        found.push((opener, NO_BODY));
    }
    found
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
            ("", &[][..]),
            ("a = 1\n", &[]),
            ("def f():\n    a = 1\n\n    b = 2\nx = 1\n", &[]),
            (
                "def f():  # why: this\n    \"\"\"Text:\n  at any depth\n    \"\"\"\n    return {\n  'a':\n1}\n",
                &[],
            ),
            ("if a:\n  if b:\n    c\n  d\nelse:\n\te\n", &[]),
            ("x = 1 + \\\n      2\n# a comment\n    # anywhere\ny: int = 3\n", &[]),
            ("class A: ...\n", &[]),
            ("if a: b\nelse: c\n", &[]),
            ("@d\nasync def f():\n\tif a:\n\t\tb; c\n\telse:\n\t\td\n", &[]),
            ("try:\n    a\nexcept (B, C):\n    d\nfinally:\n    e\n", &[]),
            ("match a:\n    case 1:\n        b\n    case _:\n        c\n", &[]),
            ("if x:\n# c\n    y\n", &[]),
            ("with a as b, \\\n   c as d:\n    e\n\n\nf = lambda: 1\n", &[]),
            ("\u{c}\nclass A:\n    b: int = 1\n\n    @property\n    def c(self): ...\n", &[]),
            ("def f():\na = 1\n", &[1]),
            ("class A:\n    def f(self):\n    y = 2\n", &[2]),
            ("def f():\n  x = 1\n    y = 2\n", &[3]),
            ("def f():\n    a = 1\nb = 2\n    return b\n", &[4]),
            ("  a = 1\n", &[1]),
            ("if a:\n    b\n  c\n", &[3]),
            ("if a:\n    b\n  else:\n    c\n", &[3]),
            ("def f():\nclass A:\n  a = 1\n\n  def g():\n  b = 2\n c = 3\n", &[1, 5, 7]),
            ("def f(a,\n      b):\n\n", &[1]),
        ] {
            let found = python.misindented(text);
            let line = |(at, _): &(usize, _)| text[..*at].matches('\n').count() + 1;
            assert_eq!(found.iter().map(line).collect::<Vec<_>>(), wanted, "{text}");
            assert_eq!(python.is_well_formed(text), wanted.is_empty(), "{text}");
        }
    }
}
