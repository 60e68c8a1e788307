//! The places where some lines of a text differ in words, are missing, or are more: an alignment in
//! bands around its rare lines.

use std::collections::HashMap;
use std::ops::Range;

use super::joined::{head_offset, splits_run, tail_offset};
use super::{Edges, Link, LinkKind, Place, with_blank_lines};
use crate::matching::budget;
use crate::matching::call::Call;
use crate::matching::costs::{Difference, EXTRA, LOST, MISSING, PART, STALE};
use crate::matching::difference::is_misquoted_comment;
use crate::matching::fold::{is_word_char, plain_key};
use crate::matching::indent_of;
use crate::matching::source_file::{SourceFile, line_key, push_lax};
use crate::matching::tokens::words;

/// A line of the call and one of the file are compared only if their diagonals differ by at most this.
const SLACK: isize = 6;
/// The widest band of diagonals.
const MAX_BAND: isize = 60;
/// The most bands that are aligned.
const MAX_BANDS: usize = 8;
/// A line that stands in the file more often is no anchor.
const MAX_ANCHORS: usize = 40;
/// A band must have at least this share of the evidence of the text.
const MIN_SHARE: f64 = 0.15;
/// Alignments that are this much worse than the best of their band are no rivals.
const RIVAL: f64 = 60.0;
/// The most alignments of one band.
const MAX_ALIGNMENTS: usize = 8;
/// The most lines of the text times the width of a band.
const MAX_CELLS: usize = 2_000_000;

/// Places around the rare lines of a text, at which a few lines differ in words, are missing, or are
/// more.
pub(super) fn aligned(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    full: &[usize],
    edges: Edges,
) -> Vec<Place> {
    if full.len() < 2 {
        return Vec::new();
    }
    let lines = file.nonblank_lines();
    let text = Text::new(file, call, full, edges);
    let mut votes: HashMap<isize, f64> = HashMap::new();
    for (at, key) in text.keys.iter().enumerate() {
        let hits = file.lines_with_key(*key);
        if (1..=MAX_ANCHORS).contains(&hits.len()) {
            #[expect(clippy::cast_precision_loss, reason = "at most MAX_ANCHORS")]
            let weight = text.bits[at] / (hits.len() as f64).sqrt();
            for &hit in hits {
                let hit = lines.partition_point(|&line| line < hit as usize);
                *votes.entry(hit.cast_signed() - at.cast_signed()).or_default() += weight;
            }
        }
    }
    let mut diagonals: Vec<(isize, f64)> = votes.into_iter().collect();
    diagonals.sort_unstable_by_key(|(diagonal, _)| *diagonal);
    let mut bands: Vec<(Range<isize>, f64)> = Vec::new();
    for (diagonal, weight) in diagonals {
        match bands.last_mut() {
            Some((band, sum))
                if diagonal - band.end < SLACK && diagonal - band.start < MAX_BAND =>
            {
                band.end = diagonal + 1;
                *sum += weight;
            }
            _ => bands.push((diagonal..diagonal + 1, weight)),
        }
    }
    bands.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.start.cmp(&b.0.start)));
    let total: f64 = text.bits.iter().sum();
    let mut out: Vec<Place> = Vec::new();
    for (band, weight) in bands.into_iter().take(MAX_BANDS) {
        if weight < MIN_SHARE * total || weight < 4.0 {
            break;
        }
        for links in text.align(band.start - SLACK..band.end + SLACK) {
            let place = with_blank_lines(file, &call.old, links);
            if !out.contains(&place) {
                out.push(place);
            }
        }
    }
    out
}

/// The lines of a text that are not blank, ready to be aligned with those of the file.
struct Text<'a, 't> {
    file: &'a SourceFile<'t>,
    call: &'a Call<'a>,
    full: &'a [usize],
    edges: Edges,
    keys: Vec<u64>,
    /// Those of the lines that the call writes instead.
    new_keys: Vec<Option<u64>>,
    lax: Vec<String>,
    bits: Vec<f64>,
    words: Vec<Words>,
}

/// How a cell of an alignment was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    None,
    Pair,
    /// The line is missing in the file.
    Missing,
    /// The file has a line more.
    Extra,
}

impl<'a, 't> Text<'a, 't> {
    fn new(file: &'a SourceFile<'t>, call: &'a Call<'a>, full: &'a [usize], edges: Edges) -> Self {
        let old = &call.old;
        let mut news = vec![None; old.len()];
        for new in 0..call.new.len() {
            if let Some(old) = call.partner(new) {
                news[old] = Some(new);
            }
        }
        let new_key = |&at: &usize| {
            let new: usize = news[at]?;
            (!call.keeps(at) && call.new[new].contains(is_word_char))
                .then(|| line_key(call.new[new]))
        };
        let lax = |&at: &usize| {
            let mut key = String::new();
            push_lax(old[at], &mut key);
            key
        };
        Self {
            file,
            call,
            full,
            edges,
            new_keys: full.iter().map(new_key).collect(),
            keys: full.iter().map(|&at| line_key(old[at])).collect(),
            lax: full.iter().map(lax).collect(),
            bits: full.iter().map(|&at| file.bits(old[at])).collect(),
            words: full.iter().map(|&at| Words::of(old[at])).collect(),
        }
    }

    /// The best alignments with the file between two diagonals, as links of lines that are not blank.
    fn align(&self, band: Range<isize>) -> Vec<Vec<Link>> {
        let count = self.full.len();
        let width = usize::try_from(band.end - band.start).unwrap_or(1);
        let total = self.file.nonblank_lines().len().cast_signed();
        if count.saturating_mul(width) > MAX_CELLS {
            return Vec::new();
        }
        if budget::spend(8 * count * width).is_err() {
            return Vec::new();
        }
        const NEVER: f64 = f64::NEG_INFINITY;
        let line_at = |at: usize, d: usize| {
            let line = at.cast_signed() + band.start + d.cast_signed();
            (0..total).contains(&line).then(|| line.cast_unsigned())
        };
        let mut file_words: HashMap<usize, Words> = HashMap::new();
        let mut best = vec![0.0; width + 1];
        let mut steps = vec![Step::None; count * (width + 1)];
        for at in 0..count {
            let mut row = vec![NEVER; width + 1];
            let from = &mut steps[at * (width + 1)..(at + 1) * (width + 1)];
            for d in 0..=width {
                if let Some(line) = line_at(at, d)
                    && let Some(score) = self.pair_score(at, line, &mut file_words)
                    && best[d] + score > row[d]
                {
                    (row[d], from[d]) = (best[d] + score, Step::Pair);
                }
                if d < width {
                    let change = if self.call.keeps(self.full[at]) { 0.0 } else { CONFLICT };
                    let is_comment = self
                        .file
                        .language
                        .is_some_and(|language| language.is_comment(self.call.old[self.full[at]]));
                    let price = if is_comment { Difference::Comment.cost() } else { MISSING };
                    let score = best[d + 1] - price - LOST * self.bits[at] - change;
                    if score > row[d] {
                        (row[d], from[d]) = (score, Step::Missing);
                    }
                }
            }
            if at + 1 < count {
                for d in 1..=width {
                    let is_comment = line_at(at + 1, d - 1)
                        .is_some_and(|line| self.file.is_comment(self.file.nonblank_lines()[line]));
                    let price = if is_comment { Difference::Comment.cost() } else { EXTRA };
                    if row[d - 1] - price > row[d] {
                        (row[d], from[d]) = (row[d - 1] - price, Step::Extra);
                    }
                }
            }
            best = row;
        }
        let top = best.iter().copied().fold(NEVER, f64::max);
        let mut ends: Vec<usize> =
            (0..=width).filter(|&d| best[d].is_finite() && best[d] > top - RIVAL).collect();
        ends.sort_by(|&a, &b| best[b].total_cmp(&best[a]));
        let mut out: Vec<Vec<Link>> = Vec::new();
        for links in ends.into_iter().filter_map(|d| self.trace(&steps, width, d, band.start)) {
            // The same lines in a worse alignment are no other place.
            let overlaps = |seen: &Vec<Link>| {
                let span =
                    |links: &[Link]| (links[0].lines.start, links[links.len() - 1].lines.end);
                let (a, b) = (span(seen), span(&links));
                a.0 < b.1 && b.0 < a.1
            };
            if out.len() < MAX_ALIGNMENTS && !out.iter().any(overlaps) {
                out.push(links);
            }
        }
        out
    }

    /// The links of the alignment that ends on a diagonal.
    fn trace(&self, steps: &[Step], width: usize, mut d: usize, start: isize) -> Option<Vec<Link>> {
        let lines = self.file.nonblank_lines();
        let mut at = self.full.len();
        let mut links = Vec::new();
        while at > 0 {
            match steps[(at - 1) * (width + 1) + d] {
                Step::Pair => {
                    at -= 1;
                    let n = (at.cast_signed() + start + d.cast_signed()).cast_unsigned();
                    let (old, line) = (self.full[at], lines[n]);
                    let mut link =
                        Link::new(self.file, old..old + 1, line..line + 1, LinkKind::Line);
                    self.narrow(at, line, &mut link);
                    links.push(link);
                }
                Step::Missing => {
                    at -= 1;
                    d += 1;
                }
                Step::Extra => d -= 1,
                Step::None => return None,
            }
        }
        links.reverse();
        (!links.is_empty()).then_some(links)
    }

    /// Limits the link of a first or last line to the part of the file's line that it quotes.
    fn narrow(&self, at: usize, line: usize, link: &mut Link) {
        if self.keys[at] == self.file.keys()[line] {
            return;
        }
        let body = self.file.body(line);
        let mut lax = String::new();
        push_lax(body, &mut lax);
        let start = self.file.lines()[line].body.start;
        let text = self.call.old[self.full[at]];
        if at == 0
            && indent_of(text).is_empty()
            && self.is_part(at)
            && lax.ends_with(&self.lax[at])
            && let Some(head) = head_offset(body, lax.len() - self.lax[at].len())
            && !splits_run(self.file, start + head)
        {
            link.bytes.start = start + head;
        } else if at + 1 == self.full.len()
            && self.is_part(at)
            && lax.starts_with(&self.lax[at])
            && let Some(tail) =
                tail_offset(body, self.lax[at].len(), text.trim_end().chars().next_back())
            && !splits_run(self.file, start + tail)
        {
            link.bytes.end = start + tail;
        }
    }

    /// Whether a first or last line may be the part of a line: it is long enough, and the call keeps it
    /// or does not say that it is whole.
    fn is_part(&self, at: usize) -> bool {
        let Edges { may_begin_inside, may_end_inside } = self.edges;
        let may_be = if at == 0 { may_begin_inside } else { may_end_inside };
        (may_be || self.call.keeps(self.full[at]))
            && self.lax[at].len() > 3
            && self.lax[at].contains(is_word_char)
    }

    /// What it is worth to take a line of the text for line `n` of those that are not blank; `None` if
    /// they are not alike.
    fn pair_score(
        &self,
        at: usize,
        n: usize,
        file_words: &mut HashMap<usize, Words>,
    ) -> Option<f64> {
        let line = self.file.nonblank_lines()[n];
        let bits = self.bits[at] + 1.0;
        if self.keys[at] == self.file.keys()[line] {
            return Some(bits);
        }
        if self.new_keys[at] == Some(self.file.keys()[line]) {
            return Some(-CONFLICT);
        }
        let joined = self.file.joined();
        let lax = &joined.text[joined.starts[n]..joined.starts[n + 1]];
        let text = self.call.old[self.full[at]];
        let is_head = at == 0 && indent_of(text).is_empty() && lax.ends_with(&self.lax[at]);
        let is_tail = at + 1 == self.full.len() && lax.starts_with(&self.lax[at]);
        if self.is_part(at) && (is_head || is_tail) {
            return Some(bits - PART);
        }
        let change = if self.call.keeps(self.full[at]) { 0.0 } else { CONFLICT };
        let (a, b) = (self.lax[at].len(), lax.len());
        let is_near = a.abs_diff(b) <= a.max(12);
        let similarity = if is_near {
            let words = file_words.entry(n).or_insert_with(|| Words::of(self.file.body(line)));
            self.words[at].similarity(words)
        } else {
            0.0
        };
        let are_comments = is_near
            && self.file.is_comment(line)
            && self.file.language.is_some_and(|language| language.is_comment(text));
        // Only one of them may have a comment behind it.
        let has_same_code = || {
            (lax.starts_with(&self.lax[at]) || self.lax[at].starts_with(lax))
                && is_misquoted_comment(self.file, text, line, self.file.body(line))
        };
        if similarity < 0.5 && !are_comments {
            return has_same_code().then(|| -Difference::Comment.cost() - change);
        }
        let price = if are_comments { Difference::Comment } else { Difference::Words }.cost();
        Some(-price - LOST * bits * (1.0 - similarity) - change)
    }
}

/// What it costs an alignment that a line which the call changes differs in words. It is little, so
/// that the place which has changed since stays in the race.
const CONFLICT: f64 = STALE;

/// The words of a line, sorted, for a quick comparison.
#[derive(Debug)]
pub(in crate::matching) struct Words {
    keys: Vec<(u64, u32)>,
    weight: u32,
}

impl Words {
    /// The words and marks of a line.
    pub(in crate::matching) fn of(line: &str) -> Self {
        let mut keys: Vec<(u64, u32)> = words(line)
            .map(|word| (plain_key(word), u32::try_from(word.len()).unwrap_or(u32::MAX / 2) + 1))
            .collect();
        let marks = line.chars().filter(|c| !c.is_whitespace() && !is_word_char(*c));
        keys.extend(marks.map(|c| (u64::from(u32::from(c)), 1)));
        keys.sort_unstable();
        let weight = keys.iter().map(|(_, weight)| weight).sum();
        Self { keys, weight }
    }

    /// The share of words and marks that two lines have in common, weighted by length.
    pub(in crate::matching) fn similarity(&self, other: &Self) -> f64 {
        let (mut a, mut b, mut same) = (0, 0, 0);
        while a < self.keys.len() && b < other.keys.len() {
            match self.keys[a].cmp(&other.keys[b]) {
                std::cmp::Ordering::Less => a += 1,
                std::cmp::Ordering::Greater => b += 1,
                std::cmp::Ordering::Equal => {
                    same += self.keys[a].1;
                    (a, b) = (a + 1, b + 1);
                }
            }
        }
        match self.weight + other.weight {
            0 => 0.0,
            both => 2.0 * f64::from(same) / f64::from(both),
        }
    }
}
