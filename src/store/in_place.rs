//! Writes a file in place, for files whose identity must stay: hard links, bind
//! mounts, owners and access lists that we cannot reproduce, folders we cannot write.
//!
//! Such a write can be cut in two by a crash. So both versions go to a journal in the
//! state folder first, and a process that finds a journal whose writer is dead repairs
//! the file: what is neither version, yet made of both, goes back to the old one. A
//! file that another program has written since is left alone, and the journal is kept.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::confine::Root;
use super::lock::{self, Backoff, LockOutcome};
use super::refusals;
use super::state::StateFolder;

/// Puts `after` into the file and makes it durable. On an error the caller puts the old
/// bytes back.
pub(super) fn overwrite(file: &File, before: usize, after: &[u8]) -> io::Result<()> {
    if after.len() > before {
        // A full disk shall show before the first byte changes.
        reserve(file, before as u64, (after.len() - before) as u64)?;
    }
    file.write_all_at(after, 0)?;
    file.set_len(after.len() as u64)?;
    file.sync_all()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn reserve(file: &File, from: u64, length: u64) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, from, length) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn reserve(_file: &File, _from: u64, _length: u64) -> io::Result<()> {
    Ok(())
}

/// The journals of a state folder.
#[derive(Debug)]
pub(super) struct Journals {
    folder: PathBuf,
}

/// The first line of a journal; the bytes of both versions follow.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    /// The file, absolute and without links.
    target: PathBuf,
    before: usize,
    after: usize,
}

impl Header {
    /// The version before and the version after.
    fn split<'a>(&self, versions: &'a [u8]) -> io::Result<(&'a [u8], &'a [u8])> {
        if self.before.checked_add(self.after) != Some(versions.len()) {
            return Err(damaged());
        }
        Ok(versions.split_at(self.before))
    }
}

/// One write under way. Holds the journal's lock, so that other processes see that this one is alive.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    _lock: File,
}

impl Journals {
    pub(super) fn open(state: &StateFolder) -> io::Result<Self> {
        Ok(Self { folder: state.folder("in-place")? })
    }

    /// Writes a journal and makes it durable.
    pub(super) fn begin(&self, target: &Path, before: &[u8], after: &[u8]) -> io::Result<Journal> {
        let header = Header { target: target.to_owned(), before: before.len(), after: after.len() };
        let name = format!("{}-{:016x}", std::process::id(), lock::random());
        let draft = self.folder.join(format!("{name}.draft"));
        let path = self.folder.join(format!("{name}.journal"));
        let write = || {
            let mut file = locked_draft(&draft)?;
            let mut head = serde_json::to_vec(&header)?;
            head.push(b'\n');
            file.write_all(&head)?;
            file.write_all(before)?;
            file.write_all(after)?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(&self.folder)?.sync_all()?;
            Ok(file)
        };
        match write() {
            Ok(file) => Ok(Journal { path, _lock: file }),
            Err(error) => {
                let _ = fs::remove_file(&draft);
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    /// Removes the journal of a write that is whole. Durable, because a journal that came
    /// back after a power cut would describe an old version.
    pub(super) fn end(&self, journal: Journal) -> io::Result<()> {
        fs::remove_file(&journal.path)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Whether there is any journal, of a live writer or a dead one.
    pub(super) fn has_open(&self) -> bool {
        let open = |path: PathBuf| path.extension().is_some_and(|ending| ending != "kept");
        fs::read_dir(&self.folder)
            .is_ok_and(|entries| entries.flatten().any(|entry| open(entry.path())))
    }

    /// Repairs the files below `root` that dead writers left torn. Returns their paths.
    pub(super) fn recover(&self, root: &Root) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut touched = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("journal") => match recover_journal(&path, root) {
                    Ok(Some(target)) => touched.push(target),
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(journal = %path.display(), %error, "cannot recover a file from its journal");
                    }
                },
                // A draft is not complete, so its file was not touched yet.
                Some("draft") => {
                    // The lock is held until the name is gone: its writer looks for that.
                    if let Ok(file) = File::open(&path)
                        && matches!(lock::try_lock(&file), Ok(LockOutcome::Acquired))
                        && is_linked(&file).unwrap_or(false)
                    {
                        let _ = fs::remove_file(&path);
                    }
                }
                _ => {}
            }
        }
        touched
    }
}

/// A new draft with its lock. Between its creation and the lock another process may
/// remove it as a dead writer's; then another one is made.
fn locked_draft(path: &Path) -> io::Result<File> {
    let mut backoff = Backoff::until(Instant::now() + Duration::from_secs(5));
    loop {
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        match created {
            Ok(file) => {
                if lock::try_lock(&file)? != LockOutcome::Busy && is_linked(&file)? {
                    return Ok(file);
                }
            }
            // Our own file; another process is about to remove it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        if !backoff.wait() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the draft cannot be locked"));
        }
    }
}

/// Whether the file is still in its folder. A process that removes one holds its lock.
fn is_linked(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() > 0)
}

/// A journal's header, and both versions behind it.
fn parse(bytes: &[u8]) -> io::Result<(Header, &[u8])> {
    let line = memchr::memchr(b'\n', bytes).ok_or_else(damaged)?;
    Ok((serde_json::from_slice(&bytes[..line])?, &bytes[line + 1..]))
}

/// The version before and the version after that a journal holds.
pub(crate) fn journal_versions(bytes: &[u8]) -> io::Result<(&[u8], &[u8])> {
    let (header, versions) = parse(bytes)?;
    header.split(versions)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the journal is damaged")
}

fn recover_journal(path: &Path, root: &Root) -> io::Result<Option<PathBuf>> {
    let mut journal = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    // A journal that has been unlinked belongs to a write that has just finished: its versions say
    // nothing about the current content of the file.
    if lock::try_lock(&journal)? == LockOutcome::Busy || !is_linked(&journal)? {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    journal.read_to_end(&mut bytes)?;
    let (header, versions) = parse(&bytes)?;
    let Ok(below) = header.target.strip_prefix(root.path()) else {
        // It belongs to another root, whose own process recovers it while the folder exists.
        if header.target.parent().is_none_or(|folder| !folder.exists()) {
            retire_journal(path)?;
        }
        return Ok(None);
    };
    let (before, after) = header.split(versions)?;
    let Some(file) = root.resolve(below).ok().and_then(|target| target.open(OFlags::RDWR).ok())
    else {
        // The file is gone or something else by now: nothing to repair.
        retire_journal(path)?;
        return Ok(None);
    };
    let mut backoff = Backoff::until(Instant::now() + Duration::from_secs(5));
    while lock::try_lock(&file)? == LockOutcome::Busy {
        if !backoff.wait() {
            return Ok(None);
        }
    }
    let mut now = Vec::new();
    (&file).read_to_end(&mut now)?;
    let whole = now == before || now == after;
    if !whole && is_mixed(&now, before, after) {
        overwrite(&file, now.len(), before)?;
        tracing::warn!(file = %header.target.display(), "put back the version before an interrupted write");
    } else if !whole {
        tracing::warn!(file = %header.target.display(), "an interrupted write was overwritten by another program; its journal is kept");
        retire_journal(path)?;
        return Ok(None);
    }
    fs::remove_file(path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok((!whole).then_some(header.target))
}

/// Renames a journal, so that later calls ignore it and a person can inspect it.
fn retire_journal(path: &Path) -> io::Result<()> {
    fs::rename(path, path.with_extension("kept"))
}

/// Whether `now` can be the result of an interrupted write of `after` over `before`: every block
/// is that of one version, or zeros that a file system fills in.
fn is_mixed(now: &[u8], before: &[u8], after: &[u8]) -> bool {
    const BLOCK: usize = 512;
    let part = |version: &'_ [u8], at: usize, end: usize| {
        version.get(at..end.min(version.len())).map(<[u8]>::to_vec)
    };
    now.len() <= before.len().max(after.len())
        && (0..now.len()).step_by(BLOCK).all(|at| {
            let end = (at + BLOCK).min(now.len());
            let block = &now[at..end];
            let is_from = |version: &[u8]| {
                part(version, at, end).is_some_and(|bytes| may_be_part_of(block, &bytes))
            };
            is_from(before)
                || is_from(after)
                || block.iter().all(|byte| *byte == 0)
                || is_torn(block, before, after, at)
        })
}

fn may_be_part_of(block: &[u8], version: &[u8]) -> bool {
    version.starts_with(block)
        || block.starts_with(version) && block[version.len()..].iter().all(|b| *b == 0)
}

/// A block in which a killed writer stopped: the new bytes up to some point, then the old.
fn is_torn(block: &[u8], before: &[u8], after: &[u8], at: usize) -> bool {
    let new = after.get(at..).unwrap_or_default();
    let old = before.get(at..).unwrap_or_default();
    let same = block.iter().zip(new).take_while(|(a, b)| a == b).count();
    (0..=same)
        .any(|cut| old.get(cut..block.len().max(cut)).is_some_and(|rest| rest == &block[cut..]))
}

/// Whether an error of a write means that the file must be written where it is.
pub(super) fn needs_in_place(error: &io::Error) -> bool {
    refusals::has_errno(error, &[Errno::BUSY, Errno::ACCESS, Errno::PERM])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_write_is_told_from_a_foreign_one() {
        let before = vec![b'a'; 3000];
        let mut after = vec![b'b'; 3500];
        after[0] = b'a';
        for cut in [0, 1, 511, 512, 700, 2999, 3000] {
            let now = [&after[..cut], &before[cut..]].concat();
            assert!(is_mixed(&now, &before, &after), "cut at {cut}");
        }
        assert!(is_mixed(&after[..3200], &before, &after));
        assert!(!is_mixed(b"something else", &before, &after));
        assert!(!is_mixed(&[b'a'; 4000], &before, &after));
    }

    #[test]
    fn a_journal_is_begun_while_others_clear_up() {
        let temp = tempfile::tempdir().expect("temp");
        let work = temp.path().join("work");
        fs::create_dir(&work).expect("work");
        let state = StateFolder::open(&temp.path().join("state")).expect("state");
        let journals = Journals::open(&state).expect("journals");
        let root = Root::open(&work, super::super::confine::Walk::Kernel).expect("root");
        let target = root.path().join("f");
        fs::write(&target, "whole").expect("file");
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    assert_eq!(journals.recover(&root), Vec::<PathBuf>::new());
                }
            });
            // What the file holds looks torn to each of these journals, and is not.
            for _ in 0..300 {
                let journal = journals.begin(&target, b"shole", b"whale");
                let result = journal.and_then(|journal| journals.end(journal));
                if let Err(error) = result {
                    is_over.store(true, std::sync::atomic::Ordering::Relaxed);
                    panic!("{error}");
                }
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(fs::read_to_string(&target).expect("file"), "whole");
    }

    #[test]
    fn a_dead_writers_journal_puts_the_file_right() {
        let temp = tempfile::tempdir().expect("temp");
        let work = temp.path().join("work");
        fs::create_dir(&work).expect("work");
        let state = StateFolder::open(&temp.path().join("state")).expect("state");
        let journals = Journals::open(&state).expect("journals");
        let root = Root::open(&work, super::super::confine::Walk::Kernel).expect("root");
        let target = root.path().join("f");
        for (now, wanted) in [("newold", "oldold"), ("newnew", "newnew"), ("alien", "alien")] {
            fs::write(&target, now).expect("torn");
            drop(journals.begin(&target, b"oldold", b"newnew").expect("journal"));
            journals.recover(&root);
            assert_eq!(fs::read_to_string(&target).expect("file"), wanted);
        }
        let left = fs::read_dir(temp.path().join("state/in-place")).expect("state").count();
        assert_eq!(left, 1, "only the journal of the file that another program wrote is kept");
        // A live writer's journal is not touched.
        fs::write(&target, "newold").expect("torn");
        let live = journals.begin(&target, b"oldold", b"newnew").expect("journal");
        journals.recover(&root);
        assert_eq!(fs::read_to_string(&target).expect("file"), "newold");
        journals.end(live).expect("end");
    }
}
