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
        let mut out = String::with_capacity(text.len());
        let mut copied_to = 0;
        for Secret { range, .. } in self.secrets_in(path, text) {
            // What an earlier one covers is redacted already.
            if range.end <= copied_to {
                continue;
            }
            if range.start >= copied_to {
                out.push_str(&text[copied_to..range.start]);
                out.push_str(REDACTED);
            }
            copied_to = range.end;
        }
        out.push_str(&text[copied_to..]);
        out
    }

    /// The secrets in the text of a file, in order.
    fn secrets_in(&self, path: &str, text: &str) -> Vec<Secret> {
        let mut found: Vec<Secret> = self
            .literals
            .iter()
            .flat_map(|literal| text.match_indices(literal.as_str()))
            .map(|(at, literal)| Secret {
                range: at..at + literal.len(),
                what: "the key of the endpoint",
            })
            .collect();
        let keys = rules::find_vendored(text).into_iter();
        found.extend(keys.map(|key| Secret { range: key.range, what: key.what }));
        found.extend(secret_lines(text, FileKind::of(path)));
        found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
        found
    }

    /// The parts of a text that redaction would remove.
    pub fn texts<'a>(&self, text: &'a str) -> Vec<&'a str> {
        self.secrets_in("", text).into_iter().map(|secret| &text[secret.range]).collect()
    }

    /// The text of a log entry with its secrets redacted.
    pub fn redact(&self, text: &str) -> String {
        self.redact_in("", text)
    }

    /// Whether a file's name suggests that it holds secrets.
    pub fn is_secret_file(&self, path: &str) -> bool {
        names::is_secret_file(path, &self.names)
    }

    /// The number of the first line that looks like a secret, and what it looks like.
    pub fn find(&self, text: &str) -> Option<(usize, &'static str)> {
        self.find_in("", text)
    }

    /// The number of the first line in the text of a file that looks like a secret, and what it looks
    /// like. In a settings file, an unquoted value may be a secret; in code, it is more likely a name.
    pub fn find_in(&self, path: &str, text: &str) -> Option<(usize, &'static str)> {
        let first = self.secrets_in(path, text).into_iter().next()?;
        Some((text[..first.range.start].matches('\n').count() + 1, first.what))
    }
}

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// A secret in a text.
struct Secret {
    range: Range<usize>,
    what: &'static str,
}

/// The lines that hold a secret, each from its first word to its end.
fn secret_lines(text: &str, file_kind: FileKind) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut state = LineState::default();
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\r', '\n']);
        let indent = body.len() - body.trim_start().len();
        if let Some(what) = state.secret_kind(body, indent, file_kind)
            && indent < body.len()
        {
            found.push(Secret { range: start + indent..start + body.len(), what });
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
    /// The kind of secret that a line contains, such as `a private key`.
    fn secret_kind(
        &mut self,
        line: &str,
        indent: usize,
        file_kind: FileKind,
    ) -> Option<&'static str> {
        let is_blank = indent == line.len();
        if let Some(above) = self.value_below {
            if is_blank || indent > above {
                return (!is_blank).then_some("a password or key");
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
            return Some("a private key");
        }
        let is_login_line = self.after_login
            && line.split_whitespace().next() == Some("password")
            && line.split_whitespace().count() == 2;
        let first_word = line.split_whitespace().next().unwrap_or_default();
        self.after_login = ["machine", "login", "account"].contains(&first_word);
        if is_login_line {
            return Some("a login with a password");
        }
        if file_kind == FileKind::Settings && assigned::names_secret_below(line) {
            self.value_below = Some(indent);
            return None;
        }
        rules::find_own(line, file_kind)
            .or_else(|| assigned::assigns_secret(line, file_kind).then_some("a password or key"))
            .or_else(|| values::has_random_word(line).then_some("a random key"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_secret() {
        let secrets = Secrets::new().with_name("*.private");
        for name in [
            ".env",
            "app/.env.local",
            "prod.env",
            "deploy/server.pem",
            "ID_RSA",
            ".ssh/config",
            "a/.aws/credentials",
            "x.tfvars",
            "notes.private",
            "secrets.yaml",
            ".npmrc",
        ] {
            assert!(secrets.is_secret_file(name), "{name}");
        }
        for name in ["src/env.rs", "key.rs", "monkey.py", "secretary.txt", "token.rs", "README.md"]
        {
            assert!(!secrets.is_secret_file(name), "{name}");
        }
    }

    #[test]
    fn lines_that_look_like_secrets() {
        let secrets = Secrets::new().with_literal("my-endpoint-key-1");
        // Put together at run time, so that no scanner takes this file for a leak.
        let body = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        let lines = [
            format!("AKIA{}", "Q3E5R7T2Y4U3I5O7"),
            format!("token: ghp_{body}"),
            format!("sk-{body}"),
            format!("sk-ant-{body}"),
            format!("x = 'xoxb-{body}'"),
            format!("AIza{body}"),
            format!("eyJ{body}.eyJ{body}.{body}"),
            "-----BEGIN RSA PRIVATE KEY-----".to_owned(),
            "postgres://user:hunter2pass@db/x".to_owned(),
            "password = \"hunter2x\"".to_owned(),
            "const PASSWORD: &str = \"s3cr3tCanary\";".to_owned(),
            "\"clientSecret\": \"8f3a91c2b7\"".to_owned(),
            "DB_PASSWORD=s3cr3tValue99".to_owned(),
            "Authorization: Bearer abcdef1234567890".to_owned(),
            "use my-endpoint-key-1 here".to_owned(),
        ];
        for line in lines {
            assert!(secrets.find(&format!("first\n{line}\n")).is_some(), "{line}");
        }
        for line in [
            "let token = lexer.next_token();",
            "password: String,",
            "password = os.environ[\"DB_PASSWORD\"]",
            "api_key=\"your-api-key-123\"",
            "token = tokens[1]",
            "const secret = await load(\"a\");",
            "let key = \"sk-\";",
            "assert_eq!(token, \"identifier\");",
            "https://user@example.com:8080/x",
            "secret_name = \"db\"",
            "use crate::token::Token2;",
            "if (password == null) return 1;",
            "task-risk-list = the-quick-brown-fox-jumps",
            "disk-usage-report-for-2024-of-all-machines",
        ] {
            assert_eq!(secrets.find(line), None, "{line}");
        }
    }
}
