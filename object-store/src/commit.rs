//! Commits one file: writes the record to the history, and then the file, on the condition that it
//! still has the version that the edit was matched on.
//!
//! An edit takes three requests: read the file, write the record, write the file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::history::{self, CommitState, FileChange};
use super::objects::{ObjectVersion, PutOutcome, StorageError};
use super::{Bucket, CurrentFile, REMOVAL_GRACE};
use restitch::edit::{EditCode, Refusal, VerifiedEdit, WorkPath};
use restitch::internals::store::now_millis;
use restitch::internals::store::rebase_edit;
use restitch::internals::text::quote_name;
use restitch::port::ContentHash;
use restitch::port::{CommitOptions, Committed, RequestId};

/// How long the last step of a removal may take; far less than [`REMOVAL_GRACE`].
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The pauses between attempts grow up to this length.
const MAX_PAUSE: Duration = Duration::from_millis(640);

/// The outcome of writing a file.
#[derive(Debug)]
pub(super) enum WriteOutcome {
    Written(ObjectVersion),
    /// Another program has changed the file. Holds the current file if it is known.
    Superseded(Option<CurrentFile>),
}

/// An edit that fits the current version of its file, and that version; `None` for no file.
#[derive(Debug)]
pub(super) struct RebasedEdit {
    pub(super) edit: VerifiedEdit,
    pub(super) version: Option<ObjectVersion>,
}

impl RebasedEdit {
    /// The bytes before the edit; `None` for no file.
    pub(super) fn before(&self) -> Option<&[u8]> {
        self.edit.before().map(|snapshot| snapshot.bytes())
    }

    /// The bytes after the edit; `None` if the file is removed.
    pub(super) fn after(&self) -> Option<&[u8]> {
        self.edit.after().map(|content| &**content)
    }

    /// The revision that wrote the current version.
    pub(super) fn base(&self) -> Option<u64> {
        self.version.as_ref().and_then(|version| version.revision)
    }

    /// The change, for the record of the commit.
    pub(super) fn change(&self) -> FileChange<'_> {
        let (base, before, after) = (self.base(), self.before(), self.after());
        FileChange { path: self.edit.path(), base, before, after }
    }
}

/// The request that a commit is made for, the client that made it, and the revision that it undoes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CommitContext<'a> {
    pub(super) request: Option<&'a RequestId>,
    pub(super) client: Option<&'a str>,
    pub(super) undoes: Option<u64>,
}

impl Bucket {
    /// Commits all edits or none. Returns the results in the order of the edits.
    pub(super) async fn commit(
        self: Arc<Self>,
        batch: Vec<VerifiedEdit>,
        options: &CommitOptions,
    ) -> Result<Vec<Committed>, Refusal> {
        for edit in &batch {
            self.admit(edit.path())?;
            if edit.base().is_none() {
                check_new_name(edit.path())?;
            }
        }
        let request = options.request_id.as_ref();
        if let Some(request) = request
            && let Some(committed) = self.repeated_request(request, &batch).await?
        {
            return Ok(committed);
        }
        self.commit_edits(
            batch,
            CommitContext { request, client: options.client.as_deref(), undoes: None },
        )
        .await
    }

    /// Commits edits that were checked, and announces them.
    pub(super) async fn commit_edits(
        &self,
        mut batch: Vec<VerifiedEdit>,
        context: CommitContext<'_>,
    ) -> Result<Vec<Committed>, Refusal> {
        self.recover_if_due().await;
        let (revision, edits, warnings) = match batch.len() {
            0 => return Ok(Vec::new()),
            1 => {
                let (revision, edit, warnings) = self.commit_one(batch.remove(0), context).await?;
                (revision, vec![edit], warnings)
            }
            _ => self.commit_batch(batch, context).await?,
        };
        let durability = self.durability();
        let mut committed: Vec<Committed> = edits
            .into_iter()
            .map(|edit| {
                self.changes.announce_edit(Some(revision), &edit);
                Committed::new(edit, Some(revision), durability)
            })
            .collect();
        if let Some(first) = committed.first_mut() {
            first.warnings.extend(warnings);
        }
        Ok(committed)
    }

    /// Commits the edit of one file. Matches it again and retries while other programs change the
    /// file.
    async fn commit_one(
        &self,
        edit: VerifiedEdit,
        context: CommitContext<'_>,
    ) -> Result<(u64, VerifiedEdit, Vec<String>), Refusal> {
        let path = edit.path().clone();
        let deadline = Instant::now() + self.options.retry_timeout;
        let mut backoff = Backoff::until(deadline);
        let mut prepared = self.on_seen_version(edit);
        let mut current = None;
        // The record of an attempt that failed.
        let mut stale_record: Option<String> = None;
        loop {
            let rebased = match prepared {
                Ok(rebased) => Ok(rebased),
                Err(edit) => self.rebase(edit, current.take(), &mut backoff).await,
            };
            let rebased = match rebased {
                Ok(rebased) => rebased,
                Err(refusal) => {
                    self.remove_leftover(stale_record).await;
                    return Err(refusal);
                }
            };
            let revision = self.next_revision(rebased.base());
            let key = history::record_key(revision, [path.as_str()]);
            let record = history::encode(
                revision,
                now_millis(),
                CommitState::Single,
                context,
                &[rebased.change()],
            );
            let recorded = self.record_commit(&path, &key, record, context);
            // Both at the same time, to save a round trip.
            let (recorded, ()) =
                futures_util::join!(recorded, self.remove_leftover(stale_record.take()));
            recorded?;
            match self.write_file(&rebased, revision, deadline).await {
                Ok(WriteOutcome::Written(version)) => {
                    let warnings = self.after_write(&rebased, version).await;
                    return Ok((revision, rebased.edit, warnings));
                }
                Ok(WriteOutcome::Superseded(newer)) => {
                    stale_record = Some(key);
                    current = newer;
                    self.seen().remove(path.as_str());
                    prepared = Err(rebased.edit);
                    if !backoff.wait().await {
                        self.remove_leftover(stale_record).await;
                        return Err(too_contended(&path));
                    }
                }
                Err(error) => {
                    // Keep the record while it is not known whether the file was written.
                    if !error.may_have_applied {
                        self.remove_leftover(Some(key)).await;
                    }
                    self.seen().remove(path.as_str());
                    return Err(not_written(&path, &error));
                }
            }
        }
    }

    /// Writes the record of a commit. Before that, stores the key of the record under the request
    /// id, if there is one.
    pub(super) async fn record_commit(
        &self,
        path: &WorkPath,
        key: &str,
        record: Vec<u8>,
        context: CommitContext<'_>,
    ) -> Result<ObjectVersion, Refusal> {
        let failed = |error: StorageError| {
            Refusal::new(
                EditCode::WriteError,
                format!("cannot record the edit of `{path}` in the history, so nothing was written: {error}"),
            )
            .at(path.as_str())
            .hint(error.hint)
        };
        if let Some(request) = context.request {
            self.record_request(request, key).await.map_err(failed)?;
        }
        let mut tries = 0;
        loop {
            match self.objects.put_if(key, record.clone(), None, None).await {
                Ok(PutOutcome::Done(version)) => return Ok(version),
                // Either an earlier try of this loop wrote it and the response was lost, or another
                // process chose the same revision. Equal bytes mean the former.
                Ok(PutOutcome::Mismatch) => {
                    let existing = self.objects.get(key, u64::MAX).await.map_err(failed)?;
                    return match existing {
                        Some(existing) if existing.bytes == record => Ok(existing.version),
                        _ => Err(too_contended(path)),
                    };
                }
                Err(error) if error.may_have_applied && tries < 3 => tries += 1,
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Removes a record or a mark that is no longer needed, if there is one. If the removal of a
    /// record fails, the log shows its attempt as interrupted.
    pub(super) async fn remove_leftover(&self, key: Option<String>) {
        let Some(key) = key else { return };
        if let Err(error) = self.objects.remove(&key).await {
            tracing::debug!(%error, key, "cannot remove a record or mark that is no longer needed");
        }
    }

    /// Pairs the edit with the version of its file that was last seen, without reading the file
    /// again. If the edit was made for another version, the error is the edit itself.
    pub(super) fn on_seen_version(&self, edit: VerifiedEdit) -> Result<RebasedEdit, VerifiedEdit> {
        let seen = self.seen().get(edit.path().as_str()).cloned();
        match (edit.base(), seen) {
            (Some(base), Some((hash, version))) if base == hash => {
                Ok(RebasedEdit { edit, version: Some(version) })
            }
            // The server creates a new file only if there is none.
            (None, None) => Ok(RebasedEdit { edit, version: None }),
            _ => Err(edit),
        }
    }

    /// Matches the edit again on the current file: that is `known`, or else it is read from the
    /// bucket. Waits while the file is being removed.
    pub(super) async fn rebase(
        &self,
        edit: VerifiedEdit,
        mut known: Option<CurrentFile>,
        backoff: &mut Backoff,
    ) -> Result<RebasedEdit, Refusal> {
        let path = edit.path().clone();
        loop {
            let current = match known.take() {
                Some(current) => current,
                None => self.current_file(&path).await?,
            };
            if !current.is_being_removed() {
                let edit = rebase_edit(edit, current.bytes.as_deref())?;
                return Ok(RebasedEdit { edit, version: current.version });
            }
            if !backoff.wait().await {
                return Err(too_contended(&path));
            }
        }
    }

    /// Writes the file if it still has the version that the edit was matched on.
    ///
    /// If the response is lost, reads the file: it carries the revision that wrote it.
    pub(super) async fn write_file(
        &self,
        rebased: &RebasedEdit,
        revision: u64,
        deadline: Instant,
    ) -> Result<WriteOutcome, StorageError> {
        let path = rebased.edit.path().as_str();
        loop {
            let put = match (rebased.after(), &rebased.version) {
                (Some(bytes), version) => {
                    let bytes = bytes.to_vec();
                    self.objects.put_if(path, bytes, version.as_ref(), Some(revision)).await
                }
                (None, Some(version)) => self.objects.mark_removed(path, version, revision).await,
                (None, None) => return Ok(WriteOutcome::Superseded(None)),
            };
            // An error after which the file may be written all the same.
            let unclear = match put {
                Ok(PutOutcome::Done(version)) => return Ok(WriteOutcome::Written(version)),
                Ok(PutOutcome::Mismatch) => None,
                Err(error) if !error.may_have_applied => return Err(error),
                Err(error) => Some(error),
            };
            let current = self.objects.get(path, self.options.max_bytes).await;
            let is_too_late = Instant::now() >= deadline;
            let mark_unclear =
                |error: StorageError| StorageError { may_have_applied: true, ..error };
            match (current, unclear) {
                (Ok(Some(current)), _) if current.version.revision == Some(revision) => {
                    return Ok(WriteOutcome::Written(current.version));
                }
                (Ok(current), None) => return Ok(WriteOutcome::Superseded(Some(current.into()))),
                (Ok(current), Some(error)) => {
                    let is_unchanged = match (&current, &rebased.version) {
                        (Some(current), Some(version)) => current.version.is_same(version),
                        (None, None) => true,
                        _ => false,
                    };
                    if !is_unchanged {
                        return Ok(WriteOutcome::Superseded(Some(current.into())));
                    }
                    if is_too_late {
                        return Err(mark_unclear(error));
                    }
                }
                // Another program has made the file too large to read.
                (Err(error), _) if error.too_large.is_some() => {
                    return Ok(WriteOutcome::Superseded(None));
                }
                (Err(error), _) if is_too_late => return Err(mark_unclear(error)),
                (Err(_), _) => {}
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Remembers the version of a written file, or deletes the empty object of a removed one.
    /// Returns the warnings.
    pub(super) async fn after_write(
        &self,
        rebased: &RebasedEdit,
        version: ObjectVersion,
    ) -> Vec<String> {
        let path = rebased.edit.path();
        let Some(after) = rebased.after() else {
            self.seen().remove(path.as_str());
            return self.finish_removal(path, &version).await.into_iter().collect();
        };
        self.note_version(path, ContentHash::of(after), version);
        Vec::new()
    }

    /// Deletes the empty object that stands for a removed file; returns a warning if it remains or
    /// another program has written the file since.
    async fn finish_removal(&self, path: &WorkPath, marked: &ObjectVersion) -> Option<String> {
        let removal = self.objects.remove_marked(path.as_str(), marked);
        let error = match tokio::time::timeout(REMOVAL_TIMEOUT, removal).await {
            Ok(Ok(true)) => return None,
            Ok(Ok(false)) => {
                return Some(format!(
                    "`{path}` was removed, and another program has written it again since; that version stays"
                ));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the storage did not answer in time".to_owned(),
        };
        Some(format!(
            "`{path}` is removed, but an empty object of that name stays in the bucket: {error}"
        ))
    }
}

impl CurrentFile {
    /// Whether another process is about to delete the object, and a write now would be lost.
    fn is_being_removed(&self) -> bool {
        let grace = u64::try_from(REMOVAL_GRACE.as_millis()).unwrap_or(u64::MAX);
        self.bytes.is_none()
            && self.version.as_ref().is_some_and(|version| {
                version.removed && version.modified.saturating_add(grace) > now_millis()
            })
    }
}

/// Pauses between attempts, random and longer each time, until a deadline.
#[derive(Debug)]
pub(super) struct Backoff {
    deadline: Instant,
    /// The next pause is at most this long.
    longest_pause: Duration,
}

impl Backoff {
    /// A backoff that ends at the deadline.
    pub(super) fn until(deadline: Instant) -> Self {
        Self { deadline, longest_pause: Duration::from_millis(10) }
    }

    /// Waits and returns `true`; returns `false` at once if the pause would pass the deadline.
    pub(super) async fn wait(&mut self) -> bool {
        let mut random = [0_u8; 1];
        let _ = getrandom::fill(&mut random);
        let pause = self.longest_pause.mul_f64(f64::from(random[0]) / 255.0);
        if Instant::now() + pause >= self.deadline {
            return false;
        }
        tokio::time::sleep(pause).await;
        self.longest_pause = (self.longest_pause * 2).min(MAX_PAUSE);
        true
    }
}

/// Refuses the name of a new file that some system cannot store.
fn check_new_name(path: &WorkPath) -> Result<(), Refusal> {
    let Some(why) = restitch::internals::store::unportable_reason(path.as_str()) else {
        return Ok(());
    };
    Err(Refusal::new(EditCode::InvalidPath, format!("the new name `{path}` {why}"))
        .at(path.as_str())
        .hint("Choose a name that is valid on every operating system."))
}

/// The refusal after too many attempts, each of which met a newer version.
pub(super) fn too_contended(path: &WorkPath) -> Refusal {
    Refusal::new(EditCode::Conflict, format!("other writers kept changing `{path}`"))
        .at(path.as_str())
        .hint("Nothing was written. Send the same call again.")
}

/// The refusal after an error of the storage.
pub(super) fn not_written(path: &WorkPath, error: &StorageError) -> Refusal {
    let name = quote_name(path.as_str());
    let (state, hint) = match error.may_have_applied {
        true => (
            "it is not known whether it was written",
            "Read the file before you send the call again.",
        ),
        false => ("the file is as it was", error.hint),
    };
    Refusal::new(EditCode::WriteError, format!("cannot write `{name}`: {error}; {state}"))
        .at(path.as_str())
        .hint(hint)
}
