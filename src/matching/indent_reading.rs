//! Whether `new_str` has the same wrong indentation as `old_str`. The lines that both strings
//! share are the evidence. If there are none, both readings are possible; equal results count
//! once.

use super::budget;
use super::diff::LineOp;
use super::indent::{self, ObservedIndent};
use super::indent_of;
use super::outcome::MergeInput;

/// How the indentation of a new line is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndentReading {
    /// As it was sent.
    AsSent,
    /// As it was sent, and so are the lines that the call keeps.
    AllAsSent,
    /// By the rule of this number that explains the other lines.
    ByRule(usize),
    /// Like the nearest line of the call, where no rule explains all lines.
    LikeNearest,
    /// Like the nearest line of the call, or as it was sent if there is none.
    LikeNearestOrSent,
    /// Relative to the first line of `new_str`, as it was sent.
    RelativeToFirst,
}

impl IndentReading {
    /// How it reads the call, for a caller that chooses between several.
    pub(super) fn description(self) -> Option<&'static str> {
        match self {
            Self::AsSent => Some("new lines indented as they were sent"),
            Self::AllAsSent => Some("every line of new_str indented as it was sent"),
            Self::LikeNearestOrSent => {
                Some("new lines re-indented like the lines above them, where possible")
            }
            Self::RelativeToFirst => {
                Some("new lines indented relative to the first line, as they were sent")
            }
            Self::ByRule(_) | Self::LikeNearest => {
                Some("new lines re-indented like the lines of old_str")
            }
        }
    }

    /// The indentation of a line of `new_str`; `None` where this reading does not reach it.
    pub(super) fn apply(self, call: &MergeInput<'_, '_>, n: usize) -> Option<String> {
        let sent = indent_of(call.new[n]);
        if matches!(self, Self::AsSent | Self::AllAsSent) {
            return Some(sent.to_owned());
        }
        if self == Self::LikeNearestOrSent {
            return Self::LikeNearest.apply(call, n).or_else(|| Some(sent.to_owned()));
        }
        if self == Self::RelativeToFirst {
            return relative_to_first(call, n);
        }
        if let Some(first) = first_line_indent(call, n) {
            return Some(first);
        }
        if let Self::ByRule(rule) = self
            && let Some(mapped) = call.map.rules.get(rule)?.apply(sent)
        {
            return Some(mapped);
        }
        let near = nearest_pair(call, n)?;
        let at = call.paired.binary_search(&near).ok()?;
        match call.map.lookup(sent, at) {
            ObservedIndent::As(seen) => Some(seen.to_owned()),
            ObservedIndent::Conflicting => None,
            ObservedIndent::Unseen => like_nearest(call, near, sent),
        }
    }
}

/// Where `old_str` lost the first line's indentation, the first line of `new_str` lost the
/// same and gets the indentation of the file's first line.
fn first_line_indent(call: &MergeInput<'_, '_>, n: usize) -> Option<String> {
    let first = *call.paired.first().filter(|_| call.map.first_line_excluded)?;
    let is_first = call.new[..n].iter().all(|line| line.trim().is_empty());
    let same = indent_of(call.new[n]) == indent_of(call.old[first]);
    (is_first && same).then(|| call.file_indent(first).map(str::to_owned))?
}

/// The file's indentation of the first line, plus what the line of `new_str` has beyond the first
/// line of `new_str`.
fn relative_to_first(call: &MergeInput<'_, '_>, n: usize) -> Option<String> {
    let first = call.file_indent(*call.paired.first()?)?;
    let first_new = call.new.iter().find(|line| !line.trim().is_empty())?;
    let deeper = indent_of(call.new[n]).strip_prefix(indent_of(first_new))?;
    Some(format!("{first}{deeper}"))
}

/// Whether, relative to its first line, `new_str` is indented as the file is, while only the first
/// line of `old_str` has lost its indentation. Then `new_str` may have been written as a separate
/// block.
fn is_separate_block(call: &MergeInput<'_, '_>) -> bool {
    let Some(&first) = call.paired.first().filter(|_| call.map.first_line_excluded) else {
        return false;
    };
    let Some(head) = call.new.iter().position(|line| !line.trim().is_empty()) else { return false };
    if indent_of(call.new[head]) != indent_of(call.old[first]) {
        return false;
    }
    let mut further = 0;
    for op in &call.line_ops {
        let (LineOp::Keep(o, n) | LineOp::Change(o, n)) = *op else { continue };
        if o == first || n == head || call.new[n].trim().is_empty() {
            continue;
        }
        let Some(file) = call.file_indent(o) else { continue };
        if relative_to_first(call, n).as_deref() != Some(file) {
            return false;
        }
        further += 1;
    }
    if further > 0 {
        return true;
    }
    // No line is shared: as a whole.
    let nonblank = (head + 1..call.new.len()).filter(|&n| !call.new[n].trim().is_empty());
    let new = nonblank.map(|n| relative_to_first(call, n).map(|indent| indent.len())).min();
    let file = call.paired[1..].iter().map(|&o| call.file_indent(o).map(str::len)).min();
    new.is_some() && new == file
}

/// The line of `old_str` nearest above a line of `new_str`, or below it if there is none above,
/// among those that have a place in the file.
fn nearest_pair(call: &MergeInput<'_, '_>, n: usize) -> Option<usize> {
    let mut above = None;
    let mut passed = false;
    for op in &call.line_ops {
        budget::spend(1);
        let (o, at) = match *op {
            LineOp::Keep(o, n) | LineOp::Change(o, n) => (Some(o), Some(n)),
            LineOp::Delete(o) => (Some(o), None),
            LineOp::Insert(n) => (None, Some(n)),
        };
        let known = o.filter(|o| call.paired.binary_search(o).is_ok());
        if at == Some(n) && o.is_some() {
            return known.or(above);
        }
        passed |= at == Some(n);
        if passed && above.is_some() {
            return above;
        }
        above = known.or(above);
    }
    above
}

/// The indentation that keeps the step to the line `near`: in the file as in the call.
fn like_nearest(call: &MergeInput<'_, '_>, near: usize, sent: &str) -> Option<String> {
    let (was, is) = (indent_of(call.old[near]), call.file_indent(near)?);
    if let Some(deeper) = sent.strip_prefix(was) {
        return Some(format!("{is}{}", call.map.scale(deeper)));
    }
    let gone = call.map.scale(was.strip_prefix(sent)?);
    is.len()
        .checked_sub(gone.len())
        .filter(|at| is.is_char_boundary(*at))
        .map(|at| is[..at].to_owned())
}

/// The readings of the indentation of new lines that are consistent with the call.
pub(super) fn indent_readings(call: &MergeInput<'_, '_>) -> Vec<IndentReading> {
    if call.map.is_same() {
        return vec![IndentReading::AsSent];
    }
    let irregular = call.map.is_irregular();
    let mapped: Vec<IndentReading> = match irregular {
        true => vec![IndentReading::LikeNearest],
        false => (0..call.map.rules.len()).map(IndentReading::ByRule).collect(),
    };
    let in_order = |reading: &IndentReading| keeps_order(call, *reading);
    let separate_block = is_separate_block(call).then_some(IndentReading::RelativeToFirst);
    let read = match shared_lines(call) {
        SharedLines::HaveMistake if is_right_as_sent(call) => {
            mapped.into_iter().chain([IndentReading::AsSent]).collect::<Vec<_>>()
        }
        SharedLines::HaveMistake if starts_at_file_indent(call, &mapped) => {
            mapped.into_iter().chain([IndentReading::AllAsSent]).collect()
        }
        SharedLines::HaveMistake => mapped.into_iter().filter(in_order).collect(),
        SharedLines::Correct => vec![IndentReading::AsSent],
        SharedLines::Inconclusive => {
            let sent = Some(IndentReading::AsSent).filter(|sent| !irregular || in_order(sent));
            mapped.into_iter().filter(in_order).chain(sent).collect()
        }
    };
    read.into_iter().chain(separate_block).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SharedLines {
    /// `new_str` has the mistake.
    HaveMistake,
    /// It does not.
    Correct,
    Inconclusive,
}

/// What the shared lines show; if they show nothing, whether `new_str` as a whole is indented like
/// `old_str` or like the file.
fn shared_lines(call: &MergeInput<'_, '_>) -> SharedLines {
    let (mut mistaken, mut right) = (false, false);
    // The same by the steps from line to line, which an edit that moves a block keeps.
    let (mut mistaken_step, mut right_step) = (false, false);
    let mut before: Option<[usize; 3]> = None;
    for op in &call.line_ops {
        let (LineOp::Keep(o, n) | LineOp::Change(o, n)) = *op else { continue };
        if call.old[o].trim().is_empty() || call.new[n].trim().is_empty() {
            continue;
        }
        let Some(file) = call.file_indent(o) else { continue };
        let (was, is) = (indent_of(call.old[o]), indent_of(call.new[n]));
        mistaken |= was != file && was == is;
        right |= was != file && is == file;
        let here = [was, is, file].map(|indent| indent::columns(indent, 4));
        if let Some(before) = before {
            let step = |at: usize| here[at].cast_signed() - before[at].cast_signed();
            mistaken_step |= step(0) != step(2) && step(0) == step(1);
            right_step |= step(0) != step(2) && step(2) == step(1);
        }
        // A first line that has lost its indentation says nothing about the steps to others.
        let lost = call.map.first_line_excluded && call.paired.first() == Some(&o);
        before = Some(here).filter(|_| !lost);
    }
    // Indented as in the file by chance.
    if right && !mistaken && mistaken_step && !right_step {
        return SharedLines::Inconclusive;
    }
    // The indentation of the outermost line.
    fn outer<'i>(indents: impl Iterator<Item = &'i str>) -> Option<&'i str> {
        indents.min_by_key(|indent| indent.len())
    }
    let nonblank = call.new.iter().filter(|line| !line.trim().is_empty());
    let new = outer(nonblank.map(|line| indent_of(line)));
    let old = outer(call.paired.iter().map(|&o| indent_of(call.old[o])));
    let file = outer(call.paired.iter().filter_map(|&o| call.file_indent(o)));
    // If all start at the same indentation, the width of a level decides.
    let widths = || {
        let unit = |lines: &[&str]| indent::unit(lines.iter().copied());
        (unit(&call.old), unit(&call.new), call.file.indent_unit())
    };
    let frame = match (old == new, file == new) {
        (true, true) => match widths() {
            (Some(old), Some(new), Some(file)) if old != file && new == old => {
                SharedLines::HaveMistake
            }
            (Some(old), Some(new), Some(file)) if old != file && new == file => {
                SharedLines::Correct
            }
            _ => SharedLines::Inconclusive,
        },
        (true, false) => SharedLines::HaveMistake,
        (false, true) => SharedLines::Correct,
        _ => SharedLines::Inconclusive,
    };
    match (mistaken, right) {
        (true, false) => SharedLines::HaveMistake,
        // All lines are indented one level further in new_str: a block was put around them.
        (false, true) if frame == SharedLines::HaveMistake => SharedLines::HaveMistake,
        (false, true) => SharedLines::Correct,
        (false, false) => frame,
        // Some lines moved by a level next to lines that did not.
        (true, true) if frame == SharedLines::HaveMistake => SharedLines::HaveMistake,
        (true, true) => SharedLines::Inconclusive,
    }
}

/// Whether the first line of `new_str` has the file's indentation as sent, and would lose it if it
/// were mapped like the others. Then a block may have been put around lines or taken away, and
/// `new_str` may be right while `old_str` is not.
fn starts_at_file_indent(call: &MergeInput<'_, '_>, mapped: &[IndentReading]) -> bool {
    let first = call.new.iter().position(|line| !line.trim().is_empty());
    let (Some(first), Some(&old)) = (first, call.paired.first()) else { return false };
    let file = call.file_indent(old);
    file == Some(indent_of(call.new[first]))
        && file != Some(indent_of(call.old[old]))
        && mapped.iter().any(|depth| depth.apply(call, first).as_deref() != file)
}

/// Whether each new line compares to its neighbours in the result (more, equally or less indented)
/// as it does in `new_str`. If not, the rule does not apply to these lines.
fn keeps_order(call: &MergeInput<'_, '_>, indent_reading: IndentReading) -> bool {
    let width = |line: &str| indent::columns(line, TAB_WIDTH);
    let mut above: Option<(usize, usize, bool)> = None;
    let mut is_first = true;
    for op in &call.line_ops {
        let (n, kept_line) = match *op {
            LineOp::Keep(o, n) => (n, Some(o)),
            LineOp::Change(o, n) => (n, Some(o).filter(|&o| has_same_indent(call, o, n))),
            LineOp::Insert(n) => (n, None),
            LineOp::Delete(_) => continue,
        };
        if call.new[n].trim().is_empty() {
            continue;
        }
        let result = match kept_line {
            Some(o) => call.file_indent(o).map(str::to_owned),
            None => indent_reading.apply(call, n),
        };
        // A first line that has lost its indentation says nothing about the steps to others.
        let lost = std::mem::take(&mut is_first) && call.map.first_line_excluded;
        let Some(result) = result.filter(|_| !lost) else {
            above = None;
            continue;
        };
        let this = (width(indent_of(call.new[n])), width(&result), kept_line.is_some());
        if let Some(above) = above
            && !(above.2 && this.2)
            && above.0.cmp(&this.0) != above.1.cmp(&this.1)
        {
            return false;
        }
        above = Some(this);
    }
    true
}

fn has_same_indent(call: &MergeInput<'_, '_>, o: usize, n: usize) -> bool {
    indent_of(call.old[o]) == indent_of(call.new[n])
}

/// The width of a tab when indentation is compared.
const TAB_WIDTH: usize = 4;

/// Whether new lines are indented more than their neighbours in the call and as much as the file's
/// lines there, although nothing in the code explains it: no bracket or colon opens a block above,
/// and a line that they replace was indented like its neighbours. Then they may be right as sent,
/// and the lines around them wrong.
fn is_right_as_sent(call: &MergeInput<'_, '_>) -> bool {
    let kept = |op: &LineOp| match *op {
        LineOp::Keep(o, n) | LineOp::Change(o, n) => Some((o, n)),
        LineOp::Delete(_) | LineOp::Insert(_) => None,
    };
    let depth = |n: usize| indent_of(call.new[n]);
    // For a new line, and for one that replaces a line: the indentation of that line in the
    // call, if any.
    let moved = |op: &LineOp| match *op {
        LineOp::Insert(n) => Some((n, None)),
        LineOp::Change(o, n) => {
            let was = indent_of(call.old[o]);
            let right = depth(n) != was && call.file_indent(o) == Some(depth(n));
            // A line that is only indented is meant to move.
            let only_moved = call.old[o].trim() == call.new[n].trim();
            (right && !only_moved).then_some((n, Some(was)))
        }
        LineOp::Keep(..) | LineOp::Delete(_) => None,
    };
    let line_ops: Vec<&LineOp> =
        call.line_ops.iter().filter(|op| !matches!(op, LineOp::Delete(_))).collect();
    let mut at = 0;
    while at < line_ops.len() {
        let run: Vec<_> = line_ops[at..].iter().map_while(|op| moved(op)).collect();
        let before = at.checked_sub(1).and_then(|at| kept(line_ops[at]));
        let after = line_ops.get(at + run.len()).and_then(|op| kept(op));
        let nonblank = run.iter().filter(|(n, _)| !call.new[*n].trim().is_empty());
        let least = nonblank.map(|(n, _)| depth(*n)).min_by_key(|indent| indent.len());
        if let Some(least) = least {
            let beside: Vec<(usize, usize)> = before.into_iter().chain(after).collect();
            let as_file = beside.iter().any(|(o, _)| call.file_indent(*o) == Some(least));
            let deeper = beside.iter().all(|(_, n)| depth(*n).len() < least.len());
            let opened =
                before.is_some_and(|(_, n)| call.new[n].trim_end().ends_with(['{', '(', '[', ':']));
            let siblings = run.iter().filter_map(|(_, was)| *was);
            let siblings =
                siblings.into_iter().all(|was| beside.iter().all(|(_, n)| depth(*n) == was));
            if deeper && as_file && !opened && siblings {
                return true;
            }
        }
        at += run.len().max(1);
    }
    false
}
