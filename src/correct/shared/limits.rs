//! Rate limits that all machines share, so that together they stay within what the model's provider
//! allows. While the shared server is unavailable, each process applies them by itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::SharedClient;
use crate::correct::RateLimiter;
use crate::port::{BoxFuture, Gate, TokenBucket};

/// The longest wait of a request for its token. It is also at most a quarter of the time that the
/// call has left, so that the answer has time to arrive.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Token buckets on a shared server.
#[derive(Debug)]
pub struct SharedLimits {
    client: Arc<SharedClient>,
    buckets: Vec<TokenBucket>,
    /// The same buckets for this process alone, while the server is unavailable.
    local: Vec<RateLimiter>,
}

impl SharedLimits {
    /// Limits by `buckets`: each request takes one token out of each.
    pub fn new(client: Arc<SharedClient>, buckets: Vec<TokenBucket>) -> Self {
        let local =
            buckets.iter().map(|bucket| RateLimiter::new(bucket.capacity, bucket.refill_time()));
        let local = local.collect();
        Self { client, buckets, local }
    }

    /// Takes a token from each bucket and returns zero, or returns how long to wait.
    async fn take(&self) -> Duration {
        if let Some(wait) = self.client.take(&self.buckets).await {
            return wait.unwrap_or_default();
        }
        for (index, limiter) in self.local.iter().enumerate() {
            if let Err(wait) = limiter.take() {
                self.local[..index].iter().for_each(RateLimiter::give_back);
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
                        "the limit of model calls that all machines share is reached for {} s; send the call again after that",
                        wait.as_secs() + 1
                    ));
                }
                waited = true;
                sleep(wait).await;
            }
        })
    }
}
