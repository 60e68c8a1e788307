//! The record of commits: one object each, with the bytes that it takes to undo it. The key
//! begins with the revision counted backwards, so that a listing begins with the newest.

use serde::{Deserialize, Serialize};

use super::OWN;
use crate::edit::WorkPath;
use crate::text::ContentHash;

/// The largest revision: a number that JSON holds exactly in every language.
const LAST: u64 = (1 << 53) - 1;

/// The length of an entry's head is written in so many digits.
const DIGITS: usize = 10;

/// How many bytes of an entry are read first; its head is seldom longer.
pub(super) const HEAD: u64 = 4096;

/// How far a commit got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
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
pub(super) struct Entry {
    pub(super) revision: u64,
    pub(super) unix_millis: u64,
    pub(super) state: State,
    pub(super) undoes: Option<u64>,
    pub(super) files: Vec<FileEntry>,
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
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
pub(super) struct Bytes {
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

/// A file of a commit that is about to be written.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) path: &'a WorkPath,
    pub(super) base: Option<u64>,
    pub(super) before: Option<&'a [u8]>,
    pub(super) after: Option<&'a [u8]>,
}

/// The object of a commit.
pub(super) fn write(
    revision: u64,
    unix_millis: u64,
    state: State,
    undoes: Option<u64>,
    drafts: &[Draft<'_>],
) -> Vec<u8> {
    let mut files = Vec::new();
    let mut body = Vec::new();
    for draft in drafts {
        let (before, after) = (draft.before.unwrap_or_default(), draft.after.unwrap_or_default());
        let front = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let rest = before.len().min(after.len()) - front;
        let tails = before.iter().rev().zip(after.iter().rev()).take(rest);
        let back = tails.take_while(|(a, b)| a == b).count();
        let new = &after[front..after.len() - back];
        body.extend_from_slice(before);
        body.extend_from_slice(new);
        files.push(FileEntry {
            path: draft.path.as_str().to_owned(),
            before: draft.before.map(ContentHash::of),
            base: draft.base,
            after: draft.after.map(ContentHash::of),
            before_bytes: before.len(),
            same_front: front,
            same_back: back,
            new_bytes: new.len(),
        });
    }
    let entry = Entry { revision, unix_millis, state, undoes, files };
    object(&entry, &body)
}

fn object(entry: &Entry, body: &[u8]) -> Vec<u8> {
    let head = serde_json::to_vec(entry).unwrap_or_default();
    let mut bytes = format!("{:0DIGITS$}\n", head.len()).into_bytes();
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(body);
    bytes
}

/// The same commit in another state.
pub(super) fn in_state(bytes: &[u8], state: State) -> Option<Vec<u8>> {
    let (entry, body) = split(bytes)?;
    Some(object(&Entry { state, ..entry }, body))
}

/// How many bytes the head of an entry takes, itself included.
pub(super) fn head_length(start: &[u8]) -> Option<usize> {
    let digits = std::str::from_utf8(start.get(..DIGITS)?).ok()?;
    digits.parse::<usize>().ok().map(|length| length + DIGITS + 1)
}

/// The head of an entry.
pub(super) fn head(start: &[u8]) -> Option<Entry> {
    serde_json::from_slice(start.get(DIGITS + 1..head_length(start)?)?).ok()
}

fn split(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    Some((head(bytes)?, bytes.get(head_length(bytes)?..)?))
}

/// The entry, with the bytes of each file.
pub(super) fn read(bytes: &[u8]) -> Option<(Entry, Vec<Bytes>)> {
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
        all.push(Bytes {
            before: file.before.map(|_| before.to_vec()),
            after: file.after.map(|_| after),
        });
    }
    Some((entry, all))
}

/// Where the entry of a commit is. The end tells whose file it is of, where it is one.
pub(super) fn key<'a>(revision: u64, paths: impl IntoIterator<Item = &'a str>) -> String {
    let mut paths = paths.into_iter();
    let of = match (paths.next(), paths.next()) {
        (Some(path), None) => short(path),
        _ => MANY.to_owned(),
    };
    format!("{OWN}/history/{:016}-{of}", LAST.saturating_sub(revision))
}

/// In place of a file, in the keys of commits of several.
const MANY: &str = "many";

fn short(path: &str) -> String {
    ContentHash::of(path.as_bytes()).to_string()[..16].to_owned()
}

/// The revision of a key.
pub(super) fn revision_of(key: &str) -> Option<u64> {
    let name = key.rsplit('/').next()?;
    let backwards: u64 = name.split('-').next()?.parse().ok()?;
    LAST.checked_sub(backwards)
}

/// Whether the entry of this key may be of this file.
pub(super) fn may_be_of(key: &str, path: &str) -> bool {
    key.rsplit('-').next().is_some_and(|of| of == MANY || of == short(path))
}

/// Where commits of several files are marked while they are under way.
pub(super) fn mark(revision: u64) -> String {
    format!("{OWN}/open/{revision:016}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_entry_gives_back_what_was_and_what_is() {
        let path = |name| WorkPath::parse(name, Path::new("/")).expect("path");
        let (a, b, c) = (path("a"), path("b"), path("c"));
        let draft = |path, before: Option<&'static [u8]>, after: Option<&'static [u8]>| Draft {
            path,
            base: None,
            before,
            after,
        };
        let drafts = [
            draft(&a, Some(b"aaaa"), Some(b"aaa")),
            draft(&b, None, Some(b"new\n")),
            draft(&c, Some(b"one\ntwo\n"), None),
        ];
        let bytes = write(7, 1, State::Open, None, &drafts);
        let (entry, all) = read(&bytes).expect("reads back");
        assert_eq!(entry.revision, 7);
        let pairs: Vec<_> = all.iter().map(|b| (b.before.as_deref(), b.after.as_deref())).collect();
        assert_eq!(pairs, drafts.iter().map(|d| (d.before, d.after)).collect::<Vec<_>>());
        let done = in_state(&bytes, State::Done).expect("again");
        assert_eq!(read(&done).expect("reads back").1, all);
        assert_eq!(head(&done).expect("head").state, State::Done);
        let mut spoiled = bytes;
        *spoiled.last_mut().expect("bytes") ^= 1;
        assert_eq!(read(&spoiled), None, "a byte was changed");
    }

    #[test]
    fn keys_list_the_newest_first() {
        let older = key(1_795_250_399_000_001, ["a"]);
        let newer = key(1_795_250_399_000_002, ["a", "b"]);
        assert!(newer < older);
        assert_eq!(revision_of(&older), Some(1_795_250_399_000_001));
        assert!(may_be_of(&older, "a") && !may_be_of(&older, "b") && may_be_of(&newer, "c"));
    }
}
