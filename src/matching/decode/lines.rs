//! Line breaks and blank lines of the text as a whole.

use std::borrow::Cow;

use super::{Decoding, UndoNew};

/// A file of lone carriage returns, quoted with line feeds.
pub(super) struct CarriageReturns;

impl Decoding for CarriageReturns {
    fn id(&self) -> &'static str {
        "line_endings"
    }

    fn rung(&self) -> &'static str {
        "line_endings"
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn suits(&self, file: &str) -> bool {
        let bytes = file.as_bytes();
        memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'))
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let turn = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r");
        (old.trim_matches('\n').contains('\n')).then(|| {
            let undo: UndoNew = Box::new(move |new| Some(turn(new)));
            (turn(old), undo)
        })
    }
}

/// At most so many blank lines at either end are dropped.
const MOST_OUTER: usize = 3;

/// Blank lines around the text that the file does not have.
pub(super) struct OuterBlanks;

impl Decoding for OuterBlanks {
    fn id(&self) -> &'static str {
        "outer_blank_lines"
    }

    fn rung(&self) -> &'static str {
        "outer_blank_lines"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    /// The file has those lines, only with other blanks on them, or the one beside the text
    /// with the very same.
    fn is_of_the_file(&self, old: &str, file: &str) -> bool {
        let (head, tail) = outer_blanks(old);
        if head == 0 && tail == 0 {
            return false;
        }
        let bodies: Vec<&str> = old.lines().collect();
        let lines: Vec<&str> = bodies.iter().map(|line| line.trim()).collect();
        let inner = &lines[head..lines.len() - tail];
        let first = inner[0];
        let file_bodies: Vec<&str> = file.lines().collect();
        let file: Vec<&str> = file_bodies.iter().map(|line| line.trim()).collect();
        let fits =
            |at: usize| at.checked_sub(head).is_some_and(|from| file[from..].starts_with(&lines));
        let beside = bodies.get(lines.len() - tail).filter(|line| !line.is_empty());
        let has_it = |at: usize| {
            beside.is_some()
                && file_bodies.get(at + inner.len()) == beside
                && file[at..].starts_with(inner)
        };
        (0..file.len()).any(|at| file[at] == first && (fits(at) || has_it(at)))
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let (head, tail) = outer_blanks(old);
        // So many blank lines are no slip: they stand for something that is not quoted.
        if head == 0 && tail == 0 || head > MOST_OUTER || tail > MOST_OUTER {
            return None;
        }
        let text = without_outer(old, head, tail).into_owned();
        let inner = inner_blanks(&text, (head, tail));
        Some((
            text,
            Box::new(move |new| {
                let (h, t) = outer_blanks(new);
                // Some of them stay: as many as there are, or one of the text's own?
                if (1..head).contains(&h) || (1..tail).contains(&t) {
                    return None;
                }
                // Or it is a blank line of the text, whose lines around it go.
                if inner.contains(&(true, h, solid(new, true)))
                    || inner.contains(&(false, t, solid(new, false)))
                {
                    return None;
                }
                Some(if new.trim().is_empty() {
                    new.to_owned()
                } else {
                    without_outer(new, h.min(head), t.min(tail)).into_owned()
                })
            }),
        ))
    }
}

/// A blank line after every line.
pub(super) struct DoubleSpacing;

impl Decoding for DoubleSpacing {
    fn id(&self) -> &'static str {
        "double_spacing"
    }

    fn rung(&self) -> &'static str {
        "outer_blank_lines"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let text = single_spaced(old)?;
        let undo = |new: &str| single_spaced(new).or_else(|| Some(new.to_owned()));
        Some((text, Box::new(undo)))
    }
}

fn single_spaced(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let doubled =
        lines.len() >= 5 && lines.iter().skip(1).step_by(2).all(|line| line.trim().is_empty());
    if !doubled {
        return None;
    }
    let mut single = lines.iter().step_by(2).copied().collect::<Vec<_>>().join("\n");
    if text.ends_with('\n') {
        single.push('\n');
    }
    Some(single)
}

/// Blank lines at the head and at the tail of a text.
fn outer_blanks(text: &str) -> (usize, usize) {
    let blank = |line: &&str| line.trim().is_empty();
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let head = lines.iter().take_while(|line| blank(line)).count();
    if head == lines.len() {
        return (0, 0);
    }
    (head, lines.iter().rev().take_while(|line| blank(line)).count())
}

/// The first or the last line of a text that says something.
fn solid(text: &str, first: bool) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = if first { lines.next() } else { lines.next_back() };
    line.unwrap_or_default().to_owned()
}

/// The lines of a text behind blank ones (or in front of such) and how many these are, where
/// they are as many as a new text could begin (or end) with, and not as many as are too many.
fn inner_blanks(text: &str, (head, tail): (usize, usize)) -> Vec<(bool, usize, String)> {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    let mut out = Vec::new();
    let mut count = 0;
    let mut above = "";
    for line in lines {
        if line.is_empty() {
            count += 1;
            continue;
        }
        if count > 0 && count != head {
            out.push((true, count, line.to_owned()));
        }
        if count > 0 && count != tail {
            out.push((false, count, above.to_owned()));
        }
        (count, above) = (0, line);
    }
    out
}

fn without_outer(text: &str, head: usize, tail: usize) -> Cow<'_, str> {
    if head == 0 && tail == 0 {
        return Cow::Borrowed(text);
    }
    let closed = text.ends_with('\n');
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let mut kept = lines[head..lines.len() - tail].join("\n");
    if closed {
        kept.push('\n');
    }
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use crate::edit::EditRequest;
    use crate::matching::explain;
    use crate::text::Snapshot;

    #[test]
    fn a_blank_line_that_the_file_has_without_blanks_is_no_outer_one() {
        let snapshot = Snapshot::from_text("a(1)\nb(2)\n\nlast\n");
        for old in ["a(1)\nb(2)\n  ", "a(1)\nb(2)\n  \n"] {
            let request = EditRequest::new(old, format!("{old}c(3)\n"));
            let explained = explain(&request, &snapshot).unwrap();
            assert_eq!(explained.explanation.rung, "trailing_blanks", "{old:?}");
        }
        let outer = EditRequest::new("\na(1)\nb(2)\n  \n  \n", "a(1)\n");
        assert_eq!(explain(&outer, &snapshot).unwrap().explanation.rung, "outer_blank_lines");
    }
}
