//! Who is asked when no mechanical reading explains a call.

use std::sync::Arc;

use super::BoxFuture;
use crate::edit::ModelUse;
use crate::text::ContentHash;

/// A part of the file that is shown to the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    /// First line.
    pub start_line: usize,
    /// Last line.
    pub end_line: usize,
    /// The lines, endings included.
    pub text: String,
}

/// What the pure resolution wants to know. Each call asks at most once for each kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ask {
    /// Find the text that `old` was meant to be.
    CorrectOld {
        /// The file.
        path: String,
        /// Its version.
        file: ContentHash,
        /// The caller's text.
        old: String,
        /// What shall replace it, for the intent.
        new: String,
        /// How often the text shall occur; `None` for every occurrence.
        expected: Option<usize>,
        /// The best candidate regions.
        windows: Vec<Window>,
    },
    /// Carry a correction of `old` over to `new`.
    AdjustNew {
        /// The file.
        path: String,
        /// Its version.
        file: ContentHash,
        /// The caller's `old_str`.
        old: String,
        /// What it was corrected to.
        corrected_old: String,
        /// The caller's `new_str`.
        new: String,
    },
    /// Undo over-escaping in `new`.
    RepairEscapes {
        /// The file.
        path: String,
        /// Its version.
        file: ContentHash,
        /// The text it replaces.
        old: String,
        /// The caller's `new_str`.
        new: String,
    },
    /// Choose one of several places that fit.
    Choose {
        /// The file.
        path: String,
        /// Its version.
        file: ContentHash,
        /// The caller's `old_str`.
        old: String,
        /// The caller's `new_str`.
        new: String,
        /// The places.
        windows: Vec<Window>,
    },
}

impl Ask {
    /// The stable word for reports and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CorrectOld { .. } => "correct_old",
            Self::AdjustNew { .. } => "adjust_new",
            Self::RepairEscapes { .. } => "repair_escapes",
            Self::Choose { .. } => "choose",
        }
    }
}

/// An unchecked answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// Text, for every ask but `Choose`.
    Text(String),
    /// A place: 1-based index of the window with first and last line of the file.
    Place {
        /// Which window.
        window: usize,
        /// First line.
        start_line: usize,
        /// Last line.
        end_line: usize,
    },
    /// No match, or no answer.
    Declined,
}

/// An answer and what it cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The answer.
    pub reply: Reply,
    /// The cost.
    pub usage: ModelUse,
}

/// Why there is no answer. The text is for people and reports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CorrectorError {
    /// No model is configured.
    #[error("no model is configured")]
    Off,
    /// The content may hold secrets and is not sent.
    #[error("not sent: {0}")]
    Sensitive(String),
    /// The time ran out.
    #[error("no answer within {0} ms")]
    Timeout(u64),
    /// The server or the network failed.
    #[error("{0}")]
    Failed(String),
}

/// Answers asks. The answers are proposals; the resolution checks each.
pub trait Corrector: Send + Sync {
    /// Whether it is worth asking at all.
    fn is_available(&self) -> bool {
        true
    }

    /// Answers one ask. Dropping the future cancels it.
    fn correct<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, CorrectorError>>;
}

impl<C: Corrector + ?Sized> Corrector for Arc<C> {
    fn is_available(&self) -> bool {
        (**self).is_available()
    }

    fn correct<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, CorrectorError>> {
        (**self).correct(ask)
    }
}

/// The engine without a model: a complete product that declines every ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCorrector;

impl Corrector for NoCorrector {
    fn is_available(&self) -> bool {
        false
    }

    fn correct<'a>(&'a self, _ask: &'a Ask) -> BoxFuture<'a, Result<Answer, CorrectorError>> {
        Box::pin(async { Err(CorrectorError::Off) })
    }
}
