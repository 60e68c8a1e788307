//! The second pass of a search: finds the hits of one file in its decoded text and gives each an
//! anchor.

use super::query::{Hit, Query};
use super::scan::ScannedFile;
use super::{Columns, Context, FileHits, MAX_LINE_CHARS, MAX_MATCHES, Match};
use crate::edit::WorkPath;
use crate::hashline::stale::render_clipped;
use crate::text::tag;
use crate::text::{ContentHash, LineSpan, Snapshot, each_line};

/// How many characters before the hit are shown of a long line.
const CHARS_BEFORE_HIT: usize = 60;

/// Returns the hits of a file, of which at most `limit` are shown, and the lines that are shown.
/// `None` when the file has no hit any more, because it has changed since the scan.
pub(crate) fn hits_in(
    query: &Query,
    scanned: &ScannedFile,
    snapshot: &Snapshot,
    context: usize,
    limit: usize,
) -> Option<(FileHits, Vec<LineSpan>)> {
    let text = snapshot.text();
    let (mut matches, mut shown, mut count) = (Vec::new(), Vec::new(), 0);
    for (number, line) in (1..).zip(each_line(text)) {
        let body = &text[line.body];
        let Some(hit) = query.find(body.as_bytes()) else { continue };
        count += 1;
        if matches.len() < MAX_MATCHES.min(limit) {
            matches.push(match_at(snapshot, number, body, hit, context));
            shown.push(LineSpan {
                start: number.saturating_sub(context).max(1),
                end: (number + context).min(snapshot.lines().total()),
            });
        }
    }
    let path = scanned.path.as_str();
    let hits = FileHits {
        id: short_hash(path),
        path: path.to_owned(),
        match_count: count,
        matches,
        terms: super::rank::count_terms(scanned),
        snapshot: snapshot.hash().short(),
        total_lines: snapshot.lines().total(),
    };
    (count > 0).then_some((hits, shown))
}

/// Returns the entry of a file of which only the path matches the query.
pub(crate) fn path_hit(path: &WorkPath, snapshot: &Snapshot) -> FileHits {
    FileHits {
        id: short_hash(path.as_str()),
        path: path.as_str().to_owned(),
        match_count: 0,
        matches: Vec::new(),
        terms: 0,
        snapshot: snapshot.hash().short(),
        total_lines: snapshot.lines().total(),
    }
}

/// Returns the first 12 digits of the path's hash, which name the file in every search.
fn short_hash(path: &str) -> String {
    let mut id = ContentHash::of(path.as_bytes()).to_string();
    id.truncate(12);
    id
}

/// Returns the entry of one line with a hit: its text, its anchor and the lines around it.
fn match_at(snapshot: &Snapshot, number: usize, body: &str, hit: Hit, context: usize) -> Match {
    let mut anchor = String::new();
    tag::push(&mut anchor, number, body);
    let (content, columns) = trim_around(body, hit);
    let render_lines = |range: std::ops::RangeInclusive<usize>| {
        range.filter_map(|number| Some(render_clipped(number, snapshot.line(number)?))).collect()
    };
    let context = (context > 0).then(|| Context {
        before: render_lines(number.saturating_sub(context).max(1)..=number - 1),
        after: render_lines(number + 1..=number + context),
    });
    let indent = match columns {
        None => body[..body.len() - body.trim_start().len()].to_owned(),
        Some(_) => String::new(),
    };
    Match { line: number, content, indent, anchor, columns, context }
}

/// Returns the line without surrounding whitespace. Of a line over [`MAX_LINE_CHARS`] characters
/// it returns only the part around the hit, and the columns of that part.
fn trim_around(body: &str, hit: Hit) -> (String, Option<Columns>) {
    let trimmed = body.trim();
    if trimmed.len() <= MAX_LINE_CHARS || trimmed.chars().count() <= MAX_LINE_CHARS {
        return (trimmed.to_owned(), None);
    }
    // A hit may start inside the character that replaces an invalid byte: use its first byte.
    let hit_start = (0..=hit.start.min(body.len()))
        .rev()
        .find(|&offset| body.is_char_boundary(offset))
        .unwrap_or(0);
    let lead = body[..hit_start]
        .char_indices()
        .rev()
        .nth(CHARS_BEFORE_HIT - 1)
        .map_or(0, |(offset, _)| offset);
    let indent = body.len() - body.trim_start().len();
    let start = lead.max(indent).min(hit_start);
    let end = body[start..]
        .char_indices()
        .nth(MAX_LINE_CHARS)
        .map_or(body.len(), |(offset, _)| start + offset);
    let chars_before = body[..start].chars().count();
    let content = body[start..end].trim_end().to_owned();
    let columns = Columns {
        start: chars_before + 1,
        end: chars_before + content.chars().count(),
        hit: chars_before + body[start..hit_start].chars().count() + 1,
    };
    (content, Some(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_windowed_around_the_hit_with_columns() {
        let body = format!("{}é needle {}", "x".repeat(5000), "y".repeat(5000));
        let start = body.find("needle").expect("there");
        let (content, columns) = trim_around(&body, Hit { mask: 1, start, end: start + 6 });
        assert_eq!(content.chars().count(), MAX_LINE_CHARS);
        assert!(content.contains("é needle y"));
        let columns = columns.expect("windowed");
        assert_eq!(columns.hit, 5003);
        let shown: String =
            body.chars().skip(columns.start - 1).take(columns.end + 1 - columns.start).collect();
        assert_eq!(shown, content);
        assert_eq!(
            trim_around("  short needle ", Hit { mask: 1, start: 8, end: 14 }),
            ("short needle".into(), None)
        );
    }
}
