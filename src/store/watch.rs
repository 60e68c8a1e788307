//! Finds commits of other processes in the history and announces them in the change feed.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast::Receiver;

use super::disk::Disk;
use super::record::CommitRecord;
use crate::port::Change;

/// How often the history is looked at once there was a listener.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

impl Disk {
    /// A receiver of every commit from now on. If there is a history, starts a thread that
    /// announces commits of other processes too.
    pub(super) fn subscribe(self: &Arc<Self>) -> Receiver<Change> {
        if self.history.is_some() {
            self.watcher.call_once(|| self.watch());
        }
        self.changes.subscribe()
    }

    /// Starts the thread, which ends with the store.
    fn watch(self: &Arc<Self>) {
        let log_stamp = |disk: &Self| disk.history.as_ref()?.log_stamp();
        let mut stamp = log_stamp(self);
        // What is there already is older than the first listener.
        self.new_changes();
        let disk = Arc::downgrade(self);
        let watch = move || {
            loop {
                std::thread::sleep(POLL_INTERVAL);
                let Some(disk) = disk.upgrade() else { return };
                let current_stamp = log_stamp(&disk);
                if current_stamp != stamp {
                    stamp = current_stamp;
                    for change in disk.new_changes() {
                        disk.changes.announce(change);
                    }
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("changes".into()).spawn(watch) {
            tracing::warn!(%error, "commits of other processes are not announced");
        }
    }

    /// The files of the commits in the history that were not announced yet; from now on they count as
    /// announced.
    fn new_changes(&self) -> Vec<Change> {
        let entries = self.history.as_ref().map(|history| history.entries());
        let mut announced = self.changes.announced.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = Vec::new();
        for CommitRecord { revision, files, done, .. } in entries.into_iter().flatten().flatten() {
            // This process announces its own commits before it confirms them in the history.
            if done && announced.insert(revision) {
                changes.extend(files.into_iter().map(|file| Change {
                    revision: Some(revision),
                    path: file.path,
                    sha256: file.after,
                }));
            }
        }
        changes
    }
}
