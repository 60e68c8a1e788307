//! Values that a name says are secrets: `password = …` and its like, in settings, in shells
//! and in code.

use super::commands;
use super::values::{is_placeholder, is_random};

/// What kind of file a line is in, by the file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Settings: a bare value is a value.
    Settings,
    /// Code, or not known: a bare value may as well be a name.
    Code,
}

impl FileKind {
    pub(super) fn of(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
        let ending = name.rsplit_once('.').map_or(name.as_str(), |(_, ending)| ending);
        match SETTINGS.contains(&ending) {
            true => Self::Settings,
            false => Self::Code,
        }
    }
}

const SETTINGS: &[&str] = &[
    "yaml",
    "yml",
    "properties",
    "ini",
    "cfg",
    "conf",
    "cnf",
    "config",
    "env",
    "toml",
    "json",
    "json5",
    "jsonc",
    "xml",
    "plist",
    "tf",
    "hcl",
    "sh",
    "bash",
    "zsh",
    "fish",
    "ps1",
    "bat",
    "cmd",
    "dockerfile",
    "service",
    "reg",
    "netrc",
    "pgpass",
    "editorconfig",
    "list",
    "txt",
    "md",
];

/// Whether a line gives a secret to a name, or to a program.
pub(super) fn gives_secret(line: &str, file_kind: FileKind) -> bool {
    names_secret(line, file_kind) || commands::gives_secret(line, file_kind == FileKind::Settings)
}

/// Whether a line gives a secret to a name.
fn names_secret(line: &str, file_kind: FileKind) -> bool {
    separators(line).take(12).any(|(at, length)| {
        if let Some((value, origin)) = attribute(line, at) {
            return is_secret(value, origin, Form::Literal);
        }
        let words = words_before(&line[..at]);
        // `pass` is often a verb, so it counts only where a value is assigned to it.
        let is_marked = !matches!(line.as_bytes().get(at), Some(b'(' | b' '));
        if !is_marked && words.iter().any(|word| word == "pass") {
            return false;
        }
        let Some(origin) = origin(&words) else { return false };
        let is_shell = line.as_bytes().get(at) == Some(&b'=')
            && line[..at].ends_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
            && !line[at + 1..].starts_with([' ', '=']);
        let in_string = line.matches(';').count() >= 2 || is_quoted_at(line, at);
        let bare = match file_kind == FileKind::Settings || is_shell || in_string {
            true => Form::Literal,
            false => Form::Code,
        };
        // `name: Type = value` has its value behind the second mark.
        let rest = &line[at + length..];
        let typed = rest.find('=').map(|equals| &rest[equals + 1..]);
        [Some(rest), typed].into_iter().flatten().any(|text| is_secret_value(text, origin, bare))
    })
}

/// Where a value of this name usually comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOrigin {
    /// A person chose it: it may be short, and words.
    Person,
    /// A machine made it.
    Machine,
}

/// What a value is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The value itself.
    Literal,
    /// As likely an expression.
    Code,
}

/// The marks between a name and its value, with their lengths: `=`, `:`, `=>`, `>` of a tag,
/// and the comma in `define('NAME', 'value')`.
fn separators(line: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    line.char_indices().filter_map(|(at, c)| match c {
        '=' | ':' | '>' => Some((at, 1)),
        ',' if is_quoted_name(&line[..at]) => Some((at, 1)),
        // `{password, "value"}`
        ',' if line[..at].rsplit(['{', ' ']).next().is_some_and(|name| name == "password") => {
            Some((at, 1))
        }
        // `setPassword("value")`, `PASSWORD 'value'`, `-Password "value"`
        '(' | ' ' if line[at + 1..].starts_with(['"', '\'', '`']) => Some((at, 1)),
        // `--password value`, `-p value` are a command's.
        ' ' if line[..at].rsplit(' ').next().is_some_and(|word| word.starts_with("--")) => {
            Some((at, 1))
        }
        _ => None,
    })
}

/// Whether a text ends with an identifier in quotes, and nothing else in them.
fn is_quoted_name(text: &str) -> bool {
    let Some(inside) = text.strip_suffix(['\'', '"']) else { return false };
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    inside.trim_end_matches(name).ends_with(['\'', '"']) && inside.ends_with(name)
}

/// The words of the identifier before a mark, in lower case.
fn words_before(text: &str) -> Vec<String> {
    let marks = |c: char| c.is_whitespace() || "\"'`:=>?!])".contains(c);
    let text = text.trim_end_matches(marks);
    // `Dim pwd As String = …`
    let text = text.strip_suffix(" As String").unwrap_or(text);
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .last()
        .map_or(text.len(), |(at, _)| at);
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for c in text[start..].chars() {
        if !c.is_ascii_alphanumeric() {
            before = '_';
            continue;
        }
        let begins = before == '_' || c.is_ascii_uppercase() && !before.is_ascii_uppercase();
        match words.last_mut() {
            Some(word) if !begins => word.push(c.to_ascii_lowercase()),
            _ => words.push(c.to_ascii_lowercase().to_string()),
        }
        before = c;
    }
    words
}

fn origin(words: &[String]) -> Option<ValueOrigin> {
    const PASSWORDS: &[&str] = &[
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "pass",
        "passwort",
        "pgpassword",
        "kennwort",
        "psk",
        "passcode",
    ];
    const GENERATED: &[&str] = &[
        "secret",
        "secrets",
        "token",
        "apikey",
        "apisecret",
        "accesstoken",
        "authtoken",
        "privatekey",
        "clientsecret",
        "accesskey",
        "secretkey",
        "credential",
        "credentials",
        "connectionstring",
        "bearer",
        "auth",
        "cookie",
        "signature",
        "pat",
        "hmac",
        "salt",
    ];
    const KEYS: &[&str] = &[
        "api",
        "access",
        "private",
        "secret",
        "client",
        "auth",
        "encryption",
        "signing",
        "session",
        "master",
        "storage",
        "account",
        "shared",
        "service",
        "deploy",
        "license",
        "app",
        "hmac",
        "jwt",
        "publish",
        "webhook",
        "admin",
        "root",
        "crypt",
        "aes",
        "consumer",
        "subscription",
        "stream",
        "write",
        "ssh",
        "rsa",
    ];
    const SUFFIXES: &[&str] = &["base", "value", "data", "string", "id", "b64", "base64", "hash"];
    let mut words = words;
    // `secret_key_base`, `client-key-data`: the telling word comes first.
    while let Some((last, rest)) = words.split_last()
        && !rest.is_empty()
        && (SUFFIXES.contains(&last.as_str()) || last.bytes().all(|b| b.is_ascii_digit()))
    {
        words = rest;
    }
    let last = words.last()?.as_str();
    let before = words.len().checked_sub(2).map(|at| words[at].as_str());
    if PASSWORDS.iter().any(|name| last == *name || name.len() > 5 && last.ends_with(name)) {
        return Some(ValueOrigin::Person);
    }
    let is_key = last == "key" && before.is_some_and(|word| KEYS.contains(&word));
    // `accesstoken`, `clientsecret`: put together without a mark.
    let is_made =
        GENERATED.iter().any(|name| last == *name || name.len() > 4 && last.ends_with(name))
            || is_key;
    is_made.then_some(ValueOrigin::Machine)
}

/// Whether a mark is inside a string.
fn is_quoted_at(line: &str, at: usize) -> bool {
    ['"', '\'', '`']
        .iter()
        .any(|quote| line[..at].matches(*quote).count() % 2 == 1 && line[at..].contains(*quote))
}

fn is_secret_value(text: &str, origin: ValueOrigin, bare: Form) -> bool {
    let value = text.trim_start_matches(|c: char| c.is_whitespace() || "=>(".contains(c));
    // `b"…"`, `r'…'`
    let value = match value.strip_prefix(['b', 'r', 'u', 'B', 'R']) {
        Some(quoted) if quoted.starts_with(['"', '\'']) => quoted,
        _ => value,
    };
    // `"""…"""`
    let value = value.strip_prefix("\"\"").filter(|rest| rest.starts_with('"')).unwrap_or(value);
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let value = match quote {
        Some(quote) => value[1..].split(quote).next(),
        None => value
            .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '"' | '\''))
            .next()
            // In an address the next argument begins.
            .map(|value| {
                value
                    .split_once('&')
                    .filter(|(first, _)| first.len() > 3)
                    .map_or(value, |(first, _)| first)
            }),
    };
    let value = value.unwrap_or_default();
    if value.contains(char::is_whitespace) && origin == ValueOrigin::Machine {
        return false;
    }
    if quote.is_some() {
        return is_secret(value, origin, Form::Literal);
    }
    // A bare value is code as often as not: only one that no expression is counts.
    if bare == Form::Literal {
        return !value.contains(['(', '[', '{', '<', '&'])
            && is_secret(value, origin, Form::Literal);
    }
    value.len() >= 12
        && !value.contains(['(', '[', '{', '<', '&', '.', ':'])
        && is_secret(value, origin, Form::Code)
}

/// Whether a value is a secret of that kind.
fn is_secret(value: &str, origin: ValueOrigin, form: Form) -> bool {
    if is_placeholder(value) || value.len() < 4 || is_word_of_code(value) {
        return false;
    }
    match origin {
        ValueOrigin::Person if form == Form::Literal => value.len() >= 4 && !is_plain_name(value),
        ValueOrigin::Person => is_random(value) || is_phrase(value),
        ValueOrigin::Machine => value.len() >= 6 && is_random(value),
    }
}

/// A word in a password's place that is a name, a type or a truth value.
fn is_word_of_code(value: &str) -> bool {
    let lower = value.trim_matches(['"', '\'']).to_ascii_lowercase();
    [
        "string", "str", "text", "true", "false", "bool", "boolean", "none", "optional",
        "required", "varchar", "any", "number", "object", "bytes", "char", "self", "this", "test",
        "password", "secret", "token", "pass", "passwd", "hidden", "input", "prompt", "plain",
        "basic",
    ]
    .contains(&lower.as_str())
        || lower.contains("password")
        || lower.contains("passwd")
        || lower.contains("secret")
        || lower.starts_with('/') && lower.matches('/').count() > 1
}

/// A label or an identifier of several words, as programs have for their fields.
fn is_plain_name(value: &str) -> bool {
    let has_mark = value.contains(['_', '.', ' ']);
    has_mark && value.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'.' | b' '))
        || value.ends_with([':', '?', '.', '…']) && value.contains(' ')
        || value.split(' ').count() > 2 && !value.contains(|c: char| c.is_ascii_digit())
}

/// Words put together, as people make passwords; not a name, a label or a path.
fn is_phrase(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let parts = lower.split('-').filter(|part| !part.is_empty()).count();
    parts >= 2
        && !["pass", "secret", "word", "field", "input", "label"].iter().any(|w| lower.contains(w))
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// The value of an element whose name is in another attribute: `name="password" value="…"`.
fn attribute(line: &str, at: usize) -> Option<(&str, ValueOrigin)> {
    let name = line[at..].strip_prefix('=')?.strip_prefix(['"', '\''])?;
    if !line[..at].ends_with("name") && !line[..at].ends_with("key") {
        return None;
    }
    let origin = origin(&words_before(name.split(['"', '\'']).next()?))?;
    let (_, rest) = line[at..].split_once("value=")?;
    let value = rest.trim_start_matches(['"', '\'']).split(['"', '\'']).next()?;
    Some((value, origin))
}
