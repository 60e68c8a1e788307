//! Refusals: the cause, the places that matter, and what makes the next call succeed.

use super::fold::is_word_char;
use super::nearest::{self, Region};
use super::outcome::ConflictHunk;
use super::source_file::{SourceFile, split_lines};
use crate::edit::{Conflict, EditCode, EditRequest, Expected, Refusal, Rung};
use crate::text::LineSpan;

/// Occurrences that are listed.
const MAX_LINES: usize = 50;
/// Characters of a line that are quoted in a sentence.
const MAX_EXCERPT_CHARS: usize = 100;

/// No rung found any candidate.
pub(super) fn not_found(request: &EditRequest, file: &SourceFile<'_>) -> Refusal {
    if request.old.trim().is_empty() {
        let message = "old_str is white space only, and not in the file as it is";
        return Refusal::new(EditCode::NoOccurrence, message).hint(
            "Quote a line with text in it next to the place, and repeat that line in new_str.",
        );
    }
    if file.text.is_empty() {
        return Refusal::new(EditCode::NoOccurrence, "the file is empty")
            .hint("Send an empty old_str to fill it.");
    }
    let lines = split_lines(&request.old);
    let found = nearest::regions(file, &lines, 3);
    let mut refusal = Refusal::new(EditCode::NoOccurrence, "old_str is not in the file");
    refusal.nearest = found.iter().map(|region| nearest::to_near(file, &lines, region)).collect();
    if let Some(line) = line_in_other_case(file, &request.old) {
        refusal.message.push_str(&format!("; line {line} has it in different letter case"));
        return refusal.hint("Quote the text as that line has it, then send the edit again.");
    }
    if found.is_empty() {
        refusal.message.push_str(", and nothing in the file is like it");
        return refusal.hint("Read the file again, or search for a name from old_str: the text may be in another file, or it may be gone.");
    }
    let near = &refusal.nearest[0];
    let span = near.span();
    let verb = if span.start == span.end { "is" } else { "are" };
    let percent = (near.score * 100.0).min(99.0);
    refusal.message.push_str(&format!("; {span} {verb} {percent:.0} % similar"));
    if let Some(difference) = near.first_difference.as_ref().filter(|_| span.start != span.end) {
        refusal.message.push_str(&format!(" and first differ at line {}", difference.line));
    }
    let mut hint = quoting_hint(&lines, request, &found);
    let escapes = ["\\n", "\\\""].into_iter().filter(|escape| request.old.contains(escape));
    if escapes.clone().any(|escape| !file.text.contains(escape)) {
        hint.push_str(" Send line breaks and quotes as they are, not as \\n and \\\".");
    }
    refusal.hint = Some(hint);
    refusal
}

/// Where the text occurs in another letter case.
fn line_in_other_case(file: &SourceFile<'_>, old: &str) -> Option<usize> {
    const MAX_BYTES: usize = 1 << 20;
    if file.text.len() > MAX_BYTES {
        return None;
    }
    // ASCII letters alone, so that every offset stays.
    let at = file.text.to_ascii_lowercase().find(&old.to_ascii_lowercase())?;
    Some(file.snapshot.lines().number_at(at))
}

/// What to quote instead of `old_str`, by the regions that are like it, best first.
fn quoting_hint(old: &[&str], request: &EditRequest, found: &[Region]) -> String {
    let best = &found[0];
    let span = |region: &Region| LineSpan { start: region.lines.start + 1, end: region.lines.end };
    if let Some(rival) = found.get(1).filter(|rival| rival.score > best.score - 0.05) {
        return format!(
            "Two places are about equally similar, {} and {}: read both, and quote the one you mean exactly as it is in the file.",
            span(best),
            span(rival)
        );
    }
    let quote = format!(
        "{} exactly as in the file (read only that part), then send the edit again.",
        span(best)
    );
    let missing: Vec<usize> = (0..old.len())
        .filter(|&at| best.pairs[at].is_none() && old[at].contains(is_word_char))
        .collect();
    match missing[..] {
        [at, ..] if best.equal > 0 && missing.len() * 2 <= old.len() => {
            let others = match missing.len() {
                1 => String::new(),
                more => format!(" (and {} more)", more - 1),
            };
            let kept = request.new.lines().any(|line| line.trim() == old[at].trim());
            let then = if kept { ": leave it out of both strings, or quote" } else { ". Quote" };
            format!(
                "Line {} of old_str, `{}`{others}, is not there{then} {quote}",
                at + 1,
                excerpt(old[at])
            )
        }
        _ if best.equal > 0 || best.score >= 0.6 => format!("Quote {quote}"),
        _ => "Read the file again; the text has changed or is in another file.".to_owned(),
    }
}

/// More or fewer places than expected.
pub(super) fn too_many(request: &EditRequest, lines: &[usize], overlapping: bool) -> Refusal {
    let found = lines.len();
    let mut lines = lines.to_vec();
    lines.dedup();
    let mut list = lines.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if lines.len() > 10 {
        list.push_str(", …");
    }
    let wanted = match request.expected {
        Expected::Exactly(count) => count.get(),
        Expected::All => 1,
    };
    let message = match (overlapping, found > 1) {
        (true, _) => format!(
            "old_str occurs in places that overlap (at lines {list}), so the result depends on which is meant"
        ),
        (false, true) if lines.len() == 1 => {
            format!("old_str fits at line {list} in {found} ways, expected {wanted}")
        }
        (false, true) => {
            format!("old_str fits {found} places (at lines {list}), expected {wanted}")
        }
        (false, false) => format!("old_str fits {found} place (at line {list}), expected {wanted}"),
    };
    let hint = if wanted == 1 && found > 1 && lines.len() == 1 {
        "Quote more of that line in old_str and new_str so that only one place fits; or, to change all of them, set expected_replacements or replace_all."
    } else if wanted == 1 && request.near_line.is_some() {
        "Several places are equally near to near_line. Give the line of one of them, or add lines above or below to old_str and new_str so that only one place fits."
    } else if wanted == 1 {
        "Add lines above or below to old_str and new_str so that only one place fits, or give near_line. To change all of them, set expected_replacements or replace_all."
    } else {
        "Set expected_replacements to the number found, or quote more lines."
    };
    let mut refusal = Refusal::new(EditCode::OccurrenceMismatch, message).hint(hint);
    lines.truncate(MAX_LINES);
    refusal.occurrences = lines;
    refusal
}

/// A lenient match is at one place, and a text more like the call at another.
pub(super) fn closer_elsewhere(request: &EditRequest, here: usize, nearer: usize) -> Refusal {
    let mut refusal = too_many(request, &[here.min(nearer), here.max(nearer)], false);
    refusal.message = format!(
        "old_str is not in the file as it is: line {here} says the same in another form, and line {nearer} is nearer to it but has changed"
    );
    refusal.hint = Some(format!(
        "Read around line {nearer} and quote the place you mean exactly as it is in the file."
    ));
    refusal
}

/// The edit was made already.
pub(super) fn already_applied(line: usize) -> Refusal {
    Refusal::new(EditCode::AlreadyApplied, format!("the file already has new_str, at line {line}"))
        .hint("The edit seems to be done already; go on with the next step. Do not send it again.")
}

/// A placeholder that would delete code.
pub(super) fn omission(placeholder: &str) -> Refusal {
    let message =
        format!("new_str has the placeholder `{}`, which would replace code", excerpt(placeholder));
    Refusal::new(EditCode::Omission, message)
        .hint("Write the code out in full, or narrow old_str and new_str to the lines that change. To delete the code, leave the placeholder out.")
}

/// The place is known, but the call could mean several results there.
pub(super) fn ambiguous(line: usize, rung: Rung, count: usize) -> Refusal {
    let place = format!("old_str is at line {line} with different {}", ignored_by(rung));
    let message = match count {
        0 => format!("{place}, and it is not clear how new_str should be written there"),
        _ => format!("{place}, and new_str can be written there in {count} ways"),
    };
    Refusal::new(EditCode::Ambiguous, message)
        .hint(format!("Read around line {line}, then send old_str as the file has it and new_str as it should be, white space included."))
}

/// The edit changes only what the match ignores, and the file has neither of its texts.
pub(super) fn only_ignored_changes(line: usize, rung: Rung) -> Refusal {
    let message = format!(
        "old_str is at line {line} with different {0}, and new_str changes only {0}",
        ignored_by(rung)
    );
    Refusal::new(EditCode::NoOccurrence, message).hint(format!(
        "Read around line {line}, then send old_str exactly as the file has it and new_str as it should be."
    ))
}

/// The difference that a rung ignores, in a word or two.
fn ignored_by(rung: Rung) -> &'static str {
    match rung {
        Rung::LineEndings => "line endings",
        Rung::Unescaped => "escapes",
        Rung::LineNumbers | Rung::DiffMarkers | Rung::CodeFence | Rung::HtmlEntities => {
            "line prefixes or markup"
        }
        Rung::OuterBlankLines | Rung::BlankLines => "blank lines",
        Rung::TrailingBlanks => "spaces at line ends",
        Rung::LookAlikes => "quotes, dashes or spaces",
        Rung::Indentation | Rung::LookAlikesAndIndentation => "indentation",
        Rung::Spacing => "white space",
        Rung::Punctuation => "quotes or closing marks",
        Rung::Reflowed => "line breaks",
        _ => "words",
    }
}

/// The only texts that the call can mean would break what is whole.
pub(super) fn breaks(line: usize, rung: Rung) -> Refusal {
    let message = format!(
        "old_str is at line {line} with different {}, and new_str there would leave brackets or literals unclosed",
        ignored_by(rung)
    );
    Refusal::new(EditCode::Syntax, message).hint(format!(
        "Read around line {line}, quote it exactly, and check the brackets and quotes of new_str."
    ))
}

/// Above this, a model is better off with less to quote.
const MAX_QUOTED_BYTES: usize = 2_000;

/// The place is known, and lines that the call rewrites differ in the file.
pub(super) fn stale(
    request: &EditRequest,
    file: &SourceFile<'_>,
    hunks: &[ConflictHunk],
) -> Refusal {
    let conflicts: Vec<Conflict> = hunks
        .iter()
        .map(|hunk| Conflict {
            start_line: hunk.lines.start + 1,
            end_line: hunk.lines.end,
            believed: hunk.believed.clone(),
            found: hunk.found.clone(),
            written: None,
        })
        .collect();
    let descriptions: Vec<String> = conflicts.iter().take(3).map(describe_conflict).collect();
    let message = format!("old_str is not in the file: {}", descriptions.join("; "));
    let lines = split_lines(&request.old);
    let found = nearest::regions(file, &lines, 3);
    let mut refusal = Refusal::new(EditCode::NoOccurrence, message);
    refusal.nearest = found.iter().map(|region| nearest::to_near(file, &lines, region)).collect();
    let span = refusal.nearest.first().map(|near| near.span());
    let span = span
        .or_else(|| conflicts.first().map(|c| LineSpan { start: c.start_line, end: c.start_line }));
    refusal.hint = span.map(|span| {
        let there = (span.start..=span.end).filter_map(|number| file.snapshot.line(number));
        let new = split_lines(&request.new);
        if there.map(str::trim).eq(new.iter().map(|line| line.trim())) {
            let read = if span.end > span.start { "read" } else { "reads" };
            return format!(
                "{span} of the file already {read} like new_str. Go on if that is right; otherwise copy {span} exactly into old_str."
            );
        }
        let bytes = |number| file.snapshot.line(number).map_or(0, str::len);
        if (span.start..=span.end).map(bytes).sum::<usize>() > MAX_QUOTED_BYTES {
            return format!(
                "Quote only the part of {span} that changes, exactly as in the file, and send new_str for that part."
            );
        }
        format!("Copy {span} of the file exactly into old_str, and send the new text as new_str.")
    });
    refusal.conflicts = conflicts;
    refusal
}

/// One conflict in words.
fn describe_conflict(conflict: &Conflict) -> String {
    let first = |text: &str| text.lines().find(|line| !line.trim().is_empty()).map(excerpt);
    let span = LineSpan { start: conflict.start_line, end: conflict.end_line };
    let has = if span.end > span.start { "have" } else { "has" };
    match (first(&conflict.believed), first(&conflict.found)) {
        (Some(believed), Some(found)) => {
            let note = lookalike_letter_note(&believed, &found).unwrap_or_default();
            format!("{span} {has} `{found}`, not `{believed}`{note}")
        }
        (None, Some(found)) => format!("{span} {has} `{found}`, which old_str does not have there"),
        (Some(believed), None) => format!("`{believed}` is not there (at {span})"),
        (None, None) if span.end > span.start => format!("{span} differ"),
        (None, None) => format!("{span} differs"),
    }
}

/// A letter that looks like the file's but is a different character.
fn lookalike_letter_note(believed: &str, found: &str) -> Option<String> {
    let (own, other) = believed.chars().zip(found.chars()).find(|(a, b)| a != b)?;
    let is_lookalike = own.is_ascii() != other.is_ascii() && own.is_alphabetic();
    let code = |c: char| format!("`{c}` (U+{:04X})", u32::from(c));
    is_lookalike.then(|| format!(", where old_str has {} for {}", code(own), code(other)))
}

fn excerpt(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(MAX_EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Snapshot;

    #[test]
    fn other_letter_case_is_named() {
        let snapshot = Snapshot::from_text("SELECT A\nFROM B;\n");
        let refusal =
            not_found(&EditRequest::new("from b;", "from c;"), &SourceFile::new(&snapshot, None));
        assert_eq!(
            refusal.message,
            "old_str is not in the file; line 2 has it in different letter case"
        );
    }
}
