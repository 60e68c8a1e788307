//! Redacts secrets: the API key of the model's server and the password in its URL. They are
//! registered once, when the settings are read, and redacted in every text that leaves the process:
//! replies, logs, panic messages.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

static SECRETS: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// The shortest text that is redacted. A shorter one could be an ordinary word, and is no protection.
const MIN_SECRET_LEN: usize = 6;

const REDACTED: &str = "[redacted]";

/// Registers a secret, which is redacted from now on. One that is shorter than 6 bytes is ignored.
pub fn register_secret(secret: &str) {
    let secret = secret.trim();
    let mut secrets = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    if secret.len() >= MIN_SECRET_LEN && !secrets.iter().any(|known| known == secret) {
        secrets.push(secret.to_owned());
        // Longer secrets first, so that a shorter one does not leave a part of a longer one.
        secrets.sort_by_key(|known| std::cmp::Reverse(known.len()));
    }
}

/// Registers the user name and password of a URL as secrets.
pub fn register_url_credentials(url: &str) {
    if let Some(user_info) = user_info(url) {
        register_secret(user_info);
        if let Some((_, password)) = user_info.split_once(':') {
            register_secret(password);
        }
    }
}

/// The URL without the user name and the password in it.
#[cfg(feature = "llm")]
pub(crate) fn without_credentials(url: &str) -> Cow<'_, str> {
    match user_info(url) {
        Some(user_info) => Cow::Owned(url.replacen(&format!("{user_info}@"), "", 1)),
        None => Cow::Borrowed(url),
    }
}

/// The part of a URL's authority before the `@`: a user name, perhaps with a password.
fn user_info(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit_once('@').map(|(user, _)| user)
}

/// The text with `[redacted]` in place of each registered secret.
pub fn redact(text: &str) -> Cow<'_, str> {
    let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    let mut out = Cow::Borrowed(text);
    for secret in secrets.iter() {
        if out.contains(secret.as_str()) {
            out = Cow::Owned(out.replace(secret.as_str(), REDACTED));
        }
    }
    out
}

/// Redacts every string of a JSON value.
pub fn redact_json(value: &mut Value) {
    if SECRETS.read().unwrap_or_else(PoisonError::into_inner).is_empty() {
        return;
    }
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_json),
        Value::Object(fields) => fields.values_mut().for_each(redact_json),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        register_secret("sk-test-of-the-redactor");
        register_url_credentials("https://some.user:pass-of-redactor@host/v1?x=a@b");
        register_secret("short");
        assert_eq!(redact("key sk-test-of-the-redactor!"), "key [redacted]!");
        assert_eq!(redact("https://some.user:pass-of-redactor@host"), "https://[redacted]@host");
        assert_eq!(redact("short pass-of-redactor"), "short [redacted]");
        let mut value = serde_json::json!({ "a": ["sk-test-of-the-redactor", 1] });
        redact_json(&mut value);
        assert_eq!(value, serde_json::json!({ "a": ["[redacted]", 1] }));
    }
}
