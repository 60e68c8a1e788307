//! Keeps secrets from being sent to a model. Files whose names suggest secrets are never sent, nor
//! are calls with text that looks like a secret. Secrets in the text of the file are redacted: a key
//! whose form is known as a whole, and otherwise the whole line.
//!
//! Limits: secrets are detected by their format and by the names of variables. The published formats
//! of keys are known; a secret that looks like ordinary text is not detected.

mod assigned;
mod names;
mod rules;
mod values;

use std::ops::Range;

use assigned::FileKind;

/// Finds and redacts secrets in what would be sent.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Values that are never sent.
    literals: Vec<String>,
    /// Patterns of the names of files that are never sent.
    names: Vec<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Secrets {
    /// The built-in rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value that is never sent, such as the key of the model's server. A value of fewer than
    /// eight bytes is ignored.
    #[must_use]
    pub fn with_literal(mut self, secret: &str) -> Self {
        if secret.len() >= 8 {
            self.literals.push(secret.to_owned());
        }
        self
    }

    /// Adds a pattern of the names of files that are never sent; `*` stands for any characters.
    #[must_use]
    pub fn with_name(mut self, pattern: &str) -> Self {
        self.names.push(pattern.to_lowercase());
        self
    }

    /// The text of a file, or of a part of it, with its secrets redacted.
    pub fn redact_in(&self, path: &str, text: &str) -> String {
        self.replace_in(path, text, |_| REDACTED.to_owned())
    }

    /// The parts of a text that redaction would remove.
    pub fn texts<'a>(&self, text: &'a str) -> Vec<&'a str> {
        self.secrets_in("", text).into_iter().map(|range| &text[range]).collect()
    }

    /// The text of a log entry with its secrets redacted.
    pub fn redact(&self, text: &str) -> String {
        self.redact_in("", text)
    }

    /// The text of a file with another text in the place of each secret.
    pub(crate) fn replace_in(
        &self,
        path: &str,
        text: &str,
        mut replacement: impl FnMut(&str) -> String,
    ) -> String {
        let mut apart: Vec<Range<usize>> = Vec::new();
        for range in self.secrets_in(path, text) {
            match apart.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        let mut out = String::with_capacity(text.len());
        let mut copied_to = 0;
        for range in apart {
            out.push_str(&text[copied_to..range.start]);
            out.push_str(&replacement(&text[range.clone()]));
            copied_to = range.end;
        }
        out + &text[copied_to..]
    }

    /// The secrets in the text of a file, in order; some may overlap.
    fn secrets_in(&self, path: &str, text: &str) -> Vec<Range<usize>> {
        let literals =
            self.literals.iter().flat_map(|literal| text.match_indices(literal.as_str()));
        let mut found: Vec<Range<usize>> =
            literals.map(|(at, literal)| at..at + literal.len()).collect();
        found.extend(rules::find_vendored(text));
        found.extend(secret_lines(text, FileKind::of(path)));
        found.sort_by_key(|range| range.start);
        found
    }

    /// Whether a file's name suggests that it holds secrets.
    pub fn is_secret_file(&self, path: &str) -> bool {
        names::is_secret_file(path, &self.names)
    }

    /// The first part in the text of a file that looks like a secret. In a settings file, an unquoted
    /// value may be a secret; in code, it is more likely a name.
    pub fn find_in(&self, path: &str, text: &str) -> Option<Range<usize>> {
        self.secrets_in(path, text).into_iter().next()
    }
}

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// The lines that hold a secret, each from its first word to its end.
fn secret_lines(text: &str, file_kind: FileKind) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut state = LineState::default();
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\r', '\n']);
        let indent = body.len() - body.trim_start().len();
        if state.has_secret(body, indent, file_kind) && indent < body.len() {
            found.push(start + indent..start + body.len());
        }
        start += line.len();
    }
    found
}

/// What the lines before say about the next one.
#[derive(Default)]
struct LineState {
    /// Within a key in PEM.
    in_key: bool,
    /// The last line was base64, as in the body of a key.
    after_key_body: bool,
    /// The last line names a machine or a user, as in a netrc file.
    after_login: bool,
    /// The indentation of a line that names a secret whose value is in the lines below it.
    value_below: Option<usize>,
}

impl LineState {
    /// Whether a line holds a secret.
    fn has_secret(&mut self, line: &str, indent: usize, file_kind: FileKind) -> bool {
        let is_blank = indent == line.len();
        if let Some(above) = self.value_below {
            if is_blank || indent > above {
                return !is_blank;
            }
            self.value_below = None;
        }
        let begins_key = line.contains("-----BEGIN ") && !line.contains("CERTIFICATE");
        self.in_key |= begins_key;
        let is_in_key = self.in_key;
        self.in_key &= !line.contains("-----END ");
        let is_key_body = values::is_key_body(line)
            || self.after_key_body && values::is_base64_line(line)
            || line.contains("-----END ") && line.contains("KEY");
        self.after_key_body = is_key_body;
        if is_in_key || is_key_body {
            return true;
        }
        let mut words = line.split_whitespace();
        let first_word = words.next().unwrap_or_default();
        let is_password = self.after_login && first_word == "password" && words.count() == 1;
        self.after_login = ["machine", "login", "account"].contains(&first_word);
        if is_password {
            return true;
        }
        if file_kind == FileKind::Settings && assigned::names_secret_below(line) {
            self.value_below = Some(indent);
            return false;
        }
        rules::has_own(line, file_kind)
            || assigned::assigns_secret(line, file_kind)
            || values::has_random_word(line)
    }
}
