//! Replays failed edits of agents with a simulated model that answers every question with the text
//! of the agent's own next call.

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
    let (old, new) = (sorted_words(call.0), sorted_words(call.1));
    let (next_old, next_new) = (sorted_words(next.0), sorted_words(next.1));
    let difference = |a: &[&str], b: &[&str]| -> Vec<String> {
        a.iter().filter(|word| !b.contains(word)).map(|word| (*word).to_owned()).collect()
    };
    let (added, removed) = (difference(&new, &old), difference(&old, &new));
    let next_added = difference(&next_new, &next_old);
    let next_removed = difference(&next_old, &next_new);
    // At least three fifths of the words are among the others.
    let are_mostly_in = |words: &[String], others: &[&str]| {
        let common = words.iter().filter(|word| others.contains(&word.as_str())).count();
        common * 5 >= words.len() * 3
    };
    let same_change = if added.is_empty() {
        let next_removed: Vec<&str> = next_removed.iter().map(String::as_str).collect();
        are_mostly_in(&removed, &next_removed)
    } else {
        are_mostly_in(&added, &next_new) && are_mostly_in(&next_added, &new)
    };
    let common_old = old.iter().filter(|word| next_old.contains(word)).count();
    let same_place = common_old * 2 >= old.len().min(next_old.len());
    same_change && same_place && next.0 != next.1
}

/// Returns the different words of a text, sorted.
fn sorted_words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = crate::text::words(text).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Replays a failed edit with a simulated model that knows the intended file and answers every
/// question accordingly. If it has to choose between outcomes, each is tried in turn until one
/// leads to the intended file.
pub fn with_model(case: &FailedEdit, truth: &str) -> ReplayRun {
    let mut choice_count = 1;
    let mut last_run = None;
    let mut choice = 1;
    while choice <= choice_count {
        let mut answer = |ask: &Ask| match &ask.question {
            Question::CorrectOld { .. } => {
                case.retry.as_ref().map_or(Reply::Declined, |retry| Reply::WithNew {
                    text: retry.old_str.clone(),
                    place: None,
                    new: retry.new_str.clone(),
                })
            }
            Question::AdjustNew { corrected_old, .. } => {
                region_after(&case.before, truth, corrected_old)
                    .map_or(Reply::Declined, Reply::Text)
            }
            Question::Choose { outcomes, .. } => {
                choice_count = outcomes.len();
                Reply::Outcome(choice)
            }
            Question::RepairEscapes => Reply::Text(ask.new.clone()),
        };
        let this_run = run(case, Some(truth), Model::Present, &mut answer);
        if this_run.outcome == ReplayOutcome::Right {
            return this_run;
        }
        // Of the others, one that differs in blanks says most.
        if last_run
            .as_ref()
            .is_none_or(|last: &ReplayRun| last.outcome != ReplayOutcome::OnlyWhitespace)
        {
            last_run = Some(this_run);
        }
        choice += 1;
    }
    match last_run {
        // None of the outcomes is the intended one, so this model would choose none of them.
        Some(last) if last.asked.contains(&"choose") && last.outcome == ReplayOutcome::Other => {
            ReplayRun {
                outcome: ReplayOutcome::Refused,
                why: "no outcome is the truth".into(),
                ..last
            }
        }
        Some(last) => last,
        None => without_model(case, Some(truth)),
    }
}

/// Returns the lines of `after` that correspond, in a diff, to the lines of `before` in which
/// `region` is.
fn region_after(before: &str, after: &str, region: &str) -> Option<String> {
    let start = before.find(region)?;
    let line_of = |offset: usize| before[..offset].matches('\n').count();
    let first = line_of(start);
    let last = line_of(start + region.trim_end_matches('\n').len());
    let [before_lines, after_lines]: [Vec<&str>; 2] =
        [before, after].map(|text| text.split_inclusive('\n').collect());
    let algorithm = similar::Algorithm::Patience;
    let mut lines_after: Option<std::ops::Range<usize>> = None;
    for op in similar::capture_diff_slices(algorithm, &before_lines, &after_lines) {
        let (old, new) = (op.old_range(), op.new_range());
        let overlaps = old.start <= last && old.end > first;
        let inserts_inside = old.is_empty() && old.start > first && old.start <= last;
        if overlaps || inserts_inside {
            // Equal lines may reach beyond the region; changed ones belong to it as a whole.
            let is_equal = matches!(op, similar::DiffOp::Equal { .. });
            let lines_above = if is_equal { first.saturating_sub(old.start) } else { 0 };
            let lines_below = if is_equal { old.end.saturating_sub(last + 1) } else { 0 };
            let start = lines_after.map_or(new.start + lines_above, |lines| lines.start);
            lines_after = Some(start..new.end - lines_below);
        }
    }
    Some(after_lines.get(lines_after?)?.concat())
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
