//! What a call would write at a candidate: the merge of the call's lines with the file's, once
//! for each reading of the call.
//!
//! Text that the call keeps stays as it is in the file; text that it changes is written. New lines
//! are written as sent, except for indentation and line ending. If the call would overwrite text
//! that `old_str` does not have, there is a conflict and no outcome.

mod character_map;
mod writer;

use character_map::CharacterMap;
use writer::Writer;

use std::ops::Range;

use super::candidate::{Candidate, ChunkKind};
use super::diff::{LineOp, line_ops};
use super::indent::{IndentMap, LevelWidths};
use super::indent_of;
use super::indent_reading::{self, IndentReading};
use super::reading::NewText;
use super::source_file::{SourceFile, split_lines};
use crate::edit::Splice;
use crate::text::LineEnding;

/// One possible result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) splice: Splice,
    /// How this outcome reads the call, in a few words.
    pub(super) how: String,
}

/// Lines that the call changes and that differ in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConflictHunk {
    /// Lines of the file, from 0.
    pub(crate) lines: Range<usize>,
    /// What the call believed to be there.
    pub(crate) believed: String,
    /// What is there.
    pub(crate) found: String,
    /// What the call wants there.
    pub(crate) wanted: String,
}

/// The lines of `new` as a replacement of `old`. A line break at the end that only `new` has adds a
/// blank line, as it does in an exact replacement.
pub(super) fn new_lines<'a>(old: &str, new: &'a str) -> Vec<&'a str> {
    if new.is_empty() && old.ends_with('\n') {
        return Vec::new();
    }
    let mut lines = split_lines(new);
    if new.ends_with('\n') && !old.ends_with('\n') {
        lines.push("");
    }
    lines
}

/// Every different result that the call can have at a candidate. If no reading gives one, the error
/// is the first merge with conflicts.
pub(super) fn outcomes(
    file: &SourceFile<'_>,
    candidate: &Candidate,
    old: &str,
    new: &NewText,
) -> Result<Vec<Outcome>, MergeDraft> {
    outcomes_with(file, candidate, old, new, indent_reading::indent_readings)
}

/// Results to show if the indentation of the call is too irregular for any reading. They are guesses,
/// so not even a single one may be applied.
pub(super) fn guesses(
    file: &SourceFile<'_>,
    candidate: &Candidate,
    old: &str,
    new: &NewText,
) -> Vec<Outcome> {
    let indent_readings =
        |_: &MergeInput<'_, '_>| vec![IndentReading::LikeNearestOrSent, IndentReading::AsSent];
    outcomes_with(file, candidate, old, new, indent_readings).unwrap_or_default()
}

/// How each text of a [`NewText`] reads the call, if it has two.
pub(super) const NEW_TEXT_DESCRIPTIONS: [&str; 2] =
    ["new_str with the same mistake undone", "new_str as it was sent"];

/// The results under the readings of the indentation that `indent_readings` gives.
fn outcomes_with(
    file: &SourceFile<'_>,
    candidate: &Candidate,
    old: &str,
    new: &NewText,
    indent_readings: fn(&MergeInput<'_, '_>) -> Vec<IndentReading>,
) -> Result<Vec<Outcome>, MergeDraft> {
    let mut out: Vec<Outcome> = Vec::new();
    let mut conflict = None;
    let has_two_texts = new.texts().count() > 1;
    let character_maps = CharacterMap::learn(file, candidate, old, new).readings();
    for (text, text_description) in new.texts().zip(NEW_TEXT_DESCRIPTIONS) {
        let text_description = has_two_texts.then_some(text_description);
        for characters in &character_maps {
            let (old, text) = (characters.apply(old), characters.apply(text));
            let call = MergeInput::new(file, candidate, &old, &text);
            for indent_reading in indent_readings(&call) {
                for placement in [BlankLinePlacement::Above, BlankLinePlacement::Below] {
                    let draft = match Writer::new(&call, indent_reading, placement).run() {
                        Some(draft) if draft.hunks.is_empty() => draft,
                        Some(draft) => {
                            conflict.get_or_insert(draft);
                            continue;
                        }
                        None => continue,
                    };
                    let descriptions =
                        [text_description, indent_reading.description(), placement.description()];
                    push_outcomes(&call, &draft, descriptions, &mut out);
                }
            }
        }
    }
    // If some outcome changes the file, those that change nothing are dropped.
    let changes_file =
        |outcome: &Outcome| file.text[outcome.splice.range.clone()] != *outcome.splice.text;
    if out.iter().any(changes_file) {
        out.retain(changes_file);
    }
    match (out.is_empty(), conflict) {
        (true, Some(draft)) => Err(draft),
        _ => Ok(out),
    }
}

/// Adds the texts of a merge without conflicts, unless they are there already. `descriptions` say
/// how the merge reads the call.
fn push_outcomes(
    call: &MergeInput<'_, '_>,
    draft: &MergeDraft,
    descriptions: [Option<&str>; 3],
    out: &mut Vec<Outcome>,
) {
    for (number, text) in draft.texts(call).into_iter().enumerate() {
        let mut how: Vec<&str> = descriptions.into_iter().flatten().collect();
        if number == 1 {
            how.push("changed lines with the quotes and punctuation of new_str");
        }
        let splice = Splice { range: call.range(), text };
        if !out.iter().any(|seen| seen.splice == splice) {
            out.push(Outcome { splice, how: how.join(", ") });
        }
    }
}

/// The conflicts of a call at a candidate; none if some reading has no conflict.
pub(super) fn conflicts(
    file: &SourceFile<'_>,
    candidate: &Candidate,
    old: &str,
    new: &NewText,
) -> Vec<ConflictHunk> {
    outcomes(file, candidate, old, new).err().map(|draft| draft.hunks).unwrap_or_default()
}

/// A call at a candidate: its lines, what it does to each, and the indentation of the file there.
pub(super) struct MergeInput<'a, 't> {
    pub(super) file: &'a SourceFile<'t>,
    pub(super) candidate: &'a Candidate,
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    pub(super) line_ops: Vec<LineOp>,
    pub(super) map: IndentMap,
    /// For each pair of `map`, the index of its line in `old`.
    pub(super) paired: Vec<usize>,
    ends_with_newline: bool,
}

impl<'a, 't> MergeInput<'a, 't> {
    /// The merge input for `old` and `new` at a candidate.
    pub(super) fn new(
        file: &'a SourceFile<'t>,
        candidate: &'a Candidate,
        old: &'a str,
        new: &'a str,
    ) -> Self {
        let ends_with_newline = old.ends_with('\n');
        let new = new_lines(old, new);
        let old = split_lines(old);
        let line_ops = line_ops(&old, &new);
        let mut paired = Vec::new();
        let mut pairs = Vec::new();
        for chunk in &candidate.chunks {
            let at = chunk.old.start;
            let is_pair = chunk.kind != ChunkKind::Elided
                && !chunk.old.is_empty()
                && !chunk.lines.is_empty()
                && chunk.from_start
                && !old[at].trim().is_empty();
            if is_pair {
                paired.push(at);
                let line = file.body(chunk.lines.start);
                pairs.push((indent_of(old[at]).to_owned(), indent_of(line).to_owned()));
            }
        }
        let levels = LevelWidths::new(file, &old, &new);
        let (old_after_first, new_after_first) =
            (old.get(1..).unwrap_or(&[]), new.get(1..).unwrap_or(&[]));
        let levels_after_first = LevelWidths::new(file, old_after_first, new_after_first);
        let map = IndentMap::fit(pairs, levels, levels_after_first);
        Self { file, candidate, old, new, line_ops, map, paired, ends_with_newline }
    }

    /// The bytes that the merge replaces.
    pub(super) fn range(&self) -> Range<usize> {
        let range = self.candidate.range();
        let lines = self.candidate.lines();
        let last = self.file.lines().get(lines.end.wrapping_sub(1));
        match last {
            Some(last) if self.ends_with_newline && range.end == last.end => {
                range.start..last.full_end()
            }
            _ => range,
        }
    }

    /// The indentation of the file's line that line `old` of the call (from 0) is paired with.
    pub(super) fn file_indent(&self, old: usize) -> Option<&'t str> {
        let chunk = self.candidate.chunk_at(old)?;
        let paired = chunk.from_start && !chunk.lines.is_empty() && chunk.old.start == old;
        paired.then(|| indent_of(self.file.body(chunk.lines.start)))
    }
}

/// Where a blank line that only the file has goes, if new lines are inserted next to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlankLinePlacement {
    /// Above the new lines.
    Above,
    /// Below the new lines.
    Below,
}

impl BlankLinePlacement {
    /// The description of an outcome with this placement; `None` for the usual one.
    fn description(self) -> Option<&'static str> {
        match self {
            Self::Above => None,
            Self::Below => Some("new lines above the file's blank line"),
        }
    }
}

/// A line of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OutputLine {
    Text {
        text: String,
        /// The line as it was sent, if it is unclear which of the two is meant.
        sent: Option<String>,
        /// `None` for the ending of the lines around the place.
        ending: Option<LineEnding>,
    },
    /// The conflict with this index.
    Conflict(usize),
}

/// The result of a merge, with its conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MergeDraft {
    lines: Vec<OutputLine>,
    pub(super) hunks: Vec<ConflictHunk>,
    /// Whether the result depends on where blank lines are placed.
    uses_blank_lines: bool,
}

impl MergeDraft {
    /// The merged text, and a second one with unclear lines as they were sent, if there are any.
    fn texts(&self, call: &MergeInput<'_, '_>) -> Vec<String> {
        let is_ambiguous =
            self.lines.iter().any(|line| matches!(line, OutputLine::Text { sent: Some(_), .. }));
        let mut out = vec![self.compose(call, false, &[])];
        if is_ambiguous {
            out.push(self.compose(call, true, &[]));
        }
        out
    }

    /// Joins the lines to the text that replaces `call.range()`. `as_sent` takes unclear lines as they
    /// were sent, and `resolutions` has the text of each conflict.
    fn compose(&self, call: &MergeInput<'_, '_>, as_sent: bool, resolutions: &[String]) -> String {
        let mut parts: Vec<(String, Option<LineEnding>)> = Vec::new();
        for line in &self.lines {
            match line {
                OutputLine::Text { text, sent, ending } => {
                    let text = sent.as_ref().filter(|_| as_sent).unwrap_or(text);
                    parts.push((text.clone(), *ending));
                }
                OutputLine::Conflict(at) => {
                    let lines = resolutions.get(*at).into_iter().filter(|text| !text.is_empty());
                    parts.extend(
                        lines
                            .flat_map(|text| split_lines(text))
                            .map(|line| (line.to_owned(), None)),
                    );
                }
            }
        }
        let lines = call.candidate.lines();
        let all = call.file.lines();
        let first_and_above = [Some(lines.start), lines.start.checked_sub(1)];
        let endings = first_and_above.iter().flatten().filter_map(|&at| all.get(at));
        let nearby_ending = endings
            .map(|line| line.ending)
            .find(|ending| *ending != LineEnding::None)
            .unwrap_or(LineEnding::Lf);
        let range = call.range();
        let mut out = String::new();
        let count = parts.len();
        for (at, (text, ending)) in parts.into_iter().enumerate() {
            out.push_str(&text);
            if at + 1 < count {
                let known = ending.filter(|ending| *ending != LineEnding::None);
                out.push_str(known.unwrap_or(nearby_ending).as_str());
            } else if call.ends_with_newline && range.end > call.candidate.range().end {
                // The line break of the last line that is replaced.
                out.push_str(&call.file.text[call.candidate.range().end..range.end]);
            }
        }
        out
    }
}
