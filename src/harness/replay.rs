//! Replaying failed edits of agents: what becomes of each call without a model, and with
//! one that answers every question as the agent's own next call does.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::edit::{EditPlan, EditRequest, Refusal};
use crate::port::{Ask, Reply};
use crate::resolve::{Model, Policy, Resolution, Step};
use crate::text::{Snapshot, pluralize};

/// A call that an edit tool refused, as a line of JSON.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct FailedEdit {
    /// A name for the case.
    pub id: String,
    /// The file's name.
    pub file: String,
    /// The file when the call failed.
    pub before: String,
    /// What was sent.
    pub old_str: String,
    /// What was sent.
    pub new_str: String,
    /// What the agent sent next for that file and which landed.
    pub retry: Option<Retry>,
}

/// The next call of an agent.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Retry {
    /// Its text, which is in the file.
    pub old_str: String,
    /// What replaced it.
    pub new_str: String,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReplayOutcome {
    /// The bytes of the agent's next edit.
    Right,
    /// The same but for whitespace.
    OnlyWhitespace,
    /// Other bytes: a person has to look.
    Other,
    /// Applied, and the next call has another intention.
    Unknown,
    /// Nothing is written.
    Refused,
}

impl ReplayOutcome {
    const ALL: [Self; 5] =
        [Self::Right, Self::OnlyWhitespace, Self::Other, Self::Unknown, Self::Refused];

    /// How a result compares with what the agent itself arrived at.
    pub(crate) fn compare(after: &str, truth: Option<&str>) -> Self {
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

    /// The word for tables.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::OnlyWhitespace => "right but for blanks",
            Self::Other => "other bytes",
            Self::Unknown => "applied, truth unknown",
            Self::Refused => "refused",
        }
    }
}

/// One run of a case.
#[derive(Debug, Clone)]
pub(crate) struct ReplayRun {
    /// How it ended.
    pub outcome: ReplayOutcome,
    /// The file afterwards.
    pub after: Option<String>,
    /// The questions, in their order.
    pub asked: Vec<&'static str>,
    /// The refusal, or what became of the answers.
    pub why: String,
}

/// A case replayed.
#[derive(Debug, Clone)]
pub(crate) struct ReplayedEdit {
    /// The case.
    pub id: String,
    /// Without a model.
    pub without_model: ReplayRun,
    /// With a model, where that refuses and the intention of the next call is the same.
    pub with_model: Option<ReplayRun>,
}

/// The file after the agent's next call, where that has the same intention: its text occurs
/// once, it is about the same place, and most of what the failed call adds, or else takes
/// away, is in it.
pub(crate) fn file_after_retry(case: &FailedEdit) -> Option<String> {
    let retry = case.retry.as_ref()?;
    let once = case.before.matches(&retry.old_str).count() == 1;
    if !once || retry.old_str == retry.new_str || case.before.contains(&case.old_str) {
        return None;
    }
    let [old, new] = [&case.old_str, &case.new_str].map(|text| words(text));
    let [next_old, next_new] = [&retry.old_str, &retry.new_str].map(|text| words(text));
    let only = |a: &[&str], b: &[&str]| -> Vec<String> {
        a.iter().filter(|word| !b.contains(word)).map(|word| (*word).to_owned()).collect()
    };
    let (added, gone) = (only(&new, &old), only(&old, &new));
    let next_gone = only(&next_old, &next_new);
    let next_added = only(&next_new, &next_old);
    // Most of one is in the other.
    let overlaps = |some: &[String], all: &[String]| {
        some.iter().filter(|word| all.contains(word)).count() * 5 >= some.len() * 3
    };
    let all = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let change = match added.is_empty() {
        false => overlaps(&added, &all(&next_new)) && overlaps(&next_added, &all(&new)),
        true => overlaps(&gone, &next_gone),
    };
    let common = old.iter().filter(|word| next_old.contains(word)).count();
    let place = common * 2 >= old.len().min(next_old.len());
    (change && place).then(|| case.before.replacen(&retry.old_str, &retry.new_str, 1))
}

/// The different words of a text.
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Replays one case.
pub(crate) fn replay(case: &FailedEdit) -> ReplayedEdit {
    let truth = file_after_retry(case);
    let without_model = run(case, truth.as_deref(), Model::Absent, &mut |_| Reply::Declined);
    let with_model = truth
        .as_deref()
        .filter(|_| without_model.outcome == ReplayOutcome::Refused)
        .map(|truth| with_model(case, truth));
    ReplayedEdit { id: case.id.clone(), without_model, with_model }
}

/// The model knows the truth and answers every question by it. Of several outcomes it takes
/// the one that leads there.
fn with_model(case: &FailedEdit, truth: &str) -> ReplayRun {
    let mut choices = 1;
    let mut last = None;
    let mut choice = 1;
    while choice <= choices {
        let mut choose = |ask: &Ask| match ask {
            Ask::CorrectOld { .. } => {
                case.retry.as_ref().map_or(Reply::Declined, |retry| Reply::WithNew {
                    text: retry.old_str.clone(),
                    place: None,
                    new: retry.new_str.clone(),
                })
            }
            Ask::AdjustNew { corrected_old, .. } => {
                region_after(&case.before, truth, corrected_old)
                    .map_or(Reply::Declined, Reply::Text)
            }
            Ask::Choose { outcomes, .. } => {
                choices = outcomes.len();
                Reply::Window(choice)
            }
            Ask::RepairEscapes { new, .. } => Reply::Text(new.clone()),
        };
        let result = run(case, Some(truth), Model::Present(Policy::default()), &mut choose);
        if matches!(result.outcome, ReplayOutcome::Right | ReplayOutcome::OnlyWhitespace) {
            return result;
        }
        last = Some(result);
        choice += 1;
    }
    // None of the outcomes is meant, and a model that knows says so.
    match last {
        Some(last) if last.asked.contains(&"choose") && last.outcome != ReplayOutcome::Refused => {
            ReplayRun {
                outcome: ReplayOutcome::Refused,
                why: "no outcome is the truth".into(),
                ..last
            }
        }
        Some(last) => last,
        None => run(case, Some(truth), Model::Absent, &mut |_| Reply::Declined),
    }
}

/// What became of a region of a text, by whole lines.
fn region_after(before: &str, after: &str, region: &str) -> Option<String> {
    let start = before.find(region)?;
    let line = |at: usize| before[..at].matches('\n').count();
    let (first, last) = (line(start), line(start + region.trim_end_matches('\n').len()));
    let [a, b]: [Vec<&str>; 2] = [before, after].map(|text| text.split_inclusive('\n').collect());
    let mut out: Option<std::ops::Range<usize>> = None;
    for op in similar::capture_diff_slices(similar::Algorithm::Patience, &a, &b) {
        let (old, new) = (op.old_range(), op.new_range());
        let touches = old.start <= last && old.end > first
            || old.is_empty() && old.start > first && old.start <= last;
        if touches {
            let equal = matches!(op, similar::DiffOp::Equal { .. });
            let from = if equal { new.start + first.saturating_sub(old.start) } else { new.start };
            let to = if equal { new.end - (old.end.saturating_sub(last + 1)) } else { new.end };
            out = Some(out.map_or(from, |out| out.start)..to);
        }
    }
    Some(b.get(out?)?.concat())
}

fn run(
    case: &FailedEdit,
    truth: Option<&str>,
    model: Model,
    answer: &mut dyn FnMut(&Ask) -> Reply,
) -> ReplayRun {
    let snapshot = Snapshot::from_text(case.before.clone());
    let request = EditRequest::new(&case.old_str, &case.new_str).for_path(&case.file);
    let mut asked = Vec::new();
    let mut step = Resolution::start(&case.file, &request, &snapshot, model, &[]);
    loop {
        match step {
            Step::Ask(resolution) => {
                asked.push(resolution.ask().kind());
                let reply = answer(resolution.ask());
                (step, _) = resolution.reply(Ok(reply));
            }
            Step::Refused(refusal) => {
                let why = why(&refusal);
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

fn why(refusal: &Refusal) -> String {
    match refusal.attempts.iter().rfind(|attempt| attempt.outcome != "accepted") {
        Some(attempt) => format!("{} {}: {}", attempt.ask, attempt.outcome, attempt.detail),
        None => format!("not asked: {}", refusal.message),
    }
}

/// The table of a replay, and why the rest is refused.
pub(crate) fn table(runs: &[ReplayedEdit]) -> String {
    let mut out = String::new();
    let count = |runs: &[&ReplayRun]| {
        let words = ReplayOutcome::ALL.iter().filter_map(|outcome| {
            let count = runs.iter().filter(|run| run.outcome == *outcome).count();
            (count > 0).then(|| format!("{count} {}", outcome.label()))
        });
        words.collect::<Vec<_>>().join(", ")
    };
    let without_model: Vec<&ReplayRun> = runs.iter().map(|run| &run.without_model).collect();
    let model: Vec<&ReplayRun> = runs.iter().filter_map(|run| run.with_model.as_ref()).collect();
    let _ = writeln!(out, "{}", pluralize(runs.len(), "failed edit"));
    let _ = writeln!(out, "without a model: {}", count(&without_model));
    let _ =
        writeln!(out, "of those refused, with a model that knows the next edit: {}", count(&model));
    let recovered = |run: &&&ReplayRun| {
        matches!(run.outcome, ReplayOutcome::Right | ReplayOutcome::OnlyWhitespace)
    };
    let calls: usize = model.iter().filter(recovered).map(|run| run.asked.len()).sum();
    let edits = model.iter().filter(recovered).count();
    if edits > 0 {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let each = calls as f64 / edits as f64;
        let _ = writeln!(out, "questions for each edit that a model recovers: {each:.2}");
    }
    for run in runs {
        if let Some(model) =
            run.with_model.as_ref().filter(|run| run.outcome == ReplayOutcome::Refused)
        {
            let _ = writeln!(out, "  {} refused: {}", run.id, model.why);
        }
    }
    out
}
