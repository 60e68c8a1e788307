//! Calls that must be refused, each by construction: what the call would change or
//! remove is not what the file has, or it is there more than once, or there is nothing to do.

use std::num::NonZeroUsize;

use super::super::edits::folded;
use super::super::rng::Rng;
use super::indent::indent_unit;
use super::wording::{names, words};
use super::{CallDraft, DraftLine, EditDraft, LineRole};
use crate::edit::Expected;

fn swap(line: &str, (from, to): (usize, usize), word: &str) -> String {
    format!("{}{word}{}", &line[..from], &line[to..])
}

/// A removed or rewritten line for which `find` names a word, and that word.
fn removed_word(
    draft: &EditDraft<'_>,
    rng: &mut Rng,
    find: impl Fn(&str) -> Vec<(usize, usize)>,
) -> Option<(usize, (usize, usize))> {
    let places: Vec<(usize, (usize, usize))> = draft
        .positions(|draft_line| draft_line.role == LineRole::Removed)
        .into_iter()
        .filter(|&at| {
            draft.lines[at].file.as_deref().is_some_and(|l| !draft.edit.language.is_comment(l))
        })
        .flat_map(|at| {
            let line = draft.lines[at].file.as_deref().unwrap_or("");
            find(line).into_iter().map(move |word| (at, word)).collect::<Vec<_>>()
        })
        .collect();
    rng.pick(&places).copied()
}

/// Puts another word into the removed line, and into new lines that carry the word.
fn misremember(
    draft: &mut EditDraft<'_>,
    at: usize,
    span: (usize, usize),
    word: &str,
) -> Option<()> {
    let line = draft.lines[at].file.clone()?;
    let real = line[span.0..span.1].to_owned();
    (real != word && !draft.edit.file.contains(&swap(&line, span, word))).then_some(())?;
    draft.lines[at].old = Some(swap(&line, span, word));
    for draft_line in &mut draft.lines {
        if draft_line.role == LineRole::Added
            && let Some(new) = &draft_line.new
            && let Some(&found) = words(new).iter().find(|&&(from, to)| new[from..to] == real)
        {
            draft_line.new = Some(swap(new, found, word));
        }
    }
    // What the model remembers must still be an edit.
    let side = |pick: fn(&DraftLine) -> &Option<String>| -> Vec<String> {
        draft.lines.iter().filter_map(|draft_line| pick(draft_line).clone()).collect()
    };
    (side(|draft_line| &draft_line.old) != side(|draft_line| &draft_line.new)).then_some(())
}

/// A line that the edit rewrites has another number in the file than in `old_str`.
pub(super) fn other_number(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let number = |line: &str| -> Vec<(usize, usize)> {
        words(line)
            .into_iter()
            .filter(|&(from, to)| line[from..to].bytes().all(|b| b.is_ascii_digit()))
            .collect()
    };
    let (at, span) = removed_word(draft, rng, number)?;
    let value = format!("{}", 3 + rng.below(900));
    misremember(draft, at, span, &value)
}

/// A line that the edit rewrites has another name in the file than in `old_str`.
pub(super) fn other_name(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let (at, span) = removed_word(draft, rng, |line| names(line, 4))?;
    let all: Vec<String> = draft
        .lines_outside()
        .flat_map(|line| {
            names(line, 4).into_iter().map(|(a, b)| line[a..b].to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let word = rng.pick(&all)?.clone();
    misremember(draft, at, span, &word)
}

/// A line that the edit rewrites has another string in the file than in `old_str`.
pub(super) fn other_string(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let in_string = |line: &str| -> Vec<(usize, usize)> {
        names(line, 3)
            .into_iter()
            .filter(|&(from, _)| line[..from].matches('"').count() % 2 == 1 && !line.contains('\\'))
            .collect()
    };
    let (at, span) = removed_word(draft, rng, in_string)?;
    let word = *rng.pick(&["timeout", "default", "main", "other", "legacy"])?;
    misremember(draft, at, span, word)
}

fn lines_from_elsewhere(draft: &EditDraft<'_>, rng: &mut Rng, count: usize) -> Option<Vec<String>> {
    let edit_lines: Vec<String> = draft.file_lines().iter().map(|line| folded(line)).collect();
    let lines: Vec<&str> = draft
        .lines_outside()
        .filter(|l| folded(l).len() > 8 && !edit_lines.contains(&folded(l)))
        .collect();
    (0..count).map(|_| rng.pick(&lines).map(|line| (*line).to_owned())).collect()
}

/// First and last line are right, everything between is from elsewhere.
pub(super) fn middle_rewritten(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(2, 2);
    let olds = draft.positions(|draft_line| draft_line.old.is_some());
    let inner = olds.get(1..olds.len().checked_sub(1)?)?.to_vec();
    (inner.len() >= 3 && inner.iter().any(|&at| draft.lines[at].role == LineRole::Removed))
        .then_some(())?;
    let lines = lines_from_elsewhere(draft, rng, inner.len())?;
    for (at, line) in inner.into_iter().zip(lines) {
        draft.lines[at].old = Some(line);
    }
    Some(())
}

/// The inner lines are in the file, at another depth; the outer ones are not there.
pub(super) fn outer_lines_absent(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(1, 1);
    let last = draft.lines.len().checked_sub(1)?;
    (draft.lines[0].is_context_text() && draft.lines[last].is_context_text()).then_some(())?;
    let lines = lines_from_elsewhere(draft, rng, 2)?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| {
            if line.is_empty() { String::new() } else { format!("\t{line}") }
        });
    }
    for (at, line) in [0, last].into_iter().zip(lines) {
        draft.lines[at].change_in_call(|_| line.clone());
    }
    // The strange ends may be the right ones of another place.
    let old_text: String =
        draft.lines.iter().filter_map(|draft_line| draft_line.old.clone()).collect();
    (!folded(&draft.edit.file).contains(&folded(&old_text))).then_some(())
}

/// The file has a line more inside what the edit removes.
pub(super) fn file_has_more(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let at = inside_removed(draft, rng)?;
    let line = lines_from_elsewhere(draft, rng, 1)?.pop()?;
    let draft_line = DraftLine {
        role: LineRole::Removed,
        old: None,
        new: None,
        after: None,
        ..DraftLine::context(&line)
    };
    draft.lines.insert(at, draft_line);
    Some(())
}

/// `old_str` has a line more inside what the edit removes.
pub(super) fn old_has_more(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let at = inside_removed(draft, rng)?;
    let line = lines_from_elsewhere(draft, rng, 1)?.pop()?;
    let draft_line = DraftLine {
        role: LineRole::Removed,
        file: None,
        new: None,
        after: None,
        ..DraftLine::context(&line)
    };
    draft.lines.insert(at, draft_line);
    Some(())
}

fn inside_removed(draft: &EditDraft<'_>, rng: &mut Rng) -> Option<usize> {
    // What the new text has again is not removed, whatever the diff says.
    let stays: Vec<String> =
        draft.lines.iter().filter_map(|draft_line| draft_line.new.as_deref()).map(folded).collect();
    let removed = |draft_line: &DraftLine| {
        let line = draft_line.file.as_deref().map(folded).unwrap_or_default();
        draft_line.role == LineRole::Removed && (line.is_empty() || !stays.contains(&line))
    };
    let places: Vec<usize> =
        (1..draft.lines.len()).filter(|&at| draft.lines[at - 1..=at].iter().all(removed)).collect();
    rng.pick(&places).copied()
}

/// What the model wants to change is nowhere: the newer version's lines, which this
/// file does not have yet.
pub(super) fn absent(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let adds = draft.positions(|draft_line| draft_line.role == LineRole::Added);
    let lines: Vec<String> = adds.iter().filter_map(|&at| draft.lines[at].new.clone()).collect();
    let file = folded(&draft.edit.file);
    let known = lines.iter().filter(|line| file.contains(&folded(line))).count();
    (lines.len() >= 2 && known * 2 <= lines.len() && !file.contains(&folded(&lines.concat())))
        .then_some(())?;
    let at = rng.below(lines.len());
    let &span = rng.pick(&names(&lines[at], 3))?;
    let mut new = lines.clone();
    new[at] = swap(&lines[at], span, "changed");
    for draft_line in &mut draft.lines {
        (draft_line.old, draft_line.new) = (None, None);
    }
    for (line, new) in lines.into_iter().zip(new) {
        let draft_line = DraftLine {
            file: None,
            old: Some(line),
            new: Some(new),
            after: None,
            ..DraftLine::context("")
        };
        draft.lines.push(draft_line);
    }
    Some(())
}

/// Every name of the call is one that the file does not have.
pub(super) fn absent_renamed(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let mut changed = 0;
    for draft_line in &mut draft.lines {
        let rename = |line: &str| {
            let mut line = line.to_owned();
            for (from, to) in names(&line.clone(), 4).into_iter().rev() {
                let name: String = line[from..to].chars().rev().collect();
                line = swap(&line, (from, to), &name);
            }
            line
        };
        changed += draft_line.old.as_deref().map_or(0, |line| names(line, 4).len());
        draft_line.change_in_call(rename);
    }
    (changed >= 3).then_some(())
}

/// The edit has been made before.
pub(super) fn already_applied(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let fresh = draft
        .lines
        .iter()
        .any(|c| c.role == LineRole::Added && c.new.as_ref().is_some_and(|l| folded(l).len() > 6));
    let drops = draft.lines.iter().any(|c| c.role == LineRole::Removed);
    let inside = draft.lines.first()?.role == LineRole::Context
        && draft.lines.last()?.role == LineRole::Context;
    (fresh && (drops || inside)).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.file = draft_line.after.clone();
    }
    // The old text must be gone, and not be elsewhere either.
    let text = |pick: fn(&DraftLine) -> &Option<String>| -> String {
        draft
            .lines
            .iter()
            .filter_map(|draft_line| pick(draft_line).as_deref())
            .map(folded)
            .collect()
    };
    let file: String = [folded(&draft.head), text(|c| &c.file), folded(&draft.tail)].concat();
    (!file.contains(&text(|c| &c.old))).then_some(())
}

/// Nothing would change.
pub(super) fn no_change(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.new = call.old.clone();
    Some(())
}

/// An empty `old_str` on a file that has content.
pub(super) fn empty_old(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old.clear();
    Some(())
}

/// A bare marker is not enough to find anything.
pub(super) fn bare_elision(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    let mark = rng.pick(&["...", "…", "... existing code ..."])?;
    let before = call.before();
    (!before.contains("...") && !before.contains('…')).then_some(())?;
    call.old = (*mark).to_owned();
    Some(())
}

/// More places expected than there are.
pub(super) fn expects_too_many(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    call.expected = Expected::Exactly(NonZeroUsize::new(2 + rng.below(3))?);
    Some(())
}

fn append_copy(call: &mut CallDraft, change: impl Fn(&str) -> String) {
    // Blank lines at its end are a part of the text.
    let copy = change(call.region.strip_suffix('\n').unwrap_or(&call.region));
    let gap = if call.tail.ends_with('\n') { "\n" } else { "\n\n" };
    call.tail.push_str(&format!("{gap}{copy}\n"));
}

/// The text is in the file twice.
pub(super) fn twice(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    append_copy(call, str::to_owned);
    Some(())
}

/// Twice, and copied with spaces at the end of its first line.
pub(super) fn twice_folded(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    append_copy(call, str::to_owned);
    call.old.contains('\n').then_some(())?;
    call.old = call.old.replacen('\n', "  \n", 1);
    Some(())
}

fn indent_more(text: &str, step: &str) -> String {
    let line =
        |line: &str| if line.trim().is_empty() { line.to_owned() } else { format!("{step}{line}") };
    text.split_inclusive('\n').map(line).collect()
}

/// The text is in the file twice, at two depths, and the call has it at a third: neither place
/// fits better.
pub(super) fn two_depths(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let lines = |text: &str| {
        text.lines().filter(|l| !l.trim().is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let step = if lines(&call.old).iter().all(|line| line.starts_with('\t')) {
        "\t".to_owned()
    } else {
        let unit = indent_unit(&call.before());
        (unit > 0).then_some(())?;
        " ".repeat(unit)
    };
    let short = |text: &str| -> Option<String> {
        text.split_inclusive('\n')
            .map(|l| if l.trim().is_empty() { Some(l) } else { l.strip_prefix(&step) })
            .collect()
    };
    let (old, new) = (short(&call.old)?, short(&call.new)?);
    append_copy(call, |text| indent_more(text, &step));
    // The text one level shallower must not occur inside the deeper lines.
    (call.old.lines().count() > 1).then_some(())?;
    (call.old, call.new) = (old, new);
    (!call.before().contains(&call.old)).then_some(())
}

/// Two places that differ from the call in one context word each.
pub(super) fn twins_equally_near(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    // Comments may differ in a kept line, so that a word of one makes no twin.
    let language = draft.edit.language;
    draft.widen_context(3, 3);
    (draft.nonblank_lines() >= 6).then_some(())?;
    let candidates: Vec<usize> = draft
        .positions(DraftLine::is_context_text)
        .into_iter()
        .filter(|&at| {
            draft.lines[at]
                .file
                .as_deref()
                .is_some_and(|line| !names(language.strip_comments(line), 4).is_empty())
        })
        .collect();
    let at = *rng.pick(&candidates)?;
    let line = draft.lines[at].file.clone()?;
    let &span = rng.pick(&names(language.strip_comments(&line), 4))?;
    let name = line[span.0..span.1].to_owned();
    draft.lines[at].change_in_file(|_| swap(&line, span, &format!("{name}One")));
    let twin: String = draft
        .lines
        .iter()
        .enumerate()
        .filter_map(|(place, draft_line)| {
            let held = draft_line.file.as_deref()?;
            let text = if place == at {
                swap(&line, span, &format!("{name}Two"))
            } else {
                held.to_owned()
            };
            Some(format!("{text}\n"))
        })
        .collect();
    draft.tail.push_str(&format!("\n{twin}"));
    Some(())
}

/// `new_str` leaves the rest to the reader.
pub(super) fn omission(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(4, 4);
    let open = draft
        .edit
        .language
        .comment_openers()
        .next()
        .filter(|mark| !mark.starts_with(['<', '-']))?;
    let last = draft.lines.iter().rposition(|draft_line| draft_line.role != LineRole::Context)?;
    let rest: Vec<usize> = (last + 1..draft.lines.len()).collect();
    (rest.len() >= 3).then_some(())?;
    let words = rng.pick(&[
        "... rest of the code ...",
        "... existing code ...",
        "... rest of function unchanged ...",
    ])?;
    (!draft.edit.file.contains(words)).then_some(())?;
    for &at in &rest {
        draft.lines[at].new = None;
    }
    let line = draft.lines[rest[0]].old.clone()?;
    let indentation = &line[..line.len() - line.trim_start().len()];
    draft.lines[rest[0]].new = Some(format!("{indentation}{open} {words}"));
    Some(())
}

/// The line hint picks one of two equal places.
pub(super) fn near_line(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    append_copy(call, str::to_owned);
    call.near_line = Some(call.first_line());
    Some(())
}

/// Every occurrence of a name, by number or by `All`.
pub(super) fn every_name(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    let before = call.before();
    let found = names(&call.region, 6);
    let &(from, to) = rng.pick(&found)?;
    let name = call.region[from..to].to_owned();
    let count = before.matches(&name).count();
    (2..=6).contains(&count).then_some(())?;
    let to = format!("{name}Renamed");
    call.after = before.replace(&name, &to);
    (call.head, call.tail) = (String::new(), String::new());
    call.region = before;
    (call.old, call.new) = (name, to);
    call.expected =
        if rng.chance(50) { Expected::All } else { Expected::Exactly(NonZeroUsize::new(count)?) };
    Some(())
}

/// One place expected where a name has several.
pub(super) fn name_repeats(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    every_name(call, rng)?;
    call.expected = Expected::default();
    Some(())
}
