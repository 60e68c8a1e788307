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

/// What a value has that stands for a secret.
const PLACEHOLDERS: &str = "example placeholder changeme change_me your xxx dummy todo redacted insert replace sample \
     *** ... env. process. os.environ getenv config. secrets. vault: file: none null undefined";

/// Whether a value stands for a secret without being one: an example, a variable, a reference.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    PLACEHOLDERS.split(' ').any(|word| lower.contains(word))
        || value.starts_with(['$', '<', '{', '%', '@', '&', '*', '!'])
        || value.bytes().collect::<std::collections::BTreeSet<u8>>().len() < 3
        || value.contains("${")
        || value.contains("{{")
        || value.contains("%s")
}

/// Prefixes of checksums, which look random but are not secret.
const CHECKSUMS: &[&str] = &["sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "sha512:", "h1:"];

/// Whether a line contains a random word, whatever its name: lower case, upper case and digits
/// alternate in it more often than in words and identifiers.
pub(super) fn has_random_word(line: &str) -> bool {
    let is_word_char =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-');
    let mut next_start = 0;
    line.split(|c| !is_word_char(c)).any(|word| {
        let start = next_start;
        let end = start + word.len();
        next_start = end + line[end..].chars().next().map_or(0, char::len_utf8);
        let is_checksum = CHECKSUMS
            .iter()
            .any(|prefix| word.starts_with(prefix) || line[..start].ends_with(prefix));
        // Longer words are data: an image, a source map, a test vector.
        (20..=400).contains(&word.len()) && !is_checksum && looks_random(word)
    })
}

/// Whether a word mixes lower case, upper case and digits like random characters.
fn looks_random(word: &str) -> bool {
    const LOWER: usize = 0;
    const UPPER: usize = 1;
    const DIGIT: usize = 2;
    const OTHER: usize = 3;
    let class = |byte: u8| match byte {
        b'a'..=b'z' => LOWER,
        b'A'..=b'Z' => UPPER,
        b'0'..=b'9' => DIGIT,
        _ => OTHER,
    };
    let mut counts = [0_usize; 4];
    let (mut changes, mut pairs) = (0, 0);
    let mut previous = OTHER;
    for class in word.bytes().map(class) {
        counts[class] += 1;
        if class != OTHER && previous != OTHER {
            pairs += 1;
            changes += usize::from(class != previous);
        }
        previous = class;
    }
    let alphanumeric = counts[LOWER] + counts[UPPER] + counts[DIGIT];
    // In random letters and digits, six of ten neighbours differ in class; require four.
    alphanumeric >= 20
        && counts[LOWER] >= 4
        && counts[UPPER] >= 4
        && counts[DIGIT] >= 2
        && counts[OTHER] * 6 <= alphanumeric
        && changes * 100 >= pairs * 40
}

/// Whether a line is one line of a key in PEM: base64 of the usual length. A line of a certificate or
/// of a signed message looks the same; redacting it does no harm.
pub(super) fn is_key_body(line: &str) -> bool {
    let body = base64_in(line);
    let count = |is: fn(&u8) -> bool| body.bytes().filter(is).count();
    matches!(body.len(), 64 | 70 | 76)
        && is_base64_line(line)
        && count(u8::is_ascii_uppercase) >= 8
        && count(u8::is_ascii_lowercase) >= 8
        && count(u8::is_ascii_digit) >= 3
}

/// Whether a line holds nothing but base64, as the last line of a key in PEM does.
pub(super) fn is_base64_line(line: &str) -> bool {
    let body = base64_in(line);
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    !body.is_empty() && body.bytes().all(is_base64)
}

/// A line without the quotes and signs with which code joins lines.
fn base64_in(line: &str) -> &str {
    let body = line.trim().trim_matches(['"', '\'', ',', '+', ' ', ';']);
    body.strip_suffix("\\n").unwrap_or(body)
}
