//! The one table: every difference between a call and the file, what it costs, and its names in the
//! report. A cost is how surprising the difference is, in bits, if the place is right.
//!
//! `scripts/prices` prints which cases halving and doubling each number changes.

use crate::edit::{Rewrite, Rung};

/// How a call can differ from the file. First the mistakes that spoil a call as a whole, then the
/// differences of lines, then those of the place. The order is that of the ladder in the docs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Difference {
    LineEndings,
    Unescape,
    LineNumbers,
    DiffMarkers,
    CodeFence,
    HtmlEntities,
    OuterBlankLines,
    TrailingBlanks,
    LookAlikes,
    Indentation,
    BlankLines,
    /// White space between tokens.
    Spacing,
    /// The kind of quotes, or a `,` or `;` at the end.
    Punctuation,
    Reflow,
    Elision,
    /// A comment with other words.
    Comment,
    /// Code with other words, in a line that the call keeps.
    Words,
}

use Difference as D;

impl Difference {
    /// What one such difference costs, the rung of a call whose laxest it is, the rewrite that undoes
    /// it, and its name in messages.
    const fn row(self) -> (f64, Rung, Rewrite, &'static str) {
        const MARKUP: &str = "line prefixes or markup";
        const ENDS: &str = "spaces at line ends";
        match self {
            // No one sees a line ending.
            D::LineEndings => (0.0, Rung::LineEndings, Rewrite::LineEndings, "line endings"),
            // Each needs a tool on the way that encodes the text once too often.
            D::Unescape => (3.0, Rung::Unescaped, Rewrite::Unescape, "escapes"),
            D::LineNumbers => (3.0, Rung::LineNumbers, Rewrite::LineNumbers, MARKUP),
            D::HtmlEntities => (3.0, Rung::HtmlEntities, Rewrite::HtmlEntities, MARKUP),
            // Models write these around a text by habit; nearly never part of code.
            D::DiffMarkers => (2.0, Rung::DiffMarkers, Rewrite::DiffMarkers, MARKUP),
            D::CodeFence => (2.0, Rung::CodeFence, Rewrite::CodeFence, MARKUP),
            D::OuterBlankLines => {
                (1.0, Rung::OuterBlankLines, Rewrite::OuterBlankLines, "blank lines")
            }
            // Invisible in every view, and stripped by most.
            D::TrailingBlanks => (1.0, Rung::TrailingBlanks, Rewrite::TrailingBlanks, ENDS),
            D::LookAlikes => {
                (4.0, Rung::LookAlikes, Rewrite::LookAlikes, "quotes, dashes or spaces")
            }
            // Every rule costs this; a table of lines costs IRREGULAR.
            D::Indentation => (4.0, Rung::Indentation, Rewrite::Indentation, "indentation"),
            D::BlankLines => (3.5, Rung::BlankLines, Rewrite::BlankLines, "blank lines"),
            // Formatters change it, and models type it from memory.
            D::Spacing => (2.0, Rung::Spacing, Rewrite::Spacing, "white space"),
            D::Punctuation => {
                (3.0, Rung::Punctuation, Rewrite::Punctuation, "quotes or closing marks")
            }
            D::Reflow => (5.0, Rung::Reflowed, Rewrite::Reflow, "line breaks"),
            D::Elision => (5.0, Rung::Elided, Rewrite::Elision, "words"),
            D::Comment => (5.0, Rung::Aligned, Rewrite::StaleContext, "words"),
            D::Words => (10.0, Rung::Aligned, Rewrite::StaleContext, "words"),
        }
    }

    /// What one such difference costs.
    pub(super) const fn cost(self) -> f64 {
        self.row().0
    }

    /// The rung that a call with this difference as its laxest is reported at.
    pub(super) const fn rung(self) -> Rung {
        self.row().1
    }

    /// The rewrite that undoes it.
    pub(super) const fn rewrite(self) -> Rewrite {
        self.row().2
    }

    /// Its name in messages.
    pub(super) const fn name(self) -> &'static str {
        self.row().3
    }
}

/// What a line with other words costs, or one that a side lacks: as a comment little, as code `code`.
pub(super) fn loose_cost(is_comment: bool, code: f64) -> f64 {
    if is_comment { D::Comment.cost() } else { code }
}

/// How much dearer the next different result must be. At 0 calls that must be refused are applied; at
/// 6 real ones are lost.
pub(super) const MARGIN: f64 = 3.0;
/// The same if a kept line differs in words.
pub(super) const LOOSE_MARGIN: f64 = 12.0;
/// If a kept line differs in words, the evidence must be so many times the cost.
pub(super) const LOOSE_EVIDENCE: f64 = 4.0;
/// The same if only comments differ, are missing or are more.
pub(super) const COMMENT_EVIDENCE: f64 = 2.0;
/// How many lines must stand there beside a line of code with other words, a missing one or one more.
pub(super) const LONG_QUOTE: usize = 8;
/// The share of the cost for each further line with the same difference: one habit, not many mistakes.
pub(super) const AGAIN: f64 = 0.25;
/// Only `old_str` has a mistake.
pub(super) const NEW_AS_SENT: f64 = 2.0;
/// A mistake is undone in `new_str` in another way than in `old_str`.
pub(super) const NEW_OTHERWISE: f64 = 5.0;
/// A form of `new_str` contradicts what one of both strings shows: the mistake would have changed a
/// character that is there as it is, or a character is left as the mistake writes it.
pub(super) const CONTRADICTED: f64 = 6.0;
/// A line of `old_str`, or two neighbours among its words and marks, that a form of `new_str` lacks, and
/// another has.
pub(super) const LACKS: f64 = 2.0;
/// Copied line numbers that do not agree with the place.
pub(super) const NUMBERS_OFF: f64 = 12.0;
/// `old_str` begins or ends inside a line.
pub(super) const PART: f64 = 1.5;
/// A line that only the file has, between two lines of the call.
pub(super) const EXTRA: f64 = 9.0;
/// A line that only the call has.
pub(super) const MISSING: f64 = 14.0;
/// The share of a line's evidence that is lost with it: added.
pub(super) const LOST: f64 = 0.5;
/// How unlike a comment beside a change may be.
pub(super) const OTHER_COMMENT: f64 = 0.7;
/// How alike a line beside the place is to one that the call writes if it may be that one, changed since.
pub(super) const ALIKE: f64 = 0.6;
/// The place is plain, but a line that the call changes has other words.
pub(super) const STALE: f64 = 3.0;
/// A further run of lines that have changed since.
pub(super) const STALE_AGAIN: f64 = 5.0;
/// The share of the text that must stand as it was quoted at a place that has changed since, for further
/// changes there to cost nothing.
pub(super) const PLAIN_SHARE: f64 = 0.5;
/// The same where a line that the call keeps has other words, so that it must not be applied there.
pub(super) const KEPT_SHARE: f64 = 0.75;
/// A line of the result at a depth that nothing around it explains, if another map has fewer: added.
pub(super) const ODD: f64 = 3.5;
/// Only a table or the nearest line explains the indentation; no rule does.
pub(super) const IRREGULAR: f64 = 8.0;
/// A run of lines that the call moves, if this map is right.
pub(super) const MOVED: f64 = 1.5;
/// `old_str` is indented wrongly and `new_str` rightly, and no line says so.
pub(super) const AS_SENT: f64 = 4.0;
/// The share of the text that must stand at a place that has changed since, for it to be a rival.
pub(super) const STALE_SHARE: f64 = 0.33;
/// The most evidence that one line gives.
pub(super) const MAX_LINE_BITS: f64 = 30.0;
