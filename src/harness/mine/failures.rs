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
use crate::patch::{Hunk, apply_like_codex, locate_hunks};
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
    /// How the engine's result compares with the agent's.
    pub result: ReplayOutcome,
}

/// One failed edit.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What can be told of it without its texts.
    pub record: FailureRecord,
    /// The call's key, as in [`EditCall`].
    pub key: u64,
    /// The replacements.
    pub edits: Vec<Replacement>,
    /// The file before, if it is known.
    pub before: Option<FileBefore>,
    /// The file before with the agent's next edit that has the same intention applied.
    pub truth: Option<String>,
}

/// A failed edit without its texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FailureRecord {
    /// The agent.
    pub client: Client,
    /// The session and the call; the same in every run.
    pub id: String,
    /// The file.
    pub path: String,
    /// The model, if the transcript names it.
    pub model: Option<String>,
    /// Why the agent's tool did not make the edit.
    pub class: FailureClass,
    /// How the engine's result compares with the truth; `None` if the file before is not known.
    pub ending: Option<ReplayOutcome>,
    /// The rung by which the engine applies the edit.
    pub rung: Option<String>,
    /// The code of the engine's refusal.
    pub code: Option<EditCode>,
    /// Whether the engine applies an edit whose text the agent's tool did not find.
    pub recovered: bool,
    /// How the call comes out if a model answers with the agent's next edit; only if the engine
    /// refuses a single replacement without one, and the truth is known.
    pub with_model: Option<ReplayOutcome>,
    /// Whether the result has a syntax error that the file did not have; `None` for a language that
    /// is not parsed.
    pub new_syntax_error: Option<bool>,
    /// Whether the file before is known.
    pub file_known: bool,
    /// Its source.
    pub file_from: Option<Provenance>,
    /// How certain it is.
    pub certainty: Option<Certainty>,
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
        let (truth, retry) = next.unzip();
        let replayed = before
            .as_ref()
            .filter(|_| !attempt.edits.is_empty())
            .map(|file| (file, run(&step.path, &file.text, attempt)));
        let (mut ending, mut rung, mut code, mut new_syntax_error) = (None, None, None, None);
        match replayed {
            Some((file, Ok((after, by)))) => {
                ending = Some(ReplayOutcome::compare(&after, truth.as_deref()));
                rung = Some(by);
                new_syntax_error = has_new_syntax_errors(&step.path, &file.text, &after);
            }
            Some((_, Err(refusal))) => {
                ending = Some(ReplayOutcome::Refused);
                code = Some(refusal.code);
            }
            None => {}
        }
        let with_model = match (&before, &attempt.edits[..]) {
            (Some(file), [edit])
                if code.is_some_and(|code| code != EditCode::AlreadyApplied)
                    && attempt.hunks.is_empty()
                    && !edit.all =>
            {
                retry.zip(truth.as_deref()).map(|(retry, truth)| {
                    let case = FailedEdit {
                        id: String::new(),
                        file: step.path.clone(),
                        before: file.text.clone(),
                        old_str: edit.old.clone(),
                        new_str: edit.new.clone(),
                        retry: Some(retry),
                    };
                    with_model(&case, truth).outcome
                })
            }
            _ => None,
        };
        let record = FailureRecord {
            client: transcript.client,
            id: format!("{}/{}", transcript.session, attempt.id),
            path: step.path.clone(),
            model: step.model.clone(),
            class,
            ending,
            recovered: class.is_text_missing() && rung.is_some(),
            rung,
            code,
            with_model,
            new_syntax_error,
            file_known: before.is_some(),
            file_from: before.as_ref().map(|file| file.source),
            certainty: before.as_ref().map(|file| file.certainty),
            changed_later: changed_at.is_some(),
            turns: turns.len(),
            tokens: turns.iter().filter_map(|turn| transcript.tokens.get(*turn)).sum(),
            tokens_estimated: turns.iter().any(|turn| transcript.estimated.contains(turn)),
        };
        failures.push(Failure { record, key, edits: attempt.edits.clone(), before, truth });
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
    let result = run(path, before, attempt)
        .map_or(ReplayOutcome::Refused, |(text, _)| ReplayOutcome::compare(&text, Some(after)));
    let mut text = before.to_owned();
    let as_sent = attempt.edits.iter().all(|edit| {
        let is_there = text.contains(&edit.old);
        let count = if edit.all { usize::MAX } else { 1 };
        text = text.replacen(&edit.old, &edit.new, count);
        is_there
    });
    Landed { as_sent, result }
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

impl EditAttempt {
    /// Returns the file after the edit, as a tool with exact matching makes it; `None` if such a
    /// tool refuses it.
    pub fn apply(&self, file: &str) -> Option<String> {
        if self.hunks.is_empty() {
            super::files::apply_exact(file, &self.edits)
        } else {
            apply_like_codex(file, &self.hunks)
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
