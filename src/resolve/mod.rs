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

mod answer;
mod candidates;
mod judge;
mod place;
mod words;

use std::ops::Range;

use crate::edit::{
    Attempt, Conflict, EditCode, EditRequest, Expected, Explanation, Refusal, Rewrite, Splice,
};
use crate::matching::{Explained, Verdict, decide, explain};
use crate::port::{Ask, CorrectorError, Reply};
use crate::text::Snapshot;

use answer::PendingCall;
use candidates::Candidates;
use place::Rejection;

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
    /// Resolves the same call on another version of the file.
    pub fn resolve_on(&self, current: &Snapshot) -> Result<Resolved, Refusal> {
        Ok(Resolved { explained: self.decide(current)?, reapply: self.clone() })
    }

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
            Verdict::Ambiguous { outcomes, refusal, .. } => call.choose(refusal, outcomes),
            Verdict::Missing(refusal) => call.ask_edit(refusal),
            Verdict::Refused(refusal) => Step::Refused(Box::new(refusal)),
        }
    }

    /// The question to the model.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Continues with an answer, or with the reason why there is none. Returns the next step and
    /// whether the answer was accepted.
    pub fn reply(self, answer: Result<Reply, CorrectorError>) -> (Step, AnswerVerdict) {
        let Self { call, mut attempts, state, ask } = self;
        let kind = ask.kind();
        // Records the attempt, and returns the verdict for its outcome.
        let mut note = |outcome: &'static str, detail: String| {
            attempts.push(Attempt { ask: kind, outcome, detail });
            match outcome {
                "accepted" => AnswerVerdict::Accepted,
                "rejected" => AnswerVerdict::Rejected,
                _ => AnswerVerdict::NoAnswer,
            }
        };
        let reply = match answer {
            Ok(reply) => reply,
            Err(error) => {
                let outcome = match error {
                    CorrectorError::NotConfigured
                    | CorrectorError::Sensitive(_)
                    | CorrectorError::Skipped(_) => "skipped",
                    _ => "failed",
                };
                let verdict = note(outcome, error.to_string());
                return (state.without_answer(attempts), verdict);
            }
        };
        match state {
            State::Edit { refusal, candidates, turn, .. } => {
                let (text, place, new) = match reply {
                    Reply::Text(text) => (text, None, None),
                    Reply::Located { text, place } => (text, Some(place), None),
                    Reply::WithNew { text, place, new } => (text, place, Some(new)),
                    Reply::AlreadyDone => {
                        return match call.already_done() {
                            Some(done) => {
                                let verdict = note("accepted", "the file has the edit".into());
                                (refused(done, attempts), verdict)
                            }
                            None => {
                                let verdict =
                                    note("rejected", "the file does not have the edit".into());
                                (refused(refusal, attempts), verdict)
                            }
                        };
                    }
                    _ => {
                        let verdict = note("declined", "the model sees no match".into());
                        let more = candidates.with_whole_file(&call.snapshot);
                        return match more.filter(|_| turn == Turn::First) {
                            Some(more) => {
                                let why = "the candidates were not enough; this is the whole file";
                                (call.ask_edit_again(attempts, refusal, more, why.into()), verdict)
                            }
                            None => (refused(refusal, attempts), verdict),
                        };
                    }
                };
                let found = place::locate(
                    &call.request,
                    &call.snapshot,
                    &candidates,
                    &text,
                    place.as_ref(),
                );
                let places = match found {
                    Ok(places) => places,
                    Err(Rejection::TooOften(lines)) => {
                        let (mismatch, why) = call.too_often(&refusal, lines);
                        let verdict = note("rejected", why);
                        return (refused(mismatch, attempts), verdict);
                    }
                    Err(Rejection::Other(why)) => {
                        let verdict = note("rejected", why.clone());
                        if turn == Turn::Second {
                            return (refused(refusal, attempts), verdict);
                        }
                        let more = candidates.with_whole_file(&call.snapshot).unwrap_or(candidates);
                        return (call.ask_edit_again(attempts, refusal, more, why), verdict);
                    }
                };
                let judged = place::widened(&places, &candidates);
                let checked = match &new {
                    Some(new) => call.checked(&places, &judged, new),
                    None => call.merged(&places, &judged),
                };
                match checked {
                    Ok(explained) => {
                        let lines = call.describe_lines(&places);
                        let verdict = note("accepted", format!("{lines}: {}", said(&explained)));
                        (done(attempts, call.by_model(explained)), verdict)
                    }
                    // Without a text, the place alone is accepted.
                    Err(why) => {
                        let verdict = match new {
                            Some(_) => note("rejected", why.clone()),
                            None => {
                                let lines = call.describe_lines(&places);
                                note(
                                    "accepted",
                                    format!("old_str corrected to the text at {lines}"),
                                )
                            }
                        };
                        match turn {
                            Turn::First => {
                                (call.ask_text(attempts, refusal, places, judged, why), verdict)
                            }
                            Turn::Second => (refused(refusal, attempts), verdict),
                        }
                    }
                }
            }
            State::NewText { refusal, places, judged } => {
                let text = match reply {
                    Reply::Text(text) => text,
                    Reply::WithNew { new, .. } => new,
                    _ => {
                        let verdict = note("declined", "the model gives no text".into());
                        return (refused(refusal, attempts), verdict);
                    }
                };
                match call.checked(&places, &judged, &text) {
                    Ok(explained) => {
                        let verdict = note("accepted", said(&explained));
                        (done(attempts, call.by_model(explained)), verdict)
                    }
                    Err(why) => {
                        let verdict = note("rejected", why);
                        (refused(refusal, attempts), verdict)
                    }
                }
            }
            State::Choose { refusal, mut outcomes, place } => {
                let number = match reply {
                    Reply::Window(number) => number,
                    Reply::Text(text) => {
                        return match call.checked(std::slice::from_ref(&place), &place, &text) {
                            Ok(explained) => {
                                let verdict = note("accepted", said(&explained));
                                (done(attempts, call.by_model(explained)), verdict)
                            }
                            Err(why) => {
                                let verdict = note("rejected", why);
                                (refused(refusal, attempts), verdict)
                            }
                        };
                    }
                    Reply::Declined | Reply::Unsure => {
                        let verdict = note("declined", "the model chooses none".into());
                        return (refused(refusal, attempts), verdict);
                    }
                    _ => {
                        let verdict = note("rejected", "the answer is not a number".into());
                        return (refused(refusal, attempts), verdict);
                    }
                };
                let index = number.checked_sub(1).filter(|index| *index < outcomes.len());
                let Some(index) = index else {
                    let verdict = note("rejected", format!("there is no outcome {number}"));
                    return (refused(refusal, attempts), verdict);
                };
                let how = refusal.outcomes.get(index).map_or("", |outcome| outcome.how.as_str());
                let verdict = note("accepted", format!("outcome {number}: {how}"));
                let mut explained = outcomes.swap_remove(index);
                explained.explanation.rewrites.push(Rewrite::ModelChoice);
                let resolved = Resolved { explained, reapply: Reapply::Never };
                (call.finish(attempts, resolved), verdict)
            }
            State::RepairEscapes { mut resolved, readings } => {
                let verdict = match reply {
                    Reply::Text(text) if text == call.request.new => {
                        note("accepted", "the model says that no change is needed".into())
                    }
                    Reply::Text(text) if readings.contains(&text) => match call.with_new_str(&text)
                    {
                        Some(repaired) => {
                            resolved = repaired;
                            note("accepted", "new_str unescaped".into())
                        }
                        None => {
                            note("rejected", "the call with the unescaped text is refused".into())
                        }
                    },
                    Reply::Declined | Reply::Unsure => {
                        note("declined", "the model gives no text".into())
                    }
                    _ => note(
                        "rejected",
                        "the answer changes more of new_str than its escapes".into(),
                    ),
                };
                if verdict == AnswerVerdict::Rejected {
                    let warnings = &mut resolved.explained.explanation.warnings;
                    warnings.push("the model's repair of these escapes was rejected".into());
                }
                (done(attempts, resolved), verdict)
            }
        }
    }
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

/// Whether an answer was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerVerdict {
    /// The answer passed the checks.
    Accepted,
    /// The answer did not pass the checks.
    Rejected,
    /// There was no answer, or it was "no match".
    NoAnswer,
}

impl Resolved {
    /// A call that the ladder explained without a model.
    fn by_ladder(explained: Explained, request: &EditRequest) -> Self {
        Self { explained, reapply: Reapply::Ladder(request.clone()) }
    }
}

/// Describes a resolved conflict in one line.
fn describe_conflict(conflict: &Conflict) -> String {
    let first_line = |text: &str| {
        let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        line.chars().take(80).collect::<String>()
    };
    let written = conflict.written.as_deref().map(first_line).unwrap_or_default();
    format!(
        "line {} had `{}`, not `{}`; it is `{written}` now",
        conflict.start_line,
        first_line(&conflict.found),
        first_line(&conflict.believed)
    )
}

/// Describes a model's edit in one line, by the first line that differed from the call.
fn said(explained: &Explained) -> String {
    match explained.explanation.conflicts.first() {
        None => "the text passed the checks".into(),
        Some(first) => describe_conflict(first),
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
    Explained { splices: found.iter().map(splice).collect(), explanation }
}
