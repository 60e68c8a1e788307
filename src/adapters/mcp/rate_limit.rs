//! The limits of one token: calls a minute, and questions to the model an hour.

use std::fmt;
use std::sync::Arc;

pub use crate::correct::RateLimiter;
use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, Reply};

/// A corrector that passes on no more questions than its rate limiter allows.
pub struct RateLimitedCorrector {
    inner: Arc<dyn Corrector>,
    limiter: Arc<RateLimiter>,
}

impl RateLimitedCorrector {
    /// Passes questions on to `inner` as `limiter` allows; several correctors may share a limiter.
    pub fn new(inner: Arc<dyn Corrector>, limiter: Arc<RateLimiter>) -> Self {
        Self { inner, limiter }
    }
}

impl fmt::Debug for RateLimitedCorrector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitedCorrector")
            .field("limiter", &self.limiter)
            .finish_non_exhaustive()
    }
}

impl Corrector for RateLimitedCorrector {
    fn is_available(&self) -> bool {
        self.inner.is_available()
    }

    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        Box::pin(async move {
            if let Err(wait) = self.limiter.take() {
                return Err(CorrectorError::Skipped(format!(
                    "this token may ask the model no more questions for {} s",
                    wait.as_secs() + 1
                )));
            }
            let calls_before = budget.spent().calls;
            let answer = self.inner.correct(ask, budget).await;
            // The answer came from a cache, or the question was not sent.
            if budget.spent().calls == calls_before {
                self.limiter.give_back();
            }
            answer
        })
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        self.inner.rejected(ask)
    }
}
