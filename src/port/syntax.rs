//! The interface to a parser: whether an edit introduces syntax errors.

use std::fmt;

use crate::edit::{Splice, SyntaxCheck, Unchecked};

/// Parses texts. The path only tells the language; nothing is read from the disk.
pub trait Syntax: fmt::Debug + Send + Sync {
    /// The errors of `after` that `before` does not have. The splices turn `before` into `after`;
    /// without any, the whole text may have changed.
    fn compare(&self, path: &str, before: &str, after: &str, splices: &[Splice]) -> SyntaxCheck;
}

/// No parser: nothing is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NoSyntax;

impl Syntax for NoSyntax {
    fn compare(&self, _: &str, _: &str, _: &str, _: &[Splice]) -> SyntaxCheck {
        SyntaxCheck::unchecked(Unchecked::Off)
    }
}
