//! Mutations that make calls which must be refused: the lines to change are not in the file, or more
//! than once, or there is nothing to do.

use std::num::NonZeroUsize;

use super::indent::indent_unit;
use super::wording::{names, words};
use super::{CallDraft, DraftLine, EditDraft, LineRole};
use crate::edits::folded;
use crate::rng::Rng;
use restitch::Expected;

/// Returns the line with `word` in place of a byte range.
fn replace_span(line: &str, (start, end): (usize, usize), word: &str) -> String {
    format!("{}{word}{}", &line[..start], &line[end..])
}

/// Picks one of the words that `find` returns for the removed lines that are not comments. Returns
/// the index of the line and the byte range of the word in it.
fn removed_word(
    draft: &EditDraft<'_>,
    rng: &mut Rng,
    find: impl Fn(&str) -> Vec<(usize, usize)>,
) -> Option<(usize, (usize, usize))> {
    let mut candidates: Vec<(usize, (usize, usize))> = Vec::new();
    for (index, draft_line) in draft.lines.iter().enumerate() {
        if draft_line.role == LineRole::Removed
            && let Some(line) = &draft_line.file
            && !draft.edit.language.is_comment(line)
        {
            candidates.extend(find(line).into_iter().map(|span| (index, span)));
        }
    }
    rng.pick(&candidates).copied()
}

/// Replaces a word of a removed line by another one in `old_str`, and the same word in the added
/// lines. `None` if the file has the line with the other word, or if nothing would change.
fn misremember(
    draft: &mut EditDraft<'_>,
    index: usize,
    span: (usize, usize),
    word: &str,
) -> Option<()> {
    let line = draft.lines[index].file.clone()?;
    let real_word = line[span.0..span.1].to_owned();
    let wrong_line = replace_span(&line, span, word);
    (real_word != word && !draft.edit.file.contains(&wrong_line)).then_some(())?;
    draft.lines[index].old = Some(wrong_line);
    for draft_line in &mut draft.lines {
        if draft_line.role == LineRole::Added
            && let Some(new) = &draft_line.new
            && let Some(&found) =
                words(new).iter().find(|&&(start, end)| new[start..end] == real_word)
        {
            draft_line.new = Some(replace_span(new, found, word));
        }
    }
    // The call must still change something.
    let lines_of = |version: fn(&DraftLine) -> &Option<String>| -> Vec<String> {
        draft.lines.iter().filter_map(|draft_line| version(draft_line).clone()).collect()
    };
    let (old, new) =
        (lines_of(|draft_line| &draft_line.old), lines_of(|draft_line| &draft_line.new));
    (old != new).then_some(())
}

/// Replaces a number in a removed line of `old_str`, so that the file has another one.
pub(super) fn other_number(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let numbers = |line: &str| -> Vec<(usize, usize)> {
        words(line)
            .into_iter()
            .filter(|&(start, end)| line[start..end].bytes().all(|byte| byte.is_ascii_digit()))
            .collect()
    };
    let (index, span) = removed_word(draft, rng, numbers)?;
    let value = format!("{}", 3 + rng.below(900));
    misremember(draft, index, span, &value)
}

/// Replaces a name in a removed line of `old_str` by one from elsewhere in the file.
pub(super) fn other_name(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let (index, span) = removed_word(draft, rng, |line| names(line, 4))?;
    let mut other_names: Vec<String> = Vec::new();
    for line in draft.lines_outside() {
        other_names
            .extend(names(line, 4).into_iter().map(|(start, end)| line[start..end].to_owned()));
    }
    let word = rng.pick(&other_names)?.clone();
    misremember(draft, index, span, &word)
}

/// Replaces a word of a string in a removed line of `old_str`, so that the file has another one.
pub(super) fn other_string(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let names_in_strings = |line: &str| -> Vec<(usize, usize)> {
        if line.contains('\\') {
            return Vec::new();
        }
        names(line, 3)
            .into_iter()
            .filter(|&(start, _)| line[..start].matches('"').count() % 2 == 1)
            .collect()
    };
    let (index, span) = removed_word(draft, rng, names_in_strings)?;
    let word = *rng.pick(&["timeout", "default", "main", "other", "legacy"])?;
    misremember(draft, index, span, word)
}

/// Picks `count` lines of the file outside the edit, none of which the edit has.
fn lines_from_elsewhere(draft: &EditDraft<'_>, rng: &mut Rng, count: usize) -> Option<Vec<String>> {
    let edit_lines: Vec<String> = draft.file_lines().iter().map(|line| folded(line)).collect();
    let lines: Vec<&str> = draft
        .lines_outside()
        .filter(|line| folded(line).len() > 8 && !edit_lines.contains(&folded(line)))
        .collect();
    (0..count).map(|_| rng.pick(&lines).map(|line| (*line).to_owned())).collect()
}

/// Replaces all lines of `old_str` but the first and the last by lines from elsewhere in the file.
pub(super) fn middle_rewritten(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(2, 2);
    let old_indexes = draft.positions(|draft_line| draft_line.old.is_some());
    let inner = old_indexes.get(1..old_indexes.len().checked_sub(1)?)?.to_vec();
    let removes_any = inner.iter().any(|&index| draft.lines[index].role == LineRole::Removed);
    (inner.len() >= 3 && removes_any).then_some(())?;
    let lines = lines_from_elsewhere(draft, rng, inner.len())?;
    for (index, line) in inner.into_iter().zip(lines) {
        draft.lines[index].old = Some(line);
    }
    Some(())
}

/// Indents the call by one tab more than the file, and replaces its first and last line by lines
/// from elsewhere in the file.
pub(super) fn outer_lines_absent(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(1, 1);
    let last = draft.lines.len().checked_sub(1)?;
    (draft.lines[0].is_context_text() && draft.lines[last].is_context_text()).then_some(())?;
    let lines = lines_from_elsewhere(draft, rng, 2)?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| {
            if line.is_empty() { String::new() } else { format!("\t{line}") }
        });
    }
    for (index, line) in [0, last].into_iter().zip(lines) {
        draft.lines[index].change_in_call(|_| line.clone());
    }
    // With these lines at its ends, the text may occur in another place.
    let old_text: String =
        draft.lines.iter().filter_map(|draft_line| draft_line.old.clone()).collect();
    (!folded(&draft.edit.file).contains(&folded(&old_text))).then_some(())
}

/// Adds a line, which `old_str` does not have, to the file between two removed lines.
pub(super) fn file_has_more(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let index = between_removed(draft, rng)?;
    let line = lines_from_elsewhere(draft, rng, 1)?.pop()?;
    // A comment may stay between the lines that change.
    (!draft.edit.language.is_comment(&line)).then_some(())?;
    let draft_line = DraftLine {
        role: LineRole::Removed,
        old: None,
        new: None,
        after: None,
        ..DraftLine::context(&line)
    };
    draft.lines.insert(index, draft_line);
    Some(())
}

/// Adds a line, which the file does not have, to `old_str` between two removed lines.
pub(super) fn old_has_more(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let index = between_removed(draft, rng)?;
    let line = lines_from_elsewhere(draft, rng, 1)?.pop()?;
    let draft_line = DraftLine {
        role: LineRole::Removed,
        file: None,
        new: None,
        after: None,
        ..DraftLine::context(&line)
    };
    draft.lines.insert(index, draft_line);
    Some(())
}

/// Picks two neighboring lines that are both removed, and returns the index of the second.
fn between_removed(draft: &EditDraft<'_>, rng: &mut Rng) -> Option<usize> {
    // A removed line that is also in the new text is moved rather than removed.
    let new_lines: Vec<String> =
        draft.lines.iter().filter_map(|draft_line| draft_line.new.as_deref()).map(folded).collect();
    let is_removed = |draft_line: &DraftLine| {
        let line = draft_line.file.as_deref().map(folded).unwrap_or_default();
        draft_line.role == LineRole::Removed && (line.is_empty() || !new_lines.contains(&line))
    };
    let candidates: Vec<usize> = (1..draft.lines.len())
        .filter(|&index| draft.lines[index - 1..=index].iter().all(is_removed))
        .collect();
    rng.pick(&candidates).copied()
}

/// Makes a call whose `old_str` is the added lines, which the file does not have yet, and which changes
/// a word of them.
pub(super) fn absent(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let added: Vec<String> = draft
        .lines
        .iter()
        .filter(|draft_line| draft_line.role == LineRole::Added)
        .filter_map(|draft_line| draft_line.new.clone())
        .collect();
    let file = folded(&draft.edit.file);
    let lines_in_file = added.iter().filter(|line| file.contains(&folded(line))).count();
    let is_absent = !file.contains(&folded(&added.concat()));
    (added.len() >= 2 && lines_in_file * 2 <= added.len() && is_absent).then_some(())?;
    let index = rng.below(added.len());
    let &span = rng.pick(&names(&added[index], 3))?;
    let mut changed = added.clone();
    changed[index] = replace_span(&added[index], span, "changed");
    for draft_line in &mut draft.lines {
        (draft_line.old, draft_line.new) = (None, None);
    }
    for (old, new) in added.into_iter().zip(changed) {
        let draft_line = DraftLine {
            file: None,
            old: Some(old),
            new: Some(new),
            after: None,
            ..DraftLine::context("")
        };
        draft.lines.push(draft_line);
    }
    Some(())
}

/// Reverses the letters of every name in the call, so that the file does not have them.
pub(super) fn absent_renamed(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let mut renamed = 0;
    for draft_line in &mut draft.lines {
        let rename = |line: &str| {
            let mut line = line.to_owned();
            for span in names(&line.clone(), 4).into_iter().rev() {
                let reversed: String = line[span.0..span.1].chars().rev().collect();
                line = replace_span(&line, span, &reversed);
            }
            line
        };
        renamed += draft_line.old.as_deref().map_or(0, |line| names(line, 4).len());
        draft_line.change_in_call(rename);
    }
    (renamed >= 3).then_some(())
}

/// Applies the edit to the file, so that the call comes too late.
pub(super) fn already_applied(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    let adds_text = draft.lines.iter().any(|draft_line| {
        draft_line.role == LineRole::Added
            && draft_line.new.as_ref().is_some_and(|line| folded(line).len() > 6)
    });
    let removes_lines = draft.lines.iter().any(|draft_line| draft_line.role == LineRole::Removed);
    let has_context_at_both_ends = draft.lines.first()?.role == LineRole::Context
        && draft.lines.last()?.role == LineRole::Context;
    (adds_text && (removes_lines || has_context_at_both_ends)).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.file = draft_line.after.clone();
    }
    // The old text must not be in the file any more, neither here nor elsewhere.
    let folded_text = |version: fn(&DraftLine) -> &Option<String>| -> String {
        draft
            .lines
            .iter()
            .filter_map(|draft_line| version(draft_line).as_deref())
            .map(folded)
            .collect()
    };
    let region = folded_text(|draft_line| &draft_line.file);
    let file: String = [folded(&draft.head), region, folded(&draft.tail)].concat();
    (!file.contains(&folded_text(|draft_line| &draft_line.old))).then_some(())
}

/// Makes `new_str` equal to `old_str`.
pub(super) fn no_change(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.new = call.old.clone();
    Some(())
}

/// Empties `old_str`, though the file has content.
pub(super) fn empty_old(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    call.old.clear();
    Some(())
}

/// Makes `old_str` a placeholder without any other line.
pub(super) fn bare_elision(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    let placeholder = rng.pick(&["...", "…", "... existing code ..."])?;
    let before = call.before();
    (!before.contains("...") && !before.contains('…')).then_some(())?;
    call.old = (*placeholder).to_owned();
    Some(())
}

/// Expects two to four replacements, though `old_str` occurs once.
pub(super) fn expects_too_many(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    call.expected = Expected::Exactly(NonZeroUsize::new(2 + rng.below(3))?);
    Some(())
}

/// Appends to the file what `change` makes of a copy of the region.
fn append_copy(call: &mut CallDraft, change: impl Fn(&str) -> String) {
    // Only one line break is dropped, since blank lines at the end are a part of the text.
    let copy = change(call.region.strip_suffix('\n').unwrap_or(&call.region));
    let gap = if call.tail.ends_with('\n') { "\n" } else { "\n\n" };
    call.tail.push_str(&format!("{gap}{copy}\n"));
}

/// Puts the text into the file a second time.
pub(super) fn twice(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    append_copy(call, str::to_owned);
    Some(())
}

/// Puts the text into the file a second time, and spaces at the end of the first line of `old_str`.
pub(super) fn twice_folded(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    append_copy(call, str::to_owned);
    call.old.contains('\n').then_some(())?;
    call.old = call.old.replacen('\n', "  \n", 1);
    Some(())
}

/// Returns the text with `step` before every line that is not blank.
fn indent_more(text: &str, step: &str) -> String {
    let indent =
        |line: &str| if line.trim().is_empty() { line.to_owned() } else { format!("{step}{line}") };
    text.split_inclusive('\n').map(indent).collect()
}

/// Appends a copy of the text that is indented one level more, and indents the call one level less.
/// Then neither of the two places fits better.
pub(super) fn two_depths(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    let mut nonblank_lines = call.old.lines().filter(|line| !line.trim().is_empty());
    let step = if nonblank_lines.all(|line| line.starts_with('\t')) {
        "\t".to_owned()
    } else {
        let unit = indent_unit(&call.before());
        (unit > 0).then_some(())?;
        " ".repeat(unit)
    };
    let indent_less = |text: &str| -> Option<String> {
        text.split_inclusive('\n')
            .map(|line| if line.trim().is_empty() { Some(line) } else { line.strip_prefix(&step) })
            .collect()
    };
    let (old, new) = (indent_less(&call.old)?, indent_less(&call.new)?);
    append_copy(call, |text| indent_more(text, &step));
    // A single line would still occur in the file, as the end of a line that is indented more.
    (call.old.lines().count() > 1).then_some(())?;
    (call.old, call.new) = (old, new);
    (!call.before().contains(&call.old)).then_some(())
}

/// Changes a name in a context line of the file, and appends a copy of the region in which that name
/// is changed in another way. Then the call fits both places equally well.
pub(super) fn twins_equally_near(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    // Only names in code are changed, since a reading may ignore comments in kept lines.
    let language = draft.edit.language;
    draft.widen_context(3, 3);
    (draft.nonblank_lines() >= 6).then_some(())?;
    let candidates: Vec<usize> = draft
        .positions(DraftLine::is_context_text)
        .into_iter()
        .filter(|&index| {
            draft.lines[index]
                .file
                .as_deref()
                .is_some_and(|line| !names(language.strip_comments(line), 4).is_empty())
        })
        .collect();
    let changed_index = *rng.pick(&candidates)?;
    let line = draft.lines[changed_index].file.clone()?;
    let &span = rng.pick(&names(language.strip_comments(&line), 4))?;
    let name = line[span.0..span.1].to_owned();
    draft.lines[changed_index].change_in_file(|_| replace_span(&line, span, &format!("{name}One")));
    let mut twin = String::new();
    for (index, draft_line) in draft.lines.iter().enumerate() {
        let Some(file_line) = &draft_line.file else { continue };
        if index == changed_index {
            twin.push_str(&replace_span(&line, span, &format!("{name}Two")));
        } else {
            twin.push_str(file_line);
        }
        twin.push('\n');
    }
    draft.tail.push_str(&format!("\n{twin}"));
    Some(())
}

/// Changes a name in a removed line of the file, and appends a copy of the lines as they are quoted,
/// but for what `change` makes of them. The call is made for the first place, which has changed.
fn twin_of_changed(
    draft: &mut EditDraft<'_>,
    rng: &mut Rng,
    change: impl Fn(usize, &str) -> String,
) -> Option<()> {
    (draft.nonblank_lines() >= 3).then_some(())?;
    let (index, span) = removed_word(draft, rng, |line| names(line, 4))?;
    let quoted: Vec<&str> =
        draft.lines.iter().filter_map(|draft_line| draft_line.old.as_deref()).collect();
    let twin: Vec<String> =
        quoted.iter().enumerate().map(|(index, line)| change(index, line)).collect();
    (twin.iter().zip(&quoted).any(|(twin, quoted)| twin != quoted)).then_some(())?;
    draft.tail.push_str(&format!("\n{}\n", twin.join("\n")));
    let line = draft.lines[index].file.clone()?;
    let name = line[span.0..span.1].to_owned();
    draft.lines[index].file = Some(replace_span(&line, span, &format!("{name}Changed")));
    Some(())
}

/// The twin is one level deeper.
pub(super) fn twin_deeper(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let unit = indent_unit(&draft.edit.file);
    let level = if unit > 0 { " ".repeat(unit) } else { "\t".to_owned() };
    twin_of_changed(draft, rng, |_, line| indent_more(line, &level))
}

/// The twin has blanks at the ends of its lines.
pub(super) fn twin_trailing(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    twin_of_changed(draft, rng, |_, line| format!("{line} "))
}

/// The twin has a blank line more.
pub(super) fn twin_blank_line(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    twin_of_changed(draft, rng, |index, line| match index {
        1 => format!("\n{line}"),
        _ => line.to_owned(),
    })
}

/// The twin has more blanks around its signs.
pub(super) fn twin_spacing(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    twin_of_changed(draft, rng, |_, line| line.replace(" = ", "  =  ").replace(", ", ",  "))
}

/// Replaces the context below the change by a placeholder in `new_str` only, where it would delete
/// that context.
pub(super) fn omission(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(4, 4);
    let comment_opener = draft
        .edit
        .language
        .comment_openers()
        .next()
        .filter(|opener| !opener.starts_with(['<', '-']))?;
    let last = draft.lines.iter().rposition(|draft_line| draft_line.role != LineRole::Context)?;
    let below: Vec<usize> = (last + 1..draft.lines.len()).collect();
    (below.len() >= 3).then_some(())?;
    let words = rng.pick(&[
        "... rest of the code ...",
        "... existing code ...",
        "... rest of function unchanged ...",
    ])?;
    (!draft.edit.file.contains(words)).then_some(())?;
    for &index in &below {
        draft.lines[index].new = None;
    }
    let line = draft.lines[below[0]].old.clone()?;
    let indentation = &line[..line.len() - line.trim_start().len()];
    draft.lines[below[0]].new = Some(format!("{indentation}{comment_opener} {words}"));
    Some(())
}

/// Puts the text into the file a second time, and gives the line of the first one as `near_line`.
pub(super) fn near_line(call: &mut CallDraft, _: &mut Rng) -> Option<()> {
    append_copy(call, str::to_owned);
    call.near_line = Some(call.first_line());
    Some(())
}

/// Makes a call that renames a name everywhere in the file, with the exact count or with all.
pub(super) fn every_name(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    let before = call.before();
    let candidates = names(&call.region, 6);
    let &(start, end) = rng.pick(&candidates)?;
    let name = call.region[start..end].to_owned();
    let count = before.matches(&name).count();
    (2..=6).contains(&count).then_some(())?;
    let new_name = format!("{name}Renamed");
    call.after = before.replace(&name, &new_name);
    (call.head, call.tail) = (String::new(), String::new());
    call.region = before;
    (call.old, call.new) = (name, new_name);
    call.expected =
        if rng.chance(50) { Expected::All } else { Expected::Exactly(NonZeroUsize::new(count)?) };
    Some(())
}

/// Makes a call that renames a name with several occurrences, but expects only one.
pub(super) fn name_repeats(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    every_name(call, rng)?;
    call.expected = Expected::default();
    Some(())
}

/// Makes a call that puts a word before each occurrence of a name, and sends it once more.
pub(super) fn every_name_again(call: &mut CallDraft, rng: &mut Rng) -> Option<()> {
    every_name(call, rng)?;
    call.new = format!("late_{}", call.old);
    let again = call.region.replace(&call.old, &call.new);
    (!call.region.contains(&call.new)).then_some(())?;
    call.region = again;
    Some(())
}
