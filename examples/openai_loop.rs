//! restitch in a loop of your own: declare the tools, execute the calls.
//!
//! OPENAI_API_KEY=… MODEL=… cargo run --example openai_loop -- "Rename greet to hail in src/main.rs"

use restitch::adapters::openai::{DEFAULT_BASE_URL, Endpoint, OpenAi, WireLimits};
use restitch::engine::{CallOptions, Engine};
use restitch::store::DiskStore;
use restitch::tools::Toolbox;
use restitch::tools::export::{Format, export};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let task = std::env::args().nth(1).ok_or("say what to do")?;
    let model = std::env::var("MODEL")?;
    let client = OpenAi::new(
        Endpoint {
            base_url: std::env::var("OPENAI_BASE_URL").unwrap_or(DEFAULT_BASE_URL.into()),
            model: model.clone(),
            api_key: std::env::var("OPENAI_API_KEY").ok(),
        },
        WireLimits::default(),
    )?;
    let tools = Toolbox::new(Engine::builder(DiskStore::open(".".as_ref())?).build());
    let declared = export(Format::OpenAi, tools.listed_tools());
    let mut messages = vec![json!({ "role": "user", "content": task })];
    loop {
        let body = json!({ "model": model, "messages": messages, "tools": declared });
        let answer: Value = client.post(&body).await?;
        let message = answer["choices"][0]["message"].clone();
        messages.push(message.clone());
        let Some(calls) = message["tool_calls"].as_array() else { break };
        for call in calls {
            let name = call["function"]["name"].as_str().unwrap_or_default();
            // The arguments are JSON in a string, and the toolbox takes them so.
            let arguments = call["function"]["arguments"].clone();
            let reply = tools.call(name, arguments, &CallOptions::default()).await;
            messages.push(
                json!({ "role": "tool", "tool_call_id": call["id"], "content": reply.message }),
            );
        }
    }
    Ok(())
}
