//! Mistakes of the call that a merge must not carry into the file, as nothing undid them.

use super::super::code::behind_key;
use super::super::events::Event;
use super::super::indent;
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

    /// A key that stands below an item which begins with a key, `- a: 1`, is one of that item:
    /// it stands right below the first, or the text is another one. Where depths were moved, it
    /// is seen here whether they were moved rightly.
    pub(super) fn keys_stand_in_their_items(&self, out: &[Line]) -> Result<(), Conflict> {
        if self.map.is_same() {
            return Ok(());
        }
        let columns = |indent: &str| indent::columns(indent, self.unit());
        let solid = |line: &&Line| !line.text.trim().is_empty();
        let lines: Vec<&Line> = out.iter().filter(solid).collect();
        let astray = lines.windows(2).find(|pair| {
            let (above, line) = (&pair[0].text, &pair[1].text);
            let Some(item) = above.trim_start().strip_prefix("- ").map(str::trim) else {
                return false;
            };
            let mark = above.trim().len() - item.len();
            let known = || self.window.pieces().any(|piece| self.file(piece) == line);
            let sent = |line: &Line| line.new.map(|n| columns(indent::of(self.new[n])));
            let deeper = columns(indent::of(line)) > columns(indent::of(above))
                || sent(pair[1]) > sent(pair[0]);
            deeper
                && key(item).is_some_and(|value| !value.is_empty())
                && key(line.trim()).is_some()
                && columns(indent::of(line)) != columns(indent::of(above)) + mark
                && !known()
        });
        // Nor does a key stand beside items.
        let item = |line: &str| line.trim_start().starts_with("- ");
        let beside = lines.windows(2).any(|pair| {
            let (above, line) = (&pair[0].text, &pair[1].text);
            let depth = columns(indent::of(line));
            let new = pair[1].new.is_some_and(|n| self.old.iter().all(|old| old != &self.new[n]));
            let sibling = || {
                let at = lines.iter().position(|other| std::ptr::eq(*other, pair[1]));
                let mut up = lines[..at.unwrap_or(0)].iter().rev().map(|line| &line.text);
                up.find(|other| columns(indent::of(other)) <= depth)
            };
            new && depth <= columns(indent::of(above))
                && !item(line)
                && key(line.trim()).is_some()
                && sibling().is_some_and(|sibling| {
                    columns(indent::of(sibling)) == depth && item(sibling) && sibling.contains(": ")
                })
        });
        if astray.is_none() && !beside {
            return Ok(());
        }
        let line = self.window.first().map_or(0, |piece| piece.line);
        Err(Conflict {
            line,
            why: "how deep new_str has the lines of an item is not how the file has them; nothing tells where they go",
        })
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

/// The value of the key that a line begins with, if there is one.
fn key(line: &str) -> Option<&str> {
    let value = behind_key(line)?;
    (value.is_empty() || value.starts_with(' ')).then(|| value.trim())
}
