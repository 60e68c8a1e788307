//! One writer at a time: a table of locks for the threads of this process, and an advisory
//! lock on the file itself for other processes.
//!
//! The lock is on the file, not on its name, so symlinks, hard links and bind mounts
//! cannot get around it, and the system frees it when its holder dies. Because a commit
//! moves a new file to the name, a process that gets the lock must check that the name
//! still leads to the locked file; `commit.rs` checks that and starts over if it does not.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::confine::{FileId, Target};

/// Identifies a file by its folder and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileKey(FileId, OsString);

impl FileKey {
    /// The key of a target.
    pub(super) fn of(target: &Target) -> Self {
        Self(target.folder.id(), target.name.clone())
    }
}

#[derive(Default)]
struct LockTable {
    taken: Mutex<HashSet<FileKey>>,
    freed: Condvar,
}

/// One table for the process, so that two stores over the same folder exclude each other.
static LOCKS: LazyLock<LockTable> = LazyLock::new(LockTable::default);

/// The lock of this thread on some files, against the other threads of this process. All files are
/// locked at once, so that no two threads can each hold a file that the other waits for.
#[derive(Debug)]
pub(super) struct WriteLock(Vec<FileKey>);

impl WriteLock {
    /// Waits until all files are free and locks them; `None` if the deadline passes first.
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
    /// This process holds the lock until the file is closed.
    Acquired,
    /// The file system has no locks.
    Unsupported,
    /// Another process or thread holds the lock.
    Busy,
}

/// Tries once to lock the file, without waiting.
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

/// Sleeps between attempts: each time longer, and for a random time, so that waiting processes do
/// not all try at the same moment.
#[derive(Debug)]
pub(super) struct Backoff {
    deadline: Instant,
    pause_micros: u64,
}

impl Backoff {
    /// A backoff that ends at the deadline.
    pub(super) fn until(deadline: Instant) -> Self {
        Self { deadline, pause_micros: 50 }
    }

    /// Sleeps and returns `true`; returns `false` at once if the deadline has passed.
    pub(super) fn wait(&mut self) -> bool {
        if Instant::now() >= self.deadline {
            return false;
        }
        let jitter = random() % self.pause_micros;
        std::thread::sleep(Duration::from_micros(self.pause_micros / 2 + jitter));
        self.pause_micros = (self.pause_micros * 2).min(2_000);
        true
    }
}

/// A random number, for names and delays.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(Instant::now())
}
