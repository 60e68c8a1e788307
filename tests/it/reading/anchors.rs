//! `hashline_edit`: the operations, the repairs that are proven, and the twelve ways in
//! which an earlier tool of this kind damaged files.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Session, anchor, line_by, of_version, warnings, with_anchors};
use crate::rows::rows;
use crate::says::says;

/// Edits of a file in which `@3` stands for the anchor of line 3.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    #[serde(default)]
    path: Option<String>,
    before: String,
    edits: Value,
    /// Empty where the call is refused.
    #[serde(default)]
    after: String,
    /// A rewrite or a piece of a warning, or of the refusal.
    #[serde(default)]
    says: String,
    /// The code of a refusal.
    #[serde(default)]
    refused: Option<String>,
}

/// Among them the twelve defects.
#[tokio::test]
async fn edits_come_to_the_text_that_is_meant() {
    for row in rows::<Row>(include_str!("anchors.jsonl")) {
        let path = row.path.as_deref().unwrap_or("f");
        let session = Session::new(&[(path, &row.before)]);
        let edits = with_anchors(&row.before, &row.edits);
        if let Some(code) = &row.refused {
            let call = json!({ "path": path, "edits": edits });
            let reply = session.refused("hashline_edit", call, code).await;
            assert!(reply.message.contains(&row.says), "{}: {}", row.why, reply.message);
            assert_eq!(session.text(path), row.before, "{}", row.why);
            continue;
        }
        let report = session.hashline(path, edits).await;
        assert_eq!(session.text(path), row.after, "{}: {report}", row.why);
        let [rewrites, warnings] = [&report["rewrites"], &report["warnings"]];
        assert!(format!("{rewrites}{warnings}").contains(&row.says), "{}: {report}", row.why);
        // What is not said to be rewritten is written as it was sent.
        assert!(*rewrites == json!([]) || *rewrites == json!([row.says]), "{}", row.why);
    }
}

#[tokio::test]
async fn files_are_created_deleted_and_renamed() {
    let session = Session::new(&[("old.txt", "one\r\ntwo\r\n")]);
    session.hashline("new/a.txt", json!([{ "op": "append", "lines": ["x", "y"] }])).await;
    assert_eq!(session.text("new/a.txt"), "x\ny\n");
    let none = json!({ "path": "none", "edits": line_by("a\n", 1, "b") });
    session.refused("hashline_edit", none, "EDIT_FILE_NOT_FOUND").await;
    let edits = line_by("one\r\ntwo\r\n", 2, "zwei");
    let moved = json!({ "path": "old.txt", "edits": edits, "rename": "moved.txt" });
    session.ok("hashline_edit", moved).await;
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

// Freshness.

#[tokio::test]
async fn anchors_of_one_read_hold_through_own_and_foreign_changes() {
    let before = crate::sandbox::numbered(30);
    let session = Session::new(&[("f", &before)]);
    let read = session.read("f", "hashline").await;
    // An own edit above, then a formatter, then another agent.
    let first =
        session.hashline("f", json!([{ "op": "prepend", "lines": ["// new", "// header"] }])).await;
    assert_eq!(first["line_shifts"], json!([{ "from_line": 1, "delta": 2 }]));
    session.put("f", &session.text("f").replace("line 9\n", "line 9;\nline 9b\n"));
    let call = json!({ "path": "f", "edits": line_by(&before, 20, "TWENTY") });
    let report = session.ok("hashline_edit", of_version(&read["snapshot"], call)).await;
    assert!(session.text("f").contains("line 19\nTWENTY\nline 21\n"));
    assert_eq!(report["rung"], "carried");
    assert!(warnings(&report).contains("line 23, which was line 20"), "{report}");
    // Without the snapshot too: only one line can be meant.
    session.hashline("f", line_by(&before, 25, "25!")).await;
    assert!(session.text("f").contains("line 24\n25!\nline 26\n"));
    // The line that the formatter touched is stale.
    let stale = json!({ "path": "f", "edits": line_by(&before, 9, "x") });
    session.refused("hashline_edit", stale, "EDIT_STALE_ANCHOR").await;
}

#[tokio::test]
async fn among_5000_equal_lines_the_right_one_or_none_is_edited() {
    let braces = "}\n".repeat(5000);
    let session = Session::new(&[("f", &braces)]);
    let read = session.read("f", "hashline").await;
    session.hashline("f", line_by(&braces, 2500, "mine")).await;
    assert_eq!(session.text("f").lines().position(|line| line == "mine"), Some(2499));
    // Another program adds a brace: which one is line 100 of the read now?
    session.put("f", &("}\n".to_owned() + &session.text("f")));
    let after = session.text("f");
    for snapshot in [json!(null), read["snapshot"].clone()] {
        let call =
            json!({ "path": "f", "edits": line_by(&braces, 100, "x"), "snapshot": snapshot });
        session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    }
    assert_eq!(session.text("f"), after);
}

#[tokio::test]
async fn an_ambiguous_anchor_is_settled_by_the_snapshot_that_the_refusal_names() {
    let before = "a\n}\nb\n}\nc\n";
    let session = Session::new(&[("f", before)]);
    session.read("f", "hashline").await;
    session.put("f", "}\n}\na\n}\nb\n}\nc\n");
    let call = json!({ "path": "f", "edits": line_by(before, 2, "X") });
    let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    let hint = reply.report["hint"].as_str().expect("hint");
    let id = hint.split('"').nth(1).expect("snapshot in the hint");
    let edits = line_by(&session.text("f"), 2, "X");
    session.ok("hashline_edit", json!({ "path": "f", "edits": edits, "snapshot": id })).await;
    assert_eq!(session.text("f"), "}\nX\na\n}\nb\n}\nc\n");
}

/// Every cause is said, and the lines that may be meant now are marked.
#[tokio::test]
async fn a_stale_anchor_is_refused_with_its_cause() {
    let read = "a\nb\nc\nd\n";
    let range = json!([{ "op": "replace", "pos": anchor(read, 2), "end": anchor(read, 3), "lines": ["x"] }]);
    for (is_read, now, edits, cause, near) in [
        (true, "a\nb\nforeign\nc\nd\n", range, "into which other lines were inserted", vec![2, 4]),
        (true, "a\nb\nC\nd\n", line_by(read, 3, "x"), "changed since it was read", vec![3]),
        (false, "a\nb\nC\nd\n", line_by(read, 3, "x"), "does not match its line", vec![3]),
        (false, "a\n", line_by(read, 3, "x"), "is past the end, the file has 1 line", vec![1]),
    ] {
        let session = Session::new(&[("f", if is_read { read } else { now })]);
        if is_read {
            session.read("f", "hashline").await;
            session.put("f", now);
        }
        let call = json!({ "path": "f", "edits": edits });
        let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
        says(&reply.message, &[cause]);
        let marked = reply.message.lines().filter_map(|line| line.strip_prefix(">>> "));
        let marked: Vec<_> = marked.filter_map(|line| line.split('|').next()).collect();
        let near: Vec<_> = near.into_iter().map(|line| anchor(now, line)).collect();
        assert_eq!(marked, near, "{}", reply.message);
    }
}

#[tokio::test]
async fn unseen_lines_are_named_before_they_are_overwritten_wherever_they_moved() {
    let before = crate::sandbox::numbered(30);
    for (above, moved) in [("", 0), ("new\n", 1)] {
        let session = Session::new(&[("f", &before)]);
        let ranges = json!([{ "start": 3, "end": 4 }, { "start": 8, "end": 9 }]);
        session
            .ok("read_file", json!({ "path": "f", "style": "hashline", "ranges": ranges }))
            .await;
        session.put("f", &format!("{above}{before}"));
        let (pos, end) = (anchor(&before, 4), anchor(&before, 8));
        let edits = json!([{ "op": "replace", "pos": pos, "end": end, "lines": ["short"] }]);
        let call = json!({ "path": "f", "edits": edits });
        let reply = session.refused("hashline_edit", call.clone(), "EDIT_BLOCKED").await;
        let unseen = json!([{ "start": 5 + moved, "end": 7 + moved }]);
        assert_eq!(reply.report["affected_ranges"], unseen);
        assert!(reply.message.contains("|line 6"), "{}", reply.message);
        session.ok("hashline_edit", call).await;
        let wanted = format!("{above}line 1\nline 2\nline 3\nshort\nline 9\n");
        assert!(session.text("f").starts_with(&wanted));
    }
}
