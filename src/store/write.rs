//! Writes the files of a commit: chooses how to write each file, prepares temp files, writes each
//! file, and rolls back those already written if a later one fails.

use std::fs::File;
use std::io;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::commit::Job;
use super::confine::{FileId, OpenError};
use super::disk::Disk;
use super::in_place::{self, Journal, Journals};
use super::options::SyncMode;
use super::refusals;
use super::replace::{OldFile, TempFile, TempFileError, UNSUPPORTED_RENAME, has_content};
use crate::edit::Refusal;

/// A write that is prepared but has not touched its file yet.
pub(super) enum PreparedWrite {
    Create(TempFile),
    Replace(TempFile),
    InPlace { target: File, why: String },
    Remove,
}

/// A write that is done and can still be rolled back.
pub(super) enum AppliedWrite {
    Created(TempFile),
    Exchanged(OldFile, TempFile),
    /// The new file was renamed over the old one, because names cannot be exchanged.
    Replaced(TempFile),
    InPlace {
        target: File,
        journal: Option<Journal>,
    },
    Removed(OldFile),
}

impl Disk {
    /// Chooses how to write a file, and writes the temp file if one is needed.
    pub(super) fn prepare(&self, job: &mut Job<'_>) -> Result<PreparedWrite, Refusal> {
        let path = job.edit.path().clone();
        let Some(after) = job.edit.after().cloned() else {
            return Ok(PreparedWrite::Remove);
        };
        let not_written =
            |doing: &str, error: io::Error| refusals::not_written(&path, doing, &error);
        if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Fsize).current
            && after.len() as u64 > limit
        {
            // Writing past the limit would kill the process.
            return Err(not_written("the new content does not fit", Errno::FBIG.into()));
        }
        let held = match &job.held {
            Some(held) if job.edit.base().is_some() => held,
            _ => return self.prepare_creation(job, &after),
        };
        if held.link_count > 1 {
            let why = format!(
                "it has {} names (hard links), and all of them show the change",
                held.link_count
            );
            return open_in_place(job, why);
        }
        self.sweep_folder(&job.target);
        match TempFile::write(&job.target, &after, Some(&held.metadata)) {
            Ok(temp) => Ok(PreparedWrite::Replace(temp)),
            Err(TempFileError::MetadataLost(what)) => {
                open_in_place(job, format!("a new file could not have {what}"))
            }
            Err(TempFileError::Io(error)) if in_place::needs_in_place(&error) => {
                open_in_place(job, format!("its folder cannot be written ({error})"))
            }
            Err(TempFileError::Io(error)) => {
                Err(not_written("cannot write the new content", error))
            }
        }
    }

    /// Writes the temp file of a new file. Metadata that cannot be restored is only a warning.
    fn prepare_creation(&self, job: &mut Job<'_>, after: &[u8]) -> Result<PreparedWrite, Refusal> {
        let path = job.edit.path().clone();
        self.sweep_folder(&job.target);
        let mut written = TempFile::write(&job.target, after, job.inherited_metadata.as_ref());
        if let Err(TempFileError::MetadataLost(what)) = &written {
            job.warnings.push(format!("could not restore {what}"));
            written = TempFile::write(&job.target, after, None);
        }
        written.map(PreparedWrite::Create).map_err(|why| {
            refusals::not_written(&path, "cannot write the new file", &why.into_io())
        })
    }

    /// Makes the temp files durable, if the options ask for that.
    pub(super) fn sync(&self, jobs: &[Job<'_>], prepared: &[PreparedWrite]) -> Result<(), Refusal> {
        if self.options.sync_mode == SyncMode::Rename {
            return Ok(());
        }
        for (job, write) in jobs.iter().zip(prepared) {
            if let PreparedWrite::Create(temp) | PreparedWrite::Replace(temp) = write {
                let path = job.edit.path();
                temp.sync().map_err(|error| {
                    refusals::not_written(path, "cannot sync the new content", &error)
                })?;
            }
        }
        Ok(())
    }

    /// Writes the files. If one fails, rolls back those already written.
    pub(super) fn apply_writes(
        &self,
        jobs: &mut [Job<'_>],
        prepared: Vec<PreparedWrite>,
    ) -> Result<Vec<AppliedWrite>, Refusal> {
        let mut applied: Vec<AppliedWrite> = Vec::new();
        for (index, prepared_write) in prepared.into_iter().enumerate() {
            match self.apply_write(&mut jobs[index], prepared_write) {
                Ok(write) => applied.push(write),
                Err(refusal) => {
                    let mut unrestored = Vec::new();
                    for (job, write) in jobs[..index].iter().zip(applied).rev() {
                        if let Err(error) = self.roll_back(job, write) {
                            unrestored.push(format!("{} ({error})", job.edit.path()));
                        }
                    }
                    return Err(refusal.with_unrestored(&unrestored));
                }
            }
        }
        Ok(applied)
    }

    /// Makes one prepared write visible.
    fn apply_write(
        &self,
        job: &mut Job<'_>,
        prepared: PreparedWrite,
    ) -> Result<AppliedWrite, Refusal> {
        let path = job.edit.path().clone();
        let not_written =
            |error: &io::Error| refusals::not_written(&path, "the rename failed", error);
        match prepared {
            PreparedWrite::Create(temp) => match temp.create_at(&job.target) {
                Ok(new) => Ok(AppliedWrite::Created(new)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(refusals::already_exists(&path))
                }
                Err(error) => Err(not_written(&error)),
            },
            PreparedWrite::Replace(temp) => match temp.exchange_with(&job.target) {
                Ok((old, new)) => Ok(AppliedWrite::Exchanged(old, new)),
                Err((temp, error)) if refusals::has_errno(&error, UNSUPPORTED_RENAME) => {
                    self.replace_without_exchange(job, temp)
                }
                Err((_, error)) if in_place::needs_in_place(&error) => {
                    let in_place_write =
                        open_in_place(job, format!("it cannot be replaced ({error})"))?;
                    self.apply_write(job, in_place_write)
                }
                Err((_, error)) if error.kind() == io::ErrorKind::NotFound => {
                    Err(refusals::conflict(&path, "was removed by another program at this moment"))
                }
                Err((_, error)) => Err(not_written(&error)),
            },
            PreparedWrite::InPlace { target, why } => self.overwrite(job, target, &why),
            PreparedWrite::Remove => {
                let old = OldFile::move_aside(&job.target).map_err(|error| not_written(&error))?;
                let held = job.held.as_ref();
                let unchanged = held.map(|held| old.is_unchanged(&held.file, &held.bytes));
                let mut refusal = match unchanged {
                    Some(Ok(true)) => return Ok(AppliedWrite::Removed(old)),
                    Some(Err(error)) => {
                        refusals::not_written(&path, "it could not be checked once more", &error)
                    }
                    _ => refusals::conflict(&path, "was changed by another program at this moment"),
                };
                if let Err(error) = old.move_back() {
                    refusal.message.push(format_args!("; it could not be put back ({error})"));
                }
                Err(refusal)
            }
        }
    }

    /// Renames the new file over the old one, after a last check that the old one is unchanged: for
    /// systems that cannot exchange names.
    fn replace_without_exchange(
        &self,
        job: &Job<'_>,
        temp: TempFile,
    ) -> Result<AppliedWrite, Refusal> {
        let path = job.edit.path();
        let not_written =
            |error: io::Error| refusals::not_written(path, "the replacement failed", &error);
        let Some(held) = &job.held else { return Err(refusals::not_found(path)) };
        let is_same_content = has_content(&held.file, &held.bytes).map_err(not_written)?;
        if !is_same_content || !job.target.is_same_file(&held.file).map_err(not_written)? {
            return Err(refusals::conflict(path, "was changed by another program at this moment"));
        }
        temp.replace_at(&job.target).map(AppliedWrite::Replaced).map_err(not_written)
    }

    /// Overwrites the file in place. A journal, if there is a state folder, allows a repair after a
    /// crash.
    fn overwrite(
        &self,
        job: &mut Job<'_>,
        target: File,
        why: &str,
    ) -> Result<AppliedWrite, Refusal> {
        let path = job.edit.path().clone();
        let Some(after) = job.edit.after().cloned() else {
            return Err(refusals::not_found(&path));
        };
        let Some(held) = &job.held else { return Err(refusals::not_found(&path)) };
        let not_written =
            |doing: &str, error: &io::Error| refusals::not_written(&path, doing, error);
        let absolute = self.root.path().join(&job.target.real);
        let begin = |journals: &Journals| journals.begin(&absolute, &held.bytes, &after);
        let journal = match self.journals.as_ref().map(begin) {
            Some(Ok(journal)) => Some(journal),
            Some(Err(error)) => {
                return Err(not_written(
                    "the journal of an in-place write cannot be written",
                    &error,
                ));
            }
            None => {
                job.warnings.push("written in place without a journal, because there is no state folder: a crash during such a write can damage the file".into());
                None
            }
        };
        if !has_content(&target, &held.bytes).unwrap_or(false) {
            self.end_journal(journal);
            return Err(refusals::conflict(&path, "was changed by another program at this moment"));
        }
        job.warnings.push(format!("written in place, because {why}"));
        if let Err(error) = in_place::overwrite(&target, held.bytes.len(), &after) {
            return match in_place::overwrite(&target, after.len(), &held.bytes) {
                Ok(()) => {
                    self.end_journal(journal);
                    Err(not_written("the write failed and was taken back", &error))
                }
                Err(restore_error) => {
                    let mut refusal = not_written("the write failed", &error);
                    refusal.message = format!(
                        "cannot write `{path}`: {error}, and the old content could not be restored ({restore_error}); the file may be a mix of both versions"
                    )
                    .into();
                    Err(refusal.hint("Free some disk space and start restitch again, which repairs the file from its journal if there is a state folder."))
                }
            };
        }
        if let Err(what) = held.metadata.restore(&target) {
            job.warnings.push(format!("the in-place write lost {what}; set it again"));
        }
        Ok(AppliedWrite::InPlace { target, journal })
    }

    /// Removes the journal of a finished write.
    pub(super) fn end_journal(&self, journal: Option<Journal>) {
        if let (Some(journals), Some(journal)) = (&self.journals, journal)
            && let Err(error) = journals.end(journal)
        {
            tracing::debug!(%error, "cannot remove a journal");
        }
    }

    /// Undoes one write of a commit that has failed.
    fn roll_back(&self, job: &Job<'_>, applied: AppliedWrite) -> io::Result<()> {
        let written = job.edit.after().map_or(&[][..], |bytes| bytes);
        let before = job.held.as_ref().map(|held| (&*held.bytes, &held.metadata));
        match (applied, before) {
            (AppliedWrite::Created(new), _) => {
                if job.target.is_same_file(new.file())? {
                    job.target.folder.unlink(&job.target.name)?;
                }
                Ok(())
            }
            (AppliedWrite::Exchanged(old, new), _) => old.exchange_back(&new, written),
            (AppliedWrite::Replaced(_), Some((bytes, metadata))) => {
                let temp = TempFile::write(&job.target, bytes, Some(metadata));
                temp.map_err(TempFileError::into_io)?.replace_at(&job.target).map(drop)
            }
            (AppliedWrite::InPlace { target, journal }, Some((bytes, _))) => {
                in_place::overwrite(&target, written.len(), bytes)?;
                self.end_journal(journal);
                Ok(())
            }
            (AppliedWrite::Removed(old), _) => old.move_back(),
            // Does not happen: these writes have an old file, which the job holds.
            (AppliedWrite::Replaced(_) | AppliedWrite::InPlace { .. }, None) => Ok(()),
        }
    }
}

/// Opens the file for a write in place, and checks that it is still the locked file. `why` is the
/// reason for the warning that the file is not replaced.
fn open_in_place(job: &Job<'_>, why: String) -> Result<PreparedWrite, Refusal> {
    let path = job.edit.path();
    match job.target.open(OFlags::RDWR) {
        Ok(target) => {
            let held_id = job.held.as_ref().map(|held| FileId::of(&held.file));
            match (held_id, FileId::of(&target)) {
                (Some(Ok(held_id)), Ok(target_id)) if held_id == target_id => {
                    Ok(PreparedWrite::InPlace { target, why })
                }
                _ => {
                    Err(refusals::conflict(path, "was replaced by another program at this moment"))
                }
            }
        }
        Err(OpenError::Io(error)) => {
            Err(refusals::not_written(path, "cannot open it for writing", &error))
        }
        Err(error) => Err(refusals::not_a_file(path, error)),
    }
}
