//! Files in memory: previews, staging, and engines without a disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rebase::{not_found, rebase_edit};
use super::versioned::into_committed;
use crate::edit::{After, Durability, Refusal, VerifiedEdit, WorkPath};
use crate::port::{BoxFuture, CommitOptions, Committed, FileStore, refuse_duplicate_paths};

/// A store without a disk.
#[derive(Debug, Default)]
pub struct MemoryStore {
    root: PathBuf,
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    content: BTreeMap<WorkPath, Vec<u8>>,
}

impl MemoryStore {
    /// An empty store. Its root is the path `/restitch-memory`, which is no folder on the disk.
    pub fn new() -> Self {
        Self { root: PathBuf::from("/restitch-memory"), files: Mutex::default() }
    }

    /// Adds a file, or replaces its content.
    pub fn put(&self, path: WorkPath, bytes: Vec<u8>) {
        self.lock().content.insert(path, bytes);
    }

    /// Every file in the store, with its content.
    pub fn files(&self) -> Vec<(WorkPath, Vec<u8>)> {
        let files = self.lock();
        files.content.iter().map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        // A panic in another thread cannot break the map: every change is one insert or remove.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of a file.
    fn read(&self, path: &WorkPath) -> Result<Vec<u8>, Refusal> {
        self.lock().content.get(path).cloned().ok_or_else(|| not_found(path))
    }

    /// Writes all edits; writes none of them if one no longer applies.
    fn write(&self, batch: Vec<VerifiedEdit>) -> Result<Vec<Committed>, Refusal> {
        refuse_duplicate_paths(&batch)?;
        let mut files = self.lock();
        let batch: Vec<VerifiedEdit> = batch
            .into_iter()
            .map(|edit| {
                let current = files.content.get(edit.path()).map(Vec::as_slice);
                rebase_edit(edit, current)
            })
            .collect::<Result<_, _>>()?;
        Ok(batch
            .into_iter()
            .map(|edit| {
                match edit.after() {
                    After::Content(bytes) => {
                        files.content.insert(edit.path().clone(), bytes.to_vec())
                    }
                    After::Removed => files.content.remove(edit.path()),
                };
                into_committed(edit, None, Durability::Unknown)
            })
            .collect())
    }
}

impl FileStore for MemoryStore {
    fn root(&self) -> &Path {
        &self.root
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        Box::pin(async move { self.read(path) })
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        _options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        Box::pin(async move { self.write(batch) })
    }
}
