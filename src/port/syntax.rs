//! The interface to a parser: whether an edit introduces syntax errors, and what a file defines.

use std::fmt;
use std::ops::Range;

use crate::edit::{Splice, SyntaxCheck, SyntaxError, Unchecked};

/// Parses texts. The path only tells the language; nothing is read from the disk.
pub trait Syntax: fmt::Debug + Send + Sync {
    /// The errors of `after` that `before` does not have. The splices turn `before` into `after`;
    /// without any, the whole text may have changed.
    fn compare(&self, path: &str, before: &str, after: &str, splices: &[Splice]) -> SyntaxCheck;

    /// The errors of one text.
    fn errors(&self, _path: &str, _text: &str) -> Result<Vec<SyntaxError>, Unchecked> {
        Err(Unchecked::Off)
    }

    /// The definitions in a text: functions, classes, methods, modules, in the order of the file.
    fn definitions(&self, _path: &str, _text: &str) -> Result<Vec<Definition>, Unchecked> {
        Err(Unchecked::Off)
    }
}

/// Something that a file defines under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its kind, in the words of the grammar: `function`, `class`, `method`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

/// No parser: nothing is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NoSyntax;

impl Syntax for NoSyntax {
    fn compare(&self, _: &str, _: &str, _: &str, _: &[Splice]) -> SyntaxCheck {
        SyntaxCheck::unchecked(Unchecked::Off)
    }
}
