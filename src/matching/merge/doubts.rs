//! Mistakes of the call that a merge must not carry into the file, as nothing undid them.

use super::super::events::Event;
use super::super::style::{DOUBLE, SINGLE};
use super::super::window::Step;
use super::{Conflict, Line, Merge};

/// Signs that come into a text by mistake, what each stands for, and what to say where they
/// stay.
pub(in super::super) const FOREIGN: [(&[(&str, char)], &str); 6] = [
    (
        &[
            ("&lt;", '<'),
            ("&gt;", '>'),
            ("&quot;", '"'),
            ("&amp;", '&'),
            ("&#39;", '\''),
            ("&apos;", '\''),
        ],
        "new_str has HTML entities where the file has the plain signs",
    ),
    (
        &[("“", '"'), ("”", '"'), ("‘", '\''), ("’", '\'')],
        "new_str has typographic quotes where the file has plain ones",
    ),
    (
        &[("\u{2013}", '-'), ("\u{2014}", '-')],
        "new_str has typographic dashes where the file has hyphens",
    ),
    (&[("\u{a0}", ' ')], "new_str has blanks that do not break where the file has plain ones"),
    (&[("\\`", '`')], "the back-ticks of new_str are escaped, and those of the file are not"),
    (&[("\\\"", '"')], "the quotes of new_str are escaped, and those of the file are not"),
];

impl Merge<'_, '_> {
    /// New lines with signs that the file does not have where `old` has them: a mistake that
    /// was not undone in them.
    pub(super) fn has_no_foreign_signs(&self, out: &[Line]) -> Result<(), Conflict> {
        let pairs: Vec<(&str, &str)> = self
            .window
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Pair(at, piece) => Some((self.old[*at], self.file(*piece))),
                _ => None,
            })
            .collect();
        for (signs, why) in FOREIGN {
            let has = |line: &str| signs.iter().any(|(sign, _)| line.contains(sign));
            let foreign = pairs.iter().any(|(old, file)| has(old) && !has(file))
                && !pairs.iter().any(|(_, file)| has(file));
            let line = out.iter().find(|line| {
                let sent = line.new.is_some_and(|n| has(self.new[n]));
                foreign && sent && has(&line.text)
            });
            if line.is_some() {
                let line = self.window.first().map_or(0, |piece| piece.line);
                return Err(Conflict { line, why });
            }
        }
        Ok(())
    }

    /// Where a line goes whose quotes are typographic in the file and plain in the call, and a
    /// new line with such quotes takes its place, nothing tells which it is to have.
    pub(super) fn quotes_are_known(&self, events: &[Event]) -> Result<(), Conflict> {
        for run in events.split(|event| matches!(event, Event::Keep(..))) {
            let gone = run.iter().filter_map(|event| match *event {
                Event::Delete(o) => Some((self.old[o], self.piece_of(o)?)),
                _ => None,
            });
            let new = run.iter().filter_map(|event| match *event {
                Event::Insert(n) => Some(self.style.apply(self.new[n])),
                _ => None,
            });
            let new: Vec<String> = new.collect();
            for (old, piece) in gone {
                let file = self.file(piece);
                let torn = [('"', DOUBLE), ('\'', SINGLE)].into_iter().any(|(plain, kind)| {
                    let typographic = |text: &str| text.contains(|c| kind.contains(c));
                    old.contains(plain)
                        && typographic(file)
                        && !typographic(old)
                        && new.iter().any(|line| line.contains(plain))
                });
                if torn {
                    let why = "the file has typographic quotes there; whether the new line is to have them, nothing tells";
                    return Err(Conflict { line: piece.line, why });
                }
            }
        }
        Ok(())
    }
}
