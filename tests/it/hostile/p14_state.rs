//! The state folder: its limits, its owner's choices, roots and homes that are gone, clocks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use restitch::port::{CommitOptions, FileStore as _, History as _, RequestId, UndoMode};
use restitch::store::{DiskOptions, DiskStore};
use serde_json::json;

use super::Sandbox;
use crate::disk::{block_on, names_below, whole_file_edit, work_path};

fn kept(state: &Path) -> u64 {
    let sizes = names_below(state).into_iter().filter_map(|name| fs::metadata(name).ok());
    sizes.filter(|meta| meta.is_file()).map(|meta| meta.len()).sum()
}

fn version(n: usize) -> Vec<u8> {
    format!("{n:07}\n").repeat(2_500).into_bytes()
}

#[test]
fn the_limit_holds_at_every_commit_over_all_roots_and_answers() {
    let sandbox = Sandbox::new();
    let limit = 400_000;
    let options = || DiskOptions { history_bytes: limit, ..sandbox.options() };
    let mut stores = Vec::new();
    for name in ["one", "two", "gone"] {
        let root = sandbox.above().join(name);
        fs::create_dir(&root).expect("root");
        fs::write(root.join("f"), version(0)).expect("file");
        stores.push((name, DiskStore::open_with(&root, options()).expect("store")));
    }
    let mut most = 0;
    for n in 0..40 {
        for (name, store) in &stores {
            if *name == "gone" && n >= 10 {
                continue;
            }
            let edit = whole_file_edit(&work_path("f"), Some(&version(n)), &version(n + 1));
            let request = RequestId::new(format!("{name}{n}"));
            let how =
                CommitOptions { request_id: Some(request.clone()), ..CommitOptions::default() };
            block_on(store.commit(vec![edit], how)).expect("commit");
            block_on(store.remember(&request, "an answer ".repeat(2_000)));
            most = most.max(kept(&sandbox.state()));
            assert!(kept(&sandbox.state()) <= limit, "{name} {n}: {}", kept(&sandbox.state()));
        }
        if n == 10 {
            fs::remove_dir_all(sandbox.above().join("gone")).expect("removed");
        }
    }
    println!("93 commits of 20 kB with answers of 20 kB, limit {limit}: at most {most} bytes");
    assert!(most > limit / 2, "the limit is used: {most}");
    let histories = fs::read_dir(sandbox.state().join("history")).expect("state").flatten();
    let folders = histories.filter(|entry| entry.path().is_dir()).count();
    assert_eq!(folders, 2, "the history of the root that is gone went first");
    for (_, store) in &stores[..2] {
        block_on(store.undo(None, UndoMode::Apply)).expect("the newest can be undone");
    }
}

#[test]
fn a_shared_folder_is_refused_and_stays_as_it_is() {
    let sandbox = Sandbox::new().with("f", "one\n");
    for (mode, content, refused) in
        [(0o755, true, true), (0o777, false, true), (0o755, false, false), (0o700, true, false)]
    {
        let folder = sandbox.above().join(format!("state{mode:o}{content}"));
        fs::create_dir(&folder).expect("folder");
        if content {
            fs::write(folder.join("theirs"), "x").expect("file");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("mode");
        let before = sandbox.text("f");
        let mut command = sandbox.restitch(&["edit", "f", "--old", before.trim(), "--new", "next"]);
        command.env("RESTITCH_STATE_DIR", &folder);
        let out = super::finish(command, b"");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert_eq!(out.status.code(), Some(0), "{text}");
        assert_eq!(text.contains("cannot be undone"), refused, "{mode:o} {content}: {text}");
        let now = fs::metadata(&folder).expect("folder").permissions().mode() & 0o777;
        assert_eq!(now, mode, "the mode is its owner's choice");
        assert_eq!(folder.join("history").exists(), !refused);
        let theirs = names_below(&folder).iter().all(|name| name.ends_with("/theirs"));
        assert!(!refused || theirs, "written to all the same: {:?}", names_below(&folder));
        sandbox.write("f", "one\n");
    }
}

#[test]
fn without_a_home_it_is_said_that_undo_is_off() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let homeless = |args: &[&str]| {
        let mut command = sandbox.restitch(args);
        for name in ["RESTITCH_STATE_DIR", "XDG_STATE_HOME", "HOME"] {
            command.env_remove(name);
        }
        super::finish(command, b"")
    };
    let out = homeless(&["edit", "f", "--old", "one", "--new", "two"]);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.contains("cannot be undone") && text.contains("RESTITCH_STATE_DIR"), "{text}");
    let out = homeless(&["undo"]);
    let text = String::from_utf8_lossy(&out.stderr) + String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("RESTITCH_STATE_DIR"), "{text}");
}

#[test]
fn without_a_variable_the_history_is_below_the_home_and_for_its_owner_only() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let home = sandbox.above().join("home");
    fs::create_dir(&home).expect("home");
    let mut command = sandbox.restitch(&["edit", "f", "--old", "one", "--new", "two"]);
    command.env_remove("RESTITCH_STATE_DIR").env_remove("XDG_STATE_HOME").env("HOME", &home);
    assert_eq!(super::finish(command, b"").status.code(), Some(0));
    let state = home.join(".local/state/restitch");
    assert_eq!(fs::metadata(&state).expect("state").permissions().mode() & 0o777, 0o700);
    assert!(names_below(&state).iter().any(|name| name.ends_with("/log")));
}

#[test]
fn a_root_keeps_at_most_10000_commits() {
    const MOST: usize = 10_000;
    let sandbox = Sandbox::new().with("f", "0\n");
    let store = sandbox.store();
    let text = |n: usize| format!("{n}\n").into_bytes();
    let commit = |n: usize| {
        let edit = whole_file_edit(&work_path("f"), Some(&text(n)), &text(n + 1));
        block_on(store.commit(vec![edit], CommitOptions::default())).expect("commit")[0].revision
    };
    assert_eq!(commit(0), Some(1));
    // As many commits as would take minutes: the first one's lines with other numbers.
    let log = names_below(&sandbox.state()).into_iter().find(|name| name.ends_with("/log"));
    let log = log.expect("log");
    let one = fs::read_to_string(&log).expect("log");
    assert!(one.contains("\"revision\":1,") && one.trim_end().ends_with(":1}"), "{one}");
    let all: String = (1..=MOST - 2)
        .map(|n| {
            let one = one.replace("\"revision\":1,", &format!("\"revision\":{n},"));
            format!("{}:{n}}}\n", one.trim_end().trim_end_matches(":1}"))
        })
        .collect();
    fs::write(&log, all).expect("log");
    commit(1);
    assert_eq!(block_on(store.log()).expect("log").len(), MOST - 1);
    // It is looked at every 1,000 commits, and has room for as many then.
    commit(2);
    assert_eq!(block_on(store.log()).expect("log").len(), MOST - 1_000);
    block_on(store.undo(None, UndoMode::Apply)).expect("the newest can be undone");
}

#[test]
fn a_journal_whose_root_is_gone_is_set_aside() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let read = json!({ "tool": "read_file", "arguments": { "path": "f" } });
    assert_eq!(sandbox.batch(std::slice::from_ref(&read)).len(), 1);
    let folder = sandbox.state().join("in-place");
    let journal = folder.join("1-0123456789abcdef.journal");
    let target = sandbox.above().join("long-gone/f");
    let head = json!({ "target": target, "before": 1, "after": 1 });
    fs::write(&journal, format!("{head}\nab")).expect("journal");
    sandbox.batch(&[read]);
    assert!(!journal.exists(), "still there");
    assert!(journal.with_extension("kept").exists());
}

/// A log with many commits of the past, made of the first real one: when each was made. `newest` is the
/// last revision.
fn forge(log: &str, times: &[u64], newest: u64) -> String {
    let first = log.lines().next().expect("a commit");
    let mut entry: serde_json::Value = serde_json::from_str(first).expect("JSON");
    let oldest = newest + 1 - times.len() as u64;
    let lines = times.iter().zip(oldest..).map(|(millis, revision)| {
        entry["begin"]["revision"] = revision.into();
        entry["begin"]["unix_millis"] = (*millis).into();
        format!("{entry}\n{}\n", json!({ "done": revision }))
    });
    lines.collect()
}

/// How many of forged commits are gone after some real ones, and how many commits are left.
fn gone_after(times: impl Fn(u64) -> Vec<u64>) -> (u64, usize) {
    let sandbox = Sandbox::new().with("f", "0\n");
    let store = sandbox.store();
    let text = |n: usize| format!("{n}\n").into_bytes();
    let commit = |store: &DiskStore, n: usize| {
        let edit = whole_file_edit(&work_path("f"), Some(&text(n)), &text(n + 1));
        block_on(store.commit(vec![edit], CommitOptions::default())).expect("commit");
    };
    commit(&store, 0);
    let log = names_below(&sandbox.state()).into_iter().find(|name| name.ends_with("/log"));
    let log = log.expect("log");
    let now_millis = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let times = times(u64::try_from(now_millis.expect("time").as_millis()).expect("small"));
    // What is too old is looked for every 1,000 commits.
    let forged = forge(&fs::read_to_string(&log).expect("log"), &times, 998);
    drop(store);
    fs::write(&log, forged).expect("log");
    let store = sandbox.store();
    commit(&store, 1);
    assert_eq!(block_on(store.log()).expect("log").len(), times.len() + 1);
    commit(&store, 2);
    let left = block_on(store.log()).expect("log");
    block_on(store.undo(None, UndoMode::Apply)).expect("the newest can be undone");
    let oldest = left.iter().map(|revision| revision.revision).min().expect("some");
    (oldest - (999 - times.len() as u64), left.len())
}

const DAY: u64 = 24 * 3600 * 1000;

#[test]
fn commits_that_are_too_old_are_deleted() {
    // One a day, until three weeks ago: those that are older than 30 days, and have 30 days with
    // commits after them.
    let (gone, left) = gone_after(|now| (0..80).map(|n| now - (100 - n) * DAY).collect());
    println!("of 80 daily commits the first {gone} are gone: {left} are left in all");
    assert!((50..=52).contains(&gone), "{gone}");
}

#[test]
fn a_clock_that_jumps_drops_nothing() {
    // All on one day, as if the clock had been years back until now.
    assert_eq!(gone_after(|_| vec![1_000_000_000_000; 80]), (0, 82));
}

/// Another process holds the history's lock: a signal and the end of the input are heeded, and nothing is
/// written.
#[test]
fn a_held_history_is_no_reason_not_to_end() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let edit = json!({ "arguments": { "path": "f", "old_str": "one", "new_str": "two" } });
    assert_eq!(sandbox.batch(std::slice::from_ref(&edit))[0]["ok"], true);
    let mut locks = names_below(&sandbox.state());
    locks.retain(|name| name.ends_with("/lock"));
    assert!(!locks.is_empty(), "the history has a lock");
    let held: Vec<std::fs::File> = locks
        .iter()
        .map(|path| {
            let file = std::fs::File::options().write(true).open(path).expect("lock");
            file.lock().expect("held");
            file
        })
        .collect();
    let back =
        json!({ "id": 1, "arguments": { "path": "f", "old_str": "two", "new_str": "three" } });
    let mut batch = sandbox.client(&["batch"]);
    batch.send(&back);
    std::thread::sleep(Duration::from_millis(700));
    let process = rustix::process::Pid::from_child(&batch.child.0);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("signal");
    let took = batch.ends_within(Duration::from_secs(10)).expect("SIGTERM ends it");
    println!("SIGTERM ended `batch` after {took:?}");
    let mut mcp = sandbox.mcp();
    mcp.start_call(1, "edit_file", back["arguments"].clone());
    std::thread::sleep(Duration::from_millis(700));
    mcp.close_stdin();
    let took = mcp.ends_within(Duration::from_secs(15)).expect("the end of its input ends it");
    println!("the end of the input ended `mcp` after {took:?}");
    drop(held);
    assert_eq!(sandbox.text("f"), "two\n");
}
