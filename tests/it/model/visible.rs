//! What the model path did can be seen: in logs by level, and in the tally of calls.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::server::ModelServer;
use super::wire::{Bench, KEY, restitch};
use super::*;

fn server() -> ModelServer {
    ModelServer::answering(&[
        ("correct_old", json!({"corrected_target_snippet": CORRECTED_OLD})),
        ("adjust_new", json!({"corrected_new_string": ADJUSTED_NEW})),
    ])
}

#[test]
fn debug_logs_tell_asks_verdicts_and_sizes_and_traces_the_texts() {
    let logs = |level: &str| {
        let bench = Bench::with("lib.rs", FILE);
        let (_, output) = bench
            .edit_with(&server(), "lib.rs", OLD, NEW, |command| command.env("RESTITCH_LOG", level));
        assert_eq!(bench.read("lib.rs"), after());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let debug = logs("debug");
    for told in ["correct_old", "adjust_new", "prompt_bytes", "answer_tokens", "Accepted", "sha256"]
    {
        assert!(debug.contains(told), "{told}: {debug}");
    }
    assert!(!debug.contains("total_price"), "no content below trace: {debug}");
    let trace = logs("trace");
    assert!(trace.contains("total_price") && trace.contains("BEGIN change"), "{trace}");
    assert!(!trace.contains(KEY), "the key is in the logs");
    let info = logs("info");
    assert!(info.contains("INFO") && info.contains("correct_old"), "{info}");
    assert!(!info.contains("DEBUG") && !info.contains("prompt_bytes"), "{info}");
    assert!(logs("warn").lines().all(|line| line.starts_with("restitch: asking test-model at ")));
}

/// An answer is the only text that may hold a secret: what is sent was looked at before.
#[test]
fn a_secret_in_an_answer_is_left_out_of_the_traces() {
    let canary = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let answer = json!({"corrected_target_snippet": format!("let token = \"{canary}\";")});
    let server = ModelServer::answering(&[("correct_old", answer)]);
    let bench = Bench::with("lib.rs", FILE);
    let (reply, output) = bench
        .edit_with(&server, "lib.rs", OLD, NEW, |command| command.env("RESTITCH_LOG", "trace"));
    let logs = String::from_utf8_lossy(&output.stderr);
    assert_eq!(reply["report"]["attempts"][0]["outcome"], "rejected", "{reply}");
    assert!(logs.contains("[redacted]"), "{logs}");
    assert!(!logs.contains(canary), "{logs}");
}

#[test]
fn the_tally_counts_by_tool_client_and_model_and_holds_no_content() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let edit = |old: &str, new: &str| json!({"arguments": {"path": "lib.rs", "old_str": old, "new_str": new}});
    let lines = [
        edit("    items.len()", "    items.len() + 1"),
        edit("\titems.len() + 1", "\titems.len() + 2"),
        edit("nothing like it", "at all"),
        edit(OLD, NEW),
        json!({"tool": "edit_lines", "arguments": {"path": "no.rs", "start_line": 1, "end_line": 1, "new_content": "x"}}),
        json!({"tool": "read_file", "arguments": {"path": "lib.rs"}}),
        json!({"tool": "no_such_tool", "arguments": {}}),
    ];
    let mut child = restitch(bench.root.path(), bench.state.path())
        .env("OPENAI_BASE_URL", server.base_url())
        .env("RESTITCH_MODEL", "test-model")
        .env("RESTITCH_CLIENT", "my script")
        .arg("batch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut stdin = child.stdin.take().expect("stdin");
    for line in &lines {
        writeln!(stdin, "{line}").expect("written");
    }
    drop(stdin);
    child.wait_with_output().expect("ends");
    let mut dry = restitch(bench.root.path(), bench.state.path());
    dry.args(["edit", "lib.rs", "--old", "use", "--new", "pub use", "--dry-run"]);
    dry.output().expect("runs");
    let mut plain = restitch(bench.root.path(), bench.state.path());
    plain.args(["edit", "lib.rs", "--old", "use", "--new", "pub use"]).output().expect("runs");

    let stats = |json: bool| {
        let mut command = match json {
            true => restitch(bench.root.path(), bench.state.path()),
            false => super::wire::plain(bench.root.path(), bench.state.path()),
        };
        let output = command.args(["log", "--stats"]).output().expect("runs");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let counted: Value = serde_json::from_str(&stats(true)).expect("JSON");
    let group = |tool: &str, client: &str| {
        let groups = counted["groups"].as_array().expect("groups");
        groups
            .iter()
            .find(|group| group["tool"] == tool && group["client"] == client)
            .unwrap_or_else(|| panic!("{tool} by {client}: {counted}"))
            .clone()
    };
    let edits = group("edit_file", "my script");
    assert_eq!(edits["model"], "test-model");
    assert_eq!(
        (&edits["calls"], &edits["applied"], &edits["refused"]),
        (&json!(4), &json!(3), &json!(1))
    );
    assert_eq!(edits["rungs"]["exact"], 1, "{edits}");
    assert_eq!(edits["rungs"]["model"], 1);
    assert_eq!(edits["refusals"], json!({"EDIT_NO_OCCURRENCE_FOUND": 1}));
    assert_eq!(edits["asks"]["correct_old"]["accepted"], 1, "{edits}");
    assert_eq!(edits["requests"], server.seen().len());
    assert_eq!(group("edit_lines", "my script")["refused"], 1);
    assert_eq!(group("unknown tool", "my script")["refused"], 1);
    assert_eq!(group("edit_file", "the command line")["calls"], 1, "a dry run does not count");
    assert_eq!(counted["groups"].as_array().map(Vec::len), Some(4), "reads do not count");

    let text = stats(false);
    assert!(text.contains("edit_file by my script: 4 calls, 3 applied, 1 refused"), "{text}");
    assert!(text.contains("refused: EDIT_NO_OCCURRENCE_FOUND 1"), "{text}");
    let record = std::fs::read_to_string(bench.state.path().join("calls.jsonl")).expect("record");
    for content in ["items", "lib.rs", "no.rs", "total", "no_such_tool"] {
        assert!(!record.contains(content), "{content}: {record}");
    }
}

/// What comes over MCP counts for the client that says its name, what a hook tries for the hook.
#[test]
fn sessions_and_hooks_are_counted_under_their_clients() {
    let bench = Bench::with("lib.rs", FILE);
    let feed = |arguments: &[&str], lines: &[Value]| {
        let mut child = super::wire::plain(bench.root.path(), bench.state.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("runs");
        let mut stdin = child.stdin.take().expect("stdin");
        for line in lines {
            writeln!(stdin, "{line}").expect("written");
        }
        drop(stdin);
        child.wait_with_output().expect("ends");
    };
    let call =
        json!({"path": "lib.rs", "old_str": "    items.len()", "new_str": "    items.len() + 1"});
    feed(
        &["mcp"],
        &[
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "some-editor", "version": "3"}}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": {"name": "edit_file", "arguments": call}}),
        ],
    );
    let tried = json!({"hook_event_name": "PreToolUse", "cwd": bench.root.path(), "tool_name": "Edit",
        "tool_input": {"file_path": "lib.rs", "old_string": "\titems.len() + 1", "new_string": "\titems.len()"}});
    feed(&["hook", "claude"], &[tried]);
    let output = restitch(bench.root.path(), bench.state.path())
        .args(["log", "--stats"])
        .output()
        .expect("runs");
    let counted: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let names: Vec<_> = counted["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| (group["tool"].as_str(), group["client"].as_str(), group["applied"].as_u64()))
        .collect();
    assert!(names.contains(&(Some("edit_file"), Some("some-editor"), Some(1))), "{counted}");
    assert!(names.contains(&(Some("Edit"), Some("hook claude"), Some(1))), "{counted}");
}
