//! The result of mining as counts and one record for each failure.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::Client;
use super::failures::{Failure, FailureRecord, MinedSession};
use crate::edit::EditCode;
use crate::harness::replay::ReplayOutcome;

/// The result of mining.
#[derive(Debug, Clone, Default)]
pub(crate) struct MineSummary {
    pub(crate) sessions: usize,
    pub(crate) sessions_with_edits: usize,
    /// The number of lines and records that were not understood.
    pub(crate) skipped: usize,
    /// Files that could not be read, or only in part, each with the reason.
    pub(crate) unread: Vec<(String, String)>,
    /// The edits of each agent and model.
    pub(crate) models: Vec<ModelCounts>,
    /// The failed edits.
    pub(crate) failures: Vec<FailureRecord>,
}

/// The edits of one agent and model. The counts from `right` on are of failed edits whose text the
/// agent's tool did not find.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ModelCounts {
    pub(crate) client: &'static str,
    pub(crate) model: String,
    pub(crate) edits: usize,
    pub(crate) failed: usize,
    /// The failed edits of each class.
    pub(crate) classes: BTreeMap<&'static str, usize>,
    pub(crate) text_missing: usize,
    pub(crate) right: usize,
    pub(crate) right_but_for_blanks: usize,
    pub(crate) other_bytes: usize,
    pub(crate) truth_unknown: usize,
    pub(crate) made_already: usize,
    pub(crate) refused: usize,
    /// The refused edits of one replacement whose truth is known, and what becomes of them if a
    /// model answers with the agent's next edit: the truth but for blanks, or something else.
    pub(crate) refused_with_truth: usize,
    pub(crate) right_with_model: usize,
    pub(crate) other_with_model: usize,
    pub(crate) no_file: usize,
    pub(crate) new_syntax_errors: usize,
    /// The edits that landed and whose file is known and had their text as it was sent, and those of
    /// them that restitch makes otherwise or refuses.
    pub(crate) landed: usize,
    pub(crate) landed_otherwise: usize,
    pub(crate) landed_refused: usize,
    /// The same for edits whose text the agent's tool found only by a guess of its own.
    pub(crate) guessed: usize,
    pub(crate) guessed_otherwise: usize,
    pub(crate) guessed_refused: usize,
}

impl ModelCounts {
    /// The edits that restitch applies and the agent's tool did not find.
    pub(crate) fn recovered(&self) -> usize {
        self.right + self.right_but_for_blanks + self.other_bytes + self.truth_unknown
    }
}

/// The cost of failed edits until the agent changed the file itself.
#[derive(Debug, Serialize)]
pub(crate) struct RecoveryCost {
    pub(crate) changed_later: usize,
    pub(crate) turns: usize,
    pub(crate) tokens: u64,
    pub(crate) tokens_estimated: bool,
}

/// Takes out the copies of calls: a client copies the start of a session into the file of one that
/// continues it, and each checkpoint has all of a session so far. The copy stays whose file is known
/// best.
pub(crate) fn without_copies(mut sessions: Vec<MinedSession>) -> Vec<MinedSession> {
    // An unknown file comes last.
    let rank = |failure: &Failure| (!failure.record.file_known, failure.record.certainty);
    let mut best = HashMap::new();
    for (index, session) in sessions.iter().enumerate() {
        for failure in &session.failures {
            let found = (rank(failure), index);
            let known = best.entry(failure.key).or_insert(found);
            *known = found.min(*known);
        }
    }
    let mut seen_calls = HashSet::new();
    let mut seen_failures = HashSet::new();
    for (index, session) in sessions.iter_mut().enumerate() {
        session.calls.retain(|call| seen_calls.insert(call.key));
        session.failures.retain(|failure| {
            best.get(&failure.key).is_some_and(|(_, copy)| *copy == index)
                && seen_failures.insert(failure.key)
        });
    }
    sessions
}

impl MineSummary {
    /// Counts the sessions and edits, and makes a record of each failure.
    pub(crate) fn new(sessions: &[MinedSession], unread: Vec<(String, String)>) -> Self {
        let mut summary = Self { unread, ..Self::default() };
        let mut models: BTreeMap<(Client, String), ModelCounts> = BTreeMap::new();
        let mut names = HashSet::new();
        for session in sessions {
            // A session may be in several files, but aider numbers those of each file.
            let is_new = names.insert((session.client, session.session.as_str()));
            summary.sessions += usize::from(is_new || session.client == Client::Aider);
            summary.sessions_with_edits += usize::from(!session.calls.is_empty());
            summary.skipped += session.skipped;
            for call in &session.calls {
                let row = row_of(&mut models, session.client, call.model.as_ref());
                row.edits += 1;
                let Some(landed) = call.landed else { continue };
                let (all, otherwise, refused) = match landed.as_sent {
                    true => (&mut row.landed, &mut row.landed_otherwise, &mut row.landed_refused),
                    false => {
                        (&mut row.guessed, &mut row.guessed_otherwise, &mut row.guessed_refused)
                    }
                };
                *all += 1;
                match landed.result {
                    ReplayOutcome::Right => {}
                    ReplayOutcome::Refused => *refused += 1,
                    _ => *otherwise += 1,
                }
            }
            for failure in &session.failures {
                let record = &failure.record;
                row_of(&mut models, session.client, record.model.as_ref()).count(record);
                summary.failures.push(record.clone());
            }
        }
        summary.models = models.into_values().collect();
        summary.unread.sort();
        summary.failures.sort();
        summary
    }

    /// Replaces what tells of a person's work by hashes and endings.
    pub(crate) fn without_texts(mut self) -> Self {
        let hash = |text: &str| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()));
        let ending = |path: &str| {
            let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
            // A long ending may be a name.
            name.rsplit_once('.')
                .map(|(_, end)| end)
                .filter(|end| end.len() <= 5)
                .map_or_else(String::new, |end| format!("*.{}", end.to_lowercase()))
        };
        for failure in &mut self.failures {
            failure.id = hash(&failure.id);
            failure.path = ending(&failure.path);
            failure.model = failure.model.as_deref().map(model_alone);
        }
        for row in &mut self.models {
            row.model = model_alone(&row.model);
        }
        for (path, why) in &mut self.unread {
            *path = hash(path);
            why.clear();
        }
        self.failures.sort();
        self
    }

    /// Adds up a count of all models.
    pub(crate) fn total(&self, count: impl Fn(&ModelCounts) -> usize) -> usize {
        self.models.iter().map(count).sum()
    }

    /// Returns the cost of these failed edits.
    pub(crate) fn cost(&self, of: impl Fn(&FailureRecord) -> bool) -> RecoveryCost {
        let failed: Vec<_> = self.failures.iter().filter(|failure| of(failure)).collect();
        RecoveryCost {
            changed_later: failed.iter().filter(|failure| failure.changed_later).count(),
            turns: failed.iter().map(|failure| failure.turns).sum(),
            tokens: failed.iter().map(|failure| failure.tokens).sum(),
            tokens_estimated: failed.iter().any(|failure| failure.tokens_estimated),
        }
    }
}

/// The name of a model without what is before a slash: that names the way to it, and may be somebody's
/// own word.
fn model_alone(name: &str) -> String {
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Returns the row of a client and a model, which the transcript may not name.
fn row_of<'a>(
    models: &'a mut BTreeMap<(Client, String), ModelCounts>,
    client: Client,
    model: Option<&String>,
) -> &'a mut ModelCounts {
    let name = model.map_or("not named", String::as_str).to_owned();
    let row = models.entry((client, name.clone())).or_default();
    (row.client, row.model) = (client.as_str(), name);
    row
}

impl ModelCounts {
    /// Counts a failed edit.
    fn count(&mut self, failure: &FailureRecord) {
        self.failed += 1;
        *self.classes.entry(failure.class.as_str()).or_default() += 1;
        if !failure.class.is_text_missing() {
            return;
        }
        self.text_missing += 1;
        if let Some(with_model) = failure.with_model {
            use ReplayOutcome::{OnlyWhitespace, Other, Right, Unknown};
            self.refused_with_truth += 1;
            self.right_with_model += usize::from(matches!(with_model, Right | OnlyWhitespace));
            self.other_with_model += usize::from(matches!(with_model, Other | Unknown));
        }
        self.new_syntax_errors += usize::from(failure.new_syntax_error == Some(true));
        let count = match failure.ending {
            Some(ReplayOutcome::Right) => &mut self.right,
            Some(ReplayOutcome::OnlyWhitespace) => &mut self.right_but_for_blanks,
            Some(ReplayOutcome::Other) => &mut self.other_bytes,
            Some(ReplayOutcome::Unknown) => &mut self.truth_unknown,
            Some(ReplayOutcome::Refused) if failure.code == Some(EditCode::AlreadyApplied) => {
                &mut self.made_already
            }
            Some(ReplayOutcome::Refused) => &mut self.refused,
            None => &mut self.no_file,
        };
        *count += 1;
    }
}
