//! Readings: the texts of a call with one kind of mistake, which affects the whole text, undone. A
//! reading applies only if `old_str` shows the mistake. Every form that `new_str` may then have is
//! weighed; those that are about as likely are readings of their own, and the outcomes decide.

mod entities;
mod forms;
mod line_numbers;
mod wrappers;

use std::collections::HashSet;

pub(super) use forms::{Form, Seen, Signs};
use forms::{keep_shared, shared, weigh_forms};
use line_numbers::lone_line_number;
pub(crate) use line_numbers::{NumberStyle, parse_line_number};
pub(crate) use wrappers::diff_side;
pub(super) use wrappers::{StrayMark, is_diff_with_context, is_fence};

use super::costs::{CONTRADICTED, Difference};
use super::escapes::{self, Escapes};
use super::fold::is_word_char;

/// Undoes a mistake in `new_str`, in each way that may be meant.
type UndoNew<'a> = Box<dyn Fn(&str) -> Vec<Form> + 'a>;

/// A call with a mistake undone.
pub(super) struct Undone<'a> {
    /// `old_str` without the mistake.
    pub(super) text: String,
    pub(super) undo_new: UndoNew<'a>,
}

/// Undoes a mistake in the strings of a call; `None` if they do not show it.
type Undo = for<'a> fn(&'a str, &'a str) -> Option<Undone<'a>>;

use Difference as D;

/// The mistakes that affect a whole text, in the order in which they are tried, and what each way to undo
/// one costs more than the usual one.
const MISTAKES: &[(Difference, f64, Undo)] = &[
    (D::Unescape, 0.0, |old, _| Escapes::ALL.undo(old)),
    (D::Unescape, 0.0, |old, _| Escapes::QUOTES.undo(old)),
    (D::Unescape, 0.0, |old, _| Escapes::BREAKS.undo(old)),
    (D::Unescape, 0.0, |old, _| Escapes::QUOTES_AND_BREAKS.undo(old)),
    (D::Unescape, 0.0, |old, new| wrappers::undo_written_tabs(old, new, "\\s")),
    (D::Unescape, 0.0, |old, new| wrappers::undo_written_tabs(old, new, "\\")),
    (D::LineNumbers, 0.0, |old, _| line_numbers::undo(old, true)),
    // Where a space follows every number, it is the view's.
    (D::LineNumbers, 1.0, |old, _| line_numbers::undo(old, false)),
    (D::DiffMarkers, 0.0, wrappers::undo_diff_markers),
    (D::DiffMarkers, 0.0, |old, new| wrappers::undo_stray_mark(old, new, true)),
    (D::DiffMarkers, 0.0, |old, new| wrappers::undo_stray_mark(old, new, false)),
    (D::CodeFence, 0.0, wrappers::undo_fence),
    (D::HtmlEntities, 0.0, entities::undo),
    (D::OuterBlankLines, 0.0, wrappers::undo_outer_blank_lines),
];

/// The most mistakes that one call may have: calls with two occur in practice.
const MAX_COMBINED_MISTAKES: usize = 2;

/// A call with some mistakes undone.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) mistakes: Vec<Difference>,
    /// Whether `old` must match whole lines of the file.
    pub(super) whole_lines: bool,
    /// The number of the first line, if line numbers were copied.
    pub(super) first_line: Option<usize>,
    /// The mark of all lines that is no part of them.
    pub(super) stray_mark: Option<StrayMark>,
    /// Whether that number may belong to the text, so that the text must be at that line.
    pub(super) numbers_must_agree: bool,
    /// What it costs more than its mistakes.
    pub(super) surcharge: f64,
    /// Whether nothing shows that `new` is meant like this.
    pub(super) is_guess: bool,
    /// Whether it is the reverse of a call that may have been applied: what it changes must stand there as
    /// it is.
    pub(super) is_reverse: bool,
    /// How it takes `new`, if there are several ways.
    pub(super) how: Option<&'static str>,
}

impl Reading {
    /// The call that takes this one back.
    pub(super) fn reversed(&self) -> Self {
        Self {
            old: self.new.clone(),
            new: self.old.clone(),
            whole_lines: false,
            first_line: None,
            numbers_must_agree: false,
            is_reverse: true,
            ..self.clone()
        }
    }
}

/// A reading, but for what it makes of `new`: the forms that may be meant, the likeliest first.
#[derive(Debug, Clone)]
struct Draft {
    reading: Reading,
    forms: Vec<Form>,
}

impl Draft {
    /// The draft with another mistake undone, if it shows that.
    fn undo(&self, &(mistake, surcharge, undo): &(Difference, f64, Undo)) -> Option<Self> {
        if self.reading.mistakes.contains(&mistake) {
            return None;
        }
        let sent = &self.reading.old;
        let Undone { text: old, undo_new } = undo(sent, &self.forms[0].text)?;
        if old.trim().is_empty() {
            return None;
        }
        let undo_form = |form: &Form| {
            let [is_spoiled, is_right] = shared(sent, &old, &form.text);
            let undone = undo_new(&form.text);
            if is_right && !is_spoiled {
                // A line that stays shows what backslashes there are.
                let shows = |line: &str| line.contains('\\') && old.contains(line.trim());
                let is_guess =
                    undone.iter().any(|form| form.is_guess) && !form.text.lines().any(shows);
                return vec![Form { is_guess, ..form.clone() }];
            }
            let add = |more: Form| Form {
                text: keep_shared(sent, &old, &form.text, &more.text),
                price: form.price
                    + more.price
                    + if is_spoiled && more.text == form.text { CONTRADICTED } else { 0.0 },
                is_guess: form.is_guess || more.is_guess,
            };
            undone.into_iter().map(add).collect()
        };
        let forms = weigh_forms(&old, self.forms.iter().flat_map(undo_form).collect());
        let mut reading = Reading { old, ..self.reading.clone() };
        reading.mistakes.push(mistake);
        reading.surcharge += surcharge;
        // All mistakes but these spoil whole lines.
        reading.whole_lines |= !matches!(mistake, D::Unescape | D::HtmlEntities);
        if mistake == D::DiffMarkers {
            let mark = StrayMark::of(sent, &self.forms[0].text);
            reading.stray_mark = mark.filter(|mark| mark.is_undone(sent, &reading.old));
        }
        if mistake == D::LineNumbers {
            reading.first_line = sent.lines().next().and_then(parse_line_number).map(|n| n.1);
        }
        Some(Self { reading, forms })
    }
}

/// All readings of a call: as it is, then with one mistake undone, then with two.
pub(super) fn readings(sent: &str, new: &str) -> Vec<Reading> {
    let plain = Reading { old: sent.to_owned(), ..Reading::default() };
    let draft = |reading, new| Draft { reading, forms: vec![Form::usual(new)] };
    let mut out = vec![draft(plain.clone(), new.to_owned())];
    for (mistake, text) in only_in_new(sent, new) {
        out.push(draft(Reading { mistakes: vec![mistake], ..plain.clone() }, text));
        out[0].reading.surcharge = mistake.cost();
    }
    let is_spoiled = out.len() > 1;
    let mut from = 0;
    for _ in 0..MAX_COMBINED_MISTAKES {
        let to = out.len();
        for at in from..to {
            let is_only_new = out[at].reading.old == sent && !out[at].reading.mistakes.is_empty();
            for mistake in MISTAKES {
                let Some(draft) = out[at].undo(mistake) else { continue };
                let is_same = |seen: &Draft| {
                    seen.reading.old == draft.reading.old
                        && (!is_only_new || seen.forms == draft.forms)
                };
                if !out.iter().any(is_same) {
                    out.push(draft);
                }
            }
        }
        from = to;
    }
    // The reading without a rewrite would write the markers of the diff into the file.
    if is_diff_with_context(sent, new) {
        out.remove(0);
    }
    let is_lone_number = lone_line_number(sent).is_some();
    let mut readings = Vec::new();
    for Draft { reading, forms } in out {
        let has_ways = forms.len() > 1 || is_spoiled;
        let numbers_must_agree = is_lone_number && reading.mistakes.contains(&D::LineNumbers);
        readings.extend(forms.into_iter().map(|form| Reading {
            how: has_ways.then_some(match form.text == new {
                true => "the new text as it was sent",
                false => "the new text with the same mistake undone",
            }),
            new: form.text,
            surcharge: reading.surcharge + form.price,
            is_guess: form.is_guess,
            numbers_must_agree,
            ..reading.clone()
        }));
    }
    readings
}

/// Both strings of a call under each reading with a mistake undone.
pub(crate) fn spoiled_readings(old: &str, new: &str) -> impl Iterator<Item = (String, String)> {
    let readings = readings(old, new).into_iter().filter(|reading| !reading.mistakes.is_empty());
    readings.map(|reading| (reading.old, reading.new))
}

/// The forms of `new` with a mistake undone that `old` does not have.
fn only_in_new(old: &str, new: &str) -> Vec<(Difference, String)> {
    let escapes = escapes::undo_in_new_only(old, new).into_iter();
    let numbers =
        line_numbers::undo(new, false).filter(|_| line_numbers::undo(old, false).is_none());
    escapes
        .map(|text| (D::Unescape, text))
        .chain(numbers.map(|undone| (D::LineNumbers, undone.text)))
        .chain(wrappers::unmarked_new(old, new).map(|text| (D::DiffMarkers, text)))
        .chain(spoiled_alone(old, new))
        .collect()
}

/// `new` without a mistake that `old` does not have, where it then has lines of `old` that it lacks as sent.
fn spoiled_alone(old: &str, new: &str) -> Option<(Difference, String)> {
    let kept = |text: &str| {
        let lines: HashSet<&str> = text.lines().map(str::trim_end).collect();
        let old = old.lines().map(str::trim_end);
        old.filter(|line| line.contains(is_word_char) && lines.contains(line)).count()
    };
    let as_sent = kept(new);
    let shown = MISTAKES.iter().filter(|(.., undo)| undo(old, new).is_some());
    // A mark before every line may be what the call adds: it comments lines out, or makes them a list.
    let shown: Vec<Difference> =
        shown.map(|(mistake, ..)| *mistake).chain([D::DiffMarkers]).collect();
    let undone = MISTAKES.iter().filter(|(mistake, ..)| !shown.contains(mistake));
    let mut undone = undone.filter_map(|(mistake, _, undo)| {
        let form = (undo(new, new)?.undo_new)(new).into_iter().next()?;
        Some((*mistake, form.text))
    });
    undone.find(|(_, text)| kept(text) > as_sent)
}

/// How many spaces a line begins with.
fn depth(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
