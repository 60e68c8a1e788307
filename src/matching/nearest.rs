//! Finds the regions of the file that are most similar to a text, for refusals and models;
//! [`rank`](super::rank) puts them in order. A region alone is never a match.
//!
//! Lines and words of the text that are rare in the file vote for where it is; the
//! places with the most votes are compared line by line. The work grows with file and
//! text, not with their product.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use rapidfuzz::distance::{indel, lcs_seq, levenshtein};

use super::budget;
use super::diff;
use super::fold::{is_word_char, plain_key};
use super::source_file::{BLANK_LINE_KEY, MAX_POSITIONS, SourceFile, line_key};
use super::tokens::words;
use super::weigh::float;
use crate::edit::{Difference, Near};
use crate::text::clip;

/// The most starts by votes that are compared line by line, and the most regions.
const MAX_REGIONS: usize = 12;
/// The most characters of a line that are compared letter by letter.
const MAX_LINE_CHARS: usize = 600;
/// The most lines of the text that are compared letter by letter with every line of the file.
const MAX_BY_LETTERS: usize = 2;
/// The most lines of the file that are starts for one line that is compared letter by letter.
const MAX_STARTS: usize = 4;
/// The most lines of a text that vote for its place; of a longer one every second, third, … does.
const MAX_VOTING_LINES: usize = 20_000;
/// The most lines that one search compares: of a longer text it compares fewer regions.
const MAX_COMPARED_LINES: usize = 400_000;
/// The most pairs of lines that one search compares letter by letter; beyond, which lines in another
/// order may reach, only equal lines are paired.
const MAX_SIMILARITY_PAIRS: usize = 200_000;
/// How far above and below a region lines are added that are parts of lines of the text.
const MAX_SPLIT_LINES: usize = 40;
/// In a text of several lines, lines are paired if they are at least this similar.
const MIN_PAIR_SIMILARITY: f64 = 0.45;
/// A region less similar than this is dropped.
const MIN_SCORE: f64 = 0.15;

/// A region of the file, paired with the lines of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Region {
    /// Lines of the file, from 0.
    pub(super) lines: Range<usize>,
    /// For each line of the text, the line of the file that it is paired with.
    pub(super) pairs: Vec<Option<usize>>,
    /// The similarity of text and region, from 0 to 1.
    pub(super) score: f64,
    /// How many lines of the text, blank ones not counted, are paired with a line that differs in
    /// indentation at most.
    pub(super) equal: usize,
}

/// Whether two ranges have a line in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The regions most similar to a text, best first; no two of them overlap.
pub(super) fn regions(file: &SourceFile<'_>, text: &[&str]) -> Vec<Region> {
    let mut search = Search::new(file, text);
    let mut found: Vec<Region> = search
        .likely_starts()
        .into_iter()
        .take((MAX_COMPARED_LINES / text.len()).max(2))
        .filter_map(|start| search.region_at(start))
        .filter(|region| region.score >= MIN_SCORE)
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.lines.start.cmp(&b.lines.start)));
    let mut out: Vec<Region> = Vec::new();
    for region in found {
        if !out.iter().any(|better| overlap(&better.lines, &region.lines)) {
            out.push(region);
        }
    }
    out.truncate(MAX_REGIONS);
    out
}

/// Pairs a text with lines of the file that are known to be meant.
pub(super) fn align_to_lines(file: &SourceFile<'_>, text: &[&str], lines: Range<usize>) -> Region {
    let start = lines.start.cast_signed();
    let region = Search::new(file, text).compare(lines.clone(), start);
    let none = || Region { pairs: vec![None; text.len()], ..Region::default() };
    Region { lines, ..region.unwrap_or_else(none) }
}

/// The search for a text in a file.
struct Search<'a, 't> {
    file: &'a SourceFile<'t>,
    text: &'a [&'a str],
    /// The lines of the text that are not blank, and their keys.
    full: Vec<usize>,
    keys: Vec<u64>,
    /// How many pairs of lines may still be compared letter by letter.
    pairs_left: usize,
}

impl<'a, 't> Search<'a, 't> {
    fn new(file: &'a SourceFile<'t>, text: &'a [&'a str]) -> Self {
        let full: Vec<usize> = (0..text.len()).filter(|&at| !text[at].trim().is_empty()).collect();
        let keys = full.iter().map(|&at| line_key(text[at])).collect();
        Self { file, text, full, keys, pairs_left: MAX_SIMILARITY_PAIRS }
    }

    /// The lines of the file at which the text is likely to begin, by the votes of its rare lines and
    /// words. Negative if the text would begin above the file.
    fn likely_starts(&self) -> Vec<isize> {
        let mut votes: HashMap<isize, f64> = HashMap::new();
        // A line or word that is everywhere says nothing.
        let mut vote = |at: usize, places: &[u32], weight: f64| {
            let is_rare = (1..=MAX_POSITIONS).contains(&places.len());
            if is_rare && budget::spend(8 * places.len()).is_ok() {
                let weight = weight / float(places.len()).sqrt();
                for place in places {
                    *votes.entry(*place as isize - at.cast_signed()).or_default() += weight;
                }
            }
            is_rare
        };
        let step = self.full.len().div_ceil(MAX_VOTING_LINES).max(1);
        for (&at, &key) in self.full.iter().zip(&self.keys).step_by(step) {
            let line = self.text[at];
            if line.contains(is_word_char) && !vote(at, self.file.lines_with_key(key), 4.0) {
                for word in words(line) {
                    let places = self.file.lines_with_word(plain_key(word));
                    vote(at, places, 0.1 * float(word.len().min(12)));
                }
            }
        }
        let by_votes = |a: &(isize, f64), b: &(isize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let mut ranked: Vec<(isize, f64)> = votes.iter().map(|(at, votes)| (*at, *votes)).collect();
        ranked.sort_unstable_by(by_votes);
        ranked.truncate(4 * MAX_REGIONS);
        // Added and removed lines move the lines below them, so neighbouring starts vote together.
        let reach = (self.text.len() / 8).clamp(1, 12).cast_signed();
        for (start, total) in &mut ranked {
            let neighbours = (-reach..=reach).filter(|offset| *offset != 0);
            *total += neighbours.filter_map(|by| votes.get(&(*start + by))).sum::<f64>() * 0.5;
        }
        ranked.sort_unstable_by(by_votes);
        ranked.truncate(MAX_REGIONS);
        let mut out: Vec<isize> = ranked.into_iter().map(|(start, _)| start).collect();
        if self.full.len() <= MAX_BY_LETTERS || out.is_empty() {
            out.extend(self.starts_by_letters());
        }
        out.dedup();
        out
    }

    /// The likely starts of a text whose words are all misspelt: where the file has lines whose letters
    /// are like those of the text's longest lines.
    fn starts_by_letters(&self) -> Vec<isize> {
        let mut longest: Vec<(usize, &str)> =
            self.full.iter().map(|&at| (at, self.text[at].trim())).collect();
        longest.sort_by_key(|(_, line)| Reverse(line.len()));
        longest.truncate(MAX_BY_LETTERS);
        longest.retain(|(_, line)| line.len() <= MAX_LINE_CHARS && line.chars().count() >= 3);
        let places = self.file.nonblank_lines().iter().map(|&at| (at, self.file.body(at).trim()));
        let places: Vec<(usize, &str)> =
            places.filter(|(_, body)| body.len() <= MAX_LINE_CHARS).collect();
        let steps = places.iter().map(|(_, body)| 8 + body.len() / 4).sum();
        let mut out = Vec::new();
        for (at, line) in longest {
            if budget::spend(steps).is_err() {
                break;
            }
            // For lines of ASCII, bytes are the same letters and quicker.
            let by_bytes = indel::BatchComparator::new(line.bytes());
            let by_chars = indel::BatchComparator::new(line.chars());
            // The most similar lines of the file, best first.
            let mut best: Vec<(f64, usize)> = Vec::new();
            for &(place, body) in &places {
                let least = best.get(MAX_STARTS - 1).map_or(0.5, |(score, _)| *score);
                let args = indel::Args::default().score_cutoff(least);
                let score = match line.is_ascii() && body.is_ascii() {
                    true => by_bytes.normalized_similarity_with_args(body.bytes(), &args),
                    false => by_chars.normalized_similarity_with_args(body.chars(), &args),
                };
                if let Some(score) = score {
                    let rank = best.partition_point(|(better, _)| *better >= score);
                    best.insert(rank, (score, place));
                    best.truncate(MAX_STARTS);
                }
            }
            out.extend(best.iter().map(|(_, place)| place.cast_signed() - at.cast_signed()));
        }
        out
    }

    /// The region around a likely start; `None` if no line pairs.
    fn region_at(&mut self, start: isize) -> Option<Region> {
        let len = self.text.len().cast_signed();
        let slack = if len == 1 { 0 } else { (len / 4).clamp(2, 40) };
        let total = self.file.lines().len().cast_signed();
        let [from, to] =
            [start - slack, start + len + slack].map(|line| line.clamp(0, total).cast_unsigned());
        self.compare(from..to, start)
    }

    /// The region that is most like the text among `lines` of the file. The text probably begins at
    /// line `start`.
    fn compare(&mut self, lines: Range<usize>, start: isize) -> Option<Region> {
        let (file, text) = (self.file, self.text);
        budget::spend(4 * (lines.len() + self.full.len())).ok()?;
        let window: Vec<usize> = lines.filter(|&at| file.keys()[at] != BLANK_LINE_KEY).collect();
        let window_keys: Vec<u64> = window.iter().map(|&at| file.keys()[at]).collect();
        let mut paired: Vec<Option<usize>> = vec![None; self.full.len()];
        let equal_pairs = diff::common_pairs(&self.keys, &window_keys);
        // Pairs without a word prove nothing: brackets belong to some other code.
        if equal_pairs.iter().any(|(a, _)| text[self.full[*a]].contains(is_word_char)) {
            equal_pairs.into_iter().for_each(|(a, b)| paired[a] = Some(b));
        }
        self.pair_similar_lines(&window, &mut paired, start);
        let mut pairs = vec![None; text.len()];
        let (mut similar, mut total, mut equal) = (0.0, 0.0, 0);
        for ((&at, key), pair) in self.full.iter().zip(&self.keys).zip(&paired) {
            let line = text[at].trim();
            let weight = float(line.len().min(MAX_LINE_CHARS)) + 2.0;
            total += weight;
            let Some(place) = pair.map(|b| window[b]) else { continue };
            pairs[at] = Some(place);
            let body = file.body(place).trim();
            similar += weight
                * match text.len() {
                    1 => partial_similarity(line, body),
                    _ => line_similarity(file, line, body),
                };
            equal += usize::from(file.keys()[place] == *key);
        }
        let first = *paired.iter().flatten().min()?;
        let last = *paired.iter().flatten().max()?;
        // Lines that only the file has lower the score a little.
        let len = last - first + 1;
        let penalty = float(len.saturating_sub(self.full.len())) / float(len) * 0.1;
        let score = (similar / total - penalty).max(0.0);
        let lines = self.with_split_lines(&pairs, window[first]..window[last] + 1);
        Some(Region { lines, pairs, score, equal })
    }

    /// Pairs each line that is not paired yet with the most similar free line between the pairs around
    /// it, in order. `paired` has, for each line in `full`, the index of its partner in `window`.
    fn pair_similar_lines(&mut self, window: &[usize], paired: &mut [Option<usize>], start: isize) {
        // The index in the window at which a line would be if the text began at `start`.
        let expected = |index: usize| {
            let line = usize::try_from(start + self.full[index].cast_signed()).unwrap_or(0);
            window.partition_point(|&place| place < line)
        };
        let (mut at, mut before) = (0, None);
        while at < paired.len() {
            let mut rest = at..paired.len();
            let end = rest.find(|&next| paired[next].is_some()).unwrap_or(paired.len());
            let after = paired.get(end).copied().flatten();
            // The free lines of the window among which the lines `at..end` can have partners.
            let mut next_free = match before {
                Some(before) => before + 1,
                None => expected(at).saturating_sub(end - at + 2),
            };
            let high = after.unwrap_or_else(|| {
                (next_free.max(expected(end - 1) + 1) + (end - at) + 2).min(window.len())
            });
            for (index, pair) in (at..end).zip(&mut paired[at..end]) {
                let line = self.text[self.full[index]].trim();
                // A line may skip as many free lines as there are more of them than lines to pair,
                // and a few more.
                let surplus = high.saturating_sub(next_free).saturating_sub(end - index);
                let free = next_free..(next_free + surplus + 6).min(high);
                let Some(left) = self.pairs_left.checked_sub(free.len()) else { return };
                self.pairs_left = left;
                let most_similar = free
                    .map(|b| {
                        (line_similarity(self.file, line, self.file.body(window[b]).trim()), b)
                    })
                    .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
                if let Some((score, b)) = most_similar
                    && (score >= MIN_PAIR_SIMILARITY || self.full.len() == 1)
                {
                    *pair = Some(b);
                    next_free = b + 1;
                }
            }
            (at, before) = (end + 1, after);
        }
    }

    /// The lines of a region with those around it that are in lines of the text, too, but broken
    /// otherwise or in another order: who copies the region has all of the text then.
    fn with_split_lines(&self, pairs: &[Option<usize>], lines: Range<usize>) -> Range<usize> {
        let dense = |line: &str| line.split_whitespace().collect::<String>();
        let dense_at = |line: usize| dense(self.file.body(line));
        let lines_of_text = pairs.iter().zip(self.text).map(|(pair, line)| (pair, dense(line)));
        let mut left: Vec<String> = lines_of_text
            .filter(|(pair, line)| pair.is_none_or(|pair| dense_at(pair) != *line))
            .map(|(_, line)| line)
            .collect();
        let mut takes = |line: &usize| {
            let line = dense_at(*line);
            let is_part = |text: &String| *text == line || line.len() > 3 && text.contains(&line);
            let Some(at) = left.iter().position(is_part) else { return false };
            left[at] = left[at].replacen(&line, "", 1);
            !line.is_empty()
        };
        let below = (lines.end..self.file.lines().len()).take(MAX_SPLIT_LINES);
        let above = (0..lines.start).rev().take(MAX_SPLIT_LINES);
        let end = lines.end + below.take_while(&mut takes).count();
        lines.start - above.take_while(takes).count()..end
    }
}

/// How similar two lines are, from 0 to 1; a comment at their ends counts little.
fn line_similarity(file: &SourceFile<'_>, a: &str, b: &str) -> f64 {
    let whole = similarity(a, b);
    let Some(language) = file.language.filter(|_| whole < 0.9) else { return whole };
    let commented = |line: &str| language.comment_openers().any(|mark| line.contains(mark));
    if !commented(a) && !commented(b) {
        return whole;
    }
    let (a, b) = (language.strip_trailing_comment(a), language.strip_trailing_comment(b));
    if a.is_empty() || b.is_empty() { whole } else { whole.max(0.9 * similarity(a, b)) }
}

/// How similar a text is to a line or to the most similar part of it, from 0 to 1.
fn partial_similarity(a: &str, b: &str) -> f64 {
    let whole = similarity(a, b);
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().collect(), b.chars().take(MAX_LINE_CHARS).collect());
    if b.len() <= a.len() || a.len() > MAX_LINE_CHARS / 2 {
        return whole;
    }
    if budget::spend(a.len() * b.len()).is_err() {
        return 0.0;
    }
    // A Levenshtein distance that costs nothing before and after the matched part of `b`.
    let mut above: Vec<usize> = vec![0; b.len() + 1];
    let mut row = above.clone();
    for (i, x) in a.iter().enumerate() {
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(x != y);
            row[j + 1] = replaced.min(above[j + 1] + 1).min(row[j] + 1);
        }
        std::mem::swap(&mut above, &mut row);
    }
    let edits = above.into_iter().min().unwrap_or(a.len());
    let within = 1.0 - float(edits) / float(a.len().max(1));
    // A match with a part of a line counts a little less than one with the whole line.
    whole.max(within * 0.97)
}

/// How similar two texts are by their letters, from 0 to 1.
fn similarity(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let [a, b] = [a, b].map(|text| text.chars().take(MAX_LINE_CHARS).collect::<Vec<char>>());
    let steps = 128 + 4 * (a.len() + b.len()) + a.len() * b.len() / 64;
    if budget::spend(steps).is_err() || a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let edits = levenshtein::normalized_similarity(a.iter(), b.iter());
    // Files grow after a model has read them, so a letter that the file lacks counts more than one
    // that it has in addition.
    let common = float(lcs_seq::similarity(a.iter(), b.iter()));
    let kept = 0.8 * common / float(a.len()) + 0.2 * common / float(b.len());
    0.3 * edits + 0.7 * kept
}

/// A region in the form in which a refusal reports it.
pub(super) fn to_near(file: &SourceFile<'_>, text: &[&str], region: &Region) -> Near {
    let found = |at: usize| region.pairs[at].map(|line| file.body(line));
    let mut differing =
        (0..text.len()).filter(|&at| !text[at].trim().is_empty() && found(at) != Some(text[at]));
    // A difference in words says more than one in whitespace.
    let other_words = |at: &usize| found(*at).map(str::trim) != Some(text[*at].trim());
    let first = differing.clone().find(other_words).or_else(|| differing.next());
    let first_difference = first.map(|at| {
        let place = region.pairs[at].unwrap_or_else(|| {
            // Where a line without a partner would be: after the partner of the nearest line above.
            let above = region.pairs[..at].iter().rev().flatten().next();
            above.map_or(region.lines.start, |line| line + 1).min(file.lines().len() - 1)
        });
        let (expected, found) = excerpts(text[at], file.body(place));
        Difference { line: place + 1, old_line: at + 1, expected, found }
    });
    Near {
        start_line: region.lines.start + 1,
        end_line: region.lines.end,
        score: (region.score * 100.0).round() / 100.0,
        first_difference,
    }
}

/// Two lines with visible whitespace, both cut at the same place so that they show the first
/// difference.
fn excerpts(expected: &str, found: &str) -> (String, String) {
    /// The most characters of a line that a refusal shows.
    const MAX_CHARS: usize = 120;
    let same = expected.chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
    let longest = expected.chars().count().max(found.chars().count());
    let from = if longest > MAX_CHARS { same.saturating_sub(MAX_CHARS / 3) } else { 0 };
    let show = |text: &str| {
        let shown: String = mark_whitespace(text).skip(from).collect();
        format!("{}{}", if from > 0 { "…" } else { "" }, clip(&shown, MAX_CHARS))
    };
    (show(expected), show(found))
}

/// The line with `→` for a tab, `·` for a space at either end, and `␍` for a carriage return.
fn mark_whitespace(line: &str) -> impl Iterator<Item = char> {
    let head = line.len() - line.trim_start().len();
    let tail = line.trim_end().len().max(head);
    line.char_indices().map(move |(at, c)| match c {
        '\t' => '→',
        '\r' => '␍',
        ' ' if at < head || at >= tail => '·',
        c => c,
    })
}
