//! The edits of a transcript: those that failed, with the result of the engine on the same call and
//! what the failure cost the agent, and those that landed, which the engine must apply alike.

use std::collections::BTreeSet;

use serde::Serialize;

use super::class::FailureClass;
use super::files::{Certainty, FileBefore, Provenance, files_before, next_change, next_edits};
use super::git::{FolderMap, committed_version};
use super::{Client, EditAttempt, FileAction, Replacement, Transcript};
use crate::apply::Applier;
use crate::edit::{EditCode, EditPlan, EditRequest, Expected, Refusal, Rung};
use crate::harness::judge::has_new_syntax_errors;
use crate::harness::replay::{FailedEdit, ReplayOutcome, Retry, has_same_intention, with_model};
use crate::patch::{Hunk, locate_hunks};
use crate::text::Snapshot;

/// One session with its edits, without the texts of those that landed.
#[derive(Debug, Clone)]
pub struct MinedSession {
    /// The agent.
    pub client: Client,
    /// The session's name.
    pub session: String,
    /// Every call of an edit tool.
    pub calls: Vec<EditCall>,
    /// The calls that failed.
    pub failures: Vec<Failure>,
    /// The number of lines and records that were not understood.
    pub skipped: usize,
}

/// A call of an edit tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditCall {
    /// The same for each copy of the call in several transcripts.
    pub key: u64,
    /// The model, if the transcript names it.
    pub model: Option<String>,
    /// The result of the engine, if the call landed and the file is known before and after.
    pub landed: Option<Landed>,
}

/// An edit that landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landed {
    /// Whether the file had its text as it was sent. Otherwise the agent's tool guessed what is meant,
    /// and what it wrote is no measure of what should be.
    pub as_sent: bool,
    /// The result of the engine.
    pub result: LandedResult,
}

/// The result of the engine on an edit that landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum LandedResult {
    /// The same file.
    Same,
    /// Another file.
    Otherwise,
    /// A refusal.
    Refused,
}

/// One failed edit.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The agent.
    pub client: Client,
    /// The session and the call; the same in every run.
    pub id: String,
    /// The call's key, as in [`EditCall`].
    pub key: u64,
    /// The file.
    pub path: String,
    /// Why the agent's tool did not make the edit.
    pub class: FailureClass,
    /// The replacements.
    pub edits: Vec<Replacement>,
    /// Whether the call was a patch, whose hunks are the replacements.
    pub is_patch: bool,
    /// The file before, if it is known.
    pub before: Option<FileBefore>,
    /// The result of the engine on the call; `None` if the file before is not known.
    pub outcome: Option<ReplayResult>,
    /// The file before with the agent's next edit that has the same intention applied.
    pub truth: Option<String>,
    /// How the call comes out if a model answers with the agent's next edit; only if the engine
    /// refuses a single replacement without one, and the truth is known.
    pub(crate) with_model: Option<ReplayOutcome>,
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
    Applied {
        /// The rung of the replacement that was not exact.
        rung: String,
        /// The file afterwards.
        after: String,
        /// Whether the file has a syntax error then that it did not have before; `None` for a
        /// language that is not parsed.
        adds_syntax_errors: Option<bool>,
    },
    /// The engine refuses the edit.
    Refused(Box<Refusal>),
}

/// Returns the edits of a transcript.
pub fn mine(transcript: &Transcript, map: &FolderMap) -> MinedSession {
    let mut files = files_before(transcript);
    let mut counted_turns = BTreeSet::new();
    let (mut calls, mut failures) = (Vec::new(), Vec::new());
    for (index, step) in transcript.steps.iter().enumerate() {
        let FileAction::Edited(attempt) = &step.action else { continue };
        let key = call_key(transcript, &step.path, attempt);
        let landed = files
            .landed
            .remove(&index)
            .map(|(before, after)| compare_landed(&step.path, &before, &after, attempt));
        calls.push(EditCall { key, model: step.model.clone(), landed });
        let Some(error) = &attempt.error else { continue };
        let class = match FailureClass::of(error) {
            _ if attempt.edits.is_empty() => FailureClass::Malformed,
            class => class,
        };
        let changed_at = next_change(transcript, index);
        let last_turn = changed_at.map_or(step.turn, |change| transcript.steps[change].turn);
        let turns: Vec<usize> =
            (step.turn + 1..=last_turn).filter(|turn| counted_turns.insert(*turn)).collect();
        let shown_lines = || {
            let text = attempt.shown.clone()?;
            let (source, certainty) = (Provenance::ErrorExcerpt, Certainty::Part);
            Some(FileBefore { text, source, certainty })
        };
        let before = files
            .failed
            .remove(&index)
            .or_else(|| committed_version(transcript, index, map))
            .or_else(shown_lines);
        let (old, new) = attempt.texts();
        let next = before.as_ref().and_then(|file| {
            next_edits(transcript, index).take(NEXT_EDITS).find_map(|next| {
                let (next_old, next_new) = next.texts();
                let says_the_same = has_same_intention((&old, &new), (&next_old, &next_new));
                let truth = says_the_same.then(|| next.apply(&file.text)).flatten()?;
                Some((truth, Retry { old_str: next_old, new_str: next_new }))
            })
        });
        let outcome = before
            .as_ref()
            .filter(|_| !attempt.edits.is_empty())
            .map(|file| replay(&step.path, &file.text, attempt));
        let (truth, retry) = next.unzip();
        let with_model = match (&before, &outcome, &attempt.edits[..]) {
            (Some(file), Some(ReplayResult::Refused(refusal)), [edit])
                if refusal.code != EditCode::AlreadyApplied
                    && attempt.hunks.is_empty()
                    && !edit.all =>
            {
                retry.zip(truth.as_deref()).map(|(retry, truth)| {
                    let (old_str, new_str) = (edit.old.clone(), edit.new.clone());
                    let (file, before) = (step.path.clone(), file.text.clone());
                    let retry = Some(retry);
                    let case =
                        FailedEdit { id: String::new(), file, before, old_str, new_str, retry };
                    with_model(&case, truth).outcome
                })
            }
            _ => None,
        };
        failures.push(Failure {
            client: transcript.client,
            id: format!("{}/{}", transcript.session, attempt.id),
            key,
            path: step.path.clone(),
            class,
            edits: attempt.edits.clone(),
            is_patch: !attempt.hunks.is_empty(),
            before,
            outcome,
            truth,
            with_model,
            model: step.model.clone(),
            changed_later: changed_at.is_some(),
            turns: turns.len(),
            tokens: turns.iter().filter_map(|turn| transcript.tokens.get(*turn)).sum(),
            tokens_estimated: turns.iter().any(|turn| transcript.estimated.contains(turn)),
        });
    }
    MinedSession {
        client: transcript.client,
        session: transcript.session.clone(),
        calls,
        failures,
        skipped: transcript.skipped,
    }
}

/// How many of the agent's next edits of the file may be the failed one, sent again.
const NEXT_EDITS: usize = 6;

/// Returns a number that is the same for each copy of a call: clients copy the start of a session
/// into the files of those that continue it.
fn call_key(transcript: &Transcript, path: &str, attempt: &EditAttempt) -> u64 {
    let name = path.rsplit('/').next().unwrap_or(path);
    // Only these give each call an id of its own, and copy it with the call.
    let has_own_id = matches!(transcript.client, Client::Claude | Client::Codex | Client::Pi);
    let session = if has_own_id { "" } else { transcript.session.as_str() };
    // aider numbers the sessions of each folder.
    let folder = match (&transcript.folder, transcript.client) {
        (Some(folder), Client::Aider) => folder.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let texts = attempt.edits.iter().flat_map(|edit| [edit.old.as_str(), edit.new.as_str()]);
    let parts = [transcript.client.as_str(), &folder, session, &attempt.id, name];
    let all: Vec<&str> = parts.into_iter().chain(texts).collect();
    xxhash_rust::xxh3::xxh3_64(all.join("\0").as_bytes())
}

/// Runs the engine on an edit that landed.
fn compare_landed(path: &str, before: &str, after: &str, attempt: &EditAttempt) -> Landed {
    let result = match run(path, before, attempt) {
        Ok((text, _)) if text == after => LandedResult::Same,
        Ok(_) => LandedResult::Otherwise,
        Err(_) => LandedResult::Refused,
    };
    let mut text = before.to_owned();
    let as_sent = attempt.edits.iter().all(|edit| {
        let is_there = text.contains(&edit.old);
        let count = if edit.all { usize::MAX } else { 1 };
        text = text.replacen(&edit.old, &edit.new, count);
        is_there
    });
    Landed { as_sent, result }
}

/// Runs the engine on a failed call.
fn replay(path: &str, file: &str, attempt: &EditAttempt) -> ReplayResult {
    match run(path, file, attempt) {
        Ok((after, rung)) => ReplayResult::Applied {
            adds_syntax_errors: has_new_syntax_errors(path, file, &after),
            rung,
            after,
        },
        Err(refusal) => ReplayResult::Refused(Box::new(refusal)),
    }
}

/// Runs the engine on a call: applies all replacements in order, or none. Returns the file
/// afterwards and the rung.
fn run(path: &str, file: &str, attempt: &EditAttempt) -> Result<(String, String), Refusal> {
    if !attempt.hunks.is_empty() {
        return apply_hunks(path, file, &attempt.hunks);
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut text = file.to_owned();
    let mut rung = String::new();
    for edit in &attempt.edits {
        // The file's name decides its language.
        let expected = if edit.all { Expected::All } else { Expected::default() };
        let request = EditRequest::new(edit.old.as_str(), edit.new.as_str()).expecting(expected);
        let applied = Applier::default().text(Some(name), &text, &[request])?;
        text = applied.text;
        // The rung of the replacement that was not exact says what the call needed.
        if rung.is_empty() || applied.rung != Rung::Exact {
            rung = applied.rung.to_string();
        }
    }
    Ok((text, rung))
}

/// Applies a patch as the tool for patches does.
fn apply_hunks(path: &str, file: &str, hunks: &[Hunk]) -> Result<(String, String), Refusal> {
    let snapshot = Snapshot::from_text(file.to_owned());
    let located = locate_hunks(path, &snapshot, hunks)?;
    let rung = located.explanation.rung.to_string();
    let plan = EditPlan::new(&snapshot, located.splices)?;
    Ok((plan.text_after(), rung))
}

impl Failure {
    /// Whether the engine applies an edit whose text the agent's tool did not find.
    pub fn is_recovered(&self) -> bool {
        self.class.is_text_missing() && matches!(self.outcome, Some(ReplayResult::Applied { .. }))
    }

    /// Compares the engine's result with the truth; `None` if the file before is not known.
    pub(crate) fn replay_outcome(&self) -> Option<ReplayOutcome> {
        Some(match self.outcome.as_ref()? {
            ReplayResult::Applied { after, .. } => {
                ReplayOutcome::compare(after, self.truth.as_deref())
            }
            ReplayResult::Refused(_) => ReplayOutcome::Refused,
        })
    }

    /// Returns the rung by which the engine applies the edit.
    pub fn rung(&self) -> Option<&str> {
        match &self.outcome {
            Some(ReplayResult::Applied { rung, .. }) => Some(rung),
            _ => None,
        }
    }

    /// Returns the code of the engine's refusal, if it refused.
    pub fn code(&self) -> Option<EditCode> {
        match &self.outcome {
            Some(ReplayResult::Refused(refusal)) => Some(refusal.code),
            _ => None,
        }
    }

    /// Whether the result of the engine has a new syntax error.
    pub fn adds_syntax_errors(&self) -> Option<bool> {
        match &self.outcome {
            Some(ReplayResult::Applied { adds_syntax_errors, .. }) => *adds_syntax_errors,
            _ => None,
        }
    }
}

impl EditAttempt {
    /// Returns the file after the edit, as a tool with exact matching makes it; `None` if such a
    /// tool refuses it.
    pub fn apply(&self, file: &str) -> Option<String> {
        if self.hunks.is_empty() {
            super::files::apply_exact(file, &self.edits)
        } else {
            super::codex::apply_hunks(file, &self.hunks)
        }
    }

    /// Returns the texts that the edit removes and those that it puts in their place.
    fn texts(&self) -> (String, String) {
        let join = |text: fn(&Replacement) -> &str| {
            self.edits.iter().map(text).collect::<Vec<_>>().join("\n")
        };
        (join(|edit| &edit.old), join(|edit| &edit.new))
    }
}
