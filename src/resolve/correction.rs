//! Checks the text that a model gives in place of `old_str`: it must be in the file byte for byte and
//! as often as expected, inside what the model was shown, at the region that our own search ranks
//! first, and similar to `old_str`.

use std::collections::HashMap;
use std::ops::Range;

use super::survey::Survey;
use crate::edit::{EditRequest, Expected};
use crate::port::Reply;
use crate::text::Snapshot;

/// How much of `old_str` and the text in the file must agree, as [`shared_weight`] measures it.
const MIN_SHARED: f64 = 0.5;
/// By how much the region of the answer must be more similar to `old_str` than any other region.
const MIN_LEAD: f64 = 0.02;

/// A correction that passed the checks.
#[derive(Debug)]
pub(super) struct Accepted {
    /// The bytes of the file that the corrected `old_str` stands for.
    pub(super) ranges: Vec<Range<usize>>,
}

/// Why an answer was rejected.
#[derive(Debug)]
pub(super) enum Rejection {
    /// The text occurs more often than expected, at these lines.
    TooOften(Vec<usize>),
    /// Any other reason, in words.
    Other(String),
}

fn reject<T>(why: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::Other(why.into()))
}

/// The byte ranges at which `text` occurs in the file, without overlaps.
pub(super) fn occurrences(text: &str, file: &str) -> Vec<Range<usize>> {
    if text.is_empty() {
        return Vec::new();
    }
    let finder = memchr::memmem::Finder::new(text);
    finder.find_iter(file.as_bytes()).map(|at| at..at + text.len()).collect()
}

/// Checks a model's answer and returns the places in the file that it stands for.
pub(super) fn check_correction(
    request: &EditRequest,
    snapshot: &Snapshot,
    survey: &Survey,
    reply: &Reply,
) -> Result<Accepted, Rejection> {
    let (text, place) = match reply {
        Reply::Text(text) => (text.as_str(), None),
        Reply::Located { text, place } => (text.as_str(), Some(place)),
        Reply::WithNew { text, place, .. } => (text.as_str(), place.as_ref()),
        _ => return reject("the answer is not text"),
    };
    if text.contains('\0') {
        return reject("the answer contains a NUL character");
    }
    if text.len() > request.old.len().saturating_mul(4) + 1024 {
        return reject(format!("the answer is {} bytes long, far more than old_str", text.len()));
    }
    let file = snapshot.text();
    let line_number = |range: &Range<usize>| snapshot.lines().number_at(range.start);
    // An answer may name line numbers in place of the text.
    let named_lines = place.and_then(|place| {
        let window = survey.shown.get(place.window.checked_sub(1)?)?;
        line_range(snapshot, place.start_line, place.end_line)
            .filter(|range| window.start <= range.start && range.end <= window.end)
    });
    if text.trim().is_empty() && named_lines.is_none() {
        return reject("the answer is blank");
    }
    let trimmed = text.trim_matches('\n');
    let mut found = occurrences(trimmed, file);
    if found.is_empty() && file.contains("\r\n") {
        let with_crlf = trimmed.replace("\r\n", "\n").replace('\n', "\r\n");
        found = occurrences(&with_crlf, file);
    }
    if found.is_empty()
        && let Some(range) = named_lines
    {
        let is_similar =
            trimmed.is_empty() || shared_weight(trimmed, &file[range.clone()], file) >= MIN_SHARED;
        if !is_similar {
            return reject("the text of the answer is not at the lines that it names");
        }
        found = vec![range];
    }
    if found.is_empty() {
        return reject("the answer is not in the file byte for byte");
    }
    match request.expected {
        Expected::Exactly(count) if found.len() > count.get() => {
            return Err(Rejection::TooOften(found.iter().map(line_number).collect()));
        }
        Expected::Exactly(count) if found.len() < count.get() => {
            return reject(format!("the answer occurs {} times, expected {count}", found.len()));
        }
        _ => {}
    }
    // Use only the part of each place that the model was shown.
    for range in &mut found {
        let shown_parts = survey
            .shown
            .iter()
            .map(|window| window.start.max(range.start)..window.end.min(range.end));
        match shown_parts.filter(|part| part.start < part.end).max_by_key(Range::len) {
            Some(part) => *range = part,
            None => return reject(format!("line {} was not shown", line_number(range))),
        }
    }
    if let Some(range) = found.iter().find(|range| splits_word(file, range)) {
        return reject(format!("the answer cuts a word in two at line {}", line_number(range)));
    }
    let overlaps_answer = |region: &Range<usize>| {
        found.iter().any(|range| region.start < range.end && range.start < region.end)
    };
    let (answered, others): (Vec<_>, Vec<_>) =
        survey.regions.iter().partition(|region| overlaps_answer(&region.range));
    let score = answered.iter().map(|region| region.score).fold(0.0, f64::max);
    if let Some(rival) = others.iter().find(|rival| rival.score > score - MIN_LEAD) {
        return reject(format!(
            "line {} is at least as similar to old_str",
            line_number(&rival.range)
        ));
    }
    let found = widen_to_region(found, survey, file);
    for range in &found {
        let shared = shared_weight(&request.old, &file[range.clone()], file);
        if shared < MIN_SHARED {
            return reject(format!(
                "old_str and the text there share only {:.0} % of their content, in which rare words count more",
                shared * 100.0
            ));
        }
    }
    Ok(Accepted { ranges: found })
}

/// Widens a single place to the whole region that our own search found around it, because a model
/// often gives only part of the text.
fn widen_to_region(found: Vec<Range<usize>>, survey: &Survey, text: &str) -> Vec<Range<usize>> {
    let [range] = &found[..] else { return found };
    let overlaps = |region: &&Range<usize>| region.start < range.end && range.start < region.end;
    let Some(region) = survey.regions.iter().map(|region| &region.range).find(overlaps) else {
        return found;
    };
    let end = text[..region.end].trim_end_matches(['\n', '\r']).len();
    let widened = range.start.min(region.start)..range.end.max(end);
    std::iter::once(widened).collect()
}

/// How much two texts agree, from 0 to 1: the highest of the share of the words of `a` that `b` has,
/// the share of the words of `b` that `a` has, and the similarity of their letters. Words that are
/// rare in the file weigh more.
fn shared_weight(a: &str, b: &str, file: &str) -> f64 {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in words(file) {
        *counts.entry(word).or_default() += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of words")]
    let weight = |word: &str| 1.0 / (1.0 + counts.get(word).copied().unwrap_or(0) as f64).sqrt();
    let share_in = |text: &str, other: &str| {
        let text_words: std::collections::HashSet<&str> = words(text).collect();
        let other_words: std::collections::HashSet<&str> = words(other).collect();
        let total: f64 = text_words.iter().map(|word| weight(word)).sum();
        let common = text_words.iter().filter(|word| other_words.contains(*word));
        let shared: f64 = common.map(|word| weight(word)).sum();
        if total == 0.0 { 0.0 } else { shared / total }
    };
    // Letters count as well, because one wrong letter makes a different word.
    let letters =
        |text: &str| text.chars().filter(|c| !c.is_whitespace()).take(4_000).collect::<Vec<_>>();
    let (letters_a, letters_b) = (letters(a), letters(b));
    let letter_similarity =
        rapidfuzz::distance::levenshtein::normalized_similarity(letters_a.iter(), letters_b.iter());
    share_in(a, b).max(share_in(b, a)).max(letter_similarity)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word_char(c)).filter(|word| !word.is_empty())
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The byte range of the lines from `start` to `end`, without the last line's ending; `None` if the
/// file does not have these lines.
fn line_range(snapshot: &Snapshot, start: usize, end: usize) -> Option<Range<usize>> {
    let index = snapshot.lines();
    if start == 0 || end < start {
        return None;
    }
    let first = index.line(snapshot.text(), start)?;
    let last = index.line(snapshot.text(), end)?;
    Some(first.body.start..last.body.end)
}

/// Whether a range starts or ends inside a word.
fn splits_word(file: &str, range: &Range<usize>) -> bool {
    let is_in_word = |c: Option<char>| c.is_some_and(is_word_char);
    let (before, inside, after) = (&file[..range.start], &file[range.clone()], &file[range.end..]);
    is_in_word(before.chars().next_back()) && is_in_word(inside.chars().next())
        || is_in_word(inside.chars().next_back()) && is_in_word(after.chars().next())
}
