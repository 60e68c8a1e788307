//! Answers that machines share: a second cache behind the cache of the process.
//!
//! If several processes ask the same question at once, only one of them asks the model. It holds a
//! lease under the question's name and renews it while it waits for the model; the others poll. A
//! lease that is not renewed is taken over, so that no process waits for a dead one. Only an answer
//! that passed the checks replaces the lease.
//!
//! Every value, leases too, is encrypted and bound to its name. A program without the secret that can
//! write to the server can delete a value, or restore an older value of the same name, and no more.

mod client;
mod limits;
mod seal;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::cached::question_key;
use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, Reply};

pub use client::{SharedClient, SharedClientOptions};
pub use limits::SharedLimits;
pub use seal::{Seal, ShortSecret};

/// A lease that is not renewed for this long may be taken over.
const LEASE: Duration = Duration::from_secs(5);
/// How often a process renews its lease.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(1);
/// How often waiting processes poll: soon at first, then less often.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How long the server keeps the information that an answer was rejected, for waiting processes.
const REJECTED_TTL: Duration = Duration::from_secs(2);
/// How many flights of other processes a process waits for, one after the other.
const MAX_FLIGHTS: usize = 8;
/// Attempts to take a lease by a conditional write, before it is written unconditionally.
const MAX_TAKE_ATTEMPTS: u32 = 3;
/// How long an answer is kept in memory if its call ends before the answer is checked.
const UNCHECKED_TTL: Duration = Duration::from_secs(60);

/// The value under the name of a question. A flight is one attempt of a process to get the answer,
/// identified by a random id.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SharedValue {
    /// An answer that passed the checks of the process that asked.
    Answer(Reply),
    /// A process is asking the model.
    Lease {
        /// The id of its flight.
        flight: String,
        /// How often the lease was renewed.
        #[serde(rename = "beat")]
        renewals: u32,
    },
    /// The answer that a flight got did not pass the checks.
    Rejected {
        /// The id of that flight.
        flight: String,
    },
}

/// A corrector that shares its answers with other processes.
pub struct Shared<C> {
    inner: C,
    identity: Vec<u8>,
    client: Arc<SharedClient>,
    seal: Arc<Seal>,
    ttl: Duration,
    /// Answers of the model that are not checked yet, by the names of their questions.
    unchecked: Mutex<HashMap<String, Unchecked>>,
}

/// An answer of the model that is not checked yet.
struct Unchecked {
    /// The id of the flight and the sealed lease; `None` if this process holds no lease.
    lease: Option<(String, Vec<u8>)>,
    reply: Reply,
    /// When the model gave the answer.
    since: Instant,
}

impl<C> fmt::Debug for Shared<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("client", &self.client).finish_non_exhaustive()
    }
}

/// The outcome of a lookup on the server.
enum Lookup {
    Answer(Reply),
    Rejected,
    /// This process holds the lease and must ask the model.
    Leased(Lease),
    /// The server cannot be used.
    Unavailable,
    /// The deadline passed while another process was asking.
    TooLate,
}

/// A lease that this process holds. If it is dropped before the answer has arrived, it is deleted on
/// the server, so that other processes need not wait until it expires.
struct Lease {
    client: Arc<SharedClient>,
    seal: Arc<Seal>,
    name: String,
    flight: String,
    renewals: u32,
    /// The value on the server.
    sealed: Vec<u8>,
    is_held: bool,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (client, name) = (self.client.clone(), std::mem::take(&mut self.name));
        let sealed = std::mem::take(&mut self.sealed);
        runtime.spawn(async move { client.replace(&name, &sealed, None).await });
    }
}

impl Lease {
    /// Renews the lease for as long as this future is polled, or until another process has taken it.
    async fn keep_renewing(&mut self) {
        while self.is_held {
            sleep(RENEWAL_INTERVAL).await;
            self.renewals += 1;
            let value = SharedValue::Lease { flight: self.flight.clone(), renewals: self.renewals };
            let Some(renewed) = seal_value(&self.seal, &self.name, &value) else { return };
            match self.client.replace(&self.name, &self.sealed, Some((&renewed, LEASE))).await {
                Some(true) => self.sealed = renewed,
                Some(false) => self.is_held = false,
                // The server may have the old value, the new one or none; it expires by itself.
                None => {}
            }
        }
    }

    /// The id of the flight and the sealed lease, which the result will replace on the server; `None`
    /// if another process has taken the lease. Dropping the lease then no longer deletes it.
    fn into_sealed(mut self) -> Option<(String, Vec<u8>)> {
        let is_held = std::mem::replace(&mut self.is_held, false);
        is_held.then(|| (std::mem::take(&mut self.flight), std::mem::take(&mut self.sealed)))
    }
}

/// A value as JSON, sealed for its name.
fn seal_value(seal: &Seal, name: &str, value: &SharedValue) -> Option<Vec<u8>> {
    seal.seal(name, &serde_json::to_vec(value).ok()?)
}

/// What a waiting process has seen of another process's lease.
struct Watch {
    flight: String,
    renewals: u32,
    /// When this number of renewals was first seen.
    since: Instant,
}

impl Watch {
    /// Records a lease that was read, and returns whether its process still renews it. Only a higher
    /// number of renewals counts, and only [`MAX_FLIGHTS`] flights: a program that can write to the
    /// server could restore old leases.
    fn record_and_check_alive(watches: &mut Vec<Self>, flight: &str, renewals: u32) -> bool {
        let now = Instant::now();
        let is_full = watches.len() >= MAX_FLIGHTS;
        match watches.iter_mut().find(|watch| watch.flight == flight) {
            None if is_full => false,
            None => {
                watches.push(Self { flight: flight.to_owned(), renewals, since: now });
                true
            }
            Some(watch) if renewals > watch.renewals => {
                (watch.renewals, watch.since) = (renewals, now);
                true
            }
            Some(watch) => watch.since.elapsed() < LEASE,
        }
    }
}

impl<C> Shared<C> {
    /// Shares the answers of `inner`, each for the time `ttl`. `identity` names what the answers
    /// depend on besides the question: server, model, prompts.
    pub fn new(
        inner: C,
        identity: Vec<u8>,
        client: Arc<SharedClient>,
        seal: Arc<Seal>,
        ttl: Duration,
    ) -> Self {
        Self { inner, identity, client, seal, ttl, unchecked: Mutex::default() }
    }

    /// The name of a question on the server.
    fn name(&self, ask: &Ask) -> String {
        self.seal.name("answer", &[&question_key(&self.identity, ask)])
    }

    fn unchecked(&self) -> std::sync::MutexGuard<'_, HashMap<String, Unchecked>> {
        self.unchecked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unseals and parses a value; `None` if it was not sealed for that name with our secret.
    fn open(&self, name: &str, bytes: &[u8]) -> Option<SharedValue> {
        serde_json::from_slice(&self.seal.open(name, bytes)?).ok()
    }

    /// Gets the shared answer, if need be by waiting for another process, or takes the lease so that
    /// this process may ask.
    async fn find_or_lease(&self, name: &str, deadline: Instant) -> Lookup {
        let Some(flight) = self.seal.random_id() else { return Lookup::Unavailable };
        let lease = SharedValue::Lease { flight: flight.clone(), renewals: 0 };
        let Some(sealed_lease) = seal_value(&self.seal, name, &lease) else {
            return Lookup::Unavailable;
        };
        let leased = || {
            Lookup::Leased(Lease {
                client: self.client.clone(),
                seal: self.seal.clone(),
                name: name.to_owned(),
                flight: flight.clone(),
                renewals: 0,
                sealed: sealed_lease.clone(),
                is_held: true,
            })
        };
        let counts = self.client.counts();
        let (mut watches, mut attempts, mut pause) = (Vec::new(), 0, MIN_POLL_INTERVAL);
        loop {
            let Some(stored) = self.client.get(name).await else { return Lookup::Unavailable };
            let taken = match stored.as_deref() {
                None => self.client.put_new(name, &sealed_lease, LEASE).await,
                Some(bytes) => match self.open(name, bytes) {
                    Some(SharedValue::Answer(reply)) => return Lookup::Answer(reply),
                    // A rejection concerns only processes that waited for that flight.
                    Some(SharedValue::Rejected { flight: other_flight })
                        if watches.iter().any(|watch: &Watch| watch.flight == other_flight) =>
                    {
                        return Lookup::Rejected;
                    }
                    Some(SharedValue::Lease { flight: other_flight, renewals })
                        if Watch::record_and_check_alive(&mut watches, &other_flight, renewals) =>
                    {
                        if pause == MIN_POLL_INTERVAL {
                            counts.waits.fetch_add(1, Ordering::Relaxed);
                        }
                        let now = Instant::now();
                        if now >= deadline {
                            return Lookup::TooLate;
                        }
                        sleep(pause.min(deadline - now)).await;
                        pause = (pause * 3 / 2).min(MAX_POLL_INTERVAL);
                        continue;
                    }
                    // The other flight has ended, or its process is dead.
                    Some(SharedValue::Rejected { .. } | SharedValue::Lease { .. }) => {
                        self.client.replace(name, bytes, Some((&sealed_lease, LEASE))).await
                    }
                    // The value was written without our secret.
                    None => {
                        if counts.unsealed.fetch_add(1, Ordering::Relaxed) == 0 {
                            tracing::warn!(
                                "the shared cache has a value that was not sealed with the secret; it is not used. Find out who else writes to that server"
                            );
                        }
                        self.client.replace(name, bytes, Some((&sealed_lease, LEASE))).await
                    }
                },
            };
            match taken {
                None => return Lookup::Unavailable,
                Some(true) => return leased(),
                Some(false) if attempts < MAX_TAKE_ATTEMPTS => attempts += 1,
                Some(false) => {
                    return match self.client.put(name, &sealed_lease, LEASE).await {
                        Some(()) => leased(),
                        None => Lookup::Unavailable,
                    };
                }
            }
        }
    }

    /// Keeps the model's answer until it is checked.
    fn keep_unchecked(&self, name: String, lease: Option<(String, Vec<u8>)>, reply: &Reply) {
        let mut unchecked = self.unchecked();
        unchecked.retain(|_, entry| entry.since.elapsed() < UNCHECKED_TTL);
        unchecked.insert(name, Unchecked { lease, reply: reply.clone(), since: Instant::now() });
    }
}

impl<C: Corrector> Shared<C> {
    /// Asks the inner corrector, renews the lease while it answers, and keeps the answer until it is
    /// checked.
    async fn ask_inner(
        &self,
        name: String,
        lease: Option<Lease>,
        ask: &Ask,
        budget: &Budget,
    ) -> Result<Reply, CorrectorError> {
        self.client.counts().misses.fetch_add(1, Ordering::Relaxed);
        let Some(mut lease) = lease else {
            let reply = self.inner.correct(ask, budget).await?;
            self.keep_unchecked(name, None, &reply);
            return Ok(reply);
        };
        let answer = {
            let mut asking = self.inner.correct(ask, budget);
            let mut renewing = std::pin::pin!(lease.keep_renewing());
            tokio::select! {
                biased;
                answer = &mut asking => answer,
                () = &mut renewing => asking.await,
            }
        };
        // An error is not shared: dropping the lease lets the next process try.
        let reply = answer?;
        self.keep_unchecked(name, lease.into_sealed(), &reply);
        Ok(reply)
    }
}

impl<C: Corrector> Corrector for Shared<C> {
    fn is_available(&self) -> bool {
        self.inner.is_available()
    }

    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        Box::pin(async move {
            let name = self.name(ask);
            match self.find_or_lease(&name, budget.deadline()).await {
                Lookup::Answer(reply) => {
                    self.client.counts().hits.fetch_add(1, Ordering::Relaxed);
                    budget.record(|spent| spent.cached += 1);
                    Ok(reply)
                }
                Lookup::Rejected => Err(CorrectorError::Skipped(
                    "another process asked the same question a moment ago, and the answer did not pass the checks".into(),
                )),
                Lookup::TooLate => Err(CorrectorError::Timeout),
                Lookup::Leased(lease) => self.ask_inner(name, Some(lease), ask, budget).await,
                Lookup::Unavailable => self.ask_inner(name, None, ask, budget).await,
            }
        })
    }

    fn accepted<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let name = self.name(ask);
            let Some(checked) = self.unchecked().remove(&name) else { return };
            if let Some(value) = seal_value(&self.seal, &name, &SharedValue::Answer(checked.reply))
            {
                self.client.put(&name, &value, self.ttl).await;
            }
        })
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let name = self.name(ask);
            let unchecked = self.unchecked().remove(&name);
            match unchecked {
                Some(Unchecked { lease: Some((flight, lease)), .. }) => {
                    if let Some(value) =
                        seal_value(&self.seal, &name, &SharedValue::Rejected { flight })
                    {
                        self.client.replace(&name, &lease, Some((&value, REJECTED_TTL))).await;
                    }
                }
                Some(_) => {}
                // The rejected answer came from the server: delete it there.
                None => {
                    if let Some(Some(bytes)) = self.client.get(&name).await
                        && matches!(self.open(&name, &bytes), Some(SharedValue::Answer(_)))
                    {
                        self.client.replace(&name, &bytes, None).await;
                    }
                }
            }
            self.inner.rejected(ask).await;
        })
    }
}
