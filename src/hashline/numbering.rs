//! Which versions of a file the line numbers of a call may be those of.

use std::sync::Arc;

use super::line_map::LineMap;
use crate::text::{LineSpan, Snapshot};

/// A version of a file that was shown to the caller or written by this session.
#[derive(Debug, Clone)]
pub(crate) struct SeenVersion {
    /// The content of the file.
    pub snapshot: Snapshot,
    /// The lines that the caller was shown, or knows because it wrote them.
    pub shown: Vec<LineSpan>,
    /// The map from the lines of the previous version, if an edit of this session made this one.
    pub line_map: Option<Arc<LineMap>>,
    /// The lines that the caller has read or searched for in this version.
    pub(crate) read: Vec<LineSpan>,
    /// Whether an edit of the only caller of the session made this version.
    pub(crate) is_own: bool,
    /// The first line whose number in a version just before this one, which was dropped from the record,
    /// is not known any more.
    pub(crate) lost_from: Option<usize>,
}

impl SeenVersion {
    /// A version of which the caller knows these lines.
    pub(crate) fn new(snapshot: Snapshot, shown: Vec<LineSpan>) -> Self {
        Self { snapshot, shown, line_map: None, read: Vec::new(), is_own: false, lost_from: None }
    }
}

/// The versions whose line numbers a call may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NumberingBasis {
    /// These versions; the current file may be one of them.
    Versions(Vec<VersionRef>),
    /// A version that is no longer on record.
    Lost,
}

/// A version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionRef {
    /// The current file.
    Current,
    /// The version with this index in the record.
    Recorded(usize),
}

/// The versions whose numbering a call may use for these lines: those since the last read of the lines,
/// and the current file. Lines that were never read have their numbers from elsewhere: from before the
/// first edit of the session, or from later.
pub(crate) fn numbering_basis(
    versions: &[SeenVersion],
    current: &Snapshot,
    named: LineSpan,
) -> NumberingBasis {
    // An insertion before line 1, or after the last line, names the line beside it.
    let ends = [named.start.min(named.end).max(1), named.start.max(named.end).max(1)];
    let is_read = |version: &SeenVersion| {
        let last = version.snapshot.lines().total();
        let is_append = named.end == last && named.start == last + 1;
        let covers = |line: &usize| {
            let line = if is_append { last.max(1) } else { *line };
            version.read.iter().any(|span| span.contains(line))
        };
        ends.iter().all(covers)
    };
    let since = versions.iter().rposition(is_read);
    let later = since.map_or(0, |at| at + 1);
    let is_lost = |from: usize| ends.iter().any(|end| *end >= from);
    if versions[later..].iter().filter_map(|version| version.lost_from).any(is_lost) {
        return NumberingBasis::Lost;
    }
    let mut possible: Vec<usize> = Vec::new();
    for at in since.unwrap_or(0)..versions.len() {
        let is_back = |earlier: &usize| {
            versions[at].is_own
                && versions[*earlier].snapshot == versions[at].snapshot
                && versions[earlier + 1..=at].iter().all(|step| step.line_map.is_some())
        };
        // The session itself has taken back what came in between.
        if let Some(kept) = possible.iter().position(is_back) {
            possible.truncate(kept);
        }
        possible.push(at);
    }
    possible.retain(|at| versions[*at].snapshot != *current);
    let earlier = possible.into_iter().map(VersionRef::Recorded);
    NumberingBasis::Versions(earlier.chain([VersionRef::Current]).collect())
}
