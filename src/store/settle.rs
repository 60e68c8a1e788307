//! After the last file of a commit is in place: making it durable, checking what was
//! displaced, reading back, reporting. Nothing here turns success into failure.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use rustix::fs::OFlags;

use super::carry::Done;
use super::commit::Job;
use super::confine::FileId;
use super::disk::Disk;
use super::options::Promise;
use super::replace::{Displaced, holds};
use crate::edit::{After, Durability, WriteMethod};
use crate::port::{Change, Committed};

impl Disk {
    /// Everything is in place: make it durable, look at what was displaced, tell.
    pub(super) fn finish(
        &self,
        jobs: Vec<Job<'_>>,
        done: Vec<Done>,
        revision: u64,
    ) -> Vec<Committed> {
        let unsynced = self.sync_folders(&jobs, &done);
        let mut committed: Vec<(usize, Committed)> = Vec::new();
        for (mut job, done) in jobs.into_iter().zip(done) {
            job.made.stay = true;
            let (method, file) = self.settle(&mut job, done, revision);
            let mut durability = match self.options.promise {
                Promise::Durable => Durability::Durable,
                Promise::Rename => Durability::Unknown,
            };
            if let Some(error) = &unsynced {
                durability = Durability::Unknown;
                job.warnings.push(format!(
                    "written, but its folder could not be synced ({error}); a power cut might undo it"
                ));
            }
            if let Some(trouble) = self.read_back(&job, file.as_ref()) {
                durability = Durability::Unknown;
                job.warnings.push(trouble);
            }
            for folder in job.order.folders.iter().rev() {
                if let Ok(place) = self.root.place(folder) {
                    let _ = place.folder.remove_folder(&place.name);
                }
            }
            let sha256 = match job.edit.after() {
                After::Content(content) => Some(content.hash()),
                After::Removed => None,
            };
            self.feed.announce(Change { revision, path: job.name(), sha256 });
            let Job { at, edit, warnings, .. } = job;
            committed.push((at, Committed { edit, revision, durability, method, warnings }));
        }
        if let Some(Err(error)) = self.history.as_ref().map(|history| history.done(revision)) {
            tracing::debug!(%error, revision, "cannot confirm a commit in the history");
        }
        committed.sort_by_key(|(at, _)| *at);
        committed.into_iter().map(|(_, committed)| committed).collect()
    }

    /// Syncs each folder in which a name changed, once.
    fn sync_folders(&self, jobs: &[Job<'_>], done: &[Done]) -> Option<io::Error> {
        if self.options.promise == Promise::Rename {
            return None;
        }
        let mut synced: BTreeSet<FileId> = BTreeSet::new();
        let mut trouble = None;
        for (job, done) in jobs.iter().zip(done) {
            let changed = !matches!(done, Done::InPlace { .. });
            let above = job.made.folders.iter().map(|made| &made.parent);
            for folder in above.chain(changed.then_some(&job.place.folder)) {
                if synced.insert(folder.id())
                    && let Err(error) = folder.sync()
                {
                    trouble = Some(error);
                }
            }
        }
        trouble
    }

    /// Checks the displaced file, keeps or removes it, and returns the file that is there now.
    fn settle(&self, job: &mut Job<'_>, done: Done, revision: u64) -> (WriteMethod, Option<File>) {
        match done {
            Done::Created(file) => (WriteMethod::Created, Some(file)),
            Done::Replaced(file) => {
                self.keep_versions(job);
                (WriteMethod::Replaced, Some(file))
            }
            Done::InPlace { target, journal } => {
                self.keep_versions(job);
                self.end_journal(journal);
                (WriteMethod::InPlace, Some(target))
            }
            Done::Removed(aside) => {
                let _ = aside.discard();
                (WriteMethod::Removed, None)
            }
            Done::Exchanged(displaced) => {
                let file = displaced.new_file().try_clone().ok();
                // Checked only when no program can write into it any more: one that
                // had the old file open may have saved into it after the exchange.
                let is_final = displaced.is_final();
                let expected = job.held.as_ref().map(|held| &held.bytes);
                let known =
                    expected.filter(|bytes| is_final && displaced.holds(bytes).unwrap_or(false));
                match (known, &self.history) {
                    (Some(bytes), Some(history)) => {
                        if let Err(error) = history.adopt(displaced, bytes) {
                            job.warnings.push(unkept(&error));
                        }
                    }
                    (Some(_), None) => {
                        // With its last handle closed, removing it is one step.
                        job.held = None;
                        let _ = displaced.discard();
                    }
                    (None, _) => {
                        // The version that the edit was made for is kept nowhere else.
                        let is_as_known =
                            expected.is_some_and(|bytes| displaced.holds(bytes).unwrap_or(false));
                        self.keep_versions(job);
                        if is_as_known {
                            keep_open(job, displaced);
                        } else {
                            self.keep_foreign(job, displaced, is_final, revision);
                        }
                    }
                }
                (WriteMethod::Replaced, file)
            }
        }
    }

    /// Keeps both versions where no displaced file is left that could be kept.
    fn keep_versions(&self, job: &mut Job<'_>) {
        let Some(history) = &self.history else { return };
        let after = match job.edit.after() {
            After::Content(after) => Some(after),
            After::Removed => None,
        };
        let versions = job.held.as_ref().map(|held| &held.bytes).into_iter().chain(after);
        if let Some(error) = versions.filter_map(|version| history.keep(version).err()).next() {
            job.warnings.push(unkept(&error));
        }
    }

    /// Another program saved in the moment of the exchange. Its version is not lost.
    fn keep_foreign(&self, job: &mut Job<'_>, displaced: Displaced, is_final: bool, revision: u64) {
        let path = job.edit.path().clone();
        let found = displaced.bytes();
        if is_final
            && let (Ok(bytes), Some(history), Some(held)) = (&found, &self.history, &job.held)
            && history.displaced(revision, &job.name(), bytes, held.metadata.clone()).is_ok()
        {
            let _ = displaced.discard();
            job.warnings.push(format!(
                "another program saved `{path}` at the moment of this edit, without this edit in it; \
                 its version was kept and `undo {revision}` brings it back"
            ));
            return;
        }
        job.warnings.push(match displaced.keep() {
            Ok(name) => format!(
                "another program saved `{path}` at the moment of this edit, without this edit in it; \
                 its version was kept beside it as `{}`",
                name.to_string_lossy()
            ),
            Err(error) => format!(
                "another program saved `{path}` at the moment of this edit; its version was kept \
                 under a temporary name in the same folder ({error})"
            ),
        });
    }

    /// Reads the file again through its name.
    fn read_back(&self, job: &Job<'_>, ours: Option<&File>) -> Option<String> {
        let path = job.edit.path();
        let After::Content(after) = job.edit.after() else { return None };
        let Ok(there) = job.place.open(OFlags::RDONLY) else {
            return Some(format!(
                "`{path}` was moved or removed by another program right after this edit"
            ));
        };
        let same = ours.is_some_and(|ours| FileId::of(ours).ok() == FileId::of(&there).ok());
        match holds(&there, after) {
            Ok(true) => None,
            Ok(false) if !same => {
                Some(format!("`{path}` was replaced by another program right after this edit"))
            }
            Ok(false) => Some(format!(
                "`{path}` reads back with other bytes than were written: another program wrote to it, or the file system is at fault"
            )),
            Err(error) => Some(format!("`{path}` could not be read back ({error})")),
        }
    }
}

/// Another program has the displaced file open for writing and has saved nothing in it yet.
fn keep_open(job: &mut Job<'_>, displaced: Displaced) {
    let path = job.edit.path().clone();
    let where_to = match displaced.keep() {
        Ok(name) => format!("`{}` beside it", name.to_string_lossy()),
        Err(error) => format!("a temporary name beside it ({error})"),
    };
    job.warnings.push(format!(
        "another program has `{path}` open for writing: until it reopens the file, whatever it writes goes to the version from before this edit, which is now {where_to}"
    ));
}

fn unkept(error: &io::Error) -> String {
    format!("this change cannot be undone: what it replaced could not be kept ({error})")
}
