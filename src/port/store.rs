//! Where files live.

use std::path::Path;
use std::sync::Arc;

use super::BoxFuture;
use crate::edit::{Durability, Refusal, VerifiedEdit, WorkPath};

/// How a commit is to be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitOptions {
    /// A caller's id for this request: the same id again answers with the first
    /// result and writes nothing.
    pub request_id: Option<String>,
}

/// One file of a commit that went through.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The edit as it was written; another than the one handed in when the file had
    /// changed elsewhere and the edit was decided again on the newer version.
    pub edit: VerifiedEdit,
    /// Its number in the store's history.
    pub revision: u64,
    /// How safely it is on the disk.
    pub durability: Durability,
    /// What the caller should know: a hard link that was broken, a foreign version kept.
    pub warnings: Vec<String>,
}

/// A place for files below one root.
///
/// `commit` is all or nothing over the whole batch, checks each edit's base version
/// at the moment of writing, and decides the edit again (see
/// [`VerifiedEdit::rebase`]) when the file has changed meanwhile.
pub trait FileStore: Send + Sync {
    /// The root, for reading absolute paths.
    fn root(&self) -> &Path;

    /// The bytes of a file. Refuses what is not a regular file, without hanging.
    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>>;

    /// Writes the batch, in the order given.
    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>>;
}

impl<S: FileStore + ?Sized> FileStore for Arc<S> {
    fn root(&self) -> &Path {
        (**self).root()
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        (**self).load(path)
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        (**self).commit(batch, options)
    }
}
