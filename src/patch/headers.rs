//! The `@@` headers of a hunk: each names a line of the file, and the hunk must be within the block
//! that this line opens.

use super::Hunk;
use crate::edit::{EditCode, Refusal};
use crate::matching::budget::{Exhausted, spend};
use crate::text::{LineSpan, Snapshot, list_lines};

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

/// The block of the line at `header`: the more deeply indented lines below it, and in a block with
/// brackets also its closing line, the line below that and the blank lines that follow. For a line
/// that opens no block, all lines below it.
fn block_of(snapshot: &Snapshot, header: usize) -> Bounds {
    let total = snapshot.lines().total();
    let text = |line: usize| snapshot.line(line).unwrap_or_default();
    let indent_width = |line: usize| text(line).len() - text(line).trim_start().len();
    let is_blank = |line: usize| text(line).trim().is_empty();
    let header_indent = indent_width(header);
    let opens_bracket = |line: usize| text(line).trim_end().ends_with(['{', '(', '[']);
    let closes_bracket = |line: usize| text(line).trim_start().starts_with(['}', ')', ']']);
    let mut below = (header + 1..=total).filter(|&line| !is_blank(line)).peekable();
    // A bracket on a line of its own belongs to the header.
    let lone_bracket = below.next_if(|&line| matches!(text(line).trim(), "{" | "(" | "["));
    let has_brackets = lone_bracket.is_some() || opens_bracket(header);
    if !has_brackets && below.peek().is_none_or(|&line| indent_width(line) <= header_indent) {
        return Bounds { header, last: total };
    }
    for line in below {
        if indent_width(line) > header_indent {
            continue;
        }
        let closes = closes_bracket(line);
        let continues = continues_statement(text(line));
        let ends_block = match has_brackets {
            true => closes && !opens_bracket(line) && !continues,
            false => !closes && !continues,
        };
        if ends_block {
            // A hunk may also begin on the line after the closing bracket, to add lines there.
            let last = if closes { line + 1 } else { line - 1 };
            let blanks = (last + 1..=total).take_while(|&next| closes && is_blank(next)).count();
            return Bounds { header, last: last + blanks };
        }
    }
    Bounds { header, last: total }
}

/// Whether a line continues the statement above it.
fn continues_statement(line: &str) -> bool {
    let word = line.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    matches!(word, "else" | "elif" | "elsif" | "except" | "finally" | "catch" | "rescue" | "ensure")
}

/// How many characters of a header are compared with each line, to find the most similar one.
const MAX_COMPARED: usize = 200;

/// The refusal of a header that is not in the file; it names the most similar line.
fn header_not_found(snapshot: &Snapshot, wanted: &str) -> Refusal {
    let total = snapshot.lines().total();
    let distance = |line: usize| {
        let text = snapshot.line(line).unwrap_or_default().trim();
        if spend(MAX_COMPARED).is_err() {
            return usize::MAX;
        }
        let start = |text: &str| text.chars().take(MAX_COMPARED).collect::<String>();
        rapidfuzz::distance::levenshtein::distance(start(wanted).chars(), start(text).chars())
    };
    let is_nonblank =
        |line: &usize| snapshot.line(*line).is_some_and(|text| !text.trim().is_empty());
    let nearest = (1..=total).filter(is_nonblank).min_by_key(|&line| distance(line));
    let nearest = nearest.map_or_else(String::new, |line| {
        let text = snapshot.line(line).unwrap_or_default().trim();
        format!("; the nearest is line {line}, `{text}`")
    });
    Refusal::new(
        EditCode::NoOccurrence,
        format!("the line `{wanted}` of the @@ header is not in the file, or not below the previous @@ header{nearest}"),
    )
    .hint("Write the @@ line as the file has it, or leave it out and give context lines.")
}

/// The refusal of a header that occurs several times, if nothing shows which one is meant.
pub(super) fn ambiguous_header(hunk: &Hunk, bounds: &[Bounds]) -> Refusal {
    let headers: Vec<usize> = bounds.iter().map(|bounds| bounds.header).collect();
    let mut refusal = Refusal::new(
        EditCode::OccurrenceMismatch,
        format!(
            "the line `{}` of the @@ header is at {} places (at lines {})",
            innermost_header(hunk),
            headers.len(),
            list_lines(&headers)
        ),
    )
    .hint("Give context lines around the new lines, or a further @@ line above this one.");
    refusal.occurrences = headers;
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
