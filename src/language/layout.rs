//! Whether the indentation of a text is well formed, for languages in which it is syntax.

use super::{Kind, Lexed};

/// Whether every statement is where one can be: a line that opens a block is followed
/// by a deeper one, no other line goes deeper, and a line that goes back meets a level that
/// is open. Lines within brackets and literals have no indentation of their own.
pub(super) fn holds(lexed: &Lexed, text: &str) -> bool {
    let mut levels: Vec<&str> = vec![""];
    let mut depth = 0_usize;
    // The last character of code of the statement before.
    let mut last = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let body = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - body.len()];
        let first = start + indent.len();
        let inside_literal = {
            let token = lexed.tokens.partition_point(|token| token.range.end <= start);
            lexed
                .tokens
                .get(token)
                .is_some_and(|token| token.kind == Kind::Literal && token.range.start < start)
        };
        let is_blank = body.trim().is_empty();
        let goes_on = inside_literal || depth > 0 || last == Some('\\');
        if !goes_on && !is_blank && lexed.kind_at(first) != Kind::Comment {
            let top = levels.last().copied().unwrap_or_default();
            if last == Some(':') {
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
            last = None;
        }
        for (offset, c) in line.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            match lexed.kind_at(start + offset) {
                Kind::Comment => {}
                Kind::Literal => last = Some('"'),
                Kind::Code => {
                    match c {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    last = Some(c);
                }
            }
        }
    }
    last != Some(':')
}

#[cfg(test)]
mod tests {
    use crate::language::Language;

    #[test]
    fn statements_are_where_they_can_be() {
        let python = Language::named("python").expect("known");
        for text in [
            "a = 1\n",
            "def f():\n    a = 1\n\n    b = 2\nx = 1\n",
            "def f():  # why: this\n    \"\"\"Text:\n  at any depth\n    \"\"\"\n    return {\n  'a':\n1}\n",
            "if a:\n  if b:\n    c\n  d\nelse:\n\te\n",
            "x = 1 + \\\n      2\n# a comment\n    # anywhere\ny: int = 3\n",
            "class A: ...\n",
            "",
        ] {
            assert!(python.is_whole(text), "{text}");
        }
        for text in [
            "def f():\na = 1\n",
            "def f():\n    a = 1\nb = 2\n    return b\n",
            "  a = 1\n",
            "if a:\n    b\n  c\n",
            "def f():\n",
            "def f():\ndef f():\n    return 1\n",
        ] {
            assert!(!python.is_whole(text), "{text}");
        }
    }
}
