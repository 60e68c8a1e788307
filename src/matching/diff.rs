//! The line operations of a call (keep, change, delete, insert), and the line diff that they share
//! with the search for similar regions.
//!
//! The work is bounded: lines that occur once on both sides are paired first, and what
//! lies between them is compared only while it is small.

use std::collections::HashMap;
use std::ops::Range;

use super::budget;
use super::places::Words;

/// The most cells of one comparison table. Blocks of lines that need more count as replaced.
const MAX_CELLS: usize = 250_000;
/// The most cells of all tables of one comparison. Lines in another order need many tables.
const MAX_TOTAL_CELLS: usize = 16 * MAX_CELLS;

/// Pairs of equal lines, in order on both sides, as many as the bounded search finds.
pub(super) fn common_pairs(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut out = Pairs { found: Vec::new(), cells_left: MAX_TOTAL_CELLS };
    pair_between(a, b, 0..a.len(), 0..b.len(), &mut out);
    out.found
}

/// Pairs of equal lines.
struct Pairs {
    found: Vec<(usize, usize)>,
    /// How many table cells the search may still use.
    cells_left: usize,
}

/// Adds the pairs of equal lines in the range `x` of `a` and the range `y` of `b`.
fn pair_between(a: &[u64], b: &[u64], mut x: Range<usize>, mut y: Range<usize>, out: &mut Pairs) {
    while !x.is_empty() && !y.is_empty() && a[x.start] == b[y.start] {
        out.found.push((x.start, y.start));
        (x.start, y.start) = (x.start + 1, y.start + 1);
    }
    let mut tail = Vec::new();
    while !x.is_empty() && !y.is_empty() && a[x.end - 1] == b[y.end - 1] {
        (x.end, y.end) = (x.end - 1, y.end - 1);
        tail.push((x.end, y.end));
    }
    if !x.is_empty() && !y.is_empty() {
        let unique = unique_pairs(a, b, &x, &y);
        if unique.is_empty() {
            longest_common_subsequence(a, b, &x, &y, out);
        } else {
            let (mut a_from, mut b_from) = (x.start, y.start);
            for (in_a, in_b) in unique {
                pair_between(a, b, a_from..in_a, b_from..in_b, out);
                out.found.push((in_a, in_b));
                (a_from, b_from) = (in_a + 1, in_b + 1);
            }
            pair_between(a, b, a_from..x.end, b_from..y.end, out);
        }
    }
    out.found.extend(tail.into_iter().rev());
}

/// Pairs of lines that occur once on each side: the longest sequence of them that has the same order
/// on both sides.
fn unique_pairs(a: &[u64], b: &[u64], x: &Range<usize>, y: &Range<usize>) -> Vec<(usize, usize)> {
    /// How often a line occurs on each side, and where it does so last.
    #[derive(Default)]
    struct Occurrences {
        count_a: usize,
        last_a: usize,
        count_b: usize,
        last_b: usize,
    }
    let mut seen: HashMap<u64, Occurrences> = HashMap::new();
    for at in x.clone() {
        let line = seen.entry(a[at]).or_default();
        line.count_a += 1;
        line.last_a = at;
    }
    for at in y.clone() {
        if let Some(line) = seen.get_mut(&b[at]) {
            line.count_b += 1;
            line.last_b = at;
        }
    }
    let unique = seen.values().filter(|line| line.count_a == 1 && line.count_b == 1);
    let mut pairs: Vec<(usize, usize)> = unique.map(|line| (line.last_a, line.last_b)).collect();
    pairs.sort_unstable();
    longest_increasing(&pairs)
}

/// The longest subsequence of pairs whose second members increase.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let slot = ends.partition_point(|&end| pairs[end].1 < pair.1);
        previous.push(slot.checked_sub(1).map(|last| ends[last]));
        match ends.get_mut(slot) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut out = Vec::new();
    let mut at = ends.last().copied();
    while let Some(here) = at {
        out.push(pairs[here]);
        at = previous[here];
    }
    out.reverse();
    out
}

/// Adds the longest common subsequence of two blocks of lines, unless their table is too large.
fn longest_common_subsequence(
    a: &[u64],
    b: &[u64],
    x: &Range<usize>,
    y: &Range<usize>,
    out: &mut Pairs,
) {
    let (rows, columns) = (x.len(), y.len());
    let cells = rows.saturating_mul(columns);
    if cells > MAX_CELLS.min(out.cells_left) {
        return;
    }
    out.cells_left -= cells;
    if budget::spend(cells).is_err() {
        return;
    }
    let width = columns + 1;
    let mut best = vec![0_u32; (rows + 1) * width];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            best[i * width + j] = match a[x.start + i] == b[y.start + j] {
                true => best[(i + 1) * width + j + 1] + 1,
                false => best[(i + 1) * width + j].max(best[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        if a[x.start + i] == b[y.start + j] {
            out.found.push((x.start + i, y.start + j));
            (i, j) = (i + 1, j + 1);
        } else if best[(i + 1) * width + j] >= best[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

/// What a call does to a line, by its indices in `old` and `new` (in this order, from 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOp {
    /// Keeps a line, whitespace included.
    Keep(usize, usize),
    /// Changes a line into another, perhaps only in its indentation.
    Change(usize, usize),
    /// Deletes a line of `old`.
    Delete(usize),
    /// Inserts a line of `new`.
    Insert(usize),
}

impl LineOp {
    /// The line of `old` that it is about; `None` for a new line.
    pub(super) fn old_at(self) -> Option<usize> {
        match self {
            Self::Keep(old, _) | Self::Change(old, _) | Self::Delete(old) => Some(old),
            Self::Insert(_) => None,
        }
    }

    /// The line of `new` that it leaves; `None` for a deleted line.
    pub(super) fn new_at(self) -> Option<usize> {
        match self {
            Self::Keep(_, new) | Self::Change(_, new) | Self::Insert(new) => Some(new),
            Self::Delete(_) => None,
        }
    }
}

/// How alike a line and the one that replaces it are at least if they have something in common.
pub(super) const MIN_SIMILARITY: f64 = 0.2;

/// What a call does to its lines, in order.
pub(super) fn line_ops(old: &[&str], new: &[&str]) -> Vec<LineOp> {
    let exact_keys = |lines: &[&str]| -> Vec<u64> {
        lines.iter().map(|line| super::fold::plain_key(line)).collect()
    };
    // What replaces one line is that line, whatever they have in common.
    if let ([one], [other]) = (old, new)
        && one != other
    {
        return vec![LineOp::Change(0, 0)];
    }
    let mut pairs = common_pairs(&exact_keys(old), &exact_keys(new));
    // Between the equal lines, lines that differ only in their indentation are paired.
    let keys = |lines: &[&str]| -> Vec<u64> {
        lines.iter().map(|line| super::fold::plain_key(line.trim())).collect()
    };
    let (old_keys, new_keys) = (keys(old), keys(new));
    let mut reindented = Pairs { found: Vec::new(), cells_left: MAX_TOTAL_CELLS };
    // One more pair, behind the last lines, so that the loops also see the lines after the last pair.
    let end_pair = [(old.len(), new.len())];
    let (mut old_from, mut new_from) = (0, 0);
    for &(in_old, in_new) in pairs.iter().chain(&end_pair) {
        pair_between(&old_keys, &new_keys, old_from..in_old, new_from..in_new, &mut reindented);
        (old_from, new_from) = (in_old + 1, in_new + 1);
    }
    pairs.extend(reindented.found);
    pairs.sort_unstable();
    let mut out = Vec::new();
    let (mut old_from, mut new_from) = (0, 0);
    for (in_old, in_new) in pairs.into_iter().chain(end_pair) {
        pair_changed(old, new, old_from..in_old, new_from..in_new, &mut out);
        if in_old < old.len() || in_new < new.len() {
            let op = if old[in_old] == new[in_new] { LineOp::Keep } else { LineOp::Change };
            out.push(op(in_old, in_new));
        }
        (old_from, new_from) = (in_old + 1, in_new + 1);
    }
    out
}

/// Adds the operations of a replaced block: the most similar lines, paired in order, are changes, and
/// the others are deletions and insertions.
fn pair_changed(
    old: &[&str],
    new: &[&str],
    x: Range<usize>,
    y: Range<usize>,
    out: &mut Vec<LineOp>,
) {
    let (rows, columns) = (x.len(), y.len());
    // A cell compares the words of two lines, which takes longer than to compare two keys.
    let max_cells = MAX_CELLS / 25;
    if rows == 0 || columns == 0 || rows.saturating_mul(columns) > max_cells {
        out.extend(x.map(LineOp::Delete));
        out.extend(y.map(LineOp::Insert));
        return;
    }
    if budget::spend(8 * rows * columns).is_err() {
        return;
    }
    let words = |lines: &[&str]| lines.iter().map(|line| Words::of(line)).collect::<Vec<_>>();
    let (old_words, new_words) = (words(&old[x.clone()]), words(&new[y.clone()]));
    let mut similarity = vec![0.0_f64; rows * columns];
    for (r, in_old) in x.clone().enumerate() {
        for (c, in_new) in y.clone().enumerate() {
            let are_blank = old[in_old].trim().is_empty() && new[in_new].trim().is_empty();
            similarity[r * columns + c] =
                if are_blank { 0.5 } else { old_words[r].similarity(&new_words[c]) };
        }
    }
    // A single line that replaces a single line is a change even if the two have little in common.
    let min_similarity = if rows == 1 && columns == 1 { MIN_SIMILARITY } else { 0.5 };
    let value = |r: usize, c: usize| {
        let similarity = similarity[r * columns + c];
        if similarity >= min_similarity { similarity } else { f64::NEG_INFINITY }
    };
    let width = columns + 1;
    let mut best = vec![0.0_f64; (rows + 1) * width];
    for r in (0..rows).rev() {
        for c in (0..columns).rev() {
            let paired = value(r, c) + best[(r + 1) * width + c + 1];
            let skipped = best[(r + 1) * width + c].max(best[r * width + c + 1]);
            best[r * width + c] = paired.max(skipped);
        }
    }
    let (mut r, mut c) = (0, 0);
    while r < rows && c < columns {
        let here = best[r * width + c];
        if value(r, c) + best[(r + 1) * width + c + 1] >= here && value(r, c) > 0.0 {
            out.push(LineOp::Change(x.start + r, y.start + c));
            (r, c) = (r + 1, c + 1);
        } else if best[(r + 1) * width + c] >= here {
            out.push(LineOp::Delete(x.start + r));
            r += 1;
        } else {
            out.push(LineOp::Insert(y.start + c));
            c += 1;
        }
    }
    out.extend((x.start + r..x.end).map(LineOp::Delete));
    out.extend((y.start + c..y.end).map(LineOp::Insert));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_changed_deleted_and_added() {
        let old = ["a", "let x = 1;", "b", "gone", "c"];
        let new = ["a", "let x = 2;", "b", "  c", "d"];
        assert_eq!(
            line_ops(&old, &new),
            [
                LineOp::Keep(0, 0),
                LineOp::Change(1, 1),
                LineOp::Keep(2, 2),
                LineOp::Delete(3),
                LineOp::Change(4, 3),
                LineOp::Insert(4),
            ]
        );
    }

    #[test]
    fn many_equal_lines_take_linear_work() {
        let a = vec![7_u64; 20_000];
        let b = vec![7_u64; 20_001];
        assert_eq!(common_pairs(&a, &b).len(), 20_000);
        let c: Vec<u64> = (0..20_000).collect();
        let d: Vec<u64> = (0..20_000).rev().collect();
        assert_eq!(common_pairs(&c, &d).len(), 1);
    }
}
