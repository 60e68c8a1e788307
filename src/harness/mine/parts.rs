//! What mining tells, as counts and one record for each failure, so that parts can be put
//! together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::failures::Failure;
use super::{Client, Deed, Findings};
use crate::text::ContentHash;

/// What was mined: parts of the same run have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The program's version.
    pub(crate) restitch: String,
    /// The digest of the transcripts' names and sizes.
    pub(crate) material: ContentHash,
    /// Whether a model was asked.
    pub(crate) asks_model: bool,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mined {
    /// Sessions and edits of each client.
    pub(crate) clients: BTreeMap<String, Edits>,
    /// Lines and records that were not understood.
    pub(crate) skipped: usize,
    /// Files that could not be read, or not to their end, and why.
    pub(crate) unread: Vec<(String, String)>,
    /// The failed edits.
    pub(crate) failures: Vec<Record>,
    /// How many more the model recovers; `None` when it was not asked.
    pub(crate) by_model: Option<usize>,
}

/// What one client did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Edits {
    pub(crate) sessions: usize,
    pub(crate) edits: usize,
}

/// What is told of a failed edit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) client: String,
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) why: String,
    pub(crate) cause: String,
    pub(crate) recovered: bool,
    pub(crate) agrees_with_retry: Option<bool>,
    pub(crate) file_known: bool,
    /// In the words of [`super::files::Known`].
    pub(crate) file_from: Option<String>,
    pub(crate) turns: usize,
    pub(crate) tokens: u64,
}

impl Mined {
    pub(crate) fn of(found: &Findings, failed: &[Failure], by_model: Option<usize>) -> Self {
        let mut clients: BTreeMap<String, Edits> = BTreeMap::new();
        for transcript in &found.transcripts {
            let own = clients.entry(transcript.client.as_str().to_owned()).or_default();
            own.sessions += 1;
            let is_edit = |deed: &Deed| matches!(deed, Deed::Edited(_));
            own.edits += transcript.steps.iter().filter(|step| is_edit(&step.deed)).count();
        }
        let record = |f: &Failure| Record {
            client: f.client.as_str().into(),
            id: f.id.clone(),
            path: f.path.clone(),
            why: f.why.into(),
            cause: f.cause(),
            recovered: f.is_recovered(),
            agrees_with_retry: f.agrees(),
            file_known: f.before.is_some(),
            file_from: f.before.as_ref().map(|(_, known)| known.as_str().into()),
            turns: f.turns,
            tokens: f.tokens,
        };
        let unread =
            found.unread.iter().map(|(path, why)| (path.display().to_string(), why.clone()));
        Self {
            clients,
            skipped: found.transcripts.iter().map(|t| t.skipped).sum(),
            unread: unread.collect(),
            failures: failed.iter().map(record).collect(),
            by_model,
        }
        .sorted()
    }

    /// Of all parts together. A part and a whole are told in the same order.
    pub(crate) fn merged(parts: Vec<Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            for (client, own) in part.clients {
                let known = all.clients.entry(client).or_default();
                known.sessions += own.sessions;
                known.edits += own.edits;
            }
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

    /// The clients that have sessions, in the order in which they are shown.
    pub(crate) fn clients(&self) -> impl Iterator<Item = (&'static str, Edits)> {
        let own =
            |client: &Client| self.clients.get(client.as_str()).map(|own| (client.as_str(), *own));
        Client::ALL.iter().filter_map(own)
    }
}
