//! An elided middle: "... existing code ..." in `old_str` stands for the lines between
//! the text above it and the text below it.
//!
//! What counts is the resulting text: two ways to fill the gap that lead to the same
//! bytes are one. A placeholder at an end stands for nothing that the edit needs.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Explained;
use super::bounded::Bounded;
use super::call::{Call, Read, merge_window, whole_piece};
use super::decode::Reading;
use super::fit;
use super::indent::{self, IndentMap};
use super::ladder::{Rung, folds};
use super::merge::{Conflict, new_lines};
use super::omission::is_placeholder;
use super::refuse;
use super::slack::Slack;
use super::source::Source;
use super::steps;
use super::window::{Step, Window, split, windows_of};
use crate::edit::{Expected, Refusal, Splice};

/// The rung.
pub(super) struct Elided;

/// For each start at most so many ends, and so many chains in all.
const ENDS: usize = 4;
const CHAINS: usize = 400;

impl Rung for Elided {
    fn id(&self) -> &'static str {
        "elided"
    }

    fn about(&self) -> &'static str {
        "\"... existing code ...\" for lines of the file"
    }

    fn explain(&self, call: &Call<'_>) -> Option<Result<Explained, Refusal>> {
        call.clear_readings().find_map(|read| explain(call, &read.reading))
    }
}

fn explain(call: &Call<'_>, reading: &Reading) -> Option<Result<Explained, Refusal>> {
    let old = split(&reading.old);
    if !old.iter().any(|line| is_placeholder(line)) {
        return None;
    }
    // Dots alone that the file has as well are code.
    let dots = |line: &str| line.trim() == "...";
    if old.iter().any(|line| dots(line)) && call.text().lines().any(dots) {
        return None;
    }
    let new = new_lines(&reading.old, &reading.new);
    // What stands for the end of the text in one of the strings only: is the rest to stay?
    let open = |lines: &[&str]| {
        let mut solid = lines.iter().filter(|line| !line.trim().is_empty());
        let first = solid.next().is_some_and(|line| is_placeholder(line));
        (first, solid.next_back().is_some_and(|line| is_placeholder(line)))
    };
    let ((old_first, old_last), (new_first, new_last)) = (open(&old), open(&new));
    if !new.is_empty() && (old_first && !new_first || old_last && !new_last) {
        return None;
    }
    let (old, new) = without_outer(&old, &new);
    let parts: Vec<&[&str]> = old.split(|line| is_placeholder(line)).collect();
    let marks: Vec<&str> = old.iter().filter(|line| is_placeholder(line)).copied().collect();
    let rewrites = || {
        let mut names: Vec<String> = reading.ids.iter().map(|id| (*id).to_owned()).collect();
        names.push("elision".to_owned());
        names
    };
    if let [_] = parts[..] {
        // The placeholder stood outside; what is left is an ordinary text of whole lines.
        let text = |lines: &[&str]| lines.iter().map(|l| format!("{l}\n")).collect::<String>();
        if new.iter().any(|line| is_placeholder(line)) || !enough(old) {
            return None;
        }
        let mut ids = reading.ids.clone();
        ids.push("elision");
        let inner = Reading {
            old: text(old),
            new: text(new),
            ids,
            rung: "elided",
            whole_lines: true,
            unclear: false,
        };
        let read = Read::new(inner);
        return (0..=7).find_map(|at| call.decide_windows(&read, folds(at), "elided"));
    }
    if !parts.iter().all(|part| enough(part)) || call.request.expected != Expected::default() {
        return None;
    }
    let placeholders = new.iter().filter(|line| is_placeholder(line)).count();
    if placeholders != 0 && placeholders != parts.len() - 1 {
        return None;
    }
    // Dots alone, where old_str has a placeholder in words, may be text.
    let dots = new.iter().find(|line| is_placeholder(line) && line.trim() == "...");
    if let Some(dots) = dots.filter(|_| marks.iter().all(|mark| mark.trim() != "...")) {
        return Some(Err(refuse::omission(dots.trim())));
    }
    let source = call.source();
    let found: Vec<Bounded<Window>> = parts
        .iter()
        .map(|part| windows_of(source, part, true, reading.old.contains("\r\n")))
        .collect();
    for at in 0..=7 {
        let Bounded { found: mut chains, complete } = chains(source, &found, folds(at));
        chains.retain(|chain| !stands_for_itself(source, chain, &marks));
        if chains.is_empty() {
            continue;
        }
        only_what_matters(&mut chains, &parts, new);
        let mut results: Vec<Splice> = Vec::new();
        let mut trouble = None;
        for last in chains.iter().filter_map(|chain| chain.last()?.last()) {
            if let Err(conflict) = call.break_is_clear(reading, last.line + 1) {
                let lines = last.line..=last.line + 1;
                return Some(Err(refuse::conflict_over(call, Some(lines), &conflict)));
            }
        }
        for chain in &chains {
            match fill(call, chain, (&parts, &marks), new) {
                Ok(splice) if results.iter().any(|seen| same(call.text(), seen, &splice)) => {}
                Ok(splice) => results.push(splice),
                Err(refusal) => trouble = Some(refusal),
            }
            // Two results are one too many, whatever the other ways lead to.
            if results.len() > 1 {
                break;
            }
        }
        let lines = || -> Vec<usize> {
            chains.iter().filter_map(|chain| Some(chain.last()?.first()?.line + 1)).collect()
        };
        // The one chain that is left is one whose further ends do not matter.
        let complete = complete || chains.len() == 1;
        return Some(match (results.len(), trouble) {
            (1, _) if !(complete && found.iter().all(|part| part.complete)) => {
                Err(refuse::not_all_compared(call, &lines()))
            }
            (1, _) => call.finish(results, "elided", rewrites()),
            (0, Some(refusal)) => Err(refusal),
            _ => Err(refuse::too_many(call, &lines(), false)),
        });
    }
    if !found.iter().all(|part| part.complete) {
        call.gives_up();
    }
    None
}

/// Placeholders at the ends, and those at the same end of the new text, go.
fn without_outer<'a, 'b>(old: &'a [&'b str], new: &'a [&'b str]) -> (&'a [&'b str], &'a [&'b str]) {
    let (mut old, mut new) = (old, new);
    while let [first, rest @ ..] = old
        && (is_placeholder(first)
            || first.trim().is_empty()
                && rest.iter().any(|l| is_placeholder(l))
                && rest.first().is_some_and(|l| is_placeholder(l)))
    {
        old = rest;
        if let [first, rest @ ..] = new
            && (is_placeholder(first) || first.trim().is_empty())
        {
            new = rest;
        }
    }
    while let [rest @ .., last] = old
        && is_placeholder(last)
    {
        old = rest;
        if let [rest @ .., last] = new
            && is_placeholder(last)
        {
            new = rest;
        }
    }
    (old, new)
}

/// Whether a part says enough to be found: some line with a word of its own.
fn enough(part: &[&str]) -> bool {
    let letters = |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).count();
    let solid = part.iter().filter(|line| !line.trim().is_empty()).count();
    solid > 0
        && (part.iter().map(letters).sum::<usize>() >= 3
            || solid >= 2
            || part.iter().any(|l| l.trim().len() <= 3))
}

/// Ways to place the parts one after the other.
fn chains<'w>(
    source: &Source<'_>,
    found: &'w [Bounded<Window>],
    allowed: Slack,
) -> Bounded<Vec<&'w Window>> {
    let [starts, further @ ..] = found else { return Bounded::default() };
    let mut complete = true;
    let starts = starts.found.as_slice();
    let mut chains: Vec<Vec<&Window>> = match further.first() {
        // Of very many starts, those that are nearest to what comes next.
        Some(ends) if starts.len() > CHAINS => {
            let line = |window: &Window| window.last().map(|piece| piece.line);
            let before = |end: &Window| {
                let first = end.first().map(|piece| piece.line);
                let upto = starts.partition_point(|start| line(start) < first);
                upto.saturating_sub(ENDS)..upto
            };
            let fits = |window: &&Window| allowed.contains(window.slack);
            let ends = Bounded::at_most(CHAINS / ENDS, ends.found.iter().filter(fits));
            complete &= ends.complete;
            let near: BTreeSet<usize> = ends.found.into_iter().flat_map(before).collect();
            let near = near.into_iter().map(|at| &starts[at]).filter(fits);
            near.map(|start| vec![start]).collect()
        }
        _ => {
            let fits = starts.iter().filter(|window| allowed.contains(window.slack));
            let starts = Bounded::at_most(CHAINS, fits);
            complete &= starts.complete;
            starts.found.into_iter().map(|start| vec![start]).collect()
        }
    };
    for part in further {
        let mut longer: Vec<Vec<&Window>> = Vec::new();
        for chain in &chains {
            let after = chain.last().and_then(|w| w.last()).map(|piece| piece.line);
            let mut gap = after.map(|after| Gap::below(source, after));
            let fits = part.found.iter().filter(|w| {
                allowed.contains(w.slack)
                    && w.first().is_some_and(|first| match &mut gap {
                        Some(gap) => first.line > gap.above && gap.can_end(source, first.line),
                        None => true,
                    })
            });
            let ends = Bounded::at_most(ENDS, fits);
            complete &= ends.complete;
            longer.extend(ends.found.into_iter().map(|window| {
                let mut chain = chain.clone();
                chain.push(window);
                chain
            }));
            if longer.len() > CHAINS {
                complete = false;
                break;
            }
        }
        chains = longer;
    }
    Bounded { found: chains, complete }
}

/// The lines below a part, as far as they were looked at.
struct Gap {
    above: usize,
    /// How deep the last line above is, if a block begins below it.
    head: Option<usize>,
    /// The first line that ends that block, once it is known.
    end: Option<usize>,
    seen: usize,
}

fn depth(line: &str) -> usize {
    indent::columns(indent::of(line), 4)
}

impl Gap {
    fn below(source: &Source<'_>, above: usize) -> Self {
        let line = source.body(above);
        let lines = above + 1..source.lines.len();
        let mut below = lines.map(|at| source.body(at)).filter(|line| !line.trim().is_empty());
        // A brace on a line of its own begins the block of the line above it.
        let first = below.find(|line| line.trim() != "{");
        let opens = first.is_some_and(|first| depth(first) > depth(line));
        Self { above, head: opens.then(|| depth(line)), end: None, seen: above }
    }

    /// Whether the gap can go as far as this line: what a line heads holds the rest of it,
    /// unless it is left for good.
    fn can_end(&mut self, source: &Source<'_>, line: usize) -> bool {
        let Some(head) = self.head else { return true };
        let below = source.body(line);
        let within = depth(below) > head || depth(below) == head && fit::closes(below);
        if !within {
            return true;
        }
        let mut lines = (self.seen + 1..line).filter(|_| self.end.is_none());
        self.end = self.end.or_else(|| {
            lines.find(|at| {
                let line = source.body(*at);
                let again = line.trim() == "{" || fit::is_marginal(line);
                let goes_on = fit::closes(line) && steps::opens(line) || fit::begins_amid(line);
                !line.trim().is_empty() && depth(line) <= head && !again && !goes_on
            })
        });
        self.seen = self.seen.max(line.saturating_sub(1));
        self.end.is_none_or(|end| end >= line)
    }
}

/// Whether the file has a placeholder's very line where it would stand for other lines:
/// then it is code, such as the body of a stub, and the call does not know the others.
fn stands_for_itself(source: &Source<'_>, chain: &[&Window], marks: &[&str]) -> bool {
    chain.windows(2).zip(marks).any(|(pair, mark)| {
        let from = pair[0].last().map_or(0, |piece| piece.line + 1);
        let to = pair[1].first().map_or(from, |piece| piece.line);
        (from..to).any(|line| source.body(line).trim() == mark.trim())
    })
}

/// Where the call leaves its first part and the gap below as they are, the first part
/// only tells which of several second parts is meant; of the ways that agree from there
/// on, the tightest stands for all. The same at the end.
fn only_what_matters(chains: &mut Vec<Vec<&Window>>, parts: &[&[&str]], new: &[&str]) {
    let (Some(head), Some(tail)) = (parts.first(), parts.last()) else { return };
    let place = |window: &Window| window.range();
    let gap = |line: Option<&&str>| line.is_some_and(|line| is_placeholder(line));
    if new.starts_with(head) && gap(new.get(head.len())) {
        // In the order of the file, so that the last one is the nearest to what follows.
        let rest = |chain: &[&Window]| chain[1..].iter().map(|w| place(w)).collect::<Vec<_>>();
        chains.sort_by_key(|chain| (rest(chain).first().map(|r| r.start), place(chain[0]).start));
        chains.dedup_by(|next, kept| {
            let same = rest(next) == rest(kept);
            if same {
                kept.clone_from(next);
            }
            same
        });
    }
    if new.ends_with(tail) && gap(new.len().checked_sub(tail.len() + 1).and_then(|at| new.get(at)))
    {
        let rest = |chain: &[&Window]| {
            chain[..chain.len() - 1].iter().map(|w| place(w)).collect::<Vec<_>>()
        };
        // The first is the nearest to what stands above.
        chains.dedup_by(|next, kept| rest(next) == rest(kept));
    }
}

/// The call with its gaps filled by one chain.
fn fill(
    call: &Call<'_>,
    chain: &[&Window],
    (parts, marks): (&[&[&str]], &[&str]),
    new: &[&str],
) -> Result<Splice, Refusal> {
    let source = call.source();
    let mut old: Vec<&str> = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    let mut gaps: Vec<Vec<&str>> = Vec::new();
    let mut indents: Vec<(String, String)> = Vec::new();
    let mut levels: Vec<(String, String)> = Vec::new();
    let mut slack = Slack::NONE;
    for (at, (window, part)) in chain.iter().zip(parts).enumerate() {
        if at > 0 {
            let from = chain[at - 1].last().map_or(0, |piece| piece.line + 1);
            let to = window.first().map_or(from, |piece| piece.line);
            let lines: Vec<&str> = (from..to).map(|line| source.body(line)).collect();
            for line in from..to {
                steps.push(Step::Pair(old.len(), whole_piece(source, line)));
                old.push(source.body(line));
            }
            let below = lines.iter().find(|line| !line.trim().is_empty());
            levels.extend(
                marks
                    .get(at - 1)
                    .zip(below)
                    .map(|(mark, line)| (indent::of(mark).to_owned(), indent::of(line).to_owned())),
            );
            gaps.push(lines);
        }
        let base = old.len();
        steps.extend(window.steps.iter().map(|step| match *step {
            Step::Pair(i, piece) => Step::Pair(base + i, piece),
            Step::OldOnly(i) => Step::OldOnly(base + i),
            Step::FileOnly(piece) => Step::FileOnly(piece),
        }));
        old.extend_from_slice(part);
        indents.extend(window.indents(part, source));
        slack |= window.slack;
    }
    let window = Window { steps, slack };
    // Where all parts stand at the margin, the placeholder tells how wide a level is.
    let one = |indent: &str| indent == "\t" || Some(indent.len()) == source.unit();
    if indents.iter().all(|(from, to)| from.is_empty() && to.is_empty()) {
        indents.extend(levels.into_iter().filter(|(from, to)| !from.is_empty() && one(to)));
    }
    let map = IndentMap::fit(indents, source.unit());
    // Where the parts stand in two ways, one of them is another's.
    let ends = |line: Option<&&str>| line.map(|line| indent::of(line).len());
    let closes = ends(old.first()) == ends(old.last()) && old.len() > 1;
    if !map.is_whole() && (map.first_lost().is_none() || closes) {
        let line = window.first().map_or(0, |piece| piece.line);
        let why = "the parts around the placeholder are indented in several ways; nothing tells where the last one is";
        return Err(refuse::conflict(call, &window, &Conflict { line, why }));
    }
    let mut filled: Vec<Cow<'_, str>> = Vec::new();
    let mut gaps = gaps.into_iter().zip(marks);
    for line in new {
        if !is_placeholder(line) {
            filled.push(Cow::Borrowed(line));
            continue;
        }
        let Some((lines, mark)) = gaps.next() else { continue };
        let Some(moved) = moved_as(mark, line, &lines, !slack.contains(Slack::INDENT)) else {
            let line = window.first().map_or(0, |piece| piece.line);
            let why = "the placeholder stands at another depth in new_str, and the lines it stands for cannot be moved there";
            return Err(refuse::conflict(call, &window, &Conflict { line, why }));
        };
        filled.extend(moved);
    }
    let filled: Vec<&str> = filled.iter().map(AsRef::as_ref).collect();
    merge_window(source, &window, &old, &filled, &map)
        .map(|candidate| candidate.splice)
        .map_err(|conflict| refuse::conflict(call, &window, &conflict))
}

/// The lines that a placeholder stands for, as much deeper or less deep as it is in `new`. Only
/// where the call is as deep as the file, and no literal goes over several lines.
fn moved_as<'a>(
    mark: &str,
    line: &str,
    lines: &[&'a str],
    as_file: bool,
) -> Option<Vec<Cow<'a, str>>> {
    let (from, to) = (indent::of(mark), indent::of(line));
    if from == to {
        return Some(lines.iter().map(|line| Cow::Borrowed(*line)).collect());
    }
    let literal = ["\"\"\"", "'''", "`", "<<"]
        .iter()
        .any(|mark| lines.iter().any(|line| line.contains(mark)));
    if !as_file || literal {
        return None;
    }
    let moved = lines.iter().map(|line| match (to.strip_prefix(from), from.strip_prefix(to)) {
        _ if line.trim().is_empty() => Some(Cow::Borrowed(*line)),
        (Some(more), _) => Some(Cow::Owned(format!("{more}{line}"))),
        (_, Some(less)) => line.strip_prefix(less).map(Cow::Borrowed),
        _ => None,
    });
    moved.collect()
}

/// Whether two replacements leave the same text.
fn same(text: &str, a: &Splice, b: &Splice) -> bool {
    let (start, end) = (a.range.start.min(b.range.start), a.range.end.max(b.range.end));
    let result = |s: &Splice| {
        format!("{}{}{}", &text[start..s.range.start], s.text, &text[s.range.end..end])
    };
    result(a) == result(b)
}
