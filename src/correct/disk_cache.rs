//! The cache on disk: one small file per key, in a folder that only this user can enter. It is off
//! unless configured. A file that cannot be read counts as missing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::port::Reply;
use crate::text::ContentHash;

/// Answers older than this are removed when the folder is opened.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// A cache of answers in a folder.
#[derive(Debug, Clone)]
pub struct DiskCache {
    folder: PathBuf,
}

impl DiskCache {
    /// Opens the folder, which is created if it does not exist. Fails if it belongs to another user or
    /// if other users can enter it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        let meta = fs::symlink_metadata(folder)?;
        let refuse = |why: &str| {
            let why = format!("the cache folder {} {why}", folder.display());
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        };
        if !meta.is_dir() {
            return refuse("is not a folder");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            if meta.mode() & 0o077 != 0 {
                return refuse("can be entered by other users; set its mode to 0700");
            }
            if meta.uid() != rustix::process::getuid().as_raw() {
                return refuse("belongs to another user");
            }
        }
        let cache = Self { folder: folder.to_owned() };
        cache.sweep();
        Ok(cache)
    }

    /// Removes the answers that are too old.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| modified.elapsed().ok());
            if age.is_some_and(|age| age > MAX_AGE) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn path(&self, key: ContentHash) -> PathBuf {
        self.folder.join(key.to_string())
    }

    /// The cached answer; `None` if there is none or its file is damaged.
    pub fn get(&self, key: ContentHash) -> Option<Reply> {
        serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()
    }

    /// Stores an answer; a failure is only logged.
    pub fn put(&self, key: ContentHash, reply: &Reply) {
        let write = || -> io::Result<()> {
            let file = tempfile::NamedTempFile::new_in(&self.folder)?;
            serde_json::to_writer(&file, reply)?;
            file.persist(self.path(key)).map_err(|error| error.error)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::warn!(%error, "cannot store an answer in the cache folder");
        }
    }

    /// Removes an answer.
    pub fn forget(&self, key: ContentHash) {
        let _ = fs::remove_file(self.path(key));
    }
}
