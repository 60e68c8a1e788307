//! The folder for what must outlive a process: the history and the journals. Only its
//! owner can look into it.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A state folder that can be used.
#[derive(Debug, Clone)]
pub(super) struct State {
    path: PathBuf,
}

impl State {
    /// Opens the folder, makes it if need be, and shuts others out of it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        make_private(path)?;
        let meta = fs::metadata(path)?;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it belongs to another user",
            ));
        }
        if meta.mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
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

fn make_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
