//! The log, undo, and older versions of a file: what the record in the bucket is for.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::commit::How;
use super::history::{self, Bytes, Entry, FileEntry, HEAD, State};
use super::objects::{PAGE, Trouble};
use super::{Bucket, Now, OWN};
use crate::edit::{
    After, Durability, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath,
};
use crate::port::{Revision, RevisionFile, UndoHow, Undone};
use crate::store::undo::{self, Later, MOST_PAST, Maker, take_out};
use crate::store::versioned::committed;
use crate::text::{ContentHash, Snapshot};

/// So many commits are looked at for the log and for "the last edit".
const MOST_LOGGED: usize = 200;

/// Pages of the record that are looked through for a named revision.
const MOST_PAGES: usize = 50;

/// Requests at the same time.
const AT_ONCE: usize = 16;

/// A commit on the record, and whether it went through.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    pub(super) entry: Entry,
    pub(super) happened: bool,
    key: String,
}

impl Bucket {
    /// Keys of the record, newest first: the newest page, or all since a revision.
    async fn keys(&self, since: Option<u64>) -> Result<Vec<String>, Trouble> {
        let folder = format!("{OWN}/history");
        let mut keys: Vec<String> = Vec::new();
        for _ in 0..MOST_PAGES {
            let page = self.objects.page(&folder, keys.last().map(String::as_str)).await?;
            let is_last = page.len() < PAGE;
            let is_since = |key: &str| {
                let revision = history::revision_of(key);
                revision.is_some_and(|of| since.is_none_or(|since| of >= since))
            };
            let all = page.len();
            let wanted = page.into_iter().map(|listed| listed.key).filter(|key| is_since(key));
            let before = keys.len();
            keys.extend(wanted);
            if is_last || since.is_none() || keys.len() - before < all {
                break;
            }
        }
        Ok(keys)
    }

    /// The heads of these entries, in order. Some are gone by now, or no record.
    async fn heads(&self, keys: Vec<String>) -> Result<Vec<(String, Entry)>, Trouble> {
        let heads = stream::iter(keys).map(|key| async move {
            let Some(start) = self.objects.start(&key, HEAD).await? else { return Ok(None) };
            let length = history::head_length(&start.bytes).unwrap_or(0);
            let bytes = match length > start.bytes.len() {
                false => start.bytes,
                true => match self.objects.start(&key, length as u64).await? {
                    Some(more) => more.bytes,
                    None => return Ok(None),
                },
            };
            Ok(history::head(&bytes).map(|entry| (key, entry)))
        });
        let heads: Vec<Option<_>> = heads.buffered(AT_ONCE).try_collect().await?;
        Ok(heads.into_iter().flatten().collect())
    }

    /// Which of these commits, newest first, went through.
    async fn judged(&self, heads: Vec<(String, Entry)>) -> Result<Vec<Standing>, Trouble> {
        let mut files: HashMap<String, Vec<(u64, FileEntry)>> = HashMap::new();
        for (_, entry) in &heads {
            for file in &entry.files {
                files.entry(file.path.clone()).or_default().push((entry.revision, file.clone()));
            }
        }
        let single = heads.iter().filter(|(_, entry)| entry.state == State::Single);
        let paths: HashSet<String> = single
            .flat_map(|(_, entry)| entry.files.iter().map(|file| file.path.clone()))
            .collect();
        let nows = stream::iter(paths).map(|path| async move {
            let object = self.objects.get(&path, self.options.max_bytes).await;
            let now = match object {
                Ok(found) => found.into(),
                // What is too large now was changed by others.
                Err(trouble) if trouble.too_large.is_some() => Now::default(),
                Err(trouble) => return Err(trouble),
            };
            Ok((path, now))
        });
        let nows: HashMap<String, Now> = nows.buffered(AT_ONCE).try_collect().await?;
        let lines: HashMap<&String, Line> = nows
            .iter()
            .map(|(path, now)| (path, Line::of(now, files.get(path).map_or(&[], Vec::as_slice))))
            .collect();
        let happened = |entry: &Entry| match entry.state {
            State::Done => true,
            State::Open | State::TakenBack => false,
            State::Single => entry.files.iter().all(|file| {
                lines.get(&file.path).is_none_or(|line| line.has(entry.revision, file))
            }),
        };
        let judged =
            |(key, entry): (String, Entry)| Standing { happened: happened(&entry), entry, key };
        Ok(heads.into_iter().map(judged).collect())
    }

    /// A commit, and those of the same files since, newest first.
    pub(super) async fn since(&self, entry: &Entry) -> Result<Vec<Standing>, Trouble> {
        let mut keys = self.keys(Some(entry.revision)).await?;
        keys.retain(|key| entry.files.iter().any(|file| history::may_be_of(key, &file.path)));
        let mut heads = self.heads(keys).await?;
        heads.retain(|(_, other)| {
            other.files.iter().any(|file| entry.files.iter().any(|own| own.path == file.path))
        });
        self.judged(heads).await
    }

    async fn newest(&self) -> Result<Vec<Standing>, Trouble> {
        let mut keys = self.keys(None).await?;
        keys.truncate(MOST_LOGGED);
        let heads = self.heads(keys).await?;
        self.judged(heads).await
    }

    pub(super) async fn log(&self) -> Result<Vec<Revision>, Refusal> {
        self.recover_if_due().await;
        let newest = self.newest().await.map_err(|trouble| unreadable(&trouble))?;
        let undone = undone(&newest);
        let revision = |Standing { entry, happened, .. }: Standing| Revision {
            revision: entry.revision,
            unix_millis: entry.unix_millis,
            undoes: entry.undoes,
            undone_by: undone.get(&entry.revision).copied(),
            interrupted: !happened,
            files: entry
                .files
                .into_iter()
                .map(|file| RevisionFile {
                    path: file.path,
                    before_sha256: file.before,
                    after_sha256: file.after,
                })
                .collect(),
        };
        Ok(newest.into_iter().map(revision).collect())
    }

    pub(super) async fn undo(
        &self,
        revision: Option<u64>,
        how: UndoHow,
    ) -> Result<Undone, Refusal> {
        self.recover_if_due().await;
        let mut attempts = 0;
        loop {
            let (entry, since) = self.meant(revision).await?;
            let found = self.objects.get(&entry.key, u64::MAX).await;
            let found = found.map_err(|trouble| unreadable(&trouble))?;
            let Some((_, files)) = found.and_then(|object| history::read(&object.bytes)) else {
                return Err(unreadable(&Trouble {
                    text: format!(
                        "the entry of revision {} is damaged or gone",
                        entry.entry.revision
                    ),
                    unclear: false,
                    hint: "Edit the file instead.",
                    too_large: None,
                }));
            };
            let entry = entry.entry;
            let mut batch = Vec::new();
            for (file, bytes) in entry.files.iter().zip(files) {
                batch.push(self.undone_file(&entry, file, bytes, &since).await?);
            }
            if how == UndoHow::Rehearse {
                let committed =
                    batch.into_iter().map(|edit| committed(edit, 0, Durability::DryRun)).collect();
                return Ok(Undone { revision: entry.revision, committed });
            }
            attempts += 1;
            let undoes = Some(entry.revision);
            match self.carry_out(batch, How { request: None, undoes }).await {
                // The file changed between our look and the write: look again.
                Err(refusal) if refusal.code == EditCode::Conflict && attempts < 4 => {}
                Err(refusal) => return Err(refusal),
                Ok(committed) => return Ok(Undone { revision: entry.revision, committed }),
            }
        }
    }

    /// The commit that an undo means, and those of its files since, newest first.
    async fn meant(&self, wanted: Option<u64>) -> Result<(Standing, Vec<Standing>), Refusal> {
        let failed = |trouble: Trouble| unreadable(&trouble);
        let Some(wanted) = wanted else {
            let newest = self.newest().await.map_err(failed)?;
            let undone = undone(&newest);
            let in_effect = |one: &&Standing| {
                one.happened
                    && one.entry.undoes.is_none()
                    && !undone.contains_key(&one.entry.revision)
            };
            let Some(found) = newest.iter().find(in_effect).cloned() else {
                return Err(Refusal::new(
                    EditCode::NoChange,
                    format!("there is nothing to undo among the last {MOST_LOGGED} commits"),
                )
                .hint("restitch log lists what was done; name a revision to undo an undo."));
            };
            let since = self.since(&found.entry).await.map_err(failed)?;
            return Ok((found, since));
        };
        let keys = self.keys(Some(wanted)).await.map_err(failed)?;
        let key = keys.into_iter().find(|key| history::revision_of(key) == Some(wanted));
        let found = match key {
            Some(key) => self.heads(vec![key]).await.map_err(failed)?.pop(),
            None => None,
        };
        let missing = || {
            Refusal::new(
                EditCode::InvalidArguments,
                format!("there is no revision {wanted} in the history of this root"),
            )
            .hint("restitch log lists the revisions that can be undone; old ones may have been removed from the bucket.")
        };
        let (_, entry) = found.ok_or_else(missing)?;
        let since = self.since(&entry).await.map_err(failed)?;
        if let Some(by) = undone(&since).get(&wanted) {
            return Err(Refusal::new(
                EditCode::NoChange,
                format!("revision {wanted} was already undone by revision {by}"),
            )
            .hint(format!("To bring it back, undo revision {by}.")));
        }
        let own = since.iter().find(|one| one.entry.revision == wanted).cloned();
        Ok((own.ok_or_else(missing)?, since))
    }

    async fn undone_file(
        &self,
        entry: &Entry,
        file: &FileEntry,
        kept: Bytes,
        since: &[Standing],
    ) -> Result<VerifiedEdit, Refusal> {
        let path = WorkPath::parse(&file.path, &self.root)?;
        self.admit(&path)?;
        let now = self.now(&path).await?;
        if let (Some(bytes), Some(version)) = (&now.bytes, &now.version) {
            self.note(&path, ContentHash::of(bytes), version.clone());
        }
        let later: Vec<&Standing> = since
            .iter()
            .rev()
            .filter(|one| one.happened && one.entry.revision > entry.revision)
            .filter(|one| one.entry.files.iter().any(|other| other.path == file.path))
            .collect();
        let first_later =
            later.first().map_or(Maker::Other, |one| Maker::Revision(one.entry.revision));
        let restored = |before: Option<Vec<u8>>, after: Option<Vec<u8>>| {
            let after = match after {
                Some(bytes) => After::Content(bytes.into()),
                None => After::Removed,
            };
            let before = before.map(Snapshot::decode_lossy);
            VerifiedEdit::restore(path.clone(), before, after, Explanation::plain(Rung::Undo))
        };
        if now.bytes == kept.after {
            return Ok(restored(now.bytes, kept.before));
        }
        let (Some(before), Some(after), Some(bytes)) = (kept.before, kept.after, now.bytes) else {
            return Err(first_later.in_the_way(entry.revision, &path));
        };
        let versions = self.versions_since(&file.path, &after, &later, &bytes).await;
        let versions = versions.ok_or_else(|| first_later.in_the_way(entry.revision, &path))?;
        let taken = take_out(&before, &after, &versions)
            .map_err(|maker| maker.in_the_way(entry.revision, &path))?;
        Ok(restored(Some(bytes), Some(taken)))
    }

    /// Every version after `from`, oldest first; `None` where one is not on record.
    async fn versions_since(
        &self,
        path: &str,
        from: &[u8],
        later: &[&Standing],
        now: &[u8],
    ) -> Option<Vec<Later<Maker>>> {
        let mut at = from.to_vec();
        let mut versions = Vec::new();
        for one in later {
            let Bytes { before, after } = self.bytes_of(&one.key, path).await?;
            let (before, after) = (before?, after?);
            if before != at {
                versions.push(Later { bytes: before, made_by: Maker::Other });
            }
            at.clone_from(&after);
            versions.push(Later { bytes: after, made_by: Maker::Revision(one.entry.revision) });
        }
        if at != now {
            versions.push(Later { bytes: now.to_vec(), made_by: Maker::Other });
        }
        Some(versions)
    }

    /// What an entry keeps of one file.
    async fn bytes_of(&self, key: &str, path: &str) -> Option<Bytes> {
        let found = self.objects.get(key, u64::MAX).await.ok()??;
        let (entry, files) = history::read(&found.bytes)?;
        let mut pairs = entry.files.into_iter().zip(files);
        pairs.find(|(file, _)| file.path == path).map(|(_, bytes)| bytes)
    }

    /// Versions of a file on the record, oldest first: from the one named on, or the last few.
    pub(super) async fn past(&self, path: &WorkPath, from: Option<&str>) -> Vec<Vec<u8>> {
        let from = from.map(|id| id.trim().to_ascii_lowercase());
        if from.as_ref().is_some_and(|id| id.len() < 8) {
            return Vec::new();
        }
        let mut keys = self.keys(None).await.unwrap_or_default();
        keys.retain(|key| history::may_be_of(key, path.as_str()));
        keys.truncate(MOST_PAST);
        let found = stream::iter(keys)
            .map(|key| async move { self.bytes_of(&key, path.as_str()).await })
            .buffered(AT_ONCE);
        let mut found: Vec<Bytes> = found.filter_map(std::future::ready).collect().await;
        found.reverse();
        let mut versions: Vec<Vec<u8>> = Vec::new();
        for bytes in found {
            for version in [bytes.before, bytes.after].into_iter().flatten() {
                if versions.last() != Some(&version) {
                    versions.push(version);
                }
            }
        }
        let Some(id) = from else { return versions };
        let named = |bytes: &Vec<u8>| ContentHash::of(bytes).to_string().starts_with(&id);
        match versions.iter().rposition(named) {
            Some(at) => versions.split_off(at),
            None => Vec::new(),
        }
    }
}

/// How a file came to be what it is: the revisions that led to it, as far back as the record
/// tells.
struct Line {
    revisions: HashSet<u64>,
    /// The oldest of them.
    reaches: Option<u64>,
    hash: Option<ContentHash>,
}

impl Line {
    /// `files` are the commits of the file, newest first.
    fn of(now: &Now, files: &[(u64, FileEntry)]) -> Self {
        let mut revisions = HashSet::new();
        let mut reaches = None;
        let mut at = now.version.as_ref().and_then(|version| version.revision);
        while let Some(revision) = at {
            revisions.insert(revision);
            reaches = Some(revision);
            let entry = files.iter().find(|(of, _)| *of == revision);
            at = entry.and_then(|(_, file)| file.base);
        }
        // The version that a later commit was based on did exist.
        revisions.extend(files.iter().filter_map(|(_, file)| file.base));
        Self { revisions, reaches, hash: now.bytes.as_deref().map(ContentHash::of) }
    }

    /// Whether a commit was written to the file. Counts as written if the history does not tell.
    fn has(&self, revision: u64, file: &FileEntry) -> bool {
        if self.revisions.contains(&revision) {
            return true;
        }
        if self.reaches.is_some_and(|oldest| oldest < revision) {
            return false;
        }
        self.hash == file.after || self.hash != file.before
    }
}

/// Which revisions are undone, and by which.
fn undone(newest_first: &[Standing]) -> HashMap<u64, u64> {
    let done = newest_first.iter().filter(|one| one.happened).map(|one| &one.entry);
    undo::undone(done.map(|entry| (entry.revision, entry.undoes)))
}

fn unreadable(trouble: &Trouble) -> Refusal {
    Refusal::new(EditCode::ReadError, format!("the history cannot be read: {trouble}"))
        .hint(trouble.hint)
}
