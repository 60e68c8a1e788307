//! A token bucket for one process.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A token bucket that holds `capacity` tokens and gains as many again in each period.
#[derive(Debug)]
pub struct RateLimiter {
    capacity: f64,
    period: Duration,
    /// The tokens that were left at the last use, and the time of that use.
    state: Mutex<(f64, Instant)>,
}

impl RateLimiter {
    /// A full bucket of `capacity` tokens that refills in `period`.
    pub fn new(capacity: u32, period: Duration) -> Self {
        let capacity = f64::from(capacity);
        Self { capacity, period, state: Mutex::new((capacity, Instant::now())) }
    }

    /// Takes a token, or returns how long it takes until there is one.
    pub fn take(&self) -> Result<(), Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, last_use) = *state;
        let now = Instant::now();
        let gained = self.capacity * (now - last_use).as_secs_f64() / self.period.as_secs_f64();
        let left = (left + gained).min(self.capacity);
        if left >= 1.0 {
            *state = (left - 1.0, now);
            return Ok(());
        }
        *state = (left, now);
        Err(self.period.mul_f64((1.0 - left) / self.capacity.max(f64::MIN_POSITIVE)))
    }

    /// Puts back a token that was not used.
    pub fn give_back(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = (state.0 + 1.0).min(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_rate_fills_again_with_time() {
        let rate = RateLimiter::new(2, Duration::from_secs(60));
        assert_eq!((rate.take(), rate.take()), (Ok(()), Ok(())));
        let wait = rate.take().expect_err("empty");
        assert_eq!(wait.as_secs_f64().round(), 30.0);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(rate.take(), Ok(()));
        assert!(rate.take().is_err());
        rate.give_back();
        assert_eq!(rate.take(), Ok(()));
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!((rate.take(), rate.take(), rate.take().is_err()), (Ok(()), Ok(()), true));
    }
}
