//! Any server that speaks OpenAI's chat completions, by async-openai. The only module
//! that names it.
//!
//! The library's own retries and error types lose what is needed here (statuses of
//! foreign error bodies, deadlines, sizes), so every request goes through a tower
//! service of ours, which answers with the body of a success or with a [`WireError`].

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::port::{BoxFuture, Budget, ChatError, ChatModel, ChatReply, ChatRequest};

/// Where OpenAI itself listens.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";
/// The model when none is named.
pub const DEFAULT_MODEL: &str = "gpt-4o-mini";

/// The bounds of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireLimits {
    /// To connect.
    pub connect: Duration,
    /// Until the answer begins.
    pub first_byte: Duration,
    /// The answer's body, after decompression.
    pub body_bytes: usize,
    /// Tries of one request, the first included.
    pub attempts: u32,
    /// The longest wait that a server may ask for.
    pub retry_after: Duration,
}

impl Default for WireLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(30),
            body_bytes: 1 << 20,
            attempts: 2,
            retry_after: Duration::from_secs(5),
        }
    }
}

/// What went wrong on the wire. The text holds no header and no key.
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
        /// How long to wait, where it said so.
        retry_after: Option<Duration>,
        /// Whether a repetition may help.
        transient: bool,
    },
    /// The connection failed.
    #[error("no connection: {0}")]
    Connection(String),
    /// The answer did not begin or end in time.
    #[error("the server took too long {0}")]
    Slow(&'static str),
    /// The answer is too large.
    #[error("the answer is larger than {0} bytes")]
    Large(usize),
    /// The answer is not JSON.
    #[error("the answer is not a chat completion: {0}")]
    Malformed(String),
    /// The request cannot be made.
    #[error("{0}")]
    Setup(String),
}

impl WireError {
    /// A word for logs, without anything that the server said.
    fn kind(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Connection(_) => "connection",
            Self::Slow(_) => "slow",
            Self::Large(_) => "large",
            Self::Malformed(_) => "malformed",
            Self::Setup(_) => "setup",
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Status { transient, .. } => *transient,
            Self::Connection(_) => true,
            _ => false,
        }
    }

    /// Whether the server may take a simpler request.
    fn may_simplify(&self) -> bool {
        matches!(self, Self::Status { status: 400 | 404 | 415 | 422 | 501, .. })
    }
}

/// Where the model is.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The base URL, up to `/v1`.
    pub base_url: String,
    /// The model's name.
    pub model: String,
    /// The key; local servers need none.
    pub api_key: Option<String>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .finish()
    }
}

/// How an answer's form is asked for, from the strictest to the plainest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerMode {
    /// A JSON schema, strict.
    StrictSchema,
    /// A JSON schema.
    Schema,
    /// Any JSON object; the schema is in the prompt.
    JsonObject,
    /// Text; the schema is in the prompt.
    Text,
}

impl AnswerMode {
    /// Every mode, strictest first.
    pub const ALL: &[Self] = &[Self::StrictSchema, Self::Schema, Self::JsonObject, Self::Text];

    /// Its name, as it is remembered and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StrictSchema => "strict_schema",
            Self::Schema => "schema",
            Self::JsonObject => "json_object",
            Self::Text => "text",
        }
    }

    /// The mode of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.as_str() == name)
    }

    fn simpler(self) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| *mode > self)
    }
}

/// Keeps the mode that a server and model took, beyond the process.
pub trait ModeMemory: Send + Sync {
    /// The mode that worked last.
    fn recall(&self, server_and_model: &str) -> Option<AnswerMode>;
    /// Notes the mode that works.
    fn note(&self, server_and_model: &str, mode: AnswerMode);
}

/// Remembers for as long as the process lives.
#[derive(Debug, Default)]
pub struct ProcessMemory(Mutex<HashMap<String, AnswerMode>>);

impl ModeMemory for ProcessMemory {
    fn recall(&self, server_and_model: &str) -> Option<AnswerMode> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server_and_model).copied()
    }

    fn note(&self, server_and_model: &str, mode: AnswerMode) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(server_and_model.to_owned(), mode);
    }
}

/// A chat model behind an OpenAI-compatible server.
#[derive(Clone)]
pub struct OpenAi {
    client: Client<OpenAIConfig>,
    endpoint: Endpoint,
    limits: WireLimits,
    modes: Arc<dyn ModeMemory>,
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAi").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl OpenAi {
    /// Prepares a client; nothing is sent.
    pub fn new(endpoint: Endpoint, limits: WireLimits) -> Result<Self, WireError> {
        let base_url = endpoint.base_url.trim().trim_end_matches('/').to_owned();
        let plain = base_url.starts_with("http://") || base_url.starts_with("https://");
        if !plain || base_url.contains(char::is_whitespace) {
            return Err(WireError::Setup(format!("`{base_url}` is not an http(s) URL")));
        }
        let key = endpoint.api_key.clone().unwrap_or_default();
        // The library would panic on a key that is no header value.
        if HeaderValue::from_str(&key).is_err() {
            return Err(WireError::Setup("the API key holds characters that no key has".into()));
        }
        // Ignored when another part of the program was first: then there is one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder();
        if is_loopback(&base_url) {
            // A proxy would look for the server on its own machine.
            http = http.no_proxy();
        }
        let http = http
            .connect_timeout(limits.connect)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("restitch/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| WireError::Setup(format!("no HTTP client: {}", chain(&error))))?;
        let config = OpenAIConfig::default()
            .with_org_id("")
            .with_project_id("")
            .with_api_base(&base_url)
            .with_api_key(&key);
        let wire = Wire { http: http.clone(), limits, has_key: !key.is_empty() };
        let client = Client::build(http, config).with_http_service(wire);
        let endpoint = Endpoint { base_url, ..endpoint };
        Ok(Self { client, endpoint, limits, modes: Arc::new(ProcessMemory::default()) })
    }

    /// Remembers answer modes elsewhere than in the process.
    #[must_use]
    pub fn with_modes(mut self, modes: Arc<dyn ModeMemory>) -> Self {
        self.modes = modes;
        self
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The mode in which the server answered last.
    pub fn mode(&self) -> AnswerMode {
        self.modes.recall(&self.name()).unwrap_or(AnswerMode::StrictSchema)
    }

    fn name(&self) -> String {
        format!("{} {}", self.endpoint.base_url, self.endpoint.model)
    }

    /// Sends one chat completion request, once, and answers with the body.
    pub async fn post(&self, body: &Value) -> Result<Value, WireError> {
        let answer: Result<Value, OpenAIError> = self.client.chat().create_byot(body).await;
        answer.map_err(|error| match error {
            OpenAIError::Boxed(boxed) => match boxed.downcast::<WireError>() {
                Ok(wire) => *wire,
                Err(other) => WireError::Connection(other.to_string()),
            },
            OpenAIError::Reqwest(error) => WireError::Connection(chain(&error)),
            OpenAIError::JSONDeserialize(error, _) => WireError::Malformed(error.to_string()),
            OpenAIError::ApiError(error) => WireError::Malformed(error.to_string()),
            other => WireError::Setup(other.to_string()),
        })
    }

    fn body(&self, request: &ChatRequest, mode: AnswerMode) -> Value {
        let schema = &request.schema;
        let mut system = request.system.clone();
        let format = match mode {
            AnswerMode::StrictSchema => Some(json!({
                "type": "json_schema",
                "json_schema": {"name": request.schema_name, "schema": schema, "strict": true},
            })),
            AnswerMode::Schema => Some(json!({
                "type": "json_schema",
                "json_schema": {"name": request.schema_name, "schema": schema},
            })),
            AnswerMode::JsonObject => Some(json!({"type": "json_object"})),
            AnswerMode::Text => None,
        };
        if mode >= AnswerMode::JsonObject {
            system.push_str(&format!(
                "\nAnswer with one JSON object and nothing else. Its JSON schema: {schema}"
            ));
        }
        let mut body = json!({
            "model": self.endpoint.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": request.user},
            ],
        });
        if let Some(format) = format {
            body["response_format"] = format;
        }
        body
    }

    /// Sends within the budget, with repetitions where they may help.
    async fn send(&self, body: &Value, budget: &Budget) -> Result<Value, ChatError> {
        let size = u64::try_from(body.to_string().len()).unwrap_or(u64::MAX);
        let mut tried = 0;
        loop {
            if !budget.take_request() {
                return Err(ChatError::Budget);
            }
            tried += 1;
            budget.record(|spent| spent.prompt_bytes += size);
            let answer = timeout_at(budget.deadline(), self.post(body))
                .await
                .unwrap_or(Err(WireError::Slow("to answer")));
            let error = match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let wait = match &error {
                WireError::Status { retry_after: Some(wait), .. } => {
                    (*wait).min(self.limits.retry_after)
                }
                _ => Duration::from_millis(250),
            };
            let in_time = Instant::now() + wait < budget.deadline();
            if !error.may_retry() || tried >= self.limits.attempts || !in_time {
                return Err(failure(error));
            }
            tracing::info!(error = error.kind(), wait_ms = wait.as_millis(), "asking again");
            sleep(wait).await;
        }
    }

    async fn answer(
        &self,
        request: &ChatRequest,
        budget: &Budget,
        usable: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<ChatReply, ChatError> {
        let mut mode = self.mode();
        let mut unreadable = 0;
        loop {
            let body = self.body(request, mode);
            let trouble = match self.send(&body, budget).await {
                Ok(answer) => {
                    count_tokens(&answer, budget);
                    match content(&answer) {
                        Ok(content) if usable(&content) => {
                            self.modes.note(&self.name(), mode);
                            return Ok(ChatReply { content });
                        }
                        Ok(_) => ChatError::Failed("the model's answer cannot be read".into()),
                        Err(why) => ChatError::Failed(why),
                    }
                }
                Err(ChatError::Refused(error)) => {
                    // Not a failure of the server: it does not know this form.
                    let error = ChatError::Failed(error);
                    match mode.simpler() {
                        Some(simpler) if budget.has_requests() => {
                            mode = simpler;
                            continue;
                        }
                        _ => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            };
            unreadable += 1;
            match mode.simpler() {
                Some(simpler) if unreadable < self.limits.attempts && budget.has_requests() => {
                    mode = simpler;
                }
                _ => return Err(trouble),
            }
        }
    }
}

fn failure(error: WireError) -> ChatError {
    match error {
        WireError::Slow(_) => ChatError::Timeout(error.to_string()),
        error if error.may_simplify() => ChatError::Refused(error.to_string()),
        error => ChatError::Failed(error.to_string()),
    }
}

impl ChatModel for OpenAi {
    fn identity(&self) -> String {
        self.name()
    }

    fn ask<'a>(
        &'a self,
        request: &'a ChatRequest,
        budget: &'a Budget,
        usable: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(self.answer(request, budget, usable))
    }
}

fn count_tokens(answer: &Value, budget: &Budget) {
    let count = |name: &str| answer["usage"][name].as_u64().unwrap_or(0);
    let (prompt, completion) = (count("prompt_tokens"), count("completion_tokens"));
    budget.record(|spent| {
        spent.prompt_tokens = spent.prompt_tokens.saturating_add(prompt);
        spent.completion_tokens = spent.completion_tokens.saturating_add(completion);
    });
}

/// The text of the first choice, wherever the server puts it.
fn content(answer: &Value) -> Result<String, String> {
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    if message["role"] != "assistant" {
        return Err("the server's answer is not a chat completion of an assistant".into());
    }
    if let Some(refusal) = message["refusal"].as_str().filter(|text| !text.is_empty()) {
        return Err(format!("the model refused: {}", clip(refusal)));
    }
    if choice["finish_reason"] == "length" {
        return Err("the model's answer was cut off".into());
    }
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<String>()
        }
        _ => String::new(),
    };
    if text.trim().is_empty() {
        return Err("the server's answer holds no text".into());
    }
    Ok(text)
}

/// Error texts of a server, short and on one line.
fn clip(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// An error with its causes. Causes of a connection name hosts, never headers.
fn chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        out = format!("{out}: {cause}");
        source = cause.source();
    }
    clip(&out)
}

/// The tower service under async-openai: one try, bounded in time and size.
#[derive(Clone)]
struct Wire {
    http: reqwest::Client,
    limits: WireLimits,
    has_key: bool,
}

impl tower::Service<HttpRequestFactory> for Wire {
    type Response = reqwest::Response;
    type Error = tower::BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            let mut request = factory.build().await?;
            match request.headers_mut().get_mut(AUTHORIZATION) {
                Some(value) if wire.has_key => value.set_sensitive(true),
                _ => {
                    request.headers_mut().remove(AUTHORIZATION);
                }
            }
            wire.once(request).await.map_err(Into::into)
        })
    }
}

impl Wire {
    async fn once(&self, request: reqwest::Request) -> Result<reqwest::Response, WireError> {
        let answer = timeout(self.limits.first_byte, self.http.execute(request))
            .await
            .map_err(|_| WireError::Slow("to begin its answer"))?
            .map_err(|error| WireError::Connection(chain(&error.without_url())))?;
        let status = answer.status();
        let retry_after = retry_after(answer.headers());
        let body = self.body(answer).await;
        if !status.is_success() {
            let body = body.unwrap_or_default();
            let parsed: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
            // Only what is meant as an error message: a body may echo what was sent.
            let error = &parsed["error"];
            let message = error["message"].as_str().or_else(|| error.as_str());
            let message = message.map(|m| format!(": {}", clip(m))).unwrap_or_default();
            let text = String::from_utf8_lossy(&body);
            let out_of_quota = text.contains("insufficient_quota");
            let code = status.as_u16();
            return Err(WireError::Status {
                status: code,
                message,
                retry_after,
                transient: matches!(code, 408 | 409 | 429 | 500..=599)
                    && code != 501
                    && !out_of_quota,
            });
        }
        let body = body?;
        // Parsed here, so that the library never logs a body that it cannot read.
        if let Err(error) = serde_json::from_slice::<Value>(&body) {
            return Err(WireError::Malformed(error.to_string()));
        }
        Ok(reqwest::Response::from(http::Response::new(body)))
    }

    async fn body(&self, mut answer: reqwest::Response) -> Result<Vec<u8>, WireError> {
        let mut body = Vec::new();
        loop {
            match answer.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.limits.body_bytes => {
                    return Err(WireError::Large(self.limits.body_bytes));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(body),
                Err(error) => return Err(WireError::Connection(chain(&error.without_url()))),
            }
        }
    }
}

/// Seconds or milliseconds; a date is not worth a clock here.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |value: &HeaderValue| value.to_str().ok()?.trim().parse::<f64>().ok();
    let millis = headers.get("retry-after-ms").and_then(number).map(|ms| ms / 1000.0);
    let seconds = millis.or_else(|| headers.get(RETRY_AFTER).and_then(number))?;
    Duration::try_from_secs_f64(seconds.clamp(0.0, 3600.0)).ok()
}
/// Whether an address is on this machine.
fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
