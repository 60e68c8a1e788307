//! Any server that speaks OpenAI's chat completions, by async-openai. The only module
//! that names it.
//!
//! The library's own retries and error types lose what is needed here (statuses of
//! foreign error bodies, deadlines, sizes), so every request goes through a tower
//! service of ours, which answers with the body of a success or with a [`WireError`].

mod profile;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use http::header::HeaderValue;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use crate::port::{BoxFuture, Budget, ChatError, ChatModel, ChatReply, ChatRequest, Gate};
use wire::{HttpService, clip, error_chain};

pub use profile::{
    AnswerCap, AnswerMode, InMemoryProfiles, Limitation, ProfileStore, ServerProfile,
};
pub use wire::{WireError, WireLimits};

/// Where OpenAI itself listens.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";
/// The model when none is named.
pub const DEFAULT_MODEL: &str = "gpt-4o-mini";
/// What a model that thinks gets on top of what its answer needs.
const REASONING_TOKENS: u32 = 8192;

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

/// A chat model behind an OpenAI-compatible server.
#[derive(Clone)]
pub struct OpenAi {
    client: Client<OpenAIConfig>,
    endpoint: Endpoint,
    limits: WireLimits,
    profiles: Arc<dyn ProfileStore>,
    gate: Option<Arc<dyn Gate>>,
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
            return Err(WireError::Setup(
                "the API key contains a line break or another character that HTTP does not allow"
                    .into(),
            ));
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
            .map_err(|error| {
                WireError::Setup(format!("no HTTP client: {}", error_chain(&error)))
            })?;
        let config = OpenAIConfig::default()
            .with_org_id("")
            .with_project_id("")
            .with_api_base(&base_url)
            .with_api_key(&key);
        let service = HttpService { http: http.clone(), limits, has_key: !key.is_empty() };
        let client = Client::build(http, config).with_http_service(service);
        let endpoint = Endpoint { base_url, ..endpoint };
        Ok(Self {
            client,
            endpoint,
            limits,
            profiles: Arc::new(InMemoryProfiles::default()),
            gate: None,
        })
    }

    /// Remembers elsewhere than in the process what the server lacks.
    #[must_use]
    pub fn with_profile_store(mut self, profiles: Arc<dyn ProfileStore>) -> Self {
        self.profiles = profiles;
        self
    }

    /// Asks before each request whether it may be sent.
    #[must_use]
    pub fn with_gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// How the server is asked, as far as is known by now.
    pub fn profile(&self) -> ServerProfile {
        let known = self.profiles.load(&self.name());
        known.unwrap_or_else(|| ServerProfile::initial(&self.endpoint.base_url))
    }

    fn remember(&self, profile: ServerProfile) {
        if self.profiles.load(&self.name()) != Some(profile) {
            tracing::debug!(?profile, "this is how the server is asked from now on");
            self.profiles.save(&self.name(), profile);
        }
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
            OpenAIError::Reqwest(error) => WireError::Connection(error_chain(&error)),
            OpenAIError::JSONDeserialize(error, _) => WireError::Malformed(error.to_string()),
            OpenAIError::ApiError(error) => WireError::Malformed(error.to_string()),
            other => WireError::Setup(other.to_string()),
        })
    }

    /// Sends a prompt of about so many bytes, of which nothing is asked, and says how many
    /// tokens the server counted; 0 when it does not count.
    pub async fn probe_prompt(&self, bytes: usize) -> Result<u64, WireError> {
        let mut text = String::from("Answer with one word: yes.\n");
        for line in 0.. {
            if text.len() >= bytes {
                break;
            }
            text.push_str(&format!("    value[{line}] = step(value[{line}], \"offset\") + 1;\n"));
        }
        let mut body = json!({
            "model": self.endpoint.model,
            "messages": [{"role": "user", "content": text}],
        });
        Self::limit_answer(&mut body, self.profile(), 16);
        let answer = self.post(&body).await?;
        Ok(answer["usage"]["prompt_tokens"].as_u64().unwrap_or(0))
    }

    fn limit_answer(body: &mut Value, profile: ServerProfile, tokens: u32) {
        match profile.cap {
            AnswerCap::MaxTokens => body["max_tokens"] = tokens.into(),
            AnswerCap::MaxCompletionTokens => body["max_completion_tokens"] = tokens.into(),
            AnswerCap::None => {}
        }
    }

    fn body(&self, request: &ChatRequest, profile: ServerProfile) -> Value {
        let schema = &request.schema;
        let mut system = request.system.clone();
        let format = match profile.mode {
            AnswerMode::StrictSchema => {
                let bounded = match profile.unbounded_numbers {
                    true => without_number_bounds(schema),
                    false => schema.clone(),
                };
                Some(json!({
                    "type": "json_schema",
                    "json_schema": {"name": request.schema_name, "schema": bounded, "strict": true},
                }))
            }
            AnswerMode::Schema => Some(json!({
                "type": "json_schema",
                "json_schema": {
                    "name": request.schema_name, "schema": without_number_bounds(schema),
                },
            })),
            AnswerMode::JsonObject => Some(json!({"type": "json_object"})),
            AnswerMode::Text => None,
        };
        if profile.mode >= AnswerMode::JsonObject {
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
        // The likeliest answer, and the same one again.
        if !profile.own_temperature {
            body["temperature"] = 0.into();
        }
        let thoughts = if profile.thinks { REASONING_TOKENS } else { 0 };
        Self::limit_answer(&mut body, profile, request.answer_tokens.saturating_add(thoughts));
        body
    }

    /// Sends within the budget, with repetitions where they may help.
    async fn send(&self, body: &Value, budget: &Budget) -> Result<Value, Failure> {
        let size = u64::try_from(body.to_string().len()).unwrap_or(u64::MAX);
        let mut tried = 0;
        loop {
            if let Some(gate) = self.gate.as_ref().filter(|_| budget.has_requests()) {
                let passed = gate.pass(budget.deadline()).await;
                passed.map_err(|why| Failure::Final(ChatError::RateLimited(why)))?;
            }
            if !budget.take_request() {
                return Err(Failure::Final(ChatError::Budget));
            }
            tried += 1;
            budget.record(|spent| spent.prompt_bytes += size);
            let answer = timeout_at(budget.deadline(), self.post(body))
                .await
                .unwrap_or(Err(WireError::Timeout("to answer")));
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
            if !error.is_retryable() || tried >= self.limits.attempts || !in_time {
                return Err(Failure::from_wire(&error));
            }
            tracing::info!(error = error.kind(), wait_ms = wait.as_millis(), "asking again");
            sleep(wait).await;
        }
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        budget: &Budget,
        is_usable: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<ChatReply, ChatError> {
        let mut profile = self.profile();
        // If the reason of a rejection is a guess, the simpler form is remembered only once the
        // server accepts it.
        let mut guessed = false;
        // An answer that was cut off says nothing about its server.
        let mut was_cut_off = false;
        let mut unreadable = 0;
        loop {
            let body = self.body(request, profile);
            let answer = match self.send(&body, budget).await {
                Ok(answer) => answer,
                Err(Failure::Final(error)) => return Err(error),
                // Not a failure of the server: it does not know this form.
                Err(Failure::Unsupported(limitation, why)) => {
                    let Some(simpler) = profile.without(limitation) else {
                        return Err(ChatError::Failed(why));
                    };
                    tracing::debug!(?limitation, "the server lacks this; asking without");
                    guessed |= limitation == Limitation::Unknown;
                    profile = simpler;
                    if !guessed && !was_cut_off {
                        self.remember(profile);
                    }
                    if !budget.has_requests() {
                        return Err(ChatError::Failed(why));
                    }
                    continue;
                }
            };
            // Whatever the model answered, the server accepts this form and not the previous one.
            if guessed && !was_cut_off {
                self.remember(profile);
            }
            guessed = false;
            count_tokens(&answer, budget);
            let (next, trouble) = match answer_text(&answer) {
                Ok(content) if is_usable(&content) => {
                    if !was_cut_off {
                        self.remember(profile);
                    }
                    return Ok(ChatReply { content });
                }
                Ok(_) => (profile.without(Limitation::AnswerFormat), UNREADABLE.to_owned()),
                Err(UnusableAnswer::CutOff { thinking: true }) if !profile.thinks => {
                    let thinking = ServerProfile { thinks: true, ..profile };
                    self.remember(thinking);
                    (Some(thinking), CUT_OFF.to_owned())
                }
                Err(UnusableAnswer::CutOff { .. }) => {
                    was_cut_off = true;
                    (profile.without(Limitation::AnswerFormat), CUT_OFF.to_owned())
                }
                Err(UnusableAnswer::Other(why)) => (profile.without(Limitation::AnswerFormat), why),
            };
            unreadable += 1;
            match next {
                Some(next) if unreadable < self.limits.attempts && budget.has_requests() => {
                    profile = next;
                }
                _ => return Err(ChatError::Failed(trouble)),
            }
        }
    }
}

const UNREADABLE: &str = "the model's answer cannot be read";
const CUT_OFF: &str = "the model's answer was cut off: it is longer than any answer needs to be";

/// Why a request has no answer.
enum Failure {
    /// The server may take another one.
    Unsupported(Limitation, String),
    /// No other form will help.
    Final(ChatError),
}

impl Failure {
    fn from_wire(error: &WireError) -> Self {
        match (error, error.limitation()) {
            (WireError::Timeout(_), _) => Self::Final(ChatError::Timeout(error.to_string())),
            (_, Some(Limitation::PromptLength)) => {
                Self::Final(ChatError::ContextTooLong(error.to_string()))
            }
            (_, Some(limitation)) => Self::Unsupported(limitation, error.to_string()),
            (_, None) => Self::Final(ChatError::Failed(error.to_string())),
        }
    }
}

/// The schema without the keywords that limit numbers.
fn without_number_bounds(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| {
                !(value.is_number() && matches!(name.as_str(), "minimum" | "maximum"))
            })
            .map(|(name, value)| (name.clone(), without_number_bounds(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_number_bounds).collect(),
        other => other.clone(),
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
        is_usable: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(self.complete(request, budget, is_usable))
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

/// Why an answer holds nothing to read.
enum UnusableAnswer {
    /// It reached the limit of its length.
    CutOff {
        /// In thoughts, before the answer itself.
        thinking: bool,
    },
    /// For another reason.
    Other(String),
}

/// The text of the first choice, wherever the server puts it.
fn answer_text(answer: &Value) -> Result<String, UnusableAnswer> {
    let unusable = |why: &str| Err(UnusableAnswer::Other(why.to_owned()));
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    if message["role"] != "assistant" {
        return unusable("the server's answer is not a chat completion of an assistant");
    }
    if let Some(refusal) = message["refusal"].as_str().filter(|text| !text.is_empty()) {
        return unusable(&format!("the model refused: {}", clip(refusal)));
    }
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<String>()
        }
        _ => String::new(),
    };
    if choice["finish_reason"] == "length" {
        let thoughts = &answer["usage"]["completion_tokens_details"]["reasoning_tokens"];
        let thinking = ["reasoning_content", "reasoning"]
            .iter()
            .any(|field| message[*field].as_str().is_some_and(|text| !text.is_empty()))
            || thoughts.as_u64().is_some_and(|tokens| tokens > 0)
            || text.contains("<think>") && !text.contains("</think>");
        return Err(UnusableAnswer::CutOff { thinking });
    }
    if text.trim().is_empty() {
        return unusable("the server's answer holds no text");
    }
    Ok(text)
}

/// Whether an address is on this machine.
fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
