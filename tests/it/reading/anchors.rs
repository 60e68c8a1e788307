//! `hashline_edit`: the operations, the repairs that are proven, and the twelve ways in
//! which an earlier tool of this kind damaged files.

use regex::{Captures, Regex};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Session, anchor, warnings};
use crate::rows::rows;

/// Edits of a file in which `@3` stands for the anchor of line 3.
#[derive(Deserialize)]
struct Row {
    why: String,
    #[serde(default)]
    path: Option<String>,
    before: String,
    edits: Value,
    after: String,
    /// A rewrite or a piece of a warning.
    #[serde(default)]
    says: String,
}

fn with_anchors(before: &str, edits: &Value) -> Value {
    let mark = Regex::new(r#""@([0-9]+)"#).expect("pattern");
    let line = |found: &Captures<'_>| format!("\"{}", anchor(before, found[1].parse().expect("n")));
    serde_json::from_str(&mark.replace_all(&edits.to_string(), line)).expect("JSON")
}

/// Among them ten of the twelve defects; the two that are refused are below.
#[tokio::test]
async fn edits_come_to_the_text_that_is_meant() {
    for row in rows::<Row>(include_str!("anchors.jsonl")) {
        let path = row.path.as_deref().unwrap_or("f");
        let session = Session::new(&[(path, &row.before)]);
        let report = session.hashline(path, with_anchors(&row.before, &row.edits)).await;
        assert_eq!(session.text(path), row.after, "{}: {report}", row.why);
        let [rewrites, warnings] = [&report["rewrites"], &report["warnings"]];
        assert!(format!("{rewrites}{warnings}").contains(&row.says), "{}: {report}", row.why);
        // What is not said to be rewritten is written as it was sent.
        assert!(*rewrites == json!([]) || *rewrites == json!([row.says]), "{}", row.why);
    }
}

fn replace(before: &str, start: usize, end: usize, lines: Value) -> Value {
    json!([{ "op": "replace", "pos": anchor(before, start), "end": anchor(before, end), "lines": lines }])
}

#[tokio::test]
async fn defect_11_a_replace_inside_anothers_range_is_refused() {
    let before = "1\n2\n3\n";
    let session = Session::new(&[("f", before)]);
    let edits = json!([
        { "op": "replace", "pos": anchor(before, 1), "end": anchor(before, 3), "lines": ["R1", "R2", "R3"] },
        { "op": "replace", "pos": anchor(before, 2), "lines": ["SINGLE"] },
    ]);
    session.refused("hashline_edit", json!({ "path": "f", "edits": edits }), "EDIT_OVERLAP").await;
    assert_eq!(session.text("f"), before);
}

#[tokio::test]
async fn defect_12_two_replaces_of_one_line_are_refused() {
    let before = "1\n2\n";
    let session = Session::new(&[("f", before)]);
    let edit = |text: &str| json!({ "op": "replace", "pos": anchor(before, 1), "lines": [text] });
    let edits = json!([edit("a"), edit("b")]);
    session.refused("hashline_edit", json!({ "path": "f", "edits": edits }), "EDIT_OVERLAP").await;
    assert_eq!(session.text("f"), before);
}

#[tokio::test]
async fn files_are_created_deleted_and_renamed() {
    let session = Session::new(&[("old.txt", "one\r\ntwo\r\n")]);
    session.hashline("new/a.txt", json!([{ "op": "append", "lines": ["x", "y"] }])).await;
    assert_eq!(session.text("new/a.txt"), "x\ny\n");
    session
        .refused(
            "hashline_edit",
            json!({ "path": "none", "edits": replace("a\n", 1, 1, json!(["b"])) }),
            "EDIT_FILE_NOT_FOUND",
        )
        .await;
    let id = anchor("one\r\ntwo\r\n", 2);
    let edits = json!([{ "op": "replace", "pos": id, "lines": ["zwei"] }]);
    session
        .ok("hashline_edit", json!({ "path": "old.txt", "edits": edits, "rename": "moved.txt" }))
        .await;
    assert_eq!(session.text("moved.txt"), "one\r\nzwei\r\n");
    assert!(!session.exists("old.txt"));
    let taken = json!({ "path": "moved.txt", "rename": "new/a.txt" });
    session.refused("hashline_edit", taken, "ATTEMPT_TO_CREATE_EXISTING_FILE").await;
    assert!(session.exists("moved.txt"));
    let both = json!({ "path": "moved.txt", "delete": true, "edits": [{ "op": "append", "lines": ["x"] }] });
    session.refused("hashline_edit", both, "EDIT_INVALID_ARGUMENTS").await;
    session.ok("hashline_edit", json!({ "path": "moved.txt", "delete": true, "edits": [] })).await;
    assert!(!session.exists("moved.txt"));
}

#[tokio::test]
async fn malformed_calls_are_refused_with_the_way_out() {
    let before = "a\nb\nc\n";
    let session = Session::new(&[("f", before)]);
    let id = |n| anchor(before, n);
    for (edits, words) in [
        (json!([{ "op": "replace", "pos": id(3), "end": id(1), "lines": ["x"] }]), "inverted"),
        (json!([{ "op": "replace", "lines": ["x"] }]), "no pos"),
        (json!([{ "op": "append", "pos": id(1), "lines": [] }]), "inserts nothing"),
        (json!([{ "op": "replace", "pos": "nonsense", "lines": ["x"] }]), "not an anchor"),
        (json!([{ "op": "replace", "pos": id(1) }]), "lines"),
        (json!([]), "edits is empty"),
    ] {
        let call = json!({ "path": "f", "edits": edits });
        let reply = session.refused("hashline_edit", call, "EDIT_INVALID_ARGUMENTS").await;
        assert!(reply.message.contains(words), "{}", reply.message);
    }
    let same = json!({ "path": "f", "edits": replace(before, 1, 2, json!(["a", "b"])) });
    session.refused("hashline_edit", same, "EDIT_NO_CHANGE").await;
    assert_eq!(session.text("f"), before);
}

// Freshness.

#[tokio::test]
async fn anchors_of_one_read_hold_through_own_and_foreign_changes() {
    let before = crate::sandbox::numbered(30);
    let session = Session::new(&[("f", &before)]);
    let read = session.ok("read_file", json!({ "path": "f", "style": "hashline" })).await;
    let snapshot = read["snapshot"].clone();
    // An own edit above, then a formatter, then another agent.
    let first =
        session.hashline("f", json!([{ "op": "prepend", "lines": ["// new", "// header"] }])).await;
    assert_eq!(first["line_shifts"], json!([{ "from_line": 1, "delta": 2 }]));
    session.put("f", &session.text("f").replace("line 9\n", "line 9;\nline 9b\n"));
    let edits = json!([{ "op": "replace", "pos": anchor(&before, 20), "lines": ["TWENTY"] }]);
    let call = json!({ "path": "f", "edits": edits, "snapshot": snapshot });
    let report = session.ok("hashline_edit", call).await;
    assert!(session.text("f").contains("line 19\nTWENTY\nline 21\n"));
    assert_eq!(report["rung"], "carried");
    assert!(warnings(&report).contains("line 23, which was line 20"), "{report}");
    // Without the snapshot too: only one line can be meant.
    session
        .hashline("f", json!([{ "op": "replace", "pos": anchor(&before, 25), "lines": ["25!"] }]))
        .await;
    assert!(session.text("f").contains("line 24\n25!\nline 26\n"));
    // The line that the formatter touched is stale.
    let stale = json!({ "path": "f", "edits": [{ "op": "replace", "pos": anchor(&before, 9), "lines": ["x"] }] });
    session.refused("hashline_edit", stale, "EDIT_STALE_ANCHOR").await;
}

#[tokio::test]
async fn among_5000_equal_lines_the_right_one_or_none_is_edited() {
    let braces = "}\n".repeat(5000);
    let session = Session::new(&[("f", &braces)]);
    let read = session.ok("read_file", json!({ "path": "f", "style": "hashline" })).await;
    let edit = |n: usize, text: &str| json!([{ "op": "replace", "pos": anchor(&braces, n), "lines": [text] }]);
    session.hashline("f", edit(2500, "mine")).await;
    assert_eq!(session.text("f").lines().position(|line| line == "mine"), Some(2499));
    // Another program adds a brace: which one is line 100 of the read now?
    session.put("f", &("}\n".to_owned() + &session.text("f")));
    let after = session.text("f");
    for snapshot in [json!(null), read["snapshot"].clone()] {
        let call = json!({ "path": "f", "edits": edit(100, "x"), "snapshot": snapshot });
        session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    }
    assert_eq!(session.text("f"), after);
}

#[tokio::test]
async fn an_ambiguous_anchor_is_settled_by_the_snapshot_that_the_refusal_names() {
    let before = "a\n}\nb\n}\nc\n";
    let session = Session::new(&[("f", before)]);
    session.ok("read_file", json!({ "path": "f", "style": "hashline" })).await;
    session.put("f", "}\n}\na\n}\nb\n}\nc\n");
    let edits = json!([{ "op": "replace", "pos": anchor(before, 2), "lines": ["X"] }]);
    let call = json!({ "path": "f", "edits": edits });
    let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    let hint = reply.report["hint"].as_str().expect("hint");
    let id = hint.split('"').nth(1).expect("snapshot in the hint");
    let edits = json!([{ "op": "replace", "pos": anchor(&session.text("f"), 2), "lines": ["X"] }]);
    session.ok("hashline_edit", json!({ "path": "f", "edits": edits, "snapshot": id })).await;
    assert_eq!(session.text("f"), "}\nX\na\n}\nb\n}\nc\n");
}

#[tokio::test]
async fn unseen_lines_are_named_before_they_are_overwritten() {
    let before = crate::sandbox::numbered(30);
    let session = Session::new(&[("f", &before)]);
    let ranges = json!([{ "start": 3, "end": 4 }, { "start": 8, "end": 9 }]);
    session.ok("read_file", json!({ "path": "f", "style": "hashline", "ranges": ranges })).await;
    let call = json!({ "path": "f", "edits": replace(&before, 4, 8, json!(["short"])) });
    let reply = session.refused("hashline_edit", call.clone(), "EDIT_BLOCKED").await;
    assert_eq!(reply.report["affected_ranges"], json!([{ "start": 5, "end": 7 }]));
    assert!(reply.message.contains("|line 6"), "{}", reply.message);
    session.ok("hashline_edit", call).await;
    assert!(session.text("f").starts_with("line 1\nline 2\nline 3\nshort\nline 9\n"));
}
