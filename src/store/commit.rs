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

use super::carry::PreparedWrite;
use super::confine::{FileId, Made, NotAFile, Target};
use super::disk::{Disk, UNDER_WAY};
use super::history::{Intent, Keep};
use super::lock::{self, Key, Locked, Patience, Turn};
use super::log::Entry;
use super::metadata::Metadata;
use super::options::Promise;
use super::replace::{holds, read_known};
use super::trouble;
use crate::edit::{After, EditCode, Refusal, VerifiedEdit};
use crate::port::{Committed, RequestId};
use crate::text::Content;

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
    pub(super) request: Option<&'a RequestId>,
    pub(super) undoes: Option<u64>,
    /// Set when the caller has stopped waiting for the result.
    pub(super) abandoned: &'a AtomicBool,
}

/// One file of the commit on its way.
pub(super) struct Job<'a> {
    pub(super) at: usize,
    pub(super) order: &'a Order,
    /// The metadata of a new file that takes the place of another.
    pub(super) like: Option<Metadata>,
    pub(super) edit: VerifiedEdit,
    pub(super) place: Target,
    pub(super) made: Grown,
    pub(super) held: Option<Held>,
    pub(super) warnings: Vec<String>,
}

impl Job<'_> {
    /// The name in the history and the feed: the path without links, or the caller's path if the
    /// former is not UTF-8.
    pub(super) fn name(&self) -> String {
        match self.place.real.to_str() {
            Some(real) => real.to_owned(),
            None => self.order.edit.path().as_str().to_owned(),
        }
    }
}

/// The file as it was found, locked.
pub(super) struct Held {
    pub(super) file: File,
    pub(super) bytes: Content,
    pub(super) metadata: Metadata,
    pub(super) names: u64,
}

/// Folders that were made for a new file; gone again unless the commit goes through.
#[derive(Debug, Default)]
pub(super) struct Grown {
    pub(super) folders: Vec<Made>,
    pub(super) stay: bool,
}

impl Drop for Grown {
    fn drop(&mut self) {
        if !self.stay {
            for made in self.folders.iter().rev() {
                // Another process may use it by now; then it stays.
                let _ = made.parent.remove_folder(&made.name);
            }
        }
    }
}

impl Disk {
    /// Commits all orders or none; answers in their order.
    pub(super) fn commit(
        &self,
        orders: &[Order],
        how: &How<'_>,
    ) -> Result<Vec<Committed>, Refusal> {
        let Some(first) = orders.first() else { return Ok(Vec::new()) };
        self.check_root()?;
        if let Some(request) = how.request
            && let Some(entry) = self.by_request(request)
        {
            return match entry.is_of(request, orders) {
                true => self.recorded(&entry),
                false => Err(request.reused()),
            };
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
                return Err(trouble::conflict(job.edit.path(), "already has exactly this change"));
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
        let revision = self.note(&mut jobs, &steps, how);
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
        job.place.copy_up();
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
        let bytes = match read_known(&file, job.edit.before(), self.options.max_bytes) {
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

    /// Under the lock: checks that the file is still the version that the edit was made for. If it
    /// changed, matches the edit again. `Some` if exactly this change was already committed.
    fn look_again(&self, job: &mut Job<'_>) -> Result<Option<Entry>, Refusal> {
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
        let conflict = |why: &str| trouble::conflict(&path, why);
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
    fn already_created(&self, job: &Job<'_>) -> Option<Entry> {
        let After::Content(after) = job.edit.after() else { return None };
        let there = job.place.open(OFlags::RDONLY).ok()?;
        if job.held.is_some() || !holds(&there, after).ok()? {
            return None;
        }
        let entry = self.last_commit(&job.name())?;
        let same = entry.files.len() == 1
            && entry.files[0].before.is_none()
            && entry.files[0].after == Some(after.hash());
        same.then_some(entry)
    }

    /// Writes the intent to the history. Trouble there is a warning, not a refusal.
    fn note(&self, jobs: &mut [Job<'_>], steps: &[PreparedWrite], how: &How<'_>) -> u64 {
        let Some(history) = &self.history else {
            if let (Some(trouble), Some(job)) = (&self.state_trouble, jobs.first_mut()) {
                job.warnings.push(format!("this change cannot be undone: {trouble}"));
            }
            return self.next_revision();
        };
        let intents: Vec<Intent<'_>> = jobs
            .iter()
            .zip(steps)
            .map(|(job, step)| Intent {
                path: job.name(),
                before: job.held.as_ref().map(|held| (&held.bytes, held.metadata.clone())),
                after: match job.edit.after() {
                    After::Content(bytes) => Some(bytes),
                    After::Removed => None,
                },
                made: job.made.folders.iter().map(|made| made.real.clone()).collect(),
                is_displaced: matches!(step, PreparedWrite::Replace(_)),
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
        format!("this commit has two edits of `{path}`, perhaps under different names"),
    )
    .at(path.as_str())
    .hint("Put all edits of one file together.")
}
