//! One commit, from checked edits to bytes on the disk: all of its files or none.
//!
//! The steps: resolve the paths; lock the files; check that each file is still the version that its
//! edit was made for; write the new contents to temp files; record in the history what the commit
//! is about to do; sync the temp files; and only then write the files, in sorted order. An error
//! before the last step changes nothing; an error in it rolls back the files already written. Once the
//! last file is in place, a problem is only a warning.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, OFlags};
use rustix::io::Errno;

use super::confine::{CreatedFolder, FileId, OpenError, Target};
use super::disk::{Disk, RUNNING_COMMITS};
use super::history::HistorySync;
use super::lock::{self, Backoff, FileKey, LockOutcome, WriteLock};
use super::metadata::Metadata;
use super::options::SyncMode;
use super::rebase::duplicate_edit;
use super::record::CommitRecord;
use super::refusals;
use super::replace::{has_content, read_reusing};
use super::write::PreparedWrite;
use crate::edit::{EditCode, Refusal, VerifiedEdit, said};
use crate::port::{Committed, RequestId};
use crate::text::Content;

/// An edit to commit. Only an undo sets the fields after `edit`.
#[derive(Debug)]
pub(super) struct CommitEdit {
    pub(super) edit: VerifiedEdit,
    /// The metadata of a file that an undo creates again.
    pub(super) metadata: Option<Metadata>,
    /// Folders to remove afterwards if they are empty, outermost first.
    pub(super) folders: Vec<PathBuf>,
}

impl From<VerifiedEdit> for CommitEdit {
    fn from(edit: VerifiedEdit) -> Self {
        Self { edit, metadata: None, folders: Vec::new() }
    }
}

/// What a commit is made for: a request or an undo.
#[derive(Debug)]
pub(super) struct CommitContext<'a> {
    /// The id that the caller gave the request.
    pub(super) request: Option<&'a RequestId>,
    /// The name that the client gives itself.
    pub(super) client: Option<&'a str>,
    /// The revision that this commit undoes.
    pub(super) undoes: Option<u64>,
    /// Set when the caller has stopped waiting for the result.
    pub(super) abandoned: &'a AtomicBool,
    /// How long to wait for other writers.
    pub(super) lock_wait: Duration,
}

/// One file of a running commit.
pub(super) struct Job<'a> {
    /// The index of the edit in the caller's list.
    pub(super) index: usize,
    /// The edit as the caller gave it.
    pub(super) planned: &'a CommitEdit,
    /// The metadata that a new file gets: that of the file which this commit moves there, or of the
    /// file which an undo creates again.
    pub(super) inherited_metadata: Option<Metadata>,
    /// The edit to write; differs from `planned` if the file changed and it was matched again.
    pub(super) edit: VerifiedEdit,
    pub(super) target: Target,
    pub(super) created_folders: CreatedFolders,
    pub(super) held: Option<LockedFile>,
    pub(super) warnings: Vec<String>,
}

impl Job<'_> {
    /// The path in the history and the change feed: with its links resolved, or as the caller wrote
    /// it if the resolved path is not UTF-8.
    pub(super) fn logged_path(&self) -> String {
        match self.target.real.to_str() {
            Some(real) => real.to_owned(),
            None => self.planned.edit.path().as_str().to_owned(),
        }
    }
}

/// The file before the edit, open and locked.
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
    /// Commits all edits or none. Returns the results in the order of the edits.
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
            return match entry.matches_request(request, edits.iter().map(|planned| &planned.edit)) {
                true => self.recorded_result(&entry),
                false => Err(request.reuse_refusal()),
            };
        }
        self.recover();
        let deadline = Instant::now() + context.lock_wait;
        let mut backoff = Backoff::until(deadline);
        loop {
            if let Some(committed) = self.attempt(edits, context, deadline)? {
                return Ok(committed);
            }
            if !backoff.wait() {
                return Err(refusals::conflict(
                    first.edit.path(),
                    "or a file of the same commit is locked by another program",
                ));
            }
        }
    }

    /// Tries the commit once. `None` means to try again: a file was moved while it was being
    /// locked, or another process holds its lock.
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
        // Sorted, so that two commits lock the same files in the same order.
        jobs.sort_by(|a, b| a.target.real.cmp(&b.target.real));
        let keys: Vec<FileKey> = jobs.iter().map(|job| FileKey::of(&job.target)).collect();
        if let Some(pair) = jobs.windows(2).find(|pair| pair[0].target.real == pair[1].target.real)
        {
            return Err(duplicate_edit(pair[1].edit.path()));
        }
        let Some(_lock) = WriteLock::acquire(keys, deadline) else { return Ok(None) };
        // Only a single file may be waited for: a commit of several files holds other locks
        // meanwhile.
        let mut backoff = (jobs.len() == 1).then(|| Backoff::until(deadline));
        let mut locked = BTreeSet::new();
        for job in &mut jobs {
            if !self.lock_file(job, &mut locked, backoff.as_mut())? {
                return Ok(None);
            }
        }
        inherit_metadata_on_move(&mut jobs);
        for job in &mut jobs {
            if let Some(earlier_commit) = self.revalidate(job)? {
                if edits.len() == 1 {
                    return self.recorded_result(&earlier_commit).map(Some);
                }
                return Err(refusals::conflict(job.edit.path(), "already has exactly this change"));
            }
        }
        if let Some(job) = jobs.first_mut() {
            job.warnings.extend(self.take_recovery_warning());
        }
        if self.reopened.swap(false, Ordering::AcqRel)
            && let Some(job) = jobs.first_mut()
        {
            job.warnings.push(format!(
                "the root {} was replaced by another folder since the last edit; this edit is in the new one",
                self.root.path().display()
            ));
        }
        // From here on the commit waits for nothing, and a signal waits for the end of the commit.
        let _running = RUNNING_COMMITS.read().unwrap_or_else(PoisonError::into_inner);
        let mut prepared = Vec::new();
        for job in &mut jobs {
            prepared.push(self.prepare(job)?);
        }
        let refuse_abandoned = || match context.abandoned.load(Ordering::Acquire) {
            true => Err(refusals::conflict(
                edits[0].edit.path(),
                "was not written: the call was cancelled",
            )),
            false => Ok(()),
        };
        refuse_abandoned()?;
        let revision = self.record_intent(&mut jobs, &prepared, context)?;
        // The sync may take long, and nothing is written yet.
        let synced = self.sync(&jobs, &prepared).and_then(|()| refuse_abandoned());
        let marked = synced.and_then(|()| {
            self.mark_open(jobs.len(), revision)
                .map_err(|error| refusals::no_rollback(edits[0].edit.path(), jobs.len(), &error))
        });
        let open_mark = marked.inspect_err(|_| self.discard_intent(revision))?;
        let applied = match self.apply_writes(&mut jobs, prepared) {
            Ok(applied) => applied,
            Err(refusal) => {
                self.discard_intent(revision);
                self.release_mark(open_mark);
                return Err(refusal);
            }
        };
        let committed = self.finish(jobs, applied, revision);
        self.release_mark(open_mark);
        Ok(Some(committed))
    }

    /// Resolves the path of an edit, creates missing folders for a new file, and refuses protected
    /// paths.
    fn new_job<'a>(&self, index: usize, planned: &'a CommitEdit) -> Result<Job<'a>, Refusal> {
        let path = planned.edit.path();
        self.refuse_if_protected(path, path.as_str())?;
        let mut created_folders = CreatedFolders::default();
        let mut admitted = Ok(());
        let target = if planned.edit.base().is_none() {
            let mut allow = |real: &Path| {
                admitted = self.admit_real(path, real);
                admitted.is_ok()
            };
            self.root.resolve_creating(path.as_path(), &mut created_folders.folders, &mut allow)
        } else {
            self.root.resolve(path.as_path())
        };
        admitted?;
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
            .hint("Give a path below the root, with names that every operating system takes."));
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

    /// Locks and reads the file of an edit; for an edit that creates a file, only checks that the
    /// name is free. `false` means to try again from the start. Waits for another writer only if
    /// there is a `backoff`. `locked` has the files that this commit has locked already: a second
    /// name of one of them is refused, since the second edit would not see the first.
    fn lock_file(
        &self,
        job: &mut Job<'_>,
        locked: &mut BTreeSet<FileId>,
        mut backoff: Option<&mut Backoff>,
    ) -> Result<bool, Refusal> {
        let path = job.planned.edit.path();
        if job.edit.base().is_none() {
            return match job.target.folder.stat(&job.target.name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
                Err(error) => Err(refusals::not_reachable(path, &error)),
                Ok(_) => match self.already_created(job) {
                    // Not an error: the same call created this file before.
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
        let not_read = |error: io::Error| refusals::not_read(path, &error);
        let id = FileId::of(&file).map_err(not_read)?;
        if !locked.insert(id) {
            return Err(duplicate_edit(path));
        }
        loop {
            match lock::try_lock(&file).map_err(not_read)? {
                LockOutcome::Acquired => break,
                LockOutcome::Unsupported => {
                    job.warnings.push(
                        "this file system has no locks; other processes were not kept out".into(),
                    );
                    break;
                }
                LockOutcome::Busy => {
                    let Some(backoff) = backoff.as_deref_mut() else { return Ok(false) };
                    if !job.target.is_same_file(&file).map_err(not_read)? || !backoff.wait() {
                        return Ok(false);
                    }
                }
            }
        }
        if !job.target.is_same_file(&file).map_err(not_read)? {
            return Ok(false);
        }
        let bytes = read_reusing(&file, job.edit.before(), self.options.max_bytes);
        let bytes = bytes.map_err(not_read)?;
        let metadata = Metadata::of(&file).map_err(not_read)?;
        let link_count = file.metadata().map_err(not_read)?.nlink();
        if link_count > 1 {
            self.admit_hard_link(path, &job.target, id)?;
        }
        let access = rustix::fs::accessat(
            &*job.target.folder,
            &job.target.name,
            Access::WRITE_OK,
            AtFlags::EACCESS,
        );
        match access {
            Ok(()) if !metadata.is_read_only() => {}
            Ok(()) | Err(Errno::ACCESS) => return Err(refusals::read_only(path)),
            Err(error) => {
                return Err(refusals::not_written(path, "it is not writable", &error.into()));
            }
        }
        job.held = Some(LockedFile { file, bytes, metadata, link_count });
        Ok(true)
    }

    /// Checks that the locked file is still the version that the edit was made for, and matches the
    /// edit again if it is not. If the history shows that exactly this change was already
    /// committed, returns its log entry.
    fn revalidate(&self, job: &mut Job<'_>) -> Result<Option<CommitRecord>, Refusal> {
        let path = job.edit.path().clone();
        let (Some(held), Some(before)) = (&job.held, job.edit.before()) else {
            // The edit creates a file.
            return Ok(self.already_created(job));
        };
        if std::ptr::eq(&*held.bytes, before.bytes()) || *held.bytes == *before.bytes() {
            return Ok(None);
        }
        if let Some(after) = job.edit.after()
            && *after == held.bytes
            && let Some(entry) = self.same_commit(job)
        {
            return Ok(Some(entry));
        }
        let conflict = |why: &str| refusals::conflict(&path, why);
        let current = before
            .decode_alike(held.bytes.to_vec())
            .map_err(|_| conflict("was changed by another program and is not text any more"))?;
        match job.edit.rebase(&current) {
            None => Err(conflict("was changed by another program after it was read")),
            Some(Ok(edit)) => {
                job.edit = edit;
                job.warnings.push(
                    "the file has changed elsewhere since it was read; the edit was matched again in the newer version".into(),
                );
                Ok(None)
            }
            Some(Err(refusal))
                if matches!(refusal.code, EditCode::AlreadyApplied | EditCode::NoChange) =>
            {
                Err(refusal)
            }
            Some(Err(refusal)) => {
                let mut combined = conflict("was changed where the edit goes, after it was read");
                combined.message = said!("{} ({})", combined.message, refusal.message);
                combined.nearest = refusal.nearest;
                combined.occurrences = refusal.occurrences;
                Err(combined)
            }
        }
    }

    /// The log entry of an earlier call that created the same file with the same content.
    fn already_created(&self, job: &Job<'_>) -> Option<CommitRecord> {
        let after = job.edit.after()?;
        let existing = job.target.open(OFlags::RDONLY).ok()?;
        if job.held.is_some() || !has_content(&existing, after).ok()? {
            return None;
        }
        self.same_commit(job)
    }

    /// The log entry of the newest commit of the file, if it made exactly this change.
    fn same_commit(&self, job: &Job<'_>) -> Option<CommitRecord> {
        let entry = self.last_commit(&job.logged_path())?;
        let [file] = entry.files.as_slice() else { return None };
        let is_same = file.before_sha256() == job.edit.base()
            && file.after == job.edit.after().map(Content::hash);
        is_same.then_some(entry)
    }

    /// Records in the history what the commit is about to do; returns its revision, or `None` if
    /// there is none. If the history cannot be written, a commit of one file goes on with a warning.
    /// One of several files is refused: without the record, a crash would leave it half done.
    fn record_intent(
        &self,
        jobs: &mut [Job<'_>],
        prepared: &[PreparedWrite],
        context: &CommitContext<'_>,
    ) -> Result<Option<u64>, Refusal> {
        let Some(history) = &self.history else {
            if let (Some(error), Some(job)) = (&self.state_error, jobs.first_mut()) {
                job.warnings.push(format!("this change was made, but cannot be undone: {error}"));
            }
            return Ok(None);
        };
        // The rollback of several files after a crash depends on the history.
        let sync = if jobs.len() > 1 && self.options.sync_mode == SyncMode::Durable {
            HistorySync::Synced
        } else {
            HistorySync::Lazy
        };
        match history.begin(jobs, prepared, context, sync) {
            Ok(revision) => Ok(Some(revision)),
            // Nothing is written without a record only because another process is at work.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(refusals::conflict(
                jobs[0].edit.path(),
                "cannot be written now, because another process holds the lock of the history",
            )),
            Err(error) => match jobs {
                [job] => {
                    job.warnings.push(format!(
                        "this change was made, but cannot be undone: the history cannot be written ({error})"
                    ));
                    Ok(None)
                }
                _ => Err(refusals::no_rollback(jobs[0].edit.path(), jobs.len(), &error)),
            },
        }
    }

    /// Records in the history that the commit failed.
    fn discard_intent(&self, revision: Option<u64>) {
        if let (Some(history), Some(revision)) = (&self.history, revision)
            && let Err(error) = history.record_failed(revision)
        {
            tracing::debug!(%error, revision, "cannot record that a commit failed");
        }
    }
}

/// Treats a commit that removes one file and creates one as a move: the new file gets the metadata
/// of the removed one.
fn inherit_metadata_on_move(jobs: &mut [Job<'_>]) {
    let removed: Vec<&Job<'_>> = jobs.iter().filter(|job| job.edit.after().is_none()).collect();
    let metadata = match removed.as_slice() {
        [job] => job.held.as_ref().map(|held| held.metadata.clone()),
        _ => None,
    };
    let mut created: Vec<&mut Job<'_>> =
        jobs.iter_mut().filter(|job| job.edit.base().is_none()).collect();
    if let [job] = created.as_mut_slice()
        && job.inherited_metadata.is_none()
    {
        job.inherited_metadata = metadata;
    }
}
