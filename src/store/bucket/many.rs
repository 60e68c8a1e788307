//! A commit of several files, all or none, and what becomes of one whose process ended in the
//! middle.
//!
//! The entry in the history is open until the last file is written. Changing it to "done",
//! provided that no other process has changed it, is the commit. A process that finds an old open
//! entry changes it to "taken back" in the same way, and restores the files.

use std::time::{Duration, Instant};

use super::Bucket;
use super::commit::{How, Pause, Ready, Written, busy, unwritten};
use super::history::{self, Bytes, Draft, Entry, State};
use super::objects::{Put, Trouble, Version};
use crate::edit::{After, EditCode, Explanation, Refusal, Rung, VerifiedEdit, WorkPath};
use crate::store::versioned::millis;
use crate::text::{ContentHash, Snapshot};

/// An open commit that is older belongs to a process that is gone.
const LEASE: Duration = Duration::from_secs(120);

/// How often a running process looks for open commits of others.
const LOOK: Duration = Duration::from_secs(60);

/// What came of a commit of several files.
type Done = (u64, Vec<VerifiedEdit>, Vec<String>);

/// Why an attempt came to nothing.
enum Failed {
    /// Others wrote to one of the files; all is as it was.
    Again(Vec<VerifiedEdit>),
    Refused(Box<Refusal>),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Bucket {
    pub(super) async fn commit_many(
        &self,
        mut batch: Vec<VerifiedEdit>,
        how: How<'_>,
    ) -> Result<Done, Refusal> {
        let mut names: Vec<&str> = batch.iter().map(|edit| edit.path().as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Refusal::new(
                EditCode::Overlap,
                format!("`{}` is in this commit twice", twice[0]),
            )
            .at(twice[0])
            .hint("Put all edits of one file together."));
        }
        let deadline = Instant::now() + self.options.patience.min(LEASE / 2);
        let mut pause = Pause::until(deadline);
        loop {
            match self.attempt(batch, how, &mut pause, deadline).await {
                Ok(done) => return Ok(done),
                Err(Failed::Refused(refusal)) => return Err(*refusal),
                Err(Failed::Again(edits)) => batch = edits,
            }
            if !pause.wait().await {
                return Err(busy(batch[0].path()));
            }
        }
    }

    async fn attempt(
        &self,
        batch: Vec<VerifiedEdit>,
        how: How<'_>,
        pause: &mut Pause,
        deadline: Instant,
    ) -> Result<Done, Failed> {
        let mut jobs = Vec::new();
        for edit in batch {
            jobs.push(match self.as_seen(edit) {
                Ok(ready) => ready,
                Err(edit) => self.ready(edit, None, pause).await?,
            });
        }
        let revision = self.next_revision(jobs.iter().filter_map(Ready::base).max());
        let paths = jobs.iter().map(|job| job.edit.path().as_str());
        let key = history::key(revision, paths);
        let drafts: Vec<Draft<'_>> = jobs.iter().map(Ready::draft).collect();
        let entry = history::write(revision, millis(), State::Open, how.undoes, &drafts);
        let mark = history::mark(revision);
        let first = jobs[0].edit.path().clone();
        // The mark comes first: an open record without one would never be found.
        self.objects
            .put_over(&mark, key.clone().into_bytes())
            .await
            .map_err(|trouble| unwritten(&first, &Trouble { unclear: false, ..trouble }))?;
        let recorded = self.on_record(&first, &key, entry.clone(), how).await;
        let recorded = match recorded {
            Ok(version) => version,
            Err(refusal) => {
                self.forget(Some(mark)).await;
                return Err(refusal.into());
            }
        };
        let mut written: Vec<(&Ready, Version)> = Vec::new();
        let mut stopped = None;
        for job in &jobs {
            match self.write_file(job, revision, deadline).await {
                Ok(Written::Done(version)) => written.push((job, version)),
                Ok(Written::Other(_)) => {
                    self.seen().remove(job.edit.path().as_str());
                    stopped = Some(None);
                    break;
                }
                Err(trouble) => {
                    self.seen().remove(job.edit.path().as_str());
                    stopped = Some(Some((job, trouble)));
                    break;
                }
            }
        }
        if stopped.is_none() && !self.close(&key, &entry, recorded).await? {
            // Another process assumed that this one had died, and restored the files.
            stopped = Some(None);
        }
        let Some(why) = stopped else {
            let mut warnings = Vec::new();
            for (job, version) in written {
                warnings.extend(self.after_write(job, version).await);
            }
            self.forget(Some(mark)).await;
            return Ok((revision, jobs.into_iter().map(|job| job.edit).collect(), warnings));
        };
        let left = self.roll_back(&written).await;
        let is_unclear = matches!(&why, Some((_, trouble)) if trouble.unclear);
        // If some file may not have been restored, the entry stays, and a later process tries
        // again.
        if left.is_empty() && !is_unclear {
            self.forget(Some(key)).await;
            self.forget(Some(mark)).await;
        }
        let mut refusal = match why {
            None if left.is_empty() => {
                let edits = jobs.into_iter().map(|job| job.edit).collect();
                return Err(Failed::Again(edits));
            }
            None => busy(&first),
            Some((job, trouble)) => unwritten(job.edit.path(), &trouble),
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

    /// Turns the record to "done"; `false` where others have taken the commit back.
    async fn close(
        &self,
        key: &str,
        entry: &[u8],
        recorded: Option<Version>,
    ) -> Result<bool, Refusal> {
        let done = history::in_state(entry, State::Done).unwrap_or_default();
        let mut last = None;
        for _ in 0..4 {
            match self.objects.put_if(key, done.clone(), recorded.as_ref(), None).await {
                Ok(Put::Done(_)) => return Ok(true),
                Ok(Put::Other) => {}
                Err(trouble) => last = Some(trouble),
            }
            match self.objects.get(key, u64::MAX).await {
                Ok(Some(now)) if now.bytes == done => return Ok(true),
                Ok(Some(now)) if now.bytes == entry => {}
                Ok(_) => return Ok(false),
                Err(trouble) => last = Some(trouble),
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
    async fn roll_back(&self, written: &[(&Ready, Version)]) -> Vec<String> {
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
        version: &Version,
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
        let ready = Ready { edit, at: Some(version.clone()) };
        let revision = self.next_revision(version.revision);
        let deadline = Instant::now() + Duration::from_secs(10);
        match self.write_file(&ready, revision, deadline).await {
            Ok(Written::Done(version)) => {
                for warning in self.after_write(&ready, version).await {
                    tracing::warn!("{warning}");
                }
                true
            }
            Ok(Written::Other(_)) | Err(_) => false,
        }
    }

    /// Looks for commits that were interrupted, at most once a minute.
    pub(super) async fn recover_if_due(&self) {
        {
            let mut looked = self.looked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if looked.is_some_and(|then| then.elapsed() < LOOK) {
                return;
            }
            *looked = Some(Instant::now());
        }
        if let Err(trouble) = self.recover().await {
            tracing::warn!(%trouble, "cannot look for interrupted commits");
        }
    }

    async fn recover(&self) -> Result<(), Trouble> {
        let lease = u64::try_from(LEASE.as_millis()).unwrap_or(u64::MAX);
        for mark in self.objects.page(&format!("{}/open", super::OWN), None).await? {
            if mark.modified.saturating_add(lease) > millis() {
                continue;
            }
            let Some(named) = self.objects.get(&mark.key, 4096).await? else { continue };
            let key = String::from_utf8_lossy(&named.bytes).into_owned();
            if self.recover_one(&key).await? {
                self.objects.remove(&mark.key).await?;
            }
        }
        Ok(())
    }

    /// Takes one commit back, if it is still open; `true` when nothing is left to do.
    async fn recover_one(&self, key: &str) -> Result<bool, Trouble> {
        let Some(found) = self.objects.get(key, u64::MAX).await? else { return Ok(true) };
        let Some((entry, files)) = history::read(&found.bytes) else { return Ok(true) };
        match entry.state {
            State::Single | State::Done => return Ok(true),
            State::TakenBack => {}
            State::Open => {
                let Some(claim) = history::in_state(&found.bytes, State::TakenBack) else {
                    return Ok(true);
                };
                match self.objects.put_if(key, claim, Some(&found.version), None).await? {
                    Put::Done(_) => {}
                    // Its process is alive, or another one was faster.
                    Put::Other => return Ok(false),
                }
            }
        }
        let mut left = Vec::new();
        for (file, bytes) in entry.files.iter().zip(&files) {
            if !self.take_back(&entry, &file.path, bytes).await? {
                left.push(file.path.as_str());
            }
        }
        tracing::warn!(
            revision = entry.revision,
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
    async fn take_back(&self, entry: &Entry, raw: &str, bytes: &Bytes) -> Result<bool, Trouble> {
        let Ok(path) = WorkPath::parse(raw, &self.root) else { return Ok(true) };
        let Some(now) = self.objects.get(raw, u64::MAX).await? else {
            // In a bucket an open commit has taken no object away yet.
            if let (None, Some(before)) = (&bytes.after, &bytes.before)
                && !self.objects.carries_marks()
            {
                let revision = self.next_revision(Some(entry.revision));
                self.objects.put_if(raw, before.clone(), None, Some(revision)).await?;
            }
            return Ok(true);
        };
        let is_ours = match self.objects.carries_marks() {
            true => now.version.revision == Some(entry.revision),
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
