//! What a person meets in the first hour at the command line.

use std::process::Output;

use super::{binary, server};

fn project() -> tempfile::TempDir {
    crate::sandbox::folder_with(&[
        ("src/a.py", "def f():\n    return 1\n"),
        ("b.txt", "needle one\nnothing\n  needle two\n"),
    ])
}

fn run(dir: &tempfile::TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        binary(dir.path()).args(arguments).output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn search_exits_with_1_without_hits_and_prints_plain_lines() {
    let dir = project();
    let (code, out, _) = run(&dir, &["search", "needle", "--plain"]);
    assert_eq!((code, out.as_str()), (Some(0), "b.txt:1:needle one\nb.txt:3:  needle two\n"));
    assert_eq!(run(&dir, &["search", "absent word"]).0, Some(1));
    let (_, out, _) = run(&dir, &["search", "needle"]);
    assert!(out.contains("\n`restitch batch` takes these lines in hashline_edit."), "{out}");
    let (code, out, _) = run(&dir, &["search", "absent word", "--plain"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
}

#[test]
fn the_log_has_places_clients_and_diffs() {
    let dir = project();
    let (code, out, err) =
        run(&dir, &["edit", "src/a.py", "--old", "return 1", "--new", "return 2"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.lines().next().is_some_and(|line| line.ends_with(" Revision 1.")), "{out}");
    let mut server = server(dir.path(), &[], "some client");
    let edit = serde_json::json!({ "path": "b.txt", "old_str": "nothing", "new_str": "x\ny" });
    assert!(!server.said("edit_file", edit).1);
    let (_, out, _) = run(&dir, &["log"]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].ends_with("  edited b.txt lines 2-3  by some client"), "{out}");
    assert!(lines[1].ends_with("  edited src/a.py line 2"), "{out}");
    assert_eq!(run(&dir, &["log", "-n", "1"]).1.lines().count(), 1);
    let (_, out, _) = run(&dir, &["log", "src", "--diff"]);
    assert!(out.contains("\n-    return 1\n+    return 2\n") && !out.contains("b.txt"), "{out}");
    let (_, out, _) = run(&dir, &["--json", "log", "b.txt"]);
    let reply: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let revisions = reply["report"]["revisions"].as_array().expect("revisions");
    assert_eq!(revisions.len(), 1, "{reply}");
    assert_eq!(revisions[0]["files"][0]["lines"], serde_json::json!([2, 3]));
}

#[test]
fn the_log_shows_what_was_undone_and_says_why_it_has_no_diff() {
    let dir = project();
    let long = format!("x = '{}'", "long ".repeat(1000));
    assert_eq!(run(&dir, &["edit", "src/a.py", "--old", "return 1", "--new", &long]).0, Some(0));
    assert_eq!(run(&dir, &["undo", "1"]).0, Some(0));
    let (_, out, _) = run(&dir, &["log", "--diff"]);
    assert_eq!(out.matches("@@ -").count(), 2, "{out}");
    // The history has old versions as files of their own.
    for folder in walk(&dir.path().join(".state")) {
        if folder.ends_with("blobs") {
            std::fs::remove_dir_all(folder).expect("removed");
        }
    }
    let (code, out, _) = run(&dir, &["log", "--diff"]);
    assert_eq!((code, out.matches("\n        (no diff: ").count()), (Some(0), 2), "{out}");
    let (_, out, _) = run(&dir, &["--json", "log", "--diff"]);
    assert!(out.contains("\"no_diff\":\""), "{out}");
}

/// Every folder below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("folder").map(|e| e.expect("entry").path());
    let folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.iter().flat_map(|path| walk(path)).chain(folders.iter().cloned()).collect()
}

#[test]
fn completions_know_the_clients() {
    let dir = project();
    for shell in ["bash", "zsh", "fish"] {
        let (_, script, _) = run(&dir, &["completions", shell]);
        assert!(script.contains("claude") && script.contains("opencode"), "{shell}");
    }
    let (code, _, err) = run(&dir, &["init", "nosuch"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("restitch mcp"), "an unknown client is told of `restitch mcp`: {err}");
}

#[test]
fn apply_names_the_file_that_it_cannot_read() {
    let (code, _, err) = run(&project(), &["apply", "nosuch"]);
    assert!(code == Some(2) && err.contains("nosuch"), "{err}");
}

#[test]
fn refusals_of_a_command_use_its_flags() {
    let dir = project();
    let (_, out, _) = run(&dir, &["search", ""]);
    assert!(out.contains(": the term is empty"), "{out}");
    let (_, out, _) = run(&dir, &["search", "x", "--path", "nosuch"]);
    assert!(out.contains("--path") && !out.contains("list_files"), "{out}");
    let (_, out, _) = run(&dir, &["search", "x", "--glob", "[a"]);
    assert!(out.contains("--glob"), "{out}");
}

#[test]
fn a_terminal_shows_the_diff_in_colour() {
    let dir = project();
    let out = binary(dir.path())
        .env("CLICOLOR_FORCE", "1")
        .args(["edit", "src/a.py", "--old", "return 1", "--new", "return 2"])
        .output()
        .expect("runs");
    let out = String::from_utf8(out.stdout).expect("UTF-8");
    assert!(out.contains("\u{1b}[31m-    return 1\u{1b}[0m"), "{out:?}");
    assert!(out.contains("\u{1b}[32m+    return 2\u{1b}[0m"), "{out:?}");
    assert!(!out.contains("<<2>>"), "{out:?}");
}
