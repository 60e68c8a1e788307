//! Finding the mistake: which mechanical reading of a call explains it.
//!
//! ```text
//! Call { old, new, expected, near_line, language }  File (lines, keys, index, lexed lazily)
//!   → readings(call)           what the text could have been before the mistake
//!   → places(file, reading)    exact, then by tolerance, then aligned
//!   → outcomes(place, reading) the merge of old, new and file under each consistent reading
//!   → verdict                  One | Ambiguous | Stale | Refused
//! ```
//!
//! The rungs of [`LADDER`] are tried from the strictest to the laxest, and the first that
//! finds any place decides: a wrong count there is a refusal, never a reason to try
//! something laxer.
//!
//! Pure and bounded: no I/O, no clock, and the work grows with file and `old_str`, not
//! with their product; what is left of that is counted by `effort`.

mod align;
mod diff;
pub(crate) mod effort;
mod elide;
mod escaped;
mod evidence;
mod exact;
mod file;
mod fold;
mod indent;
mod made;
mod nearest;
mod onto;
mod outcome;
mod place;
mod placeholder;
pub(crate) mod reading;
mod reflow;
mod refuse;
mod tokens;
mod veto;

use crate::edit::{
    Corrected, EditCode, EditRequest, Expected, Explanation, Near, OutcomeDiff, Refusal, Rewrite,
    Rung, Splice,
};
use crate::text::{Ending, Snapshot, counted};

use align::Aligned;
use effort::Effort;
use file::{File, Tolerance, split};
use place::{ChunkKind, Place, Places, Sought};
use reading::{NewText, Reading};

pub(crate) use escaped::{
    Review as EscapeReview, WARNING as ESCAPES_WARNING, readings as escape_readings,
    review_lines as review_escapes,
};
pub(crate) use nearest::nearest_lines;
pub(crate) use onto::{Onto, onto, settled};
pub(crate) use outcome::Hunk;

/// The rungs, strictest first.
pub const LADDER: &[Rung] = &[
    Rung::Exact,
    Rung::LineEndings,
    Rung::Unescaped,
    Rung::LineNumbers,
    Rung::DiffMarkers,
    Rung::CodeFence,
    Rung::HtmlEntities,
    Rung::OuterBlankLines,
    Rung::TrailingBlanks,
    Rung::LookAlikes,
    Rung::Indentation,
    Rung::LookAlikesAndIndentation,
    Rung::BlankLines,
    Rung::Spacing,
    Rung::Punctuation,
    Rung::Reflowed,
    Rung::Elided,
    Rung::Aligned,
];

/// The white space at the start of a line.
pub(crate) fn indent_of(line: &str) -> &str {
    indent::of(line)
}

/// Lines of a call at the file's indentation, under each rule that explains all pairs of
/// (the call's, the file's); `None` where the pairs show no change, or no rule.
pub(crate) fn reindented(
    snapshot: &Snapshot,
    lines: &[String],
    pairs: Vec<(String, String)>,
) -> Option<Vec<Vec<String>>> {
    let file = File::new(snapshot, None);
    let new: Vec<&str> = lines.iter().map(String::as_str).collect();
    let levels = indent::Levels::new(&file, &[], &new);
    let rest = indent::Levels::new(&file, &[], new.get(1..).unwrap_or_default());
    let map = indent::IndentMap::fit(pairs, levels, rest);
    if map.is_same() || map.first_apart {
        return None;
    }
    let mut outcomes: Vec<Vec<String>> = Vec::new();
    for rule in &map.rules {
        let line = |line: &String| match line.trim().is_empty() {
            true => Some(line.clone()),
            false => {
                let own = indent::of(line);
                Some(format!("{}{}", rule.apply(own)?, &line[own.len()..]))
            }
        };
        let lines = lines.iter().map(line).collect::<Option<Vec<_>>>()?;
        if !outcomes.contains(&lines) {
            outcomes.push(lines);
        }
    }
    Some(outcomes)
}

/// An explained call: where it applies and what is written there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The replacements, in text offsets of the snapshot.
    pub splices: Vec<Splice>,
    /// How the call was understood.
    pub explanation: Explanation,
}

impl Explained {
    fn new(
        request: &EditRequest,
        file: &File<'_>,
        splices: Vec<Splice>,
        mut explanation: Explanation,
    ) -> Self {
        explanation.replacements = splices.len();
        if let Some(first) = splices.first() {
            let old = &file.text[first.range.clone()];
            if old != request.old || first.text != request.new {
                explanation.corrected =
                    Some(Corrected { old_str: old.to_owned(), new_str: first.text.clone() });
            }
        }
        Self { splices, explanation }
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// One text is meant.
    One(Explained),
    /// The place is known, and several texts are consistent with the call.
    Ambiguous {
        /// Each of them.
        outcomes: Vec<Explained>,
        /// The refusal that shows them.
        refusal: Refusal,
    },
    /// No reading finds the text. The refusal has the nearest places, and the conflicts
    /// where the place is known.
    Missing(Refusal),
    /// Refused for a reason that no other place can mend.
    Refused(Refusal),
}

impl Verdict {
    /// The edit, or the refusal.
    pub fn into_result(self) -> Result<Explained, Refusal> {
        match self {
            Self::One(explained) => Ok(explained),
            Self::Ambiguous { refusal, .. } | Self::Missing(refusal) | Self::Refused(refusal) => {
                Err(refusal)
            }
        }
    }
}

/// Explains a call against a file, or says why it cannot be.
///
/// ```
/// use restitch::edit::{EditRequest, Rung};
/// use restitch::matching::explain;
/// use restitch::text::Snapshot;
///
/// let file = Snapshot::from_text("fn main() {\n\tif a {\n\t\tb();\n\t}\n}\n");
/// // Every line has one tab too few.
/// let call = EditRequest::new("if a {\n\tb();\n}", "if a {\n\tc();\n}");
/// let explained = explain(&call, &file)?;
/// assert_eq!(explained.explanation.rung, Rung::Indentation);
/// assert_eq!(explained.splices[0].text, "\tif a {\n\t\tc();\n\t}");
/// # Ok::<(), restitch::edit::Refusal>(())
/// ```
pub fn explain(request: &EditRequest, snapshot: &Snapshot) -> Result<Explained, Refusal> {
    decide(request, snapshot).into_result()
}

/// Decides a call against a file, with a bounded effort.
pub fn decide(request: &EditRequest, snapshot: &Snapshot) -> Verdict {
    let decided = Effort::default().run(|| decide_here(request, snapshot));
    decided.unwrap_or_else(|given_up| Verdict::Refused(given_up.refusal()))
}

fn decide_here(request: &EditRequest, snapshot: &Snapshot) -> Verdict {
    if request.old.is_empty() {
        return fill(request, snapshot);
    }
    if request.old == request.new {
        let refusal = Refusal::new(EditCode::NoChange, "old_str and new_str are the same")
            .hint("Send the new text as new_str; if the file is right already, go on.");
        return Verdict::Refused(refusal);
    }
    if let Some(old) = request.old.strip_prefix(MARK).filter(|_| !snapshot.text().contains(MARK)) {
        // The mark before the first line is the file's encoding, and not of its text.
        let new = request.new.strip_prefix(MARK).unwrap_or(&request.new);
        let request = EditRequest { old: old.to_owned(), new: new.to_owned(), ..request.clone() };
        return decide_here(&request, snapshot);
    }
    let file = File::new(snapshot, request.language);
    if let Some(verdict) = exact::decide(request, &file) {
        return verdict;
    }
    if request.old.trim().is_empty() || file.text.is_empty() {
        return Verdict::Missing(refuse::not_found(request, &file));
    }
    let call = Call { request, file: &file };
    let readings = reading::readings(&request.old, &request.new);
    call.by_tolerance(&readings)
        .or_else(|| call.reflowed(&readings))
        .or_else(|| call.elided(&readings))
        .or_else(|| call.applied(&readings))
        .unwrap_or_else(|| call.aligned(&readings))
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// An empty `old_str` fills an empty file and overwrites nothing.
fn fill(request: &EditRequest, snapshot: &Snapshot) -> Verdict {
    if !snapshot.text().is_empty() {
        let lines = counted(snapshot.lines().total(), "line");
        let refusal = Refusal::new(
            EditCode::CreateExisting,
            format!("old_str is empty, but the file exists and has {lines}"),
        )
        .hint("To change the file, send the text to replace as old_str. To add to it, quote the line next to the new text.");
        return Verdict::Refused(refusal);
    }
    let mut explanation = Explanation::plain(Rung::Exact);
    let mut text = request.new.clone();
    match escaped::review_content(request.language, &request.new) {
        escaped::Review::Proven(repaired) => {
            text = repaired;
            explanation.rewrites.push(Rewrite::UnescapeNew);
        }
        escaped::Review::Suspicious => explanation.warnings.push(escaped::WARNING.into()),
        escaped::Review::Fine => {}
    }
    Verdict::One(Explained { splices: vec![Splice { range: 0..0, text }], explanation })
}

/// The regions of a file that are most like a text, best first.
pub fn nearest(snapshot: &Snapshot, old: &str, most: usize) -> Vec<Near> {
    nearest::nearest(&File::new(snapshot, None), old, most)
}

/// A call on its way down the ladder.
#[derive(Clone, Copy)]
struct Call<'a, 't> {
    request: &'a EditRequest,
    file: &'a File<'t>,
}

impl Call<'_, '_> {
    fn by_tolerance(self, readings: &[Reading]) -> Option<Verdict> {
        Tolerance::ALL
            .into_iter()
            .find_map(|tolerance| readings.iter().find_map(|reading| self.at(reading, tolerance)))
    }

    /// Where blanks, quotes and marks mean nothing, the language tells. Of an unknown one
    /// nothing is guessed.
    fn allows(self, tolerance: Tolerance) -> bool {
        tolerance < Tolerance::Spacing
            || self.file.language.is_some_and(|language| language.is_free_form())
    }

    fn at(self, reading: &Reading, tolerance: Tolerance) -> Option<Verdict> {
        if !self.allows(tolerance) {
            return None;
        }
        let read = !reading.rewrites.is_empty();
        if tolerance == Tolerance::LineEndings && read && !reading.whole_lines {
            let found = exact::places(self.file, &reading.old);
            if !found.all.is_empty() {
                return Some(self.decoded(reading, &found));
            }
        }
        let lines = split(&reading.old);
        effort::spend(lines.len() + self.file.lines().len());
        let sought = Sought {
            lines: &lines,
            whole_lines: reading.whole_lines,
            closed: reading.old.ends_with('\n'),
        };
        let places = place::places(self.file, sought, tolerance);
        let rung = match tolerance {
            Tolerance::LineEndings => reading.rung,
            Tolerance::TrailingBlanks => Rung::TrailingBlanks,
            Tolerance::LookAlikes => Rung::LookAlikes,
            Tolerance::Indentation => Rung::Indentation,
            Tolerance::LookAlikesAndIndentation => Rung::LookAlikesAndIndentation,
            Tolerance::BlankLines => Rung::BlankLines,
            Tolerance::Spacing => Rung::Spacing,
            Tolerance::Punctuation => Rung::Punctuation,
        };
        (!places.list.is_empty()).then(|| self.conclude(reading, &places, rung))
    }

    /// A reading stands in the file character for character.
    fn decoded(self, reading: &Reading, found: &exact::Found) -> Verdict {
        let read = EditRequest { old: reading.old.clone(), ..self.request.clone() };
        let first = reading.new.texts().next().unwrap_or_default();
        let places = match exact::choose(&read, self.file, first, found) {
            Ok(places) => places,
            Err(refusal) => return Verdict::Refused(refusal),
        };
        if let Some(line) = made::stands(self.file, reading, Tolerance::LineEndings) {
            return Verdict::Refused(refuse::already_applied(line));
        }
        let edit = |new: &str| -> Vec<Splice> {
            let text = |at: usize| exact::with_endings(self.file, at, new);
            places.iter().map(|p| Splice { range: p.clone(), text: text(p.start) }).collect()
        };
        let how = ["new_str with the same mistake undone", "new_str as it was sent"];
        let outcomes = reading.new.texts().map(edit).zip(how);
        let outcomes = outcomes.map(|(splices, how)| (splices, how.to_owned())).collect();
        self.settle(reading, outcomes, reading.rung, &reading.rewrites)
    }

    /// Decides between the places that a rung found.
    fn conclude(self, reading: &Reading, places: &Places, rung: Rung) -> Verdict {
        let lines = &places.lines;
        let too_many = || Verdict::Refused(refuse::too_many(self.request, lines, false));
        if !places.is_complete() {
            return too_many();
        }
        let places = &places.list;
        let chosen: Vec<&Place> = match self.request.expected {
            Expected::All => places.iter().collect(),
            Expected::Exactly(count) if count.get() == places.len() => places.iter().collect(),
            Expected::Exactly(count) if count.get() == 1 => {
                match exact::nearest_line(self.request, lines) {
                    Some(at) => vec![&places[at]],
                    None => return too_many(),
                }
            }
            Expected::Exactly(_) => return too_many(),
        };
        let mut ends = 0;
        for place in &chosen {
            if place.range().start < ends {
                return too_many();
            }
            ends = place.range().end;
        }
        if let [place] = chosen[..] {
            if let Some(line) = made::stands(self.file, reading, place.tolerance) {
                return Verdict::Refused(refuse::already_applied(line));
            }
            if let Some(nearer) = made::nearer_twin(self.file, &split(&reading.old), place) {
                return Verdict::Refused(refuse::twin(self.request, lines[0], nearer));
            }
        }
        self.write(reading, &chosen, rung)
    }

    /// Writes the call at places that are meant.
    fn write(self, reading: &Reading, places: &[&Place], rung: Rung) -> Verdict {
        let mut outcomes: Vec<(Vec<Splice>, String)> = Vec::new();
        for (at, place) in places.iter().enumerate() {
            let found = match outcome::outcomes(self.file, place, &reading.old, &reading.new) {
                Ok(found) => found,
                Err(draft) => {
                    let refusal = refuse::stale(self.request, self.file, &draft.hunks);
                    return Verdict::Missing(refusal);
                }
            };
            if at == 0 {
                outcomes = found.into_iter().map(|o| (vec![o.splice], o.how)).collect();
                continue;
            }
            // The same reading everywhere.
            if found.len() != outcomes.len() {
                outcomes.clear();
                break;
            }
            for ((splices, _), more) in outcomes.iter_mut().zip(found) {
                splices.push(more.splice);
            }
        }
        let mut rewrites = reading.rewrites.clone();
        for place in places {
            for rewrite in self.rewrites(place, &split(&reading.old), rung) {
                if !rewrites.contains(&rewrite) {
                    rewrites.push(rewrite);
                }
            }
        }
        if !outcomes.is_empty() {
            return self.settle(reading, outcomes, rung, &rewrites);
        }
        // No reading tells: what is left is shown, and never decides alone.
        let guesses = match places {
            [place] => outcome::guesses(self.file, place, &reading.old, &reading.new),
            _ => Vec::new(),
        };
        let guesses = guesses.into_iter().map(|o| (vec![o.splice], o.how)).collect();
        match self.settle(reading, guesses, rung, &rewrites) {
            ambiguous @ Verdict::Ambiguous { .. } => ambiguous,
            _ => {
                let line = places.first().map_or(1, |place| place.lines().start + 1);
                Verdict::Refused(refuse::ambiguous(line, rung, 0))
            }
        }
    }

    /// One outcome is applied; of several, those that break what is whole are out.
    fn settle(
        self,
        reading: &Reading,
        outcomes: Vec<(Vec<Splice>, String)>,
        rung: Rung,
        rewrites: &[Rewrite],
    ) -> Verdict {
        let file = self.file;
        let first = outcomes.first().and_then(|(splices, _)| splices.first());
        let line = first.map_or(1, |first| file.snapshot.lines().number_at(first.range.start));
        if let Some(placeholder) = self.omits(reading) {
            return Verdict::Refused(refuse::omission(&placeholder));
        }
        let mut whole: Vec<(Vec<Splice>, String)> = Vec::new();
        let texts: Vec<&str> = reading.new.texts().collect();
        for (splices, how) in outcomes {
            let breaks = texts.iter().all(|new| veto::breaks(file, &splices, &reading.old, new));
            if !breaks && !whole.iter().any(|(seen, _)| same_result(file.text, seen, &splices)) {
                whole.push((splices, how));
            }
        }
        let explained = |splices: Vec<Splice>| {
            let mut explanation = Explanation::plain(rung);
            explanation.rewrites = rewrites.to_vec();
            Explained::new(self.request, file, splices, explanation)
        };
        let changes =
            |splices: &[Splice]| splices.iter().any(|s| file.text[s.range.clone()] != s.text);
        match whole.len() {
            0 => Verdict::Refused(refuse::breaks(line, rung)),
            1 => match whole.pop() {
                Some((splices, _)) if changes(&splices) => Verdict::One(explained(splices)),
                _ => Verdict::Refused(refuse::already_applied(line)),
            },
            count => {
                let mut refusal = refuse::ambiguous(line, rung, count);
                refusal.outcomes = whole
                    .iter()
                    .map(|(splices, how)| OutcomeDiff {
                        how: how.clone(),
                        diff: self.diff(splices),
                    })
                    .collect();
                let outcomes = whole.into_iter().map(|(splices, _)| explained(splices)).collect();
                Verdict::Ambiguous { outcomes, refusal }
            }
        }
    }

    fn diff(self, splices: &[Splice]) -> String {
        let after = veto::applied(self.file.text, splices);
        crate::edit::short_diff(self.file.snapshot, splices, &Snapshot::from_text(after))
    }

    /// A placeholder for lines that would be lost.
    fn omits(self, reading: &Reading) -> Option<String> {
        if !self.file.language.is_some_and(|language| language.is_code()) {
            return None;
        }
        let mut found = reading
            .new
            .texts()
            .filter_map(|new| placeholder::introduced(&reading.old, new, self.file.text));
        found.next().map(str::to_owned)
    }

    /// What the place and the call differ in.
    fn rewrites(self, place: &Place, old: &[&str], rung: Rung) -> Vec<Rewrite> {
        let mut out = Vec::new();
        match rung {
            Rung::Reflowed => out.push(Rewrite::Reflow),
            Rung::Elided => out.push(Rewrite::Elision),
            Rung::Aligned => out.push(Rewrite::StaleContext),
            _ => {}
        }
        let crlf = self.request.old.contains("\r\n");
        let range = place.range();
        let breaks = self.file.text[range.clone()].contains("\r\n");
        let other = match crlf {
            true => self.file.text[range].contains('\n') && !breaks,
            false => breaks,
        };
        if other
            || self.request.old.ends_with('\n')
                && place.lines().end == self.file.lines().len()
                && self.file.lines().last().is_some_and(|last| last.ending == Ending::None)
        {
            out.push(Rewrite::LineEndings);
        }
        for chunk in &place.chunks {
            if chunk.kind != ChunkKind::Same {
                continue;
            }
            if chunk.old.is_empty() != chunk.lines.is_empty() {
                out.push(Rewrite::BlankLines);
            } else if chunk.old.len() == 1 && chunk.lines.len() == 1 {
                differences(
                    old[chunk.old.start],
                    place.text(chunk, self.file),
                    chunk.from_start,
                    &mut out,
                );
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    fn reflowed(self, readings: &[Reading]) -> Option<Verdict> {
        if !self.allows(Tolerance::Spacing) {
            return None;
        }
        readings.iter().find_map(|reading| {
            let places = Places::of(reflow::places(self.file, &split(&reading.old)));
            (!places.list.is_empty()).then(|| self.conclude(reading, &places, Rung::Reflowed))
        })
    }

    fn elided(self, readings: &[Reading]) -> Option<Verdict> {
        Tolerance::ALL.into_iter().filter(|t| self.allows(*t)).find_map(|tolerance| {
            readings.iter().find_map(|reading| {
                let places = elide::places(self.file, &split(&reading.old), tolerance);
                (!places.is_empty()).then(|| self.conclude_elided(reading, &places))
            })
        })
    }

    /// Ways to fill the gaps that lead to the same text are one.
    fn conclude_elided(self, reading: &Reading, places: &[Place]) -> Verdict {
        let lines: Vec<usize> = places.iter().map(|place| place.lines().start + 1).collect();
        if elide::is_cut(places) || self.request.expected != Expected::default() {
            return Verdict::Refused(refuse::too_many(self.request, &lines, false));
        }
        if let Some(line) = made::stands(self.file, reading, places[0].tolerance) {
            return Verdict::Refused(refuse::already_applied(line));
        }
        let mut verdicts = places.iter().map(|place| self.write(reading, &[place], Rung::Elided));
        let Some(first) = verdicts.next() else {
            return Verdict::Refused(refuse::too_many(self.request, &lines, false));
        };
        let Verdict::One(explained) = &first else { return first };
        let same = |other: Verdict| match other {
            Verdict::One(other) => same_result(self.file.text, &explained.splices, &other.splices),
            _ => false,
        };
        match verdicts.all(same) {
            true => first,
            false => Verdict::Refused(refuse::too_many(self.request, &lines, false)),
        }
    }

    /// `old_str` is nowhere, and `new_str` is there.
    fn applied(self, readings: &[Reading]) -> Option<Verdict> {
        let upto = Tolerance::LookAlikesAndIndentation;
        let line = readings.iter().find_map(|reading| made::stands(self.file, reading, upto))?;
        Some(Verdict::Refused(refuse::already_applied(line)))
    }

    fn aligned(self, readings: &[Reading]) -> Verdict {
        let mut stale = None;
        for reading in readings {
            let NewText::Told(new) = &reading.new else { continue };
            match align::align(self.file, &reading.old, new) {
                Aligned::Here(place) if self.request.expected == Expected::default() => {
                    return self.write(reading, &[&place], Rung::Aligned);
                }
                Aligned::Stale(place) => {
                    stale.get_or_insert((reading, place));
                }
                Aligned::Here(_) | Aligned::Nowhere => {}
            }
        }
        if let Some((reading, place)) = stale {
            let hunks = outcome::conflicts(self.file, &place, &reading.old, &reading.new);
            if !hunks.is_empty() {
                return Verdict::Missing(refuse::stale(self.request, self.file, &hunks));
            }
        }
        Verdict::Missing(refuse::not_found(self.request, self.file))
    }
}

/// Whether two sets of splices lead to the same text.
fn same_result(text: &str, a: &[Splice], b: &[Splice]) -> bool {
    a == b || veto::applied(text, a) == veto::applied(text, b)
}

/// What a line of the call and a line of the file differ in.
fn differences(old: &str, file: &str, from_start: bool, out: &mut Vec<Rewrite>) {
    let tail = |line: &str| line[line.trim_end().len()..].to_owned();
    if from_start && indent::of(old) != indent::of(file) && !file.trim().is_empty() {
        out.push(Rewrite::Indentation);
    }
    if tail(old) != tail(file) {
        out.push(Rewrite::TrailingBlanks);
    }
    let (a, b) = (old.trim(), file.trim());
    if a == b {
        return;
    }
    let same = |fold| fold::same(a, b, fold);
    if !(a.is_ascii() && b.is_ascii()) {
        out.push(Rewrite::LookAlikes);
    }
    if same(fold::Fold::LookAlike) {
        return;
    }
    out.push(if same(fold::Fold::Spacing) { Rewrite::Spacing } else { Rewrite::Punctuation });
}
