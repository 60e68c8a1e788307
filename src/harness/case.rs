//! One case: a file, a call, and what must come of it.

use std::ops::Range;

use super::judge::Aim;
use crate::edit::{EditCode, EditRequest, Expected};

/// A file, a call on it, and the truth.
#[derive(Debug, Clone)]
pub struct Case {
    /// The same in every run.
    pub id: String,
    /// The mutation that made it, or the fixture's cause: a row of the score.
    pub cause: String,
    /// The group it is scored with.
    pub family: String,
    /// The file's language.
    pub language: String,
    /// The file's path.
    pub path: String,
    /// The file's bytes.
    pub before: Vec<u8>,
    /// `old_str`
    pub old: String,
    /// `new_str`
    pub new: String,
    /// How many occurrences to replace.
    pub expected: Expected,
    /// The tie breaker.
    pub near_line: Option<usize>,
    /// What must come of it.
    pub truth: Truth,
}

/// What must come of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    /// One of these texts in the place of a byte range, all else as it was.
    Right {
        /// The bytes of the file that the edit replaces.
        range: Range<usize>,
        /// The texts that are right.
        texts: Vec<String>,
    },
    /// Nothing is written, and the code is one of these.
    Refused(Vec<EditCode>),
}

impl Truth {
    /// What the case is there to show.
    pub fn aim(&self) -> Aim {
        match self {
            Self::Right { .. } => Aim::Right,
            Self::Refused(_) => Aim::Refusal,
        }
    }
}

impl Case {
    /// The call.
    pub fn request(&self) -> EditRequest {
        EditRequest {
            old: self.old.clone(),
            new: self.new.clone(),
            expected: self.expected,
            near_line: self.near_line,
            within: None,
            language: crate::language::Language::from_path(&self.path),
        }
    }

    /// The first right result; nothing for a case that must be refused.
    pub fn right_result(&self) -> Option<Vec<u8>> {
        self.right_results().into_iter().next()
    }

    /// Every right result.
    pub fn right_results(&self) -> Vec<Vec<u8>> {
        match &self.truth {
            Truth::Right { range, texts } => {
                texts.iter().map(|text| self.replace(range, text)).collect()
            }
            Truth::Refused(_) => Vec::new(),
        }
    }

    /// Whether these bytes are a right result.
    pub fn accepts(&self, bytes: &[u8]) -> bool {
        let Truth::Right { range, texts } = &self.truth else { return false };
        let (Some(head), Some(tail)) =
            (self.before.get(..range.start), self.before.get(range.end..))
        else {
            return false;
        };
        let middle = bytes.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
        middle.is_some_and(|middle| texts.iter().any(|text| text.as_bytes() == middle))
    }

    fn replace(&self, range: &Range<usize>, text: &str) -> Vec<u8> {
        [&self.before[..range.start], text.as_bytes(), &self.before[range.end..]].concat()
    }
}
