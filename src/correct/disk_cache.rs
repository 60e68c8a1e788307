//! The cache on disk: one small file per key, in a folder that only this user can enter. It is off
//! unless configured. A file that cannot be read counts as missing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::port::Reply;
use crate::store::{check_usable, delete_older, write_json};
use crate::text::ContentHash;

/// Answers older than this are removed when the folder is opened.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// A cache of answers in a folder.
#[derive(Debug, Clone)]
pub struct DiskCache {
    folder: PathBuf,
}

impl DiskCache {
    /// Opens the folder, which is created if it does not exist. Fails if it belongs to another user, if
    /// other users can write to it, or if they can read what is in it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        check_usable(folder)?;
        delete_older(folder, MAX_AGE);
        Ok(Self { folder: folder.to_owned() })
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
        if let Err(error) = write_json(&self.path(key), reply) {
            tracing::warn!(%error, "cannot store an answer in the cache folder");
        }
    }

    /// Removes an answer.
    pub fn forget(&self, key: ContentHash) {
        let _ = fs::remove_file(self.path(key));
    }
}
