//! Ranks the regions that are similar to a text, to find the nearest one for a refusal or a model. In
//! a file of almost equal functions, each has most lines of the text, so their similarity hardly
//! tells them apart. Lines and words that are rare in the file do.
//!
//! A rank is never a reason to match.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::budget;
use super::fold::{is_word_char, plain_key};
use super::indent_of;
use super::nearest::{Region, regions, to_near};
use super::source_file::{MAX_POSITIONS, SourceFile, line_key, split_lines};
use super::tokens::words;
use super::weigh::float;
use crate::edit::Near;
use crate::text::Snapshot;

/// How much the share of rare lines and words counts in a rank.
const RARITY: f64 = 0.3;
/// How much the share of lines with the same indentation counts in a rank.
const SAME_INDENTATION: f64 = 0.1;
/// Regions whose ranks differ by less are equally near.
const MIN_LEAD: f64 = 0.05;
/// If the text has clues to both of two regions, they are equally near unless their ranks differ by
/// this much.
const MIN_LEAD_IF_MIXED: f64 = 0.25;
/// The text has clues to both of two regions if the clues that only the second has weigh at least this
/// share of those that only the first has.
const MIXED_SHARE: f64 = 0.4;
/// The weight of a line that the file has once.
const LINE_WEIGHT: usize = 6;
/// The highest weight of a word that the file has once; of a shorter word it is the length.
const MAX_WORD_WEIGHT: usize = 12;

/// The regions most similar to a text, nearest first.
#[derive(Debug)]
pub(super) struct Ranking {
    pub(super) regions: Vec<Region>,
    /// How many regions are equally near, including those that are not in `regions`.
    pub(super) equally_near: usize,
}

impl Ranking {
    /// The regions that are equally near, if there are several.
    pub(super) fn tied(&self) -> &[Region] {
        match self.equally_near {
            0 | 1 => &[],
            count => &self.regions[..count.min(self.regions.len())],
        }
    }
}

/// The keys of the lines and words that a region shares with the text. They are sorted, so that the
/// sum of their weights is the same in each run.
type Clues = BTreeSet<u64>;

/// Ranks the regions most similar to a text.
pub(super) fn rank(file: &SourceFile<'_>, text: &[&str], max_count: usize) -> Ranking {
    let weights = clue_weights(file, text);
    let total = weights.values().sum::<f64>().max(1.0);
    let weigh = |clues: &Clues| clues.iter().map(|clue| weights[clue]).sum::<f64>();
    let ranked = regions(file, text).into_iter().map(|region| {
        let clues = clues_of(file, &region.lines, &weights);
        let indentation = same_indentation_share(file, text, &region);
        let rank = region.score + RARITY * weigh(&clues) / total + SAME_INDENTATION * indentation;
        (rank, clues, region)
    });
    let mut ranked: Vec<(f64, Clues, Region)> = ranked.collect();
    ranked.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let is_equally_near = |(rank, clues, _): &&(f64, Clues, Region)| {
        let (best_rank, best_clues, _) = &ranked[0];
        let only_other_has = weigh(&(clues - best_clues));
        let only_best_has = weigh(&(best_clues - clues));
        let is_mixed = only_other_has > 0.0 && only_other_has >= MIXED_SHARE * only_best_has;
        *rank > best_rank - if is_mixed { MIN_LEAD_IF_MIXED } else { MIN_LEAD }
    };
    let equally_near = ranked.iter().take_while(is_equally_near).count();
    let regions = ranked.into_iter().take(max_count).map(|(_, _, region)| region).collect();
    Ranking { regions, equally_near }
}

/// The clues that some lines of the file have.
fn clues_of(file: &SourceFile<'_>, lines: &Range<usize>, weights: &BTreeMap<u64, f64>) -> Clues {
    let mut clues = Clues::new();
    for at in lines.clone() {
        if budget::spend(4 + file.body(at).len() / 4).is_err() {
            break;
        }
        let keys = words(file.body(at)).map(plain_key).chain([file.keys()[at]]);
        clues.extend(keys.filter(|key| weights.contains_key(key)));
    }
    clues
}

/// The share of the paired lines of a region that have the same indentation in text and file.
fn same_indentation_share(file: &SourceFile<'_>, text: &[&str], region: &Region) -> f64 {
    let pairs = region.pairs.iter().zip(text).filter_map(|(pair, line)| Some(((*pair)?, line)));
    let is_same = |(at, line): &(usize, &&str)| indent_of(file.body(*at)) == indent_of(line);
    float(pairs.clone().filter(is_same).count()) / float(pairs.count().max(1))
}

/// The keys of the lines and words that text and file share, with their weights. A line or word weighs
/// more if few lines of the file have it, and a long word weighs more than a short one.
fn clue_weights(file: &SourceFile<'_>, text: &[&str]) -> BTreeMap<u64, f64> {
    let mut weights = BTreeMap::new();
    let mut add = |key: u64, lines: &[u32], weight: usize| {
        if (1..=MAX_POSITIONS).contains(&lines.len()) {
            weights.insert(key, float(weight) / float(lines.len()));
        }
    };
    for line in text.iter().filter(|line| line.contains(is_word_char)) {
        if budget::spend(4 + line.len() / 4).is_err() {
            break;
        }
        for word in words(line) {
            let key = plain_key(word);
            add(key, file.lines_with_word(key), word.len().min(MAX_WORD_WEIGHT));
        }
        let key = line_key(line);
        add(key, file.lines_with_key(key), LINE_WEIGHT);
    }
    weights
}

/// The regions of a file that are most similar to a text, best first, as a refusal reports them.
pub(crate) fn nearest(snapshot: &Snapshot, old: &str, max_count: usize) -> Vec<Near> {
    let file = SourceFile::new(snapshot, None).for_call(old, "");
    let text = split_lines(old);
    let regions = rank(&file, &text, max_count).regions;
    regions.iter().map(|region| to_near(&file, &text, region)).collect()
}

/// The lines (from 0) and the score of the regions nearest to a text: what a model is shown.
pub(crate) fn nearest_lines(
    snapshot: &Snapshot,
    old: &str,
    max_count: usize,
) -> Vec<(Range<usize>, f64)> {
    let file = SourceFile::new(snapshot, None);
    let regions = rank(&file, &split_lines(old), max_count).regions;
    regions.into_iter().map(|region| (region.lines, region.score)).collect()
}
