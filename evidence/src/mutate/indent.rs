//! Mutations of the indentation. The file's indentation is right: kept lines must have it, and new
//! lines must be shifted by the same amount.

use super::{CallDraft, DraftLine, EditDraft, LineRole};
use crate::rng::Rng;

/// Changes every line that is not blank; `None` if one of them cannot be changed.
fn map_lines(text: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    text.split_inclusive('\n')
        .map(|line| if line.trim().is_empty() { Some(line.to_owned()) } else { change(line) })
        .collect()
}

/// Changes the lines of both strings; `None` if a line cannot be changed or `old_str` stays the same.
fn change_both(call: &mut CallDraft, change: impl Fn(&str) -> Option<String>) -> Option<()> {
    let (old, new) = (map_lines(&call.old, &change)?, map_lines(&call.new, &change)?);
    (old != call.old).then_some(())?;
    (call.old, call.new) = (old, new);
    Some(())
}

fn indentation_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the indentation of each line that is not blank.
fn indentations(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty()).map(indentation_of)
}

/// Returns the number of spaces of one level of indentation, or 0 if the text does not show it.
pub(super) fn indent_unit(text: &str) -> usize {
    let widths: Vec<usize> = indentations(text)
        .filter(|indentation| !indentation.contains('\t') && !indentation.is_empty())
        .map(str::len)
        .collect();
    let fits_most_lines = |unit: &usize| {
        let fitting = widths.iter().filter(|width| *width % unit == 0).count();
        let fits_95_percent = fitting * 100 >= widths.len() * 95;
        widths.len() >= 5 && fits_95_percent
    };
    [4, 2].into_iter().find(fits_most_lines).unwrap_or(0)
}

/// Removes one tab from every line of the call. Too few tabs are the most frequent mistake of
/// today's models.
pub(super) fn one_tab_too_few(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    change_both(call, |line| line.strip_prefix('\t').map(str::to_owned))
}

/// Removes one tab from every line of the call but the added ones. The right result is certain only
/// if the added lines have the indentation of both kept neighbours and the line above opens no
/// block: then they cannot be meant to be one level deeper.
pub(super) fn one_tab_too_few_but_in_added(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let first = draft.lines.iter().position(|draft_line| draft_line.role != LineRole::Context)?;
    let last = draft.lines.iter().rposition(|draft_line| draft_line.role != LineRole::Context)?;
    let above = draft.lines.get(first.checked_sub(1)?)?.file.clone()?;
    let below = draft.lines.get(last + 1)?.file.clone()?;
    let indentation = indentation_of(&above);
    let opens_block = above.trim_end().ends_with(['{', '(', '[', ':', ',', '\\']);
    (indentation_of(&below) == indentation && !opens_block && !above.trim().is_empty())
        .then_some(())?;
    let changed = &draft.lines[first..=last];
    changed.iter().any(|draft_line| draft_line.role == LineRole::Added).then_some(())?;
    changed
        .iter()
        .filter_map(|draft_line| draft_line.new.as_deref())
        .all(|line| indentation_of(line) == indentation && !line.trim().is_empty())
        .then_some(())?;
    for draft_line in &mut draft.lines {
        let is_blank = draft_line.old.as_ref().is_some_and(|line| line.trim().is_empty());
        if draft_line.role != LineRole::Added && !is_blank {
            draft_line.file.as_ref().filter(|line| line.starts_with('\t'))?;
            draft_line.change_in_call(|line| line[1..].to_owned());
        }
    }
    Some(())
}

/// Removes one level from every line of the call, and adds lines to the new text, above the last kept
/// line: some indented like that line, and some at the margin, where they stay.
fn one_level_too_few_beside_margin(
    draft: &mut EditDraft<'_>,
    lines: &[(bool, &str)],
) -> Option<()> {
    let unit = indent_unit(&draft.edit.file);
    let level = if unit > 0 { " ".repeat(unit) } else { "\t".to_owned() };
    let last = draft.lines.last().filter(|draft_line| draft_line.is_context_text())?;
    let indentation = indentation_of(last.file.as_deref()?).to_owned();
    for draft_line in &mut draft.lines {
        [&draft_line.old, &draft_line.new]
            .into_iter()
            .flatten()
            .all(|line| line.is_empty() || line.starts_with(&level))
            .then_some(())?;
        draft_line.change_in_call(|line| line.get(level.len()..).unwrap_or("").to_owned());
    }
    let at = draft.lines.len() - 1;
    let added = lines.iter().map(|(is_indented, line)| {
        let after = if *is_indented { format!("{indentation}{line}") } else { (*line).to_owned() };
        let new = if *is_indented { after[level.len()..].to_owned() } else { after.clone() };
        let (new, after) = (Some(new), Some(after));
        let role = LineRole::Added;
        DraftLine { role, file: None, old: None, new, after, ..DraftLine::context("") }
    });
    draft.lines.splice(at..at, added.collect::<Vec<_>>());
    Some(())
}

/// Adds a literal over several lines to the new text of a call that is one level too shallow. What
/// is in the literal stays as the call has it. A file with docstrings is left out: quoted in one, a literal
/// is text as deep as what is around it.
pub(super) fn literal_in_new(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let (mark, opening, closing) = match draft.edit.language.name {
        "python" => ("\"\"\"", "notes = \"\"\"", "\"\"\""),
        "javascript" | "typescript" => ("`", "const notes = `", "`;"),
        "go" => ("`", "notes := `", "`"),
        _ => return None,
    };
    (![mark, "'''"].iter().any(|mark| draft.edit.file.contains(mark))).then_some(())?;
    let inside = [(false, "first"), (false, "  second"), (false, "    third"), (false, closing)];
    one_level_too_few_beside_margin(draft, &[&[(true, opening)], &inside[..]].concat())
}

/// Adds lines of the preprocessor to the new text of a call that is one level too shallow.
pub(super) fn margin_in_new(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    ["c", "cpp", "c++", "c#"].contains(&draft.edit.language.name).then_some(())?;
    let lines = [(false, "#if LATER"), (true, "later();"), (false, "#endif")];
    one_level_too_few_beside_margin(draft, &lines)
}

/// Removes another indentation from each string: one level of `old_str`, all that is common of
/// `new_str`. Only the file has the right one.
pub(super) fn depths_differ(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let unit = indent_unit(&call.before());
    let level = if unit > 0 { " ".repeat(unit) } else { "\t".to_owned() };
    let common = indentations(&call.new).min_by_key(|indentation| indentation.len())?.to_owned();
    (common.len() > level.len()).then_some(())?;
    let without = |text: &str, indentation: &str| {
        map_lines(text, |line| line.strip_prefix(indentation).map(str::to_owned))
    };
    (call.old, call.new) = (without(&call.old, &level)?, without(&call.new, &common)?);
    Some(())
}

/// Adds one tab to every line of the call.
pub(super) fn one_tab_too_many(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    indentations(&call.before()).any(|indentation| indentation.starts_with('\t')).then_some(())?;
    indentations(&call.old).all(|indentation| !indentation.contains(' ')).then_some(())?;
    change_both(call, |line| Some(format!("\t{line}")))
}

/// Removes one level of spaces from every line of the call.
pub(super) fn one_level_too_few(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let unit = indent_unit(&call.before());
    (unit > 0).then_some(())?;
    change_both(call, |line| line.strip_prefix(&" ".repeat(unit)).map(str::to_owned))
}

/// Adds the same one to four spaces to every line of the call.
pub(super) fn some_spaces_too_many(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    indentations(&call.old)
        .chain(indentations(&call.new))
        .all(|indentation| !indentation.contains('\t'))
        .then_some(())?;
    let pad = " ".repeat(1 + rng.below(4));
    change_both(call, |line| Some(format!("{pad}{line}")))
}

/// Removes one space from every line of the call.
pub(super) fn one_space_too_few(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    change_both(call, |line| line.strip_prefix(' ').map(str::to_owned))
}

/// Moves both strings to the left, by the smallest indentation in `old_str`.
pub(super) fn dedented(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let common = indentations(&call.old).min_by_key(|indentation| indentation.len())?.to_owned();
    (!common.is_empty()).then_some(())?;
    change_both(call, |line| line.strip_prefix(&common).map(str::to_owned))
}

/// Removes the whole indentation of the first line and one level of that of the others.
pub(super) fn first_lost(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let step = if indentations(&call.old).all(|indentation| indentation.starts_with('\t')) {
        "\t".to_owned()
    } else {
        let unit = indent_unit(&call.before());
        (unit > 0).then_some(())?;
        " ".repeat(unit)
    };
    (call.old.lines().count() > 2 && indentation_of(&call.old).len() > step.len()).then_some(())?;
    // Both strings start with the same kept line, so both lose the same indentation.
    (call.old.lines().next() == call.new.lines().next()).then_some(())?;
    change_both(call, |line| line.strip_prefix(&step).map(str::to_owned))?;
    call.old = call.old.trim_start().to_owned();
    call.new = call.new.trim_start().to_owned();
    Some(())
}

/// Replaces each tab of the indentation by `N` spaces in the call.
pub(super) fn spaces_for_tabs<const N: usize>(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    indentations(&call.old).any(|indentation| !indentation.is_empty()).then_some(())?;
    change_both(call, |line| {
        let indentation = indentation_of(line);
        (!indentation.contains(' ')).then(|| {
            format!("{}{}", " ".repeat(N * indentation.len()), line.trim_start_matches('\t'))
        })
    })
}

/// Replaces each level of spaces by a tab in the call.
pub(super) fn tabs_for_spaces(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let unit = indent_unit(&call.before());
    (unit > 0).then_some(())?;
    relevel(call, unit, "\t")
}

/// Replaces each level of four spaces by two spaces in the call.
pub(super) fn two_for_four(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    (indent_unit(&call.before()) == 4).then_some(())?;
    relevel(call, 4, "  ")
}

/// Replaces each level of two spaces by four spaces in the call.
pub(super) fn four_for_two(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    (indent_unit(&call.before()) == 2).then_some(())?;
    relevel(call, 2, "    ")
}

/// Replaces every `unit` spaces of the indentation by `step` in the call.
fn relevel(call: &mut CallDraft, unit: usize, step: &str) -> Option<()> {
    change_both(call, |line| {
        let indentation = indentation_of(line);
        (!indentation.contains('\t') && indentation.len().is_multiple_of(unit)).then(|| {
            format!("{}{}", step.repeat(indentation.len() / unit), line.trim_start_matches(' '))
        })
    })
}
