//! Decides whether `new_str` has the same wrong indentation as `old_str`. The lines that both
//! strings share are the evidence. If there are none, both readings are possible, and each gives
//! an outcome.

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
    /// By the rule with this index in the indentation map.
    ByRule(usize),
    /// Like the nearest line of `old_str`, if no rule explains all lines.
    LikeNearest,
    /// Like the nearest line of `old_str`, or as it was sent if that line does not determine it.
    LikeNearestOrSent,
    /// As deep relative to the first line as it was sent.
    RelativeToFirst,
}

impl IndentReading {
    /// How this reading indents new lines, in words, for a caller that chooses between outcomes.
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

    /// The indentation that line `new_at` of `new_str` gets; `None` if this reading does not determine
    /// it.
    pub(super) fn apply(self, call: &MergeInput<'_, '_>, new_at: usize) -> Option<String> {
        let sent = indent_of(call.new[new_at]);
        if matches!(self, Self::AsSent | Self::AllAsSent) {
            return Some(sent.to_owned());
        }
        if self == Self::LikeNearestOrSent {
            return Self::LikeNearest.apply(call, new_at).or_else(|| Some(sent.to_owned()));
        }
        if self == Self::RelativeToFirst {
            return relative_to_first(call, new_at);
        }
        if let Some(first) = first_line_indent(call, new_at) {
            return Some(first);
        }
        if let Self::ByRule(rule) = self
            && let Some(mapped) = call.map.rules.get(rule)?.apply(sent)
        {
            return Some(mapped);
        }
        let near = nearest_pair(call, new_at)?;
        let at = call.paired.binary_search(&near).ok()?;
        match call.map.lookup(sent, at) {
            ObservedIndent::As(seen) => Some(seen.to_owned()),
            ObservedIndent::Conflicting => None,
            ObservedIndent::Unseen => like_nearest(call, near, sent),
        }
    }
}

/// The file's indentation of the first line of `old_str`, if line `new_at` is the first of `new_str`
/// and the first lines of both strings have lost the same indentation.
fn first_line_indent(call: &MergeInput<'_, '_>, new_at: usize) -> Option<String> {
    let first = *call.paired.first().filter(|_| call.map.first_line_excluded)?;
    let is_first = call.new[..new_at].iter().all(|line| line.trim().is_empty());
    let same = indent_of(call.new[new_at]) == indent_of(call.old[first]);
    (is_first && same).then(|| call.file_indent(first).map(str::to_owned))?
}

/// The file's indentation of the first line of `old_str`, plus what line `new_at` of `new_str` is
/// indented more than the first line of `new_str`.
fn relative_to_first(call: &MergeInput<'_, '_>, new_at: usize) -> Option<String> {
    let first = call.file_indent(*call.paired.first()?)?;
    let first_new = call.new.iter().find(|line| !line.trim().is_empty())?;
    let deeper = indent_of(call.new[new_at]).strip_prefix(indent_of(first_new))?;
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
    let mut agreeing = 0;
    for op in &call.line_ops {
        let (LineOp::Keep(old_at, new_at) | LineOp::Change(old_at, new_at)) = *op else { continue };
        if old_at == first || new_at == head || call.new[new_at].trim().is_empty() {
            continue;
        }
        let Some(file) = call.file_indent(old_at) else { continue };
        if relative_to_first(call, new_at).as_deref() != Some(file) {
            return false;
        }
        agreeing += 1;
    }
    if agreeing > 0 {
        return true;
    }
    // If no line is shared, the outermost lines after the first are compared.
    let nonblank = (head + 1..call.new.len()).filter(|&new_at| !call.new[new_at].trim().is_empty());
    let new =
        nonblank.map(|new_at| relative_to_first(call, new_at).map(|indent| indent.len())).min();
    let file = call.paired[1..].iter().map(|&old_at| call.file_indent(old_at).map(str::len)).min();
    new.is_some() && new == file
}

/// The line of `old_str` that is nearest to line `new_at` of `new_str`, of those that are paired with a
/// line of the file: the same line if both strings have it, else the nearest one above. Only a line
/// that `old_str` lacks may take the nearest one below instead.
fn nearest_pair(call: &MergeInput<'_, '_>, new_at: usize) -> Option<usize> {
    let mut nearest = None;
    let mut is_below_new = false;
    for op in &call.line_ops {
        budget::spend(1);
        let (old_line, new_line) = match *op {
            LineOp::Keep(old, new) | LineOp::Change(old, new) => (Some(old), Some(new)),
            LineOp::Delete(old) => (Some(old), None),
            LineOp::Insert(new) => (None, Some(new)),
        };
        let paired = old_line.filter(|old_at| call.paired.binary_search(old_at).is_ok());
        if new_line == Some(new_at) && old_line.is_some() {
            return paired.or(nearest);
        }
        is_below_new |= new_line == Some(new_at);
        if is_below_new && nearest.is_some() {
            return nearest;
        }
        nearest = paired.or(nearest);
    }
    nearest
}

/// The file's indentation of line `near` of `old_str`, plus or minus the step from that line to
/// `sent` in the call.
fn like_nearest(call: &MergeInput<'_, '_>, near: usize, sent: &str) -> Option<String> {
    let (in_call, in_file) = (indent_of(call.old[near]), call.file_indent(near)?);
    if let Some(deeper) = sent.strip_prefix(in_call) {
        return Some(format!("{in_file}{}", call.map.scale(deeper)));
    }
    let step = call.map.scale(in_call.strip_prefix(sent)?);
    in_file
        .len()
        .checked_sub(step.len())
        .filter(|at| in_file.is_char_boundary(*at))
        .map(|at| in_file[..at].to_owned())
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
    let readings = match shared_lines(call) {
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
    readings.into_iter().chain(separate_block).collect()
}

/// What the lines that both strings share show about the indentation of `new_str`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SharedLines {
    /// It has the same mistake as that of `old_str`.
    HaveMistake,
    /// It is that of the file.
    Correct,
    /// Neither is certain.
    Inconclusive,
}

/// What the shared lines show; if they show nothing, whether `new_str` as a whole is indented like
/// `old_str` or like the file.
fn shared_lines(call: &MergeInput<'_, '_>) -> SharedLines {
    let (mut mistaken, mut right) = (false, false);
    // The same for the steps from line to line, which stay when an edit moves a whole block.
    let (mut mistaken_step, mut right_step) = (false, false);
    let mut before: Option<[usize; 3]> = None;
    for op in &call.line_ops {
        let (LineOp::Keep(old_at, new_at) | LineOp::Change(old_at, new_at)) = *op else { continue };
        if call.old[old_at].trim().is_empty() || call.new[new_at].trim().is_empty() {
            continue;
        }
        let Some(file) = call.file_indent(old_at) else { continue };
        let (old_indent, new_indent) = (indent_of(call.old[old_at]), indent_of(call.new[new_at]));
        mistaken |= old_indent != file && old_indent == new_indent;
        right |= old_indent != file && new_indent == file;
        let here = [old_indent, new_indent, file].map(|indent| indent::columns(indent, 4));
        if let Some(before) = before {
            let step = |at: usize| here[at].cast_signed() - before[at].cast_signed();
            mistaken_step |= step(0) != step(2) && step(0) == step(1);
            right_step |= step(0) != step(2) && step(2) == step(1);
        }
        // A first line that has lost its indentation says nothing about the steps to others.
        let lost = call.map.first_line_excluded && call.paired.first() == Some(&old_at);
        before = Some(here).filter(|_| !lost);
    }
    // A line has the file's indentation by chance if the steps show the mistake.
    if right && !mistaken && mistaken_step && !right_step {
        return SharedLines::Inconclusive;
    }
    // The indentation of the outermost line.
    fn outermost<'i>(indents: impl Iterator<Item = &'i str>) -> Option<&'i str> {
        indents.min_by_key(|indent| indent.len())
    }
    let nonblank = call.new.iter().filter(|line| !line.trim().is_empty());
    let new = outermost(nonblank.map(|line| indent_of(line)));
    let old = outermost(call.paired.iter().map(|&old_at| indent_of(call.old[old_at])));
    let file = outermost(call.paired.iter().filter_map(|&old_at| call.file_indent(old_at)));
    // If the outermost lines of both strings and the file are equally deep, the width of a level
    // decides.
    let widths = || {
        let unit = |lines: &[&str]| indent::unit(lines.iter().copied());
        (unit(&call.old), unit(&call.new), call.file.indent_unit())
    };
    let by_outermost = match (old == new, file == new) {
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
        // The edit put a block around the lines, which only by that are as deep as in the file.
        (false, true) if by_outermost == SharedLines::HaveMistake => SharedLines::HaveMistake,
        (false, true) => SharedLines::Correct,
        (false, false) => by_outermost,
        // The edit moved some lines by a level and left others.
        (true, true) if by_outermost == SharedLines::HaveMistake => SharedLines::HaveMistake,
        (true, true) => SharedLines::Inconclusive,
    }
}

/// Whether the first line of `new_str` has the file's indentation as sent, but would lose it by one of
/// the `mapped` readings. Then the edit may put a block around lines or remove one, and `new_str` may
/// be right although `old_str` is not.
fn starts_at_file_indent(call: &MergeInput<'_, '_>, mapped: &[IndentReading]) -> bool {
    let first = call.new.iter().position(|line| !line.trim().is_empty());
    let (Some(first), Some(&first_paired)) = (first, call.paired.first()) else { return false };
    let file = call.file_indent(first_paired);
    file == Some(indent_of(call.new[first]))
        && file != Some(indent_of(call.old[first_paired]))
        && mapped.iter().any(|reading| reading.apply(call, first).as_deref() != file)
}

/// Whether each new line compares to its neighbours in the result as it does in `new_str`: deeper, less
/// deep, or as deep. If not, the reading does not suit these lines.
fn keeps_order(call: &MergeInput<'_, '_>, indent_reading: IndentReading) -> bool {
    let width = |line: &str| indent::columns(line, TAB_WIDTH);
    let mut above: Option<LineWidths> = None;
    let mut is_first = true;
    for op in &call.line_ops {
        let (new_at, kept_line) = match *op {
            LineOp::Keep(old_at, new_at) => (new_at, Some(old_at)),
            LineOp::Change(old_at, new_at) => {
                (new_at, Some(old_at).filter(|&old_at| has_same_indent(call, old_at, new_at)))
            }
            LineOp::Insert(new_at) => (new_at, None),
            LineOp::Delete(_) => continue,
        };
        if call.new[new_at].trim().is_empty() {
            continue;
        }
        let result = match kept_line {
            Some(old_at) => call.file_indent(old_at).map(str::to_owned),
            None => indent_reading.apply(call, new_at),
        };
        // A first line that has lost its indentation says nothing about the steps to others.
        let lost = std::mem::take(&mut is_first) && call.map.first_line_excluded;
        let Some(result) = result.filter(|_| !lost) else {
            above = None;
            continue;
        };
        let here = LineWidths {
            sent: width(indent_of(call.new[new_at])),
            result: width(&result),
            is_kept: kept_line.is_some(),
        };
        if let Some(above) = above {
            let both_are_kept = above.is_kept && here.is_kept;
            let same_order = above.sent.cmp(&here.sent) == above.result.cmp(&here.result);
            if !both_are_kept && !same_order {
                return false;
            }
        }
        above = Some(here);
    }
    true
}

/// The width of a line's indentation in `new_str` and in the result.
struct LineWidths {
    sent: usize,
    result: usize,
    is_kept: bool,
}

/// Whether line `old_at` of `old_str` and line `new_at` of `new_str` have the same indentation.
fn has_same_indent(call: &MergeInput<'_, '_>, old_at: usize, new_at: usize) -> bool {
    indent_of(call.old[old_at]) == indent_of(call.new[new_at])
}

/// The width of a tab when indentation is compared.
const TAB_WIDTH: usize = 4;

/// Whether some new lines are indented more than their neighbours in the call, and as much as the
/// file's lines there, although nothing explains the step: no bracket or colon above them opens a
/// block, and the lines that they replace were indented like their neighbours. Then the new lines may
/// be right as sent, and the lines around them wrong.
fn is_right_as_sent(call: &MergeInput<'_, '_>) -> bool {
    let kept = |op: &LineOp| match *op {
        LineOp::Keep(old_at, new_at) | LineOp::Change(old_at, new_at) => Some((old_at, new_at)),
        LineOp::Delete(_) | LineOp::Insert(_) => None,
    };
    let new_indent = |new_at: usize| indent_of(call.new[new_at]);
    // A line that is new or has a new indentation, with the indentation of the line that it
    // replaces, if any.
    let new_or_moved = |op: &LineOp| match *op {
        LineOp::Insert(new_at) => Some((new_at, None)),
        LineOp::Change(old_at, new_at) => {
            let old_indent = indent_of(call.old[old_at]);
            let gets_file_indent = new_indent(new_at) != old_indent
                && call.file_indent(old_at) == Some(new_indent(new_at));
            // If only the indentation changes, the call means to move the line.
            let only_moved = call.old[old_at].trim() == call.new[new_at].trim();
            (gets_file_indent && !only_moved).then_some((new_at, Some(old_indent)))
        }
        LineOp::Keep(..) | LineOp::Delete(_) => None,
    };
    let line_ops: Vec<&LineOp> =
        call.line_ops.iter().filter(|op| !matches!(op, LineOp::Delete(_))).collect();
    let mut at = 0;
    while at < line_ops.len() {
        // Lines in a row that are new or moved, and the kept lines before and after them.
        let run: Vec<_> = line_ops[at..].iter().map_while(|op| new_or_moved(op)).collect();
        let before = at.checked_sub(1).and_then(|at| kept(line_ops[at]));
        let after = line_ops.get(at + run.len()).and_then(|op| kept(op));
        let nonblank = run.iter().filter(|(new_at, _)| !call.new[*new_at].trim().is_empty());
        let least =
            nonblank.map(|(new_at, _)| new_indent(*new_at)).min_by_key(|indent| indent.len());
        if let Some(least) = least {
            let neighbours: Vec<(usize, usize)> = before.into_iter().chain(after).collect();
            let is_as_in_file =
                neighbours.iter().any(|(old_at, _)| call.file_indent(*old_at) == Some(least));
            let is_deeper =
                neighbours.iter().all(|(_, new_at)| new_indent(*new_at).len() < least.len());
            let opens_block = before.is_some_and(|(_, new_at)| {
                call.new[new_at].trim_end().ends_with(['{', '(', '[', ':'])
            });
            let mut replaced_indents = run.iter().filter_map(|(_, old_indent)| *old_indent);
            let replaced_were_level = replaced_indents.all(|old_indent| {
                neighbours.iter().all(|(_, new_at)| new_indent(*new_at) == old_indent)
            });
            if is_deeper && is_as_in_file && !opens_block && replaced_were_level {
                return true;
            }
        }
        at += run.len().max(1);
    }
    false
}
