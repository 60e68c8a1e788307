//! A layer over another store: edits stay in memory until they are committed together.
//!
//! Reads and searches see the staged files. Commit writes every
//! staged file in one batch of the inner store, which refuses the whole batch when one
//! of the files has changed there since it was staged.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::{Mutex, broadcast};

use super::rebase::{not_found, rebase_edit};
use crate::edit::{
    After, Durability, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath, WriteMethod,
};
use crate::port::{
    BoxFuture, Change, CommitOptions, Committed, FileStore, Listing, Overlay, RequestId,
    RequestStatus, Revision, UndoMode, Undone, refuse_duplicate_paths,
};
use crate::text::Snapshot;

/// A store that keeps edits in memory until [`StagingStore::commit_staged`].
pub struct StagingStore {
    inner: Arc<dyn FileStore>,
    staged: Mutex<Staged>,
}

impl std::fmt::Debug for StagingStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StagingStore").field("root", &self.inner.root()).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Staged {
    files: BTreeMap<WorkPath, StagedContent>,
    /// The answers to requests with an id, oldest first: the digest of the request, and the answer.
    answers: VecDeque<(RequestId, String)>,
}

/// The oldest answers are forgotten beyond this many.
const MAX_ANSWERS: usize = 1_000;

/// A staged file: its content in the inner store and its staged content; `None` for no file.
#[derive(Debug)]
struct StagedContent {
    base: Option<Vec<u8>>,
    content: Option<Vec<u8>>,
}

/// A staged file, as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// The file.
    pub path: WorkPath,
    /// Its content in the inner store; `None` if the file does not exist there.
    pub before: Option<Vec<u8>>,
    /// Its staged content; `None` when it is staged for removal.
    pub after: Option<Vec<u8>>,
}

impl StagingStore {
    /// A staging store over `inner`, with nothing staged.
    pub fn over(inner: Arc<dyn FileStore>) -> Self {
        Self { inner, staged: Mutex::default() }
    }

    /// The staged files, without those whose content is again the one that the inner store had.
    pub async fn staged(&self) -> Vec<StagedFile> {
        let staged = self.staged.lock().await;
        let changed = staged.files.iter().filter(|(_, file)| file.base != file.content);
        changed
            .map(|(path, file)| StagedFile {
                path: path.clone(),
                before: file.base.clone(),
                after: file.content.clone(),
            })
            .collect()
    }

    /// All staged changes as one unified diff.
    pub async fn diff(&self) -> String {
        self.staged().await.iter().map(diff).collect()
    }

    /// Drops everything that is staged and returns how many files had staged changes.
    pub async fn discard(&self) -> usize {
        let count = self.staged().await.len();
        // The answers go, too: a repeated request is to stage its edits again.
        *self.staged.lock().await = Staged::default();
        count
    }

    /// Writes everything that is staged to the inner store, all or nothing.
    pub async fn commit_staged(&self, options: CommitOptions) -> Result<Vec<Committed>, Refusal> {
        let mut staged = self.staged.lock().await;
        let mut batch = Vec::new();
        for (path, file) in &staged.files {
            if file.base == file.content {
                continue;
            }
            let before = match &file.base {
                Some(bytes) => Some(Snapshot::decode(bytes.clone()).map_err(|why| {
                    Refusal::new(EditCode::NotText, format!("`{path}` is not text: {why}"))
                        .at(path.as_str())
                })?),
                None => None,
            };
            let after = match &file.content {
                Some(bytes) => After::Content(bytes.as_slice().into()),
                None => After::Removed,
            };
            let explanation = Explanation::plain(Rung::Staged);
            batch.push(VerifiedEdit::restore(path.clone(), before, after, explanation));
        }
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let committed = self.inner.commit(batch, options).await?;
        staged.files.clear();
        Ok(committed)
    }

    /// The staged content of a file, or else its content in the inner store.
    async fn read(&self, staged: &Staged, path: &WorkPath) -> Result<Vec<u8>, Refusal> {
        match staged.files.get(path) {
            Some(StagedContent { content: Some(bytes), .. }) => Ok(bytes.clone()),
            Some(StagedContent { content: None, .. }) => Err(not_found(path)),
            None => self.inner.load(path).await,
        }
    }

    /// Stages the edits; stages none of them if one is refused.
    async fn stage(&self, batch: Vec<VerifiedEdit>) -> Result<Vec<Committed>, Refusal> {
        refuse_duplicate_paths(&batch)?;
        let mut staged = self.staged.lock().await;
        let mut current_files = BTreeMap::new();
        for edit in &batch {
            match self.read(&staged, edit.path()).await {
                Ok(bytes) => {
                    current_files.insert(edit.path().clone(), bytes);
                }
                Err(refusal) if refusal.code == EditCode::FileNotFound => {}
                Err(refusal) => return Err(refusal),
            }
        }
        let batch: Vec<VerifiedEdit> = batch
            .into_iter()
            .map(|edit| {
                let current = current_files.get(edit.path()).map(Vec::as_slice);
                rebase_edit(edit, current)
            })
            .collect::<Result<_, _>>()?;
        let mut committed = Vec::new();
        for edit in batch {
            let base = current_files.get(edit.path()).cloned();
            let file = staged
                .files
                .entry(edit.path().clone())
                .or_insert(StagedContent { base, content: None });
            let method = match (edit.after(), edit.before()) {
                (After::Removed, _) => WriteMethod::Removed,
                (After::Content(_), None) => WriteMethod::Created,
                (After::Content(_), Some(_)) => WriteMethod::Replaced,
            };
            file.content = match edit.after() {
                After::Content(bytes) => Some(bytes.to_vec()),
                After::Removed => None,
            };
            committed.push(Committed {
                edit,
                revision: None,
                durability: Durability::Staged,
                method,
                warnings: vec![
                    "staged only: nothing is on the disk until the tool `staging` commits it"
                        .to_owned(),
                ],
            });
        }
        Ok(committed)
    }
}

/// The staged change of one file as a unified diff.
fn diff(file: &StagedFile) -> String {
    let text = |version: &Option<Vec<u8>>| {
        let decoded = version.as_ref().and_then(|bytes| Snapshot::decode(bytes.clone()).ok());
        decoded.map_or(String::new(), |snapshot| snapshot.text().to_owned())
    };
    let header = |version: &Option<Vec<u8>>, prefix: char| match version {
        Some(_) => format!("{prefix}/{}", file.path),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (text(&file.before), text(&file.after));
    similar::TextDiff::from_lines(old.as_str(), new.as_str())
        .unified_diff()
        .header(&header(&file.before, 'a'), &header(&file.after, 'b'))
        .to_string()
}

impl FileStore for StagingStore {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn is_folder(&self) -> bool {
        self.inner.is_folder()
    }

    fn can_list(&self) -> bool {
        self.inner.can_list()
    }

    fn list<'a>(
        &'a self,
        folder: &'a str,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing, Refusal>> {
        self.inner.list(folder, after)
    }

    fn overlay(&self) -> BoxFuture<'_, Overlay> {
        Box::pin(async {
            self.staged().await.into_iter().map(|file| (file.path, file.after)).collect()
        })
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        Box::pin(async move {
            let staged = self.staged.lock().await;
            self.read(&staged, path).await
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
        Box::pin(self.stage(batch))
    }

    fn undo(&self, _: Option<u64>, _: UndoMode) -> BoxFuture<'_, Result<Undone, Refusal>> {
        let refusal = Refusal::new(
            EditCode::Blocked,
            "this session's edits are staged, and undo takes back only commits",
        )
        .hint("Send the tool `staging` with action discard to drop all staged edits, or edit the staged files back.");
        Box::pin(std::future::ready(Err(refusal)))
    }

    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>> {
        self.inner.log()
    }

    fn committed(&self, revision: u64) -> BoxFuture<'_, Result<Vec<Committed>, Refusal>> {
        self.inner.committed(revision)
    }

    fn recall<'a>(&'a self, request: &'a RequestId) -> BoxFuture<'a, RequestStatus> {
        Box::pin(async move {
            let staged = self.staged.lock().await;
            let is_same_id = |known: &&(RequestId, String)| known.0.as_str() == request.as_str();
            match staged.answers.iter().find(is_same_id) {
                Some((known, answer)) if known.digest() == request.digest() => {
                    RequestStatus::Answered(answer.clone())
                }
                Some(_) => RequestStatus::OtherRequest,
                // It may be the request that committed what was staged.
                None => self.inner.recall(request).await,
            }
        })
    }

    fn remember<'a>(&'a self, request: &'a RequestId, answer: String) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut staged = self.staged.lock().await;
            staged.answers.push_back((request.clone(), answer));
            if staged.answers.len() > MAX_ANSWERS {
                staged.answers.pop_front();
            }
        })
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        self.inner.changes()
    }

    fn recorded_versions<'a>(
        &'a self,
        path: &'a WorkPath,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Vec<u8>>> {
        self.inner.recorded_versions(path, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::EditRequest;
    use crate::engine::{CallOptions, Engine};
    use crate::store::MemoryStore;

    fn path(name: &str) -> WorkPath {
        WorkPath::parse(name, Path::new("/")).expect("path")
    }

    fn stores() -> (Arc<MemoryStore>, Engine, Arc<StagingStore>) {
        let inner = Arc::new(MemoryStore::new());
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
        let diff = staging.diff().await;
        assert!(diff.contains("-one\n+un\n") && diff.contains("--- /dev/null\n+++ b/c"), "{diff}");
        staging.commit_staged(CommitOptions::default()).await.expect("commits");
        assert_eq!(inner.load(&path("a")).await.expect("a"), b"un\n");
        assert_eq!(inner.load(&path("c")).await.expect("c"), b"new\n");
        assert!(staging.staged().await.is_empty());
    }

    #[tokio::test]
    async fn a_change_in_the_inner_store_refuses_the_whole_commit() {
        let (inner, engine, staging) = stores();
        edit(&engine, "a", "one", "uno").await.expect("edit");
        edit(&engine, "b", "two", "due").await.expect("edit");
        inner.put(path("b"), b"another program\n".to_vec());
        let refused = staging.commit_staged(CommitOptions::default()).await.expect_err("conflict");
        assert_eq!(refused.code, EditCode::Conflict);
        assert_eq!(inner.load(&path("a")).await.expect("a"), b"one\n");
        assert_eq!(staging.discard().await, 2);
        assert_eq!(engine.snapshot(&path("b")).await.expect("b").text(), "another program\n");
    }
}
