//! The commits of a [`VersionedStore`](super::VersionedStore), with the bytes before and after: in the
//! memory, or as one file each in a folder, where the next process finds them.
//!
//! Limits: a commit is recorded once its files are written, so one whose process was killed in between
//! is not in the list. The oldest are forgotten.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;

use super::revert;
use super::versioned::millis;
use crate::edit::WorkPath;
use crate::port::{Revision, RevisionFile};
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
    folder: Option<PathBuf>,
}

/// One commit.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) revision: u64,
    unix_millis: u64,
    /// The client that made it, if it gave a name.
    client: Option<String>,
    pub(super) undoes: Option<u64>,
    pub(super) files: Vec<FileChange>,
}

/// A file of a commit: its content before and after; `None` if there is no file.
#[derive(Debug, Clone)]
pub(super) struct FileChange {
    pub(super) path: WorkPath,
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

impl Commit {
    /// The number of bytes of its versions.
    fn size(&self) -> usize {
        let versions = self.files.iter().flat_map(|file| [&file.before, &file.after]);
        versions.flatten().map(Vec::len).sum()
    }
}

impl Commits {
    /// Whether other processes find them.
    pub(super) fn are_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// The commits, newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &Commit> {
        self.oldest_first.iter().rev()
    }

    /// Maps each undone revision to the revision that undid it.
    pub(super) fn undone_by(&self) -> HashMap<u64, u64> {
        revert::undone_by(self.newest_first().map(|commit| (commit.revision, commit.undoes)))
    }

    /// The commits as a log shows them, newest first.
    pub(super) fn log(&self) -> Vec<Revision> {
        let undone_by = self.undone_by();
        let hash = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(ContentHash::of);
        let file = |change: &FileChange| RevisionFile {
            path: change.path.as_str().to_owned(),
            before_sha256: hash(&change.before),
            after_sha256: hash(&change.after),
            lines: change.after.as_deref().map(|after| {
                revert::changed_lines(change.before.as_deref().unwrap_or_default(), after)
            }),
        };
        self.newest_first()
            .map(|commit| Revision {
                revision: commit.revision,
                unix_millis: commit.unix_millis,
                files: commit.files.iter().map(file).collect(),
                client: commit.client.clone(),
                undoes: commit.undoes,
                undone_by: undone_by.get(&commit.revision).copied(),
                interrupted: false,
            })
            .collect()
    }

    /// Adds a commit, forgets the oldest ones if there is too much now, and returns its revision.
    pub(super) fn add(
        &mut self,
        files: Vec<FileChange>,
        client: Option<String>,
        undoes: Option<u64>,
    ) -> io::Result<u64> {
        let unix_millis = millis();
        #[cfg(any(not(unix), test))]
        if let Some(folder) = &self.folder {
            return kept::add(folder, Commit { revision: 0, unix_millis, client, undoes, files });
        }
        let revision = self.oldest_first.back().map_or(0, |last| last.revision) + 1;
        let commit = Commit { revision, unix_millis, client, undoes, files };
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

    use serde::{Deserialize, Serialize};

    use super::{Commit, Commits, FileChange};
    use crate::edit::WorkPath;

    /// The first line of the file of a commit. The bytes of the versions follow, those before and those
    /// after of each file.
    #[derive(Debug, Serialize, Deserialize)]
    struct Head {
        unix_millis: u64,
        client: Option<String>,
        undoes: Option<u64>,
        files: Vec<FileHead>,
    }

    /// A file of a commit, with the lengths of its versions.
    #[derive(Debug, Serialize, Deserialize)]
    struct FileHead {
        path: String,
        before: Option<usize>,
        after: Option<usize>,
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
        lock.lock()?;
        let mut kept = revisions(folder)?;
        commit.revision = kept.last().map_or(0, |(revision, _)| *revision) + 1;
        let length = |version: &Option<Vec<u8>>| version.as_ref().map(Vec::len);
        let file = |file: &FileChange| FileHead {
            path: file.path.as_str().to_owned(),
            before: length(&file.before),
            after: length(&file.after),
        };
        let head = Head {
            unix_millis: commit.unix_millis,
            client: commit.client.clone(),
            undoes: commit.undoes,
            files: commit.files.iter().map(file).collect(),
        };
        let mut temp = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut temp, &head)?;
        temp.write_all(b"\n")?;
        for version in commit.files.iter().flat_map(|file| [&file.before, &file.after]) {
            temp.write_all(version.as_deref().unwrap_or_default())?;
        }
        temp.persist_noclobber(folder.join(commit.revision.to_string()))?;
        kept.push((commit.revision, commit.size() as u64));
        let mut total: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
        for (revision, bytes) in &kept[..kept.len() - 1] {
            if total <= super::MAX_BYTES as u64 {
                break;
            }
            total -= bytes;
            fs::remove_file(folder.join(revision.to_string()))?;
        }
        Ok(commit.revision)
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
                Ok(bytes) => commits.extend(decode(revision, &bytes)),
                // Another process has just removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(commits)
    }

    /// The commit in the bytes of its file; `None` if they are damaged.
    fn decode(revision: u64, bytes: &[u8]) -> Option<Commit> {
        let end_of_head = memchr::memchr(b'\n', bytes)?;
        let head: Head = serde_json::from_slice(&bytes[..end_of_head]).ok()?;
        let mut rest = &bytes[end_of_head + 1..];
        let mut next = |length: Option<usize>| {
            let Some(length) = length else { return Some(None) };
            let (version, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(Some(version.to_vec()))
        };
        let mut files = Vec::new();
        for file in head.files {
            let path = WorkPath::parse(&file.path, Path::new("/")).ok()?;
            files.push(FileChange { path, before: next(file.before)?, after: next(file.after)? });
        }
        rest.is_empty().then_some(Commit {
            revision,
            unix_millis: head.unix_millis,
            client: head.client,
            undoes: head.undoes,
            files,
        })
    }
}
