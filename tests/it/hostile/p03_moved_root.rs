//! The root is moved, replaced or removed while a server runs.

use std::fs;

use serde_json::json;

use super::{Sandbox, text_of};

#[test]
fn a_replaced_root_is_opened_again_and_said_and_a_gone_one_is_refused() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let mut mcp = sandbox.mcp();
    let edit = |old: &str, new: &str| json!({ "path": "f", "old_str": old, "new_str": new });
    let first = text_of(&mcp.call(1, "edit_file", edit("one", "two")));
    assert!(first.contains("Edited"), "{first}");

    let moved = sandbox.above().join("moved");
    fs::rename(sandbox.root(), &moved).expect("moves");
    for (id, tool, arguments) in [
        (2, "edit_file", edit("two", "three")),
        (3, "read_file", json!({ "path": "f" })),
        (4, "search", json!({ "keyword": "two" })),
        (5, "edit_file", json!({ "path": "new", "old_str": "", "new_str": "x\n" })),
        (6, "undo", json!({})),
    ] {
        let answer = mcp.call(id, tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text_of(&answer).contains("root"), "{answer}");
    }
    assert_eq!(fs::read_to_string(moved.join("f")).expect("file"), "two\n");

    fs::create_dir(sandbox.root()).expect("another");
    sandbox.write("f", "two here\n");
    let answer = mcp.call(7, "edit_file", edit("two", "three"));
    let text = text_of(&answer);
    assert!(text.contains("was replaced by another folder"), "{answer}");
    assert_eq!(sandbox.text("f"), "three here\n");
    assert_eq!(fs::read_to_string(moved.join("f")).expect("file"), "two\n");
    let found = text_of(&mcp.call(8, "search", json!({ "keyword": "three" })));
    assert!(found.contains("three here"), "{found}");

    // A link in the place of the root leads elsewhere.
    fs::remove_dir_all(sandbox.root()).expect("removed");
    std::os::unix::fs::symlink(&moved, sandbox.root()).expect("link");
    let answer = mcp.call(9, "edit_file", edit("two", "four"));
    assert!(text_of(&answer).contains("leads elsewhere"), "{answer}");
    assert_eq!(fs::read_to_string(moved.join("f")).expect("file"), "two\n");
}
