//! Renders lines as text.

use std::fmt::Write as _;

use super::{LineSelection, LineWindow, ReadRequest, ReadStyle};
use crate::hashline::tag;
use crate::text::{LineSpan, Snapshot, pluralize};

pub(super) struct Rendered {
    pub(super) text: String,
    pub(super) ranges: Vec<LineSpan>,
    pub(super) next: Option<usize>,
    pub(super) windowed: Vec<LineWindow>,
}

pub(super) fn render(snapshot: &Snapshot, wanted: &[LineSpan], request: &ReadRequest) -> Rendered {
    let text = snapshot.text();
    let index = snapshot.lines();
    let mut out =
        Rendered { text: String::new(), ranges: Vec::new(), next: None, windowed: Vec::new() };
    let lines: usize = wanted.iter().map(|span| span.end + 1 - span.start).sum();
    let bytes: usize =
        wanted.iter().map(|span| index.start(span.end + 1) - index.start(span.start)).sum();
    out.text.reserve(bytes.saturating_add(lines * 12).min(request.limits.text));
    let mut ending = "";
    for (k, span) in wanted.iter().enumerate() {
        if k > 0 {
            // Ranges are merged, so something lies between them.
            let before = wanted[k - 1].end;
            out.text.push_str(ending);
            let _ =
                writeln!(out.text, "… {} not shown …", pluralize(span.start - before - 1, "line"));
            ending = "";
        }
        for number in span.start..=span.end {
            let Some(line) = index.line(text, number) else { break };
            let body = &text[line.body.clone()];
            if out.text.len() + ending.len() + body.len().min(request.limits.line)
                > request.limits.text
                && !out.ranges.is_empty()
            {
                out.next = Some(number);
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
    // A whole file is rendered to its last byte.
    if request.style == ReadStyle::Plain
        && (request.select == LineSelection::Whole
            || matches!(request.select, LineSelection::From { offset: 1, limit: None }))
    {
        out.text.push_str(ending);
    }
    out
}

fn push_prefix(out: &mut String, number: usize, body: &str, request: &ReadRequest) {
    match request.style {
        ReadStyle::Plain => {}
        ReadStyle::Numbered => {
            let _ = write!(out, "<<{number}>>");
        }
        ReadStyle::Hashline => {
            tag::push(out, number, body, request.width);
            out.push('|');
        }
    }
}

fn push_body(out: &mut Rendered, number: usize, body: &str, request: &ReadRequest) {
    let max = request.limits.line;
    // There are never fewer bytes than characters.
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
    let at = |column: usize| body.char_indices().nth(column).map_or(body.len(), |(at, _)| at);
    let last = (first + max).min(columns);
    if first > 0 {
        out.text.push('…');
    }
    out.text.push_str(&body[at(first)..at(last)]);
    if last < columns {
        out.text.push('…');
    }
    out.windowed.push(LineWindow {
        line: number,
        start_column: first + 1,
        end_column: last,
        columns,
    });
}
