//! The request for an edit.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::num::NonZeroUsize;

use super::message::{EXPECTED, REPLACE_ALL};
use super::{EditCode, Refusal, said};
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
                Refusal::invalid(
                    said!("{EXPECTED} is 0"),
                    said!("Leave it out for one replacement. For all of them, set {REPLACE_ALL}."),
                )
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

impl Refusal {
    /// Sets a hint if another edit of the same call writes `old`, the text that this edit did not find.
    /// It may write the whole of `old`, or every line of it that `file`, the text of the file, lacks.
    /// `number` is the number of this edit (from 0), and `edits` are all edits with their numbers.
    #[must_use]
    pub(crate) fn hint_at_sibling_edit<'a>(
        mut self,
        number: usize,
        old: &str,
        file: &str,
        mut edits: impl Iterator<Item = (usize, &'a EditRequest)>,
    ) -> Self {
        let old = old.trim();
        if self.code != EditCode::NoOccurrence || old.is_empty() {
            return self;
        }
        fn lines(text: &str) -> HashSet<&str> {
            text.lines().map(str::trim).collect()
        }
        // Most calls have one edit, and a file has many lines.
        let missing = LazyCell::new(|| {
            let mut missing = lines(old);
            missing.retain(|line| line.contains(char::is_alphanumeric));
            for line in file.lines() {
                missing.remove(line.trim());
            }
            missing
        });
        let writes = |edit: &EditRequest| {
            edit.new.contains(old) || !missing.is_empty() && missing.is_subset(&lines(&edit.new))
        };
        if let Some((at, _)) = edits.find(|(at, edit)| *at != number && writes(edit)) {
            self.hint = Some(said!(
                "Edit {} of this call writes that text, but all edits of a call are matched against the file as it was before the call. Merge the two into one edit.",
                at + 1
            ));
        }
        self
    }
}
