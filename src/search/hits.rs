//! The second pass: the hits of a file from its decoded text, with anchors.

use super::query::{Hit, Query};
use super::scan::ScannedFile;
use super::{Columns, Context, FileHits, MAX_LINE_CHARS, MAX_MATCHES, Match};
use crate::edit::WorkPath;
use crate::hashline::stale::{render_clipped, short_id};
use crate::hashline::tag::{self, Width};
use crate::text::{ContentHash, LineSpan, Snapshot, each_line};

/// How many characters of a long line are before the hit.
const CHARS_BEFORE_HIT: usize = 60;

/// The hits of a file, and the lines that are shown. `None` when it has none by now.
pub(crate) fn hits_in(
    query: &Query,
    found: &ScannedFile,
    snapshot: &Snapshot,
    context: usize,
    limit: usize,
) -> Option<(FileHits, Vec<LineSpan>)> {
    let text = snapshot.text();
    let (mut matches, mut shown, mut count) = (Vec::new(), Vec::new(), 0);
    for (k, line) in each_line(text).enumerate() {
        let body = &text[line.body];
        let Some(hit) = query.find(body.as_bytes()) else { continue };
        count += 1;
        if matches.len() < MAX_MATCHES.min(limit) {
            let number = k + 1;
            matches.push(match_at(snapshot, number, body, hit, context));
            shown.push(LineSpan {
                start: number.saturating_sub(context).max(1),
                end: (number + context).min(snapshot.lines().total()),
            });
        }
    }
    let path = found.path.as_str();
    let hits = FileHits {
        id: short_hash(path),
        path: path.to_owned(),
        match_count: count,
        matches,
        terms: super::rank::count_terms(found),
        snapshot: short_id(snapshot),
        total_lines: snapshot.lines().total(),
    };
    (count > 0).then_some((hits, shown))
}

/// A file that is found by its path.
pub(crate) fn path_hit(path: &WorkPath, snapshot: &Snapshot) -> FileHits {
    FileHits {
        id: short_hash(path.as_str()),
        path: path.as_str().to_owned(),
        match_count: 0,
        matches: Vec::new(),
        terms: 0,
        snapshot: short_id(snapshot),
        total_lines: snapshot.lines().total(),
    }
}

fn short_hash(path: &str) -> String {
    let mut id = ContentHash::of(path.as_bytes()).to_string();
    id.truncate(12);
    id
}

fn match_at(snapshot: &Snapshot, number: usize, body: &str, hit: Hit, context: usize) -> Match {
    let mut anchor = String::new();
    tag::push(&mut anchor, number, body, Width::Two);
    let (content, columns) = trim_around(body, hit);
    let around = |range: std::ops::RangeInclusive<usize>| {
        range.filter_map(|n| Some(render_clipped(n, snapshot.line(n)?))).collect()
    };
    let context = (context > 0).then(|| Context {
        before: around(number.saturating_sub(context).max(1)..=number - 1),
        after: around(number + 1..=number + context),
    });
    let indent = match columns {
        None => body[..body.len() - body.trim_start().len()].to_owned(),
        Some(_) => String::new(),
    };
    Match { line: number, content, indent, anchor, columns, context }
}

/// The line without surrounding whitespace; of a long one at most 200 characters around the hit.
fn trim_around(body: &str, hit: Hit) -> (String, Option<Columns>) {
    let trimmed = body.trim();
    if trimmed.len() <= MAX_LINE_CHARS || trimmed.chars().count() <= MAX_LINE_CHARS {
        return (trimmed.to_owned(), None);
    }
    // A hit may start inside a character that is an invalid byte's replacement.
    let at =
        (0..=hit.start.min(body.len())).rev().find(|&at| body.is_char_boundary(at)).unwrap_or(0);
    let lead =
        body[..at].char_indices().rev().nth(CHARS_BEFORE_HIT - 1).map_or(0, |(start, _)| start);
    let start = lead.max(body.len() - body.trim_start().len()).min(at);
    let rest = &body[start..];
    let end = rest.char_indices().nth(MAX_LINE_CHARS).map_or(body.len(), |(end, _)| start + end);
    let before = body[..start].chars().count();
    let content = body[start..end].trim_end().to_owned();
    let columns = Columns {
        start: before + 1,
        end: before + content.chars().count(),
        hit: before + body[start..at].chars().count() + 1,
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
