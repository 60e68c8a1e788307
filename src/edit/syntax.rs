//! The result of a syntax check: the errors that a file has after an edit and did not have before.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// The result of looking for syntax errors that an edit brings in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct SyntaxCheck {
    /// Whether what the edit changes was parsed, and has no error, or the file had none before.
    pub checked: bool,
    /// Why it was not checked: `off`, `unknown_language`, `broken_before`, `too_large`,
    /// `too_much_work`, `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<Unchecked>,
    /// The first few errors that the edit introduced.
    pub new_errors: Vec<SyntaxError>,
}

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct SyntaxError {
    /// The line number after the edit.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// What is wrong with it, in words.
    pub what: String,
}

/// Why the syntax was not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unchecked {
    /// The check is switched off, or this build has no parser.
    #[error("syntax is not checked here")]
    Off,
    /// There is no grammar for the file's language.
    #[error("there is no grammar for this kind of file")]
    UnknownLanguage,
    /// The file does not parse after the edit, and did not before.
    #[error("the file did not parse before the edit")]
    BrokenBefore,
    /// The file is too large.
    #[error("the file is too large to be parsed")]
    TooLarge,
    /// Parsing it took too much work.
    #[error("parsing the file takes too much work")]
    TooMuchWork,
    /// The parser panicked.
    #[error("the parser failed")]
    Failed,
}

impl SyntaxError {
    /// An error in a line of the text.
    pub fn new(line: usize, text: impl Into<String>, what: impl Into<String>) -> Self {
        Self { line, text: text.into(), what: what.into() }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl SyntaxCheck {
    /// The syntax was not checked.
    pub fn unchecked(why: Unchecked) -> Self {
        Self { checked: false, why_not: Some(why), new_errors: Vec::new() }
    }

    /// The edit was checked, and these errors are new.
    pub fn found(new_errors: Vec<SyntaxError>) -> Self {
        Self { checked: true, why_not: None, new_errors }
    }

    /// The check with the errors that it found, or with the reason why the syntax was not checked.
    pub fn of(found: Result<Vec<SyntaxError>, Unchecked>) -> Self {
        match found {
            Ok(errors) => Self::found(errors),
            Err(why) => Self::unchecked(why),
        }
    }

    /// The new errors in one line; `None` if there are none.
    pub fn warning(&self) -> Option<String> {
        let (first, rest) = self.new_errors.split_first()?;
        let more = match rest {
            [] => String::new(),
            [one] => format!("; another at line {}", one.line),
            several => format!("; {} more", several.len()),
        };
        Some(format!("new syntax error at {first}{more}"))
    }
}
