//! Files in memory: previews, and engines without a disk.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::versioned::VersionedStore;
use crate::edit::WorkPath;
use crate::port::{BoxFuture, LoadedFile, StoreOutcome, VersionedFiles};
use crate::text::ContentHash;

/// A store without a disk.
pub type MemoryStore = VersionedStore<MemoryFiles>;

/// Files in memory, by their path. A version is the hash of the content.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct MemoryFiles(Mutex<BTreeMap<String, Vec<u8>>>);

impl Default for MemoryStore {
    /// An empty store. Its root is the path `/restitch-memory`, which is no folder on the disk.
    fn default() -> Self {
        Self::new(MemoryFiles::default(), "/restitch-memory")
    }
}

impl MemoryStore {
    /// Adds a file, or replaces its content.
    pub fn put(&self, path: WorkPath, bytes: Vec<u8>) {
        self.files.lock().insert(path.as_str().to_owned(), bytes);
    }

    /// Every file in the store, with its content.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files.lock().clone()
    }
}

impl MemoryFiles {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        // A panic in another thread cannot break the map: every change is one insert or remove.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VersionedFiles for MemoryFiles {
    fn load<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<LoadedFile>, String>> {
        Box::pin(ready(Ok(self.lock().get(path).cloned().map(LoadedFile::by_hash))))
    }

    fn store_if<'a>(
        &'a self,
        path: &'a str,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> BoxFuture<'a, Result<StoreOutcome, String>> {
        let mut files = self.lock();
        if files.get(path).map(|bytes| ContentHash::of(bytes).to_string()) != version {
            return Box::pin(ready(Ok(StoreOutcome::VersionMismatch)));
        }
        match bytes {
            Some(bytes) => files.insert(path.to_owned(), bytes),
            None => files.remove(path),
        };
        Box::pin(ready(Ok(StoreOutcome::Written)))
    }
}
