//! Renders selected lines of a file in the style that the caller asks for.

use std::fmt::Write as _;

use super::{LineWindow, ReadRequest, ReadStyle};
use crate::text::tag;
use crate::text::{LineSpan, Snapshot, pluralize};

pub(super) struct Rendered {
    pub(super) text: String,
    /// The lines that are in `text`.
    pub(super) ranges: Vec<LineSpan>,
    /// The first line that the size limit kept out, if it kept any out.
    pub(super) next_offset: Option<usize>,
    pub(super) windowed: Vec<LineWindow>,
}

/// Renders the selected lines, and stops before the line with which the text would exceed the
/// size limit. The first line is always rendered.
pub(super) fn render(
    snapshot: &Snapshot,
    selected: &[LineSpan],
    request: &ReadRequest,
) -> Rendered {
    let text = snapshot.text();
    let index = snapshot.lines();
    let mut out = Rendered {
        text: String::new(),
        ranges: Vec::new(),
        next_offset: None,
        windowed: Vec::new(),
    };
    let lines: usize = selected.iter().map(|span| span.end + 1 - span.start).sum();
    let bytes: usize =
        selected.iter().map(|span| index.start(span.end + 1) - index.start(span.start)).sum();
    // A prefix such as `<<1234>>` takes up to 12 bytes.
    out.text.reserve(bytes.saturating_add(lines * 12).min(request.limits.text));
    // The line break of the last rendered line, which is written once another line follows.
    let mut ending = "";
    for (position, span) in selected.iter().enumerate() {
        if position > 0 {
            // Ranges are merged, so there is at least one line between them.
            let skipped = span.start - selected[position - 1].end - 1;
            out.text.push_str(ending);
            let _ = writeln!(out.text, "… {} not shown …", pluralize(skipped, "line"));
            ending = "";
        }
        for number in span.start..=span.end {
            let Some(line) = index.line(text, number) else { break };
            let body = &text[line.body.clone()];
            let length_with_line =
                out.text.len() + ending.len() + body.len().min(request.limits.line);
            if length_with_line > request.limits.text && !out.ranges.is_empty() {
                out.next_offset = Some(number);
                return out;
            }
            out.text.push_str(ending);
            push_prefix(&mut out.text, number, body, request);
            push_body(&mut out, number, body, request);
            ending = match request.style {
                ReadStyle::Plain => line.ending.as_str(),
                ReadStyle::Numbered | ReadStyle::Hashline => "\n",
            };
            match out.ranges.last_mut() {
                Some(last) if last.end + 1 == number => last.end = number,
                _ => out.ranges.push(LineSpan { start: number, end: number }),
            }
        }
    }
    // A plain view of the whole file has every byte of it, so also the last line break.
    if request.style == ReadStyle::Plain && request.ranges.is_empty() {
        out.text.push_str(ending);
    }
    out
}

/// Appends the line number or anchor that the style puts before a line.
fn push_prefix(out: &mut String, number: usize, body: &str, request: &ReadRequest) {
    match request.style {
        ReadStyle::Plain => {}
        ReadStyle::Numbered => {
            let _ = write!(out, "<<{number}>>");
        }
        ReadStyle::Hashline => {
            tag::push(out, number, body);
            out.push('|');
        }
    }
}

/// Appends the text of a line; of a line over the limit only the window that starts at the
/// requested column.
fn push_body(out: &mut Rendered, number: usize, body: &str, request: &ReadRequest) {
    let max = request.limits.line;
    // A text has at least as many bytes as characters, so counting characters can be skipped.
    if body.len() <= max {
        out.text.push_str(body);
        return;
    }
    let columns = body.chars().count();
    if columns <= max {
        out.text.push_str(body);
        return;
    }
    let first = request.column.clamp(1, columns) - 1;
    let end = (first + max).min(columns);
    let byte_offset =
        |column: usize| body.char_indices().nth(column).map_or(body.len(), |(offset, _)| offset);
    if first > 0 {
        out.text.push('…');
    }
    out.text.push_str(&body[byte_offset(first)..byte_offset(end)]);
    if end < columns {
        out.text.push('…');
    }
    // Columns are reported from 1, and `end` is exclusive from 0, so it is the last one shown.
    out.windowed.push(LineWindow {
        line: number,
        start_column: first + 1,
        end_column: end,
        columns,
    });
}
