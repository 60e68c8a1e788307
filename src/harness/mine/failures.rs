//! The failed edits of transcripts: why they failed, what the engine makes of them, and
//! what they had cost.

use std::collections::BTreeSet;

use super::files::{Provenance, apply_exact, files_before_failures, find_retry};
use super::{Client, FileAction, Replacement, Transcript, git};
use crate::apply::apply_text;
use crate::edit::{EditCode, EditRequest, Expected, Refusal};
use crate::harness::replay::{self, ReplayOutcome};

/// One failed edit.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Whose.
    pub client: Client,
    /// Session and call: the same in every run.
    pub id: String,
    /// The file.
    pub path: String,
    /// The kind of error that the agent was shown.
    pub error_kind: &'static str,
    /// The replacements.
    pub edits: Vec<Replacement>,
    /// The file before, when the transcript lets us know.
    pub before: Option<(String, Provenance)>,
    /// What the engine makes of it; `None` without the file.
    pub outcome: Option<ReplayResult>,
    /// What the agent's own next success on that file made of the same version.
    pub retry: Option<String>,
    /// By which model, where the transcript says so.
    pub model: Option<String>,
    /// Whether the agent itself changed that file later.
    pub changed_later: bool,
    /// Turns after it until the agent changed that file. A turn that several failures share is
    /// one turn of the first.
    pub turns: usize,
    /// Output tokens of these turns.
    pub tokens: u64,
    /// Whether some of these tokens are worked out from the length of what was written.
    pub tokens_estimated: bool,
}

/// What the engine makes of a failed edit.
#[derive(Debug, Clone)]
pub enum ReplayResult {
    /// It applies.
    Recovered {
        /// The rung of the last replacement.
        rung: String,
        /// The file afterwards.
        after: String,
    },
    /// It refuses.
    Refused(Box<Refusal>),
}

/// The kinds of error messages, by words that clients use.
const ERROR_KINDS: &[(&str, &[&str])] = &[
    (
        "several matches",
        &["multiple", "matches of the string", "expected 1 occurrence but found", "more than once"],
    ),
    ("nothing to change", &["exactly the same", "no changes", "identical"]),
    ("not read before", &["not been read", "read it first"]),
    ("changed since read", &["modified since", "has been modified", "changed since"]),
    ("no such file", &["not found: ", "no such file", "does not exist", "file not found"]),
    (
        "not found",
        &[
            "not found",
            "0 occurrences",
            "did not appear",
            "could not find",
            "failed to find",
            "verification failed",
            "no match",
            "invalid context",
        ],
    ),
];

fn error_kind(error: &str) -> &'static str {
    let error = error.to_lowercase();
    let text_missing =
        error.contains("string to replace not found") || error.contains("oldstring not found");
    if text_missing {
        return "not found";
    }
    ERROR_KINDS
        .iter()
        .find(|(_, words)| words.iter().any(|word| error.contains(word)))
        .map_or("other", |(kind, _)| kind)
}

/// Every failed edit of a transcript.
pub fn failures(transcript: &Transcript) -> Vec<Failure> {
    let known = files_before_failures(transcript);
    let mut charged = BTreeSet::new();
    transcript
        .steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| {
            let FileAction::Edited(attempt) = &step.action else { return None };
            let error = attempt.error.as_ref()?;
            let retry = find_retry(transcript, at);
            let end = retry.map_or(step.turn, |(at, _)| transcript.steps[at].turn);
            let turns: Vec<usize> =
                (step.turn + 1..=end).filter(|turn| charged.insert(*turn)).collect();
            let shown = || Some((attempt.shown.clone()?, Provenance::ErrorExcerpt));
            let before = known.get(&at).cloned();
            let before = before.or_else(|| git::committed_version(transcript, at)).or_else(shown);
            let after_retry = retry.and_then(|(_, retry)| {
                let (retry, before) = (retry?, &before.as_ref()?.0);
                // Comparable only when the retry started from the same version.
                let same = retry.before.as_ref().is_none_or(|recorded| recorded == before);
                let result = || match (&attempt.edits[..], &retry.edits[..]) {
                    ([edit], [next]) if !edit.all && !next.all => {
                        file_after_retry(before, edit, next)
                    }
                    _ => apply_exact(before, &retry.edits),
                };
                same.then(result).flatten()
            });
            let outcome = before
                .as_ref()
                .filter(|_| !attempt.edits.is_empty())
                .map(|(file, _)| replay(&step.path, file, &attempt.edits));
            Some(Failure {
                client: transcript.client,
                id: format!("{}/{}", transcript.session, attempt.id),
                path: step.path.clone(),
                error_kind: error_kind(error),
                edits: attempt.edits.clone(),
                before,
                outcome,
                retry: after_retry,
                model: step.model.clone(),
                changed_later: retry.is_some(),
                turns: turns.len(),
                tokens: turns.iter().filter_map(|turn| transcript.tokens.get(*turn)).sum(),
                tokens_estimated: turns.iter().any(|turn| transcript.estimated.contains(turn)),
            })
        })
        .collect()
}

/// The file after the agent's next edit, if that has the same intention.
fn file_after_retry(before: &str, edit: &Replacement, next: &Replacement) -> Option<String> {
    replay::file_after_retry(&replay::FailedEdit {
        id: String::new(),
        file: String::new(),
        before: before.to_owned(),
        old_str: edit.old.clone(),
        new_str: edit.new.clone(),
        retry: Some(replay::Retry { old_str: next.old.clone(), new_str: next.new.clone() }),
    })
}

/// The engine on the failed call: all replacements, in order, or none.
pub fn replay(path: &str, file: &str, edits: &[Replacement]) -> ReplayResult {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut text = file.to_owned();
    let mut rung = String::new();
    for edit in edits {
        match apply_one(name, &text, edit) {
            Ok((after, by)) => (text, rung) = (after, by),
            Err(refusal) => return ReplayResult::Refused(Box::new(refusal)),
        }
    }
    ReplayResult::Recovered { rung, after: text }
}

/// One replacement, as the edit tool decides it: with the language that the name tells.
fn apply_one(name: &str, file: &str, edit: &Replacement) -> Result<(String, String), Refusal> {
    let expected = if edit.all { Expected::All } else { Expected::default() };
    let request = EditRequest::new(edit.old.as_str(), edit.new.as_str()).expecting(expected);
    let applied = apply_text(Some(name), file, &[request])?;
    Ok((applied.text, applied.rung.to_string()))
}

impl Failure {
    /// Whether the engine applies it.
    pub fn is_recovered(&self) -> bool {
        matches!(self.outcome, Some(ReplayResult::Recovered { .. }))
    }

    /// Whether the engine's result is what the agent itself arrived at; `None` when
    /// there is nothing to compare.
    pub fn agrees_with_retry(&self) -> Option<bool> {
        match (&self.outcome, &self.retry) {
            (Some(ReplayResult::Recovered { after, .. }), Some(own)) => Some(after == own),
            _ => None,
        }
    }

    /// How what the engine makes of it compares with the agent's own next edit; `None` without
    /// the file.
    pub(crate) fn replay_outcome(&self) -> Option<ReplayOutcome> {
        Some(match self.outcome.as_ref()? {
            ReplayResult::Recovered { after, .. } => {
                ReplayOutcome::compare(after, self.retry.as_deref())
            }
            ReplayResult::Refused(_) => ReplayOutcome::Refused,
        })
    }

    /// The cause as the engine sees it: the rung that explained it, or the code.
    pub fn cause(&self) -> String {
        match &self.outcome {
            None => "file unknown".into(),
            Some(ReplayResult::Recovered { rung, .. }) => rung.clone(),
            Some(ReplayResult::Refused(refusal)) => refusal.code.as_str().to_owned(),
        }
    }

    /// The code of the refusal.
    pub fn code(&self) -> Option<EditCode> {
        match &self.outcome {
            Some(ReplayResult::Refused(refusal)) => Some(refusal.code),
            _ => None,
        }
    }
}
