//! The commits of a [`VersionedStore`](super::VersionedStore), with the bytes before and after: in the
//! memory, or as one file each in a folder, where the next process finds them.
//!
//! Limits: a commit is recorded once its files are written, so one whose process was killed in between
//! is not in the list. The oldest are forgotten.

use std::collections::VecDeque;
use std::io;

use super::record::{CommitRecord, FileRecord};
use super::revert::changed_lines;
use super::timeline::{Timeline, Versions, now_millis};
use crate::edit::VerifiedEdit;
use crate::text::ContentHash;

/// The oldest commits are forgotten once all of them hold more bytes of content than this.
const MAX_BYTES: usize = 64 << 20;

/// The commits of one root.
#[derive(Debug, Default)]
pub(super) struct Commits {
    oldest_first: VecDeque<Commit>,
    /// The bytes that they hold in the memory.
    bytes: usize,
    /// Where they are kept; `None` for the memory.
    #[cfg(any(not(unix), test))]
    folder: Option<std::path::PathBuf>,
}

/// One commit, and what it wrote to each of its files.
#[derive(Debug)]
struct Commit {
    record: CommitRecord,
    versions: Vec<Versions>,
}

impl Commit {
    /// The bytes of its versions, those before and those after of each file.
    fn contents(&self) -> impl Iterator<Item = Option<&Vec<u8>>> {
        self.versions.iter().flat_map(|file| [file.before.as_ref(), file.after.as_ref()])
    }

    /// The number of bytes of its versions.
    fn size(&self) -> usize {
        self.contents().flatten().map(Vec::len).sum()
    }
}

impl Commits {
    /// The commits as undo and the log see them.
    pub(super) fn timeline(&self) -> Timeline {
        Timeline::new(self.oldest_first.iter().map(|commit| commit.record.clone()).collect())
    }

    /// What a commit wrote to one of its files.
    pub(super) fn versions(&self, revision: u64, path: &str) -> Option<Versions> {
        let commit = self.oldest_first.iter().find(|commit| commit.record.revision == revision)?;
        let index = commit.record.files.iter().position(|file| file.path == path)?;
        commit.versions.get(index).cloned()
    }

    /// The version with this hash.
    pub(super) fn bytes(&self, hash: ContentHash) -> Option<Vec<u8>> {
        self.oldest_first.iter().rev().find_map(|commit| {
            let files = &commit.record.files;
            let hashes = files.iter().flat_map(|file| [file.before_sha256(), file.after]);
            let mut pairs = hashes.zip(commit.contents());
            pairs.find(|(known, _)| *known == Some(hash))?.1.cloned()
        })
    }

    /// Adds a commit, forgets the oldest ones if there is too much now, and returns its revision.
    pub(super) fn add(
        &mut self,
        edits: &[VerifiedEdit],
        versions: Vec<Versions>,
        client: Option<String>,
        undoes: Option<u64>,
    ) -> io::Result<u64> {
        let file = |(edit, versions): (&VerifiedEdit, &Versions)| {
            let (before, after) = (versions.before.as_deref(), versions.after.as_deref());
            FileRecord {
                path: edit.path().as_str().to_owned(),
                before: before.map(|bytes| ContentHash::of(bytes).into()),
                after: after.map(ContentHash::of),
                lines: after.map(|after| changed_lines(before.unwrap_or_default(), after)),
                ..FileRecord::default()
            }
        };
        let record = CommitRecord {
            revision: self.oldest_first.back().map_or(0, |last| last.record.revision) + 1,
            unix_millis: now_millis(),
            files: edits.iter().zip(&versions).map(file).collect(),
            client,
            undoes,
            done: true,
            ..CommitRecord::default()
        };
        let revision = record.revision;
        let commit = Commit { record, versions };
        #[cfg(any(not(unix), test))]
        if let Some(folder) = &self.folder {
            return kept::add(folder, commit);
        }
        self.bytes += commit.size();
        self.oldest_first.push_back(commit);
        while self.bytes > MAX_BYTES && self.oldest_first.len() > 1 {
            let Some(oldest) = self.oldest_first.pop_front() else { break };
            self.bytes -= oldest.size();
        }
        Ok(revision)
    }

    /// Reads the commits of other processes.
    pub(super) fn load(&mut self) -> io::Result<()> {
        #[cfg(any(not(unix), test))]
        if let Some(folder) = &self.folder {
            self.oldest_first = kept::read(folder)?;
        }
        Ok(())
    }
}

#[cfg(any(not(unix), test))]
mod kept {
    use std::collections::VecDeque;
    use std::fs::{self, File};
    use std::io::{self, Write as _};
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use serde::{Deserialize, Serialize};

    use super::super::portable::lock_within;
    use super::{Commit, CommitRecord, Commits, Versions};

    /// How long the history of another process is waited for. Without it, an edit has no revision.
    const LOCK_WAIT: Duration = Duration::from_secs(2);

    /// The first line of the file of a commit. The bytes of the versions follow, those before and those
    /// after of each file.
    #[derive(Debug, Serialize, Deserialize)]
    struct Head {
        record: CommitRecord,
        lengths: Vec<Option<usize>>,
    }

    impl Commits {
        /// The commits that are kept in a folder, which need not exist yet.
        pub(in super::super) fn in_folder(folder: PathBuf) -> Self {
            Self { folder: Some(folder), ..Self::default() }
        }
    }

    /// Writes the file of a commit, which gets the next revision, and removes the oldest ones if there
    /// is too much now.
    pub(super) fn add(folder: &Path, mut commit: Commit) -> io::Result<u64> {
        fs::create_dir_all(folder)?;
        let mut options = File::options();
        let lock = options.create(true).truncate(false).write(true).open(folder.join("lock"))?;
        // Another process holds it only while it writes one file.
        lock_within(&lock, LOCK_WAIT)?;
        let mut kept = revisions(folder)?;
        let revision = kept.last().map_or(0, |(revision, _)| *revision) + 1;
        commit.record.revision = revision;
        kept.push((revision, commit.size() as u64));
        let mut temp = tempfile::NamedTempFile::new_in(folder)?;
        let lengths = commit.contents().map(|version| version.map(Vec::len)).collect();
        serde_json::to_writer(&mut temp, &Head { record: commit.record.clone(), lengths })?;
        temp.write_all(b"\n")?;
        for version in commit.contents().flatten() {
            temp.write_all(version)?;
        }
        temp.persist_noclobber(folder.join(revision.to_string()))?;
        let mut total: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
        for (revision, bytes) in &kept[..kept.len() - 1] {
            if total <= super::MAX_BYTES as u64 {
                break;
            }
            total -= bytes;
            fs::remove_file(folder.join(revision.to_string()))?;
        }
        Ok(revision)
    }

    /// The revisions in a folder, oldest first, each with the number of its bytes.
    fn revisions(folder: &Path) -> io::Result<Vec<(u64, u64)>> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let revision = |entry: fs::DirEntry| {
            let revision = entry.file_name().to_str()?.parse().ok()?;
            Some((revision, entry.metadata().ok()?.len()))
        };
        let mut revisions: Vec<_> = entries.flatten().filter_map(revision).collect();
        revisions.sort_unstable();
        Ok(revisions)
    }

    /// The commits in a folder, oldest first. A file that is damaged is left out.
    pub(super) fn read(folder: &Path) -> io::Result<VecDeque<Commit>> {
        let mut commits = VecDeque::new();
        for (revision, _) in revisions(folder)? {
            match fs::read(folder.join(revision.to_string())) {
                Ok(bytes) => commits.extend(decode(&bytes)),
                // Another process has just removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(commits)
    }

    /// The commit in the bytes of its file; `None` if they are damaged.
    fn decode(bytes: &[u8]) -> Option<Commit> {
        let end_of_head = memchr::memchr(b'\n', bytes)?;
        let Head { record, lengths } = serde_json::from_slice(&bytes[..end_of_head]).ok()?;
        let mut rest = &bytes[end_of_head + 1..];
        let mut next = |length: Option<usize>| {
            let Some(length) = length else { return Some(None) };
            let (version, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(Some(version.to_vec()))
        };
        let mut versions = Vec::new();
        for pair in lengths.chunks_exact(2) {
            versions.push(Versions { before: next(pair[0])?, after: next(pair[1])? });
        }
        let is_whole = rest.is_empty() && versions.len() == record.files.len();
        // It is recorded once all its files are written.
        is_whole.then_some(Commit { record: CommitRecord { done: true, ..record }, versions })
    }
}
