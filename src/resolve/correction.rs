//! Checks the place that a model points at: byte-exact in the file, as often as
//! expected, inside what was shown, where our own search looked first, and related to
//! `old_str` by containment.

use std::collections::HashMap;
use std::ops::Range;

use super::survey::Survey;
use crate::edit::{EditRequest, Expected};
use crate::port::Reply;
use crate::text::Snapshot;

/// The share of the rarer words of one text that must be in the other.
const MIN_SHARED: f64 = 0.5;
/// The place must be more similar to `old_str` than any other region by this much.
const MIN_LEAD: f64 = 0.02;

/// A correction that passed the checks.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) ranges: Vec<Range<usize>>,
}

/// Why an answer was rejected.
#[derive(Debug)]
pub(super) enum Rejection {
    /// The text occurs more often than expected, at these lines.
    TooOften(Vec<usize>),
    /// Anything else, in words.
    Other(String),
}

fn reject<T>(why: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::Other(why.into()))
}

/// Where `text` occurs, without overlaps.
pub(super) fn occurrences(text: &str, file: &str) -> Vec<Range<usize>> {
    if text.is_empty() {
        return Vec::new();
    }
    let finder = memchr::memmem::Finder::new(text);
    finder.find_iter(file.as_bytes()).map(|at| at..at + text.len()).collect()
}

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
        _ => return reject("the answer is not a text"),
    };
    if text.contains('\0') {
        return reject("the answer holds a NUL character");
    }
    if text.len() > request.old.len().saturating_mul(4) + 1024 {
        return reject(format!("the answer is {} bytes long, far more than old_str", text.len()));
    }
    let file = snapshot.text();
    let line = |range: &Range<usize>| snapshot.lines().number_at(range.start);
    // Lines that are named need no copied text.
    let named = place.and_then(|place| {
        let window = survey.shown.get(place.window.checked_sub(1)?)?;
        lines(snapshot, place.start_line, place.end_line)
            .filter(|range| window.start <= range.start && range.end <= window.end)
    });
    if text.trim().is_empty() && named.is_none() {
        return reject("the answer is blank");
    }
    let trimmed = text.trim_matches('\n');
    let crlf = || trimmed.replace("\r\n", "\n").replace('\n', "\r\n");
    let mut found = occurrences(trimmed, file);
    if found.is_empty() && file.contains("\r\n") {
        found = occurrences(&crlf(), file);
    }
    if found.is_empty()
        && let Some(range) = named
    {
        let copied =
            trimmed.is_empty() || shared_weight(trimmed, &file[range.clone()], file) >= MIN_SHARED;
        if !copied {
            return reject("the text of the answer is not at the lines that it names");
        }
        found = vec![range];
    }
    if found.is_empty() {
        return reject("the answer is not in the file byte for byte");
    }
    match request.expected {
        Expected::Exactly(count) if found.len() > count.get() => {
            return Err(Rejection::TooOften(found.iter().map(line).collect()));
        }
        Expected::Exactly(count) if found.len() < count.get() => {
            return reject(format!("the answer occurs {} times, expected {count}", found.len()));
        }
        _ => {}
    }
    // The answer says where; what it says beyond the lines that were shown is not used.
    for range in &mut found {
        let shown = survey.shown.iter().map(|w| w.start.max(range.start)..w.end.min(range.end));
        match shown.filter(|part| part.start < part.end).max_by_key(Range::len) {
            Some(part) => *range = part,
            None => return reject(format!("line {} was not shown", line(range))),
        }
    }
    if let Some(range) = found.iter().find(|range| splits_word(file, range)) {
        return reject(format!("the answer cuts a word in two at line {}", line(range)));
    }
    let overlaps = |region: &Range<usize>| {
        found.iter().any(|range| region.start < range.end && range.start < region.end)
    };
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        survey.regions.iter().partition(|region| overlaps(&region.range));
    let score = here.iter().map(|region| region.score).fold(0.0, f64::max);
    if let Some(rival) = elsewhere.iter().find(|rival| rival.score > score - MIN_LEAD) {
        return reject(format!("line {} is at least as near to old_str", line(&rival.range)));
    }
    let found = widen_to_region(found, survey, file);
    for range in &found {
        let shared = shared_weight(&request.old, &file[range.clone()], file);
        if shared < MIN_SHARED {
            return reject(format!(
                "that place and old_str have only {:.0} % of their rarer words in common",
                shared * 100.0
            ));
        }
    }
    Ok(Accepted { ranges: found })
}

/// Widens the place to the whole region that our own search found around it: the model says where,
/// and the lines of the call say how far.
fn widen_to_region(found: Vec<Range<usize>>, survey: &Survey, text: &str) -> Vec<Range<usize>> {
    let [range] = &found[..] else { return found };
    let overlaps = |region: &&Range<usize>| region.start < range.end && range.start < region.end;
    let Some(region) = survey.regions.iter().map(|region| &region.range).find(overlaps) else {
        return found;
    };
    let end = text[..region.end].trim_end_matches(['\n', '\r']).len();
    let wide = range.start.min(region.start)..range.end.max(end);
    std::iter::once(wide).collect()
}

/// The share of one text's words, weighted by rarity, that is in the other; the larger of both
/// directions.
fn shared_weight(a: &str, b: &str, file: &str) -> f64 {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for word in words(file) {
        *count.entry(word).or_default() += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of words")]
    let weight = |word: &str| 1.0 / (1.0 + count.get(word).copied().unwrap_or(0) as f64).sqrt();
    let share_in = |one: &str, other: &str| {
        let known: std::collections::HashSet<&str> = words(other).collect();
        let all: std::collections::HashSet<&str> = words(one).collect();
        let total: f64 = all.iter().map(|word| weight(word)).sum();
        let shared: f64 =
            all.iter().filter(|word| known.contains(*word)).map(|word| weight(word)).sum();
        if total == 0.0 { 0.0 } else { shared / total }
    };
    // Letters count as well as words: one wrong letter makes another word.
    let letters =
        |text: &str| text.chars().filter(|c| !c.is_whitespace()).take(4_000).collect::<Vec<_>>();
    let (x, y) = (letters(a), letters(b));
    let alike = rapidfuzz::distance::levenshtein::normalized_similarity(x.iter(), y.iter());
    share_in(a, b).max(share_in(b, a)).max(alike)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The range of whole lines, without the last line's ending.
fn lines(snapshot: &Snapshot, start: usize, end: usize) -> Option<Range<usize>> {
    let index = snapshot.lines();
    if start == 0 || end < start {
        return None;
    }
    let first = index.line(snapshot.text(), start)?;
    let last = index.line(snapshot.text(), end)?;
    Some(first.body.start..last.body.end)
}

fn splits_word(file: &str, range: &Range<usize>) -> bool {
    let word = |c: Option<char>| c.is_some_and(is_word);
    let (before, inside, after) = (&file[..range.start], &file[range.clone()], &file[range.end..]);
    word(before.chars().next_back()) && word(inside.chars().next())
        || word(inside.chars().next_back()) && word(after.chars().next())
}
