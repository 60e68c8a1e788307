//! Shared values in Redis or Valkey. No other module uses the `redis` library.
//!
//! All requests use one connection, which is opened when it is first needed. A request that fails
//! or is dropped closes it, and the next request opens a new one.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, FromRedisValue, RedisError, Value};
use tokio::sync::Mutex;

use crate::port::{BoxFuture, SharedError, SharedValues, TokenBucket};

/// How many bytes of a value are read; restitch stores no longer values.
const MAX_VALUE_BYTES: isize = 2 << 20;

/// A Lua script: if the value equals `ARGV[1]`, it sets the value to `ARGV[2]` for `ARGV[3]`
/// milliseconds, or deletes it if `ARGV[3]` is missing.
const REPLACE: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) else redis.call('DEL', KEYS[1]) end
return 1";

/// A Lua script: takes one token from every bucket and returns 0; or, if a bucket is empty, takes
/// none and returns the milliseconds to wait. All processes use the server's clock. A bucket is
/// stored until it would be full again; one with a time in the future is ignored.
const TAKE: &str = "\
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local wait, left = 0, {}
for i, key in ipairs(KEYS) do
  local holds, gains = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i]) / 60000
  local kept, tokens = redis.pcall('GET', key), holds
  if type(kept) == 'string' then
    local had, at = string.match(kept, '^([%d.]+) ([%d.]+)$')
    had, at = tonumber(had), tonumber(at)
    if had and at and at < now + 1000 then tokens = math.min(holds, had + math.max(0, now - at) * gains) end
  end
  left[i] = tokens
  if tokens < 1 then wait = math.max(wait, math.ceil((1 - tokens) / gains)) end
end
if wait > 0 then return wait end
for i, key in ipairs(KEYS) do
  local gains = tonumber(ARGV[2 * i]) / 60000
  local life = math.ceil(tonumber(ARGV[2 * i - 1]) / gains) + 1000
  redis.call('SET', key, string.format('%.6f %.3f', left[i] - 1, now), 'PX', life)
end
return 0";

/// Stores shared values on a Redis or Valkey server.
pub struct RedisValues {
    client: Client,
    /// The open connection and its number.
    connection: Mutex<Option<(u64, MultiplexedConnection)>>,
    /// Connections with a smaller number have failed and are not used again.
    oldest_usable: AtomicU64,
}

impl fmt::Debug for RedisValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisValues").field("address", &self.address()).finish_non_exhaustive()
    }
}

/// What a server reports about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// `redis` or `valkey`, and the version.
    pub server: String,
    /// How long one request took.
    pub took: Duration,
    /// The bytes of memory that the server may use; 0 for no limit.
    pub max_memory: u64,
    /// What the server does when its memory is used up.
    pub policy: String,
    /// How many reads of all its clients found a value, and how many did not.
    pub reads: (u64, u64),
}

/// Retires the connection if it is dropped before its request is complete.
struct ConnectionGuard<'a> {
    values: &'a RedisValues,
    number: u64,
    is_complete: bool,
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        if !self.is_complete {
            let next = self.number + 1;
            self.values.oldest_usable.fetch_max(next, Ordering::AcqRel);
        }
    }
}

impl RedisValues {
    /// Takes an address such as `redis://HOST:PORT`, `rediss://` with TLS, or `unix:///SOCKET`.
    /// Nothing is sent yet.
    pub fn new(url: &str) -> Result<Self, String> {
        // This fails only if a provider is installed already, which then serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::open(url.trim()).map_err(|error| {
            // Quote only the detail: the whole error may repeat the address with its password.
            format!(
                "it is not an address of a Redis server ({}); use redis://HOST:PORT, rediss:// for TLS, or unix:///SOCKET",
                error.detail().unwrap_or("it cannot be read")
            )
        })?;
        Ok(Self { client, connection: Mutex::new(None), oldest_usable: AtomicU64::new(0) })
    }

    /// The server's address without user and password.
    pub fn address(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }

    /// Whether values are sent over a network without encryption.
    pub fn is_unencrypted(&self) -> bool {
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, _) => {
                let is_loopback = host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
                !is_loopback && host != "localhost"
            }
            _ => false,
        }
    }

    /// The open connection and its number, or a new connection if there is none that works.
    async fn connection(&self) -> Result<(u64, MultiplexedConnection), RedisError> {
        let mut current = self.connection.lock().await;
        let oldest_usable = self.oldest_usable.load(Ordering::Acquire);
        if let Some((number, connection)) =
            current.as_ref().filter(|(number, _)| *number >= oldest_usable)
        {
            return Ok((*number, connection.clone()));
        }
        *current = None;
        // No timeouts here: each caller has its own deadline.
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let fresh = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        // Its number is new: a connection that fails raises `oldest_usable` above its own number.
        *current = Some((oldest_usable, fresh.clone()));
        Ok((oldest_usable, fresh))
    }

    /// Sends one command and reads its answer.
    async fn send<T: FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, RedisError> {
        let (number, mut connection) = self.connection().await?;
        let mut guard = ConnectionGuard { values: self, number, is_complete: false };
        let result = command.query_async(&mut connection).await;
        // An error code is an answer of the server, so the connection still works.
        guard.is_complete = match &result {
            Ok(_) => true,
            Err(error) => error.code().is_some() && !error.is_unrecoverable_error(),
        };
        result
    }

    /// Asks the server for its version, its memory limit and its counts of reads, and measures how
    /// long the answer takes.
    pub async fn server_info(&self) -> Result<ServerInfo, SharedError> {
        let _: Value = self.send(&redis::cmd("PING")).await.map_err(shared_error)?;
        let start = Instant::now();
        let text: String = self.send(&redis::cmd("INFO")).await.map_err(shared_error)?;
        let took = start.elapsed();
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(field, _)| *field == name).map(|(_, value)| value.trim())
        };
        let number = |name: &str| field(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let server = match (field("valkey_version"), field("redis_version")) {
            (Some(version), _) => format!("valkey {version}"),
            (None, Some(version)) => format!("redis {version}"),
            (None, None) => "a server that does not report its version".to_owned(),
        };
        Ok(ServerInfo {
            server,
            took,
            max_memory: number("maxmemory"),
            policy: field("maxmemory_policy").unwrap_or("unknown").to_owned(),
            reads: (number("keyspace_hits"), number("keyspace_misses")),
        })
    }
}

/// Converts an error: `Full` if the server accepts no writes, otherwise `Unavailable`.
fn shared_error(error: RedisError) -> SharedError {
    match error.code() {
        // Out of memory, out of disk space, or a replica that accepts no writes.
        Some("OOM" | "MISCONF" | "READONLY" | "NOREPLICAS") => SharedError::Full(error.to_string()),
        _ => SharedError::Unavailable(error.to_string()),
    }
}

/// A time to live in milliseconds, at least 1, since the server rejects 0.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1)
}

impl SharedValues for RedisValues {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, SharedError>> {
        Box::pin(async move {
            let mut command = redis::cmd("GETRANGE");
            command.arg(name).arg(0).arg(MAX_VALUE_BYTES);
            match self.send::<Vec<u8>>(&command).await {
                // For a name without a value, the server answers with no bytes.
                Ok(bytes) => Ok(Some(bytes).filter(|bytes| !bytes.is_empty())),
                // restitch stores only strings, so a value of another type is deleted.
                Err(error) if error.code() == Some("WRONGTYPE") => {
                    let deleted = self.send::<u64>(redis::cmd("DEL").arg(name)).await;
                    deleted.map(|_| None).map_err(shared_error)
                }
                Err(error) => Err(shared_error(error)),
            }
        })
    }

    fn put<'a>(
        &'a self,
        name: &'a str,
        value: &'a [u8],
        ttl: Duration,
    ) -> BoxFuture<'a, Result<(), SharedError>> {
        Box::pin(async move {
            let mut command = redis::cmd("SET");
            command.arg(name).arg(value).arg("PX").arg(millis(ttl));
            self.send::<()>(&command).await.map_err(shared_error)
        })
    }

    fn put_new<'a>(
        &'a self,
        name: &'a str,
        value: &'a [u8],
        ttl: Duration,
    ) -> BoxFuture<'a, Result<bool, SharedError>> {
        Box::pin(async move {
            let mut command = redis::cmd("SET");
            command.arg(name).arg(value).arg("PX").arg(millis(ttl)).arg("NX");
            let stored = self.send::<Option<String>>(&command).await.map_err(shared_error)?;
            Ok(stored.is_some())
        })
    }

    fn replace<'a>(
        &'a self,
        name: &'a str,
        old: &'a [u8],
        new: Option<(&'a [u8], Duration)>,
    ) -> BoxFuture<'a, Result<bool, SharedError>> {
        Box::pin(async move {
            let mut command = redis::cmd("EVAL");
            command.arg(REPLACE).arg(1).arg(name).arg(old);
            if let Some((new, ttl)) = new {
                command.arg(new).arg(millis(ttl));
            }
            Ok(self.send::<u64>(&command).await.map_err(shared_error)? == 1)
        })
    }

    fn take<'a>(
        &'a self,
        buckets: &'a [TokenBucket],
    ) -> BoxFuture<'a, Result<Option<Duration>, SharedError>> {
        Box::pin(async move {
            let mut command = redis::cmd("EVAL");
            command.arg(TAKE).arg(buckets.len());
            for bucket in buckets {
                command.arg(&bucket.name);
            }
            for bucket in buckets {
                command.arg(bucket.capacity).arg(bucket.refill_per_minute);
            }
            let wait = self.send::<u64>(&command).await.map_err(shared_error)?;
            Ok(Some(Duration::from_millis(wait)).filter(|wait| !wait.is_zero()))
        })
    }
}
