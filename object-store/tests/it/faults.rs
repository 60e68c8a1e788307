//! The server, the line and the process, each taken away at every request once.

use std::collections::HashSet;
use std::time::{Duration, Instant};

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

/// A process is killed after it has written the first of three files.
fn die_in_the_middle(bucket: &Bucket, prefix: &str) {
    fill(bucket, prefix);
    assert_eq!(bucket.run(prefix, &["read", "a"]).0, 0, "the server is known from now on");
    let mut batch = bucket.batch(prefix);
    bucket.proxy.set(Fault::None);
    batch.call("read_file", json!({ "path": "a" }));
    let is_first_file = |line: &String| line.starts_with(&format!("PUT /work/{prefix}/a"));
    let begin = Instant::now();
    let mut at = 1;
    // Which request that is, is found out with a call that goes through.
    batch.send(&three_edits());
    assert_eq!(batch.reply()["ok"], true);
    at += bucket.proxy.seen().iter().position(is_first_file).expect("the first file is written");
    fill(bucket, prefix);
    let mut batch = bucket.batch(prefix);
    bucket.proxy.set(Fault::Hangs(at));
    batch.call("read_file", json!({ "path": "a" }));
    batch.send(&three_edits());
    while bucket.proxy.seen().len() < at {
        assert!(begin.elapsed().as_secs() < 60, "{prefix}: request {at} never comes");
        std::thread::sleep(Duration::from_millis(5));
    }
    while files(bucket, prefix)[0] != AFTER[0] {
        assert!(begin.elapsed().as_secs() < 60, "{prefix}: the first file is never written");
        std::thread::sleep(Duration::from_millis(5));
    }
    batch.child.kill().expect("kill");
    drop(batch);
    bucket.proxy.set(Fault::None);
    assert_eq!(files(bucket, prefix), [AFTER[0], BEFORE[1], BEFORE[2]], "{prefix}");
}

/// A recovery that meets an error keeps its record, and the next process tries again: the server goes
/// away at any of its requests.
#[test]
fn a_recovery_that_meets_an_error_is_tried_again() {
    let test = "a_recovery_that_meets_an_error_is_tried_again";
    if !is_long_run() {
        return super::skip(test, "it waits for servers that are gone; RESTITCH_LONG=1 runs it");
    }
    let Some(bucket) = Bucket::aged(test, 600) else { return };
    die_in_the_middle(&bucket, "good");
    assert_eq!(bucket.run("good", &["log"]).0, 0);
    let requests = bucket.proxy.seen().len();
    let mut half_done = 0;
    for at in 1..=requests {
        let prefix = format!("recovery-{at}");
        die_in_the_middle(&bucket, &prefix);
        bucket.proxy.set(Fault::Down(at));
        let _ = bucket.run(&prefix, &["log"]);
        bucket.proxy.set(Fault::None);
        half_done += usize::from(files(&bucket, &prefix) != BEFORE);
        let (code, text) = bucket.run(&prefix, &["log"]);
        assert_eq!(code, 0, "{prefix}: {text}");
        assert_eq!(files(&bucket, &prefix), BEFORE, "{prefix} of {requests}: {text}");
        assert_eq!(bucket.keys(&format!("{prefix}/.restitch/open/")), Vec::<String>::new());
    }
    println!("{requests} times the server went away, {half_done} times before the files were back");
    assert!(half_done > 0 && half_done < requests);
}

/// Another process leaves a commit open as long as its process may be alive: for two minutes.
/// The server says that objects are older than they are, so that nobody has to wait.
#[test]
fn an_open_commit_is_taken_back_after_two_minutes() {
    let test = "an_open_commit_is_taken_back_after_two_minutes";
    const OPEN: u64 = 120;
    let Some(old) = Bucket::aged(test, OPEN + 1) else { return };
    die_in_the_middle(&old, "old");
    assert_eq!(old.run("old", &["log"]).0, 0);
    assert_eq!(files(&old, "old"), BEFORE, "after more than two minutes");
    assert_eq!(old.keys("old/.restitch/open/"), Vec::<String>::new());

    const AGE: u64 = 90;
    let young = Bucket::aged(test, AGE).expect("as before");
    // A machine that takes half a minute for this has shown nothing; then again.
    let (prefix, begin) = (0..5)
        .find_map(|number| {
            let (prefix, begin) = (format!("young-{number}"), Instant::now());
            die_in_the_middle(&young, &prefix);
            assert_eq!(young.run(&prefix, &["log"]).0, 0);
            let now = files(&young, &prefix);
            let is_open = young.keys(&format!("{prefix}/.restitch/open/")).len() == 1;
            let is_young = begin.elapsed().as_secs() + AGE + 2 < OPEN;
            assert!(!is_young || now[0] == AFTER[0], "{prefix}: {now:?}");
            assert!(!is_young || is_open, "{prefix}: the mark is there");
            is_young.then_some((prefix, begin))
        })
        .expect("a machine that is not too busy");
    if !is_long_run() {
        return super::skip(test, "the rest of the two minutes takes 30 s: RESTITCH_LONG=1");
    }
    while files(&young, &prefix) != BEFORE {
        assert!(begin.elapsed().as_secs() < 60, "{prefix}: never taken back");
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(young.run(&prefix, &["log"]).0, 0);
    }
    let took = begin.elapsed();
    println!("a commit that looked {AGE} s old was taken back after {took:?} more");
    assert!(took.as_secs() + AGE + 2 >= OPEN, "{took:?}");
}

/// A commit for which the server is too slow is given up long before another process would take it for
/// dead.
#[test]
fn a_commit_that_takes_too_long_is_taken_back_by_its_own_process() {
    let test = "a_commit_that_takes_too_long_is_taken_back_by_its_own_process";
    if !is_long_run() {
        return super::skip(test, "it takes 90 s: RESTITCH_LONG=1");
    }
    let Some(bucket) = Bucket::start(test) else { return };
    fill(&bucket, "w");
    let mut batch = bucket.batch("w");
    assert_eq!(batch.call("read_file", json!({ "path": "a" }))["ok"], true);
    bucket.proxy.set(Fault::Slow(11));
    let begin = Instant::now();
    batch.send(&three_edits());
    let reply = batch.reply();
    assert!(begin.elapsed().as_secs() < 118, "{:?}", begin.elapsed());
    bucket.proxy.set(Fault::None);
    assert_eq!(reply["ok"], false, "{reply}");
    assert!(reply["message"].as_str().is_some_and(|text| text.contains("too slow")), "{reply}");
    assert_eq!(files(&bucket, "w"), BEFORE);
    assert_eq!(bucket.keys("w/.restitch/open/"), Vec::<String>::new());
    assert_eq!(bucket.keys("w/.restitch/history/"), Vec::<String>::new());
}

/// Another program writes a file at the moment in which it is removed.
#[test]
fn a_save_at_the_moment_of_a_removal_is_not_lost() {
    let Some(bucket) = Bucket::start("a_save_at_the_moment_of_a_removal_is_not_lost") else {
        return;
    };
    bucket.put("w/a", "one\n");
    assert_eq!(bucket.run("w", &["read", "a"]).0, 0, "the server is known from now on");
    let mut batch = bucket.batch("w");
    let delete = json!({ "path": "a", "delete": true, "edits": [] });
    bucket.proxy.set(Fault::SavedBeforeDelete);
    let reply = batch.call("hashline_edit", delete.clone());
    assert_eq!(reply["ok"], true, "{reply}");
    assert!(
        reply["message"].as_str().is_some_and(|text| text.contains("another program")),
        "{reply}"
    );
    assert_eq!(bucket.get("w/a").as_deref(), Some("saved\n"));
    bucket.proxy.set(Fault::None);
    assert_eq!(batch.call("hashline_edit", delete)["ok"], true);
    assert_eq!(bucket.get("w/a"), None);
}

/// Each process looks for open commits at its first edit, `log` or `undo`, and then at most once
/// a minute.
#[test]
fn open_commits_are_looked_for_at_first_and_then_once_a_minute() {
    let test = "open_commits_are_looked_for_at_first_and_then_once_a_minute";
    let Some(bucket) = Bucket::start(test) else { return };
    let looks = || -> usize {
        let seen = bucket.proxy.seen();
        let is_look = |line: &&String| line.contains("list-type=2") && line.contains("open");
        seen.iter().filter(is_look).count()
    };
    bucket.put("w/a.txt", "n = 0\n");
    assert_eq!(bucket.run("w", &["read", "a.txt"]).0, 0, "the server is known from now on");
    bucket.proxy.set(Fault::None);
    assert_eq!(bucket.run("w", &["log"]).0, 0);
    assert_eq!(looks(), 1, "log: {:#?}", bucket.proxy.seen());
    let mut first = bucket.batch("w");
    bucket.proxy.set(Fault::None);
    assert_eq!(first.call("read_file", json!({ "path": "a.txt" }))["ok"], true);
    assert_eq!(looks(), 0, "a read looks for nothing");
    let begin = Instant::now();
    let minutes = || usize::try_from(begin.elapsed().as_secs() / 60).expect("few");
    assert_eq!(first.edit("a.txt", "n = 0", "n = 1")["ok"], true);
    assert_eq!(looks(), 1, "the first edit: {:#?}", bucket.proxy.seen());
    for number in 1..8 {
        let (old, new) = (format!("n = {number}"), format!("n = {}", number + 1));
        assert_eq!(first.edit("a.txt", &old, &new)["ok"], true);
    }
    assert_eq!(first.call("undo", json!({}))["ok"], true);
    assert!(looks() <= 1 + minutes(), "{} in {:?}", looks(), begin.elapsed());
    let mut second = bucket.batch("w");
    let before = looks();
    assert_eq!(second.call("undo", json!({ "revision": 1 }))["ok"], false);
    assert_eq!(looks(), before + 1, "the first undo of another process");
    if !is_long_run() {
        return super::skip(test, "the other half takes a minute: RESTITCH_LONG=1");
    }
    std::thread::sleep(Duration::from_secs(58).saturating_sub(begin.elapsed()));
    let before = looks();
    assert_eq!(first.edit("a.txt", "n = 7", "n = 70")["ok"], true);
    assert!(looks() == before || minutes() > 0, "after {:?}", begin.elapsed());
    std::thread::sleep(Duration::from_secs(3));
    let before = looks();
    assert_eq!(first.edit("a.txt", "n = 70", "n = 71")["ok"], true);
    assert_eq!(looks(), before + 1, "after {:?}", begin.elapsed());
}

/// Whether the server takes conditions is tried once by all processes of a day.
#[test]
fn the_check_of_a_server_is_kept_for_a_day() {
    let Some(bucket) = Bucket::start("the_check_of_a_server_is_kept_for_a_day") else { return };
    bucket.put("w/a", "one\n");
    let is_tried = || {
        bucket.proxy.set(Fault::None);
        assert_eq!(bucket.run("w", &["read", "a"]).0, 0);
        bucket.proxy.seen().iter().any(|line| line.contains("/.restitch/probe/"))
    };
    assert!(is_tried());
    assert!(!is_tried(), "the next process knows it");
    let file = bucket.state.path().join("state/object-stores.json");
    let kept = std::fs::read_to_string(&file).expect("what is known");
    let known: serde_json::Map<String, Value> = serde_json::from_str(&kept).expect("JSON");
    let age = |seconds: u64| {
        let older = |(name, at): (&String, &Value)| {
            (name.clone(), Value::from(at.as_u64().expect("a time") - seconds * 1000))
        };
        let older: serde_json::Map<String, Value> = known.iter().map(older).collect();
        std::fs::write(&file, Value::from(older).to_string()).expect("written");
    };
    const DAY: u64 = 24 * 3600;
    age(DAY - 600);
    assert!(!is_tried(), "within a day");
    age(DAY);
    assert!(is_tried(), "after a day");
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
