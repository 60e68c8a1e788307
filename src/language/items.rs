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
    pub(crate) fn items_around(&self, text: &str, range: &Range<usize>) -> Option<Range<usize>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretch_is_the_items_that_an_edit_is_in() {
        for (path, text, mark, wanted) in [
            (
                "a.rs",
                "fn a() {}\n\nfn b() {\n    x\n}\n\nfn c() {}\n",
                "x",
                "fn b() {\n    x\n}\n\n",
            ),
            // A string, brackets, a decorator, and `else` hide what only looks like a boundary.
            ("a.rs", "const S: &str = \"\n\nfn a() {}\n\nfn b() {}\n\";\n", "b()", "*"),
            (
                "a.go",
                "var a = []int{\n\nb,\n\nc,\n}\n\nfunc d() {}\n",
                "c",
                "*{\n\nb,\n\nc,\n}\n\n",
            ),
            ("a.py", "@a\n\ndef b():\n    c\n\nx = 1\n", "c", "@a\n\ndef b():\n    c\n\n"),
            (
                "a.py",
                "a\n\nif b:\n    c\n\nelse:\n    d\n\ne\n",
                "c",
                "if b:\n    c\n\nelse:\n    d\n\n",
            ),
            // The blank line at the end is not what changes.
            ("a.py", "a\n\nb\n\nc\n\nd\n", "b\n\n", "b\n\nc\n\n"),
            (
                "a.ts",
                "import a from 'a'\n\nclass B {\n  c = 1\n}\n\nd()\n",
                "c =",
                "class B {\n  c = 1\n}\n\n",
            ),
            ("a.ts", "@A()\n\nclass B {}\n", "B", "*"),
            ("a.c", "#include <a>\n\nint b() {\n}\n\nint c;\n", "b", "int b() {\n}\n\n"),
            ("a.c", "int\n\nb() {}\n", "b", "*"),
        ] {
            let language = Language::from_path(path).expect("known");
            let start = text.find(mark).expect("there");
            let found = language.items_around(text, &(start..start + mark.len())).expect("whole");
            let found = &text[found];
            match wanted.strip_prefix('*') {
                Some("") => assert_eq!(found, text),
                Some(end) => assert!(found.ends_with(end), "{found:?}"),
                None => assert_eq!(found, wanted),
            }
        }
    }

    #[test]
    fn what_the_lexer_cannot_tell_has_no_stretch() {
        for (path, text) in [
            ("a.rs", "fn a() { \"\n\n"),
            ("a.rs", "}\n\nfn a() {}\n"),
            ("a.rb", "a\n\nb\n"),
            ("a.json", "{}\n"),
        ] {
            let language = Language::from_path(path).expect("known");
            assert_eq!(
                language.items_around(text, &(5.min(text.len())..text.len())),
                None,
                "{text}"
            );
        }
    }
}
