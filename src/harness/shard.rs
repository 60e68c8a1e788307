//! Measuring in parts, on as many machines as there are: each part takes every Nth case of each
//! way, and the parts together give the same figures as one run.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::edits::Pair;
use super::score::{Score, Tally};
use crate::text::ContentHash;

/// One part of so many, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Shard {
    pub(crate) number: usize,
    pub(crate) of: usize,
}

impl Shard {
    /// Whether the case of this place in its way, from 0, belongs to the part.
    pub(crate) fn has(self, place: usize) -> bool {
        place % self.of == self.number - 1
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
            .ok_or_else(|| format!("`{text}` is no part; the second of four is written 2/4"))
    }
}

/// What was measured: parts of the same run have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The program's version.
    pub(crate) restitch: String,
    pub(crate) seed: u64,
    /// Cases of each way, at most.
    pub(crate) max: usize,
    /// What may come of syntax errors.
    pub(crate) syntax: String,
    /// The digest of all material.
    pub(crate) material: ContentHash,
    /// Real edits in it.
    pub(crate) edits: usize,
    /// Families and ways, in the order in which they are shown.
    pub(crate) ways: Vec<(String, String)>,
}

/// The counts of one part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) run: Run,
    pub(crate) shard: Shard,
    /// The tally of each way that the part has a case of.
    pub(crate) rows: BTreeMap<String, Tally>,
}

/// The digest of the material.
pub(crate) fn digest(pairs: &[Pair]) -> ContentHash {
    let mut bytes = Vec::new();
    for pair in pairs {
        for text in [&pair.package, &pair.path, &pair.before, &pair.after] {
            bytes.extend_from_slice(ContentHash::of(text.as_bytes()).as_bytes());
        }
    }
    ContentHash::of(&bytes)
}

/// All parts as one score, or why they are not one run.
pub(crate) fn merge(parts: Vec<Part>) -> Result<(Run, Score), String> {
    let mut by_shard: BTreeMap<Shard, Part> = BTreeMap::new();
    for part in parts {
        if let Some(other) = by_shard.values().next() {
            if other.shard.of != part.shard.of {
                return Err(format!(
                    "one file is a part of {}, another of {}",
                    other.shard.of, part.shard.of
                ));
            }
            if other.run != part.run {
                return Err(format!(
                    "part {} is of another run: program, seed, max, ways or material differ",
                    part.shard.number
                ));
            }
        }
        let twice =
            by_shard.get(&part.shard).map(|known| figures(&known.rows) == figures(&part.rows));
        match twice {
            None => drop(by_shard.insert(part.shard, part)),
            // A part that was done twice: the first counts.
            Some(true) => {}
            Some(false) => {
                return Err(format!(
                    "part {} is there twice, with different figures",
                    part.shard.number
                ));
            }
        }
    }
    let Some(first) = by_shard.values().next() else { return Err("there is no part".into()) };
    let (run, of) = (first.run.clone(), first.shard.of);
    let is_there = |number: &usize| by_shard.contains_key(&Shard { number: *number, of });
    let missing: Vec<String> = (1..=of)
        .filter(|number| !is_there(number))
        .map(|number| format!("{number}/{of}"))
        .collect();
    if !missing.is_empty() {
        return Err(format!("these parts are missing: {}", missing.join(", ")));
    }
    let mut score = Score::default();
    for (family, way) in &run.ways {
        for tally in by_shard.values().filter_map(|part| part.rows.get(way)) {
            score.add_tally(family, way, tally);
        }
    }
    Ok((run, score))
}

/// The digest of all counts, without the times: the same for the same figures.
pub(crate) fn figures(rows: &BTreeMap<String, Tally>) -> String {
    let mut hash = Sha256::new();
    for (way, tally) in rows {
        let counts = [
            tally.recoverable,
            tally.must_refuse,
            tally.right,
            tally.refused,
            tally.wrong,
            tally.ambiguous,
            tally.missed,
            tally.other_code,
            tally.broken,
            tally.by_model,
            tally.parsed,
            tally.breaks,
        ];
        let counts = counts.map(|count| count.to_string()).join(",");
        hash.update(format!("{way}:{counts},{},{}\n", tally.model_calls, tally.prompt_bytes));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: usize, right: usize) -> Part {
        let run = Run {
            restitch: "1".into(),
            seed: 1,
            max: 10,
            syntax: "veto".into(),
            material: ContentHash::of(b""),
            edits: 3,
            ways: vec![("indent".into(), "tabs".into()), ("exact".into(), "exact".into())],
        };
        let tally = Tally { right, ..Tally::default() };
        let rows = [("exact".to_owned(), tally)].into();
        Part { run, shard: Shard { number, of: 2 }, rows }
    }

    #[test]
    fn parts_are_one_run_or_none() {
        let (_, score) = merge(vec![part(2, 3), part(1, 4), part(2, 3)]).expect("one run");
        assert_eq!(score.total().right, 7, "a part that was done twice counts once");
        let why = |parts: Vec<Part>| merge(parts).expect_err("no run");
        assert!(why(vec![part(1, 4)]).contains("missing: 2/2"));
        assert!(why(vec![part(1, 4), part(1, 5)]).contains("different figures"));
        let mut other = part(2, 3);
        other.run.seed = 2;
        assert!(why(vec![part(1, 4), other]).contains("another run"));
        assert!("0/2".parse::<Shard>().is_err() && "3/2".parse::<Shard>().is_err());
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
    }
}
