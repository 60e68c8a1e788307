//! Wrong indentation. The file's own depth is the truth, for kept lines and, mapped
//! the same way, for new ones.

use super::super::rng::Rng;
use super::{CallDraft, EditDraft, LineRole};

fn map_lines(text: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    text.split_inclusive('\n')
        .map(|line| if line.trim().is_empty() { Some(line.to_owned()) } else { change(line) })
        .collect()
}

fn both(call: &mut CallDraft, change: impl Fn(&str) -> Option<String>) -> Option<()> {
    let (old, new) = (map_lines(&call.old, &change)?, map_lines(&call.new, &change)?);
    (old != call.old).then_some(())?;
    (call.old, call.new) = (old, new);
    Some(())
}

fn indentation_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn indentations(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty()).map(indentation_of)
}

/// The number of spaces a level of this text has, 0 when it cannot be told.
pub(super) fn indent_unit(text: &str) -> usize {
    let widths: Vec<usize> =
        indentations(text).filter(|l| !l.contains('\t') && !l.is_empty()).map(str::len).collect();
    [4, 2]
        .into_iter()
        .find(|unit| {
            let fits = widths.iter().filter(|width| *width % unit == 0).count();
            widths.len() >= 5 && fits * 20 >= widths.len() * 19
        })
        .unwrap_or(0)
}

/// Every line has one tab too few: most of the failures of today's models.
pub(super) fn one_tab_too_few(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    both(call, |line| line.strip_prefix('\t').map(str::to_owned))
}

/// Context is quoted one tab short, inserted lines are at the file's depth. Certain
/// only where the inserted lines are at the depth of both kept neighbours and the
/// line above opens no block, so that one level deeper would make no sense.
pub(super) fn one_tab_too_few_in_old(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let first = draft.lines.iter().position(|draft_line| draft_line.role != LineRole::Context)?;
    let last = draft.lines.iter().rposition(|draft_line| draft_line.role != LineRole::Context)?;
    let above = draft.lines.get(first.checked_sub(1)?)?.file.clone()?;
    let below = draft.lines.get(last + 1)?.file.clone()?;
    let depth = indentation_of(&above);
    let opens = above.trim_end().ends_with(['{', '(', '[', ':', ',', '\\']);
    (indentation_of(&below) == depth && !opens && !above.trim().is_empty()).then_some(())?;
    let run = &draft.lines[first..=last];
    run.iter().any(|draft_line| draft_line.role == LineRole::Added).then_some(())?;
    run.iter()
        .filter_map(|draft_line| draft_line.new.as_deref())
        .all(|line| indentation_of(line) == depth && !line.trim().is_empty())
        .then_some(())?;
    for draft_line in &mut draft.lines {
        let blank = draft_line.old.as_ref().is_some_and(|line| line.trim().is_empty());
        if draft_line.role != LineRole::Added && !blank {
            draft_line.file.as_ref().filter(|line| line.starts_with('\t'))?;
            draft_line.change_in_call(|line| line[1..].to_owned());
        }
    }
    Some(())
}

pub(super) fn one_tab_too_many(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    indentations(&call.before()).any(|indentation| indentation.starts_with('\t')).then_some(())?;
    indentations(&call.old).all(|indentation| !indentation.contains(' ')).then_some(())?;
    both(call, |line| Some(format!("\t{line}")))
}

/// One level of spaces too few.
pub(super) fn one_level_too_few(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let unit = indent_unit(&call.before());
    (unit > 0).then_some(())?;
    both(call, |line| line.strip_prefix(&" ".repeat(unit)).map(str::to_owned))
}

/// One to four spaces too many.
pub(super) fn shift_many(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    indentations(&call.old)
        .chain(indentations(&call.new))
        .all(|indentation| !indentation.contains('\t'))
        .then_some(())?;
    let pad = " ".repeat(1 + rng.below(4));
    both(call, |line| Some(format!("{pad}{line}")))
}

/// One space too few or too many on every line.
pub(super) fn shift_odd(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    both(call, |line| line.strip_prefix(' ').map(str::to_owned))
}

/// The whole text moved to the left edge.
pub(super) fn dedented(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let common = indentations(&call.old).min_by_key(|indentation| indentation.len())?.to_owned();
    (!common.is_empty()).then_some(())?;
    both(call, |line| line.strip_prefix(&common).map(str::to_owned))
}

/// The first line lost its indentation, the others one level.
pub(super) fn first_lost(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let step = if indentations(&call.old).all(|indentation| indentation.starts_with('\t')) {
        "\t".to_owned()
    } else {
        let unit = indent_unit(&call.before());
        (unit > 0).then_some(())?;
        " ".repeat(unit)
    };
    (call.old.lines().count() > 2 && indentation_of(&call.old).len() > step.len()).then_some(())?;
    // Both strings open with the same kept line, so both lose the same.
    (call.old.lines().next() == call.new.lines().next()).then_some(())?;
    both(call, |line| line.strip_prefix(&step).map(str::to_owned))?;
    call.old = call.old.trim_start().to_owned();
    call.new = call.new.trim_start().to_owned();
    Some(())
}

/// The file has tabs, the call has `N` spaces for each.
pub(super) fn spaces_for_tabs<const N: usize>(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    indentations(&call.old).any(|indentation| !indentation.is_empty()).then_some(())?;
    both(call, |line| {
        let indentation = indentation_of(line);
        (!indentation.contains(' ')).then(|| {
            format!("{}{}", " ".repeat(N * indentation.len()), line.trim_start_matches('\t'))
        })
    })
}

/// The file has spaces, the call has one tab for each level.
pub(super) fn tabs_for_spaces(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let unit = indent_unit(&call.before());
    (unit > 0).then_some(())?;
    relevel(call, unit, "\t")
}

/// The file has four spaces a level, the call two.
pub(super) fn two_for_four(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    (indent_unit(&call.before()) == 4).then_some(())?;
    relevel(call, 4, "  ")
}

/// The file has two spaces a level, the call four.
pub(super) fn four_for_two(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    (indent_unit(&call.before()) == 2).then_some(())?;
    relevel(call, 2, "    ")
}

fn relevel(call: &mut CallDraft, unit: usize, step: &str) -> Option<()> {
    both(call, |line| {
        let indentation = indentation_of(line);
        (!indentation.contains('\t') && indentation.len().is_multiple_of(unit)).then(|| {
            format!("{}{}", step.repeat(indentation.len() / unit), line.trim_start_matches(' '))
        })
    })
}
