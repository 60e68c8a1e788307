//! Characters that look alike. In the file they are part of the context, which stays; in
//! the call they are in both strings, and the file's plain ones are right.

use super::super::rng::Rng;
use super::{Cell, Draft, Kind};

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

fn ascii(draft: &Draft<'_>) -> Option<()> {
    let texts = |cell: &Cell| {
        [cell.file.clone(), cell.after.clone()].into_iter().flatten().all(|l| l.is_ascii())
    };
    draft.cells.iter().all(texts).then_some(())
}

fn shown(draft: &Draft<'_>, pairs: Pairs, test: impl Fn(&Cell) -> bool) -> bool {
    draft.cells.iter().any(|cell| {
        test(cell)
            && cell
                .file
                .as_deref()
                .is_some_and(|line| pairs.iter().any(|(from, _)| line.contains(from)))
    })
}

fn in_file(draft: &mut Draft<'_>, pairs: Pairs) -> Option<()> {
    shown(draft, pairs, Cell::is_kept_text).then_some(())?;
    for cell in &mut draft.cells {
        if cell.kind == Kind::Keep {
            cell.hold(|line| apply(line, pairs));
        }
    }
    Some(())
}

/// The file has typographic characters in context lines, the model types plain ones.
pub(super) fn typographic_file(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let kinds: Vec<Pairs> =
        KINDS.iter().copied().filter(|pairs| shown(draft, pairs, Cell::is_kept_text)).collect();
    in_file(draft, rng.pick(&kinds)?)
}

/// The file has them in the changed line too, left and right of the change.
pub(super) fn typographic_change(draft: &mut Draft<'_>, _: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let only = |draft: &Draft<'_>, kind| match draft.which(|cell| cell.kind == kind)[..] {
        [at] => Some(at),
        _ => None,
    };
    let (drop, add) = (only(draft, Kind::Drop)?, only(draft, Kind::Add)?);
    let (old, new) = (draft.cells[drop].file.clone()?, draft.cells[add].after.clone()?);
    let same = |a: u8, b: u8| a == b;
    let word = |text: &str, at: usize| {
        text.as_bytes().get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    };
    let mut head = old.bytes().zip(new.bytes()).take_while(|&(a, b)| same(a, b)).count();
    let most = old.len().min(new.len()) - head;
    let mut tail = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take(most)
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
    let dressed = |text: &str| {
        // Opening quotes depend on the text before them, so the whole line is changed at once.
        let line = apply(text, pairs);
        (line.chars().count() == text.len()).then_some(line)
    };
    let (file, after) = (dressed(&old)?, dressed(&new)?);
    // What the edit keeps of the line must look the same on both sides of it.
    let kept = |line: &str| {
        let chars: Vec<char> = line.chars().collect();
        (chars[..head].to_vec(), chars[chars.len() - tail..].to_vec())
    };
    (kept(&file) == kept(&after)).then_some(())?;
    draft.cells[drop].file = Some(file);
    draft.cells[add].after = Some(after);
    Some(())
}

/// The model types typographic characters, the file is plain.
pub(super) fn typographic_call(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let kinds: Vec<Pairs> =
        KINDS.iter().copied().filter(|pairs| shown(draft, pairs, |_| true)).collect();
    let pairs = *rng.pick(&kinds)?;
    for cell in &mut draft.cells {
        cell.say(|line| apply(line, pairs));
    }
    Some(())
}

/// No-break spaces in the file's context.
pub(super) fn nbsp_in_file(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let places: Vec<usize> = draft
        .which(Cell::is_kept_text)
        .into_iter()
        .filter(|&at| draft.cells[at].file.as_deref().is_some_and(|line| line.trim().contains(' ')))
        .collect();
    let at = *rng.pick(&places)?;
    draft.cells[at].hold(|line| inner_blanks(line, "\u{a0}"));
    Some(())
}

/// No-break spaces in what the model copies.
pub(super) fn nbsp_in_call(draft: &mut Draft<'_>, _: &mut Rng) -> Option<()> {
    ascii(draft)?;
    shown(draft, &[(" ", "")], |cell| cell.file.as_deref().is_some_and(|l| l.trim().contains(' ')))
        .then_some(())?;
    for cell in &mut draft.cells {
        cell.say(|line| inner_blanks(line, "\u{a0}"));
    }
    Some(())
}

fn inner_blanks(line: &str, with: &str) -> String {
    let lead = line.len() - line.trim_start().len();
    format!("{}{}", &line[..lead], line[lead..].replace(' ', with))
}

const INVISIBLE: &[&str] = &["\u{200b}", "\u{feff}", "\u{200d}", "\u{2060}"];

fn insert_inside(line: &str, mark: &str) -> String {
    let lead = line.len() - line.trim_start().len();
    let middle = lead + (line.len() - lead) / 2;
    let at = (0..=middle).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    format!("{}{mark}{}", &line[..at], &line[at..])
}

/// An invisible character in one context line of the file.
pub(super) fn invisible_in_file(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let at = *rng.pick(&draft.which(Cell::is_kept_text))?;
    let mark = rng.pick(INVISIBLE)?;
    draft.cells[at].hold(|line| insert_inside(line, mark));
    Some(())
}

/// An invisible character in one copied line, in both strings where both have it.
pub(super) fn invisible_in_call(draft: &mut Draft<'_>, rng: &mut Rng) -> Option<()> {
    ascii(draft)?;
    let all = draft.which(|cell| cell.old.as_ref().is_some_and(|line| !line.trim().is_empty()));
    let at = *rng.pick(&all)?;
    let mark = rng.pick(INVISIBLE)?;
    draft.cells[at].say(|line| insert_inside(line, mark));
    Some(())
}

fn accent(draft: &mut Draft<'_>, file: &'static str, said: &'static str) -> Option<()> {
    ascii(draft)?;
    shown(draft, &[("e", "")], Cell::is_kept_text).then_some(())?;
    for cell in &mut draft.cells {
        if cell.kind == Kind::Keep {
            cell.hold(|line| line.replacen('e', file, 2));
            cell.say(|line| line.replacen('e', said, 2));
        }
    }
    Some(())
}

/// Composed letters in the file, decomposed ones in the call.
pub(super) fn nfd_in_call(draft: &mut Draft<'_>, _: &mut Rng) -> Option<()> {
    accent(draft, "\u{e9}", "e\u{301}")
}

/// Decomposed letters in the file, composed ones in the call.
pub(super) fn nfc_in_call(draft: &mut Draft<'_>, _: &mut Rng) -> Option<()> {
    accent(draft, "e\u{301}", "\u{e9}")
}

/// Full-width punctuation in the file's context.
pub(super) fn fullwidth_in_file(draft: &mut Draft<'_>, _: &mut Rng) -> Option<()> {
    ascii(draft)?;
    in_file(draft, WIDE)
}
