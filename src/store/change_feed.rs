//! The change feed: announces every commit in the root, by this process or another one, to
//! each listener.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast::{Receiver, Sender, channel};

use crate::edit::VerifiedEdit;
use crate::port::Change;
use crate::text::Content;

/// A listener that falls more changes behind than this misses some; its receiver reports how many.
const CAPACITY: usize = 1024;

/// The sending side of the feed.
#[derive(Debug)]
pub struct ChangeFeed {
    sender: Sender<Change>,
    /// Revisions that were announced, or that are older than the first listener.
    pub(super) announced: Mutex<HashSet<u64>>,
}

impl Default for ChangeFeed {
    fn default() -> Self {
        Self { sender: channel(CAPACITY).0, announced: Mutex::default() }
    }
}

impl ChangeFeed {
    /// A receiver of every change from now on.
    pub fn subscribe(&self) -> Receiver<Change> {
        self.sender.subscribe()
    }

    /// Sends a committed edit to every receiver.
    pub fn announce_edit(&self, revision: Option<u64>, edit: &VerifiedEdit) {
        let path = edit.path().as_str().to_owned();
        self.announce(Change { revision, path, sha256: edit.after().map(Content::hash) });
    }

    /// Sends a change to every receiver.
    pub fn announce(&self, change: Change) {
        if let Some(revision) = change.revision {
            self.announced.lock().unwrap_or_else(PoisonError::into_inner).insert(revision);
        }
        // An error means that there is no listener.
        let _ = self.sender.send(change);
    }
}
