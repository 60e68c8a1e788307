//! Parses and writes patches in the V4A form, which Codex and OpenAI's models use.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use super::{Change, FilePatch, Hunk, HunkLine, malformed};
use crate::edit::Refusal;
use crate::text::Snapshot;

pub(crate) const BEGIN: &str = "*** Begin Patch";
pub(crate) const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// Whether a line opens a patch, ignoring whitespace around it.
pub(super) fn is_begin(line: &str) -> bool {
    line.trim() == BEGIN
}

/// Parses a patch, from its first `*** Begin Patch` line.
pub(super) fn parse(text: &str) -> Result<Vec<FilePatch>, Refusal> {
    let mut lines = text.lines().skip_while(|line| !is_begin(line)).skip(1).peekable();
    let mut files = Vec::new();
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    // An indented end marker counts only on the last line of the text; elsewhere it is context.
    let is_end = |line: &str| {
        line.trim_end() == END
            || line.trim() == END && last.is_some_and(|last| std::ptr::eq(last, line))
    };
    let ends_section = |line: &str| {
        [ADD, DELETE, UPDATE].iter().any(|mark| line.starts_with(mark)) || is_end(line)
    };
    loop {
        let Some(line) = lines.next() else {
            return Err(malformed(
                "invalid patch: The last line of the patch must be '*** End Patch'",
            )
            .hint("The patch may have been cut off; send it whole."));
        };
        if is_end(line) {
            return Ok(files);
        }
        // A section header may be indented.
        let line = line.trim_start();
        if let Some(path) = line.strip_prefix(ADD) {
            let mut content = String::new();
            while let Some(line) = lines.next_if(|line| !ends_section(line)) {
                content.push_str(line.strip_prefix('+').unwrap_or(line));
                content.push('\n');
            }
            files.push(FilePatch { path: path.trim().to_owned(), change: Change::Add(content) });
        } else if let Some(path) = line.strip_prefix(DELETE) {
            files.push(FilePatch { path: path.trim().to_owned(), change: Change::Delete });
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            let path = path.trim().to_owned();
            let move_to = lines
                .next_if(|line| line.starts_with(MOVE))
                .map(|line| line[MOVE.len()..].trim().to_owned());
            let mut body = Vec::new();
            while let Some(line) = lines.next_if(|line| !ends_section(line)) {
                body.push(line);
            }
            let hunks = parse_hunks(&body);
            if hunks.is_empty() && move_to.is_none() {
                return Err(malformed(format!(
                    "invalid patch: the update of `{path}` has no lines"
                ))
                .at(path)
                .hint("Write the lines to remove with - and the lines to add with +, and lines of context around them."));
            }
            files.push(FilePatch { path, change: Change::Update { move_to, hunks } });
        } else if !line.trim().is_empty() {
            return Err(malformed(format!(
                "invalid patch: `{}` is not a section header",
                line.chars().take(80).collect::<String>()
            ))
            .hint(
                "Sections begin with `*** Add File:`, `*** Delete File:` or `*** Update File:`.",
            ));
        }
    }
}

/// The hunks of one update.
pub(super) fn parse_hunks(body: &[&str]) -> Vec<Hunk> {
    let mut out: Vec<Hunk> = Vec::new();
    let mut hunk = Hunk::default();
    let flush = |hunk: &mut Hunk, out: &mut Vec<Hunk>| {
        // A blank line between two hunks is layout, not context.
        while hunk.lines.last() == Some(&HunkLine::Keep(String::new())) && hunk.lines.len() > 1 {
            hunk.lines.pop();
        }
        if hunk.lines.iter().any(|line| !matches!(line, HunkLine::Keep(_))) {
            out.push(std::mem::take(hunk));
        } else {
            *hunk = Hunk::default();
        }
    };
    for line in body {
        if let Some(rest) = line.strip_prefix("@@") {
            if !hunk.lines.is_empty() {
                flush(&mut hunk, &mut out);
            }
            let (near, header) = range_header(rest);
            hunk.near_line = hunk.near_line.or(near);
            if !header.is_empty() {
                hunk.headers.push(header.to_owned());
            }
        } else if line.trim_end() == END_OF_FILE {
            hunk.at_end = true;
            flush(&mut hunk, &mut out);
        } else if line.starts_with("\\ No newline") {
            // Below the last old line: the old file ends without a newline; below the last new line:
            // the new one does; below a context line: both do.
            hunk.final_newline = match (hunk.lines.last(), hunk.final_newline) {
                (Some(HunkLine::Remove(_)), None) => Some(true),
                (Some(HunkLine::Add(_)), None) => Some(false),
                _ => None,
            };
        } else if let Some(text) = line.strip_prefix('+') {
            hunk.lines.push(HunkLine::Add(text.to_owned()));
        } else if let Some(text) = line.strip_prefix('-') {
            hunk.lines.push(HunkLine::Remove(text.to_owned()));
        } else {
            // Models often forget the leading space of a context line.
            hunk.lines.push(HunkLine::Keep(line.strip_prefix(' ').unwrap_or(line).to_owned()));
        }
    }
    flush(&mut hunk, &mut out);
    out
}

/// The line number and the header text after `@@`: 12 and `fn x` for `-12,3 +12,4 @@ fn x`.
fn range_header(rest: &str) -> (Option<usize>, &str) {
    let rest = rest.trim();
    let Some(range) = rest.strip_prefix('-') else {
        return (None, rest.strip_suffix("@@").unwrap_or(rest).trim());
    };
    let digits = range.bytes().take_while(u8::is_ascii_digit).count();
    let near = range[..digits].parse().ok();
    match rest.split_once("@@") {
        Some((_, header)) if near.is_some() => (near, header.trim()),
        None if near.is_some() => (near, ""),
        _ => (None, rest),
    }
}

/// The V4A section that turns `before` into `after`. It has enough context lines that a client which
/// takes the first match finds the right place.
pub(crate) fn render(path: &str, before: &Snapshot, after: &str) -> String {
    let mut out = format!("{UPDATE}{path}\n");
    for context in [3, 8, 24, usize::MAX] {
        let body = render_hunks(before.text(), after, context);
        if context == usize::MAX || applies_first_match(&body, before.text(), after) {
            out.push_str(&body);
            break;
        }
    }
    out
}

/// The hunks that turn `before` into `after`, with this number of context lines.
fn render_hunks(before: &str, after: &str, context: usize) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut out = String::new();
    for group in diff.grouped_ops(context.min(before.len() + after.len())) {
        out.push_str("@@\n");
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let _ = writeln!(out, "{sign}{}", change.value().trim_end_matches(['\n', '\r']));
        }
    }
    out
}

/// Whether a client that takes the first match after the previous hunk gets `after`.
fn applies_first_match(body: &str, before: &str, after: &str) -> bool {
    let hunks = parse_hunks(&body.lines().collect::<Vec<_>>());
    apply_like_codex(before, &hunks).is_some_and(|applied| applied.lines().eq(after.lines()))
}

/// Applies the hunks of a patch as Codex does: each below the one before, on lines that are the
/// same, or else the same but for blanks at their ends. `None` if one does not apply.
pub(crate) fn apply_like_codex(file: &str, hunks: &[Hunk]) -> Option<String> {
    let mut lines: Vec<&str> = file.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    // The first line of each change, how many lines it replaces, and the new ones.
    let mut changes: Vec<(usize, usize, Vec<&str>)> = Vec::new();
    let mut from = 0;
    for hunk in hunks {
        for header in &hunk.headers {
            from = find_lines(&lines, &[header], from, false)? + 1;
        }
        let (mut old, mut new) = (hunk.old_lines(), hunk.new_lines());
        let is_insertion = !hunk.lines.iter().any(|line| !matches!(line, HunkLine::Add(_)));
        if is_insertion {
            changes.push((lines.len(), 0, new));
            continue;
        }
        let mut found = find_lines(&lines, &old, from, hunk.at_end);
        if found.is_none() && old.last() == Some(&"") {
            old.pop();
            if new.last() == Some(&"") {
                new.pop();
            }
            found = find_lines(&lines, &old, from, hunk.at_end);
        }
        let start = found?;
        from = start + old.len();
        changes.push((start, old.len(), new));
    }
    changes.sort_by_key(|(start, ..)| *start);
    for (start, count, new) in changes.into_iter().rev() {
        lines.splice(start..start + count, new);
    }
    Some(lines.join("\n") + "\n")
}

/// Returns the first place from line `from` on at which these lines are.
fn find_lines(lines: &[&str], wanted: &[&str], from: usize, at_end: bool) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    let from = if at_end { last } else { from };
    let forms: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];
    forms.iter().find_map(|form| {
        (from..=last).find(|start| {
            wanted.iter().zip(&lines[*start..]).all(|(one, other)| form(one) == form(other))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rendered_patches_have_enough_context_among_repetitions() {
        let before = "x\ny\nz\n".repeat(10);
        let at = before.len() - 4;
        let mut after = before.clone();
        after.replace_range(at..at + 1, "Y");
        let section = render("a", &Snapshot::from_text(before.clone()), &after);
        let body = section.split_once('\n').expect("header").1;
        assert!(applies_first_match(body, &before, &after), "{section}");
    }
}
