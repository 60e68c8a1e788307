//! Turns of the reference agent and what its model receives; the guard, the resources and
//! the change feed over MCP.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::mcp::binary;
use super::server::{Server, call_turn, last_answers, restitch, text_turn, turn};
use crate::client::{Client, hello};
use crate::reading::line_edit;
use crate::sandbox::{folder_with, numbered};
use crate::says::says;

fn project(total: usize) -> tempfile::TempDir {
    folder_with(&[("f", &numbered(total))])
}

fn text(root: &Path) -> String {
    std::fs::read_to_string(root.join("f")).expect("file")
}

async fn agent(root: &Path, server: &Server) -> super::server::RunOutput {
    let args = ["agent", "Do it", "--json", "--base-url", &server.url, "--model", "scripted"];
    restitch(root, &args, "").await
}

fn complete(summary: &str) -> Value {
    call_turn("task_complete", json!({ "summary": summary }))
}

#[tokio::test]
async fn a_completion_without_a_change_is_sent_back_until_it_says_so() {
    let dir = project(5);
    let read = || turn(&[("read_file", json!({ "path": "f" }))]);
    let claim = || complete("I fixed the bug");
    let server = Server::play(vec![read(), claim(), claim()]).await;
    let ran = agent(dir.path(), &server).await;
    let answer: Value =
        serde_json::from_str(&last_answers(&server.requests()[2])[0]).expect("JSON");
    assert_eq!(answer["acknowledged"], false);
    assert_eq!(answer["error"], "BLOCKED: No file was changed.");
    assert!(answer["hint"].as_str().expect("hint").contains("files_changed: []"), "{answer}");
    let end: Value =
        serde_json::from_str(ran.stdout.lines().last().expect("object")).expect("JSON");
    assert_eq!((&end["ok"], &end["files_changed"]), (&json!(false), &json!([])));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    // With a change it stands at once; an edit that was taken back is no change.
    let dir = project(5);
    let server =
        Server::play(vec![read(), turn(&[("edit_lines", line_edit(1, 1, "x"))]), claim()]).await;
    let ran = agent(dir.path(), &server).await;
    assert_eq!((ran.code, server.requests().len()), (0, 3));
    let dir = project(5);
    let script = vec![
        read(),
        turn(&[("edit_lines", line_edit(1, 1, "x"))]),
        turn(&[("undo", json!({}))]),
        claim(),
        text_turn("nothing was needed"),
        claim(),
    ];
    let server = Server::play(script).await;
    agent(dir.path(), &server).await;
    assert!(server.requests().len() > 4, "an edit that was taken back counted as a change");
    // For people the changed files stand beside the summary.
    let dir = project(5);
    let server = Server::play(vec![read(), claim(), claim()]).await;
    let args = ["agent", "Do it", "--base-url", &server.url, "--model", "scripted"];
    let ran = restitch(dir.path(), &args, "").await;
    assert!(ran.stdout.contains("files changed: none"), "{}", ran.stdout);
}

/// What a session with these flags is told at its beginning.
fn instructions(root: &Path, flags: &[&str]) -> String {
    let mut command = binary(root);
    command.arg("mcp").args(flags);
    let mut client = Client::start(command);
    client.send(&hello("t", json!({})));
    client.receive()["result"]["instructions"].to_string()
}

#[test]
fn a_guarded_mcp_session_is_told_to_explore() {
    let dir = project(5);
    says(
        &instructions(dir.path(), &["--guard"]),
        &["MANDATORY FIRST STEP", "list_files", "search", "read_file"],
    );
    let mut session = Client::session(binary(dir.path()), &["--guard"]);
    let early = json!({ "path": "f", "old_str": "line 1\n", "new_str": "one\n" });
    let (refused, is_error) = session.said("edit_file", early);
    assert!(is_error && refused.contains("explore the codebase first"), "{refused}");
    assert_eq!(text(dir.path()), numbered(5));
}

/// The guard adds `list_files` to the chosen tools; search and reading are not advised where they are
/// not offered.
#[test]
fn a_guard_advises_only_tools_that_are_offered() {
    let dir = project(5);
    let flags = ["--guard", "--tools", "edit_file"];
    let instructions = instructions(dir.path(), &flags);
    let mut session = Client::session(binary(dir.path()), &flags);
    let early = json!({ "path": "f", "old_str": "line 1\n", "new_str": "one\n" });
    let (edit, _) = session.said("edit_file", early);
    let (end, _) = session.said("task_complete", json!({ "summary": "Done" }));
    for said in [&instructions, &edit, &end] {
        assert!(said.contains("list_files"), "{said}");
        assert!(!said.contains("search") && !said.contains("read_file"), "{said}");
    }
    for said in [edit, end] {
        assert!(said.contains("Start with list_files to see what files exist."), "{said}");
    }
}

#[test]
fn a_soft_guard_only_warns() {
    let dir = project(5);
    let mut session = Client::session(binary(dir.path()), &["--guard", "soft"]);
    let missing = json!({ "path": "f", "old_str": "not in the file at all", "new_str": "x" });
    let (first, _) = session.said("edit_file", missing.clone());
    let (again, _) = session.said("edit_file", missing);
    assert!(again.len() > first.len(), "a repeat is told: {again}");
    let early = json!({ "path": "f", "old_str": "line 1\n", "new_str": "one\n" });
    let (warned, is_error) = session.said("edit_file", early);
    assert!(!is_error, "{warned}");
    assert!(warned.contains("explore"), "{warned}");
    assert_eq!(text(dir.path()), numbered(5).replace("line 1\n", "one\n"));
    let mut idle = Client::session(binary(dir.path()), &["--guard", "soft"]);
    let (told, is_error) = idle.said("task_complete", json!({ "summary": "I fixed the bug" }));
    assert!(!is_error, "{told}");
    assert!(told.to_lowercase().contains("no file was changed"), "{told}");
}

#[test]
#[cfg_attr(windows, ignore = "on Windows commits of other processes are not announced")]
fn resources_are_the_sessions_files_and_commits_of_others_are_announced() {
    let dir = project(5);
    std::fs::write(dir.path().join("other"), "x\n").expect("file");
    let mut session = Client::session(binary(dir.path()), &[]);
    session.said("read_file", json!({ "path": "f" }));
    session.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "resources/list"}));
    let listed = session.receive();
    let resources = listed["result"]["resources"].as_array().expect("resources");
    assert_eq!(resources.len(), 1, "{listed}");
    let uri = resources[0]["uri"].as_str().expect("uri").to_owned();
    assert!(uri.starts_with("file://") && uri.ends_with("/f"), "{uri}");
    session.send(&json!({"jsonrpc": "2.0", "id": 6, "method": "resources/subscribe", "params": {"uri": uri}}));
    assert!(session.receive()["result"].is_object());
    // Another process commits.
    let edited = |path: &str, old: &str, new: &str| {
        let ran = binary(dir.path()).args(["edit", path, "--old", old, "--new", new]).output();
        assert!(ran.expect("ends").status.success());
    };
    edited("other", "x", "y");
    edited("f", "line 2", "zwei");
    let note = session.receive();
    assert_eq!(note["method"], "notifications/resources/updated", "{note}");
    assert_eq!(note["params"]["uri"], uri);
    // And the session's own commit, once.
    let edit = json!({ "path": "f", "old_str": "line 3", "new_str": "drei" });
    session.start_call(7, "edit_file", edit);
    let (mut updates, mut answers) = (0, 0);
    while updates == 0 || answers == 0 {
        let message = session.receive();
        updates += usize::from(message["method"] == "notifications/resources/updated");
        answers += usize::from(message["id"] == 7);
    }
    // A file that comes in is news for whoever has asked for the list.
    session.start_call(8, "read_file", json!({ "path": "other" }));
    let (mut news, mut answers) = (0, 0);
    while news == 0 || answers == 0 {
        let message = session.receive();
        news += usize::from(message["method"] == "notifications/resources/list_changed");
        answers += usize::from(message["id"] == 8);
        assert_ne!(message["method"], "notifications/resources/updated", "announced twice");
    }
}

/// Every command that answers with data does so in JSON.
#[test]
fn json_everywhere() {
    let dir = project(5);
    for args in [
        &["search", "line"][..],
        &["read", "f"],
        &["edit", "f", "--old", "line 1", "--new", "one"],
        &["log"],
        &["undo"],
        &["doctor"],
        &["init", "claude"],
        &["read", "missing"],
    ] {
        let mut command: Command = binary(dir.path());
        let output = command.args(args).arg("--json").output().expect("ends");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(serde_json::from_str::<Value>(&said).is_ok(), "{args:?}: {said}");
    }
}
