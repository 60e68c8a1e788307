//! Things that are around the text, not in it: line numbers of a view, diff markers,
//! a code fence, HTML entities, blank lines, line endings.
//!
//! All of them wrap whole strings and can be taken off again without the file, so
//! the truth is the real edit's.

use super::super::rng::Rng;
use super::{CallDraft, EditDraft, LineRole};

/// How views print line numbers.
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

fn numbered(text: &str, first: usize, style: usize, rng: &mut Rng) -> String {
    let prefix = STYLES[style];
    let lines: Vec<String> = text
        .split_inclusive('\n')
        .enumerate()
        .map(|(at, line)| format!("{}{line}", prefix(first + at, rng)))
        .collect();
    lines.concat()
}

/// Both strings numbered from the real first line.
pub(super) fn numbers<const STYLE: usize>(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    let first = call.first_line();
    call.old = numbered(&call.old, first, STYLE, rng);
    call.new = numbered(&call.new, first, STYLE, rng);
    Some(())
}

/// Only the copied text is numbered; the new text is clean.
pub(super) fn numbers_of_old<const STYLE: usize>(
    call: &mut CallDraft,
    rng: &mut Rng,
) -> Option<()> {
    call.old = numbered(&call.old, call.first_line(), STYLE, rng);
    Some(())
}

/// A space before context, `-` before what goes, `+` before what comes.
pub(super) fn diff_markers(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    for kind in [LineRole::Removed, LineRole::Added] {
        draft.lines.iter().any(|draft_line| draft_line.role == kind).then_some(())?;
    }
    for draft_line in &mut draft.lines {
        let mark = match draft_line.role {
            LineRole::Context => ' ',
            LineRole::Removed => '-',
            LineRole::Added => '+',
        };
        draft_line.change_in_call(|line| format!("{mark}{line}"));
    }
    Some(())
}

/// `-` before every old line, `+` before every new one.
pub(super) fn diff_sides(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    for draft_line in &mut draft.lines {
        draft_line.old = draft_line.old.as_ref().map(|line| format!("-{line}"));
        draft_line.new = draft_line.new.as_ref().map(|line| format!("+{line}"));
    }
    Some(())
}

fn fenced(text: &str, tag: &str) -> String {
    format!("```{tag}\n{}\n```", text.trim_end_matches('\n'))
}

pub(super) fn fence(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    fence_of_old(call, rng)?;
    call.new = fenced(&call.new, "");
    Some(())
}

pub(super) fn fence_of_old(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    (!call.old.contains("```") && !call.new.contains("```")).then_some(())?;
    // Whether the fence holds the last line break cannot be told, so it is left out.
    // Nor can it, when only one of them has it, as at the end of a file.
    (!call.old.ends_with('\n') && !call.new.ends_with('\n')).then_some(())?;
    let tag = ["", "text", "go", "python"];
    call.old = fenced(&call.old, rng.pick(&tag)?);
    Some(())
}

fn has_entity(text: &str) -> bool {
    text.match_indices('&').any(|(at, _)| {
        let rest = &text[at + 1..];
        rest.find(';').is_some_and(|end| {
            end > 0 && end < 9 && rest[..end].chars().all(|c| c.is_ascii_alphanumeric() || c == '#')
        })
    })
}

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

pub(super) fn html(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    entities(call, &[("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;")])
}

/// Only the angle brackets, as chat renderers do. An ampersand would be ambiguous.
pub(super) fn html_angles(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    (!call.old.contains('&') && !call.new.contains('&')).then_some(())?;
    entities(call, &[("<", "&lt;"), (">", "&gt;")])
}

/// Two blank lines around both strings.
pub(super) fn outer_blanks(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    // Nor can it, when only one of them has it, as at the end of a file.
    (!call.old.ends_with('\n') && !call.new.ends_with('\n')).then_some(())?;
    call.old = format!("\n\n{}\n\n", call.old);
    call.new = format!("\n\n{}\n\n", call.new);
    Some(())
}

/// Two blank lines around `old_str` only.
pub(super) fn outer_blanks_of_old(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    // Nor can it, when only one of them has it, as at the end of a file.
    (!call.old.ends_with('\n') && !call.new.ends_with('\n')).then_some(())?;
    call.old = format!("\n\n{}\n\n", call.old);
    Some(())
}

/// The strings lost the whitespace at both ends. Found exactly, in mid-line.
pub(super) fn trimmed(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old = call.old.trim().to_owned();
    call.new = call.new.trim().to_owned();
    Some(())
}

pub(super) fn crlf_in_call(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old.contains('\n').then_some(())?;
    call.old = call.old.replace('\n', "\r\n");
    call.new = call.new.replace('\n', "\r\n");
    Some(())
}

pub(super) fn crlf_in_file(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old.contains('\n').then_some(())?;
    for text in [&mut call.head, &mut call.region, &mut call.after, &mut call.tail] {
        *text = text.replace('\n', "\r\n");
    }
    Some(())
}

/// A file of both kinds: CRLF from two lines above the edit to two below it.
pub(super) fn crlf_around(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old.contains('\n').then_some(())?;
    let from = call.head.match_indices('\n').map(|(at, _)| at).rev().nth(2).map_or(0, |at| at + 1);
    let to = call.tail.match_indices('\n').nth(2).map_or(call.tail.len(), |(at, _)| at + 1);
    call.head = format!("{}{}", &call.head[..from], call.head[from..].replace('\n', "\r\n"));
    call.tail = format!("{}{}", call.tail[..to].replace('\n', "\r\n"), &call.tail[to..]);
    call.region = call.region.replace('\n', "\r\n");
    call.after = call.after.replace('\n', "\r\n");
    Some(())
}

/// The edit is at the end of a file without a final newline, and the strings have one.
pub(super) fn newline_at_end(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    // Nor can it, when only one of them has it, as at the end of a file.
    (!call.old.ends_with('\n') && !call.new.ends_with('\n')).then_some(())?;
    call.tail.clear();
    call.old.push('\n');
    call.new.push('\n');
    Some(())
}
