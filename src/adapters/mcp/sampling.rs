//! The model that the client itself uses, asked by sampling.
#![expect(deprecated, reason = "current clients still offer their model this way")]

use std::sync::Arc;

use rmcp::model::{CreateMessageRequestParams, SamplingMessage, SamplingMessageContentBlock};
use rmcp::service::{Peer, RoleServer};
use tokio::time::timeout_at;

use crate::port::{BoxFuture, Budget, ChatError, ChatModel, ChatReply, ChatRequest, Corrector};

/// Makes a corrector of the client's model.
pub(crate) type ClientCorrector = Arc<dyn Fn(ClientModel) -> Arc<dyn Corrector> + Send + Sync>;

/// The model of one client.
#[derive(Debug)]
pub(crate) struct ClientModel {
    peer: Peer<RoleServer>,
}

impl ClientModel {
    /// The model of this client; `None` if it does not offer it.
    pub(super) fn of(peer: &Peer<RoleServer>) -> Option<Self> {
        let client = peer.peer_info()?;
        client.capabilities.sampling.as_ref().map(|_| Self { peer: peer.clone() })
    }
}

impl ChatModel for ClientModel {
    fn identity(&self) -> String {
        "the client's own model".into()
    }

    fn ask<'a>(
        &'a self,
        request: &'a ChatRequest,
        budget: &'a Budget,
        _is_usable: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            if !budget.take_request() {
                return Err(ChatError::Budget);
            }
            let size = request.system.len() + request.user.len();
            budget.record(|spent| spent.prompt_bytes += u64::try_from(size).unwrap_or(u64::MAX));
            let question = vec![SamplingMessage::user_text(request.user.as_str())];
            let params = CreateMessageRequestParams::new(question, request.answer_tokens)
                .with_system_prompt(request.system.as_str())
                .with_temperature(0.0);
            let answer = timeout_at(budget.deadline(), self.peer.create_message(params)).await;
            let answer = answer
                .map_err(|_| ChatError::Timeout("the client did not answer".into()))?
                .map_err(|error| ChatError::Failed(format!("the client's model: {error}")))?;
            let parts = answer.message.content.into_vec().into_iter();
            let content = parts.filter_map(|part| match part {
                SamplingMessageContentBlock::Text(text) => Some(text.text),
                _ => None,
            });
            Ok(ChatReply { content: content.collect() })
        })
    }
}
