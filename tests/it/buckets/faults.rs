//! The server, the line and the process, each taken away at every request once.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::proxy::Fault;
use super::{Bucket, is_long_run};

const BEFORE: [&str; 3] = ["one\n", "two\n", "three\n"];
const AFTER: [&str; 3] = ["uno\n", "due\n", "tre\n"];

fn fill(bucket: &Bucket, prefix: &str) {
    for (name, text) in ["a", "b", "c"].iter().zip(BEFORE) {
        bucket.put(&format!("{prefix}/{name}"), text);
    }
}

fn files(bucket: &Bucket, prefix: &str) -> [String; 3] {
    ["a", "b", "c"].map(|name| bucket.get(&format!("{prefix}/{name}")).unwrap_or_default())
}

fn one_edit() -> Value {
    json!({ "tool": "edit_file", "arguments": { "path": "a", "old_str": "one", "new_str": "uno" } })
}

fn three_edits() -> Value {
    let edit =
        |path: &str, old: &str, new: &str| json!({ "path": path, "old_str": old, "new_str": new });
    let edits = [edit("a", "one", "uno"), edit("b", "two", "due"), edit("c", "three", "tre")];
    json!({ "tool": "multi_edit", "arguments": { "edits": edits } })
}

/// How many requests a call makes when nothing goes wrong.
fn requests_of(bucket: &Bucket, call: &Value, prefix: &str) -> usize {
    fill(bucket, prefix);
    // Whether the server takes conditions is found out once, and remembered.
    assert_eq!(bucket.run(prefix, &["read", "a"]).0, 0);
    bucket.proxy.set(Fault::None);
    let mut batch = bucket.batch(prefix);
    batch.send(call);
    assert_eq!(batch.reply()["ok"], true);
    bucket.proxy.seen().len()
}

/// One request or its answer is lost: the call goes through, once.
#[test]
fn a_lost_request_or_answer_neither_loses_nor_doubles_an_edit() {
    let Some(bucket) = Bucket::start("a_lost_request_or_answer") else { return };
    let mut tried = 0;
    for (name, call, wanted) in
        [("one", one_edit(), [AFTER[0], BEFORE[1], BEFORE[2]]), ("three", three_edits(), AFTER)]
    {
        let requests = requests_of(&bucket, &call, &format!("{name}-good"));
        for at in 1..=requests {
            for (kind, fault) in
                [("request", Fault::RequestLost(at)), ("answer", Fault::AnswerLost(at))]
            {
                let prefix = format!("{name}-{kind}-{at}");
                fill(&bucket, &prefix);
                bucket.proxy.set(fault);
                let mut batch = bucket.batch(&prefix);
                batch.send(&call);
                let reply = batch.reply();
                bucket.proxy.set(Fault::None);
                assert_eq!(reply["ok"], true, "{prefix}: {reply}");
                assert_eq!(files(&bucket, &prefix), wanted, "{prefix}");
                let (_, log) = bucket.run(&prefix, &["log", "--json"]);
                let log: Value = serde_json::from_str(&log).expect("a log");
                let revisions = log["report"]["revisions"].as_array().expect("revisions").clone();
                let stand = revisions.iter().filter(|one| one["interrupted"] == false).count();
                assert_eq!(stand, 1, "{prefix}: {revisions:#?}");
                let (code, text) = bucket.run(&prefix, &["undo"]);
                assert_eq!(code, 0, "{prefix}: {text}");
                assert_eq!(files(&bucket, &prefix), BEFORE, "{prefix}");
                tried += 1;
            }
        }
    }
    println!("{tried} times one request or answer was lost: every edit went through once");
}

/// The server goes away at a request and comes back later: all is as before or as after, and
/// what the reply says is true.
#[test]
fn the_server_may_go_away_at_any_request() {
    let name = "the_server_may_go_away_at_any_request";
    if !is_long_run() {
        super::skip(name, "it waits for servers that are gone; RESTITCH_LONG=1 runs it");
        return;
    }
    let Some(bucket) = Bucket::aged(name, 600) else { return };
    let mut unknown = 0;
    for (name, call) in [("one", one_edit()), ("three", three_edits())] {
        let requests = requests_of(&bucket, &call, &format!("{name}-good"));
        for at in 1..=requests {
            let prefix = format!("{name}-down-{at}");
            fill(&bucket, &prefix);
            bucket.proxy.set(Fault::Down(at));
            let mut batch = bucket.batch(&prefix);
            batch.send(&call);
            let reply = batch.reply();
            drop(batch);
            bucket.proxy.set(Fault::None);
            if reply["ok"] == true {
                continue;
            }
            let message = reply["message"].as_str().unwrap_or_default();
            unknown += usize::from(message.contains("it is not known whether it was written"));
            // The next process puts right what the last one could not.
            let (code, text) = bucket.run(&prefix, &["log"]);
            assert_eq!(code, 0, "{text}");
            let now = files(&bucket, &prefix);
            let whole = now == BEFORE || now == AFTER || (name == "one" && now[0] == AFTER[0]);
            assert!(whole, "{prefix}: {now:?}, {reply}");
            let code = reply["code"].as_str().unwrap_or("the process ended");
            println!("down from request {at} of {requests}: {code}");
        }
    }
    assert!(unknown > 0, "the answer of a call whose write may have gone through says so");
}

/// The process is killed at each request, after the server has carried it out: the next one
/// finds all files as before, or all as after.
#[test]
fn a_process_that_is_killed_leaves_all_or_nothing() {
    let Some(bucket) = Bucket::aged("a_process_that_is_killed_leaves_all_or_nothing", 600) else {
        return;
    };
    let mut ends = HashSet::new();
    for (name, call) in [("one", one_edit()), ("three", three_edits())] {
        let requests = requests_of(&bucket, &call, &format!("{name}-good"));
        for at in 1..=requests {
            let prefix = format!("{name}-kill-{at}");
            fill(&bucket, &prefix);
            bucket.proxy.set(Fault::Hangs(at));
            let mut batch = bucket.batch(&prefix);
            batch.send(&call);
            let begin = std::time::Instant::now();
            while bucket.proxy.seen().len() < at {
                assert!(begin.elapsed().as_secs() < 60, "{prefix}: request {at} never comes");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            // The server answers one request at a time: this one has been carried out.
            std::thread::sleep(std::time::Duration::from_millis(50));
            batch.child.kill().expect("kill");
            drop(batch);
            bucket.proxy.set(Fault::None);
            let torn = files(&bucket, &prefix);
            let (code, text) = bucket.run(&prefix, &["log"]);
            assert_eq!(code, 0, "{text}");
            let now = files(&bucket, &prefix);
            let whole = match name {
                "one" => now == BEFORE || now == [AFTER[0], BEFORE[1], BEFORE[2]],
                _ => now == BEFORE || now == AFTER,
            };
            assert!(whole, "{prefix}: {torn:?} became {now:?}\n{text}");
            assert_eq!(bucket.keys(&format!("{prefix}/.restitch/open/")), Vec::<String>::new());
            ends.insert((name, torn != now, now == BEFORE));
            // And the call can be sent again.
            let mut batch = bucket.batch(&prefix);
            batch.send(&call);
            let reply = batch.reply();
            let again =
                reply["ok"] == true || reply["code"] == "EDIT_ALREADY_APPLIED" || now != BEFORE;
            assert!(again, "{prefix}: {reply}");
        }
    }
    assert!(ends.contains(&("three", true, true)), "a torn commit was put back: {ends:?}");
    assert!(ends.contains(&("three", false, false)), "a whole commit stood: {ends:?}");
    println!("(call, put back, as before): {ends:?}");
}

/// A server that ignores conditions is refused before anything is done in it.
#[test]
fn a_server_without_conditional_writes_is_refused() {
    let Some(bucket) = Bucket::start("a_server_without_conditional_writes_is_refused") else {
        return;
    };
    bucket.put("w/a", "one\n");
    bucket.proxy.set(Fault::ConditionsIgnored);
    let (code, text) = bucket.run("w", &["edit", "a", "--old", "one", "--new", "two"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("s3://work/w") && text.contains("ignores If-None-Match"), "{text}");
    assert_eq!(bucket.get("w/a").as_deref(), Some("one\n"));
    assert_eq!(bucket.keys("w/.restitch/"), Vec::<String>::new());
    bucket.proxy.set(Fault::Down(1));
    let (code, text) = bucket.run("w", &["read", "a"]);
    assert_eq!(code, 3, "{text}");
    assert!(!text.contains("a-secret-of-this-test"), "{text}");
}
