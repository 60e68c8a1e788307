//! Mining beyond the small transcripts of the fixtures: opencode's database, aider's history, what a
//! streamed message cost, and the git repository that an agent worked in.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::harness::{contents, failures, fixtures, has, lines, mine, mined, mined_from};
use crate::sandbox::{git, git_at, put};

fn count(said: &Value, name: &str) -> usize {
    failures(said).iter().filter(|f| f[name] == true).count()
}

/// The failure of that class.
fn of_class<'a>(said: &'a Value, class: &str) -> &'a Value {
    failures(said).iter().find(|failure| failure["class"] == class).expect("one")
}

mod database {
    use super::*;

    const TABLES: &str = "
        CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT NOT NULL, title TEXT);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data);";

    /// The same records as in the tree of the fixtures, and rows that make no sense.
    fn fill(file: &Path, mode: &str) -> Connection {
        fs::create_dir_all(file.parent().expect("parent")).expect("folder");
        let database = Connection::open(file).expect("database");
        database.pragma_update(None, "journal_mode", mode).expect("mode");
        database.pragma_update(None, "wal_autocheckpoint", 0).expect("log kept");
        database.execute_batch(TABLES).expect("tables");
        database
            .execute("INSERT INTO session VALUES ('ses_02', '/home/jane/p', 't')", [])
            .expect("row");
        let storage = fixtures("opencode/storage");
        for message in fs::read_dir(storage.join("message/ses_02")).expect("folder") {
            let path = message.expect("entry").path();
            let id = path.file_stem().expect("name").to_string_lossy().into_owned();
            let data = fs::read_to_string(&path).expect("file");
            let row = params![id, "ses_02", 1, data];
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row).expect("row");
            for part in fs::read_dir(storage.join("part").join(&id)).expect("folder") {
                let path = part.expect("entry").path();
                let part = path.file_stem().expect("name").to_string_lossy().into_owned();
                let data = fs::read_to_string(&path).expect("file");
                let row = params![part, id, "ses_02", data];
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row).expect("row");
            }
        }
        database
            .execute_batch(
                "INSERT INTO part VALUES ('bad1', 'msg_2', 'ses_02', NULL), ('bad2', 'msg_2', NULL, x'ff00'),
                    ('bad3', NULL, NULL, '[]'), ('odd', 'msg_9', 'ses_02', '{\"type\": \"tool\"}');
                 INSERT INTO message VALUES ('bad4', 'ses_02', 1, '{');",
            )
            .expect("rows");
        database
    }

    #[test]
    #[cfg_attr(windows, ignore = "its files have names that Windows does not take")]
    fn it_says_what_the_tree_says_wherever_it_lies() {
        let root = tempfile::tempdir().expect("folder");
        let home = root.path().join("share");
        let file = home.join("opencode/opencode.db");
        drop(fill(&file, "delete"));
        let tree = mined(&fixtures("opencode/storage"));
        let elsewhere = root.path().join("kept as ?it#is%.bin");
        fs::copy(&file, &elsewhere).expect("copy");
        for said in [
            mined(&file),
            mined(&elsewhere),
            mined(&home),
            mined_from(&["--client", "opencode"], &[("XDG_DATA_HOME", &home)]),
        ] {
            assert_eq!(said["failures"], tree["failures"], "{said}");
            assert_eq!(said["sessions"], 1);
            // The broken part of the tree, and three rows; a part without a message is left out.
            assert_eq!(said["skipped_lines"], 4);
            assert_eq!(said["unread"], json!([]));
        }
        assert!(count(&tree, "recovered") > 0);
        // A path from the session's folder names the same file.
        let from_folder = root.path().join("from folder/opencode.db");
        let shortened = "UPDATE part SET data = replace(data, '/home/jane/p/', '') WHERE id = 'p2'";
        fill(&from_folder, "delete").execute(shortened, []).expect("one");
        assert_eq!(count(&mined(&from_folder), "recovered"), count(&tree, "recovered"));
        // A session that is in the tree and in the database is one.
        for name in ["message/ses_02/msg_2.json", "part/msg_2/p1.json"] {
            let from = fixtures("opencode/storage").join(name);
            put(&home.join("opencode/storage").join(name), fs::read(from).expect("file"));
        }
        assert_eq!(mined(&home)["sessions"], 1);
        let (home, saved) = (home.to_string_lossy(), root.path().join("cases"));
        let save =
            || mined_from(&[&home, "--save", &saved.to_string_lossy()], &[])["saved"].clone();
        let first = save();
        assert!(first["new"].as_u64() > Some(0), "{first}");
        let again = save();
        assert_eq!((&again["new"], &again["existing"]), (&json!(0), &first["new"]));
    }

    #[test]
    #[cfg_attr(windows, ignore = "its files have names that Windows does not take")]
    fn a_live_one_and_one_left_behind_are_read_and_not_touched() {
        let root = tempfile::tempdir().expect("folder");
        let tree = mined(&fixtures("opencode/storage"));
        let live = root.path().join("live/opencode.db");
        let open = fill(&live, "wal");
        assert!(fs::metadata(live.with_extension("db-wal")).expect("log").len() > 0);
        // As a crash or a copy leaves it: the log without its index.
        let left = root.path().join("left/opencode.db");
        for end in ["db", "db-wal"] {
            put(&left.with_extension(end), fs::read(live.with_extension(end)).expect("file"));
        }
        let quiet = root.path().join("quiet/opencode.db");
        drop(fill(&quiet, "wal"));
        assert!(!quiet.with_extension("db-wal").exists());
        for file in [&live, &left, &quiet] {
            let dir = file.parent().expect("folder");
            let mut rights = fs::metadata(dir).expect("folder").permissions();
            rights.set_readonly(true);
            fs::set_permissions(dir, rights).expect("read-only");
            let before = contents(dir);
            let said = mined(file);
            assert_eq!(said["failures"], tree["failures"], "{}: {said}", file.display());
            assert!(before == contents(dir), "{}", file.display());
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("writable");
            }
        }
        open.execute("DELETE FROM part", []).expect("its owner still writes");
        drop(open);
    }

    #[test]
    fn a_locked_one_is_read_and_a_foreign_one_is_named() {
        let root = tempfile::tempdir().expect("folder");
        let file = root.path().join("opencode.db");
        let open = fill(&file, "delete");
        open.execute_batch("BEGIN EXCLUSIVE").expect("lock");
        assert_eq!(mined(&file)["failures"], mined(&fixtures("opencode/storage"))["failures"]);
        let other = root.path().join("other.db");
        let foreign = Connection::open(&other).expect("database");
        foreign.execute_batch("CREATE TABLE part_of_something (x)").expect("table");
        drop(foreign);
        let run = mine(&[&other.to_string_lossy()], &[]);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(said.contains("cannot be read as a database of opencode or crush"), "{said}");
        // Beside a transcript that can be read they are named, and the rest goes on.
        let export = fixtures("opencode/export-ses_01.json");
        fs::copy(export, root.path().join("export.json")).expect("copy");
        let said = mined(root.path());
        assert_eq!(said["unread"].as_array().map(Vec::len), Some(1), "{said}");
        assert!(!failures(&said).is_empty());
    }

    #[test]
    fn a_damaged_one_gives_what_it_has() {
        let root = tempfile::tempdir().expect("folder");
        let file = root.path().join("opencode.db");
        let database = fill(&file, "delete");
        for number in 0..500 {
            let row = params![format!("z{number:03}"), "{\"type\": \"text\", \"text\": \"…\"}"];
            database
                .execute("INSERT INTO part VALUES (?, 'msg_9', 'ses_02', ?)", row)
                .expect("row");
        }
        drop(database);
        let whole = fs::read(&file).expect("file");
        for cut in [20, 100, 5000, whole.len() / 2, whole.len() - 100] {
            fs::write(&file, &whole[..cut]).expect("cut");
            let run = mine(&[&file.to_string_lossy()], &[]);
            assert!(matches!(run.status.code(), Some(0 | 2)), "{cut}: {run:?}");
        }
    }
}

mod git {
    use super::*;

    const FILE: &str = "def first(value):\n    return prepare(value)\n\n\ndef second(other):\n    return combine(other)\n";

    struct Repository {
        root: tempfile::TempDir,
    }

    impl Repository {
        /// A file with one version of the year 2020 and another of 2022.
        fn new() -> Self {
            let repository = Self { root: tempfile::tempdir().expect("folder") };
            repository.git(&["init", "-q"], "2020-01-01T00:00:00Z");
            repository.commit(FILE, "2020-01-01T00:00:00Z");
            repository.commit("nothing of it\n", "2022-01-01T00:00:00Z");
            repository
        }

        fn git(&self, arguments: &[&str], date: &str) {
            git_at(date, self.root.path(), arguments);
        }

        fn commit(&self, content: &str, date: &str) {
            put(&self.root.path().join("src/--output=a.py"), content);
            self.git(&["add", "."], date);
            self.git(&["commit", "-qm", "m"], date);
        }

        /// Mines a session of 2021 in which an edit failed.
        fn mined(&self, before: &[Value], after: &[Value]) -> Value {
            let failed = edit("return combine(other)\n\n", "return merge(other)", false);
            let mut lines = String::new();
            let calls = before.iter().chain([&failed]).chain(after);
            for (number, call) in calls.enumerate() {
                let id = format!("t{number}");
                let when = "2021-06-01T12:00:00.000Z";
                let cwd = self.root.path().join("src");
                let (mut input, said) = (call["input"].clone(), call["said"].clone());
                input["file_path"] = json!(cwd.join("--output=a.py"));
                let used =
                    json!({"type": "tool_use", "id": id, "name": call["name"], "input": input});
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": said,
                    "is_error": call["ok"] == false});
                for (who, part) in [("assistant", used), ("user", result)] {
                    let line = json!({"type": who, "sessionId": "s", "cwd": cwd, "timestamp": when,
                        "message": {"content": [part]}});
                    lines.push_str(&format!("{line}\n"));
                }
            }
            let file = self.root.path().join("session.jsonl");
            put(&file, lines);
            mined(&file)["failures"][0].clone()
        }
    }

    fn edit(old: &str, new: &str, ok: bool) -> Value {
        let said = if ok { "updated" } else { "String to replace not found in file." };
        json!({"name": "Edit", "ok": ok, "said": said, "input": {"old_string": old, "new_string": new}})
    }

    fn read(from: usize, lines: &[&str]) -> Value {
        let view: Vec<String> =
            lines.iter().enumerate().map(|(at, line)| format!("{}→{line}", from + at)).collect();
        json!({"name": "Read", "ok": true, "said": view.join("\n"), "input": {"offset": from, "limit": lines.len()}})
    }

    #[test]
    #[cfg_attr(windows, ignore = "it needs git, which wine does not bring")]
    fn the_version_of_that_time_is_taken_unless_the_transcript_shows_another() {
        let repository = Repository::new();
        let of_git = |certainty: &str| json!({"file_from": "from git", "certainty": certainty, "recovered": true});
        has(&repository.mined(&[], &[]), of_git("unconfirmed"));
        let seen = repository.mined(&[read(5, &["def second(other):"])], &[]);
        has(&seen, of_git("likely"));
        let other = repository.mined(&[read(5, &["def third(other):"])], &[]);
        assert_eq!(other["file_known"], false, "{other}");
        let retried = edit("    return combine(other)", "    return merge(other)", true);
        let retried = repository.mined(&[], &[retried]);
        has(&retried, json!({"certainty": "likely", "turns": 1}));
        let elsewhere = edit("return unknown(other)", "return merge(other)", true);
        assert_eq!(repository.mined(&[], &[elsewhere])["file_known"], false);
        // An edit that was committed is not made again, and what was seen before it is older.
        let own = [read(5, &["def 2nd(other):"]), edit("def 2nd(", "def second(", true)];
        has(&repository.mined(&own, &[]), of_git("likely"));
        let other = edit("def third(", "def fourth(", true);
        assert_eq!(repository.mined(&[other], &[])["file_known"], false);
        // The folder of the file may be gone by now.
        fs::remove_dir_all(repository.root.path().join("src")).expect("removed");
        has(&repository.mined(&[], &[]), of_git("unconfirmed"));
    }

    #[test]
    #[cfg_attr(windows, ignore = "it needs git, which wine does not bring")]
    fn nothing_that_the_repository_names_is_run() {
        let repository = Repository::new();
        let root = repository.root.path();
        let (trap, sprung) = (root.join("trap.sh"), root.join("sprung"));
        put(&trap, format!("#!/bin/sh\necho \"$@\" >> '{}'\n", sprung.display()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let command = trap.to_string_lossy();
        let names =
            "core.fsmonitor gpg.program diff.external diff.x.textconv filter.x.smudge core.pager";
        for name in names.split(' ') {
            repository.git(&["config", name, &command], "2022-01-02T00:00:00Z");
        }
        repository.git(&["config", "log.showSignature", "true"], "2022-01-02T00:00:00Z");
        put(&root.join(".git/info/attributes"), "* diff=x filter=x\n");
        assert_eq!(repository.mined(&[], &[])["file_from"], "from git");
        assert!(!sprung.exists(), "{}", fs::read_to_string(&sprung).unwrap_or_default());
    }
}

#[test]
fn the_history_of_aider_may_have_another_name() {
    let root = tempfile::tempdir().expect("folder");
    let named = root.path().join("saved under another name");
    put(&named, include_str!("data/mined/aider.chat.history.md"));
    // Lines that an error shows are no file, and make no case.
    let cases = root.path().join("cases");
    let said = mined_from(&[&named.to_string_lossy(), "--save", &cases.to_string_lossy()], &[]);
    assert_eq!(said["edits"], 5);
    has(&said["saved"], json!({"new": 0, "existing": 0, "withheld": 0, "without_file": 2}));
}

/// What other agents leave, each in the form in which it leaves it.
mod agents {
    use super::*;

    const BEFORE: &str = "def a(x):\n\tif x:\n\t\treturn 1\n\treturn 2\n";
    /// One tab too few on each line, as agents quote it.
    const OLD: &str = "if x:\n\treturn 1\nreturn 2";
    const NEW: &str = "if x:\n\treturn 3\nreturn 2";
    /// The same change, as the agent sends it next.
    const NEXT_OLD: &str = "\t\treturn 1\n\treturn 2";
    const NEXT_NEW: &str = "\t\treturn 3\n\treturn 2";

    const CRUSH: &str = "
        CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT, completion_tokens INTEGER);
        CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER);
        CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT, path TEXT, content TEXT, version INTEGER, created_at INTEGER);
        INSERT INTO sessions VALUES ('s1', 't', 30);";

    /// A session in which an edit fails and is sent again. It has read nothing; only the table of
    /// versions has the file.
    fn fill_crush(file: &Path) -> Connection {
        let database = Connection::open(file).expect("database");
        database.pragma_update(None, "journal_mode", "wal").expect("mode");
        database.pragma_update(None, "wal_autocheckpoint", 0).expect("log kept");
        database.execute_batch(CRUSH).expect("tables");
        let call = |id: &str, name: &str, input: Value| json!([{"type": "tool_call", "data": {"id": id, "name": name, "input": input.to_string()}}]);
        let result = |id: &str, said: &str, failed: bool| json!([{"type": "tool_result", "data": {"tool_call_id": id, "content": said, "metadata": "{}", "is_error": failed}}]);
        let edit = |old: &str, new: &str| json!({"file_path": "/p/a.py", "old_string": old, "new_string": new});
        let missing = "old_string not found in file. Make sure it matches exactly";
        for (number, (role, parts)) in [
            ("assistant", call("c1", "edit", edit("def a(x):", "def a(x, y):"))),
            ("tool", result("c1", "Content replaced", false)),
            ("assistant", call("c2", "edit", edit(OLD, NEW))),
            ("tool", result("c2", missing, true)),
            ("assistant", call("c3", "edit", edit("\tgone", "\there"))),
            ("tool", result("c3", "you must read the file before editing it", true)),
            ("assistant", call("c4", "edit", edit(NEXT_OLD, NEXT_NEW))),
            ("tool", result("c4", "Content replaced", false)),
        ]
        .into_iter()
        .enumerate()
        {
            let (id, time) = (format!("m{number}"), 1_750_000_000 + number as i64);
            let row = params![id, "s1", role, parts.to_string(), "large-1", time];
            database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", row).expect("row");
        }
        let second = BEFORE.replace("def a(x):", "def a(x, y):");
        let third = second.replace(NEXT_OLD, NEXT_NEW);
        for (number, (content, time)) in
            [(BEFORE, 0), (BEFORE, 0), (second.as_str(), 1), (third.as_str(), 7)]
                .into_iter()
                .enumerate()
        {
            let (id, time) = (format!("f{number}"), 1_750_000_000 + time);
            let row = params![id, "s1", "/p/a.py", content, number as i64, time];
            database.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", row).expect("row");
        }
        database
    }

    #[test]
    fn crush_and_the_older_opencode_keep_every_version() {
        for (name, client) in [(".crush/crush.db", "crush"), (".opencode/opencode.db", "opencode")]
        {
            let root = tempfile::tempdir().expect("folder");
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().expect("parent")).expect("folder");
            // Its log is not in the database yet.
            let open = fill_crush(&file);
            assert!(fs::metadata(format!("{}-wal", file.display())).expect("log").len() > 0);
            let said = mined(root.path());
            drop(open);
            assert_eq!((failures(&said).len(), &said["edits"]), (2, &json!(4)), "{said}");
            let wanted = json!({"client": client, "model": "large-1", "file_from": "stored version",
                "certainty": "likely", "rung": "indentation", "ending": "right"});
            has(of_class(&said, "not found"), wanted);
            let unread = of_class(&said, "not read before");
            assert_eq!(unread["recovered"], false, "{unread}");
            assert_eq!(said["models"][0]["text_missing"], 1, "{said}");
        }
    }

    /// A repository with the file, and the id of its commit.
    fn repository(at: &Path) -> String {
        put(&at.join("src/a.py"), BEFORE);
        for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "m"]] {
            git(at, arguments);
        }
        String::from_utf8(git(at, &["rev-parse", "HEAD"])).expect("UTF-8").trim().to_owned()
    }

    /// A rollout names the commit that it began at. Its first patch is applied to that version.
    #[test]
    #[cfg_attr(windows, ignore = "it needs git, which wine does not bring")]
    fn a_rollout_begins_at_a_commit_of_a_clone_elsewhere() {
        let root = tempfile::tempdir().expect("folder");
        let clone = root.path().join("clones/shop");
        let commit = repository(&clone);
        let record = |payload: Value| json!({"timestamp": "2026-01-09T13:00:00.000Z", "type": "x", "payload": payload});
        let patch = |id: &str, lines: &str| {
            let input =
                format!("*** Begin Patch\n*** Update File: src/a.py\n@@\n{lines}*** End Patch");
            let call = json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": id, "input": input});
            record(call)
        };
        let output = |id: &str, said: &str| {
            record(json!({"type": "custom_tool_call_output", "call_id": id, "output": said}))
        };
        let begin =
            json!({"id": "r", "cwd": "/home/someone/git/shop", "git": {"commit_hash": commit}});
        let done = "Success. Updated the following files:\nM src/a.py\n";
        let failed = "apply_patch verification failed: Failed to find expected lines in src/a.py:\ndef a(x, y):";
        let session = lines(&[
            record(begin),
            record(json!({"model": "gpt-x-codex"})),
            patch("c1", "-def a(x):\n+def a(x, y):\n"),
            output("c1", done),
            patch("c2", " def a(x, y):\n \n \tif x:\n-\t\treturn 1\n+\t\treturn 3\n"),
            output("c2", failed),
            patch("c3", " \tif x:\n-\t\treturn 1\n+\t\treturn 3\n"),
            output("c3", done),
            patch("c4", "nothing that a patch may have\n*** Add: x\n"),
            output("c4", "Invalid patch hunk on line 3"),
        ]);
        let file = root.path().join("elsewhere/rollout-1.jsonl");
        put(&file, session);
        let file = file.to_string_lossy();
        assert_eq!(mined_from(&[&file], &[])["models"][0]["no_file"], 1);
        for old in ["/home/someone/git/shop", "shop"] {
            let map = format!("{old}={}", clone.display());
            let said = mined_from(&[&file, "--map", &map], &[]);
            let wanted = json!({"file_from": "from git", "certainty": "likely", "model": "gpt-x-codex", "ending": "right"});
            has(of_class(&said, "patch context"), wanted);
        }
        // What lies in the repository needs no map, if the folder has its name in the transcript.
        fs::create_dir_all(clone.join(".codex")).expect("folder");
        fs::copy(&*file, clone.join(".codex/rollout-1.jsonl")).expect("copy");
        let said = mined(&clone);
        assert!(failures(&said).iter().any(|f| f["ending"] == "right"), "{said}");
        let absent = root.path().join("absent").to_string_lossy().into_owned();
        let bad = mine(&[&file, "--map", &format!("shop={absent}")], &[]);
        let said = String::from_utf8_lossy(&bad.stderr).into_owned();
        assert!(said.contains(&format!("there is no folder {absent}")), "{said}");
    }

    /// Each checkpoint has the whole session so far; a call in two of them is one.
    #[test]
    #[cfg_attr(windows, ignore = "it needs git, which wine does not bring")]
    fn checkpoints_on_a_branch_are_read_and_counted_once() {
        let root = tempfile::tempdir().expect("folder");
        let repository_dir = root.path().join("shop");
        repository(&repository_dir);
        let transcript = fixtures("claude/-home-jane-projects-shop/5f1c.jsonl");
        let whole = fs::read_to_string(&transcript).expect("file");
        let half: String = whole.lines().take(6).map(|line| format!("{line}\n")).collect();
        let git = |arguments: &[&str]| git(&repository_dir, arguments);
        git(&["checkout", "-q", "--orphan", "entire/checkpoints/v1"]);
        git(&["rm", "-rfq", "."]);
        put(&repository_dir.join("ab/cdef01/0/full.jsonl"), half);
        put(&repository_dir.join("12/345678/0/full.jsonl"), whole);
        git(&["add", "."]);
        git(&["commit", "-qm", "c"]);
        git(&["symbolic-ref", "HEAD", "refs/heads/empty"]);
        for entry in ["ab", "12"] {
            let _ = fs::remove_dir_all(repository_dir.join(entry));
        }
        let (one, all) = (mined(&transcript), mined(&repository_dir));
        assert_eq!((&all["edits"], &all["sessions"]), (&one["edits"], &json!(1)), "{all}");
        let of = |said: &Value| -> Vec<(Value, Value)> {
            let of = |f: &Value| (f["class"].clone(), f["ending"].clone());
            failures(said).iter().map(of).collect()
        };
        assert_eq!(of(&all), of(&one));
    }
}

/// To share figures: neither what is printed nor the rows have a text, a path or a name.
#[test]
fn without_texts_only_counts_and_hashes_are_shown() {
    let root = tempfile::tempdir().expect("folder");
    let (from, rows) = (fixtures("claude"), root.path().join("rows.jsonl"));
    let (from, rows_path) = (from.to_string_lossy(), rows.to_string_lossy());
    let plain = mined_from(&[&from, "--rows", &rows_path], &[]);
    let text = fs::read_to_string(&rows).expect("rows");
    let written = text.lines().map(|row| serde_json::from_str(row).expect("JSON"));
    assert_eq!(plain["failures"], Value::Array(written.collect()));
    for field in ["model", "client", "class", "rung", "code", "certainty", "file_from", "ending"] {
        let first = &plain["failures"][0];
        assert!(first.get(field).is_some(), "{field} is not in {first}");
    }
    let shared = mined_from(&[&from, "--rows", &rows_path, "--text-free"], &[]);
    let all = format!("{shared}{}", fs::read_to_string(&rows).expect("rows"));
    for failure in failures(&plain) {
        let path = failure["path"].as_str().expect("path");
        let name = path.rsplit('/').next().expect("name").split('.').next().expect("stem");
        for private in
            [path, failure["id"].as_str().expect("id"), "jane", "5f1c", &format!("{name}.")]
        {
            assert!(!all.contains(private), "{private} is in {all}");
        }
    }
    assert_eq!(shared["models"], plain["models"]);
    assert_eq!(shared["cost"], plain["cost"]);
}

/// Other tools are compared by the agent's own next edit, so a pack has only failures that have one.
#[test]
fn a_pack_has_the_failures_whose_next_edit_shows_the_result() {
    let root = tempfile::tempdir().expect("folder");
    let pack = root.path().join("mined.pack.jsonl");
    let from = fixtures("claude");
    let (from, to) = (from.to_string_lossy(), pack.to_string_lossy());
    let found = mined_from(&[&from, "--text-free", "--save", &to], &[]);
    let saved =
        json!({"new": 1, "existing": 0, "withheld": 0, "without_file": 1, "without_truth": 2});
    assert_eq!(found["saved"], saved);
    let text = fs::read_to_string(&pack).expect("pack");
    let case: Value = serde_json::from_str(text.lines().nth(1).expect("a case")).expect("JSON");
    assert_eq!(case["way"], "not found");
    assert_eq!(case["right"][2], json!(["log(err)\n\t\t\tcontinue"]));
}
