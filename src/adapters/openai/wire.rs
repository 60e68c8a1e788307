//! Sends one request once, bounded in time and size, and says what went wrong if it fails.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use serde_json::Value;
use tokio::time::timeout;

use super::profile::Limitation;

/// How long connecting may take.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often one request may be sent, the first time included.
pub(super) const MAX_ATTEMPTS: u32 = 2;
/// The longest wait before a retry that a server may ask for.
pub(super) const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// The bounds of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireLimits {
    /// How long the answer may take to begin; `None` for as long as the whole question may take. A
    /// server that does not stream sends nothing until its answer is complete.
    pub first_byte: Option<Duration>,
    /// The size of the answer's body after decompression.
    pub body_bytes: usize,
}

impl Default for WireLimits {
    fn default() -> Self {
        Self { first_byte: None, body_bytes: 1 << 20 }
    }
}

/// Why a request failed. The text holds no header and no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The server answered with an error.
    #[error("the server answered {status}{message}")]
    Status {
        /// The status.
        status: u16,
        /// The beginning of its error message, after a colon.
        message: String,
        /// How long the server asks to wait before a retry.
        retry_after: Option<Duration>,
        /// Whether the same request may succeed later.
        transient: bool,
        /// What the server lacks, as far as the error says.
        limitation: Option<Limitation>,
    },
    /// The connection failed.
    #[error("no connection: {0}")]
    Connection(String),
    /// The answer did not begin or end in time.
    #[error("the server took too long {0}")]
    Timeout(&'static str),
    /// The answer is too large.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The answer is not JSON.
    #[error("the answer is not a chat completion: {0}")]
    Malformed(String),
    /// The request cannot be made.
    #[error("{0}")]
    Setup(String),
}

impl WireError {
    /// The kind of error as a word for logs, which quotes nothing from the server.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Connection(_) => "connection",
            Self::Timeout(_) => "slow",
            Self::TooLarge(_) => "large",
            Self::Malformed(_) => "malformed",
            Self::Setup(_) => "setup",
        }
    }

    /// Whether the same request may succeed if it is sent again.
    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::Status { transient, limitation, .. } => *transient && limitation.is_none(),
            Self::Connection(_) => true,
            _ => false,
        }
    }

    /// What the server rejects or lacks, if its error says so.
    pub fn limitation(&self) -> Option<Limitation> {
        match self {
            Self::Status { limitation, .. } => *limitation,
            _ => None,
        }
    }
}

/// The first 200 characters of a server's error text, on one line.
pub(super) fn clip(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::text::clip(&line, 200)
}

/// The beginning of an error and its causes, as one text. The text of a failed connection names
/// hosts, never headers.
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        out = format!("{out}: {cause}");
        source = cause.source();
    }
    clip(&out)
}

/// Sends a request once and returns the JSON of its answer.
pub(super) async fn send_once(
    request: reqwest::RequestBuilder,
    limits: &WireLimits,
) -> Result<Value, WireError> {
    let answer = request.send();
    let answer = match limits.first_byte {
        None => answer.await,
        Some(limit) => {
            timeout(limit, answer).await.map_err(|_| WireError::Timeout("to begin its answer"))?
        }
    };
    let answer =
        answer.map_err(|error| WireError::Connection(error_chain(&error.without_url())))?;
    let status = answer.status();
    let retry_after = retry_after(answer.headers());
    let body = read_body(answer, limits.body_bytes).await;
    if !status.is_success() {
        let body = body.unwrap_or_default();
        let parsed: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        // Quote only the error message: the rest of the body may repeat the request.
        let error = &parsed["error"];
        let message = error["message"].as_str().or_else(|| error.as_str());
        let message = message.or_else(|| parsed["message"].as_str());
        let message = message.map(|m| format!(": {}", clip(m))).unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        let out_of_quota = text.contains("insufficient_quota");
        let code = status.as_u16();
        return Err(WireError::Status {
            status: code,
            message,
            retry_after,
            transient: matches!(code, 408 | 409 | 429 | 500..=599) && code != 501 && !out_of_quota,
            limitation: Limitation::from_error(code, &text),
        });
    }
    serde_json::from_slice(&body?).map_err(|error| WireError::Malformed(error.to_string()))
}

/// Reads the body of an answer of at most so many bytes.
async fn read_body(mut answer: reqwest::Response, most: usize) -> Result<Vec<u8>, WireError> {
    let mut body = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > most => {
                return Err(WireError::TooLarge(most));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => return Err(WireError::Connection(error_chain(&error.without_url()))),
        }
    }
}

/// The wait that the headers ask for, in seconds or milliseconds; a date is ignored.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |value: &HeaderValue| value.to_str().ok()?.trim().parse::<f64>().ok();
    let from_millis = headers.get("retry-after-ms").and_then(number).map(|ms| ms / 1000.0);
    let seconds = from_millis.or_else(|| headers.get(RETRY_AFTER).and_then(number))?;
    Duration::try_from_secs_f64(seconds.clamp(0.0, 3600.0)).ok()
}
