//! What mining tells, as counts and one record for each failure, so that parts can be put
//! together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::failures::Failure;
use super::{Client, FileAction, Findings};
use crate::harness::replay::ReplayOutcome;
use crate::text::ContentHash;

/// What was mined: parts of the same run have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MineRun {
    /// The program's version.
    pub(crate) restitch: String,
    /// The digest of the transcripts' names and sizes.
    pub(crate) material: ContentHash,
    /// Whether a model was asked.
    pub(crate) asks_model: bool,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MineSummary {
    /// Sessions and edits of each client.
    pub(crate) clients: BTreeMap<String, ClientCounts>,
    /// Edits of each model.
    pub(crate) models: BTreeMap<String, usize>,
    pub(crate) sessions_with_edits: usize,
    /// Lines and records that were not understood.
    pub(crate) skipped: usize,
    /// Files that could not be read, or not to their end, and why.
    pub(crate) unread: Vec<(String, String)>,
    /// The failed edits.
    pub(crate) failures: Vec<FailureRecord>,
    /// How many more the model recovers; `None` when it was not asked.
    pub(crate) by_model: Option<usize>,
}

/// What one client did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClientCounts {
    pub(crate) sessions: usize,
    pub(crate) edits: usize,
}

/// What is told of a failed edit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct FailureRecord {
    pub(crate) client: String,
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) why: String,
    pub(crate) cause: String,
    pub(crate) recovered: bool,
    /// In the words of [`ReplayOutcome`]; `None` without the file.
    pub(crate) ending: Option<String>,
    pub(crate) agrees_with_retry: Option<bool>,
    pub(crate) file_known: bool,
    /// In the words of [`super::files::Provenance`].
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

/// What failed edits took until the agent changed the file itself.
#[derive(Debug, Serialize)]
pub(crate) struct RecoveryCost {
    pub(crate) changed_later: usize,
    pub(crate) turns: usize,
    pub(crate) tokens: u64,
    pub(crate) tokens_estimated: bool,
}

impl MineSummary {
    pub(crate) fn new(found: &Findings, failed: &[Failure], by_model: Option<usize>) -> Self {
        let mut clients: BTreeMap<String, ClientCounts> = BTreeMap::new();
        let mut models: BTreeMap<String, usize> = BTreeMap::new();
        let mut sessions_with_edits = 0;
        for transcript in &found.transcripts {
            let counts = clients.entry(transcript.client.as_str().to_owned()).or_default();
            let before = counts.edits;
            counts.sessions += 1;
            for step in
                transcript.steps.iter().filter(|s| matches!(s.action, FileAction::Edited(_)))
            {
                counts.edits += 1;
                *models.entry(model_name(step.model.as_ref()).to_owned()).or_default() += 1;
            }
            sessions_with_edits += usize::from(counts.edits > before);
        }
        let record = |f: &Failure| FailureRecord {
            client: f.client.as_str().into(),
            id: f.id.clone(),
            path: f.path.clone(),
            why: f.error_kind.into(),
            cause: f.cause(),
            recovered: f.is_recovered(),
            ending: f.replay_outcome().map(|outcome| outcome.label().into()),
            agrees_with_retry: f.agrees_with_retry(),
            file_known: f.before.is_some(),
            file_from: f.before.as_ref().map(|(_, known)| known.as_str().into()),
            model: f.model.clone(),
            changed_later: f.changed_later,
            turns: f.turns,
            tokens: f.tokens,
            tokens_estimated: f.tokens_estimated,
        };
        let unread =
            found.unread.iter().map(|(path, why)| (path.display().to_string(), why.clone()));
        Self {
            clients,
            models,
            sessions_with_edits,
            skipped: found.transcripts.iter().map(|t| t.skipped).sum(),
            unread: unread.collect(),
            failures: failed.iter().map(record).collect(),
            by_model,
        }
        .sorted()
    }

    /// Of all parts together. A part and a whole are told in the same order.
    pub(crate) fn merge(parts: Vec<Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            for (client, own) in part.clients {
                let known = all.clients.entry(client).or_default();
                known.sessions += own.sessions;
                known.edits += own.edits;
            }
            for (model, edits) in part.models {
                *all.models.entry(model).or_default() += edits;
            }
            all.sessions_with_edits += part.sessions_with_edits;
            all.skipped += part.skipped;
            all.unread.extend(part.unread);
            all.failures.extend(part.failures);
            if let Some(more) = part.by_model {
                *all.by_model.get_or_insert(0) += more;
            }
        }
        all.sorted()
    }

    fn sorted(mut self) -> Self {
        self.unread.sort();
        self.failures.sort();
        self
    }

    /// By model: the edits, and the results of those that failed.
    pub(crate) fn models(&self) -> Vec<ModelCounts> {
        let mut rows: BTreeMap<&str, ModelCounts> = BTreeMap::new();
        for (model, edits) in &self.models {
            rows.entry(model).or_default().edits = *edits;
        }
        for failure in &self.failures {
            let row = rows.entry(model_name(failure.model.as_ref())).or_default();
            row.failed += 1;
            let is = |outcome: ReplayOutcome| failure.ending.as_deref() == Some(outcome.label());
            *match () {
                () if is(ReplayOutcome::Right) => &mut row.right,
                () if is(ReplayOutcome::OnlyWhitespace) => &mut row.right_but_for_blanks,
                () if is(ReplayOutcome::Other) => &mut row.other_bytes,
                () if is(ReplayOutcome::Unknown) => &mut row.truth_unknown,
                () if is(ReplayOutcome::Refused) => &mut row.refused,
                () => &mut row.no_file,
            } += 1;
        }
        let named = rows.into_iter().map(|(model, row)| ModelCounts { model: model.into(), ..row });
        named.collect()
    }

    pub(crate) fn cost(&self) -> RecoveryCost {
        let failed = &self.failures;
        RecoveryCost {
            changed_later: failed.iter().filter(|f| f.changed_later).count(),
            turns: failed.iter().map(|f| f.turns).sum(),
            tokens: failed.iter().map(|f| f.tokens).sum(),
            tokens_estimated: failed.iter().any(|f| f.tokens_estimated),
        }
    }

    /// The clients that have sessions, in the order in which they are shown.
    pub(crate) fn clients(&self) -> impl Iterator<Item = (&'static str, ClientCounts)> {
        let named =
            |client: &Client| self.clients.get(client.as_str()).map(|own| (client.as_str(), *own));
        Client::ALL.iter().filter_map(named)
    }
}

fn model_name(model: Option<&String>) -> &str {
    model.map_or("not named", String::as_str)
}
