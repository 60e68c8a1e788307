//! Tells random values from words, and placeholders from real values.

/// Whether a value looks random: letters mixed with digits or punctuation, or at least six digits,
/// and at least five different characters.
pub(super) fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let punctuation = value.bytes().filter(|b| b"!@#$%^&*+/=~?".contains(b)).count();
    let mut distinct: Vec<u8> = value.bytes().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let is_mixed = letters > 0 && (punctuation > 0 || digits > 0);
    (is_mixed || digits >= 6) && distinct.len() >= 5
}

/// Whether a value stands for a secret without being one: an example, a variable, a reference.
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
