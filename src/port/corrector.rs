//! The interface to a corrector, which is asked when no mechanical reading explains a call.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::BoxFuture;
use crate::edit::{AskKind, ModelUse};
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

/// A question to the model about a call. One call asks at most two.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ask {
    /// The file.
    pub path: String,
    /// The hash of its content.
    pub file: ContentHash,
    /// The caller's `old_str`.
    pub old: String,
    /// The caller's `new_str`.
    pub new: String,
    /// What is asked.
    pub question: Question,
}

/// What is asked, with what the model needs for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Question {
    /// Find the place that `old` was meant to be, and write its new text.
    CorrectOld {
        /// How often the text must occur; `None` for any number.
        expected: Option<usize>,
        /// The parts of the file that are most similar to `old`.
        windows: Vec<Window>,
        /// Why the first answer was not enough, if this is the second question.
        reason: Option<String>,
    },
    /// Write the new text of a place that is known.
    AdjustNew {
        /// The text of the place.
        corrected_old: String,
        /// Why the text of the first answer was not enough.
        reason: String,
    },
    /// Undo over-escaping in `new`.
    RepairEscapes,
    /// Choose one of several outcomes of the call.
    Choose {
        /// The text of the place as it is.
        corrected_old: String,
        /// What each outcome writes there.
        outcomes: Vec<String>,
    },
}

impl Ask {
    /// The kind of the question.
    pub fn kind(&self) -> AskKind {
        match self.question {
            Question::CorrectOld { .. } => AskKind::CorrectOld,
            Question::AdjustNew { .. } => AskKind::AdjustNew,
            Question::RepairEscapes => AskKind::RepairEscapes,
            Question::Choose { .. } => AskKind::Choose,
        }
    }

    /// The texts of the file that the question shows.
    pub fn shown(&self) -> Vec<&str> {
        match &self.question {
            Question::CorrectOld { windows, .. } => {
                windows.iter().map(|w| w.text.as_str()).collect()
            }
            Question::AdjustNew { corrected_old, .. } => vec![corrected_old],
            Question::RepairEscapes => Vec::new(),
            Question::Choose { corrected_old, outcomes } => {
                std::iter::once(corrected_old).chain(outcomes).map(String::as_str).collect()
            }
        }
    }

    /// The change of the call, as a diff by lines. The middle of a long run of kept lines is left
    /// out: the file shows it.
    pub fn change(&self) -> String {
        const KEPT: usize = 3;
        let lines = |text: &str| -> Vec<String> {
            let text = text.strip_suffix('\n').unwrap_or(text);
            text.split('\n').filter(|_| !text.is_empty()).map(str::to_owned).collect()
        };
        let (old, new) = (lines(&self.old), lines(&self.new));
        let mut out = String::new();
        let mut push = |mark: &str, lines: &[String]| {
            for line in lines {
                let _ = writeln!(out, "{mark}{line}");
            }
        };
        for op in similar::capture_diff_slices(similar::Algorithm::Patience, &old, &new) {
            let (removed, added) = (&old[op.old_range()], &new[op.new_range()]);
            if op.tag() != similar::DiffTag::Equal {
                push("-", removed);
                push("+", added);
            } else if removed.len() <= 2 * KEPT + 1 {
                push(" ", removed);
            } else {
                push(" ", &removed[..KEPT]);
                push(" ", &[format!("[{} more lines, kept]", removed.len() - 2 * KEPT)]);
                push(" ", &removed[removed.len() - KEPT..]);
            }
        }
        out
    }

    /// About how many bytes the question has, besides the fixed text of its prompt.
    pub fn size(&self) -> usize {
        const LINE_NUMBER: usize = 5;
        const FRAME: usize = 64;
        let call = match self.kind() {
            AskKind::RepairEscapes => self.old.len() + self.new.len(),
            _ => self.change().len(),
        };
        let numbered = self.kind() == AskKind::CorrectOld;
        let shown = self.shown().into_iter().map(|text| {
            let lines = if numbered { text.lines().count() } else { 0 };
            text.len() + lines * LINE_NUMBER + FRAME
        });
        self.path.len() + call + shown.sum::<usize>()
    }

    /// Every text of the call and the file, to be changed before it is sent.
    pub(crate) fn texts_mut(&mut self) -> Vec<&mut String> {
        let mut texts = vec![&mut self.old, &mut self.new];
        match &mut self.question {
            Question::CorrectOld { windows, reason, .. } => {
                texts.extend(windows.iter_mut().map(|window| &mut window.text));
                texts.extend(reason);
            }
            Question::AdjustNew { corrected_old, reason } => texts.extend([corrected_old, reason]),
            Question::RepairEscapes => {}
            Question::Choose { corrected_old, outcomes } => {
                texts.push(corrected_old);
                texts.extend(outcomes);
            }
        }
        texts
    }
}

/// The place where the model has found a text: lines of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// First line.
    pub start_line: usize,
    /// Last line.
    pub end_line: usize,
}

/// An answer of the model, which is not checked yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// A text: of the file for `CorrectOld`, else the new text.
    Text(String),
    /// A text of the file, and the lines where the model has found it. The lines alone are enough.
    Located {
        /// The text; may be empty.
        text: String,
        /// Its place.
        place: Location,
    },
    /// A place, and the whole new text of it.
    WithNew {
        /// The text of the file; may be empty if the place is given.
        text: String,
        /// The place.
        place: Option<Location>,
        /// The text that is to replace it.
        new: String,
    },
    /// One of the outcomes of `Choose`, counted from 1.
    Outcome(usize),
    /// The file has the change already.
    AlreadyDone,
    /// The model has to see more of the file.
    Unsure,
    /// No match, or no answer.
    Declined,
}

impl Reply {
    /// Every text of the answer.
    pub(crate) fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Text(text) | Self::Located { text, .. } => vec![text],
            Self::WithNew { text, new, .. } => vec![text, new],
            Self::Outcome(_) | Self::AlreadyDone | Self::Unsure | Self::Declined => Vec::new(),
        }
    }
}

/// What one call may spend on a model, and what it has spent.
#[derive(Debug)]
pub struct Budget {
    deadline: Instant,
    requests: u32,
    spent: Mutex<ModelUse>,
}

impl Budget {
    /// A budget of `requests` requests, retries included, within `time` from now.
    pub fn new(time: Duration, requests: u32) -> Self {
        Self { deadline: Instant::now() + time, requests, spent: Mutex::default() }
    }

    /// The time when the call must end.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Takes one request out of the budget; `false` if none is left.
    pub fn take_request(&self) -> bool {
        let mut spent = self.lock();
        let has_requests = spent.calls < self.requests;
        spent.calls += u32::from(has_requests);
        has_requests
    }

    /// Whether a further request is allowed.
    pub(crate) fn has_requests(&self) -> bool {
        self.lock().calls < self.requests
    }

    /// Records what was used besides requests, such as tokens.
    pub fn record(&self, change: impl FnOnce(&mut ModelUse)) {
        change(&mut self.lock());
    }

    /// What has been used so far.
    pub fn spent(&self) -> ModelUse {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ModelUse> {
        // A panic in another thread cannot break plain counters.
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
    /// The server or the network failed.
    #[error("{0}")]
    Failed(String),
}

/// The reply to a question, once it is there.
pub type FutureReply<'a> = BoxFuture<'a, Result<Reply, CorrectorError>>;

/// Answers questions. Each answer is a proposal, which is checked before it is used.
pub trait Corrector: Send + Sync {
    /// Answers one question within the budget. Dropping the future cancels the question.
    fn correct<'a>(&'a self, ask: &'a Ask, budget: &'a Budget) -> FutureReply<'a>;

    /// Called when the answer to `ask` has not passed the checks, so that it is not kept.
    fn rejected<'a>(&'a self, _ask: &'a Ask) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl<C: Corrector + ?Sized> Corrector for Arc<C> {
    fn correct<'a>(&'a self, ask: &'a Ask, budget: &'a Budget) -> FutureReply<'a> {
        (**self).correct(ask, budget)
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        (**self).rejected(ask)
    }
}
