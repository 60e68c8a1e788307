//! The harness as a person runs it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::disk::names_below;
use crate::rows::rows;
use crate::sandbox::put;
use crate::says::says;

fn restitch(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command.arg("harness").args(arguments).output().expect("the binary runs")
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What `mine` finds, told these things by its surroundings.
pub(super) fn mine(arguments: &[&str], surroundings: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command.env_remove("XDG_DATA_HOME").envs(surroundings.iter().copied());
    command.args(["--json", "harness", "mine"]).args(arguments).output().expect("the binary runs")
}

pub(super) fn mined_from(arguments: &[&str], surroundings: &[(&str, &Path)]) -> Value {
    let run = mine(arguments, surroundings);
    serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", text(&run.stderr)))
}

pub(super) fn mined(path: &Path) -> Value {
    mined_from(&[&path.to_string_lossy()], &[])
}

pub(super) fn failures(said: &Value) -> &[Value] {
    said["failures"].as_array().expect("list")
}

/// That an object has these fields with these values, and a list of objects as many.
pub(super) fn has(found: &Value, wanted: Value) {
    match wanted {
        Value::Object(fields) => {
            fields.into_iter().for_each(|(name, value)| has(&found[name], value))
        }
        Value::Array(items) => {
            let found = found.as_array().expect("a list");
            assert_eq!(found.len(), items.len(), "{found:?}");
            found.iter().zip(items).for_each(|(found, wanted)| has(found, wanted));
        }
        value => assert_eq!(*found, value),
    }
}

/// A call as Claude Code records it.
pub(super) fn called(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "assistant", "sessionId": "s", "message": {"content": [
        {"type": "tool_use", "id": id, "name": name, "input": input}]}})
}

/// And its answer, with what Claude Code notes of it.
pub(super) fn answered(id: &str, failed: bool, detail: Value) -> Value {
    json!({"type": "user", "sessionId": "s", "toolUseResult": detail, "message": {"content": [
        {"type": "tool_result", "tool_use_id": id, "is_error": failed, "content": "String to replace not found in file."}]}})
}

/// Records, one a line.
pub(super) fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn last_line(output: &Output) -> String {
    text(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

pub(super) fn fixtures(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/transcripts").join(below)
}

fn transcripts(below: &str) -> String {
    fixtures(below).to_string_lossy().into_owned()
}

/// A folder with one case: `before` has `old` once, and becomes `after`.
fn case(root: &Path, name: &str, toml: &str, after: Option<&str>) -> PathBuf {
    let dir = root.join(name);
    put(&dir.join("case.toml"), toml);
    put(&dir.join("before/a.txt"), "one\ntwo\n");
    put(&dir.join("old.txt"), "two");
    put(&dir.join("new.txt"), "three");
    if let Some(after) = after {
        put(&dir.join("after/a.txt"), after);
    }
    dir
}

const APPLIES: &str = "family = \"f\"\npath = \"a.txt\"\n[expect]\nok = true\n";
const REFUSES: &str =
    "family = \"f\"\npath = \"a.txt\"\n[expect]\nrefuse = [\"EDIT_NO_OCCURRENCE_FOUND\"]\n";
const KNOWN: &str = "family = \"f\"\npath = \"a.txt\"\nstatus = \"known_failure\"\nreason = \"later\"\n[expect]\nok = true\n";

#[test]
fn each_verdict_is_counted_and_an_unexpected_one_fails_the_run() {
    let root = tempfile::tempdir().expect("folder");
    let dir = root.path().to_string_lossy().into_owned();
    assert_eq!(restitch(&["run", &dir]).status.code(), Some(2), "an empty folder is no success");

    case(root.path(), "good", APPLIES, Some("one\nthree\n"));
    let run = restitch(&["run", &dir]);
    assert_eq!(run.status.code(), Some(0));
    assert_eq!(last_line(&run), "1 right, 0 refused, 0 silently wrong, 0 failed");

    // Several results can be right.
    let two = case(root.path(), "two", APPLIES, Some("one\nfour\n"));
    put(&two.join("after-2/a.txt"), "one\nthree\n");
    case(root.path(), "wrong", APPLIES, Some("one\nfour\n"));
    case(root.path(), "applied-though-it-must-not", REFUSES, None);
    case(root.path(), "promote", KNOWN, Some("one\nthree\n"));
    case(root.path(), "known", KNOWN, Some("one\nfour\n"));
    let run = restitch(&["run", &dir]);
    assert_eq!(run.status.code(), Some(1));
    // Wrong bytes are never known and green.
    assert_eq!(last_line(&run), "3 right, 0 refused, 3 silently wrong, 1 failed");
    assert_eq!(restitch(&["run", &dir, "--filter", "good"]).status.code(), Some(0));
    case(root.path(), "unreadable", "family = 1", None);
    let run = restitch(&["run", &dir]);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("unreadable: case.toml: "), "{}", text(&run.stderr));
}

#[test]
fn a_changed_result_fails_the_run_until_it_is_blessed() {
    let root = tempfile::tempdir().expect("folder");
    let dir = root.path().to_string_lossy().into_owned();
    let good = case(root.path(), "good", APPLIES, Some("one\nthree\n"));
    put(&good.join("new.txt"), "<five>\u{1b}");
    let file = root.path().join("junit.xml");
    let run = restitch(&["run", &dir, "--junit", &file.to_string_lossy()]);
    assert_eq!(run.status.code(), Some(1));
    let report = std::fs::read_to_string(&file).expect("the report");
    says(
        &report,
        &["<testsuites name=\"restitch\" tests=\"1\" failures=\"1\"", "&lt;five&gt;\u{fffd}"],
    );
    assert_eq!(restitch(&["bless", &dir]).status.code(), Some(0));
    assert_eq!(std::fs::read(good.join("after/a.txt")).expect("after"), b"one\n<five>\x1b\n");
    assert_eq!(restitch(&["run", &dir]).status.code(), Some(0));
}

/// Every file below a folder, with its bytes.
pub(super) fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = names_below(folder).into_iter().map(PathBuf::from).filter(|path| path.is_file());
    let read = |path: PathBuf| (path.clone(), std::fs::read(&path).expect("file"));
    let mut found: Vec<_> = files.map(read).collect();
    found.sort();
    found
}

#[test]
fn every_clients_transcripts_are_mined_broken_lines_included() {
    let before = contents(&fixtures(""));
    for (client, failed, recovered, skipped) in
        [("claude", 4, 2, 2), ("codex", 1, 1, 1), ("gemini", 1, 1, 1), ("opencode", 2, 2, 1)]
    {
        let said = mined(&fixtures(client));
        let failures = failures(&said);
        let again = failures.iter().filter(|f| f["recovered"] == true).count();
        assert_eq!((failures.len(), again), (failed, recovered), "{client}");
        assert_eq!(said["skipped_lines"], skipped, "{client}");
        // What the engine makes of it is what the agent arrived at, where that is known.
        assert!(failures.iter().all(|f| f["ending"] != "other bytes"), "{client}");
        assert!(failures.iter().any(|f| f["ending"] == "right"), "{client}");
    }
    assert!(before.len() > 4 && contents(&fixtures("")) == before, "no one writes there");
}

/// A transcript of `data/mined`, and what is found in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    file: String,
    /// The name under which its client keeps it.
    r#as: PathBuf,
    said: Value,
}

#[test]
fn transcripts_are_mined_as_their_rows_say() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/mined");
    let mut unread: BTreeSet<_> = std::fs::read_dir(&data)
        .expect("transcripts")
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    for row in rows::<Row>(include_str!("data/mined.jsonl")) {
        println!("{}", row.why);
        unread.remove(OsStr::new(&row.file));
        let root = tempfile::tempdir().expect("folder");
        let transcript = std::fs::read(data.join(&row.file)).expect("transcript");
        put(&root.path().join(&row.r#as), transcript);
        has(&mined(root.path()), row.said);
    }
    assert!(unread.is_empty(), "no row reads {unread:?}");
    let shown = restitch(&["mine", &data.join("claude-parts.jsonl").to_string_lossy()]);
    assert!(text(&shown.stdout).contains("about 1050 output tokens"), "{shown:?}");
}

/// Without a path: where each client keeps its own, and aider's history of this folder.
#[test]
fn the_users_own_transcripts_are_found_in_each_clients_place() {
    let home = tempfile::tempdir().expect("folder");
    let project = home.path().join("project");
    for (client, place) in [
        ("claude", ".claude/projects"),
        ("codex", ".codex/sessions"),
        ("gemini", ".gemini/tmp"),
        ("opencode", ".local/share/opencode"),
    ] {
        let from = transcripts(client);
        for (name, content) in contents(Path::new(&from)) {
            let below = name.strip_prefix(&from).expect("below");
            put(&home.path().join(place).join(below), text(&content));
        }
    }
    let blocks = "# aider chat started at 2026-09-01 10:00:00\n\n#### change it\n\na.txt\n```\n<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE\n```\n";
    put(&project.join(".aider.chat.history.md"), blocks);
    let run = |folder: &Path| {
        let run = Command::new(env!("CARGO_BIN_EXE_restitch"))
            .args(["--json", "harness", "mine"])
            .env_clear()
            .env("HOME", home.path())
            .current_dir(folder)
            .output()
            .expect("the binary runs");
        let said: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let of = |client| failures(&said).iter().filter(|one| one["client"] == client).count();
        let counts = ["claude", "codex", "gemini", "opencode"].map(of);
        (counts, said["sessions"].as_u64().expect("a number"))
    };
    let (elsewhere, sessions) = run(home.path());
    assert_eq!(elsewhere, [4, 1, 1, 2]);
    assert_eq!(run(&project), (elsewhere, sessions + 1), "aider's is in the project");
}

#[test]
fn mining_twice_finds_nothing_new_and_no_secret_is_saved() {
    let root = tempfile::tempdir().expect("folder");
    let dir = root.path().join("mined").to_string_lossy().into_owned();
    let first = restitch(&["mine", &transcripts(""), "--save", &dir]);
    assert!(last_line(&first).starts_with("6 new cases saved"), "{}", last_line(&first));
    let again = restitch(&["mine", &transcripts(""), "--save", &dir]);
    let again = last_line(&again);
    assert!(again.starts_with("0 new cases saved, 7 were there already"), "{again}");
    let saved = contents(root.path());
    for (path, content) in &saved {
        for planted in ["R4nd0mK3y", "jane"] {
            assert!(!text(content).contains(planted), "{planted} is in {}", path.display());
        }
    }
    assert!(saved.len() > 20);
    let run = restitch(&["run", &dir]);
    assert_eq!(last_line(&run), "4 right, 2 refused, 0 silently wrong, 0 failed");
    // The page counts only what the agent's next edit confirms; the rest stands apart.
    let page = root.path().join("page.html");
    restitch(&["report", &dir, "--html", &page.to_string_lossy()]);
    let page = std::fs::read_to_string(page).expect("page");
    let data = page.split_once("const D = ").expect("data").1;
    let data = serde_json::Deserializer::from_str(data).into_iter::<Value>().next();
    let data = data.expect("data").expect("JSON");
    let unconfirmed = &data["unconfirmed"];
    let apart = [&unconfirmed["applied"], &unconfirmed["refused"]].map(Value::as_u64);
    let counted: u64 =
        data["rows"].as_array().expect("rows").iter().filter_map(|row| row["cases"].as_u64()).sum();
    let shown = data["cases"].as_array().expect("cases");
    let marked = shown.iter().filter(|case| case["verdict"] == "unconfirmed").count() as u64;
    let apart: u64 = apart.into_iter().flatten().sum();
    assert_eq!((apart, counted + apart), (marked, 6), "{unconfirmed}");
    assert!(counted > 0 && apart > 0, "{unconfirmed}");
}

#[test]
fn a_client_without_transcripts_is_said() {
    let root = tempfile::tempdir().expect("folder");
    let run = mine(&["--client", "codex"], &[("CODEX_HOME", root.path())]);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("there are no transcripts"));
}

/// The page needs nothing but itself, and a browser draws what it is for.
#[test]
fn the_report_is_one_page_and_a_browser_draws_it() {
    let root = tempfile::tempdir().expect("folder");
    case(root.path(), "cases/good", APPLIES, Some("one\nthree\n"));
    case(root.path(), "cases/wrong", APPLIES, Some("one\nsomething else\n"));
    case(root.path(), "cases/missed", REFUSES, None);
    let cases = root.path().join("cases").to_string_lossy().into_owned();
    let page = root.path().join("page.html");
    let html = page.to_string_lossy().into_owned();
    let run = restitch(&["report", &cases, "--html", &html]);
    assert!(page.exists(), "{}", text(&run.stderr));
    let source = std::fs::read_to_string(&page).expect("page");
    for outside in ["src=\"http", "href=\"http", "@import", "fetch(", "XMLHttpRequest"] {
        assert!(!source.contains(outside), "{outside}");
    }
    assert!(source.contains("prefers-color-scheme"), "light and dark");
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(browser) = browser else {
        return crate::disk::skip("the drawn page", "there is no Chromium");
    };
    let profile = format!("--user-data-dir={}", root.path().join("profile").display());
    let drawn = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"])
        .args([&profile, "--dump-dom", &format!("file://{html}")])
        .output()
        .expect("browser");
    let dom = text(&drawn.stdout);
    says(&dom, &["good", "wrong", "missed"]);
    assert!(dom.contains("something else"), "the wrong case shows what was wanted");
    println!("{browser}: the page is drawn");
}

/// A failed call with several replacements is one case, which runs as such a call.
#[test]
fn a_failed_call_of_several_edits_becomes_a_multi_edit_case() {
    let root = tempfile::tempdir().expect("folder");
    let path = |name: &str| root.path().join(name).to_string_lossy().into_owned();
    let content = "fn a() {\n\tone(1);\n}\n\nfn b() {\n\ttwo(2);\n}\n";
    let file =
        json!({"file": {"content": content, "startLine": 1, "numLines": 7, "totalLines": 7}});
    let session = |edits: Value| {
        lines(&[
            called("t1", "Read", json!({"file_path": "/p/a.rs"})),
            answered("t1", false, file.clone()),
            called("t2", "MultiEdit", json!({"file_path": "/p/a.rs", "edits": edits})),
            answered("t2", true, Value::Null),
        ])
    };
    let good = json!([
        {"old_string": "    one(1);", "new_string": "    one(11);\n    one(12);"},
        {"old_string": "    two(2);\n  }", "new_string": "    two(22);\n  }"},
    ]);
    let absent = json!([
        {"old_string": "\tone(1);", "new_string": "\tone(11);"},
        {"old_string": "nothing like it at all", "new_string": "x"},
    ]);
    put(&root.path().join("in/good.jsonl"), session(good));
    put(&root.path().join("in/absent.jsonl"), session(absent));
    let cases = path("cases");
    let saved = restitch(&["mine", &path("in"), "--save", &cases]);
    assert!(last_line(&saved).starts_with("2 new cases saved"), "{}", text(&saved.stdout));
    let again = restitch(&["mine", &path("in"), "--save", &cases]);
    assert!(last_line(&again).starts_with("0 new cases saved, 2 were there already"));
    let run = restitch(&["run", &cases]);
    assert_eq!(last_line(&run), "1 right, 1 refused, 0 silently wrong, 0 failed");
    let folders = std::fs::read_dir(&cases).expect("folder").map(|dir| dir.expect("entry").path());
    let after = folders.map(|dir| dir.join("after/a.rs")).find(|file| file.is_file());
    let wanted = "fn a() {\n\tone(11);\n\tone(12);\n}\n\nfn b() {\n\ttwo(22);\n}\n";
    assert_eq!(text(&std::fs::read(after.expect("one was applied")).expect("file")), wanted);
}

/// What the agent's own next edit says of restitch's result.
#[test]
fn a_result_is_compared_with_the_agents_next_edit() {
    let root = tempfile::tempdir().expect("folder");
    let file = json!({"file": {"content": "fn a() {\n\tone(1);\n}\n", "startLine": 1, "numLines": 3, "totalLines": 3}});
    let edit = |old: &str, new: &str| json!({"file_path": "/p/a.rs", "old_string": old, "new_string": new});
    for (word, ending, is_read, old, next) in [
        ("right", json!("right"), true, "    one(1);", Some("\tone(2);")),
        ("blanks", json!("right but for blanks"), true, "    one(1);", Some("\t\tone(2);")),
        ("other", json!("other bytes"), true, "    one(1);", Some("\tone((2));")),
        ("unknown", json!("applied, truth unknown"), true, "    one(1);", None),
        ("refused", json!("refused"), true, "    three(1);", None),
        ("no file", Value::Null, false, "    one(1);", None),
    ] {
        let mut records = Vec::new();
        if is_read {
            records.push(called("t1", "Read", json!({"file_path": "/p/a.rs"})));
            records.push(answered("t1", false, file.clone()));
        }
        records.push(called("t2", "Edit", edit(old, &old.replace('1', "2"))));
        records.push(answered("t2", true, Value::Null));
        if let Some(next) = next {
            records.push(called("t3", "Edit", edit("\tone(1);", next)));
            records.push(answered("t3", false, Value::Null));
        }
        let session = lines(&records);
        let path = root.path().join("session.jsonl");
        put(&path, &session);
        let said = mined(&path);
        has(&said, json!({"failures": [{"ending": ending, "file_known": is_read}]}));
        // The table has it under the word that the page explains.
        let run = restitch(&["mine", &path.to_string_lossy()]);
        let shown = text(&run.stdout);
        let mut lines = shown.lines().skip_while(|line| !line.starts_with("edits by model"));
        let words = lines.next().expect("a table").split("  ").map(str::trim);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let numbers: Vec<&str> = lines.next().expect("a row").split_whitespace().collect();
        let words = &words[words.len() - 7..];
        let counted = words.iter().zip(&numbers[numbers.len() - 7..]).filter(|(_, n)| **n != "0");
        assert_eq!(counted.collect::<Vec<_>>(), [(&word, &"1")], "{shown}");
    }
}
