//! The checks on a corrected `old_str`: byte-exact in the file, as often as expected,
//! inside what was shown, near to what the caller wrote, and nowhere nearer elsewhere.

use std::ops::Range;

use super::nearness::{alike, best_part, folded};
use super::survey::Survey;
use super::tokens::is_word;
use crate::edit::{EditRequest, Expected};
use crate::port::Reply;
use crate::text::Snapshot;

/// Less alike than this is another text, not a correction.
const LEAST_ALIKE: f64 = 0.6;

/// A correction that passed.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) old: String,
    pub(super) found: Vec<Range<usize>>,
}

/// Why a correction did not pass.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It occurs more often than expected, at these lines.
    TooOften(Vec<usize>),
    /// Anything else, in words.
    Other(String),
}

fn other<T>(why: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Other(why.into()))
}

/// Where `text` stands, without overlaps.
pub(super) fn occurrences(text: &str, file: &str) -> Vec<Range<usize>> {
    if text.is_empty() {
        return Vec::new();
    }
    let finder = memchr::memmem::Finder::new(text);
    finder.find_iter(file.as_bytes()).map(|at| at..at + text.len()).collect()
}

pub(super) fn check(
    request: &EditRequest,
    snapshot: &Snapshot,
    survey: &Survey,
    reply: &Reply,
) -> Result<Accepted, Trouble> {
    let (text, place) = match reply {
        Reply::Text(text) => (text, None),
        Reply::Located { text, place } => (text, Some(place)),
        _ => return other("the answer is not a text"),
    };
    if text.contains('\0') {
        return other("the answer holds a NUL character");
    }
    if text.len() > request.old.len().saturating_mul(4) + 1024 {
        return other(format!("the answer is {} bytes long, far more than old_str", text.len()));
    }
    if text.trim().is_empty() {
        return other("the answer is blank");
    }
    let file = snapshot.text();
    let mut old = fitted(&request.old, text).to_owned();
    let mut found = occurrences(&old, file);
    if found.is_empty() {
        // The file's own bytes for the same lines: its line endings, or the lines named.
        let named = place.and_then(|p| {
            let window = survey.shown.get(p.window.checked_sub(1)?)?;
            lines(snapshot, p.start_line, p.end_line, request.old.ends_with('\n'))
                .filter(|range| window.start <= range.start && range.end <= window.end)
        });
        let crlf = (file.contains("\r\n") && !old.contains('\r'))
            .then(|| old.replace('\n', "\r\n"))
            .filter(|text| file.contains(text.as_str()));
        match (crlf, named) {
            (Some(text), _) => old = text,
            (None, Some(range)) => old = file[range].to_owned(),
            (None, None) => return other("the answer is not in the file byte for byte"),
        }
        found = occurrences(&old, file);
    }
    let line = |range: &Range<usize>| snapshot.lines().number_at(range.start);
    match request.expected {
        Expected::Exactly(count) if found.len() > count.get() => {
            return Err(Trouble::TooOften(found.iter().map(line).collect()));
        }
        Expected::Exactly(count) if found.len() < count.get() => {
            return other(format!("the answer occurs {} times, expected {count}", found.len()));
        }
        _ => {}
    }
    if let Some(range) = found.iter().find(|range| !survey.shows(range)) {
        return other(format!("line {} was not shown", line(range)));
    }
    if let Some(range) = found.iter().find(|range| cuts_a_word(file, range)) {
        return other(format!("the answer cuts a word in two at line {}", line(range)));
    }
    near_enough(request, snapshot, survey, &old, &found)?;
    Ok(Accepted { old, found })
}

/// The text must be near to `old_str`, and no other place of the file as near.
fn near_enough(
    request: &EditRequest,
    snapshot: &Snapshot,
    survey: &Survey,
    old: &str,
    found: &[Range<usize>],
) -> Result<(), Trouble> {
    let plain = super::escapes::unescaped(&request.old);
    let wanted = [folded(&request.old), folded(&plain)];
    let answer = folded(old);
    let near = wanted.iter().map(|wanted| alike(wanted, &answer)).fold(0.0, f64::max);
    if near < LEAST_ALIKE {
        return other(format!("the answer is only {:.0} % like old_str", near * 100.0));
    }
    // Both sides are measured on whole lines, so that a shorter answer has no advantage.
    let index = snapshot.lines();
    let first = found.first().cloned().unwrap_or(0..0);
    let whole = index.start(index.number_at(first.start))
        ..index.start(index.number_at(first.end.max(1) - 1) + 1);
    let here = folded(&snapshot.text()[whole]);
    let here = wanted.iter().map(|wanted| best_part(wanted, &here).0).fold(near, f64::max);
    let one = 1.0 / f64::from(u32::try_from(wanted[0].len().max(1)).unwrap_or(u32::MAX)) - 1e-9;
    let rival = survey.regions.iter().find(|region| {
        let apart = |range: &Range<usize>| {
            range.end <= region.range.start || region.range.end <= range.start
        };
        // One character of old_str is the least that has to speak for this place.
        here - region.score < one && found.iter().all(apart)
    });
    match rival {
        Some(rival) => other(format!(
            "line {} is at least as near to old_str",
            index.number_at(rival.range.start)
        )),
        None => Ok(()),
    }
}

/// The text without outer blanks that `old_str` does not have: they belong to the
/// lines beside it, and nothing was said about those.
fn fitted<'a>(old: &str, text: &'a str) -> &'a str {
    let head = &old[..old.len() - old.trim_start().len()];
    let tail = &old[old.trim_end().len()..];
    let own_head = &text[..text.len() - text.trim_start().len()];
    let from = match (head.is_empty(), head.contains('\n')) {
        (true, _) => own_head.len(),
        (_, false) => own_head.rfind('\n').map_or(0, |feed| feed + 1),
        (_, true) => 0,
    };
    let body_end = text.trim_end().len();
    let to = match (tail.is_empty(), tail.contains('\n')) {
        (true, _) => body_end,
        (_, false) => text[body_end..].find(['\r', '\n']).map_or(text.len(), |n| body_end + n),
        (_, true) => text.len(),
    };
    &text[from..to.max(from)]
}

/// The range of whole lines; the last line's ending belongs to it only if asked for.
fn lines(snapshot: &Snapshot, start: usize, end: usize, closed: bool) -> Option<Range<usize>> {
    let index = snapshot.lines();
    if start == 0 || end < start {
        return None;
    }
    let first = index.line(snapshot.text(), start)?;
    let last = index.line(snapshot.text(), end)?;
    Some(first.body.start..if closed { last.full().end } else { last.body.end })
}

fn cuts_a_word(file: &str, range: &Range<usize>) -> bool {
    let word = |c: Option<char>| c.is_some_and(is_word);
    let (before, inside, after) = (&file[..range.start], &file[range.clone()], &file[range.end..]);
    word(before.chars().next_back()) && word(inside.chars().next())
        || word(inside.chars().next_back()) && word(after.chars().next())
}
