//! A store over the caller's own files, which can only be loaded and written one by one. This
//! module adds the rest: it matches an edit again if the file has changed, it restores the files
//! of a commit if one of its writes fails, and it can undo commits for as long as it knows them
//! (`commits`).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::commits::{Commit, Commits, FileChange};
use super::rebase::{not_found, rebase_edit};
use super::revert::{LaterVersion, VersionSource, revert_change};
use crate::edit::{
    After, Durability, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath, WriteMethod,
};
use crate::port::{
    BoxFuture, CommitOptions, Committed, FileStore, LoadedFile, Revision, StoreOutcome, UndoMode,
    Undone, VersionedFiles, refuse_duplicate_paths,
};
use crate::text::Snapshot;

/// How often an edit is matched again because another program has changed the file.
const MAX_ATTEMPTS: usize = 16;

/// A [`FileStore`] over [`VersionedFiles`].
#[derive(Debug)]
pub struct VersionedStore<F> {
    files: F,
    root: PathBuf,
    commits: Mutex<Commits>,
}

impl<F: VersionedFiles> VersionedStore<F> {
    /// The files that this store was built on.
    #[cfg(any(not(unix), test))]
    pub(super) fn files(&self) -> &F {
        &self.files
    }

    /// A store over these files. Absolute paths are read as below `root`, which need not
    /// be a folder of this machine.
    pub fn new(files: F, root: impl Into<PathBuf>) -> Self {
        Self { files, root: root.into(), commits: Mutex::default() }
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
        commits.load().map_err(|error| {
            Refusal::new(EditCode::ReadError, format!("the history cannot be read: {error}"))
                .hint("Check the state folder (RESTITCH_STATE_DIR).")
        })?;
        Ok(commits)
    }

    /// Loads a file; `None` if it does not exist.
    async fn load_file(&self, path: &WorkPath) -> Result<Option<LoadedFile>, Refusal> {
        self.files.load(path.as_str()).await.map_err(|why| {
            Refusal::new(EditCode::ReadError, format!("`{path}` cannot be read: {why}"))
                .at(path.as_str())
                .hint("Send the same call again. If that fails too, tell the user.")
        })
    }

    /// Writes a file, or removes it if `bytes` is `None`. The file must still have this version.
    async fn put(
        &self,
        path: &WorkPath,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> Result<StoreOutcome, Refusal> {
        self.files.store_if(path.as_str(), bytes, version).await.map_err(|why| {
            Refusal::new(EditCode::WriteError, format!("`{path}` cannot be written: {why}"))
                .at(path.as_str())
                .hint("Send the same call again. If that fails too, tell the user.")
        })
    }

    /// Writes one edit; matches it again whenever the file has changed.
    async fn write(&self, mut edit: VerifiedEdit) -> Result<(VerifiedEdit, FileChange), Refusal> {
        let path = edit.path().clone();
        for _ in 0..MAX_ATTEMPTS {
            let current = self.load_file(&path).await?;
            edit = rebase_edit(edit, current.as_ref().map(|file| file.bytes.as_slice()))?;
            let after = match edit.after() {
                After::Content(content) => Some(content.to_vec()),
                After::Removed => None,
            };
            let (before, version) = match current {
                Some(LoadedFile { bytes, version }) => (Some(bytes), Some(version)),
                None => (None, None),
            };
            if self.put(&path, after.clone(), version).await? == StoreOutcome::Written {
                return Ok((edit, FileChange { path, before, after }));
            }
        }
        Err(Refusal::new(
            EditCode::Conflict,
            format!("`{path}` changed {MAX_ATTEMPTS} times while the edit was written"),
        )
        .at(path.as_str())
        .hint("Nothing was written. Send the same call again."))
    }

    /// Restores the files that a failed commit has written. Adds to `refusal` the names of the
    /// files that cannot be restored.
    async fn roll_back(&self, written: &[FileChange], refusal: Refusal) -> Refusal {
        let mut failed = Vec::new();
        for change in written.iter().rev() {
            if !self.restore(change).await {
                failed.push(change.path.to_string());
            }
        }
        refusal.with_unrestored(&failed)
    }

    /// Writes the old content back unless the file has changed since; returns whether the old content
    /// is back.
    async fn restore(&self, change: &FileChange) -> bool {
        let Ok(current) = self.load_file(&change.path).await else { return false };
        if current.as_ref().map(|file| &file.bytes) != change.after.as_ref() {
            return false;
        }
        let version = current.map(|file| file.version);
        matches!(
            self.put(&change.path, change.before.clone(), version).await,
            Ok(StoreOutcome::Written)
        )
    }

    /// Writes the edits in order. If one fails, restores those already written.
    async fn write_all(
        &self,
        batch: Vec<VerifiedEdit>,
    ) -> Result<Vec<(VerifiedEdit, FileChange)>, Refusal> {
        let mut written: Vec<(VerifiedEdit, FileChange)> = Vec::new();
        for edit in batch {
            match self.write(edit).await {
                Ok(edit_and_change) => written.push(edit_and_change),
                Err(refusal) => {
                    let changes: Vec<FileChange> =
                        written.into_iter().map(|(_, change)| change).collect();
                    return Err(self.roll_back(&changes, refusal).await);
                }
            }
        }
        Ok(written)
    }

    /// Records a commit, and reports its edits. If it cannot be recorded, it cannot be undone, which a
    /// warning says.
    fn record(
        &self,
        written: Vec<(VerifiedEdit, FileChange)>,
        client: Option<String>,
        undoes: Option<u64>,
    ) -> Vec<Committed> {
        let (edits, changes): (Vec<_>, Vec<_>) = written.into_iter().unzip();
        let recorded = self.lock_commits().add(changes, client, undoes);
        let revision = recorded.as_ref().ok().copied();
        let mut committed: Vec<Committed> = edits
            .into_iter()
            .map(|edit| into_committed(edit, revision, Durability::Unknown))
            .collect();
        if let (Err(error), Some(first)) = (recorded, committed.first_mut()) {
            first.warnings.push(format!(
                "this change was made, but cannot be undone: the history cannot be written ({error})"
            ));
        }
        committed
    }

    /// The commit to undo: `revision`, or else the last commit that is neither undone nor an undo.
    fn find_commit(&self, revision: Option<u64>) -> Result<(u64, Vec<FileChange>), Refusal> {
        let commits = self.commits()?;
        let undone_by = commits.undone_by();
        let is_wanted = |commit: &&Commit| match revision {
            Some(wanted) => commit.revision == wanted,
            None => commit.undoes.is_none(),
        };
        let can_be_undone = |commit: &&Commit| !undone_by.contains_key(&commit.revision);
        let commit = commits.newest_first().filter(can_be_undone).find(is_wanted);
        commit.map(|commit| (commit.revision, commit.files.clone())).ok_or_else(|| {
            let message = match revision {
                Some(revision) => format!("revision {revision} is unknown or already undone"),
                None => "there is nothing to undo: no edits were made, or all of them are undone"
                    .to_owned(),
            };
            Refusal::new(EditCode::NoChange, message).hint(match commits.are_kept() {
                true => {
                    "`restitch log` lists the revisions that can be undone; old ones are deleted."
                }
                false => "This store remembers the edits of this process only.",
            })
        })
    }

    /// The current content of a file without the change of this revision, if the file has changed
    /// since. A conflict if the same lines were changed, or if the change or a later one created or
    /// removed the file.
    fn revert(
        &self,
        revision: u64,
        change: &FileChange,
        current: Option<&[u8]>,
    ) -> Result<Vec<u8>, Refusal> {
        let mut later = Vec::new();
        let mut first_later = VersionSource::External;
        for commit in self.lock_commits().newest_first() {
            let source = VersionSource::Revision(commit.revision);
            if commit.revision <= revision {
                break;
            }
            for file in commit.files.iter().filter(|file| file.path == change.path) {
                first_later = source;
                later.push((file.after.clone(), source));
            }
        }
        let conflict = |source: VersionSource| source.conflict(revision, &change.path);
        let (Some(before), Some(after), Some(current)) = (&change.before, &change.after, current)
        else {
            return Err(conflict(first_later));
        };
        let mut versions = Vec::new();
        for (bytes, source) in later.into_iter().rev() {
            let bytes = bytes.ok_or_else(|| conflict(source))?;
            versions.push(LaterVersion { bytes, source });
        }
        if versions.last().is_none_or(|version| version.bytes != current) {
            let bytes = current.to_vec();
            versions.push(LaterVersion { bytes, source: VersionSource::External });
        }
        revert_change(before, after, &versions).map_err(conflict)
    }

    /// Undoes a commit. In a file that has changed since, only the lines of the commit are reverted.
    async fn undo_commit(&self, revision: Option<u64>, mode: UndoMode) -> Result<Undone, Refusal> {
        let (revision, files) = self.find_commit(revision)?;
        let mut batch = Vec::new();
        for change in files.iter().rev() {
            let current = self.load_file(&change.path).await?.map(|file| file.bytes);
            let after = match &change.before {
                _ if current != change.after => {
                    let reverted = self.revert(revision, change, current.as_deref())?;
                    After::Content(reverted.into())
                }
                Some(bytes) => After::Content(bytes.clone().into()),
                None => After::Removed,
            };
            let explanation = Explanation::plain(Rung::Undo);
            let before = current.map(Snapshot::decode_lossy);
            batch.push(VerifiedEdit::restore(change.path.clone(), before, after, explanation));
        }
        if mode == UndoMode::DryRun {
            let committed =
                batch.into_iter().map(|edit| into_committed(edit, None, Durability::DryRun));
            return Ok(Undone { revision, committed: committed.collect() });
        }
        let written = self.write_all(batch).await?;
        Ok(Undone { revision, committed: self.record(written, None, Some(revision)) })
    }
}

/// A committed edit without warnings.
pub fn into_committed(
    edit: VerifiedEdit,
    revision: Option<u64>,
    durability: Durability,
) -> Committed {
    let method = match (edit.base(), edit.after()) {
        (_, After::Removed) => WriteMethod::Removed,
        (None, _) => WriteMethod::Created,
        _ => WriteMethod::Replaced,
    };
    Committed { edit, revision, durability, method, warnings: Vec::new() }
}

/// The current time in milliseconds since 1970.
pub fn millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

impl<F: VersionedFiles> FileStore for VersionedStore<F> {
    fn root(&self) -> &Path {
        &self.root
    }

    fn is_folder(&self) -> bool {
        false
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        Box::pin(async move {
            let file = self.load_file(path).await?;
            file.map(|file| file.bytes).ok_or_else(|| not_found(path))
        })
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        Box::pin(async move {
            refuse_duplicate_paths(&batch)?;
            let written = self.write_all(batch).await?;
            Ok(self.record(written, options.client.map(|client| client.to_string()), None))
        })
    }

    fn undo(
        &self,
        revision: Option<u64>,
        mode: UndoMode,
    ) -> BoxFuture<'_, Result<Undone, Refusal>> {
        Box::pin(self.undo_commit(revision, mode))
    }

    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>> {
        Box::pin(async { Ok(self.commits()?.log()) })
    }

    fn committed(&self, revision: u64) -> BoxFuture<'_, Result<Vec<Committed>, Refusal>> {
        Box::pin(async move {
            let commits = self.commits()?;
            let commit = commits.newest_first().find(|commit| commit.revision == revision);
            let commit = commit.ok_or_else(|| {
                let message = format!("this store has forgotten revision {revision}");
                Refusal::new(EditCode::InvalidArguments, message)
                    .hint("`restitch log` lists the revisions that it has.")
            })?;
            let files = commit.files.iter().cloned().map(|FileChange { path, before, after }| {
                let after = after.map_or(After::Removed, |bytes| After::Content(bytes.into()));
                let before = before.map(Snapshot::decode_lossy);
                let explanation = Explanation::plain(Rung::Repeated);
                let edit = VerifiedEdit::restore(path, before, after, explanation);
                into_committed(edit, Some(revision), Durability::Unknown)
            });
            Ok(files.collect())
        })
    }
}
