//! The log of a history: a line of JSON each time a commit begins, ends or fails. Lines that cannot be
//! read are skipped.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::record::{CommitRecord, Patch};
use super::revert::{shared_end, shared_start};

/// The most bytes of a change that the log holds, on each side.
const MAX_PATCH_BYTES: usize = 1 << 10;

impl Patch {
    /// The change from `before` to `after`; `None` if it is too large for the log or not UTF-8.
    pub(super) fn between(before: &[u8], after: &[u8]) -> Option<Self> {
        let mut prefix = shared_start(before, after);
        let mut suffix = shared_end(&before[prefix..], &after[prefix..]);
        // Both must end between two characters, so that the middle is UTF-8.
        let is_inside_char = |byte: Option<&u8>| byte.is_some_and(|byte| byte & 0xc0 == 0x80);
        while prefix > 0
            && (is_inside_char(before.get(prefix)) || is_inside_char(after.get(prefix)))
        {
            prefix -= 1;
        }
        while suffix > 0 && is_inside_char(before.get(before.len() - suffix)) {
            suffix -= 1;
        }
        let middle = |version: &[u8]| {
            let bytes = &version[prefix..version.len() - suffix];
            if bytes.len() > MAX_PATCH_BYTES {
                return None;
            }
            String::from_utf8(bytes.to_vec()).ok()
        };
        Some(Self { offset: prefix, old: middle(before)?, new: middle(after)? })
    }

    /// `bytes` with `from`, at the offset of this patch, replaced by `to`; `None` if `from` is not there.
    fn substitute(&self, bytes: &[u8], from: &str, to: &str) -> Option<Vec<u8>> {
        let suffix = bytes.get(self.offset..)?.strip_prefix(from.as_bytes())?;
        Some([&bytes[..self.offset], to.as_bytes(), suffix].concat())
    }

    /// The version after the change; `None` if `before` does not fit.
    pub(super) fn apply(&self, before: &[u8]) -> Option<Vec<u8>> {
        self.substitute(before, &self.old, &self.new)
    }

    /// The version before the change; `None` if `after` does not fit.
    pub(super) fn unapply(&self, after: &[u8]) -> Option<Vec<u8>> {
        self.substitute(after, &self.new, &self.old)
    }
}

/// One line of the log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LogRecord {
    Begin(CommitRecord),
    Done(u64),
    Failed(u64),
}

/// Every commit in the log of a folder except those that failed, oldest first.
pub(super) fn read_entries(folder: &Path) -> io::Result<Vec<CommitRecord>> {
    match fs::read(folder.join("log")) {
        Ok(log) => {
            let entries = parse(&log);
            let is_record = |line: &[u8]| serde_json::from_slice::<LogRecord>(line).is_ok();
            // A last line without an end is one that was being written.
            let has_lines = log.contains(&b'\n');
            if entries.is_empty() && has_lines && !log.split(|b| *b == b'\n').any(is_record) {
                return Err(damaged());
            }
            Ok(entries)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The error for a log of which no line can be read.
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its log is damaged")
}

/// Replaces the log of a folder by these commits. The caller holds its lock.
pub(super) fn rewrite(folder: &Path, entries: &[CommitRecord]) -> io::Result<()> {
    let draft = folder.join("log.draft");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    for entry in entries {
        file.write_all(&encode_line(&LogRecord::Begin(entry.clone()))?)?;
        if entry.done {
            file.write_all(&encode_line(&LogRecord::Done(entry.revision))?)?;
        }
    }
    file.sync_all()?;
    fs::rename(&draft, folder.join("log"))
}

/// A record as a line of the log.
pub(super) fn encode_line(record: &LogRecord) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

/// The commits of a log except those that failed, oldest first.
fn parse(log: &[u8]) -> Vec<CommitRecord> {
    let mut entries: Vec<CommitRecord> = Vec::new();
    let mut index_of: HashMap<u64, usize> = HashMap::new();
    let mut failed: HashSet<u64> = HashSet::new();
    for line in log.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(LogRecord::Begin(entry)) => {
                index_of.insert(entry.revision, entries.len());
                entries.push(entry);
            }
            Ok(LogRecord::Done(revision)) => {
                if let Some(index) = index_of.get(&revision) {
                    entries[*index].done = true;
                }
            }
            Ok(LogRecord::Failed(revision)) => {
                failed.insert(revision);
            }
            Err(_) => {}
        }
    }
    entries.retain(|entry| !failed.contains(&entry.revision));
    entries
}

/// What is read of a commit to learn its revision.
#[derive(Deserialize)]
struct Begun {
    revision: u64,
}

/// The highest revision in the log, or 0. Reads the log backwards in growing parts.
pub(super) fn last_revision(log: &File) -> io::Result<u64> {
    let size = log.metadata()?.len();
    let mut tail_bytes = 4 << 10;
    loop {
        let tail_start = size.saturating_sub(tail_bytes);
        let mut tail = vec![0; usize::try_from(size - tail_start).map_err(io::Error::other)?];
        log.read_exact_at(&mut tail, tail_start)?;
        // Commits begin in the order of their revisions, so the last one has the highest.
        let begun_revision = |line: &[u8]| {
            let record: HashMap<&str, Begun> = serde_json::from_slice(line).ok()?;
            Some(record.get("begin")?.revision)
        };
        let newest = tail.rsplit(|byte| *byte == b'\n').find_map(begun_revision);
        match newest {
            Some(revision) => return Ok(revision),
            None if tail_start == 0 && tail.contains(&b'\n') => {
                let is_record = |line: &[u8]| serde_json::from_slice::<LogRecord>(line).is_ok();
                let is_whole = tail.split(|byte| *byte == b'\n').any(is_record);
                return if is_whole { Ok(0) } else { Err(damaged()) };
            }
            None if tail_start == 0 => return Ok(0),
            None => tail_bytes *= 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_change_rebuilds_either_version_from_the_other() {
        let long = "x".repeat(MAX_PATCH_BYTES + 1);
        let pairs: [(&[u8], &[u8], bool); 10] = [
            (b"a\nb\nc\n", b"a\nB\nc\n", true),
            (b"aa", b"aaa", true),
            (b"aaa", b"aa", true),
            (b"", b"new", true),
            (b"old", b"", true),
            (b"same", b"same", true),
            // Characters that share their first or last byte stay whole.
            ("é".as_bytes(), "è".as_bytes(), true),
            ("aéb".as_bytes(), "a\u{129}b".as_bytes(), true),
            // A change that is not UTF-8, or too large, has no patch.
            (b"caf\xe9", b"caf\xe8", false),
            (b"short", long.as_bytes(), false),
        ];
        for (before, after, small) in pairs {
            let patch = Patch::between(before, after);
            assert_eq!(patch.is_some(), small, "{before:?}");
            if let Some(patch) = patch {
                assert_eq!(patch.apply(before).as_deref(), Some(after));
                assert_eq!(patch.unapply(after).as_deref(), Some(before));
            }
        }
    }
}
