//! Readings: the texts of a call with one kind of mistake, which affects the whole text, undone. A
//! reading applies only if `old_str` shows the mistake. `new_str` is rewritten in the same way if it
//! shows the mistake too; if that is unclear, both its forms are kept and the outcomes decide.

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
    /// The rung of a call that matches once this mistake is undone.
    fn rung(&self) -> Rung;
    /// Whether the text consists of whole lines once the mistake is undone.
    fn whole_lines(&self) -> bool {
        true
    }
    /// `old` with the mistake undone, and a function that does the same for `new_str`, of which there
    /// may be two forms by then. `None` if `old` and `new` do not show the mistake.
    fn undo(&self, old: &str, new: &str) -> Option<(String, UndoNew)>;
}

/// A function that undoes a mistake in `new_str`.
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
    /// The one or two texts that may be meant.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Known(text) => (text, None),
            Self::Either(undone, sent) => (undone, Some(sent.as_str())),
        };
        std::iter::once(first.as_str()).chain(second)
    }
}

/// The mistakes, in the order in which they are tried.
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

/// The most mistakes that one call may have: calls with two occur in practice.
const MAX_COMBINED_MISTAKES: usize = 2;

/// A call with some mistakes undone.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) old: String,
    pub(super) new: NewText,
    pub(super) rewrites: Vec<Rewrite>,
    /// The rung of the call if the file has `old` character for character.
    pub(super) rung: Rung,
    /// Whether `old` must match whole lines of the file.
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
            let base = out[at].clone();
            for mistake in MISTAKES {
                if base.rewrites.contains(&mistake.rewrite()) {
                    continue;
                }
                let new = base.new.texts().next().unwrap_or_default();
                let Some((old, undo)) = mistake.undo(&base.old, new) else { continue };
                if old.trim().is_empty() || out.iter().any(|seen| seen.old == old) {
                    continue;
                }
                let new = match &base.new {
                    NewText::Known(new) => decide_by_shared_lines(&base.old, &old, new, undo(new)),
                    NewText::Either(undone, sent) => NewText::Either(
                        undo(undone).texts().next().unwrap_or(undone).to_owned(),
                        undo(sent).texts().next().unwrap_or(sent).to_owned(),
                    ),
                };
                let mut rewrites = base.rewrites.clone();
                rewrites.push(mistake.rewrite());
                let whole_lines = base.whole_lines || mistake.whole_lines();
                out.push(Reading { old, new, rewrites, rung: mistake.rung(), whole_lines });
            }
        }
        from = to;
    }
    // The reading without a rewrite would write the markers of the diff into the file.
    if wrappers::is_diff_with_context(old, new) {
        out.remove(0);
    }
    out
}

/// What `new` means, decided by the lines that it shares with `old` if all of them agree. A line that
/// only `old` as sent has shows that `new` has the mistake; a line that only `old_undone` has shows
/// that it does not. `new_undone` is the answer if the lines do not decide.
fn decide_by_shared_lines(old: &str, old_undone: &str, new: &str, new_undone: NewText) -> NewText {
    let word_lines = |text: &str| -> std::collections::HashSet<String> {
        let lines = text.lines().filter(|line| line.contains(char::is_alphanumeric));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let (sent, undone) = (word_lines(old), word_lines(old_undone));
    let new_lines = word_lines(new);
    let has_mistake = new_lines.iter().any(|line| sent.contains(line) && !undone.contains(line));
    let has_correct_line =
        new_lines.iter().any(|line| undone.contains(line) && !sent.contains(line));
    match (new_undone, has_mistake, has_correct_line) {
        (_, false, true) => NewText::Known(new.to_owned()),
        (NewText::Either(text, _), true, false) => NewText::Known(text),
        (new_undone, ..) => new_undone,
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
