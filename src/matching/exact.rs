//! The exact rung. Where `old_str` occurs in the file as often as expected, `new_str`
//! replaces it, byte for byte; what looks odd is a warning.
//!
//! There are three exceptions, each proven by the bytes: line breaks of `new_str` take the line
//! ending that the file has there; an edit that was already made is not made twice; and escapes in
//! a place where the language allows none are undone.

use std::ops::Range;

use memchr::memmem::Finder;

use super::escaped;
use super::file::File;
use super::fold::is_word;
use super::indent;
use super::placeholder;
use super::reading;
use super::refuse;
use super::{Explained, Verdict};
use crate::edit::{EditRequest, Expected, Explanation, Refusal, Rewrite, Rung, Splice};
use crate::text::LineEnding;

/// `None` where `old_str` occurs nowhere.
pub(super) fn decide(request: &EditRequest, file: &File<'_>) -> Option<Verdict> {
    let found = places(file, &request.old);
    if found.all.is_empty() {
        return None;
    }
    Some(match choose(request, file, &request.new, &found) {
        Ok(places) => replace(request, file, &places, &found.finder),
        Err(refusal) => Verdict::Refused(refusal),
    })
}

/// Where a text occurs, without overlaps.
pub(super) struct Found<'a> {
    /// Building it costs as much as searching a small file, so it is kept.
    finder: Finder<'a>,
    pub(super) all: Vec<Range<usize>>,
    /// Whether it also occurs across two of those, or overlaps one.
    overlapping: bool,
}

/// Where a text occurs character for character.
pub(super) fn places<'a>(file: &File<'_>, old: &'a str) -> Found<'a> {
    let finder = Finder::new(old);
    let bytes = file.text.as_bytes();
    let all: Vec<Range<usize>> = finder.find_iter(bytes).map(|at| at..at + old.len()).collect();
    let overlaps = |place: &Range<usize>| {
        let to = (place.end + old.len() - 1).min(bytes.len());
        finder.find(&bytes[place.start + 1..to]).is_some_and(|at| place.start + 1 + at < place.end)
    };
    // A text can overlap itself only if a prefix of it is also a suffix. For few places, looking
    // is cheaper than checking that.
    let overlapping = (all.len() <= FEW || border(old.as_bytes())) && all.iter().any(overlaps);
    Found { finder, all, overlapping }
}

/// Up to this many places, overlaps are searched without checking that they are possible.
const FEW: usize = 2;

/// Whether some proper prefix of a text is also a suffix (a border).
fn border(text: &[u8]) -> bool {
    let mut back = vec![0; text.len()];
    let mut matched = 0;
    for at in 1..text.len() {
        while matched > 0 && text[at] != text[matched] {
            matched = back[matched - 1];
        }
        matched += usize::from(text[at] == text[matched]);
        back[at] = matched;
    }
    back.last().is_some_and(|&border| border > 0)
}

/// The places that the call means, by its count and its line.
pub(super) fn choose(
    request: &EditRequest,
    file: &File<'_>,
    new: &str,
    found: &Found<'_>,
) -> Result<Vec<Range<usize>>, Refusal> {
    let lines = || -> Vec<usize> {
        found.all.iter().map(|place| file.snapshot.lines().number_at(place.start)).collect()
    };
    let too_many = || Err(refuse::too_many(request, &lines(), found.overlapping));
    match request.expected {
        Expected::All => Ok(found.all.clone()),
        Expected::Exactly(count) if count.get() == found.all.len() => {
            match found.overlapping && !same_everywhere(file.text, &request.old, new, &found.all) {
                true => too_many(),
                false => Ok(found.all.clone()),
            }
        }
        Expected::Exactly(count) if count.get() == 1 => match nearest_line(request, &lines()) {
            Some(at) if !found.overlapping => Ok(vec![found.all[at].clone()]),
            _ => too_many(),
        },
        Expected::Exactly(_) => too_many(),
    }
}

/// The one line that is nearer to `near_line` than all others.
pub(super) fn nearest_line(request: &EditRequest, lines: &[usize]) -> Option<usize> {
    let near = request.near_line?;
    let distance = |at: &usize| lines[*at].abs_diff(near);
    let best = (0..lines.len()).min_by_key(distance)?;
    let tied = (0..lines.len()).filter(|at| distance(at) == distance(&best)).count();
    (tied == 1).then_some(best)
}

/// Overlapping places that are compared.
const MOST_OVERLAPS: usize = 16;

/// Whether overlapping places lead to the same text, whichever is meant.
fn same_everywhere(text: &str, old: &str, new: &str, places: &[Range<usize>]) -> bool {
    let [place] = places else { return false };
    let from = place.start + 1;
    let to = (place.end + old.len() - 1).min(text.len());
    let finder = Finder::new(old);
    let bytes = &text.as_bytes()[from..to];
    let starts = (0..bytes.len()).scan(0, |next, _| {
        let at = finder.find(&bytes[*next..])? + *next;
        *next = at + 1;
        Some(from + at)
    });
    let starts: Vec<usize> = starts.take(MOST_OVERLAPS + 1).collect();
    starts.len() <= MOST_OVERLAPS
        && starts.into_iter().all(|at| {
            let this = [new.as_bytes(), &text.as_bytes()[place.end..at + old.len()]].concat();
            let other = [&text.as_bytes()[place.start..at], new.as_bytes()].concat();
            this == other
        })
}

fn replace(
    request: &EditRequest,
    file: &File<'_>,
    places: &[Range<usize>],
    finder: &Finder<'_>,
) -> Verdict {
    if let [place] = places
        && let Some(line) = already_there(request, file, place, finder)
    {
        return Verdict::Refused(refuse::already_applied(line));
    }
    if let Some(line) = omits(request, file) {
        return Verdict::Refused(refuse::omission(line));
    }
    let mut explanation = Explanation::plain(Rung::Exact);
    explanation.replacements = places.len();
    let mut new = request.new.clone();
    if let [place] = places {
        match escaped::review(file, place, &request.old, &request.new) {
            escaped::Review::Proven(text) => {
                new = text;
                explanation.rewrites.push(Rewrite::UnescapeNew);
            }
            escaped::Review::Suspicious => explanation.warnings.push(escaped::WARNING.into()),
            escaped::Review::Fine => {}
        }
    }
    explanation.warnings.extend(review_exact(request, file, &places[0], &new));
    let splice = |range: &Range<usize>| {
        let text = with_endings(file, range.start, &new);
        Splice { range: range.clone(), text }
    };
    let splices: Vec<Splice> = places.iter().map(splice).collect();
    if splices.iter().any(|splice| splice.text != new) {
        explanation.rewrites.push(Rewrite::LineEndings);
    }
    Verdict::One(Explained::new(request, file, splices, explanation))
}

/// Whether all line breaks of a text are plain ones, and there are any.
fn is_plain(text: &str) -> bool {
    text.contains('\n') && !text.contains('\r')
}

/// Line breaks of `new` in the ending that the file has around a place.
pub(super) fn with_endings(file: &File<'_>, at: usize, new: &str) -> String {
    match file.snapshot.ending_near(at) {
        LineEnding::Lf if new.contains("\r\n") && is_plain(file.text) => {
            return new.replace("\r\n", "\n");
        }
        LineEnding::CrLf if new.contains('\n') => {}
        _ => return new.to_owned(),
    }
    let mut out = String::with_capacity(new.len() + 16);
    let mut before = ' ';
    for c in new.chars() {
        if c == '\n' && before != '\r' {
            out.push('\r');
        }
        out.push(c);
        before = c;
    }
    out
}

/// The line at which `new` already is, whole and around the place: a repeated call.
fn already_there(
    request: &EditRequest,
    file: &File<'_>,
    place: &Range<usize>,
    finder: &Finder<'_>,
) -> Option<usize> {
    let new = &request.new;
    let mut offsets = finder.find_iter(new.as_bytes()).take(1_000);
    let start = offsets.find_map(|offset| {
        let start = place.start.checked_sub(offset)?;
        file.text.as_bytes()[start..].starts_with(new.as_bytes()).then_some(start)
    })?;
    Some(file.snapshot.lines().number_at(start))
}

/// A placeholder of `new_str` for lines that would be lost, in a file of code.
fn omits<'a>(request: &'a EditRequest, file: &File<'_>) -> Option<&'a str> {
    if !file.language.is_some_and(|language| language.is_code()) {
        return None;
    }
    let placeholder = placeholder::introduced(&request.old, &request.new, file.text)?;
    let kept: std::collections::HashSet<&str> = request.new.lines().map(str::trim).collect();
    let lost = |line: &str| !line.trim().is_empty() && !kept.contains(line.trim());
    request.old.lines().any(lost).then_some(placeholder)
}

/// What the caller should look at in a plain replacement.
fn review_exact(
    request: &EditRequest,
    file: &File<'_>,
    place: &Range<usize>,
    new: &str,
) -> Vec<String> {
    let (text, old) = (file.text, request.old.as_str());
    let mut out = Vec::new();
    let before = text[..place.start].chars().next_back();
    let after = text[place.end..].chars().next();
    let word = |c: Option<char>| c.is_some_and(is_word);
    let cut_head =
        word(before) && word(old.chars().next()) && old.chars().next() != new.chars().next();
    let cut_tail = word(after)
        && word(old.chars().next_back())
        && old.chars().next_back() != new.chars().next_back();
    if cut_head || cut_tail {
        let line = file.snapshot.lines().number_at(place.start);
        out.push(format!(
            "old_str begins or ends inside a word on line {line}; only that part was replaced"
        ));
    }
    if old.ends_with('\n') && !new.is_empty() && !new.ends_with('\n') && after.is_some() {
        out.push("new_str does not end with a line break as old_str does, so its last line and the next are one line now".into());
    }
    out.extend(odd_edges(file, place, old, new));
    if matches!(after, Some('\r' | '\n')) {
        out.extend(adds_blank_line(old, new));
    }
    if let Some(warning) = less_deep(file, place, new) {
        out.push(warning);
    }
    out.extend(odd_text(file, old, new));
    if let Some(repeated) = repeats(file, place, old, new) {
        out.push(format!("new_str repeats line {repeated}, which is next to the place"));
    }
    out
}

/// Warns if only the new text ends with a line break: the line break after the place stays, so
/// this one adds a blank line.
pub(super) fn adds_blank_line(old: &str, new: &str) -> Option<String> {
    let more = new.len() > 1 && new.ends_with('\n') && !old.ends_with('\n');
    more.then(|| {
        "new_str ends with a line break and old_str does not, so one more blank line follows it"
            .to_owned()
    })
}

/// What of a new text looks like something that was not meant to be written.
pub(super) fn odd_text(file: &File<'_>, old: &str, new: &str) -> Vec<String> {
    let text = file.text;
    let mut out = Vec::new();
    if new.trim_start().starts_with("```")
        && !old.contains("```")
        && file.language.is_none_or(|l| l.is_code())
    {
        out.push("new_str holds a code fence, which was written as it is".into());
    }
    if placeholder::introduced(old, new, text).is_some() {
        out.push("new_str holds a placeholder for other text, which was written as it is".into());
    }
    let marked = |text: &str| {
        let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
        lines.peek().is_some() && lines.all(|line| line.starts_with(['+', '-']))
    };
    let plain =
        file.language.is_none_or(|l| l.name != "diff" && l.name != "markdown" && l.name != "yaml");
    if plain && (marked(new) && !marked(old) || reading::is_diff_of(" ", new)) {
        out.push(
            "lines of new_str begin with + or - like those of a diff, which was written as it is"
                .into(),
        );
    }
    let is_conflict = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    if new.lines().any(is_conflict) && !old.lines().any(is_conflict) {
        out.push("new_str holds the marks of a conflict or of a search/replace block, which were written as they are".into());
    }
    out
}

/// Warns if only one of the two strings has indentation at its start or end, so that the
/// indentation of a line changes.
fn odd_edges(file: &File<'_>, place: &Range<usize>, old: &str, new: &str) -> Option<String> {
    let text = file.text;
    let tail = |text: &str| text.len() - text.trim_end_matches([' ', '\t']).len();
    let (was, is) = (tail(old), tail(new));
    let follows = text[place.end..].chars().next().is_some_and(|c| !c.is_whitespace());
    let both_end = old[..old.len() - was].ends_with('\n') && new[..new.len() - is].ends_with('\n');
    if both_end && follows && was != is {
        return Some("old_str ends with a part of the next line's indentation and new_str does not, so the indentation of that line has changed".to_owned());
    }
    let line = text[..place.start].rfind('\n').map_or(0, |feed| feed + 1);
    let margin = &text[line..place.start];
    let amid = !margin.is_empty() && margin.trim().is_empty();
    if amid && !indent::of(old).is_empty() && new.lines().count() > 1 {
        return Some("old_str begins inside the indentation of its first line, and the lines after the first were written with the indentation that was sent".to_owned());
    }
    (amid && indent::of(old).is_empty() && !indent::of(new).is_empty()).then(|| {
        "old_str begins after the line's indentation and new_str brings its own, so the first line is now indented further".to_owned()
    })
}

/// Warns if the lines of `new` after the first are indented less than the lines around them.
fn less_deep(file: &File<'_>, place: &Range<usize>, new: &str) -> Option<String> {
    let text = file.text;
    let line = text[..place.start].rfind('\n').map_or(0, |feed| feed + 1);
    let margin = &text[line..place.start];
    let solid = |line: &&str| !line.trim().is_empty();
    if margin.is_empty() || !margin.trim().is_empty() {
        return None;
    }
    let further =
        new.lines().skip(1).filter(solid).map(|l| indent::columns(indent::of(l), 4)).min()?;
    let own = text[place.clone()].lines().skip(1).filter(solid);
    let own = own.map(|l| indent::columns(indent::of(l), 4)).min();
    let first = indent::columns(margin, 4) + indent::columns(indent::of(new), 4);
    let flat = is_flattened(&text[place.clone()], new, indent::columns(margin, 4));
    (flat || further < own.unwrap_or(first).min(first)).then(|| {
        "new_str was written as sent, and its lines after the first are indented less than the lines around them: indent them if they belong there".to_owned()
    })
}

/// Whether the line after a first line that opens a block is indented in `old`, but not in `new`.
/// `old` begins at column `margin`.
fn is_flattened(old: &str, new: &str, margin: usize) -> bool {
    let second = |text: &str| {
        let mut solid = text.lines().filter(|line| !line.trim().is_empty());
        let opens = solid.next()?.trim_end().ends_with([':', '{', '(', '[']);
        let body =
            solid.next().filter(|line| opens && !line.trim().starts_with(['}', ')', ']']))?;
        let first = margin + indent::columns(indent::of(text), 4);
        Some(indent::columns(indent::of(body), 4) > first)
    };
    second(old) == Some(true) && second(new) == Some(false)
}

/// A line beside the place that `new_str` has at its edge and `old_str` has not.
fn repeats(file: &File<'_>, place: &Range<usize>, old: &str, new: &str) -> Option<usize> {
    let says = |line: &str| line.trim().chars().filter(|c| is_word(*c)).count() >= 4;
    let solid = |line: &&str| !line.trim().is_empty();
    if new.lines().count() < 2 {
        return None;
    }
    let (first, last) = (new.lines().find(solid)?, new.lines().rev().find(solid)?);
    let text = file.text;
    let start = text[..place.start].rfind('\n').map_or(0, |feed| feed + 1);
    let end = match text[..place.end].ends_with('\n') {
        true => place.end,
        false => text[place.end..].find('\n').map_or(text.len(), |feed| place.end + feed + 1),
    };
    let above = text[..start].lines().next_back().unwrap_or_default();
    let below = text[end..].lines().next().unwrap_or_default();
    let repeated = |line: &str, own: &str| {
        let held = || old.lines().any(|old| old.trim() == own.trim());
        line.trim() == own.trim() && says(own) && !held()
    };
    let at = if repeated(above, first) {
        start.checked_sub(1)?
    } else if repeated(below, last) {
        end
    } else {
        return None;
    };
    Some(file.snapshot.lines().number_at(at))
}
