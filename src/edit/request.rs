//! The request for an edit.

use super::message::{EXPECTED, REPLACE_ALL};
use super::said;
use std::num::NonZeroUsize;

use super::{EditCode, Refusal};
use crate::language::Language;

/// How many occurrences an edit is expected to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// Exactly this many; the default is one.
    Exactly(NonZeroUsize),
    /// Every occurrence, at least one.
    All,
}

impl Expected {
    /// The expectation from the two optional arguments; one replacement if neither is given.
    pub fn of(replace_all: Option<bool>, count: Option<usize>) -> Result<Self, Refusal> {
        match (replace_all.unwrap_or(false), count) {
            (true, None) => Ok(Self::All),
            (false, None) => Ok(Self::default()),
            (_, Some(count)) => NonZeroUsize::new(count).map(Self::Exactly).ok_or_else(|| {
                Refusal::new(EditCode::InvalidArguments, said!("{EXPECTED} is 0")).hint(said!(
                    "Leave it out for one replacement. For all of them, set {REPLACE_ALL}."
                ))
            }),
        }
    }
}

impl Default for Expected {
    fn default() -> Self {
        Self::Exactly(NonZeroUsize::MIN)
    }
}

/// One replacement of text by text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditRequest {
    /// The text to find, as the model gave it.
    pub(crate) old: String,
    /// The text to put in its place; always literal.
    pub(crate) new: String,
    /// How often `old` is expected to occur.
    pub(crate) expected: Expected,
    /// A 1-based line: of several candidates, the nearest to it is meant.
    pub(crate) near_line: Option<usize>,
    /// A path of names, such as `class Pool / fn open`, to which the search is limited.
    pub(crate) within: Option<String>,
    /// The file's language, if known.
    pub(crate) language: Option<&'static Language>,
    /// Where the text is from, for a call that is made without a file: it tells the language and the
    /// parser, and is not opened.
    pub(crate) path: Option<String>,
}

impl EditRequest {
    /// A request for one replacement.
    pub fn new(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { old: old.into(), new: new.into(), ..Self::default() }
    }

    /// Says where the text is from. Takes the language from the file's name, unless it is known
    /// already.
    #[must_use]
    pub fn for_path(mut self, path: &str) -> Self {
        self.language = self.language.or_else(|| Language::from_path(path));
        self.path = Some(path.to_owned());
        self
    }

    /// Sets how often `old` is expected to occur.
    #[must_use]
    pub fn expecting(mut self, expected: Expected) -> Self {
        self.expected = expected;
        self
    }

    /// Names a 1-based line: of several candidates, the nearest to it is meant.
    #[must_use]
    pub fn near_line(mut self, line: impl Into<Option<usize>>) -> Self {
        self.near_line = line.into();
        self
    }

    /// Limits the search to a definition: a path of names, such as `class Pool / fn open`.
    #[must_use]
    pub fn within(mut self, definition: impl Into<String>) -> Self {
        self.within = Some(definition.into());
        self
    }
}
