//! The questions that one token of a server may cost in an hour.

use serde_json::json;

use super::server::ModelServer;
use super::*;
use crate::agents::http_access::{ALPHA, Server};

/// Over the budget a call goes on without the model; an answer that is kept costs nothing.
#[test]
fn over_the_budget_of_questions_calls_go_on_without_the_model() {
    let model = ModelServer::answering(&[
        ("correct_old", json!({"corrected_target_snippet": CORRECTED_OLD})),
        ("adjust_new", json!({"corrected_new_string": ADJUSTED_NEW})),
    ]);
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("root");
    let file = root.join("lib.rs");
    std::fs::write(&file, FILE).expect("file");
    let config = format!(
        "[model]\nname = \"m\"\nbase_url = \"{}\"\n[[server.access]]\nname = \"a\"\ntoken_env = \"ALPHA_TOKEN\"\nasks_per_hour = 3\nroots = {{ root = \"{}\" }}\n",
        model.base_url(),
        root.display()
    );
    let server = Server::start(folder.path(), &config);
    let head = server.session("/mcp", ALPHA).expect("session");
    let text = || std::fs::read_to_string(&file).expect("file");
    let edit = |old: &str| {
        let arguments = json!({ "path": "lib.rs", "old_str": old, "new_str": NEW });
        server.call("/mcp", &head, "edit_file", arguments)
    };
    let first = edit(OLD);
    assert_eq!((text(), model.seen().len()), (after(), 2), "{first}");
    // The answers are known now, and cost nothing of the one question that is left.
    for _ in 0..3 {
        server.call("/mcp", &head, "undo", json!({}));
        assert_eq!(text(), FILE);
        let again = edit(OLD);
        assert_eq!((text(), model.seen().len()), (after(), 2), "{again}");
    }
    std::fs::write(&file, FILE).expect("file");
    edit(&OLD.replace("Item", "Items"));
    assert_eq!(model.seen().len(), 3, "the last one");
    std::fs::write(&file, FILE).expect("file");
    let over = edit(&OLD.replace("Item", "Itemz"));
    assert!(over.contains("EDIT_NO_OCCURRENCE_FOUND"), "{over}");
    // All of it is counted, as the page says.
    let metrics = server.get("/metrics", Some(ALPHA)).1;
    for line in [
        "restitch_edits_total{access=\"a\",rung=\"model\"} 4",
        "restitch_asks_total{access=\"a\",ask=\"correct_old\",outcome=\"accepted\"}",
        "restitch_asks_total{access=\"a\",ask=\"adjust_new\",outcome=\"accepted\"}",
        "restitch_model_requests_total{access=\"a\"} 3",
        "restitch_model_tokens_total{access=\"a\"} 330",
        "restitch_cache_answers_total{access=\"a\"} 6",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    assert_eq!((text().as_str(), model.seen().len()), (FILE, 3), "{over}");
}
