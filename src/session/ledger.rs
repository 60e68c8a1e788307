//! The record of a session: which lines of which versions of a file it has shown or written, and
//! which answers its caller had received when it sent a call.
//!
//! Versions are kept whole, so that a line number from any of them can be mapped to the current file.
//! Whether a call is stale depends on the content of the lines that it touches, never on times: a
//! change elsewhere in the file is no reason to refuse.
//!
//! A line number refers to what the caller had been shown. So each version records which answer
//! reported it, and each call records the last answer that its caller had received. Both are numbers
//! of answers, not times.
//!
//! Limits: 12 versions per file and 64 MiB in all. The oldest version is kept while there is room;
//! if one between is dropped, the mappings across it are joined. A call that uses the numbers of a
//! dropped version is answered as stale.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::edit::{Span, WorkPath};
use crate::hashline::line_map::LineMap;
use crate::hashline::resolver::SeenVersion;
use crate::hashline::stale::merge_ranges;
use crate::text::{LineSpan, Snapshot};

const MAX_VERSIONS: usize = 12;
const MAX_BYTES: usize = 64 << 20;

/// How many answers a session has given, as a point in time of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct AnswerCount(u64);

/// The answers that the caller had received when it sent a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SeenAnswers {
    /// Every answer that was given before the call began.
    #[default]
    All,
    /// The answers up to this number.
    UpTo(AnswerCount),
    /// The answers are not known, because several callers share the session.
    Unknown,
}

impl SeenAnswers {
    /// Whether the caller had received the answer with this number; `None` is an answer that is not
    /// sent yet.
    fn covers(self, reported: Option<u64>) -> bool {
        match self {
            Self::All => reported.is_some(),
            Self::UpTo(answer) => reported.is_some_and(|reported| reported <= answer.0),
            Self::Unknown => true,
        }
    }
}

/// The number of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallId(u64);

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

/// The record of one session. Share it with [`Arc`].
#[derive(Debug, Default)]
pub struct Ledger {
    state: Mutex<LedgerState>,
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
    /// How many answers were given.
    answers: u64,
    /// How many calls were begun.
    calls: u64,
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

    /// The number of answers that were sent so far.
    pub fn answer_count(&self) -> AnswerCount {
        AnswerCount(self.state().answers)
    }

    /// Begins a call. The caller learns what the call shows and writes only from its answer.
    pub(crate) fn begin_call(&self) -> CallId {
        let mut state = self.state();
        state.calls += 1;
        CallId(state.calls)
    }

    /// Records that the answer of a call is sent to the caller, and returns how many answers have been
    /// sent.
    pub(crate) fn record_answer(&self, call: CallId) -> AnswerCount {
        let mut state = self.state();
        state.answers += 1;
        let answer = state.answers;
        for version in state.files.values_mut().flat_map(|file| &mut file.versions) {
            if version.pending.contains(&call.0) {
                version.pending.retain(|id| *id != call.0);
                version.reported_in.get_or_insert(answer);
            }
        }
        AnswerCount(answer)
    }

    /// Records that this session made the commit of that number.
    pub fn record_commit(&self, revision: u64) {
        self.state().revisions.insert(revision);
    }

    /// The numbers of the commits that this session made.
    pub fn revisions(&self) -> BTreeSet<u64> {
        self.state().revisions.clone()
    }

    /// Records that a read shows lines of this version to the caller, with the answer of `call`;
    /// without a call, at once.
    pub(crate) fn record_read(
        &self,
        path: &WorkPath,
        snapshot: &Snapshot,
        lines: &[LineSpan],
        call: Option<CallId>,
    ) {
        self.record_shown(path, snapshot, lines, call);
        self.state().touch(path).was_read |= !lines.is_empty();
    }

    /// Records that some answer shows lines of this version to the caller.
    pub(crate) fn record_shown(
        &self,
        path: &WorkPath,
        snapshot: &Snapshot,
        lines: &[LineSpan],
        call: Option<CallId>,
    ) {
        let mut state = self.state();
        let file = state.touch(path);
        if file.versions.last().is_none_or(|last| last.snapshot != *snapshot) {
            let known = file.versions.last().map_or_else(Vec::new, |last| {
                LineMap::diff(&last.snapshot, snapshot).map_spans(&last.shown)
            });
            file.versions.push(SeenVersion::new(snapshot.clone(), merge_ranges(known)));
            state.bytes += memory_size(snapshot);
        }
        let report = state.begin_report(call);
        if let Some(last) = state.touch(path).versions.last_mut()
            && !lines.is_empty()
        {
            last.shown.extend_from_slice(lines);
            last.shown = merge_ranges(std::mem::take(&mut last.shown));
            last.numbered.extend_from_slice(lines);
            last.numbered = merge_ranges(std::mem::take(&mut last.numbered));
            report.mark(last);
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
        call: Option<CallId>,
    ) {
        let Some(before) = before else {
            let end = after.lines().total();
            return self.record_read(path, after, &[LineSpan { start: 1, end }], call);
        };
        let map = Arc::new(LineMap::from_edit(before, after, spans));
        if self.fill_in_edit(path, before, after, &map, call) {
            return;
        }
        // If another program has changed the file before this edit, record that version too.
        self.record_shown(path, before, &[], call);
        let mut state = self.state();
        let report = state.begin_report(call);
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
        version.numbered = fresh;
        version.line_map = Some(map);
        report.mark(&mut version);
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
        call: Option<CallId>,
    ) -> bool {
        let mut state = self.state();
        let report = state.begin_report(call);
        let file = state.touch(path);
        let step = file.versions.windows(2).rposition(|pair| {
            pair[1].line_map.is_none() && pair[0].snapshot == *before && pair[1].snapshot == *after
        });
        let Some(at) = step else { return false };
        file.versions[at + 1].line_map = Some(map.clone());
        report.mark(&mut file.versions[at + 1]);
        true
    }

    /// Drops the record of a file that was removed or replaced by a different file.
    pub fn forget(&self, path: &WorkPath) {
        let mut state = self.state();
        if let Some(file) = state.files.remove(path) {
            state.bytes -= file.bytes();
        }
    }

    /// The versions of a file on record, oldest first.
    pub fn versions(&self, path: &WorkPath) -> Vec<SeenVersion> {
        self.state().files.get(path).map(|file| file.versions.clone()).unwrap_or_default()
    }

    /// Whether a version of the file is on record.
    pub fn has_record(&self, path: &WorkPath) -> bool {
        self.state().files.get(path).is_some_and(|file| !file.versions.is_empty())
    }

    /// Every file on record, with its last version.
    pub fn files(&self) -> Vec<(WorkPath, Snapshot)> {
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
    pub fn unseen_lines(
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

/// The versions whose line numbers a caller may use, given the answers that it has received. Edits of
/// the session whose answers the caller has not received do not count. If another program has changed
/// the file since, the caller may know the file before or after that change, so both count.
pub(crate) fn numbering_basis(
    versions: &[SeenVersion],
    current: &Snapshot,
    seen_answers: SeenAnswers,
) -> NumberingBasis {
    if seen_answers == SeenAnswers::Unknown {
        let all = (0..versions.len()).map(VersionRef::Recorded);
        return NumberingBasis::Versions(all.chain([VersionRef::Current]).collect());
    }
    let is_known = |at: usize| seen_answers.covers(versions[at].reported_in);
    let is_session_edit = |at: usize| versions[at].line_map.is_some();
    let last_known = (0..versions.len()).rfind(|&at| is_known(at));
    let after_known = last_known.map_or(0, |at| at + 1);
    let follows_dropped_known_version =
        |at: usize| versions[at].dropped.is_some_and(|reported| seen_answers.covers(reported));
    if (after_known..versions.len()).any(follows_dropped_known_version) {
        return NumberingBasis::Lost;
    }
    // The last version before the first edit whose answer the caller had not received.
    let first_unreported = (after_known..versions.len()).find(|&at| is_session_edit(at));
    let before_unreported = match first_unreported {
        Some(0) => return NumberingBasis::Lost,
        Some(at) => VersionRef::Recorded(at - 1),
        None => VersionRef::Current,
    };
    let mut basis = Vec::new();
    if let Some(at) = last_known
        && !(before_unreported == VersionRef::Current && versions[at].snapshot == *current)
    {
        basis.push(VersionRef::Recorded(at));
    }
    if !basis.contains(&before_unreported) {
        basis.push(before_unreported);
    }
    NumberingBasis::Versions(basis)
}

/// How a version is reported to the caller.
enum ReportedBy {
    /// With the answer of the running call of this number.
    Call(u64),
    /// At once, as the answer of this number.
    Answer(u64),
}

impl ReportedBy {
    /// Notes in a version how it is reported, unless it was reported before.
    fn mark(&self, version: &mut SeenVersion) {
        match self {
            Self::Call(call) if version.reported_in.is_none() => version.pending.push(*call),
            Self::Call(_) => {}
            Self::Answer(answer) => {
                version.reported_in.get_or_insert(*answer);
            }
        }
    }
}

impl TrackedFile {
    fn bytes(&self) -> usize {
        self.versions.iter().map(|version| memory_size(&version.snapshot)).sum()
    }

    /// Drops a version, joins the two line maps across it, and returns its size.
    fn drop_version(&mut self, at: usize) -> usize {
        let removed = self.versions.remove(at);
        if let Some(next) = self.versions.get_mut(at) {
            let dropped = [Some(removed.reported_in), removed.dropped, next.dropped];
            // Keep the earliest answer that reported one of them; not reported counts as last.
            next.dropped =
                dropped.into_iter().flatten().min_by_key(|reported| reported.unwrap_or(u64::MAX));
        }
        if at > 0 && at < self.versions.len() {
            // Two edits of this session become one; a change by another program stays unknown.
            let next = &mut self.versions[at];
            next.line_map = match (&removed.line_map, &next.line_map) {
                (Some(first), Some(second)) => Some(Arc::new(first.then(second))),
                _ => None,
            };
        } else if at == 0
            && let Some(first) = self.versions.first_mut()
        {
            first.line_map = None;
        }
        memory_size(&removed.snapshot)
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

    /// How a version that is recorded now is reported: with the answer of `call`; without a call at
    /// once, which counts as an answer of its own.
    fn begin_report(&mut self, call: Option<CallId>) -> ReportedBy {
        match call {
            Some(call) => ReportedBy::Call(call.0),
            None => {
                self.answers += 1;
                ReportedBy::Answer(self.answers)
            }
        }
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
    fn a_call_uses_the_numbers_of_the_answers_its_caller_had_received() {
        let (ledger, file) = (Ledger::default(), path("a"));
        let old = lines(10);
        let now = Snapshot::from_text(format!("new\n{}", old.text()));
        let of = |ledger: &Ledger, now: &Snapshot, seen_answers| {
            numbering_basis(&ledger.versions(&file), now, seen_answers)
        };
        assert_eq!(
            of(&ledger, &old, SeenAnswers::All),
            NumberingBasis::Versions(vec![VersionRef::Current])
        );
        ledger.record_read(&file, &old, &[span(1, 10)], None);
        let read = ledger.answer_count();
        let call = ledger.begin_call();
        ledger.record_edit(&file, Some(&old), &now, &[], Some(call));
        // Not answered yet: numbers in a call now refer to the read.
        assert_eq!(
            of(&ledger, &now, SeenAnswers::All),
            NumberingBasis::Versions(vec![VersionRef::Recorded(0)])
        );
        ledger.record_answer(call);
        assert_eq!(
            of(&ledger, &now, SeenAnswers::All),
            NumberingBasis::Versions(vec![VersionRef::Current])
        );
        assert_eq!(
            of(&ledger, &now, SeenAnswers::UpTo(read)),
            NumberingBasis::Versions(vec![VersionRef::Recorded(0)])
        );
        // The caller may know of another program's change or not.
        let foreign = Snapshot::from_text(format!("other\n{}", now.text()));
        assert_eq!(
            of(&ledger, &foreign, SeenAnswers::All),
            NumberingBasis::Versions(vec![VersionRef::Recorded(1), VersionRef::Current])
        );
        assert_eq!(
            of(&ledger, &foreign, SeenAnswers::Unknown),
            NumberingBasis::Versions(vec![
                VersionRef::Recorded(0),
                VersionRef::Recorded(1),
                VersionRef::Current
            ])
        );
    }

    #[test]
    fn a_call_of_a_version_that_is_gone_is_lost_and_one_of_the_first_is_not() {
        let (ledger, file) = (Ledger::default(), path("a"));
        let mut moments = vec![ledger.answer_count()];
        let text = |n: usize| Snapshot::from_text("x\n".repeat(n) + lines(9).text());
        for n in 0..30 {
            let call = ledger.begin_call();
            ledger.record_edit(&file, Some(&text(n)), &text(n + 1), &[], Some(call));
            moments.push(ledger.record_answer(call));
        }
        let of = |n: usize| {
            numbering_basis(&ledger.versions(&file), &text(30), SeenAnswers::UpTo(moments[n]))
        };
        assert_eq!(of(0), NumberingBasis::Versions(vec![VersionRef::Recorded(0)]));
        assert_eq!(of(5), NumberingBasis::Lost);
        assert!(matches!(of(29), NumberingBasis::Versions(_)));
        assert_eq!(of(30), NumberingBasis::Versions(vec![VersionRef::Current]));
    }

    #[test]
    fn unseen_lines_are_those_never_shown_wherever_they_moved() {
        let (ledger, file) = (Ledger::default(), path("a"));
        let old = lines(10);
        assert_eq!(ledger.unseen_lines(&file, &old, span(1, 2)), None);
        ledger.record_read(&file, &old, &[span(2, 3)], None);
        ledger.record_read(&file, &old, &[span(6, 10)], None);
        assert_eq!(ledger.unseen_lines(&file, &old, span(2, 3)), Some(vec![]));
        assert_eq!(
            ledger.unseen_lines(&file, &old, span(1, 7)),
            Some(vec![span(1, 1), span(4, 5)])
        );
        let now = Snapshot::from_text(format!("new\n{}", old.text()));
        assert_eq!(ledger.unseen_lines(&file, &now, span(3, 5)), Some(vec![span(5, 5)]));
    }

    #[test]
    fn memory_is_bounded_and_the_latest_version_stays() {
        let (ledger, file) = (Ledger::default(), path("a"));
        for n in 1..40 {
            ledger.record_read(&file, &lines(n), &[span(1, n)], None);
        }
        assert_eq!(ledger.versions(&file).len(), MAX_VERSIONS);
        assert_eq!(ledger.versions(&file).last().expect("last").snapshot, lines(39));
        let big = |c: &str| Snapshot::from_text(c.repeat(20 << 20));
        for (k, c) in ["x", "y", "z", "w"].iter().enumerate() {
            ledger.record_read(&path(&format!("big{k}")), &big(c), &[], None);
        }
        assert!(!ledger.has_record(&path("big0")));
        assert!(ledger.has_record(&path("big3")));
        assert!(ledger.state().bytes <= MAX_BYTES);
    }
}
