//! Keeps the history within its limits: a number of bytes over all roots of a state folder, an age,
//! and a number of commits for each root. The commits of roots that no longer exist are deleted
//! first, then the oldest.
//!
//! The total size is in a file to which every process adds, so that a commit does not have to
//! measure every stored file.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::history::{answer_name, open_in};
use super::lock::{self, LockOutcome};
use super::log::{read_entries, rewrite};
use super::record::CommitRecord;
use super::timeline::{millis, now_millis};

/// At most this many commits of one root are kept, whatever their size, because the log is always
/// read as a whole.
const MAX_COMMITS: usize = 10_000;

/// The history is pruned whatever its size each time that so many commits were made. It is read as a
/// whole for that, and an edit waits meanwhile.
pub(super) const EVERY: usize = 1_000;

/// A file that belongs to no commit is deleted only at this age: a younger one may belong to a
/// commit that is just being written.
const LEFT_OVER_MILLIS: u64 = 600_000;

/// A commit is deleted once it is older than this and commits were made on at least as many later
/// days. So a clock that jumps ahead deletes nothing.
const MAX_AGE_DAYS: u64 = 30;

const DAY_MILLIS: u64 = 24 * 3600 * 1000;

/// Adds to the total size of all histories and returns it. The total is in a file next to `folder`.
/// If it is missing, all files are measured again.
pub(super) fn add_to_total(folder: &Path, added: u64) -> io::Result<u64> {
    let Some(histories_folder) = folder.parent() else { return Ok(0) };
    let file = open_total(histories_folder)?;
    let mut recorded = [0; 32];
    let length = file.read_at(&mut recorded, 0)?;
    let total = match String::from_utf8_lossy(&recorded[..length]).parse() {
        Ok(recorded) => added.saturating_add(recorded),
        Err(_) => measure(histories_folder),
    };
    write_total(&file, total)?;
    Ok(total)
}

/// Opens and locks the file with the total size.
fn open_total(histories_folder: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(histories_folder.join("bytes"))?;
    file.lock()?;
    Ok(file)
}

/// Writes the total size. A file that is truncated first waits for the disk on ext4, at every edit.
fn write_total(file: &File, total: u64) -> io::Result<()> {
    let digits = format!("{total:020}");
    file.write_all_at(digits.as_bytes(), 0)?;
    let len = digits.len() as u64;
    if file.metadata()?.len() > len { file.set_len(len) } else { Ok(()) }
}

/// The total size of all files below a folder, in bytes.
fn measure(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => measure(&entry.path()),
        Ok(meta) if meta.is_file() => meta.len(),
        _ => 0,
    };
    entries.flatten().map(bytes).sum()
}

/// The history of one root, locked.
struct LockedHistory {
    folder: PathBuf,
    /// Whether the root no longer exists.
    is_root_gone: bool,
    /// Whether it is the history of the commit that has called [`prune`].
    is_ours: bool,
    entries: Vec<CommitRecord>,
    /// The files with versions and answers, with their sizes.
    files: HashMap<PathBuf, u64>,
    /// The index of the first entry that is kept.
    first_kept: usize,
    /// Whether all entries before that one are deleted.
    is_cut: bool,
    /// The files of the entries that are kept.
    kept_files: HashSet<PathBuf>,
    /// Today and the days of the commits looked at so far.
    days: HashSet<u64>,
    /// `None` for the history of the caller, which holds its lock.
    _lock: Option<File>,
}

/// Deletes the commits that exceed the limits from all histories in the parent folder of `ours`,
/// including `ours`, whose lock the caller holds. Skips a history that another process is writing.
pub(super) fn prune(ours: &Path, max_bytes: u64) -> io::Result<()> {
    let Some(histories_folder) = ours.parent() else { return Ok(()) };
    let mut histories: Vec<LockedHistory> = fs::read_dir(histories_folder)?
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| LockedHistory::open(entry.path(), ours))
        .collect();
    // In which order commits are kept: those of existing roots first, and of these the newest.
    let mut order = Vec::new();
    for (index, history) in histories.iter().enumerate() {
        let mut latest = 0;
        for (at, entry) in history.entries.iter().enumerate() {
            // A later commit counts as at least as new, even if the clock was set back.
            latest = latest.max(entry.unix_millis);
            order.push((history.is_root_gone, Reverse((latest, at)), index));
        }
    }
    order.sort_unstable();
    // A little less than allowed, so that the next commit does not have to prune again.
    let max_bytes = max_bytes - max_bytes / 8;
    let mut kept_bytes = 0_u64;
    for (_, Reverse((_, at)), index) in order {
        let history = &mut histories[index];
        if history.is_cut {
            continue;
        }
        let is_newest = at + 1 == history.entries.len();
        let mut new_files = history.files_of(&history.entries[at]);
        new_files.retain(|file| !history.kept_files.contains(file));
        let new_bytes: u64 = new_files.iter().filter_map(|file| history.files.get(file)).sum();
        let exceeds_limits = kept_bytes.saturating_add(new_bytes) > max_bytes
            || history.entries.len() - at > MAX_COMMITS - EVERY
            || is_too_old(history.entries[at].unix_millis, &mut history.days);
        if !exceeds_limits || (is_newest && history.is_ours) {
            kept_bytes += new_bytes;
            history.kept_files.extend(new_files);
            history.first_kept = at;
            continue;
        }
        history.is_cut = true;
        // The newest commit of an existing root stays in the log, because the next revision
        // number follows from it.
        if is_newest && !history.is_root_gone {
            history.first_kept = at;
        }
    }
    for history in &histories {
        history.remove_unkept()?;
    }
    drop(histories);
    write_total(&open_total(histories_folder)?, measure(histories_folder))
}

/// Whether a commit is older than [`MAX_AGE_DAYS`], both by the clock and by the number of days with
/// later commits. `days` has today and those days; the function adds the day of this commit.
fn is_too_old(commit_millis: u64, days: &mut HashSet<u64>) -> bool {
    let day = commit_millis / DAY_MILLIS;
    let later_days = days.len() as u64 - u64::from(days.contains(&day));
    days.insert(day);
    commit_millis < now_millis().saturating_sub(MAX_AGE_DAYS * DAY_MILLIS)
        && later_days >= MAX_AGE_DAYS
}

impl LockedHistory {
    /// Locks and reads a history; `None` if another process holds its lock or it cannot be read.
    fn open(folder: PathBuf, ours: &Path) -> Option<Self> {
        let is_ours = folder == ours;
        let mut lock_file = None;
        if !is_ours {
            let file = open_in(&folder, "lock").ok()?;
            if !matches!(lock::try_lock(&file), Ok(LockOutcome::Acquired)) {
                return None;
            }
            lock_file = Some(file);
        }
        let root = fs::read(folder.join("root")).ok().map(OsString::from_vec);
        let is_root_gone = !is_ours && root.is_none_or(|root| !Path::new(&root).is_dir());
        let entries = read_entries(&folder).ok()?;
        let subfolders = ["blobs", "answers"].iter();
        let files = subfolders
            .flat_map(|name| fs::read_dir(folder.join(name)).into_iter().flatten().flatten())
            .filter_map(|file| Some((file.path(), file.metadata().ok()?.len())))
            .collect();
        let first_kept = entries.len();
        Some(Self {
            folder,
            is_root_gone,
            is_ours,
            entries,
            files,
            first_kept,
            is_cut: false,
            kept_files: HashSet::new(),
            days: HashSet::from([now_millis() / DAY_MILLIS]),
            _lock: lock_file,
        })
    }

    /// The files with the versions and the answer of a commit, as far as they exist.
    fn files_of(&self, entry: &CommitRecord) -> Vec<PathBuf> {
        let versions =
            entry.files.iter().flat_map(|file| [file.before_sha256(), file.after]).flatten();
        let blobs = self.folder.join("blobs");
        let mut files: Vec<PathBuf> = versions.map(|hash| blobs.join(hash.to_string())).collect();
        let answers = self.folder.join("answers");
        files.extend(entry.request.as_ref().map(|id| answers.join(answer_name(id))));
        files.retain(|file| self.files.contains_key(file));
        files
    }

    /// Removes the entries before `first_kept` from the log, and the files that are not kept. If the
    /// root is gone and no entry is kept, removes the whole history.
    fn remove_unkept(&self) -> io::Result<()> {
        if self.is_root_gone && self.first_kept >= self.entries.len() {
            return fs::remove_dir_all(&self.folder);
        }
        if self.first_kept > 0 && self.first_kept <= self.entries.len() {
            rewrite(&self.folder, &self.entries[self.first_kept..])?;
        }
        let files_of_commits: HashSet<PathBuf> =
            self.entries.iter().flat_map(|entry| self.files_of(entry)).collect();
        for file in self.files.keys().filter(|file| !self.kept_files.contains(*file)) {
            let is_left_over = || {
                let modified = fs::metadata(file).and_then(|meta| meta.modified()).ok();
                modified.is_none_or(|time| millis(time).abs_diff(now_millis()) > LEFT_OVER_MILLIS)
            };
            if files_of_commits.contains(file) || is_left_over() {
                let _ = fs::remove_file(file);
            }
        }
        Ok(())
    }
}
