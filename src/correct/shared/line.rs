//! The line to a shared server: every request is bounded in time, and after a failure the
//! server is left alone for a while. Told once until it works again; never an error.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::port::{SharedCounts, SharedTrouble, SharedValues, TokenBucket};

/// How much a shared server may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineOptions {
    /// A request that takes longer has failed.
    pub time: Duration,
    /// How long the server is left alone after that.
    pub pause: Duration,
}

impl Default for LineOptions {
    fn default() -> Self {
        Self { time: Duration::from_millis(500), pause: Duration::from_secs(30) }
    }
}

/// A shared server that may be away. `None` from any request: go on without it.
pub struct Line {
    values: Arc<dyn SharedValues>,
    options: LineOptions,
    state: Mutex<State>,
    counts: Arc<SharedCounts>,
}

#[derive(Debug, Default)]
struct State {
    away: Spell,
    full: Spell,
}

/// A time of trouble.
#[derive(Debug, Default)]
struct Spell {
    until: Option<Instant>,
}

impl Spell {
    /// Whether to keep away. Of those who come when the time is over, one finds out.
    fn lasts(&mut self, pause: Duration) -> bool {
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

    /// `true` when this is news.
    fn begin(&mut self, pause: Duration) -> bool {
        self.until.replace(Instant::now() + pause).is_none()
    }

    fn end(&mut self) -> bool {
        self.until.take().is_some()
    }
}

/// What a request does there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Read,
    Write,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Line {
    /// A line to that server.
    pub fn new(values: Arc<dyn SharedValues>, options: LineOptions) -> Self {
        Self { values, options, state: Mutex::default(), counts: Arc::default() }
    }

    /// What came of it so far.
    pub fn counts(&self) -> &Arc<SharedCounts> {
        &self.counts
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run<T>(
        &self,
        does: Does,
        work: impl Future<Output = Result<T, SharedTrouble>>,
    ) -> Option<T> {
        let pause = self.options.pause;
        {
            let mut state = self.state();
            if state.away.lasts(pause) || (does == Does::Write && state.full.lasts(pause)) {
                return None;
            }
        }
        let done = timeout(self.options.time, work).await.unwrap_or_else(|_| {
            let millis = self.options.time.as_millis();
            Err(SharedTrouble::Away(format!("it does not answer within {millis} ms")))
        });
        let mut state = self.state();
        let seconds = pause.as_secs();
        match done {
            Ok(done) => {
                let is_back = state.away.end();
                if is_back || (does == Does::Write && state.full.end()) {
                    tracing::info!("the shared cache works again");
                }
                Some(done)
            }
            Err(SharedTrouble::Full(why)) => {
                self.counts.errors.fetch_add(1, Ordering::Relaxed);
                state.away.end();
                if state.full.begin(pause) {
                    tracing::warn!(
                        "the shared cache takes nothing new ({why}); edits go on without it, and it is tried again every {seconds} s"
                    );
                }
                None
            }
            Err(SharedTrouble::Away(why)) => {
                self.counts.errors.fetch_add(1, Ordering::Relaxed);
                if state.away.begin(pause) {
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
        self.run(Does::Read, self.values.get(name)).await
    }

    pub(super) async fn put(&self, name: &str, value: &[u8], life: Duration) -> Option<()> {
        self.run(Does::Write, self.values.put(name, value, life)).await
    }

    pub(super) async fn put_new(&self, name: &str, value: &[u8], life: Duration) -> Option<bool> {
        self.run(Does::Write, self.values.put_new(name, value, life)).await
    }

    pub(super) async fn replace(
        &self,
        name: &str,
        old: &[u8],
        new: Option<(&[u8], Duration)>,
    ) -> Option<bool> {
        self.run(Does::Write, self.values.replace(name, old, new)).await
    }

    pub(super) async fn take(&self, buckets: &[TokenBucket]) -> Option<Option<Duration>> {
        self.run(Does::Write, self.values.take(buckets)).await
    }
}
