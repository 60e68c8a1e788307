//! Mutations of whole lines: whitespace at their ends, lines that are missing or added, lines that
//! are joined or wrapped.
//!
//! Most of them change only context, and only between two context lines. So the file's own lines
//! are right, and it is always certain where an added line belongs.

use super::{DraftLine, EditDraft, LineRole};
use crate::edits::folded;
use crate::rng::Rng;

const TRAILING: &[&str] = &["  ", " ", "\t", "    "];

/// Adds whitespace at the end of context lines in the file: of one line for certain, of each other
/// one by chance.
pub(super) fn trailing_in_file(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let context = draft.positions(DraftLine::is_context_text);
    let always = *rng.pick(&context)?;
    for index in context {
        if index == always || rng.chance(40) {
            let padding = rng.pick(TRAILING)?;
            draft.lines[index].change_in_file(|line| format!("{line}{padding}"));
        }
    }
    Some(())
}

/// Adds whitespace at the end of the rewritten line in the file. It goes with that line: the new
/// one is as the call has it.
pub(super) fn trailing_at_change(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let (removed, _) = single_replacement(draft)?;
    let padding = rng.pick(TRAILING)?;
    draft.lines[removed].change_in_file(|line| format!("{line}{padding}"));
    Some(())
}

/// Returns the indexes of the removed and the added line of an edit that has one of each.
fn single_replacement(draft: &EditDraft<'_>) -> Option<(usize, usize)> {
    let only = |role| match draft.positions(|draft_line| draft_line.role == role)[..] {
        [index] => Some(index),
        _ => None,
    };
    Some((only(LineRole::Removed)?, only(LineRole::Added)?))
}

/// Puts whitespace into the blank lines of the file.
pub(super) fn blank_lines_hold_blanks(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let blank_lines = draft.positions(DraftLine::is_blank_context);
    (!blank_lines.is_empty()).then_some(())?;
    let padding = rng.pick(TRAILING)?;
    for index in blank_lines {
        draft.lines[index].change_in_file(|line| format!("{line}{padding}"));
    }
    Some(())
}

/// Adds spaces in the call at the end of lines that are in the file: of one line for certain, of
/// each other one by chance. Where the edit adds such spaces on purpose, they look like that mistake.
pub(super) fn trailing_in_call(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let has_blanks = |draft_line: &DraftLine| {
        draft_line.new.as_deref().is_some_and(|line| line.trim_end() != line)
    };
    (!draft.lines.iter().any(has_blanks)).then_some(())?;
    let copied = draft.positions(|draft_line| draft_line.role != LineRole::Added);
    let always = *rng.pick(&copied)?;
    for index in copied {
        if index == always || rng.chance(40) {
            draft.lines[index].change_in_call(|line| format!("{line}  "));
        }
    }
    Some(())
}

/// Adds spaces at the end of lines in `old_str` only: of one line for certain, of each other one by
/// chance.
pub(super) fn trailing_in_old(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let copied = draft.positions(|draft_line| draft_line.role != LineRole::Added);
    let always = *rng.pick(&copied)?;
    for index in copied {
        if index == always || rng.chance(40) {
            let draft_line = &mut draft.lines[index];
            draft_line.old = draft_line.old.as_ref().map(|line| format!("{line}  "));
        }
    }
    Some(())
}

/// Removes blank context lines from the call.
pub(super) fn blank_dropped(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    draft.widen_context(3, 3);
    let blank_lines: Vec<usize> = draft
        .positions(DraftLine::is_blank_context)
        .into_iter()
        .filter(|&index| {
            draft.is_inside_context(index)
                && !draft.lines[index - 1].is_blank_context()
                && !draft.lines[index + 1].is_blank_context()
        })
        .collect();
    (!blank_lines.is_empty()).then_some(())?;
    for index in blank_lines {
        (draft.lines[index].old, draft.lines[index].new) = (None, None);
    }
    Some(())
}

/// Returns the indexes of the lines that, like the line above them, are context with text.
fn context_below_context(draft: &EditDraft<'_>) -> Vec<usize> {
    (1..draft.lines.len())
        .filter(|&index| {
            draft.lines[index - 1].is_context_text() && draft.lines[index].is_context_text()
        })
        .collect()
}

/// Adds a blank line to the call that the file does not have.
pub(super) fn blank_added(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(1, 1);
    let index = *rng.pick(&context_below_context(draft))?;
    let blank_line = DraftLine { file: None, after: None, ..DraftLine::context("") };
    draft.lines.insert(index, blank_line);
    Some(())
}

/// Whether a line is code without comments and strings, so that it can be wrapped or joined.
fn is_code(draft: &EditDraft<'_>, line: &str) -> bool {
    !draft.edit.language.is_comment(line) && !line.contains(['"', '\'', '`', '\\', '#'])
}

/// Joins two context lines, over which a statement is wrapped, into one line in the call.
pub(super) fn joined(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(4, 4);
    let second_lines: Vec<usize> = context_below_context(draft)
        .into_iter()
        .filter(|&index| {
            let (Some(first), Some(second)) =
                (&draft.lines[index - 1].file, &draft.lines[index].file)
            else {
                return false;
            };
            let is_inside = index > 1 && index + 1 < draft.lines.len();
            let is_wrapped = first.trim_end().ends_with(['(', ',', '[', '=', '+', '|', '&']);
            is_inside && is_wrapped && is_code(draft, first) && is_code(draft, second)
        })
        .collect();
    let index = *rng.pick(&second_lines)?;
    let second = draft.lines[index].file.clone()?;
    draft.lines[index - 1].change_in_call(|first| {
        let first = first.trim_end();
        let gap = if first.ends_with(['(', '[']) { "" } else { " " };
        format!("{first}{gap}{}", second.trim())
    });
    (draft.lines[index].old, draft.lines[index].new) = (None, None);
    Some(())
}

/// Wraps a long context line after a comma in the call.
pub(super) fn wrapped(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(3, 3);
    let long_lines: Vec<usize> = draft
        .positions(DraftLine::is_context_text)
        .into_iter()
        .filter(|&index| {
            let line = draft.lines[index].file.as_deref().unwrap_or("");
            let is_inside = index > 0 && index + 1 < draft.lines.len();
            is_inside
                && line.len() > 40
                && line.contains(", ")
                && line.contains('(')
                && is_code(draft, line)
        })
        .collect();
    let index = *rng.pick(&long_lines)?;
    draft.lines[index].change_in_call(|line| {
        let indentation = &line[..line.len() - line.trim_start().len()];
        line.replacen(", ", &format!(",\n{indentation}    "), 1)
    });
    Some(())
}

/// Returns a placeholder for elided lines, with the indentation of `neighbor`; `None` if the
/// language has no simple line comment.
fn placeholder(draft: &EditDraft<'_>, neighbor: &str, rng: &mut Rng) -> Option<String> {
    const WORDS: &[&str] = &[
        "... existing code ...",
        "…rest of the function…",
        "... rest of code unchanged ...",
        "...",
    ];
    let indentation = &neighbor[..neighbor.len() - neighbor.trim_start().len()];
    let comment_opener = draft.edit.language.comment_openers().next();
    let comment_opener = comment_opener.filter(|opener| !opener.ends_with(['*', '-']))?;
    let words = rng.pick(WORDS)?;
    Some(if *words == "..." {
        format!("{indentation}...")
    } else {
        format!("{indentation}{comment_opener} {words}")
    })
}

/// Whether the lines of the edit before `from` occur once in the file, and those from `to` on as
/// well, so that they show which lines between them are elided.
fn is_elision_unique(draft: &EditDraft<'_>, from: usize, to: usize) -> bool {
    let file: String = draft
        .head
        .lines()
        .chain(draft.file_lines())
        .chain(draft.tail.lines())
        .map(folded)
        .collect();
    let occurs_once = |lines: &[DraftLine]| {
        let text: String =
            lines.iter().filter_map(|draft_line| draft_line.file.as_deref()).map(folded).collect();
        text.len() >= 16 && memchr::memmem::find_iter(file.as_bytes(), text.as_bytes()).count() == 1
    };
    occurs_once(&draft.lines[..from]) && occurs_once(&draft.lines[to..])
}

/// Replaces the middle of the context above the change by a placeholder in both strings.
pub(super) fn elided_context(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(12, 0);
    let change = draft.lines.iter().position(|draft_line| draft_line.role != LineRole::Context)?;
    let (from, to) = (2, change.checked_sub(2)?);
    (to >= from + 3 && is_elision_unique(draft, from, to)).then_some(())?;
    elide(draft, from, to, rng)
}

/// Replaces the context above the change, from the heading of another section on, by a placeholder
/// in both strings. It must be refused: the change is in a section that the call does not name.
pub(super) fn elided_section(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let is_heading = match draft.edit.language.name {
        "toml" | "ini" => |line: &str| line.starts_with('[') && line.trim_end().ends_with(']'),
        "markdown" => |line: &str| line.starts_with("## "),
        _ => return None,
    };
    let starts_section = |draft_line: &DraftLine| {
        draft_line.role == LineRole::Context && draft_line.file.as_deref().is_some_and(is_heading)
    };
    draft.widen_context(60, 0);
    let change = draft.lines.iter().position(|draft_line| draft_line.role != LineRole::Context)?;
    let headings: Vec<usize> = (0..change).filter(|&at| starts_section(&draft.lines[at])).collect();
    let [.., first, last] = headings[..] else { return None };
    // Of several sections with that heading, the call names the one that it changes.
    (draft.lines[first].file != draft.lines[last].file).then_some(())?;
    draft.lines.drain(..first).filter_map(|line| line.file).for_each(|line| {
        draft.head.push_str(&line);
        draft.head.push('\n');
    });
    elide(draft, 1, change - first, rng)
}

/// Replaces the middle of the context above the change by a placeholder, which has other words in
/// `new_str`. It must be refused: the call does not say that the two stand for the same lines.
pub(super) fn elided_differently(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    elided_context(draft, rng)?;
    let placeholder = draft
        .lines
        .iter_mut()
        .find(|draft_line| draft_line.file.is_none() && draft_line.role == LineRole::Context)?;
    let opener = draft.edit.language.comment_openers().next()?;
    placeholder.new = Some(format!("{opener} ... the other code as before ..."));
    Some(())
}

/// Replaces the middle of the removed lines by a placeholder in `old_str`; `new_str` stays whole. It
/// must be refused: lines that are not quoted are not removed.
pub(super) fn elided_removed(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let first = draft.lines.iter().position(|draft_line| draft_line.role == LineRole::Removed)?;
    let removed_count = draft.lines[first..]
        .iter()
        .take_while(|draft_line| draft_line.role == LineRole::Removed)
        .count();
    (removed_count >= 7).then_some(())?;
    let (from, to) = (first + 2, first + removed_count - 2);
    is_elision_unique(draft, from, to).then_some(())?;
    elide(draft, from, to, rng)
}

/// Replaces the lines `from..to` by a placeholder in `old_str`, and in `new_str` if they are
/// context.
fn elide(draft: &mut EditDraft<'_>, from: usize, to: usize, rng: &mut Rng) -> Option<()> {
    let line_above = draft.lines[from - 1].file.clone()?;
    let placeholder = Some(placeholder(draft, &line_above, rng)?);
    for draft_line in &mut draft.lines[from..to] {
        (draft_line.old, draft_line.new) = (None, None);
    }
    let is_context = draft.lines[from].role == LineRole::Context;
    let new = if is_context { placeholder.clone() } else { None };
    let placeholder_line =
        DraftLine { file: None, old: placeholder, new, after: None, ..DraftLine::context("") };
    draft.lines.insert(from, placeholder_line);
    Some(())
}

/// Gives each line of the edit an LF or a CRLF at random in the file. The new line is right with
/// either line break.
pub(super) fn mixed_endings(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let (removed, added) = single_replacement(draft)?;
    (draft.lines.len() > 3).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.ending = if rng.chance(50) { "\r\n" } else { "\n" };
    }
    draft.lines[added].ending = draft.lines[removed].ending;
    let other_ending = if draft.lines[removed].ending == "\n" { "\r\n" } else { "\n" };
    draft.lines[added].alternative = Some((draft.lines[added].after.clone()?, other_ending));
    draft.lines.iter().any(|draft_line| draft_line.ending == "\r\n").then_some(())
}
