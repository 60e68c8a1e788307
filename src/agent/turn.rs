//! One turn of the agent's model, in OpenAI's format.

use serde_json::{Value, json};

use crate::adapters::openai::OpenAi;

/// One call that the model makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolUse {
    /// The id that the answer refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: JSON in a string.
    pub arguments: String,
}

/// One turn of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Turn {
    /// The text of the model.
    pub text: String,
    /// The tool calls of the model.
    pub calls: Vec<ToolUse>,
}

/// The model's next turn, or an error in words for a person.
pub(super) async fn ask(chat: &OpenAi, messages: &[Value], tools: &Value) -> Result<Turn, String> {
    let body = json!({
        "model": chat.endpoint().model, "messages": messages, "tools": tools, "tool_choice": "auto",
    });
    let answer = chat.post(&body).await.map_err(|error| error.to_string())?;
    parse_turn(&answer)
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
