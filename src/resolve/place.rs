//! Finds the place that a model's answer names, and checks it: it must be inside what the model was
//! shown, as often in the file as expected, at the region that our own search ranks first, and
//! related to `old_str`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::candidates::{Candidates, overlap};
use super::words::is_word_char;
use crate::edit::{EditRequest, Expected};
use crate::port::Location;
use crate::text::{Snapshot, words};

/// How much of the rarer words of `old_str` the place must have.
const MIN_SHARED: f64 = 0.5;
/// Or how many whole lines of it; of a short one, half of its lines, but two.
const MIN_SHARED_LINES: usize = 3;
/// By how much the region of the answer must be more similar to `old_str` than any other region.
const MIN_LEAD: f64 = 0.02;

/// Why a place was rejected.
#[derive(Debug)]
pub(super) enum Rejection {
    /// The text occurs more often than expected, at these lines.
    TooOften(Vec<usize>),
    /// Any other reason, in words for the model.
    Other(String),
}

fn reject<T>(why: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::Other(why.into()))
}

/// The places in the file that an answer names, by a text of the file or by its lines. They all have
/// the same text.
pub(super) fn locate(
    request: &EditRequest,
    snapshot: &Snapshot,
    candidates: &Candidates,
    text: &str,
    place: Option<&Location>,
) -> Result<Vec<Range<usize>>, Rejection> {
    let file = snapshot.text();
    let line_number = |range: &Range<usize>| snapshot.lines().number_at(range.start);
    let is_shown = |range: &Range<usize>| {
        candidates.shown.iter().any(|s| s.start <= range.start && range.end <= s.end)
    };
    let (text, copied) = without_line_numbers(text.trim_matches('\n'));
    let named = place.map(|place| (place.start_line, place.end_line)).or(copied);
    let named_lines = match named {
        None => None,
        Some((start, end)) => match line_range(snapshot, start, end).filter(is_shown) {
            Some(range) => Some(range),
            None if text.trim().is_empty() => {
                return reject(format!("lines {start} to {end} were not shown"));
            }
            None => None,
        },
    };
    let mut found = occurrences(&text, file);
    if found.is_empty() && file.contains("\r\n") {
        found = occurrences(&text.replace("\r\n", "\n").replace('\n', "\r\n"), file);
    }
    if let Some(lines) = named_lines {
        let inside = found.iter().find(|at| lines.start <= at.start && at.end <= lines.end);
        if inside.is_none()
            && !text.trim().is_empty()
            && Weights::of(file).shared(&text, &file[lines.clone()]) < MIN_SHARED
        {
            return reject("the snippet is not at the lines that the answer names");
        }
        let range = inside.cloned().unwrap_or(lines);
        // The lines say which of several is meant, unless more than one is.
        found = match request.expected {
            Expected::Exactly(count) if count.get() == 1 => vec![range],
            _ => occurrences(&file[range.clone()], file),
        };
    } else if text.trim().is_empty() {
        return reject("the answer names no place");
    }
    if found.is_empty() {
        return reject("the snippet is not in the file character by character; name its lines");
    }
    match request.expected {
        Expected::Exactly(count) if found.len() > count.get() => {
            return Err(Rejection::TooOften(found.iter().map(line_number).collect()));
        }
        Expected::Exactly(count) if found.len() < count.get() => {
            return reject(format!("the place occurs {} times, expected {count}", found.len()));
        }
        _ => {}
    }
    if let Some(range) = found.iter().find(|range| splits_word(file, range)) {
        return reject(format!("the snippet cuts a word in two at line {}", line_number(range)));
    }
    if !found.iter().any(is_shown) {
        return reject(format!("line {} was not shown", line_number(&found[0])));
    }
    check_rank(request, snapshot, candidates, &found)?;
    let around = widened(&found, candidates);
    match is_related(request, snapshot, candidates, &around) {
        true => Ok(found),
        false => reject("that place has too little of what the edit replaces"),
    }
}

/// Whether a place has enough of `old_str`: some lines with it that are as many as those of `old_str`
/// have half of its rarer words or of those that the call keeps, or three of its lines.
fn is_related(
    request: &EditRequest,
    snapshot: &Snapshot,
    candidates: &Candidates,
    place: &Range<usize>,
) -> bool {
    let (file, index) = (snapshot.text(), snapshot.lines());
    // A comment says less than the code that it is at.
    let code = |text: &str| -> Option<String> {
        let language = request.language?;
        let lines: Vec<&str> = text.lines().map(|line| language.strip_comments(line)).collect();
        Some(lines.join("\n")).filter(|code| words(code).next().is_some())
    };
    let old = code(&request.old).unwrap_or_else(|| request.old.clone());
    // What the call replaces may be what has changed in the file.
    let new_words: HashSet<&str> = words(&request.new).collect();
    let kept: Vec<&str> = words(&old).filter(|word| new_words.contains(word)).collect();
    let lines = old.lines().filter(|line| words(line).next().is_some()).count();
    let enough_lines = MIN_SHARED_LINES.min(lines.div_ceil(2).max(2));
    let (first, last) = (index.number_at(place.start), index.number_at(place.end.max(1) - 1));
    let more = request.old.lines().count().saturating_sub(last + 1 - first);
    let shown = candidates.shown.iter().find(|shown| overlap(shown, place));
    let shown = shown.cloned().unwrap_or_else(|| place.clone());
    let weights = Weights::of(file);
    (0..=more).any(|above| {
        let start = index.start(first.saturating_sub(above).max(1)).max(shown.start);
        let end = index.start((last + more - above).min(index.total()) + 1).min(shown.end);
        let there = &file[start.min(place.start)..end.max(place.end)];
        let relation = weights.shared(&old, there).max(weights.shared(&kept.join(" "), there));
        relation >= MIN_SHARED || common_lines(&old, there) >= enough_lines
    })
}

/// Checks that no other region is at least as similar to `old_str` as that of the answer. If they
/// are alike, the one with more lines of `old_str` byte for byte is meant.
fn check_rank(
    request: &EditRequest,
    snapshot: &Snapshot,
    candidates: &Candidates,
    found: &[Range<usize>],
) -> Result<(), Rejection> {
    let file = snapshot.text();
    let is_answered =
        |region: &Range<usize>| found.iter().any(|range| overlap(region, &with_neighbours(range)));
    let (answered, others): (Vec<_>, Vec<_>) =
        candidates.regions.iter().partition(|region| is_answered(&region.range));
    let score = answered.iter().map(|region| region.score).fold(0.0, f64::max);
    let own_lines =
        answered.iter().map(|region| exact_lines(&request.old, &file[region.range.clone()]));
    let own_lines = own_lines.max().unwrap_or(0);
    // Another part of the quoted block is no rival: it is beside the place, and has other lines.
    let quoted = |range: &Range<usize>| -> HashSet<&str> {
        let lines: HashSet<&str> = file[range.clone()].lines().collect();
        let quoted = request.old.lines().filter(|line| words(line).next().is_some());
        quoted.filter(|line| lines.contains(line)).collect()
    };
    let is_other_part = |rival: &Range<usize>| {
        let holds = |shown: &Range<usize>, range: &Range<usize>| {
            shown.start <= range.start && range.end <= shown.end
        };
        found.iter().any(|place| {
            let own = quoted(place);
            candidates.shown.iter().any(|shown| holds(shown, place) && holds(shown, rival))
                && !own.is_empty()
                && own.is_disjoint(&quoted(rival))
        })
    };
    let rival = others.iter().find(|rival| {
        rival.score > score - MIN_LEAD
            && exact_lines(&request.old, &file[rival.range.clone()]) >= own_lines
            && !is_other_part(&rival.range)
    });
    match rival {
        Some(rival) => reject(format!(
            "line {} is at least as similar to what the edit replaces",
            snapshot.lines().number_at(rival.range.start)
        )),
        None => Ok(()),
    }
}

/// The first place with the whole region that our own search found around it.
pub(super) fn widened(found: &[Range<usize>], candidates: &Candidates) -> Range<usize> {
    let Some(range) = found.first().cloned() else { return 0..0 };
    if found.len() > 1 {
        return range;
    }
    let find = |range: &Range<usize>| {
        candidates.regions.iter().find(|region| overlap(&region.range, range))
    };
    match find(&range).or_else(|| find(&with_neighbours(&range))) {
        Some(region) => range.start.min(region.range.start)..range.end.max(region.range.end),
        None => range,
    }
}

/// The range with the ends of the lines beside it: a place that touches a region belongs to it.
fn with_neighbours(range: &Range<usize>) -> Range<usize> {
    range.start.saturating_sub(1)..range.end + 3
}

/// The byte ranges at which `text` occurs in the file, without overlaps.
pub(super) fn occurrences(text: &str, file: &str) -> Vec<Range<usize>> {
    if text.is_empty() {
        return Vec::new();
    }
    let finder = memchr::memmem::Finder::new(text);
    finder.find_iter(file.as_bytes()).map(|at| at..at + text.len()).collect()
}

/// The text without line numbers that were copied from what was shown, and the first and last of
/// these numbers.
fn without_line_numbers(text: &str) -> (String, Option<(usize, usize)>) {
    let mut bodies = Vec::new();
    let mut first = None;
    for (offset, line) in text.split('\n').enumerate() {
        let numbered =
            line.split_once('|').and_then(|(n, body)| Some((n.parse::<usize>().ok()?, body)));
        match numbered {
            Some((number, body)) if number == *first.get_or_insert(number) + offset => {
                bodies.push(body)
            }
            _ => return (text.to_owned(), None),
        }
    }
    let span = first.map(|first| (first, first + bodies.len() - 1));
    (bodies.join("\n"), span)
}

/// What the words of a file weigh: those that are rare in it more. One that it does not have weighs
/// like one that it has once.
struct Weights<'a>(HashMap<&'a str, usize>);

impl<'a> Weights<'a> {
    fn of(file: &'a str) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for word in words(file) {
            *counts.entry(word).or_default() += 1;
        }
        Self(counts)
    }

    /// How much of the words of `a` is in `b`, from 0 to 1.
    fn shared(&self, a: &str, b: &str) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts of words")]
        let weight =
            |word: &str| 1.0 / (1.0 + self.0.get(word).copied().unwrap_or(1) as f64).sqrt();
        let (of_a, of_b): (HashSet<&str>, HashSet<&str>) = (words(a).collect(), words(b).collect());
        let total: f64 = of_a.iter().map(|word| weight(word)).sum();
        let common: f64 = of_a.intersection(&of_b).map(|word| weight(word)).sum();
        if total == 0.0 { 0.0 } else { common / total }
    }
}

/// How many lines of `a` with a word the text `b` has, but for white space around them.
fn common_lines(a: &str, b: &str) -> usize {
    let lines: HashSet<&str> = b.lines().map(str::trim).collect();
    let own: HashSet<&str> =
        a.lines().map(str::trim).filter(|line| words(line).next().is_some()).collect();
    own.intersection(&lines).count()
}

/// How many lines of `a` the text `b` has byte for byte.
fn exact_lines(a: &str, b: &str) -> usize {
    let lines: HashSet<&str> = b.lines().collect();
    a.lines().filter(|line| !line.trim().is_empty() && lines.contains(line)).count()
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
