//! Finds the regions of the file that are most similar to a text. The alignment of stale calls
//! starts from them; [`rank`](super::rank) puts them in order for refusals and models. A region
//! alone is never a match.
//!
//! Lines and words of the text that are rare in the file vote for where it is; the
//! places with the most votes are compared line by line. The work grows with file and
//! text, not with their product.

use std::collections::HashMap;
use std::ops::Range;

use rapidfuzz::distance::{indel, lcs_seq, levenshtein};

use super::budget;
use super::diff;
use super::fold::{is_word_char, plain_key};
use super::source_file::{BLANK_LINE_KEY, MAX_POSITIONS, SourceFile, line_key};
use super::tokens::words;
use crate::edit::{Difference, Near};

/// The most starts by votes that are compared line by line.
pub(super) const MAX_REGIONS: usize = 12;
/// The most characters of a line that are compared letter by letter.
const MAX_LINE_CHARS: usize = 600;
/// The most lines of the text that are compared letter by letter with every line of the file.
const MAX_BY_LETTERS: usize = 3;
/// The most lines of the file that are starts for one line that is compared letter by letter.
const MAX_STARTS: usize = 4;
/// The most lines of a text that vote for its place; of a longer text only every second, third, …
/// line votes.
const MAX_VOTING_LINES: usize = 20_000;
/// The most lines that one search compares over all regions: for a longer text it compares fewer
/// regions.
const MAX_COMPARED_LINES: usize = 400_000;
/// The most pairs of lines that one search compares letter by letter. Beyond this limit, which
/// lines in another order may reach, only equal lines are paired.
const MAX_SIMILARITY_PAIRS: usize = 200_000;
/// How far above and below a region lines are added that are parts of lines of the text.
const MAX_SPLIT_LINES: usize = 40;
/// In a text of several lines, lines are paired if they are at least this similar.
const MIN_PAIR_SIMILARITY: f64 = 0.45;
/// A region less similar than this is dropped.
const MIN_SCORE: f64 = 0.15;

/// A region of the file, paired with the lines of a text.
#[derive(Debug, Clone, PartialEq)]
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

/// The regions most similar to a text, best first; no two of them overlap.
pub(super) fn regions(file: &SourceFile<'_>, text: &[&str], max_count: usize) -> Vec<Region> {
    let nonblank: Vec<usize> = (0..text.len()).filter(|&at| !text[at].trim().is_empty()).collect();
    if nonblank.is_empty() || file.nonblank_lines().is_empty() {
        return Vec::new();
    }
    let mut pairs_left = MAX_SIMILARITY_PAIRS;
    let mut by_score: Vec<Region> = likely_starts(file, text, &nonblank)
        .into_iter()
        .take((MAX_COMPARED_LINES / text.len()).max(2))
        .filter_map(|start| region_at(file, text, &nonblank, start, &mut pairs_left))
        .filter(|region| region.score >= MIN_SCORE)
        .collect();
    by_score.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.lines.start.cmp(&b.lines.start)));
    let mut out: Vec<Region> = Vec::new();
    for region in by_score {
        let overlaps = |seen: &Region| {
            seen.lines.start < region.lines.end && region.lines.start < seen.lines.end
        };
        if out.len() < max_count && !out.iter().any(overlaps) {
            out.push(region);
        }
    }
    out
}

/// The lines of the file at which the text is likely to begin, by the votes of its rare lines and
/// words. Negative if the text would begin above the file.
fn likely_starts(file: &SourceFile<'_>, text: &[&str], nonblank: &[usize]) -> Vec<isize> {
    let mut votes: HashMap<isize, f64> = HashMap::new();
    let mut vote = |at: usize, places: &[u32], weight: f64| {
        if places.is_empty() || places.len() > MAX_POSITIONS {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "at most MAX_POSITIONS places")]
        let weight = weight / (places.len() as f64).sqrt();
        if budget::spend(8 * places.len()).is_err() {
            return;
        }
        for place in places {
            *votes.entry(*place as isize - at.cast_signed()).or_default() += weight;
        }
    };
    for &at in nonblank.iter().step_by(nonblank.len().div_ceil(MAX_VOTING_LINES).max(1)) {
        let key = line_key(text[at]);
        let places = file.lines_with_key(key);
        if text[at].contains(is_word_char) {
            vote(at, places, 4.0);
        }
        if places.is_empty() || places.len() > MAX_POSITIONS || !text[at].contains(is_word_char) {
            for word in words(text[at]) {
                let places = file.lines_with_word(plain_key(word));
                #[expect(clippy::cast_precision_loss, reason = "the length of a word")]
                let length = word.len().min(12) as f64;
                vote(at, places, 0.1 * length);
            }
        }
    }
    // Added and removed lines move the lines below them, so neighbouring starts vote together.
    let max_offset = (text.len() / 8).clamp(1, 12).cast_signed();
    let mut ranked: Vec<(isize, f64)> =
        votes.iter().map(|(start, votes)| (*start, *votes)).collect();
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.truncate(4 * MAX_REGIONS);
    for (start, total) in &mut ranked {
        let offsets = (-max_offset..=max_offset).filter(|offset| *offset != 0);
        *total += offsets.filter_map(|offset| votes.get(&(*start + offset))).sum::<f64>() * 0.5;
    }
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut out: Vec<isize> =
        ranked.into_iter().take(MAX_REGIONS).map(|(start, _)| start).collect();
    if nonblank.len() <= MAX_BY_LETTERS || out.is_empty() {
        out.extend(starts_by_letters(file, text, nonblank));
    }
    out.dedup();
    out
}

/// The likely starts of a text whose words are all misspelt: where the file has lines whose letters
/// are like those of the text's longest lines.
fn starts_by_letters(file: &SourceFile<'_>, text: &[&str], nonblank: &[usize]) -> Vec<isize> {
    let mut longest = nonblank.to_vec();
    longest.sort_by_key(|&at| std::cmp::Reverse(text[at].trim().len()));
    longest.truncate(MAX_BY_LETTERS);
    let mut sought: Vec<SoughtLine> = longest
        .into_iter()
        .map(|at| (at, text[at].trim()))
        .filter(|(_, line)| line.len() <= MAX_LINE_CHARS && line.chars().count() >= 3)
        .map(|(at, line)| SoughtLine::new(at, line))
        .collect();
    if sought.is_empty() {
        return Vec::new();
    }
    let letters = ShortLines::of(&sought);
    let has_short = sought.iter().any(SoughtLine::is_short);
    // A line that the next one is compared together with.
    let mut waiting: Option<(usize, &str)> = None;
    for &place in file.nonblank_lines() {
        let body = file.body(place).trim();
        if body.len() > MAX_LINE_CHARS {
            continue;
        }
        if budget::spend(sought.len() * (8 + body.len() / 4)).is_err() {
            break;
        }
        let is_ascii = body.is_ascii();
        match (waiting.take(), is_ascii && has_short) {
            (None, true) => waiting = Some((place, body)),
            (Some(first), true) => letters.compare([first, (place, body)], &mut sought),
            (Some(first), false) => letters.compare([first, (0, "")], &mut sought),
            (None, false) => {}
        }
        for line in sought.iter_mut().filter(|line| !is_ascii || !line.is_short()) {
            line.compare(body, is_ascii, place);
        }
    }
    if let Some(first) = waiting {
        letters.compare([first, (0, "")], &mut sought);
    }
    let starts = sought.iter().flat_map(|line| {
        line.best.iter().map(|(_, place)| place.cast_signed() - line.at.cast_signed())
    });
    starts.collect()
}

/// A line of the text, and the lines of the file whose letters are most like its own.
struct SoughtLine<'a> {
    at: usize,
    line: &'a str,
    /// For lines of ASCII, bytes are the same letters and quicker.
    by_bytes: Option<indel::BatchComparator<u8>>,
    by_chars: indel::BatchComparator<char>,
    /// The similarity and the place of each, most similar first.
    best: Vec<(f64, usize)>,
}

impl<'a> SoughtLine<'a> {
    fn new(at: usize, line: &'a str) -> Self {
        let by_bytes = line.is_ascii().then(|| indel::BatchComparator::new(line.bytes()));
        let by_chars = indel::BatchComparator::new(line.chars());
        Self { at, line, by_bytes, by_chars, best: Vec::new() }
    }

    /// Whether [`ShortLines`] has it.
    fn is_short(&self) -> bool {
        self.line.len() <= ShortLines::MAX_BYTES && self.by_bytes.is_some()
    }

    /// The least similarity that a line of the file must have.
    fn least(&self) -> f64 {
        self.best.get(MAX_STARTS - 1).map_or(0.5, |(score, _)| *score)
    }

    /// Compares a line of the file.
    fn compare(&mut self, body: &str, is_ascii: bool, place: usize) {
        let args = indel::Args::default().score_cutoff(self.least());
        let score = match self.by_bytes.as_ref().filter(|_| is_ascii) {
            Some(comparator) => comparator.normalized_similarity_with_args(body.bytes(), &args),
            None => self.by_chars.normalized_similarity_with_args(body.chars(), &args),
        };
        if let Some(score) = score {
            self.note(score, place);
        }
    }

    /// Notes a line of the file of `len` bytes, which has `common` bytes of this line in their order.
    fn note_common(&mut self, common: u32, len: usize, place: usize) {
        let all = self.line.len() + len;
        #[expect(clippy::cast_precision_loss, reason = "lengths of lines")]
        let (all, different) = (all as f64, (all - 2 * common as usize) as f64);
        // The division is slow, and most lines are far from alike.
        let least = self.least();
        if different <= (1.0 - least) * all + 0.5 {
            let score = 1.0 - different / all;
            if score >= least {
                self.note(score, place);
            }
        }
    }

    fn note(&mut self, score: f64, place: usize) {
        let at = self.best.partition_point(|(better, _)| *better >= score);
        self.best.insert(at, (score, place));
        self.best.truncate(MAX_STARTS);
    }
}

/// The short lines of ASCII among those that are sought: lines of the file are compared with all of them
/// in one pass, two at a time, since the processor does most of that at the same time.
struct ShortLines {
    /// For each byte, where it stands in each line, one bit a place.
    places: Box<[[u64; MAX_BY_LETTERS]; 128]>,
}

impl ShortLines {
    /// A bit for each byte.
    const MAX_BYTES: usize = 64;

    fn of(sought: &[SoughtLine<'_>]) -> Self {
        let mut places = Box::new([[0; MAX_BY_LETTERS]; 128]);
        for (index, line) in sought.iter().enumerate().filter(|(_, line)| line.is_short()) {
            for (at, byte) in line.line.bytes().enumerate() {
                places[usize::from(byte)][index] |= 1 << at;
            }
        }
        Self { places }
    }

    /// Compares two lines of the file, each with its place. The second may be empty.
    fn compare(&self, lines: [(usize, &str); 2], sought: &mut [SoughtLine<'_>]) {
        let common = self.common(lines.map(|(_, body)| body));
        for ((place, body), common) in lines.into_iter().zip(common) {
            for (line, common) in sought.iter_mut().zip(common).filter(|(line, _)| line.is_short())
            {
                line.note_common(common, body.len(), place);
            }
        }
    }

    /// How many bytes two lines of ASCII have in common with each line: the length of the longest common
    /// subsequence, by Hyyrö's bit-parallel recurrence.
    fn common(&self, bodies: [&str; 2]) -> [[u32; MAX_BY_LETTERS]; 2] {
        let step = |left: &mut [u64; MAX_BY_LETTERS], byte: u8| {
            let places = &self.places[usize::from(byte & 0x7f)];
            for (left, places) in left.iter_mut().zip(places) {
                let equal = *left & places;
                *left = left.wrapping_add(equal) | (*left - equal);
            }
        };
        let [mut first, mut second] = [[u64::MAX; MAX_BY_LETTERS]; 2];
        let [one, other] = bodies.map(str::as_bytes);
        let both = one.len().min(other.len());
        for (one, other) in one.iter().zip(other) {
            step(&mut first, *one);
            step(&mut second, *other);
        }
        one[both..].iter().for_each(|byte| step(&mut first, *byte));
        other[both..].iter().for_each(|byte| step(&mut second, *byte));
        [first, second].map(|left| left.map(u64::count_zeros))
    }
}

/// The region around a likely start; `None` if no line pairs. `pairs_left` is the number of
/// pairs of lines that may still be compared.
fn region_at(
    file: &SourceFile<'_>,
    text: &[&str],
    nonblank: &[usize],
    start: isize,
    pairs_left: &mut usize,
) -> Option<Region> {
    let slack = if text.len() == 1 { 0 } else { (text.len() / 4).clamp(2, 40) };
    let total = file.lines().len();
    let from = usize::try_from(start).unwrap_or(0).saturating_sub(slack).min(total);
    let to = usize::try_from(start + text.len().cast_signed()).unwrap_or(0) + slack;
    let to = to.min(total);
    compare(file, text, nonblank, from..to, start, pairs_left)
}

/// The region that is most like the text among `lines` of the file. The text probably begins at line
/// `start`.
fn compare(
    file: &SourceFile<'_>,
    text: &[&str],
    nonblank: &[usize],
    lines: Range<usize>,
    start: isize,
    pairs_left: &mut usize,
) -> Option<Region> {
    if lines.is_empty() {
        return None;
    }
    budget::spend(4 * (lines.len() + nonblank.len())).ok()?;
    let file_keys = file.keys();
    let text_keys: Vec<u64> = nonblank.iter().map(|&at| line_key(text[at])).collect();
    let window: Vec<usize> = lines.filter(|&at| file_keys[at] != BLANK_LINE_KEY).collect();
    let window_keys: Vec<u64> = window.iter().map(|&at| file_keys[at]).collect();
    let mut paired: Vec<Option<usize>> = vec![None; nonblank.len()];
    for (a, b) in diff::common_pairs(&text_keys, &window_keys) {
        paired[a] = Some(b);
    }
    // Pairs without a word prove nothing: brackets belong to some other code.
    let is_word_pair = |(pair, &line): (&Option<usize>, &usize)| {
        pair.is_some() && text[line].contains(is_word_char)
    };
    if !paired.iter().zip(nonblank).any(is_word_pair) {
        paired.fill(None);
    }
    pair_similar_lines(file, text, nonblank, &window, &mut paired, start, pairs_left);
    let mut pairs = vec![None; text.len()];
    let (mut weighted_similarity, mut total_weight, mut equal) = (0.0, 0.0, 0);
    for (at, &line) in nonblank.iter().enumerate() {
        let text_line = text[line].trim();
        #[expect(clippy::cast_precision_loss, reason = "lengths of lines")]
        let line_weight = text_line.len().min(MAX_LINE_CHARS) as f64 + 2.0;
        total_weight += line_weight;
        if let Some(place) = paired[at].map(|b| window[b]) {
            pairs[line] = Some(place);
            let similarity = match text.len() {
                1 => partial_similarity(text_line, file.body(place).trim()),
                _ => line_similarity(file, text_line, file.body(place).trim()),
            };
            equal += usize::from(file_keys[place] == line_key(text[line]));
            weighted_similarity += line_weight * similarity;
        }
    }
    let first = pairs.iter().flatten().min().copied()?;
    let last = pairs.iter().flatten().max().copied()?;
    // Lines that only the file has lower the score a little.
    let region_len = window.iter().filter(|&&at| at >= first && at <= last).count();
    let extra = region_len.saturating_sub(nonblank.len());
    #[expect(clippy::cast_precision_loss, reason = "counts of lines")]
    let penalty = (extra as f64) / (region_len.max(1) as f64) * 0.1;
    let score = (weighted_similarity / total_weight - penalty).max(0.0);
    let lines = with_split_lines(file, text, &pairs, first..last + 1);
    Some(Region { lines, pairs, score, equal })
}

/// The lines of a region with those around it that are in lines of the text, too, but broken otherwise
/// or in another order: who copies the region has all of the text then.
fn with_split_lines(
    file: &SourceFile<'_>,
    text: &[&str],
    pairs: &[Option<usize>],
    mut lines: Range<usize>,
) -> Range<usize> {
    let dense = |line: &str| line.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let is_there =
        |at: usize| pairs[at].is_some_and(|line| dense(file.body(line)) == dense(text[at]));
    let mut left: Vec<String> =
        (0..text.len()).filter(|&at| !is_there(at)).map(|at| dense(text[at])).collect();
    let mut takes = |line: usize| {
        let line = dense(file.body(line));
        let is_part = |text: &String| *text == line || line.len() > 3 && text.contains(&line);
        let Some(at) = left.iter().position(is_part) else { return false };
        left[at] = left[at].replacen(&line, "", 1);
        !line.is_empty()
    };
    let (first, last) = (lines.start, lines.end);
    let below = (last..file.lines().len()).take(MAX_SPLIT_LINES);
    let above = (0..first).rev().take(MAX_SPLIT_LINES);
    lines.end += below.take_while(|&line| takes(line)).count();
    lines.start -= above.take_while(|&line| takes(line)).count();
    lines
}

/// Pairs each line that is not paired yet with the most similar free line between the pairs around
/// it, in order. `paired` has, for each line in `nonblank`, the index of its partner in `window`.
fn pair_similar_lines(
    file: &SourceFile<'_>,
    text: &[&str],
    nonblank: &[usize],
    window: &[usize],
    paired: &mut [Option<usize>],
    start: isize,
    pairs_left: &mut usize,
) {
    let mut at = 0;
    while at < paired.len() {
        if paired[at].is_some() {
            at += 1;
            continue;
        }
        let end = (at..paired.len()).find(|&next| paired[next].is_some()).unwrap_or(paired.len());
        // The index in the window at which a line would be if the text began at `start`.
        let expected = |index: usize| {
            let line = usize::try_from(start + nonblank[index].cast_signed()).unwrap_or(0);
            window.partition_point(|&place| place < line)
        };
        // The free lines of the window among which the lines `at..end` can have partners.
        let low = match at.checked_sub(1).and_then(|before| paired[before]) {
            Some(before) => before + 1,
            None => expected(at).saturating_sub(end - at + 2),
        };
        let high = match paired.get(end).copied().flatten() {
            Some(after) => after,
            None => (low.max(expected(end - 1) + 1) + (end - at) + 2).min(window.len()),
        };
        let mut next_free = low;
        for index in at..end {
            let line = text[nonblank[index]].trim();
            // A line may skip as many free lines as there are more of them than lines to pair, and
            // a few more.
            let lines_to_pair = end - index;
            let surplus = high.saturating_sub(next_free).saturating_sub(lines_to_pair);
            let search_end = (next_free + surplus + 6).min(high);
            match pairs_left.checked_sub(search_end.saturating_sub(next_free)) {
                Some(remaining) => *pairs_left = remaining,
                None => return,
            }
            let most_similar = (next_free..search_end)
                .map(|b| (line_similarity(file, line, file.body(window[b]).trim()), b))
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            if let Some((score, b)) = most_similar
                && (score >= MIN_PAIR_SIMILARITY || nonblank.len() == 1)
            {
                paired[index] = Some(b);
                next_free = b + 1;
            }
        }
        at = end;
    }
}

/// Pairs a text with lines of the file that are known to be meant.
pub(super) fn align_to_lines(file: &SourceFile<'_>, text: &[&str], lines: Range<usize>) -> Region {
    let nonblank: Vec<usize> = (0..text.len()).filter(|&at| !text[at].trim().is_empty()).collect();
    let start = lines.start.cast_signed();
    let mut pairs_left = MAX_SIMILARITY_PAIRS;
    match compare(file, text, &nonblank, lines.clone(), start, &mut pairs_left) {
        Some(region) => Region { lines, ..region },
        None => Region { lines, pairs: vec![None; text.len()], score: 0.0, equal: 0 },
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
    #[expect(clippy::cast_precision_loss, reason = "lengths of lines")]
    let within = 1.0 - edits as f64 / a.len().max(1) as f64;
    // A match with a part of a line counts a little less than one with the whole line.
    whole.max(within * 0.97)
}

/// How similar two texts are by their letters, from 0 to 1.
fn similarity(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let cut = |text: &'_ str| text.chars().take(MAX_LINE_CHARS).collect::<Vec<char>>();
    let (a, b) = (cut(a), cut(b));
    if budget::spend(128 + 4 * (a.len() + b.len()) + a.len() * b.len() / 64).is_err() {
        return 0.0;
    }
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let edits = levenshtein::normalized_similarity(a.iter(), b.iter());
    // Files grow after a model has read them, so a letter that the file lacks counts more than one
    // that it has in addition.
    #[expect(clippy::cast_precision_loss, reason = "lengths of lines")]
    let kept = {
        let common = lcs_seq::similarity(a.iter(), b.iter()) as f64;
        0.8 * common / a.len() as f64 + 0.2 * common / b.len() as f64
    };
    0.3 * edits + 0.7 * kept
}

/// A region in the form in which a refusal reports it.
pub(super) fn to_near(file: &SourceFile<'_>, text: &[&str], region: &Region) -> Near {
    let differs = |at: &usize| region.pairs[*at].is_none_or(|line| file.body(line) != text[*at]);
    let nonblank = (0..text.len()).filter(|&at| !text[at].trim().is_empty());
    // A difference in words says more than one in whitespace.
    let other_words = |at: &usize| {
        region.pairs[*at].is_none_or(|place| file.body(place).trim() != text[*at].trim())
    };
    let differing: Vec<usize> = nonblank.filter(differs).collect();
    let first = differing.iter().copied().find(other_words).or(differing.first().copied());
    let first_difference = first.map(|at| {
        // Where a line without a partner would be: after the partner of the nearest line above.
        let expected_place = || {
            let above = region.pairs[..at].iter().rev().flatten().next();
            above.map_or(region.lines.start, |line| line + 1)
        };
        let place =
            region.pairs[at].unwrap_or_else(|| expected_place().min(file.lines().len() - 1));
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

/// The most characters of a line that a refusal shows.
const MAX_EXCERPT: usize = 120;

/// Two lines with visible whitespace, both cut at the same place so that they show the first
/// difference.
fn excerpts(expected: &str, found: &str) -> (String, String) {
    let same = expected.chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
    let longest = expected.chars().count().max(found.chars().count());
    let from = if longest > MAX_EXCERPT { same.saturating_sub(MAX_EXCERPT / 3) } else { 0 };
    let show = |text: &str| {
        let marked = mark_whitespace(text);
        let cut: String = marked.chars().skip(from).take(MAX_EXCERPT).collect();
        let ellipsis = |is_cut: bool| if is_cut { "…" } else { "" };
        let cut_after = marked.chars().count() > from + MAX_EXCERPT;
        format!("{}{cut}{}", ellipsis(from > 0), ellipsis(cut_after))
    };
    (show(expected), show(found))
}

/// The line with `→` for a tab, `·` for a space at either end, and `␍` for a carriage return.
fn mark_whitespace(line: &str) -> String {
    let head = line.len() - line.trim_start().len();
    let tail = line.trim_end().len().max(head);
    line.char_indices()
        .map(|(at, c)| match c {
            '\t' => '→',
            '\r' => '␍',
            ' ' if at < head || at >= tail => '·',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::rank::nearest;
    use super::*;
    use crate::text::Snapshot;

    fn best(text: &str, old: &str) -> Option<Near> {
        let snapshot = Snapshot::from_text(text);
        nearest(&SourceFile::new(&snapshot, None), old, 1).pop()
    }

    #[test]
    fn one_wrong_letter_is_nearly_the_same() {
        let near = best("let timeout = Duration::x;\nother\n", "let timeout = Duration::y;");
        assert!(near.is_some_and(|near| near.score > 0.9));
        let near = best("fn a() {\n    return 1\n}\n", "retrun 1").expect("near");
        assert_eq!((near.start_line, near.score > 0.7), (2, true));
        let near = best("x\n  fetchUser(id)\ny\n", "fetchUsr(id)").expect("near");
        assert_eq!((near.start_line, near.score > 0.85), (2, true));
    }

    #[test]
    fn short_lines_have_the_letters_in_common_that_any_have() {
        let line = |seed: usize, len: usize| -> String {
            (0..len).map(|at| char::from(b"ab(c) _x"[(seed * 7 + at * at * 3 + at) % 8])).collect()
        };
        for seed in 0..200 {
            let short = [3, 40, 64].map(|len| line(seed, len));
            let bodies = [line(seed + 1, 1 + seed * 3), line(seed + 2, 300 - seed)];
            let lines: Vec<SoughtLine<'_>> =
                short.iter().map(|line| SoughtLine::new(0, line)).collect();
            let common = ShortLines::of(&lines).common([&bodies[0], &bodies[1]]);
            for (common, body) in common.into_iter().zip(&bodies) {
                let expected =
                    [0, 1, 2].map(|at: usize| lcs_seq::similarity(short[at].bytes(), body.bytes()));
                assert_eq!(common.map(|common| common as usize), expected, "{short:?} {body}");
            }
        }
    }

    #[test]
    fn a_region_has_every_line_of_the_text() {
        let file = "fn a() {\n    call(\n        first,\n        second,\n    );\n    end();\n}\n";
        let near = best(file, "    call(first, second,\n    );\n    stop();\n}").expect("near");
        assert_eq!((near.start_line, near.end_line), (2, 7));
    }

    #[test]
    fn nothing_similar_gives_no_region() {
        assert_eq!(best("alpha beta\ngamma\n", "zzz qqq 99"), None);
    }

    #[test]
    fn a_stale_line_among_right_ones_is_shown() {
        let file = "start()\nfirst = 1\ntimeout: 4500,\nlast = 2\nend()\n";
        let near = best(file, "first = 1\ntimeout: 3000,\nlast = 2").expect("near");
        assert_eq!((near.start_line, near.end_line), (2, 4));
        let difference = near.first_difference.expect("differs");
        assert_eq!((difference.line, difference.old_line), (3, 2));
        assert_eq!(difference.found, "timeout: 4500,");
    }
}
