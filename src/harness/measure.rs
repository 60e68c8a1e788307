//! Many generated cases at once, decided in parallel and counted by mutation.

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

/// What to generate.
#[derive(Debug, Clone)]
pub(crate) struct MeasurePlan {
    /// The seed of everything.
    pub seed: u64,
    /// Cases of each mutation, at most.
    pub max: usize,
    /// Ways or families by the start of their name; empty for all.
    pub mutations: Vec<String>,
    /// Which part of it; all where it is left out.
    pub shard: Option<Shard>,
}

impl MeasurePlan {
    /// The mutations that the plan names, in the table's order.
    pub(crate) fn selected(&self) -> Vec<&'static Mutation> {
        // An exact name is that one mutation; the start of a name is all that begin so.
        let asks = |mutation: &Mutation, name: &String| {
            mutation.id == name
                || super::mutate::by_id(name).is_none()
                    && (mutation.id.starts_with(name) || mutation.family.starts_with(name))
        };
        let named = |mutation: &Mutation| {
            self.mutations.is_empty() || self.mutations.iter().any(|name| asks(mutation, name))
        };
        MUTATIONS.iter().filter(|mutation| named(mutation)).collect()
    }
}

/// The real edits of all changes.
pub(crate) fn real_edits(changes: &[FileChange], seed: u64) -> Vec<RealEdit> {
    parallel(changes, |change| edits_in(change, seed)).into_iter().flatten().collect()
}

/// So many of the edits, languages taking turns.
pub(crate) fn sample(edits: Vec<RealEdit>, count: usize, seed: u64) -> Vec<RealEdit> {
    let mut edits = edits;
    Rng::new(seed, "sample").shuffle(&mut edits);
    let mut seen: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut keyed: Vec<(usize, RealEdit)> = Vec::with_capacity(edits.len());
    for edit in edits {
        let turn = seen.entry(edit.language.name).or_default();
        *turn += 1;
        keyed.push((*turn, edit));
    }
    keyed.sort_by_key(|(turn, _)| *turn);
    keyed.into_iter().take(count).map(|(_, edit)| edit).collect()
}

/// The cases of one mutation that belong to the part, each with its index. Languages take
/// turns, so that a large package does not crowd out the others.
pub(crate) fn generate<'e>(
    mutation: &'static Mutation,
    edits: &'e [RealEdit],
    plan: &MeasurePlan,
) -> impl Iterator<Item = (usize, Case)> + 'e {
    let (seed, shard) = (plan.seed, plan.shard);
    let mut rng = Rng::new(seed, mutation.id);
    let mut turns: BTreeMap<&str, Vec<&RealEdit>> = BTreeMap::new();
    for edit in edits {
        turns.entry(edit.language.name).or_default().push(edit);
    }
    let mut order: Vec<(usize, &RealEdit)> = Vec::with_capacity(edits.len());
    // No language is always first, or few cases would all be of the first few.
    let mut groups: Vec<Vec<&RealEdit>> = turns.into_values().collect();
    rng.shuffle(&mut groups);
    for group in &mut groups {
        rng.shuffle(group);
        order.extend(group.iter().copied().enumerate());
    }
    order.sort_by_key(|(turn, _)| *turn);
    // Where no case can be over the most, a part makes no others than its own.
    let all = plan.max >= edits.len();
    let in_shard = move |index: &usize| shard.is_none_or(|shard| shard.contains(*index));
    order
        .into_iter()
        .enumerate()
        .filter(move |(index, _)| !all || in_shard(index))
        .filter_map(move |(index, (_, edit))| Some((index, mutation.apply(edit, seed)?)))
        .enumerate()
        .map(move |(nth, (index, case))| (if all { index } else { nth }, case))
        .take(plan.max)
        .filter(move |(index, _)| in_shard(index))
}

/// A case with its index in its mutation and its verdict.
pub(crate) type JudgedCase = (usize, Case, Judgment);

/// Generates and decides everything. `each` sees every case; `keep` says which of them to hand
/// back; `advance` hears of each mutation that is done.
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
    let mut all = Score::default();
    let mut seen = Vec::new();
    for (score, kept) in results {
        all.append(score);
        seen.extend(kept);
    }
    (all, seen)
}

/// What was measured: parts of the same run have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MeasureRun {
    /// The program's version.
    pub(crate) restitch: String,
    pub(crate) seed: u64,
    /// Cases of each mutation, at most.
    pub(crate) max: usize,
    /// What may come of syntax errors.
    pub(crate) syntax: String,
    /// The digest of all material.
    pub(crate) material: ContentHash,
    /// Real edits in it.
    pub(crate) edits: usize,
    /// Families and mutations, in the order in which they are shown.
    #[serde(rename = "ways")]
    pub(crate) mutations: Vec<(String, String)>,
}

/// The counts of one part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartCounts {
    /// The tally of each mutation that the part has a case of.
    pub(crate) rows: BTreeMap<String, Tally>,
    /// For the page: [`select_for_page`] of each mutation, with their indexes.
    #[serde(default)]
    pub(crate) cases: BTreeMap<String, Vec<(usize, Value)>>,
}

/// How many cases of each mutation a page of parts shows.
const MAX_SHOWN: usize = 20;

/// Of the cases of a mutation that were not decided as wanted, those that a page shows: wrong ones
/// first, then by index. Of all parts together these are the same as of one run.
pub(crate) fn select_for_page(mut cases: Vec<(usize, Value)>) -> Vec<(usize, Value)> {
    cases.sort_by_key(|(index, case)| (case["verdict"] != "wrong", *index));
    cases.truncate(MAX_SHOWN);
    cases
}

/// All parts of a run as one score, and the cases for the page.
pub(crate) fn merge(run: &MeasureRun, parts: &[PartCounts]) -> (Score, Vec<Value>) {
    let mut score = Score::default();
    let mut cases = Vec::new();
    for (family, mutation) in &run.mutations {
        for tally in parts.iter().filter_map(|part| part.rows.get(mutation)) {
            score.add_tally(family, mutation, tally);
        }
        let part_cases = parts.iter().filter_map(|part| part.cases.get(mutation)).flatten();
        cases.extend(
            select_for_page(part_cases.cloned().collect()).into_iter().map(|(_, case)| case),
        );
    }
    (score, cases)
}

/// The digest of the material.
pub(crate) fn digest(changes: &[FileChange]) -> ContentHash {
    let mut bytes = Vec::new();
    for change in changes {
        for text in [&change.package, &change.path, &change.before, &change.after] {
            bytes.extend_from_slice(ContentHash::of(text.as_bytes()).as_bytes());
        }
    }
    ContentHash::of(&bytes)
}

/// The digest of all counts, without the times: the same for the same figures.
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

/// Maps items on all cores; results in the order of the items.
pub(crate) fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
