//! Refusals that teach: the cause where it can be told, the places that matter, and
//! what lets the next call succeed.

use std::ops::RangeInclusive;

use super::call::Call;
use super::canon::is_word;
use super::decode::Reading;
use super::events::{Event, events};
use super::merge::{Conflict, new_lines};
use super::near::{nearest, visible};
use super::window::{Window, split};
use crate::edit::{EditCode, Expected, Refusal};
use crate::text::LineSpan;

/// Occurrences that are listed.
const MOST_LINES: usize = 50;

/// No rung found any place.
pub(super) fn not_found(call: &Call<'_>) -> Refusal {
    let old = &call.request.old;
    if old.trim().is_empty() {
        return Refusal::new(
            EditCode::NoOccurrence,
            "old_str is white space only, and not in the file as it is",
        )
        .hint("Quote a line with text in it next to the place, and repeat that line in new_str.");
    }
    if call.text().is_empty() {
        return Refusal::new(EditCode::NoOccurrence, "the file is empty")
            .hint("Send an empty old_str to fill it.");
    }
    let near = nearest(call.source(), old, 3);
    let mut refusal = Refusal::new(EditCode::NoOccurrence, "old_str is not in the file");
    let Some(best) = near.first() else {
        refusal.message.push_str(", and nothing in the file is like it");
        return refusal.hint(
            "Read the file again, or search for a name from the text: it may be in another file or gone.",
        );
    };
    let span = LineSpan { start: best.start_line, end: best.end_line };
    if let Some(difference) = &best.first_difference {
        refusal.message.push_str(&format!(
            "; {span} {} {:.0} % alike{}",
            if span.start == span.end { "is" } else { "are" },
            best.score * 100.0,
            match difference.line {
                line if span.start == span.end && line == span.start => String::new(),
                line => format!(" and first differ at line {line}"),
            }
        ));
    }
    let hint = if best.score >= 0.6 {
        format!("Quote {span} as the file has it (read just that), then send the edit again.")
    } else {
        "Read the file again; the text has changed or is in another file.".to_owned()
    };
    refusal.nearest = near;
    refusal.hint(hint)
}

/// More or fewer places than expected.
pub(super) fn too_many(call: &Call<'_>, lines: &[usize], overlapping: bool) -> Refusal {
    let found = lines.len();
    let mut lines = lines.to_vec();
    lines.dedup();
    let mut list = lines.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if lines.len() > 10 {
        list.push_str(", …");
    }
    let wanted = match call.request.expected {
        Expected::Exactly(count) => count.get(),
        Expected::All => 1,
    };
    let message = match (overlapping, found > 1) {
        (true, _) => format!(
            "old_str occurs in overlapping places (at lines {list}), and which is meant decides the result"
        ),
        (false, true) => {
            format!("old_str fits {found} places (at lines {list}), expected {wanted}")
        }
        (false, false) => format!("old_str fits {found} place (at line {list}), expected {wanted}"),
    };
    let hint = if wanted == 1 {
        "Add lines above or below to old_str and new_str so that only one place fits; or give near_line; or, to change all of them, expected_replacements or replace_all."
    } else {
        "Set expected_replacements to the number found, or quote more lines."
    };
    let mut refusal = Refusal::new(EditCode::OccurrenceMismatch, message).hint(hint);
    lines.truncate(MOST_LINES);
    refusal.occurrences = lines;
    refusal
}

/// The new text has lines that the file has beyond the place.
pub(super) fn brings_again(line: usize) -> Refusal {
    Refusal::new(
        EditCode::NoOccurrence,
        format!("new_str has lines that the file has beside the place already (line {line}), and old_str has not; they would stand there twice"),
    )
    .hint("Quote these lines in old_str, too, or leave them out of new_str.")
}

/// The edit was made already.
pub(super) fn already_applied(line: usize) -> Refusal {
    Refusal::new(EditCode::AlreadyApplied, format!("the file already has new_str, at line {line}"))
        .hint("The edit was made before; go on with the next step. Do not send it again.")
}

/// `old_str` is nowhere, `new_str` is at one place, and what the edit would remove is
/// not beside it.
pub(super) fn applied(call: &Call<'_>) -> Option<Refusal> {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    let text = call.text().as_bytes();
    for read in call.clear_readings() {
        let new = read.reading.new.trim_matches('\n');
        if letters(new) < 8 || only_removes(&read.reading) {
            continue;
        }
        let crlf = new.replace("\r\n", "\n").replace('\n', "\r\n");
        for new in [new, crlf.as_str()] {
            let mut found = memchr::memmem::find_iter(text, new.as_bytes());
            if let (Some(at), None) = (found.next(), found.next()) {
                let line = call.snapshot.lines().number_at(at);
                return (!removal_is_pending(call, &read.reading, line))
                    .then(|| already_applied(line));
            }
        }
    }
    None
}

/// Whether `new` has nothing that `old` has not, so that it stands in the file anyway.
fn only_removes(reading: &Reading) -> bool {
    let (old, new) = (split(&reading.old), new_lines(&reading.old, &reading.new));
    let brings = |event: &Event| match *event {
        Event::Insert(n) | Event::Change(_, n) => !new[n].trim().is_empty(),
        Event::Keep(..) | Event::Delete(_) => false,
    };
    !events(&old, &new).iter().any(brings)
}

/// Whether the lines that the edit removes stand near a line of the file.
fn removal_is_pending(call: &Call<'_>, reading: &Reading, line: usize) -> bool {
    let (old, new) = (split(&reading.old), new_lines(&reading.old, &reading.new));
    let removed: Vec<&str> = events(&old, &new)
        .into_iter()
        .filter_map(|event| match event {
            Event::Delete(o) | Event::Change(o, _) => Some(old[o].trim()),
            Event::Keep(..) | Event::Insert(_) => None,
        })
        .filter(|line| line.contains(is_word))
        .collect();
    let source = call.source();
    let reach = old.len() + 1;
    let from = line.saturating_sub(reach + 1);
    let to = (line + new.len() + reach).min(source.lines.len());
    let stands = |gone: &&&str| (from..to).any(|at| source.body(at).trim() == **gone);
    !removed.is_empty() && removed.iter().filter(stands).count() * 2 >= removed.len()
}

/// A placeholder that would delete code.
pub(super) fn omission(placeholder: &str) -> Refusal {
    Refusal::new(
        EditCode::Omission,
        format!(
            "new_str has the placeholder `{}`, which the file does not have",
            visible(placeholder)
        ),
    )
    .hint("Write the code out in full, or narrow old_str and new_str to the lines that change.")
}

/// The place is found, but the change runs over something the call does not know.
pub(super) fn conflict(call: &Call<'_>, window: &Window, conflict: &Conflict) -> Refusal {
    let lines = window.first().zip(window.last()).map(|(first, last)| first.line..=last.line);
    conflict_over(call, lines, conflict)
}

/// The same for some lines of the file.
pub(super) fn conflict_over(
    call: &Call<'_>,
    lines: Option<RangeInclusive<usize>>,
    conflict: &Conflict,
) -> Refusal {
    let mut refusal = stale_line(call, conflict.line);
    refusal.message =
        format!("{} (line {}: `{}`)", conflict.why, conflict.line + 1, shown(call, conflict.line));
    if let Some(lines) = lines {
        refusal.hint = Some(quote_again(*lines.start(), *lines.end()));
    }
    refusal
}

fn quote_again(first: usize, last: usize) -> String {
    let span = LineSpan { start: first + 1, end: last + 1 };
    format!("Quote {span} as the file has it, then send the edit again.")
}

/// A line that the edit changes, or stands beside, is not in the file as quoted.
pub(super) fn stale(call: &Call<'_>, window: &Window, line: usize) -> Refusal {
    let mut refusal = stale_line(call, line);
    if let (Some(first), Some(last)) = (window.first(), window.last()) {
        refusal.hint = Some(quote_again(first.line, last.line));
    }
    refusal
}

/// The same for a single line.
pub(super) fn stale_line(call: &Call<'_>, line: usize) -> Refusal {
    let mut refusal = Refusal::new(
        EditCode::NoOccurrence,
        format!(
            "old_str is not in the file: line {} is `{}`, which is not what the edit changes",
            line + 1,
            shown(call, line)
        ),
    )
    .hint(format!("Read around line {} and quote it as it is.", line + 1));
    refusal.nearest = nearest(call.source(), &call.request.old, 3);
    refusal
}

fn shown(call: &Call<'_>, line: usize) -> String {
    let source = call.source();
    if line < source.lines.len() { visible(source.body(line)) } else { String::new() }
}
