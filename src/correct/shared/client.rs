//! The client of a shared server. Every request is bounded in time, and after a failure no request
//! is sent for a while. A failure is logged once until the server works again, and no call fails
//! because of it.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::port::{SharedCounts, SharedError, SharedValues, TokenBucket};

/// How long a client waits for a shared server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedClientOptions {
    /// The longest time of one request.
    pub time: Duration,
    /// How long no request is sent after a failure.
    pub pause: Duration,
}

impl Default for SharedClientOptions {
    fn default() -> Self {
        Self { time: Duration::from_millis(500), pause: Duration::from_secs(30) }
    }
}

/// The client of a shared server that may be unavailable. A request returns `None` if the caller is
/// to go on without the server.
pub struct SharedClient {
    values: Arc<dyn SharedValues>,
    options: SharedClientOptions,
    state: Mutex<State>,
    counts: Arc<SharedCounts>,
}

#[derive(Debug, Default)]
struct State {
    /// No request works.
    unavailable: Outage,
    /// Reads work, writes do not.
    full: Outage,
}

/// A time in which no request is sent.
#[derive(Debug, Default)]
struct Outage {
    until: Option<Instant>,
}

impl Outage {
    /// Returns whether the next request must be skipped. When a pause is over, one request may try
    /// the server, and the next pause begins.
    fn skips_next_request(&mut self, pause: Duration) -> bool {
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

    /// Starts the outage or restarts its pause; returns `true` if there was no outage before.
    fn start(&mut self, pause: Duration) -> bool {
        self.until.replace(Instant::now() + pause).is_none()
    }

    /// Ends the outage; returns `true` if there was one.
    fn end(&mut self) -> bool {
        self.until.take().is_some()
    }
}

/// Whether a request reads from the server or writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl fmt::Debug for SharedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedClient").field("options", &self.options).finish_non_exhaustive()
    }
}

impl SharedClient {
    /// A client of the server behind `values`.
    pub fn new(values: Arc<dyn SharedValues>, options: SharedClientOptions) -> Self {
        Self { values, options, state: Mutex::default(), counts: Arc::default() }
    }

    /// The counts of what has happened so far.
    pub fn counts(&self) -> &Arc<SharedCounts> {
        &self.counts
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a request with a time limit; `None` if it fails, or if it is skipped during an outage.
    async fn run<T>(
        &self,
        access: Access,
        request: impl Future<Output = Result<T, SharedError>>,
    ) -> Option<T> {
        let pause = self.options.pause;
        {
            let mut state = self.state();
            if state.unavailable.skips_next_request(pause)
                || (access == Access::Write && state.full.skips_next_request(pause))
            {
                return None;
            }
        }
        let result = timeout(self.options.time, request).await.unwrap_or_else(|_| {
            let millis = self.options.time.as_millis();
            Err(SharedError::Unavailable(format!("it does not answer within {millis} ms")))
        });
        let mut state = self.state();
        let seconds = pause.as_secs();
        match result {
            Ok(value) => {
                let is_back = state.unavailable.end();
                if is_back || (access == Access::Write && state.full.end()) {
                    tracing::info!("the shared cache works again");
                }
                Some(value)
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

    /// The value of a name; `Some(None)` if there is no value.
    pub(super) async fn get(&self, name: &str) -> Option<Option<Vec<u8>>> {
        self.run(Access::Read, self.values.get(name)).await
    }

    /// Sets the value of a name.
    pub(super) async fn put(&self, name: &str, value: &[u8], ttl: Duration) -> Option<()> {
        self.run(Access::Write, self.values.put(name, value, ttl)).await
    }

    /// Sets the value of a name that has none; `Some(false)` if it has one.
    pub(super) async fn put_new(&self, name: &str, value: &[u8], ttl: Duration) -> Option<bool> {
        self.run(Access::Write, self.values.put_new(name, value, ttl)).await
    }

    /// Sets or deletes the value of a name if it is `old`; `Some(false)` if it is not.
    pub(super) async fn replace(
        &self,
        name: &str,
        old: &[u8],
        new: Option<(&[u8], Duration)>,
    ) -> Option<bool> {
        self.run(Access::Write, self.values.replace(name, old, new)).await
    }

    /// Takes a token from each bucket and returns `Some(None)`, or takes none and returns how long to
    /// wait.
    pub(super) async fn take(&self, buckets: &[TokenBucket]) -> Option<Option<Duration>> {
        self.run(Access::Write, self.values.take(buckets)).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;
    use crate::port::BoxFuture;

    /// A server that, until `well` is 1, answers no read and rejects each write as full.
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
