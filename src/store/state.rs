//! The folder for what must outlive a process: the history and the journals. Only its
//! owner can look into them.
//!
//! A folder that was there before is used as it is or not at all: its mode is its owner's
//! choice, and what else is in it may be meant for others.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The folder in it that has the histories.
pub(super) const HISTORY: &str = "history";

/// A state folder that can be used.
#[derive(Debug, Clone)]
pub(super) struct StateFolder {
    path: PathBuf,
}

impl StateFolder {
    /// Opens the folder, and makes it if need be. One that is shared with others is refused.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        make_private(path)?;
        let meta = fs::metadata(path)?;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return refused("it belongs to another user");
        }
        if meta.mode() & 0o022 != 0 {
            return refused(
                "others can write to it; chmod 700 it, or name a folder that is not there yet",
            );
        }
        if meta.mode() & 0o055 != 0 && !is_empty(path)? && !path.join(HISTORY).is_dir() {
            return refused(
                "others can access it and it has other files; chmod 700 it, or name a folder that does not exist yet",
            );
        }
        Ok(Self { path: path.canonicalize()? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A folder in it, writable.
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        make_private(&path)?;
        rustix::fs::access(&path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?;
        Ok(path)
    }
}

fn is_empty(path: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(path)?.next().is_none())
}

fn make_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
