//! The interface to a store of files.

use std::path::Path;
use std::sync::Arc;

use super::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::edit::{Durability, EditCode, Refusal, VerifiedEdit, WorkPath, WriteMethod};
use crate::text::ContentHash;

/// A caller's id for one request, and what the request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId {
    id: String,
    /// The digest of the tool and its arguments, if a tool was called.
    digest: Option<ContentHash>,
}

impl RequestId {
    /// An id without a digest.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), digest: None }
    }

    /// The same id with the digest of the request.
    #[must_use]
    pub(crate) fn with_digest(self, digest: ContentHash) -> Self {
        Self { digest: Some(digest), ..self }
    }

    /// The id as the caller wrote it.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// The digest of what the request asks for.
    pub fn digest(&self) -> Option<ContentHash> {
        self.digest
    }

    /// What a record of this id, made for a request with that digest, says of this request: `known`, if
    /// it is the same one.
    pub fn status_by(&self, digest: Option<ContentHash>, known: RequestStatus) -> RequestStatus {
        match self.digest == digest {
            true => known,
            false => RequestStatus::OtherRequest,
        }
    }

    /// The refusal of an id that was used for another request before.
    pub fn reuse_refusal(&self) -> Refusal {
        Refusal::invalid(
            format!(
                "the request id `{}` was used before for a call with another tool or other arguments",
                self.id
            ),
            "Nothing was written. Send this call with a new request id; an id may be reused only to repeat exactly the same call.",
        )
    }
}

/// What a store knows about a request id.
#[derive(Debug, Clone)]
pub enum RequestStatus {
    /// The id was never used, or is forgotten by now.
    Unknown,
    /// The same request was answered before, with this answer.
    Answered(String),
    /// The same request was committed before, but its answer is lost.
    Committed(Vec<Committed>),
    /// The id was used for another request.
    OtherRequest,
}

/// Options of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitOptions {
    /// The caller's id for this request. If the same request is sent again, the first result is the
    /// answer and nothing is written; another request with this id is refused.
    pub request_id: Option<RequestId>,
    /// The name that the client gives itself, for the history.
    pub client: Option<Arc<str>>,
}

/// One committed file.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The edit as it was written. If the file had changed, this is the edit that was matched again
    /// on the newer version.
    pub edit: VerifiedEdit,
    /// The number of the commit in the store's history; `None` if the history does not have it.
    pub revision: Option<u64>,
    /// How safely it is on the disk.
    pub durability: Durability,
    /// How it was written.
    pub method: WriteMethod,
    /// Warnings for the caller, such as that a hard link was broken.
    pub warnings: Vec<String>,
}

impl Committed {
    /// A committed edit without warnings.
    pub fn new(edit: VerifiedEdit, revision: Option<u64>, durability: Durability) -> Self {
        let method = match (edit.base(), edit.after()) {
            (_, None) => WriteMethod::Removed,
            (None, _) => WriteMethod::Created,
            _ => WriteMethod::Replaced,
        };
        Self { edit, revision, durability, method, warnings: Vec::new() }
    }
}

/// Whether an undo writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoMode {
    /// Undo the commit.
    Apply,
    /// Report what the undo would change, and write nothing.
    DryRun,
}

/// A commit that was undone.
#[derive(Debug, Clone)]
pub struct Undone {
    /// The revision that was undone.
    pub revision: u64,
    /// The files of the commit that undid it.
    pub committed: Vec<Committed>,
}

impl Undone {
    /// The undo of a revision by these edits, of which nothing is written.
    pub fn planned(revision: u64, edits: impl IntoIterator<Item = VerifiedEdit>) -> Self {
        let planned = |edit| Committed::new(edit, None, Durability::DryRun);
        Self { revision, committed: edits.into_iter().map(planned).collect() }
    }
}

/// One file of a commit, as the change feed announces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The revision of the commit; `None` if the history does not have it.
    pub revision: Option<u64>,
    /// The file, relative to the root.
    pub path: String,
    /// The hash of its new content; `None` if it was removed.
    pub sha256: Option<ContentHash>,
}

/// A commit in the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// Its number.
    pub revision: u64,
    /// When it was made, in milliseconds since 1970.
    pub unix_millis: u64,
    /// The files it changed.
    pub files: Vec<RevisionFile>,
    /// The client that made it, if it gave a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The revision that this one undid.
    pub undoes: Option<u64>,
    /// The revision that undid this one.
    pub undone_by: Option<u64>,
    /// Whether the process ended before it could confirm the commit.
    pub interrupted: bool,
}

/// A file in a commit of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionFile {
    /// The file, relative to the root.
    pub path: String,
    /// The hash of its content before; `None` if it was created.
    pub before_sha256: Option<ContentHash>,
    /// The hash of its content after; `None` if it was removed.
    pub after_sha256: Option<ContentHash>,
    /// The first and the last line that changed, as numbered after the commit; where lines were only
    /// removed, the last is the one before the first. `None` if the history does not have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(usize, usize)>,
}

/// One page of the files that a store has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The files, ordered by path.
    pub files: Vec<ListedObject>,
    /// The name after which the next page begins; `None` if this is the last page.
    pub next: Option<String>,
}

/// One file of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// The file.
    pub path: WorkPath,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A store of files below one root.
///
/// Each method is required, so that a store around another one cannot forget to pass one on.
/// What only some stores have is behind [`history`](Self::history) and [`lister`](Self::lister).
pub trait FileStore: Send + Sync {
    /// The root; absolute paths must be below it.
    fn root(&self) -> &Path;

    /// Loads the bytes of a file. Refuses anything but a regular file, without blocking on it.
    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>>;

    /// Refuses a path that must not be written, whether the file exists or not. Called before the
    /// content is read, so that the refusal reveals nothing of it.
    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>>;

    /// Commits all edits or none, and returns the results in their order. Refuses what
    /// [`admit`](Self::admit) refuses. Checks that each file still has the version that its edit was
    /// made for; if not, matches the edit again (see [`VerifiedEdit::rebase`]).
    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>>;

    /// Whether the root is a folder of this machine, which can be walked.
    fn is_folder(&self) -> bool;

    /// What lists the files of a root that is not a folder, if anything does.
    fn lister(&self) -> Option<&dyn Lister>;

    /// The commits of this store, if it keeps them.
    fn history(&self) -> Option<&dyn History>;
}

/// Lists the files of a store page by page.
pub trait Lister: Send + Sync {
    /// One page of the files below `folder` (empty for all files), beginning after the name
    /// `after`.
    fn list<'a>(
        &'a self,
        folder: &'a str,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing, Refusal>>;
}

/// The commits of a store, and the requests that were answered.
pub trait History: Send + Sync {
    /// Undoes a commit: `revision`, or else the last one that was not undone.
    fn undo(&self, revision: Option<u64>, mode: UndoMode)
    -> BoxFuture<'_, Result<Undone, Refusal>>;

    /// The commits, newest first.
    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>>;

    /// What a commit wrote.
    fn committed(&self, revision: u64) -> BoxFuture<'_, Result<Vec<Committed>, Refusal>>;

    /// Recorded versions of a file, oldest first: the last few or, if `from` is given, the version
    /// with this id (or these first digits of it) and those after it.
    fn recorded_versions<'a>(
        &'a self,
        path: &'a WorkPath,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Vec<u8>>>;

    /// What is known of a request.
    fn recall<'a>(&'a self, request: &'a RequestId) -> BoxFuture<'a, RequestStatus>;

    /// Stores the answer to a request, for when the same request is sent again.
    fn remember<'a>(&'a self, request: &'a RequestId, answer: String) -> BoxFuture<'a, ()>;

    /// A receiver of every commit from now on; `None` if they are not announced.
    fn changes(&self) -> Option<broadcast::Receiver<Change>>;
}

/// The refusal of undo and log by a store without a history.
pub(crate) fn no_history() -> Refusal {
    Refusal::new(EditCode::Blocked, "this store keeps no history, so there is nothing to undo")
        .hint("Start restitch with a state folder that can be written (RESTITCH_STATE_DIR).")
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

    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        (**self).admit(path)
    }

    fn is_folder(&self) -> bool {
        (**self).is_folder()
    }

    fn lister(&self) -> Option<&dyn Lister> {
        (**self).lister()
    }

    fn history(&self) -> Option<&dyn History> {
        (**self).history()
    }
}
