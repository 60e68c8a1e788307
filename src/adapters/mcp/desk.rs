//! Where calls are worked off: threads of their own, a bounded number of them, so that a
//! call that takes long never keeps a server from hearing what its client says.
//!
//! A call that nobody waits for any more stops at the next point where it would wait itself,
//! and before it writes; until then it keeps its thread.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

/// How many calls are worked on at once, of all sessions of a process: twice the
/// processors, and not fewer than this.
const FEWEST: usize = 4;

/// A bounded number of threads for calls. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Desk(Arc<Semaphore>);

impl Desk {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new(FEWEST.max(2 * processors))))
    }

    /// Does the work on a thread of its own. `None`: it panicked. Dropping the future stops
    /// the work where it waits.
    pub(super) async fn run<T, F, W>(&self, work: W) -> Option<T>
    where
        T: Send + 'static,
        F: Future<Output = T>,
        W: FnOnce() -> F + Send + 'static,
    {
        let place = self.0.clone().acquire_owned().await.ok()?;
        let runtime = Handle::current();
        // Gone with this future, and then heard by the work.
        let (_waits, gone) = oneshot::channel::<()>();
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = gone => None,
                    done = work() => Some(done),
                }
            })
        });
        done.await.ok().flatten()
    }
}
