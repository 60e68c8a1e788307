//! What machines share: where the configuration says so, and one client for the process.

use std::env;
use std::num::NonZeroU32;

use serde::Deserialize;

use super::exit::Exit;
use crate::text::{register_secret, register_url_credentials};

/// The configuration's part about it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedSection {
    /// The server.
    url: Option<String>,
    /// The secret that seals what is kept there. Better: the name of the variable that has it.
    secret: Option<String>,
    /// The environment variable that has it.
    secret_env: Option<String>,
    /// Seconds that an answer is kept.
    keep: Option<f64>,
    /// Seconds that one request to the server may take.
    timeout: Option<f64>,
    /// Requests to models in a minute, of all machines.
    calls_per_minute: Option<NonZeroU32>,
    /// The same for each key of a model's server.
    calls_per_minute_per_key: Option<NonZeroU32>,
}

/// The variables that go before the configuration.
const URL: &str = "RESTITCH_REDIS_URL";
const SECRET: &str = "RESTITCH_SHARED_SECRET";

impl SharedSection {
    fn var(name: &str) -> Option<String> {
        env::var(name).ok().filter(|value| !value.trim().is_empty())
    }

    /// The server's address, when there is one.
    pub(crate) fn url(&self) -> Option<String> {
        let url = Self::var(URL).or_else(|| self.url.clone())?;
        register_url_credentials(&url);
        Some(url)
    }

    fn secret(&self) -> Option<String> {
        let named = || self.secret_env.as_deref().and_then(Self::var);
        let secret = Self::var(SECRET).or_else(named).or_else(|| self.secret.clone())?;
        register_secret(&secret);
        Some(secret)
    }
}

#[cfg(not(feature = "redis"))]
mod backend {
    use std::sync::Arc;

    use super::{Exit, SharedSection, URL};
    use crate::port::SharedCounts;

    /// Nothing is shared by this build.
    #[derive(Debug, Clone)]
    pub(crate) enum SharedCache {}

    /// There are none.
    pub(crate) fn counts() -> Option<Arc<SharedCounts>> {
        None
    }

    impl SharedSection {
        /// Refuses what this build cannot do.
        pub(crate) fn cache(&self) -> Result<Option<SharedCache>, Exit> {
            // Wrong or missing secrets are for a build that needs them.
            let _ = (self.secret(), self.keep, self.timeout);
            let _ = (self.calls_per_minute, self.calls_per_minute_per_key);
            if self.url().is_none() {
                return Ok(None);
            }
            Err(Exit::usage(format!(
                "[shared] in the configuration, or {URL}, names a Redis server, which this restitch was built without; build it with --features redis"
            )))
        }
    }
}

#[cfg(feature = "redis")]
mod backend {
    use std::sync::{Arc, OnceLock};
    use std::time::Duration;

    use super::super::model::seconds;
    use super::{Exit, SECRET, SharedSection, URL};
    use crate::adapters::openai::Endpoint;
    use crate::adapters::redis::{RedisValues, ServerInfo};
    use crate::correct::{Seal, Shared, SharedClient, SharedClientOptions, SharedLimits};
    use crate::port::{Gate, SharedCounts, SharedError, SharedValues as _, TokenBucket};

    /// A day.
    const KEEP: f64 = 24.0 * 3600.0;
    /// What is kept longer would only fill the server.
    const MAX_KEEP: f64 = 30.0 * KEEP;

    /// The client of this process for what is shared.
    #[derive(Debug, Clone)]
    pub(crate) struct SharedCache {
        pub(crate) values: Arc<RedisValues>,
        client: Arc<SharedClient>,
        seal: Arc<Seal>,
        pub(crate) keep: Duration,
        all: Option<std::num::NonZeroU32>,
        each: Option<std::num::NonZeroU32>,
        pub(crate) time: Duration,
    }

    /// All engines of a process have one client, whatever their roots: one connection, one time of
    /// trouble, and counts of the whole.
    static SHARED_CACHE: OnceLock<SharedCache> = OnceLock::new();

    /// The counts of this process, when it shares anything.
    pub(crate) fn counts() -> Option<Arc<SharedCounts>> {
        SHARED_CACHE.get().map(|cache| cache.client.counts().clone())
    }

    impl SharedSection {
        /// The client for what is shared; `None` when nothing is. Nothing is sent yet.
        pub(crate) fn cache(&self) -> Result<Option<SharedCache>, Exit> {
            let Some(url) = self.url() else { return Ok(None) };
            if let Some(cache) = SHARED_CACHE.get() {
                return Ok(Some(cache.clone()));
            }
            let Some(secret) = self.secret() else {
                return Err(Exit::usage(format!(
                    "answers are to be shared on a Redis server, and there is no secret to seal them with; set {SECRET} to the same value on every machine (`openssl rand -hex 32` makes one), or unset {URL} and shared.url"
                )));
            };
            let seal = Seal::new(&secret)
                .map_err(|error| Exit::usage(format!("{SECRET} or shared.secret: {error}")))?;
            let values = RedisValues::new(&url)
                .map_err(|error| Exit::usage(format!("{URL} or shared.url: {error}")))?;
            let mut options = SharedClientOptions::default();
            if let Some(time) = self.timeout {
                options.time = seconds("shared.timeout", time)?;
            }
            let keep = self.keep.unwrap_or(KEEP);
            if !(1.0..=MAX_KEEP).contains(&keep) {
                return Err(Exit::usage(format!(
                    "shared.keep is {keep}; give seconds from 1 to {MAX_KEEP}"
                )));
            }
            let values = Arc::new(values);
            let cache = SharedCache {
                client: Arc::new(SharedClient::new(values.clone(), options)),
                values,
                seal: Arc::new(seal),
                keep: Duration::from_secs_f64(keep),
                all: self.calls_per_minute,
                each: self.calls_per_minute_per_key,
                time: options.time,
            };
            Ok(Some(SHARED_CACHE.get_or_init(|| cache).clone()))
        }
    }

    impl SharedCache {
        /// The buckets that a request to this endpoint takes from, each with its limit.
        pub(crate) fn buckets(&self, endpoint: &Endpoint) -> Vec<TokenBucket> {
            let key = endpoint.api_key.as_deref().unwrap_or_default();
            let own = [endpoint.base_url.as_bytes(), key.as_bytes()];
            let all = self.all.map(|most| (most, self.seal.name("calls", &[])));
            let each = self.each.map(|most| (most, self.seal.name("calls-of-key", &own)));
            let buckets = all.into_iter().chain(each);
            buckets.map(|(most, name)| TokenBucket::per_minute(most, name)).collect()
        }

        /// Who says whether a request may be sent; `None` without limits.
        pub(crate) fn gate(&self, endpoint: &Endpoint) -> Option<Arc<dyn Gate>> {
            let buckets = self.buckets(endpoint);
            if buckets.is_empty() {
                return None;
            }
            Some(Arc::new(SharedLimits::new(self.client.clone(), buckets)))
        }

        /// The same corrector, sharing its answers.
        pub(crate) fn share<C>(&self, inner: C, identity: Vec<u8>) -> Shared<C> {
            Shared::new(inner, identity, self.client.clone(), self.seal.clone(), self.keep)
        }

        /// Asks the server about itself, and keeps a value there for a moment.
        pub(crate) async fn probe(&self) -> Result<ServerInfo, String> {
            let about = self.values.server_info().await.map_err(|error| error.to_string())?;
            let name = self.seal.name("doctor", &[]);
            let value = self.seal.seal(&name, b"example").ok_or("there are no random bytes")?;
            let message = |error: SharedError| error.to_string();
            self.values.put(&name, &value, Duration::from_secs(1)).await.map_err(message)?;
            let stored = self.values.get(&name).await.map_err(message)?.unwrap_or_default();
            if self.seal.open(&name, &stored).as_deref() != Some(b"example") {
                return Err("a value that was written there reads back differently".into());
            }
            self.values.replace(&name, &stored, None).await.map_err(message)?;
            Ok(about)
        }

        /// The limits in words.
        pub(crate) fn limits(&self) -> String {
            let words = |most: Option<std::num::NonZeroU32>, whose: &str| {
                most.map(|most| format!(", at most {most} model calls a minute {whose}"))
            };
            let all = words(self.all, "in all").unwrap_or_default();
            all + &words(self.each, "for each key").unwrap_or_default()
        }
    }
}

#[cfg(feature = "redis")]
pub(crate) use backend::SharedCache;
pub(crate) use backend::counts;
