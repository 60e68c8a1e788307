//! The client of a shared server: every request is bounded in time, and after a failure the
//! server is left alone for a while. A failure is logged once until it works again; it is never an
//! error.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::port::{SharedCounts, SharedError, SharedValues, TokenBucket};

/// How much a shared server may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedClientOptions {
    /// A request that takes longer has failed.
    pub time: Duration,
    /// How long the server is left alone after that.
    pub pause: Duration,
}

impl Default for SharedClientOptions {
    fn default() -> Self {
        Self { time: Duration::from_millis(500), pause: Duration::from_secs(30) }
    }
}

/// The client of a shared server that may be unavailable. `None` from any request: go on without
/// it.
pub struct SharedClient {
    values: Arc<dyn SharedValues>,
    options: SharedClientOptions,
    state: Mutex<State>,
    counts: Arc<SharedCounts>,
}

#[derive(Debug, Default)]
struct State {
    unavailable: Outage,
    full: Outage,
}

/// A time in which the server is not asked.
#[derive(Debug, Default)]
struct Outage {
    until: Option<Instant>,
}

impl Outage {
    /// Whether it goes on. Of the requests that come when the pause is over, one tries the server.
    fn is_ongoing(&mut self, pause: Duration) -> bool {
        let now = Instant::now();
        match self.until {
            Some(until) if now < until => true,
            Some(_) => {
                self.until = Some(now + pause);
                false
            }
            None => false,
        }
    }

    /// Starts the outage, or its pause again; `true` when there was none before.
    fn start(&mut self, pause: Duration) -> bool {
        self.until.replace(Instant::now() + pause).is_none()
    }

    fn end(&mut self) -> bool {
        self.until.take().is_some()
    }
}

/// What a request does on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl fmt::Debug for SharedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("options", &self.options).finish_non_exhaustive()
    }
}

impl SharedClient {
    /// A client of that server.
    pub fn new(values: Arc<dyn SharedValues>, options: SharedClientOptions) -> Self {
        Self { values, options, state: Mutex::default(), counts: Arc::default() }
    }

    /// The outcomes so far.
    pub fn counts(&self) -> &Arc<SharedCounts> {
        &self.counts
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run<T>(
        &self,
        access: Access,
        work: impl Future<Output = Result<T, SharedError>>,
    ) -> Option<T> {
        let pause = self.options.pause;
        {
            let mut state = self.state();
            if state.unavailable.is_ongoing(pause)
                || (access == Access::Write && state.full.is_ongoing(pause))
            {
                return None;
            }
        }
        let done = timeout(self.options.time, work).await.unwrap_or_else(|_| {
            let millis = self.options.time.as_millis();
            Err(SharedError::Unavailable(format!("it does not answer within {millis} ms")))
        });
        let mut state = self.state();
        let seconds = pause.as_secs();
        match done {
            Ok(done) => {
                let is_back = state.unavailable.end();
                if is_back || (access == Access::Write && state.full.end()) {
                    tracing::info!("the shared cache works again");
                }
                Some(done)
            }
            Err(SharedError::Full(why)) => {
                self.counts.errors.fetch_add(1, Ordering::Relaxed);
                state.unavailable.end();
                if state.full.start(pause) {
                    tracing::warn!(
                        "the shared cache takes nothing new ({why}); edits go on without it, and it is tried again every {seconds} s"
                    );
                }
                None
            }
            Err(SharedError::Unavailable(why)) => {
                self.counts.errors.fetch_add(1, Ordering::Relaxed);
                if state.unavailable.start(pause) {
                    tracing::warn!(
                        "the shared cache cannot be used ({why}); edits go on without it, and it is tried again every {seconds} s"
                    );
                }
                None
            }
        }
    }

    /// The value, if there is one.
    pub(super) async fn get(&self, name: &str) -> Option<Option<Vec<u8>>> {
        self.run(Access::Read, self.values.get(name)).await
    }

    pub(super) async fn put(&self, name: &str, value: &[u8], ttl: Duration) -> Option<()> {
        self.run(Access::Write, self.values.put(name, value, ttl)).await
    }

    pub(super) async fn put_new(&self, name: &str, value: &[u8], ttl: Duration) -> Option<bool> {
        self.run(Access::Write, self.values.put_new(name, value, ttl)).await
    }

    pub(super) async fn replace(
        &self,
        name: &str,
        old: &[u8],
        new: Option<(&[u8], Duration)>,
    ) -> Option<bool> {
        self.run(Access::Write, self.values.replace(name, old, new)).await
    }

    pub(super) async fn take(&self, buckets: &[TokenBucket]) -> Option<Option<Duration>> {
        self.run(Access::Write, self.values.take(buckets)).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;
    use crate::port::BoxFuture;

    /// Does not answer at all, or says that it is full, as long as it has trouble.
    #[derive(Default)]
    struct Troubled {
        asked: AtomicU32,
        well: AtomicU32,
    }

    impl Troubled {
        fn is_well(&self) -> bool {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.well.load(Ordering::SeqCst) == 1
        }
    }

    impl SharedValues for Troubled {
        fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, SharedError>> {
            Box::pin(async {
                match self.is_well() {
                    true => Ok(None),
                    false => std::future::pending().await,
                }
            })
        }

        fn put<'a>(
            &'a self,
            _: &'a str,
            _: &'a [u8],
            _: Duration,
        ) -> BoxFuture<'a, Result<(), SharedError>> {
            Box::pin(async {
                match self.is_well() {
                    true => Ok(()),
                    false => Err(SharedError::Full("no room".into())),
                }
            })
        }

        fn put_new<'a>(
            &'a self,
            _: &'a str,
            _: &'a [u8],
            _: Duration,
        ) -> BoxFuture<'a, Result<bool, SharedError>> {
            Box::pin(async { unreachable!("not asked here") })
        }

        fn replace<'a>(
            &'a self,
            _: &'a str,
            _: &'a [u8],
            _: Option<(&'a [u8], Duration)>,
        ) -> BoxFuture<'a, Result<bool, SharedError>> {
            Box::pin(async { unreachable!("not asked here") })
        }

        fn take<'a>(
            &'a self,
            _: &'a [TokenBucket],
        ) -> BoxFuture<'a, Result<Option<Duration>, SharedError>> {
            Box::pin(async { unreachable!("not asked here") })
        }
    }

    fn client() -> (Arc<Troubled>, SharedClient) {
        let server = Arc::new(Troubled::default());
        (server.clone(), SharedClient::new(server, SharedClientOptions::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_hangs_costs_half_a_second_every_half_minute() {
        let (server, client) = client();
        let start = Instant::now();
        for _ in 0..100 {
            assert_eq!(client.get("x").await, None);
        }
        assert_eq!(start.elapsed(), Duration::from_millis(500));
        assert_eq!(server.asked.load(Ordering::SeqCst), 1);
        tokio::time::sleep(Duration::from_secs(30)).await;
        // Of the calls that come then, only one asks the server.
        let (one, other) = tokio::join!(client.get("x"), client.get("x"));
        assert_eq!((one, other), (None, None));
        assert_eq!(server.asked.load(Ordering::SeqCst), 2);
        server.well.store(1, Ordering::SeqCst);
        assert_eq!(client.get("x").await, None, "still left alone");
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(client.get("x").await, Some(None));
        assert_eq!(client.get("x").await, Some(None));
        assert_eq!(client.counts().errors.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_server_is_still_read() {
        let (server, client) = client();
        assert_eq!(client.put("x", b"", Duration::ZERO).await, None);
        server.well.store(1, Ordering::SeqCst);
        assert_eq!(client.put("x", b"", Duration::ZERO).await, None, "left alone");
        assert_eq!(server.asked.load(Ordering::SeqCst), 1);
        assert_eq!(client.get("x").await, Some(None));
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(client.put("x", b"", Duration::ZERO).await, Some(()));
    }
}
