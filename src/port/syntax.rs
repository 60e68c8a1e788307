//! The interface to a parser: whether an edit introduces syntax errors, and what a file defines.

use std::fmt;
use std::ops::Range;

use crate::edit::{Splice, SyntaxCheck, SyntaxError, Unchecked};

/// Parses files. A path names the language; nothing is read from the disk.
pub trait Syntax: fmt::Debug + Send + Sync {
    /// The errors of one text.
    fn errors(&self, path: &str, text: &str) -> Result<Vec<SyntaxError>, Unchecked>;

    /// The errors that `after` has and `before` did not have. The splices lead from one to the
    /// other; without any, everything may have changed.
    fn compare(&self, path: &str, before: &str, after: &str, splices: &[Splice]) -> SyntaxCheck;

    /// What a text defines: functions, classes, methods, modules, in the order of the file.
    fn definitions(&self, path: &str, text: &str) -> Result<Vec<Definition>, Unchecked>;
}

/// Something that a file defines under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What it is, as the grammar calls it: `function`, `class`, `method`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Where it is, in bytes.
    pub range: Range<usize>,
}

/// No parser: nothing is checked, and nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoSyntax;

impl Syntax for NoSyntax {
    fn errors(&self, _: &str, _: &str) -> Result<Vec<SyntaxError>, Unchecked> {
        Err(Unchecked::Off)
    }

    fn compare(&self, _: &str, _: &str, _: &str, _: &[Splice]) -> SyntaxCheck {
        SyntaxCheck::unchecked(Unchecked::Off)
    }

    fn definitions(&self, _: &str, _: &str) -> Result<Vec<Definition>, Unchecked> {
        Err(Unchecked::Off)
    }
}
