//! The interface to a chat model: one question with a JSON schema, one answer.

use serde_json::Value;

use super::{BoxFuture, Budget};

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The system prompt, which explains the task.
    pub system: String,
    /// The user prompt, with the question itself.
    pub user: String,
    /// The name of the answer's schema.
    pub schema_name: &'static str,
    /// The answer's JSON schema, in the strict subset.
    pub schema: Value,
    /// The number of tokens that the longest answer needs.
    pub answer_tokens: u32,
}

/// The text of the answer. It should be a JSON object, but not every server ensures that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// The JSON object, perhaps with other text around it.
    pub content: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The call's budget of requests or time is spent.
    #[error("the budget of requests for this call is spent")]
    Budget,
    /// The time ran out.
    #[error("no answer in time: {0}")]
    Timeout(String),
    /// The prompt is longer than the server accepts.
    #[error("the question does not fit the server's context ({0}); give the server a larger one")]
    ContextTooLong(String),
    /// The server or the network failed. The text never contains the key.
    #[error("{0}")]
    Failed(String),
}

/// A model on some server.
pub trait ChatModel: Send + Sync {
    /// The server and the model, for cache keys and reports. It contains no secret.
    fn identity(&self) -> String;

    /// Asks one question. Retries count against the budget. `is_usable` tells whether an answer can
    /// be parsed; if not, the server is asked again in a simpler way.
    fn ask<'a>(
        &'a self,
        request: &'a ChatRequest,
        budget: &'a Budget,
        is_usable: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>>;
}
