//! Calls that ask for too much: refused by the name of the limit, or answered with the count
//! of what was left out.

use std::time::Instant;

use serde_json::{Value, json};

use super::World;

fn refused(world: &World, tool: &str, arguments: Value, limit: &str) {
    let start = Instant::now();
    let reply = &world.batch(&[json!({ "tool": tool, "arguments": arguments })])[0];
    assert_eq!(reply["code"], "EDIT_TOO_LARGE", "{tool}: {}", &reply["message"]);
    let text = reply["message"].as_str().expect("text");
    assert!(text.contains(limit), "{tool}: {text}");
    println!("{tool}: refused after {:?}: {}", start.elapsed(), text.lines().next().unwrap_or(""));
}

#[test]
fn too_much_in_one_call_is_refused_by_the_limits_name() {
    let world = World::new();
    world.write("f", (0..3_000).map(|n| format!("line {n}\n")).collect::<String>());
    world.write("many", "ab".repeat(700_000));
    let long = "k".repeat(100_000);
    refused(&world, "search", json!({ "keyword": long }), "1000");
    refused(
        &world,
        "wildcard_search",
        json!({ "terms": [format!("a{}b", "*x".repeat(50_000))] }),
        "1000",
    );
    let edits: Vec<Value> = (0..1_001)
        .map(|n| json!({ "path": "f", "old_str": format!("line {n}\n"), "new_str": "x\n" }))
        .collect();
    refused(&world, "multi_edit", json!({ "edits": edits }), "1000");
    let edits: Vec<Value> =
        (1..1_002).map(|n| json!({ "start_line": n, "end_line": n, "new_content": "x" })).collect();
    refused(&world, "edit_lines", json!({ "path": "f", "edits": edits }), "1000");
    let edits: Vec<Value> = (1..1_002)
        .map(|n| json!({ "op": "append", "pos": format!("{n}#VK"), "lines": ["x"] }))
        .collect();
    refused(&world, "hashline_edit", json!({ "path": "f", "edits": edits }), "1000");
    refused(
        &world,
        "edit_file",
        json!({ "path": "many", "old_str": "a", "new_str": "b", "replace_all": true }),
        "100000",
    );
}

#[test]
fn a_reply_is_cut_and_says_what_is_missing() {
    let world = World::new();
    world.write("f", format!("start {} end\n", "x".repeat(3 << 20)));
    let reply = &world
        .batch(&[json!({ "arguments": { "path": "f", "old_str": "start", "new_str": "begin" } })])
        [0];
    assert_eq!(reply["ok"], true);
    let size = reply.to_string().len();
    println!(
        "an edit of a line of 3 MiB is answered with {size} bytes; left out: {}",
        reply["report"]["left_out"]
    );
    assert!(size < 6 << 20, "{size}");
    assert!(reply["report"]["left_out"]["diff"].as_u64().is_some_and(|bytes| bytes > 1 << 20));
    assert!(world.text("f").starts_with("begin xxx"));
}
