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

/// Where a rule of our own applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Everywhere,
    /// In settings and scripts, where a bare word is a literal.
    Settings,
}

/// The first group of a rule of our own is the value.
struct OwnRule {
    what: &'static str,
    place: Place,
    pattern: &'static str,
}

const fn own(what: &'static str, place: Place, pattern: &'static str) -> OwnRule {
    OwnRule { what, place, pattern }
}

/// A word of a command line, perhaps in quotes.
macro_rules! word {
    () => {
        r#"["']?([^\s"'|;&]{4,})"#
    };
}

/// Where the value ends is seldom clear, so the whole line is redacted.
const OWN: &[OwnRule] = &[
    own("a URL with a password", Place::Everywhere, r#"://[^\s/"'`<>@]*?:([^\s/"'`<>@]{3,})@"#),
    own(
        "a data source with a password",
        Place::Everywhere,
        r#"[^\s"'`=(,:/]+[:/]([^\s"'`=(,:/@]{3,})@(?:tcp\(|unix\(|udp\(|//)"#,
    ),
    own(
        "an Authorization header",
        Place::Everywhere,
        r#"(?i)(?:authorization|x-api-key|x-auth-token|x-access-token|private-token|api-key)["'`\] ]*[:=,][\s"'`]*(?:[a-z]+\s+)?([^\s"'`,;)]{12,})"#,
    ),
    own("an Azure secret", Place::Everywhere, r"([\w.~-]{3,}Q~[\w.~-]{31,40})"),
    own(
        "the hash of a password",
        Place::Everywhere,
        r"(?:\$(?:1|2[aby]|5|6|7|y|apr1|argon2\w*|scrypt|pbkdf2[\w-]*)\$|\{SSHA(?:512)?\})([\w$./+=,-]{22,})",
    ),
    own(
        "a vendor's key",
        Place::Everywhere,
        r"\b(?:GOCSPX-|NRAK-|dckr_[po]at_|AGE-SECRET-KEY-1)([\w-]{20,})",
    ),
    own("a bot token", Place::Everywhere, r"\b([0-9]{8,10}:AA[\w-]{31,40})"),
    own("a signed token", Place::Everywhere, r"(eyJ[\w+/=-]{8,}\.[\w+/=-]{8,}\.[\w+/=-]{4,})"),
    own(
        "a command with a password",
        Place::Everywhere,
        concat!(r"(?i)\b(?:curl|wget)\b.*?\s(?:-u|--user|--proxy-user)(?:\s+|=)", word!()),
    ),
    own(
        "a command with a password",
        Place::Everywhere,
        concat!(r"(?i)\bsshpass\b.*?\s-p\s*", word!()),
    ),
    own(
        "a command with a password",
        Place::Settings,
        concat!(r"(?i)\b(?:mysql|mysqldump|mysqladmin|mariadb)\b.*?\s-p", word!()),
    ),
    own(
        "a command with a password",
        Place::Settings,
        concat!(r"(?i)\b(?:docker|podman|helm)\b.*?\blogin\b.*?\s-p\s+", word!()),
    ),
    own(
        "a command with a password",
        Place::Settings,
        concat!(
            r"\b(?:redis-cli\b.*?\s-a|ldap(?:search|add|modify)\b.*?\s-w|openssl\b.*?\s-[kK]|(?:un)?zip\b.*?\s-P|ipmitool\b.*?\s-P|mongo(?:sh|dump)?\b.*?\s-p)\s+",
            word!()
        ),
    ),
    own(
        "a command with a password",
        Place::Settings,
        r#"\bsmbclient\b.*?\s-U\s+["']?[^\s%]+%([^\s"']{4,})"#,
    ),
    own(
        "a command with a password",
        Place::Settings,
        concat!(r"(?i)\becho\s+", word!(), r#"["']?\s*\|\s*sudo -S"#),
    ),
    own("a command with a password", Place::Settings, r"(?i)^\s*net user \S+ ([^\s/]\S{3,})"),
    own(
        "a login with a password",
        Place::Everywhere,
        r"\b(?:machine\s+\S+|login\s+\S+|default)\s+(?:(?:login|account)\s+\S+\s+)*password\s+(\S+)",
    ),
    own(
        "a password",
        Place::Settings,
        r##"(?i)^\s*(?:requirepass|masterauth|(?:root)?bindpw|rootpw|r[ow]community|password|secret|psk|passwd)(?:\s+--\S+)*\s+["']?([^\s"'=#]{4,})["']?\s*(?:#.*)?$"##,
    ),
    own(
        "a password",
        Place::Everywhere,
        r#"(?i)(?:identified (?:by|with)|convertto-securestring)\s+["']([^"']{4,})"#,
    ),
    own(
        "a login with a password",
        Place::Everywhere,
        r#"(?i)(?:credentials?|basic_?auth|auth=)\(\s*["'][^"']*["']\s*,\s*(?:Some\()?["']([^\s"']{4,})"#,
    ),
    own(
        "a secret address",
        Place::Everywhere,
        r"(?:hooks\.slack\.com/(?:services|triggers|workflows)/|discord(?:app)?\.com/api/webhooks/)([\w/+-]{20,})",
    ),
];

/// A vendored rule, whose expression is compiled when it is needed first.
struct Vendored {
    id: &'static str,
    entropy: f64,
    /// The words, separated by commas, one of which a text must hold for the rule to match.
    keywords: &'static str,
    pattern: &'static str,
    regex: OnceLock<Option<Regex>>,
}

static VENDORED: LazyLock<Vec<Vendored>> = LazyLock::new(|| {
    let rule = |line: &'static str| {
        let mut fields = line.splitn(4, '\t');
        let (id, entropy) = (fields.next()?, fields.next()?.parse().ok()?);
        let (keywords, pattern) = (fields.next()?, fields.next()?);
        Some(Vendored { id, entropy, keywords, pattern, regex: OnceLock::new() })
    };
    GITLEAKS.lines().filter(|line| !line.starts_with('#')).filter_map(rule).collect()
});

/// Finds the words of all vendored rules in one pass; and the rule of each word.
static KEYWORDS: LazyLock<Option<(AhoCorasick, Vec<usize>)>> = LazyLock::new(|| {
    let words = VENDORED.iter().enumerate();
    let words = words
        .flat_map(|(rule, vendored)| vendored.keywords.split(',').map(move |word| (word, rule)));
    let (words, rules): (Vec<&str>, Vec<usize>) = words.unzip();
    Some((AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()?, rules))
});

static OWN_REGEXES: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| OWN.iter().map(|rule| compile(rule.pattern)).collect());

/// The expression; a test compiles them all.
fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).size_limit(64 << 20).build().ok()
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    /// What it looks like, such as `github-pat`.
    pub(super) what: &'static str,
}

/// The secrets that the vendored rules find: the whole word around each.
pub(super) fn find_vendored(text: &str) -> Vec<Found> {
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
                found.push(Found { range, what: rule.id });
            }
        }
    }
    found
}

/// What a line looks like by the rules of our own; `None` for an ordinary line.
pub(super) fn find_own(line: &str, file_kind: FileKind) -> Option<&'static str> {
    let applies =
        |rule: &OwnRule| rule.place == Place::Everywhere || file_kind == FileKind::Settings;
    OWN.iter().zip(OWN_REGEXES.iter()).filter(|(rule, _)| applies(rule)).find_map(
        |(rule, regex)| {
            let is_real = |captures: Captures<'_>| {
                let value = &line[snap(line, groups(&captures))];
                let lower = value.to_ascii_lowercase();
                let is_word =
                    ["password", "passwd", "secret", "prompt", "true", "false", "required"];
                let needs_chance = rule.what == "an Authorization header";
                !is_placeholder(value)
                    && !is_word.contains(&lower.as_str())
                    && (!needs_chance || is_random(value))
            };
            regex.as_ref()?.captures_iter(line.as_bytes()).any(is_real).then_some(rule.what)
        },
    )
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
            assert_eq!(rule.keywords, rule.keywords.to_ascii_lowercase(), "{}", rule.id);
            assert!(compile(rule.pattern).is_some(), "{}: {}", rule.id, rule.pattern);
        }
        for (rule, regex) in OWN.iter().zip(OWN_REGEXES.iter()) {
            assert!(regex.is_some(), "{}: {}", rule.what, rule.pattern);
        }
    }
}
