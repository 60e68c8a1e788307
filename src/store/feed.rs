//! The change feed: every commit in the root, by this process or another one, announced to
//! whoever listens.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast::{Receiver, Sender, channel};

use crate::port::Change;

/// A listener that falls this far behind misses changes and is told how many.
const KEPT: usize = 1024;

/// The sending side.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) to: Sender<Change>,
    /// Revisions that were announced, or were there before the first listener.
    pub(super) known: Mutex<HashSet<u64>>,
    /// Whether a thread looks for commits of other processes.
    #[cfg(unix)]
    pub(super) is_watched: std::sync::atomic::AtomicBool,
}

impl Feed {
    pub(super) fn new() -> Self {
        Self {
            to: channel(KEPT).0,
            known: Mutex::default(),
            #[cfg(unix)]
            is_watched: std::sync::atomic::AtomicBool::new(false),
        }
    }

    /// Commits from now on.
    pub(super) fn subscribe(&self) -> Receiver<Change> {
        self.to.subscribe()
    }

    pub(super) fn announce(&self, change: Change) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(change.revision);
        // An error means that there is no listener.
        let _ = self.to.send(change);
    }
}
