//! A store over the caller's own files, which can only be loaded and written one by one. This
//! module adds the rest: it matches an edit again if the file has changed, it restores the files
//! of a commit if one of its writes fails, and it can undo commits for as long as it knows them
//! (`commits`).

use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

use super::change_feed::ChangeFeed;
use super::commits::Commits;
use super::rebase::{not_found, rebase_edit, refuse_duplicate_paths};
use super::record::FileRecord;
use super::timeline::{Versions, history_not_read, no_revision, repeated, take_back};
use crate::edit::{Durability, EditCode, Refusal, VerifiedEdit, WorkPath};
use crate::port::{
    BoxFuture, Change, CommitOptions, Committed, FileStore, History, Lister, LoadedFile, RequestId,
    RequestStatus, Revision, StoreOutcome, UndoMode, Undone, VersionedFiles,
};

/// How often an edit is matched again because another program has changed the file.
const MAX_ATTEMPTS: usize = 16;

/// A [`FileStore`] over [`VersionedFiles`].
#[derive(Debug)]
pub struct VersionedStore<F> {
    pub(super) files: F,
    root: PathBuf,
    commits: Mutex<Commits>,
    changes: ChangeFeed,
}

/// [`VersionedFiles`] by the paths of edits, with refusals for errors.
pub(super) trait Files: Send + Sync {
    /// Loads a file; `None` if it does not exist.
    fn load_file(
        &self,
        path: &WorkPath,
    ) -> impl Future<Output = Result<Option<LoadedFile>, Refusal>> + Send;

    /// Writes a file, or removes it if `bytes` is `None`. The file must still have this version.
    fn put(
        &self,
        path: &WorkPath,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> impl Future<Output = Result<StoreOutcome, Refusal>> + Send;
}

impl<F: VersionedFiles> Files for F {
    async fn load_file(&self, path: &WorkPath) -> Result<Option<LoadedFile>, Refusal> {
        let loaded = self.load(path.as_str()).await;
        loaded.map_err(|why| failed(EditCode::ReadError, path, "read", &why))
    }

    async fn put(
        &self,
        path: &WorkPath,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> Result<StoreOutcome, Refusal> {
        let stored = self.store_if(path.as_str(), bytes, version).await;
        stored.map_err(|why| failed(EditCode::WriteError, path, "written", &why))
    }
}

/// The refusal after the caller's own files failed.
fn failed(code: EditCode, path: &WorkPath, what: &str, why: &str) -> Refusal {
    Refusal::new(code, format!("`{path}` cannot be {what}: {why}"))
        .at(path.as_str())
        .hint("Send the same call again. If that fails too, tell the user.")
}

/// Writes the edits in order. If one fails, restores those already written.
pub(super) async fn write_all(
    files: &impl Files,
    batch: Vec<VerifiedEdit>,
) -> Result<Vec<(VerifiedEdit, Versions)>, Refusal> {
    refuse_duplicate_paths(&batch)?;
    let mut written = Vec::new();
    for edit in batch {
        match write(files, edit).await {
            Ok(edit_and_versions) => written.push(edit_and_versions),
            Err(refusal) => return Err(roll_back(files, written, refusal).await),
        }
    }
    Ok(written)
}

/// Writes one edit; matches it again whenever the file has changed.
async fn write(
    files: &impl Files,
    mut edit: VerifiedEdit,
) -> Result<(VerifiedEdit, Versions), Refusal> {
    let path = edit.path().clone();
    for _ in 0..MAX_ATTEMPTS {
        let current = files.load_file(&path).await?;
        edit = rebase_edit(edit, current.as_ref().map(|file| file.bytes.as_slice()))?;
        let after = edit.after().map(|content| content.to_vec());
        let (before, version) = match current {
            Some(LoadedFile { bytes, version }) => (Some(bytes), Some(version)),
            None => (None, None),
        };
        if files.put(&path, after.clone(), version).await? == StoreOutcome::Written {
            return Ok((edit, Versions { before, after }));
        }
    }
    Err(Refusal::new(
        EditCode::Conflict,
        format!("`{path}` changed {MAX_ATTEMPTS} times while the edit was written"),
    )
    .at(path.as_str())
    .hint("Nothing was written. Send the same call again."))
}

/// Restores the files that a failed commit has written. Adds to `refusal` the names of the files that
/// cannot be restored.
async fn roll_back(
    files: &impl Files,
    written: Vec<(VerifiedEdit, Versions)>,
    refusal: Refusal,
) -> Refusal {
    let mut failed = Vec::new();
    for (edit, versions) in written.into_iter().rev() {
        if !restore(files, edit.path(), versions).await {
            failed.push(edit.path().to_string());
        }
    }
    refusal.with_unrestored(&failed)
}

/// Writes the old content back unless the file has changed since; returns whether the old content is
/// back.
async fn restore(files: &impl Files, path: &WorkPath, versions: Versions) -> bool {
    let Ok(current) = files.load_file(path).await else { return false };
    if current.as_ref().map(|file| &file.bytes) != versions.after.as_ref() {
        return false;
    }
    let version = current.map(|file| file.version);
    matches!(files.put(path, versions.before, version).await, Ok(StoreOutcome::Written))
}

impl<F: VersionedFiles> VersionedStore<F> {
    /// A store over these files. Absolute paths are read as below `root`, which need not
    /// be a folder of this machine.
    pub fn new(files: F, root: impl Into<PathBuf>) -> Self {
        Self { files, root: root.into(), commits: Mutex::default(), changes: ChangeFeed::default() }
    }

    /// The same with the commits in this folder, where other processes find them.
    #[cfg(any(not(unix), test))]
    pub(super) fn kept_in(self, folder: PathBuf) -> Self {
        Self { commits: Mutex::new(Commits::in_folder(folder)), ..self }
    }

    fn lock_commits(&self) -> MutexGuard<'_, Commits> {
        // A panic elsewhere leaves the list whole.
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The commits, those of other processes included.
    fn commits(&self) -> Result<MutexGuard<'_, Commits>, Refusal> {
        let mut commits = self.lock_commits();
        commits.load().map_err(history_not_read)?;
        Ok(commits)
    }

    /// Records a commit, announces it, and reports its edits. If it cannot be recorded, it cannot be
    /// undone, which a warning says.
    fn record(
        &self,
        written: Vec<(VerifiedEdit, Versions)>,
        client: Option<String>,
        undoes: Option<u64>,
    ) -> Vec<Committed> {
        let (edits, versions): (Vec<_>, Vec<_>) = written.into_iter().unzip();
        let recorded = self.lock_commits().add(&edits, versions, client, undoes);
        let revision = recorded.as_ref().ok().copied();
        let mut committed: Vec<Committed> = edits
            .into_iter()
            .map(|edit| {
                self.changes.announce_edit(revision, &edit);
                Committed::new(edit, revision, Durability::Unknown)
            })
            .collect();
        if let (Err(error), Some(first)) = (recorded, committed.first_mut()) {
            first.warnings.push(format!(
                "this change was made, but cannot be undone: the history cannot be written ({error})"
            ));
        }
        committed
    }

    /// Undoes a commit. In a file that has changed since, only the lines of the commit are reverted.
    async fn undo_commit(&self, revision: Option<u64>, mode: UndoMode) -> Result<Undone, Refusal> {
        let timeline = self.commits()?.timeline();
        let commit = timeline.to_undo(revision, |_| true)?;
        let revision = commit.revision;
        let mut batch = Vec::new();
        for file in commit.files.iter().rev() {
            let path = WorkPath::parse(&file.path, &self.root)?;
            let current = self.files.load_file(&path).await?.map(|file| file.bytes);
            let versions = |revision| self.lock_commits().versions(revision, &file.path);
            let later = timeline.later_in_effect(revision, &file.path);
            let later =
                later.iter().map(|(later, _)| (later.revision, versions(later.revision))).collect();
            let recorded = versions(revision).ok_or_else(|| no_revision(revision))?;
            batch.push(take_back(revision, &path, recorded, current, later)?);
        }
        if mode == UndoMode::DryRun {
            return Ok(Undone::planned(revision, batch));
        }
        let written = write_all(&self.files, batch).await?;
        Ok(Undone { revision, committed: self.record(written, None, Some(revision)) })
    }
}

impl<F: VersionedFiles> FileStore for VersionedStore<F> {
    fn root(&self) -> &Path {
        &self.root
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        Box::pin(async move {
            self.files.admit(path, true)?;
            let file = self.files.load_file(path).await?;
            file.map(|file| file.bytes).ok_or_else(|| not_found(path))
        })
    }

    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(ready(self.files.admit(path, false)))
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        Box::pin(async move {
            batch.iter().try_for_each(|edit| self.files.admit(edit.path(), false))?;
            let written = write_all(&self.files, batch).await?;
            Ok(self.record(written, options.client.map(|client| client.to_string()), None))
        })
    }

    fn is_folder(&self) -> bool {
        self.files.is_folder()
    }

    fn lister(&self) -> Option<&dyn Lister> {
        None
    }

    fn history(&self) -> Option<&dyn History> {
        Some(self)
    }
}

impl<F: VersionedFiles> History for VersionedStore<F> {
    fn undo(
        &self,
        revision: Option<u64>,
        mode: UndoMode,
    ) -> BoxFuture<'_, Result<Undone, Refusal>> {
        Box::pin(self.undo_commit(revision, mode))
    }

    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>> {
        Box::pin(async { Ok(self.commits()?.timeline().into_log()) })
    }

    fn committed(&self, revision: u64) -> BoxFuture<'_, Result<Vec<Committed>, Refusal>> {
        Box::pin(async move {
            let commits = self.commits()?;
            let timeline = commits.timeline();
            let files = timeline.commit(revision)?.files.iter();
            let committed = |file: &FileRecord| {
                let path = WorkPath::parse(&file.path, &self.root)?;
                let versions = commits.versions(revision, &file.path).unwrap_or_default();
                Ok(repeated(revision, path, versions, Durability::Unknown))
            };
            files.map(committed).collect()
        })
    }

    fn recorded_versions<'a>(
        &'a self,
        path: &'a WorkPath,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Vec<u8>>> {
        Box::pin(async move {
            let Ok(commits) = self.commits() else { return Vec::new() };
            let wanted = commits.timeline().versions_of(path.as_str(), from);
            wanted.into_iter().filter_map(|hash| commits.bytes(hash)).collect()
        })
    }

    fn recall<'a>(&'a self, _: &'a RequestId) -> BoxFuture<'a, RequestStatus> {
        Box::pin(ready(RequestStatus::Unknown))
    }

    fn remember<'a>(&'a self, _: &'a RequestId, _: String) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.changes.subscribe())
    }
}
