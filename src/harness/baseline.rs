//! The baseline: the recorded verdict of each case, to which a new run is compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::judge::CaseVerdict;

/// The verdict of each case, by the case's id, in the words of [`CaseVerdict::as_str`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Baseline(BTreeMap<String, String>);

/// A case whose verdict differs from the recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The case's id.
    pub id: String,
    /// The recorded verdict; `None` for a new case.
    pub was: Option<String>,
    /// The verdict now; `None` for a case that has been removed.
    pub is: Option<String>,
}

impl Difference {
    /// Whether a good verdict was lost, or a case became silently wrong.
    pub(crate) fn is_regression(&self) -> bool {
        let is_good = |word: &Option<String>| matches!(word.as_deref(), Some("right" | "refused"));
        let is_wrong = |word: &Option<String>| word.as_deref() == Some("wrong");
        let lost_good = is_good(&self.was) && !is_good(&self.is);
        let became_wrong = !is_wrong(&self.was) && is_wrong(&self.is);
        lost_good || became_wrong
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word_or_dot = |word: &Option<String>| word.clone().unwrap_or_else(|| "·".into());
        write!(f, "{} → {}  {}", word_or_dot(&self.was), word_or_dot(&self.is), self.id)
    }
}

impl Baseline {
    /// Sets the verdict of a case.
    pub(crate) fn record(&mut self, id: &str, verdict: &CaseVerdict) {
        self.0.insert(id.to_owned(), verdict.as_str().to_owned());
    }

    /// Returns the cases in which the verdicts of a run differ from the recorded ones, regressions
    /// first. A
    /// case that is not in a run over the whole suite counts as removed.
    pub(crate) fn changes(&self, now: &Self, scope: Scope) -> Vec<Difference> {
        let removed = self
            .0
            .iter()
            .filter(|(id, _)| scope == Scope::Whole && !now.0.contains_key(*id))
            .map(|(id, was)| Difference { id: id.clone(), was: Some(was.clone()), is: None });
        let changed = now.0.iter().filter_map(|(id, is)| {
            let was = self.0.get(id);
            (was != Some(is)).then(|| Difference {
                id: id.clone(),
                was: was.cloned(),
                is: Some(is.clone()),
            })
        });
        let mut all: Vec<Difference> = removed.chain(changed).collect();
        all.sort_by(|a, b| b.is_regression().cmp(&a.is_regression()).then_with(|| a.id.cmp(&b.id)));
        all
    }

    /// Replaces the verdicts by those of a run; cases that a partial run did not cover keep
    /// theirs.
    pub(crate) fn update(&mut self, now: Self, scope: Scope) {
        if scope == Scope::Whole {
            self.0 = now.0;
        } else {
            self.0.extend(now.0);
        }
    }
}

/// How much of the suite a run covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every case of the suite.
    Whole,
    /// Only the cases that a filter selected.
    Part,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(of: &[(&str, &str)]) -> Baseline {
        Baseline(of.iter().map(|(id, word)| ((*id).to_owned(), (*word).to_owned())).collect())
    }

    #[test]
    fn losses_come_first_and_gains_are_no_losses() {
        let was = baseline(&[("a", "right"), ("b", "missed"), ("c", "refused"), ("d", "right")]);
        let now = baseline(&[
            ("a", "missed"),
            ("b", "right"),
            ("c", "refused"),
            ("e", "wrong"),
            ("f", "right"),
        ]);
        let changes = was.changes(&now, Scope::Whole);
        let losses: Vec<_> =
            changes.iter().filter(|c| c.is_regression()).map(|c| c.id.as_str()).collect();
        assert_eq!(losses, ["a", "d", "e"]);
        assert_eq!(changes.len(), 5);
        assert_eq!(was.changes(&now, Scope::Part).iter().filter(|c| c.is_regression()).count(), 2);
        assert!(was.changes(&was, Scope::Whole).is_empty());
    }
}
