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
        let is_used =
            |prefix: &str, ask: &mut Ask| ask.texts_mut().iter().any(|text| text.contains(prefix));
        while is_used(&prefix, &mut masked) {
            prefix.push('X');
        }
        for text in masked.texts_mut() {
            // A secret over several lines, such as a key, is more than a value of the call.
            if secrets.redact_in(&path, text).matches('\n').count() != text.matches('\n').count() {
                return Err("the text has a secret of several lines".to_owned());
            }
            *text = mask.mask_lines(secrets, &path, text, &prefix);
        }
        Ok((mask, masked))
    }

    /// The text with the secrets of each line masked.
    fn mask_lines(&mut self, secrets: &Secrets, path: &str, text: &str, prefix: &str) -> String {
        let redacted = secrets.redact_in(path, text);
        let lines = text.split_inclusive('\n').zip(redacted.split_inclusive('\n'));
        let mask_line = |(line, redacted): (&str, &str)| {
            let alone = secrets.redact_in(path, line);
            let redacted = if line == redacted { alone.as_str() } else { redacted };
            let is_secret = line != redacted || secrets.find_in(path, line).is_some();
            match secret_part(line, redacted).filter(|_| is_secret) {
                None => line.to_owned(),
                Some(secret) => line.replace(secret, &self.placeholder(secret, prefix)),
            }
        };
        lines.map(mask_line).collect()
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

/// The part of a line that redaction removes, without the quotes around it; the whole content of the
/// line if that cannot be told. `None` for a blank line.
fn secret_part<'a>(line: &'a str, redacted: &str) -> Option<&'a str> {
    let content = line.trim();
    let shared = line.char_indices().zip(redacted.chars()).take_while(|((_, a), b)| a == b);
    let start = shared.map(|((at, c), _)| at + c.len_utf8()).last().unwrap_or(0);
    let (rest, removed) = (&line[start..], &redacted[start..]);
    let ends = rest.char_indices().rev().zip(removed.chars().rev());
    let end = ends.take_while(|((_, a), b)| a == b).map(|((at, _), _)| at).last();
    let part = rest[..end.unwrap_or(rest.len())].trim();
    let inner = part.find(['"', '\'', '`']).and_then(|open| {
        let quote = part[open..].chars().next()?;
        let close = part.rfind(quote).filter(|close| *close > open)?;
        Some(&part[open + 1..close]).filter(|inner| !inner.is_empty())
    });
    Some(inner.unwrap_or(part))
        .filter(|part| !part.is_empty())
        .or(Some(content).filter(|c| !c.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{Question, Window};
    use crate::text::ContentHash;

    fn ask(old: &str, new: &str, shown: &str) -> Ask {
        let windows = vec![Window { start_line: 1, end_line: 1, text: shown.into() }];
        Ask {
            path: "settings.py".into(),
            file: ContentHash::of(b""),
            old: old.into(),
            new: new.into(),
            question: Question::CorrectOld { expected: Some(1), windows, reason: None },
        }
    }

    #[test]
    fn a_secret_goes_out_as_a_placeholder_and_comes_back() {
        let line = "DB_PASSWORD = \"hunter2xyz99\"\n";
        let secrets = Secrets::new();
        let (mask, masked) =
            Mask::of(&secrets, &ask(line, "DB_PASSWORD = \"hunter2xyz99\"  # db\n", line))
                .expect("may be sent");
        let sent = format!("{masked:?}");
        assert!(!sent.contains("hunter2xyz99"), "{sent}");
        assert_eq!(masked.old, "DB_PASSWORD = \"MASKED_1_\"\n");
        let answer = Reply::Text("DB_PASSWORD = \"MASKED_1_\"  # db".into());
        let restored = Reply::Text("DB_PASSWORD = \"hunter2xyz99\"  # db".into());
        assert_eq!(mask.restore(answer), restored);
    }

    #[test]
    fn a_placeholder_never_looks_like_a_text_that_was_there() {
        let shown = "MASKED_1_ = 3\npassword = \"hunter2xyz99\"\n";
        let (_, masked) = Mask::of(&Secrets::new(), &ask("a", "b", shown)).expect("may be sent");
        let Question::CorrectOld { windows, .. } = &masked.question else { panic!("{masked:?}") };
        assert_eq!(windows[0].text, "MASKED_1_ = 3\npassword = \"MASKED_X1_\"\n");
    }

    #[test]
    fn a_file_for_secrets_is_never_sent() {
        let ask = Ask { path: ".env".into(), ..ask("a", "b", "c") };
        assert!(Mask::of(&Secrets::new(), &ask).is_err());
    }
}
