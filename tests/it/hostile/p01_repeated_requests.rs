//! A request id that comes again: the first answer for the same call, a refusal for another.

use serde_json::{Value, json};

use super::Sandbox;
use crate::disk::names_below;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "request_id": "r1", "arguments": { "path": path, "old_str": old, "new_str": new } })
}

#[test]
#[cfg_attr(windows, ignore = "on Windows what is past is known to one process only")]
fn the_same_call_gets_the_first_answer_and_any_other_is_refused() {
    let sandbox = Sandbox::new().with("a", "one\n").with("b", "one\n");
    let reordered = json!({ "request_id": "r1", "arguments": { "new_str": "two", "old_str": "one", "path": "a" } });
    let replies = sandbox.batch(&[
        edit("a", "one", "two"),
        edit("a", "one", "two"),
        reordered,
        edit("b", "one", "two"),
        edit("a", "two", "three"),
        json!({ "request_id": "r1", "tool": "undo", "arguments": {} }),
    ]);
    assert_eq!(replies[0]["ok"], true, "{}", replies[0]);
    for again in &replies[1..3] {
        assert_eq!(again["report"]["revision"], replies[0]["report"]["revision"], "{again}");
        assert_eq!(again["ok"], true, "{again}");
    }
    for other in &replies[3..] {
        assert_eq!(other["code"], "EDIT_INVALID_ARGUMENTS", "{other}");
        assert!(other["message"].as_str().is_some_and(|text| text.contains("`r1`")), "{other}");
    }
    assert_eq!((sandbox.text("a"), sandbox.text("b")), ("two\n".into(), "one\n".into()));
}

#[test]
#[cfg_attr(windows, ignore = "on Windows what is past is known to one process only")]
fn an_id_is_known_by_its_commit_when_the_answer_is_lost() {
    let sandbox = Sandbox::new().with("a", "x\n").with("b", "x\n");
    assert_eq!(sandbox.batch(&[edit("a", "x", "xx")])[0]["ok"], true);
    for name in names_below(&sandbox.state()) {
        if name.contains("/answers/") {
            std::fs::remove_file(&name).expect("answer");
        }
    }
    let replies = sandbox.batch(&[edit("b", "x", "xx"), edit("a", "xx", "y")]);
    for reply in &replies {
        assert_eq!(reply["code"], "EDIT_INVALID_ARGUMENTS", "{reply}");
    }
    assert_eq!((sandbox.text("a"), sandbox.text("b")), ("xx\n".into(), "x\n".into()));
}
