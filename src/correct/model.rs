//! A corrector that asks a chat model: it renders the prompt and reads the answer.

use std::time::Instant;

use super::mask::Mask;
use super::prompts::PromptBook;
use super::reply::{parse_reply, schema, schema_name};
use super::size;
use crate::port::{
    Ask, Budget, ChatError, ChatModel, ChatRequest, Corrector, CorrectorError, FutureReply, Reply,
};
use crate::secrets::Secrets;
use crate::text::ContentHash;

/// A corrector that asks a chat model. It logs sizes, hashes and times; at trace level also the
/// texts, in which lines that look like secrets are redacted.
#[derive(Debug)]
pub struct ModelCorrector<M> {
    chat: M,
    prompts: PromptBook,
    secrets: Secrets,
}

impl<M: ChatModel> ModelCorrector<M> {
    /// Asks `chat` with these prompts.
    pub fn new(chat: M, prompts: PromptBook, secrets: Secrets) -> Self {
        Self { chat, prompts, secrets }
    }

    /// Bytes that differ whenever the server, the model or the prompts differ.
    pub fn identity(&self) -> Vec<u8> {
        let mut identity = self.chat.identity().into_bytes();
        identity.extend_from_slice(self.prompts.digest());
        identity
    }

    /// Sends one question and reads the answer.
    async fn answer(&self, ask: &Ask, budget: &Budget) -> Result<Reply, CorrectorError> {
        let (mask, ask) = Mask::of(&self.secrets, ask).map_err(CorrectorError::Sensitive)?;
        let ask = &ask;
        let kind = ask.kind();
        let rendered = self
            .prompts
            .render(ask)
            .ok_or_else(|| CorrectorError::Failed(format!("no prompt for {kind}")))?;
        let request = ChatRequest {
            system: rendered.system,
            user: rendered.user,
            schema_name: schema_name(kind),
            schema: size::with_bounds(schema(kind), ask),
            answer_tokens: size::answer_tokens(ask),
        };
        tracing::debug!(
            ask = %ask.kind(),
            text_bytes = ask.size(),
            prompt_bytes = request.system.len() + request.user.len(),
            answer_tokens = request.answer_tokens,
            "asking"
        );
        if tracing::enabled!(tracing::Level::TRACE) {
            let text = self.secrets.redact(&request.user);
            tracing::trace!(ask = %ask.kind(), text, "prompt");
        }
        let is_usable = |content: &str| parse_reply(kind, content).is_some();
        let reply =
            self.chat.ask(&request, budget, &is_usable).await.map_err(|error| match error {
                ChatError::Timeout(_) => CorrectorError::Timeout,
                ChatError::Budget => CorrectorError::Skipped(error.to_string()),
                error => CorrectorError::Failed(error.to_string()),
            })?;
        if tracing::enabled!(tracing::Level::TRACE) {
            let text = self.secrets.redact(&reply.content);
            tracing::trace!(ask = %ask.kind(), text, "answer");
        }
        parse_reply(kind, &reply.content)
            .map(|reply| mask.restore(reply))
            .ok_or_else(|| CorrectorError::Failed("the model's answer cannot be read".into()))
    }
}

impl<M: ChatModel> Corrector for ModelCorrector<M> {
    fn correct<'a>(&'a self, ask: &'a Ask, budget: &'a Budget) -> FutureReply<'a> {
        Box::pin(async move {
            let start = Instant::now();
            let answer = self.answer(ask, budget).await;
            let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
            budget.record(|spent| spent.millis += millis);
            match &answer {
                Ok(
                    Reply::Text(text) | Reply::Located { text, .. } | Reply::WithNew { text, .. },
                ) => tracing::info!(
                    ask = %ask.kind(),
                    millis,
                    bytes = text.len(),
                    sha256 = %ContentHash::of(text.as_bytes()),
                    "answered"
                ),
                Ok(reply) => tracing::info!(ask = %ask.kind(), millis, ?reply, "answered"),
                // Log only the first part of the error: a server's message may repeat the request.
                Err(error) => {
                    let error = error.to_string();
                    let cause = error.split(": ").next().unwrap_or_default();
                    tracing::warn!(ask = %ask.kind(), millis, cause, "no answer");
                    tracing::trace!(error = self.secrets.redact(&error), "in full");
                }
            }
            answer
        })
    }
}
