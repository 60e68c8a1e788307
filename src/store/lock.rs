//! One writer at a time: a table of locks for the threads of this process, and an advisory
//! lock on the file itself for other processes.
//!
//! The lock sits on the file, not on a name, so symlinks, hard links and bind mounts
//! cannot get around it, and the system frees it when its holder dies. Because a commit
//! puts a new file under the name, a process that gets the lock must check that the name
//! still means the file that was locked; `disk.rs` does that and starts over if not.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::confine::{FileId, Target};

/// A file by its folder and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileKey(FileId, OsString);

impl FileKey {
    pub(super) fn of(target: &Target) -> Self {
        Self(target.folder.id(), target.name.clone())
    }
}

#[derive(Default)]
struct LockTable {
    taken: Mutex<HashSet<FileKey>>,
    freed: Condvar,
}

/// One for the process, so that two stores over the same folder exclude each other.
static LOCKS: LazyLock<LockTable> = LazyLock::new(LockTable::default);

/// The lock of this thread on some files, among the threads of this process. All are taken at
/// once, so that no two threads can each hold what the other waits for.
#[derive(Debug)]
pub(super) struct WriteLock(Vec<FileKey>);

impl WriteLock {
    /// `None` when the deadline passes.
    pub(super) fn acquire(keys: Vec<FileKey>, deadline: Instant) -> Option<Self> {
        // The set is whole after a panic elsewhere: each change is one insert or remove.
        let mut taken = LOCKS.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while keys.iter().any(|key| taken.contains(key)) {
            let left = deadline.checked_duration_since(Instant::now())?;
            let waited = LOCKS.freed.wait_timeout(taken, left);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        taken.extend(keys.iter().cloned());
        Some(Self(keys))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        let mut taken = LOCKS.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for key in &self.0 {
            taken.remove(key);
        }
        drop(taken);
        LOCKS.freed.notify_all();
    }
}

/// The outcome of an attempt to lock a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockOutcome {
    /// We hold it until the file is closed.
    Acquired,
    /// The file system has no locks.
    Unsupported,
    /// Another process or thread holds it.
    Busy,
}

/// Tries once.
pub(super) fn try_lock(file: &File) -> io::Result<LockOutcome> {
    match file.try_lock() {
        Ok(()) => Ok(LockOutcome::Acquired),
        Err(TryLockError::WouldBlock) => Ok(LockOutcome::Busy),
        Err(TryLockError::Error(error)) => match error.kind() {
            io::ErrorKind::Interrupted => Ok(LockOutcome::Busy),
            io::ErrorKind::Unsupported => Ok(LockOutcome::Unsupported),
            _ if super::refusals::has_errno(
                &error,
                &[rustix::io::Errno::NOLCK, rustix::io::Errno::BADF, rustix::io::Errno::OPNOTSUPP],
            ) =>
            {
                Ok(LockOutcome::Unsupported)
            }
            _ => Err(error),
        },
    }
}

/// Waits between two attempts, each time a little longer and never in step with others.
#[derive(Debug)]
pub(super) struct Backoff {
    deadline: Instant,
    micros: u64,
}

impl Backoff {
    pub(super) fn until(deadline: Instant) -> Self {
        Self { deadline, micros: 50 }
    }

    /// `false` when the time is over.
    pub(super) fn wait(&mut self) -> bool {
        if Instant::now() >= self.deadline {
            return false;
        }
        let jitter = random() % self.micros;
        std::thread::sleep(Duration::from_micros(self.micros / 2 + jitter));
        self.micros = (self.micros * 2).min(2_000);
        true
    }
}

/// A number that no other process is likely to have drawn.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(Instant::now())
}
