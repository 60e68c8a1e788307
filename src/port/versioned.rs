//! The minimal interface to a place for files: reading bytes with a version, and a write that
//! succeeds only if the file still has the version that was read.

use super::BoxFuture;
use crate::edit::{Refusal, WorkPath};
use crate::text::ContentHash;

/// The content of a file, with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What identifies this version: an etag, a row version, a hash.
    pub version: String,
}

impl LoadedFile {
    /// A file whose version is the hash of its content.
    pub(crate) fn by_hash(bytes: Vec<u8>) -> Self {
        Self { version: ContentHash::of(&bytes).to_string(), bytes }
    }
}

/// The outcome of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOutcome {
    /// The file was written.
    Written,
    /// The file has another version than the expected one; nothing was written.
    VersionMismatch,
}

/// Files in a sandbox, a database or the buffers of an editor. [`crate::store::VersionedStore`]
/// makes a store of them. Errors are texts for the report.
pub trait VersionedFiles: Send + Sync {
    /// Loads a file; `None` if it does not exist.
    fn load<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<LoadedFile>, String>>;

    /// Writes `bytes` if the file still has this `version`. `None` for `bytes` removes the file;
    /// `None` for `version` means that the file must not exist yet.
    fn store_if<'a>(
        &'a self,
        path: &'a str,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> BoxFuture<'a, Result<StoreOutcome, String>>;

    /// Refuses a path that no edit may write, or with `read_only` one that nobody may read.
    #[doc(hidden)]
    fn admit(&self, _path: &WorkPath, _read_only: bool) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether these are the files of a folder on this machine.
    #[doc(hidden)]
    fn is_folder(&self) -> bool {
        false
    }
}
