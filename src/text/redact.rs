//! What must never leave the process: the key of the model's server and the password in its
//! address. They are kept here once, when the settings are read, and taken out of every
//! text on its way out: replies, logs, last words.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

static SECRETS: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Shorter ones would blank out words, and guard nothing.
const SHORTEST: usize = 6;

const BLANK: &str = "[redacted]";

/// Keeps a secret from leaving the process.
pub fn keep_secret(secret: &str) {
    let secret = secret.trim();
    let mut secrets = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    if secret.len() >= SHORTEST && !secrets.iter().any(|known| known == secret) {
        secrets.push(secret.to_owned());
        // Longer secrets first, so that a shorter one does not leave a part of a longer one.
        secrets.sort_by_key(|known| std::cmp::Reverse(known.len()));
    }
}

/// Keeps user and password of an address from leaving the process.
pub fn keep_secrets_of(url: &str) {
    if let Some(user) = user_info(url) {
        keep_secret(user);
        if let Some((_, password)) = user.split_once(':') {
            keep_secret(password);
        }
    }
}

/// The part of an address before the `@`.
fn user_info(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit_once('@').map(|(user, _)| user)
}

/// The text without what must not leave the process.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    let mut out = Cow::Borrowed(text);
    for secret in secrets.iter() {
        if out.contains(secret.as_str()) {
            out = Cow::Owned(out.replace(secret.as_str(), BLANK));
        }
    }
    out
}

/// The same for every text in a value.
pub fn redact_all(value: &mut Value) {
    if SECRETS.read().unwrap_or_else(PoisonError::into_inner).is_empty() {
        return;
    }
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redacted(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_all),
        Value::Object(fields) => fields.values_mut().for_each(redact_all),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        keep_secret("sk-test-of-the-redactor");
        keep_secrets_of("https://some.user:pass-of-redactor@host/v1?x=a@b");
        keep_secret("short");
        assert_eq!(redacted("key sk-test-of-the-redactor!"), "key [redacted]!");
        assert_eq!(redacted("https://some.user:pass-of-redactor@host"), "https://[redacted]@host");
        assert_eq!(redacted("short pass-of-redactor"), "short [redacted]");
        let mut value = serde_json::json!({ "a": ["sk-test-of-the-redactor", 1] });
        redact_all(&mut value);
        assert_eq!(value, serde_json::json!({ "a": ["[redacted]", 1] }));
    }
}
