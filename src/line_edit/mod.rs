//! Edits by line: spans of old lines and the lines that take their place.
//!
//! All spans of a call refer to the same version of the file, and the splices are applied together,
//! so that one edit does not shift the lines of the next. Untouched lines keep their bytes, new lines
//! take the line endings of those they replace, and a file keeps or lacks its final newline as before.

mod decide;
mod repair;

use crate::edit::message::{FIRST_LINE, LAST_LINE};
use crate::edit::{EditCode, Message, Refusal, Splice, said};
use crate::text::{LineEnding, LineSpan, Snapshot, each_line};

pub(crate) use decide::{AddsErrors, DecidedEdits, LocatedEdit, decide, to_changes};

/// New lines that replace old ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// The old lines; `end = start - 1` inserts before `start`.
    pub span: LineSpan,
    /// The new lines, without endings; an empty list deletes the old lines.
    pub lines: Vec<String>,
}

/// The lines of a text; a newline at its end does not start another line.
pub(crate) fn split_lines(text: &str) -> Vec<String> {
    each_line(text).map(|line| text[line.body].to_owned()).collect()
}

/// Refuses a span that is not in a file of `total` lines.
pub(crate) fn check_span(span: LineSpan, total: usize) -> Result<(), Refusal> {
    let LineSpan { start, end } = span;
    let lines = crate::text::pluralize(total, "line");
    let refuse = |message: String, hint: Message| Err(Refusal::invalid(message, hint));
    if start == 0 {
        return refuse(
            format!("the first line is 0, but lines are counted from 1 (the file has {lines})"),
            said!(
                "Give numbers from 1 to {total}; to insert at the top use {FIRST_LINE}1{LAST_LINE}0."
            ),
        );
    }
    if end + 1 < start {
        return refuse(
            format!("the range {start}-{end} is inverted (the file has {lines})"),
            said!(
                "Give the smaller number first; to insert before line {start} use {FIRST_LINE}{start}{LAST_LINE}{}.",
                start - 1
            ),
        );
    }
    if end > total || start > total + 1 {
        return refuse(
            format!("{start}-{end} is out of range: the file has {lines}"),
            match total {
                0 => said!("The file is empty: insert with {FIRST_LINE}1{LAST_LINE}0."),
                _ => said!(
                    "Give lines from 1 to {total}; to insert at the end use {FIRST_LINE}{}{LAST_LINE}{total}.",
                    total + 1
                ),
            },
        );
    }
    Ok(())
}

/// The splices of several changes, all in the numbering of `snapshot`. Insertions at the same place
/// keep their order. Changes that touch the same line are refused.
pub(crate) fn splices(
    snapshot: &Snapshot,
    changes: Vec<LineChange>,
) -> Result<Vec<Splice>, Refusal> {
    let total = snapshot.lines().total();
    for change in &changes {
        check_span(change.span, total)?;
    }
    let last = snapshot.lines().line(snapshot.text(), total);
    let lacks_final_newline = last.is_some_and(|line| line.ending == LineEnding::None);
    let touches_end = changes.iter().any(|change| change.span.end >= total);
    let merged = merge(changes, lacks_final_newline && touches_end)?;
    Ok(merged.iter().filter_map(|change| splice(snapshot, change)).collect())
}

/// Sorts the changes and joins insertions at the same place. With `join_adjacent`, for changes at the
/// end of a file without a final newline, it joins all adjacent changes: there, a newline moves from
/// one line to another.
fn merge(mut changes: Vec<LineChange>, join_adjacent: bool) -> Result<Vec<LineChange>, Refusal> {
    changes.sort_by_key(|change| (change.span.start, change.span.end));
    let mut merged: Vec<LineChange> = Vec::with_capacity(changes.len());
    let mut last_replaced: Option<LineSpan> = None;
    for change in changes {
        let LineSpan { start, end } = change.span;
        if let Some(replaced) = last_replaced.filter(|replaced| start <= replaced.end) {
            let conflict = if change.span.is_empty() {
                format!("an insertion before line {start} is inside the replaced lines")
            } else {
                format!("an edit of lines {start}-{end} overlaps the edit of lines")
            };
            return Err(Refusal::new(
                EditCode::Overlap,
                format!("{conflict} {}-{} of the same call", replaced.start, replaced.end),
            )
            .hint(
                "Merge the two into one edit; all edits of a call refer to the original lines.",
            ));
        }
        if !change.span.is_empty() {
            last_replaced = Some(change.span);
        }
        match merged.last_mut() {
            Some(last)
                if last.span.end + 1 == start
                    && (join_adjacent || last.span.is_empty() && change.span.is_empty()) =>
            {
                last.span.end = end;
                last.lines.extend(change.lines);
            }
            _ => merged.push(change),
        }
    }
    Ok(merged)
}

/// The splice of one change; `None` for an insertion of no lines.
fn splice(snapshot: &Snapshot, change: &LineChange) -> Option<Splice> {
    let index = snapshot.lines();
    let total = index.total();
    let LineSpan { start, end } = change.span;
    if change.span.is_empty() && change.lines.is_empty() {
        return None;
    }
    let from = index.start(start);
    let is_at_end_without_newline = end == total
        && total > 0
        && index.line(snapshot.text(), total).is_some_and(|line| line.ending == LineEnding::None);
    // Each new line takes the ending of the old line with its number; lines beyond the replaced ones
    // take the ending of the last replaced line, or else of a line nearby.
    let ending_nearby = match snapshot.ending_near(from) {
        LineEnding::CrLf => "\r\n",
        LineEnding::Lf | LineEnding::None => "\n",
    };
    let replaced_ending = |number: usize| {
        let line = index.line(snapshot.text(), number).filter(|_| number <= end);
        line.map(|line| line.ending.as_str()).filter(|ending| !ending.is_empty())
    };
    let last_ending = replaced_ending(end.max(start)).unwrap_or(ending_nearby);
    let mut text = String::new();
    for (k, line) in change.lines.iter().enumerate() {
        text.push_str(line);
        text.push_str(replaced_ending(start + k).unwrap_or(last_ending));
    }
    if !is_at_end_without_newline {
        return Some(Splice { range: from..index.start(end + 1), text });
    }
    // The new last line has no newline either, unless it is blank: a blank line without a newline is
    // not a line.
    if change.lines.last().is_some_and(|line| !line.is_empty()) {
        let ending = if text.ends_with("\r\n") { 2 } else { 1 };
        text.truncate(text.len() - ending);
    }
    if change.span.is_empty() {
        text.insert_str(0, ending_nearby);
        return Some(Splice { range: from..from, text });
    }
    if change.lines.is_empty() && start > 1 {
        let above = index.line(snapshot.text(), start - 1)?;
        // The line above becomes the last line and loses its newline, unless it is blank.
        let cut = if above.body.is_empty() { from } else { above.body.end };
        return Some(Splice { range: cut..snapshot.text().len(), text });
    }
    Some(Splice { range: from..snapshot.text().len(), text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::EditPlan;

    fn apply(before: &str, changes: &[(usize, usize, &[&str])]) -> Result<String, Refusal> {
        let snapshot = Snapshot::from_text(before);
        let changes = changes
            .iter()
            .map(|&(start, end, lines)| LineChange {
                span: LineSpan { start, end },
                lines: lines.iter().map(|&line| line.to_owned()).collect(),
            })
            .collect();
        let plan = EditPlan::new(&snapshot, splices(&snapshot, changes)?)?;
        Ok(plan.text_after())
    }

    #[test]
    fn replace_insert_and_delete_keep_the_end_of_the_file() {
        type Case =
            (&'static str, &'static [(usize, usize, &'static [&'static str])], &'static str);
        let cases: &[Case] = &[
            ("a\nb\nc\n", &[(2, 2, &["B"])], "a\nB\nc\n"),
            ("a\nb\nc\n", &[(2, 3, &["B"])], "a\nB\n"),
            ("a\nb\nc\n", &[(2, 1, &["new"])], "a\nnew\nb\nc\n"),
            ("a\nb\nc\n", &[(4, 3, &["new"])], "a\nb\nc\nnew\n"),
            ("a\nb\nc\n", &[(3, 3, &[])], "a\nb\n"),
            ("a\nb\nc", &[(3, 3, &["C", "D"])], "a\nb\nC\nD"),
            ("a\nb\nc", &[(4, 3, &["new"])], "a\nb\nc\nnew"),
            ("a\nb\nc", &[(3, 3, &[])], "a\nb"),
            ("a\nb\nc", &[(2, 3, &[])], "a"),
            ("a\n\nc", &[(3, 3, &[])], "a\n\n"),
            ("a\nb\nc", &[(3, 3, &[""])], "a\nb\n\n"),
            ("a", &[(1, 1, &[])], ""),
            ("", &[(1, 0, &["x", "y"])], "x\ny\n"),
            ("\n", &[(1, 1, &["x"])], "x\n"),
            ("a\r\nb\r\n", &[(1, 1, &["x", "y"])], "x\r\ny\r\nb\r\n"),
            ("a\r\nb", &[(3, 2, &["c"])], "a\r\nb\r\nc"),
            ("a\nb\r\nc\n", &[(1, 3, &["1", "2", "3"])], "1\n2\r\n3\n"),
            ("a\nb\nc\n", &[(3, 3, &["C"]), (1, 1, &["A"])], "A\nb\nC\n"),
            ("a\nb\nc\n", &[(2, 2, &["B"]), (3, 2, &["x"]), (2, 1, &["w"])], "a\nw\nB\nx\nc\n"),
            ("a\nb\nc", &[(2, 2, &[]), (3, 3, &[])], "a"),
            ("a\nb\nc", &[(3, 3, &[]), (4, 3, &["d"])], "a\nb\nd"),
            ("a\n\nc\n", &[(2, 2, &["B"]), (2, 1, &["x"])], "a\nx\nB\nc\n"),
        ];
        for (before, changes, after) in cases {
            assert_eq!(apply(before, changes).as_deref(), Ok(*after), "{before:?} {changes:?}");
        }
    }

    #[test]
    fn overlaps_are_refused_and_neighbours_are_not() {
        for changes in [
            [(1, 2), (2, 3)],
            [(1, 3), (2, 2)],
            [(1, 1), (1, 1)],
            [(1, 3), (2, 1)],
            [(1, 2), (2, 1)],
        ] {
            let changes = changes.map(|(a, b)| (a, b, &["x"][..]));
            let refusal = apply("a\nb\nc\n", &changes).expect_err("overlap");
            assert_eq!(refusal.code, EditCode::Overlap, "{changes:?}");
        }
        let one: &[&str] = &["x"];
        assert!(apply("a\nb\nc\n", &[(1, 2, one), (3, 3, one), (3, 2, one), (1, 0, one)]).is_ok());
    }
}
