//! Top-level items, as far as the lexer tells them: an edit within some of them needs no more of the
//! file to be parsed.

use std::ops::{ControlFlow, Range};

use super::{Language, lexer};

/// The languages whose top-level items the lexer can tell.
const WITH_ITEMS: &[&str] =
    &["rust", "c", "c++", "java", "javascript", "typescript", "python", "go", "toml"];

/// Words that go on with the item above even after a blank line.
const CONTINUATIONS: &[&str] = &[
    "else",
    "elif",
    "except",
    "finally",
    "catch",
    "while",
    "instanceof",
    "in",
    "of",
    "as",
    "satisfies",
    "extends",
    "implements",
    "where",
];

impl Language {
    /// The smallest stretch of whole top-level items around a range of a text. `None` if the language
    /// has no such items that the lexer can tell, or the text before the end of the stretch is not
    /// well formed.
    ///
    /// A boundary is a line that follows a blank one, begins in the first column, and is neither in
    /// a literal nor in brackets. The blank line after the range is not part of the range.
    pub fn items_around(&self, text: &str, range: &Range<usize>) -> Option<Range<usize>> {
        if !WITH_ITEMS.contains(&self.name) {
            return None;
        }
        let mut found = 0..text.len();
        let is_well_formed = lexer::visit_top_lines(self, text, |at, code_end| {
            if begins_item(text, at) && self.ends_item(text, code_end()) {
                if at <= range.start {
                    found.start = at;
                } else if blank_line_above(text, at).is_some_and(|blank| range.end <= blank) {
                    found.end = at;
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        is_well_formed.then_some(found)
    }

    /// Whether the code before an offset ends an item.
    fn ends_item(&self, text: &str, code_end: usize) -> bool {
        let code = &text[..code_end];
        let Some(last) = code.bytes().next_back() else { return true };
        let line = &code[code.rfind('\n').map_or(0, |feed| feed + 1)..];
        match self.name {
            // A decorator belongs to what follows.
            "python" => !line.starts_with('@') && last != b'\\' && last != b':',
            "go" => last.is_ascii_alphanumeric() || b"_\"'`)]}".contains(&last),
            "toml" => last != b'=',
            _ if matches!(last, b'}' | b';') => true,
            // As in `import "x"`.
            "javascript" | "typescript" => matches!(last, b'"' | b'\''),
            // Attributes, and the directives of a preprocessor.
            "rust" => last == b']' && line.starts_with('#'),
            "c" | "c++" => line.starts_with('#') && last != b'\\',
            _ => false,
        }
    }
}

/// Whether a line that begins at an offset can begin an item: after a blank line, in the first
/// column, with a word, a comment, an attribute or a table.
pub(crate) fn begins_item(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    let Some(first) = rest.bytes().next() else { return false };
    let word_len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let is_start = match first {
        b'@' | b'#' | b'[' => !rest.starts_with("#e"),
        b'/' => rest.starts_with("//") || rest.starts_with("/*"),
        first => {
            (first.is_ascii_alphabetic() || first == b'_')
                && !CONTINUATIONS.contains(&&rest[..word_len])
        }
    };
    is_start && (at == 0 || blank_line_above(text, at).is_some())
}

/// Where the line above an offset begins, if it is blank.
fn blank_line_above(text: &str, at: usize) -> Option<usize> {
    let above = text[..at].strip_suffix('\n')?;
    let start = above.rfind('\n').map_or(0, |feed| feed + 1);
    above[start..].bytes().all(|b| b.is_ascii_whitespace()).then_some(start)
}
