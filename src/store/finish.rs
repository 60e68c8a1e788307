//! Finishes a commit once its last file is in place: makes it durable, checks the displaced files,
//! reads the new ones back, and reports. A problem here is a warning, never a failure.

use std::collections::BTreeSet;
use std::io;

use rustix::fs::OFlags;

use super::commit::Job;
use super::confine::{FileId, OpenError};
use super::disk::Disk;
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
            let method = self.finish_write(&mut job, applied_write);
            let mut durability = self.options.sync_mode.durability();
            if let Some(error) = &sync_error {
                durability = Durability::Unknown;
                job.warnings.push(format!(
                    "written, but its folder could not be synced ({error}); a power cut might undo it"
                ));
            }
            if let Some(warning) = self.read_back(&job) {
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

    /// Checks the displaced file and keeps or removes it. Returns how the file was written.
    fn finish_write(&self, job: &mut Job<'_>, applied: AppliedWrite) -> WriteMethod {
        match applied {
            AppliedWrite::Created(_) => WriteMethod::Created,
            AppliedWrite::Replaced(new) => {
                self.keep_versions(job);
                // Its lock has kept other writers out until now.
                drop(new);
                WriteMethod::Replaced
            }
            AppliedWrite::InPlace { journal, .. } => {
                self.keep_versions(job);
                self.end_journal(journal);
                WriteMethod::InPlace
            }
            AppliedWrite::Removed(old) => {
                let _ = old.discard();
                WriteMethod::Removed
            }
            AppliedWrite::Exchanged(displaced, _) => {
                self.finish_exchange(job, displaced);
                WriteMethod::Replaced
            }
        }
    }

    /// Moves the displaced file to the history. If it is not the version that the edit was made for, or
    /// may still become another one, keeps it beside the new one.
    fn finish_exchange(&self, job: &mut Job<'_>, displaced: OldFile) {
        let path = job.edit.path().clone();
        // First wait for writers: a program that had the old file open may still save into it after
        // the exchange.
        let held = job.held.as_ref();
        let has_no_writers = held.is_some_and(|held| displaced.has_no_writers(&held.file));
        let unchanged = held.map(|held| displaced.is_unchanged(&held.file, &held.bytes));
        let what = match (unchanged, held) {
            (Some(Ok(true)), Some(held)) if has_no_writers => {
                let kept = match &self.history {
                    Some(history) => history.adopt(displaced, &held.bytes),
                    None => displaced.discard().or(Ok(())),
                };
                job.warnings.extend(kept.err().map(not_kept_warning));
                return;
            }
            (Some(Ok(true)), _) => format!(
                "another program still has the old version of `{path}` open for writing, and its writes go there until it reopens the file; the old version"
            ),
            (Some(Err(error)), _) => format!(
                "the old version of `{path}` could not be checked for another program's changes ({error}); it"
            ),
            _ => format!(
                "another program saved `{path}` at the moment of this edit, without this edit in it; its version"
            ),
        };
        // The version that the edit was made for is kept nowhere else.
        self.keep_versions(job);
        let place = match displaced.keep() {
            Ok(name) => {
                // The folder was synced before.
                if self.options.sync_mode == SyncMode::Durable {
                    let _ = job.target.folder.sync();
                }
                format!("`{}` beside it", name.to_string_lossy())
            }
            Err(error) => format!(
                "`{}` beside it, which later edits remove: copy it now ({error})",
                displaced.name().to_string_lossy()
            ),
        };
        job.warnings.push(format!("{what} is now {place}"));
    }

    /// Stores both versions in the history, for writes that leave no displaced file to adopt.
    fn keep_versions(&self, job: &mut Job<'_>) {
        let Some(history) = &self.history else { return };
        let after = job.edit.after();
        let versions = job.held.as_ref().map(|held| &held.bytes).into_iter().chain(after);
        for version in versions {
            if let Err(error) = history.keep(version) {
                job.warnings.push(not_kept_warning(error));
                return;
            }
        }
    }

    /// Reads the file again by its name; returns a warning if it is not what was written.
    fn read_back(&self, job: &Job<'_>) -> Option<String> {
        let (path, after) = (job.edit.path(), job.edit.after()?);
        let is_written = match job.target.open(OFlags::RDONLY) {
            Ok(current) => has_content(&current, after),
            Err(OpenError::Io(error)) => Err(error),
            Err(_) => Ok(false),
        };
        match is_written {
            Ok(true) => None,
            Ok(false) => Some(format!(
                "`{path}` no longer has what this edit wrote: another program changed, moved or removed it right after this edit, or the file system is at fault"
            )),
            Err(error) => Some(format!("`{path}` could not be read back ({error})")),
        }
    }
}

/// The warning that a version of an edited file could not be stored. The log may have the change itself,
/// which is enough while the file stays as the edit has left it.
fn not_kept_warning(error: io::Error) -> String {
    format!("perhaps this change cannot be undone: what it replaced could not be kept ({error})")
}
