//! The line operations of a call (keep, change, delete, insert), and the line diff that they share
//! with the search for similar regions.
//!
//! The work is bounded: lines that occur once on both sides are paired first, and what
//! lies between them is compared only while it is small.

use std::collections::HashMap;
use std::ops::Range;

use super::budget;
use super::fold::plain_key;
use super::places::Words;

/// The most cells of one comparison table. Blocks of lines that need more count as replaced.
const MAX_CELLS: usize = 250_000;
/// The most cells of all tables of one comparison. Lines in another order need many tables.
const MAX_TOTAL_CELLS: usize = 16 * MAX_CELLS;
/// The same for one table of similarities: to compare the words of two lines takes longer than to
/// compare two keys.
const MAX_SIMILARITY_CELLS: usize = MAX_CELLS / 25;

/// Indices of lines that are paired, in order on both sides.
type Pairs = Vec<(usize, usize)>;

/// Pairs of equal lines, in order on both sides, as many as the bounded search finds.
pub(super) fn common_pairs(a: &[u64], b: &[u64]) -> Pairs {
    let mut common = Common { a, b, pairs: Pairs::new(), cells_left: MAX_TOTAL_CELLS };
    common.pair_between(0..a.len(), 0..b.len());
    common.pairs
}

/// The search for pairs of equal lines.
struct Common<'a> {
    a: &'a [u64],
    b: &'a [u64],
    pairs: Pairs,
    /// How many table cells the search may still use.
    cells_left: usize,
}

impl Common<'_> {
    /// Adds the pairs in the range `x` of `a` and the range `y` of `b`.
    fn pair_between(&mut self, mut x: Range<usize>, mut y: Range<usize>) {
        let (a, b) = (self.a, self.b);
        while !x.is_empty() && !y.is_empty() && a[x.start] == b[y.start] {
            self.pairs.push((x.start, y.start));
            (x.start, y.start) = (x.start + 1, y.start + 1);
        }
        let mut tail = Pairs::new();
        while !x.is_empty() && !y.is_empty() && a[x.end - 1] == b[y.end - 1] {
            (x.end, y.end) = (x.end - 1, y.end - 1);
            tail.push((x.end, y.end));
        }
        if !x.is_empty() && !y.is_empty() {
            let unique = unique_pairs(a, b, &x, &y);
            if unique.is_empty() {
                self.pair_most(x, y);
            } else {
                self.fill(x, y, unique);
            }
        }
        self.pairs.extend(tail.into_iter().rev());
    }

    /// Adds these pairs, and those between them.
    fn fill(&mut self, x: Range<usize>, y: Range<usize>, pairs: Pairs) {
        for (x, y, pair) in with_gaps(x, y, pairs) {
            self.pair_between(x, y);
            self.pairs.extend(pair);
        }
    }

    /// Adds the longest common subsequence of two blocks of lines, unless their table is too large.
    fn pair_most(&mut self, x: Range<usize>, y: Range<usize>) {
        let cells = x.len().saturating_mul(y.len());
        if cells > MAX_CELLS.min(self.cells_left) {
            return;
        }
        self.cells_left -= cells;
        if budget::spend(cells).is_ok() {
            let is_equal = |r: usize, c: usize| self.a[x.start + r] == self.b[y.start + c];
            let pairs = align(x.len(), y.len(), |r, c| is_equal(r, c).then_some(1.0));
            self.pairs.extend(pairs.into_iter().map(|(r, c)| (x.start + r, y.start + c)));
        }
    }
}

/// Each pair with what lies between it and the one before, and last what lies behind them all, in the
/// range `x` of one side and the range `y` of the other.
fn with_gaps(
    mut x: Range<usize>,
    mut y: Range<usize>,
    pairs: Pairs,
) -> impl Iterator<Item = (Range<usize>, Range<usize>, Option<(usize, usize)>)> {
    let pairs = pairs.into_iter().map(Some).chain([None]);
    pairs.map(move |pair| {
        let (in_x, in_y) = pair.unwrap_or((x.end, y.end));
        let gap = (x.start..in_x, y.start..in_y);
        (x.start, y.start) = (in_x + 1, in_y + 1);
        (gap.0, gap.1, pair)
    })
}

/// Pairs of lines that occur once on each side: the longest sequence of them that has the same order
/// on both sides.
fn unique_pairs(a: &[u64], b: &[u64], x: &Range<usize>, y: &Range<usize>) -> Pairs {
    /// How often a line occurs on each side, and where it does so last.
    #[derive(Default)]
    struct Occurrences {
        count: [usize; 2],
        last: [usize; 2],
    }
    let mut seen: HashMap<u64, Occurrences> = HashMap::new();
    let lines = x.clone().map(|at| (a[at], 0, at)).chain(y.clone().map(|at| (b[at], 1, at)));
    for (key, side, at) in lines {
        let line = seen.entry(key).or_default();
        line.count[side] += 1;
        line.last[side] = at;
    }
    let unique = seen.values().filter(|line| line.count == [1, 1]);
    let mut pairs: Pairs = unique.map(|line| line.last.into()).collect();
    pairs.sort_unstable();
    longest_increasing(&pairs)
}

/// The longest subsequence of pairs whose second members increase.
fn longest_increasing(pairs: &[(usize, usize)]) -> Pairs {
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
    let chain = std::iter::successors(ends.last().copied(), |&at| previous[at]);
    let mut out: Pairs = chain.map(|at| pairs[at]).collect();
    out.reverse();
    out
}

/// The pairs of rows and columns, in order, that are worth most together; those that `worth` gives
/// nothing for are no pairs.
fn align(rows: usize, columns: usize, worth: impl Fn(usize, usize) -> Option<f64>) -> Pairs {
    let width = columns + 1;
    let mut best = vec![0.0_f64; (rows + 1) * width];
    for r in (0..rows).rev() {
        for c in (0..columns).rev() {
            let skipped = best[(r + 1) * width + c].max(best[r * width + c + 1]);
            let paired = worth(r, c).map(|worth| worth + best[(r + 1) * width + c + 1]);
            best[r * width + c] = paired.map_or(skipped, |paired| paired.max(skipped));
        }
    }
    let mut out = Pairs::new();
    let (mut r, mut c) = (0, 0);
    while r < rows && c < columns {
        let here = best[r * width + c];
        if worth(r, c).is_some_and(|worth| worth + best[(r + 1) * width + c + 1] >= here) {
            out.push((r, c));
            (r, c) = (r + 1, c + 1);
        } else if best[(r + 1) * width + c] >= here {
            r += 1;
        } else {
            c += 1;
        }
    }
    out
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
    // What replaces one line is that line, whatever they have in common.
    if let ([one], [other]) = (old, new)
        && one != other
    {
        return vec![LineOp::Change(0, 0)];
    }
    let keys = |lines: &[&str], part: fn(&str) -> &str| -> Vec<u64> {
        lines.iter().map(|line| plain_key(part(line))).collect()
    };
    let (x, y) = (0..old.len(), 0..new.len());
    let equal = common_pairs(&keys(old, |line| line), &keys(new, |line| line));
    // Between the equal lines, lines that differ only in their indentation are paired, and between
    // those the most similar ones.
    let (a, b) = (keys(old, str::trim), keys(new, str::trim));
    let mut common = Common { a: &a, b: &b, pairs: Pairs::new(), cells_left: MAX_TOTAL_CELLS };
    common.fill(x.clone(), y.clone(), equal);
    let gaps = with_gaps(x.clone(), y.clone(), common.pairs);
    let pairs = gaps.flat_map(|(x, y, pair)| similar_pairs(old, new, x, y).into_iter().chain(pair));
    let mut out = Vec::new();
    for (deleted, inserted, pair) in with_gaps(x, y, pairs.collect()) {
        out.extend(deleted.map(LineOp::Delete));
        out.extend(inserted.map(LineOp::Insert));
        out.extend(pair.map(|(in_old, in_new)| {
            let op = if old[in_old] == new[in_new] { LineOp::Keep } else { LineOp::Change };
            op(in_old, in_new)
        }));
    }
    out
}

/// The lines of a replaced block that are changed into each other: the most similar ones, in order.
fn similar_pairs(old: &[&str], new: &[&str], x: Range<usize>, y: Range<usize>) -> Pairs {
    let cells = x.len().saturating_mul(y.len());
    if cells == 0 || cells > MAX_SIMILARITY_CELLS || budget::spend(8 * cells).is_err() {
        return Pairs::new();
    }
    let words = |lines: &[&str]| lines.iter().map(|line| Words::of(line)).collect::<Vec<_>>();
    let (old_words, new_words) = (words(&old[x.clone()]), words(&new[y.clone()]));
    // A single line that replaces a single line is a change even if the two have little in common.
    let least = if cells == 1 { MIN_SIMILARITY } else { 0.5 };
    let pairs = align(x.len(), y.len(), |r, c| {
        let similarity = old_words[r].similarity(&new_words[c]);
        (similarity >= least).then_some(similarity)
    });
    pairs.into_iter().map(|(r, c)| (x.start + r, y.start + c)).collect()
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
