//! The Redis server on which machines share answers: its configuration, and this process's client.

use std::env;
use std::num::NonZeroU32;

use serde::Deserialize;

use super::exit::Exit;
use crate::text::{register_secret, register_url_credentials};

/// `[shared]` in the configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedSection {
    /// The URL of the server.
    url: Option<String>,
    /// The secret that encrypts the values on the server. `secret_env` is safer.
    secret: Option<String>,
    /// The environment variable that contains the secret.
    secret_env: Option<String>,
    /// Seconds that an answer is kept.
    keep: Option<f64>,
    /// Seconds that one request to the server may take.
    timeout: Option<f64>,
    /// The most requests to models in a minute, of all machines together.
    calls_per_minute: Option<NonZeroU32>,
    /// The most requests in a minute with each key of a model's server.
    calls_per_minute_per_key: Option<NonZeroU32>,
}

/// The environment variable with the server's URL; it takes precedence over the configuration.
const URL: &str = "RESTITCH_REDIS_URL";
/// The environment variable with the secret; it takes precedence over the configuration.
const SECRET: &str = "RESTITCH_SHARED_SECRET";

impl SharedSection {
    /// The value of an environment variable, unless it is missing or blank.
    fn var(name: &str) -> Option<String> {
        env::var(name).ok().filter(|value| !value.trim().is_empty())
    }

    /// The URL of the server, if one is configured.
    pub(crate) fn url(&self) -> Option<String> {
        let url = Self::var(URL).or_else(|| self.url.clone())?;
        register_url_credentials(&url);
        Some(url)
    }

    /// The secret, if one is configured.
    fn secret(&self) -> Option<String> {
        let from_named_variable = || self.secret_env.as_deref().and_then(Self::var);
        let secret =
            Self::var(SECRET).or_else(from_named_variable).or_else(|| self.secret.clone())?;
        register_secret(&secret);
        Some(secret)
    }
}

#[cfg(not(feature = "redis"))]
mod backend {
    use std::sync::Arc;

    use super::{Exit, SharedSection, URL};
    use crate::port::SharedCounts;

    /// The client of a build that cannot share; it has no value.
    #[derive(Debug, Clone)]
    pub(crate) enum SharedCache {}

    /// No counts, because this build cannot share.
    pub(crate) fn counts() -> Option<Arc<SharedCounts>> {
        None
    }

    impl SharedSection {
        /// No client, or a refusal if the settings name a server.
        pub(crate) fn cache(&self) -> Result<Option<SharedCache>, Exit> {
            // Only a build that can share checks these settings.
            let _ = (self.secret(), self.keep, self.timeout);
            let _ = (self.calls_per_minute, self.calls_per_minute_per_key);
            if self.url().is_none() {
                return Ok(None);
            }
            Err(Exit::usage(format!(
                "[shared] in the configuration, or {URL}, names a Redis server, which this build of restitch does not support; build it with --features redis"
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

    /// How long an answer is kept by default: a day, in seconds.
    const DEFAULT_KEEP: f64 = 24.0 * 3600.0;
    /// The longest time to keep an answer; after that it would only fill the server.
    const MAX_KEEP: f64 = 30.0 * DEFAULT_KEEP;

    /// This process's client of the server.
    #[derive(Debug, Clone)]
    pub(crate) struct SharedCache {
        pub(crate) values: Arc<RedisValues>,
        client: Arc<SharedClient>,
        seal: Arc<Seal>,
        pub(crate) keep: Duration,
        total_limit: Option<std::num::NonZeroU32>,
        limit_per_key: Option<std::num::NonZeroU32>,
        pub(crate) time: Duration,
    }

    /// The one client of all engines in this process, whatever their roots: they share a connection,
    /// its failures and the counts.
    static SHARED_CACHE: OnceLock<SharedCache> = OnceLock::new();

    /// The counts of this process's requests to the server, if it has a client.
    pub(crate) fn counts() -> Option<Arc<SharedCounts>> {
        SHARED_CACHE.get().map(|cache| cache.client.counts().clone())
    }

    impl SharedSection {
        /// This process's client, created at the first call; `None` if no server is configured. Nothing
        /// is sent yet.
        pub(crate) fn cache(&self) -> Result<Option<SharedCache>, Exit> {
            let Some(url) = self.url() else { return Ok(None) };
            if let Some(cache) = SHARED_CACHE.get() {
                return Ok(Some(cache.clone()));
            }
            let Some(secret) = self.secret() else {
                return Err(Exit::usage(format!(
                    "sharing answers on a Redis server needs a secret to encrypt them with; set {SECRET} to the same value on every machine (`openssl rand -hex 32` makes one), or unset {URL} and shared.url"
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
            let keep = self.keep.unwrap_or(DEFAULT_KEEP);
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
                total_limit: self.calls_per_minute,
                limit_per_key: self.calls_per_minute_per_key,
                time: options.time,
            };
            Ok(Some(SHARED_CACHE.get_or_init(|| cache).clone()))
        }
    }

    impl SharedCache {
        /// The token buckets that a request to this endpoint takes from, one for each limit.
        pub(crate) fn buckets(&self, endpoint: &Endpoint) -> Vec<TokenBucket> {
            let key = endpoint.api_key.as_deref().unwrap_or_default();
            let key_identity = [endpoint.base_url.as_bytes(), key.as_bytes()];
            let total = self.total_limit.map(|limit| (limit, self.seal.name("calls", &[])));
            let per_key = self
                .limit_per_key
                .map(|limit| (limit, self.seal.name("calls-of-key", &key_identity)));
            let buckets = total.into_iter().chain(per_key);
            buckets.map(|(limit, name)| TokenBucket::per_minute(limit, name)).collect()
        }

        /// The gate that delays or refuses requests beyond the limits; `None` without limits.
        pub(crate) fn gate(&self, endpoint: &Endpoint) -> Option<Arc<dyn Gate>> {
            let buckets = self.buckets(endpoint);
            if buckets.is_empty() {
                return None;
            }
            Some(Arc::new(SharedLimits::new(self.client.clone(), buckets)))
        }

        /// A corrector that shares the answers of `inner` through the server.
        pub(crate) fn share<C>(&self, inner: C, identity: Vec<u8>) -> Shared<C> {
            Shared::new(inner, identity, self.client.clone(), self.seal.clone(), self.keep)
        }

        /// Asks the server about itself, and writes, reads and removes a value there.
        pub(crate) async fn probe(&self) -> Result<ServerInfo, String> {
            let about = self.values.server_info().await.map_err(|error| error.to_string())?;
            let name = self.seal.name("doctor", &[]);
            let value =
                self.seal.seal(&name, b"example").ok_or("the system provides no random bytes")?;
            let message = |error: SharedError| error.to_string();
            self.values.put(&name, &value, Duration::from_secs(1)).await.map_err(message)?;
            let stored = self.values.get(&name).await.map_err(message)?.unwrap_or_default();
            if self.seal.open(&name, &stored).as_deref() != Some(b"example") {
                return Err("a value that was just written reads back differently".into());
            }
            self.values.replace(&name, &stored, None).await.map_err(message)?;
            Ok(about)
        }

        /// The limits in words, to end a sentence; empty without limits.
        pub(crate) fn limits(&self) -> String {
            let in_words = |limit: Option<std::num::NonZeroU32>, scope: &str| {
                limit.map(|limit| format!(", at most {limit} model calls a minute {scope}"))
            };
            let total = in_words(self.total_limit, "in all").unwrap_or_default();
            total + &in_words(self.limit_per_key, "for each key").unwrap_or_default()
        }
    }
}

#[cfg(feature = "redis")]
pub(crate) use backend::SharedCache;
pub(crate) use backend::counts;
