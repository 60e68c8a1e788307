//! The records of commits: one object each, with the bytes that it takes to undo it. The key
//! begins with the revision counted backwards, so that a listing begins with the newest.

use serde::{Deserialize, Serialize};

use super::RESERVED_FOLDER;
use crate::edit::WorkPath;
use crate::text::ContentHash;

/// The largest revision: a number that JSON holds exactly in every language.
const MAX_REVISION: u64 = (1 << 53) - 1;

/// The length of an entry's head is written in so many digits.
const DIGITS: usize = 10;

/// How many bytes of an entry are read first; its head is seldom longer.
pub(super) const HEAD_BYTES: u64 = 4096;

/// How far a commit got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CommitState {
    /// One file: the file itself tells whether it was written.
    Single,
    /// Several files that are being written.
    Open,
    /// Several files, all written.
    Done,
    /// Several files of a process that ended in the middle; they are being put back.
    TakenBack,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommitRecord {
    pub(super) revision: u64,
    pub(super) unix_millis: u64,
    pub(super) state: CommitState,
    pub(super) undoes: Option<u64>,
    pub(super) files: Vec<FileRecord>,
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    pub(super) path: String,
    pub(super) before: Option<ContentHash>,
    /// The revision that wrote what was there before.
    pub(super) base: Option<u64>,
    pub(super) after: Option<ContentHash>,
    /// How the bytes behind the head are divided: all that was before, and what is between
    /// the same beginning and the same end after.
    before_bytes: usize,
    same_front: usize,
    same_back: usize,
    new_bytes: usize,
}

/// What a file was and is; `None` for no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileVersions {
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

/// A file of a commit that is about to be written.
#[derive(Debug)]
pub(super) struct FileChange<'a> {
    pub(super) path: &'a WorkPath,
    pub(super) base: Option<u64>,
    pub(super) before: Option<&'a [u8]>,
    pub(super) after: Option<&'a [u8]>,
}

/// The object of a commit.
pub(super) fn encode(
    revision: u64,
    unix_millis: u64,
    state: CommitState,
    undoes: Option<u64>,
    changes: &[FileChange<'_>],
) -> Vec<u8> {
    let mut files = Vec::new();
    let mut body = Vec::new();
    for change in changes {
        let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
        let front = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let rest = before.len().min(after.len()) - front;
        let tails = before.iter().rev().zip(after.iter().rev()).take(rest);
        let back = tails.take_while(|(a, b)| a == b).count();
        let new = &after[front..after.len() - back];
        body.extend_from_slice(before);
        body.extend_from_slice(new);
        files.push(FileRecord {
            path: change.path.as_str().to_owned(),
            before: change.before.map(ContentHash::of),
            base: change.base,
            after: change.after.map(ContentHash::of),
            before_bytes: before.len(),
            same_front: front,
            same_back: back,
            new_bytes: new.len(),
        });
    }
    let entry = CommitRecord { revision, unix_millis, state, undoes, files };
    encode_record(&entry, &body)
}

fn encode_record(entry: &CommitRecord, body: &[u8]) -> Vec<u8> {
    let decode_head = serde_json::to_vec(entry).unwrap_or_default();
    let mut bytes = format!("{:0DIGITS$}\n", decode_head.len()).into_bytes();
    bytes.extend_from_slice(&decode_head);
    bytes.extend_from_slice(body);
    bytes
}

/// The same commit in another state.
pub(super) fn with_state(bytes: &[u8], state: CommitState) -> Option<Vec<u8>> {
    let (entry, body) = split(bytes)?;
    Some(encode_record(&CommitRecord { state, ..entry }, body))
}

/// How many bytes the head of an entry takes, itself included.
pub(super) fn head_length(start: &[u8]) -> Option<usize> {
    let digits = std::str::from_utf8(start.get(..DIGITS)?).ok()?;
    digits.parse::<usize>().ok().map(|length| length + DIGITS + 1)
}

/// The head of an entry.
pub(super) fn decode_head(start: &[u8]) -> Option<CommitRecord> {
    serde_json::from_slice(start.get(DIGITS + 1..head_length(start)?)?).ok()
}

fn split(bytes: &[u8]) -> Option<(CommitRecord, &[u8])> {
    Some((decode_head(bytes)?, bytes.get(head_length(bytes)?..)?))
}

/// The entry, with the bytes of each file.
pub(super) fn decode(bytes: &[u8]) -> Option<(CommitRecord, Vec<FileVersions>)> {
    let (entry, mut body) = split(bytes)?;
    let mut all = Vec::new();
    for file in &entry.files {
        let (before, rest) = body.split_at_checked(file.before_bytes)?;
        let (new, rest) = rest.split_at_checked(file.new_bytes)?;
        body = rest;
        let mut after = before.get(..file.same_front)?.to_vec();
        after.extend_from_slice(new);
        after.extend_from_slice(before.get(before.len().checked_sub(file.same_back)?..)?);
        let is = |hash: Option<ContentHash>, bytes: &[u8]| {
            hash.is_none_or(|hash| ContentHash::of(bytes) == hash)
        };
        // A record that another program changed does not count.
        if !is(file.before, before) || !is(file.after, &after) {
            return None;
        }
        all.push(FileVersions {
            before: file.before.map(|_| before.to_vec()),
            after: file.after.map(|_| after),
        });
    }
    Some((entry, all))
}

/// The key of the record of a commit. It ends in a hash of the path where there is one file.
pub(super) fn record_key<'a>(revision: u64, paths: impl IntoIterator<Item = &'a str>) -> String {
    let mut paths = paths.into_iter();
    let of = match (paths.next(), paths.next()) {
        (Some(path), None) => short_hash(path),
        _ => SEVERAL_FILES.to_owned(),
    };
    format!("{RESERVED_FOLDER}/history/{:016}-{of}", MAX_REVISION.saturating_sub(revision))
}

/// In place of a file, in the keys of commits of several.
const SEVERAL_FILES: &str = "many";

fn short_hash(path: &str) -> String {
    ContentHash::of(path.as_bytes()).to_string()[..16].to_owned()
}

/// The revision of a key.
pub(super) fn revision_of(record_key: &str) -> Option<u64> {
    let name = record_key.rsplit('/').next()?;
    let backwards: u64 = name.split('-').next()?.parse().ok()?;
    MAX_REVISION.checked_sub(backwards)
}

/// Whether the record of this key may concern this file.
pub(super) fn may_concern(record_key: &str, path: &str) -> bool {
    record_key.rsplit('-').next().is_some_and(|of| of == SEVERAL_FILES || of == short_hash(path))
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
        let bytes = encode(7, 1, CommitState::Open, None, &changes);
        let (entry, all) = decode(&bytes).expect("reads back");
        assert_eq!(entry.revision, 7);
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
