//! Puts a new file under a name in one step, and rolls that back.
//!
//! The new content goes to a fresh file beside the target, complete and synced. Where the
//! system can, the two files then exchange names: a reader sees the old file or the new one,
//! and the displaced file can be checked. If it is not the version that the edit was made for,
//! a program without locks saved at that very moment; its version is kept.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::confine::{FileId, Folder, Target};
use super::kernel;
use super::metadata::Metadata;
use super::refusals;
use super::temp_files;
use crate::text::{Content, Snapshot};

/// A file beside the target, removed when dropped unless it is kept.
#[derive(Debug)]
pub(super) struct TempFile {
    folder: Arc<Folder>,
    name: OsString,
    file: File,
    is_kept: bool,
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed now is reclaimed later.
            let _ = self.folder.unlink(&self.name);
        }
    }
}

/// Why the temp file could not be written.
#[derive(Debug)]
pub(super) enum TempFileError {
    /// The new file cannot have all metadata of the old one; names what is missing.
    MetadataLost(String),
    /// The write failed.
    Io(io::Error),
}

impl TempFileError {
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Self::MetadataLost(what) => {
                io::Error::other(format!("the new file could not have {what}"))
            }
            Self::Io(error) => error,
        }
    }
}

impl From<io::Error> for TempFileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl TempFile {
    /// Writes `bytes` to a new file beside `target`, with the `metadata` of the file that it
    /// replaces. Locks the new file, so that another writer who opens it by its final name waits.
    pub(super) fn write(
        target: &Target,
        bytes: &[u8],
        metadata: Option<&Metadata>,
    ) -> Result<Self, TempFileError> {
        let mode = if metadata.is_some() { 0o600 } else { 0o666 };
        let folder = target.folder.clone();
        let name = temp_files::temp_name();
        let file = folder.create(&name, mode)?;
        let mut temp = Self { folder, name, file, is_kept: false };
        let _ = super::lock::try_lock(&temp.file)?;
        temp.file.write_all(bytes)?;
        if let Some(metadata) = metadata {
            metadata.apply(&temp.file).map_err(TempFileError::MetadataLost)?;
        }
        Ok(temp)
    }

    /// Makes the bytes of the new file durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// The open file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Renames the new file to `target`, a name that must be free. Nothing can fail after the
    /// rename, so an error always means that the name is still free.
    pub(super) fn create_at(mut self, target: &Target) -> Result<Self, io::Error> {
        rename_no_replace(&self.folder, &self.name, &target.name)?;
        self.is_kept = true;
        Ok(self)
    }

    /// Swaps names with the file at `target`, which is returned, too.
    pub(super) fn exchange_with(
        mut self,
        target: &Target,
    ) -> Result<(OldFile, Self), (Self, io::Error)> {
        match renameat2(&self.folder, &self.name, &target.name, How::Exchange) {
            Ok(()) => {
                self.is_kept = true;
                Ok((OldFile { target: target.clone(), name: self.name.clone() }, self))
            }
            Err(error) => Err((self, error)),
        }
    }

    /// Renames the new file over the file at `target`, whose bytes are lost.
    pub(super) fn replace_at(mut self, target: &Target) -> Result<Self, io::Error> {
        rustix::fs::renameat(&*self.folder, &self.name, &*self.folder, &target.name)?;
        self.is_kept = true;
        Ok(self)
    }
}

/// The errors of a system or file system that cannot exchange names or rename without replacing.
pub(super) const UNSUPPORTED_RENAME: &[Errno] = &[Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];

/// An old file under a temp name, until it is removed or kept: so the write that has put it there can
/// still be rolled back.
#[derive(Debug)]
pub(super) struct OldFile {
    target: Target,
    name: OsString,
}

impl OldFile {
    /// Renames the file at `target` to a temp name, as the first step of its removal.
    pub(super) fn move_aside(target: &Target) -> io::Result<Self> {
        let name = temp_files::temp_name();
        // The name is random, so nothing is there.
        rustix::fs::renameat(&*target.folder, &target.name, &*target.folder, &name)?;
        Ok(Self { target: target.clone(), name })
    }

    /// Whether no process has it open for writing; waits a little for that. `held` is the file that was
    /// locked, in most cases this one.
    pub(super) fn has_no_writers(&self, held: &File) -> bool {
        if self.is_file(held).unwrap_or(false) {
            return kernel::wait_for_writers(held);
        }
        let file = self.target.folder.open(&self.name, OFlags::RDONLY);
        file.is_ok_and(|file| kernel::wait_for_writers(&file))
    }

    /// Whether it is the file that is open as `held`, with exactly these bytes. Opens nothing, so that
    /// it also works when the process can open no more files.
    pub(super) fn is_unchanged(&self, held: &File, bytes: &[u8]) -> io::Result<bool> {
        Ok(self.is_file(held)? && has_content(held, bytes)?)
    }

    /// Whether it is the open file.
    fn is_file(&self, file: &File) -> io::Result<bool> {
        Ok(FileId::of_stat(&self.target.folder.stat(&self.name)?) == FileId::of(file)?)
    }

    /// Moves it to `path`, where only its owner can read it.
    pub(super) fn move_to(&self, path: &Path) -> io::Result<()> {
        let folder = &*self.target.folder;
        // With a second hard link, the file is still in use under another name.
        if folder.stat(&self.name)?.st_nlink != 1 {
            return Err(Errno::MLINK.into());
        }
        rustix::fs::chmodat(folder, &self.name, Mode::from(0o600), AtFlags::empty())?;
        Ok(rustix::fs::renameat(folder, &self.name, rustix::fs::CWD, path)?)
    }

    /// Removes it.
    pub(super) fn discard(self) -> io::Result<()> {
        self.target.folder.unlink(&self.name)
    }

    /// Renames it to a visible name beside the target; returns that name.
    pub(super) fn keep(&self) -> io::Result<OsString> {
        let kept = format!("restitch-kept-{:08x}", super::lock::random() >> 32);
        let mut beside = self.target.name.clone();
        beside.push(format!(".{kept}"));
        let rename = |name: OsString| {
            rename_no_replace(&self.target.folder, &self.name, &name)?;
            Ok(name)
        };
        // The name may be too long with the ending.
        rename(beside).or_else(|_: io::Error| rename(kept.into()))
    }

    /// The temp name.
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Moves it back to its name, which must be free.
    pub(super) fn move_back(self) -> io::Result<()> {
        rename_no_replace(&self.target.folder, &self.name, &self.target.name)
    }

    /// Exchanges its name again with that of `new`, the file that took its place, and removes `new`. If
    /// that no longer has the bytes `written`, another program has saved it meanwhile: it is then kept
    /// beside the target, and the error names it.
    pub(super) fn exchange_back(self, new: &TempFile, written: &[u8]) -> io::Result<()> {
        renameat2(&self.target.folder, &self.name, &self.target.name, How::Exchange)?;
        // Now the new file is under the temp name, to which these methods refer. What cannot be
        // removed now is reclaimed later.
        if self.is_unchanged(&new.file, written)? {
            let _ = self.discard();
            return Ok(());
        }
        let kept_name = self.keep()?;
        Err(io::Error::other(format!(
            "another program saved it meanwhile; that version is now `{}`",
            kept_name.to_string_lossy()
        )))
    }
}

/// Renames `from` to `to`, which must be free. Where the system cannot do that in one step, `to` first
/// becomes a second name of the file.
fn rename_no_replace(folder: &Folder, from: &OsStr, to: &OsStr) -> io::Result<()> {
    match renameat2(folder, from, to, How::NoReplace) {
        Err(error) if refusals::has_errno(&error, UNSUPPORTED_RENAME) => {
            rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?;
            // The file has its name. A temp name that stays is reclaimed later.
            let _ = folder.unlink(from);
            Ok(())
        }
        other => other,
    }
}

enum How {
    NoReplace,
    Exchange,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn renameat2(folder: &Folder, from: &OsStr, to: &OsStr, how: How) -> io::Result<()> {
    use rustix::fs::RenameFlags;
    let flags = match how {
        How::NoReplace => RenameFlags::NOREPLACE,
        How::Exchange => RenameFlags::EXCHANGE,
    };
    Ok(rustix::fs::renameat_with(folder, from, folder, to, flags)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn renameat2(_: &Folder, _: &OsStr, _: &OsStr, _: How) -> io::Result<()> {
    Err(Errno::NOSYS.into())
}

/// All bytes of an open file, from its start; an error if there are more than `max_bytes`.
pub(super) fn read_all(file: &File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    // One byte more than there should be, so that the end is seen without a larger buffer.
    let mut bytes =
        Vec::with_capacity(usize::try_from(size.min(max_bytes)).unwrap_or_default() + 1);
    while size.max(bytes.len() as u64) <= max_bytes {
        bytes.reserve(1);
        let at = bytes.len() as u64;
        match rustix::io::pread(file, spare_capacity(&mut bytes), at) {
            Ok(0) => return Ok(bytes),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let why = format!("files over {max_bytes} bytes are neither read nor edited");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
}

/// All bytes of an open file. If they equal those of `known`, shares them instead of reading again.
pub(super) fn read_reusing(
    file: &File,
    known: Option<&Snapshot>,
    max_bytes: u64,
) -> io::Result<Content> {
    match known {
        Some(known) if has_content(file, known.bytes())? => Ok(known.clone().into()),
        _ => Ok(read_all(file, max_bytes)?.into()),
    }
}

/// Whether an open file holds exactly `bytes`, compared piece by piece.
pub(super) fn has_content(file: &File, bytes: &[u8]) -> io::Result<bool> {
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut piece = [0; 1 << 14];
    let mut remaining = bytes;
    loop {
        let at = (bytes.len() - remaining.len()) as u64;
        match rustix::io::pread(file, &mut piece, at) {
            Ok(0) => return Ok(remaining.is_empty()),
            Ok(count) => match remaining.strip_prefix(&piece[..count]) {
                Some(rest) => remaining = rest,
                None => return Ok(false),
            },
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
