//! What of a call is made already: lines that it adds, removes or replaces between two lines of the file,
//! which has there what `new_str` has.

use std::collections::HashSet;
use std::ops::Range;

use super::call::Call;
use super::costs::Difference;
use super::diff::LineOp;
use super::difference::is_alike_beyond;
use super::fold::is_word_char;
use super::forbidden;
use super::places::{Link, LinkKind, Place};
use super::source_file::{SourceFile, line_key};

/// A part of a call that is made already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    /// Its operations.
    pub(super) ops: Range<usize>,
    /// Its links.
    pub(super) links: Range<usize>,
    /// Its lines of `new_str`.
    pub(super) new: Vec<usize>,
    /// The same lines in the file, which stay.
    pub(super) lines: Range<usize>,
}

/// The parts of a call that are made already at a place: between two neighbours that stand there as they
/// were quoted, the file has the lines of `new_str`, and none that the call removes is left in the file.
pub(super) fn made(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    place: &Place,
    differences: &[Option<Difference>],
) -> Vec<Made> {
    let is_full = |line: &&str| !line.trim().is_empty();
    let anchors = call.ops.iter().enumerate().filter_map(|(at, op)| {
        let (LineOp::Keep(old, _) | LineOp::Change(old, _)) = *op else { return None };
        let link_at = place.link_index(old);
        let link = place.links.get(link_at).filter(|link| link.is_pair())?;
        let has_other_words =
            matches!(differences[link_at], Some(Difference::Words | Difference::Comment));
        (is_full(&call.old[old]) && !has_other_words).then_some((at, link_at, link))
    });
    let anchors: Vec<_> = anchors.collect();
    let mut out = Vec::new();
    for pair in anchors.windows(2) {
        let [(above_op, above_link, first), (below_op, below_link, last)] = *pair else {
            continue;
        };
        let (ops, links) = (above_op + 1..below_op, above_link + 1..below_link);
        let lines = first.lines.end..last.lines.start;
        // Where each line has one in the file, the lines are judged one by one.
        let is_alone = |link: &Link| {
            !link.is_paired()
                && (link.lines.clone().any(|line| !file.is_blank(line))
                    || call.old[link.old.clone()].iter().any(is_full))
        };
        let between = &place.links[links.clone()];
        if !between.iter().any(is_alone) || between.iter().any(|l| l.kind != LinkKind::Line) {
            continue;
        }
        let quoted = call.ops[ops.clone()].iter();
        let old = quoted.clone().filter_map(|op| op.old_at()).map(|at| call.old[at]);
        let new: Vec<usize> = quoted.filter_map(|op| op.new_at()).collect();
        let lines_there = lines.clone().map(|at| file.body(at));
        let is_same = |(at, there): (&usize, &str)| call.new[*at].trim() == there.trim();
        if new.len() != lines.len() || !new.iter().zip(lines_there).all(is_same) {
            continue;
        }
        let [old, wanted] =
            [old.collect(), new.iter().map(|&at| call.new[at]).collect()].map(with_words);
        let is_left = |line: &&str| !file.lines_with_key(line_key(line)).is_empty();
        // A place that lacks what the call removes may be another one.
        if !wanted.is_empty() && old != wanted && !old.difference(&wanted).any(is_left) {
            out.push(Made { ops, links, new, lines });
        }
    }
    // What the call adds at an edge may be made, too, and changed since.
    if !out.is_empty() && is_alike_beyond(file, call, place) { Vec::new() } else { out }
}

/// The lines with words.
fn with_words(lines: Vec<&str>) -> HashSet<&str> {
    lines.into_iter().map(str::trim).filter(|line| line.contains(is_word_char)).collect()
}

/// The most offsets of `old_str` in `new_str` that are compared with the file.
const MAX_OFFSETS: usize = 16;

/// Whether what `new` puts around `old` is around the place already, apart from white space, so that the
/// call was probably sent before.
pub(super) fn is_around(text: &str, place: &Range<usize>, old: &str, new: &str) -> bool {
    fn dense(text: &str) -> impl DoubleEndedIterator<Item = char> {
        text.chars().filter(|c| !c.is_whitespace())
    }
    let [old, new] = [old, new].map(|text| dense(text).collect::<String>());
    new.match_indices(&old).take(MAX_OFFSETS).any(|(at, _)| {
        let (head, tail) = (&new[..at], &new[at + old.len()..]);
        let mut before = dense(&text[..place.start]).rev();
        let mut after = dense(&text[place.end..]);
        !(head.is_empty() && tail.is_empty())
            && head.chars().rev().all(|c| before.next() == Some(c))
            && tail.chars().all(|c| after.next() == Some(c))
    })
}

/// Whether nobody adds the new lines a second time.
pub(super) fn is_telling(file: &SourceFile<'_>, old: &str, new: &str) -> bool {
    let added = new.lines().filter(|line| !old.lines().any(|other| other == *line));
    added.map(|line| file.bits(line)).sum::<f64>() >= forbidden::TELLING
}
