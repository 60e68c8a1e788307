//! The MCP server on the wire: official clients over stdio and HTTP, bad frames,
//! cancellation, subscriptions, and the doors before HTTP.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::http::HttpServer;
use crate::reading::with_anchors;
use crate::rows::rows;

pub(crate) fn binary(root: &Path) -> Command {
    let mut command = crate::sandbox::binary();
    command.arg("--root").arg(root).env("RESTITCH_STATE_DIR", root.join(".state"));
    command
}

pub(crate) fn workspace() -> tempfile::TempDir {
    crate::sandbox::folder_with(&[("a.txt", "one\ntwo\nthree\n")])
}

/// For a host that shows a diff before it approves: the answer has it, and nothing is written.
#[test]
fn a_dry_run_answers_with_the_diff() {
    let dir = workspace();
    let read = || std::fs::read_to_string(dir.path().join("a.txt")).expect("file");
    let mut session = Client::session(binary(dir.path()), &[]);
    let edit = json!({"path": "a.txt", "old_str": "two", "new_str": "2"});
    let with = |mut call: Value, dry_run: Value| {
        call["dry_run"] = dry_run;
        call
    };
    for (tool, call) in [
        ("edit_file", with(edit.clone(), json!(true))),
        (
            "edit",
            with(
                json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
                json!("true"),
            ),
        ),
        ("multi_edit", with(json!({"edits": [edit]}), json!(true))),
        (
            "edit_lines",
            json!({"path": "a.txt", "start_line": 2, "end_line": 2, "new_content": "2", "dryRun": true}),
        ),
        (
            "apply_patch",
            with(
                json!({"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch"}),
                json!(true),
            ),
        ),
    ] {
        let (said, is_error) = session.said(tool, call);
        assert!(!is_error, "{tool}: {said}");
        assert!(said.contains("Would edit a.txt at line 2: "), "{tool}: {said}");
        assert_eq!(said.matches("\n-two\n+2\n").count(), 1, "{tool}: {said}");
        assert_eq!(read(), "one\ntwo\nthree\n", "{tool}");
    }
    let (said, is_error) = session.said("undo", json!({}));
    assert!(is_error, "there is nothing to undo: {said}");
    let (said, _) = session.said("edit_file", with(edit, json!(false)));
    assert_eq!(read(), "one\n2\nthree\n", "{said}");
}

#[test]
fn an_oversized_frame_is_refused() {
    let dir = workspace();
    let mut session = Client::session(binary(dir.path()), &[]);
    let huge = "x".repeat(17 << 20);
    session.start_call(1, "edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": huge}));
    let refused = session.receive();
    assert_eq!(refused["id"], 1);
    let message = refused["error"]["message"].as_str().expect("message");
    assert!(message.contains("longer than 16 MiB"), "{message}");
    session.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!(session.receive()["id"], 2);
}

/// Cancelling a call closes the connection to the model and writes nothing.
#[test]
fn cancellation_reaches_the_model_call() {
    let dir = workspace();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
    let url = format!("http://{}/v1", listener.local_addr().expect("address"));
    let mut command = binary(dir.path());
    command.env("OPENAI_BASE_URL", &url).env("RESTITCH_MODEL", "silent");
    let mut session = Client::session(command, &[]);
    session.start_call(
        7,
        "edit_file",
        json!({"path": "a.txt", "old_str": "two of them", "new_str": "x"}),
    );
    let (mut connection, _) = listener.accept().expect("the model is asked");
    let mut buffer = [0; 1 << 14];
    assert!(connection.read(&mut buffer).expect("request") > 0);
    let asked = Instant::now();
    session.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}),
    );
    connection.set_read_timeout(Some(Duration::from_secs(20))).expect("timeout");
    // The rest of the request, then the end: the connection was given up.
    while connection.read(&mut buffer).expect("closed, not timed out") > 0 {}
    let took = asked.elapsed();
    println!("the model call ended {} ms after the cancellation", took.as_millis());
    assert!(took < Duration::from_secs(10));
    session.send(&json!({"jsonrpc": "2.0", "id": 8, "method": "ping"}));
    while session.receive()["id"] != 8 {}
    assert_eq!(
        std::fs::read_to_string(dir.path().join("a.txt")).expect("file"),
        "one\ntwo\nthree\n"
    );
}

/// A server with all tools and structured content.
pub(crate) fn http(root: &Path) -> HttpServer {
    let mut command = binary(root);
    command.args(["mcp", "--http", "127.0.0.1:0", "--structured", "--tools", "all"]);
    HttpServer::start(command)
}

fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/sdk")
}

fn clients() -> Vec<(&'static str, Vec<String>)> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/agents/clients");
    let script = |name: &str| scripts.join(name).display().to_string();
    let python = sdk().join("venv/bin/python");
    let mut out = Vec::new();
    if python.exists() {
        out.push(("python", vec![python.display().to_string(), script("client.py")]));
    } else {
        crate::long::skip("Python SDK", "not installed; run tests/it/agents/clients/install.sh");
    }
    if sdk().join("node_modules/@modelcontextprotocol/sdk").exists() {
        out.push((
            "typescript",
            vec!["node".into(), script("client.mjs"), sdk().display().to_string()],
        ));
    } else {
        crate::long::skip(
            "TypeScript SDK",
            "not installed; run tests/it/agents/clients/install.sh",
        );
    }
    out
}

/// Calls by an official client, in an order that leads from one to the next, and the codes that they
/// are to be answered with; `@1` stands for the anchor of line 1.
fn calls(table: &str) -> Vec<Value> {
    let call = |call: &Value| {
        let fields = call.as_object().expect("a call").keys();
        assert!(fields.eq(["tool", "arguments", "code"]), "{call}");
        with_anchors("one\n", call)
    };
    rows::<Value>(table).iter().map(call).collect()
}

/// Every tool, well and badly called.
fn every_tool() -> Vec<Value> {
    calls(include_str!("clients/every-tool.jsonl"))
}

/// With a guard and a staging layer: the tools that only such sessions list.
fn guarded_and_staged() -> Vec<Value> {
    calls(include_str!("clients/guarded-and-staged.jsonl"))
}

fn drive(name: &str, client: &[String], calls: &[Value], more: &[&str], root: &Path) {
    let mut order = tempfile::NamedTempFile::new().expect("file");
    order.write_all(json!(calls).to_string().as_bytes()).expect("written");
    let out = Command::new(&client[0])
        .args(&client[1..])
        .arg(order.path())
        .args(more)
        .env("RESTITCH_STATE_DIR", root.join(".state"))
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&out.stdout);
    let seen: Value = serde_json::from_str(text.trim()).unwrap_or_else(|e| {
        panic!("{name}: {e}: {text}\n{}", String::from_utf8_lossy(&out.stderr))
    });
    assert_eq!(seen["server"], "restitch", "{name}");
    assert_eq!(seen["annotated"], true, "{name}");
    let answers = seen["calls"].as_array().expect("calls");
    assert_eq!(answers.len(), calls.len(), "{name}");
    for (call, answer) in calls.iter().zip(answers) {
        let tool = &call["tool"];
        let listed = seen["tools"].as_array().expect("tools").contains(tool);
        assert!(listed || tool == "no_such_tool", "{name}: {tool} is not listed");
        let well = call["code"].is_null();
        assert_eq!(answer["ok"], well, "{name} {call}: {answer}");
        assert_eq!(answer["error"], !well, "{name} {call}: {answer}");
        assert_eq!(answer["code"], call["code"], "{name} {call}: {answer}");
    }
    let stages = seen["progress"].as_array().expect("stages");
    if calls[0]["tool"] == "edit" {
        assert!(stages.len() >= 3 && stages[0] == "read: a.txt", "{name}: {stages:?}");
    }
    let text = std::fs::read_to_string(root.join("a.txt")).expect("file");
    assert_eq!(text, "one\nzwei\ndrei\n", "{name}");
    println!(
        "{name}: {} tools, {} calls, {} progress messages",
        seen["tools"].as_array().map_or(0, Vec::len),
        calls.len(),
        stages.len()
    );
}

#[test]
fn official_clients_over_stdio() {
    for (name, client) in clients() {
        for (calls, flags) in
            [(every_tool(), &[][..]), (guarded_and_staged(), &["--guard", "--stage"][..])]
        {
            let flags = [flags, &["--structured", "--tools", "all"]].concat();
            let dir = workspace();
            let root = dir.path().display().to_string();
            let server = ["stdio", env!("CARGO_BIN_EXE_restitch"), "mcp", "--root", &root];
            drive(name, &client, &calls, &[&server[..], &flags].concat(), dir.path());
        }
    }
}

#[test]
fn official_clients_over_http() {
    for (name, client) in clients() {
        let dir = workspace();
        let server = http(dir.path());
        let url = format!("http://{}/mcp", server.address);
        drive(name, &client, &every_tool(), &["http", &url, &server.token], dir.path());
    }
}
