//! A layer over another store: edits stay in memory until they are committed together.
//!
//! Reads and searches see the staged files. Commit writes every
//! staged file in one batch of the inner store, which refuses the whole batch when one
//! of the files has changed there since it was staged.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Mutex as AsyncMutex;

use super::rebase::not_found;
use super::timeline::Versions;
use super::versioned::{Files, write_all};
use crate::edit::{
    Durability, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath, file_diff,
};
use crate::port::{
    BoxFuture, CommitOptions, Committed, FileStore, History, Lister, LoadedFile, RequestId,
    RequestStatus, StoreOutcome,
};
use crate::text::Snapshot;

/// Files whose content in a store differs from that on the disk; `None` for a removed file.
pub(crate) type Overlay = BTreeMap<WorkPath, Option<Vec<u8>>>;

/// A store that keeps edits in memory until [`StagingStore::commit_staged`].
pub struct StagingStore {
    inner: Arc<dyn FileStore>,
    staged: Mutex<Staged>,
    /// Held while edits are staged or committed, so that a commit has all edits of a call or none.
    writing: AsyncMutex<()>,
}

impl std::fmt::Debug for StagingStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StagingStore").field("root", &self.inner.root()).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Staged {
    /// Each staged file as it is in the inner store, and as it is staged.
    files: BTreeMap<WorkPath, Versions>,
    /// The answers to requests with an id, oldest first: the digest of the request, and the answer.
    answers: VecDeque<(RequestId, String)>,
}

/// The oldest answers are forgotten beyond this many.
const MAX_ANSWERS: usize = 1_000;

impl StagingStore {
    /// A staging store over `inner`, with nothing staged.
    pub fn over(inner: Arc<dyn FileStore>) -> Self {
        Self { inner, staged: Mutex::default(), writing: AsyncMutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Staged> {
        // A panic in another thread cannot break the map: every change is one insert.
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The staged files, without those whose content is again the one that the inner store had.
    pub fn staged(&self) -> Vec<(WorkPath, Versions)> {
        let staged = self.lock();
        let changed = staged.files.iter().filter(|(_, file)| file.before != file.after);
        changed.map(|(path, file)| (path.clone(), file.clone())).collect()
    }

    /// The staged content of each file.
    pub(crate) fn overlay(&self) -> Overlay {
        self.staged().into_iter().map(|(path, file)| (path, file.after)).collect()
    }

    /// All staged changes as one unified diff.
    pub fn diff(&self) -> String {
        let read = |bytes: &Option<Vec<u8>>| bytes.clone().map(Snapshot::decode_lossy);
        let diff = |(path, file): &(WorkPath, Versions)| {
            file_diff(path.as_str(), read(&file.before).as_ref(), read(&file.after).as_ref())
        };
        self.staged().iter().map(diff).collect()
    }

    /// Drops everything that is staged and returns how many files had staged changes.
    pub async fn discard(&self) -> usize {
        let _writing = self.writing.lock().await;
        let count = self.staged().len();
        // The answers go, too: a repeated request is to stage its edits again.
        *self.lock() = Staged::default();
        count
    }

    /// Writes everything that is staged to the inner store, all or nothing.
    pub async fn commit_staged(&self, options: CommitOptions) -> Result<Vec<Committed>, Refusal> {
        let _writing = self.writing.lock().await;
        let edit = |(path, file): (WorkPath, Versions)| {
            let before = file.before.map(Snapshot::decode_lossy);
            let after = file.after.map(Into::into);
            VerifiedEdit::restore(path, before, after, Explanation::plain(Rung::Staged))
        };
        let batch: Vec<VerifiedEdit> = self.staged().into_iter().map(edit).collect();
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        match self.inner.commit(batch, options).await {
            Ok(committed) => {
                self.lock().files.clear();
                Ok(committed)
            }
            // Staged edits are not matched again. After any other refusal, files may have been written.
            Err(refusal)
                if matches!(
                    refusal.code,
                    EditCode::Conflict | EditCode::CreateExisting | EditCode::FileNotFound
                ) =>
            {
                Err(refusal.hint(
                    "Nothing was written. Commit once more. If that is refused too, send the tool `staging` with action discard, which drops all staged edits, then read the file and make the edits again.",
                ))
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// What this session has answered to a request; `None` if it has not seen it.
    pub fn recall(&self, request: &RequestId) -> Option<RequestStatus> {
        let staged = self.lock();
        let mut answers = staged.answers.iter();
        let (known, answer) = answers.find(|(known, _)| known.as_str() == request.as_str())?;
        Some(request.status_by(known.digest(), RequestStatus::Answered(answer.clone())))
    }

    /// Stores the answer to a request, for when the same request is sent again.
    pub fn remember(&self, request: &RequestId, answer: String) {
        let mut staged = self.lock();
        staged.answers.push_back((request.clone(), answer));
        if staged.answers.len() > MAX_ANSWERS {
            staged.answers.pop_front();
        }
    }
}

impl Files for StagingStore {
    async fn load_file(&self, path: &WorkPath) -> Result<Option<LoadedFile>, Refusal> {
        let staged = self.lock().files.get(path).map(|file| file.after.clone());
        let bytes = match staged {
            Some(bytes) => bytes,
            None => match self.inner.load(path).await {
                Ok(bytes) => Some(bytes),
                Err(refusal) if refusal.code == EditCode::FileNotFound => None,
                Err(refusal) => return Err(refusal),
            },
        };
        Ok(bytes.map(LoadedFile::by_hash))
    }

    async fn put(
        &self,
        path: &WorkPath,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> Result<StoreOutcome, Refusal> {
        let (before, known) = match self.load_file(path).await? {
            Some(file) => (Some(file.bytes), Some(file.version)),
            None => (None, None),
        };
        if known != version {
            return Ok(StoreOutcome::VersionMismatch);
        }
        let mut staged = self.lock();
        let file = staged.files.entry(path.clone());
        file.or_insert(Versions { before, after: None }).after = bytes;
        Ok(StoreOutcome::Written)
    }
}

impl FileStore for StagingStore {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        Box::pin(async move {
            let file = self.load_file(path).await?;
            file.map(|file| file.bytes).ok_or_else(|| not_found(path))
        })
    }

    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        self.inner.admit(path)
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        _options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        const NOTE: &str =
            "staged only: nothing is on the disk until the tool `staging` commits it";
        Box::pin(async move {
            for edit in &batch {
                self.inner.admit(edit.path()).await?;
            }
            let _writing = self.writing.lock().await;
            let staged = write_all(self, batch).await?.into_iter();
            let committed = staged.map(|(edit, _)| Committed {
                warnings: vec![NOTE.to_owned()],
                ..Committed::new(edit, None, Durability::Staged)
            });
            Ok(committed.collect())
        })
    }

    fn is_folder(&self) -> bool {
        self.inner.is_folder()
    }

    fn lister(&self) -> Option<&dyn Lister> {
        self.inner.lister()
    }

    /// The commits of the inner store. What is staged is in none of them.
    fn history(&self) -> Option<&dyn History> {
        self.inner.history()
    }
}
