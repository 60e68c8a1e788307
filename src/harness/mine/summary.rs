//! The result of mining as counts and one record for each failure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::failures::Failure;
use super::{Client, FileAction, Findings};
use crate::harness::replay::ReplayOutcome;

/// The result of mining.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MineSummary {
    /// The sessions and edits of each client.
    pub(crate) clients: BTreeMap<String, ClientCounts>,
    /// The number of edits of each model.
    pub(crate) models: BTreeMap<String, usize>,
    pub(crate) sessions_with_edits: usize,
    /// The number of lines and records that were not understood.
    pub(crate) skipped: usize,
    /// Files that could not be read, or only in part, each with the reason.
    pub(crate) unread: Vec<(String, String)>,
    /// The failed edits.
    pub(crate) failures: Vec<FailureRecord>,
    /// The number of further edits that a model recovers; `None` if no model was asked.
    pub(crate) by_model: Option<usize>,
}

/// The sessions and edits of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClientCounts {
    pub(crate) sessions: usize,
    pub(crate) edits: usize,
}

/// A failed edit without its texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct FailureRecord {
    pub(crate) client: String,
    pub(crate) id: String,
    pub(crate) path: String,
    /// The kind of error that the agent was shown.
    pub(crate) why: String,
    /// The rung that applies the edit, or the code of the refusal.
    pub(crate) cause: String,
    pub(crate) recovered: bool,
    /// The words of the [`ReplayOutcome`]; `None` if the file before is not known.
    pub(crate) ending: Option<String>,
    pub(crate) agrees_with_retry: Option<bool>,
    pub(crate) file_known: bool,
    /// The words of the [`super::files::Provenance`].
    pub(crate) file_from: Option<String>,
    pub(crate) model: Option<String>,
    /// Whether the agent itself changed that file later.
    pub(crate) changed_later: bool,
    pub(crate) turns: usize,
    pub(crate) tokens: u64,
    pub(crate) tokens_estimated: bool,
}

/// The edits of one model, and the results of those that failed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ModelCounts {
    pub(crate) model: String,
    pub(crate) edits: usize,
    pub(crate) failed: usize,
    pub(crate) right: usize,
    pub(crate) right_but_for_blanks: usize,
    pub(crate) other_bytes: usize,
    pub(crate) truth_unknown: usize,
    pub(crate) refused: usize,
    pub(crate) no_file: usize,
}

/// The cost of failed edits until the agent changed the file itself.
#[derive(Debug, Serialize)]
pub(crate) struct RecoveryCost {
    pub(crate) changed_later: usize,
    pub(crate) turns: usize,
    pub(crate) tokens: u64,
    pub(crate) tokens_estimated: bool,
}

impl MineSummary {
    /// Counts the sessions and edits, and makes a record of each failure.
    pub(crate) fn new(found: &Findings, failed: &[Failure], by_model: Option<usize>) -> Self {
        let mut clients: BTreeMap<String, ClientCounts> = BTreeMap::new();
        let mut models: BTreeMap<String, usize> = BTreeMap::new();
        let mut sessions_with_edits = 0;
        for transcript in &found.transcripts {
            let counts = clients.entry(transcript.client.as_str().to_owned()).or_default();
            let edits_before = counts.edits;
            counts.sessions += 1;
            for step in &transcript.steps {
                if matches!(step.action, FileAction::Edited(_)) {
                    counts.edits += 1;
                    *models.entry(model_name(step.model.as_ref()).to_owned()).or_default() += 1;
                }
            }
            sessions_with_edits += usize::from(counts.edits > edits_before);
        }
        let record = |failure: &Failure| FailureRecord {
            client: failure.client.as_str().into(),
            id: failure.id.clone(),
            path: failure.path.clone(),
            why: failure.error_kind.into(),
            cause: failure.cause(),
            recovered: failure.is_recovered(),
            ending: failure.replay_outcome().map(|outcome| outcome.label().into()),
            agrees_with_retry: failure.agrees_with_retry(),
            file_known: failure.before.is_some(),
            file_from: failure.before.as_ref().map(|(_, source)| source.as_str().into()),
            model: failure.model.clone(),
            changed_later: failure.changed_later,
            turns: failure.turns,
            tokens: failure.tokens,
            tokens_estimated: failure.tokens_estimated,
        };
        let unread =
            found.unread.iter().map(|(path, why)| (path.display().to_string(), why.clone()));
        Self {
            clients,
            models,
            sessions_with_edits,
            skipped: found.transcripts.iter().map(|transcript| transcript.skipped).sum(),
            unread: unread.collect(),
            failures: failed.iter().map(record).collect(),
            by_model,
        }
        .sorted()
    }

    fn sorted(mut self) -> Self {
        self.unread.sort();
        self.failures.sort();
        self
    }

    /// Returns the edits of each model, and the results of those that failed.
    pub(crate) fn models(&self) -> Vec<ModelCounts> {
        let mut rows: BTreeMap<&str, ModelCounts> = BTreeMap::new();
        for (model, edits) in &self.models {
            rows.entry(model).or_default().edits = *edits;
        }
        for failure in &self.failures {
            let row = rows.entry(model_name(failure.model.as_ref())).or_default();
            row.failed += 1;
            let ended = |outcome: ReplayOutcome| failure.ending.as_deref() == Some(outcome.label());
            let count = if ended(ReplayOutcome::Right) {
                &mut row.right
            } else if ended(ReplayOutcome::OnlyWhitespace) {
                &mut row.right_but_for_blanks
            } else if ended(ReplayOutcome::Other) {
                &mut row.other_bytes
            } else if ended(ReplayOutcome::Unknown) {
                &mut row.truth_unknown
            } else if ended(ReplayOutcome::Refused) {
                &mut row.refused
            } else {
                &mut row.no_file
            };
            *count += 1;
        }
        rows.into_iter().map(|(model, row)| ModelCounts { model: model.into(), ..row }).collect()
    }

    /// Returns the cost of all failed edits.
    pub(crate) fn cost(&self) -> RecoveryCost {
        let failed = &self.failures;
        RecoveryCost {
            changed_later: failed.iter().filter(|failure| failure.changed_later).count(),
            turns: failed.iter().map(|failure| failure.turns).sum(),
            tokens: failed.iter().map(|failure| failure.tokens).sum(),
            tokens_estimated: failed.iter().any(|failure| failure.tokens_estimated),
        }
    }

    /// Returns the counts of each client that has sessions, in the order of [`Client::ALL`].
    pub(crate) fn clients(&self) -> impl Iterator<Item = (&'static str, ClientCounts)> {
        Client::ALL
            .iter()
            .filter_map(|client| Some((client.as_str(), *self.clients.get(client.as_str())?)))
    }
}

/// Returns the words for a model in a table, also if the transcript does not name it.
fn model_name(model: Option<&String>) -> &str {
    model.map_or("not named", String::as_str)
}
