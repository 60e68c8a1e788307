//! Limits around a corrector: the call's deadline, how many questions run at once, and a circuit
//! breaker, so that a dead server costs its timeout once and not for each edit.
//!
//! A slow server is not a dead one: for a while, questions as large as those that timed out are
//! skipped, and smaller ones are still asked.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::size::prompt_bytes;
use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, Reply};

/// The limits of a corrector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many questions are asked at once.
    pub concurrency: usize,
    /// How many failures in a row start a pause.
    pub failures: u32,
    /// How long no request is sent in a pause.
    pub pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrency: 4, failures: 3, pause: Duration::from_secs(30) }
    }
}

/// A corrector within limits.
#[derive(Debug)]
pub struct Limited<C> {
    inner: C,
    limits: Limits,
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
    /// Timeouts in a row.
    timeouts: u32,
    /// The size of the smallest question that timed out; `None` again once a question of about that
    /// size or more is answered, or any question while `slow_until` is not set.
    slow_bytes: Option<usize>,
    /// Until then, questions of about that size or more are skipped.
    slow_until: Option<Instant>,
    /// The size of the smallest question that did not fit the server's context, and until when
    /// questions of that size or more are skipped.
    too_long: Option<(usize, Instant)>,
}

impl Circuit {
    /// Whether a question is about as large as one that timed out, or larger.
    fn is_slow(&self, bytes: usize) -> bool {
        self.slow_bytes.is_some_and(|slow| bytes > slow / 2)
    }

    /// Records that a question of this size was answered.
    fn record_answer(&mut self, bytes: usize) {
        (self.failures, self.open_until) = (0, None);
        if self.is_slow(bytes) || self.slow_until.is_none() {
            (self.timeouts, self.slow_bytes, self.slow_until) = (0, None, None);
        }
        if self.too_long.is_some_and(|(long, _)| bytes >= long) {
            self.too_long = None;
        }
    }
}

impl<C> Limited<C> {
    /// Puts limits around a corrector.
    pub fn new(inner: C, limits: Limits) -> Self {
        let permits = Semaphore::new(limits.concurrency.max(1));
        Self { inner, limits, permits, circuit: Mutex::default() }
    }

    fn circuit(&self) -> std::sync::MutexGuard<'_, Circuit> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails during a pause. After a pause, one question is let through as a test, and the next pause
    /// begins.
    fn admit(&self, bytes: usize) -> Result<(), CorrectorError> {
        let mut circuit = self.circuit();
        let now = Instant::now();
        let seconds = |until: Instant| (until - now).as_millis().div_ceil(1000);
        if let Some((long, until)) = circuit.too_long.filter(|(long, _)| bytes >= *long) {
            if now < until {
                return Err(CorrectorError::Skipped(format!(
                    "a question of {long} bytes did not fit the server's context, and this one has {bytes}; such questions are tried again in {} s",
                    seconds(until)
                )));
            }
            circuit.too_long = Some((long, now + self.limits.pause));
        }
        if circuit.is_slow(bytes)
            && let Some(until) = circuit.slow_until
        {
            if now < until {
                return Err(CorrectorError::Skipped(format!(
                    "the model gave no answer in time {} times in a row; questions of this size are skipped for another {} s. Send the call again after that, or raise model.timeout",
                    circuit.timeouts,
                    seconds(until)
                )));
            }
            circuit.slow_until = Some(now + self.limits.pause);
        }
        match circuit.open_until {
            Some(until) if now < until => Err(CorrectorError::Skipped(format!(
                "the model gave no usable answer {} times in a row, so no request is sent for another {} s; send the call again after that",
                circuit.failures,
                seconds(until)
            ))),
            Some(_) => {
                circuit.open_until = Some(now + self.limits.pause);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Records the outcome of a question of this size, which may start or end a pause.
    fn record_outcome(&self, bytes: usize, answer: &Result<Reply, CorrectorError>) {
        let mut circuit = self.circuit();
        let pause_end = Instant::now() + self.limits.pause;
        match answer {
            Ok(_) => circuit.record_answer(bytes),
            Err(CorrectorError::Failed(_)) => {
                circuit.failures = circuit.failures.saturating_add(1);
                if circuit.failures >= self.limits.failures {
                    circuit.open_until = Some(pause_end);
                }
            }
            Err(CorrectorError::Timeout) => {
                circuit.timeouts = circuit.timeouts.saturating_add(1);
                circuit.slow_bytes = Some(circuit.slow_bytes.map_or(bytes, |b| b.min(bytes)));
                if circuit.timeouts >= self.limits.failures {
                    circuit.slow_until = Some(pause_end);
                }
            }
            Err(CorrectorError::ContextTooLong(_)) => {
                let smallest = circuit.too_long.map_or(bytes, |(long, _)| long.min(bytes));
                circuit.too_long = Some((smallest, pause_end));
            }
            // No request was sent, so nothing was learnt.
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
            let bytes = prompt_bytes(ask);
            self.admit(bytes)?;
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
            self.record_outcome(bytes, &answer);
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
    use crate::text::ContentHash;

    /// A server that takes a millisecond per byte and has a context of `room` bytes.
    struct Server {
        room: usize,
    }

    impl Corrector for Server {
        fn correct<'a>(
            &'a self,
            ask: &'a Ask,
            _budget: &'a Budget,
        ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
            Box::pin(async move {
                let bytes = prompt_bytes(ask);
                if bytes > self.room {
                    return Err(CorrectorError::ContextTooLong("too long".into()));
                }
                tokio::time::sleep(Duration::from_millis(u64::try_from(bytes).expect("small")))
                    .await;
                Ok(Reply::Text("x".into()))
            })
        }
    }

    fn ask(bytes: usize) -> Ask {
        Ask::RepairEscapes {
            path: "a".into(),
            file: ContentHash::of(b""),
            old: String::new(),
            new: "n".repeat(bytes),
        }
    }

    async fn call(limited: &Limited<Server>, bytes: usize) -> Result<Reply, CorrectorError> {
        limited.correct(&ask(bytes), &Budget::new(Duration::from_secs(1), 4)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_server_gets_small_questions_and_another_chance() {
        let limited = Limited::new(Server { room: usize::MAX }, Limits::default());
        for _ in 0..3 {
            assert_eq!(call(&limited, 3000).await, Err(CorrectorError::Timeout));
        }
        let start = Instant::now();
        let Err(CorrectorError::Skipped(why)) = call(&limited, 2900).await else {
            panic!("a large question is left out");
        };
        assert!(why.contains("no answer in time 3 times") && why.contains("30 s"), "{why}");
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert!(call(&limited, 500).await.is_ok(), "a small one goes through");
        assert!(matches!(call(&limited, 2900).await, Err(CorrectorError::Skipped(_))));
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(call(&limited, 2900).await, Err(CorrectorError::Timeout), "tried again");
        assert!(matches!(call(&limited, 2900).await, Err(CorrectorError::Skipped(_))));
        // What it answers at that size opens the way again.
        tokio::time::sleep(Duration::from_secs(31)).await;
        limited.record_outcome(2900, &Ok(Reply::Declined));
        assert_eq!(call(&limited, 2900).await, Err(CorrectorError::Timeout));
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_fit_the_context_is_not_sent_again_and_again() {
        let limited = Limited::new(Server { room: 600 }, Limits::default());
        assert!(matches!(call(&limited, 800).await, Err(CorrectorError::ContextTooLong(_))));
        let Err(CorrectorError::Skipped(why)) = call(&limited, 900).await else {
            panic!("a longer question is left out");
        };
        assert!(why.contains("context") && why.contains("800"), "{why}");
        assert!(call(&limited, 500).await.is_ok());
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(matches!(call(&limited, 900).await, Err(CorrectorError::ContextTooLong(_))));
    }
}
