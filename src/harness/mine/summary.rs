//! The result of mining as counts and one record for each failure.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::Client;
use super::class::FailureClass;
use super::failures::{Failure, LandedResult, MinedSession};
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

/// A failed edit without its texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct FailureRecord {
    pub(crate) client: &'static str,
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) model: Option<String>,
    /// Why the agent's tool did not make the edit.
    pub(crate) class: FailureClass,
    /// The words of the [`ReplayOutcome`]; `None` if the file before is not known.
    pub(crate) ending: Option<&'static str>,
    /// The rung that applies the edit.
    pub(crate) rung: Option<String>,
    /// The code of the refusal.
    pub(crate) code: Option<&'static str>,
    pub(crate) recovered: bool,
    /// The words of the [`ReplayOutcome`] with a model that answers with the agent's next edit.
    pub(crate) with_model: Option<&'static str>,
    pub(crate) new_syntax_error: Option<bool>,
    pub(crate) file_known: bool,
    /// The words of the [`super::files::Provenance`].
    pub(crate) file_from: Option<&'static str>,
    /// The words of the [`super::files::Certainty`].
    pub(crate) certainty: Option<&'static str>,
    /// Whether the agent itself changed that file later.
    pub(crate) changed_later: bool,
    pub(crate) turns: usize,
    pub(crate) tokens: u64,
    pub(crate) tokens_estimated: bool,
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

impl FailureRecord {
    fn new(failure: &Failure) -> Self {
        Self {
            client: failure.client.as_str(),
            id: failure.id.clone(),
            path: failure.path.clone(),
            model: failure.model.clone(),
            class: failure.class,
            ending: failure.replay_outcome().map(ReplayOutcome::as_str),
            rung: failure.rung().map(str::to_owned),
            code: failure.code().map(EditCode::as_str),
            recovered: failure.is_recovered(),
            with_model: failure.with_model.map(ReplayOutcome::as_str),
            new_syntax_error: failure.adds_syntax_errors(),
            file_known: failure.before.is_some(),
            file_from: failure.before.as_ref().map(|file| file.source.as_str()),
            certainty: failure.before.as_ref().map(|file| file.certainty.as_str()),
            changed_later: failure.changed_later,
            turns: failure.turns,
            tokens: failure.tokens,
            tokens_estimated: failure.tokens_estimated,
        }
    }

    /// Returns the rung that applies the edit, or else the code of the refusal.
    pub(crate) fn cause(&self) -> &str {
        self.rung.as_deref().or(self.code).unwrap_or("file unknown")
    }
}

/// Takes out the copies of calls: a client copies the start of a session into the file of one that
/// continues it, and each checkpoint has all of a session so far. The copy stays whose file is known
/// best.
pub(crate) fn without_copies(mut sessions: Vec<MinedSession>) -> Vec<MinedSession> {
    let certainty = |failure: &Failure| failure.before.as_ref().map(|file| file.certainty);
    let mut best: HashMap<u64, (usize, Option<super::files::Certainty>)> = HashMap::new();
    for (index, session) in sessions.iter().enumerate() {
        for failure in &session.failures {
            let found = certainty(failure);
            let is_better = match best.get(&failure.key) {
                None => true,
                Some((_, known)) => match (found, known) {
                    (Some(found), Some(known)) => found < *known,
                    (found, known) => found.is_some() && known.is_none(),
                },
            };
            if is_better {
                best.insert(failure.key, (index, found));
            }
        }
    }
    let mut seen_calls = HashSet::new();
    let mut seen_failures = HashSet::new();
    for (index, session) in sessions.iter_mut().enumerate() {
        session.calls.retain(|call| seen_calls.insert(call.key));
        session.failures.retain(|failure| {
            best.get(&failure.key).is_some_and(|(copy, _)| *copy == index)
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
                *otherwise += usize::from(landed.result == LandedResult::Otherwise);
                *refused += usize::from(landed.result == LandedResult::Refused);
            }
            for failure in &session.failures {
                row_of(&mut models, session.client, failure.model.as_ref()).count(failure);
                summary.failures.push(FailureRecord::new(failure));
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
    fn count(&mut self, failure: &Failure) {
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
        self.new_syntax_errors += usize::from(failure.adds_syntax_errors() == Some(true));
        let count = match failure.replay_outcome() {
            Some(ReplayOutcome::Right) => &mut self.right,
            Some(ReplayOutcome::OnlyWhitespace) => &mut self.right_but_for_blanks,
            Some(ReplayOutcome::Other) => &mut self.other_bytes,
            Some(ReplayOutcome::Unknown) => &mut self.truth_unknown,
            Some(ReplayOutcome::Refused) if failure.code() == Some(EditCode::AlreadyApplied) => {
                &mut self.made_already
            }
            Some(ReplayOutcome::Refused) => &mut self.refused,
            None => &mut self.no_file,
        };
        *count += 1;
    }
}
