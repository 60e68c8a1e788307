//! restitch in an async-openai loop of your own: declare the tools, execute the calls.
//!
//! OPENAI_API_KEY=… MODEL=… cargo run --example openai_loop -- "Rename greet to hail in src/main.rs"

use async_openai::Client;
use restitch::engine::{CallOptions, Engine};
use restitch::store::DiskStore;
use restitch::tools::Toolbox;
use restitch::tools::export::{Format, export};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // async-openai is built without a TLS provider here; an application chooses one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let task = std::env::args().nth(1).ok_or("say what to do")?;
    let model = std::env::var("MODEL")?;
    let client = Client::new();
    let tools = Toolbox::new(Engine::builder(DiskStore::open(".".as_ref())?).build());
    let declared = export(Format::OpenAi, tools.listed_tools());
    let mut messages = vec![json!({ "role": "user", "content": task })];
    loop {
        let body = json!({ "model": model, "messages": messages, "tools": declared });
        let answer: Value = client.chat().create_byot(body).await?;
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
