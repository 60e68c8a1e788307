//! The reference agent against a scripted server: seed 001's four steps and its
//! outcomes by name, and a whole task. The binary runs; nothing is mocked but the model.

use std::path::Path;

use serde_json::{Value, json};

use super::server::{RunOutput, Server, call_turn, last_answers, restitch, text_turn};
use crate::says::says;

const SOURCE: &str = "fn main() {\n    greet(\"world\");\n}\n\nfn greet(name: &str) {\n    println!(\"Hello, {name}\");\n}\n";

fn project() -> tempfile::TempDir {
    crate::sandbox::folder_with(&[("src/main.rs", SOURCE)])
}

async fn agent(root: &Path, server: &Server, task: &str, more: &[&str]) -> RunOutput {
    let mut args = vec!["agent", task, "--json", "--base-url", &server.url, "--model", "scripted"];
    args.extend(more);
    restitch(root, &args, "").await
}

fn outcome(ran: &RunOutput) -> Value {
    let last = ran.stdout.lines().last().unwrap_or_else(|| panic!("no output: {}", ran.stderr));
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

fn explore() -> Value {
    call_turn("read_file", json!({ "path": "src/main.rs" }))
}

fn edit(old: &str, new: &str) -> Value {
    call_turn("edit_file", json!({ "path": "src/main.rs", "old_str": old, "new_str": new }))
}

fn complete(summary: &str) -> Value {
    call_turn("task_complete", json!({ "summary": summary }))
}

/// The task needs no change, and the model says so.
fn complete_unchanged(summary: &str) -> Value {
    call_turn("task_complete", json!({ "summary": summary, "files_changed": [] }))
}

/// Step 1: the exploration is demanded on every request, whatever its words.
#[tokio::test]
async fn step_1_exploration_is_demanded_on_every_request() {
    for task in ["Change the greeting", "Wie geht das hier?", "zzz", "what does greet do"] {
        let dir = project();
        let server = Server::play(vec![explore(), complete_unchanged("looked")]).await;
        let ran = agent(dir.path(), &server, task, &[]).await;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let first = &server.requests()[0];
        let said = first["messages"][1]["content"].as_str().expect("opening");
        assert!(said.contains("MANDATORY FIRST STEP"), "{said}");
        says(said, &["list_files", "search", "read_file"]);
        assert_eq!(first["messages"][2]["content"], task);
        let tools: Vec<_> = first["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .map(|t| &t["function"]["name"])
            .collect();
        assert!(tools.iter().any(|name| *name == "task_complete"), "{tools:?}");
    }
}

/// Step 2: `task_complete` without any exploration is blocked, in the seed's form.
#[tokio::test]
async fn step_2_task_complete_is_blocked_without_exploration() {
    let dir = project();
    let script = vec![complete("done!"), explore(), complete_unchanged("now I looked")];
    let server = Server::play(script).await;
    let ran = agent(dir.path(), &server, "Update it", &[]).await;
    let answer: Value =
        serde_json::from_str(&last_answers(&server.requests()[1])[0]).expect("JSON");
    assert_eq!(answer["acknowledged"], false);
    let error = answer["error"].as_str().expect("error");
    assert!(error.starts_with("BLOCKED: "), "{error}");
    assert!(answer["hint"].as_str().expect("hint").starts_with("Start with list_files"));
    assert_eq!(answer.as_object().map(serde_json::Map::len), Some(3));
    assert_eq!(outcome(&ran)["summary"], "No file was changed. now I looked");
    assert_eq!(ran.code, 0);
}

/// Step 3: words without tools are sent back, for any request.
#[tokio::test]
async fn step_3_words_without_tools_are_sent_back() {
    let dir = project();
    let server = Server::play(vec![
        text_turn("All done, I changed it."),
        explore(),
        complete_unchanged("ok"),
    ])
    .await;
    let ran = agent(dir.path(), &server, "tell me a story", &[]).await;
    let reminder = last_answers(&server.requests()[1]).remove(0);
    assert!(reminder.starts_with("You MUST use tools before responding."), "{reminder}");
    assert!(reminder.contains("Do NOT respond without using tools."), "{reminder}");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Step 4: a run without a meaningful call ends with `NO_TOOL_CALLS`, never with success.
#[tokio::test]
async fn step_4_no_meaningful_call_is_an_error() {
    let refused = call_turn("read_file", json!({ "path": "no/such/file" }));
    for script in [
        vec![text_turn("I fixed it.")],
        vec![complete("I fixed it.")],
        vec![refused, text_turn("done")],
    ] {
        let dir = project();
        let server = Server::play(script).await;
        let ran = agent(dir.path(), &server, "Fix the bug", &["--steps", "6"]).await;
        let end = outcome(&ran);
        assert_eq!(end["ok"], false);
        assert_eq!(end["error"], "NO_TOOL_CALLS");
        assert_eq!(end["files_changed"], json!([]));
        assert_eq!(ran.code, 1, "{}", ran.stderr);
    }
}

/// "The agent cannot claim completion" for an edit that never happened.
#[tokio::test]
async fn outcome_no_applied_without_visible_change() {
    let dir = project();
    let script = vec![
        explore(),
        edit("no such line at all", "whatever"),
        complete("Applied."),
        edit("    greet(\"world\");", "    greet(\"moon\");"),
        complete("Now applied."),
    ];
    let server = Server::play(script).await;
    let ran = agent(dir.path(), &server, "greet the moon", &[]).await;
    let answer: Value =
        serde_json::from_str(&last_answers(&server.requests()[3])[0]).expect("JSON");
    assert_eq!(answer["acknowledged"], false);
    assert!(answer["error"].as_str().expect("error").contains("src/main.rs"), "{answer}");
    assert_eq!(outcome(&ran)["summary"], "Now applied.");
    assert_eq!(outcome(&ran)["files_changed"], json!(["src/main.rs"]));
}

/// "An identical failing call" gets the cause, then another way, and is never run again.
#[tokio::test]
async fn outcome_identical_failing_calls_do_not_loop() {
    let dir = project();
    let wrong = || edit("no such line at all", "whatever");
    let script = vec![explore(), wrong(), wrong(), wrong(), wrong(), complete("gave up")];
    let server = Server::play(script).await;
    let ran = agent(dir.path(), &server, "x", &["--steps", "7"]).await;
    let requests = server.requests();
    let (second, third, fourth) = (
        last_answers(&requests[3]).remove(0),
        last_answers(&requests[4]).remove(0),
        last_answers(&requests[5]).remove(0),
    );
    assert!(second.contains("Do not repeat it") && second.contains("Cause:"), "{second}");
    assert!(third.contains("another way"), "{third}");
    assert_ne!(third, fourth);
    assert!(second.len() < 450 && third.len() < 450, "{second}\n{third}");
    assert_ne!(ran.code, 0);
}

/// A whole task: look, edit slightly wrong, complete; the file, the summary and the diff.
#[tokio::test]
async fn a_task_from_search_to_verified_completion() {
    let dir = project();
    let script = || {
        vec![
            call_turn("list_files", json!({})),
            call_turn("search", json!({ "keyword": "Hello" })),
            explore(),
            // The model forgot the indentation.
            edit("println!(\"Hello, {name}\");", "println!(\"Good day, {name}\");"),
            complete("The greeting says Good day."),
        ]
    };
    let server = Server::play(script()).await;
    let ran = agent(dir.path(), &server, "Say good day instead of hello", &[]).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let end = outcome(&ran);
    assert_eq!(
        end,
        json!({
            "ok": true,
            "summary": "The greeting says Good day.",
            "files_changed": ["src/main.rs"],
            "tool_calls": 5,
            "error": null,
        })
    );
    let text = std::fs::read_to_string(dir.path().join("src/main.rs")).expect("file");
    assert_eq!(text, SOURCE.replace("Hello", "Good day"));
    assert!(ran.stderr.contains("step 5 of 40"), "{}", ran.stderr);

    let dir = project();
    let server = Server::play(script()).await;
    let args = ["agent", "Say good day", "--base-url", &server.url, "--model", "scripted"];
    let ran = restitch(dir.path(), &args, "").await;
    assert!(ran.stdout.starts_with("completed: The greeting says Good day."), "{}", ran.stdout);
    says(
        &ran.stdout,
        &["\n-    println!(\"Hello, {name}\");\n+    println!(\"Good day, {name}\");\n"],
    );
}

/// A server that fails is a fault, with the same object at the end.
#[tokio::test]
async fn a_failing_server_is_a_fault() {
    let dir = project();
    let args = ["agent", "x", "--json", "--base-url", "http://127.0.0.1:9/v1", "--model", "m"];
    let ran = restitch(dir.path(), &args, "").await;
    assert_eq!(outcome(&ran)["error"], "MODEL_FAILED");
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let ran = restitch(dir.path(), &["agent", "x"], "").await;
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("needs a model"), "{}", ran.stderr);
}

/// RL3: a correction asks the model that the agent itself uses, unless told otherwise.
#[tokio::test]
async fn rl3_a_correction_asks_the_agents_own_model() {
    let dir = project();
    let stale = edit("fn greet(who: &str, loud: bool) {", "fn greet(who: &str, loud: u8) {");
    let server = Server::play(vec![explore(), stale, complete("gave up")]).await;
    agent(dir.path(), &server, "Rename it", &["--steps", "4"]).await;
    let corrections = server.corrections();
    assert!(!corrections.is_empty(), "the stale edit asks");
    for body in server.requests().iter().chain(&corrections) {
        assert_eq!(body["model"], "scripted");
    }
}

/// Ctrl-C while the model thinks: what was done is reported, in the same object.
#[cfg(unix)]
#[tokio::test]
async fn an_interrupted_run_ends_with_its_object() {
    let dir = project();
    let script =
        vec![explore(), edit("    greet(\"world\");", "    greet(\"moon\");"), Value::Null];
    let server = Server::play(script).await;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_restitch"))
        .args(["agent", "x", "--json", "--base-url", &server.url, "--model", "scripted"])
        .current_dir(dir.path())
        .env("RESTITCH_STATE_DIR", dir.path().join(".state"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    while server.requests().len() < 3 && child.try_wait().expect("waits").is_none() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let (signal, code) = if crate::is_ignored(2) { ("-TERM", 143) } else { ("-INT", 130) };
    let interrupt =
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(interrupt.expect("kill").success());
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output()).await;
    let output = ended.expect("joins").expect("ends");
    let end: Value = serde_json::from_slice(&output.stdout).expect("the object");
    assert_eq!(end["error"], "INTERRUPTED", "{end}");
    assert_eq!(end["files_changed"], json!(["src/main.rs"]));
    assert_eq!(end["tool_calls"], 2);
    assert_eq!(output.status.code(), Some(code));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("interrupted in step 3 of 40"), "{said}");
}
