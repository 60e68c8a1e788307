//! A commit of several files, all or none, and the recovery of one whose process ended in the
//! middle.
//!
//! The entry in the history is open until the last file is written. Changing it to "done",
//! provided that no other process has changed it, is the commit. A process that finds an old open
//! entry changes it to "taken back" in the same way, and restores the files.

use std::time::{Duration, Instant};

use super::Bucket;
use super::commit::{
    Backoff, CommitContext, RebasedEdit, WriteOutcome, not_written, too_contended,
};
use super::history::{self, CommitRecord, CommitState, FileChange, FileVersions};
use super::objects::{ObjectVersion, PutOutcome, StorageError};
use crate::edit::{After, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath};
use crate::store::versioned::millis;
use crate::text::{ContentHash, Snapshot};

/// An open commit that is older belongs to a process that is gone.
const LEASE: Duration = Duration::from_secs(120);

/// How often a running process looks for open commits of others.
const RECOVERY_INTERVAL: Duration = Duration::from_secs(60);

/// A commit of several files: its revision, its edits, and warnings.
type BatchCommit = (u64, Vec<VerifiedEdit>, Vec<String>);

/// Why an attempt failed.
enum AttemptError {
    /// Others wrote to one of the files; all is as it was.
    Retry(Vec<VerifiedEdit>),
    Refused(Box<Refusal>),
}

impl From<Refusal> for AttemptError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Bucket {
    pub(super) async fn commit_batch(
        &self,
        mut batch: Vec<VerifiedEdit>,
        context: CommitContext<'_>,
    ) -> Result<BatchCommit, Refusal> {
        let mut names: Vec<&str> = batch.iter().map(|edit| edit.path().as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Refusal::new(
                EditCode::Overlap,
                format!("`{}` is in this commit twice", twice[0]),
            )
            .at(twice[0])
            .hint("Combine all edits of one file into one."));
        }
        let deadline = Instant::now() + self.options.retry_timeout.min(LEASE / 2);
        let mut backoff = Backoff::until(deadline);
        loop {
            match self.attempt(batch, context, &mut backoff, deadline).await {
                Ok(done) => return Ok(done),
                Err(AttemptError::Refused(refusal)) => return Err(*refusal),
                Err(AttemptError::Retry(edits)) => batch = edits,
            }
            if !backoff.wait().await {
                return Err(too_contended(batch[0].path()));
            }
        }
    }

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
                Ok(ready) => ready,
                Err(edit) => self.rebase(edit, None, backoff).await?,
            });
        }
        let revision = self.next_revision(jobs.iter().filter_map(RebasedEdit::base).max());
        let paths = jobs.iter().map(|job| job.edit.path().as_str());
        let key = history::record_key(revision, paths);
        let changes: Vec<FileChange<'_>> = jobs.iter().map(RebasedEdit::change).collect();
        let record =
            history::encode(revision, millis(), CommitState::Open, context.undoes, &changes);
        let mark = history::mark_key(revision);
        let first = jobs[0].edit.path().clone();
        // The mark comes first: an open record without one would never be found.
        self.objects.overwrite(&mark, key.clone().into_bytes()).await.map_err(|error| {
            not_written(&first, &StorageError { may_have_applied: false, ..error })
        })?;
        let recorded = self.record_commit(&first, &key, record.clone(), context).await;
        let recorded = match recorded {
            Ok(version) => version,
            Err(refusal) => {
                self.remove_record(Some(mark)).await;
                return Err(refusal.into());
            }
        };
        let mut written: Vec<(&RebasedEdit, ObjectVersion)> = Vec::new();
        let mut failure = None;
        for job in &jobs {
            match self.write_file(job, revision, deadline).await {
                Ok(WriteOutcome::Written(version)) => written.push((job, version)),
                Ok(WriteOutcome::Superseded(_)) => {
                    self.seen().remove(job.edit.path().as_str());
                    failure = Some(None);
                    break;
                }
                Err(error) => {
                    self.seen().remove(job.edit.path().as_str());
                    failure = Some(Some((job, error)));
                    break;
                }
            }
        }
        if failure.is_none() && !self.confirm(&key, &record, recorded).await? {
            // Another process assumed that this one had died, and restored the files.
            failure = Some(None);
        }
        let Some(why) = failure else {
            let mut warnings = Vec::new();
            for (job, version) in written {
                warnings.extend(self.after_write(job, version).await);
            }
            self.remove_record(Some(mark)).await;
            return Ok((revision, jobs.into_iter().map(|job| job.edit).collect(), warnings));
        };
        let left = self.roll_back(&written).await;
        let is_unclear = matches!(&why, Some((_, error)) if error.may_have_applied);
        // If some file may not have been restored, the entry stays, and a later process tries
        // again.
        if left.is_empty() && !is_unclear {
            self.remove_record(Some(key)).await;
            self.remove_record(Some(mark)).await;
        }
        let mut refusal = match why {
            None if left.is_empty() => {
                let edits = jobs.into_iter().map(|job| job.edit).collect();
                return Err(AttemptError::Retry(edits));
            }
            None => too_contended(&first),
            Some((job, error)) => not_written(job.edit.path(), &error),
        };
        if !left.is_empty() {
            refusal.message.push_str(&format!(
                "; files that were written before that and could not be put back: {}",
                left.join(", ")
            ));
            refusal.hint = Some("Read these files before you send the call again.".to_owned());
        }
        Err(refusal.into())
    }

    /// Changes the record to "done"; `false` if another process has rolled the commit back.
    async fn confirm(
        &self,
        key: &str,
        record: &[u8],
        recorded: Option<ObjectVersion>,
    ) -> Result<bool, Refusal> {
        let done = history::with_state(record, CommitState::Done).unwrap_or_default();
        let mut last = None;
        for _ in 0..4 {
            match self.objects.put_if(key, done.clone(), recorded.as_ref(), None).await {
                Ok(PutOutcome::Done(_)) => return Ok(true),
                Ok(PutOutcome::Mismatch) => {}
                Err(error) => last = Some(error),
            }
            match self.objects.get(key, u64::MAX).await {
                Ok(Some(now)) if now.bytes == done => return Ok(true),
                Ok(Some(now)) if now.bytes == record => {}
                Ok(_) => return Ok(false),
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let why = last.map_or_else(|| "it does not accept the record".to_owned(), |t| t.text);
        Err(Refusal::new(
            EditCode::WriteError,
            format!("all files were written, but the storage did not confirm the commit ({why}): it either stands or is rolled back within minutes"),
        )
        .hint("Read the files before you send the call again."))
    }

    /// Puts back what was written, newest first; names what could not be.
    async fn roll_back(&self, written: &[(&RebasedEdit, ObjectVersion)]) -> Vec<String> {
        let mut left = Vec::new();
        for (job, version) in written.iter().rev() {
            let path = job.edit.path();
            self.seen().remove(path.as_str());
            let (before, after) = (job.before().map(<[u8]>::to_vec), job.after());
            if !self.put_back(path, version, before, after).await {
                left.push(path.to_string());
            }
        }
        left
    }

    /// Writes the old content back, but only over the version that the commit wrote; `false` if
    /// that failed.
    async fn put_back(
        &self,
        path: &WorkPath,
        version: &ObjectVersion,
        before: Option<Vec<u8>>,
        after: Option<&[u8]>,
    ) -> bool {
        let snapshot = after.map(|bytes| Snapshot::decode_lossy(bytes.to_vec()));
        let target = match before {
            Some(bytes) => After::Content(bytes.into()),
            None => After::Removed,
        };
        let explanation = Explanation::plain(Rung::Undo);
        let edit = VerifiedEdit::restore(path.clone(), snapshot, target, explanation);
        let ready = RebasedEdit { edit, at: Some(version.clone()) };
        let revision = self.next_revision(version.revision);
        let deadline = Instant::now() + Duration::from_secs(10);
        match self.write_file(&ready, revision, deadline).await {
            Ok(WriteOutcome::Written(version)) => {
                for warning in self.after_write(&ready, version).await {
                    tracing::warn!("{warning}");
                }
                true
            }
            Ok(WriteOutcome::Superseded(_)) | Err(_) => false,
        }
    }

    /// Looks for commits that were interrupted, at most once a minute.
    pub(super) async fn recover_if_due(&self) {
        {
            let mut last_recovery =
                self.last_recovery.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if last_recovery.is_some_and(|then| then.elapsed() < RECOVERY_INTERVAL) {
                return;
            }
            *last_recovery = Some(Instant::now());
        }
        if let Err(error) = self.recover().await {
            tracing::warn!(%error, "cannot look for interrupted commits");
        }
    }

    async fn recover(&self) -> Result<(), StorageError> {
        let lease = u64::try_from(LEASE.as_millis()).unwrap_or(u64::MAX);
        for mark in self.objects.page(&format!("{}/open", super::RESERVED_FOLDER), None).await? {
            if mark.modified.saturating_add(lease) > millis() {
                continue;
            }
            let Some(named) = self.objects.get(&mark.key, 4096).await? else { continue };
            let key = String::from_utf8_lossy(&named.bytes).into_owned();
            if self.recover_commit(&key).await? {
                self.objects.remove(&mark.key).await?;
            }
        }
        Ok(())
    }

    /// Takes one commit back, if it is still open; `true` when nothing is left to do.
    async fn recover_commit(&self, key: &str) -> Result<bool, StorageError> {
        let Some(found) = self.objects.get(key, u64::MAX).await? else { return Ok(true) };
        let Some((record, files)) = history::decode(&found.bytes) else { return Ok(true) };
        match record.state {
            CommitState::Single | CommitState::Done => return Ok(true),
            CommitState::TakenBack => {}
            CommitState::Open => {
                let Some(claim) = history::with_state(&found.bytes, CommitState::TakenBack) else {
                    return Ok(true);
                };
                match self.objects.put_if(key, claim, Some(&found.version), None).await? {
                    PutOutcome::Done(_) => {}
                    // Its process is alive, or another one was faster.
                    PutOutcome::Mismatch => return Ok(false),
                }
            }
        }
        let mut left = Vec::new();
        for (file, bytes) in record.files.iter().zip(&files) {
            if !self.restore_file(&record, &file.path, bytes).await? {
                left.push(file.path.as_str());
            }
        }
        tracing::warn!(
            revision = record.revision,
            "took back a commit of several files that was interrupted"
        );
        if !left.is_empty() {
            tracing::warn!(
                files = left.join(", "),
                "others changed these meanwhile; they stay as they are"
            );
        }
        self.objects.remove(key).await?;
        Ok(true)
    }

    /// Puts one file back if it is as the commit left it. `false` where it is neither that
    /// nor as it was before.
    async fn restore_file(
        &self,
        record: &CommitRecord,
        raw: &str,
        bytes: &FileVersions,
    ) -> Result<bool, StorageError> {
        let Ok(path) = WorkPath::parse(raw, &self.root) else { return Ok(true) };
        let Some(now) = self.objects.get(raw, u64::MAX).await? else {
            // In a bucket an open commit has taken no object away yet.
            if let (None, Some(before)) = (&bytes.after, &bytes.before)
                && !self.objects.supports_metadata()
            {
                let revision = self.next_revision(Some(record.revision));
                self.objects.put_if(raw, before.clone(), None, Some(revision)).await?;
            }
            return Ok(true);
        };
        let is_ours = match self.objects.supports_metadata() {
            true => now.version.revision == Some(record.revision),
            false => {
                Some(ContentHash::of(&now.bytes)) == bytes.after.as_deref().map(ContentHash::of)
            }
        };
        if !is_ours {
            return Ok(bytes.before.as_ref() == Some(&now.bytes));
        }
        let after = bytes.after.as_deref();
        Ok(self.put_back(&path, &now.version, bytes.before.clone(), after).await)
    }
}
