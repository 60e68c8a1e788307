//! Characters that look alike. In the file they are part of the context, which stays; in
//! the call they are in both strings, and the file's plain ones are right.

use super::super::rng::Rng;
use super::{DraftLine, EditDraft, LineRole};

type Pairs = &'static [(&'static str, &'static str)];

const KINDS: &[Pairs] = &[
    &[("'", "\u{2019}")],
    &[(" \"", " \u{201c}"), ("(\"", "(\u{201c}"), ("\"", "\u{201d}")],
    &[("-", "\u{2013}")],
    &[(" - ", " \u{2014} "), ("--", "\u{2014}")],
    &[("...", "\u{2026}")],
];

const WIDE: Pairs = &[(",", "\u{ff0c}"), ("(", "\u{ff08}"), (")", "\u{ff09}"), (":", "\u{ff1a}")];

fn apply(line: &str, pairs: Pairs) -> String {
    pairs.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to))
}

fn ascii(draft: &EditDraft<'_>) -> Option<()> {
    let texts = |draft_line: &DraftLine| {
        [draft_line.file.clone(), draft_line.after.clone()]
            .into_iter()
            .flatten()
            .all(|l| l.is_ascii())
    };
    draft.lines.iter().all(texts).then_some(())
}

fn applies_to(draft: &EditDraft<'_>, pairs: Pairs, test: impl Fn(&DraftLine) -> bool) -> bool {
    draft.lines.iter().any(|draft_line| {
        test(draft_line)
            && draft_line
                .file
                .as_deref()
                .is_some_and(|line| pairs.iter().any(|(from, _)| line.contains(from)))
    })
}

fn in_file(draft: &mut EditDraft<'_>, pairs: Pairs) -> Option<()> {
    applies_to(draft, pairs, DraftLine::is_context_text).then_some(())?;
    for draft_line in &mut draft.lines {
        if draft_line.role == LineRole::Context {
            draft_line.change_in_file(|line| apply(line, pairs));
        }
    }
    Some(())
}

/// The file has typographic characters in context lines, the model types plain ones.
pub(super) fn typographic_file(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let kinds: Vec<Pairs> = KINDS
        .iter()
        .copied()
        .filter(|pairs| applies_to(draft, pairs, DraftLine::is_context_text))
        .collect();
    in_file(draft, rng.pick(&kinds)?)
}

/// The file has them in the changed line too, left and right of the change.
pub(super) fn typographic_change(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let only = |draft: &EditDraft<'_>, kind| match draft
        .positions(|draft_line| draft_line.role == kind)[..]
    {
        [at] => Some(at),
        _ => None,
    };
    let (drop, add) = (only(draft, LineRole::Removed)?, only(draft, LineRole::Added)?);
    let (old, new) = (draft.lines[drop].file.clone()?, draft.lines[add].after.clone()?);
    let same = |a: u8, b: u8| a == b;
    let word = |text: &str, at: usize| {
        text.as_bytes().get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    };
    let mut head = old.bytes().zip(new.bytes()).take_while(|&(a, b)| same(a, b)).count();
    let max_tail = old.len().min(new.len()) - head;
    let mut tail = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take(max_tail)
        .take_while(|&(a, b)| same(a, b))
        .count();
    // Whole words only: a merge keeps words, not letters.
    while head > 0 && word(&old, head - 1) {
        head -= 1;
    }
    while tail > 0 && word(&old, old.len() - tail) {
        tail -= 1;
    }
    let quote: Pairs = &[("'", "\u{2019}")];
    let double: Pairs = KINDS.get(1)?;
    let middle = |text: &str| text[head..text.len() - tail].to_owned();
    let clean = |text: &str| !middle(text).contains(['\'', '"']);
    (clean(&old) && clean(&new) && !middle(&new).is_empty()).then_some(())?;
    let pairs = [quote, double].into_iter().find(|pairs| apply(&old, pairs) != old)?;
    let with_typography = |text: &str| {
        // Opening quotes depend on the text before them, so the whole line is changed at once.
        let line = apply(text, pairs);
        (line.chars().count() == text.len()).then_some(line)
    };
    let (file, after) = (with_typography(&old)?, with_typography(&new)?);
    // What the edit keeps of the line must look the same on both sides of it.
    let kept = |line: &str| {
        let chars: Vec<char> = line.chars().collect();
        (chars[..head].to_vec(), chars[chars.len() - tail..].to_vec())
    };
    (kept(&file) == kept(&after)).then_some(())?;
    draft.lines[drop].file = Some(file);
    draft.lines[add].after = Some(after);
    Some(())
}

/// The model types typographic characters, the file is plain.
pub(super) fn typographic_call(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let kinds: Vec<Pairs> =
        KINDS.iter().copied().filter(|pairs| applies_to(draft, pairs, |_| true)).collect();
    let pairs = *rng.pick(&kinds)?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| apply(line, pairs));
    }
    Some(())
}

/// No-break spaces in the file's context.
pub(super) fn nbsp_in_file(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let places: Vec<usize> = draft
        .positions(DraftLine::is_context_text)
        .into_iter()
        .filter(|&at| draft.lines[at].file.as_deref().is_some_and(|line| line.trim().contains(' ')))
        .collect();
    let at = *rng.pick(&places)?;
    draft.lines[at].change_in_file(|line| replace_inner_spaces(line, "\u{a0}"));
    Some(())
}

/// No-break spaces in what the model copies.
pub(super) fn nbsp_in_call(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    ascii(draft)?;
    applies_to(draft, &[(" ", "")], |draft_line| {
        draft_line.file.as_deref().is_some_and(|l| l.trim().contains(' '))
    })
    .then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| replace_inner_spaces(line, "\u{a0}"));
    }
    Some(())
}

fn replace_inner_spaces(line: &str, with: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", &line[..indent], line[indent..].replace(' ', with))
}

const INVISIBLE: &[&str] = &["\u{200b}", "\u{feff}", "\u{200d}", "\u{2060}"];

fn insert_inside(line: &str, mark: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let middle = indent + (line.len() - indent) / 2;
    let at = (0..=middle).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    format!("{}{mark}{}", &line[..at], &line[at..])
}

/// An invisible character in one context line of the file.
pub(super) fn invisible_in_file(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let at = *rng.pick(&draft.positions(DraftLine::is_context_text))?;
    let mark = rng.pick(INVISIBLE)?;
    draft.lines[at].change_in_file(|line| insert_inside(line, mark));
    Some(())
}

/// An invisible character in one copied line, in both strings where both have it.
pub(super) fn invisible_in_call(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let all = draft.positions(|draft_line| {
        draft_line.old.as_ref().is_some_and(|line| !line.trim().is_empty())
    });
    let at = *rng.pick(&all)?;
    let mark = rng.pick(INVISIBLE)?;
    draft.lines[at].change_in_call(|line| insert_inside(line, mark));
    Some(())
}

fn accent(draft: &mut EditDraft<'_>, file: &'static str, said: &'static str) -> Option<()> {
    ascii(draft)?;
    applies_to(draft, &[("e", "")], DraftLine::is_context_text).then_some(())?;
    for draft_line in &mut draft.lines {
        if draft_line.role == LineRole::Context {
            draft_line.change_in_file(|line| line.replacen('e', file, 2));
            draft_line.change_in_call(|line| line.replacen('e', said, 2));
        }
    }
    Some(())
}

/// Composed letters in the file, decomposed ones in the call.
pub(super) fn nfd_in_call(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    accent(draft, "\u{e9}", "e\u{301}")
}

/// Decomposed letters in the file, composed ones in the call.
pub(super) fn nfc_in_call(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    accent(draft, "e\u{301}", "\u{e9}")
}

/// Full-width punctuation in the file's context.
pub(super) fn fullwidth_in_file(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    ascii(draft)?;
    in_file(draft, WIDE)
}
