//! Escapes that should have been undone in `new_str`: a backslash outside of string
//! literals and comments, in languages where it means nothing there. A small scanner,
//! not a parser: languages it cannot judge have no evidence.

/// A family of languages in which a backslash outside of literals is a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// `//` and `/* */`, `"` and `'`.
    C,
    /// Like C, with template strings and regular expressions.
    Script,
    /// Like C, but `'` is also a lifetime.
    Rust,
    /// `#`, and long strings.
    Python,
    /// Strings only.
    Json,
}

impl Language {
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "java" | "go" | "kt" | "kts"
            | "dart" => Self::C,
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Self::Script,
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "json" | "jsonc" => Self::Json,
            _ => return None,
        })
    }

    /// How many faults the scanner sees: escapes in code, and strings that a line break cuts.
    pub(super) fn faults(self, text: &str) -> usize {
        let mut faults = 0;
        self.scan(text, |piece| {
            faults += usize::from(matches!(piece, Piece::Escape(_) | Piece::CutString));
        });
        faults
    }

    /// Walks over a text and names what matters.
    fn scan<'a>(self, text: &'a str, mut see: impl FnMut(Piece<'a>)) {
        let bytes = text.as_bytes();
        let starts = |at: usize, what: &str| bytes[at..].starts_with(what.as_bytes());
        let slashes = self != Self::Python && self != Self::Json;
        let mut at = 0;
        while at < bytes.len() {
            let from = at;
            let plain = match bytes[at] {
                b'/' if slashes && starts(at, "//") => line_end(bytes, at),
                b'/' if slashes && starts(at, "/*") => {
                    memchr::memmem::find(&bytes[at..], b"*/").map_or(bytes.len(), |n| at + n + 2)
                }
                b'/' if self == Self::Script => regex_end(bytes, at),
                b'#' if self == Self::Python => line_end(bytes, at),
                b'r' if self == Self::Rust && (starts(at, "r\"") || starts(at, "r#")) => {
                    raw_end(bytes, at)
                }
                b'`' if matches!(self, Self::Script | Self::C) => {
                    string_end(bytes, at + 1, b"`").unwrap_or(bytes.len())
                }
                b'\'' if self == Self::Rust => char_end(bytes, at),
                b'"' if self == Self::Rust => {
                    string_end(bytes, at + 1, b"\"").unwrap_or(bytes.len())
                }
                quote @ (b'"' | b'\'') if quote == b'"' || self != Self::Json => {
                    let long = [quote; 3];
                    let is_long = self == Self::Python && bytes[at..].starts_with(&long);
                    if is_long {
                        string_end(bytes, at + 3, &long).unwrap_or(bytes.len())
                    } else {
                        let end = string_end(bytes, at + 1, &[quote]);
                        let line = unescaped_line_end(bytes, at);
                        match end {
                            Some(end) if end <= line => end,
                            _ => {
                                see(Piece::CutString);
                                line
                            }
                        }
                    }
                }
                b'\\' => {
                    let next = bytes.get(at + 1).copied().unwrap_or(b' ');
                    let len = if next.is_ascii() { 2.min(bytes.len() - at) } else { 1 };
                    at += len;
                    let piece = &text[from..at];
                    see(if b"ntr\"'\\`".contains(&next) {
                        Piece::Escape(piece)
                    } else {
                        Piece::Plain(piece)
                    });
                    continue;
                }
                _ => {
                    at += 1;
                    while at < bytes.len() && !text.is_char_boundary(at) {
                        at += 1;
                    }
                    see(Piece::Plain(&text[from..at]));
                    continue;
                }
            };
            at = plain.clamp(from + 1, bytes.len());
            while !text.is_char_boundary(at) {
                at += 1;
            }
            see(Piece::Plain(&text[from..at]));
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Piece<'a> {
    Plain(&'a str),
    Escape(&'a str),
    CutString,
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n)
}

/// The end of the line, where a backslash before the line break continues it.
fn unescaped_line_end(bytes: &[u8], at: usize) -> usize {
    let mut end = line_end(bytes, at);
    while end > at && end < bytes.len() && bytes[..end].trim_ascii_end().ends_with(b"\\") {
        end = line_end(bytes, end + 1);
    }
    end
}

fn string_end(bytes: &[u8], mut at: usize, close: &[u8]) -> Option<usize> {
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(close) {
            return Some(at + close.len());
        } else {
            at += 1;
        }
    }
    None
}

/// A slash that closes on the same line is taken for a regular expression: too much
/// is passed over rather than too little.
fn regex_end(bytes: &[u8], at: usize) -> usize {
    let line = line_end(bytes, at);
    string_end(&bytes[..line], at + 1, b"/").unwrap_or(at + 1)
}

fn raw_end(bytes: &[u8], at: usize) -> usize {
    let hashes = bytes[at + 1..].iter().take_while(|&&b| b == b'#').count();
    if bytes.get(at + 1 + hashes) != Some(&b'"') {
        return at + 1;
    }
    let close = [b"\"".to_vec(), vec![b'#'; hashes]].concat();
    let body = at + 2 + hashes;
    memchr::memmem::find(&bytes[body..], &close).map_or(bytes.len(), |n| body + n + close.len())
}

/// The end of a character literal; a lifetime is one quote.
fn char_end(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at + 1) == Some(&b'\\') {
        return string_end(bytes, at + 1, b"'").filter(|end| end - at <= 12).unwrap_or(at + 1);
    }
    let close = bytes[at + 1..].iter().take(5).position(|&b| b == b'\'');
    close.filter(|&n| n > 0 && (n == 1 || bytes[at + 1] >= 0x80)).map_or(at + 1, |n| at + n + 2)
}

fn undone(escape: &str) -> Option<char> {
    Some(match escape.as_bytes().get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'"' => '"',
        b'\'' => '\'',
        b'`' => '`',
        b'\\' => '\\',
        _ => return None,
    })
}

/// One level of escapes undone, everywhere.
pub(super) fn unescaped(text: &str) -> String {
    undo(text, |_| true)
}

fn undo(text: &str, wanted: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = rest[at..].get(..2).unwrap_or(&rest[at..at + 1]);
        match undone(escape).filter(|&c| wanted(c)) {
            Some(c) => out.push(c),
            None => out.push_str(escape),
        }
        rest = &rest[at + escape.len()..];
    }
    out + rest
}

/// The mechanical readings of a text, without the text itself.
pub(super) fn readings(text: &str, language: Language) -> Vec<String> {
    let mut outside = String::with_capacity(text.len());
    language.scan(text, |piece| match piece {
        Piece::Plain(piece) => outside.push_str(piece),
        Piece::Escape(escape) => match undone(escape) {
            Some(c) => outside.push(c),
            None => outside.push_str(escape),
        },
        Piece::CutString => {}
    });
    let quotes = undo(text, |c| matches!(c, '"' | '\'' | '`'));
    let mut readings = vec![unescaped(text), quotes, outside];
    readings.retain(|reading| reading != text);
    readings.dedup();
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_in_code_are_faults_and_escapes_in_literals_are_not() {
        let faults = |path: &str, text: &str| Language::of(path).map(|l| l.faults(text));
        assert_eq!(faults("a.js", r#"a();\nb();"#), Some(1));
        assert_eq!(faults("a.js", r#"say("a\nb"); x = /\n/; // \n"#), Some(0));
        assert_eq!(faults("a.py", r#"print(\"hi\")"#), Some(2));
        assert_eq!(faults("a.py", "x = '''\n\\n'''\n# \\n\ny = 'a\\\nb'\n"), Some(0));
        assert_eq!(faults("a.rs", "fn f<'a>(x: &'a str) { let c = '\\n'; r#\"\\n\"#; }"), Some(0));
        assert_eq!(faults("a.c", "#define A \\\n  1\nchar c = '\\n';\n"), Some(0));
        assert_eq!(faults("a.tex", r"\newcommand"), None);
        assert_eq!(faults("a.json", r#"{"a": "x\ny"}"#), Some(0));
        assert_eq!(faults("a.js", "x = \"cut\nhere\";"), Some(2));
    }

    #[test]
    fn readings_are_mechanical() {
        let text = r#"say("a\nb");\nnext();"#;
        let readings = readings(text, Language::Script);
        assert!(readings.contains(&"say(\"a\\nb\");\nnext();".to_owned()), "{readings:?}");
        assert!(readings.contains(&"say(\"a\nb\");\nnext();".to_owned()), "{readings:?}");
        assert_eq!(unescaped(r"a\\n\q\é"), r"a\n\q\é");
    }

    #[test]
    fn the_scanner_keeps_every_byte() {
        for text in ["é\\é'\\", "r#", "'", "\"\\", "`", "/*", "/é/", "r#\"é", "\\\u{1f600}"] {
            for path in ["a.js", "a.rs", "a.py", "a.c", "a.json"] {
                let language = Language::of(path).expect("known");
                let mut all = String::new();
                language.scan(text, |piece| match piece {
                    Piece::Plain(p) | Piece::Escape(p) => all.push_str(p),
                    Piece::CutString => {}
                });
                assert_eq!(all, text, "{path}");
            }
        }
    }
}
