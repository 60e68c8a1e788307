//! What one holder of a token may use up: calls a minute, and questions to the model an hour.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, Reply};

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

/// A corrector that is asked no more often than its caller may.
pub struct Budgeted {
    inner: Arc<dyn Corrector>,
    asks: Arc<Rate>,
}

impl Budgeted {
    /// The same corrector within `asks`, which several may share.
    pub fn new(inner: Arc<dyn Corrector>, asks: Arc<Rate>) -> Self {
        Self { inner, asks }
    }
}

impl fmt::Debug for Budgeted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budgeted").field("asks", &self.asks).finish_non_exhaustive()
    }
}

impl Corrector for Budgeted {
    fn is_available(&self) -> bool {
        self.inner.is_available()
    }

    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        Box::pin(async move {
            if let Err(wait) = self.asks.take() {
                return Err(CorrectorError::Skipped(format!(
                    "this token's budget of questions to the model is used up for {} s",
                    wait.as_secs() + 1
                )));
            }
            let before = budget.spent().calls;
            let answer = self.inner.correct(ask, budget).await;
            // From a cache, or not sent at all.
            if budget.spent().calls == before {
                self.asks.give_back();
            }
            answer
        })
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        self.inner.rejected(ask)
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
