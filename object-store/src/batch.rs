//! Commits several files, all or none, and rolls back such a commit if its process died in the
//! middle.
//!
//! The record in the history is open until the last file is written. The commit counts once its
//! process has changed the record to "done", on the condition that no other process has changed it.
//! A process that finds an old open record changes it to "taken back" on the same condition, and
//! then restores the files.

use std::time::{Duration, Instant};

use super::Bucket;
use super::commit::{
    Backoff, CommitContext, RebasedEdit, WriteOutcome, not_written, too_contended,
};
use super::history::{self, BucketRecord, CommitState, FileChange};
use super::objects::{ObjectVersion, PutOutcome, StorageError};
use restitch::edit::{EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath};
use restitch::internals::store::{Versions, now_millis, refuse_duplicate_paths};
use restitch::port::Snapshot;

/// An open commit that is older than this belongs to a dead process.
const LEASE: Duration = Duration::from_secs(120);

/// How often a process looks for open commits of dead processes.
const RECOVERY_INTERVAL: Duration = Duration::from_secs(60);

/// A commit of several files as it was made: its revision, its edits, and warnings.
type BatchCommit = (u64, Vec<VerifiedEdit>, Vec<String>);

/// Why an attempt to commit failed.
enum AttemptError {
    /// Another program has changed one of the files, and nothing is written. The edits are
    /// returned.
    Retry(Vec<VerifiedEdit>),
    Refused(Box<Refusal>),
}

/// Why the files of a commit that was attempted must be restored.
enum FailureCause<'a> {
    /// Another program has interfered, so the commit can be tried again.
    Interference,
    /// The storage failed to write the file of this edit.
    Storage(&'a RebasedEdit, StorageError),
}

/// The error of a commit whose files cannot be written in its time.
fn too_slow() -> StorageError {
    StorageError {
        text: "the storage was too slow for all files of this commit".to_owned(),
        may_have_applied: false,
        hint: "Nothing stays written. Send fewer files in one call.",
        too_large: None,
    }
}

impl From<Refusal> for AttemptError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Bucket {
    /// Commits edits of several files. Tries again while other programs change the files.
    pub(super) async fn commit_batch(
        &self,
        mut batch: Vec<VerifiedEdit>,
        context: CommitContext<'_>,
    ) -> Result<BatchCommit, Refusal> {
        refuse_duplicate_paths(&batch)?;
        let deadline = Instant::now() + self.options.retry_timeout.min(LEASE / 2);
        let mut backoff = Backoff::until(deadline);
        loop {
            match self.attempt(batch, context, &mut backoff, deadline).await {
                Ok(committed) => return Ok(committed),
                Err(AttemptError::Refused(refusal)) => return Err(*refusal),
                Err(AttemptError::Retry(edits)) => batch = edits,
            }
            if !backoff.wait().await {
                return Err(too_contended(batch[0].path()));
            }
        }
    }

    /// Tries the commit once. If a file cannot be written, restores those already written.
    async fn attempt(
        &self,
        batch: Vec<VerifiedEdit>,
        context: CommitContext<'_>,
        backoff: &mut Backoff,
        deadline: Instant,
    ) -> Result<BatchCommit, AttemptError> {
        let mut jobs = Vec::new();
        for edit in batch {
            jobs.push(match self.on_seen_version(edit) {
                Ok(rebased) => rebased,
                Err(edit) => self.rebase(edit, None, backoff).await?,
            });
        }
        let revision = self.next_revision(jobs.iter().filter_map(RebasedEdit::base).max());
        let paths = jobs.iter().map(|job| job.edit.path().as_str());
        let key = history::record_key(revision, paths);
        let changes: Vec<FileChange<'_>> = jobs.iter().map(RebasedEdit::change).collect();
        let record = history::encode(revision, now_millis(), CommitState::Open, context, &changes);
        let mark = history::mark_key(revision);
        let first_path = jobs[0].edit.path().clone();
        // The mark is written first, because no process would find an open record without one.
        self.objects.overwrite(&mark, key.clone().into_bytes()).await.map_err(|error| {
            not_written(&first_path, &StorageError { may_have_applied: false, ..error })
        })?;
        let recorded = self.record_commit(&first_path, &key, record.clone(), context).await;
        let record_version = match recorded {
            Ok(version) => version,
            Err(refusal) => {
                self.remove_leftover(Some(mark)).await;
                return Err(refusal.into());
            }
        };
        let mut written: Vec<(&RebasedEdit, ObjectVersion)> = Vec::new();
        let mut failure = None;
        for job in &jobs {
            // Past the lease another process would roll the commit back while this one writes on.
            if Instant::now() >= deadline {
                failure = Some(FailureCause::Storage(job, too_slow()));
                break;
            }
            match self.write_file(job, revision, deadline).await {
                Ok(WriteOutcome::Written(version)) => written.push((job, version)),
                Ok(WriteOutcome::Superseded(_)) => {
                    self.seen().remove(job.edit.path().as_str());
                    failure = Some(FailureCause::Interference);
                    break;
                }
                Err(error) => {
                    self.seen().remove(job.edit.path().as_str());
                    failure = Some(FailureCause::Storage(job, error));
                    break;
                }
            }
        }
        if failure.is_none() && !self.confirm(&key, &record, &record_version).await? {
            // Another process took this one for dead and rolled the commit back.
            failure = Some(FailureCause::Interference);
        }
        let Some(cause) = failure else {
            let mut warnings = Vec::new();
            for (job, version) in written {
                warnings.extend(self.after_write(job, version).await);
            }
            self.remove_leftover(Some(mark)).await;
            return Ok((revision, jobs.into_iter().map(|job| job.edit).collect(), warnings));
        };
        let unrestored = self.roll_back(&written).await;
        let may_have_written =
            matches!(&cause, FailureCause::Storage(_, error) if error.may_have_applied);
        // If a file may not be restored, the record stays, so that a later process tries again.
        if unrestored.is_empty() && !may_have_written {
            self.remove_leftover(Some(key)).await;
            self.remove_leftover(Some(mark)).await;
        }
        let refusal = match cause {
            FailureCause::Interference if unrestored.is_empty() => {
                let edits = jobs.into_iter().map(|job| job.edit).collect();
                return Err(AttemptError::Retry(edits));
            }
            FailureCause::Interference => too_contended(&first_path),
            FailureCause::Storage(job, error) if may_have_written => {
                let path = job.edit.path();
                let name = restitch::internals::text::quote_name(path.as_str());
                let message = format!(
                    "cannot write `{name}`: {error}; the commit is not made: what it wrote is taken back, at the latest after {} minutes",
                    LEASE.as_secs() / 60 + 1
                );
                Refusal::new(EditCode::WriteError, message)
                    .at(path.as_str())
                    .hint("Wait until then, and read the files before you send the call again.")
            }
            FailureCause::Storage(job, error) => not_written(job.edit.path(), &error),
        };
        Err(refusal.with_unrestored(&unrestored).into())
    }

    /// Changes the record to "done"; `false` if another process has rolled the commit back.
    async fn confirm(
        &self,
        key: &str,
        record: &[u8],
        record_version: &ObjectVersion,
    ) -> Result<bool, Refusal> {
        let done = history::with_state(record, CommitState::Done).unwrap_or_default();
        let mut last_error = None;
        for _ in 0..4 {
            match self.objects.put_if(key, done.clone(), Some(record_version), None).await {
                Ok(PutOutcome::Done(_)) => return Ok(true),
                Ok(PutOutcome::Mismatch) => {}
                Err(error) => last_error = Some(error),
            }
            match self.objects.get(key, u64::MAX).await {
                Ok(Some(current)) if current.bytes == done => return Ok(true),
                Ok(Some(current)) if current.bytes == record => {}
                Ok(_) => return Ok(false),
                Err(error) => last_error = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let reason = match last_error {
            Some(error) => error.text,
            None => "it does not accept the record".to_owned(),
        };
        Err(Refusal::new(
            EditCode::WriteError,
            format!("all files were written, but the storage did not confirm the commit ({reason}): the commit either stays or is rolled back within minutes"),
        )
        .hint("Read the files before you send the call again."))
    }

    /// Restores the files that were written, the last one first; returns the paths of those that
    /// could not be restored.
    async fn roll_back(&self, written: &[(&RebasedEdit, ObjectVersion)]) -> Vec<String> {
        let mut unrestored = Vec::new();
        for (job, version) in written.iter().rev() {
            let path = job.edit.path();
            self.seen().remove(path.as_str());
            let (before, after) = (job.before().map(<[u8]>::to_vec), job.after());
            if !self.restore(path, version, before, after).await.unwrap_or(false) {
                unrestored.push(path.to_string());
            }
        }
        unrestored
    }

    /// Restores the content from before a commit, but only over `version`, which the commit wrote;
    /// `false` if another version has taken its place. After an error it is to be tried again.
    async fn restore(
        &self,
        path: &WorkPath,
        version: &ObjectVersion,
        before: Option<Vec<u8>>,
        after: Option<&[u8]>,
    ) -> Result<bool, StorageError> {
        let committed = after.map(|bytes| Snapshot::decode_lossy(bytes.to_vec()));
        let restored = before.map(Into::into);
        let explanation = Explanation::plain(Rung::Undo);
        let edit = restitch::internals::restored(path.clone(), committed, restored, explanation);
        let rebased = RebasedEdit { edit, version: Some(version.clone()) };
        let revision = self.next_revision(version.revision);
        let deadline = Instant::now() + Duration::from_secs(10);
        match self.write_file(&rebased, revision, deadline).await {
            Ok(WriteOutcome::Written(restored_version)) => {
                for warning in self.after_write(&rebased, restored_version).await {
                    tracing::warn!("{warning}");
                }
                Ok(true)
            }
            Ok(WriteOutcome::Superseded(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Rolls back commits that were interrupted. Looks for them at most once a minute.
    pub(super) async fn recover_if_due(&self) {
        {
            let mut last_recovery =
                self.last_recovery.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if last_recovery.is_some_and(|time| time.elapsed() < RECOVERY_INTERVAL) {
                return;
            }
            *last_recovery = Some(Instant::now());
        }
        if let Err(error) = self.recover().await {
            tracing::warn!(%error, "cannot look for interrupted commits");
        }
    }

    /// Rolls back the open commits of dead processes.
    async fn recover(&self) -> Result<(), StorageError> {
        let lease = u64::try_from(LEASE.as_millis()).unwrap_or(u64::MAX);
        for mark in self.objects.page(&format!("{}/open", super::RESERVED_FOLDER), None).await? {
            if mark.modified.saturating_add(lease) > now_millis() {
                continue;
            }
            let Some(content) = self.objects.get(&mark.key, 4096).await? else { continue };
            let record_key = String::from_utf8_lossy(&content.bytes).into_owned();
            // One that cannot be rolled back now keeps its record, and must not hide the others.
            match self.recover_commit(&record_key).await {
                Ok(true) => self.objects.remove(&mark.key).await?,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, record = record_key, "cannot roll back an interrupted commit now");
                }
            }
        }
        Ok(())
    }

    /// Rolls back one commit unless all its files were written; returns whether its mark can be
    /// removed.
    async fn recover_commit(&self, key: &str) -> Result<bool, StorageError> {
        let Some(found) = self.objects.get(key, u64::MAX).await? else { return Ok(true) };
        let Some((record, files)) = history::decode(&found.bytes) else { return Ok(true) };
        match record.state {
            CommitState::Single | CommitState::Done => return Ok(true),
            CommitState::TakenBack => {}
            CommitState::Open => {
                let Some(taken_back) = history::with_state(&found.bytes, CommitState::TakenBack)
                else {
                    return Ok(true);
                };
                match self.objects.put_if(key, taken_back, Some(&found.version), None).await? {
                    PutOutcome::Done(_) => {}
                    // Its process is alive, or another process is rolling it back.
                    PutOutcome::Mismatch => return Ok(false),
                }
            }
        }
        let mut unrestored = Vec::new();
        for (file, versions) in record.files.iter().zip(&files) {
            if !self.restore_file(&record, &file.path, versions).await? {
                unrestored.push(file.path.as_str());
            }
        }
        tracing::warn!(
            revision = record.revision,
            "rolled back a commit of several files that was interrupted"
        );
        if !unrestored.is_empty() {
            tracing::warn!(
                files = unrestored.join(", "),
                "other programs have changed these files meanwhile, so they stay as they are"
            );
        }
        self.objects.remove(key).await?;
        Ok(true)
    }

    /// Restores one file of an open commit if the commit wrote its current version. `false` if the
    /// file stays in a version other than the one before the commit.
    async fn restore_file(
        &self,
        record: &BucketRecord,
        key: &str,
        versions: &Versions,
    ) -> Result<bool, StorageError> {
        let Ok(path) = WorkPath::parse(key, &self.root) else { return Ok(true) };
        let Some(current) = self.objects.get(key, u64::MAX).await? else {
            return Ok(true);
        };
        if current.version.revision != Some(record.revision) {
            return Ok(versions.before.as_ref() == Some(&current.bytes));
        }
        let after = versions.after.as_deref();
        self.restore(&path, &current.version, versions.before.clone(), after).await
    }
}
