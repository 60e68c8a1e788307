//! Removes secrets and the names of home folders from cases before they are saved.
//!
//! A secret is replaced by the same name in every text of a case, so that the case still fails or
//! is recovered as before. Limits: secrets are recognized by their form (see [`Secrets`]). A text in
//! which one remains afterwards is not saved at all.

use std::collections::HashMap;

use crate::secrets::Secrets;

/// Redacts the texts of one case.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Secrets,
    /// The name that replaces each part of a secret.
    replacements: HashMap<String, String>,
}

impl Redactor {
    /// Returns a redactor with the built-in rules.
    pub fn new() -> Self {
        Self { secrets: Secrets::new(), replacements: HashMap::new() }
    }

    /// Finds the secrets of a text. Call this with all texts of a case before [`Self::clean`].
    pub fn learn(&mut self, text: &str) {
        let mut in_private_key = false;
        for line in text.lines() {
            if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
                in_private_key = true;
                continue;
            }
            if line.contains("-----END ") {
                in_private_key = false;
            }
            if in_private_key {
                self.add(line.trim());
            } else if self.secrets.find(line).is_some() {
                possible_secrets(line).for_each(|part| self.add(part));
            }
        }
    }

    /// Gives a part of a secret the name that replaces it, unless it has one.
    fn add(&mut self, part: &str) {
        if !part.is_empty() && !self.replacements.contains_key(part) {
            let name = format!("<redacted-{}>", self.replacements.len() + 1);
            self.replacements.insert(part.to_owned(), name);
        }
    }

    /// Returns the text without the secrets that were found; `None` if something in it still looks
    /// like a secret.
    pub fn clean(&self, text: &str) -> Option<String> {
        // A secret may contain another one, so the longest is replaced first.
        let mut replacements: Vec<(&String, &String)> = self.replacements.iter().collect();
        replacements.sort_by_key(|(part, _)| std::cmp::Reverse(part.len()));
        let mut out = text.to_owned();
        for (part, name) in replacements {
            out = out.replace(part.as_str(), name);
        }
        for marker in ["-----BEGIN ", "-----END "] {
            out = out.replace(marker, "-----REDACTED ");
        }
        let out = redact_home_folders(&out);
        self.secrets.find(&out).is_none().then_some(out)
    }
}

/// Returns the parts of a line, between separators, that may be a secret: long ones, and short ones
/// with a digit or a special character.
fn possible_secrets(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>=".contains(c))
        .flat_map(|part| part.split("://").flat_map(|part| part.split(['@', ':'])))
        .filter(|part| {
            part.len() >= 4 && part.chars().any(|c| c.is_ascii_digit() || "-_+/!$%&".contains(c))
                || part.len() >= 16
        })
}

/// Replaces the names of home folders by `user`, in paths of any system.
fn redact_home_folders(text: &str) -> String {
    let mut out = text.to_owned();
    for parent in ["/home/", "/Users/", "C:\\Users\\", "C:\\\\Users\\\\", "C:/Users/"] {
        let mut search_from = 0;
        while let Some(position) = out[search_from..].find(parent) {
            let start = search_from + position + parent.len();
            let length = out[start..]
                .find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)))
                .unwrap_or(out.len() - start);
            out.replace_range(start..start + length, "user");
            search_from = start + "user".len();
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
