//! Finishes a commit once its last file is in place: makes it durable, checks the displaced files,
//! reads the new ones back, and reports. A problem here is a warning, never a failure.

use std::collections::BTreeSet;
use std::io;

use rustix::fs::OFlags;

use super::commit::Job;
use super::confine::{FileId, OpenError};
use super::disk::Disk;
use super::history::History;
use super::options::SyncMode;
use super::replace::{OldFile, has_content};
use super::write::AppliedWrite;
use crate::edit::{Durability, WriteMethod};
use crate::port::{Change, Committed};
use crate::text::Content;

impl Disk {
    /// Makes the written files durable, checks the files that they displaced, and reports them in
    /// the order of the edits.
    pub(super) fn finish(
        &self,
        jobs: Vec<Job<'_>>,
        applied: Vec<AppliedWrite>,
        revision: Option<u64>,
    ) -> Vec<Committed> {
        let sync_error = self.sync_folders(&jobs, &applied);
        let mut committed: Vec<(usize, Committed)> = Vec::new();
        for (mut job, applied_write) in jobs.into_iter().zip(applied) {
            job.created_folders.keep = true;
            let (method, written) = self.finish_write(&mut job, applied_write, revision);
            let mut durability = self.options.sync_mode.durability();
            if let Some(error) = &sync_error {
                durability = Durability::Unknown;
                job.warnings.push(format!(
                    "written, but its folder could not be synced ({error}); a power cut might undo it"
                ));
            }
            if let Some(warning) = self.read_back(&job, written) {
                durability = Durability::Unknown;
                job.warnings.push(warning);
            }
            for folder in job.planned.folders.iter().rev() {
                // The removal fails, as it should, if the folder is not empty.
                if let Ok(target) = self.root.resolve(folder) {
                    let _ = target.folder.remove_folder(&target.name);
                }
            }
            let sha256 = job.edit.after().map(Content::hash);
            self.changes.announce(Change { revision, path: job.logged_path(), sha256 });
            let Job { index, edit, warnings, .. } = job;
            committed.push((index, Committed { edit, revision, durability, method, warnings }));
        }
        if let (Some(history), Some(revision)) = (&self.history, revision)
            && let Err(error) = history.record_done(revision)
        {
            tracing::debug!(%error, revision, "cannot confirm a commit in the history");
        }
        committed.sort_by_key(|(index, _)| *index);
        committed.into_iter().map(|(_, committed)| committed).collect()
    }

    /// Syncs each folder in which a name changed, once; returns the last error.
    fn sync_folders(&self, jobs: &[Job<'_>], applied: &[AppliedWrite]) -> Option<io::Error> {
        if self.options.sync_mode == SyncMode::Rename {
            return None;
        }
        let mut synced: BTreeSet<FileId> = BTreeSet::new();
        let mut last_error = None;
        for (job, applied_write) in jobs.iter().zip(applied) {
            let name_changed = !matches!(applied_write, AppliedWrite::InPlace { .. });
            let parents = job.created_folders.folders.iter().map(|folder| &folder.parent);
            for folder in parents.chain(name_changed.then_some(&job.target.folder)) {
                if synced.insert(folder.id())
                    && let Err(error) = folder.sync()
                {
                    last_error = Some(error);
                }
            }
        }
        last_error
    }

    /// Checks the displaced file and keeps or removes it. Returns how the file was written, and which
    /// file is the new one.
    fn finish_write(
        &self,
        job: &mut Job<'_>,
        applied: AppliedWrite,
        revision: Option<u64>,
    ) -> (WriteMethod, Option<FileId>) {
        match applied {
            AppliedWrite::Created(new) => (WriteMethod::Created, FileId::of(new.file()).ok()),
            AppliedWrite::Replaced(new) => {
                self.keep_versions(job);
                (WriteMethod::Replaced, FileId::of(new.file()).ok())
            }
            AppliedWrite::InPlace { target, journal } => {
                self.keep_versions(job);
                self.end_journal(journal);
                (WriteMethod::InPlace, FileId::of(&target).ok())
            }
            AppliedWrite::Removed(old) => {
                let _ = old.discard();
                (WriteMethod::Removed, None)
            }
            AppliedWrite::Exchanged(displaced, new) => {
                let written = FileId::of(new.file()).ok();
                // First wait for writers: a program that had the old file open may still save into
                // it after the exchange.
                let held = job.held.as_ref();
                let has_no_writers = held.is_some_and(|held| displaced.has_no_writers(&held.file));
                let unchanged = held.map(|held| displaced.is_unchanged(&held.file, &held.bytes));
                let unchanged_content = held
                    .filter(|_| has_no_writers && matches!(unchanged, Some(Ok(true))))
                    .map(|held| &held.bytes);
                match (unchanged_content, &self.history) {
                    (Some(bytes), Some(history)) => {
                        if let Err(error) = history.adopt(displaced, bytes) {
                            job.warnings.push(not_kept_warning(history, job, &error));
                        }
                    }
                    (Some(_), None) => {
                        // With its last handle closed, removing it is one step.
                        job.held = None;
                        let _ = displaced.discard();
                    }
                    (None, _) => {
                        // The version that the edit was made for is kept nowhere else.
                        self.keep_versions(job);
                        let path = job.edit.path().clone();
                        match unchanged {
                            Some(Ok(true)) => job.warnings.push(format!(
                                "another program still has the old version of `{path}` open for writing, and its writes go there until it reopens the file; the old version is now {}",
                                keep_beside(displaced)
                            )),
                            Some(Err(error)) => job.warnings.push(format!(
                                "the old version of `{path}` could not be checked for another program's changes ({error}); it is now {}",
                                keep_beside(displaced)
                            )),
                            _ => {
                                self.keep_foreign_version(job, displaced, has_no_writers, revision);
                            }
                        }
                    }
                }
                (WriteMethod::Replaced, written)
            }
        }
    }

    /// Stores both versions in the history, for writes that leave no displaced file to adopt.
    fn keep_versions(&self, job: &mut Job<'_>) {
        let Some(history) = &self.history else { return };
        let after = job.edit.after();
        let versions = job.held.as_ref().map(|held| &held.bytes).into_iter().chain(after);
        for version in versions {
            if let Err(error) = history.keep(version) {
                job.warnings.push(not_kept_warning(history, job, &error));
                return;
            }
        }
    }

    /// Keeps the version that another program saved at the moment of the exchange.
    fn keep_foreign_version(
        &self,
        job: &mut Job<'_>,
        displaced: OldFile,
        has_no_writers: bool,
        revision: Option<u64>,
    ) {
        let path = job.edit.path().clone();
        let displaced_bytes = displaced.bytes();
        if has_no_writers
            && let (Ok(bytes), Some(history), Some(revision), Some(held)) =
                (&displaced_bytes, &self.history, revision, &job.held)
            && history
                .record_displaced(revision, &job.logged_path(), bytes, held.metadata.clone())
                .is_ok()
        {
            let _ = displaced.discard();
            job.warnings.push(format!(
                "another program saved `{path}` at the moment of this edit, without this edit in it; \
                 its version was kept. While the file stays as it is now, undo of revision {revision} brings that \
                 version back, without this edit. If the same lines change again, undo is refused, but \
                 `restitch log --diff` on the command line still shows under {revision} what that version had there"
            ));
            return;
        }
        job.warnings.push(format!(
            "another program saved `{path}` at the moment of this edit, without this edit in it; \
             its version is now {}",
            keep_beside(displaced)
        ));
    }

    /// Reads the file again by its name; returns a warning if it is not what was written.
    fn read_back(&self, job: &Job<'_>, written: Option<FileId>) -> Option<String> {
        let path = job.edit.path();
        let after = job.edit.after()?;
        let current = match job.target.open(OFlags::RDONLY) {
            Ok(current) => current,
            Err(OpenError::Io(error)) => {
                return Some(format!("`{path}` could not be read back ({error})"));
            }
            Err(_) => {
                return Some(format!(
                    "`{path}` was moved or removed by another program right after this edit"
                ));
            }
        };
        let is_written_file =
            written.is_some_and(|written| FileId::of(&current).is_ok_and(|id| id == written));
        match has_content(&current, after) {
            Ok(true) => None,
            Ok(false) if !is_written_file => {
                Some(format!("`{path}` was replaced by another program right after this edit"))
            }
            Ok(false) => Some(format!(
                "`{path}` reads back with different bytes: another program wrote to it, or the file system is at fault"
            )),
            Err(error) => Some(format!("`{path}` could not be read back ({error})")),
        }
    }
}

/// Keeps a displaced file beside the new one, and says under which name.
fn keep_beside(displaced: OldFile) -> String {
    match displaced.keep() {
        Ok(name) => format!("`{}` beside it", name.to_string_lossy()),
        Err(error) => format!("a temporary name beside it ({error})"),
    }
}

/// The warning that a version of an edited file could not be stored. The log has small changes itself,
/// which is enough for an undo of the version that the edit has left.
fn not_kept_warning(history: &History, job: &Job<'_>, error: &io::Error) -> String {
    let before = job.held.as_ref().map(|held| held.bytes.hash());
    let can_be_undone = match (before, job.edit.after()) {
        (Some(before), Some(after)) => history.bytes(before, Some(after)).is_ok(),
        _ => false,
    };
    match can_be_undone {
        true => format!(
            "this change can be undone only until the file changes again: what it replaced could not be kept ({error})"
        ),
        false => format!(
            "this change was made, but cannot be undone: what it replaced could not be kept ({error})"
        ),
    }
}
