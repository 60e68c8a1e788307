//! Applies a call to lines of the file that are known to be meant, as after a model has named a
//! region. Outside of conflicts the merge is kept byte for byte.

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
    /// Each text that the call can mean there, and how it is read.
    Clean(Vec<(Splice, String)>),
    /// The caller and the file changed the same lines.
    Conflicts {
        hunks: Vec<ConflictHunk>,
        /// The lines of the merge, with a gap for each conflict.
        skeleton: Vec<Option<String>>,
        /// The bytes that the merge replaces: without lines at the edges of the range that the
        /// call does not have.
        range: Range<usize>,
    },
    /// Every text that the call can mean would break brackets or literals.
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
            let found = !outcomes.is_empty();
            let whole = |splice: &Splice| {
                !veto::breaks_structure(
                    &file,
                    std::slice::from_ref(splice),
                    &request.old,
                    &request.new,
                )
            };
            let clean: Vec<(Splice, String)> = outcomes
                .into_iter()
                .filter(|outcome| whole(&outcome.splice))
                .map(|outcome| (outcome.splice, outcome.how))
                .collect();
            if found && clean.is_empty() { Merge::Broken } else { Merge::Clean(clean) }
        }
    }
}

/// The same, with a text for each conflict.
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
    let broken =
        veto::breaks_structure(&file, std::slice::from_ref(&splice), &request.old, &request.new);
    (!broken).then_some(splice)
}

/// The lines of the call paired with those of a range.
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
