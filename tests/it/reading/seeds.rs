//! The steps and success criteria of seeds 000 (search and line edits), 002 (partial
//! re-read) and 003 (the hashline tool), by name.

use restitch::internals::tools::TOOLS;
use serde_json::{Value, json};

use super::{Session, anchor, line_by, line_edit, of_version, paths, warnings};
use crate::sandbox::numbered;
use crate::says::says;

fn about(tool: &str) -> &'static str {
    TOOLS.iter().find(|spec| spec.name == tool).expect("tool").about
}

/// Tokens are estimated as bytes / 4 throughout.
fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

// Seed 000.

#[tokio::test]
async fn seed_000_1_search_returns_paths_and_line_numbers_with_matches() {
    let long = format!("{} needle {}", "x".repeat(400), "y".repeat(400));
    let many = "needle\n".repeat(50);
    let session = Session::new(&[
        ("a.txt", &format!("one\n  NEEDLE here \n{long}\n")),
        ("b/many.txt", &many),
    ]);
    let report = session.ok("search", json!({ "keyword": "needle" })).await;
    let files = report["files"].as_array().expect("files");
    assert_eq!(files.len(), 2);
    let of = |path: &str| files.iter().find(|f| f["path"] == path).expect("file");
    let hits = of("a.txt")["matches"].as_array().expect("matches");
    assert_eq!((&hits[0]["line"], &hits[0]["content"]), (&json!(2), &json!("NEEDLE here")));
    assert_eq!(hits[1]["line"], 3);
    let content = hits[1]["content"].as_str().expect("content");
    assert!(content.chars().count() <= 200 && content.contains("needle"), "{content}");
    assert_eq!(of("b/many.txt")["match_count"], 50);
    assert_eq!(of("b/many.txt")["matches"].as_array().map(Vec::len), Some(20));
    assert_eq!(report["total_matches"], 52);
    assert_eq!(report["truncated"], true);
    assert!(of("a.txt")["id"].is_string());
}

#[tokio::test]
async fn seed_000_1_wildcard_search_is_ranked_and_numbered_too() {
    let session = Session::new(&[
        ("one.txt", "alpha\nalpha\nalpha\n"),
        ("both-far.txt", &format!("alpha\n{}beta\n", "\n".repeat(50))),
        ("both-close.txt", &format!("alpha\n{}alpha\n\nbeta\n", "\n".repeat(60))),
        ("both-near.txt", "x\nalpha beta\n"),
        ("more.txt", "x\nalpha beta\n\nalpha\n"),
    ]);
    let report = session.ok("wildcard_search", json!({ "terms": ["alpha", "beta"] })).await;
    let ranked = ["more.txt", "both-near.txt", "both-close.txt", "both-far.txt", "one.txt"];
    assert_eq!(paths(&report), ranked);
    assert_eq!(report["files"][1]["matches"][0]["line"], 2);
    assert_eq!(report["files"][3]["matches"][1]["line"], 52);
}

#[tokio::test]
async fn seed_000_2_edit_lines_answers_with_every_field_of_the_verification() {
    let session = Session::new(&[("f", &numbered(10))]);
    let report = session.ok("edit_lines", line_edit(4, 5, "four\nfive\nfive b")).await;
    assert_eq!(
        report["verification"],
        json!({
            "start_line": 4, "end_line": 5, "lines_replaced": 2, "lines_inserted": 3, "line_delta": 1,
            "original_lines": ["<<4>>line 4", "<<5>>line 5"],
            "before_context": "<<3>>line 3",
            "edited_preview": ["<<4>>four", "<<5>>five", "<<6>>five b"],
            "after_context": "<<7>>line 6",
            "total_lines": 11,
        })
    );
}

#[tokio::test]
async fn seed_000_2_verification_holds_at_both_ends_and_for_every_form() {
    for (before, start, end, content, replaced, inserted, above, below, after) in [
        ("a\nb\n", 1, 0, "x", 0, 1, Value::Null, json!("<<2>>a"), "x\na\nb\n"),
        ("a\nb\n", 3, 2, "x", 0, 1, json!("<<2>>b"), Value::Null, "a\nb\nx\n"),
        ("a\nb", 3, 2, "x", 0, 1, json!("<<2>>b"), Value::Null, "a\nb\nx"),
        ("a\nb", 2, 2, "", 1, 0, json!("<<1>>a"), Value::Null, "a"),
        ("a\n\nc\n", 2, 2, "b", 1, 1, json!("<<1>>a"), json!("<<3>>c"), "a\nb\nc\n"),
        ("a\nb\nc\n", 2, 2, "\n", 1, 1, json!("<<1>>a"), json!("<<3>>c"), "a\n\nc\n"),
        ("a\nb\nc\n", 1, 2, "", 2, 0, Value::Null, json!("<<1>>c"), "c\n"),
    ] {
        let session = Session::new(&[("f", before)]);
        let report = session.ok("edit_lines", line_edit(start, end, content)).await;
        assert_eq!(session.text("f"), after);
        for (field, wanted) in [
            ("start_line", json!(start)),
            ("end_line", json!(end)),
            ("lines_replaced", json!(replaced)),
            ("lines_inserted", json!(inserted)),
            ("line_delta", json!(inserted - replaced)),
            ("before_context", above),
            ("after_context", below),
        ] {
            assert_eq!(report["verification"][field], wanted, "{before:?} {field}: {report}");
        }
    }
}

#[tokio::test]
async fn seed_000_scenario_several_edits_of_one_file_do_not_drift() {
    let session = Session::new(&[("f", &numbered(200))]);
    let edits = json!([
        { "start_line": 10, "end_line": 10, "new_content": "ten\nten b\nten c" },
        { "start_line": 194, "end_line": 194, "new_content": "hit" },
        { "start_line": 50, "end_line": 60, "new_content": "" },
    ]);
    session.ok("edit_lines", json!({ "path": "f", "edits": edits })).await;
    let text = session.text("f");
    says(&text, &["line 9\nten\nten b\nten c\nline 11\n", "line 49\nline 61\n"]);
    says(&text, &["line 193\nhit\nline 195\n"]);
}

#[tokio::test]
async fn seed_000_scenario_a_corrupted_place_is_read_again_and_corrected() {
    let session = Session::new(&[("f", &numbered(20))]);
    session.ok("read_file", json!({ "path": "f" })).await;
    session.put("f", &session.text("f").replace("line 7\n", "garbage\n"));
    let edit = line_edit(7, 7, "seven");
    // The line is not what was read: the answer shows what it is now, and the same call works then.
    let reply = session.refused("edit_lines", edit.clone(), "EDIT_STALE_ANCHOR").await;
    says(&reply.message, &["|garbage"]);
    session.ok("edit_lines", edit).await;
    assert!(session.text("f").contains("line 6\nseven\nline 8\n"));
    // A change elsewhere is a note, not an error.
    session.put("f", &session.text("f").replace("line 18\n", "18\n"));
    let report = session.ok("edit_lines", line_edit(2, 2, "two")).await;
    says(&warnings(&report), &["not in the lines you edited"]);
}

#[tokio::test]
async fn out_of_range_and_inverted_ranges_are_refused_with_the_length() {
    let session = Session::new(&[("f", "a\nb\nc\n")]);
    for (start, end) in [(0, 0), (3, 1), (2, 4), (5, 4), (9, 9)] {
        let call = line_edit(start, end, "x");
        let reply = session.refused("edit_lines", call, "EDIT_INVALID_ARGUMENTS").await;
        says(&reply.message, &["3 lines"]);
    }
    assert_eq!(session.text("f"), "a\nb\nc\n");
}

#[tokio::test]
async fn numbers_of_an_older_read_are_carried_with_its_snapshot() {
    let session = Session::new(&[("f", &numbered(20))]);
    let read = session.ok("read_file", json!({ "path": "f" })).await;
    session.ok("edit_lines", line_edit(1, 0, "new 1\nnew 2")).await;
    let second = of_version(&read["snapshot"], line_edit(10, 10, "ten"));
    session.ok("edit_lines", second).await;
    assert!(session.text("f").contains("line 9\nten\nline 11\n"));
}

// Seed 002.

#[tokio::test]
async fn seed_002_1_affected_ranges_are_identified_on_a_mismatch() {
    let text = numbered(20);
    let session = Session::new(&[("f", &text)]);
    let call =
        json!({ "path": "f", "edits": [{ "op": "replace", "pos": "10#ZZ", "lines": ["x"] }] });
    let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    assert_eq!(reply.report["affected_ranges"], json!([{ "start": 2, "end": 18 }]));
    says(&reply.message, &[&format!(">>> {}|line 10", anchor(&text, 10))]);
}

#[tokio::test]
async fn seed_002_2_and_4_the_ranges_of_all_edits_are_merged() {
    let session = Session::new(&[("f", &numbered(100))]);
    let stale =
        |line: usize| json!({ "op": "replace", "pos": format!("{line}#ZZ"), "lines": ["x"] });
    let call = json!({ "path": "f", "edits": [stale(20), stale(12), stale(80)] });
    let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    let ranges = json!([{ "start": 4, "end": 28 }, { "start": 72, "end": 88 }]);
    assert_eq!(reply.report["affected_ranges"], ranges);
    // Ranges that touch are one, and none leads out of the file.
    let call = json!({ "path": "f", "edits": [stale(18), stale(1), stale(99)] });
    let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    let ranges = json!([{ "start": 1, "end": 26 }, { "start": 91, "end": 100 }]);
    assert_eq!(reply.report["affected_ranges"], ranges);
    session.put("f", "");
    let call = json!({ "path": "f", "edits": [stale(1)] });
    let reply = session.refused("hashline_edit", call, "EDIT_STALE_ANCHOR").await;
    assert!(reply.report["affected_ranges"].as_array().is_none_or(Vec::is_empty));
}

#[tokio::test]
async fn seed_002_3_read_file_takes_ranges_and_merges_overlaps() {
    let session = Session::new(&[("f", &numbered(100))]);
    let call = json!({ "path": "f", "ranges": [{ "start": 45, "end": 55 }] });
    let one = session.ok("read_file", call).await;
    assert_eq!(one["text"].as_str().expect("text").split('\n').count(), 11);
    let ranges =
        json!([{ "start": 8, "end": 15 }, { "start": 5, "end": 10 }, { "start": 90, "end": 400 }]);
    let call = json!({ "path": "f", "ranges": ranges, "style": "numbered" });
    let two = session.ok("read_file", call).await;
    assert_eq!(two["ranges"], json!([{ "start": 5, "end": 15 }, { "start": 90, "end": 100 }]));
    assert_eq!(two["total_lines"], 100);
    let text = two["text"].as_str().expect("text");
    assert!(text.starts_with("<<5>>line 5\n") && text.ends_with("<<100>>line 100"), "{text}");
    assert!(text.contains("74 lines not shown"), "{text}");
}

#[tokio::test]
async fn seed_002_criterion_one_stale_anchor_of_1000_lines_costs_at_most_120_tokens() {
    // The example: 1,000 lines of about 40 characters.
    let text: String =
        (1..=1000).map(|n| format!("    let value_{n} = compute({n}, \"item\");\n")).collect();
    let session = Session::new(&[("big.rs", &text)]);
    let read = session.call("read_file", json!({ "path": "big.rs", "style": "hashline" })).await;
    session.put("big.rs", &text.replace("value_500 =", "changed_500 ="));
    let edit = |pos: String| json!({ "path": "big.rs", "edits": [{ "op": "replace", "pos": pos, "lines": ["    // gone"] }] });
    let refused =
        session.refused("hashline_edit", edit(anchor(&text, 500)), "EDIT_STALE_ANCHOR").await;
    let (whole, partial) = (tokens(&read.message), tokens(&refused.message));
    println!(
        "seed 002 (tokens as bytes / 4): whole hashline read {whole}, re-read after a stale anchor before {whole}, now {partial}"
    );
    assert!(partial <= 120, "{partial}: {}", refused.message);
    // And it is enough for the next call.
    let fresh = refused.message.lines().find_map(|line| line.strip_prefix(">>> "));
    session.ok("hashline_edit", edit(fresh.expect("fresh").to_owned())).await;
    assert!(session.text("big.rs").contains("\n    // gone\n"));
}

#[tokio::test]
async fn seed_002_6_unchanged_lines_keep_working_after_a_mismatch_elsewhere() {
    let text = numbered(50);
    let session = Session::new(&[("f", &text)]);
    session.read("f", "hashline").await;
    session.put("f", &text.replace("line 25\n", "changed\n"));
    let edit = |n: usize| json!({ "path": "f", "edits": line_by(&text, n, "x") });
    session.refused("hashline_edit", edit(25), "EDIT_STALE_ANCHOR").await;
    session.ok("hashline_edit", edit(40)).await;
    assert!(session.text("f").contains("line 39\nx\nline 41\n"));
}

// Seed 003; its examples are rows of `anchors.jsonl`.

/// What they say are pages of `prompts/tools`, which are reviewed as a whole.
#[test]
fn seed_000_and_003_the_prompts_are_short_and_their_example_is_real() {
    let text = about("hashline_edit");
    assert!(about("edit_lines").len() <= 1_000 && text.len() <= 2_200);
    // The anchors of the example are real ones, unlike those of the seed.
    for line in text.lines().filter(|line| line.starts_with("  2") && line.contains('|')) {
        let (id, content) = line.trim_start().split_once('|').expect("anchored");
        let (number, letters) = id.split_once('#').expect("anchor");
        let number = number.parse().expect("number");
        assert!(restitch::internals::tag::matches(number, content, letters), "{line}");
    }
}

#[tokio::test]
async fn every_successful_edit_carries_fresh_anchors_that_work_at_once() {
    let session = Session::new(&[("f", &numbered(20))]);
    let mut report = session.ok("edit_lines", line_edit(5, 5, "a\nb\nc")).await;
    for round in 0..5 {
        let anchors = report["anchors"].as_array().expect("anchors").clone();
        let last = anchors.last().and_then(Value::as_str).expect("anchor").to_owned();
        let edits = json!([{ "op": "append", "pos": last, "lines": [format!("round {round}")] }]);
        report = session.hashline("f", edits).await;
    }
    let edit = json!({ "path": "f", "old_str": "line 2\n", "new_str": "two\n2b\n" });
    let report = session.ok("edit_file", edit).await;
    assert_eq!(report["line_shifts"], json!([{ "from_line": 3, "delta": 1 }]));
    let id = report["anchors"][1].as_str().expect("anchor");
    session.hashline("f", json!([{ "op": "replace", "pos": id, "lines": ["deux"] }])).await;
    assert!(session.text("f").starts_with("line 1\ndeux\n2b\nline 3\n"));
}
