//! Locates the hunks of a patch in a file: exactly, on whole lines, or else by the ladder.

use super::{Hunk, HunkLine, headers};
use crate::edit::{EditCode, EditRequest, Explanation, Refusal, Rung, Splice, said};
use crate::language::Language;
use crate::line_edit::{self, LineChange};
use crate::matching::budget::spend;
use crate::matching::{Explained, explain};
use crate::text::{LineSpan, Snapshot, list_lines};

/// Locates all hunks in the same version of the file at `path`; refuses the patch if one cannot be
/// located.
pub(crate) fn locate_hunks(
    path: &str,
    snapshot: &Snapshot,
    hunks: &[Hunk],
) -> Result<Explained, Refusal> {
    let mut splices = Vec::new();
    let mut explanation = Explanation::plain(Rung::Exact);
    explanation.replacements = 0;
    let mut from = 1;
    for (number, hunk) in hunks.iter().enumerate() {
        let (explained, end) = locate_hunk(path, snapshot, hunk, from).map_err(|mut refusal| {
            if hunks.len() > 1 {
                refusal.message =
                    said!("hunk {} of {}: {}", number + 1, hunks.len(), refusal.message);
            }
            refusal
        })?;
        from = end;
        splices.extend(explained.splices);
        explanation.absorb(&explained.explanation);
    }
    Ok(Explained { splices, explanation, is_guess: false })
}

/// Locates a hunk; returns its edit and the number of the line after it. `from` is the line after the
/// previous hunk.
fn locate_hunk(
    path: &str,
    snapshot: &Snapshot,
    hunk: &Hunk,
    from: usize,
) -> Result<(Explained, usize), Refusal> {
    let old = hunk.old_lines();
    let total = snapshot.lines().total();
    let bounds = headers::bounds(snapshot, hunk, from)?;
    if old.is_empty() {
        let after = match bounds.as_slice() {
            // A line number alone is not enough to place a hunk, except at the end of the file.
            [] if hunk.near_line.is_some_and(|line| line != total && line != total + 1) => {
                return Err(no_context());
            }
            [] => total,
            [only] => only.header,
            _ => return Err(headers::ambiguous_header(hunk, &bounds)),
        };
        return Ok((exact_edit(splices(snapshot, hunk, after + 1)?), after + 1));
    }
    let fits = |start: usize| {
        let is_same = |(i, line): &(usize, &&str)| snapshot.line(start + i) == Some(**line);
        let same = old.iter().enumerate().take_while(is_same).count();
        spend(same + 1).is_ok() && same == old.len() && (!hunk.at_end || start + old.len() > total)
    };
    let span = |start: usize| LineSpan { start, end: start + old.len() - 1 };
    let last = (total + 1).saturating_sub(old.len());
    let all: Vec<usize> = (1..=last).filter(|&start| fits(start)).collect();
    let bounded: Vec<usize> =
        all.iter().copied().filter(|&start| headers::is_within(&bounds, span(start))).collect();
    if bounded.is_empty() && !all.is_empty() {
        return Err(headers::outside_header(hunk, &bounds, &all));
    }
    let below: Vec<usize> = bounded.iter().copied().filter(|&start| start >= from).collect();
    // Hunks come in order, so places above the previous hunk count only if there are no others.
    let candidates = if below.is_empty() { &bounded } else { &below };
    let chosen = match (candidates.as_slice(), bounds.as_slice()) {
        ([], _) => None,
        ([only], _) => Some(*only),
        // Within the bounds of one header, the first place is meant.
        (several, [_]) => several.first().copied(),
        (several, _) => nearest(several, hunk.near_line),
    };
    if let Some(start) = chosen {
        return Ok((exact_edit(splices(snapshot, hunk, start)?), start + old.len()));
    }
    if candidates.len() > 1 {
        let mut refusal = Refusal::new(
            EditCode::OccurrenceMismatch,
            format!(
                "the lines of the hunk occur at {} places (at lines {})",
                candidates.len(),
                list_lines(candidates)
            ),
        )
        .hint("Add context lines, or an @@ line with the function or class that you mean.");
        refusal.occurrences = candidates.clone();
        return Err(refusal);
    }
    let explained = match_by_ladder(path, snapshot, hunk, &old)?;
    let first_line = |splice: &Splice| snapshot.lines().number_at(splice.range.start);
    let end_line = |splice: &Splice| snapshot.lines().number_at(splice.range.end);
    if let Some(first) = explained.splices.iter().map(first_line).min()
        && !headers::is_within(&bounds, span(first))
    {
        return Err(headers::outside_header(hunk, &bounds, &[first]));
    }
    let end = explained.splices.iter().map(end_line).max();
    Ok((explained, end.unwrap_or(from).max(from)))
}

/// The refusal of a hunk that has nothing to locate it by.
fn no_context() -> Refusal {
    Refusal::new(EditCode::NoOccurrence, "the hunk only adds lines and has no context lines")
        .hint("Give context lines around the new ones; a line number alone is not enough.")
}

/// Splices as an edit that was found exactly.
fn exact_edit(splices: Vec<Splice>) -> Explained {
    Explained { splices, explanation: Explanation::plain(Rung::Exact), is_guess: false }
}

/// The place nearest to the hinted line, if every other place is more than twice as far away.
fn nearest(places: &[usize], hint: Option<usize>) -> Option<usize> {
    let hint = hint?;
    let mut by_distance: Vec<(usize, usize)> =
        places.iter().map(|&place| (place.abs_diff(hint), place)).collect();
    by_distance.sort_unstable();
    match by_distance.as_slice() {
        [(first, place), (second, _), ..] if first * 2 < *second => Some(*place),
        _ => None,
    }
}

/// The splices of a hunk whose first old line is line `start`: one for each run of changed lines.
fn splices(snapshot: &Snapshot, hunk: &Hunk, start: usize) -> Result<Vec<Splice>, Refusal> {
    let mut runs: Vec<LineChange> = Vec::new();
    let mut line = start;
    let mut is_in_run = false;
    for hunk_line in &hunk.lines {
        if matches!(hunk_line, HunkLine::Keep(_)) {
            line += 1;
        } else if !is_in_run {
            let span = LineSpan { start: line, end: line - 1 };
            runs.push(LineChange { span, lines: Vec::new() });
        }
        is_in_run = !matches!(hunk_line, HunkLine::Keep(_));
        let Some(run) = runs.last_mut().filter(|_| is_in_run) else { continue };
        match hunk_line {
            HunkLine::Add(text) => run.lines.push(text.clone()),
            _ => {
                run.span.end = line;
                line += 1;
            }
        }
    }
    let mut out = line_edit::splices(snapshot, runs)?;
    let at_end = out.iter_mut().find(|splice| splice.range.end == snapshot.text().len());
    if let (Some(last), Some(is_wanted)) = (at_end, hunk.final_newline) {
        // Without new text, the file ends with the line above, which may have kept its newline.
        let above = &snapshot.text()[..last.range.start];
        let ends = last.text.is_empty() && (above.is_empty() || above.ends_with('\n'));
        let body = last.text.strip_suffix('\n').unwrap_or(&last.text);
        last.text.truncate(body.strip_suffix('\r').unwrap_or(body).len());
        if is_wanted && !ends {
            last.text.push_str(snapshot.ending_near(snapshot.text().len()).as_str());
        }
    }
    out.retain(|splice| snapshot.text()[splice.range.clone()] != splice.text);
    Ok(out)
}

/// Locates a hunk by the ladder. A match that begins or ends inside a line is refused, since a hunk
/// covers whole lines.
fn match_by_ladder(
    path: &str,
    snapshot: &Snapshot,
    hunk: &Hunk,
    old: &[&str],
) -> Result<Explained, Refusal> {
    let new = hunk.new_lines();
    let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let request = |lead: &str| EditRequest {
        old: format!("{lead}{}", text(old)),
        new: format!("{lead}{}", text(&new)),
        near_line: hunk.near_line,
        language: Language::from_path(path),
        ..EditRequest::default()
    };
    let explained = explain(&request(""), snapshot)?;
    if explained.explanation.rung != Rung::Exact {
        return Ok(explained);
    }
    // An exact match may begin inside a line; with a line break in front it cannot.
    let explained = explain(&request("\n"), snapshot).map_err(|mut refusal| {
        refusal.message.push(" on lines of its own");
        refusal
    })?;
    if explained.explanation.rung == Rung::Exact {
        return Err(Refusal::new(
            EditCode::NoOccurrence,
            "the lines of the hunk are not in the file as whole lines",
        )
        .hint("Copy the context lines whole, with their indentation."));
    }
    Ok(explained)
}
