//! One case: a file, a call, and the right results.

use std::ops::Range;

use crate::edit::{EditCode, EditRequest, Expected};

/// A file, a call on it, and the right results.
#[derive(Debug, Clone)]
pub struct Case {
    /// The case's id, which is the same in every run.
    pub id: String,
    /// The row of the score that counts the case: the mutation that made it, or the fixture's
    /// cause.
    pub cause: String,
    /// The group of rows that the cause belongs to.
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
    /// The line that decides between several matches.
    pub near_line: Option<usize>,
    /// The right results.
    pub truth: Truth,
}

/// The right results of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    /// The call is applied: one of the texts replaces the byte range, and nothing else changes.
    Right {
        /// The bytes of the file that the edit replaces.
        range: Range<usize>,
        /// The texts that are right.
        texts: Vec<String>,
    },
    /// The call is refused with one of these codes, and nothing is written.
    Refused(Vec<EditCode>),
}

impl Case {
    /// Returns the call of the case.
    pub fn request(&self) -> EditRequest {
        EditRequest {
            expected: self.expected,
            near_line: self.near_line,
            ..EditRequest::new(&self.old, &self.new).for_path(&self.path)
        }
    }

    /// Returns the file after the first right edit; `None` for a case that must be refused.
    pub fn right_result(&self) -> Option<Vec<u8>> {
        self.right_results().next()
    }

    /// Whether these bytes are the file after a right edit.
    pub fn accepts(&self, bytes: &[u8]) -> bool {
        self.right_results().any(|right| right == bytes)
    }

    /// Returns the file after each right edit; none for a case that must be refused.
    fn right_results(&self) -> impl Iterator<Item = Vec<u8>> {
        let (range, texts) = match &self.truth {
            Truth::Right { range, texts } => (range.clone(), &texts[..]),
            Truth::Refused(_) => (0..0, &[][..]),
        };
        let (head, tail) = (&self.before[..range.start], &self.before[range.end..]);
        texts.iter().map(move |text| [head, text.as_bytes(), tail].concat())
    }
}
