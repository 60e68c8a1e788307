//! Reads, writes on a condition, and lists the objects below one prefix. The only module that uses
//! the crate `object_store`.
//!
//! Every write of a file is conditional. Each object carries the revision that wrote it, so that
//! the object itself shows who wrote it if the server's response is lost.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{
    HttpClient, HttpConnector as _, HttpRequest, HttpRequestBody, ReqwestConnector,
};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{
    Attribute, Attributes, BackoffConfig, ClientOptions, Error, GetOptions, GetRange, GetResult,
    ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, RetryConfig, UpdateVersion,
};

use restitch::internals::text::register_secret;

/// Names of the metadata that objects carry. Azure allows only letters and digits in them.
const REVISION: &str = "restitchrevision";
const REMOVED: &str = "restitchremoved";

/// The number of keys on one page of a listing.
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
    /// When it was written, in milliseconds since 1970 by the clock of the server.
    pub(super) modified: u64,
}

impl ObjectVersion {
    /// Whether both are the same version, according to the server.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.update.e_tag == other.update.e_tag && self.update.version == other.update.version
    }
}

/// The content of an object, with its version.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) bytes: Vec<u8>,
    pub(super) version: ObjectVersion,
}

/// The outcome of a conditional write.
#[derive(Debug)]
pub(super) enum PutOutcome {
    Done(ObjectVersion),
    /// The object has another version than the expected one; nothing was written.
    Mismatch,
}

/// An error of the server, or of the connection to it.
#[derive(Debug, Clone)]
pub(super) struct StorageError {
    /// The error as text.
    pub(super) text: String,
    /// Whether the server may have carried out the request nevertheless.
    pub(super) may_have_applied: bool,
    /// What the caller should do.
    pub(super) hint: &'static str,
    /// The size of an object that has more bytes than allowed.
    pub(super) too_large: Option<u64>,
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One object in a listing.
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
    /// For removals on a condition, which the crate `object_store` does not have. `None` for the memory.
    signer: Option<(Arc<dyn Signer>, HttpClient)>,
    prefix: String,
    /// Whether objects outlive the process.
    pub(super) is_persistent: bool,
}

impl Objects {
    /// Opens the storage that a URL names. `settings` are those of the user's configuration; they
    /// override the environment.
    pub(super) fn open(url: &str, settings: &BTreeMap<String, String>) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("it is not a URL")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/').to_owned();
        if prefix.split('/').any(|part| part == "." || part == "..") {
            return Err("its prefix contains `.` or `..`".into());
        }
        if scheme != "memory" && bucket.is_empty() {
            return Err(format!("it names no bucket; write {scheme}://BUCKET/PREFIX"));
        }
        // The clients use the TLS implementation that the process installs.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let address = format!("{scheme}://{bucket}");
        let describe_error = |error: Error| describe(&error);
        let unknown_setting = |key: &String| {
            format!("[object_store] {key} in the configuration is not a setting of {scheme}")
        };
        macro_rules! configured {
            ($builder:expr) => {{
                let mut builder = $builder;
                for (key, value) in settings {
                    let name =
                        key.to_ascii_lowercase().parse().map_err(|_| unknown_setting(key))?;
                    if ["key", "secret", "token"].iter().any(|word| key.contains(word)) {
                        register_secret(value);
                    }
                    builder = builder.with_config(name, value);
                }
                let store = builder
                    .with_url(address)
                    .with_retry(retry_config())
                    .build()
                    .map_err(describe_error)?;
                let options = ClientOptions::new().with_allow_http(true);
                let http = ReqwestConnector::default().connect(&options).map_err(describe_error)?;
                let store = Arc::new(store);
                (store.clone() as Arc<dyn ObjectStore>, Some((store as Arc<dyn Signer>, http)))
            }};
        }
        for (name, value) in std::env::vars() {
            let is_secret = name.contains("SECRET") || name.contains("SESSION_TOKEN");
            if is_secret && (name.starts_with("AWS_") || name.starts_with("AZURE_")) {
                register_secret(&value);
            }
        }
        let (store, signer) = match scheme {
            "s3" | "s3a" => configured!(AmazonS3Builder::from_env()),
            "az" | "abfs" | "abfss" => configured!(MicrosoftAzureBuilder::from_env()),
            "memory" => (Arc::new(InMemory::new()) as Arc<dyn ObjectStore>, None),
            _ => {
                return Err(format!(
                    "`{scheme}` is not a known storage; use s3, az, abfss or memory"
                ));
            }
        };
        Ok(Self { store, signer, prefix, is_persistent: scheme != "memory" })
    }

    /// The full path of an object.
    fn object_path(&self, key: &str) -> Result<Path, StorageError> {
        let full = match self.prefix.as_str() {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        };
        Path::parse(full).map_err(|error| StorageError {
            text: format!("it is not a valid name of an object: {error}"),
            may_have_applied: false,
            hint: "Give another path.",
            too_large: None,
        })
    }

    /// Reads an object; `None` if it does not exist, an error if it has more than `max_bytes`
    /// bytes.
    pub(super) async fn get(
        &self,
        key: &str,
        max_bytes: u64,
    ) -> Result<Option<Object>, StorageError> {
        self.read(key, GetOptions::default(), max_bytes).await
    }

    /// Reads at most the first `count` bytes of an object.
    pub(super) async fn get_first_bytes(
        &self,
        key: &str,
        count: u64,
    ) -> Result<Option<Object>, StorageError> {
        let options =
            GetOptions { range: Some(GetRange::Bounded(0..count)), ..GetOptions::default() };
        self.read(key, options, u64::MAX).await
    }

    /// The version of an object and its size, without its content; `None` if it does not exist.
    pub(super) async fn head(
        &self,
        key: &str,
    ) -> Result<Option<(ObjectVersion, u64)>, StorageError> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        let response = match self.store.get_opts(&self.object_path(key)?, options).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            other => other.map_err(|error| storage_error(&error))?,
        };
        Ok(Some((version_of_response(&response), response.meta.size)))
    }

    /// Reads an object with these options.
    async fn read(
        &self,
        key: &str,
        options: GetOptions,
        max_bytes: u64,
    ) -> Result<Option<Object>, StorageError> {
        let response = match self.store.get_opts(&self.object_path(key)?, options).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            other => other.map_err(|error| storage_error(&error))?,
        };
        if response.meta.size > max_bytes {
            return Err(StorageError {
                text: format!("it has {} bytes", response.meta.size),
                may_have_applied: false,
                hint: "",
                too_large: Some(response.meta.size),
            });
        }
        let version = version_of_response(&response);
        let bytes = response.bytes().await.map_err(|error| storage_error(&error))?;
        Ok(Some(Object { bytes: bytes.to_vec(), version }))
    }

    /// Writes an object that must still have the version `expected`; if that is `None`, the object
    /// must not exist yet.
    pub(super) async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&ObjectVersion>,
        revision: Option<u64>,
    ) -> Result<PutOutcome, StorageError> {
        let attributes = self.attributes_for(expected, revision, false);
        let mode = match expected {
            None => PutMode::Create,
            Some(version) => PutMode::Update(version.update.clone()),
        };
        self.put(key, bytes, mode, attributes).await
    }

    /// Writes an object without a condition.
    pub(super) async fn overwrite(&self, key: &str, bytes: Vec<u8>) -> Result<(), StorageError> {
        self.put(key, bytes, PutMode::Overwrite, Attributes::new()).await.map(drop)
    }

    /// The metadata of a new version: that of the previous one, but with the revision that writes
    /// the new one, and with the mark "removed" only if the new one `is_removed`.
    fn attributes_for(
        &self,
        previous: Option<&ObjectVersion>,
        revision: Option<u64>,
        is_removed: bool,
    ) -> Attributes {
        let mut attributes = previous.map(|version| version.attributes.clone()).unwrap_or_default();
        attributes.remove(&Attribute::Metadata(REMOVED.into()));
        attributes.remove(&Attribute::Metadata(REVISION.into()));
        if let Some(revision) = revision {
            attributes.insert(Attribute::Metadata(REVISION.into()), revision.to_string().into());
        }
        if is_removed {
            attributes.insert(Attribute::Metadata(REMOVED.into()), "1".into());
        }
        attributes
    }

    /// Writes an object.
    async fn put(
        &self,
        key: &str,
        bytes: Vec<u8>,
        mode: PutMode,
        attributes: Attributes,
    ) -> Result<PutOutcome, StorageError> {
        let path = self.object_path(key)?;
        let options = PutOptions { mode, attributes: attributes.clone(), ..PutOptions::default() };
        match self.store.put_opts(&path, PutPayload::from(bytes), options).await {
            Ok(written) => Ok(PutOutcome::Done(version_of(written.into(), attributes, 0))),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                Ok(PutOutcome::Mismatch)
            }
            Err(error) => Err(storage_error(&error)),
        }
    }

    /// Marks an object as removed; it must still have the version `expected`.
    ///
    /// Not all servers have a removal on a condition, and after a lost answer a missing object would
    /// not show who has removed it. So the object is overwritten, on this condition, by an empty one
    /// with the mark "removed". The caller then deletes it with [`Self::remove_marked`], and other
    /// processes do not write to an object with this mark for a while.
    pub(super) async fn mark_removed(
        &self,
        key: &str,
        expected: &ObjectVersion,
        revision: u64,
    ) -> Result<PutOutcome, StorageError> {
        let attributes = self.attributes_for(Some(expected), Some(revision), true);
        let mode = PutMode::Update(expected.update.clone());
        self.put(key, Vec::new(), mode, attributes).await
    }

    /// Removes an object that [`Self::mark_removed`] has marked; `false` if another program has
    /// written it since. A server that has no removal on a condition removes it in any case.
    pub(super) async fn remove_marked(
        &self,
        key: &str,
        marked: &ObjectVersion,
    ) -> Result<bool, StorageError> {
        /// How long the request may be on its way.
        const VALID: Duration = Duration::from_secs(60);
        const TRIES: usize = 3;
        let failed = |text: String| StorageError {
            text,
            may_have_applied: false,
            hint: "",
            too_large: None,
        };
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = "DELETE".parse().map_err(|_| failed("no method".into()))?;
        let (Some((signer, http)), Some(e_tag)) = (&self.signer, &marked.update.e_tag) else {
            return self.remove(key).await.map(|()| true);
        };
        let path = self.object_path(key)?;
        let Ok(url) = signer.signed_url(request.method().clone(), &path, VALID).await else {
            return self.remove(key).await.map(|()| true);
        };
        let invalid = || failed("its address or version is invalid".into());
        *request.uri_mut() = url.as_str().parse().map_err(|_| invalid())?;
        request.headers_mut().insert("if-match", e_tag.parse().map_err(|_| invalid())?);
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = http.execute(request.clone()).await;
            match answer.map(|response| response.status().as_u16()) {
                // Missing: an earlier try has removed it, and its answer was lost.
                Ok(200..300 | 404) => return Ok(true),
                Ok(412) => return Ok(false),
                Ok(409 | 429 | 500..) | Err(_) if tries < TRIES => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                // It does not take such a request.
                Ok(400..500) => return self.remove(key).await.map(|()| true),
                Ok(status) => return Err(failed(format!("the storage answered {status}"))),
                Err(error) => return Err(failed(error.to_string())),
            }
        }
    }

    /// Removes an object without a condition.
    pub(super) async fn remove(&self, key: &str) -> Result<(), StorageError> {
        match self.store.delete(&self.object_path(key)?).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(storage_error(&error)),
        }
    }

    /// At most [`PAGE_SIZE`] of the keys below `folder` that come after `after`, in order. Fewer
    /// mean that this is the last page.
    pub(super) async fn page(
        &self,
        folder: &str,
        after: Option<&str>,
    ) -> Result<Vec<ListedKey>, StorageError> {
        let parts = [self.prefix.as_str(), folder].into_iter().filter(|part| !part.is_empty());
        let full = parts.collect::<Vec<_>>().join("/");
        let path = if full.is_empty() { None } else { Some(Path::from(full)) };
        let stream = match after {
            None => self.store.list(path.as_ref()),
            Some(after) => self.store.list_with_offset(path.as_ref(), &self.object_path(after)?),
        };
        let prefix_len = match self.prefix.as_str() {
            "" => 0,
            prefix => prefix.len() + 1,
        };
        let listed = stream.map_ok(|meta| ListedKey {
            key: meta.location.as_ref().get(prefix_len..).unwrap_or_default().to_owned(),
            bytes: meta.size,
            modified: u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or_default(),
        });
        // Servers list in order; the memory store does not.
        let limit = if self.is_persistent { PAGE_SIZE } else { usize::MAX };
        let mut page: Vec<ListedKey> =
            listed.take(limit).try_collect().await.map_err(|error| storage_error(&error))?;
        page.sort_unstable();
        page.truncate(PAGE_SIZE);
        Ok(page)
    }
}

/// Few and short retries, because the caller waits and has its own retries.
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

/// The version of the object in a response.
fn version_of_response(response: &GetResult) -> ObjectVersion {
    let meta = &response.meta;
    version_of(
        UpdateVersion { e_tag: meta.e_tag.clone(), version: meta.version.clone() },
        response.attributes.clone(),
        meta.last_modified.timestamp_millis(),
    )
}

/// The version of an object, with the metadata of restitch read from its attributes.
fn version_of(update: UpdateVersion, attributes: Attributes, modified: i64) -> ObjectVersion {
    let metadata = |name: &'static str| attributes.get(&Attribute::Metadata(name.into()));
    let revision = metadata(REVISION).and_then(|value| value.parse().ok());
    let removed = metadata(REMOVED).is_some();
    let modified = u64::try_from(modified).unwrap_or_default();
    ObjectVersion { update, revision, removed, modified, attributes }
}

/// The error of a request, with a hint for the caller.
fn storage_error(error: &Error) -> StorageError {
    const SEND_AGAIN: &str =
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
            (false, SEND_AGAIN)
        }
        _ => (true, SEND_AGAIN),
    };
    StorageError { text: describe(error), may_have_applied, hint, too_large: None }
}

/// An error as one line, shortened, because some servers send whole pages with it.
fn describe(error: &Error) -> String {
    let text = error.to_string();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
