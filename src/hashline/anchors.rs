//! Parses anchors leniently: models copy `>>>` markers, a trailing `|content`, a plus sign, or spaces
//! around the `#` along with the anchor.

use std::fmt;

use crate::edit::{EditCode, Refusal};

use crate::text::tag::ALPHABET;

/// A line named by its number and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The line number, from 1.
    pub line: usize,
    /// The letters of the id; empty if the caller gave only a number, which matches no line.
    pub id: String,
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.line, if self.id.is_empty() { "?" } else { &self.id })
    }
}

impl Anchor {
    /// Parses one anchor.
    pub fn parse(raw: &str) -> Result<Self, Refusal> {
        let malformed = || {
            Refusal::new(
                EditCode::InvalidArguments,
                format!("`{}` is not an anchor", clip(raw).escape_debug()),
            )
            .hint("Copy a LINE#ID such as `12#VK` from a read in style hashline, from a search or from the answer to an edit.")
        };
        let text = raw.split('|').next().unwrap_or_default();
        let Some((before, after)) = text.split_once('#') else {
            let digits = text.trim().trim_start_matches(['>', '<', '+', '-', ' ', 'L']);
            let digits = digits.trim_end_matches(['>', ':', ' ']);
            let line = digits.parse().map_err(|_| malformed())?;
            return Ok(Self { line, id: String::new() });
        };
        let before = before.trim_end();
        let digits = before.len() - before.bytes().rev().take_while(u8::is_ascii_digit).count();
        let line: usize = before[digits..].parse().map_err(|_| malformed())?;
        let id: String = after
            .trim_start()
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let is_id = id.bytes().all(|b| ALPHABET.contains(&b)) && id.len() == 2;
        if line == 0 || !is_id {
            return Err(malformed());
        }
        Ok(Self { line, id })
    }
}

/// The first 60 characters of a text.
fn clip(raw: &str) -> &str {
    raw.char_indices().nth(60).map_or(raw, |(end, _)| &raw[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_decorations_are_ignored() {
        for raw in [
            "11#XJ",
            " 11#XJ ",
            "11 # XJ",
            ">>> 11#XJ|  console.log(\"#hi\");",
            "+11#XJ",
            "-11#XJ|",
            "LINE11#XJ",
            "line 11#xj",
            "11#XJ|a|b#c",
        ] {
            assert_eq!(Anchor::parse(raw).expect(raw), Anchor { line: 11, id: "XJ".into() });
        }
        for raw in ["11", "L11", "<<11>>", " 11: "] {
            assert_eq!(Anchor::parse(raw).expect(raw), Anchor { line: 11, id: String::new() });
        }
    }

    #[test]
    fn malformed_anchors_are_refused_with_the_form() {
        for raw in ["", "#XJ", "11#", "11#AB", "11#X", "11#XJX", "0#XJ", "foo", "11#XJABC"] {
            let refusal = Anchor::parse(raw).expect_err(raw);
            assert_eq!(refusal.code, EditCode::InvalidArguments);
            assert!(refusal.hint.is_some_and(|hint| hint.contains("LINE#ID")));
        }
    }
}
