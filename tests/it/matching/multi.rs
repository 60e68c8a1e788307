//! `multi_edit` over the tools: all or nothing, all against the original.

use restitch::tools::{ToolReply, Toolbox};
use serde_json::{Value, json};

use crate::in_memory::{call, text, toolbox};

/// One call with these edits, each a path, its old text and its new text.
async fn multi_edit(tools: &Toolbox, edits: &[(&str, &str, &str)]) -> ToolReply {
    let edit = |(path, old, new): &_| json!({ "path": path, "old_str": old, "new_str": new });
    call(tools, "multi_edit", json!({ "edits": edits.iter().map(edit).collect::<Value>() })).await
}

#[tokio::test]
async fn an_edit_of_what_another_writes_is_told_to_merge_them() {
    let tools = toolbox(&[("a", "one\n")]);
    let edits = [("a", "one", "deux\ntrois"), ("a", "trois", "vier")];
    let reply = multi_edit(&tools, &edits).await;
    assert!(!reply.ok);
    assert!(reply.message.contains("Edit 1 of this call"), "{}", reply.message);
    assert_eq!(text(&tools, "a").await, "one\n");
}

#[tokio::test]
async fn several_edits_refer_to_the_original() {
    let tools = toolbox(&[("a", "one\ntwo\nthree\n"), ("b", "x\n")]);
    let edits = [("a", "one", "two"), ("b", "x", "y"), ("a", "two", "2"), ("c", "", "new\n")];
    let reply = multi_edit(&tools, &edits).await;
    assert!(reply.ok, "{}", reply.message);
    assert_eq!(text(&tools, "a").await, "two\n2\nthree\n");
    assert_eq!(text(&tools, "b").await, "y\n");
    assert_eq!(text(&tools, "c").await, "new\n");
    let paths: Vec<&str> = reply.report["files"]
        .as_array()
        .expect("files")
        .iter()
        .filter_map(|f| f["path"].as_str())
        .collect();
    assert_eq!(paths, ["a", "b", "c"]);
}

#[tokio::test]
async fn one_refusal_leaves_every_file() {
    let tools = toolbox(&[("a", "one\n"), ("b", "x\n")]);
    let edits = [("a", "one", "1"), ("b", "absent text", "y")];
    let reply = multi_edit(&tools, &edits).await;
    assert_eq!(reply.code.map(|code| code.as_str()), Some("EDIT_NO_OCCURRENCE_FOUND"));
    assert!(reply.message.contains("edit 2 of 2"), "{}", reply.message);
    assert_eq!((text(&tools, "a").await, text(&tools, "b").await), ("one\n".into(), "x\n".into()));
}

#[tokio::test]
async fn overlap_is_refused() {
    let tools = toolbox(&[("a", "one two three\n")]);
    let edits = [("a", "one two", "1"), ("a", "two three", "2")];
    let reply = multi_edit(&tools, &edits).await;
    assert_eq!(reply.code.map(|code| code.as_str()), Some("EDIT_OVERLAP"));
    assert_eq!(text(&tools, "a").await, "one two three\n");
}
