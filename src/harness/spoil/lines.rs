//! Lines that end, come, go or break differently.
//!
//! Only context is touched, and only between two context lines, so the file's own
//! lines are the truth and a new line's place beside a blank one is never in doubt.

use super::super::edits::folded;
use super::super::rng::Rng;
use super::{Cell, Draft, Kind};

const BLANKS: &[&str] = &["  ", " ", "\t", "    "];

/// The file has blanks at the end of context lines.
pub(super) fn trailing_in_file(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    let marks = draft.which(Cell::is_kept_text);
    let sure = *rng.pick(&marks)?;
    for at in marks {
        if at == sure || rng.chance(40) {
            let pad = rng.pick(BLANKS)?;
            draft.cells[at].hold(|line| format!("{line}{pad}"));
        }
    }
    Some(())
}

/// The file has blanks at the end of the line that is rewritten. The new line may keep
/// them or not: either is right.
pub(super) fn trailing_at_change(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    let (drop, add) = one_for_one(draft)?;
    let pad = rng.pick(BLANKS)?;
    draft.cells[drop].hold(|line| format!("{line}{pad}"));
    let kept = format!("{}{pad}", draft.cells[add].after.as_ref()?);
    draft.cells[add].also = Some((kept, "\n"));
    Some(())
}

/// The one removed and the one new line of an edit that has no more of either.
fn one_for_one(draft: &Draft<'_>) -> Option<(usize, usize)> {
    let only = |kind| match draft.which(|cell| cell.kind == kind)[..] {
        [at] => Some(at),
        _ => None,
    };
    Some((only(Kind::Drop)?, only(Kind::Add)?))
}

/// The file's blank lines hold white space.
pub(super) fn blank_lines_hold_blanks(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    let blanks = draft.which(Cell::is_kept_blank);
    (!blanks.is_empty()).then_some(())?;
    let pad = rng.pick(BLANKS)?;
    for at in blanks {
        draft.cells[at].hold(|line| format!("{line}{pad}"));
    }
    Some(())
}

/// The model adds blanks at the end of lines that it copies.
pub(super) fn trailing_in_call(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    let all = draft.which(|cell| cell.kind != Kind::Add);
    let sure = *rng.pick(&all)?;
    for at in all {
        if at == sure || rng.chance(40) {
            draft.cells[at].say(|line| format!("{line}  "));
        }
    }
    Some(())
}

/// The same, in `old_str` only.
pub(super) fn trailing_in_old(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    let all = draft.which(|cell| cell.kind != Kind::Add);
    let sure = *rng.pick(&all)?;
    for at in all {
        if at == sure || rng.chance(40) {
            let cell = &mut draft.cells[at];
            cell.old = cell.old.as_ref().map(|line| format!("{line}  "));
        }
    }
    Some(())
}

/// Blank context lines that the model left out.
pub(super) fn blank_dropped(draft: &mut Draft<'_>, _: &mut Rng) -> Option<()> {
    draft.widen(3, 3);
    let blanks: Vec<usize> = draft
        .which(Cell::is_kept_blank)
        .into_iter()
        .filter(|&at| {
            draft.is_inside_context(at)
                && !draft.cells[at - 1].is_kept_blank()
                && !draft.cells[at + 1].is_kept_blank()
        })
        .collect();
    (!blanks.is_empty()).then_some(())?;
    for at in blanks {
        (draft.cells[at].old, draft.cells[at].new) = (None, None);
    }
    Some(())
}

fn between_context(draft: &Draft<'_>) -> Vec<usize> {
    (1..draft.cells.len())
        .filter(|&at| draft.cells[at - 1].is_kept_text() && draft.cells[at].is_kept_text())
        .collect()
}

/// A blank line that only the model has.
pub(super) fn blank_added(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen(1, 1);
    let at = *rng.pick(&between_context(draft))?;
    let phantom = Cell { file: None, after: None, ..Cell::keep("") };
    draft.cells.insert(at, phantom);
    Some(())
}

fn is_code(draft: &Draft<'_>, line: &str) -> bool {
    !draft.edit.language.is_comment(line) && !line.contains(['"', '\'', '`', '\\', '#'])
}

/// A wrapped statement of the context, put on one line.
pub(super) fn joined(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen(4, 4);
    let places: Vec<usize> = between_context(draft)
        .into_iter()
        .filter(|&at| {
            let (Some(a), Some(b)) = (&draft.cells[at - 1].file, &draft.cells[at].file) else {
                return false;
            };
            let inside = at > 1 && at + 1 < draft.cells.len();
            let wraps = a.trim_end().ends_with(['(', ',', '[', '=', '+', '|', '&']);
            inside && wraps && is_code(draft, a) && is_code(draft, b)
        })
        .collect();
    let at = *rng.pick(&places)?;
    let next = draft.cells[at].file.clone()?;
    draft.cells[at - 1].say(|line| {
        let line = line.trim_end();
        let gap = if line.ends_with(['(', '[']) { "" } else { " " };
        format!("{line}{gap}{}", next.trim())
    });
    (draft.cells[at].old, draft.cells[at].new) = (None, None);
    Some(())
}

/// A long context line, wrapped after a comma.
pub(super) fn wrapped(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen(3, 3);
    let places: Vec<usize> = draft
        .which(Cell::is_kept_text)
        .into_iter()
        .filter(|&at| {
            let line = draft.cells[at].file.as_deref().unwrap_or("");
            let inside = at > 0 && at + 1 < draft.cells.len();
            inside
                && line.len() > 40
                && line.contains(", ")
                && line.contains('(')
                && is_code(draft, line)
        })
        .collect();
    let at = *rng.pick(&places)?;
    draft.cells[at].say(|line| {
        let lead = &line[..line.len() - line.trim_start().len()];
        line.replacen(", ", &format!(",\n{lead}    "), 1)
    });
    Some(())
}

fn marker(draft: &Draft<'_>, like: &str, rng: &mut Rng) -> Option<String> {
    const WORDS: &[&str] = &[
        "... existing code ...",
        "…rest of the function…",
        "... rest of code unchanged ...",
        "...",
    ];
    let lead = &like[..like.len() - like.trim_start().len()];
    let open = draft.edit.language.comment_marks().next().filter(|c| !c.ends_with(['*', '-']))?;
    let words = rng.pick(WORDS)?;
    Some(if *words == "..." { format!("{lead}...") } else { format!("{lead}{open} {words}") })
}

/// Whether the anchors on both sides of an elision occur once in the file.
fn anchored(draft: &Draft<'_>, from: usize, to: usize) -> bool {
    let file: String = draft
        .head
        .lines()
        .chain(draft.file_lines())
        .chain(draft.tail.lines())
        .map(folded)
        .collect();
    let once = |cells: &[Cell]| {
        let text: String = cells.iter().filter_map(|c| c.file.as_deref()).map(folded).collect();
        text.len() >= 16 && memchr::memmem::find_iter(file.as_bytes(), text.as_bytes()).count() == 1
    };
    once(&draft.cells[..from]) && once(&draft.cells[to..])
}

/// The middle of the context replaced by a marker, in both strings.
pub(super) fn elided_context(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen(12, 0);
    let change = draft.cells.iter().position(|cell| cell.kind != Kind::Keep)?;
    let (from, to) = (2, change.checked_sub(2)?);
    (to >= from + 3 && anchored(draft, from, to)).then_some(())?;
    elide(draft, from, to, rng)
}

/// The middle of removed lines replaced by a marker; `new_str` is whole.
pub(super) fn elided_removed(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    let first = draft.cells.iter().position(|cell| cell.kind == Kind::Drop)?;
    let drops = draft.cells[first..].iter().take_while(|cell| cell.kind == Kind::Drop).count();
    (drops >= 7).then_some(())?;
    let (from, to) = (first + 2, first + drops - 2);
    anchored(draft, from, to).then_some(())?;
    elide(draft, from, to, rng)
}

fn elide(draft: &mut Draft<'_>, from: usize, to: usize, rng: &mut Rng) -> Option<()> {
    let like = draft.cells[from - 1].file.clone()?;
    let marker = marker(draft, &like, rng)?;
    for cell in &mut draft.cells[from..to] {
        (cell.old, cell.new) = (None, None);
    }
    let both = draft.cells[from].kind == Kind::Keep;
    let said = Some(marker);
    let new = if both { said.clone() } else { None };
    let cell = Cell { file: None, old: said, new, after: None, ..Cell::keep("") };
    draft.cells.insert(from, cell);
    Some(())
}

/// A file with both kinds of line break, in no order; the new line takes the break of
/// either neighbour.
pub(super) fn mixed_endings(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    let (drop, add) = one_for_one(draft)?;
    (draft.cells.len() > 3).then_some(())?;
    for cell in &mut draft.cells {
        cell.ending = if rng.chance(50) { "\r\n" } else { "\n" };
    }
    draft.cells[add].ending = draft.cells[drop].ending;
    let other = if draft.cells[drop].ending == "\n" { "\r\n" } else { "\n" };
    draft.cells[add].also = Some((draft.cells[add].after.clone()?, other));
    draft.cells.iter().any(|cell| cell.ending == "\r\n").then_some(())
}
