//! The limits of the history: bytes over all roots of a state folder, an age, and a number of
//! commits. The oldest commits are deleted first, starting with those of roots that no longer
//! exist.
//!
//! How many bytes there are is counted in a file that every process adds to, so that a
//! commit does not have to look at every file that is kept.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::history::{answer_name, millis, now_millis, open_in};
use super::lock::{self, LockOutcome};
use super::log::{LogEntry, read_entries, rewrite};
use super::options::HistoryLimits;

/// At most this many commits of one root are kept, whatever their size: the log is read as
/// a whole.
const MAX_COMMITS: usize = 10_000;

/// A file that belongs to no commit may be one that is being written.
const LEFT_OVER_AGE: Duration = Duration::from_secs(600);

const DAY_MILLIS: u64 = 24 * 3600 * 1000;

/// Adds to the total size of all histories, which is kept next to `folder`, and returns it.
/// `u64::MAX`, or a missing total, has all files measured again.
pub(super) fn add_to_total(folder: &Path, added: u64) -> io::Result<u64> {
    let Some(histories_folder) = folder.parent() else { return Ok(0) };
    let file = open_count(histories_folder)?;
    let known = read_count(&file)?.filter(|_| added != u64::MAX);
    let sum = match known {
        Some(known) => known.saturating_add(added),
        None => measure(histories_folder),
    };
    write_count(&file, sum)?;
    Ok(sum)
}

fn open_count(histories_folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(histories_folder.join("bytes"))?;
    file.lock()?;
    Ok(file)
}

fn read_count(mut file: &File) -> io::Result<Option<u64>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(<[u8; 8]>::try_from(bytes).ok().map(u64::from_le_bytes))
}

fn write_count(file: &File, sum: u64) -> io::Result<()> {
    file.write_all_at(&sum.to_le_bytes(), 0)?;
    file.set_len(8)
}

/// The bytes of every file below.
fn measure(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => measure(&entry.path()),
        Ok(meta) if meta.is_file() => meta.len(),
        _ => 0,
    };
    entries.flatten().map(bytes).sum()
}

/// One root's history, locked.
struct LockedHistory {
    folder: PathBuf,
    is_gone: bool,
    is_ours: bool,
    entries: Vec<LogEntry>,
    /// The files in it that hold versions and answers, with their sizes.
    files: HashMap<PathBuf, u64>,
    /// From which entry on it is kept.
    first_kept: usize,
    _lock: Option<File>,
}

/// Deletes what exceeds the limits from all histories in the folder of `ours`, including `ours`,
/// whose lock the caller holds. A history that another process is writing to is skipped this time.
pub(super) fn prune(ours: &Path, limits: HistoryLimits) -> io::Result<()> {
    let Some(histories_folder) = ours.parent() else { return Ok(()) };
    let mut histories: Vec<LockedHistory> = fs::read_dir(histories_folder)?
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| LockedHistory::open(entry.path(), ours))
        .collect();
    // Newest first, those of roots that are there before the others.
    let mut order: Vec<(bool, Reverse<u64>, usize, usize)> = Vec::new();
    for (at, one) in histories.iter().enumerate() {
        let mut latest = 0;
        for (number, entry) in one.entries.iter().enumerate() {
            // A later commit is never older, whatever the clock said.
            latest = latest.max(entry.unix_millis);
            order.push((one.is_gone, Reverse(latest), at, one.entries.len() - number));
        }
    }
    order.sort_unstable();
    // A little less than allowed, so that the next commit does not have to prune again.
    let max_bytes = limits.bytes - limits.bytes / 8;
    let mut size = 0_u64;
    let mut kept_files: Vec<HashSet<PathBuf>> = vec![HashSet::new(); histories.len()];
    let mut is_closed = vec![false; histories.len()];
    let mut days: Vec<HashSet<u64>> =
        vec![HashSet::from([now_millis() / DAY_MILLIS]); histories.len()];
    for (_, _, at, back) in order {
        let one = &mut histories[at];
        let number = one.entries.len() - back;
        let is_newest = back == 1;
        if is_closed[at] {
            continue;
        }
        let files = one.files_below(&one.entries[number]);
        let new_files: Vec<PathBuf> =
            files.into_iter().filter(|file| !kept_files[at].contains(file)).collect();
        let new_bytes: u64 = new_files.iter().filter_map(|file| one.files.get(file)).sum();
        let over = size.saturating_add(new_bytes) > max_bytes
            || back > MAX_COMMITS
            || is_too_old(one.entries[number].unix_millis, &mut days[at], limits.age);
        if over && !(is_newest && one.is_ours) {
            is_closed[at] = true;
            // The newest commit of a root stays in the log, for its number.
            one.first_kept = if is_newest && !one.is_gone { number } else { number + 1 };
            continue;
        }
        size += new_bytes;
        kept_files[at].extend(new_files);
        one.first_kept = number;
    }
    for (one, kept_files) in histories.iter().zip(&kept_files) {
        one.remove_rest(kept_files)?;
    }
    drop(histories);
    write_count(&open_count(histories_folder)?, measure(histories_folder))
}

/// Whether a commit is over the age, by the clock and by the `days` on which later ones
/// were made.
fn is_too_old(made_at: u64, days: &mut HashSet<u64>, age: Duration) -> bool {
    let age = millis_of(age);
    let since = days.len() as u64 - u64::from(days.contains(&(made_at / DAY_MILLIS)));
    days.insert(made_at / DAY_MILLIS);
    made_at < now_millis().saturating_sub(age) && since >= age / DAY_MILLIS
}

impl LockedHistory {
    fn open(folder: PathBuf, ours: &Path) -> Option<Self> {
        let is_ours = folder == ours;
        let mut held = None;
        if !is_ours {
            let file = open_in(&folder, "lock").ok()?;
            if !matches!(lock::try_lock(&file), Ok(LockOutcome::Acquired)) {
                return None;
            }
            held = Some(file);
        }
        let root = fs::read(folder.join("root")).ok().map(OsString::from_vec);
        let is_gone = !is_ours && root.is_none_or(|root| !Path::new(&root).is_dir());
        let entries = read_entries(&folder).ok()?;
        let files = ["blobs", "answers"].iter().flat_map(|name| {
            let below = fs::read_dir(folder.join(name)).into_iter().flatten().flatten();
            below.filter_map(|file| Some((file.path(), file.metadata().ok()?.len())))
        });
        let files = files.collect();
        let first_kept = entries.len();
        Some(Self { folder, is_gone, is_ours, entries, files, first_kept, _lock: held })
    }

    /// The files that this commit needs.
    fn files_below(&self, entry: &LogEntry) -> Vec<PathBuf> {
        let before = entry.files.iter().filter_map(|file| file.before.as_ref());
        let after = entry.files.iter().filter_map(|file| file.after);
        let versions = before.map(|version| version.sha256).chain(after);
        let blobs = self.folder.join("blobs");
        let mut files: Vec<PathBuf> = versions.map(|hash| blobs.join(hash.to_string())).collect();
        let answers = self.folder.join("answers");
        files.extend(entry.request.as_ref().map(|id| answers.join(answer_name(id))));
        files.retain(|file| self.files.contains_key(file));
        files
    }

    fn remove_rest(&self, kept_files: &HashSet<PathBuf>) -> io::Result<()> {
        if self.is_gone && self.first_kept >= self.entries.len() {
            return fs::remove_dir_all(&self.folder);
        }
        if self.first_kept > 0 && self.first_kept <= self.entries.len() {
            rewrite(&self.folder, &self.entries[self.first_kept..])?;
        }
        let known: HashSet<PathBuf> =
            self.entries.iter().flat_map(|entry| self.files_below(entry)).collect();
        for file in self.files.keys().filter(|file| !kept_files.contains(*file)) {
            let is_left_over = || {
                let written = fs::metadata(file).and_then(|meta| meta.modified()).ok();
                written.is_none_or(|time| {
                    millis(time).abs_diff(millis(SystemTime::now())) > millis_of(LEFT_OVER_AGE)
                })
            };
            if known.contains(file) || is_left_over() {
                let _ = fs::remove_file(file);
            }
        }
        Ok(())
    }
}

fn millis_of(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
