//! Takes secrets and home folders out of what is saved.
//!
//! The same secret becomes the same placeholder in every text of a case, so that the
//! case still fails and recovers as it did. Limits: what is a secret is decided by
//! shape (see [`Secrets`]); a text in which one remains afterwards is not saved at all.

use std::collections::HashMap;

use crate::correct::Secrets;

/// Redacts the texts of one case.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Secrets,
    known: HashMap<String, String>,
}

impl Redactor {
    /// With the built-in rules.
    pub fn new() -> Self {
        Self { secrets: Secrets::new(), known: HashMap::new() }
    }

    /// Learns the secrets of a text. Learn all texts of a case first.
    pub fn learn(&mut self, text: &str) {
        let mut key_block = false;
        for line in text.lines() {
            if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
                key_block = true;
                continue;
            }
            if line.contains("-----END ") {
                key_block = false;
            }
            if key_block {
                self.redact(line.trim());
            } else if self.secrets.find(line).is_some() {
                tokens(line).for_each(|token| self.redact(token));
            }
        }
    }

    fn redact(&mut self, token: &str) {
        if !token.is_empty() && !self.known.contains_key(token) {
            let name = format!("<redacted-{}>", self.known.len() + 1);
            self.known.insert(token.to_owned(), name);
        }
    }

    /// The text without what was learned; `None` when something still looks like a secret.
    pub fn clean(&self, text: &str) -> Option<String> {
        let mut known: Vec<(&String, &String)> = self.known.iter().collect();
        known.sort_by_key(|(token, _)| std::cmp::Reverse(token.len()));
        let mut out = text.to_owned();
        for (token, name) in known {
            out = out.replace(token.as_str(), name);
        }
        for mark in ["-----BEGIN ", "-----END "] {
            out = out.replace(mark, "-----REDACTED ");
        }
        let out = redact_home_folders(&out);
        self.secrets.find(&out).is_none().then_some(out)
    }
}

/// The parts of a line that can be a secret: long runs of key characters, and what
/// is in quotes or after a mark.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>=".contains(c))
        .flat_map(|part| part.split("://").flat_map(|part| part.split(['@', ':'])))
        .filter(|part| {
            part.len() >= 4 && part.chars().any(|c| c.is_ascii_digit() || "-_+/!$%&".contains(c))
                || part.len() >= 16
        })
}

/// Home folders of people, in any system's spelling.
fn redact_home_folders(text: &str) -> String {
    let mut out = text.to_owned();
    for root in ["/home/", "/Users/", "C:\\Users\\", "C:\\\\Users\\\\", "C:/Users/"] {
        let mut from = 0;
        while let Some(at) = out[from..].find(root).map(|at| from + at + root.len()) {
            let rest = &out[at..];
            let len = rest
                .find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)))
                .unwrap_or(rest.len());
            out.replace_range(at..at + len, "user");
            from = at + "user".len();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_everywhere_alike_and_home_folders_too() {
        let file =
            "const key = \"sk-ant-api03-x9Kq2LmZ7pTr5VwB8nYc\";\nconst home = \"/home/jane/x\";\n";
        let old = "key = \"sk-ant-api03-x9Kq2LmZ7pTr5VwB8nYc\"";
        let mut redactor = Redactor::new();
        redactor.learn(file);
        redactor.learn(old);
        let (file, old) =
            (redactor.clean(file).expect("clean"), redactor.clean(old).expect("clean"));
        assert!(!file.contains("x9Kq2LmZ") && file.contains(&old), "{file}");
        assert!(file.contains("/home/user/x"));
    }

    #[test]
    fn a_private_key_is_gone() {
        let text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----\nb\n";
        let mut redactor = Redactor::new();
        redactor.learn(text);
        let clean = redactor.clean(text).expect("clean");
        assert!(!clean.contains("MIIEpAIB"), "{clean}");
    }
}
