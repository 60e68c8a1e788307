//! Requests that are sent twice, perhaps to different machines: their state is in the bucket.

use serde::{Deserialize, Serialize};

use super::history::{self, CommitRecord, CommitState, FileVersions};
use super::objects::StorageError;
use super::{Bucket, RESERVED_FOLDER};
use crate::edit::{After, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath};
use crate::port::{Committed, RequestId, RequestStatus};
use crate::store::versioned::into_committed;
use crate::text::{ContentHash, Snapshot};

/// A longer answer is not read.
const MAX_BYTES: u64 = 16 << 20;

/// What is known of a request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct RequestRecord {
    #[serde(rename = "asks")]
    request_digest: Option<ContentHash>,
    /// The key of the record of its commit.
    #[serde(rename = "entry")]
    record_key: Option<String>,
    answer: Option<String>,
}

fn request_key(request: &RequestId) -> String {
    format!("{RESERVED_FOLDER}/requests/{}", ContentHash::of(request.as_str().as_bytes()))
}

impl Bucket {
    async fn load_request(
        &self,
        request: &RequestId,
    ) -> Result<Option<RequestRecord>, StorageError> {
        let found = self.objects.get(&request_key(request), MAX_BYTES).await?;
        Ok(found.and_then(|object| serde_json::from_slice(&object.bytes).ok()))
    }

    async fn store_request(
        &self,
        request: &RequestId,
        known: &RequestRecord,
    ) -> Result<(), StorageError> {
        let bytes = serde_json::to_vec(known).unwrap_or_default();
        self.objects.overwrite(&request_key(request), bytes).await
    }

    /// Notes what a request is about to do.
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

    /// The commit of a request that was delivered before.
    pub(super) async fn repeated_request(
        &self,
        request: &RequestId,
        batch: &[VerifiedEdit],
    ) -> Result<Option<Vec<Committed>>, Refusal> {
        let known =
            self.load_request(request).await.map_err(|error| lookup_failed(request, &error))?;
        let Some(known) = known else { return Ok(None) };
        let Some((record, files)) = self.applied_commit(&known).await else { return Ok(None) };
        let is_same = match (known.request_digest, request.digest()) {
            (Some(then), Some(now)) => then == now,
            // The request was not noted; the files of the commit tell what it was.
            _ => {
                record.files.len() == batch.len()
                    && batch.iter().all(|edit| {
                        record.files.iter().any(|file| file.path == edit.path().as_str())
                    })
            }
        };
        match is_same {
            true => Ok(Some(self.recorded(&record, files))),
            false => Err(request.reuse_refusal()),
        }
    }

    /// The commit that was noted for a request, if it went through.
    async fn applied_commit(
        &self,
        known: &RequestRecord,
    ) -> Option<(CommitRecord, Vec<FileVersions>)> {
        let found = self.objects.get(known.record_key.as_ref()?, u64::MAX).await.ok()??;
        let (record, files) = history::decode(&found.bytes)?;
        let done = match record.state {
            CommitState::Done => true,
            CommitState::Open | CommitState::TakenBack => false,
            CommitState::Single => {
                let past = self.commits_since(&record).await.ok()?;
                past.iter().any(|commit| commit.record == record && commit.was_applied)
            }
        };
        done.then_some((record, files))
    }

    fn recorded(&self, record: &CommitRecord, files: Vec<FileVersions>) -> Vec<Committed> {
        let restored = record.files.iter().zip(files).filter_map(|(file, bytes)| {
            let path = WorkPath::parse(&file.path, &self.root).ok()?;
            let after = match bytes.after {
                Some(bytes) => After::Content(bytes.into()),
                None => After::Removed,
            };
            let before = bytes.before.map(Snapshot::decode_lossy);
            let explanation = Explanation::plain(Rung::Repeated);
            Some(VerifiedEdit::restore(path, before, after, explanation))
        });
        restored
            .map(|edit| Committed {
                warnings: vec![format!(
                    "this very change was already committed as revision {}; nothing was written again",
                    record.revision
                )],
                ..into_committed(edit, record.revision, self.durability())
            })
            .collect()
    }

    pub(super) async fn recall(&self, request: &RequestId) -> RequestStatus {
        let known = match self.load_request(request).await {
            Ok(Some(known)) => known,
            Ok(None) => return RequestStatus::Unknown,
            Err(error) => {
                tracing::warn!(%error, "a request cannot be looked up");
                return RequestStatus::Unknown;
            }
        };
        let is_same = known.request_digest.is_some() && known.request_digest == request.digest();
        if let Some(answer) = known.answer {
            return if is_same {
                RequestStatus::Answered(answer)
            } else {
                RequestStatus::OtherRequest
            };
        }
        match self.applied_commit(&known).await {
            None => RequestStatus::Unknown,
            Some((record, files)) if is_same => {
                RequestStatus::Committed(self.recorded(&record, files))
            }
            Some(_) => RequestStatus::OtherRequest,
        }
    }

    pub(super) async fn remember(&self, request: &RequestId, answer: String) {
        let known = self.load_request(request).await.ok().flatten().unwrap_or_default();
        let known =
            RequestRecord { request_digest: request.digest(), answer: Some(answer), ..known };
        if let Err(error) = self.store_request(request, &known).await {
            tracing::warn!(%error, "the answer to a request is not kept");
        }
    }
}

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
