//! A cache around a corrector, bounded by size and age. Identical questions that come at the same
//! time wait for the first; the next is asked if it failed, since errors are not cached. A cached
//! answer is checked like a fresh one, and is removed if it does not pass.
//!
//! The keys are hashes of everything that an answer depends on; they hold no content.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::DiskCache;
use crate::port::{Ask, BoxFuture, Budget, Corrector, FutureReply, Reply};
use crate::text::ContentHash;

/// The size of all answers in memory together.
const MAX_BYTES: usize = 16 << 20;
/// What an entry counts beside its answer: about its key and its slot.
const ENTRY_BYTES: usize = 128;
/// How long an answer is kept in memory.
pub const MAX_AGE: Duration = Duration::from_secs(3600);

/// An answer, or `None` while it is asked for, by whoever holds the lock.
type Slot = Arc<tokio::sync::Mutex<Option<Reply>>>;

/// A slot, what it counts against the bound, and its age.
#[derive(Debug)]
struct Entry {
    slot: Slot,
    bytes: usize,
    since: Instant,
}

/// A corrector behind a cache.
#[derive(Debug)]
pub struct Cached<C> {
    inner: C,
    identity: Vec<u8>,
    max_age: Duration,
    memory: Mutex<HashMap<ContentHash, Entry>>,
    disk: Option<DiskCache>,
}

impl<C> Cached<C> {
    /// Puts a cache before `inner`. `identity` names what the answers of `inner` depend on besides
    /// the question: server, model, prompts.
    pub fn new(inner: C, identity: Vec<u8>, max_age: Duration) -> Self {
        Self { inner, identity, max_age, memory: Mutex::default(), disk: None }
    }

    /// Adds a second cache on disk, which outlives the process.
    #[must_use]
    pub fn with_disk(mut self, disk: DiskCache) -> Self {
        self.disk = Some(disk);
        self
    }

    /// A hash of everything that an answer depends on. The debug form quotes and escapes each text,
    /// so that different questions never hash the same bytes.
    fn key(&self, ask: &Ask) -> ContentHash {
        ContentHash::of(format!("restitch correction 2 {:?} {ask:?}", self.identity).as_bytes())
    }

    fn memory(&self) -> MutexGuard<'_, HashMap<ContentHash, Entry>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of this question, which is new if there is none or it is too old.
    fn slot(&self, key: ContentHash) -> Slot {
        let mut memory = self.memory();
        memory.retain(|_, entry| entry.since.elapsed() < self.max_age);
        let new = || Entry { slot: Slot::default(), bytes: ENTRY_BYTES, since: Instant::now() };
        Arc::clone(&memory.entry(key).or_insert_with(new).slot)
    }

    /// Counts an answer against the bound, and drops the oldest others beyond it.
    fn keep(&self, key: ContentHash, reply: &Reply) {
        let mut memory = self.memory();
        if let Some(entry) = memory.get_mut(&key) {
            entry.bytes = ENTRY_BYTES + format!("{reply:?}").len();
            entry.since = Instant::now();
        }
        let mut bytes: usize = memory.values().map(|entry| entry.bytes).sum();
        while bytes > MAX_BYTES
            && let Some(oldest) = memory.iter().min_by_key(|(_, entry)| entry.since)
        {
            let oldest = *oldest.0;
            bytes -= memory.remove(&oldest).map_or(0, |entry| entry.bytes);
        }
    }
}

impl<C: Corrector> Corrector for Cached<C> {
    fn correct<'a>(&'a self, ask: &'a Ask, budget: &'a Budget) -> FutureReply<'a> {
        Box::pin(async move {
            let key = self.key(ask);
            let slot = self.slot(key);
            let mut slot = slot.lock().await;
            let known = slot.clone().or_else(|| self.disk.as_ref()?.get(key));
            let reply = match known {
                Some(reply) => {
                    budget.record(|spent| spent.cached += 1);
                    reply
                }
                None => {
                    let reply = self.inner.correct(ask, budget).await?;
                    if let Some(disk) = &self.disk {
                        disk.put(key, &reply);
                    }
                    reply
                }
            };
            if slot.is_none() {
                *slot = Some(reply.clone());
                self.keep(key, &reply);
            }
            Ok(reply)
        })
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let key = self.key(ask);
            self.memory().remove(&key);
            if let Some(disk) = &self.disk {
                disk.forget(key);
            }
            self.inner.rejected(ask).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::port::{CorrectorError, Question};
    use crate::text::ContentHash;

    /// A corrector that counts its questions.
    #[derive(Default)]
    struct Counting {
        asked: AtomicU32,
        fails: bool,
    }

    impl Corrector for Counting {
        fn correct<'a>(&'a self, _ask: &'a Ask, _budget: &'a Budget) -> FutureReply<'a> {
            Box::pin(async {
                self.asked.fetch_add(1, Ordering::SeqCst);
                match self.fails {
                    true => Err(CorrectorError::Failed("down".into())),
                    false => Ok(Reply::Text("x".into())),
                }
            })
        }
    }

    fn ask(old: &str) -> Ask {
        Ask {
            path: "a".into(),
            file: ContentHash::of(b""),
            old: old.into(),
            new: "n".into(),
            question: Question::RepairEscapes,
        }
    }

    fn budget() -> Budget {
        Budget::new(Duration::from_secs(5), 4)
    }

    #[tokio::test]
    async fn errors_are_not_kept_and_identities_are_apart() {
        let model = Arc::new(Counting { fails: true, ..Counting::default() });
        let cached = Cached::new(Arc::clone(&model), b"m".to_vec(), MAX_AGE);
        for _ in 0..2 {
            assert!(cached.correct(&ask("o"), &budget()).await.is_err());
        }
        assert_eq!(model.asked.load(Ordering::SeqCst), 2);
        let other = Cached::new(model, b"n".to_vec(), MAX_AGE);
        assert_ne!(cached.key(&ask("o")), other.key(&ask("o")));
    }

    #[tokio::test]
    async fn what_is_rejected_or_damaged_is_asked_again() {
        let dir = tempfile::tempdir().expect("folder");
        let folder = dir.path().join("corrections");
        let model = Arc::new(Counting::default());
        let fresh = || {
            let disk = DiskCache::open(&folder).expect("own folder");
            Cached::new(Arc::clone(&model), b"m".to_vec(), MAX_AGE).with_disk(disk)
        };
        let asked_after = async |asked: u32| {
            assert!(fresh().correct(&ask("o"), &budget()).await.is_ok());
            assert_eq!(model.asked.load(Ordering::SeqCst), asked);
        };
        asked_after(1).await;
        asked_after(1).await;
        fresh().rejected(&ask("o")).await;
        asked_after(2).await;
        for entry in std::fs::read_dir(&folder).expect("listing") {
            std::fs::write(entry.expect("entry").path(), b"\xff{]").expect("poison");
        }
        asked_after(3).await;
    }
}
