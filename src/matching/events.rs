//! What a call does to its lines: which it keeps, changes, takes away and adds.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::tokens;

/// What happens to the lines of `old` and `new`, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// `new` has the line as `old` has it.
    Keep(usize, usize),
    /// A line that was changed into another.
    Change(usize, usize),
    /// A line that is gone.
    Delete(usize),
    /// A line that is new.
    Insert(usize),
}

/// What a call does to its lines.
pub(super) fn events(old: &[&str], new: &[&str]) -> Vec<Event> {
    let key = |lines: &[&str]| lines.iter().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>();
    let ops = capture_diff_slices(Algorithm::Patience, &key(old), &key(new));
    let mut out = Vec::new();
    for op in ops {
        let (o, n) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } => out.extend(o.zip(n).map(|(o, n)| Event::Keep(o, n))),
            DiffOp::Delete { .. } => out.extend(o.map(Event::Delete)),
            DiffOp::Insert { .. } => out.extend(n.map(Event::Insert)),
            DiffOp::Replace { .. } => pair_up(old, new, o, n, &mut out),
        }
    }
    out
}

/// Where a block that comes or goes ends like the line above it, either of the two can
/// be the line that stays: the first, unless only the last is the same to the last blank,
/// or what stands below decides how the file's line ends, as the last item of a list has
/// no comma. `ends_otherwise` tells that of a line of `old`.
pub(super) fn keep_the_last(
    old: &[&str],
    new: &[&str],
    events: &mut [Event],
    ends_otherwise: impl Fn(usize) -> bool,
) {
    let same = |a: &str, b: &str| a.trim_end() == b.trim_end();
    let mut at = 1;
    while at < events.len() {
        let kind = std::mem::discriminant(&events[at]);
        let run = events[at..].iter().take_while(|e| std::mem::discriminant(*e) == kind).count();
        let (mut from, mut to) = (at, at + run);
        at = to;
        if to < events.len() && !matches!(events[to], Event::Keep(..)) {
            continue;
        }
        while from > 0 {
            let (kept, gone) = match (events[from - 1], events[to - 1]) {
                (Event::Keep(o, n), Event::Insert(last))
                    if new[n] != old[o] && new[last] == old[o]
                        || same(new[last], new[n]) && ends_otherwise(o) =>
                {
                    (Event::Keep(o, last), Event::Insert(n))
                }
                (Event::Keep(o, n), Event::Delete(last))
                    if old[o] != new[n] && old[last] == new[n]
                        || same(old[last], old[o]) && ends_otherwise(last) =>
                {
                    (Event::Keep(last, n), Event::Delete(o))
                }
                _ => break,
            };
            events[to - 1] = kept;
            events[from - 1] = gone;
            from -= 1;
            to -= 1;
        }
    }
}

/// Of several blank lines in a row, the first ones are those that stay.
pub(super) fn stay_first(old: &[&str], new: &[&str], events: &mut [Event]) {
    for at in 1..events.len() {
        let mut to = at;
        while to > 0
            && let (Event::Insert(first), Event::Keep(o, second)) = (events[to - 1], events[to])
            && new[first] == new[second]
            && old[o].trim().is_empty()
        {
            events[to - 1] = Event::Keep(o, first);
            events[to] = Event::Insert(second);
            to -= 1;
        }
    }
}

/// Inside a replaced block: which new line is which old line, changed.
fn pair_up(old: &[&str], new: &[&str], o: Range<usize>, n: Range<usize>, out: &mut Vec<Event>) {
    let (rows, columns) = (o.len(), n.len());
    if rows * columns > 40_000 {
        out.extend(o.map(Event::Delete));
        out.extend(n.map(Event::Insert));
        return;
    }
    let mut likeness = vec![0.0_f64; rows * columns];
    for (r, a) in o.clone().enumerate() {
        for (c, b) in n.clone().enumerate() {
            let (a, b) = (old[a].trim(), new[b].trim());
            likeness[r * columns + c] = match (a.is_empty(), b.is_empty()) {
                (true, true) => 0.5,
                (false, false) if a == b => 2.0,
                (false, false) => tokens::likeness(a, b),
                _ => 0.0,
            };
        }
    }
    // One line for one line is a changed line even if little is left of it.
    let floor = if rows == 1 && columns == 1 { 0.2 } else { 0.5 };
    let value = |r: usize, c: usize| {
        let like = likeness[r * columns + c];
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
            out.push(Event::Change(o.start + r, n.start + c));
            r += 1;
            c += 1;
        } else if best[(r + 1) * width + c] >= here {
            out.push(Event::Delete(o.start + r));
            r += 1;
        } else {
            out.push(Event::Insert(n.start + c));
            c += 1;
        }
    }
    out.extend((o.start + r..o.end).map(Event::Delete));
    out.extend((n.start + c..n.end).map(Event::Insert));
}
