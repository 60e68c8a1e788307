//! Refusals: the cause, the places that matter, and what makes the next call succeed.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::costs::Difference;
use super::fold::is_word_char;
use super::indent::depth;
use super::nearest::{self, Region, overlap};
use super::rank::{Ranking, rank};
use super::source_file::{SourceFile, line_key, split_lines};
use crate::edit::message::{EXPECTED, NEAR, NEW, OLD, REPLACE_ALL, THEN};
use crate::edit::{Conflict, EditCode, EditRequest, Expected, Message, Refusal, said};
use crate::text::{LineSpan, clip, list_lines};

/// The most lines that a refusal lists as occurrences.
const MAX_LISTED_LINES: usize = 50;
/// The most characters of a line that a message quotes.
const MAX_EXCERPT_CHARS: usize = 100;

/// The most bytes that a hint asks a model to copy; of a longer region, the hint asks only for
/// the part that changes.
const MAX_QUOTED_BYTES: usize = 2_000;
/// The most places that a refusal shows.
const MAX_NEAREST: usize = 3;
/// A region at least this similar is what the call means.
const NEAR_SCORE: f64 = 0.6;

/// The refusal of a call for which no rung found a candidate. It names the most similar regions.
pub(super) fn not_found(request: &EditRequest, file: &SourceFile<'_>) -> Refusal {
    if request.old.trim().is_empty() {
        let message = said!(
            "{OLD} is only white space, and the file does not have it character for character"
        );
        return Refusal::new(EditCode::NoOccurrence, message).hint(said!(
            "Quote a line with text in it next to the place, and repeat that line in {NEW}."
        ));
    }
    if file.text.is_empty() {
        return Refusal::new(EditCode::NoOccurrence, "the file is empty")
            .hint(said!("Send an empty {OLD} to fill it."));
    }
    let lines = split_lines(&request.old);
    let mut refusal = Refusal::new(EditCode::NoOccurrence, said!("{OLD} is not in the file"));
    let to_near = |region: &Region| nearest::to_near(file, &lines, region);
    let in_other_case = lines_in_other_case(file, &request.old);
    if let Some(first) = in_other_case.first() {
        let (place, which) = match in_other_case.len() {
            1 => (format!("line {first} has"), "that line has"),
            _ => (format!("lines {} have", list_lines(&in_other_case)), "the one you mean has"),
        };
        refusal.message.push(format_args!("; {place} it in different letter case"));
        let near = |first: &usize| {
            let end = (first - 1 + lines.len()).min(file.lines().len());
            to_near(&nearest::align_to_lines(file, &lines, first - 1..end))
        };
        refusal.nearest = in_other_case.iter().take(MAX_NEAREST).map(near).collect();
        refusal.equally_near = refusal.nearest.len();
        return refusal.hint(format!("Quote the text as {which} it, then send the edit again."));
    }
    let ranking = rank(file, &lines, MAX_NEAREST);
    refusal.nearest = ranking.regions.iter().map(to_near).collect();
    if refusal.nearest.is_empty() {
        refusal.message.push(", and nothing in the file is like it");
        return refusal.hint(said!("Read the file again, or search for a name from {OLD}: the text may be in another file, or it may be gone."));
    }
    refusal.equally_near = ranking.tied().len();
    refusal.message.push(match only_difference(&lines, file, &ranking) {
        Some(difference) => format!(": {difference}"),
        None => describe_nearest(&refusal, &ranking),
    });
    let mut hint = quoting_hint(&lines, request, file, &ranking);
    let is_only_sent = |escape| request.old.contains(escape) && !file.text.contains(escape);
    if ["\\n", "\\\""].into_iter().any(is_only_sent) {
        hint.push(" Send line breaks and quotes as they are, not as \\n and \\\".");
    }
    refusal.hint = Some(hint);
    refusal
}

/// The one line in which the nearest region differs, in words; `None` if there are more, or fewer.
fn only_difference(old: &[&str], file: &SourceFile<'_>, ranking: &Ranking) -> Option<String> {
    let best = &ranking.regions[0];
    let mut others = (0..old.len()).filter(|&at| {
        let found = best.pairs[at].map(|line| file.body(line).trim());
        !old[at].trim().is_empty() && found != Some(old[at].trim())
    });
    let (Some(at), None) = (others.next(), others.next()) else { return None };
    let line = best.pairs[at].filter(|_| ranking.tied().is_empty() && is_near(best))?;
    Some(describe_conflict(&Conflict {
        start_line: line + 1,
        end_line: line + 1,
        believed: old[at].to_owned(),
        found: file.body(line).to_owned(),
        written: None,
    }))
}

/// Whether a region is probably what the call means: by its letters, or by half of the lines of `old_str`.
fn is_near(region: &Region) -> bool {
    let paired = region.pairs.len();
    2 * region.equal >= paired || region.score >= NEAR_SCORE
}

/// The sentence on the nearest region, or on those that are equally near.
fn describe_nearest(refusal: &Refusal, ranking: &Ranking) -> String {
    let tied = ranking.tied();
    if !tied.is_empty() {
        let mut spans: Vec<String> = tied.iter().map(|region| span(region).to_string()).collect();
        if ranking.equally_near > tied.len() {
            spans.push("others".to_owned());
        }
        let last = spans.pop().unwrap_or_default();
        return format!("; {} and {last} are about equally similar", spans.join(", "));
    }
    let near = &refusal.nearest[0];
    let (span, percent) = (near.span(), near.percent());
    match &near.first_difference {
        _ if span.start == span.end => format!("; {span} is {percent:.0} % similar"),
        None => format!("; {span} are {percent:.0} % similar"),
        Some(first) => {
            format!("; {span} are {percent:.0} % similar and first differ at line {}", first.line)
        }
    }
}

/// The lines of a region, from 1.
fn span(region: &Region) -> LineSpan {
    LineSpan { start: region.lines.start + 1, end: region.lines.end }
}

/// The lines (from 1) that have the text in different letter case.
fn lines_in_other_case(file: &SourceFile<'_>, old: &str) -> Vec<usize> {
    const MAX_BYTES: usize = 1 << 20;
    if file.text.len() > MAX_BYTES {
        return Vec::new();
    }
    // Only ASCII letters change case here, so that every byte offset stays the same.
    let (text, old) = (file.text.to_ascii_lowercase(), old.to_ascii_lowercase());
    let places = memchr::memmem::find_iter(text.as_bytes(), &old).take(MAX_LISTED_LINES);
    let mut lines: Vec<usize> = places.map(|at| file.snapshot.lines().number_at(at)).collect();
    lines.dedup();
    lines
}

/// The hint to copy lines of the file, after the verb. What the call has as `new_str` may lack what
/// these lines have, or have what they lack, so the new text is made from them.
fn copying_hint(span: LineSpan) -> Message {
    said!(
        "{span} of the file exactly into {OLD} (read only that part), and the same text with your change into {NEW}."
    )
}

/// The hint to copy lines of the file, or to quote less if they are too much to be copied.
fn copy_or_part_hint(file: &SourceFile<'_>, span: LineSpan) -> Message {
    let line_len = |number| file.snapshot.line(number).map_or(0, str::len);
    if (span.start..=span.end).map(line_len).sum::<usize>() <= MAX_QUOTED_BYTES {
        return said!("If that is the place you mean, copy {}", copying_hint(span));
    }
    said!(
        "Quote only the part of {span} that changes, exactly as in the file, and send {NEW} for that part."
    )
}

/// The hint that says which lines of the file to quote instead of `old_str`.
fn quoting_hint(
    old: &[&str],
    request: &EditRequest,
    file: &SourceFile<'_>,
    ranking: &Ranking,
) -> Message {
    let best = &ranking.regions[0];
    if !ranking.tied().is_empty() {
        return "Read these places, and quote the one you mean exactly as it is in the file, with a line that only it has.".into();
    }
    let missing: Vec<usize> = (0..old.len())
        .filter(|&at| best.pairs[at].is_none() && old[at].contains(is_word_char))
        .collect();
    let full = old.iter().filter(|line| !line.trim().is_empty()).count();
    match missing[..] {
        [at, ..] if best.equal > 0 && missing.len() * 2 <= old.len() => {
            let others = match missing.len() {
                1 => String::new(),
                more => format!(" (and {} more)", more - 1),
            };
            let is_in_new = request.new.lines().any(|line| line.trim() == old[at].trim());
            // A head, or a line that stands elsewhere, says which place is meant.
            let below = old[at + 1..].iter().find(|line| !line.trim().is_empty());
            let is_head = below.is_some_and(|below| depth(below) > depth(old[at]));
            let tells = is_head || !file.lines_with_key(line_key(old[at])).is_empty();
            // Only if all else stands there, the call fits without it.
            let is_alone = missing.len() == 1 && best.equal + 1 == full;
            let advice = if is_in_new && is_alone && !tells {
                "leave it out of both strings. Or copy"
            } else {
                "copy"
            };
            said!(
                "Line {} of {OLD}, `{}`{others}, is not in that part of the file. If that is the place you mean, {advice} {}",
                at + 1,
                excerpt(old[at]),
                copying_hint(span(best))
            )
        }
        _ if is_near(best) => copy_or_part_hint(file, span(best)),
        _ => "Read the file again; the text has changed or is in another file.".into(),
    }
}

/// The refusal of a call that fits more or fewer places than it expects. `lines` has the first
/// line of each place.
pub(super) fn wrong_count(request: &EditRequest, lines: &[usize], overlapping: bool) -> Refusal {
    let count = lines.len();
    let mut lines = lines.to_vec();
    lines.dedup();
    let list = list_lines(&lines);
    let expected = match request.expected {
        Expected::Exactly(number) => number.get(),
        Expected::All => count,
    };
    let (is_expected, is_one_line) = (expected == count, count > 1 && lines.len() == 1);
    let message = if overlapping {
        said!(
            "{OLD} occurs in places that overlap (at lines {list}), so the result depends on which is meant"
        )
    } else if is_expected && count == 1 {
        said!("{OLD} fits at line {list}, but not in a way that is certain")
    } else if is_expected {
        said!(
            "{OLD} fits {count} places (at lines {list}), but not all of them in one way that is certain"
        )
    } else if is_one_line {
        said!("{OLD} fits at line {list} in {count} ways, expected {expected}")
    } else {
        let s = if count > 1 { "s" } else { "" };
        said!("{OLD} fits {count} place{s} (at line{s} {list}), expected {expected}")
    };
    // Each advice is a sentence: a caller whose tool has not what one of them needs gets the others.
    let hint = if is_expected && count == 1 {
        said!("Read around line {list}, and quote the place exactly as it is in the file.")
    } else if is_expected {
        said!(
            "Edit the places one by one, each with lines around it in {OLD} and {NEW}, as the file has them."
        )
    } else if expected > 1 {
        "Quote more or fewer lines so that as many places fit as you expect.".into()
    } else if is_one_line {
        said!("Quote more of that line in {OLD} and {NEW} so that only one place fits.")
    } else {
        let mut hint =
            said!("Add lines above or below to {OLD} and {NEW} so that only one place fits.");
        // A line does not tell places apart that share lines.
        if !overlapping && request.near_line.is_some() {
            hint = said!(
                "Several places are equally near to {NEAR}.{THEN}{hint}{THEN}Or give the line of one of them as {NEAR}."
            );
        } else if !overlapping {
            hint.push(format_args!("{THEN}Or give a line next to it as {NEAR}."));
        }
        hint
    };
    let mut refusal = Refusal::new(EditCode::OccurrenceMismatch, message).hint(hint);
    lines.truncate(MAX_LISTED_LINES);
    refusal.occurrences = lines;
    refusal
}

/// Adds to the hint of a call that fits other than the expected number of places how to edit all of
/// them, by their `count` if that is accepted. Only a caller whose call would be accepted is told so.
pub(super) fn offer_all(request: &EditRequest, refusal: &mut Refusal, count: Option<NonZeroUsize>) {
    let Some(hint) = &mut refusal.hint else { return };
    hint.push(match (request.expected, count) {
        (Expected::Exactly(number), Some(count)) if number.get() > 1 => {
            said!("{THEN}To change all of them, set {EXPECTED} to {count}.")
        }
        _ => said!("{THEN}To change all of them, set {REPLACE_ALL}."),
    });
}

/// The refusal of a lenient match at line `here`, because the region at line `nearer` has some of
/// the lines of `old_str` as they were quoted.
pub(super) fn closer_elsewhere(request: &EditRequest, here: usize, nearer: usize) -> Refusal {
    let (first, second) = (here.min(nearer), here.max(nearer));
    let mut refusal = wrong_count(request, &[first, second], false);
    refusal.message = said!(
        "{OLD} could mean two places: the text at line {here} has all of its lines in another form, and the text at line {nearer} has some of them as they were quoted, but not all"
    );
    refusal.hint(format!(
        "Read around lines {first} and {second}, and quote the place you mean exactly as it is in the file."
    ))
}

/// The refusal of a call that fits several places, none of them at line `near`, where text like
/// `old_str` stands.
pub(super) fn changed_at_named_line(
    request: &EditRequest,
    lines: &[usize],
    near: usize,
) -> Refusal {
    let mut refusal = wrong_count(request, lines, false);
    refusal.message.push(said!(
        ", and the text around line {near}, which {NEAR} names, has only a part of it"
    ));
    refusal.hint(said!(
        "Read around line {near} and quote the place you mean exactly as it is in the file. If one of the others is meant, give its line as {NEAR}."
    ))
}

/// The refusal of an edit that the file already has, at `line`.
pub(super) fn already_applied(line: usize) -> Refusal {
    Refusal::new(EditCode::AlreadyApplied, said!("the file already has {NEW}, at line {line}"))
        .hint(said!("If that is the place you mean, go on with the next step: the edit is done; otherwise quote the place as the file has it. If it is meant once more, send the lines there with the next one as {OLD}, and the result as {NEW}."))
}

/// The refusal of a call for `count` places of which the one at `line` has `new_str` already.
pub(super) fn partly_applied(line: usize, count: usize) -> Refusal {
    let message = said!(
        "{OLD} fits {count} places, but at line {line} it is a part of {NEW}, which the file already has there"
    );
    Refusal::new(EditCode::AlreadyApplied, message).hint(said!("If the edit is done already, go on with the next step. Otherwise edit the places that are left one by one, each with the lines around it in {OLD} and {NEW}."))
}

/// The refusal of a `new_str` with a placeholder that would delete code.
pub(super) fn omission(placeholder: &str) -> Refusal {
    let message =
        said!("{NEW} has the placeholder `{}`, which would replace code", excerpt(placeholder));
    Refusal::new(EditCode::Omission, message)
        .hint(said!("Write the code out in full, or narrow {OLD} and {NEW} to the lines that change. To delete the code, leave the placeholder out."))
}

/// The refusal of a call whose placeholder stands for lines (from 0) that would go unseen.
pub(super) fn unseen_lines_go(lines: &Range<usize>) -> Refusal {
    let span = LineSpan { start: lines.start + 1, end: lines.end };
    let message = said!(
        "a placeholder of {OLD} stands for lines within or beside {span}, and {NEW} drops it, moves it, or adds lines beyond it, so code that was not quoted would go or move"
    );
    Refusal::new(EditCode::Omission, message).hint(format!("Keep the placeholder as it is in both strings. To change or delete what it stands for, read {span} with the lines around it, and quote all of it. To add lines beyond it, quote the line that they follow."))
}

/// Where `old_str` is, for a message.
fn found_at(line: usize, cause: Difference) -> Message {
    said!("{OLD} is at line {line} with different {}", cause.name())
}

/// The refusal of a call whose place is known, but not which of `count` results it means there;
/// 0 if every result would be a guess.
pub(super) fn ambiguous(line: usize, cause: Difference, count: usize) -> Refusal {
    let place = found_at(line, cause);
    let message = match count {
        0 => said!("{place}, and it is not clear how {NEW} should be written there"),
        _ => said!("{place}, and {NEW} can be written there in {count} ways"),
    };
    Refusal::new(EditCode::Ambiguous, message)
        .hint(said!("Read around line {line}, then send {OLD} as the file has it and {NEW} as it should be, white space included."))
}

/// The refusal of an edit that changes only what the rung ignores, such as indentation, where the
/// file has neither `old_str` nor `new_str` character for character.
pub(super) fn only_ignored_changes(line: usize, cause: Difference) -> Refusal {
    let message = said!("{}, and {NEW} changes only {}", found_at(line, cause), cause.name());
    Refusal::new(EditCode::NoOccurrence, message).hint(said!("Read around line {line}, then send {OLD} exactly as the file has it and {NEW} as it should be."))
}

/// The refusal of an edit whose every possible result leaves brackets or literals unclosed.
pub(super) fn leaves_unclosed(line: usize, cause: Difference) -> Refusal {
    let place = found_at(line, cause);
    let message = said!("{place}, and {NEW} there would leave brackets or literals unclosed");
    Refusal::new(EditCode::Syntax, message).hint(said!(
        "Read around line {line}, quote it exactly, and check the brackets and quotes of {NEW}."
    ))
}

/// Adds to the hint of a refusal that the call would fit if the language were known: only then may
/// the difference `cause` be ignored.
pub(super) fn blame_unknown_language(refusal: &mut Refusal, cause: Difference) {
    refusal.hint.get_or_insert_default().push(format_args!(
        " The only difference is in {}; it counts, since the language is unknown.",
        cause.name()
    ));
    refusal.unknown_language = true;
}

/// The refusal of a call whose place is known, but where the file has different text in lines that
/// the call rewrites: in these conflicts, of which there is one at least.
pub(super) fn stale(
    request: &EditRequest,
    file: &SourceFile<'_>,
    place: &Range<usize>,
    conflicts: &[Conflict],
) -> Refusal {
    let descriptions: Vec<String> = conflicts.iter().take(3).map(describe_conflict).collect();
    let message = said!("{OLD} is not in the file: {}", descriptions.join("; "));
    let lines = split_lines(&request.old);
    // The place with what has changed at its edges, and with lines that are only like those of the call.
    let ranked = rank(file, &lines, MAX_NEAREST).regions;
    let (here, others): (Vec<_>, Vec<_>) =
        ranked.into_iter().partition(|region| overlap(&region.lines, place));
    let changed = conflicts.iter().map(|conflict| conflict.start_line - 1..conflict.end_line);
    let parts = changed.chain(here.into_iter().map(|region| region.lines));
    let whole = parts.fold(place.clone(), |a, b| a.start.min(b.start)..a.end.max(b.end));
    let whole = whole.start..whole.end.min(file.lines().len());
    let mut regions = vec![nearest::align_to_lines(file, &lines, whole)];
    regions.extend(others);
    regions.truncate(MAX_NEAREST);
    let mut refusal = Refusal::new(EditCode::NoOccurrence, message);
    refusal.nearest = regions.iter().map(|region| nearest::to_near(file, &lines, region)).collect();
    refusal.conflicts = conflicts.to_vec();
    let span = span(&regions[0]);
    let file_lines = (span.start..=span.end).filter_map(|number| file.snapshot.line(number));
    let new_lines = split_lines(&request.new);
    if !file_lines.map(str::trim).eq(new_lines.iter().map(|line| line.trim())) {
        return refusal.hint(copy_or_part_hint(file, span));
    }
    let verb = if span.end > span.start { "read" } else { "reads" };
    refusal.hint(said!("{span} of the file already {verb} like {NEW}. Go on if that is right; otherwise copy {span} exactly into {OLD}."))
}

/// One conflict in words, for a message.
pub(crate) fn describe_conflict(conflict: &Conflict) -> String {
    let first_line = |text: &str| text.lines().find(|line| !line.trim().is_empty()).map(excerpt);
    let span = LineSpan { start: conflict.start_line, end: conflict.end_line };
    let is_plural = span.end > span.start;
    let (has, differs) = if is_plural { ("have", "differ") } else { ("has", "differs") };
    let (believed, found) = (first_line(&conflict.believed), first_line(&conflict.found));
    if let Some(written) = &conflict.written {
        let (believed, end) = (believed.unwrap_or_default(), conflict.end_line);
        let now = first_line(written).map_or("gone".to_owned(), |line| format!("`{line}`"));
        return match found {
            Some(found) => format!("{span} had `{found}`, not `{believed}`; it is {now} now"),
            None => format!("after line {end} there is no `{believed}`"),
        };
    }
    match (believed, found) {
        (Some(believed), Some(found)) => {
            let note = lookalike_letter_note(&believed, &found).unwrap_or_default();
            format!("{span} {has} `{found}`, not `{believed}`{note}")
        }
        (None, Some(found)) => {
            format!("{span} {has} `{found}`, which the call does not have there")
        }
        (Some(believed), None) => format!("`{believed}` is not at {span}"),
        (None, None) => format!("{span} {differs}"),
    }
}

/// A note with both code points, if the first letter that differs may only look like the file's:
/// one of the two is ASCII, and the other is not.
fn lookalike_letter_note(believed: &str, found: &str) -> Option<String> {
    let (sent, of_file) = believed.chars().zip(found.chars()).find(|(a, b)| a != b)?;
    let is_lookalike = sent.is_ascii() != of_file.is_ascii() && sent.is_alphabetic();
    let code = |c: char| format!("`{c}` (U+{:04X})", u32::from(c));
    is_lookalike.then(|| format!(", where the call has {} for {}", code(sent), code(of_file)))
}

/// A line for a message: without white space around it, and cut if it is long.
fn excerpt(line: &str) -> String {
    clip(line.trim(), MAX_EXCERPT_CHARS)
}
