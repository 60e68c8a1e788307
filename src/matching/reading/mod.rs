//! Readings: what the call's text could have been before a mistake was made to the whole of it.
//! A reading applies only if `old_str` shows the mistake. `new_str` is rewritten in the same way if
//! it shows the mistake too; if that is unclear, both texts are kept and the outcomes decide.

mod entities;
mod escapes;
mod line_numbers;
mod wrappers;

pub(crate) use escapes::{unescape_all, unescape_quotes};
pub(super) use line_numbers::lone_line_number;
pub(crate) use line_numbers::{NumberStyle, parse_line_number};
pub(crate) use wrappers::diff_side;
pub(super) use wrappers::{is_diff_with_context, is_fence};

use crate::edit::{Rewrite, Rung};

/// A mistake that affects a whole text.
pub(super) trait Mistake: Sync {
    /// The rewrite that undoes it.
    fn rewrite(&self) -> Rewrite;
    /// The rung of a call that this mistake alone explains.
    fn rung(&self) -> Rung;
    /// Whether the text consists of whole lines once the mistake is undone.
    fn whole_lines(&self) -> bool {
        true
    }
    /// If the call shows the mistake: the text that was meant, and the function that undoes the
    /// mistake in `new`.
    fn undo(&self, old: &str, new: &str) -> Option<(String, UndoNew)>;
}

/// Undoes the same mistake in `new_str`.
pub(super) type UndoNew = Box<dyn Fn(&str) -> NewText>;

/// `new_str` under a reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NewText {
    /// The text that is meant.
    Known(String),
    /// The text with the mistake undone, and as it was sent; either may be meant.
    Either(String, String),
}

impl NewText {
    /// The texts it may mean.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Known(text) => (text, None),
            Self::Either(undone, sent) => (undone, Some(sent.as_str())),
        };
        std::iter::once(first.as_str()).chain(second)
    }
}

/// In the order in which they are tried.
const MISTAKES: &[&dyn Mistake] = &[
    &escapes::Escapes::All,
    &escapes::Escapes::Quotes,
    &escapes::Escapes::Breaks,
    &escapes::Escapes::QuotesAndBreaks,
    &line_numbers::LineNumbers::Padded,
    &line_numbers::LineNumbers::Bare,
    &wrappers::DiffMarkers,
    &wrappers::CodeFence,
    &entities::HtmlEntities,
    &wrappers::OuterBlankLines,
];

/// How many mistakes may come together. Two are seen in practice.
const MAX_COMBINED_MISTAKES: usize = 2;

/// A call with some mistakes undone.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) old: String,
    pub(super) new: NewText,
    pub(super) rewrites: Vec<Rewrite>,
    /// The rung, where the text then occurs in the file character for character.
    pub(super) rung: Rung,
    pub(super) whole_lines: bool,
}

/// All readings of a call: as it is, then with one mistake undone, then with two.
pub(super) fn readings(old: &str, new: &str) -> Vec<Reading> {
    let plain = Reading {
        old: old.to_owned(),
        new: NewText::Known(new.to_owned()),
        rewrites: Vec::new(),
        rung: Rung::LineEndings,
        whole_lines: false,
    };
    let mut out = vec![plain];
    let mut from = 0;
    for _ in 0..MAX_COMBINED_MISTAKES {
        let to = out.len();
        for at in from..to {
            for mistake in MISTAKES {
                if out[at].rewrites.contains(&mistake.rewrite()) {
                    continue;
                }
                let new = out[at].new.texts().next().unwrap_or_default();
                let Some((old, undo)) = mistake.undo(&out[at].old, new) else { continue };
                if old.trim().is_empty() || out.iter().any(|seen| seen.old == old) {
                    continue;
                }
                let new = match &out[at].new {
                    NewText::Known(new) => {
                        decide_by_shared_lines(&out[at].old, &old, new, undo(new))
                    }
                    NewText::Either(undone, sent) => NewText::Either(
                        undo(undone).texts().next().unwrap_or(undone).to_owned(),
                        undo(sent).texts().next().unwrap_or(sent).to_owned(),
                    ),
                };
                let mut rewrites = out[at].rewrites.clone();
                rewrites.push(mistake.rewrite());
                let whole_lines = out[at].whole_lines || mistake.whole_lines();
                out.push(Reading { old, new, rewrites, rung: mistake.rung(), whole_lines });
            }
        }
        from = to;
    }
    // As sent, the markers of the diff would be written into the file.
    if wrappers::is_diff_with_context(old, new) {
        out.remove(0);
    }
    out
}

/// Decides by the lines that both strings share whether `new` has the mistake, if they all agree:
/// each is equal either to a line of `old` as sent, or to one of what `old` meant.
fn decide_by_shared_lines(old: &str, meant: &str, new: &str, undone: NewText) -> NewText {
    let lines = |text: &str| -> std::collections::HashSet<String> {
        let worded = text.lines().filter(|line| line.contains(char::is_alphanumeric));
        worded.map(|line| line.trim().to_owned()).collect()
    };
    let (old, meant, new_lines) = (lines(old), lines(meant), lines(new));
    let mistaken = new_lines.iter().any(|line| old.contains(line) && !meant.contains(line));
    let right = new_lines.iter().any(|line| meant.contains(line) && !old.contains(line));
    match (undone, mistaken, right) {
        (_, false, true) => NewText::Known(new.to_owned()),
        (NewText::Either(undone, _), true, false) => NewText::Known(undone),
        (undone, ..) => undone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first reading with only this rewrite.
    pub(super) fn read(rewrite: Rewrite, old: &str, new: &str) -> Option<(String, NewText)> {
        let all = readings(old, new);
        let found = all.into_iter().find(|reading| reading.rewrites == [rewrite])?;
        Some((found.old, found.new))
    }

    #[test]
    fn two_mistakes_compose() {
        let all = readings("1|a \\\"b\\\"\n2|c", "1|a \\\"d\\\"\n2|c");
        let both = all.iter().find(|reading| reading.old == "a \"b\"\nc").expect("read");
        assert_eq!(both.new, NewText::Known("a \"d\"\nc".into()));
        assert_eq!(both.rewrites, [Rewrite::Unescape, Rewrite::LineNumbers]);
    }

    #[test]
    fn a_text_without_a_mistake_has_one_reading() {
        assert_eq!(readings("let a = 1;\nlet b = 2;", "let a = 3;").len(), 1);
    }
}
