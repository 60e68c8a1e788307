//! Mutations that add to the text without changing its words: line numbers of a view, diff markers,
//! a code fence, HTML entities, blank lines, line endings.
//!
//! All of them can be undone without the file, so the right result is that of the real edit.

use super::{CallDraft, EditDraft, LineRole};
use crate::rng::Rng;

/// The prefixes in which views print line numbers.
pub(super) const STYLES: [fn(usize, &mut Rng) -> String; 8] = [
    |n, _| format!("{n}|"),
    |n, _| format!("{n:>6}→"),
    |n, _| format!("{n}: "),
    |n, _| format!("{n}\t"),
    |n, _| format!("<<{n}>>"),
    |n, rng| {
        const IDS: &[u8] = b"ZPMQVRWSNKTXJBYH";
        let mut id = || char::from(IDS[rng.below(IDS.len())]);
        format!("{n}#{}{}|", id(), id())
    },
    |n, _| format!("L{n}:"),
    |n, _| format!("{n:>6}\t"),
];

/// Returns the text with a line number before each line, from `first` on.
fn numbered(text: &str, first: usize, style: usize, rng: &mut Rng) -> String {
    let prefix = STYLES[style];
    (first..)
        .zip(text.split_inclusive('\n'))
        .map(|(number, line)| format!("{}{line}", prefix(number, rng)))
        .collect()
}

/// Puts line numbers into both strings, from the number of the edit's first line on.
pub(super) fn numbers<const STYLE: usize>(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    let first = call.first_line();
    call.old = numbered(&call.old, first, STYLE, rng);
    call.new = numbered(&call.new, first, STYLE, rng);
    Some(())
}

/// Puts line numbers into `old_str` only.
pub(super) fn numbers_of_old<const STYLE: usize>(
    call: &mut CallDraft,
    rng: &mut Rng,
) -> Option<()> {
    call.old = numbered(&call.old, call.first_line(), STYLE, rng);
    Some(())
}

/// Puts the markers of a diff before each line: a space before context, `-` before removed lines,
/// `+` before added ones.
pub(super) fn diff_markers(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    for role in [LineRole::Removed, LineRole::Added] {
        draft.lines.iter().any(|draft_line| draft_line.role == role).then_some(())?;
    }
    for draft_line in &mut draft.lines {
        let marker = match draft_line.role {
            LineRole::Context => ' ',
            LineRole::Removed => '-',
            LineRole::Added => '+',
        };
        draft_line.change_in_call(|line| format!("{marker}{line}"));
    }
    Some(())
}

/// Puts line numbers before the lines of the file, and the gutter without a number before new ones.
pub(super) fn numbers_but_of_added(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let added = draft.positions(|draft_line| draft_line.role == LineRole::Added);
    (!added.is_empty()).then_some(())?;
    let mut number = draft.head.matches('\n').count();
    for draft_line in &mut draft.lines {
        let gutter = if draft_line.role == LineRole::Added {
            " ".repeat(6)
        } else {
            number += 1;
            format!("{number:>6}")
        };
        draft_line.change_in_call(|line| format!("{gutter} | {line}"));
    }
    Some(())
}

/// Escapes the kept and removed lines for HTML, and not the added ones: one of them has an entity that
/// is meant, beside a sign that is not escaped.
pub(super) fn html_but_of_added(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    (!has_entity(&draft.edit.file)).then_some(())?;
    let last = draft.positions(|draft_line| draft_line.role == LineRole::Added).pop()?;
    let is_free = |line: &str| !line.contains(['&', '<', '>', '"']);
    draft.lines[last].after.as_deref().is_some_and(is_free).then_some(())?;
    let mut escaped = false;
    for (index, draft_line) in draft.lines.iter_mut().enumerate() {
        if index == last {
            for line in [&mut draft_line.new, &mut draft_line.after].into_iter().flatten() {
                line.push_str(" < &lt;");
            }
        } else if draft_line.role == LineRole::Added {
            draft_line.new.as_deref().is_some_and(is_free).then_some(())?;
        } else {
            draft_line.change_in_call(|line| line.replace('&', "&amp;").replace('<', "&lt;"));
            escaped |= draft_line.old != draft_line.file;
        }
    }
    escaped.then_some(())
}

/// Puts `-` before every line of `old_str` and `+` before every line of `new_str`.
pub(super) fn diff_sides(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    for draft_line in &mut draft.lines {
        draft_line.old = draft_line.old.as_ref().map(|line| format!("-{line}"));
        draft_line.new = draft_line.new.as_ref().map(|line| format!("+{line}"));
    }
    Some(())
}

/// Returns the text in a code fence.
fn fenced(text: &str, tag: &str) -> String {
    format!("```{tag}\n{}\n```", text.trim_end_matches('\n'))
}

/// `None` if one of the strings ends with a line break: with text added after it, the call would
/// not show whether the break belongs to the string.
fn require_no_final_breaks(call: &CallDraft) -> Option<()> {
    (!call.old.ends_with('\n') && !call.new.ends_with('\n')).then_some(())
}

/// Puts each of the two strings into a code fence.
pub(super) fn fence(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    fence_of_old(call, rng)?;
    call.new = fenced(&call.new, "");
    Some(())
}

/// Puts `old_str` into a code fence.
pub(super) fn fence_of_old(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    (!call.old.contains("```") && !call.new.contains("```")).then_some(())?;
    require_no_final_breaks(call)?;
    let tags = ["", "text", "go", "python"];
    call.old = fenced(&call.old, rng.pick(&tags)?);
    Some(())
}

/// Whether a text has an HTML entity, such as `&amp;`.
fn has_entity(text: &str) -> bool {
    text.match_indices('&').any(|(offset, _)| {
        let rest = &text[offset + 1..];
        rest.find(';').is_some_and(|end| {
            end > 0 && end < 9 && rest[..end].chars().all(|c| c.is_ascii_alphanumeric() || c == '#')
        })
    })
}

/// Replaces the characters of the table by entities in both strings.
fn entities(call: &mut CallDraft, table: &[(&str, &str)]) -> Option<()> {
    (!has_entity(&call.old) && !has_entity(&call.new)).then_some(())?;
    table.iter().any(|(from, _)| call.old.contains(from)).then_some(())?;
    for text in [&mut call.old, &mut call.new] {
        for (from, to) in table {
            *text = text.replace(from, to);
        }
    }
    Some(())
}

/// Escapes both strings for HTML.
pub(super) fn html(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    entities(call, &[("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;")])
}

/// Escapes only the angle brackets, as chat renderers do. With an ampersand in the text it would be
/// uncertain whether that was escaped.
pub(super) fn html_angles(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    (!call.old.contains('&') && !call.new.contains('&')).then_some(())?;
    entities(call, &[("<", "&lt;"), (">", "&gt;")])
}

/// Puts two blank lines around both strings.
pub(super) fn outer_blanks(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    require_no_final_breaks(call)?;
    call.old = format!("\n\n{}\n\n", call.old);
    call.new = format!("\n\n{}\n\n", call.new);
    Some(())
}

/// Puts two blank lines around `old_str` only.
pub(super) fn outer_blanks_of_old(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    require_no_final_breaks(call)?;
    call.old = format!("\n\n{}\n\n", call.old);
    Some(())
}

/// Removes the whitespace at both ends of the strings. `old_str` is still exactly in the file,
/// starting within a line.
pub(super) fn trimmed(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old = call.old.trim().to_owned();
    call.new = call.new.trim().to_owned();
    Some(())
}

/// Gives the call CRLF line breaks; the file has LF.
pub(super) fn crlf_in_call(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old.contains('\n').then_some(())?;
    call.old = call.old.replace('\n', "\r\n");
    call.new = call.new.replace('\n', "\r\n");
    Some(())
}

/// Gives the file CRLF line breaks; the call has LF.
pub(super) fn crlf_in_file(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old.contains('\n').then_some(())?;
    for text in [&mut call.head, &mut call.region, &mut call.after, &mut call.tail] {
        *text = text.replace('\n', "\r\n");
    }
    Some(())
}

/// Gives the file CRLF line breaks from two lines above the edit to two or three lines below it.
pub(super) fn crlf_around(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old.contains('\n').then_some(())?;
    let breaks_above: Vec<usize> =
        call.head.match_indices('\n').map(|(offset, _)| offset).collect();
    let third_break_above = breaks_above.iter().rev().nth(2);
    let start = third_break_above.map_or(0, |offset| offset + 1);
    let third_break_below = call.tail.match_indices('\n').nth(2);
    let end = third_break_below.map_or(call.tail.len(), |(offset, _)| offset + 1);
    call.head = format!("{}{}", &call.head[..start], call.head[start..].replace('\n', "\r\n"));
    call.tail = format!("{}{}", call.tail[..end].replace('\n', "\r\n"), &call.tail[end..]);
    call.region = call.region.replace('\n', "\r\n");
    call.after = call.after.replace('\n', "\r\n");
    Some(())
}

/// Makes the edit the end of the file, without a final newline, and adds a newline to both strings.
pub(super) fn newline_at_end(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    require_no_final_breaks(call)?;
    call.tail.clear();
    call.old.push('\n');
    call.new.push('\n');
    Some(())
}
