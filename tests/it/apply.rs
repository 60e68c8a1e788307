//! The pure function, its two ways over the command line, and a store of the caller's own.

use std::process::{Command, Output};

use restitch::edit::EditCode;
use restitch::engine::{CallOptions, Engine};
use restitch::store::VersionedStore;
use restitch::{Applier, EditRequest, apply, apply_bytes, apply_many};
use serde_json::Value;

use crate::in_memory::OwnFiles;
use crate::rows;
use crate::sandbox::finish;

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command.args(arguments).env_remove("HOME").env("RESTITCH_STATE_DIR", "/nowhere/at/all");
    command.current_dir("/");
    finish(command, input)
}

#[test]
fn many_are_decided_on_the_text_as_it_is() {
    let text = "one\r\ntwo\r\nthree\r\n";
    let calls = [EditRequest::new("three", "two"), EditRequest::new("one\ntwo", "1\n2")];
    let done = apply_many(text, &calls).expect("applied");
    assert_eq!(done.text, "1\r\n2\r\ntwo\r\n");
    assert_eq!((done.replacements, done.spans().len()), (2, 2));
    let calls = [EditRequest::new("one", "1"), EditRequest::new("one\ntwo", "2")];
    assert_eq!(apply_many(text, &calls).expect_err("they touch").code, EditCode::Overlap);
    let calls = [EditRequest::new("one", "1"), EditRequest::new("four", "4")];
    assert!(apply_many(text, &calls).expect_err("absent").message.starts_with("edit 2 of 2: "));
    assert_eq!(apply_many(text, &[]).expect_err("none").code, EditCode::InvalidArguments);
}

#[test]
fn a_text_is_kept_as_it_is_outside_the_edit() {
    // A mark in front and a NUL are text here; bytes have an encoding.
    for text in ["\u{feff}a\nb\n", "a\nb\n\0"] {
        let done = apply(text, &EditRequest::new("b", "c")).expect("applied");
        assert_eq!(done.text, text.replace('b', "c"));
    }
    let utf16 = b"\xFF\xFEa\0\n\0b\0\n\0";
    let done = apply_bytes(None, utf16, &[EditRequest::new("b", "c")]).expect("applied");
    assert_eq!(done.text, b"\xFF\xFEa\0\n\0c\0\n\0");
    let refused = apply_bytes(None, b"\x7fELF\0\0\0\x01\0", &[EditRequest::new("a", "b")]);
    assert_eq!(refused.expect_err("no text").code, EditCode::NotText);
}

#[test]
fn the_path_names_the_language_and_the_diff() {
    let call = [EditRequest::new("f(a,b)", "f(a, b, c)")];
    let text = "x = f(a, b)\n";
    let apply_at = |path| Applier::default().text(path, text, &call);
    let unknown = apply_at(None).expect_err("of an unknown language nothing is guessed");
    let hint = unknown.hint.as_deref().unwrap_or_default();
    assert_eq!(hint.matches("Name it with `path`.").count(), 1, "{hint}");
    assert!(!hint.contains("`language`"), "{hint}");
    let done = apply_at(Some("/src/x.py")).expect("Python");
    assert_eq!(done.text, "x = f(a, b, c)\n");
    assert!(done.diff().starts_with("--- a/src/x.py\n"), "{}", done.diff());
    assert_eq!(apply(text, &call[0].clone().for_path("/src/x.py")).expect("as well"), done);
    assert_eq!(apply_at(Some("../x")).expect_err("up").code, EditCode::InvalidPath);
}

#[test]
fn text_in_text_out_without_a_folder_or_state() {
    let done = run(&["edit", "-", "--old", "two", "--new", "2\n2b"], b"one\r\ntwo\r\n");
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(done.stdout, b"one\r\n2\r\n2b\r\n");
    let refused = run(&["edit", "-", "--old", "three", "--new", "3"], b"one\n");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(refused.stdout, b"", "stdout is the text, and there is none");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("EDIT_NO_OCCURRENCE_FOUND"));
    let named = ["edit", "-", "--language", "py", "--old", "f(a,b)", "--new", "g(a,b)"];
    assert_eq!(run(&named, b"f(a, b)\n").stdout, b"g(a, b)\n");
    for wrong in [
        &["edit", "-", "--old", "-", "--new", "x"][..],
        &["edit", "-", "--language", "klingon", "--old", "a", "--new", "x"],
        &["edit", "file", "--language", "py", "--old", "a", "--new", "x"],
    ] {
        assert_eq!(run(wrong, b"a\n").status.code(), Some(2), "{wrong:?}");
    }
    let json = run(&["--json", "edit", "-", "--old", "a", "--new", "b"], b"a\n");
    let reply: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(reply["report"]["text"], "b\n");
}

#[test]
fn texts_come_from_a_file_or_from_stdin_and_a_dry_run_writes_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path().display().to_string();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").expect("file");
    let text = || std::fs::read_to_string(folder.path().join("a.txt")).expect("file");
    std::fs::write(folder.path().join("old"), "one\ntwo\n").expect("old");
    let old = format!("{root}/old");
    let edit = ["--root", &root, "edit", "a.txt", "--old-file", &old, "--new", "-"];
    let dry = run(&[&edit[..], &["--dry-run"]].concat(), b"1\n2\n");
    assert_eq!((dry.status.code(), text().as_str()), (Some(0), "one\ntwo\n"));
    assert!(String::from_utf8_lossy(&dry.stdout).contains("<<2>>2"), "{dry:?}");
    assert_eq!(run(&edit, b"1\n2\n").status.code(), Some(0));
    assert_eq!(text(), "1\n2\n");
    // What begins with `@` is a text, as in Python and in CSS.
    let at = ["--root", &root, "edit", "a.txt", "--old", "1", "--new", "@dataclass"];
    assert_eq!(run(&at, b"").status.code(), Some(0));
    assert_eq!(text(), "@dataclass\n2\n");
    let missing = ["--root", &root, "edit", "a.txt", "--old-file", "/no/such/file", "--new", "x"];
    let refused = run(&missing, b"");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("/no/such/file"), "{refused:?}");
}

#[test]
fn batch_decides_on_a_text() {
    let rows: Vec<Value> = rows::rows(include_str!("apply.jsonl"));
    let requests: String = rows.iter().map(|row| format!("{}\n", row["request"])).collect();
    let done = run(&["batch"], requests.as_bytes());
    let replies = String::from_utf8_lossy(&done.stdout);
    assert_eq!(replies.lines().count(), rows.len(), "{done:?}");
    for (row, reply) in rows.iter().zip(replies.lines()) {
        let reply: Value = serde_json::from_str(reply).expect("JSON");
        let given = if reply["ok"] == true { &reply["report"]["text"] } else { &reply["code"] };
        assert_eq!(*given, row["gives"], "{row}: {reply}");
    }
}

#[test]
fn what_one_command_stages_would_be_lost() {
    for command in
        [&["edit", "--stage", "x", "--old", "a", "--new", "b"][..], &["apply", "--stage"]]
    {
        let done = run(command, b"");
        assert_eq!(done.status.code(), Some(2), "{command:?}");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains("'--stage'"), "{said}");
    }
}

#[tokio::test]
async fn a_store_of_the_callers_own() {
    let sandbox = OwnFiles::default();
    sandbox.put("a.txt", b"one\ntwo\n");
    sandbox.put("b.txt", b"three\n");
    let engine = Engine::builder(VersionedStore::new(sandbox.clone(), "/work")).build();
    let options = CallOptions::default();
    let path = |raw: &str| engine.path(raw).expect("a path");

    // Another writer comes between: the edit is decided again on what is there by then.
    sandbox.lock().saved_before_write = Some(("a.txt", b"zero\none\ntwo\n"));
    let two = EditRequest::new("two", "2");
    let report = engine.edit_file(&path("/work/a.txt"), &two, &options).await.expect("applied");
    assert_eq!(sandbox.text("a.txt").as_deref(), Some("zero\none\n2\n"));
    assert_eq!(report.revision, Some(1));

    // It comes where the edit goes: refused, and nothing is lost.
    sandbox.lock().saved_before_write = Some(("a.txt", b"other\n"));
    let refused = engine.edit_file(&path("a.txt"), &EditRequest::new("one", "1"), &options).await;
    assert!(refused.is_err());
    assert_eq!(sandbox.text("a.txt").as_deref(), Some("other\n"));
    assert_eq!(engine.undo(None, &options).await.expect_err("changed").code, EditCode::Conflict);
    sandbox.put("a.txt", b"zero\none\n2\n");
    assert_eq!(engine.undo(None, &options).await.expect("undone").0, 1);
    assert_eq!(sandbox.text("a.txt").as_deref(), Some("zero\none\ntwo\n"));

    // The second of two cannot be written: the first is put back.
    sandbox.lock().broken = Some("b.txt");
    let both = [
        (path("a.txt"), EditRequest::new("one", "1")),
        (path("b.txt"), EditRequest::new("three", "3")),
    ];
    let refused = engine.multi_edit(&both, &options).await.expect_err("broken");
    assert_eq!(refused.code, EditCode::WriteError);
    assert!(refused.message.contains("disk on fire"), "{}", refused.message);
    assert_eq!(sandbox.text("a.txt").as_deref(), Some("zero\none\ntwo\n"));

    // A file is made, and unmade.
    sandbox.lock().broken = None;
    let new = EditRequest::new("", "new\n");
    engine.edit_file(&path("c.txt"), &new, &options).await.expect("made");
    assert_eq!(sandbox.text("c.txt").as_deref(), Some("new\n"));
    engine.undo(None, &options).await.expect("unmade");
    assert_eq!(sandbox.text("c.txt"), None);
    let log = engine.log().await.expect("a log");
    assert_eq!(log.iter().filter(|entry| entry.undoes.is_some()).count(), 2);
    // The first edit is the last of the log; it was undone, and its diff is there.
    let first = log.last().expect("the first edit");
    assert_eq!(first.files[0].lines, Some((3, 3)));
    let reports = engine.committed(first.revision).await.expect("what it wrote");
    assert!(reports[0].diff.contains("-two\n+2\n"), "{}", reports[0].diff);
}
