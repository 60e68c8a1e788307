//! Finds commits of other processes in the history and announces them in the change feed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::broadcast::Receiver;

use super::disk::Disk;
use crate::port::Change;

/// How often the history is read while there is a listener.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

impl Disk {
    /// A receiver of every commit from now on. If there is a history, starts a thread that
    /// announces commits of other processes too.
    pub(super) fn subscribe(self: &Arc<Self>) -> Receiver<Change> {
        let listener = self.changes.subscribe();
        if self.history.is_some() && !self.changes.has_watcher.swap(true, Ordering::AcqRel) {
            let mut stamp = self.log_stamp();
            self.scan_log(NewCommits::Skip);
            let disk: Weak<Self> = Arc::downgrade(self);
            let watch = move || {
                loop {
                    std::thread::sleep(POLL_INTERVAL);
                    let Some(disk) = disk.upgrade() else { return };
                    if disk.changes.sender.receiver_count() == 0 {
                        disk.changes.has_watcher.store(false, Ordering::Release);
                        return;
                    }
                    let current_stamp = disk.log_stamp();
                    if current_stamp != stamp {
                        stamp = current_stamp;
                        disk.scan_log(NewCommits::Announce);
                    }
                }
            };
            let thread = std::thread::Builder::new().name("changes".into()).spawn(watch);
            if let Err(error) = thread {
                tracing::warn!(%error, "commits of other processes are not announced");
            }
        }
        listener
    }

    /// The size and time of the log, which change with every write to it.
    fn log_stamp(&self) -> Option<(u64, std::time::SystemTime)> {
        self.history.as_ref()?.log_stamp()
    }

    /// Announces or skips the commits in the history that were not announced yet.
    fn scan_log(&self, new_commits: NewCommits) {
        let Some(Ok(entries)) = self.history.as_ref().map(|history| history.entries()) else {
            return;
        };
        for entry in entries.into_iter().filter(|entry| entry.done) {
            // This process announces its own commits before it confirms them in the history.
            let is_new = self
                .changes
                .announced
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(entry.revision);
            if !is_new || new_commits == NewCommits::Skip {
                continue;
            }
            for file in entry.files {
                let revision = Some(entry.revision);
                let change = Change { revision, path: file.path, sha256: file.after };
                let _ = self.changes.sender.send(change);
            }
        }
    }
}

/// What to do with commits that were not announced yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewCommits {
    /// Count them as announced, because they are older than the first listener.
    Skip,
    Announce,
}
