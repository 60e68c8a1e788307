//! `hashline_edit`: the operations, the repairs that are proven, and the twelve ways in
//! which an earlier tool of this kind damaged files.

use serde_json::{Value, json};

use super::{Session, anchor, warnings};

async fn edited(before: &str, edits: Value) -> (String, Value) {
    edited_in("f", before, edits).await
}

async fn edited_in(path: &str, before: &str, edits: Value) -> (String, Value) {
    let session = Session::new(&[(path, before)]);
    let report = session.hashline(path, edits).await;
    (session.text(path), report)
}

async fn result(before: &str, edits: Value) -> String {
    edited(before, edits).await.0
}

async fn result_in(path: &str, before: &str, edits: Value) -> String {
    edited_in(path, before, edits).await.0
}

fn replace(before: &str, start: usize, end: usize, lines: Value) -> Value {
    json!([{ "op": "replace", "pos": anchor(before, start), "end": anchor(before, end), "lines": lines }])
}

fn insert(before: &str, op: &str, at: usize, lines: Value) -> Value {
    json!([{ "op": op, "pos": anchor(before, at), "lines": lines }])
}

// The twelve defects.

#[tokio::test]
async fn defect_01_append_at_the_end_adds_no_blank_line_and_keeps_the_final_newline() {
    let append = json!([{ "op": "append", "lines": ["new"] }]);
    assert_eq!(result("a\n", append.clone()).await, "a\nnew\n");
    assert_eq!(result("a", append.clone()).await, "a\nnew");
    assert_eq!(result("a\r\n", append).await, "a\r\nnew\r\n");
}

#[tokio::test]
async fn defect_02_one_line_for_three_is_not_split_at_semicolons() {
    let before = "a\nb\nc\n";
    let line = "for (let i = 0; i < n; i++) {";
    assert_eq!(result(before, replace(before, 1, 3, json!([line]))).await, format!("{line}\n"));
}

#[tokio::test]
async fn defect_03_a_bracketed_line_keeps_its_bracket() {
    let before = "a,\nb,\nc\n";
    assert_eq!(result(before, replace(before, 1, 3, json!(["[a, b, c]"]))).await, "[a, b, c]\n");
}

#[tokio::test]
async fn defect_04_a_leading_plus_of_a_phone_number_stays() {
    let before = "phone\n";
    let (text, report) = edited(before, replace(before, 1, 1, json!(["+1 555 0100"]))).await;
    assert_eq!(text, "+1 555 0100\n");
    assert_eq!(report["rewrites"], json!([]));
    assert!(warnings(&report).contains("diff marker"), "said, not done: {report}");
}

#[tokio::test]
async fn defect_05_markdown_plus_bullets_stay() {
    let before = "# list\n+ one\n+ two\n";
    let lines = json!(["+ one", "+ 2", "+ three"]);
    assert_eq!(result(before, replace(before, 2, 3, lines)).await, "# list\n+ one\n+ 2\n+ three\n");
    let before = "# list\n* one\n* two\n";
    let lines = json!(["+ uno", "+ due"]);
    assert_eq!(result(before, replace(before, 2, 3, lines)).await, "# list\n+ uno\n+ due\n");
}

#[tokio::test]
async fn defect_06_one_line_can_be_dedented_to_column_0() {
    let before = "class A:\n    def f():\n        pass\n";
    let line = replace(before, 2, 2, json!(["def g():"]));
    assert_eq!(result(before, line).await, "class A:\ndef g():\n        pass\n");
    let before = "    def f\n";
    assert_eq!(result(before, replace(before, 1, 1, json!(["def g"]))).await, "def g\n");
}

#[tokio::test]
async fn defect_07_inserted_lines_that_equal_a_neighbour_stay() {
    let before = "}\n";
    let lines = json!(["}", "fn x() {"]);
    assert_eq!(result(before, insert(before, "append", 1, lines)).await, "}\n}\nfn x() {\n");
    let before = "a\n";
    assert_eq!(result(before, insert(before, "append", 1, json!(["a", "c"]))).await, "a\na\nc\n");
    assert_eq!(result(before, insert(before, "append", 1, json!(["a"]))).await, "a\na\n");
    let before = "b\n";
    assert_eq!(result(before, insert(before, "prepend", 1, json!(["x", "b"]))).await, "x\nb\nb\n");
}

#[tokio::test]
async fn defect_08_new_lines_that_equal_both_neighbours_stay() {
    let before = "x\n1\n2\nx\n";
    let (text, report) = edited(before, replace(before, 2, 3, json!(["x", "y", "x"]))).await;
    assert_eq!(text, "x\nx\ny\nx\nx\n");
    assert!(warnings(&report).contains("both are there now"), "{report}");
}

#[tokio::test]
async fn defect_09_rewrapping_a_line_is_not_undone() {
    let before = "foo(a, b)\n";
    let lines = json!(["foo(a,", "    b)"]);
    assert_eq!(result(before, replace(before, 1, 1, lines)).await, "foo(a,\n    b)\n");
    let before = "foo(a,\n    b)\n";
    assert_eq!(result(before, replace(before, 1, 2, json!(["foo(a, b)"]))).await, "foo(a, b)\n");
}

#[tokio::test]
async fn defect_10_equal_inserts_at_one_anchor_are_both_made() {
    let before = "a\nb\n";
    let one = json!({ "op": "append", "pos": anchor(before, 1), "lines": ["x"] });
    assert_eq!(result(before, json!([one, one])).await, "a\nx\nx\nb\n");
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
async fn defect_12_two_replaces_of_one_line_are_refused_and_equal_ones_made_once() {
    let before = "1\n2\n";
    let session = Session::new(&[("f", before)]);
    let edit = |text: &str| json!({ "op": "replace", "pos": anchor(before, 1), "lines": [text] });
    let edits = json!([edit("a"), edit("b")]);
    session.refused("hashline_edit", json!({ "path": "f", "edits": edits }), "EDIT_OVERLAP").await;
    assert_eq!(session.text("f"), before);
    let report = session.hashline("f", json!([edit("a"), edit("a")])).await;
    assert_eq!(session.text("f"), "a\n2\n");
    assert!(warnings(&report).contains("applied once"), "{report}");
}

// What looks like a slip; what both line tools repair is in `repairs`.

#[tokio::test]
async fn copied_prefixes_are_dropped_when_they_name_lines_of_this_place() {
    let before = "alpha\nbeta\ngamma\n";
    let id = |n| anchor(before, n);
    let lines = json!([format!("{}|ALPHA", id(1)), format!("{}|BETA", id(2))]);
    let (text, report) = edited(before, replace(before, 1, 2, lines)).await;
    assert_eq!(text, "ALPHA\nBETA\ngamma\n");
    assert_eq!(report["rewrites"], json!(["strip-line-prefixes"]));
    // One line more than the file has there, numbered on.
    let lines = json!([format!("{}|ALPHA", id(1)), "2#ZZ|more", "3#ZZ|beta two"]);
    assert_eq!(
        result(before, replace(before, 1, 2, lines)).await,
        "ALPHA\nmore\nbeta two\ngamma\n"
    );
}

#[tokio::test]
async fn content_that_looks_like_a_prefix_survives() {
    let before = "notes\nend\n";
    let (text, report) = edited(before, replace(before, 1, 1, json!(["77#VK|x", "78#VK|y"]))).await;
    assert_eq!(text, "77#VK|x\n78#VK|y\nend\n");
    assert!(warnings(&report).contains("written as given"), "{report}");
    let before = "1#VK|x\nend\n";
    assert_eq!(result(before, replace(before, 1, 1, json!(["1#VK|z"]))).await, "1#VK|z\nend\n");
}

#[tokio::test]
async fn a_boundary_echo_that_the_file_needs_stays() {
    let before = "function hello() {\n  log(1);\n  log(2);\n}\n\nfunction world() {\n}\n";
    // The call takes another brace away.
    let edits = json!([
        { "op": "replace", "pos": anchor(before, 2), "end": anchor(before, 3), "lines": ["  f();", "}"] },
        { "op": "replace", "pos": anchor(before, 7), "lines": null },
    ]);
    assert_eq!(
        result_in("f.js", before, edits).await,
        "function hello() {\n  f();\n}\n}\n\nfunction world() {\n"
    );
    // And here the file lacks one.
    let broken = "fn a() {\n  if x {\n    y();\n}\n";
    let lines = json!(["    z();", "}"]);
    assert_eq!(
        result_in("f.rs", broken, replace(broken, 3, 3, lines)).await,
        "fn a() {\n  if x {\n    z();\n}\n}\n"
    );
}

#[tokio::test]
async fn lines_that_are_only_moved_to_the_margin_stay_there() {
    let before = "def f():\n    a = 1\n    if a:\n        b = 2\n    return b\n\nx = 1\n";
    let lines = json!(["a = 1", "if a:", "    b = 2"]);
    assert!(
        result(before, replace(before, 2, 4, lines)).await.starts_with("def f():\na = 1\nif a:\n")
    );
}

// Operations.

#[tokio::test]
async fn all_edits_of_a_call_speak_of_the_original() {
    let before = "1\n2\n3\n4\n5\n";
    let id = |n| anchor(before, n);
    let edits = json!([
        { "op": "append", "pos": id(1), "lines": ["1a", "1b"] },
        { "op": "replace", "pos": id(2), "end": id(3), "lines": null },
        { "op": "replace", "pos": id(5), "lines": "five\nsix" },
        { "op": "prepend", "pos": id(5), "lines": ["4a"] },
        { "op": "append", "lines": ["end"] },
        { "op": "prepend", "lines": ["top"] },
    ]);
    let mut reversed = edits.as_array().expect("list").clone();
    reversed.reverse();
    let after = "top\n1\n1a\n1b\n4\n4a\nfive\nsix\nend\n";
    assert_eq!(result(before, edits).await, after);
    assert_eq!(result(before, reversed.into()).await, after);
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

#[tokio::test]
async fn the_older_ids_without_white_space_are_accepted() {
    let before = "\treturn x;\n";
    assert_eq!(
        result(before, json!([{ "op": "replace", "pos": "1#MT", "lines": ["ok"] }])).await,
        "ok\n"
    );
}

// Freshness.

#[tokio::test]
async fn anchors_of_one_read_hold_through_own_and_foreign_changes() {
    let before: String = (1..=30).map(|n| format!("line {n}\n")).collect();
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
    let before: String = (1..=30).map(|n| format!("line {n}\n")).collect();
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
