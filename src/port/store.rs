//! Where files live.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::BoxFuture;
use serde::Serialize;
use tokio::sync::broadcast;

use crate::edit::{Durability, EditCode, Refusal, VerifiedEdit, WorkPath, WriteMethod};
use crate::text::ContentHash;

/// A caller's id for one request, and what the request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId {
    id: String,
    /// Digest of the tool and its arguments, where a tool was called.
    digest: Option<ContentHash>,
}

impl RequestId {
    /// An id whose request is known by nothing else.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), digest: None }
    }

    /// The same id, for a request that this digest identifies.
    #[must_use]
    pub fn with_digest(self, digest: ContentHash) -> Self {
        Self { digest: Some(digest), ..self }
    }

    /// The id as the caller wrote it.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// The digest of what is asked for.
    pub fn digest(&self) -> Option<ContentHash> {
        self.digest
    }

    /// The refusal of an id that was used for another request.
    pub fn reuse_refusal(&self) -> Refusal {
        Refusal::new(
            EditCode::InvalidArguments,
            format!(
                "request_id `{}` was used before for a call with another tool or other arguments",
                self.id
            ),
        )
        .hint("Nothing was written. Send this call with a new request_id; an id may be reused only to repeat exactly the same call.")
    }
}

impl From<String> for RequestId {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

/// What a store knows about a request id.
#[derive(Debug, Clone)]
pub enum RequestStatus {
    /// It was never used, or so long ago that it is forgotten.
    Unknown,
    /// This very request was answered before.
    Answered(String),
    /// This very request was committed before, and its answer is lost.
    Committed(Vec<Committed>),
    /// It was used for another request.
    OtherRequest,
}

/// Options of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitOptions {
    /// A caller's id for this request: the same id again answers with the first
    /// result and writes nothing; with another request it is refused.
    pub request_id: Option<RequestId>,
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
    /// How it was written.
    pub method: WriteMethod,
    /// What the caller should know: a hard link that was broken, a foreign version kept.
    pub warnings: Vec<String>,
}

/// Whether an undo writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoMode {
    /// Do it.
    Apply,
    /// Say what it would do.
    DryRun,
}

/// A commit that was undone.
#[derive(Debug, Clone)]
pub struct Undone {
    /// The revision that was undone.
    pub revision: u64,
    /// The commit that took it back, file by file.
    pub committed: Vec<Committed>,
}

/// One file of a commit, as the change feed announces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The commit.
    pub revision: u64,
    /// The file, relative to the root.
    pub path: String,
    /// Its content now; `None` when it was removed.
    pub sha256: Option<ContentHash>,
}

/// A commit in the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Revision {
    /// Its number.
    pub revision: u64,
    /// When, in milliseconds since 1970.
    pub unix_millis: u64,
    /// The files it changed.
    pub files: Vec<RevisionFile>,
    /// The revision that this one undid.
    pub undoes: Option<u64>,
    /// The revision that undid this one.
    pub undone_by: Option<u64>,
    /// Whether the process ended before it could confirm the commit.
    pub interrupted: bool,
}

/// A file in a commit of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RevisionFile {
    /// The file, relative to the root.
    pub path: String,
    /// Its content before; `None` when it was created.
    pub before_sha256: Option<ContentHash>,
    /// Its content after; `None` when it was removed.
    pub after_sha256: Option<ContentHash>,
}

/// One page of the files that a store has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The files, by path.
    pub files: Vec<ListedObject>,
    /// Where the next page begins: behind this name. `None` where there is none.
    pub next: Option<String>,
}

/// One file of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// The file.
    pub path: WorkPath,
    /// Its size.
    pub bytes: u64,
}

/// Versions of files beside those on the disk; `None` for a file that is gone.
pub type Overlay = BTreeMap<WorkPath, Option<Vec<u8>>>;

/// A place for files below one root.
///
/// `commit` is all or nothing over the whole batch, checks each edit's base version
/// at the moment of writing, and decides the edit again (see
/// [`VerifiedEdit::rebase`]) when the file has changed meanwhile.
pub trait FileStore: Send + Sync {
    /// The root, for reading absolute paths.
    fn root(&self) -> &Path;

    /// Whether the root is a folder of this machine, which can be listed and searched.
    fn is_folder(&self) -> bool {
        true
    }

    /// Whether the files can be listed page by page, where the root is no folder.
    fn can_list(&self) -> bool {
        false
    }

    /// One page of the files below `folder` (empty for all of them): those behind `after`.
    fn list<'a>(
        &'a self,
        folder: &'a str,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing, Refusal>> {
        let _ = (folder, after);
        Box::pin(async { Ok(Listing::default()) })
    }

    /// The files whose version in this store differs from that in the folder at the root; code
    /// that walks the folder must take them into account.
    fn overlay(&self) -> BoxFuture<'_, Overlay> {
        Box::pin(async { Overlay::new() })
    }

    /// The bytes of a file. Refuses what is not a regular file, without hanging.
    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>>;

    /// Refuses a path that policy does not allow to be written, existing or not. Called before
    /// the content is read, so that a refusal says nothing about it.
    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        let _ = path;
        Box::pin(async { Ok(()) })
    }

    /// Writes the batch and answers in the order given.
    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>>;

    /// Takes a commit back: the last one that was not undone, or the one named.
    fn undo(&self, revision: Option<u64>, how: UndoMode) -> BoxFuture<'_, Result<Undone, Refusal>> {
        let _ = (revision, how);
        Box::pin(async { Err(no_history()) })
    }

    /// The commits that can be undone or were, newest first.
    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>> {
        Box::pin(async { Err(no_history()) })
    }

    /// Announces every commit of this store from now on; `None` when it does not.
    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        None
    }

    /// Versions of a file on record, oldest first: from the one that this id, or its first
    /// digits, names, or the last few. None where there is no record.
    fn recorded_versions<'a>(
        &'a self,
        path: &'a WorkPath,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Vec<u8>>> {
        let _ = (path, from);
        Box::pin(async { Vec::new() })
    }

    /// What is known of a request.
    fn recall<'a>(&'a self, request: &'a RequestId) -> BoxFuture<'a, RequestStatus> {
        let _ = request;
        Box::pin(async { RequestStatus::Unknown })
    }

    /// Remembers the answer to a request, for deliveries of the same request.
    fn remember<'a>(&'a self, request: &'a RequestId, answer: String) -> BoxFuture<'a, ()> {
        let _ = (request, answer);
        Box::pin(async {})
    }
}

fn no_history() -> Refusal {
    Refusal::new(EditCode::Blocked, "this store keeps no history, so there is nothing to undo")
        .hint("Start restitch with a state folder that can be written (RESTITCH_STATE_DIR).")
}

impl<S: FileStore + ?Sized> FileStore for Arc<S> {
    fn root(&self) -> &Path {
        (**self).root()
    }

    fn is_folder(&self) -> bool {
        (**self).is_folder()
    }

    fn can_list(&self) -> bool {
        (**self).can_list()
    }

    fn list<'a>(
        &'a self,
        folder: &'a str,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing, Refusal>> {
        (**self).list(folder, after)
    }

    fn overlay(&self) -> BoxFuture<'_, Overlay> {
        (**self).overlay()
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

    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        (**self).admit(path)
    }

    fn undo(&self, revision: Option<u64>, how: UndoMode) -> BoxFuture<'_, Result<Undone, Refusal>> {
        (**self).undo(revision, how)
    }

    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>> {
        (**self).log()
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        (**self).changes()
    }

    fn recorded_versions<'a>(
        &'a self,
        path: &'a WorkPath,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Vec<u8>>> {
        (**self).recorded_versions(path, from)
    }

    fn recall<'a>(&'a self, request: &'a RequestId) -> BoxFuture<'a, RequestStatus> {
        (**self).recall(request)
    }

    fn remember<'a>(&'a self, request: &'a RequestId, answer: String) -> BoxFuture<'a, ()> {
        (**self).remember(request, answer)
    }
}
