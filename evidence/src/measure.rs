//! Measures generated cases: many are decided in parallel and counted by mutation.

use std::collections::BTreeMap;

use crate::edits::{FileChange, RealEdit, edits_in};
use crate::mutate::{MUTATIONS, Mutation};
use crate::rng::Rng;
use restitch::engine::SyntaxMode;
use restitch::internals::command::parallel_shown;
use restitch::internals::harness::{Case, Judgment, Score, judge_in, parallel};

/// The cases to generate.
#[derive(Debug, Clone)]
pub(crate) struct MeasurePlan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The most cases of each mutation.
    pub max: usize,
    /// The mutations or families, by name or by the start of a name; empty for all.
    pub mutations: Vec<String>,
}

impl MeasurePlan {
    /// Returns the mutations that the plan names, in the order of [`MUTATIONS`].
    pub(crate) fn selected(&self) -> Vec<&'static Mutation> {
        let is_named_by = |mutation: &Mutation, name: &String| {
            // The full name of a mutation means that one only, not others that start with it.
            if crate::mutate::by_id(name).is_some() {
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

/// Returns the cases of one mutation. There is a case of each language in turn, so that a large
/// package does not crowd out the others.
pub(crate) fn generate<'e>(
    mutation: &'static Mutation,
    edits: &'e [RealEdit],
    plan: &MeasurePlan,
) -> impl Iterator<Item = Case> + 'e {
    let seed = plan.seed;
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
    order.into_iter().filter_map(move |(_, edit)| mutation.apply(edit, seed)).take(plan.max)
}

/// A case and the judgment on it.
pub(crate) type JudgedCase = (Case, Judgment);

/// Generates and decides all cases of the plan. Returns the score, and the cases for which `keep`
/// returns true.
pub(crate) fn measure(
    edits: &[RealEdit],
    plan: &MeasurePlan,
    syntax: SyntaxMode,
    keep: fn(&Judgment) -> bool,
) -> (Score, Vec<JudgedCase>) {
    let mutations = plan.selected();
    let unit = ("kinds of mistake", 1);
    let results = parallel_shown(
        &mutations,
        unit,
        |_| 1,
        |mutation| {
            let judge = judge_in(syntax);
            let mut score = Score::default();
            let mut kept = Vec::new();
            for case in generate(mutation, edits, plan) {
                let judged = judge(&case);
                score.add(mutation.family, mutation.id, &judged);
                if keep(&judged) {
                    kept.push((case, judged));
                }
            }
            (score, kept)
        },
    );
    let mut total = Score::default();
    let mut all_kept = Vec::new();
    for (score, kept) in results {
        total.append(score);
        all_kept.extend(kept);
    }
    (total, all_kept)
}
