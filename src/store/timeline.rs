//! What the commits of a root mean for undo, the log and repeated requests. Each store with a history
//! records commits in a way of its own, and decides with this module.

use std::collections::HashMap;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use super::record::{CommitRecord, FileRecord};
pub use super::revert::changed_lines;
use super::revert::{LaterVersion, VersionSource, revert_change};
use crate::edit::{Durability, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath};
use crate::port::{Committed, Revision, RevisionFile};
use crate::text::{ContentHash, Snapshot};

/// At most this many recorded versions of a file are looked at.
pub const MAX_VERSIONS: usize = 12;

/// The content of a file before and after a commit; `None` for no file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Versions {
    /// The content before.
    pub before: Option<Vec<u8>>,
    /// The content after.
    pub after: Option<Vec<u8>>,
}

/// The commits of a root, or those of them that a question concerns.
#[derive(Debug)]
pub struct Timeline {
    oldest_first: Vec<CommitRecord>,
    /// The commits that are undone, each with the one that undid it.
    undone_by: HashMap<u64, u64>,
}

impl Timeline {
    /// A timeline of these commits, oldest first. Finds out which of them are undone.
    pub fn new(oldest_first: Vec<CommitRecord>) -> Self {
        let mut undone_by = HashMap::new();
        for commit in oldest_first.iter().rev().filter(|commit| commit.done) {
            // An undo that was itself undone does not count.
            if let Some(undone) = commit.undoes
                && !undone_by.contains_key(&commit.revision)
            {
                undone_by.insert(undone, commit.revision);
            }
        }
        Self { oldest_first, undone_by }
    }

    /// The commits as the log shows them, newest first.
    pub fn into_log(self) -> Vec<Revision> {
        let file = |file: FileRecord| RevisionFile {
            before_sha256: file.before_sha256(),
            path: file.path,
            after_sha256: file.after,
            lines: file.lines,
        };
        let shown = |commit: CommitRecord| Revision {
            revision: commit.revision,
            unix_millis: commit.unix_millis,
            files: commit.files.into_iter().map(file).collect(),
            client: commit.client,
            undoes: commit.undoes,
            undone_by: self.undone_by.get(&commit.revision).copied(),
            interrupted: !commit.done,
        };
        self.oldest_first.into_iter().rev().map(shown).collect()
    }

    /// The commit with this revision, undone or not.
    pub fn commit(&self, wanted: u64) -> Result<&CommitRecord, Refusal> {
        let commit = self.oldest_first.iter().rev().find(|commit| commit.revision == wanted);
        commit.ok_or_else(|| no_revision(wanted))
    }

    /// The revision that undid this one.
    pub(super) fn undone_by(&self, revision: u64) -> Option<u64> {
        self.undone_by.get(&revision).copied()
    }

    /// The commit to undo: `wanted`, or else the newest one that took effect and is neither undone nor
    /// an undo.
    pub fn to_undo(
        &self,
        wanted: Option<u64>,
        took_effect: impl Fn(&CommitRecord) -> bool,
    ) -> Result<&CommitRecord, Refusal> {
        let Some(wanted) = wanted else {
            let can_be_undone = |commit: &&CommitRecord| {
                commit.undoes.is_none()
                    && self.undone_by(commit.revision).is_none()
                    && took_effect(commit)
            };
            return self.oldest_first.iter().rev().find(can_be_undone).ok_or_else(|| {
                Refusal::new(EditCode::NoChange, "there is nothing to undo").hint(
                    "To take back an undo, give its revision. On the command line, `restitch log` lists the revisions.",
                )
            });
        };
        let commit = self.commit(wanted)?;
        match self.undone_by(wanted) {
            Some(undo) => Err(Refusal::new(
                EditCode::NoChange,
                format!("revision {wanted} was already undone by revision {undo}"),
            )
            .hint(format!("To bring it back, undo revision {undo}."))),
            None => Ok(commit),
        }
    }

    /// What the commits after `revision` did to a file, oldest first, without each that the next one
    /// undoes: together they did nothing.
    pub fn later_in_effect<'a>(
        &'a self,
        revision: u64,
        path: &'a str,
    ) -> Vec<(&'a CommitRecord, &'a FileRecord)> {
        let mut in_effect: Vec<(&CommitRecord, &FileRecord)> = Vec::new();
        for (later, file) in self.later(revision, path) {
            match in_effect.last() {
                Some((last, _)) if later.done && later.undoes == Some(last.revision) => {
                    in_effect.pop();
                }
                _ => in_effect.push((later, file)),
            }
        }
        in_effect
    }

    /// What the commits after `revision` did to a file, oldest first.
    fn later<'a>(
        &'a self,
        revision: u64,
        path: &'a str,
    ) -> impl Iterator<Item = (&'a CommitRecord, &'a FileRecord)> {
        let later = self.oldest_first.iter().filter(move |later| later.revision > revision);
        later.flat_map(move |later| {
            let files = later.files.iter().filter(move |file| file.path == path);
            files.map(move |file| (later, file))
        })
    }

    /// Recorded versions of a file, oldest first: the last few or, if `from` is given, the version with
    /// this id (or these first digits of it) and the last ones after it.
    pub fn versions_of(&self, path: &str, from: Option<&str>) -> Vec<ContentHash> {
        let mut versions: Vec<ContentHash> = Vec::new();
        for (_, file) in self.later(0, path) {
            for hash in file.before_sha256().into_iter().chain(file.after) {
                if versions.last() != Some(&hash) {
                    versions.push(hash);
                }
            }
        }
        let last_ones = versions.len().saturating_sub(MAX_VERSIONS);
        let first = match from {
            Some(id) => versions.iter().rposition(|hash| hash.is_named_by(id)),
            None => Some(last_ones),
        };
        let Some(first) = first.filter(|first| *first < versions.len()) else { return Vec::new() };
        let mut wanted = vec![versions[first]];
        wanted.extend(versions.get(last_ones.max(first + 1)..).unwrap_or_default());
        wanted
    }
}

/// The refusal of a revision that the history does not have.
pub fn no_revision(wanted: u64) -> Refusal {
    Refusal::invalid(
        format!("there is no revision {wanted} in the history of this root"),
        "Leave the revision out to take back the last edit. On the command line, `restitch log` lists the revisions that can be undone; old ones are deleted.",
    )
}

/// The refusal after the history could not be read.
pub(super) fn history_not_read(error: io::Error) -> Refusal {
    Refusal::new(EditCode::ReadError, format!("the history cannot be read: {error}"))
        .hint("Check the state folder (RESTITCH_STATE_DIR).")
}

/// What a later commit did to a file; without versions if they are not known any more.
pub(super) type LaterChange = (u64, Option<Versions>);

/// The edit that takes one file of a commit back. If the file has changed since, only the lines of the
/// commit are reverted; `later` is what the commits since then did to it, oldest first.
pub fn take_back(
    revision: u64,
    path: &WorkPath,
    recorded: Versions,
    current: Option<Vec<u8>>,
    later: Vec<LaterChange>,
) -> Result<VerifiedEdit, Refusal> {
    // A file that is gone was removed by the last commit, or else after it.
    let removed = current.is_none();
    let source = if removed { later.last() } else { later.first() };
    let first_later = match source {
        Some((_, Some(Versions { after: Some(_), .. }))) if removed => VersionSource::External,
        Some((revision, _)) => VersionSource::Revision(*revision),
        None => VersionSource::External,
    };
    let undone = match (recorded, &current) {
        (Versions { before, after }, _) if after == current => Ok(before),
        (Versions { before: Some(before), after: Some(after) }, Some(bytes)) => {
            let versions = versions_since(&after, later, bytes).ok_or(first_later);
            versions.and_then(|versions| revert_change(&before, &after, &versions)).map(Some)
        }
        _ => Err(first_later),
    };
    let undone = undone.map_err(|source| source.conflict(revision, path, removed))?;
    let (current, undone) = (current.map(Snapshot::decode_lossy), undone.map(Into::into));
    Ok(VerifiedEdit::restore(path.clone(), current, undone, Explanation::plain(Rung::Undo)))
}

/// Every version of a file after `from`, oldest first, with what wrote it; `None` if the file was
/// removed in between or one of them is not known.
fn versions_since(
    from: &[u8],
    later: Vec<LaterChange>,
    current: &[u8],
) -> Option<Vec<LaterVersion<VersionSource>>> {
    let mut versions: Vec<LaterVersion<VersionSource>> = Vec::new();
    let mut add = |bytes: Vec<u8>, source| {
        if versions.last().map_or(from, |latest| &latest.bytes) != bytes {
            versions.push(LaterVersion { bytes, source });
        }
    };
    for (revision, change) in later {
        let Versions { before, after } = change?;
        add(before?, VersionSource::External);
        add(after?, VersionSource::Revision(revision));
    }
    add(current.to_vec(), VersionSource::External);
    Some(versions)
}

/// The current time in milliseconds since 1970.
pub fn now_millis() -> u64 {
    millis(SystemTime::now())
}

/// A time in milliseconds since 1970.
pub(super) fn millis(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// The result of an earlier commit, as if it had just been made.
pub fn repeated(
    revision: u64,
    path: WorkPath,
    versions: Versions,
    durability: Durability,
) -> Committed {
    let before = versions.before.map(Snapshot::decode_lossy);
    let after = versions.after.map(Into::into);
    let edit = VerifiedEdit::restore(path, before, after, Explanation::plain(Rung::Repeated));
    let warning = format!(
        "the same change was already committed as revision {revision}; nothing was written again"
    );
    Committed { warnings: vec![warning], ..Committed::new(edit, Some(revision), durability) }
}
