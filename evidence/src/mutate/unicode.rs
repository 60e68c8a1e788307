//! Mutations with characters that look alike. Those in the file are in context, which the edit
//! keeps. Those in the call are in both strings, and the plain characters of the file are right.

use super::{DraftLine, EditDraft, LineRole};
use crate::rng::Rng;

/// Texts, each with the text that replaces it.
type Replacements = &'static [(&'static str, &'static str)];

/// ASCII characters and their typographic forms, by kind.
const TYPOGRAPHIC: &[Replacements] = &[
    &[("'", "\u{2019}")],
    &[(" \"", " \u{201c}"), ("(\"", "(\u{201c}"), ("\"", "\u{201d}")],
    &[("-", "\u{2013}")],
    &[(" - ", " \u{2014} "), ("--", "\u{2014}")],
    &[("...", "\u{2026}")],
];

const FULL_WIDTH: Replacements =
    &[(",", "\u{ff0c}"), ("(", "\u{ff08}"), (")", "\u{ff09}"), (":", "\u{ff1a}")];

/// Makes all replacements in a line, one after the other.
fn replace_all(line: &str, replacements: Replacements) -> String {
    replacements.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to))
}

/// `None` if a line of the edit has a character outside ASCII.
fn require_ascii(draft: &EditDraft<'_>) -> Option<()> {
    let is_ascii = |draft_line: &DraftLine| {
        [&draft_line.file, &draft_line.after].into_iter().flatten().all(|line| line.is_ascii())
    };
    draft.lines.iter().all(is_ascii).then_some(())
}

/// Whether a line that `test` accepts has one of the texts to replace.
fn applies_to(
    draft: &EditDraft<'_>,
    replacements: Replacements,
    test: impl Fn(&DraftLine) -> bool,
) -> bool {
    draft.lines.iter().any(|draft_line| {
        test(draft_line)
            && draft_line
                .file
                .as_deref()
                .is_some_and(|line| replacements.iter().any(|(from, _)| line.contains(from)))
    })
}

/// Makes the replacements in the context lines of the file.
fn replace_in_file(draft: &mut EditDraft<'_>, replacements: Replacements) -> Option<()> {
    applies_to(draft, replacements, DraftLine::is_context_text).then_some(())?;
    for draft_line in &mut draft.lines {
        if draft_line.role == LineRole::Context {
            draft_line.change_in_file(|line| replace_all(line, replacements));
        }
    }
    Some(())
}

/// Puts typographic characters of one kind into the context lines of the file; the call has plain
/// ones.
pub(super) fn typographic_file(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    require_ascii(draft)?;
    let kinds: Vec<Replacements> = TYPOGRAPHIC
        .iter()
        .copied()
        .filter(|replacements| applies_to(draft, replacements, DraftLine::is_context_text))
        .collect();
    replace_in_file(draft, rng.pick(&kinds)?)
}

/// Puts typographic quotes into the changed line of the file, left and right of the change; the call
/// has plain ones.
pub(super) fn typographic_change(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    require_ascii(draft)?;
    let only = |role| match draft.positions(|draft_line| draft_line.role == role)[..] {
        [index] => Some(index),
        _ => None,
    };
    let (removed, added) = (only(LineRole::Removed)?, only(LineRole::Added)?);
    let (old, new) = (draft.lines[removed].file.clone()?, draft.lines[added].after.clone()?);
    // The bytes that both lines have at their start and at their end.
    let mut head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let max_tail = old.len().min(new.len()) - head;
    let reversed = old.bytes().rev().zip(new.bytes().rev());
    let mut tail = reversed.take(max_tail).take_while(|(a, b)| a == b).count();
    // The engine keeps whole words of a line, not single letters.
    let is_in_word = |index: usize| {
        let byte = old.as_bytes().get(index);
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    while head > 0 && is_in_word(head - 1) {
        head -= 1;
    }
    while tail > 0 && is_in_word(old.len() - tail) {
        tail -= 1;
    }
    let changed_part = |text: &str| text[head..text.len() - tail].to_owned();
    let has_quote = |text: &str| changed_part(text).contains(['\'', '"']);
    (!has_quote(&old) && !has_quote(&new) && !changed_part(&new).is_empty()).then_some(())?;
    let single_quotes: Replacements = &[("'", "\u{2019}")];
    let double_quotes: Replacements = TYPOGRAPHIC.get(1)?;
    let quotes = [single_quotes, double_quotes]
        .into_iter()
        .find(|replacements| replace_all(&old, replacements) != old)?;
    let with_typography = |text: &str| {
        // An opening quote depends on the text before it, so the whole line is changed at once.
        let line = replace_all(text, quotes);
        // `head` and `tail` count the characters of this line only if each stands for one byte.
        (line.chars().count() == text.len()).then_some(line)
    };
    let (file, after) = (with_typography(&old)?, with_typography(&new)?);
    // The parts of the line that the edit keeps must have the same quotes before and after it.
    let kept_parts = |line: &str| {
        let chars: Vec<char> = line.chars().collect();
        (chars[..head].to_vec(), chars[chars.len() - tail..].to_vec())
    };
    (kept_parts(&file) == kept_parts(&after)).then_some(())?;
    draft.lines[removed].file = Some(file);
    draft.lines[added].after = Some(after);
    Some(())
}

/// Puts typographic characters of one kind into the call; the file has plain ones.
pub(super) fn typographic_call(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    require_ascii(draft)?;
    let kinds: Vec<Replacements> = TYPOGRAPHIC
        .iter()
        .copied()
        .filter(|replacements| applies_to(draft, replacements, |_| true))
        .collect();
    let replacements = *rng.pick(&kinds)?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| replace_all(line, replacements));
    }
    Some(())
}

/// Replaces the spaces of one context line by no-break spaces in the file.
pub(super) fn nbsp_in_file(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    require_ascii(draft)?;
    let candidates: Vec<usize> = draft
        .positions(DraftLine::is_context_text)
        .into_iter()
        .filter(|&index| {
            draft.lines[index].file.as_deref().is_some_and(|line| line.trim().contains(' '))
        })
        .collect();
    let index = *rng.pick(&candidates)?;
    draft.lines[index].change_in_file(|line| replace_inner_spaces(line, "\u{a0}"));
    Some(())
}

/// Replaces the spaces of all lines by no-break spaces in the call.
pub(super) fn nbsp_in_call(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    require_ascii(draft)?;
    let has_inner_space = |draft_line: &DraftLine| {
        draft_line.file.as_deref().is_some_and(|line| line.trim().contains(' '))
    };
    draft.lines.iter().any(has_inner_space).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| replace_inner_spaces(line, "\u{a0}"));
    }
    Some(())
}

/// Replaces all spaces after the indentation.
fn replace_inner_spaces(line: &str, replacement: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", &line[..indent], line[indent..].replace(' ', replacement))
}

const INVISIBLE: &[&str] = &["\u{200b}", "\u{feff}", "\u{200d}", "\u{2060}"];

/// Inserts a character in the middle of a line.
fn insert_inside(line: &str, inserted: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let middle = indent + (line.len() - indent) / 2;
    let offset = (0..=middle).rev().find(|&offset| line.is_char_boundary(offset)).unwrap_or(0);
    format!("{}{inserted}{}", &line[..offset], &line[offset..])
}

/// Puts an invisible character into one context line of the file.
pub(super) fn invisible_in_file(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    require_ascii(draft)?;
    let index = *rng.pick(&draft.positions(DraftLine::is_context_text))?;
    let invisible = rng.pick(INVISIBLE)?;
    draft.lines[index].change_in_file(|line| insert_inside(line, invisible));
    Some(())
}

/// Puts an invisible character into one line of `old_str`, and into the same line of `new_str` if
/// that has it.
pub(super) fn invisible_in_call(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    require_ascii(draft)?;
    let candidates = draft.positions(|draft_line| {
        draft_line.old.as_ref().is_some_and(|line| !line.trim().is_empty())
    });
    let index = *rng.pick(&candidates)?;
    let invisible = rng.pick(INVISIBLE)?;
    draft.lines[index].change_in_call(|line| insert_inside(line, invisible));
    Some(())
}

/// Replaces the first two letters `e` of each context line by `in_file` in the file and by
/// `in_call` in the call.
fn accent(draft: &mut EditDraft<'_>, in_file: &'static str, in_call: &'static str) -> Option<()> {
    require_ascii(draft)?;
    applies_to(draft, &[("e", "")], DraftLine::is_context_text).then_some(())?;
    for draft_line in &mut draft.lines {
        if draft_line.role == LineRole::Context {
            draft_line.change_in_file(|line| line.replacen('e', in_file, 2));
            draft_line.change_in_call(|line| line.replacen('e', in_call, 2));
        }
    }
    Some(())
}

/// Puts composed accented letters into the file and decomposed ones into the call.
pub(super) fn nfd_in_call(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    accent(draft, "\u{e9}", "e\u{301}")
}

/// Puts decomposed accented letters into the file and composed ones into the call.
pub(super) fn nfc_in_call(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    accent(draft, "e\u{301}", "\u{e9}")
}

/// Puts full-width punctuation into the context lines of the file.
pub(super) fn fullwidth_in_file(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    require_ascii(draft)?;
    replace_in_file(draft, FULL_WIDTH)
}
