//! The agent's model on an OpenAI-compatible server.

use serde_json::{Value, json};

use super::{Chat, ToolUse, Turn};
use crate::adapters::openai::OpenAi;
use crate::port::BoxFuture;

impl Chat for OpenAi {
    fn turn<'a>(
        &'a self,
        messages: &'a [Value],
        tools: &'a Value,
    ) -> BoxFuture<'a, Result<Turn, String>> {
        Box::pin(async move {
            let body = json!({
                "model": self.endpoint().model,
                "messages": messages,
                "tools": tools,
                "tool_choice": "auto",
            });
            let answer = self.post(&body).await.map_err(|error| error.to_string())?;
            parse_turn(&answer)
        })
    }
}

/// The model's turn in the first choice of an answer. Servers leave out different fields.
fn parse_turn(answer: &Value) -> Result<Turn, String> {
    let message = answer
        .pointer("/choices/0/message")
        .ok_or("the server's answer contains no message; check that the base URL is a chat completions endpoint")?;
    let text = message["content"].as_str().unwrap_or_default().to_owned();
    let calls = message["tool_calls"].as_array().into_iter().flatten().enumerate();
    let calls = calls
        .map(|(index, call)| {
            let function = &call["function"];
            let arguments = match &function["arguments"] {
                Value::String(text) => text.clone(),
                Value::Null => "{}".to_owned(),
                // Some servers send the object itself.
                other => other.to_string(),
            };
            ToolUse {
                id: call["id"].as_str().map_or_else(|| format!("call_{index}"), str::to_owned),
                name: function["name"].as_str().unwrap_or_default().to_owned(),
                arguments,
            }
        })
        .collect();
    Ok(Turn { text, calls })
}
