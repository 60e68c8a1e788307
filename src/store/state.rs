//! The folder for data that outlives a process: the history and the journals. Only its owner can
//! read them.
//!
//! The mode of a folder that already exists is never changed, because its owner chose it and other
//! files in it may be meant for other users. If the mode is not safe, the folder is refused.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The name of the subfolder with the histories.
pub(super) const HISTORY: &str = "history";

/// A state folder that can be used.
#[derive(Debug, Clone)]
pub(super) struct StateFolder {
    path: PathBuf,
}

impl StateFolder {
    /// Opens the folder, or creates it. A folder is refused if it belongs to another user, if other
    /// users can write to it, or if they can read it and
    /// it has other files and no history yet.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        create_private(path)?;
        let meta = fs::metadata(path)?;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return refused("it belongs to another user");
        }
        if meta.mode() & 0o022 != 0 {
            return refused(
                "other users can write to it; run `chmod 700` on it, or choose a folder that does not exist yet",
            );
        }
        if meta.mode() & 0o055 != 0 && !is_empty(path)? && !path.join(HISTORY).is_dir() {
            return refused(
                "other users can access it and it has other files; run `chmod 700` on it, or choose a folder that does not exist yet",
            );
        }
        Ok(Self { path: path.canonicalize()? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The subfolder `name`, created if it is missing; an error if it is not writable.
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        create_private(&path)?;
        rustix::fs::access(&path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?;
        Ok(path)
    }
}

fn is_empty(path: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(path)?.next().is_none())
}

/// Creates a folder that only its owner can access, unless it exists.
fn create_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
