//! The history of one root: a log of commits, and the bytes that they replaced as blobs named by
//! their hash, so that the commits can be undone.
//!
//! A commit is written to the log before it happens and confirmed afterwards; for one
//! that was never confirmed, the file itself shows whether it happened. The log is read line by
//! line, so a line that a crash cut off is skipped. The bytes of a blob are checked against its
//! name when they are read.
//!
//! A small change needs no copy: the log holds the change as a patch, and the displaced file is
//! moved to the blobs afterwards. The version without a blob is rebuilt from the other version and
//! the patch.
//!
//! Limits: the history is not synced with each commit, because that would double the cost of an
//! edit. So a power cut can lose the history of the last seconds, but never the edit. The history
//! is limited in size and age; commits beyond the limits can no longer be undone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::commit::{CommitContext, Job};
use super::lock::{Backoff, LockOutcome, try_lock};
use super::log::{LogRecord, encode_line, last_revision, read_entries};
use super::prune;
use super::record::{CommitRecord, FileRecord, Patch, StoredVersion};
use super::replace::OldFile;
use super::revert::changed_lines;
use super::state::{HISTORY, StateFolder};
use super::timeline::{Timeline, now_millis};
use super::write::PreparedWrite;
use crate::port::{RequestId, RequestStatus};
use crate::text::{Content, ContentHash};

/// Whether the history itself must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HistorySync {
    /// Not synced: the system decides when it reaches the disk.
    Lazy,
    /// Synced before the commit goes on, because a rollback depends on it.
    Synced,
}

/// The history of one root.
#[derive(Debug)]
pub(super) struct History {
    /// The root that it is of.
    root: PathBuf,
    folder: PathBuf,
    blobs: PathBuf,
    max_bytes: u64,
    /// Bytes that were added to the folder but not to the total size yet.
    added: AtomicU64,
}

/// The ending of the record of what no recovery could put right.
pub(super) const KEPT: &str = "kept";

/// How long a commit waits for another process that writes the history.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// The log, open for writing. Holds its lock: other writers wait until this is dropped.
struct LogWriter {
    log: File,
    _lock: File,
}

/// Opens a file of a history for appending, and creates it if need be.
pub(super) fn open_in(folder: &Path, name: &str) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(folder.join(name))
}

impl History {
    /// Opens the history of a root in the state folder, or creates it.
    pub(super) fn open(state: &StateFolder, root: &Path, max_bytes: u64) -> io::Result<Self> {
        let key = ContentHash::of(root.as_os_str().as_bytes()).to_string();
        let folder = state.folder(HISTORY)?.join(&key[..16]);
        let blobs = folder.join("blobs");
        let root = root.to_path_buf();
        let history = Self { root, folder, blobs, max_bytes, added: AtomicU64::new(0) };
        history.create()?;
        Ok(history)
    }

    /// Creates the folder, unless it is there.
    fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.blobs)?;
        fs::write(self.folder.join("root"), self.root.as_os_str().as_bytes())
    }

    /// Opens the log for writing and waits for its lock, at most [`LOCK_WAIT`]. `is_ending` says whether
    /// the process is about to end; then it waits no longer.
    fn lock_log(&self, is_ending: &dyn Fn() -> bool) -> io::Result<LogWriter> {
        let lock = match open_in(&self.folder, "lock") {
            // The folder was removed after it was opened.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create()?;
                open_in(&self.folder, "lock")?
            }
            opened => opened?,
        };
        let mut backoff = Backoff::until(Instant::now() + LOCK_WAIT);
        while try_lock(&lock)? == LockOutcome::Busy {
            if is_ending() || !backoff.wait() {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another process holds the history's lock",
                ));
            }
        }
        Ok(LogWriter { log: open_in(&self.folder, "log")?, _lock: lock })
    }

    /// Appends a record to the log.
    fn append(&self, writer: &mut LogWriter, record: &LogRecord) -> io::Result<()> {
        let line = encode_line(record)?;
        self.added.fetch_add(line.len() as u64, Ordering::Relaxed);
        writer.append(line)
    }

    /// Deletes the commits beyond the limits, if the total size is too large or `is_due` is set.
    /// Called when the blobs of a commit are all in place; `_writer` holds the lock of the log.
    fn enforce_limits(&self, _writer: &LogWriter, is_due: bool) -> io::Result<()> {
        let added = self.added.swap(0, Ordering::Relaxed);
        if prune::add_to_total(&self.folder, added)? > self.max_bytes || is_due {
            prune::prune(&self.folder, self.max_bytes)?;
        }
        Ok(())
    }

    /// Records in the log what a commit is about to do and stores the versions that need a blob;
    /// returns the new revision.
    pub(super) fn begin(
        &self,
        jobs: &[Job<'_>],
        prepared: &[PreparedWrite],
        context: &CommitContext<'_>,
        sync: HistorySync,
    ) -> io::Result<u64> {
        let mut writer = self.lock_log(&super::disk::is_ending)?;
        let mut files = Vec::new();
        for (job, write) in jobs.iter().zip(prepared) {
            let after = job.edit.after();
            // A replaced file becomes a blob through [`Self::adopt`].
            let is_adopted = matches!(write, PreparedWrite::Replace(_));
            let patch = match (&job.held, after) {
                (Some(held), Some(after)) if is_adopted && sync == HistorySync::Lazy => {
                    Patch::between(&held.bytes, after)
                }
                _ => None,
            };
            // With a patch, the only blob is the old file, which `adopt` moves later.
            // Without one, the new version needs a blob, too: the next edit replaces it.
            if patch.is_none() {
                for version in job.held.as_ref().map(|held| &held.bytes).into_iter().chain(after) {
                    self.store_blob(version, version.hash(), sync)?;
                }
            }
            let created_folders = &job.created_folders.folders;
            files.push(FileRecord {
                path: job.logged_path(),
                before: job.held.as_ref().map(|held| StoredVersion {
                    sha256: held.bytes.hash(),
                    metadata: Some(held.metadata.clone()),
                }),
                after: after.map(Content::hash),
                created_folders: created_folders.iter().map(|made| made.real.clone()).collect(),
                patch,
                lines: after.map(|after| {
                    let before = job.held.as_ref().map_or(&[][..], |held| &held.bytes);
                    changed_lines(before, after)
                }),
            });
        }
        let revision = last_revision(&writer.log)? + 1;
        let entry = CommitRecord {
            revision,
            unix_millis: now_millis(),
            files,
            request: context.request.map(|request| request.as_str().to_owned()),
            request_digest: context.request.and_then(RequestId::digest),
            client: context.client.map(str::to_owned),
            undoes: context.undoes,
            done: false,
        };
        self.append(&mut writer, &LogRecord::Begin(entry))?;
        if sync == HistorySync::Synced {
            writer.log.sync_all()?;
            File::open(&self.blobs)?.sync_all()?;
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(revision)
    }

    /// Records that a commit is finished, and deletes old commits if needed.
    pub(super) fn record_done(&self, revision: u64) -> io::Result<()> {
        let mut writer = self.lock_log(&|| false)?;
        self.append(&mut writer, &LogRecord::Done(revision))?;
        // For the limits of age and number, and for files that a crash left uncounted.
        let is_due = revision.is_multiple_of(prune::EVERY as u64);
        self.enforce_limits(&writer, is_due)
    }

    /// Records that a commit has failed.
    pub(super) fn record_failed(&self, revision: u64) -> io::Result<()> {
        let mut writer = self.lock_log(&|| false)?;
        self.append(&mut writer, &LogRecord::Failed(revision))
    }

    /// Stores a version as a blob.
    pub(super) fn keep(&self, content: &Content) -> io::Result<()> {
        self.store_blob(content, content.hash(), HistorySync::Lazy)
    }

    /// Moves a displaced file, whose bytes are `content`, to the blobs, or stores a copy if it cannot
    /// be moved.
    pub(super) fn adopt(&self, displaced: OldFile, content: &Content) -> io::Result<()> {
        if displaced.move_to(&self.blobs.join(content.hash().to_string())).is_ok() {
            self.added.fetch_add(content.len() as u64, Ordering::Relaxed);
            return Ok(());
        }
        // For example, the blobs are on another file system.
        let stored = self.keep(content);
        let _ = displaced.discard();
        stored
    }

    /// Stores bytes as a blob, unless a blob of that name and size exists.
    fn store_blob(&self, bytes: &[u8], hash: ContentHash, sync: HistorySync) -> io::Result<()> {
        let path = self.blobs.join(hash.to_string());
        if fs::metadata(&path).is_ok_and(|meta| meta.len() == bytes.len() as u64) {
            return match sync {
                HistorySync::Lazy => Ok(()),
                // A lazy commit may have written it.
                HistorySync::Synced => File::open(&path)?.sync_all(),
            };
        }
        self.put(&path, bytes, sync)
    }

    /// Writes a file of the history by renaming, because another process may be reading the old one.
    fn put(&self, path: &Path, bytes: &[u8], sync: HistorySync) -> io::Result<()> {
        let temp = path.with_extension(format!("{:016x}", super::lock::random()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| match sync {
                HistorySync::Lazy => Ok(()),
                HistorySync::Synced => file.sync_all(),
            })
            .and_then(|()| fs::rename(&temp, path));
        match &written {
            Ok(()) => {
                self.added.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            }
            Err(_) => {
                let _ = fs::remove_file(&temp);
            }
        }
        written
    }

    /// The bytes of a version, from its blob or rebuilt from a patch. `current` is the current
    /// content of the file, which may be the version that the patch was made for.
    pub(super) fn bytes(&self, hash: ContentHash, current: Option<&[u8]>) -> io::Result<Vec<u8>> {
        self.read_blob(hash).or_else(|error| self.rebuild(hash, current)?.ok_or(error))
    }

    /// The bytes of a blob; an error if they do not match its name.
    fn read_blob(&self, hash: ContentHash) -> io::Result<Vec<u8>> {
        let bytes = fs::read(self.blobs.join(hash.to_string()))?;
        if ContentHash::of(&bytes) != hash {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the stored bytes are damaged"));
        }
        Ok(bytes)
    }

    /// Rebuilds a version from the version before or after it and the patch between the two; `None`
    /// if the log has no such patch.
    fn rebuild(&self, hash: ContentHash, current: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
        let current = current.map(|bytes| (ContentHash::of(bytes), bytes));
        let neighbor = |wanted: ContentHash| match current {
            Some((current_hash, bytes)) if current_hash == wanted => Some(bytes.to_vec()),
            _ => self.read_blob(wanted).ok(),
        };
        let entries = self.entries()?;
        let rebuilt = entries.iter().rev().flat_map(|entry| &entry.files).find_map(|file| {
            let (patch, before, after) = (file.patch.as_ref()?, file.before_sha256()?, file.after?);
            let bytes = if after == hash {
                patch.apply(&neighbor(before)?)?
            } else if before == hash {
                patch.unapply(&neighbor(after)?)?
            } else {
                return None;
            };
            (ContentHash::of(&bytes) == hash).then_some(bytes)
        });
        Ok(rebuilt)
    }

    /// The size and modification time of the log, which change whenever a record is appended.
    pub(super) fn log_stamp(&self) -> Option<(u64, SystemTime)> {
        let meta = fs::metadata(self.folder.join("log")).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    }

    /// Every commit except those that failed, oldest first.
    pub(super) fn entries(&self) -> io::Result<Vec<CommitRecord>> {
        read_entries(&self.folder)
    }

    /// The commits, for undo and the log.
    pub(super) fn timeline(&self) -> io::Result<Timeline> {
        Ok(Timeline::new(self.entries()?))
    }

    /// Creates a file that marks a commit of several files as unfinished. The lock on it shows that
    /// this process is alive.
    pub(super) fn mark_open(&self, revision: u64) -> io::Result<File> {
        let folder = self.folder.join("open");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let temp = folder.join(format!("{revision}.draft"));
        let file =
            OpenOptions::new().write(true).create(true).mode(0o600).truncate(true).open(&temp)?;
        file.lock()?;
        file.sync_all()?;
        fs::rename(&temp, folder.join(revision.to_string()))?;
        File::open(&folder)?.sync_all()?;
        Ok(file)
    }

    /// Removes the mark of a commit, also that of one that no recovery could roll back.
    pub(super) fn unmark(&self, revision: u64) {
        let mark = self.folder.join("open").join(revision.to_string());
        let _ = fs::remove_file(mark.with_extension(KEPT));
        if let Err(error) = fs::remove_file(mark) {
            tracing::debug!(%error, revision, "cannot remove the mark of a commit");
        }
    }

    /// The revision and the path of each mark, those of running commits and those that end in
    /// [`KEPT`] included.
    pub(super) fn marks(&self) -> Vec<(u64, PathBuf)> {
        let entries = fs::read_dir(self.folder.join("open")).into_iter().flatten().flatten();
        let mut marks: Vec<(u64, PathBuf)> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_none_or(|ending| ending == KEPT))
            .filter_map(|path| Some((path.file_stem()?.to_str()?.parse().ok()?, path)))
            .collect();
        marks.sort();
        marks
    }

    /// Whether a process is just writing the several files of this commit.
    pub(super) fn is_running(&self, revision: u64) -> bool {
        is_locked(&self.folder.join("open").join(revision.to_string()))
    }

    /// What the stored answers say about a request.
    pub(super) fn recall(&self, request: &RequestId) -> RequestStatus {
        let Ok(stored) = fs::read_to_string(self.answer_path(request)) else {
            return RequestStatus::Unknown;
        };
        let Some((digest, answer)) = stored.split_once('\n') else {
            return RequestStatus::OtherRequest;
        };
        request.status_by(ContentHash::parse(digest), RequestStatus::Answered(answer.to_owned()))
    }

    /// Stores the answer to a request: the digest of the request in the first line, then the
    /// answer.
    pub(super) fn remember(&self, request: &RequestId, answer: &str) -> io::Result<()> {
        let path = self.answer_path(request);
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let digest = request.digest().map(|digest| digest.to_string()).unwrap_or_default();
        let text = format!("{digest}\n{answer}");
        self.put(&path, text.as_bytes(), HistorySync::Lazy)?;
        let writer = self.lock_log(&|| false)?;
        self.enforce_limits(&writer, false)
    }

    /// The path of the file with the answer to a request.
    fn answer_path(&self, request: &RequestId) -> PathBuf {
        self.folder.join("answers").join(answer_name(request.as_str()))
    }
}

/// Whether a live process holds the lock of this file.
pub(super) fn is_locked(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| matches!(try_lock(&file), Ok(LockOutcome::Busy)))
}

impl LogWriter {
    /// Appends one line. If the write fails, cuts off the part that was written.
    fn append(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        let end = self.log.metadata()?.len();
        // A line that a crash cut off must not run into this one.
        if let Some(last) = end.checked_sub(1) {
            let mut last_byte = [0];
            self.log.read_exact_at(&mut last_byte, last)?;
            if last_byte != *b"\n" {
                line.insert(0, b'\n');
            }
        }
        let written = self.log.write_all(&line);
        if written.is_err() {
            let _ = self.log.set_len(end);
        }
        written
    }
}

/// The name of the file with the answer to a request.
pub(super) fn answer_name(request: &str) -> String {
    ContentHash::of(request.as_bytes()).to_string()
}
