//! Splits lines that a model has merged into one: at literal `\n` and other escapes that the language
//! does not allow there, and between old lines that a blank joins, if the parser agrees.

use crate::edit::Rewrite;
use crate::language::{Language, TokenKind};
use crate::line_edit::{AddsErrors, LineChange, split_lines};
use crate::matching::{ESCAPES_WARNING, EscapeReview, indent_of, review_line_escapes};
use crate::text::Snapshot;

use super::structure::MAX_TRIALS;
use super::{LocatedEdit, RepairLog};

/// Undoes escapes that the language does not allow.
pub(super) fn unescape_lines(
    edit: &mut LocatedEdit,
    file: &Snapshot,
    language: Option<&'static Language>,
    log: &mut RepairLog,
) {
    // Each check reads the whole file, so only the first edits of a call are checked.
    let is_cheap = edit.number <= MAX_TRIALS;
    if !is_cheap || !edit.lines.iter().any(|line| line.contains('\\')) {
        return;
    }
    let index = file.lines();
    let place =
        index.start(edit.span.start)..index.start(edit.span.end.max(edit.span.start - 1) + 1);
    let sent = edit.lines.join("\n") + "\n";
    match review_line_escapes(file, language, &place, &sent) {
        EscapeReview::Fine => {}
        EscapeReview::Suspicious => {
            log.warnings.push(format!("edit {}: {ESCAPES_WARNING}", edit.number))
        }
        EscapeReview::Proven(text) => {
            let count = edit.lines.len();
            edit.lines = split_lines(&text);
            let what = if edit.lines.len() > count {
                format!("split at literal \\n into {} lines", edit.lines.len())
            } else {
                "undid escapes outside string literals".to_owned()
            };
            let rewrite = if edit.lines.len() > count {
                Rewrite::ExpandMergedLines
            } else {
                Rewrite::UnescapeNew
            };
            log.record(rewrite, format!("edit {}: {what}", edit.number));
        }
    }
}

/// Splits one line into as many lines as it replaces, at literal `\n`, or around the old lines that
/// stand in it. Warns if a line has several statements in place of several lines.
pub(super) fn split_merged_lines(
    edit: &mut LocatedEdit,
    file: &Snapshot,
    language: Option<&'static Language>,
    adds_errors: AddsErrors<'_>,
    log: &mut RepairLog,
) {
    let old = edit.replaced_lines(file);
    let nonblank_count = old.iter().filter(|line| !line.trim().is_empty()).count();
    if nonblank_count < 2 || edit.lines.len() >= old.len() {
        return;
    }
    if let [line] = edit.lines.as_slice() {
        let parts: Vec<&str> = line.split("\\n").collect();
        let same = |k: usize| parts[k].trim_end() == old[k].trim_end();
        let is_proven = parts.len() == old.len()
            && !old.iter().any(|line| line.contains("\\n"))
            && (0..old.len()).any(|k| same(k) && !old[k].trim().is_empty())
            && (0..old.len()).all(|k| indent_of(parts[k]) == indent_of(old[k]));
        if is_proven {
            edit.lines = parts.into_iter().map(str::to_owned).collect();
            log.record(
                Rewrite::ExpandMergedLines,
                format!("edit {}: split at literal \\n into {} lines", edit.number, old.len()),
            );
            return;
        }
    }
    let joined = match edit.lines.as_slice() {
        [line] => split_around_old_lines(line, &old),
        _ => None,
    };
    if let Some(lines) = &joined {
        let with =
            |lines: &[String]| adds_errors(LineChange { span: edit.span, lines: lines.to_vec() });
        if with(&edit.lines) == Some(true) && with(lines) == Some(false) {
            log.record(
                Rewrite::ExpandMergedLines,
                format!("edit {}: split into {} lines, as it replaces; on one line they would be a syntax error", edit.number, old.len()),
            );
            edit.lines.clone_from(lines);
            return;
        }
    }
    // Only the caller knows whether several statements are meant to share a line.
    let without_whitespace = |text: &str| text.split_whitespace().collect::<String>();
    let old_texts: Vec<String> = old.iter().map(|line| without_whitespace(line)).collect();
    let has_several_statements = |line: &String| {
        let text = without_whitespace(line);
        let is_in_line = |old: &&String| old.len() > 1 && text.contains(old.as_str());
        old_texts.iter().filter(is_in_line).count() > 1
            || language.is_some_and(|language| count_statements(language, line) > 1)
    };
    if joined.is_some() || edit.lines.iter().any(has_several_statements) {
        log.warnings.push(format!(
            "edit {}: what were {} lines is now on one line; if they should stay separate, send them as separate lines",
            edit.number,
            old.len()
        ));
    }
}

/// The parts of a line in which old lines stand, in their order and joined by blanks: each old line, and
/// between them what took the place of the one that is missing. `None` if no line is missing, if two
/// neighbours are, or if no line is left.
fn split_around_old_lines(line: &str, old: &[&str]) -> Option<Vec<String>> {
    if indent_of(line) != indent_of(old[0]) {
        return None;
    }
    let mut parts: Vec<String> = Vec::with_capacity(old.len());
    let mut rest = line.trim();
    let mut missing: Option<&str> = None;
    let mut has_changed = false;
    let part = |old: &str, text: &str| format!("{}{text}", indent_of(old));
    for &old_line in old {
        let text = old_line.trim();
        if text.is_empty() {
            return None;
        }
        let found = rest.match_indices(text).map(|(at, _)| at).find(|&at| {
            let (before, after) = (&rest[..at], &rest[at + text.len()..]);
            let is_apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
            is_apart(before.chars().next_back()) && is_apart(after.chars().next())
        });
        match (found, missing.take()) {
            (None, None) => {
                missing = Some(old_line);
                has_changed = true;
            }
            (None, Some(_)) => return None,
            (Some(at), missing) => {
                let between = rest[..at].trim();
                match missing {
                    Some(missing) if !between.is_empty() => parts.push(part(missing, between)),
                    None if between.is_empty() => {}
                    _ => return None,
                }
                parts.push(part(old_line, text));
                rest = &rest[at + text.len()..];
            }
        }
    }
    match (missing, rest.trim()) {
        (Some(missing), last) if !last.is_empty() && !parts.is_empty() => {
            parts.push(part(missing, last));
        }
        (None, "") if has_changed => {}
        _ => return None,
    }
    Some(parts)
}

/// How many statements a line has, separated by `;` outside of brackets.
fn count_statements(language: &Language, line: &str) -> usize {
    if !language.is_lexed() {
        return 1;
    }
    let lexed = language.lex(line);
    let (mut depth, mut count, mut in_statement) = (0_i32, 0, false);
    for (at, c) in line.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        if lexed.kind_at(at) == TokenKind::Comment {
            continue;
        }
        let is_code = lexed.kind_at(at) == TokenKind::Code;
        match c {
            '(' | '[' | '{' if is_code => depth += 1,
            ')' | ']' | '}' if is_code => depth -= 1,
            ';' if is_code && depth == 0 => {
                in_statement = false;
                continue;
            }
            _ => {}
        }
        if !in_statement {
            count += 1;
            in_statement = true;
        }
    }
    count
}
