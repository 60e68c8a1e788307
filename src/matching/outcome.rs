//! What a call would write at a place: the merge of the call's lines with the file's,
//! once for each way in which the call can be read.
//!
//! What the call keeps stays the file's bytes; what it changes is written. New lines are
//! the caller's, but for their indentation and their ending. Where the call would run
//! over something that it does not know, there is a conflict, and no outcome.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Range;

use super::diff::{Event, events};
use super::evidence::{self, Depth};
use super::file::{File, Tolerance, split};
use super::fold::{self, Fold};
use super::indent::{self, IndentMap, Levels};
use super::place::{Chunk, ChunkKind, Place};
use super::reading::NewText;
use super::tokens::{self, Merged};
use crate::edit::Splice;
use crate::text::Ending;

/// One text that the call can mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) splice: Splice,
    /// How the call is read, in a few words.
    pub(super) how: String,
}

/// Lines that the caller changes, and that the file has otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// Lines of the file, from 0.
    pub(crate) lines: Range<usize>,
    /// What the call believed to stand there.
    pub(crate) believed: String,
    /// What stands there.
    pub(crate) found: String,
    /// What the call wants there.
    pub(crate) wanted: String,
}

/// The lines of a new text that replaces `old`. A closing line break that only `new` has
/// adds a blank line, as in a plain replacement.
pub(super) fn new_lines<'a>(old: &str, new: &'a str) -> Vec<&'a str> {
    if new.is_empty() && old.ends_with('\n') {
        return Vec::new();
    }
    let mut lines = split(new);
    if new.ends_with('\n') && !old.ends_with('\n') {
        lines.push("");
    }
    lines
}

/// Every text that the call can mean at a place, without repetition; or its conflicts.
pub(super) fn outcomes(
    file: &File<'_>,
    place: &Place,
    old: &str,
    new: &NewText,
) -> Result<Vec<Outcome>, Draft> {
    read_with(file, place, old, new, evidence::depths)
}

/// What the call can mean where its indentation is so odd that no reading tells the depth of
/// every new line. One alone of these proves nothing.
pub(super) fn guesses(file: &File<'_>, place: &Place, old: &str, new: &NewText) -> Vec<Outcome> {
    let depths = |_: &Lines<'_, '_>| vec![Depth::BesideOrSent, Depth::AsSent];
    read_with(file, place, old, new, depths).unwrap_or_default()
}

fn read_with(
    file: &File<'_>,
    place: &Place,
    old: &str,
    new: &NewText,
    depths: fn(&Lines<'_, '_>) -> Vec<Depth>,
) -> Result<Vec<Outcome>, Draft> {
    let mut out: Vec<Outcome> = Vec::new();
    let mut conflict = None;
    let several = new.texts().count() > 1;
    let characters = Characters::learn(file, place, old, new).readings();
    let readings = new.texts().enumerate();
    for (characters, (at, text)) in
        readings.flat_map(|new| characters.iter().map(move |c| (c, new)))
    {
        let (old, text) = (characters.apply(old), characters.apply(text));
        let call = Lines::new(file, place, &old, &text);
        for depth in depths(&call) {
            for blank in [Blank::Above, Blank::Below] {
                let Some(draft) = Writer::new(&call, depth, blank).run() else { continue };
                if !draft.hunks.is_empty() {
                    conflict.get_or_insert(draft);
                    continue;
                }
                let mut how = Vec::new();
                if several {
                    how.push(
                        ["new_str with the same mistake undone", "new_str as it was sent"]
                            [at.min(1)],
                    );
                }
                how.extend(depth.words());
                if blank == Blank::Below {
                    how.push("new lines above the file's blank line");
                }
                for (number, text) in draft.texts(&call).into_iter().enumerate() {
                    let mut how = how.clone();
                    if number == 1 {
                        how.push("changed lines with the marks of new_str");
                    }
                    let splice = Splice { range: call.range(), text };
                    if !out.iter().any(|seen| seen.splice == splice) {
                        out.push(Outcome { splice, how: how.join(", ") });
                    }
                }
            }
        }
    }
    // A call that changes something is not read as one that changes nothing.
    let changes =
        |outcome: &Outcome| file.text[outcome.splice.range.clone()] != *outcome.splice.text;
    if out.iter().any(changes) {
        out.retain(changes);
    }
    match (out.is_empty(), conflict) {
        (true, Some(draft)) => Err(draft),
        _ => Ok(out),
    }
}

/// Characters that the call writes in one way and the file in another, where the lines of
/// the place show it without exception: typographic quotes in a file that has plain ones,
/// blanks at line ends. Where the file has both forms, the text stays as sent.
struct Characters {
    map: Vec<(String, String)>,
    /// Blanks that the call has at the ends of lines, and the file has not.
    tails: BTreeSet<String>,
}

impl Characters {
    fn learn(file: &File<'_>, place: &Place, old: &str, new: &NewText) -> Self {
        let mut seen: Vec<(String, Option<String>)> = Vec::new();
        let lines = split(old);
        let mut learn =
            |from: &str, to: &str| match seen.iter_mut().find(|(known, _)| known == from) {
                Some((_, known)) if known.as_deref() != Some(to) => *known = None,
                Some(_) => {}
                None => seen.push((from.to_owned(), Some(to.to_owned()))),
            };
        let fold = place.tolerance.fold().filter(|_| !old.is_ascii());
        for chunk in place.chunks.iter().filter(|_| fold.is_some()) {
            if chunk.kind != ChunkKind::Same || chunk.old.len() != 1 || chunk.lines.is_empty() {
                continue;
            }
            let pairs = look_alikes(lines[chunk.old.start], place.text(chunk, file));
            pairs.into_iter().filter(|(call, _)| !call.is_ascii()).for_each(|(a, b)| learn(a, b));
        }
        let changed = seen.into_iter().filter_map(|(from, to)| Some((from, to?)));
        let map = changed.filter(|(from, to)| from != to).collect();
        let pairs = place.chunks.iter().filter(|c| c.kind == ChunkKind::Same && c.old.len() == 1);
        let tails: Vec<(&str, &str)> = pairs
            .filter(|chunk| !chunk.lines.is_empty())
            .map(|chunk| (tail(lines[chunk.old.start]), tail(place.text(chunk, file))))
            .collect();
        // Lines that new_str has too tell whether it was written by the same hand.
        let (mut mistaken, mut right) = (false, false);
        let mut tailed: HashMap<&str, HashSet<&str>> = HashMap::new();
        for old in lines.iter().filter(|old| !tail(old).is_empty()) {
            tailed.entry(old.trim()).or_default().insert(tail(old));
        }
        for line in new.texts().flat_map(split) {
            if let Some(tails) = tailed.get(line.trim()) {
                mistaken |= tails.contains(tail(line));
                right |= tail(line).is_empty();
            }
        }
        let only_in_call = tails.iter().all(|(_, file)| file.is_empty());
        let tails = tails.into_iter().filter(|_| only_in_call && (mistaken || !right));
        let tails = tails.map(|(call, _)| call.to_owned()).filter(|tail| !tail.is_empty());
        Self { map, tails: tails.collect() }
    }

    /// A long dash stands for one hyphen or for two, so that no pair tells which: with and
    /// without those.
    fn readings(self) -> Vec<Self> {
        let is_dash = |(from, _): &(String, String)| from.starts_with(['–', '—']);
        let map: Vec<_> = self.map.iter().filter(|pair| !is_dash(pair)).cloned().collect();
        let other = (map.len() < self.map.len()).then_some(Self { map, tails: self.tails.clone() });
        std::iter::once(self).chain(other).collect()
    }

    fn apply(&self, text: &str) -> String {
        let text = self.map.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        if self.tails.is_empty() {
            return text;
        }
        let trimmed = text.split('\n').map(|line| {
            let (body, ending) = line.split_at(line.trim_end_matches('\r').len());
            let tail = tail(body);
            match self.tails.contains(tail) {
                true => format!("{}{ending}", &body[..body.len() - tail.len()]),
                false => line.to_owned(),
            }
        });
        trimmed.collect::<Vec<_>>().join("\n")
    }
}

/// The characters of two lines that look alike, each as the call and as the file has it.
fn look_alikes<'a>(call: &'a str, file: &'a str) -> Vec<(&'a str, &'a str)> {
    let (call, file) = (call.trim(), file.trim());
    let [x, y] = [call, file].map(|line| fold::canonical(line, Fold::LookAlike));
    if x.len() != y.len() {
        return Vec::new();
    }
    // One character may stand for several, as an ellipsis does for three dots.
    let mut pairs: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (x, y) in x.iter().zip(&y) {
        match pairs.last_mut() {
            Some((a, b)) if *a == x.range() => b.end = y.end,
            Some((a, b)) if *b == y.range() => a.end = x.end,
            _ => pairs.push((x.range(), y.range())),
        }
    }
    pairs.into_iter().map(|(a, b)| (&call[a], &file[b])).collect()
}

/// The blanks at the end of a line with words.
fn tail(line: &str) -> &str {
    let words = line.trim_end().len();
    if words == 0 { "" } else { &line[words..] }
}

/// The conflicts of a call at a place.
pub(super) fn conflicts(file: &File<'_>, place: &Place, old: &str, new: &NewText) -> Vec<Hunk> {
    outcomes(file, place, old, new).err().map(|draft| draft.hunks).unwrap_or_default()
}

/// The text of a call at a place whose conflicts are settled by these lines, one for each.
pub(super) fn settled(
    file: &File<'_>,
    place: &Place,
    old: &str,
    new: &str,
    answers: &[String],
) -> Option<Splice> {
    let call = Lines::new(file, place, old, new);
    let mut depths = evidence::depths(&call).into_iter();
    let draft = depths.find_map(|depth| Writer::new(&call, depth, Blank::Above).run())?;
    Some(Splice { range: call.range(), text: draft.compose(&call, false, answers) })
}

/// The lines of a call at a place, and what happens to them.
pub(super) struct Lines<'a, 't> {
    pub(super) file: &'a File<'t>,
    pub(super) place: &'a Place,
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    pub(super) events: Vec<Event>,
    pub(super) map: IndentMap,
    /// For each pair of the map, its line of the call.
    pub(super) paired: Vec<usize>,
    closed: bool,
}

impl<'a, 't> Lines<'a, 't> {
    pub(super) fn new(file: &'a File<'t>, place: &'a Place, old: &'a str, new: &'a str) -> Self {
        let closed = old.ends_with('\n');
        let new = new_lines(old, new);
        let old = split(old);
        let events = events(&old, &new);
        let mut paired = Vec::new();
        let mut pairs = Vec::new();
        for chunk in &place.chunks {
            let at = chunk.old.start;
            let is_pair = chunk.kind != ChunkKind::Elided
                && !chunk.old.is_empty()
                && !chunk.lines.is_empty()
                && chunk.from_start
                && !old[at].trim().is_empty();
            if is_pair {
                paired.push(at);
                let line = file.body(chunk.lines.start);
                pairs.push((indent::of(old[at]).to_owned(), indent::of(line).to_owned()));
            }
        }
        let rest = Levels::new(file, old.get(1..).unwrap_or(&[]), new.get(1..).unwrap_or(&[]));
        let map = IndentMap::fit(pairs, Levels::new(file, &old, &new), rest);
        Self { file, place, old, new, events, map, paired, closed }
    }

    /// The bytes that are replaced.
    pub(super) fn range(&self) -> Range<usize> {
        let range = self.place.range();
        let lines = self.place.lines();
        let last = self.file.lines().get(lines.end.wrapping_sub(1));
        match last {
            Some(last) if self.closed && range.end == last.end => range.start..last.full_end(),
            _ => range,
        }
    }

    /// The file's indentation of the line that stands for a line of the call.
    pub(super) fn file_indent(&self, old: usize) -> Option<&'t str> {
        let chunk = self.place.chunk_of(old)?;
        let paired = chunk.from_start && !chunk.lines.is_empty() && chunk.old.start == old;
        paired.then(|| indent::of(self.file.body(chunk.lines.start)))
    }
}

/// Where new lines go beside a blank line that only the file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blank {
    Above,
    Below,
}

/// A line of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Out {
    Line {
        text: String,
        /// The line as it was sent, where the merge leaves open how it is written.
        sent: Option<String>,
        /// `None` takes the ending of its neighbours.
        ending: Option<Ending>,
    },
    /// The conflict of this number.
    Hunk(usize),
}

/// The result of a merge, and where it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    lines: Vec<Out>,
    pub(super) hunks: Vec<Hunk>,
    uses_blank: bool,
}

impl Draft {
    /// The lines, with a gap for each conflict.
    pub(super) fn frame(&self) -> Vec<Option<String>> {
        let line = |line: &Out| match line {
            Out::Line { text, .. } => Some(text.clone()),
            Out::Hunk(_) => None,
        };
        self.lines.iter().map(line).collect()
    }

    fn texts(&self, call: &Lines<'_, '_>) -> Vec<String> {
        let open = self.lines.iter().any(|line| matches!(line, Out::Line { sent: Some(_), .. }));
        let mut out = vec![self.compose(call, false, &[])];
        if open {
            out.push(self.compose(call, true, &[]));
        }
        out
    }

    fn compose(&self, call: &Lines<'_, '_>, as_sent: bool, answers: &[String]) -> String {
        let mut parts: Vec<(String, Option<Ending>)> = Vec::new();
        for line in &self.lines {
            match line {
                Out::Line { text, sent, ending } => {
                    let text = sent.as_ref().filter(|_| as_sent).unwrap_or(text);
                    parts.push((text.clone(), *ending));
                }
                Out::Hunk(at) => {
                    let lines = answers.get(*at).into_iter().filter(|text| !text.is_empty());
                    parts.extend(lines.flat_map(|text| split(text)).map(|l| (l.to_owned(), None)));
                }
            }
        }
        let lines = call.place.lines();
        let all = call.file.lines();
        let own = |at: Option<usize>| at.and_then(|at| all.get(at)).map(|line| line.ending);
        let around = [own(Some(lines.start)), own(lines.start.checked_sub(1))];
        let around = around.into_iter().flatten().find(|ending| *ending != Ending::None);
        let around = around.unwrap_or(Ending::Lf);
        let range = call.range();
        let mut out = String::new();
        let count = parts.len();
        for (at, (text, ending)) in parts.into_iter().enumerate() {
            out.push_str(&text);
            if at + 1 < count {
                let known = ending.filter(|ending| *ending != Ending::None);
                out.push_str(known.unwrap_or(around).as_str());
            } else if call.closed && range.end > call.place.range().end {
                // The region's own last line break.
                out.push_str(&call.file.text[call.place.range().end..range.end]);
            }
        }
        out
    }
}

struct Writer<'c, 'a, 't> {
    call: &'c Lines<'a, 't>,
    depth: Depth,
    blank: Blank,
    out: Vec<Out>,
    hunks: Vec<Hunk>,
    uses_blank: bool,
    /// New lines that wait for the lines that they replace to be gone.
    inserts: Vec<usize>,
    /// What became of the line above.
    above: Fate,
    /// The lines that are gone, for the new lines in their place.
    freed: VecDeque<Gone<'a>>,
}

/// A line that the call takes away: as the call has it, and as the file has it.
struct Gone<'a> {
    old: &'a str,
    file: &'a str,
    ending: Ending,
}

impl Gone<'_> {
    /// A line in the place of this one, with the marks that the file has here in another way
    /// than the call. `None` where the two do not differ in any that the line has.
    fn marks_for(&self, line: &str, tolerance: Tolerance) -> Option<String> {
        let end = |line: &str| line.trim_end().chars().next_back();
        let is_mark = |c: &char| matches!(c, ',' | ';');
        match tolerance {
            Tolerance::Punctuation => {
                let mark = end(self.file).filter(is_mark)?;
                let lost = end(self.old).filter(is_mark).is_none();
                let bare = end(line).is_some_and(|c| !is_mark(&c));
                (lost && bare).then(|| format!("{}{mark}", line.trim_end()))
            }
            Tolerance::LookAlikes | Tolerance::LookAlikesAndIndentation => {
                let pairs = look_alikes(self.old, self.file);
                let differ = |pair: &&(&str, &str)| pair.0 != pair.1 && pair.0.is_ascii();
                let (from, first) = *pairs.iter().find(differ)?;
                let written: Vec<&str> =
                    pairs.iter().filter(|(a, _)| *a == from).map(|(_, b)| *b).collect();
                // Where the file has several for one, as many and in their order.
                let alike = written.iter().all(|to| *to == first);
                let mut parts = line.split(from);
                let mut out = parts.next()?.to_owned();
                let parts: Vec<&str> = parts.collect();
                if parts.is_empty() || !alike && parts.len() != written.len() {
                    return None;
                }
                for (at, part) in parts.into_iter().enumerate() {
                    out.push_str(written.get(at).copied().unwrap_or(first));
                    out.push_str(part);
                }
                Some(out)
            }
            _ => None,
        }
    }
}

/// What becomes of a line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Changed,
    Gone,
}

impl<'c, 'a, 't> Writer<'c, 'a, 't> {
    fn new(call: &'c Lines<'a, 't>, depth: Depth, blank: Blank) -> Self {
        Self {
            call,
            depth,
            blank,
            out: Vec::new(),
            hunks: Vec::new(),
            uses_blank: false,
            inserts: Vec::new(),
            above: Fate::Kept,
            freed: VecDeque::new(),
        }
    }

    /// `None` where a new line's depth cannot be told.
    fn run(mut self) -> Option<Draft> {
        let call = self.call;
        let mut chunk = 0;
        let mut at = 0;
        while at < call.events.len() {
            let event = call.events[at];
            let (o, fate) = match event {
                Event::Insert(n) => {
                    self.inserts.push(n);
                    at += 1;
                    continue;
                }
                Event::Keep(o, _) => (o, Fate::Kept),
                Event::Change(o, _) => (o, Fate::Changed),
                Event::Delete(o) => (o, Fate::Gone),
            };
            let mut gap = Vec::new();
            while call.place.chunks.get(chunk).is_some_and(|chunk| chunk.old.end <= o) {
                if call.place.chunks[chunk].old.is_empty() {
                    gap.push(&call.place.chunks[chunk]);
                }
                chunk += 1;
            }
            let here = call.place.chunks.get(chunk)?;
            let block = here.old.len() != 1 || here.lines.len() != 1;
            if block && here.kind != ChunkKind::Elided && !here.lines.is_empty() {
                let end = self.end_of_block(at, here);
                self.boundary(&gap, Fate::Changed.min_with(fate, self.is_kept(at, end)))?;
                self.block(here, at, end)?;
                at = end;
                continue;
            }
            self.boundary(&gap, fate)?;
            self.line(here, o, at)?;
            if !here.lines.is_empty() || fate == Fate::Gone {
                self.above = fate;
            }
            at += 1;
        }
        self.boundary(&[], Fate::Kept)?;
        Some(Draft { lines: self.out, hunks: self.hunks, uses_blank: self.uses_blank })
            .filter(|draft| self.blank == Blank::Above || draft.uses_blank)
    }

    fn is_kept(&self, from: usize, to: usize) -> bool {
        self.call.events[from..to].iter().all(|event| matches!(event, Event::Keep(..)))
    }

    /// Where the events of a chunk of several lines end.
    fn end_of_block(&self, at: usize, chunk: &Chunk) -> usize {
        let within = |event: &Event| match *event {
            Event::Keep(o, _) | Event::Change(o, _) | Event::Delete(o) => chunk.old.contains(&o),
            Event::Insert(_) => true,
        };
        let mut end = at + self.call.events[at..].iter().take_while(|event| within(event)).count();
        // New lines behind the chunk's last line are not its own.
        while matches!(self.call.events[end - 1], Event::Insert(_)) {
            end -= 1;
        }
        end
    }

    /// Lines of the call that stand for as many or more lines of the file, broken elsewhere.
    fn block(&mut self, chunk: &Chunk, from: usize, to: usize) -> Option<()> {
        let call = self.call;
        let text = call.place.text(chunk, call.file);
        let ending = call.file.lines()[chunk.lines.end - 1].ending;
        let events = &call.events[from..to];
        if self.is_kept(from, to) {
            self.push(text.to_owned(), Some(ending));
            self.above = Fate::Kept;
            return Some(());
        }
        self.above = Fate::Gone;
        if events.iter().all(|event| matches!(event, Event::Delete(_))) {
            return Some(());
        }
        self.above = Fate::Changed;
        let old = call.old[chunk.old.clone()].join("\n");
        let new: Vec<&str> = events
            .iter()
            .filter_map(|event| match *event {
                Event::Keep(_, n) | Event::Change(_, n) | Event::Insert(n) => Some(call.new[n]),
                Event::Delete(_) => None,
            })
            .collect();
        // Words may change; where line breaks do too, it is open which ones are meant.
        let same_breaks = new.len() == chunk.old.len() && !text.contains('\r');
        let new = new.join("\n");
        let [was, is, wanted] = [old.as_str(), text, new.as_str()].map(str::trim_start);
        match tokens::merge(was, is, wanted, Some(Fold::Spacing)).filter(|_| same_breaks) {
            Some(Merged::Clear(merged)) => {
                let head = if chunk.from_start { indent::of(text) } else { "" };
                self.push(format!("{head}{merged}"), Some(ending));
            }
            _ => self.conflict(chunk.lines.clone(), &old, text, &new),
        }
        Some(())
    }

    fn line(&mut self, chunk: &Chunk, o: usize, at: usize) -> Option<()> {
        let call = self.call;
        let event = call.events[at];
        let text = call.place.text(chunk, call.file);
        let ending = chunk.lines.end.checked_sub(1).map(|line| call.file.lines()[line].ending);
        let known = chunk.kind == ChunkKind::Same;
        match event {
            _ if chunk.lines.is_empty() => {
                // A blank line that only the call has: a change of it is a new line.
                if let Event::Change(o, n) = event {
                    if call.old[o].trim().is_empty() {
                        self.inserts.push(n);
                    } else {
                        let at = self.next_line();
                        self.conflict(at..at, call.old[o], "", call.new[n]);
                    }
                } else if let (Event::Delete(o), false) = (event, call.old[o].trim().is_empty()) {
                    let at = self.next_line();
                    self.conflict(at..at, call.old[o], "", "");
                }
            }
            Event::Keep(_, n) => {
                let sent = self.other_mark(at, text, call.new[n]);
                self.out.push(Out::Line { text: text.to_owned(), sent, ending });
            }
            Event::Delete(_) if known || chunk.kind == ChunkKind::Elided => {
                let old = call.old[o];
                self.freed.extend(ending.map(|ending| Gone { old, file: text, ending }));
            }
            Event::Delete(_) => self.conflict(chunk.lines.clone(), call.old[o], text, ""),
            Event::Change(_, n) if known => {
                let (text, sent) = match self.changed(o, chunk, n)? {
                    Merged::Clear(text) => {
                        let sent = self.other_mark(at, &text, call.new[n]);
                        (text, sent)
                    }
                    Merged::Open(text, sent) => (text, Some(sent)),
                };
                self.out.push(Out::Line { text, sent, ending });
            }
            Event::Change(_, n) => {
                self.conflict(chunk.lines.clone(), call.old[o], text, call.new[n])
            }
            Event::Insert(_) => {}
        }
        Some(())
    }

    /// The line with the closing mark that the call has, where the file's is another one and
    /// lines come or go beside it: which mark is right there is open.
    fn other_mark(&self, at: usize, line: &str, new: &str) -> Option<String> {
        let mark =
            |line: &str| line.trim_end().chars().next_back().filter(|c| matches!(c, ',' | ';'));
        let beside =
            |event: Option<&Event>| matches!(event, Some(Event::Insert(_) | Event::Delete(_)));
        let events = &self.call.events;
        let moved = beside(events.get(at + 1))
            || at.checked_sub(1).is_some_and(|at| beside(events.get(at)));
        if mark(line) == mark(new) || !moved || self.call.place.tolerance != Tolerance::Punctuation
        {
            return None;
        }
        let bare = line.trim_end().trim_end_matches([',', ';']);
        Some(bare.chars().chain(mark(new)).collect())
    }

    /// The line of the file that would come next.
    fn next_line(&self) -> usize {
        self.call.place.lines().start + self.out.len()
    }

    fn push(&mut self, text: String, ending: Option<Ending>) {
        self.out.push(Out::Line { text, sent: None, ending });
    }

    fn conflict(&mut self, lines: Range<usize>, believed: &str, found: &str, wanted: &str) {
        // Neighbouring lines are one conflict.
        if let (Some(Out::Hunk(at)), true) = (self.out.last(), self.inserts.is_empty()) {
            let hunk = &mut self.hunks[*at];
            if hunk.lines.end == lines.start || lines.is_empty() {
                hunk.lines.end = hunk.lines.end.max(lines.end);
                for (text, more) in [
                    (&mut hunk.believed, believed),
                    (&mut hunk.found, found),
                    (&mut hunk.wanted, wanted),
                ] {
                    if !more.is_empty() {
                        if !text.is_empty() {
                            text.push('\n');
                        }
                        text.push_str(more);
                    }
                }
                return;
            }
        }
        self.out.push(Out::Hunk(self.hunks.len()));
        let [believed, found, wanted] = [believed, found, wanted].map(str::to_owned);
        self.hunks.push(Hunk { lines, believed, found, wanted });
    }

    /// Between two lines of the call: the file's own lines there, and new ones.
    fn boundary(&mut self, gap: &[&Chunk], below: Fate) -> Option<()> {
        let call = self.call;
        // A line that is changed stays where it is; new ones could go on either side, and what
        // stands beside a deletion may have belonged to it.
        let gone = self.above == Fate::Gone || below == Fate::Gone;
        let amid = self.above != Fate::Kept && below != Fate::Kept;
        let touched = !self.inserts.is_empty() || gone || amid;
        for chunk in gap {
            let text = call.place.text(chunk, call.file);
            if touched && !text.trim().is_empty() {
                let wanted: Vec<&str> = self.inserts.drain(..).map(|n| call.new[n]).collect();
                self.conflict(chunk.lines.clone(), "", text, &wanted.join("\n"));
                return Some(());
            }
        }
        let stays = self.above != Fate::Gone || below != Fate::Gone;
        let gap: Vec<usize> = gap.iter().filter(|_| stays).flat_map(|c| c.lines.clone()).collect();
        // New lines wait until the lines they replace are gone.
        if !self.inserts.is_empty() && below == Fate::Gone && gap.is_empty() {
            return Some(());
        }
        if below != Fate::Gone && self.inserts.is_empty() {
            self.freed.clear();
        }
        self.uses_blank |= !gap.is_empty() && !self.inserts.is_empty();
        let own = |at: &usize| Out::Line {
            text: call.file.body(*at).to_owned(),
            sent: None,
            ending: Some(call.file.lines()[*at].ending),
        };
        if self.blank == Blank::Above {
            self.out.extend(gap.iter().map(own));
        }
        // Line for line, the old one shows how the file writes what the call wrote otherwise;
        // whether the new one is to be written so is open.
        let line_for_line = self.inserts.len() == self.freed.len();
        for n in std::mem::take(&mut self.inserts) {
            let text = self.inserted(n)?;
            let gone = self.freed.pop_front();
            let ending = gone.as_ref().map(|gone| gone.ending);
            let marked = gone.filter(|_| line_for_line);
            let marked = marked.and_then(|gone| gone.marks_for(&text, call.place.tolerance));
            self.out.push(match marked {
                Some(marked) => Out::Line { text: marked, sent: Some(text), ending },
                None => Out::Line { text, sent: None, ending },
            });
        }
        if self.blank == Blank::Below {
            self.out.extend(gap.iter().map(own));
        }
        Some(())
    }

    /// A line that is new: the caller's, but for its indentation.
    fn inserted(&self, n: usize) -> Option<String> {
        let call = self.call;
        let line = call.new[n];
        if line.trim().is_empty() {
            return Some(line.to_owned());
        }
        let amid = self.out.is_empty() && call.place.chunks.first().is_some_and(|c| !c.from_start);
        let head = match amid {
            true => indent::of(line).to_owned(),
            false => self.depth.apply(call, n)?,
        };
        Some(format!("{head}{}", &line[indent::of(line).len()..]))
    }

    /// A line that the call changes.
    fn changed(&self, o: usize, chunk: &Chunk, n: usize) -> Option<Merged> {
        let call = self.call;
        let (old, new, file) = (call.old[o], call.new[n], call.place.text(chunk, call.file));
        if new.trim().is_empty() {
            return Some(Merged::Clear(new.to_owned()));
        }
        let (was, is) = (indent::of(old), indent::of(new));
        let head = if !chunk.from_start {
            is.strip_prefix(was).unwrap_or_default().to_owned()
        } else if was == is {
            indent::of(file).to_owned()
        } else {
            self.depth.apply(call, n)?
        };
        let body = |line: &'_ str| line[indent::of(line).len()..].to_owned();
        let fold = call.place.tolerance.fold();
        let (old, file, new) =
            (body(old), if chunk.from_start { body(file) } else { file.to_owned() }, body(new));
        Some(match tokens::merge(&old, &file, &new, fold) {
            Some(Merged::Clear(text)) => Merged::Clear(head + &text),
            Some(Merged::Open(text, sent)) => Merged::Open(format!("{head}{text}"), head + &sent),
            // Too long to be merged by tokens: what the call wants is written.
            None => Merged::Clear(head + &new),
        })
    }
}

impl Fate {
    /// A block that is kept as a whole is kept; else it is changed or gone.
    fn min_with(self, first: Self, kept: bool) -> Self {
        match (kept, first) {
            (true, _) => Self::Kept,
            (false, Self::Gone) => Self::Gone,
            (false, _) => self,
        }
    }
}
