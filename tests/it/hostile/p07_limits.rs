//! Calls that ask for too much: refused by the name of the limit, or answered with the count
//! of what was left out.

use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::Sandbox;
use crate::long::{is_long_run, skip};
use crate::random::Random;
use crate::sandbox::batch;

fn refused(sandbox: &Sandbox, tool: &str, arguments: Value, limit: &str) {
    let start = Instant::now();
    let reply = &sandbox.batch(&[json!({ "tool": tool, "arguments": arguments })])[0];
    assert_eq!(reply["code"], "EDIT_TOO_LARGE", "{tool}: {}", &reply["message"]);
    let text = reply["message"].as_str().expect("text");
    assert!(text.contains(limit), "{tool}: {text}");
    println!("{tool}: refused after {:?}: {}", start.elapsed(), text.lines().next().unwrap_or(""));
}

#[test]
fn too_much_in_one_call_is_refused_by_the_limits_name() {
    let sandbox = Sandbox::new();
    sandbox.write("f", (0..3_000).map(|n| format!("line {n}\n")).collect::<String>());
    sandbox.write("many", "ab".repeat(700_000));
    let long = "k".repeat(100_000);
    refused(&sandbox, "search", json!({ "keyword": long }), "1000");
    let term = format!("a{}b", "*x".repeat(50_000));
    refused(&sandbox, "wildcard_search", json!({ "terms": [term] }), "1000");
    let edits = |edit: fn(usize) -> Value| (1..=1_001).map(edit).collect::<Value>();
    let by_text =
        edits(|n| json!({ "path": "f", "old_str": format!("line {n}\n"), "new_str": "x\n" }));
    refused(&sandbox, "multi_edit", json!({ "edits": by_text }), "1000");
    let by_line = edits(|n| json!({ "start_line": n, "end_line": n, "new_content": "x" }));
    refused(&sandbox, "edit_lines", json!({ "path": "f", "edits": by_line }), "1000");
    let by_anchor = edits(|n| json!({ "op": "append", "pos": format!("{n}#VK"), "lines": ["x"] }));
    refused(&sandbox, "hashline_edit", json!({ "path": "f", "edits": by_anchor }), "1000");
    let all = json!({ "path": "many", "old_str": "a", "new_str": "b", "replace_all": true });
    refused(&sandbox, "edit_file", all, "100000");
}

/// The replies of `batch` in so many KiB of address space.
fn batch_within(kib: usize, sandbox: &Sandbox, requests: &[Value]) -> Vec<Value> {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -v {kib} && exec \"$0\" --no-model batch")]);
    limited.arg(env!("CARGO_BIN_EXE_restitch")).current_dir(sandbox.root());
    limited.env("RESTITCH_STATE_DIR", sandbox.state());
    batch(limited, requests)
}

/// A line as long as its file takes the memory of a few files, and one that is too long is not read.
#[test]
fn a_long_line_takes_the_memory_of_a_few_files() {
    let sandbox = Sandbox::new();
    sandbox.write("line", "alpha beta gamma, ".repeat((24 << 20) / 18));
    sandbox.write("longer", "a".repeat(150 << 20));
    sandbox.write("f", "needle\n");
    let call = json!({ "path": "line", "old_str": "alpha nowhere in this line", "new_str": "b" });
    let search = json!({ "tool": "search", "arguments": { "keyword": "needle" } });
    let replies = batch_within(1_000_000, &sandbox, &[json!({ "arguments": call }), search]);
    assert_eq!(replies[0]["code"], "EDIT_NO_OCCURRENCE_FOUND", "{}", replies[0]["message"]);
    assert_eq!(replies[1]["report"]["total_matches"], 1, "{}", replies[1]["message"]);
    assert_eq!(replies[1]["report"]["skipped"]["unreadable"], 1, "{}", replies[1]["message"]);
}

/// All files of a call are in the memory together.
#[test]
fn the_files_of_a_call_are_bounded_together() {
    if !is_long_run() {
        return skip("files of a call together", "it writes 540 MiB: RESTITCH_LONG=1");
    }
    let sandbox = Sandbox::new();
    let names = ["a", "b", "c"];
    for name in names {
        sandbox.write(name, format!("needle\n{}", "some line\n".repeat(18 << 20)));
    }
    let edits = names.map(|name| json!({ "path": name, "old_str": "needle", "new_str": "pin" }));
    refused(&sandbox, "multi_edit", json!({ "edits": edits }), "512 MiB");
}

/// A term with many wildcards costs what the text costs, and ends when it is withdrawn.
#[test]
fn many_wildcards_take_no_time_of_their_product() {
    let sandbox = Sandbox::new().with("f", format!("{}\n", "a".repeat(1_200_000)));
    let terms = json!({ "terms": [format!("{}b", "a*".repeat(450))] });
    let start = Instant::now();
    let reply = &sandbox.batch(&[json!({ "tool": "wildcard_search", "arguments": terms })])[0];
    assert_eq!(reply["report"]["total_matches"], 0, "{}", reply["message"]);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// A hunk whose lines fit almost everywhere is compared at every line, with the lines that it shares.
#[test]
fn a_hunk_that_fits_almost_everywhere_is_decided() {
    let sandbox = Sandbox::new().with("f", "x\n".repeat(50_000));
    let hunk = format!("@@\n{}-y\n+z\n", " x\n".repeat(1_000));
    let patch = format!("*** Begin Patch\n*** Update File: f\n{}*** End Patch", hunk.repeat(50));
    let start = Instant::now();
    let call = json!({ "tool": "apply_patch", "arguments": { "patch": patch } });
    let reply = &sandbox.batch(&[call])[0];
    assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND", "{}", reply["message"]);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

/// What grows with the number of edits is what each of them says, not the file once more.
#[test]
fn many_edits_of_a_large_file_take_the_memory_of_one() {
    let sandbox = Sandbox::new();
    let line = |n: usize| format!("line {n} of the file, {}\n", n * 7919 % 1000);
    sandbox.write("f", (0..80_000).map(line).collect::<String>());
    let edits: Vec<Value> = (0..1_000)
        .map(|n| json!({ "path": "f", "old_str": format!("line {} of", n * 80), "new_str": format!("row {n} of") }))
        .collect();
    let call = json!({ "tool": "multi_edit", "arguments": { "edits": edits } });
    let reply = &batch_within(1_000_000, &sandbox, &[call])[0];
    assert_eq!(reply["ok"], true, "{}", reply["message"]);
    assert!(sandbox.text("f").contains("row 999 of"));
}

#[test]
fn the_work_of_one_call_is_limited_by_name() {
    let sandbox = Sandbox::new().with("f", "x\n".repeat(3 << 20));
    let edits: Vec<Value> = (0..1_000)
        .map(|n| json!({ "path": "f", "old_str": format!("{n}"), "new_str": "y" }))
        .collect();
    refused(&sandbox, "multi_edit", json!({ "edits": edits }), "at most 682 edits of a file");
    let hunk = "@@\n-x\n+y\n".repeat(1_001);
    let patch = format!("*** Begin Patch\n*** Update File: f\n{hunk}*** End Patch");
    refused(&sandbox, "apply_patch", json!({ "patch": patch }), "1001 files and hunks");

    if !is_long_run() {
        return skip("the steps of a call", "they take ten seconds: RESTITCH_LONG=1");
    }
    // Long lines, all alike and in another order: each is compared with many, letter by letter.
    let line = |n: usize| format!("{n:05}{}\n", "let value = compute(item, options); ".repeat(16));
    sandbox.write("long", (0..9_000).map(line).collect::<String>());
    let call = json!({ "path": "long", "old_str": shuffled(9_000, line), "new_str": "x\n" });
    refused(&sandbox, "edit_file", call, "the limit of one call");
}

/// Numbered lines in an order that is always the same.
fn shuffled(count: usize, line: impl Fn(usize) -> String) -> String {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = Random::new(1);
    for at in (1..count).rev() {
        order.swap(at, random.below(at + 1));
    }
    order.into_iter().map(line).collect()
}

/// What grows with the square of the lines where they stand in another order is bounded, so
/// that such a call is decided and not given up.
#[test]
fn lines_in_another_order_are_decided() {
    const LINES: usize = 100_000;
    let sandbox = Sandbox::new();
    let line = |n: usize| format!("let value_{n} = compute({n});\n");
    sandbox.write("f", (0..LINES).map(line).collect::<String>());
    let start = Instant::now();
    let call = json!({ "path": "f", "old_str": shuffled(LINES, line), "new_str": "x\n" });
    let reply = &sandbox.batch(&[json!({ "arguments": call })])[0];
    assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND", "{}", reply["message"]);
    println!("{LINES} lines in another order: refused after {:?}", start.elapsed());
}

/// Texts whose reading takes the square of their length, or all memory, without a limit.
#[test]
fn marks_and_placeholders_without_end_are_read() {
    let sandbox = Sandbox::new().with("marks", format!("e{}\n", "\u{301}\u{323}".repeat(500_000)));
    let old = format!("e{}\n", "\u{323}\u{301}".repeat(500_000));
    let call = json!({ "arguments": { "path": "marks", "old_str": old, "new_str": "x\n" } });
    assert_eq!(sandbox.batch(&[call])[0]["ok"], false);
    let block = ["one two\n", "three four\n", "five six\n"];
    sandbox.write("f.py", block.concat().repeat(20_000));
    let old = format!("{}// ... existing code ...\n", block[0]).repeat(4_000);
    let call = json!({ "arguments": { "path": "f.py", "old_str": old, "new_str": "x\n" } });
    assert_eq!(sandbox.batch(&[call])[0]["ok"], false);
}

/// Repairs look each new line up among the replaced ones.
#[test]
fn as_many_new_lines_as_a_file_has_take_no_time_of_their_square() {
    const LINES: usize = 60_000;
    let sandbox = Sandbox::new();
    let lines = |mark: &str| -> String {
        (0..LINES).map(|n| format!("{mark}let value_{n} = compute({n});\n")).collect()
    };
    for (name, old, new) in [
        ("changed.rs", lines("    "), lines("    // ")),
        ("added.rs", lines("    "), lines("+    // ")),
        ("margin.rs", lines("    "), format!("x();\n{}", lines(""))),
    ] {
        sandbox.write(name, format!("fn a() {{\n{old}}}\n"));
        let start = Instant::now();
        let call =
            json!({ "path": name, "start_line": 2, "end_line": LINES + 1, "new_content": new });
        let reply = &sandbox.batch(&[json!({ "tool": "edit_lines", "arguments": call })])[0];
        assert_eq!(reply["ok"], true, "{}", reply["message"]);
        assert!(start.elapsed().as_secs() < 40, "{name}: {:?}", start.elapsed());
    }
}

#[test]
fn a_reply_is_cut_and_says_what_is_missing() {
    let sandbox = Sandbox::new().with("f", format!("start {} end\n", "x".repeat(3 << 20)));
    let call = json!({ "path": "f", "old_str": "start", "new_str": "begin" });
    let reply = &sandbox.batch(&[json!({ "arguments": call })])[0];
    assert_eq!(reply["ok"], true);
    let size = reply.to_string().len();
    println!(
        "an edit of a line of 3 MiB is answered with {size} bytes; left out: {}",
        reply["report"]["left_out"]
    );
    assert!(size < 6 << 20, "{size}");
    assert!(reply["report"]["left_out"]["diff"].as_u64().is_some_and(|bytes| bytes > 1 << 20));
    assert!(sandbox.text("f").starts_with("begin xxx"));
}
