//! The failed edits of transcripts: the kind of error, the result of the engine on the same call,
//! and the turns and tokens that the failure cost the agent.

use std::collections::BTreeSet;

use super::files::{Provenance, apply_exact, files_before_failures, find_retry};
use super::{Client, FileAction, Replacement, Transcript, git};
use crate::apply::apply_text;
use crate::edit::{EditCode, EditRequest, Expected, Refusal};
use crate::harness::replay::{self, ReplayOutcome};

/// One failed edit.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The agent.
    pub client: Client,
    /// The session and the call; the same in every run.
    pub id: String,
    /// The file.
    pub path: String,
    /// The kind of error that the agent was shown.
    pub error_kind: &'static str,
    /// The replacements.
    pub edits: Vec<Replacement>,
    /// The file before, if it is known, and how it is known.
    pub before: Option<(String, Provenance)>,
    /// The result of the engine on the call; `None` if the file before is not known.
    pub outcome: Option<ReplayResult>,
    /// The file before with the agent's next successful edit applied, if that edit has the same
    /// intention.
    pub retry: Option<String>,
    /// The model, if the transcript names it.
    pub model: Option<String>,
    /// Whether the agent itself changed that file later.
    pub changed_later: bool,
    /// The number of turns until the agent changed that file. A turn that follows several failures
    /// counts for the first of them only.
    pub turns: usize,
    /// The output tokens of these turns.
    pub tokens: u64,
    /// Whether some of these tokens are estimated from the length of the model's text.
    pub tokens_estimated: bool,
}

/// The result of the engine on a failed edit.
#[derive(Debug, Clone)]
pub enum ReplayResult {
    /// The engine applies the edit.
    Recovered {
        /// The rung of the last replacement.
        rung: String,
        /// The file afterwards.
        after: String,
    },
    /// The engine refuses the edit.
    Refused(Box<Refusal>),
}

/// The kinds of errors, each with the words of clients' messages that show it. The first match
/// counts.
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

/// Returns the kind of an error message of a client.
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

/// Returns every failed edit of a transcript.
pub fn failures(transcript: &Transcript) -> Vec<Failure> {
    let files_before = files_before_failures(transcript);
    let mut counted_turns = BTreeSet::new();
    transcript
        .steps
        .iter()
        .enumerate()
        .filter_map(|(index, step)| {
            let FileAction::Edited(attempt) = &step.action else { return None };
            let error = attempt.error.as_ref()?;
            let next_change = find_retry(transcript, index);
            let last_turn = next_change
                .map_or(step.turn, |(change_index, _)| transcript.steps[change_index].turn);
            let turns: Vec<usize> =
                (step.turn + 1..=last_turn).filter(|turn| counted_turns.insert(*turn)).collect();
            let shown_lines = || Some((attempt.shown.clone()?, Provenance::ErrorExcerpt));
            let before = files_before
                .get(&index)
                .cloned()
                .or_else(|| git::committed_version(transcript, index))
                .or_else(shown_lines);
            let after_retry = next_change.and_then(|(_, retry)| {
                let (retry, before) = (retry?, &before.as_ref()?.0);
                // The results can be compared only if the retry started from the same version.
                if retry.before.as_ref().is_some_and(|recorded| recorded != before) {
                    return None;
                }
                match (&attempt.edits[..], &retry.edits[..]) {
                    ([edit], [next]) if !edit.all && !next.all => {
                        file_after_retry(before, edit, next)
                    }
                    _ => apply_exact(before, &retry.edits),
                }
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
                changed_later: next_change.is_some(),
                turns: turns.len(),
                tokens: turns.iter().filter_map(|turn| transcript.tokens.get(*turn)).sum(),
                tokens_estimated: turns.iter().any(|turn| transcript.estimated.contains(turn)),
            })
        })
        .collect()
}

/// Returns the file after the agent's next edit, if that has the same intention as the failed one.
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

/// Runs the engine on the failed call: applies all replacements in order, or none.
pub fn replay(path: &str, file: &str, edits: &[Replacement]) -> ReplayResult {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut text = file.to_owned();
    let mut rung = String::new();
    for edit in edits {
        match apply_one(name, &text, edit) {
            Ok((after, applied_by)) => (text, rung) = (after, applied_by),
            Err(refusal) => return ReplayResult::Refused(Box::new(refusal)),
        }
    }
    ReplayResult::Recovered { rung, after: text }
}

/// Applies one replacement as the edit tool does, and returns the file afterwards and the rung. The
/// file's name decides its language.
fn apply_one(name: &str, file: &str, edit: &Replacement) -> Result<(String, String), Refusal> {
    let expected = if edit.all { Expected::All } else { Expected::default() };
    let request = EditRequest::new(edit.old.as_str(), edit.new.as_str()).expecting(expected);
    let applied = apply_text(Some(name), file, &[request])?;
    Ok((applied.text, applied.rung.to_string()))
}

impl Failure {
    /// Whether the engine applies the edit.
    pub fn is_recovered(&self) -> bool {
        matches!(self.outcome, Some(ReplayResult::Recovered { .. }))
    }

    /// Whether the engine's result is the same as that of the agent's next edit; `None` if one of
    /// the two is missing.
    pub fn agrees_with_retry(&self) -> Option<bool> {
        match (&self.outcome, &self.retry) {
            (Some(ReplayResult::Recovered { after, .. }), Some(retry)) => Some(after == retry),
            _ => None,
        }
    }

    /// Compares the engine's result with that of the agent's next edit; `None` if the file before
    /// is not known.
    pub(crate) fn replay_outcome(&self) -> Option<ReplayOutcome> {
        Some(match self.outcome.as_ref()? {
            ReplayResult::Recovered { after, .. } => {
                ReplayOutcome::compare(after, self.retry.as_deref())
            }
            ReplayResult::Refused(_) => ReplayOutcome::Refused,
        })
    }

    /// Returns the cause of the failure as the engine sees it: the rung that applied the edit, or
    /// the code of the refusal.
    pub fn cause(&self) -> String {
        match &self.outcome {
            None => "file unknown".into(),
            Some(ReplayResult::Recovered { rung, .. }) => rung.clone(),
            Some(ReplayResult::Refused(refusal)) => refusal.code.as_str().to_owned(),
        }
    }

    /// Returns the code of the engine's refusal, if it refused.
    pub fn code(&self) -> Option<EditCode> {
        match &self.outcome {
            Some(ReplayResult::Refused(refusal)) => Some(refusal.code),
            _ => None,
        }
    }
}
