//! So many in a time: a bucket of tokens of one process.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A bucket of tokens: so many at once, and as many again in each period.
#[derive(Debug)]
pub struct Rate {
    most: f64,
    per: Duration,
    state: Mutex<(f64, Instant)>,
}

impl Rate {
    /// A full bucket of `most`, filled anew in `per`.
    pub fn new(most: u32, per: Duration) -> Self {
        let most = f64::from(most);
        Self { most, per, state: Mutex::new((most, Instant::now())) }
    }

    /// Takes one, or says how long it is until there is one.
    pub fn take(&self) -> Result<(), Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, then) = *state;
        let now = Instant::now();
        let gained = self.most * (now - then).as_secs_f64() / self.per.as_secs_f64();
        let left = (left + gained).min(self.most);
        if left >= 1.0 {
            *state = (left - 1.0, now);
            return Ok(());
        }
        *state = (left, now);
        Err(self.per.mul_f64((1.0 - left) / self.most.max(f64::MIN_POSITIVE)))
    }

    /// Puts one back that was not used.
    pub fn give_back(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = (state.0 + 1.0).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_rate_fills_again_with_time() {
        let rate = Rate::new(2, Duration::from_secs(60));
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
