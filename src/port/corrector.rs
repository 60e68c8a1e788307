//! The interface to a corrector, which is asked when no mechanical reading explains a call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

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
    /// Choose one of several texts that are consistent with the call.
    Choose {
        /// The file.
        path: String,
        /// Its version.
        file: ContentHash,
        /// The caller's `old_str`.
        old: String,
        /// The caller's `new_str`.
        new: String,
        /// What each would change.
        outcomes: Vec<String>,
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

/// Where the model says a text is: a window and lines of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The window, counted from 1.
    pub window: usize,
    /// First line.
    pub start_line: usize,
    /// Last line.
    pub end_line: usize,
}

/// An unchecked answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// Text, for every ask but `Choose`.
    Text(String),
    /// Text, and the lines where the model says it is.
    Located {
        /// The text.
        text: String,
        /// Its place.
        place: Location,
    },
    /// Text, where it is, and the whole text for that place where lines that the caller
    /// changes read otherwise in the file: the answer to `AdjustNew`, given in advance.
    #[serde(rename = "settled")]
    WithNew {
        /// The text.
        text: String,
        /// Its place.
        place: Option<Location>,
        /// What is to be there.
        new: String,
    },
    /// One of the windows of `Choose`, counted from 1.
    Window(usize),
    /// No match, or no answer.
    Declined,
}

/// What one call may spend on a model, and what it has spent.
#[derive(Debug)]
pub struct Budget {
    deadline: Instant,
    requests: u32,
    spent: Mutex<ModelUse>,
}

impl Budget {
    /// Room for `requests` requests, retries included, within `time` from now.
    pub fn new(time: Duration, requests: u32) -> Self {
        Self { deadline: Instant::now() + time, requests, spent: Mutex::default() }
    }

    /// When everything must be over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Takes one request out of the budget; `false` when none is left.
    pub fn take_request(&self) -> bool {
        let mut spent = self.lock();
        let left = spent.calls < self.requests;
        spent.calls += u32::from(left);
        left
    }

    /// Whether a further request is allowed.
    pub fn has_requests(&self) -> bool {
        self.lock().calls < self.requests
    }

    /// Writes down what was used beside requests.
    pub fn record(&self, change: impl FnOnce(&mut ModelUse)) {
        change(&mut self.lock());
    }

    /// What has been used so far.
    pub fn spent(&self) -> ModelUse {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ModelUse> {
        // Plain counters: a panic elsewhere cannot leave them broken.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no answer. The text is for people and reports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CorrectorError {
    /// No model is configured.
    #[error("no model is configured")]
    NotConfigured,
    /// The content may hold secrets and is not sent.
    #[error("CORRECTION_SKIPPED_SENSITIVE, nothing was sent: {0}")]
    Sensitive(String),
    /// Nothing was sent because a limit is reached.
    #[error("not asked: {0}")]
    Skipped(String),
    /// The time ran out.
    #[error("no answer in time")]
    Timeout,
    /// The question is longer than what the server takes.
    #[error("{0}")]
    ContextTooLong(String),
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

    /// Answers one ask within the budget. Dropping the future cancels it.
    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>>;

    /// Learns that the answer to `ask` passed the checks, or was "no match", so that it may be
    /// given to others.
    fn accepted<'a>(&'a self, _ask: &'a Ask) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Learns that the answer to `ask` did not pass the checks, so that it is not kept.
    fn rejected<'a>(&'a self, _ask: &'a Ask) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl<C: Corrector + ?Sized> Corrector for Arc<C> {
    fn is_available(&self) -> bool {
        (**self).is_available()
    }

    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        (**self).correct(ask, budget)
    }

    fn accepted<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        (**self).accepted(ask)
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        (**self).rejected(ask)
    }
}

/// The engine without a model: a complete product that declines every ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCorrector;

impl Corrector for NoCorrector {
    fn is_available(&self) -> bool {
        false
    }

    fn correct<'a>(
        &'a self,
        _ask: &'a Ask,
        _budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        Box::pin(async { Err(CorrectorError::NotConfigured) })
    }
}
