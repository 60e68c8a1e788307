//! Keeps secrets from being sent to a model. Files whose names suggest secrets are never sent, nor
//! are calls with text that looks like a secret. Lines of the file that look like a secret are
//! redacted.
//!
//! Limits: secrets are detected by their format and by the names of variables. The published formats
//! of keys are known; a secret that looks like ordinary text is not detected.

mod assigned;
mod commands;
mod kinds;
mod names;
mod shapes;
mod values;

use std::borrow::Cow;

use assigned::FileKind;

use crate::port::{Ask, Window};

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

    /// The question, with each line of the file redacted that looks like a secret. The error says why
    /// nothing of the question may be sent; it does not repeat the secret.
    pub fn redact_ask<'a>(&self, ask: &'a Ask) -> Result<Cow<'a, Ask>, String> {
        let no_windows: &[Window] = &[];
        let (path, texts, windows) = match ask {
            Ask::CorrectOld { path, old, new, windows, .. } => {
                (path, vec![("old_str", old), ("new_str", new)], &windows[..])
            }
            Ask::Choose { path, old, new, outcomes, .. } => {
                let shown = outcomes.iter().map(|outcome| ("the file's text", outcome));
                (
                    path,
                    [("old_str", old), ("new_str", new)].into_iter().chain(shown).collect(),
                    no_windows,
                )
            }
            Ask::AdjustNew { path, old, corrected_old, new, .. } => (
                path,
                vec![("old_str", old), ("the matched text", corrected_old), ("new_str", new)],
                no_windows,
            ),
            Ask::RepairEscapes { path, old, new, .. } => {
                (path, vec![("old_str", old), ("new_str", new)], no_windows)
            }
        };
        if self.is_secret_file(path) {
            return Err(format!("a file named like `{}` may hold secrets", path.escape_debug()));
        }
        for (name, text) in texts {
            if let Some((line, what)) = self.find_in(path, text) {
                return Err(format!("line {line} of {name} looks like {what}"));
            }
        }
        if windows.iter().all(|window| self.find_in(path, &window.text).is_none()) {
            return Ok(Cow::Borrowed(ask));
        }
        let mut redacted = ask.clone();
        if let Ask::CorrectOld { path, windows, .. } = &mut redacted {
            for window in windows {
                window.text = self.redact_lines(path, &window.text);
            }
        }
        Ok(Cow::Owned(redacted))
    }

    /// The text with its secrets redacted, line by line. The name before a value stays.
    fn redact_lines(&self, path: &str, text: &str) -> String {
        let file_kind = FileKind::of(path);
        let mut in_key = false;
        let redact = |line: &str| {
            let body = line.trim_end_matches(['\r', '\n']);
            in_key |= body.contains("-----BEGIN ");
            let is_secret = in_key || self.secret_kind(body, file_kind).is_some();
            in_key &= !body.contains("-----END ");
            if !is_secret {
                return line.to_owned();
            }
            let indent = body.len() - body.trim_start().len();
            let value_start = body.find([':', '=']).map_or(indent, |at| at + 1);
            format!("{} [blacked out]{}", &body[..value_start], &line[body.len()..])
        };
        text.split_inclusive('\n').map(redact).collect()
    }

    /// The text of a log entry with its secrets redacted.
    pub fn redact(&self, text: &str) -> String {
        self.redact_lines("", text)
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
        let file_kind = FileKind::of(path);
        (1..)
            .zip(text.lines())
            .find_map(|(number, line)| Some((number, self.secret_kind(line, file_kind)?)))
    }

    /// The kind of secret that a line contains, such as `an AWS key`.
    fn secret_kind(&self, line: &str, file_kind: FileKind) -> Option<&'static str> {
        if self.literals.iter().any(|secret| line.contains(secret.as_str())) {
            return Some("the key of the endpoint");
        }
        kinds::find(line)
            .or_else(|| shapes::find(line))
            .or_else(|| assigned::gives_secret(line, file_kind).then_some("a password or key"))
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
            format!("AKIA{}", "Q3E5R7T9Y1U3I5O7"),
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
