//! A commit of one file: writes the history entry, then the file, if it is still the version that
//! the edit was matched on.
//!
//! Three requests for an edit: the file is read, the record is written, the file is written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::history::{self, CommitState, FileChange};
use super::objects::{ObjectVersion, PutOutcome, StorageError};
use super::{Bucket, CurrentFile, REMOVAL_GRACE};
use crate::edit::{After, EditCode, Refusal, VerifiedEdit, WorkPath};
use crate::port::{Committed, RequestId};
use crate::store::versioned::{into_committed, millis, rebase_edit};
use crate::text::{ContentHash, quote_name};

/// How long the last step of a removal may take; far less than [`REMOVAL_GRACE`].
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The pauses between attempts grow up to this.
const MAX_PAUSE: Duration = Duration::from_millis(640);

/// The outcome of writing a file.
#[derive(Debug)]
pub(super) enum WriteOutcome {
    Written(ObjectVersion),
    /// Another program wrote to it. Holds its state now, where that is known.
    Superseded(Option<CurrentFile>),
}

/// An edit as it applies to the current version of its file, and that version.
#[derive(Debug)]
pub(super) struct RebasedEdit {
    pub(super) edit: VerifiedEdit,
    pub(super) at: Option<ObjectVersion>,
}

impl RebasedEdit {
    pub(super) fn before(&self) -> Option<&[u8]> {
        self.edit.before().map(|snapshot| snapshot.bytes())
    }

    pub(super) fn after(&self) -> Option<&[u8]> {
        match self.edit.after() {
            After::Content(content) => Some(content),
            After::Removed => None,
        }
    }

    pub(super) fn base(&self) -> Option<u64> {
        self.at.as_ref().and_then(|version| version.revision)
    }

    pub(super) fn change(&self) -> FileChange<'_> {
        let (base, before, after) = (self.base(), self.before(), self.after());
        FileChange { path: self.edit.path(), base, before, after }
    }
}

/// How a commit is to be carried out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CommitContext<'a> {
    pub(super) request: Option<&'a RequestId>,
    pub(super) undoes: Option<u64>,
}

impl Bucket {
    /// Commits all edits or none; answers in their order.
    pub(super) async fn commit(
        self: Arc<Self>,
        batch: Vec<VerifiedEdit>,
        request: Option<&RequestId>,
    ) -> Result<Vec<Committed>, Refusal> {
        for edit in &batch {
            self.admit(edit.path())?;
            if edit.base().is_none() {
                check_new_name(edit.path())?;
            }
        }
        if let Some(request) = request
            && let Some(done) = self.repeated_request(request, &batch).await?
        {
            return Ok(done);
        }
        self.commit_edits(batch, CommitContext { request, undoes: None }).await
    }

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
        self.announce(revision, &edits);
        let durability = self.durability();
        let done = edits.into_iter().map(|edit| into_committed(edit, revision, durability));
        let mut done: Vec<Committed> = done.collect();
        if let Some(first) = done.first_mut() {
            first.warnings.extend(warnings);
        }
        Ok(done)
    }

    async fn commit_one(
        &self,
        edit: VerifiedEdit,
        context: CommitContext<'_>,
    ) -> Result<(u64, VerifiedEdit, Vec<String>), Refusal> {
        let path = edit.path().clone();
        let deadline = Instant::now() + self.options.retry_timeout;
        let mut backoff = Backoff::until(deadline);
        let mut ready = self.on_seen_version(edit);
        let mut found = None;
        // The record of an attempt that failed.
        let mut stale_record: Option<String> = None;
        loop {
            let prepared = match ready {
                Ok(ready) => Ok(ready),
                Err(edit) => self.rebase(edit, found.take(), &mut backoff).await,
            };
            let rebased = match prepared {
                Ok(rebased) => rebased,
                Err(refusal) => {
                    self.remove_record(stale_record).await;
                    return Err(refusal);
                }
            };
            let revision = self.next_revision(rebased.base());
            let key = history::record_key(revision, [path.as_str()]);
            let record = history::encode(
                revision,
                millis(),
                CommitState::Single,
                context.undoes,
                &[rebased.change()],
            );
            let recorded = self.record_commit(&path, &key, record, context);
            let (recorded, ()) =
                futures_util::join!(recorded, self.remove_record(stale_record.take()));
            recorded?;
            match self.write_file(&rebased, revision, deadline).await {
                Ok(WriteOutcome::Written(version)) => {
                    let warnings = self.after_write(&rebased, version).await;
                    return Ok((revision, rebased.edit, warnings));
                }
                Ok(WriteOutcome::Superseded(found_now)) => {
                    stale_record = Some(key);
                    found = found_now;
                    self.seen().remove(path.as_str());
                    ready = Err(rebased.edit);
                    if !backoff.wait().await {
                        self.remove_record(stale_record).await;
                        return Err(too_contended(&path));
                    }
                }
                Err(error) => {
                    // Keep the record while it is not known whether the file was written.
                    if !error.may_have_applied {
                        self.remove_record(Some(key)).await;
                    }
                    self.seen().remove(path.as_str());
                    return Err(not_written(&path, &error));
                }
            }
        }
    }

    /// Writes the history entry of a commit, and its request id.
    pub(super) async fn record_commit(
        &self,
        path: &WorkPath,
        key: &str,
        record: Vec<u8>,
        context: CommitContext<'_>,
    ) -> Result<Option<ObjectVersion>, Refusal> {
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
                Ok(PutOutcome::Done(version)) => return Ok(Some(version)),
                // Ours, of a request whose answer got lost, or of another process with the same
                // number: only the same bytes are the same commit.
                Ok(PutOutcome::Mismatch) => {
                    let found = self.objects.get(key, u64::MAX).await.map_err(failed)?;
                    return match found {
                        Some(found) if found.bytes == record => Ok(Some(found.version)),
                        _ => Err(too_contended(path)),
                    };
                }
                Err(error) if error.may_have_applied && tries < 3 => tries += 1,
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Removes the history entry of a failed attempt. If that fails, the log shows it as
    /// interrupted.
    pub(super) async fn remove_record(&self, key: Option<String>) {
        let Some(key) = key else { return };
        if let Err(error) = self.objects.remove(&key).await {
            tracing::debug!(%error, key, "the record of an attempt stays");
        }
    }

    /// The edit on the version that was last seen, without a read; `Err` with the edit itself
    /// where that version is not known.
    pub(super) fn on_seen_version(&self, edit: VerifiedEdit) -> Result<RebasedEdit, VerifiedEdit> {
        let known = self.seen().get(edit.path().as_str()).cloned();
        match (edit.base(), known) {
            (Some(base), Some((hash, version))) if base == hash => {
                Ok(RebasedEdit { edit, at: Some(version) })
            }
            // A new file is written where there is none, or not at all.
            (None, None) => Ok(RebasedEdit { edit, at: None }),
            _ => Err(edit),
        }
    }

    /// The edit, decided again on the current file; `found` is what was there a moment ago.
    pub(super) async fn rebase(
        &self,
        edit: VerifiedEdit,
        mut found: Option<CurrentFile>,
        backoff: &mut Backoff,
    ) -> Result<RebasedEdit, Refusal> {
        let path = edit.path().clone();
        loop {
            let now = match found.take() {
                Some(now) => now,
                None => self.current_file(&path).await?,
            };
            if now.is_being_removed() {
                match backoff.wait().await {
                    true => continue,
                    false => return Err(too_contended(&path)),
                }
            }
            let CurrentFile { bytes, version } = now;
            let edit = rebase_edit(edit, bytes.as_deref())?;
            return Ok(RebasedEdit { edit, at: version });
        }
    }

    /// Writes the file, if it is still the version that was decided on.
    ///
    /// Where the answer got lost, the file is asked: it carries the revision that wrote it.
    pub(super) async fn write_file(
        &self,
        ready: &RebasedEdit,
        revision: u64,
        deadline: Instant,
    ) -> Result<WriteOutcome, StorageError> {
        let path = ready.edit.path().as_str();
        loop {
            let put = match (ready.after(), &ready.at) {
                (Some(bytes), at) => {
                    let bytes = bytes.to_vec();
                    self.objects.put_if(path, bytes, at.as_ref(), Some(revision)).await
                }
                (None, Some(at)) => self.objects.remove_if(path, at, revision).await,
                (None, None) => return Ok(WriteOutcome::Superseded(None)),
            };
            let failure = match put {
                Ok(PutOutcome::Done(version)) => return Ok(WriteOutcome::Written(version)),
                Ok(PutOutcome::Mismatch) if !self.objects.supports_metadata() => {
                    return Ok(WriteOutcome::Superseded(None));
                }
                Ok(PutOutcome::Mismatch) => None,
                Err(error) if !error.may_have_applied || !self.objects.supports_metadata() => {
                    return Err(StorageError { may_have_applied: false, ..error });
                }
                Err(error) => Some(error),
            };
            let found = self.objects.get(path, self.options.max_bytes).await;
            let is_over = Instant::now() >= deadline;
            let mark_unclear =
                |error: StorageError| StorageError { may_have_applied: true, ..error };
            match (found, failure) {
                (Ok(Some(now)), _) if now.version.revision == Some(revision) => {
                    return Ok(WriteOutcome::Written(now.version));
                }
                (Ok(now), None) => return Ok(WriteOutcome::Superseded(Some(now.into()))),
                (Ok(now), Some(error)) => {
                    let is_as_before = match (&now, &ready.at) {
                        (Some(now), Some(at)) => now.version.is_same(at),
                        (None, None) => true,
                        _ => false,
                    };
                    match (is_as_before, is_over) {
                        (true, false) => {}
                        (true, true) => return Err(mark_unclear(error)),
                        (false, _) => return Ok(WriteOutcome::Superseded(Some(now.into()))),
                    }
                }
                (Err(error), _) if error.too_large.is_some() => {
                    return Ok(WriteOutcome::Superseded(None));
                }
                (Err(error), _) if is_over => return Err(mark_unclear(error)),
                (Err(_), _) => {}
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// What is left to do after the file is written.
    pub(super) async fn after_write(
        &self,
        ready: &RebasedEdit,
        version: ObjectVersion,
    ) -> Vec<String> {
        let path = ready.edit.path();
        let Some(after) = ready.after() else {
            self.seen().remove(path.as_str());
            return self.finish_removal(path).await.into_iter().collect();
        };
        self.note_version(path, ContentHash::of(after), version);
        Vec::new()
    }

    /// Deletes the empty object that stands for a removed file; returns a warning if it remains.
    pub(super) async fn finish_removal(&self, path: &WorkPath) -> Option<String> {
        if !self.objects.supports_metadata() {
            return None;
        }
        let removed =
            tokio::time::timeout(REMOVAL_TIMEOUT, self.objects.remove(path.as_str())).await;
        match removed {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!(
                "`{path}` is removed, but an empty object of that name stays in the bucket: {error}"
            )),
            Err(_) => Some(format!(
                "`{path}` is removed, but an empty object of that name stays in the bucket: the storage did not answer in time"
            )),
        }
    }
}

impl CurrentFile {
    /// Whether another process is about to delete the object, and a write now would be lost.
    fn is_being_removed(&self) -> bool {
        let removal = u64::try_from(REMOVAL_GRACE.as_millis()).unwrap_or(u64::MAX);
        self.bytes.is_none()
            && self.version.as_ref().is_some_and(|version| {
                version.removed && version.modified.saturating_add(removal) > millis()
            })
    }
}

/// The pauses between attempts: random, longer each time, and not for ever.
#[derive(Debug)]
pub(super) struct Backoff {
    deadline: Instant,
    next: Duration,
}

impl Backoff {
    pub(super) fn until(deadline: Instant) -> Self {
        Self { deadline, next: Duration::from_millis(10) }
    }

    /// Waits; `false` when there is no time left.
    pub(super) async fn wait(&mut self) -> bool {
        let mut random = [0_u8; 1];
        let _ = getrandom::fill(&mut random);
        let pause = self.next.mul_f64(f64::from(random[0]) / 255.0);
        if Instant::now() + pause >= self.deadline {
            return false;
        }
        tokio::time::sleep(pause).await;
        self.next = (self.next * 2).min(MAX_PAUSE);
        true
    }
}

fn check_new_name(path: &WorkPath) -> Result<(), Refusal> {
    let Some(why) = crate::store::protect::unportable_reason(path.as_str()) else { return Ok(()) };
    Err(Refusal::new(EditCode::InvalidPath, format!("the new name `{path}` {why}"))
        .at(path.as_str())
        .hint("Choose a name that is valid on every operating system."))
}

pub(super) fn too_contended(path: &WorkPath) -> Refusal {
    Refusal::new(EditCode::Conflict, format!("other writers kept changing `{path}`"))
        .at(path.as_str())
        .hint("Nothing was written. Send the same call again.")
}

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
