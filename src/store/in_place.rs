//! Writes a file in place, where it cannot be replaced by a new one: hard links, bind mounts,
//! owners and access lists that cannot be reproduced, folders that are not writable.
//!
//! A crash can interrupt such a write in the middle. So both versions first go to a journal in the
//! state folder. A process that finds the journal of a dead writer repairs the file: if it is a mix
//! of both versions, the old version is restored. If another program has written the file since, it
//! is left alone and the journal is kept.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::confine::{OpenError, Root};
use super::history::KEPT;
use super::lock::{self, Backoff, LockOutcome};
use super::refusals;
use super::state::StateFolder;

/// Overwrites a file of `current_len` bytes with `after` and makes that durable. On an error the
/// caller restores the old bytes.
pub(super) fn overwrite(file: &File, current_len: usize, after: &[u8]) -> io::Result<()> {
    if after.len() > current_len {
        // If the disk is full, this fails before the first byte changes.
        reserve(file, current_len as u64, (after.len() - current_len) as u64)?;
    }
    file.write_all_at(after, 0)?;
    file.set_len(after.len() as u64)?;
    file.sync_all()
}

/// Reserves disk space after the end of a file.
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
    /// The number of bytes of the old version.
    before: usize,
    /// The number of bytes of the new version.
    after: usize,
}

impl Header {
    /// Splits the bytes after the header into the old and the new version of the file.
    fn split<'a>(&self, versions: &'a [u8]) -> io::Result<(&'a [u8], &'a [u8])> {
        if self.before.checked_add(self.after) != Some(versions.len()) {
            return Err(damaged());
        }
        Ok(versions.split_at(self.before))
    }
}

/// The journal of a running write. Its lock shows other processes that this process is alive.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    _lock: File,
}

impl Journals {
    /// Opens the folder for journals, or creates it.
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
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            let _ = lock::try_lock(&file)?;
            let mut header_line = serde_json::to_vec(&header)?;
            header_line.push(b'\n');
            file.write_all(&header_line)?;
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

    /// Removes the journal of a finished write. This is synced, because a journal that reappeared
    /// after a power cut would describe an old version.
    pub(super) fn end(&self, journal: Journal) -> io::Result<()> {
        fs::remove_file(&journal.path)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Repairs the files below `root` that dead writers left half written.
    pub(super) fn recover(&self, root: &Root) {
        for path in fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|it| it.path()) {
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("journal") => {
                    if let Err(error) = recover_journal(&path, root) {
                        tracing::warn!(journal = %path.display(), %error, "cannot recover a file from its journal");
                    }
                }
                // A draft is not complete, so its file was not touched yet.
                Some("draft") if is_left_over(&path).unwrap_or(false) => {
                    let _ = fs::remove_file(&path);
                }
                _ => {}
            }
        }
    }
}

/// Whether the writer of this draft is dead. Its lock is free then, but also in the moment before the
/// writer takes it, so a young draft does not count.
fn is_left_over(draft: &Path) -> io::Result<bool> {
    let file = File::open(draft)?;
    let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
    Ok(age > Duration::from_secs(60) && lock::try_lock(&file)? == LockOutcome::Acquired)
}

/// Whether the open file still has a name. It has none once another process has removed it.
fn is_linked(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() > 0)
}

#[cfg(feature = "cli")]
impl Journals {
    /// The records of interrupted writes below `root` that no recovery could use: what there is, and
    /// what to do about it.
    pub(super) fn unfinished(&self, root: &Path) -> Vec<(String, String)> {
        let describe = |path: PathBuf| {
            path.extension().filter(|ending| *ending == KEPT)?;
            let bytes = fs::read(&path).ok()?;
            let (header, _) = parse(&bytes).ok()?;
            let file = header.target.strip_prefix(root).ok()?.display().to_string();
            let (path, Header { before, after, .. }) = (path.display(), &header);
            Some((
                format!(
                    "the write of `{file}` was interrupted, and it has been something else since"
                ),
                format!(
                    "{path} has, after its first line, the {before} bytes of before and the {after} of after. Put the file right, then remove this record."
                ),
            ))
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| describe(entry.path())).collect()
    }
}

/// The header of a journal, and the bytes of both versions.
fn parse(bytes: &[u8]) -> io::Result<(Header, &[u8])> {
    let line = memchr::memchr(b'\n', bytes).ok_or_else(damaged)?;
    Ok((serde_json::from_slice(&bytes[..line])?, &bytes[line + 1..]))
}

/// The error of a journal that cannot be read.
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the journal is damaged")
}

/// Repairs the file of one journal if its writer is dead.
fn recover_journal(path: &Path, root: &Root) -> io::Result<()> {
    let mut journal = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    // A journal that has been unlinked belongs to a write that has just finished: its versions say
    // nothing about the current content of the file.
    if lock::try_lock(&journal)? == LockOutcome::Busy || !is_linked(&journal)? {
        return Ok(());
    }
    let mut bytes = Vec::new();
    journal.read_to_end(&mut bytes)?;
    let (header, versions) = match parse(&bytes) {
        Ok(parsed) => parsed,
        Err(error) => {
            tracing::warn!(journal = %path.display(), %error, "a journal cannot be read; it is kept");
            retire_journal(path)?;
            return Ok(());
        }
    };
    let Ok(below) = header.target.strip_prefix(root.path()) else {
        // The file is in another root. A process of that root recovers it, unless its folder is
        // gone.
        if header.target.parent().is_none_or(|folder| !folder.exists()) {
            retire_journal(path)?;
        }
        return Ok(());
    };
    let (before, after) = header.split(versions)?;
    let opened = match root.resolve(below) {
        Ok(target) => target.open(OFlags::RDWR),
        Err(error) => Err(OpenError::Io(error)),
    };
    let is_gone = |error: &io::Error| {
        refusals::has_errno(error, &[Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::XDEV])
    };
    let file = match opened {
        Ok(file) => file,
        // It may be replaced just now: look again at the next call.
        Err(OpenError::Moved) => return Ok(()),
        // Any other error may pass, so the journal stays and is tried again.
        Err(OpenError::Io(error)) if !is_gone(&error) => return Err(error),
        Err(_) => {
            tracing::warn!(file = %header.target.display(), "a file is gone whose write was interrupted; its journal is kept");
            retire_journal(path)?;
            return Ok(());
        }
    };
    let mut backoff = Backoff::until(Instant::now() + Duration::from_secs(5));
    while lock::try_lock(&file)? == LockOutcome::Busy {
        if !backoff.wait() {
            return Ok(());
        }
    }
    let mut current = Vec::new();
    (&file).read_to_end(&mut current)?;
    let is_whole = current == before || current == after;
    if !is_whole && is_mixed(&current, before, after) {
        overwrite(&file, current.len(), before)?;
        tracing::warn!(file = %header.target.display(), "restored the version before an interrupted write");
    } else if !is_whole {
        tracing::warn!(file = %header.target.display(), "an interrupted write was overwritten by another program; its journal is kept");
        retire_journal(path)?;
        return Ok(());
    }
    fs::remove_file(path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Renames a journal, so that later calls ignore it and a person can inspect it.
fn retire_journal(path: &Path) -> io::Result<()> {
    fs::rename(path, path.with_extension(KEPT))
}

/// Whether `current` can be the result of an interrupted write of `after` over `before`: every
/// block is from one of the versions, or zeros that a file system fills in, or torn between the
/// versions.
fn is_mixed(current: &[u8], before: &[u8], after: &[u8]) -> bool {
    const BLOCK: usize = 512;
    let is_possible_block = |start: usize| {
        let end = (start + BLOCK).min(current.len());
        let block = &current[start..end];
        let is_from = |version: &[u8]| {
            let version_block = version.get(start..end.min(version.len()));
            version_block.is_some_and(|version_block| is_start_or_zero_padded(block, version_block))
        };
        is_from(before)
            || is_from(after)
            || is_all_zero(block)
            || is_torn(block, before, after, start)
    };
    current.len() <= before.len().max(after.len())
        && (0..current.len()).step_by(BLOCK).all(is_possible_block)
}

fn is_all_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Whether `block` is the start of `version_block`, or all of it and then zeros.
fn is_start_or_zero_padded(block: &[u8], version_block: &[u8]) -> bool {
    version_block.starts_with(block) || block.strip_prefix(version_block).is_some_and(is_all_zero)
}

/// Whether a killed writer can have stopped in this block, which starts at `start` in the file: it
/// has the new bytes up to some point, then the old ones.
fn is_torn(block: &[u8], before: &[u8], after: &[u8], start: usize) -> bool {
    let new = after.get(start..).unwrap_or_default();
    let old = before.get(start..).unwrap_or_default();
    let new_count = block.iter().zip(new).take_while(|(byte, new_byte)| byte == new_byte).count();
    (0..=new_count).any(|cut| {
        let old_end = old.get(cut..block.len());
        old_end.is_some_and(|old_end| old_end == &block[cut..])
    })
}

/// Whether this error means that the file cannot be replaced and must be written in place.
pub(super) fn needs_in_place(error: &io::Error) -> bool {
    refusals::has_errno(error, &[Errno::BUSY, Errno::ACCESS, Errno::PERM])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_write_differs_from_another_programs() {
        let before = vec![b'a'; 3000];
        let mut after = vec![b'b'; 3500];
        after[0] = b'a';
        for cut in [0, 1, 511, 512, 700, 2999, 3000] {
            let current = [&after[..cut], &before[cut..]].concat();
            assert!(is_mixed(&current, &before, &after), "cut at {cut}");
        }
        assert!(is_mixed(&after[..3200], &before, &after));
        assert!(!is_mixed(b"something else", &before, &after));
        assert!(!is_mixed(&[b'a'; 4000], &before, &after));
    }

    #[test]
    fn a_dead_writers_journal_puts_the_file_right() {
        let temp = tempfile::tempdir().expect("temp");
        let work = temp.path().join("work");
        fs::create_dir(&work).expect("work");
        let state = StateFolder::open(&temp.path().join("state")).expect("state");
        let journals = Journals::open(&state).expect("journals");
        let root = Root::open(&work).expect("root");
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
