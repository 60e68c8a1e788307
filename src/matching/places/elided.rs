//! The places of a text with placeholders: each piece between them stands in the file, in order, and
//! what a placeholder stands for stays inside the block that the call shows.

use std::cell::LazyCell;
use std::ops::Range;

use super::joined::joined;
use super::{Edges, Link, LinkKind, MAX_PLACE_LINES, Place, Places, with_blank_lines};
use crate::language::Language;
use crate::matching::budget;
use crate::matching::call::Call;
use crate::matching::fold::is_word_char;
use crate::matching::indent::depth;
use crate::matching::indent_of;
use crate::matching::placeholder::{is_placeholder, lines_like_placeholders};
use crate::matching::shape::{ends_block, is_among};
use crate::matching::source_file::{SourceFile, line_key};

/// The most ways to fill the gaps of placeholders that are compared.
const MAX_CHAINS: usize = 48;
/// The most placeholders of one text.
const MAX_PLACEHOLDERS: usize = 32;

/// The ranges of lines above, between and below the placeholders of a text. `None` if it has none or
/// too many, or if nothing is between two of them. A placeholder that the file has too is ordinary
/// text.
fn pieces(file: &SourceFile<'_>, old: &[&str]) -> Option<Vec<Range<usize>>> {
    let lines_there = LazyCell::new(|| lines_like_placeholders(file));
    let is_mark = |at: &usize| is_placeholder(old[*at]) && !lines_there.contains(old[*at].trim());
    let marks: Vec<usize> = (0..old.len()).filter(is_mark).collect();
    if marks.is_empty() || marks.len() > MAX_PLACEHOLDERS {
        return None;
    }
    let starts = std::iter::once(0).chain(marks.iter().map(|mark| mark + 1));
    let ends = marks.iter().copied().chain([old.len()]);
    let mut pieces: Vec<Range<usize>> = starts.zip(ends).map(|(from, to)| from..to).collect();
    let is_blank = |piece: &Range<usize>| old[piece.clone()].iter().all(|l| l.trim().is_empty());
    if pieces[1..pieces.len() - 1].iter().any(is_blank) {
        return None;
    }
    pieces.retain(|piece| !is_blank(piece));
    let has_words =
        |piece: &Range<usize>| old[piece.clone()].iter().any(|l| l.contains(is_word_char));
    pieces.iter().any(has_words).then_some(pieces)
}

/// The places of a text with placeholders: all pieces, in order. `None` if the text has none.
pub(super) fn elided(file: &SourceFile<'_>, call: &Call<'_>) -> Option<Places> {
    let old = &call.old;
    let pieces = pieces(file, old)?;
    let whole_lines = Edges { may_begin_inside: false, may_end_inside: false };
    let elided = |old, lines| Link { kind: LinkKind::Elided, ..Link::new(file, old, lines) };
    let join = |above: &[Link], piece: &[Link]| {
        let (old_to, line_to) = (piece[0].old.start, piece[0].lines.start);
        // The edit needs none of the lines that a placeholder at an edge stands for.
        let (old_from, line_from) =
            above.last().map_or((0, line_to), |last| (last.old.end, last.lines.end));
        let between = (old_from < old_to).then(|| elided(old_from..old_to, line_from..line_to));
        [above, between.as_slice(), piece].concat()
    };
    let mut out = Places::default();
    let mut chains: Vec<Vec<Link>> = vec![Vec::new()];
    for piece in pieces {
        let full: Vec<usize> = piece.clone().filter(|&at| !old[at].trim().is_empty()).collect();
        let found = match full.iter().any(|&at| old[at].contains(is_word_char)) {
            true => joined(file, call, &full, whole_lines),
            false => bracket_lines(file, call, &full),
        };
        if budget::spend(64 * found.list.len()).is_err() {
            return Some(Places::default());
        }
        out.truncated |= found.truncated;
        let is_inner = |link: &Link| piece.contains(&link.old.start) || link.old.is_empty();
        let inner = |place: Place| place.links.into_iter().filter(is_inner).collect();
        let spots: Vec<Vec<Link>> = found.list.into_iter().map(inner).collect();
        let mut longer = Vec::new();
        for above in &chains {
            let fits =
                |spot: &&Vec<Link>| above.is_empty() || stays_in_block(file, old, above, spot);
            // One more than is compared, so that it shows.
            let below = spots.iter().filter(fits).take(MAX_CHAINS + 1);
            longer.extend(below.map(|spot| join(above, spot)));
            if longer.len() > MAX_CHAINS {
                break;
            }
        }
        chains = longer;
    }
    out.truncated |= chains.len() > MAX_CHAINS;
    let place = |mut links: Vec<Link>| {
        let end = links.last().map(|last| (last.old.end, last.lines.end));
        let rest = end.filter(|end| end.0 < old.len());
        links.extend(rest.map(|(from, line)| elided(from..old.len(), line..line)));
        Place { links }
    };
    out.list = chains.into_iter().map(place).collect();
    Some(out)
}

/// The places of lines without words: equal lines one after the other.
fn bracket_lines(file: &SourceFile<'_>, call: &Call<'_>, full: &[usize]) -> Places {
    const MAX_PLACES: usize = MAX_PLACE_LINES / 8;
    let lines = file.nonblank_lines();
    let keys: Vec<u64> = full.iter().map(|&at| line_key(call.old[at])).collect();
    let place = |there: &[usize]| {
        let link = |(&at, &line): (&usize, &usize)| Link::new(file, at..at + 1, line..line + 1);
        with_blank_lines(file, call, full.iter().zip(there).map(link).collect())
    };
    let are_equal =
        |there: &&[usize]| there.iter().zip(&keys).all(|(&line, key)| file.keys()[line] == *key);
    let found = lines.windows(full.len()).filter(are_equal);
    let mut list: Vec<Place> = found.take(MAX_PLACES + 1).map(place).collect();
    let truncated = list.len() > MAX_PLACES;
    list.truncate(MAX_PLACES);
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
    let (upper, lower) = (depth(file.body(from - 1)), depth(file.body(to)));
    // In prose and unknown languages nothing shows where a section ends.
    if upper == lower && !file.language.is_some_and(Language::is_code) {
        return false;
    }
    // Of lines that only end blocks, the first is the next that ends a block that the call shows the head of.
    let ends = |line: &&str| line.trim().is_empty() || ends_block(line.trim());
    let is_end = |link: &Link| old[link.old.clone()].iter().all(ends);
    let is_head = |link: &Link, end: usize| {
        let head = link.lines.start;
        let inside = (head + 1..end).find(|&line| !file.is_blank(line));
        depth(file.body(head)) == depth(file.body(end))
            && inside.is_some_and(|line| depth(file.body(line)) > depth(file.body(head)))
    };
    let ends_nearer = |line: usize| {
        file.keys()[line] == file.keys()[to] && above.iter().any(|link| is_head(link, line))
    };
    let is_own = |link: &Link| {
        is_head(link, to) && depth(old[link.old.start]) == depth(old[first.old.start])
    };
    if upper > lower
        && below.iter().all(is_end)
        && (from..to).any(ends_nearer)
        && !above.iter().any(is_own)
    {
        return false;
    }
    let mark = last.old.end;
    let shows_deeper =
        old.get(mark).is_some_and(|mark_line| depth(mark_line) > depth(old[mark - 1]));
    (from..to).filter(|&line| !file.is_blank(line)).all(|line| {
        let here = depth(file.body(line));
        // Inside the block that the line above opens, or that the line below closes.
        let is_inside = match shows_deeper || upper < lower {
            true => here > upper,
            // The lines of a block comment are one column deeper than its ends.
            false if upper == lower => here + 1 >= upper,
            false => here > lower,
        };
        !begins_section(file, line) && (is_inside || file.body(line).trim() == "{")
    })
}

/// Whether a line begins a section of a flat file, or a definition at the margin.
pub(in crate::matching) fn begins_section(file: &SourceFile<'_>, line: usize) -> bool {
    const TEX_HEADS: &[&str] =
        &["\\section", "\\chapter", "\\subsection", "\\begin", "\\end", "\\part", "\\paragraph"];
    let body = file.body(line);
    let text = body.trim();
    let is_at_margin = indent_of(body).is_empty();
    let uncommented = text.split(" #").next().and_then(|text| text.split(" ;").next());
    let is_header =
        text.starts_with('[') && uncommented.is_some_and(|text| text.trim_end().ends_with(']'));
    let is_rule = |mark: char| text.len() > 2 && text.chars().all(|c| c == mark);
    match file.language.map_or("", |language| language.name) {
        "ini" | "toml" | "" if is_header => true,
        "markdown" if text.starts_with('#') => true,
        "markdown" | "text" | "" if text.starts_with("# ") || text.starts_with("## ") => true,
        // What is above it is a heading, or a part ends there.
        "markdown" | "text" | "" if is_rule('-') || is_rule('=') => true,
        "markdown" | "text" => false,
        "tex" => TEX_HEADS.iter().any(|head| text.starts_with(head)),
        "dockerfile" => text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("from ")),
        "yaml" => text.starts_with("---"),
        "make" => is_at_margin && text.contains(':') && !text.starts_with('#'),
        _ => is_at_margin && is_definition(text),
    }
}

/// Whether a line begins a definition.
fn is_definition(text: &str) -> bool {
    const KEYWORDS: &str = "def class fn func function impl struct enum trait interface module mod \
        namespace type server msgid FROM stage";
    const MODIFIERS: &str = "pub export default async public private protected static final \
        abstract unsafe const pub(crate)";
    let mut rest = text.split_whitespace().skip_while(|word| is_among(MODIFIERS, word));
    rest.next().is_some_and(|word| is_among(KEYWORDS, word.trim_end_matches(['(', '{', '*'])))
}
