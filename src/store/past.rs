//! Undo, the log, repeated requests, and commits that a crash left half done: what the
//! store does with its history.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::sync::atomic::AtomicBool;

use rustix::fs::OFlags;

use super::commit::{How, Order};
use super::confine::NotAFile;
use super::disk::Disk;
use super::history::History;
use super::lock::{self, Locked};
use super::log::{Entry, FileEntry};
use super::options::Promise;
use super::replace::read_all;
use super::trouble;
use super::undo::{self, Later, MOST_PAST, Maker, take_out};
use crate::edit::{
    After, Durability, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath, WriteMethod,
};
use crate::port::{Committed, Recalled, RequestId, Revision, RevisionFile, UndoHow, Undone};
use crate::text::{ContentHash, Snapshot};

/// The mark of a commit of several files that is under way.
#[derive(Debug)]
pub(super) struct BatchMark(u64, Option<File>);

impl Disk {
    /// Takes a commit back: the newest that was not undone, or the one named.
    pub(super) fn undo(
        &self,
        revision: Option<u64>,
        how: UndoHow,
        abandoned: &AtomicBool,
    ) -> Result<Undone, Refusal> {
        let history = self.kept_history()?;
        self.check_root()?;
        self.recover();
        let mut attempts = 0;
        loop {
            let entries = history.entries().map_err(|error| unreadable(&error))?;
            let entry = self.pick(&entries, revision)?;
            let orders = entry
                .files
                .iter()
                .map(|file| self.undo_file(history, &entries, entry, file))
                .collect::<Result<Vec<_>, _>>()?;
            let undone = |committed| Undone { revision: entry.revision, committed };
            if how == UndoHow::Rehearse {
                return Ok(undone(orders.into_iter().map(rehearsed).collect()));
            }
            let how = How { request: None, undoes: Some(entry.revision), abandoned };
            attempts += 1;
            match self.commit(&orders, &how) {
                // The file changed between our look and the lock: look again.
                Err(refusal) if refusal.code == EditCode::Conflict && attempts < 4 => {}
                other => return other.map(undone),
            }
        }
    }

    /// The commits, newest first.
    pub(super) fn log(&self) -> Result<Vec<Revision>, Refusal> {
        let history = self.kept_history()?;
        let entries = history.entries().map_err(|error| unreadable(&error))?;
        let undone = undone(&entries);
        Ok(entries
            .into_iter()
            .rev()
            .map(|entry| Revision {
                revision: entry.revision,
                unix_millis: entry.unix_millis,
                undoes: entry.undoes,
                undone_by: undone.get(&entry.revision).copied(),
                interrupted: !entry.done,
                files: entry
                    .files
                    .into_iter()
                    .map(|file| RevisionFile {
                        path: file.path,
                        before_sha256: file.before.map(|version| version.sha256),
                        after_sha256: file.after,
                    })
                    .collect(),
            })
            .collect())
    }

    fn kept_history(&self) -> Result<&History, Refusal> {
        self.history.as_ref().ok_or_else(|| {
            let why = self.state_trouble.clone();
            let why = why.unwrap_or_else(|| "no state folder was given".into());
            Refusal::new(EditCode::Blocked, format!("there is no history to undo from: {why}"))
                .hint(
                    "Start restitch with a state folder that can be written (RESTITCH_STATE_DIR).",
                )
        })
    }

    fn pick<'a>(&self, entries: &'a [Entry], revision: Option<u64>) -> Result<&'a Entry, Refusal> {
        let undone = undone(entries);
        let Some(wanted) = revision else {
            let in_effect = |entry: &&Entry| {
                entry.undoes.is_none()
                    && !undone.contains_key(&entry.revision)
                    && (entry.done || entry.files.iter().any(|file| self.happened(file)))
            };
            return entries.iter().rev().find(in_effect).ok_or_else(|| {
                Refusal::new(EditCode::NoChange, "there is nothing to undo")
                    .hint("restitch log lists what was done; name a revision to undo an undo.")
            });
        };
        let entry = entries.iter().find(|entry| entry.revision == wanted).ok_or_else(|| {
            Refusal::new(
                EditCode::InvalidArguments,
                format!("there is no revision {wanted} in the history of this root"),
            )
            .hint("restitch log lists the revisions that can be undone; old ones are forgotten.")
        })?;
        match undone.get(&wanted) {
            Some(by) => Err(Refusal::new(
                EditCode::NoChange,
                format!("revision {wanted} was already undone by revision {by}"),
            )
            .hint(format!("To bring it back, undo revision {by}."))),
            None => Ok(entry),
        }
    }

    /// Whether the file is as this entry would have left it.
    fn happened(&self, file: &FileEntry) -> bool {
        let now = WorkPath::parse(&file.path, self.root.path()).and_then(|path| self.now(&path));
        now.is_ok_and(|now| now.map(|bytes| ContentHash::of(&bytes)) == file.after)
    }

    /// The bytes of a file; `None` when there is none.
    fn now(&self, path: &WorkPath) -> Result<Option<Vec<u8>>, Refusal> {
        let place = match self.root.place(path.as_path()) {
            Ok(place) => place,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(trouble::unreachable(path, &error)),
        };
        match place.open(OFlags::RDONLY) {
            Ok(file) => read_all(&file, self.options.max_bytes)
                .map(Some)
                .map_err(|error| trouble::unreadable(path, &error)),
            Err(NotAFile::Missing) => Ok(None),
            Err(why) => Err(trouble::not_a_file(path, why)),
        }
    }

    fn undo_file(
        &self,
        history: &History,
        entries: &[Entry],
        entry: &Entry,
        file: &FileEntry,
    ) -> Result<Order, Refusal> {
        let path = WorkPath::parse(&file.path, self.root.path())?;
        let lost = |error: io::Error| {
            Refusal::new(
                EditCode::ReadError,
                format!("revision {} cannot be undone: the kept bytes of `{path}` cannot be read ({error})", entry.revision),
            )
            .at(path.as_str())
        };
        self.check_way(&path, entry)?;
        let now = self.now(&path)?;
        let later: Vec<(&Entry, &FileEntry)> = entries
            .iter()
            .filter(|later| later.revision > entry.revision)
            .flat_map(|later| later.files.iter().map(move |file| (later, file)))
            .filter(|(later, other)| {
                other.path == file.path && (later.done || self.happened(other))
            })
            .collect();
        let explanation = Explanation::plain(Rung::Undo);
        let first_later =
            || later.first().map_or(Maker::Other, |(e, _)| Maker::Revision(e.revision));
        let restored = |before: Option<Snapshot>, after: After| {
            VerifiedEdit::restore(path.clone(), before, after, explanation.clone())
        };
        let is_as_left = now.as_deref().map(ContentHash::of) == file.after;
        match (&file.before, now) {
            (None, Some(now)) if is_as_left => {
                let edit = restored(Some(Snapshot::decode_lossy(now)), After::Removed);
                Ok(Order { edit, metadata: None, folders: file.made.clone() })
            }
            (Some(before), None) if is_as_left => {
                let bytes = history.bytes(before.sha256, None).map_err(lost)?;
                let edit = restored(None, After::Content(bytes.into()));
                Ok(Order { edit, metadata: Some(before.metadata.clone()), folders: Vec::new() })
            }
            (Some(before), Some(now)) if is_as_left => {
                let bytes = history.bytes(before.sha256, Some(&now)).map_err(lost)?;
                Ok(restored(Some(Snapshot::decode_lossy(now)), After::Content(bytes.into())).into())
            }
            (Some(before), Some(now)) => {
                let Some(after) = file.after else {
                    return Err(first_later().in_the_way(entry.revision, &path));
                };
                let old = history.bytes(before.sha256, Some(&now)).map_err(lost)?;
                let new = history.bytes(after, Some(&now)).map_err(lost)?;
                let versions = self
                    .versions_since(history, after, &later, &now)
                    .ok_or_else(|| first_later().in_the_way(entry.revision, &path))?;
                let bytes = take_out(&old, &new, &versions)
                    .map_err(|maker| maker.in_the_way(entry.revision, &path))?;
                Ok(restored(Some(Snapshot::decode_lossy(now)), After::Content(bytes.into())).into())
            }
            _ => Err(first_later().in_the_way(entry.revision, &path)),
        }
    }

    /// The history names files by their own place. A link that came into the way since leads
    /// to a file that the commit never touched.
    fn check_way(&self, path: &WorkPath, entry: &Entry) -> Result<(), Refusal> {
        let Ok(place) = self.root.place(path.as_path()) else { return Ok(()) };
        let Some(real) = place.real.to_str().filter(|real| *real != path.as_str()) else {
            return Ok(());
        };
        let revision = entry.revision;
        Err(Refusal::new(
            EditCode::Conflict,
            format!("revision {revision} of `{path}` cannot be undone: its path now leads through a link to `{real}`, a different file"),
        )
        .at(path.as_str())
        .hint("Put the file back where it was, or edit the file that is there now."))
    }

    /// Every version after `from`, oldest first; `None` when the file was removed between.
    fn versions_since(
        &self,
        history: &History,
        from: ContentHash,
        later: &[(&Entry, &FileEntry)],
        now: &[u8],
    ) -> Option<Vec<Later<Maker>>> {
        let mut at = from;
        let mut versions = Vec::new();
        for (entry, file) in later {
            let (before, after) = (file.before.as_ref()?.sha256, file.after?);
            if before != at {
                versions.push(Later {
                    bytes: history.bytes(before, Some(now)).ok()?,
                    made_by: Maker::Other,
                });
            }
            let made_by = Maker::Revision(entry.revision);
            versions.push(Later { bytes: history.bytes(after, Some(now)).ok()?, made_by });
            at = after;
        }
        if ContentHash::of(now) != at {
            versions.push(Later { bytes: now.to_vec(), made_by: Maker::Other });
        }
        Some(versions)
    }

    /// The commit that was made for a request id.
    pub(super) fn by_request(&self, request: &RequestId) -> Option<Entry> {
        let entries = self.history.as_ref()?.entries().ok()?;
        entries.into_iter().rev().find(|entry| {
            entry.request.as_deref() == Some(request.as_str())
                && (entry.done || entry.files.iter().all(|file| self.happened(file)))
        })
    }

    /// What is known of a request: by its answer, or by its commit where that is lost.
    pub(super) fn recall(&self, request: &RequestId) -> Result<Recalled, Refusal> {
        let Some(history) = &self.history else { return Ok(Recalled::Unknown) };
        match history.recall(request) {
            Recalled::Unknown => {}
            known => return Ok(known),
        }
        Ok(match self.by_request(request) {
            None => Recalled::Unknown,
            Some(entry) if entry.asks.is_some() && entry.asks == request.asks() => {
                Recalled::Committed(self.recorded(&entry)?)
            }
            Some(_) => Recalled::Other,
        })
    }

    /// Versions of a file in the history, oldest first: from the one named on, or the last few.
    pub(super) fn past_versions(&self, path: &WorkPath, from: Option<&str>) -> Vec<Vec<u8>> {
        let (Some(history), Ok(now)) = (&self.history, self.read(path)) else { return Vec::new() };
        let real = self.root.place(path.as_path()).ok();
        let real = real.and_then(|place| place.real.to_str().map(str::to_owned));
        let name = real.unwrap_or_else(|| path.as_str().to_owned());
        let entries = history.entries().unwrap_or_default();
        let files = entries.iter().flat_map(|entry| &entry.files).filter(|file| file.path == name);
        let mut versions: Vec<ContentHash> = Vec::new();
        for file in files {
            let before = file.before.as_ref().map(|version| version.sha256);
            for hash in before.into_iter().chain(file.after) {
                if versions.last() != Some(&hash) {
                    versions.push(hash);
                }
            }
        }
        let first = match from.map(|id| id.trim().to_ascii_lowercase()) {
            Some(id) if id.len() < 8 => return Vec::new(),
            Some(id) => match versions.iter().rposition(|hash| hash.to_string().starts_with(&id)) {
                Some(at) => at,
                None => return Vec::new(),
            },
            None => versions.len().saturating_sub(MOST_PAST),
        };
        // The first is the one that was asked for; of those behind it, the last few tell most.
        let behind = versions.len().saturating_sub(MOST_PAST).max(first + 1);
        let wanted =
            versions[first..].first().into_iter().chain(versions.get(behind..).unwrap_or_default());
        wanted.filter_map(|hash| history.bytes(*hash, Some(&now)).ok()).collect()
    }

    /// The newest commit of a file.
    pub(super) fn last_commit(&self, path: &str) -> Option<Entry> {
        let entries = self.history.as_ref()?.entries().ok()?;
        entries.into_iter().rev().find(|entry| entry.files.iter().any(|file| file.path == path))
    }

    /// The answer of a commit that happened before.
    pub(super) fn recorded(&self, entry: &Entry) -> Result<Vec<Committed>, Refusal> {
        let history = self.kept_history()?;
        entry
            .files
            .iter()
            .map(|file| {
                let path = WorkPath::parse(&file.path, self.root.path())?;
                let now = self.now(&path).ok().flatten();
                let read = |hash| {
                    history.bytes(hash, now.as_deref()).map_err(|error| unreadable(&error))
                };
                let before = match &file.before {
                    Some(version) => Some(Snapshot::decode_lossy(read(version.sha256)?)),
                    None => None,
                };
                let (after, method) = match (file.after, &file.before) {
                    (None, _) => (After::Removed, WriteMethod::Removed),
                    (Some(hash), None) => {
                        (After::Content(read(hash)?.into()), WriteMethod::Created)
                    }
                    (Some(hash), Some(_)) => {
                        (After::Content(read(hash)?.into()), WriteMethod::Replaced)
                    }
                };
                Ok(Committed {
                    edit: VerifiedEdit::restore(path, before, after, Explanation::plain(Rung::Repeated)),
                    revision: entry.revision,
                    durability: match self.options.promise {
                        Promise::Durable => Durability::Durable,
                        Promise::Rename => Durability::Unknown,
                    },
                    method,
                    warnings: vec![format!(
                        "this very change was already committed as revision {}; nothing was written again",
                        entry.revision
                    )],
                })
            })
            .collect()
    }

    /// Marks a commit of several files, so that the next process takes it back after a crash.
    pub(super) fn mark_batch(&self, files: usize, revision: u64) -> Option<BatchMark> {
        let history = self.history.as_ref().filter(|_| files > 1)?;
        match history.mark_open(revision) {
            Ok(file) => Some(BatchMark(revision, Some(file))),
            Err(error) => {
                tracing::debug!(%error, "cannot mark a commit of several files");
                None
            }
        }
    }

    pub(super) fn release_batch(&self, mark: Option<BatchMark>) {
        if let (Some(history), Some(BatchMark(revision, file))) = (&self.history, mark) {
            history.unmark(revision);
            drop(file);
        }
    }

    /// Takes back commits of several files that a dead process left in the middle.
    pub(super) fn recover_batches(&self) {
        let Some(history) = &self.history else { return };
        for (revision, path) in history.marked() {
            let Ok(mark) = File::open(&path) else { continue };
            if !matches!(lock::try_lock(&mark), Ok(Locked::Held)) || !path.exists() {
                continue;
            }
            if let Err(refusal) = self.recover_batch(history, revision) {
                tracing::warn!(%refusal, revision, "cannot take back an interrupted commit");
                // Kept for people, out of the way of every later start.
                let _ = fs::rename(&path, path.with_extension("kept"));
                continue;
            }
            history.unmark(revision);
        }
    }

    fn recover_batch(&self, history: &History, revision: u64) -> Result<(), Refusal> {
        let entries = history.entries().map_err(|error| unreadable(&error))?;
        let Some(entry) = entries.iter().find(|e| e.revision == revision && !e.done) else {
            return Ok(());
        };
        let touched = entry.files.iter().filter(|file| self.happened(file));
        let orders = touched
            .map(|file| self.undo_file(history, &entries, entry, file))
            .collect::<Result<Vec<_>, _>>()?;
        if !orders.is_empty() {
            let abandoned = AtomicBool::new(false);
            self.commit(
                &orders,
                &How { request: None, undoes: Some(revision), abandoned: &abandoned },
            )?;
            tracing::warn!(revision, "took back a commit of several files that was interrupted");
        }
        history.failed(revision).map_err(|error| unreadable(&error))
    }
}

fn rehearsed(order: Order) -> Committed {
    let method = match (order.edit.base(), order.edit.after()) {
        (_, After::Removed) => WriteMethod::Removed,
        (None, _) => WriteMethod::Created,
        _ => WriteMethod::Replaced,
    };
    let (edit, durability) = (order.edit, Durability::DryRun);
    Committed { edit, revision: 0, durability, method, warnings: Vec::new() }
}

/// Which revisions are undone, and by which.
fn undone(entries: &[Entry]) -> HashMap<u64, u64> {
    let done = entries.iter().rev().filter(|entry| entry.done);
    undo::undone(done.map(|entry| (entry.revision, entry.undoes)))
}

fn unreadable(error: &io::Error) -> Refusal {
    Refusal::new(EditCode::ReadError, format!("the history cannot be read: {error}"))
        .hint("Check the state folder (RESTITCH_STATE_DIR).")
}
