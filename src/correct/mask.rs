//! Masks secrets in what is sent: a placeholder goes out, and in the answer its text comes back.

use crate::port::{Ask, Reply};
use crate::secrets::Secrets;

/// The secrets of one question, each with its placeholder.
#[derive(Debug, Default)]
pub(super) struct Mask {
    placeholders: Vec<(String, String)>,
}

impl Mask {
    /// The question with its secrets masked. The error says why nothing of it may be sent.
    pub(super) fn of(secrets: &Secrets, ask: &Ask) -> Result<(Self, Ask), String> {
        let path = ask.path.clone();
        if secrets.is_secret_file(&path) {
            return Err(format!("a file named like `{}` may hold secrets", path.escape_debug()));
        }
        let mut masked = ask.clone();
        let mut mask = Self::default();
        let mut prefix = "MASKED_".to_owned();
        while masked.texts_mut().iter().any(|text| text.contains(&prefix)) {
            prefix.push('X');
        }
        for text in masked.texts_mut() {
            let mut is_long = false;
            let sent = secrets.replace_in(&path, text, |secret| {
                is_long |= secret.contains('\n');
                let value = value_in(secret, |text| secrets.find_in(&path, text).is_some());
                secret.replace(value, &mask.placeholder(value, &prefix))
            });
            // A secret over several lines, such as a key, is more than a value of the call.
            if is_long {
                return Err("the text has a secret of several lines".to_owned());
            }
            *text = sent;
        }
        // A secret of one text may stand alone in another, where nothing says what it is.
        mask.placeholders.sort_by_key(|(_, secret)| std::cmp::Reverse(secret.len()));
        let may_stand_alone = |secret: &str| secret.len() >= 4 && !prefix.contains(secret);
        for text in masked.texts_mut() {
            for (placeholder, secret) in &mask.placeholders {
                if may_stand_alone(secret) {
                    *text = text.replace(secret, placeholder);
                }
            }
        }
        Ok((mask, masked))
    }

    /// The placeholder of a secret, the same wherever it occurs.
    fn placeholder(&mut self, secret: &str, prefix: &str) -> String {
        if let Some((placeholder, _)) = self.placeholders.iter().find(|(_, own)| own == secret) {
            return placeholder.clone();
        }
        let placeholder = format!("{prefix}{}_", self.placeholders.len() + 1);
        self.placeholders.push((placeholder.clone(), secret.to_owned()));
        placeholder
    }

    /// The answer with the secrets in the place of their placeholders.
    pub(super) fn restore(&self, mut reply: Reply) -> Reply {
        for text in reply.texts_mut() {
            for (placeholder, secret) in &self.placeholders {
                if text.contains(placeholder.as_str()) {
                    *text = text.replace(placeholder.as_str(), secret);
                }
            }
        }
        reply
    }
}

/// The value in a secret, which may be a whole line: what is in quotes, if the line is a secret only
/// because of it; otherwise all of it.
fn value_in(secret: &str, is_secret: impl Fn(&str) -> bool) -> &str {
    let in_quotes = secret.find(['"', '\'', '`']).and_then(|open| {
        let quote = secret[open..].chars().next()?;
        let close = secret.rfind(quote).filter(|close| *close > open + 1)?;
        // Where more follows, the quotes are around a name, and the value comes later.
        let rest = secret[close + 1..].trim_start_matches([',', ';', ')', ']', '}', ' ', '\t']);
        (rest.is_empty() || rest.starts_with(['#', '/'])).then(|| &secret[open + 1..close])
    });
    match in_quotes {
        Some(value) if is_secret(secret) && !is_secret(&secret.replace(value, "")) => value,
        _ => secret,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{Question, Window};
    use crate::text::ContentHash;

    fn masked(old: &str, text: &str) -> Ask {
        let windows = vec![Window { start_line: 1, end_line: 2, text: text.to_owned() }];
        let question = Question::CorrectOld { expected: Some(1), windows, reason: None };
        let (file, old, new) = (ContentHash::of(b""), old.to_owned(), "b".into());
        let ask = Ask { path: "settings.py".into(), file, old, new, question };
        Mask::of(&Secrets::new(), &ask).expect("may be sent").1
    }

    #[test]
    fn a_secret_of_one_text_is_masked_where_it_stands_alone_in_another() {
        assert_eq!(masked("hunter2xyz99", "DB_PASSWORD = \"hunter2xyz99\"\n").old, "MASKED_1_");
    }

    #[test]
    fn a_placeholder_never_looks_like_a_text_that_was_there() {
        let masked = masked("a", "MASKED_1_ = 3\npassword = \"hunter2xyz99\"\n");
        let Question::CorrectOld { windows, .. } = &masked.question else { panic!("{masked:?}") };
        assert_eq!(windows[0].text, "MASKED_1_ = 3\npassword = \"MASKED_X1_\"\n");
    }
}
