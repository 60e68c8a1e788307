//! A cache around a corrector, bounded by size and age. Identical questions that come at the same
//! time wait for the first; the next is asked if it failed, since errors are not cached. A cached
//! answer is checked like a fresh one, and is removed if it does not pass.
//!
//! The keys are hashes of everything that an answer depends on; they hold no content.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use super::DiskCache;
use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, Reply};

/// The bounds of the cache in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// The size of all answers together.
    pub bytes: u64,
    /// How long an answer is kept.
    pub age: Duration,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { bytes: 16 << 20, age: Duration::from_secs(3600) }
    }
}

pub(super) type Key = [u8; 32];

/// An answer, or `None` while it is asked for, by whoever holds the lock.
type Slot = Arc<tokio::sync::Mutex<Option<Reply>>>;

/// A slot, what it counts against the bound, and its age.
#[derive(Debug)]
struct Entry {
    slot: Slot,
    bytes: u64,
    since: Instant,
}

/// A corrector behind a cache.
#[derive(Debug)]
pub struct Cached<C> {
    inner: C,
    identity: Vec<u8>,
    limits: CacheLimits,
    memory: Mutex<HashMap<Key, Entry>>,
    disk: Option<DiskCache>,
}

impl<C> Cached<C> {
    /// Puts a cache before `inner`. `identity` names what the answers of `inner` depend on besides
    /// the question: server, model, prompts.
    pub fn new(inner: C, identity: Vec<u8>, limits: CacheLimits) -> Self {
        Self { inner, identity, limits, memory: Mutex::default(), disk: None }
    }

    /// Adds a second cache on disk, which outlives the process.
    #[must_use]
    pub fn with_disk(mut self, disk: DiskCache) -> Self {
        self.disk = Some(disk);
        self
    }

    fn key(&self, ask: &Ask) -> Key {
        question_key(&self.identity, ask)
    }

    fn memory(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of this question, which is new if there is none or it is too old.
    fn slot(&self, key: Key) -> Slot {
        let mut memory = self.memory();
        memory.retain(|_, entry| entry.since.elapsed() < self.limits.age);
        let new = || Entry { slot: Slot::default(), bytes: size(None), since: Instant::now() };
        Arc::clone(&memory.entry(key).or_insert_with(new).slot)
    }

    /// Counts an answer against the bound, and drops the oldest others beyond it.
    fn keep(&self, key: Key, reply: &Reply) {
        let mut memory = self.memory();
        if let Some(entry) = memory.get_mut(&key) {
            (entry.bytes, entry.since) = (size(Some(reply)), Instant::now());
        }
        let mut bytes: u64 = memory.values().map(|entry| entry.bytes).sum();
        while bytes > self.limits.bytes
            && let Some(oldest) = memory.iter().min_by_key(|(_, entry)| entry.since)
        {
            let oldest = *oldest.0;
            bytes -= memory.remove(&oldest).map_or(0, |entry| entry.bytes);
        }
    }
}

/// What an answer counts against the bound.
fn size(reply: Option<&Reply>) -> u64 {
    let text_bytes = match reply {
        Some(Reply::Text(text) | Reply::Located { text, .. }) => text.len(),
        Some(Reply::WithNew { text, new, .. }) => text.len() + new.len(),
        _ => 0,
    };
    // About 128 bytes for the key and the rest of the entry.
    u64::try_from(text_bytes + 128).unwrap_or(u64::MAX)
}

/// A hash of everything that an answer depends on.
pub(super) fn question_key(identity: &[u8], ask: &Ask) -> Key {
    let mut hash = Sha256::new();
    let mut add_part = |bytes: &[u8]| {
        hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(bytes);
    };
    add_part(b"restitch correction 1");
    add_part(identity);
    add_part(&ask_digest(ask));
    let mut key = [0; 32];
    key.copy_from_slice(&hash.finalize());
    key
}

/// A hash of every part of a question. Its debug form quotes and escapes each text, so that
/// different questions never hash the same bytes.
fn ask_digest(ask: &Ask) -> [u8; 32] {
    Sha256::digest(format!("{ask:?}")).into()
}

impl<C: Corrector> Corrector for Cached<C> {
    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        Box::pin(async move {
            let key = self.key(ask);
            let slot = self.slot(key);
            let mut slot = slot.lock().await;
            let known = slot.clone().or_else(|| self.disk.as_ref()?.get(&key));
            let reply = match known {
                Some(reply) => {
                    budget.record(|spent| spent.cached += 1);
                    reply
                }
                None => {
                    let reply = self.inner.correct(ask, budget).await?;
                    if let Some(disk) = &self.disk {
                        disk.put(&key, &reply);
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
                disk.forget(&key);
            }
            self.inner.rejected(ask).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::port::Question;
    use crate::text::ContentHash;

    /// A corrector that answers after 20 ms and counts its questions.
    #[derive(Default)]
    struct Slow {
        asked: AtomicU32,
        fails: bool,
    }

    impl Corrector for Slow {
        fn correct<'a>(
            &'a self,
            _ask: &'a Ask,
            _budget: &'a Budget,
        ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
            Box::pin(async {
                self.asked.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
                if self.fails {
                    Err(CorrectorError::Failed("down".into()))
                } else {
                    Ok(Reply::Text("x".into()))
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
        let slow = Arc::new(Slow { fails: true, ..Slow::default() });
        let cached = Cached::new(Arc::clone(&slow), b"m".to_vec(), CacheLimits::default());
        for _ in 0..2 {
            assert!(cached.correct(&ask("o"), &budget()).await.is_err());
        }
        assert_eq!(slow.asked.load(Ordering::SeqCst), 2);
        let other = Cached::new(slow, b"n".to_vec(), CacheLimits::default());
        assert_ne!(cached.key(&ask("o")), other.key(&ask("o")));
    }

    #[tokio::test]
    async fn what_is_rejected_or_damaged_is_asked_again() {
        let dir = tempfile::tempdir().expect("folder");
        let folder = dir.path().join("corrections");
        let slow = Arc::new(Slow::default());
        let fresh = || {
            let disk = DiskCache::open(&folder).expect("own folder");
            Cached::new(Arc::clone(&slow), b"m".to_vec(), CacheLimits::default()).with_disk(disk)
        };
        let asked_after = async |asked: u32| {
            assert!(fresh().correct(&ask("o"), &budget()).await.is_ok());
            assert_eq!(slow.asked.load(Ordering::SeqCst), asked);
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
