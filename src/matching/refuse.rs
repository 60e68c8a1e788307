//! Refusals that teach: the cause where it can be told, the places that matter, and
//! what lets the next call succeed.

use std::ops::{Range, RangeInclusive};

use super::call::Call;
use super::canon::is_word;
use super::decode::Reading;
use super::events::{Event, events};
use super::merge::{Conflict, new_lines};
use super::near::{Region, Stand, nearest, regions, visible};
use super::tokens::tokens;
use super::window::{Window, split};
use crate::edit::{EditCode, Expected, Refusal};
use crate::text::LineSpan;

/// Occurrences that are listed.
const MOST_LINES: usize = 50;

const TOO_MANY: &str = "more places may be meant than can be compared one by one";

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
    let found = regions(call.source(), old, 3);
    let mut refusal = Refusal::new(EditCode::NoOccurrence, "old_str is not in the file");
    if call.gave_up() {
        refusal.message.push_str(&format!(" as it is, and {TOO_MANY}"));
    }
    let Some(best) = found.first() else {
        refusal.message.push_str(", and nothing in the file is like it");
        return refusal.hint(
            "Read the file again, or search for a name from the text: it may be in another file or gone.",
        );
    };
    let span = best.near.span();
    if let Some(difference) = &best.near.first_difference {
        refusal.message.push_str(&format!(
            "; {span} {} {:.0} % alike{}",
            if span.start == span.end { "is" } else { "are" },
            best.near.score * 100.0,
            match difference.line {
                line if span.start == span.end && line == span.start => String::new(),
                line => format!(" and first differ at line {line}"),
            }
        ));
    }
    refusal.hint = Some(how_to_quote(call, &found));
    refusal.nearest = found.into_iter().map(|region| region.near).collect();
    refusal
}

/// What to quote instead of `old_str`, by the regions that are like it, best first.
fn how_to_quote(call: &Call<'_>, found: &[Region]) -> String {
    let best = &found[0];
    let span = best.near.span();
    if let Some(rival) = found.get(1).filter(|rival| best.is_hardly_better_than(rival)) {
        return format!(
            "Two places are about as near, {span} and {}: read both, and quote the one that is meant as the file has it.",
            rival.near.span()
        );
    }
    let (old, new) = (split(&call.request.old), split(&call.request.new));
    let lacks = |at: &usize| best.lines[*at] == Stand::Nothing && old[*at].contains(is_word);
    let lacking: Vec<usize> = (0..best.lines.len()).filter(lacks).collect();
    let says = |line: &str| line.chars().filter(|c| is_word(*c)).count() >= 6;
    let stands =
        (0..best.lines.len()).any(|at| matches!(best.lines[at], Stand::Same(_)) && says(old[at]));
    let quote = format!("{span} as the file has it (read just that), then send the edit again.");
    match lacking[..] {
        [at, ..] if stands && lacking.len() * 2 <= old.len() => {
            let others = match lacking.len() {
                1 => String::new(),
                n => format!(" (and {} more)", n - 1),
            };
            let line = visible(old[at].trim());
            let kept = new.iter().any(|line| line.trim() == old[at].trim());
            let then = if kept { ": leave it out of both strings, or quote" } else { ". Quote" };
            format!("Line {} of old_str, `{line}`{others}, is not there{then} {quote}", at + 1)
        }
        _ if stands || best.near.score >= 0.6 => format!("Quote {quote}"),
        _ => "Read the file again; the text has changed or is in another file.".to_owned(),
    }
}

/// More or fewer places than expected.
pub(super) fn too_many(call: &Call<'_>, lines: &[usize], overlapping: bool) -> Refusal {
    let found = lines.len();
    let mut lines = lines.to_vec();
    lines.dedup();
    let list = listed(&lines);
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

/// The text fits at these lines, and there are more places that may be meant than are compared
/// (see [`super::bounded`]).
pub(super) fn not_all_compared(call: &Call<'_>, lines: &[usize]) -> Refusal {
    let message = format!("old_str fits at lines {}, but {TOO_MANY}", listed(lines));
    let mut refusal = Refusal::new(EditCode::OccurrenceMismatch, message).hint(
        "Quote the text character for character as the file has it, or add lines to old_str and new_str that only the place that is meant has.",
    );
    refusal.occurrences = lines.iter().take(MOST_LINES).copied().collect();
    refusal.nearest = nearest(call.source(), &call.request.old, 3);
    refusal
}

/// The first line numbers, as words.
fn listed(lines: &[usize]) -> String {
    let mut list = lines.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if lines.len() > 10 {
        list.push_str(", …");
    }
    list
}

/// The new text has lines that the file has beyond the place.
pub(super) fn brings_again(line: usize) -> Refusal {
    Refusal::new(
        EditCode::NoOccurrence,
        format!("new_str has lines that the file has beside the place already (line {line}), and old_str has not; they would stand there twice"),
    )
    .hint("Quote these lines in old_str, too, or leave them out of new_str.")
}

/// The old text is there, and the new one is written otherwise.
pub(super) fn written_otherwise(line: usize, why: &str) -> Refusal {
    Refusal::new(EditCode::NoOccurrence, format!("old_str is at line {line}, but {why}")).hint(
        "Send new_str as the file shall have it. If it is meant so, make that change alone, and the others in another call.",
    )
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
                let removed = removed_around(&read.reading);
                let gone = !removal_is_pending(call, &read.reading, line)
                    && removed
                        .is_none_or(|removed| stands_without(call, at..at + new.len(), &removed));
                return gone.then(|| already_applied(line));
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

/// The words that go before or behind what stays, where the edit only takes away.
/// `new_str` is a part of `old_str` then, and stands in the file anyway.
fn removed_around(reading: &Reading) -> Option<Vec<&str>> {
    let solid = |text| -> Vec<&str> {
        tokens(text).into_iter().filter(|token: &&str| !token.trim().is_empty()).collect()
    };
    let (old, new) = (solid(&reading.old), solid(&reading.new));
    let mut rest = old.iter();
    if !new.iter().all(|token| rest.any(|old| old == token)) {
        return None;
    }
    let around = old.strip_prefix(&new[..]).or_else(|| old.strip_suffix(&new[..]));
    let words = around.unwrap_or_default().iter().copied();
    Some(words.filter(|token| token.contains(is_word)).collect())
}

/// Whether a range of the file consists of whole lines, with no such word around it.
fn stands_without(call: &Call<'_>, range: Range<usize>, removed: &[&str]) -> bool {
    let (before, behind) = (&call.text()[..range.start], &call.text()[range.end..]);
    let before = before.rsplit('\n').next().unwrap_or_default();
    let behind = behind.split('\n').next().unwrap_or_default();
    let source = call.source();
    let reach = split(&call.request.old).len() + 1;
    let from = source.line_at(range.start).saturating_sub(reach);
    let to = (source.line_at(range.end) + reach + 1).min(source.lines.len());
    before.trim().is_empty()
        && behind.trim().is_empty()
        && !(from..to).any(|at| tokens(source.body(at)).iter().any(|word| removed.contains(word)))
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
    .hint("Write the code out in full, or narrow old_str and new_str to the lines that change. If the code shall go, leave the placeholder out.")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::EditRequest;
    use crate::matching::explain;
    use crate::text::Snapshot;

    fn refused(file: &str, old: &str, new: &str) -> Refusal {
        let file = Snapshot::from_text(file);
        explain(&EditRequest::new(old, new), &file).expect_err("is refused")
    }

    #[test]
    fn a_deletion_is_made_when_what_goes_is_gone() {
        let file = "from app import load, audit\ncfg = load(path)\naudit(cfg, level=1)\n";
        for (old, new, code) in [
            (
                "cfg = load(path); audit(cfg, level=2)\n",
                "cfg = load(path)\n",
                EditCode::NoOccurrence,
            ),
            ("import load, audit, stop", "import load, audit", EditCode::NoOccurrence),
            (
                "from app import load, audit, stop",
                "from app import load, audit",
                EditCode::AlreadyApplied,
            ),
        ] {
            assert_eq!(refused(file, old, new).code, code, "{old}");
        }
    }

    #[test]
    fn hints_name_what_is_not_there_and_rivals() {
        let file = "start()\n\nsave(first)\nrun(second, third)\n";
        let old = "# callbacks\nsave(first)\nrun(second, 3)\n";
        let hint = refused(file, old, "# callbacks\nsave(first)\nrun(second, 4)\n").hint;
        let hint = hint.expect("has a hint");
        assert!(hint.starts_with("Line 1 of old_str, `# callbacks`, is not there"), "{hint}");
        assert!(hint.contains("quote lines 3-4"), "{hint}");
        let file = "def order():\n    save(it)\n\ndef user():\n    save(it)\n";
        let old = "def thing():\n    save(it)\n";
        let hint = refused(file, old, "def thing():\n    keep(it)\n").hint.expect("has a hint");
        assert!(hint.contains("lines 1-2 and lines 4-5"), "{hint}");
    }
}
