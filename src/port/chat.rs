//! A chat model: one structured question, one answer.

use serde_json::Value;

use super::{BoxFuture, Budget};

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// What the model is told about its task.
    pub system: String,
    /// The task.
    pub user: String,
    /// The name of the answer's schema.
    pub schema_name: &'static str,
    /// The answer's JSON schema, in the strict subset.
    pub schema: Value,
    /// No answer needs more tokens.
    pub answer_tokens: u32,
}

/// The answer's text; by request a JSON object, but servers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// The content, with whatever the model wrote around the object.
    pub content: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The call's budget of requests or time is spent.
    #[error("the budget of requests for this call is spent")]
    Budget,
    /// A limit that several processes share is reached.
    #[error("{0}")]
    RateLimited(String),
    /// The time ran out.
    #[error("no answer in time: {0}")]
    Timeout(String),
    /// The prompt is longer than what the server takes.
    #[error("the question does not fit the server's context ({0}); give the server a larger one")]
    ContextTooLong(String),
    /// The server or the network failed. The text never holds the key.
    #[error("{0}")]
    Failed(String),
}

/// A model behind some server.
pub trait ChatModel: Send + Sync {
    /// Server and model, for cache keys and reports; no secret.
    fn identity(&self) -> String;

    /// Asks once. Retries count against the budget. `is_usable` says whether a content
    /// can be read; a server whose answers cannot is asked in a simpler way.
    fn ask<'a>(
        &'a self,
        request: &'a ChatRequest,
        budget: &'a Budget,
        is_usable: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>>;
}
