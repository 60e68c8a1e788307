//! Writing the files of a commit: choosing how, preparing what is not visible yet, touching the
//! files, and taking back what was touched when a later file fails.

use std::fs::File;
use std::io;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::commit::Job;
use super::confine::{FileId, NotAFile};
use super::disk::Disk;
use super::in_place::{self, Journal};
use super::options::Promise;
use super::replace::{Aside, Displaced, NO_FLAGS, NoTemp, Temp, holds, set_aside};
use super::trouble;
use crate::edit::{After, Refusal};

/// A write that is prepared as far as it can be without being seen.
pub(super) enum PreparedWrite {
    Create(Temp),
    Replace(Temp),
    InPlace { target: File, why: String },
    Remove,
}

/// A write that happened and can still be taken back.
pub(super) enum Done {
    Created(File),
    Exchanged(Displaced),
    /// Renamed over, where names cannot be exchanged.
    Replaced(File),
    InPlace {
        target: File,
        journal: Option<Journal>,
    },
    Removed(Aside),
}

impl Disk {
    /// Chooses how to write, and does all of it that is not visible yet.
    pub(super) fn prepare(&self, job: &mut Job<'_>) -> Result<PreparedWrite, Refusal> {
        let path = job.edit.path().clone();
        let After::Content(after) = job.edit.after().clone() else {
            return Ok(PreparedWrite::Remove);
        };
        let fault = |doing: &str, error: io::Error| trouble::unwritten(&path, doing, &error);
        if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Fsize).current
            && after.len() as u64 > limit
        {
            // Writing past the limit would kill the process.
            return Err(fault("the new content does not fit", Errno::FBIG.into()));
        }
        if job.edit.base().is_none() || job.held.is_none() {
            self.sweep_folder(&job.place);
            let temp = Temp::write(&job.place, &after, job.like.as_ref());
            let temp = match temp {
                Ok(temp) => temp,
                Err(NoTemp::Io(error)) => return Err(fault("cannot write the new file", error)),
                Err(NoTemp::NotTheSame(what)) => {
                    job.warnings.push(format!("could not restore {what}"));
                    Temp::write(&job.place, &after, None).map_err(|why| match why {
                        NoTemp::Io(error) => fault("cannot write the new file", error),
                        NoTemp::NotTheSame(what) => {
                            fault("cannot write the new file", io::Error::other(what))
                        }
                    })?
                }
            };
            self.sync_temp(&temp).map_err(|error| fault("cannot sync the new file", error))?;
            return Ok(PreparedWrite::Create(temp));
        }
        let Some(held) = &job.held else { return Ok(PreparedWrite::Remove) };
        if held.names > 1 {
            let why = format!(
                "it has {} names (hard links), and all of them show the change",
                held.names
            );
            return in_place(job, why);
        }
        self.sweep_folder(&job.place);
        match Temp::write(&job.place, &after, Some(&held.metadata)) {
            Ok(temp) => {
                self.sync_temp(&temp)
                    .map_err(|error| fault("cannot sync the new content", error))?;
                Ok(PreparedWrite::Replace(temp))
            }
            Err(NoTemp::NotTheSame(what)) => {
                in_place(job, format!("a new file could not have {what}"))
            }
            Err(NoTemp::Io(error)) if in_place::keeps_identity(&error) => {
                in_place(job, format!("its folder cannot be written ({error})"))
            }
            Err(NoTemp::Io(error)) => Err(fault("cannot write the new content", error)),
        }
    }

    pub(super) fn sync_temp(&self, temp: &Temp) -> io::Result<()> {
        match self.options.promise {
            Promise::Durable => temp.sync(),
            Promise::Rename => Ok(()),
        }
    }

    /// Touches the files. On an error takes back those already touched.
    pub(super) fn carry_out(
        &self,
        jobs: &mut [Job<'_>],
        steps: Vec<PreparedWrite>,
    ) -> Result<Vec<Done>, Refusal> {
        let mut done: Vec<Done> = Vec::new();
        for (n, step) in steps.into_iter().enumerate() {
            match self.touch(&mut jobs[n], step) {
                Ok(touched) => done.push(touched),
                Err(refusal) => {
                    let mut refusal = refusal;
                    for (job, touched) in jobs[..n].iter().zip(done).rev() {
                        if let Err(error) = self.take_back(job, touched) {
                            refusal.message.push_str(&format!(
                                "; `{}` was changed before and could not be put back ({error}), use undo",
                                job.edit.path()
                            ));
                        }
                    }
                    return Err(refusal);
                }
            }
        }
        Ok(done)
    }

    fn touch(&self, job: &mut Job<'_>, step: PreparedWrite) -> Result<Done, Refusal> {
        let path = job.edit.path().clone();
        let fault = |error: &io::Error| trouble::unwritten(&path, "the last step failed", error);
        match step {
            PreparedWrite::Create(temp) => match temp.create_at(&job.place) {
                Ok(file) => Ok(Done::Created(file)),
                Err((_, error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(trouble::exists(&path))
                }
                Err((_, error)) => Err(fault(&error)),
            },
            PreparedWrite::Replace(temp) => match temp.exchange_with(&job.place) {
                Ok(displaced) => Ok(Done::Exchanged(displaced)),
                Err((temp, error)) if trouble::is(&error, NO_FLAGS) => {
                    self.replace_blindly(job, temp)
                }
                Err((_, error)) if in_place::keeps_identity(&error) => {
                    let step = in_place(job, format!("it cannot be replaced ({error})"))?;
                    self.touch(job, step)
                }
                Err((_, error)) if error.kind() == io::ErrorKind::NotFound => {
                    Err(trouble::conflict(&path, "was removed by another program at this moment"))
                }
                Err((_, error)) => Err(fault(&error)),
            },
            PreparedWrite::InPlace { target, why } => self.overwrite(job, target, &why),
            PreparedWrite::Remove => {
                let aside = set_aside(&job.place).map_err(|error| fault(&error))?;
                let expected = job.held.as_ref().map(|held| &held.bytes);
                if !expected.is_some_and(|bytes| aside.holds(bytes).unwrap_or(false)) {
                    let back = aside.take_back();
                    let mut conflict =
                        trouble::conflict(&path, "was changed by another program at this moment");
                    if let Err(error) = back {
                        conflict.message.push_str(&format!("; it could not be put back ({error})"));
                    }
                    return Err(conflict);
                }
                Ok(Done::Removed(aside))
            }
        }
    }

    /// If names cannot be exchanged, the file is checked as late as possible before the rename.
    fn replace_blindly(&self, job: &Job<'_>, temp: Temp) -> Result<Done, Refusal> {
        let path = job.edit.path();
        let fault = |error: io::Error| trouble::unwritten(path, "the last step failed", &error);
        let Some(held) = &job.held else { return Err(trouble::missing(path)) };
        let same = holds(&held.file, &held.bytes).map_err(fault)?;
        if !same || !job.place.is(&held.file).map_err(fault)? {
            return Err(trouble::conflict(path, "was changed by another program at this moment"));
        }
        temp.replace_at(&job.place).map(Done::Replaced).map_err(|(_, error)| fault(error))
    }

    fn overwrite(&self, job: &mut Job<'_>, target: File, why: &str) -> Result<Done, Refusal> {
        let path = job.edit.path().clone();
        let After::Content(after) = job.edit.after().clone() else {
            return Err(trouble::missing(&path));
        };
        let Some(held) = &job.held else { return Err(trouble::missing(&path)) };
        let fault = |doing: &str, error: &io::Error| trouble::unwritten(&path, doing, error);
        let absolute = self.root.path().join(&job.place.real);
        let journal = match self
            .journals
            .as_ref()
            .map(|all| all.begin(&absolute, &held.bytes, &after))
        {
            Some(Ok(journal)) => Some(journal),
            Some(Err(error)) => {
                return Err(fault("the journal of an in-place write cannot be written", &error));
            }
            None => {
                job.warnings.push("written in place without a journal, because there is no state folder: a crash during the write would have damaged the file".into());
                None
            }
        };
        if !holds(&target, &held.bytes).unwrap_or(false) {
            self.end_journal(journal);
            return Err(trouble::conflict(&path, "was changed by another program at this moment"));
        }
        job.warnings.push(format!("written in place, because {why}"));
        if let Err(error) = in_place::overwrite(&target, held.bytes.len(), &after) {
            return match in_place::overwrite(&target, after.len(), &held.bytes) {
                Ok(()) => {
                    self.end_journal(journal);
                    Err(fault("the write failed and was taken back", &error))
                }
                Err(back) => {
                    let mut refusal = fault("the write failed", &error);
                    refusal.message = format!(
                        "cannot write `{path}`: {error}, and the old content could not be put back ({back}); the file may be torn"
                    );
                    Err(refusal.hint("Free some disk space; restitch repairs the file from its journal at the next start."))
                }
            };
        }
        if let Err(what) = held.metadata.restore(&target) {
            job.warnings.push(format!("the in-place write lost {what}; set it again"));
        }
        Ok(Done::InPlace { target, journal })
    }

    pub(super) fn end_journal(&self, journal: Option<Journal>) {
        if let (Some(journals), Some(journal)) = (&self.journals, journal)
            && let Err(error) = journals.end(journal)
        {
            tracing::debug!(%error, "cannot remove a journal");
        }
    }

    fn take_back(&self, job: &Job<'_>, done: Done) -> io::Result<()> {
        let ours = match job.edit.after() {
            After::Content(bytes) => &**bytes,
            After::Removed => &[],
        };
        let before = job.held.as_ref().map(|held| (&*held.bytes, &held.metadata));
        match (done, before) {
            (Done::Created(file), _) => {
                if job.place.is(&file)? {
                    job.place.folder.unlink(&job.place.name)?;
                }
                Ok(())
            }
            (Done::Exchanged(displaced), _) => displaced.take_back(ours),
            (Done::Replaced(_), Some((bytes, metadata))) => {
                let temp = match Temp::write(&job.place, bytes, Some(metadata)) {
                    Ok(temp) => temp,
                    Err(NoTemp::Io(error)) => return Err(error),
                    Err(NoTemp::NotTheSame(what)) => return Err(io::Error::other(what)),
                };
                temp.replace_at(&job.place).map(drop).map_err(|(_, error)| error)
            }
            (Done::InPlace { target, journal }, Some((bytes, _))) => {
                in_place::overwrite(&target, ours.len(), bytes)?;
                self.end_journal(journal);
                Ok(())
            }
            (Done::Removed(aside), _) => aside.take_back(),
            (Done::Replaced(_) | Done::InPlace { .. }, None) => Ok(()),
        }
    }
}

fn in_place(job: &Job<'_>, why: String) -> Result<PreparedWrite, Refusal> {
    let path = job.edit.path();
    match job.place.open(OFlags::RDWR) {
        Ok(target) => {
            let held = job.held.as_ref().map(|held| FileId::of(&held.file));
            match (held, FileId::of(&target)) {
                (Some(Ok(held)), Ok(id)) if held == id => {
                    Ok(PreparedWrite::InPlace { target, why })
                }
                _ => Err(trouble::conflict(path, "was replaced by another program at this moment")),
            }
        }
        Err(NotAFile::Io(error)) => {
            Err(trouble::unwritten(path, "cannot open it for writing", &error))
        }
        Err(why) => Err(trouble::not_a_file(path, why)),
    }
}
