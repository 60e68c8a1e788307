//! Splits lines that a model has merged into one: literal `\n` and other escapes that the language
//! does not allow there, and several statements that replace several lines.

use crate::edit::Rewrite;
use crate::language::{Language, TokenKind};
use crate::line_edit::split_lines;
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
    if language.is_none() || !is_cheap || !edit.lines.iter().any(|line| line.contains('\\')) {
        return;
    }
    let index = file.lines();
    let place =
        index.start(edit.span.start)..index.start(edit.span.end.max(edit.span.start - 1) + 1);
    let sent = edit.lines.join("\n") + "\n";
    match review_line_escapes(file, language, &place, &sent) {
        EscapeReview::Fine => {}
        EscapeReview::Suspicious => log.warnings.push(format!(
            "edit {}: {}",
            edit.number,
            ESCAPES_WARNING.replace("new_str", "it")
        )),
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

/// Splits one line at literal `\n` into as many lines as it replaces. Warns if a line has several
/// statements in place of several lines.
pub(super) fn split_merged_lines(
    edit: &mut LocatedEdit,
    file: &Snapshot,
    language: Option<&'static Language>,
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
    // Only the caller knows whether several statements are meant to share a line.
    let without_whitespace = |text: &str| text.split_whitespace().collect::<String>();
    let old_texts: Vec<String> = old.iter().map(|line| without_whitespace(line)).collect();
    let has_several_statements = |line: &String| {
        let text = without_whitespace(line);
        let is_in_line = |old: &&String| old.len() > 1 && text.contains(old.as_str());
        old_texts.iter().filter(is_in_line).count() > 1
            || language.is_some_and(|language| count_statements(language, line) > 1)
    };
    if edit.lines.iter().any(has_several_statements) {
        log.warnings.push(format!(
            "edit {}: what were {} lines is now on one line; if they should stay separate, send them as separate lines",
            edit.number,
            old.len()
        ));
    }
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
