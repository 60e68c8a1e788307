//! Replays failed edits of agents with a simulated model that answers every question with the text
//! of the agent's own next call.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::edit::{AttemptOutcome, EditPlan, EditRequest, Refusal};
use crate::port::{Ask, Question, Reply};
use crate::resolve::{Model, Resolution, Step};
use crate::text::Snapshot;

/// A call that failed in an edit tool, as a line of JSON.
#[derive(Debug, Clone, Deserialize)]
pub struct FailedEdit {
    /// A name for the case.
    pub id: String,
    /// The file's name.
    pub file: String,
    /// The file when the call failed.
    pub before: String,
    /// The `old_str` of the call.
    pub old_str: String,
    /// The `new_str` of the call.
    pub new_str: String,
    /// The agent's next call for that file that succeeded, if there was one.
    pub retry: Option<Retry>,
}

/// The next call of an agent.
#[derive(Debug, Clone, Deserialize)]
pub struct Retry {
    /// The `old_str` of the call, which is in the file.
    pub old_str: String,
    /// The `new_str` of the call.
    pub new_str: String,
}

named! {
    /// How the result of a replayed call compares with the file after the agent's next call.
    pub enum ReplayOutcome {
        /// The call was applied, with the same result.
        Right = "right",
        /// The call was applied; the results differ in whitespace only.
        OnlyWhitespace = "right but for blanks",
        /// The call was applied, with another result, which a person has to look at.
        Other = "other bytes",
        /// The call was applied, but the next call does not show what was intended.
        Unknown = "applied, truth unknown",
        /// The call was refused.
        Refused = "refused",
    }
}

impl ReplayOutcome {
    /// Compares the file after a replayed call with the file that the agent intended.
    pub fn compare(after: &str, truth: Option<&str>) -> Self {
        let without_whitespace = |text: &str| text.split_whitespace().collect::<String>();
        match truth {
            None => Self::Unknown,
            Some(truth) if after == truth => Self::Right,
            Some(truth) if without_whitespace(after) == without_whitespace(truth) => {
                Self::OnlyWhitespace
            }
            Some(_) => Self::Other,
        }
    }
}

/// One run of a failed edit.
#[derive(Debug, Clone)]
pub struct ReplayRun {
    /// The outcome of the run.
    pub outcome: ReplayOutcome,
    /// The file afterwards, if the call was applied.
    pub after: Option<String>,
    /// The kinds of the questions to the model, in order.
    pub asked: Vec<&'static str>,
    /// The rung, if the call was applied; otherwise the reason for the refusal.
    pub why: String,
}

/// Whether two calls, each with its `old` and `new`, have the same intention: their `old` share half
/// of their words, and they add mostly the same words or, if they add none, remove mostly the same.
pub fn has_same_intention(call: (&str, &str), next: (&str, &str)) -> bool {
    let words = |text| crate::text::words(text).collect::<BTreeSet<&str>>();
    let (old, new, next_old, next_new) =
        (words(call.0), words(call.1), words(next.0), words(next.1));
    // At least three fifths of the words are among the others.
    let are_mostly_in = |words: &BTreeSet<&str>, others: &BTreeSet<&str>| {
        words.intersection(others).count() * 5 >= words.len() * 3
    };
    let (added, next_added) = (&new - &old, &next_new - &next_old);
    let same_change = if added.is_empty() {
        are_mostly_in(&(&old - &new), &(&next_old - &next_new))
    } else {
        are_mostly_in(&added, &next_new) && are_mostly_in(&next_added, &new)
    };
    let same_place = old.intersection(&next_old).count() * 2 >= old.len().min(next_old.len());
    same_change && same_place && next.0 != next.1
}

/// Replays a failed edit with a simulated model that knows the agent's next call and answers every
/// question accordingly. If it has to choose between outcomes, each is tried in turn until one
/// leads to the intended file.
pub fn with_model(case: &FailedEdit, truth: &str) -> ReplayRun {
    let mut choice_count = 1;
    let mut runs: Vec<ReplayRun> = Vec::new();
    while runs.len() < choice_count {
        let choice = runs.len() + 1;
        let mut answer = |ask: &Ask| match (&ask.question, &case.retry) {
            (Question::CorrectOld { .. }, Some(retry)) => Reply::WithNew {
                text: retry.old_str.clone(),
                place: None,
                new: retry.new_str.clone(),
            },
            (Question::AdjustNew { corrected_old, .. }, Some(retry))
                if corrected_old.contains(&retry.old_str) =>
            {
                Reply::Text(corrected_old.replacen(&retry.old_str, &retry.new_str, 1))
            }
            (Question::Choose { outcomes, .. }, _) => {
                choice_count = outcomes.len();
                Reply::Outcome(choice)
            }
            (Question::RepairEscapes, _) => Reply::Text(ask.new.clone()),
            (Question::CorrectOld { .. } | Question::AdjustNew { .. }, _) => Reply::Declined,
        };
        runs.push(run(case, Some(truth), Model::Present, &mut answer));
    }
    let ended = |outcome| runs.iter().position(|run| run.outcome == outcome);
    let best = ended(ReplayOutcome::Right).or_else(|| ended(ReplayOutcome::OnlyWhitespace));
    let best = runs.swap_remove(best.unwrap_or(runs.len() - 1));
    // None of the outcomes is the intended one, so this model would choose none of them.
    if best.asked.contains(&"choose") && best.outcome == ReplayOutcome::Other {
        let (outcome, why) = (ReplayOutcome::Refused, "no outcome is the truth".into());
        return ReplayRun { outcome, why, ..best };
    }
    best
}

/// Replays a failed edit without a model.
pub fn without_model(case: &FailedEdit, truth: Option<&str>) -> ReplayRun {
    run(case, truth, Model::Absent, &mut |_| Reply::Declined)
}

/// Decides a failed edit, with `answer` in the place of the model.
fn run(
    case: &FailedEdit,
    truth: Option<&str>,
    model: Model,
    answer: &mut dyn FnMut(&Ask) -> Reply,
) -> ReplayRun {
    let snapshot = Snapshot::from_text(case.before.clone());
    let request = EditRequest::new(&case.old_str, &case.new_str).for_path(&case.file);
    let mut asked = Vec::new();
    let mut step = Resolution::start(&case.file, &request, &snapshot, model);
    loop {
        match step {
            Step::Ask(resolution) => {
                asked.push(resolution.ask().kind().as_str());
                let reply = answer(resolution.ask());
                (step, _) = resolution.reply(Ok(reply));
            }
            Step::Refused(refusal) => {
                let why = refusal_reason(&refusal);
                return ReplayRun { outcome: ReplayOutcome::Refused, after: None, asked, why };
            }
            Step::Done(resolved) => {
                let rung = resolved.explained.explanation.rung.to_string();
                let after = EditPlan::new(&snapshot, resolved.explained.splices);
                let after = after.map(|plan| plan.text_after()).unwrap_or_default();
                let outcome = ReplayOutcome::compare(&after, truth);
                return ReplayRun { outcome, after: Some(after), asked, why: rung };
            }
        }
    }
}

/// Returns the reason for a refusal: the last answer of the model that was not accepted, or else
/// the refusal's own message.
fn refusal_reason(refusal: &Refusal) -> String {
    match refusal.attempts.iter().rfind(|attempt| attempt.outcome != AttemptOutcome::Accepted) {
        Some(attempt) => format!("{} {}: {}", attempt.ask, attempt.outcome, attempt.detail),
        None => format!("not asked: {}", refusal.message),
    }
}
