//! Indentation that the new lines have lost: shown by lines that were copied, or by the
//! lines that they replace.

use crate::edit::Rewrite;
use crate::language::{Language, TokenKind};
use crate::matching::{indent_of, reindent};
use crate::text::Snapshot;

use super::structure::Structure;
use super::{Direction, LocatedEdit, RepairLog, is_blank, nearest_surviving_line};

/// Restores the indentation of a block if copied lines show how it was changed.
pub(super) fn restore_copied_indentation(
    edits: &mut [LocatedEdit],
    at: usize,
    file: &Snapshot,
    structure: &mut Structure<'_>,
    log: &mut RepairLog,
) {
    let edit = &edits[at];
    let old = edit.replaced_lines(file);
    let full: Vec<&String> = edit.lines.iter().filter(|line| !is_blank(line)).collect();
    let has_words = |line: &str| line.chars().any(char::is_alphanumeric);
    let mut pairs: Vec<(String, String)> = Vec::new();
    for line in full.iter().filter(|line| has_words(line)) {
        let mut same = old.iter().filter(|old| old.trim() == line.trim());
        if let (Some(old), None) = (same.next(), same.next()) {
            pairs.push((indent_of(line).to_owned(), indent_of(old).to_owned()));
        }
    }
    // If all lines are copies, another indentation is what the edit is about.
    if pairs.is_empty() || pairs.len() == full.len() {
        return;
    }
    let Some(outcomes) = reindent(file, &edit.lines, pairs) else { return };
    let [lines] = outcomes.as_slice() else { return };
    let lost = |line: &&&str| !is_blank(line);
    let lost = old.iter().filter(lost).map(|line| indent_of(line)).min_by_key(|i| i.len());
    let inside = lost.is_some_and(|lost| is_inside(edits, at, file, lost));
    if !inside || structure.is_well_formed_with(edits, at, lines) == Some(false) {
        return;
    }
    let number = edit.number;
    edits[at].lines.clone_from(lines);
    log.record(
        Rewrite::RestoreIndent,
        format!("edit {number}: re-indented its lines to match the same lines in the file"),
    );
}

/// Whether the lines around an edit are indented at least as far as `lost`, or open and close it.
fn is_inside(edits: &[LocatedEdit], at: usize, file: &Snapshot, lost: &str) -> bool {
    let span = edits[at].span;
    let above = nearest_surviving_line(edits, file, span.start, Direction::Up);
    let below = nearest_surviving_line(edits, file, span.end.max(span.start - 1), Direction::Down);
    let opens = |line: &str| line.trim_end().ends_with(['{', '(', '[', ':']);
    let closes = |line: &str| line.trim_start().starts_with(['}', ')', ']']);
    above.is_some_and(|line| indent_of(line).starts_with(lost) || opens(line))
        && below.is_none_or(|line| {
            indent_of(line).starts_with(lost) || closes(line) || indent_of(line).len() < lost.len()
        })
}

/// Where whitespace means nothing, lines that lost all of their indentation get that of the lines
/// they replace.
pub(super) fn restore_free_indentation(
    edits: &mut [LocatedEdit],
    at: usize,
    file: &Snapshot,
    structure: &Structure<'_>,
    log: &mut RepairLog,
) {
    let Some(language) =
        structure.language.filter(|l| l.is_free_form() && !l.has_significant_indentation())
    else {
        return;
    };
    let edit = &edits[at];
    let old = edit.replaced_lines(file);
    let nonblank: Vec<&&str> = old.iter().filter(|line| !is_blank(line)).collect();
    let Some(first_old) = nonblank.first() else { return };
    let lost = indent_of(first_old).to_owned();
    let full: Vec<&String> = edit.lines.iter().filter(|line| !is_blank(line)).collect();
    let copies = |line: &&String| nonblank.iter().any(|old| old.trim() == line.trim());
    // What is at the margin on purpose: a directive, a label, the end of a block that
    // begins elsewhere.
    let closed = language.lex(&edit.lines.join("\n")).is_well_formed();
    let margin = |line: &&String| {
        let text = line.trim_start();
        text.starts_with(['#', '<'])
            || !closed && text.starts_with(['}', ')', ']'])
            || text.trim_end().ends_with(':')
    };
    let at_margin = full.first().is_some_and(|line| indent_of(line).is_empty());
    if lost.is_empty()
        || !at_margin
        || full.iter().all(copies)
        || full.iter().any(margin)
        || !nonblank.iter().all(|line| indent_of(line).starts_with(&lost))
        || !movable_lines(&edit.lines, Some(language)).iter().all(|loose| *loose)
        || structure.starts_inside_token(edit.span.start)
        || !is_inside(edits, at, file, &lost)
    {
        return;
    }
    let rest_kept =
        full.len() > 1 && full[1..].iter().all(|line| indent_of(line).starts_with(&lost));
    let number = edit.number;
    let lines = &mut edits[at].lines;
    let first = lines.iter().position(|line| !is_blank(line));
    for (k, line) in lines.iter_mut().enumerate() {
        if !is_blank(line) && (!rest_kept || Some(k) == first) {
            line.insert_str(0, &lost);
        }
    }
    log.record(
        Rewrite::RestoreIndent,
        format!("edit {number}: gave its lines the indentation of those that they replace"),
    );
}

/// The lines as sent, and at each indentation that the surrounding lines suggest: all of them
/// shifted, or the first alone.
pub(super) fn indent_candidates(
    edit: &LocatedEdit,
    lines: &[String],
    edits: &[LocatedEdit],
    file: &Snapshot,
    language: Option<&'static Language>,
) -> Vec<Vec<String>> {
    let mut out = vec![lines.to_vec()];
    let Some(first) = lines.iter().position(|line| !is_blank(line)) else { return out };
    let own = indent_of(&lines[first]);
    let mut levels: Vec<&str> = Vec::new();
    match edit.replaced_lines(file).iter().find(|line| !is_blank(line)) {
        Some(old) => levels.push(indent_of(old)),
        None => {
            let above = nearest_surviving_line(edits, file, edit.span.start, Direction::Up);
            let below = nearest_surviving_line(edits, file, edit.span.end, Direction::Down);
            levels.extend(above.into_iter().chain(below).map(indent_of));
        }
    }
    let loose = movable_lines(lines, language);
    for level in levels.into_iter().filter(|level| *level != own) {
        let to = |line: &str| -> Option<String> {
            match (level.strip_suffix(own), own.strip_suffix(level)) {
                (Some(more), _) => Some(format!("{more}{line}")),
                (None, Some(less)) => line.strip_prefix(less).map(str::to_owned),
                (None, None) => None,
            }
        };
        let moved: Option<Vec<String>> = lines
            .iter()
            .enumerate()
            .map(|(k, line)| match is_blank(line) || !loose[k] {
                true => Some(line.clone()),
                false => to(line),
            })
            .collect();
        out.extend(moved);
        let mut only_first = lines.to_vec();
        only_first[first] = format!("{level}{}", &lines[first][own.len()..]);
        out.push(only_first);
    }
    out
}

/// Which lines begin outside of a literal or a comment, so that they may be re-indented.
fn movable_lines(lines: &[String], language: Option<&'static Language>) -> Vec<bool> {
    let text = lines.join("\n");
    let lexed = language.map(|language| language.lex(&text));
    let mut start = 0;
    lines
        .iter()
        .map(|line| {
            let at = start;
            start += line.len() + 1;
            lexed.as_ref().is_none_or(|lexed| {
                let token = lexed.tokens.partition_point(|token| token.range.end <= at);
                lexed
                    .tokens
                    .get(token)
                    .is_none_or(|token| token.kind == TokenKind::Code || token.range.start == at)
            })
        })
        .collect()
}
