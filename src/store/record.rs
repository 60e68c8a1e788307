//! The record of a commit. The log of a disk store, the list of a
//! [`VersionedStore`](super::VersionedStore) and the timeline have the same one.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::edit::VerifiedEdit;
use crate::names::is_default;
use crate::port::RequestId;
use crate::text::{Content, ContentHash};

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommitRecord {
    /// Its number.
    pub revision: u64,
    /// When it was made, in milliseconds since 1970.
    pub unix_millis: u64,
    /// The files that it changed.
    pub files: Vec<FileRecord>,
    /// The id of the request that it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The digest of what that request asked for.
    #[serde(skip_serializing_if = "Option::is_none", rename = "asks")]
    pub request_digest: Option<ContentHash>,
    /// The name that the client gave itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The revision that it undid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// Whether it is known that all of it was written.
    #[serde(skip)]
    pub done: bool,
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileRecord {
    /// The path from the root, without links.
    pub path: String,
    /// `None` when the file was created.
    pub before: Option<StoredVersion>,
    /// `None` when the file was removed.
    pub after: Option<ContentHash>,
    /// Folders that were created for the file, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "made")]
    pub created_folders: Vec<PathBuf>,
    /// The change itself, if it is small and the store keeps it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Patch>,
    /// The first and the last line that changed, as numbered after the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(usize, usize)>,
}

/// The version of a file before a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredVersion {
    /// The hash of its content.
    pub sha256: ContentHash,
    /// What a disk has of a file besides its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

impl From<ContentHash> for StoredVersion {
    fn from(sha256: ContentHash) -> Self {
        Self { sha256, metadata: None }
    }
}

/// The part of a file that is not its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Extended attributes, access lists among them; names and values in hexadecimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) attributes: Vec<(String, String)>,
    /// The `chattr` flags that a copy keeps.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) flags: u32,
}

/// The replacement of one span in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    #[serde(rename = "at")]
    pub(super) offset: usize,
    pub(super) old: String,
    pub(super) new: String,
}

impl CommitRecord {
    /// Whether this commit was made for the same request; `edits` are those of the request.
    pub fn matches_request<'a>(
        &self,
        request: &RequestId,
        mut edits: impl ExactSizeIterator<Item = &'a VerifiedEdit>,
    ) -> bool {
        if let (Some(recorded), Some(digest)) = (self.request_digest, request.digest()) {
            return recorded == digest;
        }
        // Without digests, the files of the commit are compared with the edits. A record has the path
        // with its links resolved, which may differ from that of the edit.
        let is_of_edit = |file: &FileRecord, edit: &VerifiedEdit| {
            file.path == edit.path().as_str() || file.after == edit.after().map(Content::hash)
        };
        self.files.len() == edits.len()
            && edits.all(|edit| self.files.iter().any(|file| is_of_edit(file, edit)))
    }
}

impl FileRecord {
    /// The hash of the content before; `None` when the file was created.
    pub fn before_sha256(&self) -> Option<ContentHash> {
        self.before.as_ref().map(|version| version.sha256)
    }
}
