//! Removes secrets and the names of home folders from cases before they are saved.
//!
//! A secret is replaced by the same name in every text of a case, so that the case still fails or
//! is recovered as before. Limits: secrets are recognized by their form (see [`Secrets`]). A case in
//! which one remains afterwards is not saved at all.

use std::cmp::Reverse;

use crate::secrets::Secrets;

/// Returns the texts of a case without the secrets of any of them and without the names of home
/// folders; `None` if something in them still looks like a secret.
pub fn redacted(texts: &[&str]) -> Option<Vec<String>> {
    let secrets = Secrets::new();
    let found = texts.iter().flat_map(|text| secrets.texts(text));
    let mut parts: Vec<&str> = found.flat_map(parts_of).collect();
    // A secret may contain another one, so the longest is replaced first.
    parts.sort_by_key(|part| (Reverse(part.len()), *part));
    parts.dedup();
    let clean = |text: &&str| {
        let mut out = (*text).to_owned();
        for (number, part) in (1..).zip(&parts) {
            out = out.replace(*part, &format!("<redacted-{number}>"));
        }
        let out = without_home_folders(&out);
        secrets.texts(&out).is_empty().then_some(out)
    };
    texts.iter().map(clean).collect()
}

/// Returns the parts of a secret that may stand alone in another text: long words, and short ones with
/// a digit or a special character. A secret of one word, such as a line of a key, is also one as a
/// whole.
fn parts_of(secret: &str) -> impl Iterator<Item = &str> {
    let whole = (!secret.contains(char::is_whitespace) && secret.len() >= 4).then_some(secret);
    let words = secret.split(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>=@:".contains(c));
    let words = words.filter(|word| {
        word.len() >= 4 && word.chars().any(|c| c.is_ascii_digit() || "-_+/!$%&".contains(c))
            || word.len() >= 16
    });
    words.chain(whole)
}

/// Replaces the names of home folders by `user`, in paths of any system.
fn without_home_folders(text: &str) -> String {
    let mut out = text.to_owned();
    for parent in ["/home/", "/Users/", "C:\\Users\\", "C:\\\\Users\\\\", "C:/Users/"] {
        let mut pieces = out.split(parent);
        let mut clean = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let rest = piece.trim_start_matches(|c: char| c.is_alphanumeric() || "._-".contains(c));
            clean.extend([parent, "user", rest]);
        }
        out = clean;
    }
    out
}
