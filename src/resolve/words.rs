//! Cuts a text into the words that the judge compares.
//!
//! White space in code separates words and is only noted; white space in a literal is a word.
//! A number with its dots, a date, and a run of equal operators are one word each, and so is each
//! part of a literal between blanks, such as a path, but for the marks around it.

use std::ops::Range;

use crate::language::{Language, TokenKind};
pub(super) use crate::text::is_word_char;

/// A word of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// The white space before it: blanks as they are, or one line break, or two for blank lines.
    pub(super) gap: &'a str,
    /// Whether it is a name in code, and not in a comment or a literal.
    pub(super) is_name: bool,
    /// Whether it is the name of a field, a method or an argument, and no variable: behind a `.`, or
    /// a label.
    pub(super) is_member: bool,
    pub(super) is_comment: bool,
    /// The number of its line in the text, from 0.
    pub(super) line: usize,
}

/// The words of a text.
#[derive(Debug)]
pub(super) struct Words<'a> {
    pub(super) words: Vec<Word<'a>>,
    /// The words of each line that has any.
    pub(super) lines: Vec<Range<usize>>,
}

impl<'a> Words<'a> {
    /// Cuts a text of this language into words.
    pub(super) fn of(text: &'a str, language: Option<&Language>) -> Self {
        let mut cutter = Cutter { words: Vec::new(), gap: "", line: 0, kind: TokenKind::Code };
        match language {
            None => cutter.cut(text),
            Some(language) => {
                for token in language.lex(text).tokens {
                    let piece = &text[token.range];
                    cutter.kind = token.kind;
                    match token.kind {
                        TokenKind::Literal if language.is_lexed() => cutter.cut_literal(piece),
                        _ => cutter.cut(piece),
                    }
                }
            }
        }
        let mut words = cutter.words;
        mark_members(&mut words);
        let mut lines: Vec<Range<usize>> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            match lines.last_mut() {
                Some(last) if words[last.start].line == word.line => last.end = at + 1,
                _ => lines.push(at..at + 1),
            }
        }
        Self { words, lines }
    }

    /// The words of a line, to compare it with others.
    pub(super) fn line_key(&self, line: &Range<usize>) -> Vec<&'a str> {
        self.words[line.clone()].iter().map(|word| word.text).collect()
    }

    /// Each line as its words.
    pub(super) fn line_keys(&self) -> Vec<Vec<&'a str>> {
        self.lines.iter().map(|line| self.line_key(line)).collect()
    }
}

struct Cutter<'a> {
    words: Vec<Word<'a>>,
    gap: &'a str,
    line: usize,
    kind: TokenKind,
}

impl<'a> Cutter<'a> {
    fn push(&mut self, text: &'a str) {
        let is_name = self.kind == TokenKind::Code
            && text.starts_with(|c| is_word_char(c) && !c.is_numeric());
        let is_comment = self.kind == TokenKind::Comment;
        let (gap, line, is_member) = (self.gap, self.line, false);
        self.words.push(Word { text, gap, is_name, is_member, is_comment, line });
        self.gap = "";
    }

    /// Notes white space in code.
    fn skip(&mut self, blanks: &'a str) {
        let breaks = blanks.matches('\n').count();
        self.line += breaks;
        self.gap = match (breaks, self.gap) {
            (0, "") => blanks,
            (0, gap) => gap,
            (1, gap) if !gap.starts_with('\n') => "\n",
            _ => "\n\n",
        };
    }

    /// Cuts code, a comment, or a text of an unknown language.
    fn cut(&mut self, text: &'a str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let len = if first.is_whitespace() {
                let len = run_len(rest, char::is_whitespace);
                self.skip(&rest[..len]);
                len
            } else if is_word_char(first) {
                let len = word_len(rest);
                self.push(&rest[..len]);
                len
            } else {
                let is_single = "()[]{},;\"'`".contains(first);
                let len = match is_single {
                    true => first.len_utf8(),
                    false => run_len(rest, |c| c == first),
                };
                self.push(&rest[..len]);
                len
            };
            rest = &rest[len..];
        }
    }

    /// Cuts a literal: its delimiters, and in between the parts without blanks, and the blanks.
    fn cut_literal(&mut self, text: &'a str) {
        let open = text.find(['"', '\'', '`', '/']).filter(|at| *at < 4).map_or(0, |at| at + 1);
        let (open, rest) = text.split_at(open);
        if !open.is_empty() {
            self.push(open);
        }
        let quote = open.chars().next_back().unwrap_or('"');
        let close = rest.rfind(quote).filter(|at| rest.len() - at <= 4).unwrap_or(rest.len());
        let (mut rest, close) = rest.split_at(close);
        while let Some(first) = rest.chars().next() {
            let is_blank = first.is_whitespace();
            let len = run_len(rest, |c| c.is_whitespace() == is_blank);
            let part = &rest[..len];
            // The indentation of a line in a literal follows from the place.
            let breaks = part.matches('\n').count();
            match is_blank {
                true => self.push(if breaks > 0 { "\n" } else { part }),
                false => self.cut_part(part),
            }
            self.line += breaks;
            rest = &rest[len..];
        }
        if !close.is_empty() {
            self.push(close);
        }
    }

    /// Cuts a part of a literal: the marks around it, by runs of the same, and what they enclose.
    fn cut_part(&mut self, part: &'a str) {
        let start = run_len(part, |c| !is_word_char(c));
        let end = part
            .rfind(is_word_char)
            .map_or(start, |at| at + part[at..].chars().next().map_or(0, char::len_utf8));
        self.cut(&part[..start]);
        if start < end {
            self.push(&part[start..end]);
        }
        self.cut(&part[end..]);
    }
}

/// Marks the names of members: behind `.`, `?.`, `->` or `::`, before `:` in braces, and before `=` in
/// the arguments of a call.
fn mark_members(words: &mut [Word<'_>]) {
    let mut open: Vec<&str> = Vec::new();
    for at in 0..words.len() {
        let text = |at: Option<usize>| at.and_then(|at| words.get(at)).map_or("", |w| w.text);
        let (before, next) = (text(at.checked_sub(1)), text(Some(at + 1)));
        let is_first = before == "," || open.last() == Some(&before);
        let is_label = is_first
            && (next == ":" && open.last() == Some(&"{")
                || next == "=" && open.last() == Some(&"("));
        let is_member = is_label
            || matches!(before, "." | "::")
            || before == ">" && text(at.checked_sub(2)) == "-" && words[at].gap.is_empty();
        match words[at].text {
            bracket @ ("(" | "[" | "{") => open.push(bracket),
            ")" | "]" | "}" => drop(open.pop()),
            _ => words[at].is_member = words[at].is_name && is_member,
        }
    }
}

/// The length of the characters at the start of a text that satisfy a condition.
fn run_len(text: &str, condition: impl Fn(char) -> bool) -> usize {
    text.find(|c| !condition(c)).unwrap_or(text.len())
}

/// The length of the word at the start of a text. A version such as `1.4.2` and a date such as
/// `2026-11-25` are one word.
fn word_len(text: &str) -> usize {
    let mut len = run_len(text, is_word_char);
    let digits = |text: &str| run_len(text, |c| c.is_ascii_digit());
    loop {
        let (word, rest) = text.split_at(len);
        let ends_with_digit = word.ends_with(|c: char| c.is_ascii_digit());
        if ends_with_digit
            && let Some(after) = rest.strip_prefix('.')
            && digits(after) > 0
        {
            len += 1 + run_len(after, is_word_char);
            continue;
        }
        if len == 4
            && digits(word) == 4
            && let Some(month) = rest.strip_prefix('-')
            && digits(month) == 2
            && let Some(day) = month[2..].strip_prefix('-')
            && digits(day) == 2
        {
            len += 6;
        }
        return len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut<'a>(language: &str, text: &'a str) -> Vec<&'a str> {
        let words = Words::of(text, Language::from_name(language));
        words.words.iter().map(|word| word.text).collect()
    }

    #[test]
    fn values_are_one_word_each() {
        assert_eq!(cut("", "v1.4.2, 2026-11-25"), ["v1.4.2", ",", "2026-11-25"]);
        assert_eq!(cut("rust", "0..10"), ["0", "..", "10"]);
        assert_eq!(cut("go", "f(a))"), ["f", "(", "a", ")", ")"]);
        assert_eq!(cut("python", "x = '/a/b c'"), ["x", "=", "'", "/", "a/b", " ", "c", "'"]);
        assert_eq!(
            cut("go", "\"in `.a/<b>/`.\""),
            ["\"", "in", " ", "`", ".", "a/<b", ">", "/", "`", ".", "\""]
        );
        assert_eq!(cut("javascript", "g(\"- a\")"), ["g", "(", "\"", "-", " ", "a", "\"", ")"]);
        assert_eq!(cut("c", "i++ == -1"), ["i", "++", "==", "-", "1"]);
    }
}
