//! Decides what to ask a model about one call, and checks its answers. A call that no reading
//! explains becomes a question, and an answer becomes an edit only if it passes the checks. This
//! module does no I/O and reads no clock: the engine asks the model and passes its answers in.
//!
//! The model names a place and gives its whole new text. The text is written as it is given, or
//! nothing is written. There are at most two questions; the second says why the first answer was not
//! enough.
//!
//! ```text
//! start ─┬─ One ───────────────────────────────────────────┬─ (RepairEscapes) ─ Done
//!        ├─ One, but a quoted line differs in words ─┐     │
//!        ├─ Missing ─────────────────────────────────┴ CorrectOld ─┬─ the text passes ─────── Done
//!        │                                                         ├─ place, but no text ─ AdjustNew
//!        │                                                         └─ no place ─ CorrectOld, once more
//!        ├─ Ambiguous ─ Choose ────────────────────────────┘
//!        └─ Refused
//! ```
//!
//! A refusal that is not "no place" is never turned into an edit.

mod ask;
mod candidates;
mod judge;
mod place;
mod take;
mod words;
mod write;

use std::ops::Range;

use crate::edit::{
    Attempt, AttemptOutcome, EditCode, EditRequest, Expected, Explanation, Refusal, Rewrite, Splice,
};
use crate::matching::{Explained, Verdict, decide, explain};
use crate::port::{Ask, CorrectorError, Reply};
use crate::text::Snapshot;

use candidates::Candidates;

/// Whether a model can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// No model can be asked; the decision of the matcher stands.
    Absent,
    /// A model can be asked.
    Present,
}

/// The next step of a resolution.
#[derive(Debug)]
#[must_use]
pub enum Step {
    /// The call is explained.
    Done(Box<Resolved>),
    /// A question has to be answered first.
    Ask(Box<Resolution>),
    /// The call is refused; nothing may be written.
    Refused(Box<Refusal>),
}

/// An explained call, and how to reapply it to another version of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Where it applies and what is written there.
    pub explained: Explained,
    /// How to reapply it, without a model.
    pub reapply: Reapply,
}

/// How to reapply a resolved call to another version of the file, without a model.
#[allow(clippy::large_enum_variant, reason = "there is one of them a call")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reapply {
    /// By the ladder, like a new call.
    Ladder(EditRequest),
    /// By the corrected strings, which must occur exactly as often as expected.
    Exact(EditRequest, Explanation),
    /// Never: the decision holds for one version only.
    Never,
}

impl Reapply {
    /// Explains the same call on another version of the file.
    pub fn decide(&self, current: &Snapshot) -> Result<Explained, Refusal> {
        let conflict = || {
            Refusal::new(EditCode::Conflict, "the file changed while the correction was decided")
                .hint("Nothing was written. Send the same call again.")
        };
        match self {
            Self::Ladder(request) => explain(request, current),
            Self::Exact(request, explanation) => {
                let found = place::occurrences(&request.old, current.text());
                let is_expected = match request.expected {
                    Expected::Exactly(count) => found.len() == count.get(),
                    Expected::All => !found.is_empty(),
                };
                if !is_expected {
                    return Err(conflict());
                }
                Ok(exact(request, &found, explanation.clone()))
            }
            Self::Never => Err(conflict()),
        }
    }
}

/// A call and its file.
#[derive(Debug)]
struct PendingCall {
    path: String,
    request: EditRequest,
    snapshot: Snapshot,
}

/// A call that waits for a model's answer.
#[derive(Debug)]
pub struct Resolution {
    call: PendingCall,
    attempts: Vec<Attempt>,
    state: State,
    ask: Ask,
}

#[allow(clippy::large_enum_variant, reason = "there is one of them a call")]
#[derive(Debug)]
enum State {
    /// The model names a place and its new text.
    Edit {
        refusal: Refusal,
        /// What the matcher would write, if the model cannot be reached.
        fallback: Option<Resolved>,
        candidates: Candidates,
        turn: Turn,
    },
    /// The model gives the new text of places that it has named.
    NewText { refusal: Refusal, places: Vec<Range<usize>>, judged: Range<usize> },
    /// The model chooses an outcome, or gives the new text of the place.
    Choose { refusal: Refusal, outcomes: Vec<Explained>, place: Range<usize> },
    /// The model says whether the escapes are meant.
    RepairEscapes { resolved: Resolved, readings: Vec<String> },
}

/// Which of the two questions is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    Second,
}

impl Resolution {
    /// Tries the matcher, and asks the model about a call that it does not explain.
    pub fn start(path: &str, request: &EditRequest, snapshot: &Snapshot, model: Model) -> Step {
        Self::start_with_filter(path, request, snapshot, model, &|matched| matched)
    }

    /// Does the same as [`Self::start`], but first `filter` may remove outcomes from the matcher's
    /// verdict.
    pub fn start_with_filter(
        path: &str,
        request: &EditRequest,
        snapshot: &Snapshot,
        model: Model,
        filter: &dyn Fn(Verdict) -> Verdict,
    ) -> Step {
        let request = &request.clone().for_path(path);
        let matched = filter(decide(request, snapshot));
        if model == Model::Absent {
            return match matched.into_result() {
                Ok(explained) => Step::Done(Box::new(Resolved::by_ladder(explained, request))),
                Err(refusal) => Step::Refused(Box::new(refusal)),
            };
        }
        let call = PendingCall {
            path: path.to_owned(),
            request: request.clone(),
            snapshot: snapshot.clone(),
        };
        match matched {
            Verdict::One(explained) => {
                let differs = explained.explanation.rewrites.contains(&Rewrite::StaleContext);
                let resolved = Resolved::by_ladder(explained, request);
                match differs {
                    true => call.confirm(resolved),
                    false => call.finish(Vec::new(), resolved),
                }
            }
            Verdict::Ambiguous { outcomes, refusal } => call.choose(refusal, outcomes),
            Verdict::Missing(refusal) => call.ask_first(refusal, None),
            Verdict::Refused(refusal) => Step::Refused(Box::new(refusal)),
        }
    }

    /// The question to the model.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Continues with an answer, or with the reason why there is none. Returns the next step and
    /// what came of the answer.
    pub fn reply(self, answer: Result<Reply, CorrectorError>) -> (Step, AttemptOutcome) {
        let Self { call, mut attempts, state, ask } = self;
        let mut note = |outcome: AttemptOutcome, detail: String| {
            attempts.push(Attempt { ask: ask.kind(), outcome, detail });
        };
        let reply = match answer {
            Ok(reply) => reply,
            Err(error) => {
                let outcome = match error {
                    CorrectorError::NotConfigured
                    | CorrectorError::Sensitive(_)
                    | CorrectorError::Skipped(_) => AttemptOutcome::Skipped,
                    _ => AttemptOutcome::Failed,
                };
                note(outcome, error.to_string());
                return (state.without_answer(attempts), outcome);
            }
        };
        let Taken { outcome, detail, next } = match state {
            State::Edit { refusal, candidates, turn, .. } => {
                call.take_edit(reply, refusal, candidates, turn)
            }
            State::NewText { refusal, places, judged } => match reply {
                Reply::Text(text) | Reply::WithNew { new: text, .. } => {
                    call.take_text(&places, &judged, &text, refusal)
                }
                _ => Taken::declined("the model gives no text", refusal),
            },
            State::Choose { refusal, outcomes, place } => {
                call.take_choice(reply, refusal, outcomes, place)
            }
            State::RepairEscapes { resolved, readings } => {
                call.take_escapes(reply, resolved, &readings)
            }
        };
        note(outcome, detail);
        let step = match next {
            Next::Done(resolved) => done(attempts, *resolved),
            Next::Chosen(resolved) => call.finish(attempts, *resolved),
            Next::Refused(refusal) => refused(*refusal, attempts),
            Next::Ask(state, ask) => call.question(attempts, *state, *ask),
        };
        (step, outcome)
    }
}

/// What came of an answer.
struct Taken {
    outcome: AttemptOutcome,
    detail: String,
    next: Next,
}

/// What follows an answer.
enum Next {
    Done(Box<Resolved>),
    /// The model chose it, and its escapes are not reviewed yet.
    Chosen(Box<Resolved>),
    Refused(Box<Refusal>),
    Ask(Box<State>, Box<Ask>),
}

impl State {
    /// The next step if the model cannot be reached: what the matcher decided.
    fn without_answer(self, attempts: Vec<Attempt>) -> Step {
        match self {
            Self::Edit { fallback: Some(resolved), .. } | Self::RepairEscapes { resolved, .. } => {
                done(attempts, resolved)
            }
            Self::Edit { refusal, .. }
            | Self::NewText { refusal, .. }
            | Self::Choose { refusal, .. } => refused(refusal, attempts),
        }
    }
}

impl Resolved {
    /// A call that the ladder explained without a model.
    fn by_ladder(explained: Explained, request: &EditRequest) -> Self {
        Self { explained, reapply: Reapply::Ladder(request.clone()) }
    }
}

/// The final step of a call that is explained.
fn done(attempts: Vec<Attempt>, mut resolved: Resolved) -> Step {
    resolved.explained.explanation.attempts.extend(attempts.iter().cloned());
    if let Reapply::Exact(_, explanation) = &mut resolved.reapply {
        explanation.attempts.extend(attempts);
    }
    Step::Done(Box::new(resolved))
}

/// The final step of a call that is refused.
fn refused(mut refusal: Refusal, attempts: Vec<Attempt>) -> Step {
    refusal.attempts.extend(attempts);
    Step::Refused(Box::new(refusal))
}

/// The edit that replaces these ranges of the file with `new_str`.
fn exact(request: &EditRequest, found: &[Range<usize>], mut explanation: Explanation) -> Explained {
    explanation.replacements = found.len();
    let splice = |range: &Range<usize>| Splice { range: range.clone(), text: request.new.clone() };
    Explained { splices: found.iter().map(splice).collect(), explanation, is_guess: false }
}
