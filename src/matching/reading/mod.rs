//! Readings: the texts of a call with one kind of mistake, which affects the whole text, undone. A
//! reading applies only if `old_str` shows the mistake. `new_str` is rewritten in the same way if it
//! shows the mistake too; if that is unclear, both its forms are kept and the outcomes decide.

mod entities;
mod line_numbers;
mod wrappers;

use line_numbers::lone_line_number;
pub(crate) use line_numbers::{NumberStyle, parse_line_number};
pub(crate) use wrappers::diff_side;
pub(super) use wrappers::{is_diff_with_context, is_fence};

use super::costs::{Difference, NEW_AS_SENT};
use super::escapes::{self, Escapes};

/// A mistake that affects a whole text.
pub(super) trait Mistake: Sync {
    /// Its name in the table of costs.
    fn difference(&self) -> Difference;
    /// What this way to undo the mistake costs more than the usual one.
    fn surcharge(&self) -> f64 {
        0.0
    }
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
    /// The same, whatever lines it shares with `old_str`.
    Unclear(String, String),
}

impl NewText {
    /// Each text changed.
    fn keeping(self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Known(text) => Self::Known(change(&text)),
            Self::Either(undone, sent) => Self::Either(change(&undone), change(&sent)),
            Self::Unclear(undone, sent) => Self::Unclear(change(&undone), change(&sent)),
        }
    }

    /// The one or two texts that may be meant.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Known(text) => (text, None),
            Self::Either(undone, sent) | Self::Unclear(undone, sent) => {
                (undone, Some(sent.as_str()))
            }
        };
        std::iter::once(first.as_str()).chain(second)
    }
}

/// The mistakes, in the order in which they are tried.
const MISTAKES: &[&dyn Mistake] = &[
    &Escapes::All,
    &Escapes::Quotes,
    &Escapes::Breaks,
    &Escapes::QuotesAndBreaks,
    &line_numbers::LineNumbers::Padded,
    &line_numbers::LineNumbers::Bare,
    &wrappers::DiffMarkers,
    &wrappers::CodeFence,
    &entities::HtmlEntities,
    &wrappers::OuterBlankLines,
];

/// The mistakes that `new_str` may have alone.
const IN_NEW_ONLY: &[&dyn Mistake] = &[&line_numbers::LineNumbers::Bare];

/// The most mistakes that one call may have: calls with two occur in practice.
const MAX_COMBINED_MISTAKES: usize = 2;

/// A call with some mistakes undone.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) mistakes: Vec<Difference>,
    /// Whether `old` must match whole lines of the file.
    pub(super) whole_lines: bool,
    /// The number of the first line, if line numbers were copied.
    pub(super) first_line: Option<usize>,
    /// Whether that number may belong to the text, so that the text must be at that line.
    pub(super) numbers_must_agree: bool,
    /// Whether `new` shows the mistake but is taken as it was sent.
    pub(super) new_is_as_sent: bool,
    /// What it costs more than its mistakes.
    pub(super) surcharge: f64,
    /// Whether there is another reading of `new` for the same `old`.
    pub(super) has_two_texts: bool,
}

impl Reading {
    /// The call that takes this one back.
    pub(super) fn reversed(&self) -> Self {
        let (old, new) = (self.new.clone(), self.old.clone());
        Self {
            old,
            new,
            whole_lines: false,
            first_line: None,
            numbers_must_agree: false,
            ..self.clone()
        }
    }
}

/// A call with some mistakes undone in `old`, and what that may make of `new`.
#[derive(Debug, Clone)]
struct Draft {
    old: String,
    new: NewText,
    mistakes: Vec<Difference>,
    whole_lines: bool,
    first_line: Option<usize>,
    surcharge: f64,
    /// Whether `new` alone may have a mistake, and is taken as it was sent.
    may_be_spoiled: bool,
}

/// All readings of a call: as it is, then with one mistake undone, then with two.
pub(super) fn readings(sent: &str, new: &str) -> Vec<Reading> {
    let old = sent;
    let mut out = vec![Draft {
        old: old.to_owned(),
        new: NewText::Known(new.to_owned()),
        mistakes: Vec::new(),
        whole_lines: false,
        first_line: None,
        surcharge: 0.0,
        may_be_spoiled: false,
    }];
    for (mistake, text) in only_in_new(old, new) {
        let (new, mistakes) = (NewText::Known(text), vec![mistake]);
        out.push(Draft { new, mistakes, surcharge: 0.0, may_be_spoiled: false, ..out[0].clone() });
        (out[0].surcharge, out[0].may_be_spoiled) = (mistake.cost(), true);
    }
    let mut from = 0;
    for _ in 0..MAX_COMBINED_MISTAKES {
        let to = out.len();
        for at in from..to {
            let base = out[at].clone();
            for mistake in MISTAKES {
                if base.mistakes.contains(&mistake.difference()) {
                    continue;
                }
                let base_new = base.new.texts().next().unwrap_or_default();
                let Some((old, undo)) = mistake.undo(&base.old, base_new) else { continue };
                if old.trim().is_empty() {
                    continue;
                }
                let new = match &base.new {
                    NewText::Known(new) => decide_by_shared_lines(&base.old, &old, new, undo(new)),
                    NewText::Either(undone, sent) | NewText::Unclear(undone, sent) => {
                        NewText::Either(
                            undo(undone).texts().next().unwrap_or(undone).to_owned(),
                            undo(sent).texts().next().unwrap_or(sent).to_owned(),
                        )
                    }
                };
                let is_only_new = base.old == sent && !base.mistakes.is_empty();
                let is_same = |seen: &Draft| seen.old == old && (!is_only_new || seen.new == new);
                if out.iter().any(is_same) {
                    continue;
                }
                let new = new.keeping(|text| keep_shared(&base.old, &old, base_new, text));
                let mut mistakes = base.mistakes.clone();
                mistakes.push(mistake.difference());
                let first_line = match mistake.difference() {
                    Difference::LineNumbers => {
                        base.old.lines().next().and_then(parse_line_number).map(|(_, n, _)| n)
                    }
                    _ => base.first_line,
                };
                let whole_lines = base.whole_lines || mistake.whole_lines();
                let surcharge = base.surcharge + mistake.surcharge();
                let may_be_spoiled = base.may_be_spoiled;
                out.push(Draft {
                    old,
                    new,
                    mistakes,
                    whole_lines,
                    first_line,
                    surcharge,
                    may_be_spoiled,
                });
            }
        }
        from = to;
    }
    // The reading without a rewrite would write the markers of the diff into the file.
    if wrappers::is_diff_with_context(old, new) {
        out.remove(0);
    }
    out.into_iter().flat_map(|draft| draft.into_readings(old)).collect()
}

/// Both strings of a call under each reading with a mistake undone.
pub(crate) fn spoiled_readings(old: &str, new: &str) -> impl Iterator<Item = (String, String)> {
    let readings = readings(old, new).into_iter().filter(|reading| !reading.mistakes.is_empty());
    readings.map(|reading| (reading.old, reading.new))
}

impl Draft {
    /// One reading for each text that `new` may be.
    fn into_readings(self, sent: &str) -> Vec<Reading> {
        let texts: Vec<String> = self.new.texts().map(str::to_owned).collect();
        let has_two_texts = texts.len() > 1 || self.may_be_spoiled;
        let numbers_must_agree =
            self.mistakes.contains(&Difference::LineNumbers) && lone_line_number(sent).is_some();
        let reading = |(at, new): (usize, String)| Reading {
            old: self.old.clone(),
            new,
            mistakes: self.mistakes.clone(),
            whole_lines: self.whole_lines,
            first_line: self.first_line,
            numbers_must_agree,
            new_is_as_sent: at > 0 || self.may_be_spoiled,
            surcharge: self.surcharge + if at > 0 { NEW_AS_SENT } else { 0.0 },
            has_two_texts,
        };
        texts.into_iter().enumerate().map(reading).collect()
    }
}

/// The forms of `new` with a mistake undone that `old` does not have.
fn only_in_new(old: &str, new: &str) -> Vec<(Difference, String)> {
    let escapes = escapes::undo_in_new_only(old, new).into_iter();
    let mut out: Vec<_> = escapes.map(|text| (Difference::Unescape, text)).collect();
    for mistake in IN_NEW_ONLY.iter().filter(|mistake| mistake.undo(old, new).is_none()) {
        out.extend(mistake.undo(new, new).map(|(text, _)| (mistake.difference(), text)));
    }
    out.extend(wrappers::unmarked_new(old, new).map(|text| (Difference::DiffMarkers, text)));
    out
}

/// `text`, a form of `new`, in which the lines that `old` and `new` share are those of `old_undone`: the
/// call keeps them, whatever they mean.
fn keep_shared(old: &str, old_undone: &str, new: &str, text: &str) -> String {
    let lines = |text: &'_ str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let (old, undone, new, mut text_lines) =
        (lines(old), lines(old_undone), lines(new), lines(text));
    if old.len() != undone.len() || new.len() != text_lines.len() {
        return text.to_owned();
    }
    for (line, sent) in text_lines.iter_mut().zip(&new) {
        if let Some(at) = old.iter().position(|old| old == sent && !old.trim().is_empty()) {
            line.clone_from(&undone[at]);
        }
    }
    text_lines.join("\n")
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
