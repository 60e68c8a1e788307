//! A commit of one file: writes the history entry, then the file, if it is still the version that
//! the edit was matched on.
//!
//! Three requests for an edit: the file is read, the record is written, the file is written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::history::{self, Draft, State};
use super::objects::{Put, Trouble, Version};
use super::{Bucket, Now, REMOVAL};
use crate::edit::{After, EditCode, Refusal, VerifiedEdit, WorkPath};
use crate::port::{Committed, RequestId};
use crate::store::versioned::{committed, current, millis};
use crate::text::{ContentHash, quote_name};

/// How long the last step of a removal may take; far less than [`REMOVAL`].
const LAST_STEP: Duration = Duration::from_secs(60);

/// The pauses between attempts grow up to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(640);

/// What came of writing a file.
#[derive(Debug)]
pub(super) enum Written {
    Done(Version),
    /// Another program wrote to it. Holds its state now, where that is known.
    Other(Option<Now>),
}

/// An edit as it applies to the file as it is, and the version that this is.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) edit: VerifiedEdit,
    pub(super) at: Option<Version>,
}

impl Ready {
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

    pub(super) fn draft(&self) -> Draft<'_> {
        let (base, before, after) = (self.base(), self.before(), self.after());
        Draft { path: self.edit.path(), base, before, after }
    }
}

/// How a commit is to be carried out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct How<'a> {
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
                admit_new(edit.path())?;
            }
        }
        if let Some(request) = request
            && let Some(done) = self.repeated(request, &batch).await?
        {
            return Ok(done);
        }
        self.carry_out(batch, How { request, undoes: None }).await
    }

    pub(super) async fn carry_out(
        &self,
        mut batch: Vec<VerifiedEdit>,
        how: How<'_>,
    ) -> Result<Vec<Committed>, Refusal> {
        self.recover_if_due().await;
        let (revision, edits, warnings) = match batch.len() {
            0 => return Ok(Vec::new()),
            1 => {
                let (revision, edit, warnings) = self.commit_one(batch.remove(0), how).await?;
                (revision, vec![edit], warnings)
            }
            _ => self.commit_many(batch, how).await?,
        };
        self.announce(revision, &edits);
        let durability = self.durability();
        let done = edits.into_iter().map(|edit| committed(edit, revision, durability));
        let mut done: Vec<Committed> = done.collect();
        if let Some(first) = done.first_mut() {
            first.warnings.extend(warnings);
        }
        Ok(done)
    }

    async fn commit_one(
        &self,
        edit: VerifiedEdit,
        how: How<'_>,
    ) -> Result<(u64, VerifiedEdit, Vec<String>), Refusal> {
        let path = edit.path().clone();
        let deadline = Instant::now() + self.options.patience;
        let mut pause = Pause::until(deadline);
        let mut ready = self.as_seen(edit);
        let mut found = None;
        // The record of an attempt that came to nothing.
        let mut vain: Option<String> = None;
        loop {
            let prepared = match ready {
                Ok(ready) => Ok(ready),
                Err(edit) => self.ready(edit, found.take(), &mut pause).await,
            };
            let now = match prepared {
                Ok(now) => now,
                Err(refusal) => {
                    self.forget(vain).await;
                    return Err(refusal);
                }
            };
            let revision = self.next_revision(now.base());
            let key = history::key(revision, [path.as_str()]);
            let entry =
                history::write(revision, millis(), State::Single, how.undoes, &[now.draft()]);
            let recorded = self.on_record(&path, &key, entry, how);
            let (recorded, ()) = futures_util::join!(recorded, self.forget(vain.take()));
            recorded?;
            match self.write_file(&now, revision, deadline).await {
                Ok(Written::Done(version)) => {
                    let warnings = self.after_write(&now, version).await;
                    return Ok((revision, now.edit, warnings));
                }
                Ok(Written::Other(now_there)) => {
                    vain = Some(key);
                    found = now_there;
                    self.seen().remove(path.as_str());
                    ready = Err(now.edit);
                    if !pause.wait().await {
                        self.forget(vain).await;
                        return Err(busy(&path));
                    }
                }
                Err(unclear) => {
                    // Keep the record while it is not known whether the file was written.
                    if !unclear.unclear {
                        self.forget(Some(key)).await;
                    }
                    self.seen().remove(path.as_str());
                    return Err(unwritten(&path, &unclear));
                }
            }
        }
    }

    /// Writes the history entry of a commit, and its request id.
    pub(super) async fn on_record(
        &self,
        path: &WorkPath,
        key: &str,
        entry: Vec<u8>,
        how: How<'_>,
    ) -> Result<Option<Version>, Refusal> {
        let failed = |trouble: Trouble| {
            Refusal::new(
                EditCode::WriteError,
                format!("cannot record the edit of `{path}` in the history, so nothing was written: {trouble}"),
            )
            .at(path.as_str())
            .hint(trouble.hint)
        };
        if let Some(request) = how.request {
            self.note_request(request, key).await.map_err(failed)?;
        }
        let mut tries = 0;
        loop {
            match self.objects.put_if(key, entry.clone(), None, None).await {
                Ok(Put::Done(version)) => return Ok(Some(version)),
                // Ours, of a request whose answer got lost, or of another process with the same
                // number: only the same bytes are the same commit.
                Ok(Put::Other) => {
                    let now = self.objects.get(key, u64::MAX).await.map_err(failed)?;
                    return match now {
                        Some(now) if now.bytes == entry => Ok(Some(now.version)),
                        _ => Err(busy(path)),
                    };
                }
                Err(trouble) if trouble.unclear && tries < 3 => tries += 1,
                Err(trouble) => return Err(failed(trouble)),
            }
        }
    }

    /// Removes the history entry of a failed attempt. If that fails, the log shows it as
    /// interrupted.
    pub(super) async fn forget(&self, key: Option<String>) {
        let Some(key) = key else { return };
        if let Err(trouble) = self.objects.remove(&key).await {
            tracing::debug!(%trouble, key, "the record of an attempt stays");
        }
    }

    /// The edit on the version that was read, without a look at what is there; the edit itself
    /// where that version is not known.
    pub(super) fn as_seen(&self, edit: VerifiedEdit) -> Result<Ready, VerifiedEdit> {
        let known = self.seen().get(edit.path().as_str()).cloned();
        match (edit.base(), known) {
            (Some(base), Some((hash, version))) if base == hash => {
                Ok(Ready { edit, at: Some(version) })
            }
            // A new file is written where there is none, or not at all.
            (None, None) => Ok(Ready { edit, at: None }),
            _ => Err(edit),
        }
    }

    /// The edit, decided again on what is there now; `found` was there a moment ago.
    pub(super) async fn ready(
        &self,
        edit: VerifiedEdit,
        mut found: Option<Now>,
        pause: &mut Pause,
    ) -> Result<Ready, Refusal> {
        let path = edit.path().clone();
        loop {
            let now = match found.take() {
                Some(now) => now,
                None => self.now(&path).await?,
            };
            if now.is_being_removed() {
                match pause.wait().await {
                    true => continue,
                    false => return Err(busy(&path)),
                }
            }
            let Now { bytes, version } = now;
            let edit = current(edit, bytes.as_deref())?;
            return Ok(Ready { edit, at: version });
        }
    }

    /// Writes the file, if it is still the version that was decided on.
    ///
    /// Where the answer got lost, the file is asked: it carries the revision that wrote it.
    pub(super) async fn write_file(
        &self,
        ready: &Ready,
        revision: u64,
        deadline: Instant,
    ) -> Result<Written, Trouble> {
        let path = ready.edit.path().as_str();
        loop {
            let put = match (ready.after(), &ready.at) {
                (Some(bytes), at) => {
                    let bytes = bytes.to_vec();
                    self.objects.put_if(path, bytes, at.as_ref(), Some(revision)).await
                }
                (None, Some(at)) => self.objects.remove_if(path, at, revision).await,
                (None, None) => return Ok(Written::Other(None)),
            };
            let failure = match put {
                Ok(Put::Done(version)) => return Ok(Written::Done(version)),
                Ok(Put::Other) if !self.objects.carries_marks() => return Ok(Written::Other(None)),
                Ok(Put::Other) => None,
                Err(trouble) if !trouble.unclear || !self.objects.carries_marks() => {
                    return Err(Trouble { unclear: false, ..trouble });
                }
                Err(trouble) => Some(trouble),
            };
            let found = self.objects.get(path, self.options.max_bytes).await;
            let is_over = Instant::now() >= deadline;
            let unclear = |trouble: Trouble| Trouble { unclear: true, ..trouble };
            match (found, failure) {
                (Ok(Some(now)), _) if now.version.revision == Some(revision) => {
                    return Ok(Written::Done(now.version));
                }
                (Ok(now), None) => return Ok(Written::Other(Some(now.into()))),
                (Ok(now), Some(trouble)) => {
                    let is_as_before = match (&now, &ready.at) {
                        (Some(now), Some(at)) => now.version.is(at),
                        (None, None) => true,
                        _ => false,
                    };
                    match (is_as_before, is_over) {
                        (true, false) => {}
                        (true, true) => return Err(unclear(trouble)),
                        (false, _) => return Ok(Written::Other(Some(now.into()))),
                    }
                }
                (Err(trouble), _) if trouble.too_large.is_some() => {
                    return Ok(Written::Other(None));
                }
                (Err(trouble), _) if is_over => return Err(unclear(trouble)),
                (Err(_), _) => {}
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// What is left to do after the file is written.
    pub(super) async fn after_write(&self, ready: &Ready, version: Version) -> Vec<String> {
        let path = ready.edit.path();
        let Some(after) = ready.after() else {
            self.seen().remove(path.as_str());
            return self.finish_removal(path).await.into_iter().collect();
        };
        self.note(path, ContentHash::of(after), version);
        Vec::new()
    }

    /// Deletes the empty object that stands for a removed file; returns a warning if it remains.
    pub(super) async fn finish_removal(&self, path: &WorkPath) -> Option<String> {
        if !self.objects.carries_marks() {
            return None;
        }
        let removed = tokio::time::timeout(LAST_STEP, self.objects.remove(path.as_str())).await;
        match removed {
            Ok(Ok(())) => None,
            Ok(Err(trouble)) => Some(format!(
                "`{path}` is removed, but an empty object of that name stays in the bucket: {trouble}"
            )),
            Err(_) => Some(format!(
                "`{path}` is removed, but an empty object of that name stays in the bucket: the storage did not answer in time"
            )),
        }
    }
}

impl Now {
    /// Whether another process is about to delete the object, and a write now would be lost.
    fn is_being_removed(&self) -> bool {
        let removal = u64::try_from(REMOVAL.as_millis()).unwrap_or(u64::MAX);
        self.bytes.is_none()
            && self.version.as_ref().is_some_and(|version| {
                version.removed && version.modified.saturating_add(removal) > millis()
            })
    }
}

/// The pauses between attempts: random, longer each time, and not for ever.
#[derive(Debug)]
pub(super) struct Pause {
    deadline: Instant,
    next: Duration,
}

impl Pause {
    pub(super) fn until(deadline: Instant) -> Self {
        Self { deadline, next: Duration::from_millis(10) }
    }

    /// Waits; `false` when there is no time left.
    pub(super) async fn wait(&mut self) -> bool {
        let mut dice = [0_u8; 1];
        let _ = getrandom::fill(&mut dice);
        let pause = self.next.mul_f64(f64::from(dice[0]) / 255.0);
        if Instant::now() + pause >= self.deadline {
            return false;
        }
        tokio::time::sleep(pause).await;
        self.next = (self.next * 2).min(LONGEST_PAUSE);
        true
    }
}

fn admit_new(path: &WorkPath) -> Result<(), Refusal> {
    let Some(why) = crate::store::protect::unportable(path.as_str()) else { return Ok(()) };
    Err(Refusal::new(EditCode::InvalidPath, format!("the new name `{path}` {why}"))
        .at(path.as_str())
        .hint("Choose a name that every system can hold."))
}

pub(super) fn busy(path: &WorkPath) -> Refusal {
    Refusal::new(EditCode::Conflict, format!("other writers kept changing `{path}`"))
        .at(path.as_str())
        .hint("Nothing was written. Send the same call again.")
}

pub(super) fn unwritten(path: &WorkPath, trouble: &Trouble) -> Refusal {
    let name = quote_name(path.as_str());
    let (state, hint) = match trouble.unclear {
        true => (
            "it is not known whether it was written",
            "Read the file before you send the call again.",
        ),
        false => ("the file is as it was", trouble.hint),
    };
    Refusal::new(EditCode::WriteError, format!("cannot write `{name}`: {trouble}; {state}"))
        .at(path.as_str())
        .hint(hint)
}
