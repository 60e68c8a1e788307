//! Recognizes requests that are sent twice, perhaps to different machines: their state is in the
//! bucket.

use serde::{Deserialize, Serialize};

use super::history::{self, BucketRecord, CommitState};
use super::objects::StorageError;
use super::{Bucket, RESERVED_FOLDER};
use restitch::edit::{EditCode, Refusal, VerifiedEdit, WorkPath};
use restitch::internals::store::{CommitRecord, Versions, repeated};
use restitch::port::ContentHash;
use restitch::port::{Committed, RequestId, RequestStatus};

/// A stored answer with more bytes than this is not read.
const MAX_BYTES: u64 = 16 << 20;

/// What the bucket stores about a request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct RequestRecord {
    /// The digest of what the request asked for.
    #[serde(rename = "asks")]
    request_digest: Option<ContentHash>,
    /// The key of the record of its commit.
    #[serde(rename = "entry")]
    record_key: Option<String>,
    answer: Option<String>,
}

/// The key of the object that stores a request.
fn request_key(request: &RequestId) -> String {
    format!("{RESERVED_FOLDER}/requests/{}", ContentHash::of(request.as_str().as_bytes()))
}

impl Bucket {
    /// Loads what the bucket stores about a request; `None` if it stores nothing.
    async fn load_request(
        &self,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StorageError> {
        let object = self.objects.get(&request_key(request), MAX_BYTES).await?;
        Ok(object.and_then(|object| serde_json::from_slice(&object.bytes).ok()))
    }

    /// Stores a record of a request.
    async fn store_request(
        &self,
        request: &RequestId,
        stored: &RequestRecord,
    ) -> Result<(), StorageError> {
        let bytes = serde_json::to_vec(stored).unwrap_or_default();
        self.objects.overwrite(&request_key(request), bytes).await
    }

    /// Stores, under the id of a request, the key of the commit record that is about to be written.
    pub(super) async fn record_request(
        &self,
        request: &RequestId,
        record_key: &str,
    ) -> Result<(), StorageError> {
        let record_key = Some(record_key.to_owned());
        self.store_request(
            request,
            &RequestRecord { request_digest: request.digest(), record_key, answer: None },
        )
        .await
    }

    /// The result of the commit that an earlier delivery of this request has made. `None` if it
    /// made none; a refusal if the id belongs to another request.
    pub(super) async fn repeated_request(
        &self,
        request: &RequestId,
        batch: &[VerifiedEdit],
    ) -> Result<Option<Vec<Committed>>, Refusal> {
        let stored =
            self.load_request(request).await.map_err(|error| lookup_failed(request, &error))?;
        let Some(stored) = stored else { return Ok(None) };
        let Some((record, files)) = self.applied_commit(&stored).await else { return Ok(None) };
        let commit =
            CommitRecord { request_digest: stored.request_digest, ..record.as_record(true) };
        if !commit.matches_request(request, batch.iter()) {
            return Err(request.reuse_refusal());
        }
        Ok(Some(self.recorded_result(&record, files)))
    }

    /// The commit of a request, if it was applied.
    async fn applied_commit(
        &self,
        stored: &RequestRecord,
    ) -> Option<(BucketRecord, Vec<Versions>)> {
        let object = self.objects.get(stored.record_key.as_ref()?, u64::MAX).await.ok()??;
        let (record, files) = history::decode(&object.bytes)?;
        let was_applied = match record.state {
            CommitState::Done => true,
            CommitState::Open | CommitState::TakenBack => false,
            CommitState::Single => {
                let commits = self.commits_since(&record).await.ok()?;
                commits.iter().any(|commit| commit.record == record && commit.was_applied)
            }
        };
        was_applied.then_some((record, files))
    }

    /// The result of an earlier commit, as if it had just been made.
    pub(super) fn recorded_result(
        &self,
        record: &BucketRecord,
        files: Vec<Versions>,
    ) -> Vec<Committed> {
        let files = record.files.iter().zip(files).filter_map(|(file, versions)| {
            let path = WorkPath::parse(&file.path, &self.root).ok()?;
            Some(repeated(record.revision, path, versions, self.durability()))
        });
        files.collect()
    }

    /// What is known of a request.
    pub(super) async fn recall(&self, request: &RequestId) -> RequestStatus {
        let stored = match self.load_request(request).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return RequestStatus::Unknown,
            Err(error) => {
                tracing::warn!(%error, "cannot look up a request");
                return RequestStatus::Unknown;
            }
        };
        let known = match &stored.answer {
            Some(answer) => RequestStatus::Answered(answer.clone()),
            None => match self.applied_commit(&stored).await {
                Some((record, files)) => {
                    RequestStatus::Committed(self.recorded_result(&record, files))
                }
                None => return RequestStatus::Unknown,
            },
        };
        request.status_by(stored.request_digest, known)
    }

    /// Stores the answer to a request. An error is only logged.
    pub(super) async fn remember(&self, request: &RequestId, answer: String) {
        let stored = self.load_request(request).await.ok().flatten().unwrap_or_default();
        let stored =
            RequestRecord { request_digest: request.digest(), answer: Some(answer), ..stored };
        if let Err(error) = self.store_request(request, &stored).await {
            tracing::warn!(%error, "cannot store the answer to a request");
        }
    }
}

/// The refusal after a request could not be looked up.
fn lookup_failed(request: &RequestId, error: &StorageError) -> Refusal {
    Refusal::new(
        EditCode::ReadError,
        format!(
            "cannot look up whether request `{}` was carried out before: {error}",
            request.as_str()
        ),
    )
    .hint(error.hint)
}
