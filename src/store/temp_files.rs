//! Temporary files: their names, and the cleanup of those that a dead process left behind.
//!
//! A temp file is removed only if all of this holds: its name has our form, it is a regular file
//! of this user without further hard links, its process is dead, its lock is free (a process in
//! another container looks dead, but its lock is still held), and it is at least a minute old.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, OFlags};
use rustix::process::Pid;

use super::confine::{FileId, Folder};
use super::lock::{self, LockOutcome};

const PREFIX: &str = ".restitch-";
const SUFFIX: &str = ".tmp";
const MIN_AGE: Duration = Duration::from_secs(60);

/// A fresh name: `.restitch-PID-RANDOM.tmp`.
pub(super) fn temp_name() -> OsString {
    format!("{PREFIX}{}-{:016x}{SUFFIX}", std::process::id(), lock::random()).into()
}

/// The process id in the name of a temp file; `None` for any other name.
fn process_of(name: &OsStr) -> Option<i32> {
    let (pid, random) =
        name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once('-')?;
    let is_random = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pid: i32 = pid.parse().ok()?;
    (is_random && pid > 0).then_some(pid)
}

/// Whether no process has this id.
fn is_dead(pid: i32) -> bool {
    Pid::from_raw(pid)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// Removes the temp files that dead processes left in `folder`; returns how many. Errors are only
/// logged, because they are no reason to fail an edit.
pub(super) fn reclaim_all(folder: &Folder) -> usize {
    let names = match folder.names() {
        Ok(names) => names,
        Err(error) => {
            tracing::debug!(%error, "cannot look for left-over temp files");
            return 0;
        }
    };
    names.into_iter().filter(|name| reclaim(folder, name)).count()
}

/// Removes one temp file if all the conditions of this module hold; returns whether it was removed.
fn reclaim(folder: &Folder, name: &OsStr) -> bool {
    if !process_of(name).is_some_and(is_dead) {
        return false;
    }
    let Ok(seen) = folder.stat(name) else { return false };
    if FileType::from_raw_mode(seen.st_mode) != FileType::RegularFile {
        return false;
    }
    let Ok(file) = folder.open(name, OFlags::RDONLY) else { return false };
    let Ok(meta) = file.metadata() else { return false };
    let age = meta.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
    let is_ours = meta.uid() == rustix::process::geteuid().as_raw()
        && meta.nlink() == 1
        && FileId::of(&file).ok() == Some(FileId::of_stat(&seen));
    let is_unlocked =
        matches!(lock::try_lock(&file), Ok(LockOutcome::Acquired | LockOutcome::Unsupported));
    let reclaimed = is_ours
        && is_unlocked
        && age.is_some_and(|age| age >= MIN_AGE)
        && folder.unlink(name).is_ok();
    if reclaimed {
        tracing::info!(name = %name.to_string_lossy(), "removed a temp file of a dead process");
    }
    reclaimed
}
