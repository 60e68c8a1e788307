//! The interface to formatters.

use std::fmt;

use super::BoxFuture;

/// Formats texts, without writing files.
pub trait Formatter: fmt::Debug + Send + Sync {
    /// Formats the text of a file; `None` if there is no formatter for the path.
    fn format<'a>(&'a self, path: &'a str, text: &'a str) -> BoxFuture<'a, Option<Formatted>>;

    /// Whether there is a formatter for the path.
    fn formats(&self, path: &str) -> bool;
}

/// The outcome of a formatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formatted {
    /// The formatter's name.
    pub by: String,
    /// The formatted text, or why formatting failed.
    pub text: Result<String, String>,
}

/// No formatter: every text stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NoFormatter;

impl Formatter for NoFormatter {
    fn format<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Option<Formatted>> {
        Box::pin(async { None })
    }

    fn formats(&self, _: &str) -> bool {
        false
    }
}
