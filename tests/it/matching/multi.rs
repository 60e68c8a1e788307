//! `multi_edit` over the tools: all or nothing, all against the original.

use restitch::tools::{ToolReply, Toolbox};
use serde_json::{Value, json};

use crate::in_memory::{call, text, toolbox};

async fn multi_edit(tools: &Toolbox, edits: Value) -> ToolReply {
    call(tools, "multi_edit", json!({ "edits": edits })).await
}

#[tokio::test]
async fn an_edit_of_what_another_writes_is_told_to_merge_them() {
    let tools = toolbox(&[("a", "one\n")]);
    let reply = multi_edit(
        &tools,
        json!([
            { "path": "a", "old_str": "one", "new_str": "deux\ntrois" },
            { "path": "a", "old_str": "trois", "new_str": "vier" },
        ]),
    )
    .await;
    assert!(!reply.ok);
    assert!(reply.message.contains("Edit 1 of this call"), "{}", reply.message);
    assert_eq!(text(&tools, "a").await, "one\n");
}

#[tokio::test]
async fn several_edits_refer_to_the_original() {
    let tools = toolbox(&[("a", "one\ntwo\nthree\n"), ("b", "x\n")]);
    let reply = multi_edit(
        &tools,
        json!([
            { "path": "a", "old_str": "one", "new_str": "two" },
            { "path": "b", "old_str": "x", "new_str": "y" },
            { "path": "a", "old_str": "two", "new_str": "2" },
            { "path": "c", "old_str": "", "new_str": "new\n" },
        ]),
    )
    .await;
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
    let reply = multi_edit(
        &tools,
        json!([
            { "path": "a", "old_str": "one", "new_str": "1" },
            { "path": "b", "old_str": "absent text", "new_str": "y" },
        ]),
    )
    .await;
    assert_eq!(reply.code.map(|code| code.as_str()), Some("EDIT_NO_OCCURRENCE_FOUND"));
    assert!(reply.message.contains("edit 2 of 2"), "{}", reply.message);
    assert_eq!((text(&tools, "a").await, text(&tools, "b").await), ("one\n".into(), "x\n".into()));
}

#[tokio::test]
async fn overlap_is_refused() {
    let tools = toolbox(&[("a", "one two three\n")]);
    let reply = multi_edit(
        &tools,
        json!([
            { "path": "a", "old_str": "one two", "new_str": "1" },
            { "path": "a", "old_str": "two three", "new_str": "2" },
        ]),
    )
    .await;
    assert_eq!(reply.code.map(|code| code.as_str()), Some("EDIT_OVERLAP"));
    assert_eq!(text(&tools, "a").await, "one two three\n");
}
