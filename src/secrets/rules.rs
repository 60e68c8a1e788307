//! The rules for secrets, as regular expressions: those of gitleaks for the keys of vendors, and a few
//! of our own for commands, headers, URLs and other places in which a secret stands without a name.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::{Captures, Regex, RegexBuilder};

use super::assigned::FileKind;
use super::values::{is_placeholder, is_random};

/// The vendored rules.
const GITLEAKS: &str = include_str!("gitleaks.tsv");

/// The rules of our own.
const OWN_RULES: &str = include_str!("own.tsv");

/// A word of a command line, perhaps in quotes.
const WORD: &str = r#"["']?([^\s"'|;&]{4,})"#;

/// The rows of a table of rules, each with this many cells.
fn rows<const CELLS: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; CELLS]> {
    let rows = table.lines().filter(|row| !row.starts_with('#'));
    rows.filter_map(|row| row.splitn(CELLS, '\t').collect::<Vec<_>>().try_into().ok())
}

/// A rule of our own.
struct OwnRule {
    /// Whether it applies to settings and scripts only.
    only_settings: bool,
    /// Whether its value must look random.
    only_random: bool,
    regex: Option<Regex>,
}

static OWN: LazyLock<Vec<OwnRule>> = LazyLock::new(|| {
    let rule = |[_, place, pattern]: [&'static str; 3]| OwnRule {
        only_settings: place == "settings",
        only_random: place == "random",
        regex: compile(&pattern.replace("{word}", WORD)),
    };
    rows(OWN_RULES).map(rule).collect()
});

/// A vendored rule, whose expression is compiled when it is needed first.
struct Vendored {
    entropy: f64,
    /// The words, separated by commas, one of which a text must hold for the rule to match.
    keywords: &'static str,
    pattern: &'static str,
    regex: OnceLock<Option<Regex>>,
}

static VENDORED: LazyLock<Vec<Vendored>> = LazyLock::new(|| {
    let rule = |[_, entropy, keywords, pattern]: [&'static str; 4]| {
        let entropy = entropy.parse().ok()?;
        Some(Vendored { entropy, keywords, pattern, regex: OnceLock::new() })
    };
    rows(GITLEAKS).filter_map(rule).collect()
});

/// Finds the words of all vendored rules in one pass; and the rule of each word.
static KEYWORDS: LazyLock<Option<(AhoCorasick, Vec<usize>)>> = LazyLock::new(|| {
    let words = VENDORED.iter().enumerate();
    let words = words
        .flat_map(|(rule, vendored)| vendored.keywords.split(',').map(move |word| (word, rule)));
    let (words, rules): (Vec<&str>, Vec<usize>) = words.unzip();
    Some((AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()?, rules))
});

/// The expression; a test compiles them all.
fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).size_limit(64 << 20).build().ok()
}

/// The secrets that the vendored rules find: the whole word around each.
pub(super) fn find_vendored(text: &str) -> Vec<Range<usize>> {
    let mut may_match = vec![KEYWORDS.is_none(); VENDORED.len()];
    if let Some((words, rules)) = &*KEYWORDS {
        for word in words.find_overlapping_iter(text) {
            may_match[rules[word.pattern().as_usize()]] = true;
        }
    }
    let mut found = Vec::new();
    for (rule, _) in VENDORED.iter().zip(may_match).filter(|(_, may_match)| *may_match) {
        let Some(regex) = rule.regex.get_or_init(|| compile(rule.pattern)) else { continue };
        for captures in regex.captures_iter(text.as_bytes()) {
            let range = word_around(text, groups(&captures));
            let secret = &text[range.clone()];
            if entropy(secret) >= rule.entropy && !is_placeholder(secret) {
                found.push(range);
            }
        }
    }
    found
}

/// Whether a line holds a secret by the rules of our own.
pub(super) fn has_own(line: &str, file_kind: FileKind) -> bool {
    let applies = |rule: &&OwnRule| !rule.only_settings || file_kind == FileKind::Settings;
    OWN.iter().filter(applies).any(|rule| {
        let is_real = |captures: Captures<'_>| {
            let value = &line[snap(line, groups(&captures))];
            let lower = value.to_ascii_lowercase();
            let is_word = ["password", "passwd", "secret", "prompt", "true", "false", "required"];
            !is_placeholder(value)
                && !is_word.contains(&lower.as_str())
                && (!rule.only_random || is_random(value))
        };
        rule.regex.as_ref().is_some_and(|regex| regex.captures_iter(line.as_bytes()).any(is_real))
    })
}

/// What all groups of a match cover; without groups, the match.
fn groups(captures: &Captures<'_>) -> Range<usize> {
    let mut ranges = captures
        .iter()
        .skip(1)
        .flatten()
        .map(|group| group.range())
        .filter(|range| !range.is_empty());
    match ranges.next() {
        Some(first) => {
            ranges.fold(first, |all, one| all.start.min(one.start)..all.end.max(one.end))
        }
        None => captures.get_match().range(),
    }
}

/// The range, extended to the characters that may belong to the same key.
fn word_around(text: &str, range: Range<usize>) -> Range<usize> {
    let is_key_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.~+/=%".contains(&byte);
    let bytes = text.as_bytes();
    let before = bytes[..range.start].iter().rev().take_while(|byte| is_key_byte(**byte)).count();
    let after = bytes[range.end..].iter().take_while(|byte| is_key_byte(**byte)).count();
    snap(text, range.start - before..range.end + after)
}

/// The range, extended to whole characters.
fn snap(text: &str, range: Range<usize>) -> Range<usize> {
    let start = (0..=range.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (range.end..=text.len()).find(|at| text.is_char_boundary(*at));
    start..end.unwrap_or(text.len())
}

/// The entropy of a text in bits a byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let total = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let parts = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    -parts.map(|part| part * part.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_used() {
        assert!(VENDORED.len() > 200, "{}", VENDORED.len());
        for rule in VENDORED.iter() {
            assert_eq!(rule.keywords, rule.keywords.to_ascii_lowercase(), "{}", rule.pattern);
            assert!(compile(rule.pattern).is_some(), "{}", rule.pattern);
        }
        assert_eq!(OWN.len(), OWN_RULES.lines().filter(|row| !row.starts_with('#')).count());
        assert!(OWN.len() > 20 && OWN.iter().all(|rule| rule.regex.is_some()));
    }
}
