//! A store over objects: in S3 and compatible servers, Azure Blob Storage, or memory.
//!
//! Every write of a file names the version that the edit was matched on, and the server accepts it
//! only while that version is current, so no locks are needed. If the version is no longer current,
//! the file is read again, and the edit is matched again and written or refused. A commit is recorded before its files are
//! written, so that it can be undone from any machine. Files and history are in one bucket: the
//! history is below `.restitch/`, which no edit can touch.

mod batch;
mod commit;
mod history;
mod objects;
mod probe;
mod requests;
mod undo;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::broadcast;

use objects::{ListedKey, Object, ObjectVersion, Objects, PAGE_SIZE, StorageError};
use restitch::edit::{Durability, EditCode, Refusal, VerifiedEdit, WorkPath};
use restitch::internals::store::{ChangeFeed, admit, not_found, now_millis};
use restitch::port::ContentHash;
use restitch::port::{
    BoxFuture, Change, CommitOptions, Committed, FileStore, History, ListedObject, Lister, Listing,
    RequestId, RequestStatus, Revision, UndoMode, Undone,
};

/// The folder in the bucket for restitch's own objects.
const RESERVED_FOLDER: &str = ".restitch";

/// At most this many versions of files are remembered between a read and a commit.
const MAX_SEEN: usize = 4096;

/// How long other processes must wait before they write to a file that is being removed.
const REMOVAL_GRACE: Duration = Duration::from_secs(300);

/// The options of a [`BucketStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketOptions {
    /// Settings of the client, such as `aws_endpoint`, by the names that the crate
    /// `object_store` gives them. They override the environment.
    pub settings: BTreeMap<String, String>,
    /// Protected paths that edits may write nevertheless; a folder stands for everything in it.
    pub allow_protected: Vec<String>,
    /// Files with more bytes than this are refused.
    pub max_bytes: u64,
    /// How long an edit is retried while other programs write to the same file.
    pub retry_timeout: Duration,
    /// The state folder, where a server that supports conditional writes is remembered for a day.
    pub state: Option<PathBuf>,
}

impl Default for BucketOptions {
    fn default() -> Self {
        Self {
            settings: BTreeMap::new(),
            allow_protected: Vec::new(),
            max_bytes: 64 << 20,
            retry_timeout: Duration::from_secs(30),
            state: None,
        }
    }
}

/// Files in object storage.
pub struct BucketStore {
    bucket: Arc<Bucket>,
}

impl fmt::Debug for BucketStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketStore").field("root", &self.bucket.root).finish_non_exhaustive()
    }
}

struct Bucket {
    objects: Objects,
    root: PathBuf,
    options: BucketOptions,
    /// The versions of files as they were last seen, so that a commit need not read again.
    seen: Mutex<HashMap<String, (ContentHash, ObjectVersion)>>,
    changes: ChangeFeed,
    last_revision: AtomicU64,
    /// When this process last looked for interrupted commits.
    last_recovery: Mutex<Option<Instant>>,
}

/// The current state of a file. A version without bytes means that the file is being removed.
#[derive(Debug, Clone, Default)]
struct CurrentFile {
    bytes: Option<Vec<u8>>,
    version: Option<ObjectVersion>,
}

impl From<Option<Object>> for CurrentFile {
    fn from(object: Option<Object>) -> Self {
        object.map_or_else(Self::default, |object| Self {
            bytes: (!object.version.removed).then_some(object.bytes),
            version: Some(object.version),
        })
    }
}

impl BucketStore {
    /// Opens `s3://bucket/prefix`, `az://container/…`, `abfss://…` or `memory://`. A server that does not support conditional writes is refused.
    pub async fn open(url: &str, options: BucketOptions) -> Result<Self, String> {
        let objects = Objects::open(url, &options.settings)?;
        probe::check_conditional_writes(&objects, url, &options).await?;
        let bucket = Bucket {
            objects,
            root: PathBuf::from(url.trim_end_matches('/')),
            options,
            seen: Mutex::default(),
            changes: ChangeFeed::default(),
            last_revision: AtomicU64::new(0),
            last_recovery: Mutex::default(),
        };
        Ok(Self { bucket: Arc::new(bucket) })
    }
}

impl Bucket {
    /// The versions of files as they were last seen.
    fn seen(&self) -> MutexGuard<'_, HashMap<String, (ContentHash, ObjectVersion)>> {
        // A panic in another thread cannot break the map: every change is one call.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the version of a file, so that a commit need not read it again.
    fn note_version(&self, path: &WorkPath, hash: ContentHash, version: ObjectVersion) {
        let mut seen = self.seen();
        if seen.len() >= MAX_SEEN {
            seen.clear();
        }
        seen.insert(path.as_str().to_owned(), (hash, version));
    }

    /// Reads the current state of a file.
    async fn current_file(&self, path: &WorkPath) -> Result<CurrentFile, Refusal> {
        let object = self.objects.get(path.as_str(), self.options.max_bytes).await;
        let object = object.map_err(|error| self.not_read(path, &error))?;
        Ok(object.into())
    }

    /// The refusal after a file could not be read.
    fn not_read(&self, path: &WorkPath, error: &StorageError) -> Refusal {
        if let Some(size) = error.too_large {
            let max_bytes = self.options.max_bytes;
            return Refusal::new(
                EditCode::TooLarge,
                format!("`{path}` has {size} bytes; files over {max_bytes} bytes are not edited"),
            )
            .at(path.as_str())
            .hint("Edit it with a stream editor, or split the file.");
        }
        Refusal::new(EditCode::ReadError, format!("cannot read `{path}`: {error}"))
            .at(path.as_str())
            .hint(error.hint)
    }

    /// Loads the bytes of a file and remembers its version.
    async fn load(&self, path: &WorkPath) -> Result<Vec<u8>, Refusal> {
        self.refuse_reserved(path)?;
        let current = self.current_file(path).await?;
        let (Some(bytes), Some(version)) = (current.bytes, current.version) else {
            return Err(not_found(path));
        };
        self.note_version(path, ContentHash::of(&bytes), version);
        Ok(bytes)
    }

    /// Refuses a path in the folder of restitch's own objects.
    fn refuse_reserved(&self, path: &WorkPath) -> Result<(), Refusal> {
        let first = path.as_str().split('/').next().unwrap_or_default();
        if !first.eq_ignore_ascii_case(RESERVED_FOLDER) {
            return Ok(());
        }
        Err(Refusal::new(
            EditCode::Blocked,
            format!("`{path}` is protected: restitch keeps its history there"),
        )
        .at(path.as_str())
        .hint("Choose another path. Use `restitch log` and `restitch undo` for the history."))
    }

    /// Refuses a path that is protected, unless the options allow it.
    fn admit(&self, path: &WorkPath) -> Result<(), Refusal> {
        self.refuse_reserved(path)?;
        admit(path, path.as_str(), &[], &self.options.allow_protected)
    }

    /// The number of a new commit: higher than the numbers of all commits of this process, and than
    /// `base`, the revision that wrote the current file. Otherwise it follows the clock.
    fn next_revision(&self, base: Option<u64>) -> u64 {
        let mut random = [0_u8; 2];
        // Without randomness two processes may choose the same number; the server refuses the
        // second.
        let _ = getrandom::fill(&mut random);
        let by_clock = now_millis() * 1000 + u64::from(u16::from_le_bytes(random) % 1000);
        let revision = by_clock.max(base.unwrap_or(0) + 1);
        let previous = self.last_revision.fetch_max(revision, Ordering::AcqRel);
        if previous < revision {
            revision
        } else {
            self.last_revision.fetch_add(1, Ordering::AcqRel) + 1
        }
    }

    /// How durable a commit is in this storage.
    fn durability(&self) -> Durability {
        match self.objects.is_persistent {
            true => Durability::Durable,
            false => Durability::Unknown,
        }
    }

    /// One page of the files below `folder`, without restitch's own objects.
    async fn list(&self, folder: &str, after: Option<&str>) -> Result<Listing, Refusal> {
        let page = self.objects.page(folder, after).await.map_err(|error| {
            Refusal::new(
                EditCode::ReadError,
                format!("cannot list {}: {error}", self.root.display()),
            )
            .hint(error.hint)
        })?;
        let has_more = page.len() >= PAGE_SIZE;
        let next = page.last().filter(|_| has_more).map(|last| last.key.clone());
        let listed = |ListedKey { key, bytes, .. }: ListedKey| {
            let first_part = key.split('/').next().unwrap_or_default();
            let is_reserved = first_part.eq_ignore_ascii_case(RESERVED_FOLDER);
            // A key that ends in a slash stands for a folder.
            if is_reserved || key.ends_with('/') {
                return None;
            }
            let path = WorkPath::parse(&key, &self.root).ok()?;
            // No path leads to a key that is not in normal form, such as `a//b`.
            (path.as_str() == key).then_some(ListedObject { path, bytes })
        };
        Ok(Listing { files: page.into_iter().filter_map(listed).collect(), next })
    }
}

impl FileStore for BucketStore {
    fn root(&self) -> &Path {
        &self.bucket.root
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        Box::pin(self.bucket.load(path))
    }

    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move { self.bucket.admit(path) })
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        let bucket = self.bucket.clone();
        Box::pin(run_to_completion(async move { bucket.commit(batch, &options).await }))
    }

    fn is_folder(&self) -> bool {
        false
    }

    fn lister(&self) -> Option<&dyn Lister> {
        Some(self)
    }

    fn history(&self) -> Option<&dyn History> {
        Some(self)
    }
}

impl Lister for BucketStore {
    fn list<'a>(
        &'a self,
        folder: &'a str,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing, Refusal>> {
        Box::pin(self.bucket.list(folder, after))
    }
}

impl History for BucketStore {
    fn undo(
        &self,
        revision: Option<u64>,
        mode: UndoMode,
    ) -> BoxFuture<'_, Result<Undone, Refusal>> {
        let bucket = self.bucket.clone();
        Box::pin(run_to_completion(async move { bucket.undo(revision, mode).await }))
    }

    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>> {
        Box::pin(self.bucket.log())
    }

    fn committed(&self, revision: u64) -> BoxFuture<'_, Result<Vec<Committed>, Refusal>> {
        Box::pin(self.bucket.committed(revision))
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.bucket.changes.subscribe())
    }

    fn recorded_versions<'a>(
        &'a self,
        path: &'a WorkPath,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Vec<u8>>> {
        Box::pin(self.bucket.recorded_versions(path, from))
    }

    fn recall<'a>(&'a self, request: &'a RequestId) -> BoxFuture<'a, RequestStatus> {
        Box::pin(self.bucket.recall(request))
    }

    fn remember<'a>(&'a self, request: &'a RequestId, answer: String) -> BoxFuture<'a, ()> {
        Box::pin(self.bucket.remember(request, answer))
    }
}

/// Runs a commit or an undo to its end, even if the caller stops waiting for it.
async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::spawn(work).await.unwrap_or_else(|error| {
        Err(Refusal::new(EditCode::WriteError, format!("the store stopped: {error}"))
            .hint("Read the file to see its state, then send the same call again."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn store_with(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> BucketStore {
        let store = BucketStore::open("memory://", BucketOptions::default()).await.expect("opens");
        for (key, bytes) in files {
            store.bucket.objects.overwrite(&key, bytes).await.expect("written");
        }
        store
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_over_64_mib_is_refused() {
        let most = 64 << 20;
        let files = [("fits", most), ("large", most + 1)];
        let store = store_with(files.map(|(name, bytes)| (name.into(), vec![0; bytes]))).await;
        let path = |name| WorkPath::parse(name, Path::new("/")).expect("path");
        assert!(store.load(&path("fits")).await.is_ok());
        let refused = store.load(&path("large")).await.expect_err("too large");
        assert_eq!(refused.code, EditCode::TooLarge, "{refused:?}");
        assert!(refused.message.contains(&most.to_string()), "{refused:?}");
    }

    /// Of a tree that is larger than what is fetched, a search says what it left out.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_search_fetches_so_much_and_says_what_it_left_out() {
        use restitch::engine::{CallOptions, Engine};
        use restitch::tools::Toolbox;

        const FETCHED: usize = 5_000;
        let call = async |tool: &str, arguments, files: Vec<(String, Vec<u8>)>| {
            let needle = ("a".to_owned(), b"needle\n".to_vec());
            let store = store_with([needle].into_iter().chain(files)).await;
            let tools = Toolbox::new(Engine::builder(store).build());
            tools.call(tool, arguments, &CallOptions::default()).await
        };
        let left_out = async |files: Vec<(String, Vec<u8>)>| {
            let reply = call("search", serde_json::json!({ "keyword": "needle" }), files).await;
            assert!(reply.ok, "{}", reply.message);
            assert_eq!(reply.report["total_files"], 1, "{}", reply.message);
            let count = reply.report["skipped"]["unfetched"].as_u64().unwrap_or_default();
            assert_eq!(count > 0, reply.message.contains("not fetched"), "{}", reply.message);
            count
        };
        let zeros = |name: &str, bytes: usize| (name.to_owned(), vec![0; bytes]);
        let small = |count: usize| {
            (1..=count).map(|number| (format!("f{number:05}"), b"x\n".to_vec())).collect::<Vec<_>>()
        };
        assert_eq!(left_out(vec![zeros("b", 4 << 20)]).await, 0);
        assert_eq!(left_out(vec![zeros("c", (4 << 20) + 1)]).await, 1, "a large one");
        // 64 MiB in all: sixteen of 4 MiB are too many by one.
        let large = (0..16).map(|number| zeros(&format!("d{number:02}"), 4 << 20)).collect();
        assert_eq!(left_out(large).await, 1, "one in all");
        assert_eq!(left_out(small(FETCHED)).await, 1, "one file too many");
        let list = call("list_files", serde_json::json!({}), small(20_100)).await;
        assert!(list.message.contains("not fetched"), "{}", list.message);
    }
}
