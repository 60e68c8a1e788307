//! The places of a text with placeholders: each piece between them stands in the file, in order, and
//! what a placeholder stands for stays inside the block that the call shows.

use std::ops::Range;

use super::joined::joined;
use super::{Edges, Link, LinkKind, MAX_PLACE_LINES, Place, Places, with_blank_lines};
use crate::matching::budget;
use crate::matching::fold::is_word_char;
use crate::matching::indent::{TAB_WIDTH, columns};
use crate::matching::indent_of;
use crate::matching::placeholder::is_placeholder;
use crate::matching::source_file::{SourceFile, line_key};

/// The most ways to fill the gaps of placeholders that are compared.
const MAX_CHAINS: usize = 48;
/// The most placeholders of one text.
const MAX_PLACEHOLDERS: usize = 32;

/// The ranges of lines above, between and below the placeholders of a text. `None` if it has none or
/// too many, or if nothing is between two of them. A placeholder that the file has too is ordinary
/// text.
pub(super) fn split_at_placeholders(
    file: &SourceFile<'_>,
    old: &[&str],
    full: &[usize],
) -> Option<Vec<Range<usize>>> {
    let is_mark = |at: &usize| is_placeholder(old[*at]) && !file.text.contains(old[*at].trim());
    let marks: Vec<usize> = full.iter().copied().filter(is_mark).collect();
    if marks.is_empty() || marks.len() > MAX_PLACEHOLDERS {
        return None;
    }
    let mut pieces = Vec::new();
    let mut from = 0;
    for &mark in marks.iter().chain([&old.len()]) {
        pieces.push(from..mark);
        from = mark + 1;
    }
    let is_blank = |piece: &Range<usize>| old[piece.clone()].iter().all(|l| l.trim().is_empty());
    if pieces[1..pieces.len() - 1].iter().any(is_blank) {
        return None;
    }
    pieces.retain(|piece| !is_blank(piece));
    let has_words =
        |piece: &Range<usize>| old[piece.clone()].iter().any(|l| l.contains(is_word_char));
    pieces.iter().any(has_words).then_some(pieces)
}

/// The places of a text with placeholders: each piece stands in the file, in order.
pub(super) fn elided(file: &SourceFile<'_>, old: &[&str], pieces: &[Range<usize>]) -> Places {
    let mut out = Places::default();
    let mut spots: Vec<Vec<Vec<Link>>> = Vec::new();
    for piece in pieces {
        let full: Vec<usize> = piece.clone().filter(|&at| !old[at].trim().is_empty()).collect();
        let has_words = full.iter().any(|&at| old[at].contains(is_word_char));
        let found = match has_words {
            true => joined(file, old, &full, Edges::WHOLE_LINES),
            false => bracket_lines(file, old, &full),
        };
        if budget::spend(64 * found.list.len()).is_err() {
            return Places::default();
        }
        out.truncated |= found.truncated;
        let inner = |place: Place| {
            let is_inner = |link: &Link| piece.contains(&link.old.start) || link.old.is_empty();
            place.links.into_iter().filter(is_inner).collect()
        };
        spots.push(found.list.into_iter().map(inner).collect());
    }
    let mut chains: Vec<Vec<usize>> = (0..spots[0].len()).map(|at| vec![at]).collect();
    chains.truncate(MAX_CHAINS + 1);
    for part in 1..pieces.len() {
        let mut longer = Vec::new();
        for chain in &chains {
            let above = &spots[part - 1][chain[part - 1]];
            let after = (0..spots[part].len())
                .filter(|&at| stays_in_block(file, old, above, &spots[part][at]));
            longer.extend(after.take(MAX_CHAINS).map(|at| [chain.as_slice(), &[at]].concat()));
            if longer.len() > MAX_CHAINS {
                break;
            }
        }
        chains = longer;
    }
    out.truncated |= chains.len() > MAX_CHAINS;
    for chain in chains {
        let mut links: Vec<Link> = Vec::new();
        for (part, &at) in chain.iter().enumerate() {
            let piece = &spots[part][at];
            let (old_start, line_start) = (piece[0].old.start, piece[0].lines.start);
            // The edit needs none of the lines that a placeholder at an edge stands for.
            let (old_from, line_from) =
                links.last().map_or((0, line_start), |last| (last.old.end, last.lines.end));
            if old_from < old_start {
                let kind = LinkKind::Elided;
                links.push(Link::new(file, old_from..old_start, line_from..line_start, kind));
            }
            links.extend(piece.iter().cloned());
        }
        if let Some((old_end, line_end)) = links.last().map(|last| (last.old.end, last.lines.end))
            && old_end < old.len()
        {
            let kind = LinkKind::Elided;
            links.push(Link::new(file, old_end..old.len(), line_end..line_end, kind));
        }
        out.list.push(Place { links });
    }
    out
}

/// The places of lines without words: equal lines one after the other.
fn bracket_lines(file: &SourceFile<'_>, old: &[&str], full: &[usize]) -> Places {
    let lines = file.nonblank_lines();
    let keys: Vec<u64> = full.iter().map(|&at| line_key(old[at])).collect();
    let starts = (0..(lines.len() + 1).saturating_sub(full.len()))
        .filter(|&n| keys.iter().enumerate().all(|(k, key)| file.keys()[lines[n + k]] == *key));
    let place = |n: usize| {
        let links = full.iter().enumerate().map(|(k, &at)| {
            let line = lines[n + k];
            Link::new(file, at..at + 1, line..line + 1, LinkKind::Line)
        });
        with_blank_lines(file, old, links.collect())
    };
    let mut list: Vec<Place> = starts.take(MAX_PLACE_LINES / 8 + 1).map(place).collect();
    let truncated = list.len() > MAX_PLACE_LINES / 8;
    list.truncate(MAX_PLACE_LINES / 8);
    Places { list, truncated }
}

/// Whether the lines between two pieces stay in the block, the section and the definition that the
/// call shows: an elision never stands for the end of one and the beginning of another.
fn stays_in_block(file: &SourceFile<'_>, old: &[&str], above: &[Link], below: &[Link]) -> bool {
    let (Some(last), Some(first)) = (above.last(), below.first()) else { return false };
    let (from, to) = (last.lines.end, first.lines.start);
    if to < from {
        return false;
    }
    let width = |line: usize| columns(indent_of(file.body(line)), TAB_WIDTH);
    let (upper, lower) = (width(last.lines.end - 1), width(to));
    // In prose and unknown languages nothing shows where a section ends.
    let knows_blocks = file.language.is_some_and(|language| language.is_code());
    if upper == lower && !knows_blocks {
        return false;
    }
    let shows_deeper = {
        let column = |at: usize| columns(indent_of(old[at]), TAB_WIDTH);
        let mark = last.old.end;
        mark < old.len() && column(mark) > column(last.old.end - 1)
    };
    (from..to).filter(|&line| !file.is_blank(line)).all(|line| {
        let body = file.body(line).trim();
        let is_opening_brace = body == "{";
        if begins_section(file, line) {
            return false;
        }
        let here = width(line);
        // Inside the block that the line above opens, or that the line below closes.
        let inside = match upper.cmp(&lower) {
            _ if shows_deeper => here > upper,
            std::cmp::Ordering::Less => here > upper,
            // The lines of a block comment are one column deeper than its ends.
            std::cmp::Ordering::Equal => here + 1 >= upper,
            std::cmp::Ordering::Greater => here > lower,
        };
        inside || is_opening_brace
    })
}

/// Whether a line begins a section of a flat file, or a definition at the margin.
pub(in crate::matching) fn begins_section(file: &SourceFile<'_>, line: usize) -> bool {
    let body = file.body(line);
    let text = body.trim();
    let at_margin = indent_of(body).is_empty();
    let language = file.language.map_or("", |language| language.name);
    let uncommented = text.split(" #").next().unwrap_or_default().split(" ;").next();
    let is_header =
        text.starts_with('[') && uncommented.is_some_and(|text| text.trim_end().ends_with(']'));
    match language {
        "ini" | "toml" | "" if is_header => true,
        "markdown" | "text" | "" if text.starts_with("# ") || text.starts_with("## ") => true,
        "markdown" if text.starts_with('#') => true,
        // What is above it is a heading, or a part ends there.
        "markdown" | "text" | "" if text.len() > 2 && text.chars().all(|c| c == '-') => true,
        "markdown" | "text" | "" if text.len() > 2 && text.chars().all(|c| c == '=') => true,
        "tex" => {
            ["\\section", "\\chapter", "\\subsection", "\\begin", "\\end", "\\part", "\\paragraph"]
                .iter()
                .any(|head| text.starts_with(head))
        }
        "dockerfile" => text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("from ")),
        "yaml" => text.starts_with("---"),
        "make" => at_margin && text.contains(':') && !text.starts_with('#'),
        "markdown" | "text" => false,
        _ => at_margin && is_definition(text),
    }
}

/// Whether a line begins a definition.
fn is_definition(text: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "def",
        "class",
        "fn",
        "func",
        "function",
        "impl",
        "struct",
        "enum",
        "trait",
        "interface",
        "module",
        "mod",
        "namespace",
        "type",
        "server",
        "msgid",
        "FROM",
        "stage",
    ];
    const MODIFIERS: &[&str] = &[
        "pub",
        "export",
        "default",
        "async",
        "public",
        "private",
        "protected",
        "static",
        "final",
        "abstract",
        "unsafe",
        "const",
        "pub(crate)",
    ];
    let mut rest = text.split_whitespace().skip_while(|word| MODIFIERS.contains(word));
    rest.next().is_some_and(|word| KEYWORDS.contains(&word.trim_end_matches(['(', '{', '*'])))
}
