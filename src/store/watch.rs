//! Commits of other processes, found in the history and put into the change feed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::broadcast::Receiver;

use super::disk::Disk;
use crate::port::Change;

/// How often the history is looked at while there is a listener.
const LOOK: Duration = Duration::from_millis(250);

impl Disk {
    /// Announces every commit from now on.
    pub(super) fn listen(self: &Arc<Self>) -> Receiver<Change> {
        let listener = self.feed.subscribe();
        if self.history.is_some() && !self.feed.is_watched.swap(true, Ordering::AcqRel) {
            let mut mark = self.log_mark();
            self.look(Told::Before);
            let disk: Weak<Self> = Arc::downgrade(self);
            let watch = move || {
                loop {
                    std::thread::sleep(LOOK);
                    let Some(disk) = disk.upgrade() else { return };
                    if disk.feed.to.receiver_count() == 0 {
                        disk.feed.is_watched.store(false, Ordering::Release);
                        return;
                    }
                    let now = disk.log_mark();
                    if now != mark {
                        mark = now;
                        disk.look(Told::Now);
                    }
                }
            };
            let watching = std::thread::Builder::new().name("changes".into()).spawn(watch);
            if let Err(error) = watching {
                tracing::warn!(%error, "commits of other processes are not announced");
            }
        }
        listener
    }

    /// Changes with every write to the history.
    fn log_mark(&self) -> Option<(u64, std::time::SystemTime)> {
        self.history.as_ref()?.log_mark()
    }

    /// Looks for commits that have not been announced yet.
    fn look(&self, told: Told) {
        let Some(Ok(entries)) = self.history.as_ref().map(|history| history.entries()) else {
            return;
        };
        for entry in entries.into_iter().filter(|entry| entry.done) {
            // Our own are announced before they are confirmed in the history.
            let is_new = self
                .feed
                .known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(entry.revision);
            if !is_new || told == Told::Before {
                continue;
            }
            for file in entry.files {
                let change =
                    Change { revision: entry.revision, path: file.path, sha256: file.after };
                let _ = self.feed.to.send(change);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Before,
    Now,
}
