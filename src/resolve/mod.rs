//! Decides what to ask a model about one call, and checks its answers. A call that no reading
//! explains becomes a question, and an answer becomes an edit only if it passes the checks that a
//! reading passes. This module does no I/O and reads no clock: the engine asks the model and passes
//! its answers in.
//!
//! The model names a place in the file, chooses among outcomes or resolves conflicts; it never writes
//! freely. There is at most one question of each kind.
//!
//! ```text
//! start ─┬─ One ───────────────────────────────────────────┬─ Done
//!        ├─ Ambiguous ─ Choose ────────────────────────────┤
//!        ├─ Missing ─ CorrectOld ─┬─ merge is clean ───────┤
//!        │                        ├─ several ─ Choose ─────┤
//!        │                        └─ conflicts ─ AdjustNew ┴─ RepairEscapes ─ Done
//!        └─ Refused
//! ```
//!
//! CorrectOld is asked only if no place was found; it never overrides another refusal.

mod conflict;
mod correction;
mod pending;
mod survey;

use std::ops::Range;

use serde::Deserialize;

use crate::edit::{
    Attempt, Conflict, EditCode, EditRequest, Expected, Explanation, Refusal, Rewrite, Splice,
};
use crate::matching::{ConflictHunk, Explained, Verdict, decide, explain};
use crate::port::{Ask, CorrectorError, Reply};
use crate::text::{LineSpan, Snapshot};

use correction::Rejection;
use pending::PendingCall;
use survey::Survey;

/// Who resolves conflicts after a model has found the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjust {
    /// The model, within the words of the call and the file.
    #[default]
    Model,
    /// No one: a call with conflicts is refused.
    Merge,
}

/// Who chooses if a call has several possible outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// No one: the call is refused.
    Off,
    /// The model, by number.
    #[default]
    Model,
}

/// What a model may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether the model resolves conflicts: lines that the caller changes and that differ in the
    /// file.
    pub adjust: Adjust,
    /// Whether the model chooses among several outcomes.
    pub choose: Choice,
}

/// Whether a model can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// No model can be asked; the original refusal stands.
    Absent,
    /// A model can be asked, under this policy.
    Present(Policy),
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
                let found = correction::occurrences(&request.old, current.text());
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
    CorrectOld { refusal: Refusal, survey: Survey },
    AdjustNew { refusal: Refusal, conflict: ConflictedRegion },
    Choose { refusal: Refusal, outcomes: Vec<Explained> },
    RepairEscapes { resolved: Resolved, readings: Vec<String> },
}

/// A region with conflicts that a model is asked about.
#[derive(Debug)]
struct ConflictedRegion {
    /// The places of the edit. If there are several, they have the same text and the same resolution.
    places: Vec<Range<usize>>,
    /// The part of the first place that the merge replaces.
    range: Range<usize>,
    hunks: Vec<ConflictHunk>,
    /// For each hunk its resolution, if the model need not be asked.
    known: Vec<Option<String>>,
    /// The lines of the merge, with `None` for each hunk.
    skeleton: Vec<Option<String>>,
    /// Whether the whole region is one conflict, because new lines use words that the file lacks.
    whole: bool,
}

impl Resolution {
    /// Tries the ladder, and asks the model about a call that the ladder does not explain. `read` are
    /// the lines of the file that the caller has read.
    pub fn start(
        path: &str,
        request: &EditRequest,
        snapshot: &Snapshot,
        model: Model,
        read: &[LineSpan],
    ) -> Step {
        Self::start_with_filter(path, request, snapshot, model, read, &|matched| matched)
    }

    /// Does the same as [`Self::start`], but first `filter` may remove outcomes from the ladder's
    /// verdict.
    pub fn start_with_filter(
        path: &str,
        request: &EditRequest,
        snapshot: &Snapshot,
        model: Model,
        read: &[LineSpan],
        filter: &dyn Fn(Verdict) -> Verdict,
    ) -> Step {
        let request = &request.clone().for_path(path);
        let matched = filter(decide(request, snapshot));
        let Model::Present(policy) = model else {
            return match matched.into_result() {
                Ok(explained) => Step::Done(Box::new(Resolved::by_ladder(explained, request))),
                Err(refusal) => Step::Refused(Box::new(refusal)),
            };
        };
        let call = PendingCall {
            path: path.to_owned(),
            request: request.clone(),
            snapshot: snapshot.clone(),
            policy,
        };
        match matched {
            Verdict::One(explained) => {
                call.finish(Vec::new(), Resolved::by_ladder(explained, request))
            }
            Verdict::Ambiguous { outcomes, refusal, .. } => {
                call.choose(Vec::new(), refusal, outcomes)
            }
            Verdict::Missing(refusal) => call.correct_old(refusal, read),
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
            Ok(Reply::Declined) => Err(note("declined", "the model sees no match".into())),
            Ok(reply) => Ok(reply),
            Err(
                error @ (CorrectorError::NotConfigured
                | CorrectorError::Sensitive(_)
                | CorrectorError::Skipped(_)),
            ) => Err(note("skipped", error.to_string())),
            Err(error) => Err(note("failed", error.to_string())),
        };
        match state {
            State::CorrectOld { refusal, survey } => {
                let reply = match reply {
                    Ok(reply) => reply,
                    Err(verdict) => return (refused(refusal, attempts), verdict),
                };
                match correction::check_correction(&call.request, &call.snapshot, &survey, &reply) {
                    Ok(accepted) => {
                        let places = accepted.ranges;
                        let lines = call.describe_lines(&places);
                        let verdict =
                            note("accepted", format!("old_str corrected to the text at {lines}"));
                        let offered_new = match reply {
                            Reply::WithNew { new, .. } => Some(new),
                            _ => None,
                        };
                        (call.merge_at(attempts, refusal, &places, offered_new), verdict)
                    }
                    Err(Rejection::TooOften(lines)) => {
                        let why = format!(
                            "the corrected old_str occurs {} times, expected {}",
                            lines.len(),
                            call.expected_count()
                        );
                        let verdict = note("rejected", why.clone());
                        let mut mismatch = Refusal::new(EditCode::OccurrenceMismatch, why)
                            .hint("Give an old_str with enough lines around it to be unique.");
                        mismatch.nearest = refusal.nearest;
                        mismatch.occurrences = lines;
                        (refused(mismatch, attempts), verdict)
                    }
                    Err(Rejection::Other(why)) => {
                        let verdict = note("rejected", why);
                        (refused(refusal, attempts), verdict)
                    }
                }
            }
            State::AdjustNew { refusal, conflict } => {
                let text = match reply {
                    Ok(Reply::Text(text)) => text,
                    Ok(_) => {
                        let verdict = note("rejected", "the answer is not text".into());
                        return (refused(refusal, attempts), verdict);
                    }
                    Err(verdict) => return (refused(refusal, attempts), verdict),
                };
                match call.resolve_conflicts(&conflict, &text) {
                    Ok(explained) => {
                        let verdict =
                            note("accepted", describe_conflicts(&explained.explanation.conflicts));
                        let resolved = call.by_model(explained);
                        (call.finish(attempts, resolved), verdict)
                    }
                    Err(why) => {
                        let verdict = note("rejected", why);
                        (refused(refusal, attempts), verdict)
                    }
                }
            }
            State::Choose { refusal, mut outcomes } => {
                let number = match reply {
                    Ok(Reply::Window(number)) => number,
                    Ok(_) => {
                        let verdict = note("rejected", "the answer is not a number".into());
                        return (refused(refusal, attempts), verdict);
                    }
                    Err(verdict) => return (refused(refusal, attempts), verdict),
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
                    Ok(Reply::Text(text)) if text == call.request.new => {
                        note("accepted", "the model says that no change is needed".into())
                    }
                    Ok(Reply::Text(text)) if readings.contains(&text) => {
                        match call.with_new_str(&text) {
                            Some(repaired) => {
                                resolved = repaired;
                                note("accepted", "new_str unescaped".into())
                            }
                            None => note(
                                "rejected",
                                "the call with the unescaped text is refused".into(),
                            ),
                        }
                    }
                    Ok(_) => note(
                        "rejected",
                        "the answer changes more of new_str than its escapes".into(),
                    ),
                    Err(verdict) => verdict,
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

/// Describes the resolved conflicts in one line, by the first of them.
fn describe_conflicts(conflicts: &[Conflict]) -> String {
    match conflicts {
        [] => "new_str adjusted".into(),
        [first, ..] => describe_conflict(first),
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
