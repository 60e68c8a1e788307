//! What a session was shown and wrote, at which version of which file.
//!
//! Versions are kept whole, so that a line number from any of them can be carried to
//! the present file. Staleness is judged by the content of the touched lines, never
//! by times: a file that changed elsewhere is no reason to refuse.
//!
//! Limits: 12 versions a file and 64 MiB in all; what is older is forgotten, and an
//! anchor from there is answered as stale.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::edit::{Span, WorkPath};
use crate::hashline::carry::LineMap;
use crate::hashline::resolve::Version;
use crate::hashline::stale::merge_ranges;
use crate::text::{LineSpan, Snapshot};

const MOST_VERSIONS: usize = 12;
const MOST_BYTES: usize = 64 << 20;

/// Whether lines that the session never saw may be overwritten by number or range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unread {
    /// Always.
    Allow,
    /// In a file that was never shown, yes; in one that was shown in part, the unseen
    /// lines are named first, and the same call goes through afterwards.
    #[default]
    Reveal,
    /// Only lines that were shown.
    Refuse,
}

/// How fresh the caller's picture of some lines is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Staleness {
    /// Nothing of this file was shown.
    Unread,
    /// The file is as it was last seen.
    Fresh,
    /// The file changed, but not in these lines.
    ElsewhereChanged,
    /// These lines are not what the caller saw under their numbers.
    Changed,
}

/// The record of one session. Share it with [`Arc`].
#[derive(Debug, Default)]
pub struct Ledger(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    files: HashMap<WorkPath, File>,
    clock: u64,
    bytes: usize,
    revisions: BTreeSet<u64>,
}

#[derive(Debug, Default)]
struct File {
    versions: Vec<Version>,
    touched: u64,
}

impl Ledger {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere can at worst leave out a version, and a lost version only
        // makes an anchor stale.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This session made the commit of that number.
    pub fn committed(&self, revision: u64) {
        self.state().revisions.insert(revision);
    }

    /// The numbers of the commits that this session made.
    pub fn revisions(&self) -> BTreeSet<u64> {
        self.state().revisions.clone()
    }

    /// Lines of this version were shown to the caller.
    pub fn saw(&self, path: &WorkPath, snapshot: &Snapshot, lines: &[LineSpan]) {
        let mut state = self.state();
        let file = state.touch(path);
        if file.versions.last().is_none_or(|last| last.snapshot != *snapshot) {
            let known = file.versions.last().map_or_else(Vec::new, |last| {
                LineMap::between(&last.snapshot, snapshot).image(&last.shown)
            });
            file.versions.push(Version {
                snapshot: snapshot.clone(),
                shown: merge_ranges(known),
                way: None,
            });
            state.bytes += weight(snapshot);
        }
        if let Some(last) = state.touch(path).versions.last_mut() {
            last.shown.extend_from_slice(lines);
            last.shown = merge_ranges(std::mem::take(&mut last.shown));
        }
        state.shrink();
    }

    /// An edit of ours turned `before` into `after`.
    pub fn wrote(
        &self,
        path: &WorkPath,
        before: Option<&Snapshot>,
        after: &Snapshot,
        spans: &[Span],
    ) {
        let Some(before) = before else {
            let end = after.lines().total();
            return self.saw(path, after, &[LineSpan { start: 1, end }]);
        };
        // Where the file had changed under us, that version comes between.
        self.saw(path, before, &[]);
        let way = Arc::new(LineMap::of_edit(before, after, spans));
        let mut state = self.state();
        let file = state.touch(path);
        let mut shown = file.versions.last().map_or_else(Vec::new, |last| way.image(&last.shown));
        // The report shows one line on either side.
        let total = after.lines().total();
        shown.extend(spans.iter().map(|span| LineSpan {
            start: span.after.start_line.saturating_sub(1).max(1),
            end: (span.after.end_line + 1).min(total),
        }));
        let shown = merge_ranges(shown);
        file.versions.push(Version { snapshot: after.clone(), shown, way: Some(way) });
        state.bytes += weight(after);
        state.shrink();
    }

    /// The file is gone, or is another file now.
    pub fn forget(&self, path: &WorkPath) {
        let mut state = self.state();
        if let Some(file) = state.files.remove(path) {
            state.bytes -= file.bytes();
        }
    }

    /// The versions of a file on record, oldest first.
    pub fn versions(&self, path: &WorkPath) -> Vec<Version> {
        self.state().files.get(path).map(|file| file.versions.clone()).unwrap_or_default()
    }

    /// The lines of this version that were shown, in the order in which they were.
    pub fn read_of(&self, path: &WorkPath, snapshot: &Snapshot) -> Vec<LineSpan> {
        let state = self.state();
        let versions = state.files.get(path).map_or(&[][..], |file| &file.versions);
        let same = versions.iter().rfind(|version| version.snapshot.hash() == snapshot.hash());
        same.map(|version| version.shown.clone()).unwrap_or_default()
    }

    /// Whether anything of the file was shown.
    pub fn has_read(&self, path: &WorkPath) -> bool {
        self.state().files.get(path).is_some_and(|file| !file.versions.is_empty())
    }

    /// Every file on record, with its last version.
    pub fn files(&self) -> Vec<(WorkPath, Snapshot)> {
        let state = self.state();
        let last = |file: &File| file.versions.last().map(|version| version.snapshot.clone());
        let mut files: Vec<_> = state
            .files
            .iter()
            .filter_map(|(path, file)| Some((path.clone(), last(file)?)))
            .collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files
    }

    /// How fresh the caller's picture of these lines of the present file is.
    pub fn staleness(&self, path: &WorkPath, current: &Snapshot, span: LineSpan) -> Staleness {
        let versions = self.versions(path);
        let Some(last) = versions.last() else { return Staleness::Unread };
        if last.snapshot == *current {
            return Staleness::Fresh;
        }
        // One line more on either side, so that an insertion has something to hold to.
        let mut around = span.start.saturating_sub(1).max(1)..=span.end.max(span.start - 1) + 1;
        let same = around.all(|n| last.snapshot.line(n) == current.line(n));
        if same { Staleness::ElsewhereChanged } else { Staleness::Changed }
    }

    /// Which of these lines of the present file the caller does not know. `None` when
    /// nothing of the file was shown.
    pub fn unseen(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        span: LineSpan,
    ) -> Option<Vec<LineSpan>> {
        let versions = self.versions(path);
        let last = versions.last()?;
        let known = if last.snapshot == *current {
            last.shown.clone()
        } else {
            merge_ranges(LineMap::between(&last.snapshot, current).image(&last.shown))
        };
        let mut gaps = Vec::new();
        let mut next = span.start;
        for seen in known.iter().filter(|seen| seen.end >= span.start && seen.start <= span.end) {
            if seen.start > next {
                gaps.push(LineSpan { start: next, end: seen.start - 1 });
            }
            next = seen.end + 1;
        }
        if next <= span.end {
            gaps.push(LineSpan { start: next, end: span.end });
        }
        Some(gaps)
    }
}

impl File {
    fn bytes(&self) -> usize {
        self.versions.iter().map(|version| weight(&version.snapshot)).sum()
    }
}

fn weight(snapshot: &Snapshot) -> usize {
    snapshot.bytes().len() + 256
}

impl State {
    fn touch(&mut self, path: &WorkPath) -> &mut File {
        self.clock += 1;
        let file = self.files.entry(path.clone()).or_default();
        file.touched = self.clock;
        file
    }

    /// Forgets the oldest versions, those of the file that was not touched for longest first.
    fn shrink(&mut self) {
        for file in self.files.values_mut() {
            while file.versions.len() > MOST_VERSIONS {
                self.bytes -= weight(&file.versions.remove(0).snapshot);
            }
        }
        while self.bytes > MOST_BYTES {
            let oldest = self.files.iter().min_by_key(|(_, file)| file.touched);
            let Some(path) = oldest.map(|(path, _)| path.clone()) else { return };
            let Some(file) = self.files.get_mut(&path) else { return };
            if !file.versions.is_empty() {
                self.bytes -= weight(&file.versions.remove(0).snapshot);
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
    fn staleness_is_by_touched_lines_and_content() {
        let (ledger, file) = (Ledger::default(), path("a"));
        let old = lines(10);
        assert_eq!(ledger.staleness(&file, &old, span(1, 1)), Staleness::Unread);
        ledger.saw(&file, &old, &[span(1, 10)]);
        assert_eq!(ledger.staleness(&file, &old, span(3, 4)), Staleness::Fresh);
        let now = Snapshot::from_text(old.text().replace("line 9\n", "line nine\n"));
        assert_eq!(ledger.staleness(&file, &now, span(3, 4)), Staleness::ElsewhereChanged);
        assert_eq!(ledger.staleness(&file, &now, span(8, 8)), Staleness::Changed);
        let shifted = Snapshot::from_text(format!("new\n{}", old.text()));
        assert_eq!(ledger.staleness(&file, &shifted, span(3, 4)), Staleness::Changed);
    }

    #[test]
    fn unseen_lines_are_those_never_shown_wherever_they_moved() {
        let (ledger, file) = (Ledger::default(), path("a"));
        let old = lines(10);
        assert_eq!(ledger.unseen(&file, &old, span(1, 2)), None);
        ledger.saw(&file, &old, &[span(2, 3)]);
        ledger.saw(&file, &old, &[span(6, 10)]);
        assert_eq!(ledger.unseen(&file, &old, span(2, 3)), Some(vec![]));
        assert_eq!(ledger.unseen(&file, &old, span(1, 7)), Some(vec![span(1, 1), span(4, 5)]));
        let now = Snapshot::from_text(format!("new\n{}", old.text()));
        assert_eq!(ledger.unseen(&file, &now, span(3, 5)), Some(vec![span(5, 5)]));
    }

    #[test]
    fn memory_is_bounded_and_the_latest_version_stays() {
        let (ledger, file) = (Ledger::default(), path("a"));
        for n in 1..40 {
            ledger.saw(&file, &lines(n), &[span(1, n)]);
        }
        assert_eq!(ledger.versions(&file).len(), MOST_VERSIONS);
        assert_eq!(ledger.versions(&file).last().expect("last").snapshot, lines(39));
        let big = |c: &str| Snapshot::from_text(c.repeat(20 << 20));
        for (k, c) in ["x", "y", "z", "w"].iter().enumerate() {
            ledger.saw(&path(&format!("big{k}")), &big(c), &[]);
        }
        assert!(!ledger.has_read(&path("big0")));
        assert!(ledger.has_read(&path("big3")));
        assert!(ledger.state().bytes <= MOST_BYTES);
    }
}
