//! Seed 000: what an answer tells the caller to use is offered to that caller; and how a refusal reaches
//! the clients that wrap errors.

use serde_json::json;

use super::server;
use crate::reading::{Session, anchor};

const TEXT: &str = "one\ntwo\nthree\ntwo\n";

fn project() -> tempfile::TempDir {
    crate::sandbox::folder_with(&[("f.txt", TEXT)])
}

fn text(dir: &tempfile::TempDir) -> String {
    std::fs::read_to_string(dir.path().join("f.txt")).expect("file")
}

#[test]
fn seed_000_default_tools_take_what_search_shows() {
    let dir = project();
    let mut server = server(dir.path(), &[], "t");
    let listed = server.list_tools();
    let offered: Vec<&str> = listed["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let (found, _) = server.said("search", json!({ "keyword": "three" }));
    assert!(found.contains("as `lines` of edit_file"), "{found}");
    assert!(offered.contains(&"edit_file"), "{offered:?}");
    let line = found.lines().find(|line| line.contains("#")).expect("an anchor");
    let shown = line.split('|').next().expect("anchor");
    let edit = json!({ "path": "f.txt", "old_str": "", "new_str": "THREE\nfour", "lines": shown });
    let (answer, is_error) = server.said("edit_file", edit);
    assert!(!is_error, "{answer}");
    assert_eq!(text(&dir), "one\ntwo\nTHREE\nfour\ntwo\n");
}

#[test]
fn seed_000_default_tools_of_other_dialects_are_not_promised_anchors() {
    for dialect in ["anthropic", "claude-code", "gemini", "opencode", "codex"] {
        let dir = project();
        let mut server = server(dir.path(), &["--dialect", dialect], "t");
        let (found, _) = server.said("search", json!({ "keyword": "three" }));
        assert!(!found.contains("right away"), "{dialect}: {found}");
    }
}

#[tokio::test]
async fn seed_000_default_tools_edit_file_takes_lines_or_anchors_as_its_place() {
    let session = Session::new(&[("f.txt", TEXT)]);
    session.ok("read_file", json!({ "path": "f.txt", "style": "hashline" })).await;
    let edit = |lines: &str, old: &str, new: &str| json!({ "path": "f.txt", "old_str": old, "new_str": new, "lines": lines });
    session.ok("edit_file", edit("2-3", "", "2\n3")).await;
    assert_eq!(session.text("f.txt"), "one\n2\n3\ntwo\n");
    let range = format!("{}-{}", anchor("one\n2\n3\ntwo\n", 1), anchor("one\n2\n3\ntwo\n", 2));
    session.ok("edit_file", edit(&range, "", "1")).await;
    assert_eq!(session.text("f.txt"), "1\n3\ntwo\n");
    session.ok("read_file", json!({ "path": "f.txt" })).await;
    session.ok("edit_file", edit("2", "", "")).await;
    assert_eq!(session.text("f.txt"), "1\ntwo\n");
    // With a text, lines are only where to look.
    let session = Session::new(&[("f.txt", TEXT)]);
    session.ok("edit_file", edit("4", "two", "zwei")).await;
    assert_eq!(session.text("f.txt"), "one\ntwo\nthree\nzwei\n");
    let mixed =
        session.refused("edit_file", edit("1-2#VK", "", "x"), "EDIT_INVALID_ARGUMENTS").await;
    assert!(mixed.message.contains("two anchors"), "{}", mixed.message);
}

#[test]
fn refusals_reach_clients_that_wrap_errors_once_and_plain() {
    let absent =
        json!({ "file_path": "f.txt", "old_string": "nothing like this", "new_string": "x" });
    for (client, dialect, is_marked) in [
        ("gemini-cli-mcp-client-restitch", "gemini", false),
        ("qwen-cli-mcp-client-restitch", "claude-code", false),
        ("claude-code", "claude-code", true),
    ] {
        let dir = project();
        let mut server = server(dir.path(), &["--dialect", dialect], client);
        let (text, is_error) = server.said("edit", absent.clone());
        assert_eq!(is_error, is_marked, "{client}: {text}");
        let has_code = text.to_uppercase().starts_with("EDIT_NO_OCCURRENCE_FOUND: ");
        assert_eq!(has_code, !is_marked, "{client}: {text}");
        assert_eq!(
            text.to_uppercase().matches("EDIT_NO_OCCURRENCE").count(),
            usize::from(!is_marked)
        );
    }
}
