//! Signs that an edit was already made. They win over a looser match, which may be a similar copy
//! of text that is gone.

use super::diff::{Event, events};
use super::file::{File, Tolerance, split};
use super::fold::is_word;
use super::outcome::new_lines;
use super::place::{self, Place, Sought};
use super::reading::Reading;

/// Runs of new lines that are looked for.
const MOST_RUNS: usize = 8;

/// The line (from 1) at which the edit was already made, if `old` is found at `tolerance` only.
pub(super) fn already_at(
    file: &File<'_>,
    reading: &Reading,
    tolerance: Tolerance,
) -> Option<usize> {
    reading.new.texts().find_map(|new| by_lines(file, &reading.old, new, tolerance))
}

fn by_lines(file: &File<'_>, old: &str, new: &str, tolerance: Tolerance) -> Option<usize> {
    let lines = new_lines(old, new);
    let old = split(old);
    let events = events(&old, &lines);
    let adds = events.iter().any(|event| matches!(event, Event::Insert(_) | Event::Change(..)));
    let keeps = events.iter().any(|event| match event {
        Event::Keep(o, n) | Event::Change(o, n) => {
            old[*o].contains(is_word) && old[*o].trim() == lines[*n].trim()
        }
        _ => false,
    });
    if !contains(&old, &lines, tolerance) {
        // If kept lines tie it to the place, the new text may match as loosely as the old text;
        // otherwise it must match more strictly.
        let upto =
            Tolerance::ALL.into_iter().take_while(|t| *t < tolerance || keeps && *t == tolerance);
        for at in upto {
            if says_enough(&lines)
                && let Some(place) = find(file, &lines, at).first()
                && !still_has_removed(file, &events, &old, place)
            {
                return Some(place.lines().start + 1);
            }
        }
    }
    if !adds {
        return None;
    }
    runs(&events, &old, &lines, file, tolerance)
}

/// Whether each run of new lines is in the file together with the kept lines around it.
fn runs(
    events: &[Event],
    old: &[&str],
    new: &[&str],
    file: &File<'_>,
    tolerance: Tolerance,
) -> Option<usize> {
    let mut found = None;
    let mut count = 0;
    let mut at = 0;
    while at < events.len() {
        let fresh = |event: &Event| {
            matches!(event, Event::Insert(_) | Event::Change(..) | Event::Delete(_))
        };
        let run = events[at..].iter().take_while(|event| fresh(event)).count();
        if run == 0 {
            at += 1;
            continue;
        }
        let line = |event: &Event| match *event {
            Event::Insert(n) | Event::Change(_, n) | Event::Keep(_, n) => Some(n),
            Event::Delete(_) => None,
        };
        let lines: Vec<usize> = events[at..at + run].iter().filter_map(line).collect();
        let (Some(&first), Some(&last)) = (lines.first(), lines.last()) else {
            at += run;
            continue;
        };
        let worded = |n: &usize| new[*n].contains(is_word);
        if !lines.iter().any(worded) {
            at += run;
            continue;
        }
        count += 1;
        if count > MOST_RUNS {
            return None;
        }
        // The nearest kept lines with words, above and below, as far as they follow.
        let kept = |event: &Event| match event {
            Event::Keep(o, n) => Some((*n, old[*o].contains(is_word))),
            _ => None,
        };
        let above = events[..at].iter().rev().map_while(kept).find(|(_, worded)| *worded);
        let below = events[at + run..].iter().map_while(kept).find(|(_, worded)| *worded);
        if above.is_none() && below.is_none() {
            return None;
        }
        let range = above.map_or(first, |(n, _)| n)..below.map_or(last, |(n, _)| n) + 1;
        let text = &new[range];
        let line = Some(text).filter(|text| !contains(old, text, tolerance)).and_then(|text| {
            let found = find(file, text, tolerance);
            let place = found.first().filter(|at| !still_has_removed(file, events, old, at))?;
            Some(place.lines().start + 1)
        });
        found = found.or(Some(line?));
        at += run;
    }
    found
}

/// Whether a line that the edit takes away is still beside a place: then the edit was not
/// made there.
fn still_has_removed(file: &File<'_>, events: &[Event], old: &[&str], place: &Place) -> bool {
    let key = |line: &str| Tolerance::Indentation.key(line);
    let removed = events.iter().filter_map(|event| match *event {
        Event::Delete(o) if old[o].contains(is_word) => Some(key(old[o])),
        _ => None,
    });
    let removed: Vec<u64> = removed.collect();
    let (start, end) = (place.lines().start, place.lines().end);
    let keys = file.keys(Tolerance::Indentation);
    let above = start.saturating_sub(removed.len())..start;
    let below = end..keys.len().min(end + removed.len());
    above.chain(below).any(|line| removed.contains(&keys[line]))
}

/// Whether lines occur among others, in order and side by side, at the tolerance.
fn contains(all: &[&str], lines: &[&str], tolerance: Tolerance) -> bool {
    let tolerance = tolerance.max(Tolerance::Indentation);
    let keys = |lines: &[&str]| -> Vec<u64> {
        let solid = lines.iter().filter(|line| !line.trim().is_empty());
        solid.map(|line| tolerance.key(line)).collect()
    };
    let sought = keys(lines);
    sought.is_empty() || !place::occurrences(&sought, &keys(all)).is_empty()
}

/// One short line occurs in many files; it proves nothing.
fn says_enough(lines: &[&str]) -> bool {
    let solid = lines.iter().filter(|line| line.contains(is_word)).count();
    let letters: usize =
        lines.iter().map(|line| line.chars().filter(|c| is_word(*c)).count()).sum();
    solid > 1 || letters >= 8
}

fn find(file: &File<'_>, lines: &[&str], tolerance: Tolerance) -> Vec<Place> {
    let mut lines = lines;
    while let [first, rest @ ..] = lines
        && first.trim().is_empty()
    {
        lines = rest;
    }
    while let [rest @ .., last] = lines
        && last.trim().is_empty()
    {
        lines = rest;
    }
    place::places(file, Sought { lines, whole_lines: true, closed: true }, tolerance).list
}

/// The line of another part of the file that has more lines of the call byte for byte than the
/// place has. Then the place is only similar, and the text that was meant has changed.
pub(super) fn nearer_twin(file: &File<'_>, old: &[&str], place: &Place) -> Option<usize> {
    let worded: Vec<usize> = (0..old.len()).filter(|&at| old[at].contains(is_word)).collect();
    if worded.len() < 3 {
        return None;
    }
    let exact = |at: usize, line: usize| file.body(line) == old[at];
    let own = worded.iter().filter(|&&at| {
        place
            .chunk_of(at)
            .is_some_and(|chunk| !chunk.lines.is_empty() && exact(at, chunk.lines.start))
    });
    let own = own.count();
    if own == worded.len() {
        return None;
    }
    let here = place.lines();
    super::nearest::regions(file, old, 4).into_iter().find_map(|region| {
        let apart = region.lines.end <= here.start || here.end <= region.lines.start;
        let same =
            worded.iter().filter(|&&at| region.pairs[at].is_some_and(|line| exact(at, line)));
        let same = same.count();
        (apart && same > own && 2 * same > worded.len()).then_some(region.lines.start + 1)
    })
}
