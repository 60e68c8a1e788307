//! Applies a call to lines of the file that are known to be meant, as after a model has named a
//! region. Outside of conflicts the merge is kept byte for byte.

use std::ops::Range;

use super::align;
use super::file::{File, split};
use super::nearest;
use super::outcome::{self, Hunk};
use super::place::{Chunk, ChunkKind, Place};
use super::reading::NewText;
use super::veto;
use crate::edit::{EditRequest, Splice};
use crate::text::Snapshot;

/// A call on a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Onto {
    /// Each text that the call can mean there, and how it is read.
    Clean(Vec<(Splice, String)>),
    /// The caller and the file changed the same lines.
    Conflicts {
        hunks: Vec<Hunk>,
        /// The lines of the merge, with a gap for each conflict.
        frame: Vec<Option<String>>,
        /// The bytes that the merge stands for: without lines at the edges of the region that
        /// the call has not.
        range: Range<usize>,
    },
    /// Every text that the call can mean would break brackets or literals.
    Broken,
}

/// Puts the call onto a range of the file.
pub(crate) fn onto(request: &EditRequest, snapshot: &Snapshot, range: Range<usize>) -> Onto {
    let file = File::new(snapshot, request.language);
    let place = place(&file, &request.old, range);
    let new = NewText::Told(request.new.clone());
    match outcome::outcomes(&file, &place, &request.old, &new) {
        Err(draft) => {
            let frame = draft.frame();
            Onto::Conflicts { hunks: draft.hunks, frame, range: place.range() }
        }
        Ok(outcomes) => {
            let found = !outcomes.is_empty();
            let whole = |splice: &Splice| {
                !veto::breaks(&file, std::slice::from_ref(splice), &request.old, &request.new)
            };
            let clean: Vec<(Splice, String)> = outcomes
                .into_iter()
                .filter(|outcome| whole(&outcome.splice))
                .map(|outcome| (outcome.splice, outcome.how))
                .collect();
            if found && clean.is_empty() { Onto::Broken } else { Onto::Clean(clean) }
        }
    }
}

/// The same with each conflict settled by the given lines.
pub(crate) fn settled(
    request: &EditRequest,
    snapshot: &Snapshot,
    range: Range<usize>,
    answers: &[String],
) -> Option<Splice> {
    let file = File::new(snapshot, request.language);
    let place = place(&file, &request.old, range);
    let splice = outcome::settled(&file, &place, &request.old, &request.new, answers)?;
    let broken = veto::breaks(&file, std::slice::from_ref(&splice), &request.old, &request.new);
    (!broken).then_some(splice)
}

/// The lines of the call beside those of a range.
fn place(file: &File<'_>, old: &str, range: Range<usize>) -> Place {
    let lines = split(old);
    let first = file.line_at(range.start);
    let last = file.line_at(range.end.saturating_sub(1).max(range.start));
    let before = &file.text[file.lines()[first].start..range.start];
    let after = &file.text[range.end.min(file.lines()[last].end)..file.lines()[last].end];
    let amid = !before.trim().is_empty() || !after.trim().is_empty();
    if !amid || first != last || lines.len() > 1 {
        let region = nearest::beside(file, &lines, first..last + 1);
        return align::place(file, &lines, &region);
    }
    // A part of one line.
    let tolerance = align::loosest(file);
    let same = tolerance.same(old, &file.text[range.clone()]);
    let kind = if same { ChunkKind::Same } else { ChunkKind::Differs };
    let chunk = Chunk {
        old: 0..1,
        lines: first..first + 1,
        from_start: before.trim().is_empty(),
        bytes: range,
        kind,
    };
    Place { chunks: vec![chunk], tolerance }
}
