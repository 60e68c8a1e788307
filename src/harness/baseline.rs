//! The recorded verdict of each case, and what has changed since.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::judge::CaseVerdict;

/// Verdicts by case, as stable words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Baseline(BTreeMap<String, String>);

/// A verdict that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The case.
    pub id: String,
    /// What it was; `None` for a new case.
    pub was: Option<String>,
    /// What it is; `None` for a case that is gone.
    pub is: Option<String>,
}

impl Difference {
    /// Whether something good was lost, or something became silently wrong.
    pub(crate) fn is_regression(&self) -> bool {
        let good = |word: &Option<String>| matches!(word.as_deref(), Some("right" | "refused"));
        let wrong = |word: &Option<String>| word.as_deref() == Some("wrong");
        good(&self.was) && !good(&self.is) || wrong(&self.is) && !wrong(&self.was)
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "·".into());
        write!(f, "{} → {}  {}", word(&self.was), word(&self.is), self.id)
    }
}

impl Baseline {
    /// Remembers a verdict.
    pub(crate) fn record(&mut self, id: &str, verdict: &CaseVerdict) {
        self.0.insert(id.to_owned(), verdict.as_str().to_owned());
    }

    /// The verdicts in which `now` differs from this.
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

    /// Takes over the verdicts of a run.
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
    /// Some, by filter or shard.
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
