//! The second pass of a search: finds the hits of one file in its decoded text and gives each an
//! anchor.

use super::query::{Hit, Query};
use super::scan::ScannedFile;
use super::{Context, FileHits, MAX_LINE_CHARS, MAX_MATCHES, Match};
use crate::edit::WorkPath;
use crate::hashline::stale::render_clipped;
use crate::text::tag;
use crate::text::{ContentHash, LineSpan, Snapshot, clip, cut_note, each_line};

/// How many characters before the hit are shown of a long line.
const CHARS_BEFORE_HIT: usize = 60;
/// How many characters of a long line are shown in all; the note on its columns takes the rest.
const CHARS_OF_LONG_LINE: usize = MAX_LINE_CHARS - 42;

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
    let hits = FileHits { match_count: count, matches, ..path_hit(&scanned.path, snapshot) };
    (count > 0).then_some((hits, shown))
}

/// Returns the entry of a file of which only the path matches the query.
pub(crate) fn path_hit(path: &WorkPath, snapshot: &Snapshot) -> FileHits {
    FileHits {
        id: ContentHash::of(path.as_str().as_bytes()).short(),
        path: path.as_str().to_owned(),
        match_count: 0,
        matches: Vec::new(),
        snapshot: snapshot.hash().short(),
        total_lines: snapshot.lines().total(),
    }
}

/// Returns the entry of one line with a hit: its text, its anchor and the lines around it.
fn match_at(snapshot: &Snapshot, number: usize, body: &str, hit: Hit, context: usize) -> Match {
    let mut anchor = String::new();
    tag::push(&mut anchor, number, body);
    let render_lines = |range: std::ops::RangeInclusive<usize>| {
        range.filter_map(|number| Some(render_clipped(number, snapshot.line(number)?))).collect()
    };
    let context = (context > 0).then(|| Context {
        before: render_lines(number.saturating_sub(context).max(1)..=number - 1),
        after: render_lines(number + 1..=number + context),
    });
    let indent = body[..body.len() - body.trim_start().len()].to_owned();
    Match { line: number, content: trim_around(body, hit.start), indent, anchor, context }
}

/// Returns the line without surrounding whitespace. Of a line over [`MAX_LINE_CHARS`] characters
/// it returns only the part around the hit, with `…` where the line goes on, and which columns it is.
fn trim_around(body: &str, hit_start: usize) -> String {
    let trimmed = body.trim();
    if trimmed.chars().nth(MAX_LINE_CHARS).is_none() {
        return trimmed.to_owned();
    }
    let indent = body.len() - body.trim_start().len();
    let before = trimmed.get(..hit_start.saturating_sub(indent)).unwrap_or_default();
    let lead = before.char_indices().rev().nth(CHARS_BEFORE_HIT - 1).map_or(0, |(at, _)| at);
    let ellipsis = if lead > 0 { "…" } else { "" };
    let shown = clip(&trimmed[lead..], CHARS_OF_LONG_LINE);
    let first = body[..indent + lead].chars().count() + 1;
    let last = first + shown.trim_end_matches('…').chars().count() - 1;
    format!("{ellipsis}{shown}{}", cut_note(body, first, last))
}
