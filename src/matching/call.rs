//! One call on its way down the ladder: what was computed once, and how a set of
//! candidates becomes a decision.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ops::Range;

use super::Explained;
use super::bounded::Bounded;
use super::canon::is_word;
use super::code::Slashes;
use super::decode::{self, Reading};
use super::events::{Event, events};
use super::fit;
use super::frame::{self, Frame, OTHERWISE, Texts, stands_otherwise};
use super::indent::{self, IndentMap};
use super::merge::{Conflict, Merge, Merged, new_lines};
use super::refuse;
use super::slack::Slack;
use super::source::Source;
use super::steps::{NewLine, shows_depth};
use super::style::EditMap;
use super::window::{self, Piece, Step, Window, split, windows};
use crate::edit::{Corrected, EditRequest, Expected, Explanation, Refusal, Splice};
use crate::text::{Ending, Snapshot};

/// A call and what is known about it.
#[derive(Debug)]
pub struct Call<'a> {
    pub(super) request: &'a EditRequest,
    pub(super) snapshot: &'a Snapshot,
    source: OnceCell<Source<'a>>,
    readings: OnceCell<Vec<Read>>,
    /// Whether some search found nothing, and did not come to its end.
    gave_up: Cell<bool>,
}

/// A reading and its windows.
pub(super) struct Read {
    pub(super) reading: Reading,
    windows: OnceCell<Bounded<Window>>,
}

impl Read {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, windows: OnceCell::new() }
    }
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.reading.ids).finish()
    }
}

/// A merged candidate.
pub(super) struct Candidate {
    pub(super) splice: Splice,
}

impl<'a> Call<'a> {
    pub(super) fn new(request: &'a EditRequest, snapshot: &'a Snapshot) -> Self {
        let (source, readings) = (OnceCell::new(), OnceCell::new());
        Self { request, snapshot, source, readings, gave_up: Cell::new(false) }
    }

    /// Notes that a search found nothing, and did not come to its end.
    pub(super) fn gives_up(&self) {
        self.gave_up.set(true);
    }

    pub(super) fn gave_up(&self) -> bool {
        self.gave_up.get()
    }

    pub(super) fn text(&self) -> &'a str {
        self.snapshot.text()
    }

    pub(super) fn source(&self) -> &Source<'a> {
        self.source.get_or_init(|| Source::new(self.snapshot))
    }

    /// The readings of the call, the plain one first.
    pub(super) fn readings(&self) -> &[Read] {
        self.readings.get_or_init(|| {
            let readings = decode::readings(&self.request.old, &self.request.new, self.text());
            readings.into_iter().map(Read::new).collect()
        })
    }

    /// Those that tell what `new_str` means.
    pub(super) fn clear_readings(&self) -> impl Iterator<Item = &Read> {
        self.readings().iter().filter(|read| !read.reading.unclear)
    }

    pub(super) fn windows<'r>(&self, read: &'r Read) -> &'r Bounded<Window> {
        read.windows
            .get_or_init(|| windows(self.source(), &read.reading.old, read.reading.whole_lines))
    }

    /// The one line that is nearer to `near_line` than all others.
    pub(super) fn nearest_line(&self, lines: &[usize]) -> Option<usize> {
        let near = self.request.near_line?;
        let distance = |at: &usize| lines[*at].abs_diff(near);
        let best = (0..lines.len()).min_by_key(distance)?;
        let tied = (0..lines.len()).filter(|at| distance(at) == distance(&best)).count();
        (tied == 1).then_some(best)
    }

    pub(super) fn explained(
        &self,
        splices: Vec<Splice>,
        mut explanation: Explanation,
        old: Option<&str>,
    ) -> Explained {
        explanation.replacements = splices.len();
        let first = splices.first();
        let differs = first.is_some_and(|first| {
            old != Some(self.request.old.as_str()) || first.text != self.request.new
        });
        if let Some(first) = first.filter(|_| differs) {
            explanation.corrected = Some(Corrected {
                old_str: self.text()[first.range.clone()].to_owned(),
                new_str: first.text.clone(),
            });
        }
        Explained { splices, explanation }
    }

    /// Decides between windows that a fold accepts. `allowed` is the fold.
    pub(super) fn decide_windows(
        &self,
        read: &Read,
        allowed: Slack,
        rung: &'static str,
    ) -> Option<Result<Explained, Refusal>> {
        let Bounded { found: all, complete } = self.windows(read);
        let found: Vec<&Window> = all.iter().filter(|w| allowed.contains(w.slack)).collect();
        if found.is_empty() {
            if !complete {
                self.gives_up();
            }
            return None;
        }
        if !complete {
            let line = |window: &&Window| window.first().map_or(1, |piece| piece.line + 1);
            let lines: Vec<usize> = found.iter().map(line).collect();
            return Some(Err(refuse::not_all_compared(self, &lines)));
        }
        let old = split(&read.reading.old);
        let unit = self.source().unit();
        let maps: Vec<IndentMap> =
            found.iter().map(|w| IndentMap::fit(w.indents(&old, self.source()), unit)).collect();
        let best = maps.iter().map(IndentMap::rank).min().unwrap_or(0);
        let chosen: Vec<(&Window, &IndentMap)> =
            found.iter().copied().zip(&maps).filter(|(_, map)| map.rank() == best).collect();
        // Another place that is nearer in some other way leaves the choice open.
        let rival = all.iter().find(|w| {
            !allowed.contains(w.slack) && chosen.iter().all(|(c, _)| !w.slack.contains(c.slack))
        });
        let line = |w: &Window| w.first().map_or(1, |piece| piece.line + 1);
        let mut lines: Vec<usize> = chosen.iter().map(|(w, _)| line(w)).collect();
        let picked: Vec<(&Window, &IndentMap)> = match self.request.expected {
            Expected::All => chosen,
            Expected::Exactly(count) if count.get() == chosen.len() && rival.is_none() => chosen,
            Expected::Exactly(count) if count.get() == 1 && chosen.len() > 1 => {
                match self.nearest_line(&lines) {
                    Some(at) => vec![chosen[at]],
                    None => return Some(Err(refuse::too_many(self, &lines, false))),
                }
            }
            Expected::Exactly(_) => {
                lines.extend(rival.map(line));
                lines.sort_unstable();
                return Some(Err(refuse::too_many(self, &lines, false)));
            }
        };
        let mut rewrites: Vec<String> =
            read.reading.ids.iter().map(|id| (*id).to_owned()).collect();
        let slack = picked.iter().fold(Slack::NONE, |all, (w, _)| all | w.slack);
        rewrites.extend(slack.names().map(str::to_owned));
        let mut splices = Vec::new();
        for (window, map) in picked {
            if read.reading.unclear {
                let line = window.first().map_or(0, |piece| piece.line);
                let why = "old_str is found once its escapes, entities or numbers are undone; whether new_str has them too, nothing tells";
                return Some(Err(refuse::conflict(self, window, &Conflict { line, why })));
            }
            let line = || window.first().map_or(1, |piece| piece.line + 1);
            let applied = self.covered_by_new(&window.range());
            let applied = applied.or_else(|| {
                self.is_made(&read.reading, window).then(|| refuse::already_applied(line()))
            });
            if let Some(refusal) = applied {
                return Some(Err(refusal));
            }
            match self.merge(&read.reading, window, map) {
                Ok(candidate) => splices.push(candidate.splice),
                Err(conflict) => return Some(Err(refuse::conflict(self, window, &conflict))),
            }
        }
        Some(self.finish(splices, rung, rewrites))
    }

    /// The last checks, common to every rung that merges.
    pub(super) fn finish(
        &self,
        splices: Vec<Splice>,
        rung: &'static str,
        rewrites: Vec<String>,
    ) -> Result<Explained, Refusal> {
        let unchanged = splices.iter().all(|s| self.text()[s.range.clone()] == s.text);
        if unchanged {
            let line =
                splices.first().map_or(1, |s| self.snapshot.lines().number_at(s.range.start));
            return Err(refuse::already_applied(line));
        }
        if let Some(line) = self.any_brings_again(&splices) {
            return Err(refuse::brings_again(line));
        }
        // An edit that says something else than before, and changes no word of the file.
        let words = |text: &str| -> String { text.chars().filter(|c| is_word(*c)).collect() };
        let idle =
            |splice: &Splice| words(&self.text()[splice.range.clone()]) == words(&splice.text);
        let plain =
            matches!(rung, "aligned" | "punctuation" | "spacing") && splices.iter().all(idle);
        if plain && words(&self.request.old) != words(&self.request.new) {
            let line =
                splices.first().map_or(1, |s| self.snapshot.lines().number_at(s.range.start));
            return Err(refuse::already_applied(line));
        }
        let mut explanation = Explanation::plain(rung);
        explanation.rewrites = rewrites;
        Ok(self.explained(splices, explanation, None))
    }

    /// `new_str` stands where the candidate is: the edit was made already.
    pub(super) fn covered_by_new(&self, range: &Range<usize>) -> Option<Refusal> {
        let new = self.request.new.trim_matches('\n');
        if new.trim().is_empty() {
            return None;
        }
        let covers = |at: usize| at <= range.start && range.end <= at + new.len();
        let from = range.start.saturating_sub(new.len());
        let to = (range.end + new.len()).min(self.text().len());
        let near = &self.text().as_bytes()[from..to];
        let mut found = memchr::memmem::find_iter(near, new.as_bytes()).map(|at| from + at);
        let at = found.find(|at| covers(*at))?;
        Some(refuse::already_applied(self.snapshot.lines().number_at(at)))
    }

    /// Whether the lines of `new` are those of the file around the place, but for where they
    /// stand: the edit was made already.
    fn is_made(&self, reading: &Reading, window: &Window) -> bool {
        let solid = |text: &'_ str| -> Vec<String> {
            let lines = split(text).into_iter().filter(|line| !line.trim().is_empty());
            lines.map(|line| line.trim_end().to_owned()).collect()
        };
        let (old, new) = (solid(&reading.old), solid(&reading.new));
        let (source, Some(first)) = (self.source(), window.first()) else { return false };
        let file = &source.solid().lines;
        let (Ok(place), Some(head)) = (file.binary_search(&first.line), old.first()) else {
            return false;
        };
        let depth = |line: &str| indent::columns(indent::of(line), 4);
        let turns = |lines: &[&str]| -> Vec<std::cmp::Ordering> {
            lines.windows(2).map(|pair| depth(pair[1]).cmp(&depth(pair[0]))).collect()
        };
        let wanted: Vec<&str> = new.iter().map(String::as_str).collect();
        new.len() > old.len()
            && (0..new.len()).filter(|&at| new[at].trim() == head.trim()).any(|at| {
                let there = place.checked_sub(at).and_then(|from| file.get(from..from + new.len()));
                there.is_some_and(|lines| {
                    let lines: Vec<&str> = lines.iter().map(|line| source.body(*line)).collect();
                    let same = |(a, b): (&&str, &&str)| a.trim() == b.trim();
                    lines.iter().zip(&wanted).all(same) && turns(&lines) == turns(&wanted)
                })
            })
    }

    pub(super) fn merge(
        &self,
        reading: &Reading,
        window: &Window,
        map: &IndentMap,
    ) -> Result<Candidate, Conflict> {
        let old = split(&reading.old);
        let mut new = new_lines(&reading.old, &reading.new);
        // At the end of a file without a closing line break, that is what is new.
        let last = window.last().map(|piece| self.source().lines[piece.line].ending);
        let closed = reading.new.ends_with('\n') && !reading.old.ends_with('\n');
        if closed && last == Some(Ending::None) && new.last().is_some_and(|line| !line.is_empty()) {
            new.push("");
        }
        if reading.ids.contains(&"diff_markers") && !map.is_uniform() {
            let line = window.first().map_or(0, |piece| piece.line);
            let why = "only some lines have the marks of a diff; send the text without them";
            return Err(Conflict { line, why });
        }
        if let (Some(first), Some(last)) = (window.first(), window.last()) {
            self.break_is_clear(reading, last.line + 1)?;
            self.edges_are_clear(reading, first.line..last.line + 1)?;
            if decode::hides_breaks(&reading.new) && !decode::hides_breaks(&reading.old) {
                let why = "new_str has line breaks that are still escaped, outside of any literal";
                return Err(Conflict { line: first.line, why });
            }
            if !reading.ids.is_empty() && map.is_same() && stands_otherwise(&old, &new) {
                return Err(Conflict { line: first.line, why: OTHERWISE });
            }
        }
        merge_window(self.source(), window, &old, &new, map)
    }

    /// Where `old` ends with a line break and `new` does not, either it was forgotten, or a
    /// blank line below is to go with it. `below` is the line below the place.
    pub(super) fn break_is_clear(&self, reading: &Reading, below: usize) -> Result<(), Conflict> {
        let source = self.source();
        let outer = reading.ids.contains(&"outer_blank_lines");
        let blank = !outer && below < source.lines.len() && source.body(below).trim().is_empty();
        if blank && lacks_break(&reading.old, &reading.new) {
            let why = "old_str ends with a line break and new_str does not; whether the blank line below is to go, nothing tells";
            return Err(Conflict { line: below, why });
        }
        Ok(())
    }
}

impl Call<'_> {
    /// Where `old` has a blank line at one end, the file has none there, and the edit adds lines
    /// at that end, they may belong behind what the file has there.
    pub(super) fn edges_are_clear(
        &self,
        reading: &Reading,
        lines: Range<usize>,
    ) -> Result<(), Conflict> {
        if !reading.ids.contains(&"outer_blank_lines") {
            return Ok(());
        }
        let (source, sent) = (self.source(), &self.request.old);
        let breaks = |blank: &str| blank.matches('\n').count();
        let leading = breaks(&sent[..sent.len() - sent.trim_start().len()]) > 0;
        let trailing = breaks(&sent[sent.trim_end().len()..]) > 1;
        if leading && trailing {
            // As around a text that somebody set apart.
            return Ok(());
        }
        let solid = |at: usize| at < source.lines.len() && !source.body(at).trim().is_empty();
        let (old, new) = (split(&reading.old), split(&reading.new));
        let events = events(&old, &new);
        let adds = |run: &mut dyn Iterator<Item = &Event>| {
            let run = run.take_while(|event| !matches!(event, Event::Keep(..)));
            let mut any = false;
            let only = run.into_iter().all(|event| {
                any |= matches!(event, Event::Insert(n) if !new[*n].trim().is_empty());
                matches!(event, Event::Insert(_))
            });
            any && only
        };
        let why =
            "old_str has a blank line at that end, and the file a line that the call does not know";
        if trailing && solid(lines.end) && adds(&mut events.iter().rev()) {
            return Err(Conflict { line: lines.end, why });
        }
        let above = lines.start.checked_sub(1).filter(|at| solid(*at));
        match above.filter(|_| leading && adds(&mut events.iter())) {
            Some(line) => Err(Conflict { line, why }),
            None => Ok(()),
        }
    }

    /// [`Self::brings_again`] at one of the places.
    pub(super) fn any_brings_again(&self, splices: &[Splice]) -> Option<usize> {
        splices.iter().find_map(|splice| self.brings_again(splice))
    }

    /// Where the file has lines right below or above the place that the new text brings again:
    /// only `old` left them out.
    fn brings_again(&self, splice: &Splice) -> Option<usize> {
        const MOST: usize = 8;
        let text = self.text();
        if !splice.text.contains('\n') {
            return None;
        }
        // Quicker than to trim, and every exact call comes here.
        let solid = |line: &&str| !line.bytes().all(|b| b.is_ascii_whitespace());
        let says = |line: &&str| {
            let words = line.chars().filter(|c| is_word(*c)).count();
            words >= 4 && !fit::closes(line) && !line.trim_start().starts_with("</")
        };
        let (before, behind) = (&text[..splice.range.start], &text[splice.range.end..]);
        let behind = match text[..splice.range.end].ends_with('\n') {
            true => behind,
            false => behind.split_once('\n').map_or("", |(_, behind)| behind),
        };
        let below = behind.lines().filter(solid).take(MOST);
        let before = before.rsplit_once('\n').map_or("", |(above, _)| above);
        let above = before.lines().rev().filter(solid).take(MOST);
        let new = splice.text.lines().filter(solid);
        // What most calls need no more than.
        let beside = [below.clone().next(), above.clone().next()];
        if !beside.iter().flatten().any(|beside| new.clone().any(|line| line == *beside)) {
            return None;
        }
        let below: Vec<&str> = below.collect();
        let mut above: Vec<&str> = above.collect();
        above.reverse();
        let old: Vec<&str> = text[splice.range.clone()].lines().map(str::trim).collect();
        let new: Vec<&str> = splice.text.lines().filter(solid).collect();
        let repeats = |new: &[&str], file: &[&str]| {
            new == file
                && new.iter().any(says)
                && new.iter().all(|line| !old.contains(&line.trim()))
        };
        let line = |at: usize| self.snapshot.lines().number_at(at);
        let most = |file: &[&str]| file.len().min(new.len());
        if (1..=most(&below)).any(|n| repeats(&new[new.len() - n..], &below[..n])) {
            return Some(line(splice.range.end));
        }
        (1..=most(&above))
            .any(|n| repeats(&new[..n], &above[above.len() - n..]))
            .then(|| line(splice.range.start))
    }
}

/// Whether `new` does not end in a line break, as `old` does.
pub(super) fn lacks_break(old: &str, new: &str) -> bool {
    old.ends_with('\n') && !new.is_empty() && !new.ends_with('\n')
}

/// Merges over one window.
pub(super) fn merge_window(
    source: &Source<'_>,
    window: &Window,
    old: &[&str],
    new: &[&str],
    map: &IndentMap,
) -> Result<Candidate, Conflict> {
    let pairs = window.steps.iter().filter_map(|step| match step {
        Step::Pair(at, piece) => {
            Some((old[*at].trim(), source.text[piece.start..piece.end].trim()))
        }
        _ => None,
    });
    let (broken, mended): (Vec<String>, Vec<String>) =
        (mend(old, map, source.text), mend(new, map, source.text));
    let old: Vec<&str> = broken.iter().map(String::as_str).collect();
    let new: Vec<&str> = mended.iter().map(String::as_str).collect();
    let (old, new) = (&old[..], &new[..]);
    if let Some(why) = looks_like_a_diff(source.text, old, new) {
        return Err(Conflict { line: window.first().map_or(0, |piece| piece.line), why });
    }
    // Blank lines around the text, of which the new one has none, though it begins and ends alike.
    let blank = |line: Option<&&str>| line.is_some_and(|line| line.trim().is_empty());
    let solid = |lines: &[&str], back: bool| -> Option<String> {
        let mut lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        if back { lines.next_back() } else { lines.next() }.map(str::to_owned)
    };
    if blank(old.first())
        && blank(old.last())
        && !blank(new.first())
        && !blank(new.last())
        && solid(old, false) == solid(new, false)
    {
        let why = "old_str has blank lines at both ends and new_str has none; whether those of the file go, nothing tells";
        return Err(Conflict { line: window.first().map_or(0, |piece| piece.line), why });
    }
    // A bracket alone that stands at another depth than the lines around it is another one.
    for step in &window.steps {
        if let Step::Pair(at, piece) = step
            && piece.from_start
            && !old[*at].trim().is_empty()
            && !old[*at].contains(super::canon::is_word)
            && !map.explains(indent::of(old[*at]), indent::of(source.body(piece.line)))
        {
            let why = "the bracket there stands at another depth than that of old_str";
            return Err(Conflict { line: piece.line, why });
        }
    }
    let learnt = Slack::PUNCTUATION | Slack::LOOK_ALIKE;
    let style = if window.slack.meets(learnt) {
        let pairs = pairs.collect::<Vec<_>>();
        EditMap::learn(&pairs).unless_contradicted(&pairs, source.text, new).with_doubts(
            &pairs,
            source.text,
            new,
        )
    } else {
        EditMap::default()
    };
    let line = window.first().map_or(0, |piece| piece.line);
    let merge_as = |map: &IndentMap, slashes: Slashes| {
        let call = Texts { source, window, old, new };
        let Frame { old, new, map } =
            frame::of(&call, map).map_err(|why| Conflict { line, why })?;
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.iter().map(AsRef::as_ref).collect(), new.iter().map(AsRef::as_ref).collect());
        Merge::new(source, window, (&old, &new), &map, &style, slashes).run()
    };
    let slashes = source.slashes();
    let merge = |map: &IndentMap| merge_as(map, slashes.unwrap_or_default());
    let maps = match map.is_settled() {
        true => Vec::new(),
        false => map.seeing(&depths(source, window, old, new), &source.steps_near(line)),
    };
    let (map, rivals) = maps.split_first().unwrap_or((map, &[]));
    let Merged { range, text } = merge(map)?;
    for rival in rivals {
        if merge(rival)?.text != text {
            let why = "how deep the new lines are to be indented can be read in two ways";
            return Err(Conflict { line, why });
        }
    }
    let slashed = |line: &&str| line.contains("//");
    if slashes.is_none()
        && new.iter().any(slashed)
        && merge_as(map, Slashes::Division)?.text != text
    {
        let why = "whether // begins a comment there or divides, nothing tells, and so not where the line ends";
        return Err(Conflict { line, why });
    }
    Ok(Candidate { splice: Splice { range, text } })
}

/// New lines that begin with `+` where neither `old` nor the file has any: marks of a diff that
/// no reading explains.
pub(super) fn looks_like_a_diff(file: &str, old: &[&str], new: &[&str]) -> Option<&'static str> {
    if !new.iter().any(|line| line.starts_with('+')) {
        return None;
    }
    let marked = |line: &str| line.starts_with('+') && line.trim() != "+";
    let marks = new.iter().any(|line| marked(line)) && !old.iter().any(|line| marked(line));
    (marks && !file.lines().any(|line| marked(line.trim_start())))
        .then_some("lines of new_str begin with +, as in a diff; send the text without such marks")
}

/// The lines with plain blanks in front, where only the call has others.
fn mend(lines: &[&str], map: &IndentMap, file: &str) -> Vec<String> {
    let foreign = !file.contains(indent::NBSP);
    let mend = |line: &&str| {
        let (indent, body) = line.split_at(indent::of(line).len());
        match map.mends_blanks(indent) {
            true if foreign => line.replace(indent::NBSP, " "),
            true => indent.replace(indent::NBSP, " ") + body,
            false => (*line).to_owned(),
        }
    };
    lines.iter().map(mend).collect()
}

/// The indents of the new text's lines, with the file's where the call quotes the line.
fn depths<'a>(
    source: &'a Source<'_>,
    window: &Window,
    old: &[&str],
    new: &[&'a str],
) -> Vec<NewLine<'a>> {
    let mut known: HashMap<&str, &str> = HashMap::new();
    for step in &window.steps {
        if let Step::Pair(at, piece) = step
            && piece.from_start
        {
            known.insert(old[*at], indent::of(&source.text[piece.start..piece.end]));
        }
    }
    let lines = new.iter().filter(|line| shows_depth(line));
    lines.map(|line| NewLine::new(line, known.get(line).copied())).collect()
}

/// A piece that covers a file line.
pub(super) fn whole_piece(source: &Source<'_>, line: usize) -> Piece {
    window::Piece::whole(line, &source.lines[line])
}
