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
        let refusal = match self.inner.commit(batch, options).await {
            Ok(committed) => {
                self.lock().files.clear();
                return Ok(committed);
            }
            Err(refusal) => refusal,
        };
        // After any other refusal, files may have been written.
        let may_have_changed = matches!(
            refusal.code,
            EditCode::Conflict | EditCode::CreateExisting | EditCode::FileNotFound
        );
        if !may_have_changed {
            return Err(refusal);
        }
        // Staged edits are not matched again, so the same call would be refused again.
        for (path, staged) in self.staged() {
            let current = match self.inner.load(&path).await {
                Ok(bytes) => Some(bytes),
                Err(error) if error.code == EditCode::FileNotFound => None,
                Err(_) => return Err(refusal),
            };
            if current != staged.before {
                return Err(refusal.hint(
                    "Nothing was written. Send the tool `staging` with action discard, which drops all staged edits, then read the file and make the edits again.",
                ));
            }
        }
        Err(refusal)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::EditRequest;
    use crate::engine::{CallOptions, Engine};
    use crate::port::VersionedFiles;
    use crate::store::{MemoryFiles, MemoryStore, VersionedStore};
    use crate::text::ContentHash;
    use std::future::ready;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn path(name: &str) -> WorkPath {
        WorkPath::parse(name, Path::new("/")).expect("path")
    }

    fn stores() -> (Arc<MemoryStore>, Engine, Arc<StagingStore>) {
        let inner = Arc::new(MemoryStore::default());
        inner.put(path("a"), b"one\n".to_vec());
        inner.put(path("b"), b"two\n".to_vec());
        let engine = Engine::builder(inner.clone()).build().staged();
        let staging = engine.staging().expect("staged").clone();
        (inner, engine, staging)
    }

    async fn edit(engine: &Engine, name: &str, old: &str, new: &str) -> Result<(), Refusal> {
        let request = EditRequest::new(old, new);
        engine.edit_file(&path(name), &request, &CallOptions::default()).await.map(drop)
    }

    #[tokio::test]
    async fn edits_are_staged_and_committed_together() {
        let (inner, engine, staging) = stores();
        edit(&engine, "a", "one", "uno").await.expect("edit");
        edit(&engine, "a", "uno", "un").await.expect("sees the staged file");
        edit(&engine, "c", "", "new\n").await.expect("creates");
        assert_eq!(inner.load(&path("a")).await.expect("a"), b"one\n");
        let diff = staging.diff();
        assert!(diff.contains("-one\n+un\n") && diff.contains("--- /dev/null\n+++ b/c"), "{diff}");
        staging.commit_staged(CommitOptions::default()).await.expect("commits");
        assert_eq!(inner.load(&path("a")).await.expect("a"), b"un\n");
        assert_eq!(inner.load(&path("c")).await.expect("c"), b"new\n");
        assert!(staging.staged().is_empty());
    }

    /// Files of which only so many can be written.
    struct Failing(MemoryFiles, AtomicUsize);

    impl VersionedFiles for Failing {
        fn load<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<LoadedFile>, String>> {
            self.0.load(path)
        }

        fn store_if<'a>(
            &'a self,
            path: &'a str,
            bytes: Option<Vec<u8>>,
            version: Option<String>,
        ) -> BoxFuture<'a, Result<StoreOutcome, String>> {
            let left = self.1.load(Ordering::Relaxed);
            self.1.store(left.saturating_sub(1), Ordering::Relaxed);
            match left {
                0 => Box::pin(ready(Err("disk on fire".to_owned()))),
                _ => self.0.store_if(path, bytes, version),
            }
        }
    }

    #[tokio::test]
    async fn a_commit_that_left_a_file_written_does_not_say_that_nothing_was() {
        let files = MemoryFiles::default();
        for name in ["a", "b"] {
            files.store_if(name, Some(b"one\n".to_vec()), None).await.expect("stored");
        }
        let inner = Arc::new(VersionedStore::new(Failing(files, AtomicUsize::new(1)), "/"));
        let engine = Engine::builder(inner.clone()).build().staged();
        edit(&engine, "a", "one", "uno").await.expect("edit");
        edit(&engine, "b", "one", "uno").await.expect("edit");
        let staging = engine.staging().expect("staged");
        let refused = staging.commit_staged(CommitOptions::default()).await.expect_err("failed");
        assert_eq!(inner.load(&path("a")).await.expect("a"), b"uno\n", "it was not restored");
        let text = refused.text();
        assert!(text.contains("could not be restored: a"), "{text}");
        assert!(!text.contains("Nothing was written"), "{text}");
    }

    #[tokio::test]
    async fn a_removed_file_refuses_the_commit_as_a_changed_one_does() {
        let (inner, engine, staging) = stores();
        edit(&engine, "a", "one", "uno").await.expect("edit");
        edit(&engine, "b", "two", "due").await.expect("edit");
        inner
            .files
            .store_if("b", None, Some(ContentHash::of(b"two\n").to_string()))
            .await
            .expect("removed");
        let refused = staging.commit_staged(CommitOptions::default()).await.expect_err("removed");
        assert!(refused.hint.is_some_and(|hint| hint.contains("action discard")));
        assert_eq!(inner.load(&path("a")).await.expect("a"), b"one\n");
    }

    #[tokio::test]
    async fn a_change_in_the_inner_store_refuses_the_whole_commit() {
        let (inner, engine, staging) = stores();
        edit(&engine, "a", "one", "uno").await.expect("edit");
        edit(&engine, "b", "two", "due").await.expect("edit");
        inner.put(path("b"), b"another program\n".to_vec());
        let refused = staging.commit_staged(CommitOptions::default()).await.expect_err("conflict");
        assert_eq!(refused.code, EditCode::Conflict);
        let hint = refused.hint.expect("hint");
        assert!(hint.contains("action discard") && !hint.contains("same call"), "{hint}");
        assert_eq!(inner.load(&path("a")).await.expect("a"), b"one\n");
        assert_eq!(staging.discard().await, 2);
        assert_eq!(engine.snapshot(&path("b")).await.expect("b").text(), "another program\n");
    }
}
