//! The change feed: every commit of this store, announced to whoever listens.

use tokio::sync::broadcast::{Receiver, Sender, channel};

use crate::port::Change;

/// A listener that falls this far behind misses changes and is told how many.
const KEPT: usize = 1024;

/// The sending side.
#[derive(Debug)]
pub(super) struct Feed(Sender<Change>);

impl Feed {
    pub(super) fn new() -> Self {
        Self(channel(KEPT).0)
    }

    pub(super) fn listen(&self) -> Receiver<Change> {
        self.0.subscribe()
    }

    pub(super) fn announce(&self, change: Change) {
        // An error means that nobody listens.
        let _ = self.0.send(change);
    }
}
