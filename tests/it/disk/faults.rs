//! What holds where something else has gone wrong already: another program saves in between, the
//! state folder cannot be written, no file can be opened, a recovery itself fails.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use restitch::edit::{EditCode, EditRequest, VerifiedEdit, WorkPath};
use restitch::engine::{CallOptions, Engine, UndoScope};
use restitch::internals::engine::HashlineRequest;
use restitch::port::{CommitOptions, FileStore, RequestId, RequestStatus};
use restitch::store::{MemoryStore, VersionedStore};
use restitch::tools::Toolbox;
use serde_json::{Value, json};

use crate::in_memory::OwnFiles;
use crate::random::Random;
use crate::says::says;

use super::{Sandbox, block_on, count, edit, has, skip, strace, whole_file_edit, work_path};

fn whole(name: &str, old: &str, new: &str) -> VerifiedEdit {
    whole_file_edit(&work_path(name), Some(old.as_bytes()), new.as_bytes())
}

#[tokio::test]
async fn a_save_between_an_edit_and_its_rename_is_not_lost() {
    let files = OwnFiles::default();
    files.put("a", b"one\ntwo\n");
    files.lock().saved_after_read = Some(("a", b"one\nTWO\n"));
    let store = Arc::new(VersionedStore::new(files, "/own"));
    let edits = json!([{ "op": "append", "lines": ["three"] }]);
    let arguments = json!({ "path": "a", "edits": edits, "rename": "b" });
    let toolbox = Toolbox::new(Engine::builder(store.clone()).build());
    let reply = toolbox.call("hashline_edit", arguments, &CallOptions::default()).await;
    assert_eq!(reply.code, Some(EditCode::Conflict), "{}", reply.message);
    assert_eq!(store.load(&work_path("a")).await.expect("kept"), b"one\nTWO\n");
    store.load(&work_path("b")).await.expect_err("not written");
}

#[test]
fn a_whole_file_goes_only_as_the_version_that_is_meant() {
    let work = Sandbox::in_memory().with("a", "new\n");
    let engine = work.engine();
    let path = work_path("a");
    let old = restitch::internals::text::ContentHash::of(b"old\n").to_string();
    let now = restitch::internals::text::ContentHash::of(b"new\n").to_string();
    for rename in [None, Some(work_path("b"))] {
        let request = |snapshot: &str| HashlineRequest {
            delete: rename.is_none(),
            rename: rename.clone(),
            snapshot: Some(snapshot.to_owned()),
            ..HashlineRequest::default()
        };
        let options = CallOptions::default();
        let refused = block_on(engine.hashline_edit(&path, &request(&old), &options));
        assert_eq!(refused.expect_err("another version").code, EditCode::StaleAnchor);
        assert_eq!(fs::read_to_string(work.file("a")).expect("kept"), "new\n");
        block_on(engine.hashline_edit(&path, &request(&now[..12]), &options)).expect("this one");
        fs::write(work.file("a"), "new\n").expect("file");
    }
}

/// The folder of the history of a root.
fn history_of(work: &Sandbox) -> PathBuf {
    let mut entries = fs::read_dir(work.state().join("history")).expect("histories").flatten();
    entries.find(|entry| entry.path().is_dir()).expect("one root").path()
}

#[test]
fn an_edit_without_a_record_has_no_revision() {
    let work = Sandbox::in_memory();
    for name in ["a", "b"] {
        fs::write(work.file(name), "one\n").expect("file");
    }
    let (mine, other) = (work.engine(), work.engine());
    let log = history_of(&work).join("log");
    fs::create_dir(&log).expect("in the way");
    let report = edit(&mine, "a", "one", "mine").expect("edited all the same");
    assert_eq!(report.revision, None);
    assert!(report.explanation.warnings.iter().any(|what| what.contains("cannot be undone")));
    fs::remove_dir(&log).expect("out of the way");
    let theirs = edit(&other, "b", "one", "theirs").expect("edited");
    assert_eq!(theirs.revision, Some(1));
    let options = CallOptions { undo_scope: UndoScope::Session, ..CallOptions::default() };
    let refused = block_on(mine.undo(None, &options)).expect_err("nothing of this session");
    assert_eq!(refused.code, EditCode::NoChange, "{refused}");
    assert_eq!(work.text("b"), "theirs\n");
}

#[test]
fn a_failed_edit_without_a_record_discards_no_other_record() {
    let work = Sandbox::in_memory().with("a", "one\n");
    let mine = work.engine();
    let log = history_of(&work).join("log");
    fs::create_dir(&log).expect("in the way");
    // Refused once the write has begun: a folder has taken the place of the file to create.
    let (from, to) = (work_path("a"), work_path("b/c"));
    fs::write(work.file("b"), "a file\n").expect("file");
    let request = HashlineRequest { rename: Some(to), ..HashlineRequest::default() };
    block_on(mine.hashline_edit(&from, &request, &CallOptions::default())).expect_err("no folder");
    fs::remove_dir(&log).expect("out of the way");
    edit(&mine, "a", "one", "two").expect("edited");
    let (undone, _) = block_on(mine.undo(None, &CallOptions::default())).expect("undone");
    assert_eq!(undone, 1);
    assert_eq!(work.text("a"), "one\n");
}

#[test]
fn several_files_are_refused_if_a_crash_could_not_be_rolled_back() {
    let work = Sandbox::in_memory();
    let store = work.store();
    let batch = || -> Vec<VerifiedEdit> {
        let edits = ["a", "b"].map(|name| {
            fs::write(work.file(name), "one\n").expect("file");
            whole(name, "one\n", "two\n")
        });
        edits.into()
    };
    for (in_the_way, is_folder) in [("log", true), ("open", false)] {
        let path = history_of(&work).join(in_the_way);
        match is_folder {
            true => fs::create_dir(&path).expect("in the way"),
            false => fs::write(&path, "").expect("in the way"),
        }
        let refused = block_on(store.commit(batch(), CommitOptions::default()));
        let refused = refused.expect_err("no record");
        assert!(refused.message.contains("half done"), "{refused}");
        assert!(refused.hint.is_some_and(|hint| hint.contains("one file per call")));
        for name in ["a", "b"] {
            assert_eq!(work.text(name), "one\n");
        }
        match is_folder {
            true => fs::remove_dir(&path).expect("out of the way"),
            false => fs::remove_file(&path).expect("out of the way"),
        }
    }
    block_on(store.commit(batch(), CommitOptions::default())).expect("commits");
    assert_eq!(work.leftover_files(), Vec::<String>::new());
}

const NOWHERE: &str = "/dev/null";

/// What an edit of one file stores need not survive a power cut. What a commit of several files would be
/// rolled back from must, whoever has stored it.
#[test]
fn a_version_that_an_edit_stored_is_synced_before_a_commit_depends_on_it() {
    if !has("strace") {
        return skip("sync of a stored version", "strace is not installed");
    }
    let work = Sandbox::in_memory();
    let lines = |word: &str| (0..400).map(|n| format!("{word} {n}\n")).collect::<String>();
    // Too large a change for the log, so both versions are stored.
    let (one, two) = (lines("one"), lines("two"));
    fs::write(work.file("a"), &one).expect("file");
    fs::write(work.file("b"), "one\n").expect("file");
    block_on(work.store().commit(vec![whole("a", &one, &two)], CommitOptions::default()))
        .expect("edit of one file");
    let stored = restitch::internals::text::ContentHash::of(two.as_bytes()).to_string();
    assert!(history_of(&work).join("blobs").join(&stored).exists());
    let patch = work.outside().join("patch");
    let text = "--- a\n+++ a\n@@ -1 +1 @@\n-two 0\n+three\n--- b\n+++ b\n@@ -1 +1 @@\n-one\n+two\n";
    fs::write(&patch, text).expect("patch");
    let log = work.outside().join("trace");
    let apply = ["apply", patch.to_str().expect("path")];
    let out = strace(&work, &log, &[], &apply).output().expect("strace");
    assert!(out.status.success(), "{out:?}");
    let trace = fs::read_to_string(&log).expect("trace");
    let is_sync = |line: &str| line.contains("fsync(") && line.contains(&stored);
    let synced = trace.lines().position(is_sync);
    let written = trace.lines().position(|line| line.contains("renameat2("));
    assert!(written.is_some() && synced < written && synced.is_some(), "{synced:?} {written:?}");
}

#[test]
fn a_rollback_that_fails_is_tried_again() {
    if !has("strace") {
        return skip("rollback that fails", "strace is not installed");
    }
    let work = Sandbox::in_memory();
    killed_between_two_files(&work);
    let (old, new) = ("one\n2\n3\n4\n5\n", "two\n2\n3\n4\n5\n");
    for fault in ["renameat2:error=ENOSPC", "openat2:error=EMFILE:when=3+", "fsync:error=EIO"] {
        strace(&work, Path::new(NOWHERE), &[fault], &["log"]).output().expect("strace");
    }
    if work.text("a") == new {
        // What is still half done is said with the next edit.
        fs::write(work.file("c"), "one\n").expect("file");
        let edit = ["edit", "c", "--old", "one", "--new", "two"];
        let out = strace(&work, Path::new(NOWHERE), &["fsync:error=EIO:when=1"], &edit)
            .output()
            .expect("strace");
        let answer = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(answer.contains("half done") || work.text("a") == old, "{answer}");
    }
    let log = work.restitch(&["log"]).output().expect("log");
    assert!(log.status.success());
    assert_eq!((work.text("a"), work.text("b")), (old.to_owned(), old.to_owned()));
}

/// A commit of two files, killed between the two.
fn killed_between_two_files(work: &Sandbox) {
    let patch = work.outside().join("patch");
    fs::write(&patch, PATCH).expect("patch");
    for name in ["a", "b"].map(|name| work.file(name)).iter().filter(|name| !name.exists()) {
        fs::write(name, "one\n2\n3\n4\n5\n").expect("file");
    }
    for when in 1..12 {
        let kill = format!("renameat2:signal=KILL:when={when}");
        let arguments = ["apply", patch.to_str().expect("path")];
        strace(work, Path::new(NOWHERE), &[&kill], &arguments).output().expect("strace");
        if work.text("a") != work.text("b") {
            break;
        }
    }
    assert!(work.text("a").starts_with("two\n") && work.text("b").starts_with("one\n"));
}

#[test]
fn a_rollback_keeps_what_an_editor_saved_after_the_crash() {
    if !has("strace") {
        return skip("rollback below an editor", "strace is not installed");
    }
    let work = Sandbox::in_memory();
    killed_between_two_files(&work);
    // In the file that the commit has written, and in the one that it has not.
    fs::write(work.file("a"), "two\n2\n3\n4\nsaved\n").expect("saved");
    fs::write(work.file("b"), "one\n2\n3\n4\nsaved\n").expect("saved");
    assert!(work.restitch(&["log"]).output().expect("log").status.success());
    for name in ["a", "b"] {
        assert_eq!(work.text(name), "one\n2\n3\n4\nsaved\n", "{name}");
    }
}

#[test]
fn what_cannot_be_rolled_back_is_told_by_doctor() {
    if !has("strace") {
        return skip("doctor after a crash", "strace is not installed");
    }
    let work = Sandbox::in_memory();
    killed_between_two_files(&work);
    fs::write(work.file("a"), "three\n2\n3\n4\n5\n").expect("saved");
    let run = |arguments: &[&str]| {
        let out = work.restitch(&[]).arg("--no-model").args(arguments).output().expect("restitch");
        let text = [out.stdout, out.stderr].concat();
        (out.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (is_well, told) = run(&["doctor"]);
    assert!(!is_well, "{told}");
    let revision = told.split("revision ").nth(1).and_then(|rest| rest.split(',').next());
    let revision = revision.expect("a number");
    says(&told, &["half done", "`a` has something else, `b` has not", "by hand"]);
    // What the message says to remove is there.
    let mark = told.split("then remove ").nth(1).and_then(|rest| rest.split(".\n").next());
    let mark = Path::new(mark.expect("a path"));
    assert!(mark.exists(), "{told}");
    // With its lines back, the commit is taken back as `doctor` says.
    fs::write(work.file("a"), "two\n2\n3\n4\n5\n").expect("saved");
    let (_, told) = run(&["doctor"]);
    assert!(told.contains(&format!("`restitch undo {revision}` takes it back")), "{told}");
    let (is_undone, told) = run(&["undo", revision]);
    assert!(is_undone, "{told}");
    assert_eq!(work.text("a"), "one\n2\n3\n4\n5\n");
    assert!(!mark.exists());
    let (is_well, told) = run(&["doctor"]);
    assert!(is_well, "{told}");
}

/// The binary with this limit of open files, which it cannot raise.
fn limited(work: &Sandbox, limit: &str, arguments: &[&str]) -> std::process::Output {
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_restitch"), "--root"]).arg(work.root());
    command.arg("--json").args(arguments).env("RESTITCH_STATE_DIR", work.state());
    command.output().expect("sh")
}

#[test]
fn without_free_descriptors_the_answer_is_true() {
    let create = ["--no-model", "edit", "new", "--old", "", "--new", "x\n"];
    let replace = ["--no-model", "edit", "f", "--old", "old", "--new", "x"];
    let (mut refused, mut written) = (0, 0);
    for (arguments, name, before) in [(create, "new", None), (replace, "f", Some("old\n"))] {
        for limit in 3..40 {
            let work = Sandbox::in_memory().with("f", "old\n");
            let out = limited(&work, &format!("-n {limit}"), &arguments);
            let now = fs::read_to_string(work.file(name)).ok();
            let Ok(reply) = serde_json::from_slice::<Value>(&out.stdout) else {
                assert_eq!(now.as_deref(), before, "{limit}: {out:?}");
                let said = String::from_utf8_lossy(&out.stderr);
                // With fewer, the loader of programs ends it.
                let is_ours = limit > 4;
                assert!(!is_ours || said.contains("ulimit -n"), "{limit}: {said}");
                assert!(!said.contains("panicked"), "{limit}: {said}");
                continue;
            };
            let message = reply["message"].as_str().unwrap_or_default();
            match reply["ok"] == true {
                true => assert_eq!(now.as_deref(), Some("x\n"), "{limit}: {message}"),
                false => assert_eq!(now.as_deref(), before, "{limit}: {message}"),
            }
            assert!(!message.contains("another program"), "{limit}: {message}");
            refused += usize::from(reply["ok"] == false);
            written += usize::from(reply["ok"] == true);
        }
    }
    assert!(refused > 0 && written > 0, "{refused} refused, {written} written");
}

#[test]
fn a_commit_of_many_files_does_not_run_out_of_descriptors() {
    let work = Sandbox::in_memory();
    let mut patch = String::new();
    for n in 0..400 {
        fs::write(work.file(&format!("f{n}")), "one\n").expect("file");
        patch += &format!("--- f{n}\n+++ f{n}\n@@ -1 +1 @@\n-one\n+two\n");
    }
    let file = work.outside().join("patch");
    fs::write(&file, patch).expect("patch");
    let apply = |limit| limited(&work, limit, &["apply", file.to_str().expect("path")]);
    // The hard limit is what counts.
    let few = apply("-n 300");
    assert_eq!(few.status.code(), Some(3), "{few:?}");
    assert!(String::from_utf8_lossy(&few.stdout).contains("fewer files"), "{few:?}");
    assert!((0..400).all(|n| work.text(&format!("f{n}")) == "one\n"));
    let many = apply("-S -n 300");
    assert!(many.status.success(), "{many:?}");
    assert!((0..400).all(|n| work.text(&format!("f{n}")) == "two\n"));
    assert_eq!(work.leftover_files(), Vec::<String>::new());
}

#[test]
fn two_edits_of_one_file_in_a_commit_are_refused() {
    let work = Sandbox::in_memory().with("a", "one\n");
    fs::hard_link(work.file("a"), work.file("b")).expect("link");
    let start = std::time::Instant::now();
    let batch = vec![whole("a", "one\n", "two\n"), whole("b", "one\n", "three\n")];
    let refused = block_on(work.store().commit(batch, CommitOptions::default()));
    assert_eq!(refused.expect_err("one file").code, EditCode::Overlap);
    assert!(start.elapsed().as_secs() < 5, "waited for its own lock: {:?}", start.elapsed());
    let memory = MemoryStore::default();
    memory.put(work_path("a"), b"one\n".to_vec());
    let engine = Engine::builder(memory).build();
    for engine in [engine.clone(), engine.staged()] {
        let twice = ["two\n", "three\n"].map(|new| whole("./a", "one\n", new));
        let refused = block_on(engine.commit(twice.into(), &CallOptions::default()));
        assert_eq!(refused.expect_err("one file").code, EditCode::Overlap);
        let now = block_on(engine.snapshot(&work_path("a"))).expect("file");
        assert_eq!(now.text(), "one\n");
    }
}

#[test]
fn two_files_of_one_patch_that_get_one_name_are_refused() {
    let add_and_move = "*** Begin Patch\n*** Add File: c\n+new\n*** Update File: a\n*** Move to: c\n@@\n-one\n+1\n*** End Patch";
    let two_moves = "*** Begin Patch\n*** Update File: a\n*** Move to: c\n@@\n-one\n+1\n*** Update File: b\n*** Move to: ./c\n@@\n-two\n+2\n*** End Patch";
    for patch in [add_and_move, two_moves] {
        let work = Sandbox::in_memory();
        for (name, text) in [("a", "one\n"), ("b", "two\n")] {
            fs::write(work.file(name), text).expect("file");
        }
        let memory = MemoryStore::default();
        memory.put(work_path("a"), b"one\n".to_vec());
        memory.put(work_path("b"), b"two\n".to_vec());
        let memory = Engine::builder(memory).build();
        for engine in [work.engine(), memory.clone(), memory.staged()] {
            let tools = Toolbox::new(engine);
            let patch = json!({ "input": patch });
            let reply = block_on(tools.call("apply_patch", patch, &CallOptions::default()));
            assert!(!reply.ok, "{}", reply.message);
            for (name, text) in [("a", "one\n"), ("b", "two\n")] {
                let now = block_on(tools.engine().snapshot(&work_path(name))).expect("file");
                assert_eq!(now.text(), text, "{}", reply.message);
            }
            block_on(tools.engine().snapshot(&work_path("c"))).expect_err("nothing is written");
        }
    }
}

#[test]
fn a_dry_run_says_what_the_commit_would() {
    let work = Sandbox::in_memory();
    for name in ["a", "b"] {
        fs::write(work.file(name), "one\n").expect("file");
    }
    let request = HashlineRequest { rename: Some(work_path("b")), ..HashlineRequest::default() };
    let options = CallOptions { dry_run: true, ..CallOptions::default() };
    let refused = block_on(work.engine().hashline_edit(&work_path("a"), &request, &options));
    assert_eq!(refused.expect_err("b is there").code, EditCode::CreateExisting);
}

#[test]
fn staging_answers_a_repeated_request_and_names_what_takes_edits_back() {
    let work = Sandbox::in_memory();
    let engine = Engine::builder(work.store()).build().staged();
    let staging = engine.staging().expect("staged");
    let id = RequestId::new("r1");
    assert!(matches!(block_on(engine.recall(&id)), RequestStatus::Unknown));
    block_on(engine.remember(&id, "answer".to_owned()));
    assert!(
        matches!(block_on(engine.recall(&id)), RequestStatus::Answered(text) if text == "answer")
    );
    let refused = block_on(engine.undo(None, &CallOptions::default())).expect_err("staged");
    assert!(refused.hint.is_some_and(|hint| hint.contains("discard")));
    block_on(staging.discard());
    assert!(matches!(block_on(engine.recall(&id)), RequestStatus::Unknown));
}

#[test]
fn a_staged_commit_that_left_a_file_written_does_not_say_that_nothing_was() {
    let files = OwnFiles::default();
    files.lock().writes_left = Some(1);
    for name in ["a", "b"] {
        files.put(name, b"one\n");
    }
    let store = Arc::new(VersionedStore::new(files, "/own"));
    let engine = Engine::builder(store.clone()).build().staged();
    for name in ["a", "b"] {
        edit(&engine, name, "one", "uno").expect("edit");
    }
    let staging = engine.staging().expect("staged");
    let refused = block_on(staging.commit_staged(CommitOptions::default())).expect_err("failed");
    let a = WorkPath::parse("a", engine.root()).expect("path");
    assert_eq!(block_on(store.load(&a)).expect("a"), b"uno\n", "it was not restored");
    let text = refused.text();
    assert!(text.contains("could not be restored: a"), "{text}");
    assert!(!text.contains("Nothing was written"), "{text}");
}

#[test]
fn a_versioned_store_undoes_a_change_below_later_ones() {
    let files = OwnFiles::default();
    files.put("a", b"one\ntwo\nthree\nfour\n");
    let engine = Engine::builder(VersionedStore::new(files, "/own")).build();
    edit(&engine, "a", "two", "TWO").expect("edit");
    edit(&engine, "a", "four", "FOUR").expect("edit");
    edit(&engine, "a", "TWO", "ZWEI").expect("edit");
    let undo = |revision| block_on(engine.undo(Some(revision), &CallOptions::default()));
    let now = || {
        let path = WorkPath::parse("a", engine.root()).expect("path");
        block_on(engine.snapshot(&path)).expect("file").text().to_owned()
    };
    let refused = undo(1).expect_err("revision 3 changed that line");
    assert!(refused.to_string().contains("revision 3"), "{refused}");
    undo(2).expect("below a later edit");
    assert_eq!(now(), "one\nZWEI\nthree\nfour\n");
    undo(3).expect("undone");
    undo(1).expect("undone");
    assert_eq!(now(), "one\ntwo\nthree\nfour\n");
}

#[test]
fn a_sub_folder_has_the_history_of_its_project() {
    let work = Sandbox::in_memory();
    fs::create_dir_all(work.file("src")).expect("folder");
    fs::create_dir(work.file(".git")).expect("git");
    fs::write(work.file("x"), "one\n").expect("file");
    fs::write(work.file("src/y"), "one\n").expect("file");
    let run = |folder: &str, arguments: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_restitch"))
            .current_dir(work.file(folder))
            .args(arguments)
            .env("RESTITCH_STATE_DIR", work.state())
            .output()
            .expect("runs");
        // A search without a hit ends with 1.
        let is_search = arguments[0] == "search";
        assert!(out.status.success() || is_search, "{folder}: {arguments:?}: {out:?}");
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    run("", &["edit", "x", "--old", "one", "--new", "two"]);
    assert!(run("src", &["log"]).contains(" x"));
    run("src", &["edit", "../x", "--old", "two", "--new", "three"]);
    run("src", &["edit", "y", "--old", "one", "--new", "two"]);
    assert!(run("src", &["read", "y"]).contains("two"));
    let found = run("src", &["search", "three"]);
    assert!(found.starts_with("0 lines"), "only the current folder is searched: {found}");
    assert!(run("", &["search", "two"]).contains("src/y"));
    run("", &["undo"]);
    run("src", &["undo"]);
    assert_eq!((work.text("x"), work.text("src/y")), ("two\n".into(), "one\n".into()));
}

#[test]
fn a_line_number_beyond_any_file_is_answered_at_once() {
    let work = Sandbox::in_memory().with("a", "one\ntwo\none\n");
    let engine = work.engine();
    edit(&engine, "a", "two", "zwei").expect("edit");
    fs::write(work.file("a"), "zero\none\nzwei\nthree\none\n").expect("another program");
    let start = std::time::Instant::now();
    let request = EditRequest::new("one", "1").near_line(10_000_000_000_000_usize);
    let _ = block_on(engine.edit_file(&work_path("a"), &request, &CallOptions::default()));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// The files of a root, without temporary ones.
type Tree = std::collections::BTreeMap<String, String>;

fn tree(work: &Sandbox) -> Tree {
    let entries = fs::read_dir(work.root()).expect("root").map(|entry| entry.expect("entry"));
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().expect("name");
        let text = fs::read(entry.path()).expect("file");
        (name, String::from_utf8_lossy(&text).into_owned())
    };
    entries.map(file).filter(|(name, _)| !name.contains(".restitch-")).collect()
}

const PATCH: &str = "\
--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n\
--- b\n+++ b\n@@ -1 +1 @@\n-one\n+two\n";

/// Changes, removes, creates and renames a file.
const KINDS: &str = "\
diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n\
diff --git a/b b/b\ndeleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n\
diff --git a/c b/c\nnew file mode 100644\n--- /dev/null\n+++ b/c\n@@ -0,0 +1 @@\n+new\n\
diff --git a/d b/e\nsimilarity index 100%\nrename from d\nrename to e\n";

#[test]
fn a_fault_in_a_commit_leaves_the_truth() {
    faults_in("commit", |_, _| {}, |patch| vec!["apply", patch], false);
}

#[test]
fn a_fault_in_an_undo_leaves_the_truth() {
    faults_in("undo", applied, |_| vec!["undo"], false);
}

#[test]
fn a_fault_in_a_rollback_leaves_the_truth() {
    let killed = |work: &Sandbox, _: &str| killed_between_two_files(work);
    faults_in("rollback", killed, |_| vec!["log"], true);
}

#[test]
fn a_fault_in_a_commit_of_all_kinds_leaves_the_truth() {
    let kinds = |_: &Sandbox, patch: &str| fs::write(patch, KINDS).expect("patch");
    faults_in("commit of kinds", kinds, |patch| vec!["apply", patch], false);
}

#[test]
fn a_fault_in_an_undo_of_all_kinds_leaves_the_truth() {
    let kinds = |work: &Sandbox, patch: &str| {
        fs::write(patch, KINDS).expect("patch");
        applied(work, patch);
    };
    faults_in("undo of kinds", kinds, |_| vec!["undo"], false);
}

#[test]
fn a_fault_in_a_rollback_in_place_leaves_the_truth() {
    let torn = |work: &Sandbox, _: &str| {
        // The write that may not replace the file ends before it has cut off the old end.
        let faults = ["renameat2:error=EBUSY", "ftruncate:signal=KILL"];
        let edit = ["edit", "d", "--old", "some longer text\n", "--new", "short\n"];
        strace(work, Path::new(NOWHERE), &faults, &edit).output().expect("strace");
        assert_eq!(work.text("d"), "short\nonger text\n");
    };
    faults_in("rollback in place", torn, |_| vec!["log"], true);
}

fn applied(work: &Sandbox, patch: &str) {
    let applied = strace(work, Path::new(NOWHERE), &[], &["apply", patch]).output().expect("apply");
    assert!(applied.status.success(), "{applied:?}");
}

/// Every system call fails once while the command changes the tree that `prepare` has left; `is_recovery`:
/// it takes back what was left half done. The answer is true, after the next start all files are of one
/// version, and what was made can be undone.
fn faults_in(
    name: &str,
    prepare: impl Fn(&Sandbox, &str),
    arguments: fn(&str) -> Vec<&str>,
    is_recovery: bool,
) {
    if !has("strace") {
        return skip(name, "strace is not installed");
    }
    const CALLS: &str = "fsync renameat2 renameat openat2 rename unlink unlinkat mkdir flock fcntl \
        linkat ftruncate fallocate fchmod fchmodat fchown flistxattr faccessat2 newfstatat fstat \
        fstatfs statx getdents64 lseek write pwrite64 read openat";
    const ERRORS: &str = "EIO ENOSPC EMFILE EACCES EINTR";
    let (mut faults, mut lies) = (0, Vec::new());
    let work = Sandbox::in_memory();
    let patch = work.outside().join("patch");
    fs::write(&patch, PATCH).expect("patch");
    let texts = [("a", "one\n"), ("b", "one\n"), ("d", "some longer text\n")];
    for (name, text) in texts {
        fs::write(work.file(name), text).expect("file");
    }
    let start = tree(&work);
    let patch = patch.to_str().expect("path");
    prepare(&work, patch);
    // The history is kept by the path of the root, so it is put back at the same place.
    let kept = work.outside().join("kept");
    // A state folder that others can read is not used once it has files.
    fs::create_dir_all(work.state()).expect("state");
    fs::set_permissions(work.state(), fs::Permissions::from_mode(0o700)).expect("mode");
    let copy = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        let done = Command::new("cp").arg("-a").arg(from).arg(to).status();
        assert!(done.expect("cp").success());
    };
    fs::create_dir(&kept).expect("kept");
    copy(&work.root(), &kept.join("root"));
    copy(&work.state(), &kept.join("state"));
    let put_back = || {
        for (from, to) in [("root", work.root()), ("state", work.state())] {
            copy(&kept.join(from), &to);
        }
    };
    let arguments = arguments(patch);
    let before = tree(&work);
    let without_fault =
        strace(&work, Path::new(NOWHERE), &[], &arguments).output().expect("strace");
    assert!(without_fault.status.success(), "{name}: {without_fault:?}");
    let after = tree(&work);
    assert_ne!(before, after, "{name}");
    assert!(!is_recovery || after == start, "{name}");
    for call in CALLS.split(' ').take(count(4, usize::MAX)) {
        for error in ERRORS.split(' ').take(count(2, usize::MAX)) {
            for when in 1..=count(4, 60) {
                put_back();
                let log = work.outside().join("trace");
                let fault = format!("{call}:error={error}:when={when}");
                let out = strace(&work, &log, &[&fault], &arguments).output();
                let out = out.expect("strace");
                if !fs::read_to_string(&log).expect("trace").contains("INJECTED") {
                    break;
                }
                faults += 1;
                let now = tree(&work);
                let reply: Option<Value> = serde_json::from_slice(&out.stdout).ok();
                let message = reply.as_ref().and_then(|reply| reply["message"].as_str());
                let message = message.unwrap_or_default();
                let ok = reply.as_ref().and_then(|reply| reply["ok"].as_bool());
                let is_told = message.contains("restored");
                let is_true = match ok {
                    Some(true) => now == after,
                    Some(false) => is_told || now == before,
                    None => true,
                };
                let next = work.restitch(&["log"]).output().expect("log");
                let then = tree(&work);
                let is_whole = then == after || then == before && !is_recovery;
                let undo =
                    ok == Some(true) && !is_recovery && !message.contains("but cannot be undone");
                let is_undone = !undo || {
                    // An undo is taken back by its own revision, which its answer has.
                    let revision = reply.as_ref().and_then(|reply| revision_in(&reply["report"]));
                    let revision = revision.expect("revision").to_string();
                    let out = work.restitch(&["undo", &revision]).output();
                    out.expect("undo").status.success() && tree(&work) == before
                };
                if !(is_true || is_recovery)
                    || !next.status.success()
                    || !(is_whole || is_told)
                    || !is_undone
                {
                    lies.push(format!(
                        "{name}: {fault}: {now:?}, then {then:?}, undone: {is_undone}: {message}"
                    ));
                }
            }
        }
    }
    println!("{name}: {faults} faults, {} lies", lies.len());
    assert!(lies.is_empty(), "{lies:#?}");
    assert!(faults > count(5, 200), "{faults}");
}

/// The revision in a report, at any depth.
fn revision_in(report: &Value) -> Option<u64> {
    match report {
        Value::Object(fields) => {
            let own = fields.get("revision").and_then(Value::as_u64);
            own.or_else(|| fields.values().find_map(revision_in))
        }
        Value::Array(items) => items.iter().find_map(revision_in),
        _ => None,
    }
}

/// Two servers, the command line and an editor that saves by renaming work on one tree, and the
/// servers are killed at some moment. Every commit is whole or absent, no save of the editor is lost,
/// and an undo takes back the whole of a commit.
#[test]
fn servers_a_command_and_an_editor_share_a_tree_and_die() {
    use std::io::Write as _;
    let rounds = count(5, 200);
    let work = Sandbox::in_memory();
    for name in ["a", "b"] {
        fs::write(work.file(name), "n 0\n").expect("file");
    }
    let shared =
        |ours: usize, editors: usize| format!("ours {ours}\n1\n2\n3\n4\neditor {editors}\n");
    fs::write(work.file("c"), shared(0, 0)).expect("file");
    let number = |name: &str| -> u64 {
        let text = work.text(name);
        text.trim().strip_prefix("n ").and_then(|n| n.parse().ok()).expect("whole")
    };
    let (mut moved, mut undone, mut random) = (0, 0, Random::new(7));
    for round in 1..=rounds {
        let first = number("a");
        let mut servers: Vec<_> = (0..2)
            .map(|_| {
                let mut command = work.restitch(&[]);
                command.args(["--no-model", "mcp"]).stdin(Stdio::piped());
                let mut server =
                    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("server");
                let mut stdin = server.stdin.take().expect("piped");
                let _ = stdin.write_all(crate::client::greeting().as_bytes());
                let feeder = std::thread::spawn(move || {
                    for n in first..first + 400 {
                        let section = |name: &str| {
                            format!("--- {name}\n+++ {name}\n@@ -1 +1 @@\n-n {n}\n+n {}\n", n + 1)
                        };
                        let patch = section("a") + &section("b");
                        let call =
                            crate::client::request(n, "apply_patch", json!({ "patch": patch }));
                        if writeln!(stdin, "{call}").is_err() {
                            return;
                        }
                    }
                });
                (server, feeder)
            })
            .collect();
        let pause = 40 + random.below(300) as u64;
        std::thread::sleep(std::time::Duration::from_millis(pause));
        // The editor writes its line of the file as it is now, and the command another line of it.
        let saved = shared(round - 1, round);
        fs::write(work.file("c.new"), &saved).expect("saved");
        fs::rename(work.file("c.new"), work.file("c")).expect("saved");
        let (old, new) = (format!("ours {}", round - 1), format!("ours {round}"));
        let edit = ["--no-model", "edit", "c", "--old", &old, "--new", &new];
        let out = work.restitch(&edit).output().expect("edit");
        assert!(out.status.success(), "{out:?}");
        for (server, _) in &mut servers {
            server.kill().expect("killed");
            server.wait().expect("ended");
        }
        for (_, feeder) in servers {
            feeder.join().expect("feeder");
        }
        let log = work.restitch(&["log"]).output().expect("log");
        assert!(log.status.success(), "{log:?}");
        assert_eq!(number("a"), number("b"), "round {round}: a commit is half there");
        assert_eq!(work.text("c"), shared(round, round), "round {round}: a save is lost");
        moved += number("a") - first;
        let before = (number("a"), work.text("c"));
        let undo = work.restitch(&["--json", "undo"]).output().expect("undo");
        let after = (number("a"), work.text("c"));
        assert_eq!(number("a"), number("b"), "round {round}: an undo is half there");
        if undo.status.success() {
            undone += 1;
            let is_pair = after == (before.0.wrapping_sub(1), before.1.clone());
            let is_line = after == (before.0, shared(round - 1, round));
            assert!(is_pair || is_line, "round {round}: {before:?} became {after:?}");
            // The next round begins from the same line.
            fs::write(work.file("c"), shared(round, round)).expect("file");
        } else {
            assert_eq!(before, after);
        }
    }
    println!("{rounds} kills of two servers: {moved} commits of two files, {undone} undone");
    assert!(moved > 0 && undone > 0);
    // What the killed servers left goes with an edit, once it is a minute old.
    let a_while_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    for left in work.leftover_files() {
        let file = fs::File::options().write(true).open(left).expect("temp file");
        file.set_modified(a_while_ago).expect("aged");
    }
    let (old, new) = (format!("ours {rounds}"), "ours and over");
    let edit = ["--no-model", "edit", "c", "--old", &old, "--new", new];
    assert!(work.restitch(&edit).output().expect("edit").status.success());
    assert_eq!(work.leftover_files(), Vec::<String>::new());
}
