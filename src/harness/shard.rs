//! Shards: a run can be split into parts for several machines. Each part takes every Nth case, and
//! all parts together have the same counts as one run.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{compare, measure, mine};

/// The position of a part among all parts of a run, such as 2/4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// The number of this part, from 1.
    pub number: usize,
    /// The number of all parts.
    pub of: usize,
}

impl Shard {
    /// Whether the item with this index, counted from 0, belongs to the part.
    pub fn contains(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? })
        });
        parsed
            .filter(|shard| (1..=shard.of).contains(&shard.number))
            .ok_or_else(|| format!("`{text}` is not a part; write 2/4 for the second of four"))
    }
}

/// The result of one part of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Part<R, F> {
    /// The settings and the material of the run, the same in all of its parts.
    pub(crate) run: R,
    pub(crate) shard: Shard,
    /// The counts of the part.
    pub(crate) found: F,
}

/// A part of a run of any command, as it is saved in a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "lowercase")]
pub(crate) enum AnyPart {
    Measure(Part<measure::MeasureRun, measure::PartCounts>),
    Mine(Part<mine::summary::MineRun, mine::summary::MineSummary>),
    Compare(Part<compare::CompareRun, compare::PartComparison>),
}

/// Returns the run that the parts belong to and the results of all parts, in order, or an error if
/// the parts are not those of one whole run. A part may be given twice if `same` returns true for
/// its two results.
pub(crate) fn gather<R: PartialEq, F>(
    parts: Vec<Part<R, F>>,
    same: impl Fn(&F, &F) -> bool,
) -> Result<(R, Vec<F>), String> {
    let mut by_shard: BTreeMap<Shard, Part<R, F>> = BTreeMap::new();
    for part in parts {
        if let Some(other) = by_shard.values().next() {
            if other.shard.of != part.shard.of {
                return Err(format!(
                    "one file is a part of a run in {} parts, another of a run in {}",
                    other.shard.of, part.shard.of
                ));
            }
            if other.run != part.run {
                return Err(format!(
                    "part {} belongs to another run: program version, material or options differ",
                    part.shard.number
                ));
            }
        }
        match by_shard.get(&part.shard) {
            None => {
                by_shard.insert(part.shard, part);
            }
            Some(known) if same(&known.found, &part.found) => {}
            Some(_) => {
                return Err(format!(
                    "part {} was given twice, with different figures",
                    part.shard.number
                ));
            }
        }
    }
    let of = by_shard.keys().next().map_or(0, |shard| shard.of);
    let missing: Vec<String> = (1..=of)
        .filter(|&number| !by_shard.contains_key(&Shard { number, of }))
        .map(|number| format!("{number}/{of}"))
        .collect();
    if !missing.is_empty() {
        return Err(format!("these parts are missing: {}", missing.join(", ")));
    }
    let mut run = None;
    let mut results = Vec::new();
    for part in by_shard.into_values() {
        run.get_or_insert(part.run);
        results.push(part.found);
    }
    run.map(|run| (run, results)).ok_or_else(|| "no part was given".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_one_run_or_none() {
        let part =
            |number: usize, found: usize| Part { run: "a", shard: Shard { number, of: 2 }, found };
        let gathered = |parts: Vec<Part<&'static str, usize>>| gather(parts, |a, b| a == b);
        let (_, found) = gathered(vec![part(2, 3), part(1, 4), part(2, 3)]).expect("one run");
        assert_eq!(found, [4, 3], "a part that was done twice counts once");
        let why = |parts| gathered(parts).expect_err("no run");
        assert!(why(vec![part(1, 4)]).contains("missing: 2/2"));
        assert!(why(vec![part(1, 4), part(1, 5)]).contains("different figures"));
        assert!(why(vec![]).contains("no part"));
        let other = Part { run: "b", ..part(2, 3) };
        assert!(why(vec![part(1, 4), other]).contains("another run"));
        assert!("0/2".parse::<Shard>().is_err() && "3/2".parse::<Shard>().is_err());
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
    }
}
