//! Objects below one prefix: read, written on a condition, listed. The only module that names
//! the crate `object_store`.
//!
//! Every write that matters is conditional. If a response is lost, the object shows whose write it
//! holds: each carries the revision that wrote it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, BackoffConfig, Error, GetOptions, GetRange, ObjectStore,
    ObjectStoreExt as _, PutMode, PutOptions, PutPayload, RetryConfig, UpdateVersion,
};

use crate::text::register_secret;

/// Names of the marks that files carry. Azure takes letters and digits only.
const REVISION: &str = "restitchrevision";
const REMOVED: &str = "restitchremoved";

/// Keys of one page of a listing.
pub(super) const PAGE_SIZE: usize = 1000;

/// A version of an object, as the server identifies it.
#[derive(Debug, Clone)]
pub(super) struct ObjectVersion {
    update: UpdateVersion,
    attributes: Attributes,
    /// The revision that wrote it; `None` for another program's write.
    pub(super) revision: Option<u64>,
    /// Marks an object that is about to be deleted; it counts as missing.
    pub(super) removed: bool,
    /// When the server took it, in milliseconds since 1970.
    pub(super) modified: u64,
}

impl ObjectVersion {
    /// Whether the server says that both are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.update.e_tag == other.update.e_tag && self.update.version == other.update.version
    }
}

/// An object as it was read.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) bytes: Vec<u8>,
    pub(super) version: ObjectVersion,
}

/// The outcome of a conditional write.
#[derive(Debug)]
pub(super) enum PutOutcome {
    Done(ObjectVersion),
    /// Another version is there; nothing was written.
    Mismatch,
}

/// A request that the server did not carry out.
#[derive(Debug, Clone)]
pub(super) struct StorageError {
    /// In words, for the report.
    pub(super) text: String,
    /// Whether the request may have been carried out all the same.
    pub(super) may_have_applied: bool,
    /// What the caller should do.
    pub(super) hint: &'static str,
    /// The object is longer than what is read.
    pub(super) too_large: Option<u64>,
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListedKey {
    /// The key below the prefix.
    pub(super) key: String,
    pub(super) bytes: u64,
    pub(super) modified: u64,
}

/// The objects below a prefix.
#[derive(Debug, Clone)]
pub(super) struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    /// The folder, where the objects are files of this machine.
    folder: Option<PathBuf>,
    /// Whether objects outlive the process.
    pub(super) is_persistent: bool,
}

impl Objects {
    /// Opens what a URL names. `settings` are those of the user's configuration; they come
    /// before the environment.
    pub(super) fn open(url: &str, settings: &BTreeMap<String, String>) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("it is not a URL")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/').to_owned();
        if prefix.split('/').any(|part| part == "." || part == "..") {
            return Err("its prefix holds `.` or `..`".into());
        }
        if !matches!(scheme, "file" | "memory") && bucket.is_empty() {
            return Err(format!("it names no bucket; write {scheme}://BUCKET/PREFIX"));
        }
        // The clients take the process's own implementation of TLS.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let address = format!("{scheme}://{bucket}");
        let describe_error = |error: Error| describe(&error);
        let unknown = |key: &String| {
            format!("[object_store] {key} in the configuration is not a setting of {scheme}")
        };
        macro_rules! configured {
            ($builder:expr) => {{
                let mut builder = $builder;
                for (key, value) in settings {
                    let name = key.to_ascii_lowercase().parse().map_err(|_| unknown(key))?;
                    if ["key", "secret", "token"].iter().any(|word| key.contains(word)) {
                        register_secret(value);
                    }
                    builder = builder.with_config(name, value);
                }
                builder
                    .with_url(address)
                    .with_retry(retry_config())
                    .build()
                    .map_err(describe_error)?
            }};
        }
        for (name, value) in std::env::vars() {
            let is_secret = name.contains("SECRET") || name.contains("SESSION_TOKEN");
            if is_secret && (name.starts_with("AWS_") || name.starts_with("AZURE_")) {
                register_secret(&value);
            }
        }
        let remote = |store: Arc<dyn ObjectStore>| Self {
            store,
            prefix: prefix.clone(),
            folder: None,
            is_persistent: true,
        };
        Ok(match scheme {
            "s3" | "s3a" => remote(Arc::new(configured!(AmazonS3Builder::from_env()))),
            "gs" => remote(Arc::new(configured!(GoogleCloudStorageBuilder::from_env()))),
            "az" | "abfs" | "abfss" => {
                remote(Arc::new(configured!(MicrosoftAzureBuilder::from_env())))
            }
            "memory" => Self { is_persistent: false, ..remote(Arc::new(InMemory::new())) },
            "file" => {
                let folder = PathBuf::from(url.trim_start_matches("file://"));
                let folder = folder.canonicalize().map_err(|error| error.to_string())?;
                let store = LocalFileSystem::new_with_prefix(&folder).map_err(describe_error)?;
                let store: Arc<dyn ObjectStore> = Arc::new(store.with_fsync(true));
                Self { store, prefix: String::new(), folder: Some(folder), is_persistent: true }
            }
            _ => {
                return Err(format!(
                    "`{scheme}` is not a known storage; use s3, gs, az, abfss, file or memory"
                ));
            }
        })
    }

    /// Whether objects carry the revision that wrote them. Files of this machine do not; there
    /// no answer gets lost either.
    pub(super) fn supports_metadata(&self) -> bool {
        self.folder.is_none()
    }

    fn object_path(&self, key: &str) -> Result<Path, StorageError> {
        let full = match self.prefix.as_str() {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        };
        if let Some(folder) = &self.folder {
            refuse_links(folder, key)?;
        }
        Path::parse(full).map_err(|error| StorageError {
            text: format!("it is not a valid name of an object: {error}"),
            may_have_applied: false,
            hint: "Give another path.",
            too_large: None,
        })
    }

    /// The object, or `None` where there is none. A longer one than `max_bytes` is not read.
    pub(super) async fn get(
        &self,
        key: &str,
        max_bytes: u64,
    ) -> Result<Option<Object>, StorageError> {
        self.read(key, GetOptions::default(), max_bytes).await
    }

    /// The first bytes of the object.
    pub(super) async fn get_prefix(
        &self,
        key: &str,
        bytes: u64,
    ) -> Result<Option<Object>, StorageError> {
        let options =
            GetOptions { range: Some(GetRange::Bounded(0..bytes)), ..GetOptions::default() };
        self.read(key, options, u64::MAX).await
    }

    async fn read(
        &self,
        key: &str,
        options: GetOptions,
        max_bytes: u64,
    ) -> Result<Option<Object>, StorageError> {
        let found = match self.store.get_opts(&self.object_path(key)?, options).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            other => other.map_err(|error| storage_error(&error))?,
        };
        if found.meta.size > max_bytes {
            return Err(StorageError {
                text: format!("it has {} bytes", found.meta.size),
                may_have_applied: false,
                hint: "",
                too_large: Some(found.meta.size),
            });
        }
        let version = version_of(
            UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() },
            found.attributes.clone(),
            found.meta.last_modified.timestamp_millis(),
        );
        let bytes = found.bytes().await.map_err(|error| storage_error(&error))?;
        Ok(Some(Object { bytes: bytes.to_vec(), version }))
    }

    /// Writes an object that must not be there yet (`None`), or be this version still.
    pub(super) async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        at: Option<&ObjectVersion>,
        revision: Option<u64>,
    ) -> Result<PutOutcome, StorageError> {
        let attributes = self.attributes_for(at, revision, None);
        let mode = match at {
            None => PutMode::Create,
            Some(version) => PutMode::Update(version.update.clone()),
        };
        self.put(key, bytes, mode, attributes).await
    }

    /// Writes an object, whatever is there.
    pub(super) async fn overwrite(&self, key: &str, bytes: Vec<u8>) -> Result<(), StorageError> {
        self.put(key, bytes, PutMode::Overwrite, Attributes::new()).await.map(drop)
    }

    /// What an object is to carry: what it carried before, and who writes it.
    fn attributes_for(
        &self,
        at: Option<&ObjectVersion>,
        revision: Option<u64>,
        removed: Option<&'static str>,
    ) -> Attributes {
        if !self.supports_metadata() {
            return Attributes::new();
        }
        let mut attributes = at.map(|version| version.attributes.clone()).unwrap_or_default();
        attributes.remove(&Attribute::Metadata(REMOVED.into()));
        attributes.remove(&Attribute::Metadata(REVISION.into()));
        if let Some(revision) = revision {
            attributes.insert(Attribute::Metadata(REVISION.into()), revision.to_string().into());
        }
        if let Some(removed) = removed {
            attributes.insert(Attribute::Metadata(REMOVED.into()), removed.into());
        }
        attributes
    }

    async fn put(
        &self,
        key: &str,
        bytes: Vec<u8>,
        mode: PutMode,
        attributes: Attributes,
    ) -> Result<PutOutcome, StorageError> {
        let path = self.object_path(key)?;
        let (mode, lock) = match (&self.folder, mode) {
            // This machine has locks in place of conditions.
            (Some(folder), PutMode::Update(known)) => {
                let lock = lock_folder(folder.clone()).await?;
                match self.store.head(&path).await {
                    Err(Error::NotFound { .. }) => return Ok(PutOutcome::Mismatch),
                    Ok(now) if now.e_tag != known.e_tag => return Ok(PutOutcome::Mismatch),
                    other => other.map_err(|error| storage_error(&error))?,
                };
                (PutMode::Overwrite, Some(lock))
            }
            (_, mode) => (mode, None),
        };
        let options = PutOptions { mode, attributes: attributes.clone(), ..PutOptions::default() };
        let done = self.store.put_opts(&path, PutPayload::from(bytes), options).await;
        drop(lock);
        match done {
            Ok(done) => Ok(PutOutcome::Done(version_of(done.into(), attributes, 0))),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                Ok(PutOutcome::Mismatch)
            }
            Err(error) => Err(storage_error(&error)),
        }
    }

    /// Removes an object that is this version still.
    ///
    /// Where the server knows no conditional removal, the object is first written, on that
    /// condition, as removed; no other process writes to a removed object for a while.
    pub(super) async fn remove_if(
        &self,
        key: &str,
        at: &ObjectVersion,
        revision: u64,
    ) -> Result<PutOutcome, StorageError> {
        let path = self.object_path(key)?;
        if let Some(folder) = &self.folder {
            let _lock = lock_folder(folder.clone()).await?;
            return match self.store.head(&path).await {
                Err(Error::NotFound { .. }) => Ok(PutOutcome::Mismatch),
                Ok(now) if now.e_tag != at.update.e_tag => Ok(PutOutcome::Mismatch),
                other => {
                    other.map_err(|error| storage_error(&error))?;
                    self.store.delete(&path).await.map_err(|error| storage_error(&error))?;
                    Ok(PutOutcome::Done(at.clone()))
                }
            };
        }
        let attributes = self.attributes_for(Some(at), Some(revision), Some("1"));
        let mode = PutMode::Update(at.update.clone());
        self.put(key, Vec::new(), mode, attributes).await
    }

    /// Removes an object, whatever it is.
    pub(super) async fn remove(&self, key: &str) -> Result<(), StorageError> {
        match self.store.delete(&self.object_path(key)?).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(storage_error(&error)),
        }
    }

    /// One page of the keys that begin with `folder` and come after `after`, in order; at most
    /// [`PAGE_SIZE`] of them. Fewer mean that there are no more.
    pub(super) async fn page(
        &self,
        folder: &str,
        after: Option<&str>,
    ) -> Result<Vec<ListedKey>, StorageError> {
        let full = [self.prefix.as_str(), folder].into_iter().filter(|part| !part.is_empty());
        let full = full.collect::<Vec<_>>().join("/");
        let below = if full.is_empty() { None } else { Some(Path::from(full)) };
        let stream = match after {
            None => self.store.list(below.as_ref()),
            Some(after) => self.store.list_with_offset(below.as_ref(), &self.object_path(after)?),
        };
        let skip = match self.prefix.as_str() {
            "" => 0,
            prefix => prefix.len() + 1,
        };
        let listed = stream.map_ok(|meta| ListedKey {
            key: meta.location.as_ref().get(skip..).unwrap_or_default().to_owned(),
            bytes: meta.size,
            modified: u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or_default(),
        });
        // Servers list in order; a folder and the memory do not.
        let ordered = self.folder.is_none() && self.is_persistent;
        let limit = if ordered { PAGE_SIZE } else { usize::MAX };
        let mut page: Vec<ListedKey> =
            listed.take(limit).try_collect().await.map_err(|error| storage_error(&error))?;
        page.sort_unstable();
        page.truncate(PAGE_SIZE);
        Ok(page)
    }
}

/// Few and short: the caller waits, and decides again by itself.
fn retry_config() -> RetryConfig {
    RetryConfig {
        max_retries: 4,
        retry_timeout: Duration::from_secs(15),
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
    }
}

fn version_of(update: UpdateVersion, attributes: Attributes, modified: i64) -> ObjectVersion {
    let mark = |name: &'static str| attributes.get(&Attribute::Metadata(name.into()));
    let revision = mark(REVISION).and_then(|value| value.parse().ok());
    let removed = mark(REMOVED).is_some();
    let modified = u64::try_from(modified).unwrap_or_default();
    ObjectVersion { update, revision, removed, modified, attributes }
}

fn storage_error(error: &Error) -> StorageError {
    const AGAIN: &str =
        "The storage failed, not the call. Send the same call again, or tell the user.";
    let (may_have_applied, hint) = match error {
        Error::PermissionDenied { .. } => {
            (false, "Ask the user for access to the bucket: reading, writing, listing, deleting.")
        }
        Error::Unauthenticated { .. } => (
            false,
            "Ask the user to check the credentials in the environment (AWS_ACCESS_KEY_ID and others).",
        ),
        Error::NotImplemented { .. } | Error::NotSupported { .. } | Error::InvalidPath { .. } => {
            (false, AGAIN)
        }
        _ => (true, AGAIN),
    };
    StorageError { text: describe(error), may_have_applied, hint, too_large: None }
}

/// An error in a line. What servers send with it can be pages.
fn describe(error: &Error) -> String {
    let text = error.to_string();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The lock of a folder, held until it is dropped.
async fn lock_folder(folder: PathBuf) -> Result<fs::File, StorageError> {
    let taken = tokio::task::spawn_blocking(move || {
        let own = folder.join(super::RESERVED_FOLDER);
        fs::create_dir_all(&own)?;
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(own.join("lock"))?;
        file.lock()?;
        Ok(file)
    });
    let failed = |why: String| StorageError {
        text: format!("the folder cannot be locked: {why}"),
        may_have_applied: false,
        hint: "Check the folder's permissions.",
        too_large: None,
    };
    match taken.await {
        Ok(done) => done.map_err(|error: std::io::Error| failed(error.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// A link in a folder could lead out of it.
fn refuse_links(folder: &FsPath, key: &str) -> Result<(), StorageError> {
    let mut at = folder.to_path_buf();
    for part in key.split('/') {
        at.push(part);
        match at.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => {
                return Err(StorageError {
                    text: format!("{} is a symbolic link", at.display()),
                    may_have_applied: false,
                    hint: "Open the folder itself as the root (without file://), where links are followed safely.",
                    too_large: None,
                });
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Ok(())
}
