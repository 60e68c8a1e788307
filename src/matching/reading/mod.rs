//! Readings: the texts of a call with one kind of mistake, which affects the whole text, undone. A
//! reading applies only if `old_str` shows the mistake. Every form that `new_str` may then have is
//! weighed; those that are about as likely are readings of their own, and the outcomes decide.

mod entities;
mod forms;
mod line_numbers;
mod wrappers;

pub(super) use forms::{Form, Signs, own_lines};
use forms::{keep_shared, shared, weigh_forms};
use line_numbers::lone_line_number;
pub(crate) use line_numbers::{NumberStyle, parse_line_number};
pub(crate) use wrappers::diff_side;
pub(super) use wrappers::{is_diff_with_context, is_fence};

use super::costs::{Difference, LEFT};
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
    /// may be several forms by then. `None` if `old` and `new` do not show the mistake.
    fn undo(&self, old: &str, new: &str) -> Option<(String, UndoNew)>;
}

/// A function that undoes a mistake in `new_str`, in each way that may be meant.
pub(super) type UndoNew = Box<dyn Fn(&str) -> Vec<Form>>;

/// The mistakes, in the order in which they are tried.
const MISTAKES: &[&dyn Mistake] = &[
    &Escapes::ALL,
    &Escapes::QUOTES,
    &Escapes::BREAKS,
    &Escapes::QUOTES_AND_BREAKS,
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
    /// What it costs more than its mistakes.
    pub(super) surcharge: f64,
    /// Whether nothing shows that `new` is meant like this.
    pub(super) is_guess: bool,
    /// How it takes `new`, if there are several ways.
    pub(super) how: Option<&'static str>,
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
    /// The forms that may be meant, the likeliest first.
    new: Vec<Form>,
    mistakes: Vec<Difference>,
    whole_lines: bool,
    first_line: Option<usize>,
    surcharge: f64,
}

/// All readings of a call: as it is, then with one mistake undone, then with two.
pub(super) fn readings(sent: &str, new: &str) -> Vec<Reading> {
    let mut out = vec![Draft {
        old: sent.to_owned(),
        new: vec![Form::usual(new.to_owned())],
        mistakes: Vec::new(),
        whole_lines: false,
        first_line: None,
        surcharge: 0.0,
    }];
    for (mistake, text) in only_in_new(sent, new) {
        let (new, mistakes) = (vec![Form::usual(text)], vec![mistake]);
        out.push(Draft { new, mistakes, surcharge: 0.0, ..out[0].clone() });
        out[0].surcharge = mistake.cost();
    }
    let is_spoiled = out.len() > 1;
    let mut from = 0;
    for _ in 0..MAX_COMBINED_MISTAKES {
        let to = out.len();
        for at in from..to {
            let base = out[at].clone();
            for mistake in MISTAKES {
                if base.mistakes.contains(&mistake.difference()) {
                    continue;
                }
                let Some((old, undo)) = mistake.undo(&base.old, &base.new[0].text) else {
                    continue;
                };
                if old.trim().is_empty() {
                    continue;
                }
                let undo_form = |form: &Form| {
                    let [is_spoiled, is_right] = shared(&base.old, &old, &form.text);
                    if is_right && !is_spoiled {
                        let is_guess = undo(&form.text).iter().any(|form| form.is_guess);
                        return vec![Form { is_guess, ..form.clone() }];
                    }
                    let add = |more: Form| {
                        let left = if is_spoiled && more.text == form.text { LEFT } else { 0.0 };
                        Form {
                            text: keep_shared(&base.old, &old, &form.text, &more.text),
                            price: form.price + more.price + left,
                            is_guess: form.is_guess || more.is_guess,
                        }
                    };
                    undo(&form.text).into_iter().map(add).collect()
                };
                let new = weigh_forms(&old, base.new.iter().flat_map(undo_form).collect());
                let is_only_new = base.old == sent && !base.mistakes.is_empty();
                let is_same = |seen: &Draft| seen.old == old && (!is_only_new || seen.new == new);
                if out.iter().any(is_same) {
                    continue;
                }
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
                out.push(Draft { old, new, mistakes, whole_lines, first_line, surcharge });
            }
        }
        from = to;
    }
    // The reading without a rewrite would write the markers of the diff into the file.
    if wrappers::is_diff_with_context(sent, new) {
        out.remove(0);
    }
    out.into_iter().flat_map(|draft| draft.into_readings(sent, new, is_spoiled)).collect()
}

/// Both strings of a call under each reading with a mistake undone.
pub(crate) fn spoiled_readings(old: &str, new: &str) -> impl Iterator<Item = (String, String)> {
    let readings = readings(old, new).into_iter().filter(|reading| !reading.mistakes.is_empty());
    readings.map(|reading| (reading.old, reading.new))
}

impl Draft {
    /// One reading for each form of `new`; `old_sent` and `new_sent` are the strings of the call.
    fn into_readings(self, old_sent: &str, new_sent: &str, is_spoiled: bool) -> Vec<Reading> {
        let has_ways = self.new.len() > 1 || is_spoiled;
        let numbers_must_agree = self.mistakes.contains(&Difference::LineNumbers)
            && lone_line_number(old_sent).is_some();
        let reading = |form: Form| Reading {
            old: self.old.clone(),
            how: has_ways.then_some(match form.text == new_sent {
                true => "the new text as it was sent",
                false => "the new text with the same mistake undone",
            }),
            new: form.text,
            mistakes: self.mistakes.clone(),
            whole_lines: self.whole_lines,
            first_line: self.first_line,
            numbers_must_agree,
            surcharge: self.surcharge + form.price,
            is_guess: form.is_guess,
        };
        self.new.into_iter().map(reading).collect()
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
