//! The language of a file, by its name: how it writes comments and literals. One table and one
//! lexer serve every part of the crate that asks whether some text is in a literal.
//!
//! The language of a file with an unknown name is not guessed: nothing is lexed, and fewer readings
//! apply.

mod indentation;
mod items;
mod lexer;
mod table;

#[cfg(feature = "syntax")]
pub(crate) use items::begins_item;
pub use lexer::{Lexed, Token, TokenKind};

/// A language's lexical syntax.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// Its name, in lower case.
    pub name: &'static str,
    pub(crate) extensions: &'static [&'static str],
    pub(crate) file_names: &'static [&'static str],
    pub(crate) line_comments: &'static [&'static str],
    pub(crate) block_comments: &'static [BlockComment],
    pub(crate) quotes: &'static [Quote],
    pub(crate) lex_support: LexSupport,
}

/// A comment between two delimiters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockComment {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
    pub(crate) nesting: Nesting,
}

/// Whether block comments can contain block comments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// They cannot.
    Flat,
    /// They can.
    Nested,
}

/// A literal between two delimiters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Quote {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
    pub(crate) escape: QuoteEscape,
    pub(crate) extent: QuoteExtent,
}

/// How the closing delimiter is escaped inside a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuoteEscape {
    /// By a backslash before it.
    Backslash,
    /// By writing it twice.
    Doubled,
    /// Not at all.
    None,
}

/// How far a literal can extend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuoteExtent {
    /// To the end of its line at most.
    Line,
    /// Over several lines.
    Lines,
}

/// How much of a language the lexer knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LexSupport {
    /// Prose: no comments, no literals.
    Prose,
    /// Only comments.
    Comments,
    /// Comments, and that whitespace between tokens means nothing.
    Tokens,
    /// Comments, literals and brackets, well enough to prove that a text is well formed.
    Full,
}

impl Language {
    /// The language of a path, by its name alone.
    ///
    /// ```
    /// use restitch::internals::language::Language;
    ///
    /// assert_eq!(Language::from_path("src/lib.rs").map(|l| l.name), Some("rust"));
    /// assert_eq!(Language::from_path("notes"), None);
    /// ```
    pub fn from_path(path: &str) -> Option<&'static Self> {
        let name = path.rsplit(['/', '\\']).next()?;
        let by_name = |language: &&Self| language.file_names.contains(&name);
        if let Some(language) = table::LANGUAGES.iter().find(by_name) {
            return Some(language);
        }
        let extension = name.rsplit_once('.')?.1.to_ascii_lowercase();
        table::LANGUAGES.iter().find(|l| l.extensions.contains(&extension.as_str()))
    }

    /// The language with this name, file extension or file name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase();
        let named = |l: &&Self| {
            l.name == name
                || l.extensions.contains(&name.as_str())
                || l.file_names.iter().any(|file| file.eq_ignore_ascii_case(&name))
        };
        table::LANGUAGES.iter().find(named)
    }

    /// Whether texts in this language are code or data, not prose.
    pub fn is_code(&self) -> bool {
        self.lex_support > LexSupport::Prose
    }

    /// Whether the lexer knows literals and brackets well enough to prove that a text is well formed.
    pub fn is_lexed(&self) -> bool {
        self.lex_support == LexSupport::Full
    }

    /// Whether indentation is part of the syntax.
    pub(crate) fn has_significant_indentation(&self) -> bool {
        self.name == "python"
    }

    /// Whether literals, comments and brackets of a text are closed, and its indentation is valid if
    /// that is syntax. `false` for a language that is not lexed.
    pub(crate) fn is_well_formed(&self, text: &str) -> bool {
        if !self.is_lexed() {
            return false;
        }
        let lexed = self.lex(text);
        lexed.is_well_formed()
            && (!self.has_significant_indentation() || indentation::errors(&lexed, text).is_empty())
    }

    /// The lines whose indentation is not valid, if indentation is part of the syntax: the offset of
    /// each, and what is wrong.
    #[cfg(feature = "syntax")]
    pub(crate) fn misindented(&self, text: &str) -> Vec<(usize, &'static str)> {
        if !self.has_significant_indentation() {
            return Vec::new();
        }
        indentation::errors(&self.lex(text), text)
    }

    /// Whether whitespace between tokens, and the kind of quotes, mean nothing.
    pub fn is_free_form(&self) -> bool {
        self.lex_support >= LexSupport::Tokens
    }

    /// Whether a text means the same between single and between double quotes.
    pub(crate) fn has_interchangeable_quotes(&self) -> bool {
        let interchangeable =
            ["javascript", "typescript", "python", "css", "scss", "dart", "lua", "protobuf"];
        interchangeable.contains(&self.name)
    }

    /// The delimiters that open a comment.
    pub fn comment_openers(&self) -> impl Iterator<Item = &'static str> {
        let blocks = self.block_comments.iter().map(|block| block.open);
        self.line_comments.iter().copied().chain(blocks)
    }

    /// Whether a line, seen alone, is a comment and nothing else.
    pub fn is_comment(&self, line: &str) -> bool {
        let line = line.trim();
        if self.comment_openers().any(|mark| line.starts_with(mark)) {
            // A line that continues on the next one, or has code after the comment, is more than that.
            return !line.ends_with('\\')
                && self.block_comments.iter().all(|block| {
                    !line.starts_with(block.open)
                        || line
                            .find(block.close)
                            .is_none_or(|at| at + block.close.len() == line.len())
                });
        }
        // By custom, each line within a block comment begins with a star.
        let starred = self.block_comments.iter().any(|block| block.open == "/*");
        starred && (line == "*" || line.starts_with("* ") || line.starts_with("*/"))
    }

    /// The line without a comment at its end, and without trailing whitespace.
    pub fn strip_trailing_comment<'a>(&self, line: &'a str) -> &'a str {
        let lexed = self.lex(line);
        let comment = lexed.tokens.iter().find(|token| token.kind == TokenKind::Comment);
        match comment {
            Some(token) if lexed.tokens.last().is_some_and(|last| last.range == token.range) => {
                line[..token.range.start].trim_end()
            }
            _ => line.trim_end(),
        }
    }

    /// The line without its comment; empty if it is only a comment.
    pub fn strip_comments<'a>(&self, line: &'a str) -> &'a str {
        if self.is_comment(line) { "" } else { self.strip_trailing_comment(line) }
    }

    /// Cuts a text into code, comments and literals.
    pub fn lex(&self, text: &str) -> Lexed {
        lexer::lex(self, text)
    }
}
