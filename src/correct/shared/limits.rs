//! Limits that all machines keep together, so that a fleet does not run over what its
//! provider allows. While the server is away, each process keeps to them by itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::SharedClient;
use crate::correct::RateLimiter;
use crate::port::{BoxFuture, Gate, TokenBucket};

/// At most so long a request waits for its turn, and at most a quarter of the time that its
/// call has left: the rest is for the answer.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Buckets on a shared server.
#[derive(Debug)]
pub struct SharedLimits {
    client: Arc<SharedClient>,
    buckets: Vec<TokenBucket>,
    local: Vec<RateLimiter>,
}

impl SharedLimits {
    /// Each request takes one token out of each of these.
    pub fn new(client: Arc<SharedClient>, buckets: Vec<TokenBucket>) -> Self {
        let local =
            buckets.iter().map(|bucket| RateLimiter::new(bucket.capacity, bucket.refill_time()));
        let local = local.collect();
        Self { client, buckets, local }
    }

    /// How long it is until there is a token; zero when one was taken.
    async fn take(&self) -> Duration {
        if let Some(wait) = self.client.take(&self.buckets).await {
            return wait.unwrap_or_default();
        }
        for (at, rate) in self.local.iter().enumerate() {
            if let Err(wait) = rate.take() {
                self.local[..at].iter().for_each(RateLimiter::give_back);
                return wait.max(Duration::from_millis(1));
            }
        }
        Duration::ZERO
    }
}

impl Gate for SharedLimits {
    fn pass(&self, deadline: Instant) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let started = Instant::now();
            let max_wait = MAX_WAIT.min(deadline.saturating_duration_since(started) / 4);
            let counts = self.client.counts();
            let mut waited = false;
            loop {
                let wait = self.take().await;
                if wait.is_zero() {
                    counts.slowed.fetch_add(u64::from(waited), Ordering::Relaxed);
                    return Ok(());
                }
                if started.elapsed() + wait > max_wait {
                    counts.rate_limited.fetch_add(1, Ordering::Relaxed);
                    return Err(format!(
                        "the limit of model calls that all machines share is reached for {} s; send the call again then",
                        wait.as_secs() + 1
                    ));
                }
                waited = true;
                sleep(wait).await;
            }
        })
    }
}
