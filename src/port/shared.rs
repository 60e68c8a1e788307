//! What processes on several machines share: small values by name that come and go, and
//! limits that all of them keep together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::BoxFuture;

/// Why a request failed, for logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SharedError {
    /// The server does not answer, or does not do what it is asked.
    #[error("{0}")]
    Unavailable(String),
    /// It takes nothing new; what it has can still be read.
    #[error("{0}")]
    Full(String),
}

/// A bucket of tokens, of which each request to a model takes one.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenBucket {
    /// Its name; it is on the server.
    pub name: String,
    /// How many it holds.
    pub capacity: u32,
    /// How many come back in a minute.
    pub refill_per_minute: f64,
}

impl TokenBucket {
    /// Lets at most `most` through in any minute, a tenth of them at once.
    pub fn per_minute(most: std::num::NonZeroU32, name: String) -> Self {
        let most = most.get();
        let capacity = 1 + (most - 1) / 10;
        Self { name, capacity, refill_per_minute: f64::from(most - capacity + 1) }
    }

    /// How long an empty one takes to be full.
    pub fn refill_time(&self) -> Duration {
        Duration::from_secs_f64(
            60.0 * f64::from(self.capacity) / self.refill_per_minute.max(f64::MIN_POSITIVE),
        )
    }
}

/// A server for small values. Any of them may be gone at any moment, and others may write
/// there: what is read is not trusted before it was checked.
pub trait SharedValues: Send + Sync {
    /// The value. Of one that is longer than anything we write, only a part.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, SharedError>>;

    /// Puts a value in the place of whatever is there, for so long.
    fn put<'a>(
        &'a self,
        name: &'a str,
        value: &'a [u8],
        ttl: Duration,
    ) -> BoxFuture<'a, Result<(), SharedError>>;

    /// Puts a value where there is none; `false` when there is one.
    fn put_new<'a>(
        &'a self,
        name: &'a str,
        value: &'a [u8],
        ttl: Duration,
    ) -> BoxFuture<'a, Result<bool, SharedError>>;

    /// Puts a value in the place of exactly `old`, or removes that; `false` when something
    /// else is there.
    fn replace<'a>(
        &'a self,
        name: &'a str,
        old: &'a [u8],
        new: Option<(&'a [u8], Duration)>,
    ) -> BoxFuture<'a, Result<bool, SharedError>>;

    /// Takes one token out of each bucket, or none out of any and says how long it is until
    /// each has one.
    fn take<'a>(
        &'a self,
        buckets: &'a [TokenBucket],
    ) -> BoxFuture<'a, Result<Option<Duration>, SharedError>>;
}

/// Decides whether one more request may be sent to the model.
pub trait Gate: Send + Sync {
    /// Waits a little if that helps and the deadline allows it; otherwise says why not.
    fn pass(&self, deadline: Instant) -> BoxFuture<'_, Result<(), String>>;
}

/// Counts of what one process shared.
#[derive(Debug, Default)]
pub struct SharedCounts {
    /// Answers that another process had, or was just getting.
    pub hits: AtomicU64,
    /// Questions without a shared answer.
    pub misses: AtomicU64,
    /// Questions that waited for another process.
    pub waits: AtomicU64,
    /// Values that were not sealed with the secret, and were not used.
    pub unsealed: AtomicU64,
    /// Times that the server was unavailable, slow or full.
    pub errors: AtomicU64,
    /// Requests to the model that waited for a limit.
    pub slowed: AtomicU64,
    /// Requests that were not sent because of a limit.
    pub rate_limited: AtomicU64,
}

impl SharedCounts {
    /// Each count by its name.
    pub fn all(&self) -> [(&'static str, u64); 7] {
        [
            ("hit", &self.hits),
            ("miss", &self.misses),
            ("waited", &self.waits),
            ("strange", &self.unsealed),
            ("error", &self.errors),
            ("slowed", &self.slowed),
            ("held_back", &self.rate_limited),
        ]
        .map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn no_minute_has_more_than_the_limit() {
        for most in [1, 2, 9, 10, 11, 60, 599, 10_000] {
            let bucket = TokenBucket::per_minute(NonZeroU32::new(most).expect("some"), "b".into());
            // All at once, then each as it comes back; the one that comes back when the minute
            // is over belongs to the next.
            let in_a_minute = f64::from(bucket.capacity) + bucket.refill_per_minute - 1.0;
            assert_eq!(in_a_minute, f64::from(most));
            assert!(bucket.refill_time() <= Duration::from_secs(60), "{bucket:?}");
        }
    }
}
