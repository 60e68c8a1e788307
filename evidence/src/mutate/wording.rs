//! Mutations inside a line: spacing, quotes, punctuation, and words of the context that the model
//! remembers wrong. The right result keeps the file's spelling in context lines, and in a changed
//! line if it replaces exactly one line.

use super::{DraftLine, EditDraft, LineRole};
use crate::rng::Rng;

/// Whether a line has a quote, and so may have a string.
fn may_have_string(line: &str) -> bool {
    line.contains(['"', '\'', '`'])
}

/// Removes the spaces around operators, after commas and before brackets.
fn remove_spaces(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut body = line[indent..].to_owned();
    for (from, to) in
        [(" = ", "="), (", ", ","), (" + ", "+"), (" == ", "=="), ("if (", "if("), (") {", "){")]
    {
        body = body.replace(from, to);
    }
    format!("{}{body}", &line[..indent])
}

/// Doubles the first space after the indentation.
fn double_space(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", &line[..indent], line[indent..].replacen(' ', "  ", 1))
}

/// Changes the spacing of all context lines that are code without strings.
fn change_spacing(draft: &mut EditDraft<'_>, change: fn(&str) -> String) -> Option<()> {
    draft.edit.language.is_free_form().then_some(())?;
    let is_changeable = |line: &str| {
        !may_have_string(line) && !draft.edit.language.is_comment(line) && change(line) != line
    };
    let indexes = draft.positions(|draft_line| {
        draft_line.role == LineRole::Context
            && draft_line.file.as_deref().is_some_and(is_changeable)
    });
    (!indexes.is_empty()).then_some(())?;
    for index in indexes {
        draft.lines[index].change_in_call(change);
    }
    Some(())
}

/// Removes the spaces around operators and after commas from context lines in the call.
pub(super) fn spacing_lost(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    change_spacing(draft, remove_spaces)
}

/// Doubles a space of context lines in the call.
pub(super) fn spacing_doubled(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    change_spacing(draft, double_space)
}

/// The languages in which single and double quotes mean the same.
const EITHER_QUOTE: &[&str] = &["javascript", "typescript", "python", "php", "ruby", "css"];

/// Replaces all double quotes in the call by single ones, or the other way round, in languages where
/// both mean the same.
pub(super) fn quotes_swapped(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    EITHER_QUOTE.contains(&draft.edit.language.name).then_some(())?;
    let file_lines = || {
        draft.lines.iter().flat_map(|draft_line| [&draft_line.file, &draft_line.after]).flatten()
    };
    let has_plain_strings = |line: &String| {
        !line.contains(['\\', '`', '$'])
            && !draft.edit.language.is_comment(line)
            && !line.contains("\"\"\"")
            && !line.contains("'''")
    };
    file_lines().all(has_plain_strings).then_some(())?;
    let is_used = |quote: char| file_lines().any(|line| line.contains(quote));
    let is_paired = |quote: char| file_lines().all(|line| line.matches(quote).count() % 2 == 0);
    let (from, to) = match (is_used('"'), is_used('\'')) {
        (true, false) if is_paired('"') => ("\"", "'"),
        (false, true) if is_paired('\'') => ("'", "\""),
        _ => return None,
    };
    let has_quote = |line: &Option<String>| line.as_ref().is_some_and(|line| line.contains(from));
    draft.lines.iter().any(|draft_line| has_quote(&draft_line.old)).then_some(())?;
    // An added line keeps the quotes of the call. It would be right with either kind, so the case
    // would not have only one right result.
    let adds_quote =
        |draft_line: &DraftLine| draft_line.role == LineRole::Added && has_quote(&draft_line.new);
    (!draft.lines.iter().any(adds_quote)).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| line.replace(from, to));
    }
    Some(())
}

/// Removes the semicolons at the end of all lines of the call. The edit must replace one line that
/// ends with a semicolon by another such line.
pub(super) fn semicolons_lost(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    ["javascript", "typescript"].contains(&draft.edit.language.name).then_some(())?;
    let semicolons = |role| -> Vec<bool> {
        draft
            .lines
            .iter()
            .filter(|draft_line| draft_line.role == role)
            .filter_map(|draft_line| draft_line.old.as_ref().or(draft_line.new.as_ref()))
            .map(|line| line.trim_end().ends_with(';'))
            .collect()
    };
    let (removed, added) = (semicolons(LineRole::Removed), semicolons(LineRole::Added));
    (removed == [true] && added == [true]).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| line.strip_suffix(';').unwrap_or(line).to_owned());
    }
    Some(())
}

/// Removes the comma or semicolon at the end of one context line in the call.
pub(super) fn end_lost(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let has_end_mark = |draft_line: &DraftLine| {
        draft_line.is_context_text()
            && draft_line
                .file
                .as_ref()
                .is_some_and(|line| line.len() > 3 && line.ends_with([',', ';']))
    };
    let index = *rng.pick(&draft.positions(has_end_mark))?;
    draft.lines[index].change_in_call(|line| line[..line.len() - 1].to_owned());
    Some(())
}

/// Adds a comma or semicolon at the end of one context line in the call.
pub(super) fn end_added(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.edit.language.is_free_form().then_some(())?;
    let mark = if draft.edit.language.name == "json" { "," } else { *rng.pick(&[",", ";"])? };
    let can_take_end_mark = |draft_line: &DraftLine| {
        draft_line.is_context_text()
            && draft_line.file.as_ref().is_some_and(|line| {
                !draft.edit.language.is_comment(line)
                    && line.ends_with(|c: char| c.is_ascii_alphanumeric() || ")]}\"'".contains(c))
            })
    };
    let index = *rng.pick(&draft.positions(can_take_end_mark))?;
    draft.lines[index].change_in_call(|line| format!("{line}{mark}"));
    Some(())
}

/// Returns the start and end byte of each word of a line. A word consists of letters, digits and
/// underscores.
pub(super) fn words(line: &str) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut word_start = None;
    for (offset, c) in line.char_indices().chain([(line.len(), ' ')]) {
        let is_in_word = c.is_alphanumeric() || c == '_';
        match (is_in_word, word_start) {
            (true, None) => word_start = Some(offset),
            (false, Some(start)) => {
                words.push((start, offset));
                word_start = None;
            }
            _ => {}
        }
    }
    words
}

/// Returns the start and end byte of each word of a line that starts with a letter and has at least
/// `min_bytes` bytes.
pub(super) fn names(line: &str, min_bytes: usize) -> Vec<(usize, usize)> {
    words(line)
        .into_iter()
        .filter(|&(start, end)| {
            end - start >= min_bytes && line[start..].starts_with(|c: char| c.is_ascii_alphabetic())
        })
        .collect()
}

const COMMENT_WORDS: &[&str] = &["always", "current", "given", "proper", "initial", "result"];

/// Replaces one word of a comment in the context by another one in the call.
pub(super) fn comment_misremembered(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(3, 3);
    let is_comment = |draft_line: &DraftLine| {
        draft_line.is_context_text()
            && draft_line.file.as_deref().is_some_and(|line| {
                draft.edit.language.is_comment(line) && names(line, 4).len() > 2
            })
    };
    let index = *rng.pick(&draft.positions(is_comment))?;
    (draft.nonblank_lines() >= 6 && draft.repeated_share() < 0.5).then_some(())?;
    let line = draft.lines[index].file.clone()?;
    let (start, end) = *rng.pick(&names(&line, 4))?;
    let word = rng.pick(COMMENT_WORDS)?;
    (line[start..end] != **word).then_some(())?;
    draft.lines[index].change_in_call(|line| format!("{}{word}{}", &line[..start], &line[end..]));
    Some(())
}

/// Replaces a name in a context line of code by another one in the call, as if the call were made
/// for an older version of the file. It must be refused: the line is beside a change, and what is
/// beside one may not differ.
pub(super) fn context_stale(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(4, 4);
    (draft.nonblank_lines() >= 8 && draft.repeated_share() < 0.4).then_some(())?;
    let changed: String = draft
        .lines
        .iter()
        .filter(|draft_line| draft_line.role != LineRole::Context)
        .flat_map(|draft_line| [draft_line.old.clone(), draft_line.new.clone()])
        .flatten()
        .collect();
    // Lines beside a changed one, blank ones aside.
    let nonblank = draft.positions(|draft_line| !draft_line.is_blank_context());
    let candidates: Vec<usize> = draft
        .positions(DraftLine::is_context_text)
        .into_iter()
        .filter(|&index| {
            let line = draft.lines[index].file.as_deref().unwrap_or("");
            let position = nonblank.iter().position(|&other| other == index).unwrap_or(0);
            let is_context = |neighbor: Option<&usize>| {
                neighbor.is_some_and(|&neighbor| draft.lines[neighbor].role == LineRole::Context)
            };
            position > 0
                && position + 1 < nonblank.len()
                && !(is_context(nonblank.get(position - 1))
                    && is_context(nonblank.get(position + 1)))
                && names(line, 4).len() > 1
                && !may_have_string(line)
                && !draft.edit.language.is_comment(line)
        })
        .collect();
    let index = *rng.pick(&candidates)?;
    let line = draft.lines[index].file.clone()?;
    let line_names = names(draft.edit.language.strip_comments(&line), 4);
    let &(start, end) = rng.pick(&line_names)?;
    let name = &line[start..end];
    let stale_name = format!("{}{}", rng.pick(&["old", "my", "the", "orig"])?, capitalized(name));
    (!changed.contains(name) && line.matches(name).count() == 1).then_some(())?;
    draft.lines[index]
        .change_in_call(|line| format!("{}{stale_name}{}", &line[..start], &line[end..]));
    Some(())
}

/// Returns the name with its first letter in upper case.
fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
