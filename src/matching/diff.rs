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
/// The same for a table of similarities: to compare the words of two lines takes longer than to
/// compare two keys.
const MAX_SIMILARITY_CELLS: usize = MAX_CELLS / 25;
/// How often what lies between pairs is searched for lines that occur once there. Without a limit,
/// the work could be quadratic.
const MAX_DEPTH: usize = 64;

/// Indices of lines that are paired, in order on both sides.
type Pairs = Vec<(usize, usize)>;

/// Pairs of equal lines, in order on both sides, as many as the bounded search finds.
pub(super) fn common_pairs(a: &[u64], b: &[u64]) -> Pairs {
    common_within(a, b, MAX_DEPTH)
}

/// The same, with so many searches within the gaps of another at most.
fn common_within(a: &[u64], b: &[u64], depth: usize) -> Pairs {
    let is_equal = |(a, b): &(&u64, &u64)| a == b;
    let head = a.iter().zip(b).take_while(is_equal).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(is_equal).count();
    let (x, y) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    let unique = if depth > 0 { unique_pairs(x, y) } else { Pairs::new() };
    let between = match unique.is_empty() {
        true => longest_common_subsequence(x, y),
        false => with_more(unique, (x.len(), y.len()), |in_x, in_y| {
            common_within(&x[in_x], &y[in_y], depth - 1)
        }),
    };
    let mut out: Pairs = (0..head).map(|at| (at, at)).collect();
    out.extend(between.into_iter().map(|(in_x, in_y)| (head + in_x, head + in_y)));
    let (x_end, y_end) = (head + x.len(), head + y.len());
    out.extend((0..tail).map(|at| (x_end + at, y_end + at)));
    out
}

/// These pairs of lines of two texts of `lens` lines, and those that `more` finds between them.
fn with_more(
    pairs: Pairs,
    lens: (usize, usize),
    more: impl Fn(Range<usize>, Range<usize>) -> Pairs,
) -> Pairs {
    let mut out = Pairs::new();
    for (x, y, pair) in with_gaps(pairs, lens) {
        let (from_x, from_y) = (x.start, y.start);
        out.extend(more(x, y).into_iter().map(|(in_x, in_y)| (from_x + in_x, from_y + in_y)));
        out.extend(pair);
    }
    out
}

/// Each pair with the lines between it and the one before, and last the lines behind them all.
fn with_gaps(
    pairs: Pairs,
    lens: (usize, usize),
) -> impl Iterator<Item = (Range<usize>, Range<usize>, Option<(usize, usize)>)> {
    let mut from = (0, 0);
    pairs.into_iter().map(Some).chain([None]).map(move |pair| {
        let (x, y) = pair.unwrap_or(lens);
        let gap = (from.0..x, from.1..y, pair);
        from = (x + 1, y + 1);
        gap
    })
}

/// The longest common subsequence of two blocks of lines; none if their table is too large.
fn longest_common_subsequence(a: &[u64], b: &[u64]) -> Pairs {
    let cells = a.len().saturating_mul(b.len());
    if cells > MAX_CELLS || budget::spend(cells).is_err() {
        return Pairs::new();
    }
    align(a.len(), b.len(), |r, c| (a[r] == b[c]).then_some(1.0))
}

/// Pairs of lines that occur once on each side: the longest sequence of them that has the same order
/// on both sides.
fn unique_pairs(a: &[u64], b: &[u64]) -> Pairs {
    if a.is_empty() || b.is_empty() {
        return Pairs::new();
    }
    // How often each line occurs on each side, and where it does so last.
    let mut seen: HashMap<u64, [(usize, usize); 2]> = HashMap::new();
    for (side, lines) in [a, b].into_iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            let (count, last) = &mut seen.entry(*line).or_default()[side];
            (*count, *last) = (*count + 1, at);
        }
    }
    let once = |sides: &[(usize, usize); 2]| match *sides {
        [(1, in_a), (1, in_b)] => Some((in_a, in_b)),
        _ => None,
    };
    let mut pairs: Pairs = seen.values().filter_map(once).collect();
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
    let lens = (old.len(), new.len());
    let pairs = common_pairs(&keys(old, |line| line), &keys(new, |line| line));
    // Between the equal lines, lines that differ only in their indentation are paired, and between
    // those the most similar ones.
    let (a, b) = (keys(old, str::trim), keys(new, str::trim));
    let pairs = with_more(pairs, lens, |x, y| common_pairs(&a[x], &b[y]));
    let pairs = with_more(pairs, lens, |x, y| similar_pairs(&old[x], &new[y]));
    let mut out = Vec::new();
    for (deleted, inserted, pair) in with_gaps(pairs, lens) {
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
fn similar_pairs(old: &[&str], new: &[&str]) -> Pairs {
    let cells = old.len().saturating_mul(new.len());
    if cells == 0 || cells > MAX_SIMILARITY_CELLS || budget::spend(8 * cells).is_err() {
        return Pairs::new();
    }
    // A single line that replaces a single line is a change even if the two have little in common.
    let least = if cells == 1 { MIN_SIMILARITY } else { 0.5 };
    let words = |lines: &[&str]| lines.iter().map(|line| Words::of(line)).collect::<Vec<_>>();
    let (old, new) = (words(old), words(new));
    align(old.len(), new.len(), |r, c| {
        let similarity = old[r].similarity(&new[c]);
        (similarity >= least).then_some(similarity)
    })
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
