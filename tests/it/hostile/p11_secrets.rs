//! How many kinds of secrets are kept from a model, and how many lines are kept for nothing.
//! The list, `secrets.tsv`, was made for this; `{n}` stands for n random letters and digits, so that no
//! scanner takes it for a leak.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use restitch::internals::correct::{ModelCorrector, PromptBook, Secrets};
use restitch::internals::text::ContentHash;
use restitch::port::{
    Ask, BoxFuture, Budget, ChatError, ChatModel, ChatReply, ChatRequest, Corrector as _, Question,
    Window,
};

use crate::random::Random;

/// The lines of one kind, with the files they stand in: `kept` have a secret, `free` have none.
fn lines(kind: &str) -> Vec<(&'static str, &'static str)> {
    let mut lines = Vec::new();
    for row in include_str!("secrets.tsv").lines() {
        let cells: Vec<&str> = row.splitn(3, '\t').collect();
        let [own @ ("kept" | "free"), file, line] = cells[..] else {
            panic!("not a kind, a file and a line: {row}");
        };
        if own == kind {
            lines.push((file, line));
        }
    }
    lines
}

/// Texts of several lines, and what of them no prompt may hold.
const TEXTS: &[(&str, &str, &[&str])] = &[
    (
        "a.yml",
        "db:\n  password: >-\n    hunter2\n    and more\n  port: 1\n",
        &["hunter2", "and more"],
    ),
    ("a.yml", "password: |\n  hunter2\n\n  tr0ub4dor\nport: 1\n", &["hunter2", "tr0ub4dor"]),
    ("a.yml", "api_token:\n  \"hunter2hunter2\"\nport: 1\n", &["hunter2"]),
    ("n.txt", "machine h\n  login me\n  password hunter2\nport 1\n", &["hunter2"]),
    (
        "k.rs",
        "const K: &str = \"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1\nQ2hlY2sgbGFzdCBsaW5lGH==\n-----END RSA PRIVATE KEY-----\";\nfn main() {}\n",
        &["MIIEpAIBAAKCAQEA1", "Q2hlY2sgbGFzdCBsaW5lGH"],
    ),
    // The secret is not what stands in quotes.
    ("a.sh", "sshpass -p hunter2 ssh \"host\"\nport 1\n", &["hunter2"]),
    ("a.yml", "password: |\n  hunter2 \"and more\"\nport: 1\n", &["hunter2", "and more"]),
    // A window that begins within the key.
    (
        "k.txt",
        "MIIEpAIBAAKCAQEA1c7u9Rr2S0mQ3e5tY7uI9oP1aS2dF4gH6jK8lZ0xC2vB4nM6\nQ2hlY2sgbGFzdCBsaW5lGH==\n-----END RSA PRIVATE KEY-----\nport 1\n",
        &[
            "MIIEpAIBAAKCAQEA1c7u9Rr2S0mQ3e5tY7uI9oP1aS2dF4gH6jK8lZ0xC2vB4nM6",
            "Q2hlY2sgbGFzdCBsaW5lGH",
        ],
    ),
];

/// Names of files that are never looked into.
const FILES: &str = "\
    .env .env~ prod.env.bak env app/.env.production id_rsa id_ed25519.old server.pem .npmrc \
    .netrc .pgpass x.tfvars kubeconfig .aws/credentials terraform.tfstate.backup \
    credentials.json keystore.jks deploy.key.orig ID_RSA .ssh/config secrets.yaml";

/// Names of files that only sound like these.
const FREE_FILES: &str = "src/env.rs key.rs monkey.py secretary.txt token.rs README.md";

/// A line with its random parts.
fn filled(template: &str, seed: u64) -> String {
    filled_with(template, seed).0
}

/// A line with its random parts, and these.
fn filled_with(template: &str, seed: u64) -> (String, Vec<String>) {
    let mut random = Random::new(seed);
    let mut draw = |set: &[u8]| char::from(set[random.below(set.len())]);
    let mut out = String::new();
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (what, behind) = after.split_once('}').unwrap_or((after, ""));
        let (set, count): (&[u8], _) = match what.as_bytes().first() {
            Some(b'A') => (b"ABCDEFGHJKLMNPQRSTUVWXYZ234567", &what[1..]),
            Some(b'h') => (b"0123456789abcdef", &what[1..]),
            _ => (b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", what),
        };
        match count.parse::<usize>() {
            Ok(count) => {
                let part: String = (0..count).map(|_| draw(set)).collect();
                out.push_str(&part);
                parts.push(part);
            }
            Err(_) => {
                out.push('{');
                rest = after;
                continue;
            }
        }
        rest = behind;
    }
    (out + rest, parts)
}

#[test]
fn files_and_values_that_are_secrets_are_known() {
    let secrets = Secrets::new();
    let unknown: Vec<&str> =
        FILES.split(' ').filter(|name| !secrets.is_secret_file(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(!FREE_FILES.split(' ').any(|name| secrets.is_secret_file(name)));
    let secrets = secrets.with_literal("my-endpoint-key-1");
    assert_eq!(secrets.redact("use my-endpoint-key-1 here"), "use [redacted] here");
}

/// Words of the list that are secrets of a person.
const WORDS: &str = "\
    hunter2 tr0ub4dor Tr0ub4dor Summer2024 changeit1 s3cr3t qwerty99 mailer77 rootpw1 backup1 \
    abc123xyz toor12 Passw0rd1 letmein9 opensesame1 correcthorse9 correct-horse-battery";

/// A model that keeps the prompt that it is sent.
struct Listener(Arc<Mutex<String>>);

impl ChatModel for Listener {
    fn identity(&self) -> String {
        "listener".into()
    }

    fn ask<'a>(
        &'a self,
        request: &'a ChatRequest,
        _budget: &'a Budget,
        _is_usable: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        self.0.lock().expect("sound").clone_from(&request.user);
        Box::pin(std::future::ready(Ok(ChatReply { content: "{}".into() })))
    }
}

/// The prompt of a question that shows this text of a file; empty if nothing is sent.
async fn prompt_with(file: &str, text: &str) -> String {
    let prompt = Arc::new(Mutex::new(String::new()));
    let book = PromptBook::built_in().expect("prompts");
    let model = ModelCorrector::new(Listener(Arc::clone(&prompt)), book, Secrets::new());
    let windows = vec![Window { start_line: 1, end_line: 9, text: text.into() }];
    let question = Question::CorrectOld { expected: Some(1), windows, reason: None };
    let (old, new) = ("before".into(), "after".into());
    let ask = Ask { path: file.into(), file: ContentHash::of(b""), old, new, question };
    let _ = model.correct(&ask, &Budget::new(Duration::from_secs(9), 4)).await;
    prompt.lock().expect("sound").clone()
}

/// What counts is the text of the prompt: no part of a secret is left in it, and ordinary lines stay.
#[tokio::test]
async fn nothing_of_a_secret_is_left_in_a_prompt() {
    let secrets = Secrets::new();
    let kept = lines("kept");
    let mut left = Vec::new();
    for (file, line) in &kept {
        for seed in 1..=5 {
            let (line, parts) = filled_with(line, seed);
            let text = format!("before\n{line}\nafter it;\n");
            let sent = secrets.redact_in(file, &text);
            // After the beginning of a key, all is taken for the key until its end.
            let has_end = !line.contains("-----BEGIN ");
            assert!(sent.starts_with("before\n"), "{sent}");
            assert!(!has_end || sent.ends_with("\nafter it;\n"), "{sent}");
            let parts = parts.iter().filter(|part| part.len() >= 16).map(String::as_str);
            let words = WORDS.split(' ').filter(|word| line.contains(word));
            let sent = sent + &prompt_with(file, &text).await;
            if let Some(part) = parts.chain(words).find(|part| sent.contains(part)) {
                left.push(format!("{file}: {line}: {part}"));
                break;
            }
        }
    }
    println!("of {} lines, a part of a secret is left in {}: {left:#?}", kept.len(), left.len());
    assert!(left.len() * 20 <= kept.len());
    for (file, text, hidden) in TEXTS {
        let sent = secrets.redact_in(file, text) + &prompt_with(file, text).await;
        for part in *hidden {
            assert!(!sent.contains(part), "{file}: {part} in\n{sent}");
        }
        let last = text.lines().last().expect("a line");
        assert!(sent.contains(last), "{file}: {last} is no secret:\n{sent}");
    }
    let free = lines("free");
    let mut alarms = Vec::new();
    for (file, line) in &free {
        let line = filled(line, 7);
        if secrets.redact_in(file, &line) != line {
            alarms.push(format!("{file}: {line}"));
        }
    }
    println!("of {} ordinary lines {} are taken out: {alarms:#?}", free.len(), alarms.len());
    assert!(alarms.len() * 20 <= free.len());
}

/// Alarms in the text files below a folder: how many lines there are, and the lines.
fn alarms_below(folder: &Path, secrets: &Secrets) -> (usize, Vec<String>) {
    let (mut lines, mut alarms) = (0, Vec::new());
    for name in crate::disk::names_below(folder) {
        // The rules themselves and their tests look like what they look for.
        let is_rules = name.contains("secrets") || name.contains("redact");
        let is_code = [".rs", ".py", ".js", ".ts", ".go", ".c", ".h", ".toml", ".yml", ".sh"]
            .iter()
            .any(|ending| name.ends_with(ending));
        if is_rules || !is_code {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&name) else { continue };
        for line in text.lines() {
            lines += 1;
            if secrets.find_in(&name, line).is_some() {
                alarms.push(line.trim().chars().take(160).collect());
            }
        }
    }
    (lines, alarms)
}

#[test]
fn real_code_gives_few_false_alarms() {
    let secrets = Secrets::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (lines, alarms) = alarms_below(&root, &secrets);
    println!("{} false alarms in {lines} lines of this crate: {alarms:#?}", alarms.len());
    assert!(alarms.len() * 2_000 <= lines);
}
