//! Bounds around a corrector: the call's deadline, how many asks run at once, and a
//! circuit breaker, so that a dead endpoint costs its time once and not per edit.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, Reply};

/// The bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Asks that run at once.
    pub concurrency: usize,
    /// Failures in a row after which nobody is asked for a while.
    pub failures: u32,
    /// How long that is.
    pub pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrency: 4, failures: 3, pause: Duration::from_secs(30) }
    }
}

/// A corrector within bounds.
#[derive(Debug)]
pub struct Limited<C> {
    inner: C,
    limits: Limits,
    permits: Semaphore,
    circuit: Mutex<Circuit>,
}

#[derive(Debug, Default)]
struct Circuit {
    failures: u32,
    closed_until: Option<Instant>,
}

impl<C> Limited<C> {
    /// Puts bounds around a corrector.
    pub fn new(inner: C, limits: Limits) -> Self {
        let permits = Semaphore::new(limits.concurrency.max(1));
        Self { inner, limits, permits, circuit: Mutex::default() }
    }

    fn circuit(&self) -> std::sync::MutexGuard<'_, Circuit> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses while the pause lasts; afterwards one ask at a time finds out.
    fn enter(&self) -> Result<(), CorrectorError> {
        let mut circuit = self.circuit();
        let now = Instant::now();
        match circuit.closed_until {
            Some(until) if now < until => Err(CorrectorError::Skipped(format!(
                "the endpoint failed {} times in a row and is left alone for {} s",
                circuit.failures,
                (until - now).as_secs() + 1
            ))),
            Some(_) => {
                circuit.closed_until = Some(now + self.limits.pause);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn leave(&self, answer: &Result<Reply, CorrectorError>) {
        let mut circuit = self.circuit();
        match answer {
            Ok(_) => *circuit = Circuit::default(),
            Err(CorrectorError::Timeout | CorrectorError::Failed(_)) => {
                circuit.failures = circuit.failures.saturating_add(1);
                if circuit.failures >= self.limits.failures {
                    circuit.closed_until = Some(Instant::now() + self.limits.pause);
                }
            }
            // Nobody was asked, so nothing was learnt.
            Err(_) => {}
        }
    }
}

impl<C: Corrector> Corrector for Limited<C> {
    fn is_available(&self) -> bool {
        self.inner.is_available()
    }

    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        Box::pin(async move {
            self.enter()?;
            let bounded = async {
                let _permit = self
                    .permits
                    .acquire()
                    .await
                    .map_err(|_| CorrectorError::Failed("the corrector is shut down".into()))?;
                self.inner.correct(ask, budget).await
            };
            let answer = timeout_at(budget.deadline(), bounded)
                .await
                .unwrap_or(Err(CorrectorError::Timeout));
            self.leave(&answer);
            answer
        })
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        self.inner.rejected(ask)
    }
}
