//! Values that may be secrets: what is random, what stands for something else.

/// Letters and digits mixed, or many different characters: not a word.
pub(super) fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let marks = value.bytes().filter(|b| b"!@#$%^&*+/=~?".contains(b)).count();
    let mut distinct: Vec<u8> = value.bytes().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mixed = (marks > 0 || digits > 0) && letters > 0 || digits >= 6;
    mixed && distinct.len() >= 5
}

pub(super) fn is_placeholder(value: &str) -> bool {
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
        "secrets.",
        "vault:",
        "file:",
        "none",
        "null",
        "undefined",
    ];
    words.iter().any(|word| lower.contains(word))
        || value.starts_with(['$', '<', '{', '%', '@', '&', '*', '!'])
        || value.bytes().collect::<std::collections::BTreeSet<u8>>().len() < 3
        || value.contains("${")
        || value.contains("{{")
        || value.contains("%s")
}
