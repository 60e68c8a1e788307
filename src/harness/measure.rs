//! Many generated cases at once, decided in parallel and counted by way.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::case::Case;
use super::edits::{Pair, RealEdit, between};
use super::judge::{Judged, judge_by};
use super::rng::Rng;
use super::score::Score;
use super::shard::Shard;
use super::spoil::{WAYS, Way};
use crate::adapters::syntax::TreeSitter;
use crate::engine::{SyntaxGate, SyntaxMode};

/// What to generate.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The seed of everything.
    pub seed: u64,
    /// Cases of each way, at most.
    pub max: usize,
    /// Ways or families by the start of their name; empty for all.
    pub ways: Vec<String>,
    /// Which part of it; all where it is left out.
    pub shard: Option<Shard>,
}

impl Plan {
    /// The ways that the plan names, in the table's order.
    pub(crate) fn chosen(&self) -> Vec<&'static Way> {
        // An exact name is that one way; the start of a name is all that begin so.
        let asks = |way: &Way, name: &String| {
            way.id == name
                || super::spoil::way(name).is_none()
                    && (way.id.starts_with(name) || way.family.starts_with(name))
        };
        let named =
            |way: &Way| self.ways.is_empty() || self.ways.iter().any(|name| asks(way, name));
        WAYS.iter().filter(|way| named(way)).collect()
    }
}

/// All edits of the pairs.
pub(crate) fn edits(pairs: &[Pair], seed: u64) -> Vec<RealEdit> {
    parallel(pairs, |pair| between(pair, seed)).into_iter().flatten().collect()
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

/// The cases of one way. Languages take turns, so that a large package does not
/// crowd out the others.
pub(crate) fn cases<'e>(
    way: &'static Way,
    edits: &'e [RealEdit],
    plan: &Plan,
) -> impl Iterator<Item = Case> + 'e {
    let seed = plan.seed;
    let mut rng = Rng::new(seed, way.id);
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
    order.into_iter().filter_map(move |(_, edit)| way.spoil(edit, seed)).take(plan.max)
}

/// A case with its verdict.
pub(crate) type JudgedCase = (Case, Judged);

/// Generates and decides everything. `keep` says which cases to hand back; `advance` hears
/// of each way that is done.
pub(crate) fn measure(
    edits: &[RealEdit],
    plan: &Plan,
    syntax: SyntaxMode,
    keep: fn(&Judged) -> bool,
    advance: &(dyn Fn() + Sync),
) -> (Score, Vec<JudgedCase>) {
    let ways = plan.chosen();
    let done = parallel(&ways, |way| {
        let gate = SyntaxGate::new(TreeSitter::new(), syntax);
        let mut score = Score::default();
        let mut kept = Vec::new();
        let shard = plan.shard;
        let own = cases(way, edits, plan).enumerate();
        for (_, case) in own.filter(|(place, _)| shard.is_none_or(|shard| shard.has(*place))) {
            let judged = judge_by(&case, &gate);
            score.add(way.family, way.id, &judged);
            if keep(&judged) {
                kept.push((case, judged));
            }
        }
        advance();
        (score, kept)
    });
    let mut all = Score::default();
    let mut seen = Vec::new();
    for (score, kept) in done {
        all.append(score);
        seen.extend(kept);
    }
    (all, seen)
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
