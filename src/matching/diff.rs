//! What a call does to its lines: which it keeps, changes, deletes and inserts. And the line diff
//! that this and the search for near places share.
//!
//! The work is bounded: lines that occur once on both sides are paired first, and what
//! lies between them is compared only while it is small.

use std::collections::HashMap;
use std::ops::Range;

use super::budget;
use super::tokens;

/// Cells of one table of comparisons; beyond it the lines count as replaced.
const MAX_CELLS: usize = 250_000;
/// Cells of all tables of one comparison, of which lines in another order need many.
const MAX_TOTAL_CELLS: usize = 16 * MAX_CELLS;

/// Pairs of equal lines, in order on both sides, as many as the bounded search finds.
pub(super) fn common_pairs(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut out = Pairs { found: Vec::new(), left: MAX_TOTAL_CELLS };
    pair_between(a, b, 0..a.len(), 0..b.len(), &mut out);
    out.found
}

/// Pairs of equal lines, and how many cells their search may still take.
struct Pairs {
    found: Vec<(usize, usize)>,
    left: usize,
}

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
        let anchors = unique_pairs(a, b, &x, &y);
        if anchors.is_empty() {
            longest_common_subsequence(a, b, &x, &y, out);
        } else {
            let (mut i, mut j) = (x.start, y.start);
            for (p, q) in anchors {
                pair_between(a, b, i..p, j..q, out);
                out.found.push((p, q));
                (i, j) = (p + 1, q + 1);
            }
            pair_between(a, b, i..x.end, j..y.end, out);
        }
    }
    out.found.extend(tail.into_iter().rev());
}

/// Lines that occur once on each side: the longest sequence of them that keeps its order.
fn unique_pairs(a: &[u64], b: &[u64], x: &Range<usize>, y: &Range<usize>) -> Vec<(usize, usize)> {
    let mut seen: HashMap<u64, (usize, usize, usize, usize)> = HashMap::new();
    for at in x.clone() {
        let entry = seen.entry(a[at]).or_default();
        (entry.0, entry.1) = (entry.0 + 1, at);
    }
    for at in y.clone() {
        if let Some(entry) = seen.get_mut(&b[at]) {
            (entry.2, entry.3) = (entry.2 + 1, at);
        }
    }
    let mut pairs: Vec<(usize, usize)> =
        seen.values().filter(|e| e.0 == 1 && e.2 == 1).map(|e| (e.1, e.3)).collect();
    pairs.sort_unstable();
    longest_increasing(&pairs)
}

/// The longest subsequence whose second members increase.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let slot = ends.partition_point(|&end| pairs[end].1 < pair.1);
        before.push(slot.checked_sub(1).map(|last| ends[last]));
        match ends.get_mut(slot) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut out = Vec::new();
    let mut at = ends.last().copied();
    while let Some(here) = at {
        out.push(pairs[here]);
        at = before[here];
    }
    out.reverse();
    out
}

/// The longest common subsequence of two small blocks.
fn longest_common_subsequence(
    a: &[u64],
    b: &[u64],
    x: &Range<usize>,
    y: &Range<usize>,
    out: &mut Pairs,
) {
    let (rows, columns) = (x.len(), y.len());
    let cells = rows.saturating_mul(columns);
    if cells > MAX_CELLS.min(out.left) {
        return;
    }
    out.left -= cells;
    budget::spend(cells);
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

/// What happens to the lines of `old` and `new`, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOp {
    /// `new` has exactly the line of `old`, whitespace included.
    Keep(usize, usize),
    /// A line that was changed into another; if only in its indentation, the words are equal.
    Change(usize, usize),
    /// A deleted line.
    Delete(usize),
    /// An inserted line.
    Insert(usize),
}

/// What a call does to its lines.
pub(super) fn line_ops(old: &[&str], new: &[&str]) -> Vec<LineOp> {
    let key = |line: &&str| super::source_file::Tolerance::Indentation.key(line);
    let exact = |line: &&str| super::fold::plain_key(line);
    let (a, b): (Vec<u64>, Vec<u64>) =
        (old.iter().map(exact).collect(), new.iter().map(exact).collect());
    let mut pairs = common_pairs(&a, &b);
    // A line that differs only in its indentation counts as moved.
    let (c, d): (Vec<u64>, Vec<u64>) =
        (old.iter().map(key).collect(), new.iter().map(key).collect());
    let mut more = Pairs { found: Vec::new(), left: MAX_TOTAL_CELLS };
    let ends = [(old.len(), new.len())];
    let (mut i, mut j) = (0, 0);
    for &(p, q) in pairs.iter().chain(&ends) {
        pair_between(&c, &d, i..p, j..q, &mut more);
        (i, j) = (p + 1, q + 1);
    }
    pairs.extend(more.found);
    pairs.sort_unstable();
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (p, q) in pairs.into_iter().chain(ends) {
        pair_changed(old, new, i..p, j..q, &mut out);
        if p < old.len() || q < new.len() {
            let same = old[p] == new[q];
            out.push(if same { LineOp::Keep(p, q) } else { LineOp::Change(p, q) });
        }
        (i, j) = (p + 1, q + 1);
    }
    out
}

/// Inside a replaced block: which new line is which old line, changed.
fn pair_changed(
    old: &[&str],
    new: &[&str],
    x: Range<usize>,
    y: Range<usize>,
    out: &mut Vec<LineOp>,
) {
    let (rows, columns) = (x.len(), y.len());
    if rows == 0 || columns == 0 || rows.saturating_mul(columns) > MAX_CELLS / 25 {
        out.extend(x.map(LineOp::Delete));
        out.extend(y.map(LineOp::Insert));
        return;
    }
    let mut similarity = vec![0.0_f64; rows * columns];
    for (r, a) in x.clone().enumerate() {
        for (c, b) in y.clone().enumerate() {
            let (a, b) = (old[a].trim(), new[b].trim());
            similarity[r * columns + c] = match (a.is_empty(), b.is_empty()) {
                (true, true) => 0.5,
                (false, false) => tokens::similarity(a, b),
                _ => 0.0,
            };
        }
    }
    // One line for one line is a changed line even if little is left of it.
    let floor = if rows == 1 && columns == 1 { 0.2 } else { 0.5 };
    let value = |r: usize, c: usize| {
        let like = similarity[r * columns + c];
        if like >= floor { like } else { f64::NEG_INFINITY }
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
