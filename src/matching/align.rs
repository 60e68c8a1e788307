//! Alignment, the last deterministic rung: lines that the edit removes or rewrites
//! must be explained exactly; lines that it only keeps as context may differ a
//! little, since the file's version of them survives anyway.
//!
//! Limits: whole lines only; at least three lines that are not blank; a bounded number of
//! places, those with the most lines in common first. Where one that is left out could be as
//! near as the best, the call is refused.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Explained;
use super::call::{Call, Read, merge_window, whole_piece};
use super::canon::is_word;
use super::code::{is_comment, without_comment};
use super::events::{Event, events};
use super::indent::IndentMap;
use super::known;
use super::ladder::Rung;
use super::merge::{Conflict, new_lines};
use super::refuse;
use super::slack::Slack;
use super::source::{BLANK, NO_WORD, Skeleton, Source, skeleton};
use super::tokens;
use super::window::{Step, Window, differences, split};
use crate::edit::{Expected, Refusal};

/// The rung.
pub(super) struct Aligned;

/// At most so many places are aligned.
const MOST_PLACES: usize = 48;
/// A line that stands more often than this says nothing about the place.
const COMMON: usize = 400;
/// A context line may differ by so many tokens on both sides together.
const MOST_TOKENS: usize = 4;

impl Rung for Aligned {
    fn id(&self) -> &'static str {
        "aligned"
    }

    fn about(&self) -> &'static str {
        "context lines or comments that are remembered a little wrong"
    }

    fn explain(&self, call: &Call<'_>) -> Option<Result<Explained, Refusal>> {
        call.clear_readings().find_map(|read| self.read(call, read))
    }
}

/// One place, aligned.
struct Alignment {
    steps: Vec<Step>,
    cost: usize,
    lines: Range<usize>,
    /// It starts at a line that is right, or at a comment; else it is only a rival.
    sure: bool,
}

impl Aligned {
    fn read(&self, call: &Call<'_>, read: &Read) -> Option<Result<Explained, Refusal>> {
        let source = call.source();
        let old = split(&read.reading.old);
        if let Some(outcome) = known::mended(call, &read.reading) {
            return Some(outcome);
        }
        let text = Text::new(&old)?;
        let (budget, margin) = (text.budget(), text.margin());
        let places = text.places(source);
        let aligned = places.starts.iter().flat_map(|start| text.align(source, *start));
        let mut found: Vec<Alignment> = aligned.collect();
        found.sort_by_key(|alignment| (!alignment.sure, alignment.cost, alignment.lines.start));
        let mut apart: Vec<Alignment> = Vec::new();
        for alignment in found {
            // Two places may share the line where one ends and the other begins.
            let overlaps = |seen: &Alignment| {
                let (a, b) = (&seen.lines, &alignment.lines);
                let shared = a.end.min(b.end).saturating_sub(a.start.max(b.start));
                2 * shared > a.len().min(b.len())
            };
            if !apart.iter().any(overlaps) {
                apart.push(alignment);
            }
        }
        let line = |alignment: &Alignment| alignment.lines.start + 1;
        // Nothing is known of the places that are left out but how near they are at best.
        let may_be_left_out = |cost: usize| places.left_out.is_some_and(|left| left < cost);
        let Some(best) = apart.first().filter(|best| best.sure && best.cost <= budget) else {
            if may_be_left_out(budget + 1) {
                call.gives_up();
            }
            return None;
        };
        if may_be_left_out(best.cost + margin) {
            let lines: Vec<usize> = apart.iter().map(line).collect();
            return Some(Err(refuse::not_all_compared(call, &lines)));
        }
        if self.expects_more(call) {
            return Some(Err(refuse::too_many(call, &[line(best)], false)));
        }
        let new = new_lines(&read.reading.old, &read.reading.new);
        let window =
            Window { steps: best.steps.clone(), slack: Slack::PUNCTUATION | Slack::LOOK_ALIKE };
        if let Some(refusal) = call.covered_by_new(&window.range()) {
            return Some(Err(refusal));
        }
        let events = events(&old, &new);
        if let Err(line) = residue_is_context(source, &window, &old, &new, &events) {
            return Some(Err(refuse::stale(call, &window, line)));
        }
        if let Some(rival) = apart[1..].iter().min_by_key(|rival| rival.cost)
            && rival.cost < best.cost + margin
        {
            let mut lines: Vec<usize> = [best, rival].map(line).to_vec();
            lines.sort_unstable();
            return Some(Err(refuse::too_many(call, &lines, false)));
        }
        if fresh_lines_exist(source, &new, &events) {
            return Some(Err(refuse::already_applied(line(best))));
        }
        let map = IndentMap::fit(window.indents(&old, source), source.unit());
        // Where the lines do not even agree on how deep they stand, some are of another place.
        if !map.is_uniform() && map.first_lost().is_none() {
            let why = "the lines of old_str are not all there, and those that are stand at depths that have nothing to do with the file's";
            let conflict = Conflict { line: best.lines.start, why };
            return Some(Err(refuse::conflict(call, &window, &conflict)));
        }
        let clear = call.break_is_clear(&read.reading, best.lines.end);
        Some(match clear.and_then(|()| merge_window(source, &window, &old, &new, &map)) {
            Ok(candidate) => {
                let mut rewrites: Vec<String> =
                    read.reading.ids.iter().map(|id| (*id).to_owned()).collect();
                rewrites.push("stale_context".to_owned());
                call.finish(vec![candidate.splice], "aligned", rewrites)
            }
            Err(conflict) => Err(refuse::conflict(call, &window, &conflict)),
        })
    }

    fn expects_more(&self, call: &Call<'_>) -> bool {
        matches!(call.request.expected, Expected::Exactly(count) if count.get() > 1)
    }
}

/// Places to align the text with.
struct Places {
    starts: Vec<usize>,
    /// What one that is not among them costs at least, if there are such.
    left_out: Option<usize>,
}

struct Text<'a> {
    old: &'a [&'a str],
    solid: Vec<usize>,
    skeletons: Vec<Skeleton>,
}

impl<'a> Text<'a> {
    fn new(old: &'a [&'a str]) -> Option<Self> {
        let skeletons: Vec<Skeleton> = old.iter().map(|line| skeleton(line)).collect();
        let solid: Vec<usize> = (0..old.len()).filter(|&at| skeletons[at] != BLANK).collect();
        let skeletons = solid.iter().map(|&at| skeletons[at]).collect();
        (solid.len() >= 3).then_some(Self { old, solid, skeletons })
    }

    fn size(&self) -> usize {
        self.solid.len()
    }

    /// The cost that a place may have, a stale line being one.
    fn budget(&self) -> usize {
        (self.size() / 5).max(1)
    }

    /// By how much all other places must cost more.
    fn margin(&self) -> usize {
        (self.size() / 10).max(1)
    }

    /// So far lines may be moved against each other, in a place whose cost says anything.
    fn band(&self) -> usize {
        self.budget() + self.margin()
    }

    /// Where the first line could be (among the file's solid lines), by the number of
    /// lines that stand in the same distance, best first.
    fn places(&self, source: &Source<'_>) -> Places {
        let file = source.solid();
        let (size, band) = (self.size(), self.band());
        let mut votes: HashMap<usize, usize> = HashMap::new();
        let (mut silent, mut common) = (0, false);
        for (at, skeleton) in self.skeletons.iter().enumerate() {
            let places = file.places(*skeleton);
            if *skeleton == NO_WORD || places.len() > COMMON {
                silent += 1;
                common |= *skeleton != NO_WORD;
                continue;
            }
            for place in places {
                // One more than the index, so that a first line above the file's first is kept.
                let start = (*place as usize + size).saturating_sub(at);
                *votes.entry(start / band).or_default() += 1;
            }
        }
        // Each line that is not in common costs something.
        let at_best = |count: usize| size.saturating_sub(silent + count);
        let near = |bucket: usize| {
            let count = |b: usize| votes.get(&b).copied().unwrap_or(0);
            count(bucket) + count(bucket + 1)
        };
        let mut buckets: Vec<(usize, usize)> = votes
            .keys()
            .flat_map(|&bucket| [bucket.saturating_sub(1), bucket])
            .map(|bucket| (near(bucket), bucket))
            .filter(|(count, _)| *count > 0 && at_best(*count) <= band)
            .collect();
        buckets.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        buckets.dedup();
        let left_out = buckets.get(MOST_PLACES).map(|(count, _)| at_best(*count));
        buckets.truncate(MOST_PLACES);
        let start = |(_, bucket): (usize, usize)| (bucket * band).saturating_sub(size);
        Places {
            starts: buckets.into_iter().map(start).collect(),
            // Those that have nothing in common but lines that are everywhere.
            left_out: left_out.or_else(|| common.then(|| at_best(0))),
        }
    }

    /// The alignments that start about there.
    fn align(&self, source: &Source<'_>, start: usize) -> Vec<Alignment> {
        let file = source.solid();
        let (size, band) = (self.size(), self.band());
        let most = band;
        let from = start.saturating_sub(band);
        let to = (start + size + 3 * band).min(file.lines.len());
        let Some(width) = to.checked_sub(from) else { return Vec::new() };
        const FAR: usize = usize::MAX / 4;
        let columns = width + 1;
        let mut cost = vec![FAR; (size + 1) * columns];
        cost[size * columns..].fill(0);
        // Line i of the text beside line j: how much that costs.
        let pair = |i: usize, j: usize| -> usize {
            let (a, b) = (self.old[self.solid[i]], source.body(file.lines[from + j]));
            let same = differences(a, b).is_some() || differ_in_dashes(a, b);
            if self.skeletons[i] == file.skeletons[from + j] && same {
                0
            } else if may_differ(a, b) || (i == 0 || i + 1 == size) && begin_alike(a, b) {
                // At an end, a place with another name is a rival at most.
                1
            } else {
                FAR
            }
        };
        let reach = 4 * band + 1;
        for i in (0..size).rev() {
            for j in (0..width).rev() {
                if j > i + reach || i > j + reach {
                    continue;
                }
                let mut best = FAR;
                let behind = cost[(i + 1) * columns + j + 1];
                if behind <= most {
                    best = best.min(behind + pair(i, j));
                }
                best = best.min(cost[(i + 1) * columns + j].saturating_add(2));
                // A line only the file has costs one, but not before the first line.
                best = best.min(cost[i * columns + j + 1].saturating_add(1));
                cost[i * columns + j] = best.min(FAR);
            }
        }
        // A block starts at a line that is right, or at a comment.
        let comment = |j: usize| {
            let (a, b) = (self.old[self.solid[0]].trim(), source.body(file.lines[from + j]).trim());
            is_comment_difference(a, b) && words_alike(a, b) >= 0.5
        };
        let firsts = (0..width).filter(|&j| cost[j] <= most && pair(0, j) <= 1);
        let trace = |first: usize| {
            let sure = pair(0, first) == 0 || comment(first);
            let alignment = self.trace(source, from, first, most, &cost, pair)?;
            Some(Alignment { sure, ..alignment })
        };
        firsts.filter_map(trace).collect()
    }

    /// Follows the cheapest way through the table.
    fn trace(
        &self,
        source: &Source<'_>,
        from: usize,
        first: usize,
        most: usize,
        cost: &[usize],
        pair: impl Fn(usize, usize) -> usize,
    ) -> Option<Alignment> {
        let file = source.solid();
        let size = self.solid.len();
        let columns = cost.len() / (size + 1);
        let width = columns - 1;
        let mut pairs: Vec<(usize, Option<usize>)> = Vec::new();
        let (mut i, mut j, mut explained, mut says) = (0, first, 0, false);
        while i < size {
            let here = cost[i * columns + j];
            let behind = if j < width { cost[(i + 1) * columns + j + 1] } else { usize::MAX };
            let pairs_up = j < width && behind <= most && behind + pair(i, j) == here;
            // The very line a little further on, rather than another one in its stead.
            let later = j < width && cost[i * columns + j + 1].saturating_add(1) == here;
            if pairs_up && !(later && pair(i, j) > 0) {
                explained += usize::from(pair(i, j) == 0);
                says |= self.shares_a_word(i, source.body(file.lines[from + j]));
                pairs.push((i, Some(j)));
                i += 1;
                j += 1;
            } else if later {
                j += 1;
            } else {
                pairs.push((i, None));
                i += 1;
            }
        }
        if !says || explained < 2 || explained * 5 < size * 3 || pairs.last()?.1.is_none() {
            return None;
        }
        // An end line that lies several lines off its neighbour is another place's.
        let far = |one: Option<usize>, two: Option<usize>| {
            one.zip(two).is_some_and(|(one, two)| two - one > 2)
        };
        let [(_, head), (_, second), ..] = pairs[..] else { return None };
        let [.., (_, before), (_, tail)] = pairs[..] else { return None };
        if far(head, second) || far(before, tail) {
            return None;
        }
        let steps = self.steps(source, from, &pairs);
        let line = |j: usize| file.lines[from + j];
        let last = pairs.last()?.1?;
        let lines = line(first)..line(last) + 1;
        Some(Alignment { steps, cost: cost[first], lines, sure: false })
    }

    /// Whether a line has a word in common with the file's.
    fn shares_a_word(&self, at: usize, file: &str) -> bool {
        let line = self.old[self.solid[at]].trim();
        let mut words = line.split(|c| !is_word(c));
        tokens::likeness(line, file.trim()) >= 0.5
            && words.any(|word| word.chars().count() >= 3 && file.contains(word))
    }

    /// The pairs as steps, blank lines included.
    fn steps(
        &self,
        source: &Source<'_>,
        from: usize,
        pairs: &[(usize, Option<usize>)],
    ) -> Vec<Step> {
        let file = source.solid();
        let mut steps = Vec::new();
        let mut next_old = self.solid[0];
        let mut next_file = pairs[0].1.map(|j| file.lines[from + j]);
        for (i, j) in pairs {
            let at = self.solid[*i];
            let line = j.map(|j| file.lines[from + j]);
            let mut blanks = next_old..at;
            if let (Some(line), Some(begin)) = (line, next_file) {
                for between in begin..line {
                    let blank = source.body(between).trim().is_empty();
                    match blanks.next().filter(|_| blank) {
                        Some(old) => steps.push(Step::Pair(old, whole_piece(source, between))),
                        None => steps.push(Step::FileOnly(whole_piece(source, between))),
                    }
                }
            }
            steps.extend(blanks.map(Step::OldOnly));
            match line {
                Some(line) => {
                    steps.push(Step::Pair(at, whole_piece(source, line)));
                    next_file = Some(line + 1);
                }
                None => steps.push(Step::OldOnly(at)),
            }
            next_old = at + 1;
        }
        steps.extend((next_old..self.old.len()).map(Step::OldOnly));
        steps
    }
}

/// Whether two lines are the same but for how long their dashes are, some of which are
/// typographic.
fn differ_in_dashes(a: &str, b: &str) -> bool {
    let dash = |c: char| matches!(c, '-' | '\u{2013}' | '\u{2014}');
    let plain = |line: &str| {
        let mut last = ' ';
        let one = |c: char| if dash(c) { '-' } else { c };
        let kept = |c: &char| !(std::mem::replace(&mut last, *c) == '-' && *c == '-');
        line.trim().chars().map(one).filter(kept).collect::<String>()
    };
    let typographic = |line: &str| line.contains(['\u{2013}', '\u{2014}']);
    typographic(a) != typographic(b) && plain(a) == plain(b)
}

/// Whether one line is the beginning of the other.
fn begin_alike(a: &str, b: &str) -> bool {
    const LEAST: usize = 3;
    let (a, b) = (a.trim(), b.trim());
    a.len().min(b.len()) >= LEAST && (a.starts_with(b) || b.starts_with(a))
}

/// Whether two lines may stand for each other as context: comments may, and code that
/// differs in one short run of tokens.
fn may_differ(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    if is_comment(a) && is_comment(b) {
        return true;
    }
    let (code_a, code_b) = (without_comment(a), without_comment(b));
    if !code_a.is_empty()
        && (code_a.len() < a.len() || code_b.len() < b.len())
        && differences(code_a, code_b).is_some()
    {
        return true;
    }
    if is_comment(a) || is_comment(b) || tokens::likeness(a, b) < 0.5 {
        return false;
    }
    token_change(a, b).is_some_and(|(o, f)| o.len() + f.len() <= MOST_TOKENS)
}

/// The one run of tokens in which two lines differ; `None` for several runs.
fn token_change<'a>(a: &'a str, b: &'a str) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
    fn solid(text: &str) -> Vec<&str> {
        tokens::tokens(text).into_iter().filter(|t| !t.trim().is_empty()).collect()
    }
    let (a, b) = (solid(a), solid(b));
    let ops = capture_diff_slices(Algorithm::Myers, &a, &b);
    let mut changed = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let op = changed.next()?;
    if changed.next().is_some() {
        return None;
    }
    Some((a[op.old_range()].to_vec(), b[op.new_range()].to_vec()))
}

/// How many words two lines share, capitals and the marks around them aside.
fn words_alike(a: &str, b: &str) -> f64 {
    const SHORT: usize = 3;
    const FEW: usize = 3;
    let words = |line: &str| -> Vec<String> {
        let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (a, b) = (words(a), words(b));
    if a.concat() == b.concat() {
        return 1.0;
    }
    // What is in every sentence says little, where there is more.
    let telling = |words: &[String]| -> Vec<String> {
        words.iter().filter(|word| word.chars().count() > SHORT).cloned().collect()
    };
    let (c, d) = (telling(&a), telling(&b));
    let (a, b) = if c.len().min(d.len()) >= FEW { (c, d) } else { (a, b) };
    tokens::likeness(&a.join(" "), &b.join(" "))
}

/// Whether two lines differ in nothing but one number.
fn is_other_number(a: &str, b: &str) -> bool {
    let number = |tokens: &[&str]| {
        let [token] = tokens else { return false };
        token.bytes().all(|b| b.is_ascii_digit())
    };
    token_change(a.trim(), b.trim()).is_some_and(|(a, b)| number(&a) && number(&b))
}

/// Whether two lines differ in one name of code.
fn is_other_name(a: &str, b: &str) -> bool {
    let name = |tokens: &[&str]| {
        let [token] = tokens else { return false };
        token.chars().skip(1).any(|c| c.is_uppercase() || c.is_numeric() || c == '_')
    };
    token_change(a.trim(), b.trim()).is_some_and(|(a, b)| name(&a) && name(&b))
}

fn is_comment_difference(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    is_comment(a) && is_comment(b) || differences(without_comment(a), without_comment(b)).is_some()
}

/// Checks that everything that differs is context which the edit keeps, away from its
/// changes, and that nothing stale comes back with the new text. The error is the
/// file line (0-based) at fault.
fn residue_is_context(
    source: &Source<'_>,
    window: &Window,
    old: &[&str],
    new: &[&str],
    events: &[Event],
) -> Result<(), usize> {
    let solid: Vec<usize> = (0..old.len()).filter(|&at| !old[at].trim().is_empty()).collect();
    let touched = touched(old, events);
    let holds = holders(old, &touched);
    // What stands in several places tells of none.
    let tells = |line: &str| source.solid().places(skeleton(line.trim())).len() == 1;
    let only_comments = solid.iter().all(|&at| is_comment(old[at]) || !tells(old[at]));
    let mut fresh: Vec<&str> = Vec::new();
    for event in events {
        if let Event::Insert(n) | Event::Change(_, n) = event {
            fresh.extend(tokens::tokens(new[*n]));
        }
    }
    let mut line = window.first().map_or(0, |piece| piece.line);
    for step in &window.steps {
        match step {
            Step::Pair(at, piece) => {
                line = piece.line;
                let (a, b) = (old[*at], &source.text[piece.start..piece.end]);
                if differences(a, b).is_some() {
                    continue;
                }
                // The call puts in its place what the file has there.
                let same = |n: usize| new[n].trim() == b.trim();
                if events.iter().any(|e| matches!(e, Event::Change(o, n) if o == at && same(*n))) {
                    continue;
                }
                let index = solid.binary_search(at).map_err(|_| line)?;
                let comment = is_comment_difference(a, b);
                let at_end = index == 0 || index + 1 == solid.len();
                // A comment that holds the block's end, or stands among others, must at least be
                // that comment.
                if comment
                    && ((at_end || only_comments)
                        && (words_alike(a, b) < 0.5 || is_other_name(a, b))
                        || is_other_number(a, b))
                {
                    return Err(line);
                }
                if comment {
                    let kept = events.iter().any(|e| {
                        matches!(e, Event::Keep(o, _) if o == at)
                            || matches!(e, Event::Change(o, _) if o == at && !is_comment(a))
                    });
                    let stale = token_change(a.trim(), b.trim()).map(|(stale, _)| stale);
                    let says = |t: &&str| t.chars().filter(|c| c.is_alphanumeric()).count() >= 3;
                    let mut stale = stale.iter().flatten().filter(|t| says(t));
                    if !kept || stale.any(|token| fresh.contains(token)) {
                        return Err(line);
                    }
                    continue;
                }
                // What heads a block, or holds what is changed, says which of its kind it is.
                let head = holds[*at] || super::steps::opens(b);
                if at_end || touched[*at] {
                    return Err(line);
                }
                let Some((stale, there)) = token_change(a.trim(), b.trim()) else {
                    return Err(line);
                };
                let names =
                    |tokens: &[&str]| tokens.iter().any(|t| t.contains(char::is_alphabetic));
                if head && (names(&stale) || names(&there) || is_operator(&stale, &there)) {
                    return Err(line);
                }
                // Marks that are no plain punctuation are somebody's habit as well.
                let says =
                    |t: &&&str| t.contains(char::is_alphanumeric) || **t == "\\" || !t.is_ascii();
                if stale.iter().filter(says).any(|token| fresh.contains(token)) {
                    return Err(line);
                }
            }
            Step::OldOnly(at) if !old[*at].trim().is_empty() => {
                let kept = events.iter().any(|e| matches!(e, Event::Keep(o, _) if o == at));
                // Without its end, nothing shows where the text begins or stops.
                let at_end = solid.first() == Some(at) || solid.last() == Some(at);
                if !kept || (touched[*at] || at_end) && !is_comment(old[*at]) {
                    return Err(line);
                }
            }
            Step::OldOnly(_) | Step::FileOnly(_) => {}
        }
    }
    Ok(())
}

/// Whether a sign stands in another one's place, which is no mark at the end of something.
fn is_operator(stale: &[&str], there: &[&str]) -> bool {
    let sign = |tokens: &[&str]| tokens.iter().any(|t| !matches!(*t, "," | ";" | ")" | "("));
    sign(stale) && sign(there)
}

/// Which old lines hold one that the edit touches: the nearest less deep above it, and so on.
fn holders(old: &[&str], touched: &[bool]) -> Vec<bool> {
    let depth = |at: usize| super::indent::columns(super::indent::of(old[at]), 4);
    let solid = |at: &usize| !old[*at].trim().is_empty();
    let mut holds = vec![false; old.len()];
    for at in (0..old.len()).filter(|at| touched[*at] && solid(at)) {
        let mut inner = depth(at);
        for above in (0..at).rev().filter(solid) {
            if depth(above) < inner {
                inner = depth(above);
                holds[above] = true;
            }
        }
    }
    holds
}

/// Which old lines the edit changes or stands right beside.
fn touched(old: &[&str], events: &[Event]) -> Vec<bool> {
    let mut out = vec![false; old.len()];
    let mut last: Option<usize> = None;
    let mut dirty = false;
    for event in events {
        match *event {
            Event::Keep(o, _) => {
                if old[o].trim().is_empty() {
                    continue;
                }
                out[o] |= dirty;
                dirty = false;
                last = Some(o);
            }
            Event::Change(o, _) | Event::Delete(o) => {
                out[o] = true;
                if let Some(last) = last {
                    out[last] = true;
                }
                dirty = true;
            }
            Event::Insert(_) => {
                if let Some(last) = last {
                    out[last] = true;
                }
                dirty = true;
            }
        }
    }
    out
}

/// Whether all new lines of the edit stand together somewhere in the file already.
fn fresh_lines_exist(source: &Source<'_>, new: &[&str], events: &[Event]) -> bool {
    let fresh: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::Insert(n) | Event::Change(_, n) => Some(new[*n].trim()),
            Event::Keep(..) | Event::Delete(_) => None,
        })
        .filter(|line| !line.is_empty())
        .collect();
    let letters: usize =
        fresh.iter().map(|l| l.chars().filter(|c| c.is_alphanumeric()).count()).sum();
    if letters < 12 {
        return false;
    }
    let file = source.solid();
    let skeletons: Vec<Skeleton> = fresh.iter().map(|line| skeleton(line)).collect();
    let Some(rare) = (0..fresh.len()).find(|&at| skeletons[at] != NO_WORD) else { return false };
    file.places(skeletons[rare]).iter().any(|&place| {
        let Some(start) = (place as usize).checked_sub(rare) else { return false };
        let Some(lines) = file.lines.get(start..start + fresh.len()) else { return false };
        lines.iter().zip(&fresh).all(|(&line, fresh)| source.body(line).trim() == *fresh)
    })
}

#[cfg(test)]
mod tests {
    use crate::edit::EditRequest;
    use crate::matching::explain;
    use crate::text::Snapshot;

    #[test]
    fn a_comment_in_front_may_be_remembered_in_other_words() {
        let file = Snapshot::from_text(
            "x\n// what specific functionality of Jiff you actually need.\nextern crate alloc;\n\npub use crate::{\n    error::Error,\n    span::{\n        Span, Unit,\n    },\n};\n",
        );
        let call = EditRequest::new(
            "// what specific functionality current Jiff you actually need.\nextern crate alloc;\n\npub use crate::{\n    error::Error,\n    span::{\n",
            "// what specific functionality current Jiff you actually need.\nextern crate alloc;\n\npub use crate::{\n    error::Error,\n    signed::Signed,\n    span::{\n",
        );
        let explained = explain(&call, &file).expect("aligned");
        assert_eq!(explained.explanation.rung, "aligned");
    }
}
