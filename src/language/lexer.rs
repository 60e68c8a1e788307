//! The lexer: cuts a text into code, comments and literals, and checks whether brackets and
//! literals are closed.
//!
//! It needs one pass, in linear time. What differs between languages beyond the table (lifetimes, raw
//! strings, template interpolations, regular expressions, here-documents) is decided by the language's name.

use std::ops::{ControlFlow, Range};

use super::{Language, Nesting, Quote, QuoteEscape, QuoteExtent};
use crate::text::is_word_char;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// What is neither a comment nor a literal.
    Code,
    /// A comment, delimiters included.
    Comment,
    /// A string, a character or a regular expression, delimiters included.
    Literal,
}

/// A piece of a text that is code, a comment or a literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is, in bytes.
    pub range: Range<usize>,
}

/// A text cut into tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexed {
    /// The tokens, in order, without gaps.
    pub tokens: Vec<Token>,
    /// Whether every literal and block comment is closed.
    pub closed: bool,
    /// Whether every bracket of the code has its partner.
    pub balanced: bool,
    /// The brackets of the code that have no partner.
    pub unmatched: Vec<u8>,
}

impl Lexed {
    /// The kind of the token that has the byte at `offset`.
    pub fn kind_at(&self, offset: usize) -> TokenKind {
        let at = self.tokens.partition_point(|token| token.range.end <= offset);
        self.tokens.get(at).map_or(TokenKind::Code, |token| token.kind)
    }

    /// The kind of the token that begins before `offset` and goes on there; code where none does.
    pub fn kind_across(&self, offset: usize) -> TokenKind {
        let at = self.tokens.partition_point(|token| token.range.end <= offset);
        let token = self.tokens.get(at).filter(|token| token.range.start < offset);
        token.map_or(TokenKind::Code, |token| token.kind)
    }

    /// Whether literals and comments are closed and brackets balanced.
    pub fn is_well_formed(&self) -> bool {
        self.closed && self.balanced
    }
}

/// Lexes a text.
pub(super) fn lex(language: &Language, text: &str) -> Lexed {
    let mut lexer = Lexer::new(language, text);
    lexer.run(|_| ControlFlow::Continue(()));
    lexer.finish()
}

/// Calls `visit` at the start of each line that begins in code and outside of brackets, until it
/// breaks. Its arguments are the offset of the line, and a function for the end of the last code or
/// literal before it. `false` if a literal, a comment or a bracket up to there is not closed.
pub(super) fn visit_top_lines(
    language: &Language,
    text: &str,
    mut visit: impl FnMut(usize, &dyn Fn() -> usize) -> ControlFlow<()>,
) -> bool {
    let mut lexer = Lexer::new(language, text);
    lexer.is_visited = true;
    lexer.run(|lexer| {
        if !lexer.closed || !lexer.balanced {
            return ControlFlow::Break(());
        }
        match lexer.brackets.is_empty() && lexer.interpolations.is_empty() {
            true => visit(lexer.at, &|| lexer.last_code_end()),
            false => ControlFlow::Continue(()),
        }
    });
    lexer.closed && lexer.balanced
}

struct Lexer<'a> {
    language: &'a Language,
    text: &'a str,
    /// Whether each byte may begin something else than plain code.
    starts: [Start; 256],
    /// Whether the starts of lines are visited.
    is_visited: bool,
    /// The offset of the next byte to read.
    at: usize,
    /// Where the code that is not yet a token begins.
    code_start: usize,
    tokens: Vec<Token>,
    /// Where the last code or literal among the tokens ends, white space not counted.
    code_end: usize,
    closed: bool,
    /// The brackets that are open, and whether each begins the condition of a statement such as `if`.
    brackets: Vec<(u8, bool)>,
    /// Whether the last bracket that closed ended such a condition.
    condition_ended: bool,
    balanced: bool,
    /// For each open `${` of a template literal, how many brackets were open before it.
    interpolations: Vec<usize>,
    /// For each here-document begun on this line, the word that ends it.
    heredocs: Vec<String>,
    /// How many bytes were read for literals that turned out not to be closed.
    wasted: usize,
}

/// If more than this many times the bytes of the text were read for literals that are not closed, the
/// others count as not closed, too. Else a line of openings would take the time of its square.
const MAX_WASTE: usize = 64;

/// The most bytes of a number.
const MAX_NUMBER: usize = 64;

/// The most characters after the backslash of an escaped character literal.
const MAX_CHAR_ESCAPE: usize = 12;

/// What a byte may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Nothing: it is plain code.
    Nothing,
    /// A comment, a literal or a bracket.
    Token,
    /// A bracket and nothing else.
    Bracket,
    /// The letter before the quotes of a raw literal.
    Raw,
    /// A new line.
    Line,
}

impl Language {
    /// What each byte may begin in this language.
    fn starts(&self) -> [Start; 256] {
        let mut starts = [Start::Nothing; 256];
        let raw = match self.name {
            "rust" => Some(b'r'),
            "c++" => Some(b'R'),
            _ => None,
        };
        let others: &[u8] = match self.name {
            "rust" | "c" | "c++" => b"'",
            "javascript" | "typescript" => b"/`}",
            "shell" => b"<\\",
            _ => b"",
        };
        for &byte in b"()[]{}" {
            starts[usize::from(byte)] = Start::Bracket;
        }
        let openers = self.comment_openers().chain(self.quotes.iter().map(|quote| quote.open));
        for byte in openers.filter_map(|open| open.bytes().next()) {
            starts[usize::from(byte)] = Start::Token;
        }
        for &byte in others {
            starts[usize::from(byte)] = Start::Token;
        }
        if let Some(raw) = raw {
            starts[usize::from(raw)] = Start::Raw;
        }
        starts[usize::from(b'\n')] = Start::Line;
        starts
    }
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of a text.
    fn new(language: &'a Language, text: &'a str) -> Self {
        Self {
            language,
            text,
            starts: language.starts(),
            is_visited: false,
            at: 0,
            code_start: 0,
            tokens: Vec::new(),
            code_end: 0,
            closed: true,
            brackets: Vec::new(),
            condition_ended: false,
            balanced: true,
            interpolations: Vec::new(),
            heredocs: Vec::new(),
            wasted: 0,
        }
    }

    /// Reads the text to its end, or until `visit`, called at the starts of lines that begin in
    /// code, breaks.
    fn run(&mut self, mut visit: impl FnMut(&Self) -> ControlFlow<()>) {
        let bytes = self.text.as_bytes();
        loop {
            let starts = &self.starts;
            let begins = |byte: &u8| starts[usize::from(*byte)] != Start::Nothing;
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some(code) = rest.iter().position(begins) else { return };
            self.at += code;
            let byte = bytes[self.at];
            match self.starts[usize::from(byte)] {
                Start::Bracket => {
                    self.track_bracket(byte);
                    self.at += 1;
                    continue;
                }
                Start::Raw => {
                    if !self.push_raw() {
                        self.at += 1;
                    }
                    continue;
                }
                Start::Line if self.heredocs.is_empty() => {
                    self.at += 1;
                    if self.is_visited && visit(self).is_break() {
                        return;
                    }
                    continue;
                }
                Start::Line => {
                    self.push_heredocs();
                    continue;
                }
                Start::Nothing | Start::Token => {}
            }
            let rest = &self.text[self.at..];
            // A call that returns `true` has advanced `self.at`.
            if !self.push_comment(rest, byte) && !self.push_literal(rest, byte) {
                self.track_bracket(byte);
                self.at += 1;
            }
        }
    }

    /// The end of the last code or literal before here; 0 if there is none.
    fn last_code_end(&self) -> usize {
        let code = self.text[self.code_start..self.at].trim_end();
        if code.is_empty() { self.code_end } else { self.code_start + code.len() }
    }

    /// The result, once the whole text is read.
    fn finish(mut self) -> Lexed {
        self.push_code(self.text.len());
        let balanced = self.balanced && self.brackets.is_empty() && self.interpolations.is_empty();
        let unmatched = self.brackets.into_iter().map(|(bracket, _)| bracket).collect();
        Lexed { tokens: self.tokens, closed: self.closed, balanced, unmatched }
    }

    /// Adds a token. Where the starts of lines are visited, only the last one that is not a comment is
    /// asked for.
    fn add(&mut self, token: Token) {
        if self.is_visited {
            if token.kind == TokenKind::Comment {
                return;
            }
            self.tokens.clear();
        }
        self.tokens.push(token);
    }

    /// Adds a token for the code that ends at `to`, if there is any.
    fn push_code(&mut self, to: usize) {
        if self.code_start < to {
            let code = self.text[self.code_start..to].trim_end();
            if !code.is_empty() {
                self.code_end = self.code_start + code.len();
            }
            self.add(Token { kind: TokenKind::Code, range: self.code_start..to });
        }
        self.code_start = to;
    }

    /// Adds a token from `self.at` to `end`.
    fn push(&mut self, kind: TokenKind, end: usize) {
        self.push_code(self.at);
        if kind == TokenKind::Literal {
            self.code_end = end;
        }
        self.add(Token { kind, range: self.at..end });
        self.at = end;
        self.code_start = end;
    }

    /// Reads the comment that begins here; `false` if none does.
    fn push_comment(&mut self, rest: &str, byte: u8) -> bool {
        let language = self.language;
        for block in language.block_comments {
            if let Some(inside) = rest.strip_prefix(block.open) {
                let end = match block.nesting {
                    Nesting::Flat => inside.find(block.close).map(|at| at + block.close.len()),
                    Nesting::Nested => nested_end(inside, block.open, block.close),
                };
                self.closed &= end.is_some();
                let end = end.map_or(self.text.len(), |end| self.at + block.open.len() + end);
                self.push(TokenKind::Comment, end);
                return true;
            }
        }
        for mark in language.line_comments {
            if !rest.starts_with(mark) || byte == b'#' && !self.can_start_hash_comment() {
                continue;
            }
            let end =
                memchr::memchr(b'\n', rest.as_bytes()).map_or(self.text.len(), |n| self.at + n);
            self.push(TokenKind::Comment, end);
            return true;
        }
        false
    }

    /// Whether a `#` can open a comment here: in a shell and its like, not inside a word.
    fn can_start_hash_comment(&self) -> bool {
        if matches!(self.language.name, "python" | "toml") {
            return true;
        }
        let before = self.text[..self.at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '(' | ')'))
    }

    /// Reads a literal, or a part of code that could be taken for one; `false` if neither is here.
    fn push_literal(&mut self, rest: &str, byte: u8) -> bool {
        match (self.language.name, byte) {
            ("rust", b'\'') => {
                let len = char_literal_len(rest);
                if let Some(len) = len {
                    self.push(TokenKind::Literal, self.at + len);
                } else {
                    self.at += 1;
                }
                return true;
            }
            ("javascript" | "typescript", b'/') if self.expects_value() => {
                let len = if self.is_spent() { None } else { regex_len(rest) };
                let Some(len) = len else {
                    self.waste(rest);
                    return false;
                };
                self.push(TokenKind::Literal, self.at + len);
                return true;
            }
            ("javascript" | "typescript", b'}')
                if self.interpolations.last() == Some(&self.brackets.len()) =>
            {
                self.interpolations.pop();
                self.push_template(1);
                return true;
            }
            ("javascript" | "typescript", b'`') => {
                self.push_template(1);
                return true;
            }
            ("shell", b'<') => {
                if let Some(word) = heredoc_word(rest) {
                    self.heredocs.push(word);
                }
                return false;
            }
            ("shell", b'\\') => {
                self.at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                return true;
            }
            // A digit separator, not a character, as in `1'000`. In `L'x'` the quote opens one.
            ("c++" | "c", b'\'') if self.is_inside_number() => {
                self.at += 1;
                return true;
            }
            _ => {}
        }
        let Some(quote) = self.language.quotes.iter().find(|quote| rest.starts_with(quote.open))
        else {
            return false;
        };
        let may_end = quote.extent == QuoteExtent::Lines || !self.is_spent();
        match if may_end { literal_len(rest, quote) } else { None } {
            Some(len) => self.push(TokenKind::Literal, self.at + len),
            None if quote.extent == QuoteExtent::Lines => {
                self.closed = false;
                self.push(TokenKind::Literal, self.text.len());
            }
            // An apostrophe or an unclosed literal: what follows the quote is code.
            None => {
                self.closed = false;
                self.waste(rest);
                self.at += quote.open.len();
            }
        }
        true
    }

    /// Counts the line that was read for a literal which is not closed on it.
    fn waste(&mut self, rest: &str) {
        if !self.is_spent() {
            self.wasted += memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        }
    }

    /// Whether no more lines are read for literals.
    fn is_spent(&self) -> bool {
        self.wasted > MAX_WASTE * self.text.len()
    }

    /// Reads the raw literal whose letter is here; one that is not closed extends to the end of the
    /// text. `false` if there is none.
    fn push_raw(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        // Nearly every such letter is inside a word.
        if !matches!(bytes.get(self.at + 1), Some(b'"' | b'#')) {
            return false;
        }
        let is_rust = self.language.name == "rust";
        let start = match self.at.checked_sub(1).filter(|_| self.is_inside_word(self.at)) {
            None => self.at,
            // `br"…"` and `cr"…"`
            Some(prefix)
                if is_rust
                    && matches!(bytes[prefix], b'b' | b'c')
                    && !self.is_inside_word(prefix) =>
            {
                prefix
            }
            Some(_) => return false,
        };
        let rest = &self.text[start..];
        let raw = if is_rust { rust_raw_string(rest) } else { cpp_raw_string(rest) };
        let Some(raw) = raw else { return false };
        self.at = start;
        let len = match raw {
            RawLiteral::Closed(len) => len,
            RawLiteral::Unclosed => {
                self.closed = false;
                self.text.len() - self.at
            }
        };
        self.push(TokenKind::Literal, self.at + len);
        true
    }

    /// Whether the character before an offset is part of a word.
    fn is_inside_word(&self, at: usize) -> bool {
        let before = self.text.as_bytes()[..at].last();
        before.is_some_and(|byte| match byte.is_ascii() {
            true => byte.is_ascii_alphanumeric() || *byte == b'_',
            false => self.text[..at].ends_with(char::is_alphanumeric),
        })
    }

    /// Whether the word before begins with a digit.
    fn is_inside_number(&self) -> bool {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let mut from = self.at.saturating_sub(MAX_NUMBER).max(self.code_start);
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        let before = &self.text[from..self.at];
        let start = before.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
        let start = (start..=before.len()).find(|&at| before.is_char_boundary(at));
        start.is_some_and(|start| before[start..].starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Whether a slash opens a regular expression: after an operator, an opening bracket or a
    /// keyword that expects a value.
    fn expects_value(&self) -> bool {
        let before = self.text[self.code_start..self.at].trim_end();
        if before.is_empty() {
            // After a comment or a literal, or at the start.
            let last = self.tokens.iter().rev().find(|token| token.kind != TokenKind::Comment);
            return last.is_none_or(|token| {
                token.kind == TokenKind::Code && {
                    let code = self.text[token.range.clone()].trim_end();
                    code.ends_with(|c: char| "(,=:[!&|?{};+-*%~^<>".contains(c))
                }
            });
        }
        if before.ends_with(|c: char| "(,=:[!&|?{};+*%~^>".contains(c)) {
            // The slash of a tag that closes itself, `/>`, opens none.
            return !self.text[self.at..].starts_with("/>");
        }
        // After the condition of a statement, a slash divides nothing.
        if before.ends_with(')') {
            return self.condition_ended;
        }
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        matches!(
            word,
            "return" | "typeof" | "case" | "in" | "of" | "do" | "else" | "void" | "delete"
        )
    }

    /// Reads a part of a template literal: from its opening quote or the end of an interpolation to the
    /// next interpolation or the closing quote. The part begins with `skip` bytes of delimiter.
    fn push_template(&mut self, skip: usize) {
        let bytes = self.text.as_bytes();
        let mut at = self.at + skip;
        while let Some(next) =
            bytes.get(at..).and_then(|rest| memchr::memchr3(b'\\', b'`', b'$', rest))
        {
            at += next;
            match bytes[at] {
                b'\\' => at += 1,
                b'`' => {
                    self.push(TokenKind::Literal, at + 1);
                    return;
                }
                _ if bytes.get(at + 1) == Some(&b'{') => {
                    self.push(TokenKind::Literal, at + 2);
                    self.interpolations.push(self.brackets.len());
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        self.closed = false;
        self.push(TokenKind::Literal, bytes.len());
    }

    /// Reads the here-documents that were begun on the line that ends here.
    fn push_heredocs(&mut self) {
        self.at += 1;
        for word in std::mem::take(&mut self.heredocs) {
            let mut end = self.at;
            let mut found = false;
            for line in self.text[self.at..].split_inclusive('\n') {
                end += line.len();
                if line.trim() == word {
                    found = true;
                    break;
                }
            }
            self.closed &= found;
            self.push(TokenKind::Literal, end);
        }
    }

    /// Opens or closes a bracket; other bytes do nothing.
    fn track_bracket(&mut self, byte: u8) {
        let opening = match byte {
            b'(' | b'[' | b'{' => {
                let begins_condition = byte == b'(' && self.follows_condition_keyword();
                self.brackets.push((byte, begins_condition));
                return;
            }
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            _ => return,
        };
        match self.brackets.last() {
            Some(&(last, is_condition)) if last == opening => {
                self.condition_ended = is_condition;
                self.brackets.pop();
            }
            _ => {
                self.balanced = false;
                self.brackets.push((byte, false));
            }
        }
    }

    /// Whether the code before here ends with a keyword that a condition in parentheses follows.
    fn follows_condition_keyword(&self) -> bool {
        // Only where a slash may open a regular expression does it matter.
        if !matches!(self.language.name, "javascript" | "typescript") {
            return false;
        }
        let before = self.text[self.code_start..self.at].trim_end();
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        matches!(word, "if" | "while" | "for" | "with")
    }
}

/// The length of the literal that begins here; `None` if it is not closed.
fn literal_len(rest: &str, quote: &Quote) -> Option<usize> {
    let bytes = rest.as_bytes();
    let close = quote.close.as_bytes();
    let mut at = quote.open.len();
    // The bytes that are looked at; a quote without escapes or line limit has its own only.
    let escape = if quote.escape == QuoteEscape::Backslash { b'\\' } else { close[0] };
    let line_end = if quote.extent == QuoteExtent::Line { b'\n' } else { close[0] };
    while let Some(next) =
        bytes.get(at..).and_then(|rest| memchr::memchr3(escape, line_end, close[0], rest))
    {
        at += next;
        if bytes[at] == b'\\' && quote.escape == QuoteEscape::Backslash {
            at += 2;
        } else if bytes[at] == b'\n' && quote.extent == QuoteExtent::Line {
            return None;
        } else if bytes[at..].starts_with(close) {
            let end = at + close.len();
            let is_doubled =
                quote.escape == QuoteEscape::Doubled && bytes[end..].starts_with(close);
            if !is_doubled {
                return Some(end);
            }
            at = end + close.len();
        } else {
            at += 1;
        }
    }
    None
}

/// Where a block comment with nested comments ends; `inside` begins after its opening delimiter.
fn nested_end(inside: &str, open: &str, close: &str) -> Option<usize> {
    let bytes = inside.as_bytes();
    let (mut depth, mut at) = (1, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(close.as_bytes()) {
            depth -= 1;
            at += close.len();
            if depth == 0 {
                return Some(at);
            }
        } else if bytes[at..].starts_with(open.as_bytes()) {
            depth += 1;
            at += open.len();
        } else {
            at += 1;
        }
    }
    None
}

/// A raw literal that begins at some place.
enum RawLiteral {
    /// It is closed; its length.
    Closed(usize),
    Unclosed,
}

/// The raw literal of Rust that begins here: `r"…"`, `r#"…"#`, `br"…"`.
fn rust_raw_string(rest: &str) -> Option<RawLiteral> {
    let body = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inside = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - inside.len();
    Some(
        inside
            .find(&close)
            .map_or(RawLiteral::Unclosed, |end| RawLiteral::Closed(start + end + close.len())),
    )
}

/// The length of a Rust character literal; `None` for a lifetime or a label.
fn char_literal_len(rest: &str) -> Option<usize> {
    let inside = &rest[1..];
    let mut chars = inside.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        let end = inside.char_indices().skip(2).take(MAX_CHAR_ESCAPE).find(|(_, c)| *c == '\'')?.0;
        return Some(end + 2);
    }
    let (at, second) = chars.next()?;
    (second == '\'' && first != '\n').then_some(at + 2)
}

/// The length of the regular expression that begins here; `None` if it is not closed on its line.
fn regex_len(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    if matches!(bytes.get(1), None | Some(b'/' | b'*' | b'\n')) {
        return None;
    }
    let (mut at, mut in_class) = (1, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' => return None,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The word that ends a here-document, if `rest` begins with its operator, as in `<<EOF`.
fn heredoc_word(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix("<<")?;
    if rest.starts_with('<') {
        return None;
    }
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches(' ');
    let rest = rest.trim_start_matches(['\'', '"', '\\']);
    let word: String = rest.chars().take_while(|c| is_word_char(*c)).collect();
    word.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(word)
}

/// The raw literal of C++ that begins here: `R"tag(…)tag"`.
fn cpp_raw_string(rest: &str) -> Option<RawLiteral> {
    let inside = rest.strip_prefix("R\"")?;
    let open = inside.bytes().take(17).position(|byte| byte == b'(')?;
    let close = format!("){}\"", &inside[..open]);
    let end = inside[open..].find(&close);
    Some(end.map_or(RawLiteral::Unclosed, |end| RawLiteral::Closed(2 + open + end + close.len())))
}
