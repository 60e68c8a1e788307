//! A scripted chat completions server on loopback, and the binary run against it.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::sandbox::{binary, finish};

/// Answers each request with the next turn of a script, and keeps the requests.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Value>>>,
    corrections: Arc<Mutex<Vec<Value>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Plays `turns`; the last one is repeated. A turn that is null never comes.
    pub(crate) async fn play(turns: Vec<Value>) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let corrections = Arc::new(Mutex::new(Vec::new()));
        let (kept, asked) = (requests.clone(), corrections.clone());
        let answer = move |axum::Json(body): axum::Json<Value>| {
            let turn = if body["tools"].is_null() {
                // A correction, not a turn of the agent: this server knows none.
                asked.lock().expect("lock").push(body);
                json!({ "role": "assistant", "content": "{\"corrected_target_snippet\": \"\"}" })
            } else {
                let mut kept = kept.lock().expect("lock");
                let turn = turns[kept.len().min(turns.len() - 1)].clone();
                kept.push(body);
                turn
            };
            async move {
                if turn.is_null() {
                    std::future::pending::<()>().await;
                }
                axum::Json(json!({ "choices": [{ "index": 0, "message": turn }] }))
            }
        };
        let router = axum::Router::new().route("/v1/chat/completions", axum::routing::post(answer));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("port");
        let url = format!("http://{}/v1", listener.local_addr().expect("address"));
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("serves");
        });
        Self { url, requests, corrections, task }
    }

    pub(crate) fn corrections(&self) -> Vec<Value> {
        self.corrections.lock().expect("lock").clone()
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("lock").clone()
    }
}

/// A turn that calls one tool.
pub(crate) fn call_turn(name: &str, arguments: Value) -> Value {
    turn(&[(name, arguments)])
}

/// A turn with several calls.
pub(crate) fn turn(of: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> = of
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| {
            json!({ "id": format!("c{at}"), "type": "function",
                "function": { "name": name, "arguments": arguments.to_string() } })
        })
        .collect();
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

/// What the model was told in answer to its last turn: each call's result, or words of the agent.
pub(crate) fn last_answers(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().expect("messages");
    let tools = messages.iter().rev().take_while(|message| message["role"] == "tool").count();
    let last = &messages[messages.len() - tools.max(1)..];
    last.iter().map(|message| message["content"].as_str().expect("text").to_owned()).collect()
}

/// A turn of words.
pub(crate) fn text_turn(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

/// What a run of the binary left.
pub(crate) struct RunOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary in `root` with nothing of this process's environment that matters.
pub(crate) async fn restitch(root: &Path, args: &[&str], stdin: &str) -> RunOutput {
    ran(binary(), root, args, stdin).await
}

/// Runs the hook of a client in `root` on a call of this tool, with what else the client sends.
pub(crate) async fn hook(
    root: &Path,
    [client, event, tool]: [&str; 3],
    call: &Value,
    more: &[(&str, Value)],
) -> RunOutput {
    let mut input = json!({
        "cwd": root, "hook_event_name": event, "tool_name": tool, "tool_input": call,
    });
    for (name, value) in more {
        input[*name] = value.clone();
    }
    restitch(root, &["hook", client, event], &input.to_string()).await
}

/// The same as [`restitch`] for a user with this home folder, and the binary on the path.
pub(crate) async fn restitch_at(root: &Path, home: &Path, args: &[&str]) -> RunOutput {
    let folder = Path::new(env!("CARGO_BIN_EXE_restitch")).parent().expect("folder");
    let mut command = binary();
    command.env("HOME", home).env("PATH", folder);
    for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"] {
        command.env_remove(name);
    }
    ran(command, root, args, "").await
}

async fn ran(mut command: Command, root: &Path, args: &[&str], stdin: &str) -> RunOutput {
    command.args(args).current_dir(root);
    command.env("RESTITCH_STATE_DIR", root.join(".state")).env("NO_COLOR", "1");
    let stdin = stdin.to_owned();
    tokio::task::spawn_blocking(move || {
        let out = finish(command, stdin.as_bytes());
        RunOutput {
            code: out.status.code().unwrap_or(-1),
            stdout: String::from_utf8(out.stdout).expect("UTF-8"),
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    })
    .await
    .expect("joins")
}
