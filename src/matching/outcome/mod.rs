//! What a call would write at a place: the merge of the call's lines with the file's,
//! once for each way in which the call can be read.
//!
//! Text that the call keeps stays as in the file; text that it changes is written. New lines are
//! written as sent, except for indentation and line ending. If the call would overwrite something
//! that it does not know, there is a conflict, and no outcome.

mod characters;
mod writer;

use characters::Characters;
use writer::Writer;

use std::ops::Range;

use super::diff::{Event, events};
use super::evidence::{self, Depth};
use super::file::{File, split};
use super::indent::{self, IndentMap, Levels};
use super::place::{ChunkKind, Place};
use super::reading::NewText;
use crate::edit::Splice;
use crate::text::LineEnding;

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
    /// What the call believed to be there.
    pub(crate) believed: String,
    /// What is there.
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

/// Possible results if the indentation of the call is too irregular for any reading. A single one
/// proves nothing.
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
                        how.push("changed lines with the quotes and punctuation of new_str");
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
        ending: Option<LineEnding>,
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
        let mut parts: Vec<(String, Option<LineEnding>)> = Vec::new();
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
        let around = around.into_iter().flatten().find(|ending| *ending != LineEnding::None);
        let around = around.unwrap_or(LineEnding::Lf);
        let range = call.range();
        let mut out = String::new();
        let count = parts.len();
        for (at, (text, ending)) in parts.into_iter().enumerate() {
            out.push_str(&text);
            if at + 1 < count {
                let known = ending.filter(|ending| *ending != LineEnding::None);
                out.push_str(known.unwrap_or(around).as_str());
            } else if call.closed && range.end > call.place.range().end {
                // The region's own last line break.
                out.push_str(&call.file.text[call.place.range().end..range.end]);
            }
        }
        out
    }
}
