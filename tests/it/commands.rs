//! The command line, command by command: what its page in the reference says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::hostile::{Sandbox, finish};
use crate::says::says;

const TWINS: &str = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n";

/// A folder with a file of two functions that look alike.
fn twins() -> Sandbox {
    Sandbox::new().with("a.py", TWINS)
}

fn command(project: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = project.restitch(arguments);
    command.env("HOME", project.above().join("home")).env_remove("XDG_CONFIG_HOME");
    command
}

fn run(project: &Sandbox, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    said(&finish(command(project, arguments), input.as_bytes()))
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_options_of_edit_do_what_they_say() {
    let both = TWINS.replace("return 1", "return 2");
    let second = both.replacen("return 2", "return 1", 1);
    for (options, after) in [
        (&["--expect", "2"][..], both.as_str()),
        (&["--all"], &both),
        (&["--near", "8"], &second),
        (&["--within", "class B"], &second),
        (&["--all", "--dry-run"], TWINS),
        (&["--expect", "3"], TWINS),
        (&[], TWINS),
    ] {
        let project = twins();
        let call = ["edit", "a.py", "--old", "return 1", "--new", "return 2"];
        let (code, out, _) = run(&project, &[&call[..], options].concat(), "");
        assert_eq!(project.text("a.py"), after, "{options:?}: {out}");
        let is_refused = after == TWINS && !options.contains(&"--dry-run");
        assert_eq!(code, Some(i32::from(is_refused)), "{options:?}: {out}");
        assert_eq!(is_refused, out.starts_with("EDIT_EXPECTED_OCCURRENCE_MISMATCH"), "{out}");
    }
}

/// People have flags, programs have the arguments of the tool.
#[test]
fn refusals_name_the_flags_of_the_command() {
    let stale = "    def f(self):\n        return old_str\n";
    for options in [
        &["--old", "return 1", "--new", "x"][..],
        &["--old", "return 1", "--new", "x", "--near", "4"],
        &["--old", "return 1", "--new", "x", "--expect", "3"],
        &["--old", "return 1", "--new", "return 1"],
        &["--old", "", "--new", "x"],
        &["--old", "class A", "--new", "x", "--within", "B"],
        &["--old", "class A", "--new", "x", "--within", "C"],
        &["--old", "class A", "--new", "x", "--within", "f"],
        &["--old", "class A:", "--new", "# ... existing code ..."],
        &["--old", stale, "--new", "x"],
    ] {
        let project = twins();
        let call = [&["edit", "a.py"][..], options].concat();
        let (_, out, _) = run(&project, &call, "");
        assert_eq!(out.contains(" --"), !options.contains(&"--near"), "{options:?}: {out}");
        let ours = out.replace("return old_str", "");
        let arguments = "old_str new_str near_line expected_ replace_all `within`";
        assert!(!arguments.split(' ').any(|name| ours.contains(name)), "{options:?}: {out}");
        // A program reads the words of the tool.
        let project = twins();
        let json = run(&project, &[&["--json"], &call[..]].concat(), "").1;
        let reply: Value = serde_json::from_str(&json).expect("JSON");
        let message = reply["message"].as_str().expect("a message");
        assert!(!message.contains("--"), "{options:?}: {message}");
    }
    let project = twins();
    let (_, _, err) = run(&project, &["edit", "-", "--old", "b", "--new", "c"], "a\n");
    assert!(err.contains("--old is not in the file"), "{err}");
    let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-q(7)\n+r(7)\n*** End Patch\n";
    let (_, out, _) = run(&project, &["apply"], patch);
    assert!(out.contains("the old text of the hunk is not in the file"), "{out}");
}

/// What is not set is not a part of the request, so `batch` sends the same.
#[test]
fn a_request_is_the_same_from_every_command() {
    let project = twins();
    project.write("twice.txt", "one\n");
    let edit = ["edit", "twice.txt", "--old", "one", "--new", "two", "--request-id", "r1"];
    let (code, _, err) = run(&project, &edit, "");
    assert_eq!(code, Some(0), "{err}");
    let arguments = json!({ "path": "twice.txt", "old_str": "one", "new_str": "two" });
    let line = json!({ "tool": "edit_file", "request_id": "r1", "arguments": arguments });
    let (_, out, err) = run(&project, &["batch"], &line.to_string());
    let reply: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert_eq!(reply["ok"], true, "{reply}");
}

/// Every tool that takes a path names the files that it may mean, and what it says to send works.
#[test]
#[cfg_attr(windows, ignore = "it makes symbolic links")]
fn a_path_that_does_not_exist_is_answered_with_the_nearest() {
    let project = twins();
    for folder in ["src", "tests", "target", ".git", ".claude"] {
        project.write(&format!("{folder}/area.py"), "one\n");
    }
    project.write("src/only.py", "one\n");
    project.write(".gitignore", "target/\n");
    fs::write(project.above().join("area.py"), "outside\n").expect("file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(project.above(), project.root().join("out")).expect("link");
    let call = |tool: &str, arguments: Value| -> Value {
        let line = json!({ "tool": tool, "arguments": arguments }).to_string();
        let (_, out, err) = run(&project, &["batch"], &line);
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
    };
    let arguments = |tool: &str, path: &str| match tool {
        "edit_file" => json!({ "path": path, "old_str": "one", "new_str": "two" }),
        "multi_edit" => json!({ "edits": [
            { "path": "a.py", "old_str": "class A", "new_str": "class C" },
            { "path": path, "old_str": "one", "new_str": "two" },
        ]}),
        "read_file" => json!({ "path": path }),
        "edit_lines" => json!({ "path": path, "edits": [
            { "start_line": 1, "end_line": 1, "new_content": "two" },
        ]}),
        "hashline_edit" => json!({ "path": path, "edits": [], "delete": true }),
        _ => json!({ "patch": format!(
            "*** Begin Patch\n*** Update File: {path}\n@@\n-one\n+two\n*** End Patch\n"
        )}),
    };
    let tools =
        ["edit_file", "multi_edit", "read_file", "edit_lines", "hashline_edit", "apply_patch"];
    for tool in tools {
        let before = listing(&project.root());
        for (wrong, near) in [
            ("area.py", "`src/area.py` or `tests/area.py`"),
            ("src/Only.py", "`src/only.py`"),
            ("src/olny.py", "`src/only.py`"),
            ("root/src/only.py", "`src/only.py`"),
            ("/elsewhere/project/src/only.py", "`src/only.py`"),
        ] {
            let refused = call(tool, arguments(tool, wrong));
            let code =
                if wrong.starts_with('/') { "EDIT_INVALID_PATH" } else { "EDIT_FILE_NOT_FOUND" };
            assert_eq!(refused["code"], code, "{tool} {wrong}: {refused}");
            let hint = refused["report"]["hint"].as_str().expect("hint");
            let begins = format!("Did you mean {near}? Send the call again with ");
            assert!(hint.starts_with(&begins), "{tool}: {refused}");
            says(refused["message"].as_str().expect("text"), &["\nNext: ", hint]);
        }
        for nothing in ["zzz/quite_different.rs", "/etc/passwd", "a.rs"] {
            let refused = call(tool, arguments(tool, nothing));
            assert_eq!(refused["ok"], false, "{tool}: {refused}");
            assert!(!refused["message"].to_string().contains("mean"), "{tool}: {refused}");
        }
        assert_eq!(listing(&project.root()), before, "{tool}: a refusal changes nothing");
        let done = call(tool, arguments(tool, "src/only.py"));
        assert_eq!(done["ok"], true, "{tool}: {done}");
        project.write("src/only.py", "one\n");
        project.write("a.py", TWINS);
    }
    // The file itself can still be made.
    let made = json!({ "path": "area.py", "old_str": "", "new_str": "new\n" });
    assert_eq!(call("edit_file", made)["ok"], true);
    assert_eq!(project.text("area.py"), "new\n");
    assert_eq!(project.text("src/area.py"), "one\n");
    let (code, out, _) = run(&project, &["read", "lib/only.py"], "");
    assert!(code == Some(1) && out.contains("Did you mean `src/only.py`?"), "{out}");
}

#[test]
#[cfg_attr(windows, ignore = "a read-only file is another thing there")]
fn the_exit_code_says_what_happened() {
    let project = twins();
    project.write("locked", "one\n");
    let locked = project.root().join("locked");
    let mut rights = fs::metadata(&locked).expect("file").permissions();
    rights.set_readonly(true);
    fs::set_permissions(&locked, rights).expect("read-only");
    let long = "x".repeat(256);
    for (arguments, code) in [
        (&["edit", "a.py", "--old", "class A", "--new", "class C"][..], 0),
        (&["read", &long], 1),
        (&["read", "a.py", "--ranges", "7-"], 2),
        (&["read", "a.py", "--ranges", "a-b"], 2),
        (&["edit", &long, "--old", "", "--new", "x"], 1),
        (&["edit", "a.py", "--old", "class X", "--new", "class Y"], 1),
        (&["edit", "a.py", "--old", "class X"], 2),
        (&["--root", "missing", "log"], 2),
        (&["schema", "mcp", "--root", "missing"], 2),
        (&["--json", "schema", "mcp"], 2),
        (&["log", "-n", "0"], 2),
        (&["--root", "/", "init", "cursor", "--write"], 2),
        (&["mcp", "--http", "example.com:80"], 2),
        // Names that only a shell or a browser reads, and that of a folder.
        (&["edit", "~/notes.txt", "--old", "", "--new", "x"], 1),
        (&["edit", "$HOME/x.txt", "--old", "", "--new", "x"], 1),
        (&["edit", "newdir/", "--old", "", "--new", "x"], 1),
        (&["edit", "\"q.txt\"", "--old", "", "--new", "x"], 1),
        (&["edit", "http://x/y.txt", "--old", "", "--new", "x"], 1),
        (&["edit", "locked", "--old", "one", "--new", "two"], 3),
        (&["--model", "m", "--base-url", "http://127.0.0.1:1/v1", "doctor"], 3),
        (&[], 0),
    ] {
        let (ended, out, err) = run(&project, arguments, "");
        assert_eq!(ended, Some(code), "{arguments:?}: {out}{err}");
    }
    let (_, out, err) = run(&project, &[], "");
    assert!(format!("{out}{err}").contains("Usage: restitch"), "{out}{err}");
}

#[test]
fn a_patch_of_any_form_is_applied_whole_or_not_at_all() {
    let v4a = |old: &str| {
        format!(
            "*** Begin Patch\n*** Update File: a.py\n@@\n-class A:\n+class C:\n*** Update File: b.py\n@@\n-{old}\n+y = 2\n*** End Patch\n"
        )
    };
    let blocks = |old: &str| {
        format!(
            "a.py\n<<<<<<< SEARCH\nclass A:\n=======\nclass C:\n>>>>>>> REPLACE\n\nb.py\n<<<<<<< SEARCH\n{old}\n=======\ny = 2\n>>>>>>> REPLACE\n"
        )
    };
    let unified = |old: &str| {
        format!(
            "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-class A:\n+class C:\n     def f(self):\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-{old}\n+y = 2\n"
        )
    };
    for patch in [&v4a as &dyn Fn(&str) -> String, &blocks, &unified] {
        let project = twins();
        project.write("b.py", "x = 1\n");
        let (code, out, err) = run(&project, &["apply"], &patch("nothing = like(it)"));
        assert_eq!(code, Some(1), "{out}{err}");
        assert_eq!(project.text("a.py"), TWINS);
        assert_eq!(project.text("b.py"), "x = 1\n");
        project.write("the.patch", patch("x = 1"));
        let (code, out, err) = run(&project, &["apply", "the.patch"], "");
        assert_eq!(code, Some(0), "{out}{err}");
        assert_eq!(project.text("b.py"), "y = 2\n");
        assert!(project.text("a.py").starts_with("class C:\n"), "{out}");
    }
}

#[test]
fn files_are_read_searched_and_ranked() {
    let project = twins();
    project.write("one.txt", "alpha\n");
    project.write("two.txt", "nothing\nalpha and beta\n");
    let read =
        |arguments: &[&str]| run(&project, &[&["read", "two.txt"], arguments].concat(), "").1;
    assert_eq!(read(&[]), "nothing\nalpha and beta\n");
    assert_eq!(read(&["--ranges", "2", "--style", "numbered"]).trim_end(), "<<2>>alpha and beta");
    assert!(read(&["--ranges", "2-2", "--style", "hashline"]).starts_with("2#"));
    let (code, out, _) = run(&project, &["search", "class"], "");
    assert_eq!(code, Some(0));
    assert!(out.contains("a.py") && out.contains("class B:") && !out.contains("one.txt"), "{out}");
    let (_, out, _) = run(&project, &["search", "alpha", "beta"], "");
    let places = ["two.txt", "one.txt"].map(|name| out.find(name));
    assert!(places[0].is_some() && places[0] < places[1], "more terms come first: {out}");
}

#[test]
#[cfg_attr(windows, ignore = "on Windows what is past is known to one process only")]
fn the_log_is_newest_first_and_any_revision_is_taken_back() {
    let project = twins();
    for (old, new) in [("class A", "class C"), ("class B", "class D")] {
        let (code, out, _) = run(&project, &["edit", "a.py", "--old", old, "--new", new], "");
        assert_eq!(code, Some(0), "{out}");
    }
    let (_, log, _) = run(&project, &["log"], "");
    let numbers: Vec<&str> =
        log.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(numbers, ["2", "1"], "{log}");
    assert_eq!(run(&project, &["undo", "1"], "").0, Some(0));
    assert_eq!(project.text("a.py"), TWINS.replace("class B", "class D"));
    assert_eq!(run(&project, &["undo", "2"], "").0, Some(0));
    assert_eq!(project.text("a.py"), TWINS);
}

#[test]
fn the_faster_way_to_write_promises_less() {
    for (options, wanted) in [(&[][..], "durable"), (&["--durability", "rename"], "unknown")] {
        let project = twins();
        let call = ["--json", "edit", "a.py", "--old", "class A", "--new", "class C"];
        let (_, out, _) = run(&project, &[&call[..], options].concat(), "");
        let reply: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(reply["report"]["durability"], wanted, "{reply}");
    }
}

#[test]
fn declarations_completions_and_demo_are_printed() {
    let project = twins();
    for format in ["openai", "openai-responses", "anthropic", "gemini", "mcp"] {
        let (code, out, _) = run(&project, &["schema", format], "");
        assert_eq!(code, Some(0), "{format}");
        let declared: Value = serde_json::from_str(&out).expect("JSON");
        assert!(declared.to_string().contains("\"edit_file\""), "{format}: {declared}");
    }
    assert_eq!(run(&project, &["schema", "soap"], "").0, Some(2));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, _) = run(&project, &["completions", shell], "");
        assert!(code == Some(0) && out.contains("restitch"), "{shell}: {out}");
    }
    let before = listing(&project.root());
    let (code, out, _) = run(&project, &["demo"], "");
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("repaired by") && out.contains("refused") && out.contains("@@"), "{out}");
    assert_eq!(listing(&project.root()), before, "the demo has a folder of its own");
}

fn listing(folder: &Path) -> Vec<String> {
    let mut names = crate::disk::names_below(folder);
    names.sort();
    names
}

/// What one command prints as a path, the next one takes.
#[test]
fn files_are_named_from_the_folder_in_which_the_command_runs() {
    let project = twins();
    fs::create_dir(project.root().join(".git")).expect("folder");
    project.write("sub/x.py", "hello = 1\n");
    project.write("sub/hello.txt", "one\n");
    let run = |arguments: &[&str]| {
        let mut command = command(&project, arguments);
        command.current_dir(project.root().join("sub"));
        said(&finish(command, b""))
    };
    let (_, out, _) = run(&["search", "hello"]);
    assert!(out.contains("\n\nx.py (1 match") && !out.contains("sub/"), "{out}");
    assert!(out.contains("Paths that match: hello.txt\n"), "{out}");
    let (_, out, _) = run(&["search", "hello", "--plain"]);
    assert_eq!(out, "x.py:1:hello = 1\n");
    let (_, out, _) = run(&["--json", "search", "hello"]);
    assert!(out.contains(r#""path":"x.py""#), "{out}");
    // The one is named as the other was.
    project.write("sub/sub/y.py", "deep = 2\n");
    project.write("sub/y.py", "deep = 1\n");
    let (_, out, _) = run(&["search", "deep"]);
    for (name, line) in [("sub/y.py", "deep = 2"), ("y.py", "deep = 1")] {
        let (_, hits) = out.split_once(&format!("\n\n{name} (")).expect(&out);
        assert!(hits.lines().nth(1).is_some_and(|hit| hit.ends_with(line)), "{out}");
    }
    let (code, out, _) = run(&["edit", "sub/x.py", "--old", "hello", "--new", "a"]);
    assert!(code == Some(1) && out.contains("Did you mean `x.py`?"), "{out}");
    let (code, out, _) = run(&["edit", "x.py", "--old", "hello", "--new", "a"]);
    assert_eq!(code, Some(0), "{out}");
}

#[test]
#[cfg(target_os = "linux")]
fn what_could_not_be_told_or_is_not_there_is_said_on_stderr() {
    let project = twins();
    for (arguments, input, wanted) in [
        (&["edit", "a.py", "--old", "class A", "--new", "class C"][..], "", "as revision 1"),
        (
            &["batch"],
            r#"{"arguments": {"path": "a.py", "old_str": "class B", "new_str": "class D"}}"#,
            "as revision 2",
        ),
    ] {
        let mut command = command(&project, arguments);
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("device");
        project.write("input", input);
        let input = fs::File::open(project.root().join("input")).expect("input");
        let output = command.stdin(input).stdout(full).stderr(Stdio::piped()).output();
        let (code, _, err) = said(&output.expect("ends"));
        assert_eq!(code, Some(3), "{err}");
        assert!(err.contains("the edit was made all the same") && err.contains(wanted), "{err}");
    }
    let (code, out, err) = run(&project, &["log", "nope.txt"], "");
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert!(err.contains("no edit of nope.txt is recorded"), "{err}");
    let (code, _, err) = run(&project, &["mcp", "--tools", ""], "");
    assert!(code == Some(2) && err.contains("no tool is named"), "{code:?} {err}");
    let (code, _, err) = run(&project, &["mcp", "--root-of", "/nope"], "");
    assert!(code == Some(2) && err.contains("--root-of"), "{code:?} {err}");
    let (_, out, _) = run(&project, &["batch"], "{\"frob\": 1, \"arguments\": {}}\n");
    assert!(out.contains(r#"\"arguments\": {…}} (optional: dry_run, request_id)"#), "{out}");
    let init = ["init", "claude", "--write", "--root", "/nonexistent"];
    let (code, out, err) = run(&project, &init, "");
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
}

/// Whoever reads only the first lines closes the pipe.
#[test]
#[cfg(unix)]
fn a_closed_pipe_is_no_panic() {
    let project = twins();
    for arguments in [&["completions", "bash"][..], &["schema", "mcp"], &["demo"], &["--help"]] {
        let mut command = command(&project, arguments);
        let (reader, writer) = std::io::pipe().expect("pipe");
        drop(reader);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().expect("ends");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("panicked"), "{arguments:?}: {text}");
    }
}
