//! How requests to a server are formed. Servers differ in the fields they accept: which one a
//! server rejects is read from its error and remembered.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::store::write_json;

named! {
    /// How a request asks for the form of the answer, from the strictest way to the simplest.
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AnswerMode {
        /// By a JSON schema with `strict` set.
        #[default]
        StrictSchema = "strict_schema",
        /// By a JSON schema without keywords that limit numbers, and without `strict`.
        Schema = "schema",
        /// As any JSON object; the schema is in the prompt.
        JsonObject = "json_object",
        /// As text; the schema is in the prompt.
        Text = "text",
    }
}

/// The field of a request that limits the length of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerCap {
    /// `max_tokens`, which nearly every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's own models require.
    MaxCompletionTokens,
    /// No field: the server accepts neither.
    None,
}

/// The form of the requests to one model on one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerProfile {
    /// The form of the answer.
    pub mode: AnswerMode,
    /// How the answer's length is limited.
    pub cap: AnswerCap,
    /// The server rejects schemas with keywords that limit numbers.
    pub unbounded_numbers: bool,
    /// The model rejects any temperature other than its default.
    pub own_temperature: bool,
    /// The model reasons before it answers, and its reasoning counts as part of the answer.
    pub thinks: bool,
}

impl ServerProfile {
    /// The profile before anything is known about the server.
    pub(super) fn initial(base_url: &str) -> Self {
        let is_openai = base_url.contains("//api.openai.com");
        let cap = if is_openai { AnswerCap::MaxCompletionTokens } else { AnswerCap::MaxTokens };
        Self { cap, ..Self::default() }
    }

    /// The profile for requests that avoid this limitation of the server; `None` if no simpler form
    /// is left.
    pub(super) fn avoiding(self, limitation: Limitation) -> Option<Self> {
        let with_mode = |mode: AnswerMode| Self { mode, ..self };
        match limitation {
            Limitation::PromptLength => None,
            Limitation::LengthField => match self.cap {
                AnswerCap::MaxTokens => Some(Self { cap: AnswerCap::MaxCompletionTokens, ..self }),
                AnswerCap::MaxCompletionTokens => Some(Self { cap: AnswerCap::None, ..self }),
                AnswerCap::None => None,
            },
            Limitation::Temperature if !self.own_temperature => {
                Some(Self { own_temperature: true, ..self })
            }
            Limitation::Temperature => None,
            Limitation::NumberBounds if !self.unbounded_numbers => {
                Some(Self { unbounded_numbers: true, ..self })
            }
            Limitation::JsonSchema if self.mode < AnswerMode::JsonObject => {
                Some(with_mode(AnswerMode::JsonObject))
            }
            Limitation::NumberBounds
            | Limitation::JsonSchema
            | Limitation::AnswerFormat
            | Limitation::Unknown => {
                let next = AnswerMode::ALL.iter().copied().find(|mode| *mode > self.mode);
                next.map(with_mode)
            }
        }
    }
}

/// What a server rejects or lacks, as far as its error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limitation {
    /// The prompt is longer than the model's context.
    PromptLength,
    /// The server rejects the field that limits the answer's length.
    LengthField,
    /// The model rejects the temperature.
    Temperature,
    /// The server rejects schemas with keywords that limit numbers.
    NumberBounds,
    /// The server rejects schemas, but its error offers `json_object`.
    JsonSchema,
    /// The server rejects the way in which the request asks for the form of the answer.
    AnswerFormat,
    /// The error does not say what is wrong; most likely it is the form of the answer.
    Unknown,
}

impl Limitation {
    /// Reads the limitation from an error. The words of the error count more than its status, since
    /// servers and proxies use the same status for different errors.
    pub(super) fn from_error(status: u16, body: &str) -> Option<Self> {
        // Errors of access, payment and rate say nothing about the form.
        if matches!(status, 401 | 402 | 403 | 429) {
            return None;
        }
        let text = body.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let is_too_long = has(&["context_length_exceeded", "exceed_context_size"])
            || has(&["context length", "context size", "context window", "maximum context"])
            || (has(&["context"]) && has(&["overflow", "exceed", "too long", "larger than"]));
        if is_too_long || status == 413 {
            return Some(Self::PromptLength);
        }
        if has(&["max_tokens", "max_completion_tokens"]) {
            return Some(Self::LengthField);
        }
        if has(&["temperature"]) {
            return Some(Self::Temperature);
        }
        if has(&["schema", "response_format", "grammar"]) && has(&["minimum", "maximum"]) {
            return Some(Self::NumberBounds);
        }
        if has(&["json_object"]) {
            return Some(Self::JsonSchema);
        }
        if has(&["response_format", "json_schema", "structured output", "guided_json", "grammar"]) {
            return Some(Self::AnswerFormat);
        }
        let is_unknown_model = has(&["invalid model", "unknown model"])
            || has(&["model"]) && has(&["not found", "not exist"]);
        if is_unknown_model {
            return None;
        }
        matches!(status, 400 | 404 | 415 | 422 | 501).then_some(Self::Unknown)
    }
}

/// The profiles of servers and models that have worked. A small file may keep them for the next
/// process; without it, that process needs one more request to find them out.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    known: Mutex<BTreeMap<String, ServerProfile>>,
    file: Option<PathBuf>,
}

impl Profiles {
    /// No profiles yet; those to come are kept in `file`.
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self { known: Mutex::default(), file }
    }

    /// The profiles in `file`, which keeps those to come as well.
    pub(crate) fn stored(file: Option<PathBuf>) -> Self {
        let known = Mutex::new(file.as_deref().map(read_profiles).unwrap_or_default());
        Self { known, file }
    }

    /// The profile that worked last time.
    pub(super) fn get(&self, server_and_model: &str) -> Option<ServerProfile> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(server_and_model).copied()
    }

    /// Keeps the profile that works.
    pub(super) fn keep(&self, server_and_model: String, profile: ServerProfile) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(server_and_model.clone(), profile);
        let Some(file) = &self.file else { return };
        let mut profiles = read_profiles(file);
        if profiles.insert(server_and_model, profile) == Some(profile) {
            return;
        }
        if let Err(error) = write_json(file, &profiles) {
            tracing::info!(%error, "the features of the model's server could not be stored");
        }
    }
}

/// The profiles in a file; none if it cannot be read.
fn read_profiles(file: &Path) -> BTreeMap<String, ServerProfile> {
    let text = fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors as servers word them.
    #[test]
    fn what_a_server_lacks_is_read_off_its_words_whatever_the_status() {
        for row in include_str!("server_errors.tsv").lines() {
            let [status, limitation, body] = row.splitn(3, '\t').collect::<Vec<_>>()[..] else {
                panic!("{row}");
            };
            let found = Limitation::from_error(status.parse().expect("a status"), body);
            let found = found.map_or("None".to_owned(), |found| format!("{found:?}"));
            assert_eq!(found, limitation, "{row}");
        }
    }
}
