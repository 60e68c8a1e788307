//! The log, undo, and older versions of a file, from the records in the bucket.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::commit::CommitContext;
use super::history::{self, CommitRecord, CommitState, FileRecord, FileVersions, HEAD_BYTES};
use super::objects::{PAGE_SIZE, StorageError};
use super::{Bucket, CurrentFile, RESERVED_FOLDER};
use crate::edit::{
    After, Durability, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath,
};
use crate::port::{Revision, RevisionFile, UndoMode, Undone};
use crate::store::revert::{self, LaterVersion, MAX_VERSIONS, VersionSource, revert_change};
use crate::store::versioned::committed;
use crate::text::{ContentHash, Snapshot};

/// How many commits the log shows, and the search for the last edit looks through.
const MAX_LOGGED: usize = 200;

/// Pages of the record that are looked through for a named revision.
const MAX_PAGES: usize = 50;

/// Requests at the same time.
const CONCURRENT_REQUESTS: usize = 16;

/// A recorded commit, and whether it was applied.
#[derive(Debug, Clone)]
pub(super) struct LoggedCommit {
    pub(super) entry: CommitRecord,
    pub(super) was_applied: bool,
    key: String,
}

impl Bucket {
    /// Keys of the record, newest first: the newest page, or all since a revision.
    async fn list_keys(&self, since: Option<u64>) -> Result<Vec<String>, StorageError> {
        let folder = format!("{RESERVED_FOLDER}/history");
        let mut keys: Vec<String> = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = self.objects.page(&folder, keys.last().map(String::as_str)).await?;
            let is_last = page.len() < PAGE_SIZE;
            let is_since = |key: &str| {
                let revision = history::revision_of(key);
                revision.is_some_and(|of| since.is_none_or(|since| of >= since))
            };
            let all = page.len();
            let wanted = page.into_iter().map(|listed| listed.key).filter(|key| is_since(key));
            let before = keys.len();
            keys.extend(wanted);
            if is_last || since.is_none() || keys.len() - before < all {
                break;
            }
        }
        Ok(keys)
    }

    /// The heads of these entries, in order. Some are gone by now, or no record.
    async fn read_heads(
        &self,
        keys: Vec<String>,
    ) -> Result<Vec<(String, CommitRecord)>, StorageError> {
        let heads = stream::iter(keys).map(|key| async move {
            let Some(start) = self.objects.get_prefix(&key, HEAD_BYTES).await? else {
                return Ok(None);
            };
            let length = history::head_length(&start.bytes).unwrap_or(0);
            let bytes = match length > start.bytes.len() {
                false => start.bytes,
                true => match self.objects.get_prefix(&key, length as u64).await? {
                    Some(more) => more.bytes,
                    None => return Ok(None),
                },
            };
            Ok(history::decode_head(&bytes).map(|entry| (key, entry)))
        });
        let heads: Vec<Option<_>> = heads.buffered(CONCURRENT_REQUESTS).try_collect().await?;
        Ok(heads.into_iter().flatten().collect())
    }

    /// Tells of these commits, newest first, which were applied.
    async fn judge(
        &self,
        heads: Vec<(String, CommitRecord)>,
    ) -> Result<Vec<LoggedCommit>, StorageError> {
        let mut files: HashMap<String, Vec<(u64, FileRecord)>> = HashMap::new();
        for (_, entry) in &heads {
            for file in &entry.files {
                files.entry(file.path.clone()).or_default().push((entry.revision, file.clone()));
            }
        }
        let single = heads.iter().filter(|(_, entry)| entry.state == CommitState::Single);
        let paths: HashSet<String> = single
            .flat_map(|(_, entry)| entry.files.iter().map(|file| file.path.clone()))
            .collect();
        let current_files = stream::iter(paths).map(|path| async move {
            let object = self.objects.get(&path, self.options.max_bytes).await;
            let now = match object {
                Ok(found) => found.into(),
                // What is too large now was changed by others.
                Err(error) if error.too_large.is_some() => CurrentFile::default(),
                Err(error) => return Err(error),
            };
            Ok((path, now))
        });
        let current_files: HashMap<String, CurrentFile> =
            current_files.buffered(CONCURRENT_REQUESTS).try_collect().await?;
        let lineages: HashMap<&String, Lineage> = current_files
            .iter()
            .map(|(path, now)| (path, Lineage::of(now, files.get(path).map_or(&[], Vec::as_slice))))
            .collect();
        let was_applied = |entry: &CommitRecord| match entry.state {
            CommitState::Done => true,
            CommitState::Open | CommitState::TakenBack => false,
            CommitState::Single => entry.files.iter().all(|file| {
                lineages
                    .get(&file.path)
                    .is_none_or(|lineage| lineage.contains(entry.revision, file))
            }),
        };
        let logged = |(key, entry): (String, CommitRecord)| LoggedCommit {
            was_applied: was_applied(&entry),
            entry,
            key,
        };
        Ok(heads.into_iter().map(logged).collect())
    }

    /// A commit, and those of the same files since, newest first.
    pub(super) async fn commits_since(
        &self,
        entry: &CommitRecord,
    ) -> Result<Vec<LoggedCommit>, StorageError> {
        let mut keys = self.list_keys(Some(entry.revision)).await?;
        keys.retain(|key| entry.files.iter().any(|file| history::may_concern(key, &file.path)));
        let mut heads = self.read_heads(keys).await?;
        heads.retain(|(_, other)| {
            other.files.iter().any(|file| entry.files.iter().any(|own| own.path == file.path))
        });
        self.judge(heads).await
    }

    async fn recent_commits(&self) -> Result<Vec<LoggedCommit>, StorageError> {
        let mut keys = self.list_keys(None).await?;
        keys.truncate(MAX_LOGGED);
        let heads = self.read_heads(keys).await?;
        self.judge(heads).await
    }

    pub(super) async fn log(&self) -> Result<Vec<Revision>, Refusal> {
        self.recover_if_due().await;
        let newest = self.recent_commits().await.map_err(|error| not_read(&error))?;
        let undone_by = undone_by(&newest);
        let revision = |LoggedCommit { entry, was_applied, .. }: LoggedCommit| Revision {
            revision: entry.revision,
            unix_millis: entry.unix_millis,
            undoes: entry.undoes,
            undone_by: undone_by.get(&entry.revision).copied(),
            interrupted: !was_applied,
            files: entry
                .files
                .into_iter()
                .map(|file| RevisionFile {
                    path: file.path,
                    before_sha256: file.before,
                    after_sha256: file.after,
                })
                .collect(),
        };
        Ok(newest.into_iter().map(revision).collect())
    }

    pub(super) async fn undo(
        &self,
        revision: Option<u64>,
        mode: UndoMode,
    ) -> Result<Undone, Refusal> {
        self.recover_if_due().await;
        let mut attempts = 0;
        loop {
            let (entry, since) = self.find_commit(revision).await?;
            let found = self.objects.get(&entry.key, u64::MAX).await;
            let found = found.map_err(|error| not_read(&error))?;
            let Some((_, files)) = found.and_then(|object| history::decode(&object.bytes)) else {
                return Err(not_read(&StorageError {
                    text: format!(
                        "the entry of revision {} is damaged or gone",
                        entry.entry.revision
                    ),
                    may_have_applied: false,
                    hint: "Edit the file instead.",
                    too_large: None,
                }));
            };
            let entry = entry.entry;
            let mut batch = Vec::new();
            for (file, bytes) in entry.files.iter().zip(files) {
                batch.push(self.undo_file(&entry, file, bytes, &since).await?);
            }
            if mode == UndoMode::DryRun {
                let committed =
                    batch.into_iter().map(|edit| committed(edit, 0, Durability::DryRun)).collect();
                return Ok(Undone { revision: entry.revision, committed });
            }
            attempts += 1;
            let undoes = Some(entry.revision);
            match self.commit_edits(batch, CommitContext { request: None, undoes }).await {
                // The file changed between our look and the write: look again.
                Err(refusal) if refusal.code == EditCode::Conflict && attempts < 4 => {}
                Err(refusal) => return Err(refusal),
                Ok(committed) => return Ok(Undone { revision: entry.revision, committed }),
            }
        }
    }

    /// The commit to undo, and those of its files since, newest first.
    async fn find_commit(
        &self,
        wanted: Option<u64>,
    ) -> Result<(LoggedCommit, Vec<LoggedCommit>), Refusal> {
        let failed = |error: StorageError| not_read(&error);
        let Some(wanted) = wanted else {
            let newest = self.recent_commits().await.map_err(failed)?;
            let undone_by = undone_by(&newest);
            let in_effect = |one: &&LoggedCommit| {
                one.was_applied
                    && one.entry.undoes.is_none()
                    && !undone_by.contains_key(&one.entry.revision)
            };
            let Some(found) = newest.iter().find(in_effect).cloned() else {
                return Err(Refusal::new(
                    EditCode::NoChange,
                    format!("there is nothing to undo among the last {MAX_LOGGED} commits"),
                )
                .hint(
                    "restitch log lists what was done; to take back an undo, give its revision.",
                ));
            };
            let since = self.commits_since(&found.entry).await.map_err(failed)?;
            return Ok((found, since));
        };
        let keys = self.list_keys(Some(wanted)).await.map_err(failed)?;
        let key = keys.into_iter().find(|key| history::revision_of(key) == Some(wanted));
        let found = match key {
            Some(key) => self.read_heads(vec![key]).await.map_err(failed)?.pop(),
            None => None,
        };
        let missing = || {
            Refusal::new(
                EditCode::InvalidArguments,
                format!("there is no revision {wanted} in the history of this root"),
            )
            .hint("restitch log lists the revisions that can be undone; old ones may have been removed from the bucket.")
        };
        let (_, entry) = found.ok_or_else(missing)?;
        let since = self.commits_since(&entry).await.map_err(failed)?;
        if let Some(by) = undone_by(&since).get(&wanted) {
            return Err(Refusal::new(
                EditCode::NoChange,
                format!("revision {wanted} was already undone by revision {by}"),
            )
            .hint(format!("To bring it back, undo revision {by}.")));
        }
        let own = since.iter().find(|one| one.entry.revision == wanted).cloned();
        Ok((own.ok_or_else(missing)?, since))
    }

    async fn undo_file(
        &self,
        entry: &CommitRecord,
        file: &FileRecord,
        recorded: FileVersions,
        since: &[LoggedCommit],
    ) -> Result<VerifiedEdit, Refusal> {
        let path = WorkPath::parse(&file.path, &self.root)?;
        self.admit(&path)?;
        let now = self.current_file(&path).await?;
        if let (Some(bytes), Some(version)) = (&now.bytes, &now.version) {
            self.note_version(&path, ContentHash::of(bytes), version.clone());
        }
        let later: Vec<&LoggedCommit> = since
            .iter()
            .rev()
            .filter(|one| one.was_applied && one.entry.revision > entry.revision)
            .filter(|one| one.entry.files.iter().any(|other| other.path == file.path))
            .collect();
        let first_later = later
            .first()
            .map_or(VersionSource::External, |one| VersionSource::Revision(one.entry.revision));
        let restored = |before: Option<Vec<u8>>, after: Option<Vec<u8>>| {
            let after = match after {
                Some(bytes) => After::Content(bytes.into()),
                None => After::Removed,
            };
            let before = before.map(Snapshot::decode_lossy);
            VerifiedEdit::restore(path.clone(), before, after, Explanation::plain(Rung::Undo))
        };
        if now.bytes == recorded.after {
            return Ok(restored(now.bytes, recorded.before));
        }
        let (Some(before), Some(after), Some(bytes)) = (recorded.before, recorded.after, now.bytes)
        else {
            return Err(first_later.conflict(entry.revision, &path));
        };
        let versions = self.versions_since(&file.path, &after, &later, &bytes).await;
        let versions = versions.ok_or_else(|| first_later.conflict(entry.revision, &path))?;
        let taken = revert_change(&before, &after, &versions)
            .map_err(|maker| maker.conflict(entry.revision, &path))?;
        Ok(restored(Some(bytes), Some(taken)))
    }

    /// Every version after `from`, oldest first; `None` where one is not on record.
    async fn versions_since(
        &self,
        path: &str,
        from: &[u8],
        later: &[&LoggedCommit],
        now: &[u8],
    ) -> Option<Vec<LaterVersion<VersionSource>>> {
        let mut at = from.to_vec();
        let mut versions = Vec::new();
        for one in later {
            let FileVersions { before, after } = self.recorded_versions_of(&one.key, path).await?;
            let (before, after) = (before?, after?);
            if before != at {
                versions.push(LaterVersion { bytes: before, source: VersionSource::External });
            }
            at.clone_from(&after);
            versions.push(LaterVersion {
                bytes: after,
                source: VersionSource::Revision(one.entry.revision),
            });
        }
        if at != now {
            versions.push(LaterVersion { bytes: now.to_vec(), source: VersionSource::External });
        }
        Some(versions)
    }

    /// What an entry keeps of one file.
    async fn recorded_versions_of(&self, key: &str, path: &str) -> Option<FileVersions> {
        let found = self.objects.get(key, u64::MAX).await.ok()??;
        let (entry, files) = history::decode(&found.bytes)?;
        let mut pairs = entry.files.into_iter().zip(files);
        pairs.find(|(file, _)| file.path == path).map(|(_, bytes)| bytes)
    }

    /// Recorded versions of a file, oldest first: from the one named on, or the last few.
    pub(super) async fn recorded_versions(
        &self,
        path: &WorkPath,
        from: Option<&str>,
    ) -> Vec<Vec<u8>> {
        let from = from.map(|id| id.trim().to_ascii_lowercase());
        if from.as_ref().is_some_and(|id| id.len() < 8) {
            return Vec::new();
        }
        let mut keys = self.list_keys(None).await.unwrap_or_default();
        keys.retain(|key| history::may_concern(key, path.as_str()));
        keys.truncate(MAX_VERSIONS);
        let found = stream::iter(keys)
            .map(|key| async move { self.recorded_versions_of(&key, path.as_str()).await })
            .buffered(CONCURRENT_REQUESTS);
        let mut found: Vec<FileVersions> = found.filter_map(std::future::ready).collect().await;
        found.reverse();
        let mut versions: Vec<Vec<u8>> = Vec::new();
        for bytes in found {
            for version in [bytes.before, bytes.after].into_iter().flatten() {
                if versions.last() != Some(&version) {
                    versions.push(version);
                }
            }
        }
        let Some(id) = from else { return versions };
        let named = |bytes: &Vec<u8>| ContentHash::of(bytes).to_string().starts_with(&id);
        match versions.iter().rposition(named) {
            Some(at) => versions.split_off(at),
            None => Vec::new(),
        }
    }
}

/// The revisions that led to the current version of a file, as far back as the records tell.
struct Lineage {
    revisions: HashSet<u64>,
    /// The oldest of them.
    oldest: Option<u64>,
    hash: Option<ContentHash>,
}

impl Lineage {
    /// `files` are the commits of the file, newest first.
    fn of(now: &CurrentFile, files: &[(u64, FileRecord)]) -> Self {
        let mut revisions = HashSet::new();
        let mut oldest = None;
        let mut at = now.version.as_ref().and_then(|version| version.revision);
        while let Some(revision) = at {
            revisions.insert(revision);
            oldest = Some(revision);
            let entry = files.iter().find(|(of, _)| *of == revision);
            at = entry.and_then(|(_, file)| file.base);
        }
        // The version that a later commit was based on did exist.
        revisions.extend(files.iter().filter_map(|(_, file)| file.base));
        Self { revisions, oldest, hash: now.bytes.as_deref().map(ContentHash::of) }
    }

    /// Whether a commit was written to the file. Counts as written if the history does not tell.
    fn contains(&self, revision: u64, file: &FileRecord) -> bool {
        if self.revisions.contains(&revision) {
            return true;
        }
        if self.oldest.is_some_and(|oldest| oldest < revision) {
            return false;
        }
        self.hash == file.after || self.hash != file.before
    }
}

/// Which revisions are undone, and by which.
fn undone_by(newest_first: &[LoggedCommit]) -> HashMap<u64, u64> {
    let done = newest_first.iter().filter(|one| one.was_applied).map(|one| &one.entry);
    revert::undone_by(done.map(|entry| (entry.revision, entry.undoes)))
}

fn not_read(error: &StorageError) -> Refusal {
    Refusal::new(EditCode::ReadError, format!("the history cannot be read: {error}"))
        .hint(error.hint)
}
