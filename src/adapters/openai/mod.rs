//! A client for servers with OpenAI's chat completions API. Libraries for it lose what is needed
//! here: the status of an error whose body has another format, deadlines and sizes.

mod profile;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use crate::port::{BoxFuture, Budget, ChatError, ChatModel, ChatReply, ChatRequest};
use crate::text::without_credentials;
use wire::{clip, error_chain};

pub(crate) use profile::{AnswerCap, AnswerMode, Limitation, Profiles, ServerProfile};
pub(crate) use wire::WireError;
pub use wire::WireLimits;

/// The base URL of OpenAI's own API.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";
/// How many tokens a reasoning model may use beyond those that its answer needs.
const REASONING_TOKENS: u32 = 8192;

/// The server and the model that are asked.
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
            .field("base_url", &without_credentials(&self.base_url))
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .finish()
    }
}

/// A chat model behind an OpenAI-compatible server.
#[derive(Clone)]
pub struct OpenAi {
    http: reqwest::Client,
    endpoint: Endpoint,
    limits: WireLimits,
    profiles: Arc<Profiles>,
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
        let is_http = base_url.starts_with("http://") || base_url.starts_with("https://");
        if !is_http || base_url.contains(char::is_whitespace) {
            return Err(WireError::Setup(format!("`{base_url}` is not an http(s) URL")));
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = endpoint.api_key.as_deref().filter(|key| !key.is_empty()) {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
                WireError::Setup(
                    "the API key contains a line break or another character that HTTP does not allow"
                        .into(),
                )
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // This fails only if a provider is installed already, which then serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder();
        if is_loopback(&base_url) {
            // A proxy would resolve a loopback address on the proxy's machine.
            http = http.no_proxy();
        }
        let http = http
            .default_headers(headers)
            .connect_timeout(wire::CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("restitch/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| {
                WireError::Setup(format!("no HTTP client: {}", error_chain(&error)))
            })?;
        let endpoint = Endpoint { base_url, ..endpoint };
        Ok(Self { http, endpoint, limits, profiles: Arc::default() })
    }

    /// Keeps what is learnt about the server in `profiles`, in place of the process's memory.
    #[must_use]
    pub(crate) fn with_profiles(self, profiles: Profiles) -> Self {
        Self { profiles: Arc::new(profiles), ..self }
    }

    /// The server and the model that are asked.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// How requests to the server are formed, from what is known about it so far.
    pub fn profile(&self) -> ServerProfile {
        let stored = self.profiles.get(&self.name());
        stored.unwrap_or_else(|| ServerProfile::initial(&self.endpoint.base_url))
    }

    /// Stores a profile for further requests, unless it is stored already.
    fn remember(&self, profile: ServerProfile) {
        if self.profiles.get(&self.name()) != Some(profile) {
            tracing::debug!(?profile, "further requests are formed like this");
            self.profiles.keep(self.name(), profile);
        }
    }

    /// The base URL and the model, as a key for profiles and caches. A password in the URL is never
    /// stored.
    fn name(&self) -> String {
        format!("{} {}", without_credentials(&self.endpoint.base_url), self.endpoint.model)
    }

    /// Sends one chat completion request without retries and returns the body of the answer.
    pub async fn post(&self, body: &Value) -> Result<Value, WireError> {
        let url = format!("{}/chat/completions", self.endpoint.base_url);
        wire::send_once(self.http.post(url).body(body.to_string()), &self.limits).await
    }

    /// The JSON body of a request, in the form that the profile asks for.
    fn body(&self, request: &ChatRequest, profile: ServerProfile) -> Value {
        let schema = &request.schema;
        let mut system = request.system.clone();
        let format = match profile.mode {
            AnswerMode::StrictSchema => {
                let schema = match profile.unbounded_numbers {
                    true => without_number_bounds(schema),
                    false => schema.clone(),
                };
                Some(json!({
                    "type": "json_schema",
                    "json_schema": {"name": request.schema_name, "schema": schema, "strict": true},
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
        // The two simplest modes send no schema, so the prompt contains it.
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
        // Temperature 0 gives the likeliest answer, and the same answer each time.
        if !profile.own_temperature {
            body["temperature"] = 0.into();
        }
        let reasoning_tokens = if profile.thinks { REASONING_TOKENS } else { 0 };
        let tokens = request.answer_tokens.saturating_add(reasoning_tokens);
        match profile.cap {
            AnswerCap::MaxTokens => body["max_tokens"] = tokens.into(),
            AnswerCap::MaxCompletionTokens => body["max_completion_tokens"] = tokens.into(),
            AnswerCap::None => {}
        }
        body
    }

    /// Sends a request within the budget, and again after an error that may be temporary.
    async fn send(&self, body: &Value, budget: &Budget) -> Result<Value, Failure> {
        let size = u64::try_from(body.to_string().len()).unwrap_or(u64::MAX);
        let mut attempts = 0;
        loop {
            if !budget.take_request() {
                return Err(Failure::Final(ChatError::Budget));
            }
            attempts += 1;
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
                    (*wait).min(wire::MAX_RETRY_AFTER)
                }
                _ => Duration::from_millis(250),
            };
            let has_time = Instant::now() + wait < budget.deadline();
            let may_retry = error.is_retryable() && attempts < wire::MAX_ATTEMPTS && has_time;
            if !may_retry {
                return Err(Failure::from_wire(&error));
            }
            tracing::info!(error = error.kind(), wait_ms = wait.as_millis(), "asking again");
            sleep(wait).await;
        }
    }

    /// Asks until the model gives a usable answer, each time in a simpler form if the server rejects
    /// the form or the answer cannot be used.
    async fn complete(
        &self,
        request: &ChatRequest,
        budget: &Budget,
        is_usable: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<ChatReply, ChatError> {
        let mut profile = self.profile();
        // If the reason for a rejection is a guess, the simpler form is remembered only once it works.
        let mut guessed = false;
        // After an answer that was cut off, nothing more is remembered: the form of the request may
        // not be at fault.
        let mut was_cut_off = false;
        let mut unusable_answers = 0;
        loop {
            let body = self.body(request, profile);
            let answer = match self.send(&body, budget).await {
                Ok(answer) => answer,
                Err(Failure::Final(error)) => return Err(error),
                // The server works but does not know this form.
                Err(Failure::Unsupported(limitation, why)) => {
                    let Some(simpler) = profile.avoiding(limitation) else {
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
            count_tokens(&answer, budget);
            let (next_profile, problem) = match answer_text(&answer) {
                Ok(content) if is_usable(&content) => {
                    if !was_cut_off {
                        self.remember(profile);
                    }
                    return Ok(ChatReply { content });
                }
                Ok(_) => (profile.avoiding(Limitation::AnswerFormat), UNREADABLE.to_owned()),
                Err(UnusableAnswer::CutOff { thinking: true }) if !profile.thinks => {
                    let thinking = ServerProfile { thinks: true, ..profile };
                    self.remember(thinking);
                    (Some(thinking), CUT_OFF.to_owned())
                }
                // A form that the server forces on the model may have filled the answer with blanks.
                Err(UnusableAnswer::CutOff { .. }) => {
                    was_cut_off = true;
                    (profile.avoiding(Limitation::AnswerFormat), CUT_OFF.to_owned())
                }
                Err(UnusableAnswer::Other(why)) => {
                    (profile.avoiding(Limitation::AnswerFormat), why)
                }
            };
            unusable_answers += 1;
            let may_retry = unusable_answers < wire::MAX_ATTEMPTS && budget.has_requests();
            match next_profile {
                Some(next_profile) if may_retry => profile = next_profile,
                _ => return Err(ChatError::Failed(problem)),
            }
        }
    }
}

const UNREADABLE: &str = "the model's answer cannot be read";
const CUT_OFF: &str = "the model's answer was cut off: it is longer than any answer needs to be";

/// Why a request got no answer.
enum Failure {
    /// The server does not support the form of the request, but may accept another one.
    Unsupported(Limitation, String),
    /// No other form of the request can help.
    Final(ChatError),
}

impl Failure {
    /// Sorts an error by whether another form of the request may avoid it.
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
    let is_bound =
        |name: &str, value: &Value| value.is_number() && matches!(name, "minimum" | "maximum");
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| !is_bound(name, value))
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

/// Adds the tokens that the server counted to the budget's record.
fn count_tokens(answer: &Value, budget: &Budget) {
    let count = |name: &str| answer["usage"][name].as_u64().unwrap_or(0);
    let (prompt, completion) = (count("prompt_tokens"), count("completion_tokens"));
    budget.record(|spent| {
        spent.prompt_tokens = spent.prompt_tokens.saturating_add(prompt);
        spent.completion_tokens = spent.completion_tokens.saturating_add(completion);
    });
}

/// Why an answer cannot be used.
enum UnusableAnswer {
    /// The answer reached the limit of its length.
    CutOff {
        /// Whether the model was reasoning, so that a higher limit may help.
        thinking: bool,
    },
    /// Any other reason, in words.
    Other(String),
}

/// The text of the first choice, whether the server sends it as a string or in parts; or the reason
/// why it cannot be used.
fn answer_text(answer: &Value) -> Result<String, UnusableAnswer> {
    let unusable = |why: &str| Err(UnusableAnswer::Other(why.to_owned()));
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    if message["role"] != "assistant" {
        return unusable("the server's answer is not a chat completion with the role `assistant`");
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
        let has_text = |field: &str| message[field].as_str().is_some_and(|text| !text.is_empty());
        let has_reasoning_text = ["reasoning_content", "reasoning"].into_iter().any(has_text);
        let reasoning_tokens = &answer["usage"]["completion_tokens_details"]["reasoning_tokens"];
        let has_reasoning_tokens = reasoning_tokens.as_u64().is_some_and(|tokens| tokens > 0);
        let is_inside_think_tag = text.contains("<think>") && !text.contains("</think>");
        let thinking = has_reasoning_text || has_reasoning_tokens || is_inside_think_tag;
        return Err(UnusableAnswer::CutOff { thinking });
    }
    if text.trim().is_empty() {
        return unusable("the server's answer contains no text");
    }
    Ok(text)
}

/// Whether the host of a URL is this machine.
fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
