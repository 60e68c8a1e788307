//! The bounds of what is read, shown and kept that the page of limits names.

use std::time::{Duration, Instant};

use restitch::edit::EditCode;
use restitch::store::{DiskOptions, DiskStore};
use serde_json::json;

use super::{Sandbox, finish};
use crate::disk;

#[test]
fn files_paths_and_terms_over_their_limit_are_refused() {
    let sandbox = Sandbox::new();
    // A hole takes no room on the disk.
    let file = std::fs::File::create(sandbox.root().join("large")).expect("file");
    file.set_len((256 << 20) + 1).expect("grown");
    let terms: Vec<String> = (0..65).map(|n| format!("t{n}")).collect();
    let edit = |path: &str, old: &str| json!({ "path": path, "old_str": old, "new_str": "b" });
    for (tool, arguments, code, limit) in [
        ("edit_file", edit("large", "a"), "EDIT_TOO_LARGE", "268435456"),
        ("read_file", json!({ "path": "large" }), "EDIT_TOO_LARGE", "268435456"),
        ("edit_file", edit(&"a".repeat(4097), ""), "EDIT_INVALID_PATH", "4096"),
        ("wildcard_search", json!({ "terms": terms }), "EDIT_INVALID_ARGUMENTS", "64"),
    ] {
        let reply = &sandbox.batch(&[json!({ "tool": tool, "arguments": arguments })])[0];
        assert_eq!(reply["code"], code, "{}", reply["message"]);
        assert!(reply["message"].as_str().is_some_and(|text| text.contains(limit)), "{reply}");
    }
}

#[test]
fn what_is_found_is_cut_and_counted() {
    let sandbox = Sandbox::new();
    for file in 0..60 {
        let lines: String = (0..30).map(|line| format!("needle {line}\n")).collect();
        sandbox.write(&format!("s/f{file}.txt"), lines);
        sandbox.write(&format!("few/f{file}.txt"), "one needle\n");
    }
    sandbox.write("c.txt", format!("{}target\n{}", "x\n".repeat(100), "x\n".repeat(100)));
    sandbox.write("b/x.bin", b"\0\x01\x02");
    for file in 0..2_005 {
        sandbox.write(&format!("j/f{file}.json"), "{}\n");
    }
    let replies = sandbox.batch(&[
        json!({ "tool": "search", "arguments": { "keyword": "needle", "path": "s" } }),
        json!({ "tool": "search", "arguments": { "keyword": "needle", "path": "few" } }),
        json!({ "tool": "search", "arguments": { "keyword": "target", "path": "c.txt", "context": 50 } }),
        json!({ "tool": "list_files", "arguments": { "path": "j" } }),
        json!({ "tool": "list_files", "arguments": { "path": "b" } }),
        json!({ "tool": "check", "arguments": { "paths": ["j"] } }),
    ]);
    let [many, few, around, list, binary, checked] = &replies[..] else {
        panic!("{}", replies.len())
    };
    let says = |reply: &serde_json::Value, words: &str| {
        assert!(reply["message"].as_str().is_some_and(|text| text.contains(words)), "{reply}");
    };
    let files = many["report"]["files"].as_array().expect("files").iter();
    let hits: Vec<usize> =
        files.map(|file| file["matches"].as_array().expect("hits").len()).collect();
    assert!(hits.iter().all(|hits| *hits == 20) && hits.iter().sum::<usize>() == 300, "{hits:?}");
    assert_eq!(many["report"]["total_matches"], 1_800);
    assert_eq!(many["report"]["total_files"], 60);
    says(many, "10 more in this file");
    assert_eq!(few["report"]["files"].as_array().map(Vec::len), Some(50));
    assert_eq!(few["report"]["total_files"], 60);
    says(few, "10 more files");
    let context = &around["report"]["files"][0]["matches"][0]["context"];
    assert_eq!(context["before"].as_array().map(Vec::len), Some(20));
    assert_eq!(context["after"].as_array().map(Vec::len), Some(20));
    assert_eq!(list["report"]["files"].as_array().map(Vec::len), Some(2_000));
    assert_eq!(list["report"]["total"], 2_005);
    says(list, "5 more");
    assert_eq!(binary["report"]["files"][0]["path"], "b/x.bin", "{binary}");
    assert_eq!(checked["report"]["checked"], 1_000);
    says(checked, "more files than were checked");
}

#[test]
fn what_an_edit_of_many_places_tells_is_cut_and_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("many", "ab\n".repeat(10_050));
    sandbox.write("wide", format!("{}\n", "ab ".repeat(40)).repeat(200));
    let all = |path: &str, old: &str, new: &str| json!({ "arguments": { "path": path, "old_str": old, "new_str": new, "replace_all": true } });
    let replies = sandbox.batch(&[all("many", "ab", "cd"), all("wide", "ab ", "abcdefgh ")]);
    let many = &replies[0]["report"];
    assert_eq!(many["replacements"], 10_050);
    assert_eq!(many["spans"].as_array().map(Vec::len), Some(10_000));
    assert_eq!(many["left_out"]["spans"], 50);
    assert_eq!(many["verifications"].as_array().map(Vec::len), Some(100));
    for reply in &replies {
        let text = reply["message"].as_str().expect("text");
        assert!(text.chars().count() <= 1_500, "{text}");
    }
    let text = replies[1]["message"].as_str().expect("text");
    assert!(text.contains("read ranges "), "{text}");
}

/// Cut off, it is no JSON; the client goes on as if there were no hook.
#[test]
fn a_huge_event_for_a_hook_is_a_failure_without_an_answer() {
    let sandbox = Sandbox::new();
    let event = format!("{{\"cwd\":\".\",\"x\":\"{}\"}}", "x".repeat(32 << 20));
    let out = sandbox.run(&["hook", "claude", "PreToolUse"], event.as_bytes());
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(out.stdout, b"");
    assert!(!out.stderr.is_empty());
}

#[test]
fn large_files_of_rules_are_told_in_the_log_and_a_large_git_configuration_is_cut() {
    let sandbox = Sandbox::new();
    sandbox.write("a.log", "needle\n");
    sandbox.write(".gitignore", format!("*.log\n{}", "# ...\n".repeat(200_000)));
    let out = sandbox.run(&["search", "needle"], b"");
    assert!(String::from_utf8_lossy(&out.stdout).contains("a.log"));
    let log = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(log.contains("the ignore file is skipped") && log.contains(".gitignore"), "{log}");

    // Beyond the bound a folder of hooks is not found, before it is.
    let hooks = "[core]\n\thooksPath = tools/hooks\n";
    let rest = format!("# {}\n", "x".repeat(98)).repeat(11_000);
    for (config, code) in
        [(format!("{hooks}{rest}"), json!("EDIT_BLOCKED")), (format!("{rest}{hooks}"), json!(null))]
    {
        let sandbox = Sandbox::new().with(".git/config", config);
        let call = json!({ "path": "tools/hooks/x", "old_str": "", "new_str": "x\n" });
        let reply = &sandbox.batch(&[json!({ "arguments": call })])[0];
        assert_eq!(reply["code"], code, "{reply}");
    }
}

#[test]
fn another_writer_is_waited_for_and_then_named() {
    let work = disk::Sandbox::new();
    std::fs::write(work.file("f"), "one\n").expect("file");
    let wait = Duration::from_millis(500);
    let options = DiskOptions { lock_wait: wait, ..work.options() };
    let store = DiskStore::open_with(&work.root(), options).expect("store");
    let engine = restitch::engine::Engine::builder(store).build();
    let held = std::fs::File::open(work.file("f")).expect("file");
    held.lock().expect("locked");
    let start = Instant::now();
    let refused = disk::edit(&engine, "f", "one", "two").expect_err("locked");
    assert!(start.elapsed() >= wait, "{:?}", start.elapsed());
    assert_eq!(refused.code, EditCode::Conflict, "{refused}");
    assert_eq!(std::fs::read(work.file("f")).expect("file"), b"one\n");
    let writer = std::thread::spawn(move || disk::edit(&engine, "f", "one", "two"));
    std::thread::sleep(wait / 5);
    held.unlock().expect("unlocked");
    writer.join().expect("ends").expect("edited once the other is done");
    assert_eq!(std::fs::read(work.file("f")).expect("file"), b"two\n");
}

/// A call is no way to other checks or another server: what is no argument is refused.
#[test]
fn a_caller_chooses_neither_the_model_nor_the_checks() {
    let sandbox = Sandbox::new().with("f", "one\n");
    for name in ["base_url", "model", "api_key", "syntax", "root", "allow_protected", "config"] {
        for request in [
            json!({ "arguments": { "path": "f", "old_str": "one", "new_str": "two", name: "x" } }),
            json!({ name: "x", "arguments": { "path": "f", "old_str": "one", "new_str": "two" } }),
        ] {
            let reply = &sandbox.batch(&[request])[0];
            assert_eq!(reply["code"], "EDIT_INVALID_ARGUMENTS", "{name}: {reply}");
            assert_eq!(sandbox.text("f"), "one\n", "{name}");
        }
    }
    // Nor does a file in the root or above it.
    let config = "[model]\nbase_url = \"http://127.0.0.1:1/v1\"\nname = \"theirs\"\n";
    for name in ["restitch.toml", ".restitch.toml", "config.toml", ".config/restitch/config.toml"] {
        sandbox.write(name, config);
        crate::sandbox::put(&sandbox.above().join(name), config);
    }
    let mut command = sandbox.restitch(&["doctor", "--json"]);
    command.env("HOME", sandbox.above().join("home")).env_remove("XDG_CONFIG_HOME");
    let out = finish(command, b"");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(!text.contains("theirs") && !text.contains("127.0.0.1:1/"), "{text}");
}
