//! The `@@` headers of a hunk: each names a line of the file, and the hunk must be within the block
//! that this line opens.

use super::Hunk;
use crate::edit::{EditCode, Refusal};
use crate::matching::budget::{Exhausted, spend};
use crate::matching::nearest;
use crate::text::{LineSpan, Snapshot};

/// The lines on which a hunk with a header may begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The line that the header names.
    pub(super) header: usize,
    /// The last line on which a hunk may begin.
    last: usize,
}

/// The bounds of a hunk for each occurrence of its innermost header; empty if nothing bounds it. A
/// hunk whose header is not in the file is refused.
pub(super) fn bounds(
    snapshot: &Snapshot,
    hunk: &Hunk,
    from: usize,
) -> Result<Vec<Bounds>, Refusal> {
    let total = snapshot.lines().total();
    let mut outer = vec![Bounds { header: 0, last: total }];
    for header in &hunk.headers {
        let wanted = header.trim();
        spend(total.saturating_mul(outer.len())).map_err(Exhausted::refusal)?;
        let lines_that = |matches: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let is_inside = |line: &usize| {
                outer.iter().any(|bounds| bounds.header < *line && *line <= bounds.last)
            };
            let is_match =
                |line: &usize| snapshot.line(*line).is_some_and(|text| matches(text.trim()));
            (1..=total).filter(is_inside).filter(is_match).collect()
        };
        let mut found = lines_that(&|text| text == wanted);
        if found.is_empty() {
            found = lines_that(&|text| text.starts_with(wanted));
        }
        if found.is_empty() {
            // In a unified diff, the text after the line numbers need not be an enclosing line.
            return if hunk.near_line.is_some() {
                Ok(Vec::new())
            } else {
                Err(header_not_found(snapshot, wanted))
            };
        }
        outer = found.iter().map(|&line| block_of(snapshot, line)).collect();
    }
    if hunk.headers.is_empty() || hunk.near_line.is_some() {
        return Ok(Vec::new());
    }
    // Blocks above the previous hunk count only if there are no others.
    let below: Vec<Bounds> = outer.iter().copied().filter(|bounds| bounds.last >= from).collect();
    Ok(if below.is_empty() { outer } else { below })
}

/// Whether a hunk may be on these lines: they begin within the bounds, or include the header.
pub(super) fn is_within(bounds: &[Bounds], lines: LineSpan) -> bool {
    let allows = |bounds: &Bounds| {
        (bounds.header..=bounds.last).contains(&lines.start) || lines.contains(bounds.header)
    };
    bounds.is_empty() || bounds.iter().any(allows)
}

/// The block of the line at `header`: all lines up to the next one that is not more deeply indented,
/// other than those that begin with a bracket. For a line that opens no block, all lines below it.
fn block_of(snapshot: &Snapshot, header: usize) -> Bounds {
    let total = snapshot.lines().total();
    let text = |line: usize| snapshot.line(line).unwrap_or_default();
    let indent_width = |line: usize| text(line).len() - text(line).trim_start().len();
    let is_bracket =
        |line: usize| text(line).trim_start().starts_with(['{', '(', '[', '}', ')', ']']);
    let is_outside =
        |line: &usize| indent_width(*line) <= indent_width(header) && !is_bracket(*line);
    let mut below = (header + 1..=total).filter(|line| !text(*line).trim().is_empty()).peekable();
    let opens_block = below.peek().is_some_and(|line| !is_outside(line));
    let next = below.find(is_outside).filter(|_| opens_block);
    let last = next.map_or(total, |next| next - 1);
    Bounds { header, last }
}

/// The refusal of a header that is not in the file; it names the most similar line.
fn header_not_found(snapshot: &Snapshot, wanted: &str) -> Refusal {
    let mut refusal = Refusal::new(
        EditCode::NoOccurrence,
        format!("the line `{wanted}` of the @@ header is not in the file, or not below the previous @@ header"),
    )
    .hint("Write the @@ line as the file has it, or leave it out and give context lines.");
    if let Some(near) = nearest(snapshot, wanted, 1).pop() {
        let text = snapshot.line(near.start_line).unwrap_or_default().trim();
        refusal.message.push(format_args!("; the nearest is line {}, `{text}`", near.start_line));
        refusal.nearest = vec![near];
    }
    refusal
}

/// The refusal of a header that occurs several times, if nothing shows which one is meant.
pub(super) fn ambiguous_header(hunk: &Hunk, bounds: &[Bounds]) -> Refusal {
    let mut refusal = Refusal::new(
        EditCode::OccurrenceMismatch,
        format!(
            "the line `{}` of the @@ header is at {} places",
            innermost_header(hunk),
            bounds.len()
        ),
    )
    .hint("Give context lines around the new lines, or a further @@ line above this one.");
    refusal.occurrences = bounds.iter().map(|bounds| bounds.header).collect();
    refusal
}

/// The refusal of a hunk that fits in the file, but not within the bounds of its header.
pub(super) fn outside_header(hunk: &Hunk, bounds: &[Bounds], places: &[usize]) -> Refusal {
    let numbers: Vec<String> = places.iter().map(ToString::to_string).collect();
    let spans: Vec<String> = bounds
        .iter()
        .map(|bounds| LineSpan { start: bounds.header, end: bounds.last }.to_string())
        .collect();
    let mut refusal = Refusal::new(
        EditCode::NoOccurrence,
        format!(
            "the lines of the hunk fit at line {}, but the @@ header `{}` covers {}",
            numbers.join(", "),
            innermost_header(hunk),
            spans.join(", ")
        ),
    )
    .hint("Correct the @@ line, or give the lines that are below it in the file.");
    refusal.occurrences = places.to_vec();
    refusal
}

/// The text of the last header of a hunk.
fn innermost_header(hunk: &Hunk) -> &str {
    hunk.headers.last().map(|header| header.trim()).unwrap_or_default()
}
