//! A line number whose line the session itself has moved since it was read is taken only with proof;
//! `>>>` marks the lines that may be meant; the answer shows every edit.

use serde_json::{Value, json};

use super::{Session, anchor, line_by, line_edit, of_version, paths};
use crate::sandbox::numbered;
use crate::says::says;

/// Seed 000's very bug: several edits of one turn, all in the numbers of the read. It does not matter
/// whether the client waits for each answer.
#[tokio::test]
async fn p1_edits_of_one_turn_never_hit_the_wrong_line() {
    let session = Session::new(&[("f", &numbered(20))]);
    let read = session.ok("read_file", json!({ "path": "f" })).await;
    // These lines are where they were: below them nothing has moved yet.
    session.ok("edit_lines", line_edit(20, 20, "twenty")).await;
    session.ok("edit_lines", line_edit(8, 8, "eight\neight and a half")).await;
    session.ok("edit_lines", line_edit(5, 5, "five")).await;
    let before = session.text("f");
    // Line 12 of the read is line 13 now: both are shown, and nothing is written.
    let reply = session.refused("edit_lines", line_edit(12, 12, "x"), "EDIT_STALE_ANCHOR").await;
    assert_eq!(session.text("f"), before);
    let old = &read["snapshot"].as_str().expect("id")[..12];
    says(&reply.message, &["|line 12", "|line 11", "can mean line 13 or line 12", old]);
    assert_eq!(reply.message.lines().filter(|line| line.starts_with(">>> ")).count(), 2);
    // With the snapshot of the read it is line 12 of the read; with that of now, line 12 of now.
    let exact = of_version(&old.into(), line_edit(12, 12, "twelve"));
    session.ok("edit_lines", exact).await;
    assert!(session.text("f").contains("line 11\ntwelve\nline 13\n"));
    let (_, hint) = reply.message.split_once("with snapshot \"").expect("the snapshot of now");
    let exact = of_version(&hint[..12].into(), line_edit(12, 12, "eleven"));
    session.ok("edit_lines", exact).await;
    assert!(session.text("f").contains("line 10\neleven\ntwelve\n"), "{}", session.text("f"));
    // A read settles what a number means.
    session.ok("read_file", json!({ "path": "f" })).await;
    session.ok("edit_lines", line_edit(13, 13, "TWELVE")).await;
    assert!(session.text("f").contains("eleven\nTWELVE\nline 13\n"));
}

/// The same where another program has moved the line.
#[tokio::test]
async fn p1_where_both_numberings_are_possible_both_are_shown() {
    let session = Session::new(&[("f", &numbered(20))]);
    session.ok("read_file", json!({ "path": "f" })).await;
    session.put("f", &format!("new\n{}", numbered(20)));
    let reply = session.refused("edit_lines", line_edit(8, 8, "x"), "EDIT_STALE_ANCHOR").await;
    says(&reply.message, &["|line 7", "|line 8", "can mean line 9 or line 8"]);
}

/// A version that was seen before and is there again is not the one that was read last.
#[tokio::test]
async fn a_number_is_of_the_version_that_was_read_last_even_if_the_file_is_as_once_before() {
    let old = numbered(5);
    let new = format!("new\n{old}");
    let insert = json!({ "path": "f", "old_str": "line 1\n", "new_str": "new\nline 1\n" });
    for seen in ["read", "searched", "written", "written twice"] {
        let session = Session::new(&[("f", &old)]);
        session.ok("read_file", json!({ "path": "f" })).await;
        if seen.starts_with("written") {
            session.ok("edit_file", insert.clone()).await;
        } else {
            session.put("f", &new);
            let (tool, call) = match seen {
                "read" => ("read_file", json!({ "path": "f" })),
                _ => ("search", json!({ "keyword": "new" })),
            };
            session.ok(tool, call).await;
        }
        if seen == "written twice" {
            let back = json!({ "path": "f", "old_str": "new\n", "new_str": "" });
            session.ok("edit_file", back).await;
            // What the session itself has taken back is no numbering any more.
            session.refused("edit_lines", line_edit(3, 3, "line 3"), "EDIT_NO_CHANGE").await;
        } else {
            session.put("f", &old);
        }
        session.ok("read_file", json!({ "path": "f" })).await;
        if seen == "written twice" {
            session.ok("edit_file", insert.clone()).await;
        } else {
            session.put("f", &new);
        }
        session.refused("edit_lines", line_edit(3, 3, "x"), "EDIT_STALE_ANCHOR").await;
        assert_eq!(session.text("f"), new, "{seen}");
    }
    // Another program has taken back what the answer to an edit had numbered.
    let session = Session::new(&[("f", &old)]);
    session.ok("read_file", json!({ "path": "f" })).await;
    session.ok("edit_file", insert).await;
    session.put("f", &old);
    session.refused("edit_lines", line_edit(3, 3, "x"), "EDIT_STALE_ANCHOR").await;
}

/// Lines that were deleted and restored have their anchors, and one that has changed is said to have.
#[tokio::test]
async fn an_anchor_is_not_stale_for_a_version_that_was_taken_back() {
    let old = numbered(5);
    let session = Session::new(&[("f", &old)]);
    session.ok("read_file", json!({ "path": "f" })).await;
    session.ok("edit_lines", line_edit(3, 4, "")).await;
    let back = json!({ "path": "f", "old_str": "line 2\n", "new_str": "line 2\nline 3\nline 4\n" });
    session.ok("edit_file", back).await;
    session.read("f", "hashline").await;
    session.hashline("f", line_by(&old, 2, "two")).await;
    let (from, to) = (anchor(&old, 3), anchor(&old, 4));
    let rest = json!([{ "op": "replace", "pos": from, "end": to, "lines": ["rest"] }]);
    session.hashline("f", rest).await;
    assert_eq!(session.text("f"), "line 1\ntwo\nrest\nline 5\n");
    // Written again in a file that has changed, it may be another line.
    let session = Session::new(&[("f", &old)]);
    session.read("f", "hashline").await;
    for (line, text) in [(3, "3"), (1, "1"), (3, "line 3")] {
        session.ok("edit_lines", line_edit(line, line, text)).await;
    }
    let call = json!({ "path": "f", "edits": line_by(&old, 3, "three") });
    let reply = session.refused("hashline_edit", call.clone(), "EDIT_STALE_ANCHOR").await;
    says(&reply.message, &["also shown in an older version"]);
    let read = session.ok("read_file", json!({ "path": "f" })).await;
    session.ok("hashline_edit", of_version(&read["snapshot"], call)).await;
}

/// The new text proves which line is meant, where it repeats a line that stands at one of the places
/// alone.
#[tokio::test]
async fn p1_text_that_stands_in_one_numbering_proves_the_line() {
    let text: String = (1..=20).map(|n| format!("let the_value_of_{n} = {n};\n")).collect();
    let session = Session::new(&[("f", &text)]);
    session.ok("read_file", json!({ "path": "f" })).await;
    session.ok("edit_lines", line_edit(2, 2, "two\nand more\nand more")).await;
    let wish = "let the_value_of_10 = 10;\nlet x = 0;";
    session.ok("edit_lines", line_edit(10, 11, wish)).await;
    let wanted = text
        .replace("let the_value_of_2 = 2;\n", "two\nand more\nand more\n")
        .replace("let the_value_of_11 = 11;\n", "let x = 0;\n");
    assert_eq!(session.text("f"), wanted);
}

/// The same rule for a line that an insertion or a hint names.
#[tokio::test]
async fn p1_the_same_holds_for_insertions_and_hints() {
    let text = "a\n}\nb\n}\nc\n}\nd\n";
    let session = Session::new(&[("f", text)]);
    session.read("f", "hashline").await;
    session.ok("edit_file", json!({ "path": "f", "old_str": "a\n", "new_str": "a\nx\n" })).await;
    let before = session.text("f");
    let insert =
        json!({ "command": "insert", "path": "f", "insert_line": 6, "insert_text": "// end\n" });
    session.refused("str_replace_based_edit_tool", insert, "EDIT_STALE_ANCHOR").await;
    // A brace is on line 4 of the read and on line 3 and 5 of the file as it is.
    let near = json!({ "path": "f", "old_str": "}\n", "new_str": "} // b\n", "near_line": 4 });
    let reply = session.call("edit_file", near).await;
    assert!(!reply.ok, "{}", reply.message);
    assert_eq!(session.text("f"), before);
}

/// Lines that the session has rewritten where they were can be rewritten again.
#[tokio::test]
async fn p1_a_line_that_has_not_moved_needs_no_proof() {
    let session = Session::new(&[("f", &numbered(20))]);
    session.ok("read_file", json!({ "path": "f" })).await;
    for word in ["one", "two", "three"] {
        session.ok("edit_lines", line_edit(8, 8, word)).await;
        session.ok("edit_lines", line_edit(15, 15, word)).await;
    }
    let wanted = numbered(20).replace("line 8\n", "three\n").replace("line 15\n", "three\n");
    assert_eq!(session.text("f"), wanted);
    // Nobody has read this file: the numbers are from before the edit, or from after it.
    let session = Session::new(&[("f", &numbered(20))]);
    session.ok("edit_lines", line_edit(2, 2, "2\n2b")).await;
    let before = session.text("f");
    session.refused("edit_lines", line_edit(8, 8, "x"), "EDIT_STALE_ANCHOR").await;
    session.ok("edit_lines", line_edit(1, 1, "first")).await;
    assert_eq!(session.text("f"), before.replace("line 1\n", "first\n"));
}

/// A read settles where the end of the file is, too; without one both places are named, as they are.
#[tokio::test]
async fn p1_what_comes_after_the_last_line_is_known_by_a_read() {
    let session = Session::new(&[("f", &numbered(20))]);
    session.ok("edit_lines", line_edit(3, 2, "a\nb")).await;
    let read = session.ok("read_file", json!({ "path": "f" })).await;
    session.ok("edit_lines", line_edit(12, 12, "twelve")).await;
    session.ok("edit_lines", line_edit(23, 22, "end")).await;
    assert!(session.text("f").ends_with("line 20\nend\n"), "{}", session.text("f"));
    let reply = session.refused("edit_lines", line_edit(23, 22, "end"), "EDIT_STALE_ANCHOR").await;
    let said =
        "it can mean the place before line 24 or the place before line 23 of the file as it is";
    says(&reply.message, &[said, &read["snapshot"].as_str().expect("id")[..12]]);
    session.ok("edit_lines", line_edit(1, 0, "first")).await;
    let reply = session.refused("edit_lines", line_edit(1, 3, "x"), "EDIT_STALE_ANCHOR").await;
    says(&reply.message, &["range 1-3", "can mean lines 2-4 or lines 1-3 of the file"]);
}

/// Of three calls that were sent at once the second is refused; that tells the third nothing.
#[tokio::test]
async fn p1_a_refusal_settles_no_number_of_a_line_that_the_session_has_rewritten() {
    let session = Session::new(&[("f", &numbered(20))]);
    let read = session.ok("read_file", json!({ "path": "f" })).await;
    session.ok("edit_lines", line_edit(20, 20, "twenty\ntwenty-one")).await;
    let before = session.text("f");
    let second = of_version(&read["snapshot"], line_edit(20, 20, "x"));
    session.refused("edit_lines", second, "EDIT_STALE_ANCHOR").await;
    session.refused("edit_lines", line_edit(20, 20, "x"), "EDIT_STALE_ANCHOR").await;
    assert_eq!(session.text("f"), before);
}

#[tokio::test]
async fn p2_the_mark_is_on_the_line_that_was_meant() {
    let text = numbered(12);
    // Nothing is on record: the letters tell.
    let session = Session::new(&[("f", &format!("new\n{text}"))]);
    let call = json!({ "path": "f", "edits": line_by(&text, 5, "five") });
    let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    let marked: Vec<&str> = reply.message.lines().filter(|l| l.starts_with(">>> ")).collect();
    let now = session.text("f");
    assert_eq!(marked, [format!(">>> {}|line 5", anchor(&now, 6))], "{}", reply.message);
    session.hashline("f", line_by(&now, 6, "five")).await;
    assert!(session.text("f").contains("line 4\nfive\nline 6\n"));
}

#[tokio::test]
async fn p2_a_snapshot_that_nobody_knows_is_said() {
    let session = Session::new(&[("f", &numbered(3))]);
    let unknown = of_version(&"0123456789ab".into(), line_edit(1, 1, "x"));
    let reply = session.refused("edit_lines", unknown, "EDIT_STALE_ANCHOR").await;
    says(&reply.message, &["not on record"]);
}

#[tokio::test]
async fn p4_the_answer_shows_every_edit_of_the_call() {
    let session = Session::new(&[("f", &numbered(60))]);
    let edits = json!([
        { "start_line": 10, "end_line": 11, "new_content": "ten\neleven\nmore" },
        { "start_line": 30, "end_line": 29, "new_content": "before thirty" },
        { "start_line": 50, "end_line": 50, "new_content": "" },
    ]);
    let reply = session.call("edit_lines", json!({ "path": "f", "edits": edits })).await;
    let all = reply.report["verifications"].as_array().expect("one an edit");
    assert_eq!(all.len(), 3);
    assert_eq!(all[0]["original_lines"], json!(["<<10>>line 10", "<<11>>line 11"]));
    assert_eq!(all[0]["edited_preview"], json!(["<<10>>ten", "<<11>>eleven", "<<12>>more"]));
    assert_eq!(all[1]["before_context"], "<<30>>line 29");
    assert_eq!(all[1]["after_context"], "<<32>>line 30");
    assert_eq!(all[2]["original_lines"], json!(["<<50>>line 50"]));
    assert_eq!(all[2]["line_delta"], -1);
    assert_eq!(reply.report["verification"]["line_delta"], 1);
    says(&reply.message, &["was <<10>>line 10", "<<12>>more", "<<31>>before thirty"]);
    says(&reply.message, &["was <<50>>line 50", "<<51>>line 49"]);
    // Neighbours are two edits.
    let edits = json!([
        { "start_line": 1, "end_line": 1, "new_content": "one" },
        { "start_line": 2, "end_line": 2, "new_content": "two" },
    ]);
    let report = session.ok("edit_lines", json!({ "path": "f", "edits": edits })).await;
    assert_eq!(report["verifications"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn p4_places_of_one_replacement_and_of_multi_edit_are_shown_too() {
    let text = numbered(30).replace("line 5\n", "same\n").replace("line 25\n", "same\n");
    let session = Session::new(&[("f", &text)]);
    let call =
        json!({ "path": "f", "old_str": "same", "new_str": "other", "expected_replacements": 2 });
    let reply = session.call("edit_file", call).await;
    assert_eq!(reply.report["verifications"].as_array().map(Vec::len), Some(2));
    says(&reply.message, &["<<5>>other", "<<25>>other"]);
    let edits = json!([
        { "path": "f", "old_str": "line 9\n", "new_str": "nine\n" },
        { "path": "f", "old_str": "line 19\n", "new_str": "nineteen\n" },
    ]);
    let reply = session.call("multi_edit", json!({ "edits": edits })).await;
    says(&reply.message, &["<<9>>nine", "<<19>>nineteen"]);
    // Many edits stay within a cap, and what is left out is named in words.
    let edits: Vec<Value> = (1..=30)
        .map(|n| json!({ "start_line": n, "end_line": n, "new_content": format!("a line of some length, number {n}, after the change") }))
        .collect();
    let reply = session.call("edit_lines", json!({ "path": "f", "edits": edits })).await;
    assert!(reply.ok && reply.message.len() < 2_000, "{}", reply.message.len());
    says(&reply.message, &["read ranges"]);
}

#[tokio::test]
async fn p5_the_text_names_the_ranges_to_read_as_read_file_takes_them() {
    let session = Session::new(&[("f", &numbered(100))]);
    let stale =
        |line: usize| json!({ "op": "replace", "pos": format!("{line}#QQ"), "lines": ["x"] });
    let call = json!({ "path": "f", "edits": [stale(20), stale(53)] });
    let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    let words = reply.message.split("read ranges ").nth(1).expect("ranges").trim_end_matches('.');
    assert_eq!(words, "12-28, 45-61");
    for call in [
        json!({ "path": "f", "start_line": 2, "end_line": "3" }),
        json!({ "path": "f", "view_range": [2, 3] }),
        json!({ "path": "f", "ranges": [2, 3] }),
    ] {
        let read = session.ok("read_file", call).await;
        assert_eq!(read["ranges"], json!([{ "start": 2, "end": 3 }]));
    }
    let twice = json!({ "path": "f", "ranges": [[2, 3]], "start_line": 5, "end_line": 6 });
    let refused = session.refused("read_file", twice, "EDIT_INVALID_ARGUMENTS").await;
    says(&refused.message, &["twice, by `start_line` and by `ranges`"]);
    for ranges in [json!(words), json!([words]), json!(["12-28", "45-61"])] {
        let read = session.ok("read_file", json!({ "path": "f", "ranges": ranges })).await;
        assert_eq!(read["ranges"], reply.report["affected_ranges"]);
    }
}

#[tokio::test]
async fn p6_one_rule_for_the_first_edit_and_the_second() {
    // Never read: neither is blocked.
    let session = Session::new(&[("f", &numbered(50))]);
    session.ok("edit_lines", line_edit(5, 5, "five")).await;
    session.ok("edit_lines", line_edit(30, 30, "thirty")).await;
    // Read in part: what was not seen is named, first or second.
    let session = Session::new(&[("f", &numbered(50))]);
    let read = session.ok("read_file", json!({ "path": "f", "offset": 1, "limit": 5 })).await;
    session.refused("edit_lines", line_edit(30, 30, "thirty"), "EDIT_BLOCKED").await;
    session.ok("edit_lines", line_edit(30, 30, "thirty")).await;
    session.refused("edit_lines", line_edit(40, 40, "forty"), "EDIT_BLOCKED").await;
    // Who names the snapshot has read it.
    let named = of_version(&read["snapshot"], line_edit(45, 45, "forty-five"));
    session.ok("edit_lines", named).await;
    assert!(session.text("f").contains("line 44\nforty-five\n"));
}

#[tokio::test]
async fn p8_a_keyword_in_a_path_is_a_result() {
    let session = Session::new(&[("src/widget.rs", "fn main() {}\n"), ("a.txt", "widget\n")]);
    let reply = session.call("search", json!({ "keyword": "widget" })).await;
    let files = &reply.report["files"];
    assert_eq!(paths(&reply.report), ["a.txt", "src/widget.rs"]);
    assert_eq!([&files[0]["match_count"], &files[1]["match_count"]], [1, 0]);
    assert_eq!(reply.report["total_paths"], 1);
    says(&reply.message, &["Paths that match: src/widget.rs"]);
    // A hit can be edited at once, by its anchor and by its number.
    let hit = files[0]["matches"][0]["anchor"].clone();
    session.hashline("a.txt", json!([{ "op": "replace", "pos": hit, "lines": ["gadget"] }])).await;
    assert_eq!(session.text("a.txt"), "gadget\n");
}
