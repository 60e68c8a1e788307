//! The minimal interface to a place for files: bytes with a version, and a write that succeeds
//! only if the version is still the one that was read.

use super::BoxFuture;

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What identifies this version: an etag, a row version, a hash.
    pub version: String,
}

/// The outcome of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOutcome {
    /// It is written.
    Written,
    /// Another version is there; nothing was written.
    VersionMismatch,
}

/// A sandbox, a database, an editor's buffers. [`crate::store::VersionedStore`] makes a
/// whole store of it. Errors are in words, for the report.
pub trait VersionedFiles: Send + Sync {
    /// The file, or `None` where there is none.
    fn load<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<LoadedFile>, String>>;

    /// Writes `bytes` (`None` removes the file) if the version there is `version`; `None`
    /// for a file that must not exist yet.
    fn store_if<'a>(
        &'a self,
        path: &'a str,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> BoxFuture<'a, Result<StoreOutcome, String>>;
}
