//! Runs calls on a bounded number of separate threads, so that a slow call never keeps the server
//! from reading what its client sends.
//!
//! A call that no client waits for any more stops at its next `await`, in the loops of the matcher,
//! and before it writes; until then it keeps its thread.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use crate::matching::budget;

/// The number of threads for the calls of all sessions is twice the number of processors, and at
/// least this.
const MIN_CALLS: usize = 4;

/// A bounded number of threads for calls. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Workers(Arc<Semaphore>);

impl Workers {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new(MIN_CALLS.max(2 * processors))))
    }

    /// Runs the work on a separate thread and returns its result, or `None` if it panicked.
    /// Dropping the future stops the work at its next `await`.
    pub(super) async fn run<T, F, W>(&self, work: W) -> Option<T>
    where
        T: Send + 'static,
        F: Future<Output = T>,
        W: FnOnce() -> F + Send + 'static,
    {
        let permit = self.0.clone().acquire_owned().await.ok()?;
        let runtime = Handle::current();
        // Dropped together with this future, which cancels the work.
        let (_cancel, cancelled) = oneshot::channel::<()>();
        let on_drop = CancelOnDrop(Arc::default());
        let is_cancelled = on_drop.0.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            budget::run_until_cancelled(is_cancelled, || {
                runtime.block_on(async {
                    tokio::select! {
                        biased;
                        _ = cancelled => None,
                        result = work() => Some(result),
                    }
                })
            })
        });
        let result = task.await.ok().flatten();
        drop(on_drop);
        result
    }
}

/// Sets its flag when it is dropped, which tells the matcher that no client waits any more.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_call_whose_client_left_stops_before_it_writes() {
        let workers = Workers::new();
        let wrote = Arc::new(AtomicBool::new(false));
        let flag = wrote.clone();
        let work = workers.run(move || async move {
            sleep(Duration::from_millis(100));
            tokio::task::yield_now().await;
            flag.store(true, Ordering::Release);
        });
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
        // Every place is free again once it has stopped.
        let most = workers.0.available_permits() + 1;
        let all = workers.0.acquire_many(u32::try_from(most).expect("few")).await;
        drop(all.expect("open"));
        assert!(!wrote.load(Ordering::Acquire), "it went on");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_loop_whose_client_left_is_given_up() {
        let workers = Workers::new();
        let (tell, told) = std::sync::mpsc::channel();
        let work = workers.run(move || async move {
            let done = budget::Budget::default().run(|| {
                for _ in 0..5_000 {
                    if budget::spend(1 << 16).is_err() {
                        break;
                    }
                    sleep(Duration::from_millis(1));
                }
            });
            tell.send(done).expect("told");
        });
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
        assert_eq!(told.recv(), Ok(Err(budget::Exhausted::Cancelled)));
    }
}
