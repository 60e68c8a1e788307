//! `harness mine --ask-model`: what the engine refuses is put to the configured model.

use std::fs;

use serde_json::{Value, json};

use super::server::ModelServer;
use super::wire::{Bench, KEY, plain};
use super::*;

/// A session that reads a file, and then edits it with two texts that it does not have: one that
/// the model can correct, and one that a reading explains.
fn session() -> String {
    let call = |id: &str, name: &str, input: Value| {
        json!({"type": "assistant", "sessionId": "s", "message": {"content": [
            {"type": "tool_use", "id": id, "name": name, "input": input}]}})
    };
    let result = |id: &str, failed: bool, detail: Value| {
        json!({"type": "user", "sessionId": "s", "toolUseResult": detail, "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "is_error": failed, "content": "String to replace not found in file."}]}})
    };
    let lines = FILE.lines().count();
    let read =
        json!({"file": {"content": FILE, "startLine": 1, "numLines": lines, "totalLines": lines}});
    let path = "/home/jane/lib.rs";
    [
        call("t1", "Read", json!({"file_path": path})),
        result("t1", false, read),
        call("t2", "Edit", json!({"file_path": path, "old_string": OLD, "new_string": NEW})),
        result("t2", true, Value::Null),
        call("t3", "Edit", json!({"file_path": path, "old_string": "\titems.len()\n}", "new_string": "\titems.len() + 1\n}"})),
        result("t3", true, Value::Null),
    ]
    .map(|line| format!("{line}\n"))
    .concat()
}

#[test]
fn a_failed_edit_that_only_the_model_recovers_is_counted() {
    let server = ModelServer::answering(&[
        ("correct_old", json!({"corrected_target_snippet": CORRECTED_OLD})),
        ("adjust_new", json!({"corrected_new_string": ADJUSTED_NEW})),
    ]);
    let bench = Bench::with("session.jsonl", session());
    let run = |before: &[&str], after: &[&str]| {
        let mut command = plain(bench.root.path(), bench.state.path());
        command.env("OPENAI_BASE_URL", server.base_url()).env("OPENAI_API_KEY", KEY);
        command.env("RESTITCH_MODEL", "test-model").args(before).args(["harness", "mine"]);
        command.arg(bench.root.path().join("session.jsonl")).args(after);
        let output = command.output().expect("runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let unasked = run(&[], &[]);
    assert!(
        unasked.contains("restitch would have applied 1 of your agents' 2 failed edits"),
        "{unasked}"
    );
    assert!(unasked.contains("with a model: not asked"), "{unasked}");
    assert!(server.seen().is_empty(), "nothing leaves the machine without --ask-model");
    let asked = ["--ask-model", "--save", "cases"];
    let text = run(&[], &asked);
    assert!(
        text.contains("restitch would have applied 1 of your agents' 2 failed edits"),
        "{text}"
    );
    assert!(text.contains("2 recovered with the model"), "{text}");
    assert!(text.contains("2 new cases saved"), "{text}");
    let seen = server.seen();
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|seen| seen.body["model"] == "test-model"));
    let said: Value = serde_json::from_str(&run(&["--json"], &asked)).expect("JSON");
    assert_eq!((&said["recovered"], &said["recovered_with_model"]), (&json!(1), &json!(2)));
    assert_eq!(
        said["saved"],
        json!({"new": 0, "existing": 2, "withheld": 0, "without_file": 0, "without_truth": 0})
    );
    assert_eq!(fs::read_dir(bench.root.path().join("cases")).expect("folder").count(), 2);
}

#[test]
fn asking_without_a_model_says_what_to_set() {
    let bench = Bench::with("session.jsonl", session());
    let mut command = plain(bench.root.path(), bench.state.path());
    command.args(["harness", "mine", "--ask-model"]).arg(bench.root.path().join("session.jsonl"));
    let output = command.output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--ask-model needs a model: name it"), "{said}");
}
