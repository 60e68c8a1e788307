//! The interface to a server that processes on several machines share: it holds small values by
//! name, and counts requests for limits that apply to all processes together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::BoxFuture;

/// Why a request failed, for logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SharedError {
    /// The server does not answer, or answers with an error.
    #[error("{0}")]
    Unavailable(String),
    /// The server is full: it stores no new values, but existing ones can be read.
    #[error("{0}")]
    Full(String),
}

/// A bucket of tokens. Each request to a model takes one token.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenBucket {
    /// Its name on the server.
    pub name: String,
    /// How many tokens it can hold.
    pub capacity: u32,
    /// How many tokens are added each minute.
    pub refill_per_minute: f64,
}

impl TokenBucket {
    /// A bucket that allows at most `limit` requests in any minute, a tenth of them at once.
    pub fn per_minute(limit: std::num::NonZeroU32, name: String) -> Self {
        let limit = limit.get();
        // A tenth, rounded up.
        let capacity = 1 + (limit - 1) / 10;
        // A minute that begins with a full bucket allows `capacity` requests and one for each token
        // added, except the token that is added when the minute is over.
        let refill = limit - capacity + 1;
        Self { name, capacity, refill_per_minute: f64::from(refill) }
    }

    /// How long an empty bucket takes to become full.
    pub fn refill_time(&self) -> Duration {
        Duration::from_secs_f64(
            60.0 * f64::from(self.capacity) / self.refill_per_minute.max(f64::MIN_POSITIVE),
        )
    }
}

/// A server for small values. A value may disappear at any moment, and other programs may write to
/// the server, so callers must check what they read.
pub trait SharedValues: Send + Sync {
    /// Reads a value; only a part of it if it is longer than any value that restitch writes.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, SharedError>>;

    /// Writes a value for the time `ttl`, whether or not there is one.
    fn put<'a>(
        &'a self,
        name: &'a str,
        value: &'a [u8],
        ttl: Duration,
    ) -> BoxFuture<'a, Result<(), SharedError>>;

    /// Writes a value if there is none; `false` if there is one.
    fn put_new<'a>(
        &'a self,
        name: &'a str,
        value: &'a [u8],
        ttl: Duration,
    ) -> BoxFuture<'a, Result<bool, SharedError>>;

    /// Replaces the value `old` by `new`, or removes it; `false` if the current value is not `old`.
    fn replace<'a>(
        &'a self,
        name: &'a str,
        old: &'a [u8],
        new: Option<(&'a [u8], Duration)>,
    ) -> BoxFuture<'a, Result<bool, SharedError>>;

    /// Takes one token out of each bucket and returns `None`. If a bucket is empty, takes no token at
    /// all and returns the time until each bucket has one.
    fn take<'a>(
        &'a self,
        buckets: &'a [TokenBucket],
    ) -> BoxFuture<'a, Result<Option<Duration>, SharedError>>;
}

/// Decides whether one more request may be sent to the model.
pub trait Gate: Send + Sync {
    /// Allows a request, if need be after a short wait before the deadline; the error says why not.
    fn pass(&self, deadline: Instant) -> BoxFuture<'_, Result<(), String>>;
}

/// Counts of how one process used the shared server.
#[derive(Debug, Default)]
pub struct SharedCounts {
    /// Answers that came from another process.
    pub hits: AtomicU64,
    /// Questions without a shared answer.
    pub misses: AtomicU64,
    /// Questions that waited for another process.
    pub waits: AtomicU64,
    /// Values that were not used because they were not sealed with the secret.
    pub unsealed: AtomicU64,
    /// How often the server was unavailable, slow or full.
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
