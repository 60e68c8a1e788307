//! Merges a call into lines of the file that are known to be meant, for example because a model has
//! named them. A model may write the text of the conflicts; it cannot change the rest of the merge.

use std::ops::Range;

use super::align;
use super::candidate::{Candidate, Chunk, ChunkKind};
use super::nearest;
use super::outcome::{self, ConflictHunk};
use super::reading::NewText;
use super::source_file::{SourceFile, split_lines};
use super::veto;
use crate::edit::{EditRequest, Splice};
use crate::text::Snapshot;

/// A call merged into a range of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merge {
    /// The possible results, each with a description of how it reads the call.
    Clean(Vec<(Splice, String)>),
    /// The call changes lines that differ in the file.
    Conflicts {
        hunks: Vec<ConflictHunk>,
        /// The lines of the merge, with a gap for each conflict.
        skeleton: Vec<Option<String>>,
        /// The bytes that the merge replaces. Lines at the edges of the given range that the call
        /// does not have are left out.
        range: Range<usize>,
    },
    /// Every possible result would break brackets or literals.
    Broken,
}

/// Merges the call into a range of the file.
pub(crate) fn merge_at(request: &EditRequest, snapshot: &Snapshot, range: Range<usize>) -> Merge {
    let file = SourceFile::new(snapshot, request.language);
    let candidate = align_to_range(&file, &request.old, range);
    let new = NewText::Known(request.new.clone());
    match outcome::outcomes(&file, &candidate, &request.old, &new) {
        Err(draft) => {
            let skeleton = draft.skeleton();
            Merge::Conflicts { hunks: draft.hunks, skeleton, range: candidate.range() }
        }
        Ok(outcomes) => {
            let has_outcomes = !outcomes.is_empty();
            let is_intact = |splice: &Splice| {
                !veto::breaks_structure(
                    &file,
                    std::slice::from_ref(splice),
                    &request.old,
                    &request.new,
                )
            };
            let clean: Vec<(Splice, String)> = outcomes
                .into_iter()
                .filter(|outcome| is_intact(&outcome.splice))
                .map(|outcome| (outcome.splice, outcome.how))
                .collect();
            if has_outcomes && clean.is_empty() { Merge::Broken } else { Merge::Clean(clean) }
        }
    }
}

/// Merges the call into a range of the file, with the given text for each conflict. `None` if the
/// result would break brackets or literals, or if the indentation of a new line is unknown.
pub(crate) fn merge_with_resolutions(
    request: &EditRequest,
    snapshot: &Snapshot,
    range: Range<usize>,
    resolutions: &[String],
) -> Option<Splice> {
    let file = SourceFile::new(snapshot, request.language);
    let candidate = align_to_range(&file, &request.old, range);
    let splice = outcome::merge_with_resolutions(
        &file,
        &candidate,
        &request.old,
        &request.new,
        resolutions,
    )?;
    let is_broken =
        veto::breaks_structure(&file, std::slice::from_ref(&splice), &request.old, &request.new);
    (!is_broken).then_some(splice)
}

/// The candidate that pairs the lines of `old` with the lines of a range.
fn align_to_range(file: &SourceFile<'_>, old: &str, range: Range<usize>) -> Candidate {
    let lines = split_lines(old);
    let first = file.line_at(range.start);
    let last = file.line_at(range.end.saturating_sub(1).max(range.start));
    let before = &file.text[file.lines()[first].start..range.start];
    let after = &file.text[range.end.min(file.lines()[last].end)..file.lines()[last].end];
    let is_partial = !before.trim().is_empty() || !after.trim().is_empty();
    if !is_partial || first != last || lines.len() > 1 {
        let region = nearest::align_to_lines(file, &lines, first..last + 1);
        return align::to_candidate(file, &lines, &region);
    }
    // A part of one line.
    let tolerance = align::laxest_tolerance(file);
    let same = tolerance.matches(old, &file.text[range.clone()]);
    let kind = if same { ChunkKind::Same } else { ChunkKind::Differs };
    let chunk = Chunk {
        old: 0..1,
        lines: first..first + 1,
        from_start: before.trim().is_empty(),
        bytes: range,
        kind,
    };
    Candidate { chunks: vec![chunk], tolerance }
}
