//! The `@@` lines of a hunk: each names a line of the file, and the hunk is within the block that
//! this line opens.

use super::Hunk;
use crate::edit::{EditCode, Refusal};
use crate::text::{LineSpan, Snapshot};

/// The lines that one header allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The header's own line.
    pub(super) header: usize,
    /// The last line where a hunk may begin.
    last: usize,
}

/// Where the hunk may be, for each occurrence of its innermost header; empty if nothing bounds it.
/// Refused if a header is not in the file.
pub(super) fn bounds(
    snapshot: &Snapshot,
    hunk: &Hunk,
    from: usize,
) -> Result<Vec<Bounds>, Refusal> {
    let total = snapshot.lines().total();
    let mut open = vec![Bounds { header: 0, last: total }];
    for header in &hunk.headers {
        let wanted = header.trim();
        let lines = |test: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let inside = |line: &usize| {
                open.iter().any(|bounds| bounds.header < *line && *line <= bounds.last)
            };
            let holds = |line: &usize| snapshot.line(*line).is_some_and(|text| test(text.trim()));
            (1..=total).filter(inside).filter(holds).collect()
        };
        let mut found = lines(&|text| text == wanted);
        if found.is_empty() {
            found = lines(&|text| text.starts_with(wanted));
        }
        if found.is_empty() {
            // After a line number, tools put any line that they take for the enclosing header.
            return if hunk.near_line.is_some() {
                Ok(Vec::new())
            } else {
                Err(header_not_found(snapshot, wanted))
            };
        }
        open = found.iter().map(|&line| block_of(snapshot, line)).collect();
    }
    if hunk.headers.is_empty() || hunk.near_line.is_some() {
        return Ok(Vec::new());
    }
    // Places above the previous hunk count only if there are no others.
    let below: Vec<Bounds> = open.iter().copied().filter(|bounds| bounds.last >= from).collect();
    Ok(if below.is_empty() { open } else { below })
}

/// Whether a hunk may be on these lines, which may include the header.
pub(super) fn is_within(bounds: &[Bounds], lines: LineSpan) -> bool {
    let fits = |b: &Bounds| {
        (b.header..=b.last).contains(&lines.start) || (lines.start..=lines.end).contains(&b.header)
    };
    bounds.is_empty() || bounds.iter().any(fits)
}

/// The block of the line at `header`: the more deeply indented lines below it, their closing line
/// and the line after that. A line without a block only says that the hunk is somewhere below it.
fn block_of(snapshot: &Snapshot, header: usize) -> Bounds {
    let total = snapshot.lines().total();
    let text = |line: usize| snapshot.line(line).unwrap_or_default();
    let depth = |line: usize| text(line).len() - text(line).trim_start().len();
    let blank = |line: usize| text(line).trim().is_empty();
    let own = depth(header);
    let opener = |line: &str| line.trim_end().ends_with(['{', '(', '[']);
    let closer = |line: &str| line.trim_start().starts_with(['}', ')', ']']);
    let mut below = (header + 1..=total).filter(|&line| !blank(line)).peekable();
    // A bracket on a line of its own belongs to the header.
    let alone = below.next_if(|&line| matches!(text(line).trim(), "{" | "(" | "["));
    let braced = alone.is_some() || opener(text(header));
    if !braced && below.peek().is_none_or(|&line| depth(line) <= own) {
        return Bounds { header, last: total };
    }
    for line in below {
        if depth(line) > own {
            continue;
        }
        let (closes, goes_on) =
            (closer(text(line)), opener(text(line)) || continues_statement(text(line)));
        let ends =
            if braced { closes && !goes_on } else { !closes && !continues_statement(text(line)) };
        if ends {
            // Behind a bracket one more line, where what follows the block is added.
            let last = if closes { line + 1 } else { line - 1 };
            let blanks = (last + 1..=total).take_while(|&next| closes && blank(next)).count();
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

fn header_not_found(snapshot: &Snapshot, wanted: &str) -> Refusal {
    let total = snapshot.lines().total();
    let distance = |line: usize| {
        let text = snapshot.line(line).unwrap_or_default().trim();
        rapidfuzz::distance::levenshtein::distance(wanted.chars(), text.chars())
    };
    let filled = |line: &usize| snapshot.line(*line).is_some_and(|text| !text.trim().is_empty());
    let nearest = (1..=total).filter(filled).min_by_key(|&line| distance(line));
    let place = nearest.map_or_else(String::new, |line| {
        let text = snapshot.line(line).unwrap_or_default().trim();
        format!("; the nearest is line {line}, `{text}`")
    });
    Refusal::new(
        EditCode::NoOccurrence,
        format!("the line `{wanted}` of the @@ header is not in the file, or not below the previous @@ header{place}"),
    )
    .hint("Write the @@ line as the file has it, or leave it out and give context lines.")
}

/// A header that occurs at several places, with nothing to tell which is meant.
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

/// The hunk fits, but not where its header says.
pub(super) fn outside_header(hunk: &Hunk, bounds: &[Bounds], places: &[usize]) -> Refusal {
    let list =
        |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let headed: Vec<String> = bounds
        .iter()
        .map(|bounds| LineSpan { start: bounds.header, end: bounds.last }.to_string())
        .collect();
    let mut refusal = Refusal::new(
        EditCode::NoOccurrence,
        format!(
            "the lines of the hunk fit at line {}, but the @@ header `{}` covers {}",
            list(places),
            innermost_header(hunk),
            headed.join(", ")
        ),
    )
    .hint("Correct the @@ line, or give the lines that stand below it in the file.");
    refusal.occurrences = places.to_vec();
    refusal
}

fn innermost_header(hunk: &Hunk) -> &str {
    hunk.headers.last().map(|header| header.trim()).unwrap_or_default()
}
