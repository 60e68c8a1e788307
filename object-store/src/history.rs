//! The records of commits: one object for each commit, with the bytes that are needed to undo it.
//! Its key begins with the revision counted backwards, so that a listing begins with the newest.
//!
//! A record is the length of its head, the head as JSON, and a body with the bytes of the files.

use serde::{Deserialize, Serialize};

use super::RESERVED_FOLDER;
use super::commit::CommitContext;
use restitch::edit::WorkPath;
use restitch::internals::store::{CommitRecord, FileRecord, Versions, changed_lines};
use restitch::port::ContentHash;

/// The largest revision: a number that JSON holds exactly in every language.
const MAX_REVISION: u64 = (1 << 53) - 1;

/// The length of a record's head is written with this many digits.
const DIGITS: usize = 10;

/// How many bytes of a record are read first; its head is rarely longer.
pub(super) const HEAD_BYTES: u64 = 4096;

/// The state of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CommitState {
    /// A commit of one file. Whether it was written follows from the revision that the file
    /// carries.
    Single,
    /// A commit of several files that are being written.
    Open,
    /// A commit of several files that are all written.
    Done,
    /// A commit of several files whose process died; another process is restoring the files.
    TakenBack,
}

/// One commit, with what is needed to find its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BucketRecord {
    pub(super) revision: u64,
    pub(super) unix_millis: u64,
    pub(super) state: CommitState,
    /// The name that the client gave itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    pub(super) undoes: Option<u64>,
    pub(super) files: Vec<BucketFile>,
}

impl BucketRecord {
    /// The commit as every store has it.
    pub(super) fn as_record(&self, was_applied: bool) -> CommitRecord {
        let file = |file: &BucketFile| FileRecord {
            path: file.path.clone(),
            before: file.before.map(Into::into),
            after: file.after,
            lines: file.lines,
            ..FileRecord::default()
        };
        CommitRecord {
            revision: self.revision,
            unix_millis: self.unix_millis,
            files: self.files.iter().map(file).collect(),
            client: self.client.clone(),
            undoes: self.undoes,
            done: was_applied,
            ..CommitRecord::default()
        }
    }
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BucketFile {
    pub(super) path: String,
    pub(super) before: Option<ContentHash>,
    /// The revision that wrote the old version.
    pub(super) base: Option<u64>,
    pub(super) after: Option<ContentHash>,
    /// The length of the old version, which the body has in full.
    before_bytes: usize,
    /// How many bytes at the start both versions share.
    #[serde(rename = "same_front")]
    same_prefix: usize,
    /// How many bytes at the end both versions share.
    #[serde(rename = "same_back")]
    same_suffix: usize,
    /// How many bytes of the new version are not shared; in the body, they follow the old version.
    new_bytes: usize,
    /// The first and the last line that changed, as numbered afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<(usize, usize)>,
}

/// A file of a commit that is about to be written.
#[derive(Debug)]
pub(super) struct FileChange<'a> {
    pub(super) path: &'a WorkPath,
    pub(super) base: Option<u64>,
    pub(super) before: Option<&'a [u8]>,
    pub(super) after: Option<&'a [u8]>,
}

/// The bytes of the record of a commit.
pub(super) fn encode(
    revision: u64,
    unix_millis: u64,
    state: CommitState,
    context: CommitContext<'_>,
    changes: &[FileChange<'_>],
) -> Vec<u8> {
    let mut files = Vec::new();
    let mut body = Vec::new();
    for change in changes {
        let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
        let same_prefix = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let max_suffix = before.len().min(after.len()) - same_prefix;
        let from_end = before.iter().rev().zip(after.iter().rev()).take(max_suffix);
        let same_suffix = from_end.take_while(|(a, b)| a == b).count();
        let new = &after[same_prefix..after.len() - same_suffix];
        body.extend_from_slice(before);
        body.extend_from_slice(new);
        files.push(BucketFile {
            path: change.path.as_str().to_owned(),
            before: change.before.map(ContentHash::of),
            base: change.base,
            after: change.after.map(ContentHash::of),
            before_bytes: before.len(),
            same_prefix,
            same_suffix,
            new_bytes: new.len(),
            lines: change.after.map(|after| changed_lines(before, after)),
        });
    }
    let client = context.client.map(str::to_owned);
    let record =
        BucketRecord { revision, unix_millis, state, client, undoes: context.undoes, files };
    encode_record(&record, &body)
}

/// Writes the length of the head, the head and the body.
fn encode_record(record: &BucketRecord, body: &[u8]) -> Vec<u8> {
    let head = serde_json::to_vec(record).unwrap_or_default();
    let mut bytes = format!("{:0DIGITS$}\n", head.len()).into_bytes();
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(body);
    bytes
}

/// The record with another state; `None` if it cannot be read.
pub(super) fn with_state(bytes: &[u8], state: CommitState) -> Option<Vec<u8>> {
    let (record, body) = split(bytes)?;
    Some(encode_record(&BucketRecord { state, ..record }, body))
}

/// The offset at which the body of a record begins: after the digits, a newline and the head. The
/// digits at the start of the record are enough to know it.
pub(super) fn body_start(first_bytes: &[u8]) -> Option<usize> {
    let digits = std::str::from_utf8(first_bytes.get(..DIGITS)?).ok()?;
    digits.parse::<usize>().ok().map(|head_length| DIGITS + 1 + head_length)
}

/// Reads the head of a record from its first bytes.
pub(super) fn decode_head(first_bytes: &[u8]) -> Option<BucketRecord> {
    let head = first_bytes.get(DIGITS + 1..body_start(first_bytes)?)?;
    serde_json::from_slice(head).ok()
}

/// The head and the body of a record.
fn split(bytes: &[u8]) -> Option<(BucketRecord, &[u8])> {
    Some((decode_head(bytes)?, bytes.get(body_start(bytes)?..)?))
}

/// The head of a record, and the versions of each of its files.
pub(super) fn decode(bytes: &[u8]) -> Option<(BucketRecord, Vec<Versions>)> {
    let (record, mut body) = split(bytes)?;
    let mut all_versions = Vec::new();
    for file in &record.files {
        let (before, rest) = body.split_at_checked(file.before_bytes)?;
        let (new, rest) = rest.split_at_checked(file.new_bytes)?;
        body = rest;
        let mut after = before.get(..file.same_prefix)?.to_vec();
        after.extend_from_slice(new);
        after.extend_from_slice(before.get(before.len().checked_sub(file.same_suffix)?..)?);
        let matches_hash = |bytes: &[u8], hash: Option<ContentHash>| {
            hash.is_none_or(|hash| ContentHash::of(bytes) == hash)
        };
        // A damaged record, or one that another program changed, does not count.
        if !matches_hash(before, file.before) || !matches_hash(&after, file.after) {
            return None;
        }
        all_versions.push(Versions {
            before: file.before.map(|_| before.to_vec()),
            after: file.after.map(|_| after),
        });
    }
    Some((record, all_versions))
}

/// The key of the record of a commit. It ends in a hash of the path if the commit has one file.
pub(super) fn record_key<'a>(revision: u64, paths: impl IntoIterator<Item = &'a str>) -> String {
    let mut paths = paths.into_iter();
    let file_hash = match (paths.next(), paths.next()) {
        (Some(path), None) => short_hash(path),
        _ => SEVERAL_FILES.to_owned(),
    };
    format!("{RESERVED_FOLDER}/history/{:016}-{file_hash}", MAX_REVISION.saturating_sub(revision))
}

/// Stands for the hash of the path in the keys of commits of several files.
const SEVERAL_FILES: &str = "many";

/// The first digits of the hash of a path, for keys.
fn short_hash(path: &str) -> String {
    ContentHash::of(path.as_bytes()).to_string()[..16].to_owned()
}

/// The revision in the key of a record.
pub(super) fn revision_of(record_key: &str) -> Option<u64> {
    let name = record_key.rsplit('/').next()?;
    let backwards: u64 = name.split('-').next()?.parse().ok()?;
    MAX_REVISION.checked_sub(backwards)
}

/// Whether the record with this key may have a change of this file.
pub(super) fn may_concern(record_key: &str, path: &str) -> bool {
    let file_hash = record_key.rsplit('-').next();
    file_hash.is_some_and(|hash| hash == SEVERAL_FILES || hash == short_hash(path))
}

/// The key of the mark of a running commit of several files.
pub(super) fn mark_key(revision: u64) -> String {
    format!("{RESERVED_FOLDER}/open/{revision:016}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_entry_gives_back_what_was_and_what_is() {
        let path = |name| WorkPath::parse(name, Path::new("/")).expect("path");
        let (a, b, c) = (path("a"), path("b"), path("c"));
        let change = |path, before: Option<&'static [u8]>, after: Option<&'static [u8]>| {
            FileChange { path, base: None, before, after }
        };
        let changes = [
            change(&a, Some(b"aaaa"), Some(b"aaa")),
            change(&b, None, Some(b"new\n")),
            change(&c, Some(b"one\ntwo\n"), None),
        ];
        let bytes = encode(7, 1, CommitState::Open, CommitContext::default(), &changes);
        let (record, all) = decode(&bytes).expect("reads back");
        assert_eq!(record.revision, 7);
        let pairs: Vec<_> = all.iter().map(|b| (b.before.as_deref(), b.after.as_deref())).collect();
        assert_eq!(pairs, changes.iter().map(|d| (d.before, d.after)).collect::<Vec<_>>());
        let done = with_state(&bytes, CommitState::Done).expect("again");
        assert_eq!(decode(&done).expect("reads back").1, all);
        assert_eq!(decode_head(&done).expect("head").state, CommitState::Done);
        let mut damaged = bytes;
        *damaged.last_mut().expect("bytes") ^= 1;
        assert_eq!(decode(&damaged), None, "a byte was changed");
    }

    #[test]
    fn keys_list_the_newest_first() {
        let older = record_key(1_795_250_399_000_001, ["a"]);
        let newer = record_key(1_795_250_399_000_002, ["a", "b"]);
        assert!(newer < older);
        assert_eq!(revision_of(&older), Some(1_795_250_399_000_001));
        assert!(may_concern(&older, "a") && !may_concern(&older, "b") && may_concern(&newer, "c"));
    }
}
