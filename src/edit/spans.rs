//! The lines and bytes that an edit changes, before and after.

use schemars::JsonSchema;
use serde::Serialize;

use super::EditPlan;
use super::verify::VerifiedEdit;
use crate::text::{Content, LineSpan, Snapshot};

/// The lines and bytes of a changed span, before or after the edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Extent {
    /// First line.
    pub start_line: usize,
    /// Last line; `start_line - 1` if the span has no line.
    pub end_line: usize,
    /// First byte.
    pub start_byte: usize,
    /// The byte after the last.
    pub end_byte: usize,
}

/// A changed span, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Span {
    /// In the file before the edit.
    pub before: Extent,
    /// In the file after the edit.
    pub after: Extent,
}

/// How far lines have moved because of changes above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct LineShift {
    /// First line below the change, before the edit.
    pub from_line: usize,
    /// By how many lines it and those below moved.
    pub delta: i64,
}

/// The text before and after an edit, and the changed spans.
pub(super) fn before_and_after(edit: &VerifiedEdit) -> (Snapshot, Snapshot, Vec<Span>) {
    let before = edit.before().cloned().unwrap_or_else(|| Snapshot::from_text(""));
    let after = edit.after().and_then(Content::snapshot);
    let after_text = match (edit.plan(), after) {
        // The new text is in the encoding of the version before, even if detection prefers another.
        (Some(plan), Some(after)) if after.encoding() != before.encoding() => {
            Snapshot::from_text(plan.text_after())
        }
        (Some(plan), None) => Snapshot::from_text(plan.text_after()),
        (_, Some(after)) => after,
        (None, None) => Snapshot::from_text(""),
    };
    let whole_file;
    let plan = match edit.plan() {
        Some(plan) => plan,
        None => {
            whole_file = EditPlan::whole_file(&before, after_text.text());
            &whole_file
        }
    };
    let spans = spans(&before, &after_text, plan);
    (before, after_text, spans)
}

/// The changed span of each splice of a plan.
pub(super) fn spans(before: &Snapshot, after: &Snapshot, plan: &EditPlan) -> Vec<Span> {
    let mut text_shift = 0_isize;
    let mut byte_shift = 0_isize;
    plan.splices()
        .iter()
        .map(|splice| {
            let old = splice.range.clone();
            let start = old.start.saturating_add_signed(text_shift);
            let new = start..start + splice.text.len();
            text_shift += splice.text.len().cast_signed() - old.len().cast_signed();
            let bytes = before.byte_range(old.clone());
            let inserted = before.encoding().encoded_len(&splice.text);
            let after_start = bytes.start.saturating_add_signed(byte_shift);
            byte_shift += inserted.cast_signed() - bytes.len().cast_signed();
            // Where only one version ends a line there, the line below goes on with what is new.
            let ends_line = old.end == before.text().len()
                || is_line_start(before, old.end) && is_line_start(after, new.end);
            let whole_lines = ends_line && is_line_start(before, old.start);
            let after_bytes = after_start..after_start + inserted;
            let mut span = Span {
                before: extent(before, old.clone(), bytes, whole_lines, ends_line),
                after: extent(after, new.clone(), after_bytes, whole_lines, ends_line),
            };
            if only_adds_or_removes_lines_at_end(before, &old, &splice.text) {
                // Lines are added or removed after a last line without a line break. That line
                // only gains or loses a line break and does not count as changed.
                span.before.start_line = before.lines().number_at(old.start) + 1;
                span.before.end_line = before.lines().total();
                span.after.start_line = after.lines().number_at(new.start) + 1;
                span.after.end_line = after.lines().total();
            }
            span
        })
        .collect()
}

/// Whether a splice begins at the end of the file's last line, which has no line break, and adds or
/// removes only whole lines after it.
fn only_adds_or_removes_lines_at_end(
    before: &Snapshot,
    old: &std::ops::Range<usize>,
    new: &str,
) -> bool {
    let text = before.text();
    let is_empty_or_begins_with_break =
        |part: &str| part.is_empty() || part.starts_with('\n') || part.starts_with("\r\n");
    old.end == text.len()
        && !text.ends_with('\n')
        && !is_line_start(before, old.start)
        && is_empty_or_begins_with_break(&text[old.clone()])
        && is_empty_or_begins_with_break(new)
}

/// Whether a line begins at an offset.
fn is_line_start(snapshot: &Snapshot, offset: usize) -> bool {
    offset == 0 || snapshot.text().as_bytes().get(offset - 1) == Some(&b'\n')
}

/// The lines and bytes of a range of the text; `bytes` is the same range in bytes of the file. Whether
/// it is whole lines, or at least ends one, is asked of both versions.
fn extent(
    snapshot: &Snapshot,
    range: std::ops::Range<usize>,
    bytes: std::ops::Range<usize>,
    whole_lines: bool,
    ends_line: bool,
) -> Extent {
    let start_line = snapshot.lines().number_at(range.start);
    let end_line = if range.is_empty() && whole_lines {
        start_line - 1
    } else if range.is_empty() {
        start_line
    } else if ends_line || range.end == snapshot.text().len() {
        snapshot.lines().number_at(range.end - 1)
    } else {
        // The rest of the last line stays, so the line itself is touched.
        snapshot.lines().number_at(range.end)
    };
    Extent { start_line, end_line, start_byte: bytes.start, end_byte: bytes.end }
}

/// How many lines a span has gained; negative if it has lost some.
pub(super) fn line_delta(span: &Span) -> i64 {
    span.after.lines().len() as i64 - span.before.lines().len() as i64
}

/// How far the lines below each span have moved.
pub(super) fn line_shifts(spans: &[Span]) -> Vec<LineShift> {
    let mut total = 0;
    let mut out = Vec::new();
    for span in spans {
        total += line_delta(span);
        if line_delta(span) != 0 {
            out.push(LineShift { from_line: span.before.end_line + 1, delta: total });
        }
    }
    out
}

impl Extent {
    /// Its lines.
    pub(crate) fn lines(&self) -> LineSpan {
        LineSpan { start: self.start_line, end: self.end_line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Splice;

    fn lines(before: &str, plan: &EditPlan) -> (LineSpan, LineSpan, Vec<i64>) {
        let before = Snapshot::from_text(before);
        let spans = spans(&before, &Snapshot::from_text(plan.text_after()), plan);
        let shifts = line_shifts(&spans).iter().map(|shift| shift.delta).collect();
        (spans[0].before.lines(), spans[0].after.lines(), shifts)
    }

    fn span(start: usize, end: usize) -> LineSpan {
        LineSpan { start, end }
    }

    #[test]
    fn a_line_of_which_a_part_changes_is_replaced() {
        for (before, after, old, new, shifts) in [
            // The start of a line comes back, as an undo brings it.
            ("4\n5\n6\n", "4\nline 5\n6\n", span(2, 2), span(2, 2), vec![]),
            ("oo\n", "foo\n", span(1, 1), span(1, 1), vec![]),
            ("4\n5\n6\n", "4\nx\nline 5\n6\n", span(2, 2), span(2, 3), vec![1]),
            ("4\nline 5\n6\n", "4\n5\n6\n", span(2, 2), span(2, 2), vec![]),
            ("4\n6\n", "4\n5\n6\n", span(2, 1), span(2, 2), vec![1]),
            ("4\n5\n6\n", "4\n6\n", span(2, 2), span(2, 1), vec![-1]),
        ] {
            let snapshot = Snapshot::from_text(before);
            let plan = EditPlan::whole_file(&snapshot, after);
            assert_eq!(plan.text_after(), after);
            assert_eq!(lines(before, &plan), (old, new, shifts), "{before:?} to {after:?}");
        }
    }

    #[test]
    fn a_line_below_the_replaced_text_is_replaced_only_if_it_is_joined() {
        let before = "line 4\n5\nline 6\n";
        for (old_str, new_str, old, new, shifts) in [
            ("4\n5\n", "4\nxx 5\n", span(1, 2), span(1, 2), vec![]),
            ("4\n5\n", "4\n", span(1, 2), span(1, 1), vec![-1]),
            ("5\n", "5 ", span(2, 3), span(2, 2), vec![-1]),
            ("4\n5\n", "4 ", span(1, 3), span(1, 1), vec![-2]),
        ] {
            let start = before.find(old_str).expect("there");
            let splice = Splice { range: start..start + old_str.len(), text: new_str.into() };
            let plan = EditPlan::new(&Snapshot::from_text(before), vec![splice]).expect("plan");
            assert_eq!(lines(before, &plan), (old, new, shifts), "{old_str:?} to {new_str:?}");
        }
    }
}
