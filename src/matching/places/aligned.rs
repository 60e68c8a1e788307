//! The places where some lines of a text differ in words, are missing, or are more: an alignment in
//! bands around its rare lines.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::joined::{head_offset, tail_offset};
use super::{Edges, Link, Place, with_blank_lines};
use crate::matching::budget;
use crate::matching::call::Call;
use crate::matching::costs::{Difference, EXTRA, LOST, MISSING, PART, STALE, loose_cost};
use crate::matching::difference::{has_grown, is_damaged, is_misquoted_comment};
use crate::matching::fold::{is_word_char, plain_key};
use crate::matching::indent_of;
use crate::matching::nearest::overlap;
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
/// Those with this share of the best are rivals all the same.
const RIVAL_SHARE: f64 = 0.3;
/// The most alignments of one band.
const MAX_ALIGNMENTS: usize = 8;
/// The most lines of the text times the width of a band.
const MAX_CELLS: usize = 2_000_000;

/// The places around the rare lines of a text.
pub(super) fn aligned(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    full: &[usize],
    edges: Edges,
) -> Vec<Place> {
    let mut out: Vec<Place> = Vec::new();
    if full.len() < 2 {
        return out;
    }
    let text = Text::new(file, call, full, edges);
    let total: f64 = text.lines.iter().map(|line| line.bits).sum();
    for (band, weight) in text.bands().into_iter().take(MAX_BANDS) {
        if weight < MIN_SHARE * total || weight < 4.0 {
            break;
        }
        for links in text.align(band.start - SLACK..band.end + SLACK) {
            let place = with_blank_lines(file, call, links);
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
    lines: Vec<TextLine<'a>>,
}

/// A line of the text.
struct TextLine<'a> {
    /// Its number in `old_str`.
    old: usize,
    text: &'a str,
    lax: String,
    key: u64,
    /// The key of the line that the call writes instead.
    new_key: Option<u64>,
    bits: f64,
    words: Words,
    is_comment: bool,
    /// Whether it may be the part of a line, if it is the first or the last one: it is long enough, and the
    /// call keeps it or does not say that it is whole.
    may_be_part: bool,
    /// What it costs that the line differs in words or is missing, if the call changes it. It is little,
    /// so that the place which has changed since stays in the race.
    change: f64,
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
    fn new(file: &'a SourceFile<'t>, call: &'a Call<'a>, full: &[usize], edges: Edges) -> Self {
        let line = |(at, &old): (usize, &usize)| {
            let (text, keeps) = (call.old[old], call.keeps(old));
            let may_be_part = if at == 0 { edges.may_begin_inside } else { edges.may_end_inside };
            let mut lax = String::new();
            push_lax(text, &mut lax);
            let new = call.successor(old).filter(|_| !keeps).map(|new| call.new[new]);
            TextLine {
                old,
                text,
                may_be_part: (may_be_part || keeps) && lax.len() > 3 && lax.contains(is_word_char),
                lax,
                key: line_key(text),
                new_key: new.filter(|new| new.contains(is_word_char)).map(line_key),
                bits: file.bits(text),
                words: Words::of(text),
                is_comment: file.language.is_some_and(|language| language.is_comment(text)),
                change: if keeps { 0.0 } else { STALE },
            }
        };
        Self { file, lines: full.iter().enumerate().map(line).collect() }
    }

    /// The bands of diagonals on which rare lines of both sides meet, with weights, the heaviest first.
    fn bands(&self) -> Vec<(Range<isize>, f64)> {
        let mut votes: BTreeMap<isize, f64> = BTreeMap::new();
        let nonblank = self.file.nonblank_lines();
        let mut vote = |at: usize, hits: &[usize]| {
            if hits.len() > MAX_ANCHORS {
                return;
            }
            #[expect(clippy::cast_precision_loss, reason = "at most MAX_ANCHORS")]
            let weight = self.lines[at].bits / (hits.len() as f64).sqrt();
            for hit in hits {
                *votes.entry(hit.cast_signed() - at.cast_signed()).or_default() += weight;
            }
        };
        for (at, line) in self.lines.iter().enumerate() {
            let hits = self.file.lines_with_key(line.key);
            let at_line = |hit: &u32| nonblank.partition_point(|line| *line < *hit as usize);
            vote(at, &hits.iter().take(MAX_ANCHORS + 1).map(at_line).collect::<Vec<_>>());
        }
        // The line that says most may have something put in since.
        let by_bits = |a: &usize, b: &usize| self.lines[*a].bits.total_cmp(&self.lines[*b].bits);
        if let Some(at) = (0..self.lines.len()).max_by(by_bits)
            && budget::spend(nonblank.len()).is_ok()
        {
            let text = self.lines[at].text.trim();
            let has_grown = |hit: &usize| {
                let there = self.file.body(nonblank[*hit]);
                there.len() > text.len() && has_grown(text, there.trim())
            };
            vote(at, &(0..nonblank.len()).filter(has_grown).collect::<Vec<_>>());
        }
        let mut bands: Vec<(Range<isize>, f64)> = Vec::new();
        for (diagonal, weight) in votes {
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
        // Of equal ones, the upper comes first.
        bands.sort_by(|a, b| b.1.total_cmp(&a.1));
        bands
    }

    /// The best alignments with the file between two diagonals, as links of lines that are not blank.
    fn align(&self, band: Range<isize>) -> Vec<Vec<Link>> {
        const NEVER: f64 = f64::NEG_INFINITY;
        let (count, nonblank) = (self.lines.len(), self.file.nonblank_lines());
        let width = usize::try_from(band.end - band.start).unwrap_or(1);
        if count.saturating_mul(width) > MAX_CELLS || budget::spend(8 * count * width).is_err() {
            return Vec::new();
        }
        let line_at = |at: usize, d: usize| {
            (at + d).checked_add_signed(band.start).filter(|&n| n < nonblank.len())
        };
        let mut file_words: HashMap<usize, Words> = HashMap::new();
        let mut best = vec![0.0; width + 1];
        let mut steps = vec![Step::None; count * (width + 1)];
        for (at, from) in steps.chunks_mut(width + 1).enumerate() {
            let line = &self.lines[at];
            let mut row = vec![NEVER; width + 1];
            let mut offer = |row: &mut [f64], d: usize, score: f64, step: Step| {
                if score > row[d] {
                    (row[d], from[d]) = (score, step);
                }
            };
            for d in 0..=width {
                let pair = line_at(at, d).and_then(|n| self.pair_score(at, n, &mut file_words));
                if let Some(score) = pair {
                    offer(&mut row, d, best[d] + score, Step::Pair);
                }
                if d < width {
                    let missing = loose_cost(line.is_comment, MISSING);
                    let score = best[d + 1] - missing - LOST * line.bits - line.change;
                    offer(&mut row, d, score, Step::Missing);
                }
            }
            // Below the last line, the file has no line more.
            let last = if at + 1 < count { width } else { 0 };
            for d in 1..=last {
                let is_comment =
                    line_at(at + 1, d - 1).is_some_and(|n| self.file.is_comment(nonblank[n]));
                let score = row[d - 1] - loose_cost(is_comment, EXTRA);
                offer(&mut row, d, score, Step::Extra);
            }
            best = row;
        }
        let top = best.iter().copied().fold(NEVER, f64::max);
        let mut ends: Vec<usize> =
            (0..=width).filter(|&d| best[d] > (top - RIVAL).min(RIVAL_SHARE * top)).collect();
        ends.sort_by(|&a, &b| best[b].total_cmp(&best[a]));
        let mut out: Vec<Vec<Link>> = Vec::new();
        for links in ends.into_iter().filter_map(|d| self.trace(&steps, width, d, band.start)) {
            let span = |links: &[Link]| links[0].lines.start..links[links.len() - 1].lines.end;
            // The same lines in a worse alignment are no other place.
            let is_seen = out.iter().any(|seen| overlap(&span(seen), &span(&links)));
            if out.len() < MAX_ALIGNMENTS && !is_seen {
                out.push(links);
            }
        }
        out
    }

    /// The links of the alignment that ends on a diagonal.
    fn trace(&self, steps: &[Step], width: usize, mut d: usize, start: isize) -> Option<Vec<Link>> {
        let mut at = self.lines.len();
        let mut links = Vec::new();
        while at > 0 {
            match steps[(at - 1) * (width + 1) + d] {
                Step::Pair => {
                    at -= 1;
                    links.push(self.link(at, (at + d).checked_add_signed(start)?));
                }
                Step::Missing => (at, d) = (at - 1, d + 1),
                Step::Extra => d -= 1,
                Step::None => return None,
            }
        }
        links.reverse();
        (!links.is_empty()).then_some(links)
    }

    /// The link with non-blank line `n` of the file; of a first or last line, with the part it quotes.
    fn link(&self, at: usize, n: usize) -> Link {
        let (file, text, line) = (self.file, &self.lines[at], self.file.nonblank_lines()[n]);
        let mut link = Link::new(file, text.old..text.old + 1, line..line + 1);
        if text.key == file.keys()[line] || !self.is_part(at, n) {
            return link;
        }
        let Range { start, end } = link.bytes.clone();
        let count = text.lax.len();
        if at == 0 {
            let head = head_offset(file, line, self.lax_there(n).len() - count);
            link.bytes.start = head.unwrap_or(start);
        } else {
            let closing = text.text.trim_end().chars().next_back();
            link.bytes.end = tail_offset(file, line, count, closing).unwrap_or(end);
        }
        link
    }

    /// The lax key of non-blank line `n` of the file.
    fn lax_there(&self, n: usize) -> &str {
        let joined = self.file.joined();
        &joined.text[joined.starts[n]..joined.starts[n + 1]]
    }

    /// Whether a first line is the end of line `n`, or a last one its beginning.
    fn is_part(&self, at: usize, n: usize) -> bool {
        let (line, there) = (&self.lines[at], self.lax_there(n));
        let fits = match at {
            0 => indent_of(line.text).is_empty() && there.ends_with(&line.lax),
            _ => at + 1 == self.lines.len() && there.starts_with(&line.lax),
        };
        fits && line.may_be_part
    }

    /// What it is worth to take a line for non-blank line `n` of the file; `None` if they are not alike.
    fn pair_score(
        &self,
        at: usize,
        n: usize,
        file_words: &mut HashMap<usize, Words>,
    ) -> Option<f64> {
        let (file, text) = (self.file, &self.lines[at]);
        let line = file.nonblank_lines()[n];
        let bits = text.bits + 1.0;
        if text.key == file.keys()[line] {
            return Some(bits);
        }
        if text.new_key == Some(file.keys()[line]) {
            return Some(-STALE);
        }
        if self.is_part(at, n) {
            return Some(bits - PART);
        }
        let (lax, there) = (text.lax.as_str(), self.lax_there(n));
        let is_near = lax.len().abs_diff(there.len()) <= lax.len().max(12);
        let similarity = match is_near {
            true => text
                .words
                .similarity(file_words.entry(n).or_insert_with(|| Words::of(file.body(line)))),
            false => 0.0,
        };
        if is_damaged(file.body(line).trim(), text.text.trim()) {
            return Some(bits - Difference::LookAlikes.cost());
        }
        let are_comments = is_near && text.is_comment && file.is_comment(line);
        let is_in = is_near && lax.len() > 3 && lax.contains(is_word_char);
        if similarity >= 0.5
            || are_comments
            || is_in && has_grown(text.text.trim(), file.body(line).trim())
        {
            let price = loose_cost(are_comments, Difference::Words.cost());
            return Some(-price - LOST * bits * (1.0 - similarity) - text.change);
        }
        // Only one of them may have a comment behind it.
        let has_same_code = (there.starts_with(lax) || lax.starts_with(there))
            && is_misquoted_comment(file, text.text, line, file.body(line));
        has_same_code.then(|| -Difference::Comment.cost() - text.change)
    }
}

/// The words of a line, sorted, for a quick comparison.
#[derive(Debug)]
pub(in crate::matching) struct Words {
    keys: Vec<(u64, u32)>,
    weight: u32,
}

impl Words {
    /// The words and marks of a line.
    pub(in crate::matching) fn of(line: &str) -> Self {
        let weight = |word: &str| u32::try_from(word.len()).unwrap_or(u32::MAX / 2) + 1;
        let words = words(line).map(|word| (plain_key(word), weight(word)));
        let marks = line.chars().filter(|c| !c.is_whitespace() && !is_word_char(*c));
        let marks = marks.map(|c| (u64::from(u32::from(c)), 1));
        let mut keys: Vec<(u64, u32)> = words.chain(marks).collect();
        keys.sort_unstable();
        let weight = keys.iter().map(|(_, weight)| weight).sum();
        Self { keys, weight }
    }

    /// The share of words and marks that two lines have in common, weighted by length.
    pub(in crate::matching) fn similarity(&self, other: &Self) -> f64 {
        let mut others = other.keys.iter().peekable();
        let is_shared = |key: &&(u64, u32)| {
            while others.next_if(|other| other < key).is_some() {}
            others.next_if(|other| other == key).is_some()
        };
        let same: u32 = self.keys.iter().filter(is_shared).map(|(_, weight)| weight).sum();
        match self.weight + other.weight {
            0 => 0.0,
            both => 2.0 * f64::from(same) / f64::from(both),
        }
    }
}
