//! Measures generated cases: many are decided in parallel and counted by mutation.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::case::Case;
use super::edits::{FileChange, RealEdit, edits_in};
use super::judge::{Judgment, judge_with};
use super::mutate::{MUTATIONS, Mutation};
use super::rng::Rng;
use super::score::{Score, Tally};
use super::shard::Shard;
use crate::adapters::syntax::TreeSitter;
use crate::engine::{SyntaxGate, SyntaxMode};
use crate::text::ContentHash;

/// The cases to generate.
#[derive(Debug, Clone)]
pub(crate) struct MeasurePlan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The most cases of each mutation.
    pub max: usize,
    /// The mutations or families, by name or by the start of a name; empty for all.
    pub mutations: Vec<String>,
    /// The part of the cases to decide; `None` for all.
    pub shard: Option<Shard>,
}

impl MeasurePlan {
    /// Returns the mutations that the plan names, in the order of [`MUTATIONS`].
    pub(crate) fn selected(&self) -> Vec<&'static Mutation> {
        let is_named_by = |mutation: &Mutation, name: &String| {
            // The full name of a mutation means that one only, not others that start with it.
            if super::mutate::by_id(name).is_some() {
                return mutation.id == name;
            }
            mutation.id.starts_with(name) || mutation.family.starts_with(name)
        };
        let is_selected = |mutation: &&Mutation| {
            self.mutations.is_empty()
                || self.mutations.iter().any(|name| is_named_by(mutation, name))
        };
        MUTATIONS.iter().filter(is_selected).collect()
    }
}

/// Returns the real edits of all changed files.
pub(crate) fn real_edits(changes: &[FileChange], seed: u64) -> Vec<RealEdit> {
    parallel(changes, |change| edits_in(change, seed)).into_iter().flatten().collect()
}

/// Returns `count` of the edits at random, with an edit of each language in turn.
pub(crate) fn sample(edits: Vec<RealEdit>, count: usize, seed: u64) -> Vec<RealEdit> {
    let mut edits = edits;
    Rng::new(seed, "sample").shuffle(&mut edits);
    let mut counts_by_language: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut edits_with_turn: Vec<(usize, RealEdit)> = Vec::with_capacity(edits.len());
    for edit in edits {
        let turn = counts_by_language.entry(edit.language.name).or_default();
        *turn += 1;
        edits_with_turn.push((*turn, edit));
    }
    edits_with_turn.sort_by_key(|(turn, _)| *turn);
    edits_with_turn.into_iter().take(count).map(|(_, edit)| edit).collect()
}

/// Returns the cases of one mutation that belong to the plan's shard, each with its index among all
/// cases of the mutation. There is a case of each language in turn, so that a large package does
/// not crowd out the others.
pub(crate) fn generate<'e>(
    mutation: &'static Mutation,
    edits: &'e [RealEdit],
    plan: &MeasurePlan,
) -> impl Iterator<Item = (usize, Case)> + 'e {
    let (seed, shard) = (plan.seed, plan.shard);
    let mut rng = Rng::new(seed, mutation.id);
    let mut by_language: BTreeMap<&str, Vec<&RealEdit>> = BTreeMap::new();
    for edit in edits {
        by_language.entry(edit.language.name).or_default().push(edit);
    }
    let mut order: Vec<(usize, &RealEdit)> = Vec::with_capacity(edits.len());
    // The languages are shuffled: otherwise a small run would always have the same few.
    let mut groups: Vec<Vec<&RealEdit>> = by_language.into_values().collect();
    rng.shuffle(&mut groups);
    for group in &mut groups {
        rng.shuffle(group);
        order.extend(group.iter().copied().enumerate());
    }
    order.sort_by_key(|(turn, _)| *turn);
    // If every edit may become a case, the index of the edit serves as that of the case, and a
    // shard need not generate the cases of others. Otherwise it must count them.
    let takes_all = plan.max >= edits.len();
    let in_shard = move |index: &usize| shard.is_none_or(|shard| shard.contains(*index));
    order
        .into_iter()
        .enumerate()
        .filter(move |(edit_index, _)| !takes_all || in_shard(edit_index))
        .filter_map(move |(edit_index, (_, edit))| Some((edit_index, mutation.apply(edit, seed)?)))
        .enumerate()
        .map(move |(case_index, (edit_index, case))| {
            (if takes_all { edit_index } else { case_index }, case)
        })
        .take(plan.max)
        .filter(move |(index, _)| in_shard(index))
}

/// A case with its index among the cases of its mutation, and the judgment on it.
pub(crate) type JudgedCase = (usize, Case, Judgment);

/// Generates and decides all cases of the plan. `each` is called with every case, `advance` after
/// each mutation. Returns the score, and the cases for which `keep` returns true.
pub(crate) fn measure(
    edits: &[RealEdit],
    plan: &MeasurePlan,
    syntax: SyntaxMode,
    each: &(dyn Fn(&Case, &Judgment) + Sync),
    keep: fn(&Judgment) -> bool,
    advance: &(dyn Fn() + Sync),
) -> (Score, Vec<JudgedCase>) {
    let mutations = plan.selected();
    let results = parallel(&mutations, |mutation| {
        let gate = SyntaxGate::new(TreeSitter::new(), syntax);
        let mut score = Score::default();
        let mut kept = Vec::new();
        for (index, case) in generate(mutation, edits, plan) {
            let judged = judge_with(&case, &gate);
            score.add(mutation.family, mutation.id, &judged);
            each(&case, &judged);
            if keep(&judged) {
                kept.push((index, case, judged));
            }
        }
        advance();
        (score, kept)
    });
    let mut total = Score::default();
    let mut all_kept = Vec::new();
    for (score, kept) in results {
        total.append(score);
        all_kept.extend(kept);
    }
    (total, all_kept)
}

/// The settings and the material of a run, which are the same in all of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MeasureRun {
    /// The program's version.
    pub(crate) restitch: String,
    pub(crate) seed: u64,
    /// The most cases of each mutation.
    pub(crate) max: usize,
    /// The syntax mode.
    pub(crate) syntax: String,
    /// The digest of all changed files.
    pub(crate) material: ContentHash,
    /// The number of real edits in these files.
    pub(crate) edits: usize,
    /// The family and the name of each mutation, in the order in which they are shown.
    #[serde(rename = "ways")]
    pub(crate) mutations: Vec<(String, String)>,
}

/// The counts of one part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartCounts {
    /// The counts of each mutation that the part has a case of.
    pub(crate) rows: BTreeMap<String, Tally>,
    /// The cases of each mutation for the report page, as [`select_for_page`] returns them.
    #[serde(default)]
    pub(crate) cases: BTreeMap<String, Vec<(usize, Value)>>,
}

/// How many cases of each mutation the report page shows.
const MAX_SHOWN: usize = 20;

/// Selects the cases that the report page shows from the bad ones of a mutation, each with its
/// index: silently wrong ones first, then the others, both by index. The selection from all parts
/// of a run is the same as from the whole run.
pub(crate) fn select_for_page(mut cases: Vec<(usize, Value)>) -> Vec<(usize, Value)> {
    cases.sort_by_key(|(index, case)| (case["verdict"] != "wrong", *index));
    cases.truncate(MAX_SHOWN);
    cases
}

/// Merges all parts of a run into one score, and returns it with the cases for the report page.
pub(crate) fn merge(run: &MeasureRun, parts: &[PartCounts]) -> (Score, Vec<Value>) {
    let mut score = Score::default();
    let mut cases = Vec::new();
    for (family, mutation) in &run.mutations {
        for tally in parts.iter().filter_map(|part| part.rows.get(mutation)) {
            score.add_tally(family, mutation, tally);
        }
        let part_cases = parts.iter().filter_map(|part| part.cases.get(mutation)).flatten();
        let selected = select_for_page(part_cases.cloned().collect());
        cases.extend(selected.into_iter().map(|(_, case)| case));
    }
    (score, cases)
}

/// Returns the digest of all changed files.
pub(crate) fn digest(changes: &[FileChange]) -> ContentHash {
    let mut bytes = Vec::new();
    for change in changes {
        for text in [&change.package, &change.path, &change.before, &change.after] {
            bytes.extend_from_slice(ContentHash::of(text.as_bytes()).as_bytes());
        }
    }
    ContentHash::of(&bytes)
}

/// Returns the digest of all counts without the times, so that runs with the same counts have the
/// same digest.
pub(crate) fn counts_digest(rows: &BTreeMap<String, Tally>) -> String {
    let mut hash = Sha256::new();
    for (mutation, tally) in rows {
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
        hash.update(format!("{mutation}:{counts},{},{}\n", tally.model_calls, tally.prompt_bytes));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Calls `work` with each item on as many threads as there are cores; returns the results in the
/// order of the items.
pub(crate) fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
