//! What the disk store does with its history: undo, the log, repeated requests, and the rollback of
//! commits that a crash interrupted.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::commit::{CommitContext, CommitEdit};
use super::disk::Disk;
use super::history::{History, KEPT};
use super::lock::{self, LockOutcome};
use super::record::{CommitRecord, FileRecord};
use super::revert::{LaterVersion, revert_change};
use super::timeline::{Timeline, Versions, history_not_read, repeated, take_back};
use crate::edit::{EditCode, Refusal, WorkPath};
use crate::port::{Committed, RequestId, RequestStatus, Revision, UndoMode, Undone};
use crate::text::ContentHash;

/// The mark of an unfinished commit of several files, locked until it is dropped.
#[derive(Debug)]
pub(super) struct OpenMark {
    revision: u64,
    file: File,
}

impl Disk {
    /// Undoes a commit: `revision`, or else the newest commit that is neither undone nor an undo.
    pub(super) fn undo(
        &self,
        revision: Option<u64>,
        mode: UndoMode,
        abandoned: &AtomicBool,
    ) -> Result<Undone, Refusal> {
        let history = self.require_history()?;
        self.check_root()?;
        self.recover();
        let mut attempts = 0;
        loop {
            let timeline = history.timeline().map_err(history_not_read)?;
            let entry = timeline.to_undo(revision, |commit| {
                commit.done || commit.files.iter().any(|file| self.is_in_effect(file))
            })?;
            let revision = entry.revision;
            if !entry.done && history.is_running(revision) {
                return Err(Refusal::new(
                    EditCode::Conflict,
                    format!("revision {revision} is just being written by another process"),
                )
                .hint("Nothing was written. Send the same call again."));
            }
            let edits = self.undo_files(history, &timeline, entry)?;
            if edits.is_empty() {
                return Err(Refusal::new(
                    EditCode::NoChange,
                    format!("revision {revision} was interrupted before it wrote a file"),
                )
                .hint("There is nothing of it to undo."));
            }
            if mode == UndoMode::DryRun {
                return Ok(Undone::planned(revision, edits.into_iter().map(|edit| edit.edit)));
            }
            let context = CommitContext {
                request: None,
                client: None,
                undoes: Some(revision),
                abandoned,
                lock_wait: self.options.lock_wait,
            };
            attempts += 1;
            match self.commit(&edits, &context) {
                // A file changed between the reading and the lock, so read it again.
                Err(refusal) if refusal.code == EditCode::Conflict && attempts < 4 => {}
                Err(refusal) => return Err(refusal),
                Ok(committed) => {
                    if !entry.done {
                        history.unmark(revision);
                    }
                    return Ok(Undone { revision, committed });
                }
            }
        }
    }

    /// The commits, newest first.
    pub(super) fn log(&self) -> Result<Vec<Revision>, Refusal> {
        let timeline = self.require_history()?.timeline();
        Ok(timeline.map_err(history_not_read)?.into_log())
    }

    /// The history; a refusal if there is none.
    fn require_history(&self) -> Result<&History, Refusal> {
        self.history.as_ref().ok_or_else(|| {
            let reason = self.state_error.clone();
            let reason = reason.unwrap_or_else(|| "no state folder was given".into());
            let (code, what) = match self.options.state {
                Some(_) => (EditCode::WriteError, "the history of edits cannot be opened"),
                None => (EditCode::Blocked, "there is no history of edits"),
            };
            Refusal::new(code, format!("{what}: {reason}")).hint(
                "Start restitch with a state folder that can be written (RESTITCH_STATE_DIR).",
            )
        })
    }

    /// Whether the file is now as this commit was to leave it: with the same content, or missing if
    /// the commit was to remove it. A file that cannot be read counts as changed.
    fn is_in_effect(&self, file: &FileRecord) -> bool {
        let path = WorkPath::parse(&file.path, self.root.path());
        let current = path.and_then(|path| self.current_bytes(&path));
        current.is_ok_and(|current| current.as_deref().map(ContentHash::of) == file.after)
    }

    /// The current bytes of a file; `None` if there is no such file.
    fn current_bytes(&self, path: &WorkPath) -> Result<Option<Vec<u8>>, Refusal> {
        match self.read_as_it_is(path) {
            Err(refusal) if refusal.code == EditCode::FileNotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// The edits that undo a commit: one for each file, or, of a commit that was interrupted, for each
    /// file that it has written.
    fn undo_files(
        &self,
        history: &History,
        timeline: &Timeline,
        entry: &CommitRecord,
    ) -> Result<Vec<CommitEdit>, Refusal> {
        let mut edits = Vec::new();
        for file in &entry.files {
            match self.undo_file(history, timeline, entry, file) {
                Ok(edit) => edits.push(edit),
                Err(_) if !entry.done && self.is_unwritten(history, file)? => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(edits)
    }

    /// Whether a file does not have the change of an interrupted commit: it is as it was before the
    /// commit, or another program has changed other lines of that version.
    fn is_unwritten(&self, history: &History, file: &FileRecord) -> Result<bool, Refusal> {
        let path = WorkPath::parse(&file.path, self.root.path())?;
        let current = self.current_bytes(&path)?;
        let before = file.before_sha256();
        if current.as_deref().map(ContentHash::of) == before {
            return Ok(true);
        }
        let (Some(current), Some(before), Some(after)) = (current, before, file.after) else {
            return Ok(false);
        };
        let read = |hash| history.bytes(hash, Some(&current)).map_err(history_not_read);
        let (before, after) = (read(before)?, read(after)?);
        let now = LaterVersion { bytes: current.clone(), source: () };
        Ok(revert_change(&after, &before, &[now]).is_ok())
    }

    /// The edit that undoes one file of a commit.
    fn undo_file(
        &self,
        history: &History,
        timeline: &Timeline,
        entry: &CommitRecord,
        file: &FileRecord,
    ) -> Result<CommitEdit, Refusal> {
        let path = WorkPath::parse(&file.path, self.root.path())?;
        self.check_resolves_to_itself(&path, entry)?;
        let current = self.current_bytes(&path)?;
        let read = |hash| history.bytes(hash, current.as_deref());
        let restorable = |hash: ContentHash| {
            read(hash).map_err(|error| {
                Refusal::new(
                    EditCode::ReadError,
                    format!("revision {} cannot be undone: the stored bytes of `{path}` cannot be read ({error})", entry.revision),
                )
                .at(path.as_str())
                .hint("Read the file, and take the change back with an edit.")
            })
        };
        let is_unchanged = current.as_deref().map(ContentHash::of) == file.after;
        let before = file.before_sha256().map(restorable).transpose()?;
        let mut later = Vec::new();
        let after = match is_unchanged {
            true => current.clone(),
            false => {
                for (commit, file) in timeline.later_in_effect(entry.revision, &file.path) {
                    if commit.done || self.is_in_effect(file) {
                        let read = |hash: Option<ContentHash>| hash.map(read).transpose();
                        let before = read(file.before_sha256());
                        let versions = before
                            .and_then(|before| Ok(Versions { before, after: read(file.after)? }));
                        later.push((commit.revision, versions.ok()));
                    }
                }
                file.after.map(restorable).transpose()?
            }
        };
        let edit = take_back(entry.revision, &path, Versions { before, after }, current, later)?;
        let metadata = file.before.as_ref().filter(|_| edit.before().is_none());
        Ok(CommitEdit {
            metadata: metadata.and_then(|version| version.metadata.clone()),
            folders: match edit.after() {
                None => file.created_folders.clone(),
                Some(_) => Vec::new(),
            },
            edit,
        })
    }

    /// Refuses a path that now leads through a link: it leads to a file that the commit never
    /// touched, because the history names files by their paths without links.
    fn check_resolves_to_itself(
        &self,
        path: &WorkPath,
        entry: &CommitRecord,
    ) -> Result<(), Refusal> {
        let Ok(target) = self.root.resolve(path.as_path()) else { return Ok(()) };
        let Some(real) = target.real.to_str().filter(|real| *real != path.as_str()) else {
            return Ok(());
        };
        let revision = entry.revision;
        Err(Refusal::new(
            EditCode::Conflict,
            format!("revision {revision} of `{path}` cannot be undone: its path now leads through a link to `{real}`, a different file"),
        )
        .at(path.as_str())
        .hint("Move the file back to its old path, or edit the file that is there now."))
    }

    /// The newest commit with this request id, if it took effect.
    pub(super) fn commit_of_request(&self, request: &RequestId) -> Option<CommitRecord> {
        let entries = self.history.as_ref()?.entries().ok()?;
        entries.into_iter().rev().find(|entry| {
            entry.request.as_deref() == Some(request.as_str())
                && (entry.done || entry.files.iter().all(|file| self.is_in_effect(file)))
        })
    }

    /// What is known of a request, from its stored answer or else from its commit.
    pub(super) fn recall(&self, request: &RequestId) -> Result<RequestStatus, Refusal> {
        let Some(history) = &self.history else { return Ok(RequestStatus::Unknown) };
        match history.recall(request) {
            RequestStatus::Unknown => {}
            known => return Ok(known),
        }
        Ok(match self.commit_of_request(request) {
            None => RequestStatus::Unknown,
            Some(entry) => {
                let committed = RequestStatus::Committed(self.recorded_result(&entry)?);
                request.status_by(entry.request_digest, committed)
            }
        })
    }

    /// Versions of a file from the history, oldest first: the version whose hash starts with `from`
    /// and the last versions after it, or only the last versions if `from` is `None`.
    pub(super) fn recorded_versions(&self, path: &WorkPath, from: Option<&str>) -> Vec<Vec<u8>> {
        let (Some(history), Ok(current)) = (&self.history, self.read(path)) else {
            return Vec::new();
        };
        let real = self.root.resolve(path.as_path()).ok();
        let real = real.and_then(|target| target.real.to_str().map(str::to_owned));
        let logged_path = real.unwrap_or_else(|| path.as_str().to_owned());
        let Ok(timeline) = history.timeline() else { return Vec::new() };
        let wanted = timeline.versions_of(&logged_path, from);
        wanted.into_iter().filter_map(|hash| history.bytes(hash, Some(&current)).ok()).collect()
    }

    /// The newest commit of a file.
    pub(super) fn last_commit(&self, path: &str) -> Option<CommitRecord> {
        let entries = self.history.as_ref()?.entries().ok()?;
        entries.into_iter().rev().find(|entry| entry.files.iter().any(|file| file.path == path))
    }

    /// What a commit in the history wrote.
    pub(super) fn committed(&self, revision: u64) -> Result<Vec<Committed>, Refusal> {
        let timeline = self.require_history()?.timeline().map_err(history_not_read)?;
        self.recorded_result(timeline.commit(revision)?)
    }

    /// The result of an earlier commit, as if it had just been made.
    pub(super) fn recorded_result(&self, entry: &CommitRecord) -> Result<Vec<Committed>, Refusal> {
        let history = self.require_history()?;
        entry
            .files
            .iter()
            .map(|file| {
                let path = WorkPath::parse(&file.path, self.root.path())?;
                let current = self.current_bytes(&path).ok().flatten();
                let read = |hash: Option<ContentHash>| {
                    let bytes = hash.map(|hash| history.bytes(hash, current.as_deref()));
                    bytes.transpose().map_err(history_not_read)
                };
                let versions =
                    Versions { before: read(file.before_sha256())?, after: read(file.after)? };
                Ok(repeated(entry.revision, path, versions, self.options.sync_mode.durability()))
            })
            .collect()
    }

    /// Marks a commit of several files as unfinished, so that it is rolled back after a crash. A
    /// commit of one file needs no mark.
    pub(super) fn mark_open(
        &self,
        file_count: usize,
        revision: Option<u64>,
    ) -> io::Result<Option<OpenMark>> {
        let (Some(history), Some(revision)) = (&self.history, revision) else { return Ok(None) };
        if file_count <= 1 {
            return Ok(None);
        }
        let file = history.mark_open(revision)?;
        Ok(Some(OpenMark { revision, file }))
    }

    /// Removes the mark of a commit that is finished or rolled back.
    pub(super) fn release_mark(&self, mark: Option<OpenMark>) {
        if let (Some(history), Some(OpenMark { revision, file })) = (&self.history, mark) {
            history.unmark(revision);
            // The lock is released only once the mark is gone.
            drop(file);
        }
    }

    /// Rolls back commits of several files that a dead process left unfinished. If one cannot be
    /// rolled back now, its mark stays, and it is tried again.
    pub(super) fn recover_open_commits(&self) {
        let Some(history) = &self.history else { return };
        // Those that a person must sort out have an ending.
        // The newest first: below it, an older one finds its own lines again.
        for (revision, path) in
            history.marks().into_iter().rev().filter(|(_, it)| it.extension().is_none())
        {
            let is_recent = |tried: &Instant| tried.elapsed() < RECOVERY_PAUSE;
            if self.unrecovered().tried.get(&revision).is_some_and(is_recent) {
                continue;
            }
            let Ok(mark) = File::open(&path) else { continue };
            // A live process holds the lock on its mark, and removes the mark when the commit ends.
            if !matches!(lock::try_lock(&mark), Ok(LockOutcome::Acquired)) || !path.exists() {
                continue;
            }
            match self.roll_back_commit(history, revision) {
                RollBack::Done => history.unmark(revision),
                RollBack::Later(refusal) => {
                    self.note_unrecovered(revision, &refusal, "tries again")
                }
                RollBack::Never(refusal) => {
                    self.note_unrecovered(revision, &refusal, "leaves that to you");
                    // Renamed so that later starts ignore it and a person can inspect it.
                    let _ = fs::rename(&path, path.with_extension(KEPT));
                }
            }
        }
    }

    /// The writes in place and the commits of several files that a crash interrupted and no recovery has put right: what there
    /// is, and what to do about it.
    #[cfg(feature = "cli")]
    pub(super) fn unfinished(&self) -> io::Result<Vec<(String, String)>> {
        let journals = self.journals.as_ref();
        let mut found = journals.map_or_else(Vec::new, |it| it.unfinished(self.root.path()));
        let Some(history) = &self.history else { return Ok(found) };
        let timeline = history.timeline()?;
        for (revision, mark) in
            history.marks().into_iter().filter(|(_, mark)| !super::history::is_locked(mark))
        {
            let Ok(entry) = timeline.commit(revision) else { continue };
            if entry.done || timeline.undone_by(revision).is_some() {
                continue;
            }
            let state_of = |file: &FileRecord| match self.is_unwritten(history, file) {
                _ if self.is_in_effect(file) => "has its change",
                Ok(true) => "has not",
                Ok(false) => "has something else",
                Err(_) => "cannot be read",
            };
            let states: Vec<String> = entry
                .files
                .iter()
                .map(|file| format!("`{}` {}", file.path, state_of(file)))
                .collect();
            let next = match self.undo_files(history, &timeline, entry) {
                Ok(_) => format!("`restitch undo {revision}` takes it back."),
                Err(refusal) => format!(
                    "{}. Bring these files to one state by hand, then remove {}.",
                    refusal.message,
                    mark.display()
                ),
            };
            found.push((
                format!(
                    "revision {revision}, a commit of several files, was interrupted and is half done: {}",
                    states.join(", ")
                ),
                next,
            ));
        }
        Ok(found)
    }

    fn unrecovered(&self) -> MutexGuard<'_, Unrecovered> {
        self.unrecovered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a commit could not be rolled back, for the log and for the next commit's answer.
    fn note_unrecovered(&self, revision: u64, refusal: &Refusal, what_follows: &str) {
        tracing::warn!(%refusal, revision, "cannot roll back an interrupted commit");
        let mut unrecovered = self.unrecovered();
        unrecovered.tried.insert(revision, Instant::now());
        unrecovered.warning = Some(format!(
            "revision {revision}, a commit of several files that was interrupted, is half done: it could not be rolled back ({}); restitch {what_follows}; `restitch doctor` shows it",
            refusal.message
        ));
    }

    /// What to tell in the next answer about a commit that could not be rolled back, once.
    pub(super) fn take_recovery_warning(&self) -> Option<String> {
        self.unrecovered().warning.take()
    }

    /// Restores the files that an unfinished commit has written, and records that it failed.
    fn roll_back_commit(&self, history: &History, revision: u64) -> RollBack {
        let timeline = match history.timeline() {
            Ok(timeline) => timeline,
            Err(error) => return RollBack::Later(history_not_read(error)),
        };
        let Some(entry) = timeline.commit(revision).ok().filter(|entry| !entry.done) else {
            return RollBack::Done;
        };
        let edits = match self.undo_files(history, &timeline, entry) {
            Ok(edits) => edits,
            // Later edits of the same lines do not go away by waiting.
            Err(refusal) if refusal.code == EditCode::Conflict => return RollBack::Never(refusal),
            Err(refusal) => return RollBack::Later(refusal),
        };
        if !edits.is_empty() {
            let context = CommitContext {
                request: None,
                client: None,
                undoes: Some(revision),
                abandoned: &AtomicBool::new(false),
                lock_wait: RECOVERY_WAIT,
            };
            if let Err(refusal) = self.commit(&edits, &context) {
                return RollBack::Later(refusal);
            }
            tracing::warn!(revision, "rolled back a commit of several files that was interrupted");
        }
        match history.record_failed(revision) {
            Ok(()) => RollBack::Done,
            Err(error) => RollBack::Later(history_not_read(error)),
        }
    }
}

/// How the rollback of an interrupted commit went.
enum RollBack {
    Done,
    /// It failed for a reason that may pass, such as a full disk.
    Later(Refusal),
    /// Its files were changed since in a way that only a person can sort out.
    Never(Refusal),
}

/// How long a failed rollback is left alone before it is tried again.
const RECOVERY_PAUSE: Duration = Duration::from_secs(60);
/// How long a rollback waits for other writers: the call that found the mark waits, too.
const RECOVERY_WAIT: Duration = Duration::from_secs(2);

/// The interrupted commits that could not be rolled back.
#[derive(Debug, Default)]
pub(super) struct Unrecovered {
    /// When the rollback of each was last tried.
    tried: HashMap<u64, Instant>,
    /// What the next answer is to say of them.
    warning: Option<String>,
}
