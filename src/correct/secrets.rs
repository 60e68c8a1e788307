//! What is never sent: files whose names say that they hold secrets, and texts with
//! a line that looks like one. Nothing is blacked out; the question is not asked.
//!
//! Limits: a detector by shape. It knows common key formats and assignments of
//! key-like names; a secret that looks like ordinary text passes.

use crate::port::{Ask, Window};

/// Decides what may be sent.
#[derive(Clone, Default)]
pub struct Secrets {
    literals: Vec<String>,
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

    /// A value that is never sent, as the key of the endpoint itself.
    #[must_use]
    pub fn with_literal(mut self, secret: &str) -> Self {
        if secret.len() >= 8 {
            self.literals.push(secret.to_owned());
        }
        self
    }

    /// A further file name that is never sent; `*` stands for anything.
    #[must_use]
    pub fn with_name(mut self, pattern: &str) -> Self {
        self.names.push(pattern.to_lowercase());
        self
    }

    /// Whether an ask may be sent; the error says why not, without the secret.
    pub fn allow(&self, ask: &Ask) -> Result<(), String> {
        let none: &[Window] = &[];
        let (path, texts, windows) = match ask {
            Ask::CorrectOld { path, old, new, windows, .. }
            | Ask::Choose { path, old, new, windows, .. } => {
                (path, vec![("old_str", old), ("new_str", new)], &windows[..])
            }
            Ask::AdjustNew { path, old, corrected_old, new, .. } => (
                path,
                vec![("old_str", old), ("the matched text", corrected_old), ("new_str", new)],
                none,
            ),
            Ask::RepairEscapes { path, old, new, .. } => {
                (path, vec![("old_str", old), ("new_str", new)], none)
            }
        };
        if self.is_secret_file(path) {
            return Err(format!("files like `{}` hold secrets", path.escape_debug()));
        }
        for (name, text) in texts {
            if let Some((line, what)) = self.find(text) {
                return Err(format!("line {line} of {name} looks like {what}"));
            }
        }
        for window in windows {
            if let Some((line, what)) = self.find(&window.text) {
                let line = window.start_line + line - 1;
                return Err(format!("line {line} of the file looks like {what}"));
            }
        }
        Ok(())
    }

    /// Whether a file's name says that it holds secrets.
    pub fn is_secret_file(&self, path: &str) -> bool {
        let path = path.to_lowercase().replace('\\', "/");
        let name = path.rsplit('/').next().unwrap_or(&path);
        let own = self.names.iter().any(|p| matches(p, name) || matches(p, &path));
        let folder = |name: &str| {
            path.starts_with(&format!("{name}/")) || path.contains(&format!("/{name}/"))
        };
        own || NAMES.iter().any(|pattern| matches(pattern, name))
            || FOLDERS.iter().any(|name| folder(name))
            || PATHS.iter().any(|end| path == *end || path.ends_with(&format!("/{end}")))
    }

    /// The text without lines that look like secrets.
    pub fn redacted(&self, text: &str) -> String {
        let line = |line: &str| match self.find(line) {
            None => line.to_owned(),
            Some((_, what)) => {
                let end = if line.ends_with('\n') { "\n" } else { "" };
                format!("[a line that looks like {what} is left out]{end}")
            }
        };
        text.split_inclusive('\n').map(line).collect()
    }

    /// The first line that looks like a secret, and what it looks like.
    pub fn find(&self, text: &str) -> Option<(usize, &'static str)> {
        (1..).zip(text.lines()).find_map(|(number, line)| {
            if self.literals.iter().any(|secret| line.contains(secret.as_str())) {
                return Some((number, "the key of the endpoint"));
            }
            looks_secret(line).map(|what| (number, what))
        })
    }
}

const NAMES: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".vault-token",
    ".s3cfg",
    ".boto",
    ".my.cnf",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.asc",
    "*.gpg",
    "*.ppk",
    "*.ovpn",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "credentials",
    "credentials.*",
    "secret.*",
    "secrets.*",
    "*.secret",
    "*.secrets",
    "service-account*.json",
    "service_account*.json",
    "client_secret*.json",
    "kubeconfig",
    "wallet.dat",
    "master.key",
    "shadow",
    "terraform.rc",
];

const FOLDERS: &[&str] = &[".ssh", ".gnupg", ".aws", ".azure", ".gcloud"];

const PATHS: &[&str] =
    &[".docker/config.json", ".kube/config", ".config/gh/hosts.yml", ".cargo/credentials.toml"];

/// Matches a name against a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Prefixes of keys, and how many key characters have to follow.
const PREFIXES: &[(&str, usize, &str)] = &[
    ("AKIA", 16, "an AWS key"),
    ("ASIA", 16, "an AWS key"),
    ("ghp_", 30, "a GitHub token"),
    ("gho_", 30, "a GitHub token"),
    ("ghu_", 30, "a GitHub token"),
    ("ghs_", 30, "a GitHub token"),
    ("ghr_", 30, "a GitHub token"),
    ("github_pat_", 22, "a GitHub token"),
    ("glpat-", 20, "a GitLab token"),
    ("gldt-", 20, "a GitLab token"),
    ("xoxb-", 10, "a Slack token"),
    ("xoxp-", 10, "a Slack token"),
    ("xoxa-", 10, "a Slack token"),
    ("xoxr-", 10, "a Slack token"),
    ("xoxs-", 10, "a Slack token"),
    ("xapp-", 10, "a Slack token"),
    ("sk_live_", 10, "a Stripe key"),
    ("rk_live_", 10, "a Stripe key"),
    ("sk_test_", 10, "a Stripe key"),
    ("whsec_", 20, "a webhook secret"),
    ("sk-ant-", 10, "an API key"),
    ("sk-proj-", 10, "an API key"),
    ("sk-or-", 10, "an API key"),
    ("sk-", 20, "an API key"),
    ("gsk_", 20, "an API key"),
    ("AIza", 30, "a Google key"),
    ("ya29.", 20, "a Google token"),
    ("GOCSPX-", 20, "a Google secret"),
    ("SG.", 20, "a SendGrid key"),
    ("npm_", 30, "an npm token"),
    ("pypi-", 30, "a PyPI token"),
    ("cio", 32, "a crates.io token"),
    ("hf_", 30, "a Hugging Face token"),
    ("dop_v1_", 30, "a DigitalOcean token"),
    ("shpat_", 20, "a Shopify token"),
    ("AGE-SECRET-KEY-1", 20, "an age key"),
    ("hvs.", 20, "a Vault token"),
    ("EAACEdEose0cBA", 10, "a Facebook token"),
    ("PMAK-", 20, "a Postman key"),
    ("dapi", 32, "a Databricks token"),
    ("lin_api_", 20, "a Linear key"),
    ("key-", 32, "an API key"),
    ("sq0atp-", 20, "a Square token"),
    ("sq0csp-", 20, "a Square secret"),
    ("figd_", 20, "a Figma token"),
    ("hooks.slack.com/services/", 20, "a Slack hook"),
    ("discord.com/api/webhooks/", 20, "a Discord hook"),
    ("discordapp.com/api/webhooks/", 20, "a Discord hook"),
];

fn looks_secret(line: &str) -> Option<&'static str> {
    if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
        return Some("a private key");
    }
    let key_char =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '=');
    for &(prefix, least, what) in PREFIXES {
        for (at, _) in line.match_indices(prefix) {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
                continue;
            }
            let rest = &line[at + prefix.len()..];
            let value = &rest[..rest.find(|c| !key_char(c)).unwrap_or(rest.len())];
            if value.len() >= least && is_random(value) {
                return Some(what);
            }
        }
    }
    if has_jwt(line, key_char) {
        return Some("a signed token");
    }
    if has_bot_token(line) {
        return Some("a bot token");
    }
    if has_url_password(line) {
        return Some("a URL with a password");
    }
    for scheme in ["bearer ", "basic "] {
        let lower = line.to_ascii_lowercase();
        if lower.contains("authorization")
            && let Some(at) = lower.find(scheme)
        {
            let rest = &line[at + scheme.len()..];
            let value = &rest[..rest.find(|c| !key_char(c)).unwrap_or(rest.len())];
            if value.len() >= 12 && is_random(value) {
                return Some("an Authorization header");
            }
        }
    }
    assigns_secret(line).then_some("a password or key")
}

fn has_jwt(line: &str, key_char: impl Fn(char) -> bool + Copy) -> bool {
    line.match_indices("eyJ").any(|(at, _)| {
        let rest = &line[at..];
        let value = &rest[..rest.find(|c| !key_char(c)).unwrap_or(rest.len())];
        value.len() >= 30 && value.matches('.').count() >= 2
    })
}

/// `110201543:AAH…`, as Telegram has them.
fn has_bot_token(line: &str) -> bool {
    line.match_indices(":AA").any(|(at, _)| {
        let digits = line[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let value = line[at + 1..].chars().take_while(|c| word(*c)).count();
        (8..=10).contains(&digits) && (33..=40).contains(&value)
    })
}

fn has_url_password(line: &str) -> bool {
    line.match_indices("://").any(|(at, _)| {
        let rest = &line[at + 3..];
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '`' | '>'));
        let authority = &rest[..end.unwrap_or(rest.len())];
        let Some((user, _)) = authority.rsplit_once('@') else { return false };
        let Some((_, password)) = user.split_once(':') else { return false };
        password.len() >= 4 && !is_placeholder(password)
    })
}

/// Names whose values are secrets.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "secretkey",
    "secretaccesskey",
    "apikey",
    "apisecret",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "token",
    "privatekey",
    "privatekeyid",
    "clientsecret",
    "accesskey",
    "encryptionkey",
    "signingkey",
    "sessionkey",
    "connectionstring",
    "accountkey",
    "bearertoken",
    "webhooksecret",
    "masterkey",
    "storagekey",
];

/// Names whose values a person chose, so that they may be words.
const PASSWORD_NAMES: &[&str] = &["password", "passwd", "passphrase"];

/// `name = "value"` and its like, where the name is one of a secret and the value is
/// neither a placeholder nor code.
fn assigns_secret(line: &str) -> bool {
    let separators = line.char_indices().filter(|(_, c)| matches!(c, '=' | ':'));
    for (at, _) in separators.take(8) {
        let name: String = line[..at]
            .trim_end_matches(|c: char| c.is_whitespace() || "\"':=>?!]".contains(c))
            .chars()
            .rev()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let name: String = name.chars().rev().collect();
        if !SECRET_NAMES.iter().any(|secret| name.ends_with(secret)) {
            continue;
        }
        // `name: Type = value` has its value behind the second mark.
        let rest = &line[at + 1..];
        let typed = rest.find('=').map(|equals| &rest[equals + 1..]);
        let chosen = PASSWORD_NAMES.iter().any(|password| name.ends_with(password));
        let is_secret = |text| is_secret_value(text, chosen);
        if [Some(rest), typed].into_iter().flatten().any(is_secret) {
            return true;
        }
    }
    false
}

fn is_secret_value(text: &str, chosen: bool) -> bool {
    let value = text.trim_start_matches(|c: char| c.is_whitespace() || c == '=' || c == '>');
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let value = match quote {
        Some(quote) => value[1..].split(quote).next(),
        None => value.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '#')).next(),
    };
    let value = value.unwrap_or_default();
    // A bare value is code as often as not: only one that no identifier is counts.
    let literal = if quote.is_some() {
        value.len() >= 6 && !value.contains(char::is_whitespace)
    } else {
        value.len() >= 12 && !value.contains(['(', '[', '{', '<', '&', '.', ':'])
    };
    literal && (is_random(value) || chosen && is_phrase(value)) && !is_placeholder(value)
}

/// Words put together, as people make passwords; not a name, a label or a path.
fn is_phrase(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let parts = lower.split('-').filter(|part| !part.is_empty()).count();
    parts >= 2
        && !["pass", "secret", "word", "field", "input", "label"].iter().any(|w| lower.contains(w))
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Letters and digits mixed, or many different characters: not a word.
fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let marks = value.bytes().filter(|b| b"!@#$%^&*+/=~?".contains(b)).count();
    let mut kinds: Vec<u8> = value.bytes().collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mixed = (marks > 0 || digits > 0) && letters > 0 || digits >= 6;
    mixed && kinds.len() >= 5
}

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let words = [
        "example",
        "placeholder",
        "changeme",
        "change_me",
        "your",
        "xxx",
        "dummy",
        "todo",
        "redacted",
        "insert",
        "replace",
        "sample",
        "***",
        "...",
        "env.",
        "process.",
        "os.environ",
        "getenv",
        "config.",
    ];
    words.iter().any(|word| lower.contains(word))
        || value.starts_with(['$', '<', '{', '%', '@', '&', '*'])
        || value.contains("${")
        || value.contains("{{")
        || value.contains("%s")
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
