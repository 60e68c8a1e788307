//! Limits around a corrector: the call's deadline, how many questions run at once, and a circuit
//! breaker, so that a dead or slow server costs its timeout a few times and not for each edit.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, FutureReply, Reply};

/// How many questions are asked at once.
const CONCURRENCY: usize = 4;
/// How many failures in a row start a pause.
const FAILURES: u32 = 3;
/// How long no request is sent in a pause.
const PAUSE: Duration = Duration::from_secs(30);

/// A corrector within limits.
#[derive(Debug)]
pub struct Limited<C> {
    inner: C,
    permits: Semaphore,
    circuit: Mutex<Circuit>,
}

/// The state of the circuit breaker.
#[derive(Debug, Default)]
struct Circuit {
    /// Failures in a row.
    failures: u32,
    /// Until then, no question is sent.
    open_until: Option<Instant>,
}

impl<C> Limited<C> {
    /// Puts limits around a corrector.
    pub fn new(inner: C) -> Self {
        Self { inner, permits: Semaphore::new(CONCURRENCY), circuit: Mutex::default() }
    }

    /// Fails during a pause. After a pause, one question is let through as a test, and the next pause
    /// begins.
    fn admit(&self) -> Result<(), CorrectorError> {
        let mut circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let Some(until) = circuit.open_until else { return Ok(()) };
        if now < until {
            return Err(CorrectorError::Skipped(format!(
                "the model gave no usable answer in time, {} times in a row, so no request is sent for another {} s; send the call again after that, or raise model.timeout",
                circuit.failures,
                (until - now).as_millis().div_ceil(1000)
            )));
        }
        circuit.open_until = Some(now + PAUSE);
        Ok(())
    }

    /// Records the outcome of a question, which may start or end a pause.
    fn record_outcome(&self, answer: &Result<Reply, CorrectorError>) {
        let mut circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Ok(_) => *circuit = Circuit::default(),
            Err(CorrectorError::Failed(_) | CorrectorError::Timeout) => {
                circuit.failures = circuit.failures.saturating_add(1);
                if circuit.failures >= FAILURES {
                    circuit.open_until = Some(Instant::now() + PAUSE);
                }
            }
            // No request was sent, so nothing was learnt.
            Err(_) => {}
        }
    }
}

impl<C: Corrector> Corrector for Limited<C> {
    fn correct<'a>(&'a self, ask: &'a Ask, budget: &'a Budget) -> FutureReply<'a> {
        Box::pin(async move {
            self.admit()?;
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
            self.record_outcome(&answer);
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
    use crate::port::Question;
    use crate::text::ContentHash;

    /// A server that takes so many milliseconds.
    struct Server {
        millis: Mutex<u64>,
    }

    impl Corrector for Server {
        fn correct<'a>(&'a self, _ask: &'a Ask, _budget: &'a Budget) -> FutureReply<'a> {
            let millis = *self.millis.lock().expect("sound");
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                Ok(Reply::Text("x".into()))
            })
        }
    }

    async fn call(limited: &Limited<Server>) -> Result<Reply, CorrectorError> {
        let (path, old, new) = ("a".into(), String::new(), "n".into());
        let (file, question) = (ContentHash::of(b""), Question::RepairEscapes);
        let ask = Ask { path, file, old, new, question };
        limited.correct(&ask, &Budget::new(Duration::from_secs(1), 4)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_too_slow_three_times_gets_a_pause_and_another_chance() {
        let limited = Limited::new(Server { millis: Mutex::new(3000) });
        for _ in 0..3 {
            assert_eq!(call(&limited).await, Err(CorrectorError::Timeout));
        }
        let start = Instant::now();
        let Err(CorrectorError::Skipped(why)) = call(&limited).await else {
            panic!("the question is left out");
        };
        assert!(why.contains("3 times in a row") && why.contains("30 s"), "{why}");
        assert_eq!(start.elapsed(), Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(call(&limited).await, Err(CorrectorError::Timeout), "tried again");
        assert!(matches!(call(&limited).await, Err(CorrectorError::Skipped(_))));
        // An answer opens the way again.
        tokio::time::sleep(Duration::from_secs(31)).await;
        *limited.inner.millis.lock().expect("sound") = 10;
        assert!(call(&limited).await.is_ok());
        *limited.inner.millis.lock().expect("sound") = 3000;
        assert_eq!(call(&limited).await, Err(CorrectorError::Timeout));
        assert_eq!(call(&limited).await, Err(CorrectorError::Timeout));
    }
}
