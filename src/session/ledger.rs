//! The record of a session: which lines of which versions of a file it has shown or written.
//!
//! Versions are kept whole, so that a line number from any of them can be mapped to the current file.
//! Whether a call is stale depends on the content of the lines that it touches, never on times: a
//! change elsewhere in the file is no reason to refuse.
//!
//! A line number without a snapshot may be from any version since the last read of that line. The
//! answer to an edit tells new numbers too, but a client may have sent the next call before the model
//! had seen that answer, so only a read or a search settles which numbering is meant.
//!
//! Limits: 12 versions per file and 64 MiB in all. The oldest version is kept while there is room;
//! if one between is dropped, the mappings across it are joined. A call that uses the numbers of a
//! dropped version is answered as stale.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::edit::{Span, WorkPath};
use crate::hashline::line_map::LineMap;
use crate::hashline::numbering::SeenVersion;
use crate::text::{LineSpan, Snapshot, gaps, merge_ranges};

const MAX_VERSIONS: usize = 12;
const MAX_BYTES: usize = 64 << 20;

/// The record of one session. Share it with [`Arc`].
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    state: Mutex<LedgerState>,
    /// Whether several callers share the record. Then a read settles nothing, since another caller may
    /// have made it.
    is_shared: bool,
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct LedgerState {
    files: HashMap<WorkPath, TrackedFile>,
    /// Counts the uses of files, to find the one that was not used for longest.
    clock: u64,
    /// The size of all versions.
    bytes: usize,
    /// The commits of this session.
    revisions: BTreeSet<u64>,
}

#[derive(Debug, Default)]
struct TrackedFile {
    versions: Vec<SeenVersion>,
    /// The clock at the last use.
    touched: u64,
    /// Whether lines were shown by a read or a search, and not only by an edit's answer.
    was_read: bool,
}

impl Ledger {
    /// A record that several callers share.
    #[cfg(any(test, feature = "mcp"))]
    pub(crate) fn shared() -> Self {
        Self { is_shared: true, ..Self::default() }
    }

    fn state(&self) -> MutexGuard<'_, LedgerState> {
        // After a panic elsewhere a version may be missing, which at worst makes an anchor stale.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the record while a commit is made and recorded, and while a file is loaded. So a loaded
    /// file is never newer than the record, and an edit of this session is not mistaken for a change
    /// by another program.
    pub(crate) async fn lock_writes(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.writing.lock().await
    }

    /// Records that this session made the commit of that number.
    pub(crate) fn record_commit(&self, revision: u64) {
        self.state().revisions.insert(revision);
    }

    /// The numbers of the commits that this session made.
    pub(crate) fn revisions(&self) -> BTreeSet<u64> {
        self.state().revisions.clone()
    }

    /// Records that a read shows lines of this version to the caller.
    pub(crate) fn record_read(&self, path: &WorkPath, snapshot: &Snapshot, lines: &[LineSpan]) {
        self.record_shown(path, snapshot, lines);
        let mut state = self.state();
        let file = state.touch(path);
        file.was_read |= !lines.is_empty();
        if let Some(last) = file.versions.last_mut()
            && !self.is_shared
        {
            last.read.extend_from_slice(lines);
            last.read = merge_ranges(std::mem::take(&mut last.read));
        }
    }

    /// Records that some answer shows lines of this version to the caller.
    pub(crate) fn record_shown(&self, path: &WorkPath, snapshot: &Snapshot, lines: &[LineSpan]) {
        let mut state = self.state();
        let file = state.touch(path);
        if file.versions.last().is_none_or(|last| last.snapshot != *snapshot) {
            let known = file.versions.last().map_or_else(Vec::new, |last| {
                LineMap::diff(&last.snapshot, snapshot).map_spans(&last.shown)
            });
            file.versions.push(SeenVersion::new(snapshot.clone(), merge_ranges(known)));
            state.bytes += memory_size(snapshot);
        }
        if let Some(last) = state.touch(path).versions.last_mut()
            && !lines.is_empty()
        {
            last.shown.extend_from_slice(lines);
            last.shown = merge_ranges(std::mem::take(&mut last.shown));
        }
        state.evict();
    }

    /// Records that an edit of this session turned `before` into `after`.
    pub(crate) fn record_edit(
        &self,
        path: &WorkPath,
        before: Option<&Snapshot>,
        after: &Snapshot,
        spans: &[Span],
    ) {
        let Some(before) = before else {
            let end = after.lines().total();
            return self.record_read(path, after, &[LineSpan { start: 1, end }]);
        };
        let map = Arc::new(LineMap::from_edit(before, after, spans));
        if self.fill_in_edit(path, before, after, &map) {
            return;
        }
        // If another program has changed the file before this edit, record that version too.
        self.record_shown(path, before, &[]);
        let mut state = self.state();
        let file = state.touch(path);
        let mut shown =
            file.versions.last().map_or_else(Vec::new, |last| map.map_spans(&last.shown));
        // The report shows one line on either side.
        let total = after.lines().total();
        let fresh = merge_ranges(
            spans
                .iter()
                .map(|span| LineSpan {
                    start: span.after.start_line.saturating_sub(1).max(1),
                    end: (span.after.end_line + 1).min(total),
                })
                .collect(),
        );
        shown.extend_from_slice(&fresh);
        let mut version = SeenVersion::new(after.clone(), merge_ranges(shown));
        version.line_map = Some(map);
        version.is_own = !self.is_shared;
        file.versions.push(version);
        state.bytes += memory_size(after);
        state.evict();
    }

    /// Adds the line map of an edit whose two versions are both on record, one after the other;
    /// returns `false` if they are not. This happens if concurrent calls record their edits in a
    /// different order than they made them.
    fn fill_in_edit(
        &self,
        path: &WorkPath,
        before: &Snapshot,
        after: &Snapshot,
        map: &Arc<LineMap>,
    ) -> bool {
        let mut state = self.state();
        let file = state.touch(path);
        let step = file.versions.windows(2).rposition(|pair| {
            pair[1].line_map.is_none() && pair[0].snapshot == *before && pair[1].snapshot == *after
        });
        let Some(at) = step else { return false };
        file.versions[at + 1].line_map = Some(map.clone());
        true
    }

    /// Drops the record of a file that was removed or replaced by a different file.
    pub(crate) fn forget(&self, path: &WorkPath) {
        let mut state = self.state();
        if let Some(file) = state.files.remove(path) {
            state.bytes -= file.bytes();
        }
    }

    /// The last version of a file on record.
    pub(crate) fn last_version(&self, path: &WorkPath) -> Option<Snapshot> {
        let state = self.state();
        state.files.get(path)?.versions.last().map(|version| version.snapshot.clone())
    }

    /// The versions of a file on record, oldest first.
    pub(crate) fn versions(&self, path: &WorkPath) -> Vec<SeenVersion> {
        self.state().files.get(path).map(|file| file.versions.clone()).unwrap_or_default()
    }

    /// Every file on record, with its last version.
    pub(crate) fn files(&self) -> Vec<(WorkPath, Snapshot)> {
        let state = self.state();
        let last =
            |file: &TrackedFile| file.versions.last().map(|version| version.snapshot.clone());
        let mut files: Vec<_> = state
            .files
            .iter()
            .filter_map(|(path, file)| Some((path.clone(), last(file)?)))
            .collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files
    }

    /// The lines of `span` in the current file that the caller has not seen; `None` if no part of the
    /// file was read.
    pub(crate) fn unseen_lines(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        span: LineSpan,
    ) -> Option<Vec<LineSpan>> {
        if !self.state().files.get(path)?.was_read {
            return None;
        }
        let versions = self.versions(path);
        let last = versions.last()?;
        let known = if last.snapshot == *current {
            last.shown.clone()
        } else {
            merge_ranges(LineMap::diff(&last.snapshot, current).map_spans(&last.shown))
        };
        Some(gaps(&known, span))
    }
}

impl TrackedFile {
    fn bytes(&self) -> usize {
        self.versions.iter().map(|version| memory_size(&version.snapshot)).sum()
    }

    /// Drops a version, joins the two line maps across it, and returns its size.
    fn drop_version(&mut self, at: usize) -> usize {
        let removed = self.versions.remove(at);
        let size = memory_size(&removed.snapshot);
        let (before, after) = self.versions.split_at_mut(at);
        let Some(next) = after.first_mut() else { return size };
        let Some(before) = before.last() else {
            next.lost_from = Some(1);
            next.line_map = None;
            return size;
        };
        let moved = |from: &Snapshot, to: &Snapshot, map: Option<&Arc<LineMap>>| match map {
            Some(map) => map.first_moved(),
            None => LineMap::diff(from, to).first_moved(),
        };
        let dropped = &removed.snapshot;
        let since_before = moved(&before.snapshot, dropped, removed.line_map.as_ref());
        let until_next = moved(dropped, &next.snapshot, next.line_map.as_ref());
        // Up to there, lines are numbered as in one of the neighbours.
        let lost = since_before.zip(until_next).map(|(before, next)| before.max(next));
        next.lost_from = [next.lost_from, removed.lost_from, lost].into_iter().flatten().min();
        // Two edits of this session become one; a change by another program stays unknown.
        next.line_map = match (&removed.line_map, &next.line_map) {
            (Some(first), Some(second)) => Some(Arc::new(first.then(second))),
            _ => None,
        };
        size
    }
}

/// About how many bytes of memory a version takes.
fn memory_size(snapshot: &Snapshot) -> usize {
    snapshot.bytes().len() + 256
}

impl LedgerState {
    /// The record of a file, marked as just used; created if there is none.
    fn touch(&mut self, path: &WorkPath) -> &mut TrackedFile {
        self.clock += 1;
        let file = self.files.entry(path.clone()).or_default();
        file.touched = self.clock;
        file
    }

    /// Drops versions until the limits are kept: the second oldest of a file with too many versions,
    /// then the oldest of the file that was not used for longest.
    fn evict(&mut self) {
        for file in self.files.values_mut() {
            while file.versions.len() > MAX_VERSIONS {
                self.bytes -= file.drop_version(1);
            }
        }
        while self.bytes > MAX_BYTES {
            let oldest = self.files.iter().min_by_key(|(_, file)| file.touched);
            let Some(path) = oldest.map(|(path, _)| path.clone()) else { return };
            let Some(file) = self.files.get_mut(&path) else { return };
            if !file.versions.is_empty() {
                self.bytes -= file.drop_version(0);
            }
            if file.versions.is_empty() {
                self.files.remove(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::hashline::numbering::{NumberingBasis, VersionRef, numbering_basis};

    fn path(name: &str) -> WorkPath {
        WorkPath::parse(name, Path::new("/w")).expect("path")
    }

    fn lines(n: usize) -> Snapshot {
        Snapshot::from_text((1..=n).map(|k| format!("line {k}\n")).collect::<String>())
    }

    fn span(start: usize, end: usize) -> LineSpan {
        LineSpan { start, end }
    }

    #[test]
    fn what_one_of_several_callers_does_settles_nothing_for_another() {
        let file = path("a");
        let old = lines(10);
        let now = Snapshot::from_text(format!("new\n{}", old.text()));
        let of = |ledger: &Ledger, now: &Snapshot| {
            numbering_basis(&ledger.versions(&file), now, span(5, 5))
        };
        let older_or_current = |older| {
            NumberingBasis::Versions(vec![VersionRef::Recorded(older), VersionRef::Current])
        };
        let shared = Ledger::shared();
        shared.record_read(&file, &old, &[span(1, 10)]);
        shared.record_edit(&file, Some(&old), &now, &[]);
        shared.record_read(&file, &now, &[span(1, 11)]);
        assert_eq!(of(&shared, &now), older_or_current(0), "a read");
        let shared = Ledger::shared();
        shared.record_read(&file, &old, &[span(1, 10)]);
        shared.record_edit(&file, Some(&old), &now, &[]);
        shared.record_edit(&file, Some(&now), &old, &[]);
        assert_eq!(of(&shared, &old), older_or_current(1), "an edit that is taken back");
    }

    #[test]
    fn numbers_of_a_version_that_is_gone_are_lost_unless_nothing_had_moved() {
        for (moves, is_lost) in [(true, true), (false, false)] {
            let (ledger, file) = (Ledger::default(), path("a"));
            let text = |n: usize| match moves {
                true => Snapshot::from_text("x\n".repeat(n) + lines(9).text()),
                false => {
                    Snapshot::from_text(lines(9).text().replace("line 1\n", &format!("{n}\n")))
                }
            };
            ledger.record_read(&file, &text(0), &[span(1, 9)]);
            for n in 0..30 {
                ledger.record_edit(&file, Some(&text(n)), &text(n + 1), &[]);
            }
            let basis = numbering_basis(&ledger.versions(&file), &text(30), span(5, 5));
            assert_eq!(basis == NumberingBasis::Lost, is_lost, "{basis:?}");
            // A read settles it.
            ledger.record_read(&file, &text(30), &[span(1, 9)]);
            let basis = numbering_basis(&ledger.versions(&file), &text(30), span(5, 5));
            assert_eq!(basis, NumberingBasis::Versions(vec![VersionRef::Current]));
        }
    }

    #[test]
    fn memory_is_bounded_and_the_latest_version_stays() {
        let (ledger, file) = (Ledger::default(), path("a"));
        for n in 1..40 {
            ledger.record_read(&file, &lines(n), &[span(1, n)]);
        }
        assert_eq!(ledger.versions(&file).len(), MAX_VERSIONS);
        assert_eq!(ledger.versions(&file).last().expect("last").snapshot, lines(39));
        let big = |c: &str| Snapshot::from_text(c.repeat(20 << 20));
        for (k, c) in ["x", "y", "z", "w"].iter().enumerate() {
            ledger.record_read(&path(&format!("big{k}")), &big(c), &[]);
        }
        assert!(ledger.versions(&path("big0")).is_empty());
        assert!(!ledger.versions(&path("big3")).is_empty());
        assert!(ledger.state().bytes <= MAX_BYTES);
    }
}
