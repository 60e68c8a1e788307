//! One commit, from checked edits to bytes on the disk: all of its files or none.
//!
//! Find the places, take the locks, look again at what is there, write everything that
//! can fail to temp files, note the intent, and only then touch the files, in sorted
//! order. An error up to there leaves all as it was; an error later takes back what was
//! done. Once the last file is in place nothing is reported as a failure any more.

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

use super::confine::{FileId, Made, NotAFile, Place};
use super::disk::{Disk, Promise, UNDER_WAY};
use super::history::{Entry, Intent, Keep};
use super::in_place::{self, Journal};
use super::lock::{self, Key, Locked, Patience, Turn};
use super::metadata::Metadata;
use super::replace::{Aside, Displaced, NO_FLAGS, NoTemp, Temp, read_all, set_aside};
use super::trouble;
use crate::edit::{After, Durability, EditCode, Refusal, VerifiedEdit, WriteMethod};
use crate::port::{Change, Committed};
use crate::text::{ContentHash, Snapshot};

/// An edit to commit, and what undo adds to it.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) edit: VerifiedEdit,
    /// For a file that is made again: what it was like.
    pub(super) metadata: Option<Metadata>,
    /// Folders to remove afterwards if they are empty, outermost first.
    pub(super) folders: Vec<PathBuf>,
}

impl From<VerifiedEdit> for Order {
    fn from(edit: VerifiedEdit) -> Self {
        Self { edit, metadata: None, folders: Vec::new() }
    }
}

/// The circumstances of a commit.
#[derive(Debug)]
pub(super) struct How<'a> {
    pub(super) request: Option<&'a str>,
    pub(super) undoes: Option<u64>,
    /// Set when nobody waits for the result any more.
    pub(super) abandoned: &'a AtomicBool,
}

/// One file of the commit on its way.
struct Job<'a> {
    at: usize,
    order: &'a Order,
    /// What a new file shall be like, when it takes over from another.
    like: Option<Metadata>,
    edit: VerifiedEdit,
    place: Place,
    made: Grown,
    held: Option<Held>,
    warnings: Vec<String>,
}

/// The file as it was found, locked.
struct Held {
    file: File,
    bytes: Vec<u8>,
    metadata: Metadata,
    names: u64,
}

/// Folders that were made for a new file; gone again unless the commit goes through.
#[derive(Debug, Default)]
struct Grown {
    folders: Vec<Made>,
    stay: bool,
}

impl Drop for Grown {
    fn drop(&mut self) {
        if !self.stay {
            for made in self.folders.iter().rev() {
                // Somebody may use it by now; then it stays.
                let _ = made.parent.remove_folder(&made.name);
            }
        }
    }
}

/// A write that is prepared as far as it can be without being seen.
enum Step {
    Create(Temp),
    Replace(Temp),
    InPlace { target: File, why: String },
    Remove,
}

/// A write that happened and can still be taken back.
enum Done {
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
    /// Commits all orders or none; answers in their order.
    pub(super) fn commit(
        &self,
        orders: &[Order],
        how: &How<'_>,
    ) -> Result<Vec<Committed>, Refusal> {
        let Some(first) = orders.first() else { return Ok(Vec::new()) };
        if let Some(entry) = how.request.and_then(|id| self.by_request(id)) {
            return self.recorded(&entry);
        }
        self.recover();
        let deadline = Instant::now() + self.options.lock_wait;
        let mut patience = Patience::until(deadline);
        loop {
            if let Some(done) = self.attempt(orders, how, deadline)? {
                return Ok(done);
            }
            if !patience.wait() {
                return Err(trouble::conflict(
                    first.edit.path(),
                    "or a file of the same commit is locked by another program",
                ));
            }
        }
    }

    /// `None`: a file moved away under the lock, or its lock is taken. Try again.
    fn attempt(
        &self,
        orders: &[Order],
        how: &How<'_>,
        deadline: Instant,
    ) -> Result<Option<Vec<Committed>>, Refusal> {
        let mut jobs = Vec::new();
        for (at, order) in orders.iter().enumerate() {
            jobs.push(self.job(at, order)?);
        }
        // Sorted, so that two commits over the same files meet in the same order.
        jobs.sort_by(|a, b| a.place.real.cmp(&b.place.real));
        let keys: Vec<Key> = jobs.iter().map(|job| Key::of(&job.place)).collect();
        refuse_twice(&jobs, &keys)?;
        let Some(_turn) = Turn::take(keys, deadline) else { return Ok(None) };
        let patience = if jobs.len() == 1 { Some(Patience::until(deadline)) } else { None };
        let mut patience = patience;
        for job in &mut jobs {
            if !self.hold(job, patience.as_mut())? {
                return Ok(None);
            }
        }
        refuse_one_file_twice(&jobs)?;
        carry_over_a_move(&mut jobs);
        for job in &mut jobs {
            if let Some(entry) = self.look_again(job)? {
                if orders.len() == 1 {
                    return self.recorded(&entry).map(Some);
                }
                return Err(trouble::conflict(job.edit.path(), "has this very change already"));
            }
        }
        // The waiting is over; from here to the end a signal lets us finish.
        let _under_way = UNDER_WAY.read().unwrap_or_else(PoisonError::into_inner);
        let mut steps = Vec::new();
        for job in &mut jobs {
            steps.push(self.prepare(job)?);
        }
        if how.abandoned.load(Ordering::Acquire) {
            return Err(trouble::conflict(
                orders[0].edit.path(),
                "was not written: the call was cancelled",
            ));
        }
        let revision = self.note(&mut jobs, how);
        let mark = self.mark_batch(jobs.len(), revision);
        let done = match self.carry_out(&mut jobs, steps) {
            Ok(done) => done,
            Err(refusal) => {
                self.forget(revision);
                self.release_batch(mark);
                return Err(refusal);
            }
        };
        let committed = self.finish(jobs, done, revision);
        self.release_batch(mark);
        Ok(Some(committed))
    }

    fn job<'a>(&self, at: usize, order: &'a Order) -> Result<Job<'a>, Refusal> {
        let path = order.edit.path();
        self.admit_letters(path)?;
        let mut made = Grown::default();
        let denied = RefCell::new(None);
        let place = if order.edit.base().is_none() {
            let allow = |real: &Path| match self.admit_real(path, real) {
                Ok(()) => true,
                Err(refusal) => {
                    denied.replace(Some(refusal));
                    false
                }
            };
            self.root.place_making(path.as_path(), &mut made.folders, &allow)
        } else {
            self.root.place(path.as_path())
        };
        if let Some(refusal) = denied.into_inner() {
            return Err(refusal);
        }
        let place = place.map_err(|error| {
            if trouble::is(&error, &[Errno::PERM, Errno::ACCESS, Errno::ROFS, Errno::NOSPC]) {
                trouble::unwritten(path, "cannot reach its folder", &error)
            } else {
                trouble::unreachable(path, &error)
            }
        })?;
        self.admit_real(path, &place.real)?;
        if order.edit.base().is_none()
            && order.metadata.is_none()
            && let Some(why) = super::protect::unportable(path.as_str())
        {
            return Err(Refusal::new(
                EditCode::InvalidPath,
                format!("the new name `{path}` {why}"),
            )
            .at(path.as_str())
            .hint("Choose a name that every system can hold."));
        }
        let edit = order.edit.clone();
        Ok(Job {
            at,
            order,
            like: order.metadata.clone(),
            edit,
            place,
            made,
            held: None,
            warnings: Vec::new(),
        })
    }

    /// Locks the file; `false` when that has to be tried again from the start.
    fn hold(&self, job: &mut Job<'_>, patience: Option<&mut Patience>) -> Result<bool, Refusal> {
        let path = job.order.edit.path();
        if job.edit.base().is_none() {
            return match job.place.folder.stat(&job.place.name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
                Err(error) => Err(trouble::unreadable(path, &error)),
                Ok(_) => match self.already_created(job) {
                    // Not an error: the same creation, delivered again.
                    Some(_) => Ok(true),
                    None => Err(trouble::exists(path)),
                },
            };
        }
        let file = match job.place.open(OFlags::RDONLY) {
            Ok(file) => file,
            Err(NotAFile::Moved) => return Ok(false),
            Err(why) => return Err(trouble::not_a_file(path, why)),
        };
        let mut patience = patience;
        let fault = |error: io::Error| trouble::unreadable(path, &error);
        loop {
            match lock::try_lock(&file).map_err(fault)? {
                Locked::Held => break,
                Locked::Unsupported => {
                    job.warnings.push(
                        "this file system has no locks; other processes were not kept out".into(),
                    );
                    break;
                }
                Locked::Busy => {
                    let Some(patience) = patience.as_deref_mut() else { return Ok(false) };
                    if !job.place.is(&file).map_err(fault)? || !patience.wait() {
                        return Ok(false);
                    }
                }
            }
        }
        if !job.place.is(&file).map_err(fault)? {
            return Ok(false);
        }
        let bytes = match read_all(&file, self.options.max_bytes) {
            Err(error) if trouble::is(&error, &[Errno::FBIG]) => {
                let size = file.metadata().map_err(fault)?.len();
                return Err(trouble::too_large(path, size, self.options.max_bytes));
            }
            other => other.map_err(fault)?,
        };
        let metadata = Metadata::of(&file).map_err(fault)?;
        let names = file.metadata().map_err(fault)?.nlink();
        if names > 1 {
            self.admit_identity(path, &job.place, &file)?;
        }
        let writable = rustix::fs::accessat(
            &*job.place.folder,
            &job.place.name,
            Access::WRITE_OK,
            AtFlags::EACCESS,
        );
        match writable {
            Err(Errno::ACCESS) => return Err(trouble::read_only(path)),
            _ if metadata.is_read_only() => return Err(trouble::read_only(path)),
            Err(error) => {
                return Err(trouble::unwritten(path, "it is not writable", &error.into()));
            }
            Ok(()) => {}
        }
        job.held = Some(Held { file, bytes, metadata, names });
        Ok(true)
    }

    /// Under the lock: is the file still what the edit was made for? Decides again if it
    /// changed elsewhere. `Some`: this very change was committed already.
    fn look_again(&self, job: &mut Job<'_>) -> Result<Option<Entry>, Refusal> {
        let path = job.edit.path().clone();
        let (Some(held), Some(before)) = (&job.held, job.edit.before()) else {
            return Ok(self.already_created(job));
        };
        if held.bytes == before.bytes() {
            return Ok(None);
        }
        if let After::Content(after) = job.edit.after()
            && **after == *held.bytes
            && let Some(entry) = self.last_commit(&job.place.display())
            && entry.files.len() == 1
            && entry.files[0].after == Some(ContentHash::of(after))
            && entry.files[0].before.as_ref().map(|version| version.sha256) == job.edit.base()
        {
            return Ok(Some(entry));
        }
        let conflict = |why: &str| trouble::conflict(&path, why);
        let now = Snapshot::decode(held.bytes.clone())
            .map_err(|_| conflict("was changed by another program and is no text now"))?;
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
    fn already_created(&self, job: &Job<'_>) -> Option<Entry> {
        let After::Content(after) = job.edit.after() else { return None };
        let there = job.place.open(OFlags::RDONLY).ok()?;
        if job.held.is_some() || read_all(&there, after.len() as u64).ok()? != **after {
            return None;
        }
        let entry = self.last_commit(&job.place.display())?;
        let same = entry.files.len() == 1
            && entry.files[0].before.is_none()
            && entry.files[0].after == Some(ContentHash::of(after));
        same.then_some(entry)
    }

    /// Chooses how to write and does all of it that nobody can see.
    fn prepare(&self, job: &mut Job<'_>) -> Result<Step, Refusal> {
        let path = job.edit.path().clone();
        let After::Content(after) = job.edit.after().clone() else { return Ok(Step::Remove) };
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
                    job.warnings.push(format!("the file could not get back {what}"));
                    Temp::write(&job.place, &after, None).map_err(|why| match why {
                        NoTemp::Io(error) => fault("cannot write the new file", error),
                        NoTemp::NotTheSame(what) => {
                            fault("cannot write the new file", io::Error::other(what))
                        }
                    })?
                }
            };
            self.sync_temp(&temp).map_err(|error| fault("cannot sync the new file", error))?;
            return Ok(Step::Create(temp));
        }
        let Some(held) = &job.held else { return Ok(Step::Remove) };
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
                Ok(Step::Replace(temp))
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

    fn sync_temp(&self, temp: &Temp) -> io::Result<()> {
        match self.options.promise {
            Promise::Durable => temp.sync(),
            Promise::Rename => Ok(()),
        }
    }

    /// Writes the intent to the history. Trouble there is a warning, not a refusal.
    fn note(&self, jobs: &mut [Job<'_>], how: &How<'_>) -> u64 {
        let Some(history) = &self.history else {
            if let (Some(trouble), Some(job)) = (&self.state_trouble, jobs.first_mut()) {
                job.warnings.push(format!("this change cannot be undone: {trouble}"));
            }
            return self.next_revision();
        };
        let intents: Vec<Intent<'_>> = jobs
            .iter()
            .map(|job| Intent {
                path: job.place.display(),
                before: job
                    .held
                    .as_ref()
                    .map(|held| (held.bytes.as_slice(), held.metadata.clone())),
                after: match job.edit.after() {
                    After::Content(bytes) => Some(&**bytes),
                    After::Removed => None,
                },
                made: job.made.folders.iter().map(|made| made.real.clone()).collect(),
            })
            .collect();
        let keep = if jobs.len() > 1 && self.options.promise == Promise::Durable {
            Keep::Synced
        } else {
            Keep::Lazily
        };
        match history.begin(&intents, how.request, how.undoes, keep) {
            Ok(revision) => {
                self.seen_revision(revision);
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

    fn forget(&self, revision: u64) {
        if let Some(Err(error)) = self.history.as_ref().map(|history| history.failed(revision)) {
            tracing::debug!(%error, revision, "cannot note a failed commit");
        }
    }

    /// Touches the files. On an error takes back those already touched.
    fn carry_out(&self, jobs: &mut [Job<'_>], steps: Vec<Step>) -> Result<Vec<Done>, Refusal> {
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

    fn touch(&self, job: &mut Job<'_>, step: Step) -> Result<Done, Refusal> {
        let path = job.edit.path().clone();
        let fault = |error: &io::Error| trouble::unwritten(&path, "the last step failed", error);
        match step {
            Step::Create(temp) => match temp.create_at(&job.place) {
                Ok(file) => Ok(Done::Created(file)),
                Err((_, error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(trouble::exists(&path))
                }
                Err((_, error)) => Err(fault(&error)),
            },
            Step::Replace(temp) => match temp.exchange_with(&job.place) {
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
            Step::InPlace { target, why } => self.overwrite(job, target, &why),
            Step::Remove => {
                let aside = set_aside(&job.place).map_err(|error| fault(&error))?;
                let expected = job.held.as_ref().map(|held| held.bytes.as_slice());
                if aside.bytes().ok().as_deref() != expected {
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

    /// Without an exchange the last look is as near to the rename as it can be.
    fn replace_blindly(&self, job: &Job<'_>, temp: Temp) -> Result<Done, Refusal> {
        let path = job.edit.path();
        let fault = |error: io::Error| trouble::unwritten(path, "the last step failed", &error);
        let Some(held) = &job.held else { return Err(trouble::missing(path)) };
        let now = read_all(&held.file, self.options.max_bytes).map_err(fault)?;
        if now != held.bytes || !job.place.is(&held.file).map_err(fault)? {
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
                job.warnings.push("written in place without a journal, because there is no state folder: a crash would have torn it".into());
                None
            }
        };
        let now = read_all(&target, self.options.max_bytes).unwrap_or_default();
        if now != held.bytes {
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
                    Err(refusal.hint("Free the disk; the next start of restitch puts the file right from its journal."))
                }
            };
        }
        Ok(Done::InPlace { target, journal })
    }

    fn end_journal(&self, journal: Option<Journal>) {
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
        let before = job.held.as_ref().map(|held| (held.bytes.as_slice(), &held.metadata));
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

    /// Everything is in place: make it durable, look at what was displaced, tell.
    fn finish(&self, jobs: Vec<Job<'_>>, done: Vec<Done>, revision: u64) -> Vec<Committed> {
        let unsynced = self.sync_folders(&jobs, &done);
        let mut committed: Vec<(usize, Committed)> = Vec::new();
        for (mut job, done) in jobs.into_iter().zip(done) {
            job.made.stay = true;
            let (method, file) = self.settle(&mut job, done, revision);
            let mut durability = match self.options.promise {
                Promise::Durable => Durability::Durable,
                Promise::Rename => Durability::Unknown,
            };
            if let Some(error) = &unsynced {
                durability = Durability::Unknown;
                job.warnings.push(format!(
                    "written, but its folder could not be synced ({error}); a power cut might undo it"
                ));
            }
            if let Some(trouble) = self.read_back(&job, file.as_ref()) {
                durability = Durability::Unknown;
                job.warnings.push(trouble);
            }
            for folder in job.order.folders.iter().rev() {
                if let Ok(place) = self.root.place(folder) {
                    let _ = place.folder.remove_folder(&place.name);
                }
            }
            let sha256 = match job.edit.after() {
                After::Content(bytes) => Some(ContentHash::of(bytes)),
                After::Removed => None,
            };
            self.feed.announce(Change { revision, path: job.place.display(), sha256 });
            let Job { at, edit, warnings, .. } = job;
            committed.push((at, Committed { edit, revision, durability, method, warnings }));
        }
        if let Some(Err(error)) = self.history.as_ref().map(|history| history.done(revision)) {
            tracing::debug!(%error, revision, "cannot confirm a commit in the history");
        }
        committed.sort_by_key(|(at, _)| *at);
        committed.into_iter().map(|(_, committed)| committed).collect()
    }

    /// Syncs each folder in which a name changed, once.
    fn sync_folders(&self, jobs: &[Job<'_>], done: &[Done]) -> Option<io::Error> {
        if self.options.promise == Promise::Rename {
            return None;
        }
        let mut synced: BTreeSet<FileId> = BTreeSet::new();
        let mut trouble = None;
        for (job, done) in jobs.iter().zip(done) {
            let changed = !matches!(done, Done::InPlace { .. });
            let above = job.made.folders.iter().map(|made| &made.parent);
            for folder in above.chain(changed.then_some(&job.place.folder)) {
                if synced.insert(folder.id())
                    && let Err(error) = folder.sync()
                {
                    trouble = Some(error);
                }
            }
        }
        trouble
    }

    /// Looks at what was displaced and clears away; returns the file that is there now.
    fn settle(&self, job: &mut Job<'_>, done: Done, revision: u64) -> (WriteMethod, Option<File>) {
        match done {
            Done::Created(file) => (WriteMethod::Created, Some(file)),
            Done::Replaced(file) => (WriteMethod::Replaced, Some(file)),
            Done::InPlace { target, journal } => {
                self.end_journal(journal);
                (WriteMethod::InPlace, Some(target))
            }
            Done::Removed(aside) => {
                let _ = aside.discard();
                (WriteMethod::Removed, None)
            }
            Done::Exchanged(displaced) => {
                let file = displaced.new_file().try_clone().ok();
                // Looked at only now, a sync after the exchange: a program that had the
                // old file open has had the time to write its bytes into it.
                let found = displaced.bytes();
                let expected = job.held.as_ref().map(|held| held.bytes.as_slice());
                if found.as_deref().ok() == expected {
                    let _ = displaced.discard();
                } else {
                    self.keep_foreign(job, displaced, found, revision);
                }
                (WriteMethod::Replaced, file)
            }
        }
    }

    /// Another program saved in the moment of the exchange. Its version is not lost.
    fn keep_foreign(
        &self,
        job: &mut Job<'_>,
        displaced: Displaced,
        found: io::Result<Vec<u8>>,
        revision: u64,
    ) {
        let path = job.edit.path().clone();
        if let (Ok(bytes), Some(history), Some(held)) = (&found, &self.history, &job.held)
            && history
                .displaced(revision, &job.place.display(), bytes, held.metadata.clone())
                .is_ok()
        {
            let _ = displaced.discard();
            job.warnings.push(format!(
                "another program saved `{path}` at the moment of this edit, without this edit in it; \
                 its version was kept and `undo {revision}` brings it back"
            ));
            return;
        }
        job.warnings.push(match displaced.keep() {
            Ok(name) => format!(
                "another program saved `{path}` at the moment of this edit, without this edit in it; \
                 its version was kept beside it as `{}`",
                name.to_string_lossy()
            ),
            Err(error) => format!(
                "another program saved `{path}` at the moment of this edit; its version was kept \
                 under a temporary name in the same folder ({error})"
            ),
        });
    }

    /// Reads the file again through its name.
    fn read_back(&self, job: &Job<'_>, ours: Option<&File>) -> Option<String> {
        let path = job.edit.path();
        let After::Content(after) = job.edit.after() else { return None };
        let Ok(there) = job.place.open(OFlags::RDONLY) else {
            return Some(format!(
                "`{path}` was moved or removed by another program right after this edit"
            ));
        };
        let same = ours.is_some_and(|ours| FileId::of(ours).ok() == FileId::of(&there).ok());
        match read_all(&there, self.options.max_bytes.max(after.len() as u64)) {
            Ok(bytes) if bytes == **after => None,
            Ok(_) if !same => {
                Some(format!("`{path}` was replaced by another program right after this edit"))
            }
            Ok(_) => Some(format!(
                "`{path}` reads back with other bytes than were written: another program wrote to it, or the file system is at fault"
            )),
            Err(error) => Some(format!("`{path}` could not be read back ({error})")),
        }
    }
}

fn in_place(job: &Job<'_>, why: String) -> Result<Step, Refusal> {
    let path = job.edit.path();
    match job.place.open(OFlags::RDWR) {
        Ok(target) => {
            let held = job.held.as_ref().map(|held| FileId::of(&held.file));
            match (held, FileId::of(&target)) {
                (Some(Ok(held)), Ok(id)) if held == id => Ok(Step::InPlace { target, why }),
                _ => Err(trouble::conflict(path, "was replaced by another program at this moment")),
            }
        }
        Err(NotAFile::Io(error)) => {
            Err(trouble::unwritten(path, "cannot open it for writing", &error))
        }
        Err(why) => Err(trouble::not_a_file(path, why)),
    }
}

fn refuse_twice(jobs: &[Job<'_>], keys: &[Key]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for (job, key) in jobs.iter().zip(keys) {
        if !seen.insert(key) {
            return Err(twice(job));
        }
    }
    Ok(())
}

/// Two names of one file: the second edit would not see the first.
fn refuse_one_file_twice(jobs: &[Job<'_>]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for job in jobs {
        if let Some(held) = &job.held
            && let Ok(id) = FileId::of(&held.file)
            && !seen.insert(id)
        {
            return Err(twice(job));
        }
    }
    Ok(())
}

/// One file removed and one made in the same commit is a file that moved: it keeps what it is.
fn carry_over_a_move(jobs: &mut [Job<'_>]) {
    let removed: Vec<&Job<'_>> =
        jobs.iter().filter(|job| matches!(job.edit.after(), After::Removed)).collect();
    let metadata = match removed.as_slice() {
        [one] => one.held.as_ref().map(|held| held.metadata.clone()),
        _ => None,
    };
    let mut made: Vec<&mut Job<'_>> =
        jobs.iter_mut().filter(|job| job.edit.base().is_none()).collect();
    if let [one] = made.as_mut_slice()
        && one.like.is_none()
    {
        one.like = metadata;
    }
}

fn twice(job: &Job<'_>) -> Refusal {
    let path = job.edit.path();
    Refusal::new(
        EditCode::Overlap,
        format!("`{path}` is in this commit twice, under one name or two"),
    )
    .at(path.as_str())
    .hint("Put all edits of one file together.")
}
