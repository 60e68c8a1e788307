//! Undo, the log, and older versions of a file, all from the records in the bucket.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::commit::CommitContext;
use super::history::{self, BucketFile, BucketRecord, CommitState, HEAD_BYTES};
use super::objects::{PAGE_SIZE, StorageError};
use super::{Bucket, RESERVED_FOLDER};
use restitch::edit::{EditCode, Refusal, VerifiedEdit, WorkPath};
use restitch::internals::store::{MAX_VERSIONS, Timeline, Versions, no_revision, take_back};
use restitch::port::{Committed, ContentHash, Revision, UndoMode, Undone};

/// How many commits the log shows. An undo without a revision looks only at these.
const MAX_LOGGED: usize = 200;

/// A file with more bytes is not read to find out which commits of it were applied.
const MAX_HASHED: u64 = 1 << 20;

/// At most this many pages of keys are searched for a revision.
const MAX_PAGES: usize = 50;

/// At most this many requests are sent at the same time.
const CONCURRENT_REQUESTS: usize = 16;

/// A recorded commit, and whether it was applied.
#[derive(Debug, Clone)]
pub(super) struct LoggedCommit {
    pub(super) record: BucketRecord,
    pub(super) was_applied: bool,
    key: String,
}

impl Bucket {
    /// The keys of the records, newest first: those of the revision `since` and of later ones.
    /// Without `since`, only the newest page.
    async fn list_keys(&self, since: Option<u64>) -> Result<Vec<String>, StorageError> {
        let folder = format!("{RESERVED_FOLDER}/history");
        let mut keys: Vec<String> = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = self.objects.page(&folder, keys.last().map(String::as_str)).await?;
            let page_len = page.len();
            let is_wanted = |key: &String| {
                let revision = history::revision_of(key);
                revision.is_some_and(|revision| since.is_none_or(|since| revision >= since))
            };
            let previous_len = keys.len();
            keys.extend(page.into_iter().map(|listed| listed.key).filter(is_wanted));
            let has_older = keys.len() - previous_len < page_len;
            if page_len < PAGE_SIZE || since.is_none() || has_older {
                break;
            }
        }
        Ok(keys)
    }

    /// The heads of these records, in order. Leaves out records that no longer exist or cannot be
    /// read.
    async fn read_heads(
        &self,
        keys: Vec<String>,
    ) -> Result<Vec<(String, BucketRecord)>, StorageError> {
        let heads = stream::iter(keys).map(|key| async move {
            let Some(start) = self.objects.get_first_bytes(&key, HEAD_BYTES).await? else {
                return Ok(None);
            };
            let head_end = history::body_start(&start.bytes).unwrap_or(0);
            let bytes = if head_end <= start.bytes.len() {
                start.bytes
            } else {
                match self.objects.get_first_bytes(&key, head_end as u64).await? {
                    Some(head) => head.bytes,
                    None => return Ok(None),
                }
            };
            Ok(history::decode_head(&bytes).map(|record| (key, record)))
        });
        let heads: Vec<Option<_>> = heads.buffered(CONCURRENT_REQUESTS).try_collect().await?;
        Ok(heads.into_iter().flatten().collect())
    }

    /// Finds out which of these commits, newest first, were applied.
    async fn check_applied(
        &self,
        heads: Vec<(String, BucketRecord)>,
    ) -> Result<Vec<LoggedCommit>, StorageError> {
        let mut commits_by_path: HashMap<String, Vec<(u64, BucketFile)>> = HashMap::new();
        for (_, record) in &heads {
            for file in &record.files {
                let commits = commits_by_path.entry(file.path.clone()).or_default();
                commits.push((record.revision, file.clone()));
            }
        }
        let single = heads.iter().filter(|(_, record)| record.state == CommitState::Single);
        let paths: HashSet<String> = single
            .flat_map(|(_, record)| record.files.iter().map(|file| file.path.clone()))
            .collect();
        let commits_by_path = &commits_by_path;
        let lineages = stream::iter(paths).map(|path| async move {
            let commits = commits_by_path.get(&path).map_or(&[][..], Vec::as_slice);
            let lineage = self.lineage(&path, commits).await?;
            Ok::<_, StorageError>((path, lineage))
        });
        let lineages: HashMap<String, Lineage> =
            lineages.buffered(CONCURRENT_REQUESTS).try_collect().await?;
        let was_applied = |record: &BucketRecord| match record.state {
            CommitState::Done => true,
            CommitState::Open | CommitState::TakenBack => false,
            CommitState::Single => record.files.iter().all(|file| {
                let lineage = lineages.get(&file.path);
                lineage.is_none_or(|lineage| lineage.contains(record.revision, file))
            }),
        };
        let logged = |(key, record): (String, BucketRecord)| LoggedCommit {
            was_applied: was_applied(&record),
            record,
            key,
        };
        Ok(heads.into_iter().map(logged).collect())
    }

    /// The lineage of a file's current version. `commits` are the commits of the file, newest first.
    /// The content of the file is read only if no record has its hash and it is small.
    async fn lineage(
        &self,
        path: &str,
        commits: &[(u64, BucketFile)],
    ) -> Result<Lineage, StorageError> {
        let head = self.objects.head(path).await?;
        let Some((version, bytes)) = head else {
            return Ok(Lineage::of(None, CurrentHash::None, commits));
        };
        if version.removed {
            return Ok(Lineage::of(version.revision, CurrentHash::None, commits));
        }
        let recorded = commits.iter().find(|(number, _)| Some(*number) == version.revision);
        let hash = match recorded.and_then(|(_, file)| file.after) {
            Some(hash) => CurrentHash::Known(hash),
            None if bytes > MAX_HASHED => CurrentHash::Unknown,
            None => match self.objects.get(path, MAX_HASHED).await? {
                Some(object) => CurrentHash::Known(ContentHash::of(&object.bytes)),
                None => CurrentHash::None,
            },
        };
        Ok(Lineage::of(version.revision, hash, commits))
    }

    /// This commit and the later commits of its files, newest first.
    pub(super) async fn commits_since(
        &self,
        record: &BucketRecord,
    ) -> Result<Vec<LoggedCommit>, StorageError> {
        let mut keys = self.list_keys(Some(record.revision)).await?;
        keys.retain(|key| record.files.iter().any(|file| history::may_concern(key, &file.path)));
        let mut heads = self.read_heads(keys).await?;
        let is_changed = |path: &str| record.files.iter().any(|file| file.path == path);
        heads.retain(|(_, other)| other.files.iter().any(|file| is_changed(&file.path)));
        self.check_applied(heads).await
    }

    /// The last commits, newest first.
    async fn recent_commits(&self) -> Result<Vec<LoggedCommit>, StorageError> {
        let mut keys = self.list_keys(None).await?;
        keys.truncate(MAX_LOGGED);
        let heads = self.read_heads(keys).await?;
        self.check_applied(heads).await
    }

    /// The last commits, newest first, as the log shows them.
    pub(super) async fn log(&self) -> Result<Vec<Revision>, Refusal> {
        self.recover_if_due().await;
        let newest = self.recent_commits().await.map_err(|error| not_read(&error))?;
        Ok(timeline(&newest).into_log())
    }

    /// Undoes a commit: `revision`, or else the newest commit that is neither undone nor an undo.
    pub(super) async fn undo(
        &self,
        revision: Option<u64>,
        mode: UndoMode,
    ) -> Result<Undone, Refusal> {
        self.recover_if_due().await;
        let mut attempts = 0;
        loop {
            let (logged, since) = self.find_commit(revision).await?;
            let files = self.read_versions(&logged.key, logged.record.revision).await?;
            let record = logged.record;
            let mut batch = Vec::new();
            for (file, versions) in record.files.iter().zip(files) {
                batch.push(self.undo_file(&record, file, versions, &since).await?);
            }
            if mode == UndoMode::DryRun {
                return Ok(Undone::planned(record.revision, batch));
            }
            attempts += 1;
            let undoes = Some(record.revision);
            match self
                .commit_edits(batch, CommitContext { undoes, ..CommitContext::default() })
                .await
            {
                // A file changed between the reading and the write, so read it again.
                Err(refusal) if refusal.code == EditCode::Conflict && attempts < 4 => {}
                Err(refusal) => return Err(refusal),
                Ok(committed) => return Ok(Undone { revision: record.revision, committed }),
            }
        }
    }

    /// The content of the files of a commit before and after.
    async fn read_versions(&self, key: &str, revision: u64) -> Result<Vec<Versions>, Refusal> {
        let object = self.objects.get(key, u64::MAX).await.map_err(|error| not_read(&error))?;
        let decoded = object.and_then(|object| history::decode(&object.bytes));
        decoded.map(|(_, files)| files).ok_or_else(|| {
            not_read(&StorageError {
                text: format!("the record of revision {revision} is damaged or missing"),
                may_have_applied: false,
                hint: "Edit the file instead.",
                too_large: None,
            })
        })
    }

    /// What a commit wrote.
    pub(super) async fn committed(&self, revision: u64) -> Result<Vec<Committed>, Refusal> {
        let (key, record) = self.find_record(revision).await?;
        let files = self.read_versions(&key, revision).await?;
        Ok(self.recorded_result(&record, files))
    }

    /// The key and the head of the record of a commit, undone or not.
    async fn find_record(&self, revision: u64) -> Result<(String, BucketRecord), Refusal> {
        let failed = |error: StorageError| not_read(&error);
        let keys = self.list_keys(Some(revision)).await.map_err(failed)?;
        let key = keys.into_iter().find(|key| history::revision_of(key) == Some(revision));
        let head = match key {
            Some(key) => self.read_heads(vec![key]).await.map_err(failed)?.pop(),
            None => None,
        };
        head.ok_or_else(|| no_revision(revision))
    }

    /// The commit to undo. The list has the commits of its files from that commit on, newest first.
    async fn find_commit(
        &self,
        wanted: Option<u64>,
    ) -> Result<(LoggedCommit, Vec<LoggedCommit>), Refusal> {
        let failed = |error: StorageError| not_read(&error);
        let Some(wanted) = wanted else {
            let newest = self.recent_commits().await.map_err(failed)?;
            let wanted = timeline(&newest).to_undo(None, |commit| commit.done)?.revision;
            let last = newest.into_iter().find(|commit| commit.record.revision == wanted);
            let last = last.ok_or_else(|| no_revision(wanted))?;
            let since = self.commits_since(&last.record).await.map_err(failed)?;
            return Ok((last, since));
        };
        let (_, record) = self.find_record(wanted).await?;
        let since = self.commits_since(&record).await.map_err(failed)?;
        timeline(&since).to_undo(Some(wanted), |_| true)?;
        let commit = since.iter().find(|commit| commit.record.revision == wanted).cloned();
        Ok((commit.ok_or_else(|| no_revision(wanted))?, since))
    }

    /// The edit that undoes one file of a commit.
    async fn undo_file(
        &self,
        record: &BucketRecord,
        file: &BucketFile,
        recorded: Versions,
        since: &[LoggedCommit],
    ) -> Result<VerifiedEdit, Refusal> {
        let path = WorkPath::parse(&file.path, &self.root)?;
        self.admit(&path)?;
        let current = self.current_file(&path).await?;
        if let (Some(bytes), Some(version)) = (&current.bytes, &current.version) {
            self.note_version(&path, ContentHash::of(bytes), version.clone());
        }
        let mut later = Vec::new();
        if current.bytes != recorded.after {
            let timeline = timeline(since);
            for (commit, _) in timeline.later_in_effect(record.revision, &file.path) {
                let logged = since.iter().find(|logged| logged.record.revision == commit.revision);
                if let Some(logged) = logged.filter(|logged| logged.was_applied) {
                    let versions = self.file_versions(&logged.key, &file.path).await;
                    later.push((commit.revision, versions));
                }
            }
        }
        take_back(record.revision, &path, recorded, current.bytes, later)
    }

    /// The versions of one file that a record holds.
    async fn file_versions(&self, key: &str, path: &str) -> Option<Versions> {
        let object = self.objects.get(key, u64::MAX).await.ok()??;
        let (record, files) = history::decode(&object.bytes)?;
        let mut pairs = record.files.into_iter().zip(files);
        pairs.find(|(file, _)| file.path == path).map(|(_, versions)| versions)
    }

    /// Recorded versions of a file, oldest first: the last few or, if `from` is given, the version
    /// whose hash starts with it and those after it.
    pub(super) async fn recorded_versions(
        &self,
        path: &WorkPath,
        from: Option<&str>,
    ) -> Vec<Vec<u8>> {
        let mut keys = self.list_keys(None).await.unwrap_or_default();
        keys.retain(|key| history::may_concern(key, path.as_str()));
        keys.truncate(MAX_VERSIONS);
        let recorded = stream::iter(keys)
            .map(|key| async move { self.objects.get(&key, u64::MAX).await.ok()? })
            .buffered(CONCURRENT_REQUESTS);
        let records: Vec<(BucketRecord, Vec<Versions>)> = recorded
            .filter_map(|object| {
                std::future::ready(object.and_then(|object| history::decode(&object.bytes)))
            })
            .collect()
            .await;
        let commits = records.iter().rev().map(|(record, _)| record.as_record(true)).collect();
        let wanted = Timeline::new(commits).versions_of(path.as_str(), from);
        let known: HashMap<ContentHash, Vec<u8>> = records
            .into_iter()
            .flat_map(|(_, files)| files)
            .flat_map(|file| [file.before, file.after])
            .flatten()
            .map(|bytes| (ContentHash::of(&bytes), bytes))
            .collect();
        wanted.iter().filter_map(|hash| known.get(hash).cloned()).collect()
    }
}

/// The revisions that led to the current version of a file, as far back as the records reach.
struct Lineage {
    revisions: HashSet<u64>,
    /// The oldest of the revisions.
    oldest: Option<u64>,
    hash: CurrentHash,
}

/// The hash of the current version of a file.
enum CurrentHash {
    Known(ContentHash),
    /// There is no file.
    None,
    /// Another program has written it, and it is too large to be read for a list.
    Unknown,
}

impl Lineage {
    /// The lineage of the version that `revision` wrote. `commits` are the commits of the file, newest
    /// first.
    fn of(revision: Option<u64>, hash: CurrentHash, commits: &[(u64, BucketFile)]) -> Self {
        let mut revisions = HashSet::new();
        let mut oldest = None;
        let mut next = revision;
        while let Some(revision) = next {
            revisions.insert(revision);
            oldest = Some(revision);
            let commit = commits.iter().find(|(number, _)| *number == revision);
            next = commit.and_then(|(_, file)| file.base);
        }
        // A revision that a later commit was based on was applied too.
        revisions.extend(commits.iter().filter_map(|(_, file)| file.base));
        Self { revisions, oldest, hash }
    }

    /// Whether a commit was written to the file; `true` if that cannot be known.
    fn contains(&self, revision: u64, file: &BucketFile) -> bool {
        if self.revisions.contains(&revision) {
            return true;
        }
        if self.oldest.is_some_and(|oldest| oldest < revision) {
            return false;
        }
        // The records do not reach back to this commit. It was not written if the file still is as
        // it was before the commit.
        let hash = match self.hash {
            CurrentHash::Known(hash) => Some(hash),
            CurrentHash::None => None,
            CurrentHash::Unknown => return true,
        };
        !(hash == file.before && hash != file.after)
    }
}

/// The commits as every store has them.
fn timeline(newest_first: &[LoggedCommit]) -> Timeline {
    let commits = newest_first.iter().rev();
    Timeline::new(commits.map(|commit| commit.record.as_record(commit.was_applied)).collect())
}

/// The refusal after the history could not be read.
fn not_read(error: &StorageError) -> Refusal {
    Refusal::new(EditCode::ReadError, format!("the history cannot be read: {error}"))
        .hint(error.hint)
}
