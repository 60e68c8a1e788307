//! How requests to a server are formed. Servers differ in which fields they accept; a rejected one
//! is learnt from the error and remembered.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// How an answer's form is asked for, from the strictest to the plainest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerMode {
    /// A JSON schema, strict.
    #[default]
    StrictSchema,
    /// A JSON schema, without keywords that limit numbers.
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

    pub(super) fn simpler(self) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| *mode > self)
    }
}

/// The field that says how long an answer may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerCap {
    /// `max_tokens`, which nearly every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's own models want.
    MaxCompletionTokens,
    /// The server takes neither.
    None,
}

/// What is sent to a server and model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Manner {
    /// The form of the answer.
    pub mode: AnswerMode,
    /// How the answer's length is limited.
    pub cap: AnswerCap,
    /// The server's schemas take no keywords that limit numbers.
    pub unbounded_numbers: bool,
    /// The model takes no other temperature than its own.
    pub own_temperature: bool,
    /// The model thinks before it answers, and its thoughts count as part of the answer.
    pub thinks: bool,
}

impl Manner {
    /// The manner to begin with.
    pub(super) fn first(base_url: &str) -> Self {
        let own = base_url.contains("//api.openai.com");
        let cap = if own { AnswerCap::MaxCompletionTokens } else { AnswerCap::MaxTokens };
        Self { cap, ..Self::default() }
    }

    /// How to ask a server that lacks this; `None` when nothing simpler is left.
    pub(super) fn without(self, lack: Lack) -> Option<Self> {
        let simpler = |mode: AnswerMode| Self { mode, ..self };
        match lack {
            Lack::Room => None,
            Lack::Cap => match self.cap {
                AnswerCap::MaxTokens => Some(Self { cap: AnswerCap::MaxCompletionTokens, ..self }),
                AnswerCap::MaxCompletionTokens => Some(Self { cap: AnswerCap::None, ..self }),
                AnswerCap::None => None,
            },
            Lack::Temperature if !self.own_temperature => {
                Some(Self { own_temperature: true, ..self })
            }
            Lack::Temperature => None,
            Lack::NumberBounds if !self.unbounded_numbers => {
                Some(Self { unbounded_numbers: true, ..self })
            }
            Lack::Schema if self.mode < AnswerMode::JsonObject => {
                Some(simpler(AnswerMode::JsonObject))
            }
            Lack::NumberBounds | Lack::Schema | Lack::Form | Lack::Unnamed => {
                self.mode.simpler().map(simpler)
            }
        }
    }
}

/// What a server does not have or know, as far as its error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lack {
    /// Room: the prompt is longer than its context.
    Room,
    /// The field that limits the answer's length.
    Cap,
    /// A choice of the temperature.
    Temperature,
    /// Schemas that limit numbers.
    NumberBounds,
    /// Schemas, but it says that it has `json_object`.
    Schema,
    /// This form of answers.
    Form,
    /// Something, most likely the form: the error says nothing.
    Unnamed,
}

impl Lack {
    /// Reads it off an error. The words come first, since servers and proxies disagree
    /// about which status means what.
    pub(super) fn named(status: u16, body: &str) -> Option<Self> {
        // Who may not ask, or not now, learns nothing about the form.
        if matches!(status, 401 | 402 | 403 | 429) {
            return None;
        }
        let text = body.to_ascii_lowercase();
        let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let no_room = any(&["context_length_exceeded", "exceed_context_size"])
            || any(&["context length", "context size", "context window", "maximum context"])
            || (any(&["context"]) && any(&["overflow", "exceed", "too long", "larger than"]));
        if no_room || status == 413 {
            return Some(Self::Room);
        }
        if any(&["max_tokens", "max_completion_tokens"]) {
            return Some(Self::Cap);
        }
        if any(&["temperature"]) {
            return Some(Self::Temperature);
        }
        if any(&["schema", "response_format", "grammar"]) && any(&["minimum", "maximum"]) {
            return Some(Self::NumberBounds);
        }
        if any(&["json_object"]) {
            return Some(Self::Schema);
        }
        if any(&["response_format", "json_schema", "structured output", "guided_json", "grammar"]) {
            return Some(Self::Form);
        }
        let no_model = any(&["invalid model", "unknown model"])
            || any(&["model"]) && any(&["not found", "not exist"]);
        if no_model {
            return None;
        }
        matches!(status, 400 | 404 | 415 | 422 | 501).then_some(Self::Unnamed)
    }
}

/// Keeps how servers and models are spoken to, beyond the process.
pub trait MannerMemory: Send + Sync {
    /// The manner that worked last.
    fn recall(&self, server_and_model: &str) -> Option<Manner>;
    /// Notes the manner that works.
    fn note(&self, server_and_model: &str, manner: Manner);
}

/// Remembers for as long as the process lives.
#[derive(Debug, Default)]
pub struct ProcessMemory(Mutex<HashMap<String, Manner>>);

impl MannerMemory for ProcessMemory {
    fn recall(&self, server_and_model: &str) -> Option<Manner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server_and_model).copied()
    }

    fn note(&self, server_and_model: &str, manner: Manner) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(server_and_model.to_owned(), manner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors as servers word them.
    #[test]
    fn what_a_server_lacks_is_read_off_its_words_whatever_the_status() {
        let llama_cpp_python = r#"{"error":{"message":"[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}]"}}"#;
        for (status, body, lack) in [
            (500, llama_cpp_python, Some(Lack::Schema)),
            (
                400,
                r#"{"error":{"message":"request (9024 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}"#,
                Some(Lack::Room),
            ),
            (
                400,
                "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
                Some(Lack::Room),
            ),
            (
                400,
                "'max_tokens' is too large: 900. This model's maximum context length is 4096 tokens",
                Some(Lack::Room),
            ),
            (
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Some(Lack::Cap),
            ),
            (
                400,
                "Invalid schema for response_format 'x': In context=('properties', 'n'), 'minimum' is not permitted.",
                Some(Lack::NumberBounds),
            ),
            (400, "This response_format type is unavailable now", Some(Lack::Form)),
            (500, "failed to parse grammar", Some(Lack::Form)),
            (422, r#"{"detail": []}"#, Some(Lack::Unnamed)),
            (500, "oops", None),
            (
                400,
                "Unsupported value: 'temperature' does not support 0 with this model.",
                Some(Lack::Temperature),
            ),
            (400, "Invalid model name passed in model=x", None),
            (503, "", None),
            (404, r#"{"error": "model 'x' not found"}"#, None),
            (429, "max_tokens per minute", None),
            (401, "response_format", None),
        ] {
            assert_eq!(Lack::named(status, body), lack, "{status} {body}");
        }
    }

    #[test]
    fn what_is_left_out_is_bounded() {
        for lack in [
            Lack::Room,
            Lack::Cap,
            Lack::Temperature,
            Lack::NumberBounds,
            Lack::Schema,
            Lack::Form,
            Lack::Unnamed,
        ] {
            let mut manner = Manner::first("http://127.0.0.1/v1");
            let mut steps = 0;
            while let Some(next) = manner.without(lack) {
                assert_ne!(next, manner, "{lack:?}");
                manner = next;
                steps += 1;
            }
            assert!(steps <= 4, "{lack:?}: {steps}");
        }
        assert_eq!(Manner::first("https://api.openai.com/v1").cap, AnswerCap::MaxCompletionTokens);
    }
}
