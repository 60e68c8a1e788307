//! Every tool on a bucket, from the command line and over MCP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::proxy::{Fault, exchange};
use super::{Bucket, count, ended};

#[test]
fn a_file_is_made_edited_read_logged_and_undone() {
    let Some(bucket) = Bucket::start("a_file_is_made_edited_read_logged_and_undone") else {
        return;
    };
    let run = |arguments: &[&str]| bucket.run("app", arguments);
    let (code, text) = run(&["edit", "src/a.py", "--old", "", "--new", "def f():\n    return 1\n"]);
    assert_eq!(code, 0, "{text}");
    // The usual repair: the indentation is wrong, and the file's is kept.
    let (code, text) = run(&["edit", "src/a.py", "--old", "return 1", "--new", "return 2"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(bucket.get("app/src/a.py").as_deref(), Some("def f():\n    return 2\n"));
    let (code, text) = run(&["edit", "src/a.py", "--old", "return 7", "--new", "return 8"]);
    assert_eq!((code, text.contains("EDIT_NO_OCCURRENCE_FOUND")), (1, true), "{text}");
    let (code, text) = run(&["read", "s3://work/app/src/a.py"]);
    assert_eq!((code, text.as_str()), (0, "def f():\n    return 2\n"));
    let (code, text) = run(&["log"]);
    assert_eq!(code, 0);
    assert_eq!(text.matches("src/a.py").count(), 2, "{text}");
    assert!(!text.contains("interrupted"), "{text}");
    let (code, text) = run(&["undo"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(bucket.get("app/src/a.py").as_deref(), Some("def f():\n    return 1\n"));
    let (code, text) = run(&["undo"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(bucket.get("app/src/a.py"), None, "the file that was made is gone");
    let (code, text) = run(&["undo"]);
    assert_eq!((code, text.contains("nothing to undo")), (1, true), "{text}");
    let (code, text) = run(&["doctor"]);
    assert!(text.contains("takes conditional writes"), "{code}: {text}");
}

#[test]
fn an_edit_comes_out_from_under_later_ones_of_other_programs() {
    let Some(bucket) = Bucket::start("an_edit_comes_out_from_under_later_ones") else { return };
    bucket.put("w/a.txt", "one\ntwo\nthree\nfour\n");
    let mut batch = bucket.batch("w");
    let first = batch.edit("a.txt", "two\n", "TWO\n");
    let revision = first["report"]["revision"].as_u64().expect("a revision");
    assert_eq!(batch.edit("a.txt", "four\n", "FOUR\n")["ok"], true);
    bucket.put("w/a.txt", "zero\none\nTWO\nthree\nFOUR\n");
    let undone = batch.call("undo", json!({ "revision": revision }));
    assert_eq!(undone["ok"], true, "{undone}");
    assert_eq!(bucket.get("w/a.txt").as_deref(), Some("zero\none\ntwo\nthree\nFOUR\n"));
    let again = batch.call("undo", json!({ "revision": revision }));
    assert_eq!(again["code"], "EDIT_NO_CHANGE", "{again}");
    bucket.put("w/a.txt", "other\n");
    let refused = batch.call("undo", json!({}));
    assert_eq!(refused["code"], "EDIT_CONFLICT", "{refused}");
}

#[test]
fn several_files_are_committed_and_undone_together() {
    let Some(bucket) = Bucket::start("several_files_are_committed_and_undone_together") else {
        return;
    };
    bucket.put("w/a", "one\n");
    bucket.put("w/b", "two\n");
    let mut batch = bucket.batch("w");
    let edits = json!({ "edits": [
        { "path": "a", "old_str": "one", "new_str": "uno" },
        { "path": "b", "old_str": "two", "new_str": "due" },
        { "path": "c", "old_str": "", "new_str": "tre\n" },
    ]});
    let done = batch.call("multi_edit", edits);
    assert_eq!(done["ok"], true, "{done}");
    let all = || ["w/a", "w/b", "w/c"].map(|key| bucket.get(key).unwrap_or_default());
    assert_eq!(all(), ["uno\n", "due\n", "tre\n"]);
    assert_eq!(bucket.keys("w/.restitch/open/"), Vec::<String>::new());
    assert_eq!(batch.call("undo", json!({}))["ok"], true);
    assert_eq!(all(), ["one\n", "two\n", ""]);
    assert_eq!(bucket.get("w/c"), None);
    let moved = batch.call("hashline_edit", json!({ "path": "a", "edits": [], "rename": "d/a" }));
    assert_eq!(moved["ok"], true, "{moved}");
    assert_eq!((bucket.get("w/a"), bucket.get("w/d/a").as_deref()), (None, Some("one\n")));
    let gone = batch.call("hashline_edit", json!({ "path": "d/a", "edits": [], "delete": true }));
    assert_eq!(gone["ok"], true, "{gone}");
    assert_eq!(bucket.get("w/d/a"), None);
    let back = batch.call("undo", json!({}));
    assert_eq!((back["ok"].clone(), bucket.get("w/d/a").as_deref()), (json!(true), Some("one\n")));
}

#[test]
fn listing_and_search_are_paged_and_heed_the_rules() {
    let Some(bucket) = Bucket::start("listing_and_search_are_paged_and_heed_the_rules") else {
        return;
    };
    // More than one page of the server.
    let files = count(1_050, 2_300);
    for number in 0..files {
        bucket.put(&format!("w/many/f{number:04}.txt"), "nothing\n");
    }
    bucket.put("w/src/a.rs", "fn needle() {}\n");
    bucket.put("w/target/b.rs", "fn needle() {}\n");
    bucket.put("w/.gitignore", "target/\n");
    bucket.put("w/.ignore", "generated.rs\n");
    bucket.put("w/src/generated.rs", "fn needle() {}\n");
    bucket.put("w/.git/config", "needle\n");
    bucket.put("w2/other.rs", "fn needle() {}\n");
    let mut batch = bucket.batch("w");
    let absent = batch.call("read_file", json!({ "path": "lib/a.rs" }));
    let text = absent["message"].as_str().expect("text");
    assert!(text.contains("Did you mean `src/a.rs`? Send the call again"), "{absent}");
    let list = batch.call("list_files", json!({}));
    assert_eq!(list["report"]["total"], files + 3, "{}", list["message"]);
    let list = batch.call("list_files", json!({ "path": "src" }));
    assert_eq!(list["report"]["files"][0]["path"], "src/a.rs", "{list}");
    assert_eq!(list["report"]["total"], 1, "not the generated one: {list}");
    let found = batch.call("search", json!({ "keyword": "needle" }));
    assert_eq!(found["report"]["total_files"], 1, "{found}");
    assert_eq!(found["report"]["files"][0]["path"], "src/a.rs");
    assert_eq!(found["report"]["truncated"], false);
    assert_eq!(found["report"]["searched"], files + 3);
    let anchor = found["report"]["files"][0]["matches"][0]["anchor"].as_str().expect("anchor");
    let edits = json!([{ "op": "replace", "pos": anchor, "lines": "fn thread() {}" }]);
    let edited = batch.call("hashline_edit", json!({ "path": "src/a.rs", "edits": edits }));
    assert_eq!(edited["ok"], true, "{edited}");
    let named = batch.call("search", json!({ "keyword": "needle", "path": "target" }));
    assert_eq!(named["report"]["total_files"], 1, "what is named is looked at: {named}");
    let (code, text) = bucket.run("w", &["search", "thread", "--path", "src/a.rs"]);
    assert_eq!((code, text.contains("fn thread")), (0, true), "{text}");
}

/// Settings of the storage in the configuration go before those of the environment.
#[test]
fn the_configuration_goes_before_the_environment() {
    let Some(bucket) = Bucket::start("the_configuration_goes_before_the_environment") else {
        return;
    };
    bucket.put("w/a", "one\n");
    let file = bucket.state.path().join("config.toml");
    let port = bucket.proxy.port;
    let text = format!("[object_store]\naws_endpoint = \"http://127.0.0.1:{port}\"\n");
    std::fs::write(&file, text).expect("configuration");
    let mut command = bucket.command("w");
    command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1").arg("--config").arg(file);
    let (code, text) = ended(command.args(["read", "a"]));
    assert_eq!((code, text.as_str()), (0, "one\n"));
}

/// Keys come from the environment or the configuration: a profile of Amazon's tools is not used,
/// not even where there is nothing else.
#[test]
fn profiles_in_the_home_folder_are_not_read() {
    let Some(bucket) = Bucket::start("profiles_in_the_home_folder_are_not_read") else { return };
    bucket.put("w/a", "one\n");
    let home = bucket.state.path().join("home");
    std::fs::create_dir_all(home.join(".aws")).expect("folder");
    let keys = "aws_access_key_id = test\naws_secret_access_key = of-the-profile\n";
    for (name, text) in [("credentials", keys), ("config", "region = us-east-1\n")] {
        let text = format!("[default]\n{text}");
        std::fs::write(home.join(".aws").join(name), text).expect("profile");
    }
    let read = |without: &[&str]| {
        let mut command = bucket.command("w");
        // Machines of the cloud have an address that gives out keys.
        command.env("HOME", &home).env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1");
        without.iter().for_each(|name| _ = command.env_remove(name));
        bucket.proxy.set(Fault::None);
        let (code, text) = ended(command.args(["read", "a"]));
        (code, text, bucket.proxy.seen().len())
    };
    let (code, text, requests) = read(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
    assert_eq!((code, requests), (3, 0), "{text}");
    assert!(text.contains("cannot open the root") && !text.contains("of-the-profile"), "{text}");
    let (code, text, requests) = read(&[]);
    assert_eq!((code, text.as_str(), requests > 0), (0, "one\n", true));
}

/// Beside the bytes an object has what S3 does not copy.
#[test]
fn tags_and_the_storage_class_are_those_of_a_new_object() {
    let Some(bucket) = Bucket::start("tags_and_the_storage_class_are_those_of_a_new_object") else {
        return;
    };
    let lines = "x-amz-tagging: team=a\r\nx-amz-storage-class: STANDARD_IA\r\n";
    exchange(bucket.proxy.server, "PUT", "/work/w/a", lines, b"n = 0\n");
    let look = || {
        let server = bucket.proxy.server;
        let tags = exchange(server, "GET", "/work/w/a?tagging", "", b"").1;
        let has_tag = String::from_utf8(tags).expect("text").contains("<Key>team</Key>");
        let head = exchange(server, "GET", "/work/w/a", "", b"").0.to_ascii_lowercase();
        (has_tag, head.contains("x-amz-storage-class: standard_ia"))
    };
    assert_eq!(look(), (true, true));
    assert_eq!(bucket.batch("w").edit("a", "n = 0", "n = 1")["ok"], true);
    assert_eq!(bucket.get("w/a").as_deref(), Some("n = 1\n"));
    assert_eq!(look(), (false, false));
}

#[test]
fn what_is_protected_stays_so() {
    let Some(bucket) = Bucket::start("what_is_protected_stays_so") else { return };
    let mut batch = bucket.batch("w");
    for path in [".git/hooks/pre-commit", ".env", ".restitch/history/x", ".RESTITCH/y"] {
        let refused = batch.edit(path, "", "x\n");
        assert_eq!(refused["code"], "EDIT_BLOCKED", "{path}: {refused}");
    }
    for path in ["../outside", "/etc/passwd", "s3://other/a"] {
        let refused = batch.edit(path, "", "x\n");
        let is_inside = path.starts_with("s3:") && refused["ok"] == true;
        assert!(refused["code"] == "EDIT_INVALID_PATH" || is_inside, "{path}: {refused}");
    }
    let read = batch.call("read_file", json!({ "path": ".restitch/history/x" }));
    assert_eq!(read["code"], "EDIT_BLOCKED", "{read}");
}

/// A read, the record, the file: three requests for an edit, and no more.
#[test]
fn an_edit_costs_three_requests() {
    let Some(bucket) = Bucket::start("an_edit_costs_three_requests") else { return };
    bucket.put("w/a.txt", "n = 0\n");
    let mut batch = bucket.batch("w");
    // What a process does once: the server's conditions, and commits left open by others.
    assert_eq!(batch.edit("a.txt", "n = 0", "n = 1")["ok"], true);
    bucket.proxy.set(Fault::None);
    let edits = 20;
    for number in 1..=edits {
        let (old, new) = (format!("n = {number}"), format!("n = {}", number + 1));
        assert_eq!(batch.edit("a.txt", &old, &new)["ok"], true);
    }
    let seen = bucket.proxy.seen();
    println!("requests to the object store: {} for {edits} edits", seen.len());
    assert_eq!(seen.len(), 3 * edits, "{seen:#?}");
}

/// The log of 200 commits would be gigabytes, if it read the files.
#[test]
fn the_log_downloads_no_file() {
    let Some(bucket) = Bucket::start("the_log_downloads_no_file") else { return };
    let large = format!("n = 0\n{}", "filler\n".repeat(200_000));
    bucket.put("w/a.txt", &large);
    bucket.put("w/b.txt", &large);
    let mut batch = bucket.batch("w");
    for path in ["a.txt", "b.txt"] {
        assert_eq!(batch.edit(path, "n = 0", "n = 1")["ok"], true);
    }
    // Another program writes one of them.
    bucket.put("w/b.txt", &large);
    bucket.proxy.set(Fault::None);
    let (code, text) = bucket.run("w", &["log"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("edited a.txt") && text.contains("edited b.txt"), "{text}");
    let seen = bucket.proxy.seen();
    let is_read = |line: &&String| {
        line.starts_with("GET ") && (line.ends_with("/w/a.txt") || line.ends_with("/w/b.txt"))
    };
    let reads = seen.iter().filter(is_read);
    assert_eq!(reads.count(), 0, "{seen:#?}");
}

/// What a web server or another program reads off an object beside its bytes.
#[test]
fn content_type_and_metadata_stay() {
    let Some(bucket) = Bucket::start("content_type_and_metadata_stay") else { return };
    let lines =
        "Content-Type: text/x-python\r\nCache-Control: max-age=60\r\nx-amz-meta-owner: me\r\n";
    exchange(bucket.proxy.server, "PUT", "/work/w/a.py", lines, b"n = 0\n");
    assert_eq!(bucket.batch("w").edit("a.py", "n = 0", "n = 1")["ok"], true);
    let (head, body) = exchange(bucket.proxy.server, "GET", "/work/w/a.py", "", b"");
    assert_eq!(body, b"n = 1\n");
    let head = head.to_ascii_lowercase();
    for line in ["content-type: text/x-python", "cache-control: max-age=60", "x-amz-meta-owner: me"]
    {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert!(head.contains("x-amz-meta-restitchrevision: "), "{head}");
}

#[test]
fn mcp_works_in_a_bucket() {
    let Some(bucket) = Bucket::start("mcp_works_in_a_bucket") else { return };
    bucket.put("w/a.txt", "one\n");
    let mut child = bucket
        .command("w")
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("restitch starts");
    let mut stdin = child.stdin.take().expect("stdin");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let mut ask = |message: Value| {
        writeln!(stdin, "{message}").expect("sends");
        let id = message["id"].clone();
        while !id.is_null() {
            let line = lines.next().expect("an answer").expect("a line");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == id {
                return answer;
            }
        }
        Value::Null
    };
    ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } }));
    ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let mut call = |id: u64, name: &str, arguments: Value| {
        ask(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": name, "arguments": arguments } }))
    };
    let found = call(2, "search", json!({ "keyword": "one" }));
    assert!(found["result"].to_string().contains("a.txt"), "{found}");
    assert!(found["result"].to_string().contains("Root: s3://work/w (--root)"), "{found}");
    let edited =
        call(3, "edit_file", json!({ "path": "a.txt", "old_str": "one", "new_str": "two" }));
    assert_eq!(edited["result"]["isError"], false, "{edited}");
    assert_eq!(bucket.get("w/a.txt").as_deref(), Some("two\n"));
    let undone = call(4, "undo", json!({}));
    assert_eq!(undone["result"]["isError"], false, "{undone}");
    assert_eq!(bucket.get("w/a.txt").as_deref(), Some("one\n"));
    drop(stdin);
    assert!(child.wait().expect("ends").success());
}

/// A session that watches a file is told of its own process's commits, and of no other's.
#[test]
fn only_commits_of_the_same_process_are_announced() {
    let Some(bucket) = Bucket::start("only_commits_of_the_same_process_are_announced") else {
        return;
    };
    const SOON: Duration = Duration::from_secs(30);
    bucket.put("w/f", "one\ntwo\n");
    let mut command = bucket.command("w");
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut mcp = crate::Client::start(command);
    mcp.send(&json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } }));
    mcp.answer(&json!("hello"), SOON);
    mcp.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    mcp.call(1, "read_file", json!({ "path": "f" }));
    mcp.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/list" }));
    let listed = mcp.answer(&json!(2), SOON);
    let uri = listed["result"]["resources"][0]["uri"].clone();
    assert!(uri.as_str().is_some_and(|uri| uri.ends_with("/f")), "{listed}");
    let watch = json!({ "jsonrpc": "2.0", "id": 3, "method": "resources/subscribe", "params": { "uri": uri } });
    mcp.send(&watch);
    assert!(mcp.answer(&json!(3), SOON)["result"].is_object());
    let updates_until = |mcp: &crate::Client, id: &Value| {
        let mut updates = 0;
        loop {
            let message = mcp.next(SOON);
            updates += usize::from(message["method"] == "notifications/resources/updated");
            if message["id"] == *id {
                return updates;
            }
        }
    };
    let (code, text) = bucket.run("w", &["edit", "f", "--old", "one", "--new", "1"]);
    assert_eq!(code, 0, "{text}");
    // A folder's change would be told at once.
    std::thread::sleep(Duration::from_secs(1));
    mcp.ping("first");
    assert_eq!(updates_until(&mcp, &json!("first")), 0, "of another process");
    mcp.start_call(4, "edit_file", json!({ "path": "f", "old_str": "two", "new_str": "2" }));
    let mut updates = updates_until(&mcp, &json!(4));
    if updates == 0 {
        updates += usize::from(mcp.next(SOON)["method"] == "notifications/resources/updated");
    }
    mcp.ping("last");
    updates += updates_until(&mcp, &json!("last"));
    assert_eq!(updates, 1, "of its own");
    assert_eq!(bucket.get("w/f").as_deref(), Some("1\n2\n"));
}
