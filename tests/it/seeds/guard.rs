//! Seed 001: what `task_complete` claims is what the session has changed.

use serde_json::json;

use super::server;
use crate::client::Client;

/// Two files, of which the session reads the first.
fn session(dir: &tempfile::TempDir) -> Client {
    std::fs::write(dir.path().join("a.py"), "x = 1\n").expect("file");
    std::fs::write(dir.path().join("b.py"), "y = 2\n").expect("file");
    let mut server = server(dir.path(), &["--guard"], "t");
    assert!(!server.said("read_file", json!({ "path": "a.py" })).1);
    server
}

#[test]
fn seed_001_false_claims_are_refused_however_often() {
    let dir = tempfile::tempdir().expect("folder");
    let mut server = session(&dir);
    for summary in ["I fixed the bug in a.py", "I fixed the bug", "Der Fehler ist behoben."] {
        for _ in 0..3 {
            let (text, is_error) = server.said("task_complete", json!({ "summary": summary }));
            assert!(is_error && text.contains("BLOCKED"), "{summary}: {text}");
        }
    }
    let (text, is_error) =
        server.said("task_complete", json!({ "summary": "fixed", "files_changed": ["a.py"] }));
    assert!(is_error && text.contains("a.py"), "{text}");
}

#[test]
fn seed_001_false_claims_of_one_more_file_are_refused() {
    let dir = tempfile::tempdir().expect("folder");
    let mut server = session(&dir);
    let edit = json!({ "path": "a.py", "old_str": "x = 1", "new_str": "x = 3" });
    assert!(!server.said("edit_file", edit).1);
    for _ in 0..2 {
        let claim = json!({ "summary": "I changed `a.py` and b.py." });
        let (text, is_error) = server.said("task_complete", claim);
        assert!(is_error && text.contains("b.py") && !text.contains("changed: a.py"), "{text}");
    }
    let (text, is_error) = server.said(
        "task_complete",
        json!({ "summary": "I changed a.py; b.py needed nothing.", "files_changed": ["./a.py"] }),
    );
    assert!(!is_error && text.contains("changed and verified: a.py"), "{text}");
}

#[test]
fn seed_001_a_task_without_a_change_is_complete_when_it_says_so() {
    let dir = tempfile::tempdir().expect("folder");
    let mut server = session(&dir);
    let claim = json!({ "summary": "a.py is right as it is.", "files_changed": [] });
    let (text, is_error) = server.said("task_complete", claim);
    assert!(!is_error && text.contains("no file was changed"), "{text}");
}
