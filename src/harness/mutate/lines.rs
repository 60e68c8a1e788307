//! Lines that end, come, go or break differently.
//!
//! Only context is touched, and only between two context lines, so the file's own
//! lines are the truth and a new line's place beside a blank one is never in doubt.

use super::super::edits::folded;
use super::super::rng::Rng;
use super::{DraftLine, EditDraft, LineRole};

const TRAILING: &[&str] = &["  ", " ", "\t", "    "];

/// The file has whitespace at the end of context lines.
pub(super) fn trailing_in_file(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let marks = draft.positions(DraftLine::is_context_text);
    let always = *rng.pick(&marks)?;
    for at in marks {
        if at == always || rng.chance(40) {
            let pad = rng.pick(TRAILING)?;
            draft.lines[at].change_in_file(|line| format!("{line}{pad}"));
        }
    }
    Some(())
}

/// The file has whitespace at the end of the line that is rewritten. The new line may keep
/// them or not: either is right.
pub(super) fn trailing_at_change(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let (drop, add) = single_replacement(draft)?;
    let pad = rng.pick(TRAILING)?;
    draft.lines[drop].change_in_file(|line| format!("{line}{pad}"));
    let with_padding = format!("{}{pad}", draft.lines[add].after.as_ref()?);
    draft.lines[add].alternative = Some((with_padding, "\n"));
    Some(())
}

/// The one removed and the one new line of an edit that has no more of either.
fn single_replacement(draft: &EditDraft<'_>) -> Option<(usize, usize)> {
    let only = |kind| match draft.positions(|draft_line| draft_line.role == kind)[..] {
        [at] => Some(at),
        _ => None,
    };
    Some((only(LineRole::Removed)?, only(LineRole::Added)?))
}

/// The file's blank lines hold whitespace.
pub(super) fn blank_lines_hold_blanks(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let blank_lines = draft.positions(DraftLine::is_blank_context);
    (!blank_lines.is_empty()).then_some(())?;
    let pad = rng.pick(TRAILING)?;
    for at in blank_lines {
        draft.lines[at].change_in_file(|line| format!("{line}{pad}"));
    }
    Some(())
}

/// The model adds spaces at the end of lines that it copies.
pub(super) fn trailing_in_call(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let all = draft.positions(|draft_line| draft_line.role != LineRole::Added);
    let always = *rng.pick(&all)?;
    for at in all {
        if at == always || rng.chance(40) {
            draft.lines[at].change_in_call(|line| format!("{line}  "));
        }
    }
    Some(())
}

/// The same, in `old_str` only.
pub(super) fn trailing_in_old(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let all = draft.positions(|draft_line| draft_line.role != LineRole::Added);
    let always = *rng.pick(&all)?;
    for at in all {
        if at == always || rng.chance(40) {
            let draft_line = &mut draft.lines[at];
            draft_line.old = draft_line.old.as_ref().map(|line| format!("{line}  "));
        }
    }
    Some(())
}

/// Blank context lines that the model left out.
pub(super) fn blank_dropped(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    draft.widen_context(3, 3);
    let blank_lines: Vec<usize> = draft
        .positions(DraftLine::is_blank_context)
        .into_iter()
        .filter(|&at| {
            draft.is_inside_context(at)
                && !draft.lines[at - 1].is_blank_context()
                && !draft.lines[at + 1].is_blank_context()
        })
        .collect();
    (!blank_lines.is_empty()).then_some(())?;
    for at in blank_lines {
        (draft.lines[at].old, draft.lines[at].new) = (None, None);
    }
    Some(())
}

fn between_context(draft: &EditDraft<'_>) -> Vec<usize> {
    (1..draft.lines.len())
        .filter(|&at| draft.lines[at - 1].is_context_text() && draft.lines[at].is_context_text())
        .collect()
}

/// A blank line that only the model has.
pub(super) fn blank_added(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(1, 1);
    let at = *rng.pick(&between_context(draft))?;
    let phantom = DraftLine { file: None, after: None, ..DraftLine::context("") };
    draft.lines.insert(at, phantom);
    Some(())
}

fn is_code(draft: &EditDraft<'_>, line: &str) -> bool {
    !draft.edit.language.is_comment(line) && !line.contains(['"', '\'', '`', '\\', '#'])
}

/// A wrapped statement of the context, put on one line.
pub(super) fn joined(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(4, 4);
    let places: Vec<usize> = between_context(draft)
        .into_iter()
        .filter(|&at| {
            let (Some(a), Some(b)) = (&draft.lines[at - 1].file, &draft.lines[at].file) else {
                return false;
            };
            let inside = at > 1 && at + 1 < draft.lines.len();
            let wraps = a.trim_end().ends_with(['(', ',', '[', '=', '+', '|', '&']);
            inside && wraps && is_code(draft, a) && is_code(draft, b)
        })
        .collect();
    let at = *rng.pick(&places)?;
    let next = draft.lines[at].file.clone()?;
    draft.lines[at - 1].change_in_call(|line| {
        let line = line.trim_end();
        let gap = if line.ends_with(['(', '[']) { "" } else { " " };
        format!("{line}{gap}{}", next.trim())
    });
    (draft.lines[at].old, draft.lines[at].new) = (None, None);
    Some(())
}

/// A long context line, wrapped after a comma.
pub(super) fn wrapped(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(3, 3);
    let places: Vec<usize> = draft
        .positions(DraftLine::is_context_text)
        .into_iter()
        .filter(|&at| {
            let line = draft.lines[at].file.as_deref().unwrap_or("");
            let inside = at > 0 && at + 1 < draft.lines.len();
            inside
                && line.len() > 40
                && line.contains(", ")
                && line.contains('(')
                && is_code(draft, line)
        })
        .collect();
    let at = *rng.pick(&places)?;
    draft.lines[at].change_in_call(|line| {
        let indent = &line[..line.len() - line.trim_start().len()];
        line.replacen(", ", &format!(",\n{indent}    "), 1)
    });
    Some(())
}

fn marker(draft: &EditDraft<'_>, like: &str, rng: &mut Rng) -> Option<String> {
    const WORDS: &[&str] = &[
        "... existing code ...",
        "…rest of the function…",
        "... rest of code unchanged ...",
        "...",
    ];
    let indent = &like[..like.len() - like.trim_start().len()];
    let open = draft.edit.language.comment_openers().next().filter(|c| !c.ends_with(['*', '-']))?;
    let words = rng.pick(WORDS)?;
    Some(if *words == "..." { format!("{indent}...") } else { format!("{indent}{open} {words}") })
}

/// Whether the anchors on both sides of an elision occur once in the file.
fn anchored(draft: &EditDraft<'_>, from: usize, to: usize) -> bool {
    let file: String = draft
        .head
        .lines()
        .chain(draft.file_lines())
        .chain(draft.tail.lines())
        .map(folded)
        .collect();
    let once = |lines: &[DraftLine]| {
        let text: String = lines.iter().filter_map(|c| c.file.as_deref()).map(folded).collect();
        text.len() >= 16 && memchr::memmem::find_iter(file.as_bytes(), text.as_bytes()).count() == 1
    };
    once(&draft.lines[..from]) && once(&draft.lines[to..])
}

/// The middle of the context replaced by a marker, in both strings.
pub(super) fn elided_context(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(12, 0);
    let change = draft.lines.iter().position(|draft_line| draft_line.role != LineRole::Context)?;
    let (from, to) = (2, change.checked_sub(2)?);
    (to >= from + 3 && anchored(draft, from, to)).then_some(())?;
    elide(draft, from, to, rng)
}

/// The middle of removed lines replaced by a marker; `new_str` is whole.
pub(super) fn elided_removed(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let first = draft.lines.iter().position(|draft_line| draft_line.role == LineRole::Removed)?;
    let drops = draft.lines[first..]
        .iter()
        .take_while(|draft_line| draft_line.role == LineRole::Removed)
        .count();
    (drops >= 7).then_some(())?;
    let (from, to) = (first + 2, first + drops - 2);
    anchored(draft, from, to).then_some(())?;
    elide(draft, from, to, rng)
}

fn elide(draft: &mut EditDraft<'_>, from: usize, to: usize, rng: &mut Rng) -> Option<()> {
    let like = draft.lines[from - 1].file.clone()?;
    let marker = marker(draft, &like, rng)?;
    for draft_line in &mut draft.lines[from..to] {
        (draft_line.old, draft_line.new) = (None, None);
    }
    let both = draft.lines[from].role == LineRole::Context;
    let marker = Some(marker);
    let new = if both { marker.clone() } else { None };
    let draft_line =
        DraftLine { file: None, old: marker, new, after: None, ..DraftLine::context("") };
    draft.lines.insert(from, draft_line);
    Some(())
}

/// A file with both kinds of line break, in no order; the new line takes the break of
/// either neighbour.
pub(super) fn mixed_endings(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let (drop, add) = single_replacement(draft)?;
    (draft.lines.len() > 3).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.ending = if rng.chance(50) { "\r\n" } else { "\n" };
    }
    draft.lines[add].ending = draft.lines[drop].ending;
    let other = if draft.lines[drop].ending == "\n" { "\r\n" } else { "\n" };
    draft.lines[add].alternative = Some((draft.lines[add].after.clone()?, other));
    draft.lines.iter().any(|draft_line| draft_line.ending == "\r\n").then_some(())
}
