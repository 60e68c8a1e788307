//! A staged session: everything the agent sees has its edits in it, the disk has none
//! until they are committed together.

use restitch::engine::{CallOptions, UndoScope};
use serde_json::json;

use super::{Session, paths};

const SOURCE: &str = "fn one() {}\nfn two() {}\n";

#[tokio::test]
async fn reads_searches_and_lists_see_what_is_staged_and_the_disk_does_not() {
    let session = Session::staged(&[("a.rs", SOURCE), ("b.rs", SOURCE)]);
    session.ok("edit_file", json!({ "path": "a.rs", "old_str": "two", "new_str": "zwei" })).await;
    let made = json!({ "path": "new/c.rs", "old_str": "", "new_str": "fn zwei() {}\n" });
    session.ok("edit_file", made).await;
    session.ok("hashline_edit", json!({ "path": "b.rs", "delete": true, "edits": [] })).await;
    assert_eq!(session.text("a.rs"), SOURCE);
    assert!(session.exists("b.rs") && !session.exists("new/c.rs"));

    let found = session.ok("search", json!({ "keyword": "zwei" })).await;
    assert_eq!(paths(&found), ["a.rs", "new/c.rs"], "{found}");
    let below = session.ok("search", json!({ "keyword": "zwei", "path": "new" })).await;
    assert_eq!(below["total_files"], 1, "{below}");
    let gone = session.ok("search", json!({ "keyword": "two" })).await;
    assert_eq!(gone["total_files"], 0, "{gone}");
    let listed = session.ok("list_files", json!({})).await;
    assert_eq!(paths(&listed), ["a.rs", "new/c.rs"]);

    // The anchor of a staged hit works at once.
    let anchor = &found["files"][0]["matches"][0]["anchor"];
    let edit = json!({ "op": "replace", "pos": anchor, "lines": ["fn drei() {}"] });
    session.ok("hashline_edit", json!({ "path": "a.rs", "edits": [edit] })).await;
    let diff = session.call("staging", json!({ "action": "diff" })).await;
    assert!(diff.message.contains("+fn drei() {}") && !diff.message.contains("+fn zwei() {}\n-"));
    session.ok("staging", json!({ "action": "commit" })).await;
    assert_eq!(session.text("a.rs"), "fn one() {}\nfn drei() {}\n");
    assert_eq!(session.text("new/c.rs"), "fn zwei() {}\n");
    assert!(!session.exists("b.rs"));
}

#[tokio::test]
async fn a_commit_of_what_changed_meanwhile_is_refused_whole_and_can_be_discarded() {
    for (now, code) in [(Some("fn other() {}\n"), "EDIT_CONFLICT"), (None, "EDIT_FILE_NOT_FOUND")] {
        let session = Session::staged(&[("a.rs", SOURCE), ("b.rs", SOURCE)]);
        for path in ["a.rs", "b.rs"] {
            let edit = json!({ "path": path, "old_str": "two", "new_str": "zwei" });
            session.ok("edit_file", edit).await;
        }
        match now {
            Some(text) => session.put("b.rs", text),
            None => std::fs::remove_file(session.dir.path().join("b.rs")).expect("removed"),
        }
        let refused = session.refused("staging", json!({ "action": "commit" }), code).await.message;
        assert!(refused.contains("action discard") && !refused.contains("same call"), "{refused}");
        assert_eq!(session.text("a.rs"), SOURCE);
        session.ok("staging", json!({ "action": "discard" })).await;
        match now {
            Some(text) => {
                let read = session.ok("read_file", json!({ "path": "b.rs" })).await;
                assert_eq!(read["text"], text);
            }
            None => assert!(!session.exists("b.rs")),
        }
        let nothing = session.call("staging", json!({ "action": "diff" })).await;
        assert_eq!(nothing.message, "Nothing is staged.");
    }
}

/// What is staged is no revision: undo says how it is dropped.
#[tokio::test]
async fn undo_of_a_staged_edit_names_the_way_back() {
    let session = Session::staged(&[("a.rs", SOURCE)]);
    session.ok("edit_file", json!({ "path": "a.rs", "old_str": "two", "new_str": "zwei" })).await;
    let options = CallOptions { undo_scope: UndoScope::Session, ..CallOptions::default() };
    let reply = session.tools.call("undo", json!({}), &options).await;
    assert!(!reply.ok && reply.message.contains("`staging` with action discard"), "{reply:?}");
}
