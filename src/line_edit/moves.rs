//! Moves and copies lines within a file or to another file, without changing their bytes.
//!
//! A file keeps or lacks its final newline as before. If lines move to or from the end of a file
//! without a final newline, they exchange line breaks with the lines around them.

use std::collections::BTreeMap;

use crate::edit::Splice;
use crate::language::{Language, TokenKind};
use crate::matching::{self, indent_of};
use crate::text::{LineEnding, LineSpan, Snapshot};

/// Whether lines are moved or copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transfer {
    /// The lines are removed from their old place.
    #[default]
    Move,
    /// The lines also stay at their old place.
    Copy,
}

/// The side of a line on which others are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Below the line.
    After,
    /// Above the line.
    Before,
}

/// The contents of lines, without their endings.
pub(crate) fn bodies(snapshot: &Snapshot, span: LineSpan) -> Vec<String> {
    (span.start..=span.end).filter_map(|n| snapshot.line(n).map(str::to_owned)).collect()
}

/// The splices that move or copy the lines of `span` to the gap after line `gap` of the same file,
/// with `bodies` as their contents. The gap must not be inside the span.
pub(crate) fn splices_within_file(
    snapshot: &Snapshot,
    span: LineSpan,
    gap: usize,
    bodies: &[String],
    transfer: Transfer,
) -> Vec<Splice> {
    let (text, index) = (snapshot.text(), snapshot.lines());
    let line = |number: usize| index.line(text, number);
    let mut endings: Vec<&str> =
        (span.start..=span.end).filter_map(|n| line(n).map(|line| line.ending.as_str())).collect();
    let total = index.total();
    let lacks_final_newline = line(total).is_some_and(|last| last.ending == LineEnding::None);
    let ending_nearby = match snapshot.ending_near(index.start(gap + 1)) {
        LineEnding::CrLf => "\r\n",
        LineEnding::Lf | LineEnding::None => "\n",
    };
    // A line break to insert before the lines.
    let mut leading_break = "";
    let mut removed = index.start(span.start)..index.start(span.end + 1);
    if lacks_final_newline && gap == total {
        // The old last line of the file takes the break of the new one.
        let last_ending = endings.last().copied().unwrap_or_default();
        leading_break = match (last_ending, transfer) {
            ("", _) | (_, Transfer::Copy) => ending_nearby,
            (last_ending, Transfer::Move) => last_ending,
        };
        // A blank line without a break would not be a line.
        let is_blank = bodies.last().is_some_and(String::is_empty);
        if let Some(ending) = endings.last_mut() {
            *ending = if is_blank { leading_break } else { "" };
        }
    } else if lacks_final_newline && span.end == total {
        // The moved last line takes the break of the line above it, which becomes the last one.
        let above = line(span.start - 1).filter(|above| !above.body.is_empty());
        let new_ending = match (above, transfer) {
            (Some(above), Transfer::Move) => {
                removed.start = above.body.end;
                above.ending.as_str()
            }
            _ => ending_nearby,
        };
        if let Some(ending) = endings.last_mut() {
            *ending = new_ending;
        }
    }
    let lines = bodies.iter().zip(endings).flat_map(|(body, ending)| [body.as_str(), ending]);
    let at = index.start(gap + 1);
    let text = std::iter::once(leading_break).chain(lines).collect();
    let insertion = Splice { range: at..at, text };
    match transfer {
        Transfer::Copy => vec![insertion],
        Transfer::Move => vec![insertion, Splice { range: removed, text: String::new() }],
    }
}

/// The indentation of a block that is inserted at a gap: that of the line that the caller named; but
/// after a line that opens a block, that of the lines in the block. The lines `removed` are ignored.
pub(crate) fn indent_at(file: &Snapshot, gap: usize, side: Side, removed: LineSpan) -> String {
    let total = file.lines().total();
    let is_considered = |number: &usize| {
        !(removed.start..=removed.end).contains(number)
            && file.line(*number).is_some_and(|line| !line.trim().is_empty())
    };
    let indent = |number: usize| file.line(number).map(indent_of).unwrap_or_default();
    let above = (1..=gap.min(total)).rev().find(is_considered).map(indent);
    let below = (gap + 1..=total).find(is_considered).map(indent);
    let chosen = match (side, above, below) {
        (Side::After, Some(above), Some(below))
            if below.len() > above.len() && below.starts_with(above) =>
        {
            Some(below)
        }
        (Side::After, above, below) => above.or(below),
        (Side::Before, above, below) => below.or(above),
    };
    chosen.unwrap_or_default().to_owned()
}

/// The lines of `span` in `from`, re-indented to `indent` in the indentation style of `to`. Lines that
/// begin inside a literal keep their whitespace. `None` if no single rule fits all lines.
pub(crate) fn reindent(
    from: &Snapshot,
    span: LineSpan,
    language: Option<&Language>,
    to: &Snapshot,
    indent: &str,
) -> Option<Vec<String>> {
    let mut lines = bodies(from, span);
    let lexed = language.filter(|language| language.is_lexed()).map(|l| l.lex(from.text()));
    let begins_outside_literal = |at: usize| {
        let start = from.lines().start(span.start + at);
        lexed.as_ref().is_none_or(|lexed| {
            start == 0
                || lexed.kind_at(start) != TokenKind::Literal
                || lexed.kind_at(start - 1) != TokenKind::Literal
        })
    };
    let code: Vec<usize> = (0..lines.len()).filter(|at| begins_outside_literal(*at)).collect();
    let old_indent = code
        .iter()
        .map(|at| lines[*at].as_str())
        .filter(|line| !line.trim().is_empty())
        .map(indent_of)
        .min_by_key(|indent| indent.len())?
        .to_owned();
    if old_indent == indent {
        return Some(lines);
    }
    let code_lines: Vec<String> = code.iter().map(|at| lines[*at].clone()).collect();
    let mut pairs = vec![(old_indent.clone(), indent.to_owned())];
    // One level maps to one level, whether tabs or spaces.
    if let (Some(from_level), Some(to_level)) = (indent_level(from), indent_level(to)) {
        pairs.push((format!("{old_indent}{from_level}"), format!("{indent}{to_level}")));
    }
    let outcomes = matching::reindent(to, &code_lines, pairs)?;
    let [reindented] = outcomes.as_slice() else { return None };
    for (at, line) in code.into_iter().zip(reindented) {
        lines[at].clone_from(line);
    }
    Some(lines)
}

/// The whitespace that a file most often adds for one level of indentation.
fn indent_level(file: &Snapshot) -> Option<String> {
    let mut steps: BTreeMap<&str, usize> = BTreeMap::new();
    let lines = file.text().lines().filter(|line| !line.trim().is_empty());
    let mut above = "";
    for indent in lines.map(indent_of) {
        if let Some(step) = indent.strip_prefix(above).filter(|step| !step.is_empty()) {
            *steps.entry(step).or_default() += 1;
        }
        above = indent;
    }
    steps.into_iter().max_by_key(|(_, count)| *count).map(|(step, _)| step.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::EditPlan;

    fn moved(before: &str, span: (usize, usize), gap: usize, transfer: Transfer) -> String {
        let snapshot = Snapshot::from_text(before);
        let span = LineSpan { start: span.0, end: span.1 };
        let splices = splices_within_file(&snapshot, span, gap, &bodies(&snapshot, span), transfer);
        EditPlan::new(&snapshot, splices).expect("disjoint").text_after()
    }

    #[test]
    fn lines_move_with_their_bytes_and_the_end_of_the_file_stays() {
        for (before, span, gap, after, copied) in [
            ("a\nb\nc\n", (1, 1), 3, "b\nc\na\n", "a\nb\nc\na\n"),
            ("a\nb\nc\n", (3, 3), 0, "c\na\nb\n", "c\na\nb\nc\n"),
            ("a\nb\nc", (3, 3), 0, "c\na\nb", "c\na\nb\nc"),
            ("a\nb\nc", (1, 2), 3, "c\na\nb", "a\nb\nc\na\nb"),
            ("a\r\nb\nc", (1, 1), 3, "b\nc\r\na", "a\r\nb\nc\na"),
            ("a\r\nb\nc\n", (1, 1), 2, "b\na\r\nc\n", "a\r\nb\na\r\nc\n"),
            ("a\n\nc", (3, 3), 0, "c\na\n\n", "c\na\n\nc"),
            ("\nb", (1, 1), 2, "b\n\n", "\nb\n\n"),
            ("a\nb\nc\nd\n", (2, 3), 0, "b\nc\na\nd\n", "b\nc\na\nb\nc\nd\n"),
        ] {
            assert_eq!(moved(before, span, gap, Transfer::Move), after, "{before:?}");
            assert_eq!(moved(before, span, gap, Transfer::Copy), copied, "{before:?}");
        }
    }

    #[test]
    fn a_block_gets_the_indentation_of_the_named_line_or_of_the_block_it_opens() {
        let file = Snapshot::from_text("mod a {\n    fn b() {\n        c();\n    }\n}\n");
        let none = LineSpan { start: 1, end: 0 };
        let depth = |gap, side| indent_at(&file, gap, side, none).len();
        assert_eq!(depth(1, Side::After), 4, "it opens a block");
        assert_eq!(depth(2, Side::After), 8);
        assert_eq!(depth(3, Side::After), 8, "the last of a block");
        assert_eq!(depth(4, Side::After), 4);
        assert_eq!(depth(3, Side::Before), 4, "above the closing line");
        assert_eq!(depth(0, Side::Before), 0);
        assert_eq!(depth(5, Side::After), 0);
    }

    #[test]
    fn literals_keep_their_whitespace() {
        let from = Snapshot::from_text("fn a() {\n    let b = \"x\n  y\";\n    c(b);\n}\n");
        let to = Snapshot::from_text("mod m {\n    fn z() {\n        w();\n    }\n}\n");
        let language = Language::from_name("rust");
        let span = LineSpan { start: 2, end: 4 };
        let lines = reindent(&from, span, language, &to, "        ").expect("one rule");
        assert_eq!(lines, ["        let b = \"x", "  y\";", "        c(b);"]);
    }
}
