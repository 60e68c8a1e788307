//! What two lines may differ in and still be the same line, as a small set.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of kinds of difference.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Slack(u16);

impl Slack {
    pub(super) const NONE: Self = Self(0);
    /// `\r\n` for `\n` and the other way round.
    pub(super) const ENDING: Self = Self(1);
    /// Blanks at the end of a line.
    pub(super) const TRAILING: Self = Self(2);
    /// Characters that look alike: quotes, dashes, spaces, composed forms.
    pub(super) const LOOK_ALIKE: Self = Self(4);
    /// White space at the start of a line.
    pub(super) const INDENT: Self = Self(8);
    /// Blank lines that only one side has.
    pub(super) const BLANK: Self = Self(16);
    /// White space inside a line, outside string literals.
    pub(super) const SPACING: Self = Self(32);
    /// The kind of quote around a literal; a `,` or `;` at the end of a line.
    pub(super) const PUNCTUATION: Self = Self(64);

    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the two have anything in common.
    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The names of the rewrites, for the report.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        const NAMES: [(Slack, &str); 7] = [
            (Slack::ENDING, "line_endings"),
            (Slack::TRAILING, "trailing_blanks"),
            (Slack::LOOK_ALIKE, "look_alikes"),
            (Slack::INDENT, "indentation"),
            (Slack::BLANK, "blank_lines"),
            (Slack::SPACING, "spacing"),
            (Slack::PUNCTUATION, "punctuation"),
        ];
        NAMES.into_iter().filter(move |(bit, _)| self.contains(*bit)).map(|(_, name)| name)
    }
}

impl BitOr for Slack {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Slack {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Slack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
