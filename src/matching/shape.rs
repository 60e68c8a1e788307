//! The shape of a result: how its lines are nested, with the lines around the place. Of several ways to
//! indent the same text, the one whose steps are those of code is likelier.

use std::cmp::Ordering;

use super::fold::is_word_char;
use super::indent::{TAB_WIDTH, columns};
use super::indent_of;
use super::places::Place;
use super::source_file::SourceFile;

/// Words at the end of a line below which a block begins.
const BLOCK_WORDS: &[&str] = &["then", "do", "else", "begin", "try", "repeat"];

/// Words at the start of a line below which a block may begin.
const HEADS: &[&str] = &[
    "if", "else", "elif", "elsif", "elseif", "unless", "for", "while", "until", "switch", "case",
    "when", "def", "class", "module", "function", "begin", "rescue", "ensure",
];

/// How far above a place the open levels are looked for.
const MAX_ABOVE: usize = 200;

/// How many lines of a result stand at a depth that nothing explains: deeper by other than one level, or
/// below a line that opens nothing; as deep as a line that opens a block; or back at a depth that no line
/// above has.
pub(super) fn odd_lines<'l>(
    file: &SourceFile<'_>,
    place: &Place,
    lines: impl Iterator<Item = (&'l str, &'l str)>,
) -> u8 {
    let width = |indent: &str| columns(indent, TAB_WIDTH);
    let of_file = |at: usize| {
        let body = file.body(at);
        (width(indent_of(body)), body.trim())
    };
    let range = place.lines();
    let is_full = |at: &usize| !file.is_blank(*at);
    let above = (0..range.start).rev().filter(is_full).take(MAX_ABOVE);
    let mut open: Vec<usize> = Vec::new();
    let mut last: Option<&str> = None;
    for at in above {
        let (depth, text) = of_file(at);
        last = last.or(Some(text));
        if open.last().is_none_or(|least| depth < *least) {
            open.push(depth);
        }
        if depth == 0 {
            break;
        }
    }
    open.reverse();
    let unit = file.indent_unit().unwrap_or(TAB_WIDTH);
    let below = (range.end..file.lines().len()).find(is_full).map(of_file);
    let written = lines.map(|(indent, text)| (width(indent), text.trim()));
    let is_code = file.language.is_none_or(|language| language.is_code());
    let mut odd = 0_u8;
    for (depth, text) in written.filter(|(_, text)| !text.is_empty()).chain(below) {
        let deepest = open.last().copied().unwrap_or(0);
        let is_odd = match depth.cmp(&deepest) {
            Ordering::Greater => is_code && depth - deepest != unit || !last.is_some_and(opens),
            Ordering::Less => !open.contains(&depth),
            Ordering::Equal => last.is_some_and(must_hold) && text.starts_with(is_word_char),
        };
        // What closes a bracket is less deep than what is inside.
        let is_inside =
            text.starts_with([')', ']', '}']) && depth >= deepest && !last.is_some_and(opens);
        odd = odd.saturating_add(u8::from((is_odd || is_inside) && last.is_some()));
        open.retain(|level| *level < depth);
        open.push(depth);
        last = Some(text);
    }
    odd
}

/// Whether a deeper line must follow a line, by its end.
fn must_hold(line: &str) -> bool {
    line.ends_with(['{', ':']) && !line.starts_with("case ") && !line.starts_with("default")
}

/// Whether a deeper line may follow a line, by its end.
pub(super) fn opens(line: &str) -> bool {
    let count = |marks: [char; 3]| line.matches(marks).count();
    line.ends_with(['{', '(', '[', ':', '>', '=', '\\', '+', '|', '&'])
        || line.starts_with("- ")
        || line.contains("<<")
        || is_head(line)
        || BLOCK_WORDS
            .iter()
            .any(|word| line.strip_suffix(word).is_some_and(|rest| !rest.ends_with(is_word_char)))
        || count(['(', '[', '{']) > count([')', ']', '}'])
        || line.matches(')').count() > line.matches('(').count() && line.len() > 1
}

/// Whether a line is the head of a block without a mark at its end.
fn is_head(line: &str) -> bool {
    let first = line.trim_start_matches(['}', ' ']).split(|c| !is_word_char(c)).next();
    HEADS.contains(&first.unwrap_or_default()) && !line.ends_with([';', ',', '}'])
}
