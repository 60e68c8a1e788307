//! One commit, from checked edits to bytes on the disk: all of its files or none.
//!
//! Resolve the paths, take the locks, check that each file is still the version that its edit was
//! made for, write everything that can fail to temp files, record the intent, and only then write
//! the files, in sorted order. An error before that changes nothing; a later one rolls back what
//! was written. Once the last file is in place nothing is reported as a failure any more.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::fs::{Access, AtFlags, OFlags};
use rustix::io::Errno;

use super::confine::{CreatedFolder, FileId, OpenError, Target};
use super::disk::{Disk, RUNNING_COMMITS};
use super::history::{HistorySync, Intent};
use super::lock::{self, Backoff, FileKey, LockOutcome, WriteLock};
use super::log::LogEntry;
use super::metadata::Metadata;
use super::options::SyncMode;
use super::refusals;
use super::replace::{has_content, read_reusing};
use super::write::PreparedWrite;
use crate::edit::{After, EditCode, Refusal, VerifiedEdit};
use crate::port::{Committed, RequestId};
use crate::text::Content;

/// An edit to commit, and what undo adds to it.
#[derive(Debug)]
pub(super) struct CommitEdit {
    pub(super) edit: VerifiedEdit,
    /// For a file that is restored: its metadata.
    pub(super) metadata: Option<Metadata>,
    /// Folders to remove afterwards if they are empty, outermost first.
    pub(super) folders: Vec<PathBuf>,
}

impl From<VerifiedEdit> for CommitEdit {
    fn from(edit: VerifiedEdit) -> Self {
        Self { edit, metadata: None, folders: Vec::new() }
    }
}

/// The circumstances of a commit.
#[derive(Debug)]
pub(super) struct CommitContext<'a> {
    pub(super) request: Option<&'a RequestId>,
    pub(super) undoes: Option<u64>,
    /// Set when the caller has stopped waiting for the result.
    pub(super) abandoned: &'a AtomicBool,
}

/// One file of a running commit.
pub(super) struct Job<'a> {
    pub(super) index: usize,
    pub(super) planned: &'a CommitEdit,
    /// The metadata that a new file takes over from the file that it replaces.
    pub(super) inherited_metadata: Option<Metadata>,
    pub(super) edit: VerifiedEdit,
    pub(super) target: Target,
    pub(super) created_folders: CreatedFolders,
    pub(super) held: Option<LockedFile>,
    pub(super) warnings: Vec<String>,
}

impl Job<'_> {
    /// The name in the history and the feed: the path without links, or the caller's path if the
    /// former is not UTF-8.
    pub(super) fn name(&self) -> String {
        match self.target.real.to_str() {
            Some(real) => real.to_owned(),
            None => self.planned.edit.path().as_str().to_owned(),
        }
    }
}

/// The file as it was found, with its lock.
pub(super) struct LockedFile {
    pub(super) file: File,
    pub(super) bytes: Content,
    pub(super) metadata: Metadata,
    pub(super) link_count: u64,
}

/// Folders that were created for a new file; removed when dropped unless the commit succeeds.
#[derive(Debug, Default)]
pub(super) struct CreatedFolders {
    pub(super) folders: Vec<CreatedFolder>,
    pub(super) keep: bool,
}

impl Drop for CreatedFolders {
    fn drop(&mut self) {
        if !self.keep {
            for folder in self.folders.iter().rev() {
                // Another process may use it by now; then it stays.
                let _ = folder.parent.remove_folder(&folder.name);
            }
        }
    }
}

impl Disk {
    /// Commits all edits or none; answers in their order.
    pub(super) fn commit(
        &self,
        edits: &[CommitEdit],
        context: &CommitContext<'_>,
    ) -> Result<Vec<Committed>, Refusal> {
        let Some(first) = edits.first() else { return Ok(Vec::new()) };
        self.check_root()?;
        if let Some(request) = context.request
            && let Some(entry) = self.commit_of_request(request)
        {
            return match entry.matches_request(request, edits) {
                true => self.recorded_result(&entry),
                false => Err(request.reuse_refusal()),
            };
        }
        self.recover();
        let deadline = Instant::now() + self.options.lock_wait;
        let mut backoff = Backoff::until(deadline);
        loop {
            if let Some(done) = self.attempt(edits, context, deadline)? {
                return Ok(done);
            }
            if !backoff.wait() {
                return Err(refusals::conflict(
                    first.edit.path(),
                    "or a file of the same commit is locked by another program",
                ));
            }
        }
    }

    /// `None`: a file moved away under the lock, or its lock is taken. Try again.
    fn attempt(
        &self,
        edits: &[CommitEdit],
        context: &CommitContext<'_>,
        deadline: Instant,
    ) -> Result<Option<Vec<Committed>>, Refusal> {
        let mut jobs = Vec::new();
        for (index, planned) in edits.iter().enumerate() {
            jobs.push(self.new_job(index, planned)?);
        }
        // Sorted, so that two commits over the same files meet in the same order.
        jobs.sort_by(|a, b| a.target.real.cmp(&b.target.real));
        let keys: Vec<FileKey> = jobs.iter().map(|job| FileKey::of(&job.target)).collect();
        refuse_duplicate_paths(&jobs, &keys)?;
        let Some(_lock) = WriteLock::acquire(keys, deadline) else { return Ok(None) };
        let backoff = if jobs.len() == 1 { Some(Backoff::until(deadline)) } else { None };
        let mut backoff = backoff;
        for job in &mut jobs {
            if !self.lock_file(job, backoff.as_mut())? {
                return Ok(None);
            }
        }
        refuse_duplicate_files(&jobs)?;
        inherit_metadata_on_move(&mut jobs);
        for job in &mut jobs {
            if let Some(entry) = self.revalidate(job)? {
                if edits.len() == 1 {
                    return self.recorded_result(&entry).map(Some);
                }
                return Err(refusals::conflict(job.edit.path(), "already has exactly this change"));
            }
        }
        if self.reopened.swap(false, Ordering::AcqRel)
            && let Some(job) = jobs.first_mut()
        {
            job.warnings.push(format!(
                "the root {} was replaced by another folder since the last edit; this edit is in the new one",
                self.root.path().display()
            ));
        }
        // No more waiting from here on: a signal now waits for the end of the commit.
        let _running = RUNNING_COMMITS.read().unwrap_or_else(PoisonError::into_inner);
        let mut prepared = Vec::new();
        for job in &mut jobs {
            prepared.push(self.prepare(job)?);
        }
        if context.abandoned.load(Ordering::Acquire) {
            return Err(refusals::conflict(
                edits[0].edit.path(),
                "was not written: the call was cancelled",
            ));
        }
        let revision = self.record_intent(&mut jobs, &prepared, context);
        let open_mark = self.mark_open(jobs.len(), revision);
        let done = match self.apply_writes(&mut jobs, prepared) {
            Ok(done) => done,
            Err(refusal) => {
                self.discard_intent(revision);
                self.release_mark(open_mark);
                return Err(refusal);
            }
        };
        let committed = self.finish(jobs, done, revision);
        self.release_mark(open_mark);
        Ok(Some(committed))
    }

    fn new_job<'a>(&self, index: usize, planned: &'a CommitEdit) -> Result<Job<'a>, Refusal> {
        let path = planned.edit.path();
        self.admit_lexical(path)?;
        let mut created_folders = CreatedFolders::default();
        let denied = RefCell::new(None);
        let target = if planned.edit.base().is_none() {
            let allow = |real: &Path| match self.admit_real(path, real) {
                Ok(()) => true,
                Err(refusal) => {
                    denied.replace(Some(refusal));
                    false
                }
            };
            self.root.resolve_creating(path.as_path(), &mut created_folders.folders, &allow)
        } else {
            self.root.resolve(path.as_path())
        };
        if let Some(refusal) = denied.into_inner() {
            return Err(refusal);
        }
        let target = target.map_err(|error| {
            if refusals::has_errno(&error, &[Errno::PERM, Errno::ACCESS, Errno::ROFS, Errno::NOSPC])
            {
                refusals::not_written(path, "cannot reach its folder", &error)
            } else {
                refusals::not_reachable(path, &error)
            }
        })?;
        self.admit_real(path, &target.real)?;
        if planned.edit.base().is_none()
            && planned.metadata.is_none()
            && let Some(why) = super::protect::unportable_reason(path.as_str())
        {
            return Err(Refusal::new(
                EditCode::InvalidPath,
                format!("the new name `{path}` {why}"),
            )
            .at(path.as_str())
            .hint("Choose a name that is valid on every operating system."));
        }
        let edit = planned.edit.clone();
        Ok(Job {
            index,
            planned,
            inherited_metadata: planned.metadata.clone(),
            edit,
            target,
            created_folders,
            held: None,
            warnings: Vec::new(),
        })
    }

    /// Locks the file; `false` when that has to be tried again from the start.
    fn lock_file(&self, job: &mut Job<'_>, backoff: Option<&mut Backoff>) -> Result<bool, Refusal> {
        let path = job.planned.edit.path();
        if job.edit.base().is_none() {
            return match job.target.folder.stat(&job.target.name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
                Err(error) => Err(refusals::not_read(path, &error)),
                Ok(_) => match self.already_created(job) {
                    // Not an error: the same creation, delivered again.
                    Some(_) => Ok(true),
                    None => Err(refusals::already_exists(path)),
                },
            };
        }
        job.target.copy_up();
        let file = match job.target.open(OFlags::RDONLY) {
            Ok(file) => file,
            Err(OpenError::Moved) => return Ok(false),
            Err(why) => return Err(refusals::not_a_file(path, why)),
        };
        let mut backoff = backoff;
        let fault = |error: io::Error| refusals::not_read(path, &error);
        loop {
            match lock::try_lock(&file).map_err(fault)? {
                LockOutcome::Acquired => break,
                LockOutcome::Unsupported => {
                    job.warnings.push(
                        "this file system has no locks; other processes were not kept out".into(),
                    );
                    break;
                }
                LockOutcome::Busy => {
                    let Some(backoff) = backoff.as_deref_mut() else { return Ok(false) };
                    if !job.target.is_same_file(&file).map_err(fault)? || !backoff.wait() {
                        return Ok(false);
                    }
                }
            }
        }
        if !job.target.is_same_file(&file).map_err(fault)? {
            return Ok(false);
        }
        let bytes = match read_reusing(&file, job.edit.before(), self.options.max_bytes) {
            Err(error) if refusals::has_errno(&error, &[Errno::FBIG]) => {
                let size = file.metadata().map_err(fault)?.len();
                return Err(refusals::too_large(path, size, self.options.max_bytes));
            }
            other => other.map_err(fault)?,
        };
        let metadata = Metadata::of(&file).map_err(fault)?;
        let link_count = file.metadata().map_err(fault)?.nlink();
        if link_count > 1 {
            self.admit_identity(path, &job.target, &file)?;
        }
        let writable = rustix::fs::accessat(
            &*job.target.folder,
            &job.target.name,
            Access::WRITE_OK,
            AtFlags::EACCESS,
        );
        match writable {
            Err(Errno::ACCESS) => return Err(refusals::read_only(path)),
            _ if metadata.is_read_only() => return Err(refusals::read_only(path)),
            Err(error) => {
                return Err(refusals::not_written(path, "it is not writable", &error.into()));
            }
            Ok(()) => {}
        }
        job.held = Some(LockedFile { file, bytes, metadata, link_count });
        Ok(true)
    }

    /// Under the lock: checks that the file is still the version that the edit was made for. If it
    /// changed, matches the edit again. `Some` if exactly this change was already committed.
    fn revalidate(&self, job: &mut Job<'_>) -> Result<Option<LogEntry>, Refusal> {
        let path = job.edit.path().clone();
        let (Some(held), Some(before)) = (&job.held, job.edit.before()) else {
            return Ok(self.already_created(job));
        };
        if *held.bytes == *before.bytes() {
            return Ok(None);
        }
        if let After::Content(after) = job.edit.after()
            && *after == held.bytes
            && let Some(entry) = self.last_commit(&job.name())
            && entry.files.len() == 1
            && entry.files[0].after == Some(after.hash())
            && entry.files[0].before.as_ref().map(|version| version.sha256) == job.edit.base()
        {
            return Ok(Some(entry));
        }
        let conflict = |why: &str| refusals::conflict(&path, why);
        let now = before
            .decode_alike(held.bytes.to_vec())
            .ok()
            .ok_or_else(|| conflict("was changed by another program and is not text any more"))?;
        match job.edit.rebase(&now) {
            None => Err(conflict("was changed by another program after it was read")),
            Some(Ok(edit)) => {
                job.edit = edit;
                job.warnings.push(
                    "the file had changed elsewhere since it was read; the edit was decided again on the newer version".into(),
                );
                Ok(None)
            }
            Some(Err(refusal))
                if matches!(refusal.code, EditCode::AlreadyApplied | EditCode::NoChange) =>
            {
                Err(refusal)
            }
            Some(Err(refusal)) => {
                let mut conflict = conflict("was changed where the edit goes, after it was read");
                conflict.message = format!("{} ({})", conflict.message, refusal.message);
                conflict.nearest = refusal.nearest;
                conflict.occurrences = refusal.occurrences;
                Err(conflict)
            }
        }
    }

    /// A creation that finds exactly its own file there.
    fn already_created(&self, job: &Job<'_>) -> Option<LogEntry> {
        let After::Content(after) = job.edit.after() else { return None };
        let there = job.target.open(OFlags::RDONLY).ok()?;
        if job.held.is_some() || !has_content(&there, after).ok()? {
            return None;
        }
        let entry = self.last_commit(&job.name())?;
        let same = entry.files.len() == 1
            && entry.files[0].before.is_none()
            && entry.files[0].after == Some(after.hash());
        same.then_some(entry)
    }

    /// Writes the intent to the history. Trouble there is a warning, not a refusal.
    fn record_intent(
        &self,
        jobs: &mut [Job<'_>],
        prepared: &[PreparedWrite],
        context: &CommitContext<'_>,
    ) -> u64 {
        let Some(history) = &self.history else {
            if let (Some(error), Some(job)) = (&self.state_error, jobs.first_mut()) {
                job.warnings.push(format!("this change cannot be undone: {error}"));
            }
            return self.next_revision();
        };
        let intents: Vec<Intent<'_>> = jobs
            .iter()
            .zip(prepared)
            .map(|(job, write)| Intent {
                path: job.name(),
                before: job.held.as_ref().map(|held| (&held.bytes, held.metadata.clone())),
                after: match job.edit.after() {
                    After::Content(bytes) => Some(bytes),
                    After::Removed => None,
                },
                created_folders: job
                    .created_folders
                    .folders
                    .iter()
                    .map(|folder| folder.real.clone())
                    .collect(),
                is_displaced: matches!(write, PreparedWrite::Replace(_)),
            })
            .collect();
        let keep = if jobs.len() > 1 && self.options.sync_mode == SyncMode::Durable {
            HistorySync::Synced
        } else {
            HistorySync::Lazy
        };
        match history.begin(&intents, context.request, context.undoes, keep) {
            Ok(revision) => {
                self.note_revision(revision);
                revision
            }
            Err(error) => {
                if let Some(job) = jobs.first_mut() {
                    job.warnings.push(format!(
                        "this change cannot be undone: the history cannot be written ({error})"
                    ));
                }
                self.next_revision()
            }
        }
    }

    fn discard_intent(&self, revision: u64) {
        if let Some(Err(error)) =
            self.history.as_ref().map(|history| history.record_failed(revision))
        {
            tracing::debug!(%error, revision, "cannot note a failed commit");
        }
    }
}

fn refuse_duplicate_paths(jobs: &[Job<'_>], keys: &[FileKey]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for (job, key) in jobs.iter().zip(keys) {
        if !seen.insert(key) {
            return Err(duplicate_edit(job));
        }
    }
    Ok(())
}

/// Two names of one file: the second edit would not see the first.
fn refuse_duplicate_files(jobs: &[Job<'_>]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for job in jobs {
        if let Some(held) = &job.held
            && let Ok(id) = FileId::of(&held.file)
            && !seen.insert(id)
        {
            return Err(duplicate_edit(job));
        }
    }
    Ok(())
}

/// One file removed and one made in the same commit is a file that moved: it keeps what it is.
fn inherit_metadata_on_move(jobs: &mut [Job<'_>]) {
    let removed: Vec<&Job<'_>> =
        jobs.iter().filter(|job| matches!(job.edit.after(), After::Removed)).collect();
    let metadata = match removed.as_slice() {
        [one] => one.held.as_ref().map(|held| held.metadata.clone()),
        _ => None,
    };
    let mut created: Vec<&mut Job<'_>> =
        jobs.iter_mut().filter(|job| job.edit.base().is_none()).collect();
    if let [one] = created.as_mut_slice()
        && one.inherited_metadata.is_none()
    {
        one.inherited_metadata = metadata;
    }
}

fn duplicate_edit(job: &Job<'_>) -> Refusal {
    let path = job.edit.path();
    Refusal::new(
        EditCode::Overlap,
        format!("this commit has two edits of `{path}`, perhaps under different names"),
    )
    .at(path.as_str())
    .hint("Combine all edits of one file into one.")
}
