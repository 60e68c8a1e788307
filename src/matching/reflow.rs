//! Reflow: the same statement with its line breaks in other places.
//!
//! The texts are compared without any white space, from the start of a line of the
//! file to the end of one. Lines that break alike are paired as usual; where they do
//! not, the lines between two common breaks are merged as one.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Explained;
use super::bounded::Bounded;
use super::call::{Call, merge_window, whole_piece};
use super::decode::Reading;
use super::events::{Event, events};
use super::indent::IndentMap;
use super::ladder::Rung;
use super::merge::{Conflict, new_lines};
use super::refuse;
use super::slack::Slack;
use super::source::Source;
use super::style::EditMap;
use super::window::{Step, Window, split};
use super::{code, tokens};
use crate::edit::{Expected, Refusal, Splice};

/// The rung.
pub(super) struct Reflowed;

/// At most so many places are compared: those of the longest word, or of a rarer one among so
/// many.
const MOST: usize = 2_000;
const MOST_WORDS: usize = 4;

impl Rung for Reflowed {
    fn id(&self) -> &'static str {
        "reflowed"
    }

    fn about(&self) -> &'static str {
        "line breaks in other places of a statement"
    }

    fn explain(&self, call: &Call<'_>) -> Option<Result<Explained, Refusal>> {
        call.clear_readings().find_map(|read| explain(call, &read.reading))
    }
}

fn explain(call: &Call<'_>, reading: &Reading) -> Option<Result<Explained, Refusal>> {
    let source = call.source();
    let old = split(&reading.old);
    let Bounded { found: places, complete } = places(source, &old);
    let lines: Vec<usize> = places.iter().map(|(first, _)| first + 1).collect();
    if !complete && lines.is_empty() {
        call.gives_up();
    } else if !complete {
        return Some(Err(refuse::not_all_compared(call, &lines)));
    }
    let [(first, last)] = places[..] else {
        return (!lines.is_empty()).then(|| Err(refuse::too_many(call, &lines, false)));
    };
    if call.request.expected != Expected::default() && call.request.expected != Expected::All {
        return Some(Err(refuse::too_many(call, &[first + 1], false)));
    }
    let new = new_lines(&reading.old, &reading.new);
    // Blank lines around both strings are around the statement, and no part of it.
    let blanks = |lines: &[&str]| lines.iter().take_while(|line| line.trim().is_empty()).count();
    let leading = blanks(&old);
    let new = match leading <= blanks(&new) && leading < old.len() {
        true => new[leading..].to_vec(),
        false => new,
    };
    let old = &old[leading.min(old.len())..];
    // Those below it, too; where only the new text is without them, they go.
    let below = |lines: &[&str]| lines.iter().rev().take_while(|l| l.trim().is_empty()).count();
    let (known, kept) = (below(old), below(&new));
    let (old, new) = (&old[..old.len() - known], &new[..new.len() - known.min(kept)]);
    let blank = |line: &usize| source.body(*line).trim().is_empty();
    let gone = (last + 1..source.lines.len()).take(known.saturating_sub(kept)).take_while(blank);
    // The blank lines at the end of a file are part of neither statement.
    let rest = last + 1..source.lines.len();
    if known != kept && rest.len() > known && rest.clone().all(|line| blank(&line)) {
        let why = "how many blank lines shall end the file, nothing tells";
        let conflict = Conflict { line: last, why };
        return Some(Err(refuse::conflict_over(call, Some(first..=last), &conflict)));
    }
    let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let file = &source.text[source.lines[first].start..source.lines[last].end];
    if solid(file) == solid(&reading.new) {
        return Some(Err(refuse::already_applied(first + 1)));
    }
    let mut rewrites: Vec<String> = reading.ids.iter().map(|id| (*id).to_owned()).collect();
    rewrites.push("line_breaks".to_owned());
    Some(merge(call, source, old, new, first, last).and_then(|mut splice| {
        if let Some(line) = gone.last() {
            splice.range.end = source.lines[line].full_end();
        }
        match call.covered_by_new(&splice.range) {
            Some(refusal) => Err(refusal),
            None => call.finish(vec![splice], "reflowed", rewrites),
        }
    }))
}

/// The places as first and last line.
fn places(source: &Source<'_>, old: &[&str]) -> Bounded<(usize, usize)> {
    let bare: Vec<char> =
        old.iter().flat_map(|l| l.chars()).filter(|c| !c.is_whitespace()).collect();
    if bare.len() < 8 {
        return Bounded::default();
    }
    let mut words: Vec<&str> = old
        .iter()
        .flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
        .filter(|word| word.len() >= 3)
        .collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    let hits = |word: &str| {
        let hits = memchr::memmem::find_iter(source.text.as_bytes(), word.as_bytes());
        Bounded::at_most(MOST, hits)
    };
    // A long word is rare mostly, so that the first one will do.
    let mut found = words.iter().take(MOST_WORDS).map(|word| (*word, hits(word)));
    let Some(first) = found.next() else { return Bounded::default() };
    let (word, Bounded { found: hits, complete }) = match first.1.complete {
        true => first,
        false => found.find(|(_, hits)| hits.complete).unwrap_or(first),
    };
    let joined = old.join("\n");
    let Some(at) = joined.find(word) else { return Bounded::default() };
    let before: Vec<char> = joined[..at].chars().filter(|c| !c.is_whitespace()).collect();
    let mut out = Vec::new();
    for found in hits {
        let Some(start) = back(source.text, found, &before) else { continue };
        let Some(end) = forth(source.text, start, &bare) else { continue };
        let (first, last) = (source.line_at(start), source.line_at(end - 1));
        let head = &source.text[source.lines[first].start..start];
        let tail = &source.text[end..source.lines[last].end];
        // Where lines break as in the call, white space within lines differs.
        let solid = |line: &&str| !line.trim().is_empty();
        let broken = (first..=last).map(|at| source.body(at)).filter(|line| solid(line)).count()
            != old.iter().filter(|line| solid(line)).count();
        let alone = head.trim().is_empty() && tail.trim().is_empty();
        if alone && broken && !out.contains(&(first, last)) {
            out.push((first, last));
        }
    }
    Bounded { found: out, complete }
}

/// Walks back over `before`, white space aside.
fn back(text: &str, from: usize, before: &[char]) -> Option<usize> {
    let mut chars = text[..from].char_indices().rev().filter(|(_, c)| !c.is_whitespace());
    let mut start = from;
    for expected in before.iter().rev() {
        let (at, c) = chars.next()?;
        if c != *expected {
            return None;
        }
        start = at;
    }
    Some(start)
}

/// Walks forth over `bare`, white space aside.
fn forth(text: &str, from: usize, bare: &[char]) -> Option<usize> {
    let mut chars = text[from..].char_indices().filter(|(_, c)| !c.is_whitespace());
    let mut end = from;
    for expected in bare {
        let (at, c) = chars.next()?;
        if c != *expected {
            return None;
        }
        end = from + at + c.len_utf8();
    }
    Some(end)
}

/// How many lines open a block.
fn heads(lines: &[&str]) -> usize {
    lines.iter().filter(|line| line.trim_end().ends_with(['{', ':'])).count()
}

/// Lines of the call and of the file between two common breaks.
struct Segment {
    old: std::ops::Range<usize>,
    file: std::ops::Range<usize>,
}

fn segments(source: &Source<'_>, old: &[&str], first: usize, last: usize) -> Vec<Segment> {
    let size = |line: &str| line.chars().filter(|c| !c.is_whitespace()).count();
    let mut out = Vec::new();
    let (mut i, mut j) = (0, first);
    let (mut a, mut b) = (0, 0);
    let mut start = (0, first);
    while i < old.len() || j <= last {
        let behind = a < b || a == b && i - start.0 <= j - start.1;
        if behind && i < old.len() || j > last {
            a += size(old[i]);
            i += 1;
        } else {
            b += size(source.body(j));
            j += 1;
        }
        if a == b && i > start.0 && j > start.1 {
            out.push(Segment { old: start.0..i, file: start.1..j });
            start = (i, j);
        }
    }
    if let Some(segment) = out.last_mut() {
        segment.old.end = old.len();
        segment.file.end = last + 1;
    }
    out
}

fn merge(
    call: &Call<'_>,
    source: &Source<'_>,
    old: &[&str],
    new: &[&str],
    first: usize,
    last: usize,
) -> Result<Splice, Refusal> {
    let events = events(old, new);
    let stale = |line: usize| refuse::stale_line(call, line);
    let mut old_lines: Vec<String> = Vec::new();
    let mut new_lines: Vec<String> = Vec::new();
    let mut steps = Vec::new();
    let mut indents = Vec::new();
    let mut at = 0;
    for segment in segments(source, old, first, last) {
        let alike = segment.old.len() == 1 && segment.file.len() == 1;
        let begin = at;
        while at < events.len() && !starts_beyond(&events[at], segment.old.end) {
            at += 1;
        }
        let own = &events[begin..at];
        // New lines before and behind the statement are not a part of it.
        let insert = |e: &&Event| matches!(e, Event::Insert(_));
        let (head, tail) = if alike {
            (0, 0)
        } else {
            (own.iter().take_while(insert).count(), own.iter().rev().take_while(insert).count())
        };
        let text = |events: &[Event]| -> Vec<String> {
            events.iter().filter_map(new_line).map(|n| new[n].to_owned()).collect()
        };
        let (head, own, tail) = if head == own.len() {
            (own, &own[..0], &own[..0])
        } else {
            (&own[..head], &own[head..own.len() - tail], &own[own.len() - tail..])
        };
        new_lines.extend(text(head));
        let changed: Vec<&str> = own.iter().filter_map(new_line).map(|n| new[n]).collect();
        if alike {
            let line = segment.file.start;
            steps.push(Step::Pair(old_lines.len(), whole_piece(source, line)));
            indents.push((
                super::indent::of(old[segment.old.start]).to_owned(),
                super::indent::of(source.body(line)).to_owned(),
            ));
            old_lines.push(old[segment.old.start].to_owned());
            new_lines.extend(changed.into_iter().map(str::to_owned));
            continue;
        }
        let file: Vec<&str> = segment.file.clone().map(|line| source.body(line)).collect();
        for line in segment.file.clone() {
            steps.push(Step::Pair(old_lines.len(), whole_piece(source, line)));
            old_lines.push(source.body(line).to_owned());
        }
        if own.iter().all(|e| matches!(e, Event::Keep(..))) {
            new_lines.extend(file.into_iter().map(str::to_owned));
        } else if changed.is_empty() {
            // The whole statement is removed.
        } else if changed.iter().find(|line| !line.trim().is_empty()).is_some_and(|line| {
            super::indent::of(line) != super::indent::of(old[segment.old.start])
        }) || heads(&changed) > heads(&old[segment.old.clone()])
        {
            // Another block takes its place, with its own breaks.
            new_lines.extend(changed.into_iter().map(str::to_owned));
        } else {
            // Where lines are joined, a comment would swallow what comes after it.
            let comment = |line: &&str| {
                code::without_comment(line) != *line || line.contains("-- ") || line.contains('#')
            };
            if changed.len() > file.len() && changed[..changed.len() - 1].iter().any(comment) {
                return Err(stale(segment.file.start));
            }
            let joined = |lines: &[&str]| lines.join("\n").trim().to_owned();
            let file_text = joined(&file);
            let merged = tokens::merge(
                &joined(&old[segment.old.clone()]),
                &file_text,
                &joined(&changed),
                &EditMap::default(),
                tokens::Place::default(),
            )
            .and_then(|merged| as_broken(&joined(&old[segment.old.clone()]), &file_text, merged))
            .ok_or_else(|| stale(segment.file.start))?;
            let head = super::indent::of(file[0]);
            new_lines.extend(format!("{head}{merged}").split('\n').map(str::to_owned));
        }
        new_lines.extend(text(tail));
    }
    let rest: Vec<&str> = events[at..].iter().filter_map(new_line).map(|n| new[n]).collect();
    new_lines.extend(rest.into_iter().map(str::to_owned));
    let window = Window { steps, slack: Slack::SPACING };
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old_lines.iter().map(String::as_str).collect(),
        new_lines.iter().map(String::as_str).collect(),
    );
    merge_window(source, &window, &old, &new, &IndentMap::fit(indents, source.unit()))
        .map(|candidate| candidate.splice)
        .map_err(|conflict| refuse::conflict(call, &window, &conflict))
}

/// The merged statement with its line breaks where the file would have them. `None` where
/// nothing tells, or where a change stands at a break that only the file has.
fn as_broken(old: &str, file: &str, merged: String) -> Option<String> {
    let solid = |text: &str| -> Vec<String> {
        let tokens = tokens::tokens(text).into_iter().filter(|token| !token.trim().is_empty());
        tokens.map(str::to_owned).collect()
    };
    // The tokens around each break that is not within brackets, where breaks mean nothing.
    let breaks = |text: &str| -> Vec<(Option<String>, Option<String>)> {
        let outside = |at: &usize| code::brackets(&text[..*at].replace('\n', " ")) <= 0;
        let all = text.match_indices('\n').map(|(at, _)| at).filter(outside);
        all.map(|at| (solid(&text[..at]).pop(), solid(&text[at..]).into_iter().next())).collect()
    };
    if file.contains('\n') {
        let last = |text: &str| solid(text).pop();
        let ends = last(file).is_some_and(|last| merged.trim_end().ends_with(&last));
        if !ends && !breaks(file).is_empty() && !is_filled(file) && grows(old, &merged) {
            return None;
        }
        let merged = laid_out(file, &merged);
        let kept = breaks(&merged);
        return breaks(file).iter().all(|one| kept.contains(one)).then_some(merged);
    }
    if !merged.contains('\n') {
        return Some(merged);
    }
    // What the file has where the call breaks: behind what opens, before what closes, or else.
    let kind = |last: char, next: Option<char>| match next {
        _ if matches!(last, '(' | '[' | '{') => 0,
        Some(')' | ']' | '}' | '>') => 1,
        _ => 2,
    };
    let mut known: [Option<&str>; 3] = [None; 3];
    for (at, _) in old.match_indices('\n') {
        let before = old[..at].chars().filter(|c| !c.is_whitespace()).count();
        let solid = file.char_indices().filter(|(_, c)| !c.is_whitespace());
        let (offset, last) = solid.clone().nth(before.checked_sub(1)?)?;
        let rest = &file[offset + last.len_utf8()..];
        let gap = &rest[..rest.len() - rest.trim_start().len()];
        let known = &mut known[kind(last, rest.trim_start().chars().next())];
        if known.is_some_and(|other| other != gap) {
            return None;
        }
        *known = Some(gap);
    }
    let mut out = String::new();
    for (at, line) in merged.split('\n').enumerate() {
        if at > 0 {
            let last = out.trim_end().chars().next_back()?;
            let comma = Some(" ").filter(|_| last == ',');
            let gap = known[kind(last, line.trim_start().chars().next())].or(comma)?;
            out.truncate(out.trim_end().len());
            out.push_str(gap);
        }
        if code::without_comment(line) != line {
            return None;
        }
        out.push_str(if at > 0 { line.trim_start() } else { line });
    }
    Some(out)
}

/// Whether the lines of a text end where the next word had no room, as those of prose do: other
/// breaks part one thing from the next.
fn is_filled(text: &str) -> bool {
    let size = |text: &str| text.chars().count();
    const LEAST: usize = 40;
    let lines: Vec<&str> = text.split('\n').collect();
    let most = lines.iter().map(|line| size(line)).max().unwrap_or(0);
    let full = |pair: &[&str]| {
        let word = pair[1].split_whitespace().next().unwrap_or_default();
        size(pair[0].trim_end()) + 1 + size(word) > most
    };
    most >= LEAST && lines.windows(2).all(full)
}

/// Whether a text is the other one and more words behind it.
fn grows(old: &str, merged: &str) -> bool {
    let words =
        |text: &'_ str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let (old, merged) = (words(old), words(merged));
    merged.len() > old.len() && merged.starts_with(&old)
}

/// The merged statement, laid out as the file's: what is new in a list that has each item on
/// a line of its own gets one, too, and a bracket that stands alone stays alone.
fn laid_out(file: &str, merged: &str) -> String {
    let (ours, theirs) = (Spaced::of(file), Spaced::of(merged));
    let ops = capture_diff_slices(Algorithm::Myers, &ours.tokens, &theirs.tokens);
    let mut kept: Vec<Option<usize>> = vec![None; theirs.tokens.len()];
    for op in ops {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            (0..len).for_each(|at| kept[new_index + at] = Some(old_index + at));
        }
    }
    let broken = |gap: &&str| gap.contains('\n');
    let before = |f: usize| ours.gaps.get(f).copied().filter(broken);
    // Lists that begin their lines with commas.
    let leading = (0..ours.tokens.len()).filter(|f| ours.tokens[*f] == ",").find_map(before);
    let mut out = String::new();
    let mut depth = 0_i32;
    for (m, token) in theirs.tokens.iter().enumerate() {
        let last = m.checked_sub(1);
        let left = last.and_then(|m| kept[m]);
        let next = || kept[m..].iter().flatten().next().copied();
        if kept[m].is_some() || left.is_some() {
            depth = 0;
        }
        let gap = match (left, kept[m]) {
            (Some(left), Some(right)) if right == left + 1 => None,
            (_, Some(right)) if last.is_some() => before(right),
            (_, None) if *token == "," => leading,
            (Some(left), None) => ours.beside(left).filter(|_| !is_closer(token)),
            (None, None) if depth == 0 && last.is_some_and(|m| theirs.tokens[m] == ",") => {
                next().and_then(|next| ours.item_break(next))
            }
            _ => None,
        };
        depth += i32::from(matches!(*token, "(" | "[" | "{")) - i32::from(is_closer(token));
        out.push_str(gap.unwrap_or(theirs.gaps[m]));
        out.push_str(token);
    }
    out
}

fn is_closer(token: &str) -> bool {
    matches!(token, ")" | "]" | "}")
}

/// The tokens of a text, and the white space before each.
struct Spaced<'a> {
    tokens: Vec<&'a str>,
    gaps: Vec<&'a str>,
}

impl<'a> Spaced<'a> {
    fn of(text: &'a str) -> Self {
        let (mut tokens, mut gaps, mut gap) = (Vec::new(), Vec::new(), "");
        for token in tokens::tokens(text) {
            if token.trim().is_empty() {
                gap = token;
            } else {
                tokens.push(token);
                gaps.push(std::mem::take(&mut gap));
            }
        }
        Self { tokens, gaps }
    }

    /// The break for what is new behind a token at the end of its line: the one that comes, or
    /// where that goes out of a block, the one in front of the line, as of a sibling.
    fn beside(&self, at: usize) -> Option<&'a str> {
        let depth = |gap: &str| gap.len() - gap.rfind('\n').map_or(0, |line| line + 1);
        let broken = |f: &usize| self.gaps[*f].contains('\n');
        let next = self.gaps.get(at + 1).copied().filter(|gap| gap.contains('\n'))?;
        let own = (0..=at).rev().find(broken).map(|f| self.gaps[f]);
        Some(own.filter(|own| depth(own) > depth(next)).unwrap_or(next))
    }

    /// The break in front of an item of the list that a token is in, or ends, if each item
    /// there stands on a line of its own.
    fn item_break(&self, at: usize) -> Option<&'a str> {
        let (mut depth, mut last) = (0, None);
        for f in (0..at).rev() {
            let token = self.tokens[f];
            depth += i32::from(is_closer(token)) - i32::from(matches!(token, "(" | "[" | "{"));
            if depth < 0 || depth == 0 && token == "," {
                let gap = self.gaps.get(f + 1).copied().unwrap_or_default();
                if !gap.contains('\n') && (depth == 0 || last.is_none()) {
                    return None;
                }
                last = last.or(Some(gap));
            }
            if depth < 0 {
                break;
            }
        }
        last
    }
}

fn starts_beyond(event: &Event, end: usize) -> bool {
    matches!(event, Event::Keep(o, _) | Event::Change(o, _) | Event::Delete(o) if *o >= end)
}

fn new_line(event: &Event) -> Option<usize> {
    match *event {
        Event::Keep(_, n) | Event::Change(_, n) | Event::Insert(n) => Some(n),
        Event::Delete(_) => None,
    }
}
