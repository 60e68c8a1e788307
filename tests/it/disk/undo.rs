//! Undo, the log, commits of several files, repeated requests, conflicts, the change feed.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use restitch::edit::{EditCode, Explanation, Rung, VerifiedEdit};
use restitch::engine::{CallOptions, UndoScope};
use restitch::internals::text::Snapshot;
use restitch::port::{CommitOptions, FileStore as _, History as _, UndoMode};
use restitch::store::{DiskOptions, DiskStore};
use serde_json::{Value, json};

use crate::random::Random;
use crate::says::says;

use super::{Sandbox, block_on, count, edit, skip, whole_file_edit, work_path};

fn commit(
    store: &DiskStore,
    batch: Vec<VerifiedEdit>,
) -> Result<Vec<restitch::port::Committed>, restitch::edit::Refusal> {
    block_on(store.commit(batch, CommitOptions::default()))
}

fn removal(name: &str, before: &[u8]) -> VerifiedEdit {
    let before = Some(Snapshot::decode(before.to_vec()).expect("text"));
    let why = Explanation::plain(Rung::Exact);
    restitch::internals::restored(work_path(name), before, None, why)
}

/// The edit of a file `a` that has `a old` to `a new`.
fn renewal(name: &str) -> VerifiedEdit {
    let [old, new] = ["old", "new"].map(|word| format!("{name} {word}\n"));
    whole_file_edit(&work_path(name), Some(old.as_bytes()), new.as_bytes())
}

/// The real binary with these arguments; code and JSON reply.
fn run(work: &Sandbox, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut command = work.restitch(&["--no-model", "--json"]);
    let output = command.args(arguments).output().expect("restitch");
    let reply = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), reply)
}

#[test]
fn what_cannot_be_undone_is_not_for_a_revision_that_is_undone_already() {
    for (now, cause) in [
        (Some("c\n"), "another program has changed the same lines since"),
        (None, "another program has removed the file since"),
    ] {
        let work = Sandbox::new().with("f", "b\n");
        run(&work, &["edit", "f", "--old", "b", "--new", "B"]);
        run(&work, &["edit", "f", "--old", "B", "--new", "BB"]);
        run(&work, &["undo"]);
        match now {
            Some(text) => fs::write(work.file("f"), text).expect("written"),
            None => fs::remove_file(work.file("f")).expect("removed"),
        }
        let (code, reply) = run(&work, &["undo"]);
        let said = reply.to_string();
        assert_eq!(code, Some(1), "{reply}");
        assert!(said.contains(&format!("revision 1 of `f` cannot be undone: {cause}")), "{reply}");
        assert!(!said.contains("Undo revision"), "{reply}");
    }
}

#[test]
fn the_record_of_a_commit_is_read_and_written_in_the_form_that_logs_have() {
    let sha256 = "0".repeat(64);
    let file = json!({
        "path": "a/f",
        "before": { "sha256": sha256, "metadata": { "mode": 420, "uid": 1, "gid": 2, "flags": 64 } },
        "after": sha256,
        "made": ["a"],
        "patch": { "at": 3, "old": "x", "new": "y" },
        "lines": [1, 1],
    });
    let record = json!({
        "revision": 7, "unix_millis": 5, "files": [file], "request": "r", "asks": sha256,
        "client": "c", "undoes": 6,
    });
    let read: restitch::internals::store::CommitRecord =
        serde_json::from_value(record.clone()).expect("read");
    assert_eq!(serde_json::to_value(read).expect("written"), record);
}

#[test]
fn a_history_that_is_removed_is_told_as_that() {
    let work = Sandbox::new().with("f", "b\n");
    let engine = work.engine();
    edit(&engine, "f", "b", "B").expect("edit");
    fs::remove_dir_all(work.state().join("history")).expect("removed");
    let options = CallOptions { undo_scope: UndoScope::Session, ..CallOptions::default() };
    let refused = block_on(engine.undo(None, &options)).expect_err("nothing there");
    assert!(refused.message.contains("are not in the history any more"), "{refused}");
    let report = edit(&engine, "f", "B", "b").expect("edit");
    assert_eq!(report.revision, Some(1), "the folder is there again: {report:?}");
    block_on(engine.undo(None, &options)).expect("undone");
    assert_eq!(fs::read(work.file("f")).expect("file"), b"B\n");
}

#[test]
fn edits_creations_and_deletions_are_undone_from_other_processes() {
    let work = Sandbox::new().with("f", b"caf\xE9\r\ntwo\r\nno newline");
    fs::set_permissions(work.file("f"), fs::Permissions::from_mode(0o751)).expect("mode");
    let original = fs::read(work.file("f")).expect("file");
    let (code, reply) = run(&work, &["edit", "f", "--old", "two", "--new", "zwei"]);
    assert_eq!((code, &reply["report"]["revision"]), (Some(0), &json!(1)), "{reply}");
    let (code, _) = run(&work, &["edit", "new/deep/g", "--old", "", "--new", "made\n"]);
    assert_eq!(code, Some(0));
    let store = work.store();
    let edited = fs::read(work.file("f")).expect("file");
    commit(&store, vec![removal("f", &edited)]).expect("removed");
    assert!(!work.file("f").exists());

    let (code, reply) = run(&work, &["undo"]);
    assert_eq!(code, Some(0), "{reply}");
    assert_eq!(fs::read(work.file("f")).expect("back"), edited);
    assert_eq!(fs::metadata(work.file("f")).expect("meta").mode() & 0o7777, 0o751);
    let (code, reply) = run(&work, &["undo"]);
    assert_eq!((code, &reply["report"]["undone"]), (Some(0), &json!(2)), "{reply}");
    assert!(!work.file("new").exists(), "the folders it made go with it");
    let (code, _) = run(&work, &["undo", "1"]);
    assert_eq!(code, Some(0));
    assert_eq!(fs::read(work.file("f")).expect("file"), original);
    let (code, reply) = run(&work, &["undo"]);
    assert_eq!((code, &reply["code"]), (Some(1), &json!("EDIT_NO_CHANGE")), "{reply}");
    let (_, log) = run(&work, &["log"]);
    let revisions = log["report"]["revisions"].as_array().expect("revisions");
    assert_eq!(revisions.len(), 6);
    assert_eq!((&revisions[0]["undoes"], &revisions[5]["undone_by"]), (&json!(1), &json!(6)));
    // An undo can be undone.
    let (code, _) = run(&work, &["undo", "6"]);
    assert_eq!(code, Some(0));
    assert_eq!(fs::read(work.file("f")).expect("file"), edited);
    assert_eq!(fs::metadata(work.state()).expect("state").mode() & 0o777, 0o700);
}

/// The files that hold kept versions.
fn kept_versions(work: &Sandbox) -> Vec<PathBuf> {
    let below = super::names_below(&work.state()).into_iter().map(PathBuf::from);
    let is_kept =
        |path: &PathBuf| path.is_file() && path.file_name().is_some_and(|n| n.len() == 64);
    below.filter(is_kept).collect()
}

#[test]
fn a_small_change_is_undone_by_either_version_and_the_change() {
    let text =
        |middle: &str| format!("{}é{middle}é\n{}", "above\n".repeat(50), "below\n".repeat(50));
    // One version is kept: the file that was displaced, as it was but for its owner only.
    let work = Sandbox::new().with("f", text("€a€"));
    edit(&work.engine(), "f", "é€a€é", "é€b€c€é").expect("edit");
    let kept = kept_versions(&work);
    let content: Vec<_> = kept.iter().map(|path| fs::read(path).expect("kept")).collect();
    assert_eq!(content, [text("€a€").into_bytes()]);
    assert_eq!(fs::metadata(&kept[0]).expect("meta").mode() & 0o777, 0o600);
    // Without it, the change alone takes the file back.
    fs::remove_file(&kept[0]).expect("removed");
    assert_eq!(run(&work, &["undo"]).0, Some(0));
    assert_eq!(fs::read_to_string(work.file("f")).expect("file"), text("€a€"));

    // Another program changes another place: the version in between is made again.
    let work = Sandbox::new().with("f", text("1"));
    edit(&work.engine(), "f", "é1é", "é2é").expect("edit");
    fs::write(work.file("f"), text("2").replacen("above", "ABOVE", 1)).expect("foreign");
    assert_eq!(run(&work, &["undo", "1"]).0, Some(0));
    let wanted = text("1").replacen("above", "ABOVE", 1);
    assert_eq!(fs::read_to_string(work.file("f")).expect("file"), wanted);

    // A kept version that was damaged is never put back.
    let work = Sandbox::new().with("f", text("1"));
    edit(&work.engine(), "f", "é1é", "é2é").expect("edit");
    fs::write(work.file("f"), "by another program\n").expect("foreign");
    fs::write(&kept_versions(&work)[0], "damaged").expect("damage");
    let (code, reply) = run(&work, &["undo", "1"]);
    assert_eq!((code, &reply["code"]), (Some(3), &json!("EDIT_FILE_READ_ERROR")), "{reply}");
    assert_eq!(fs::read_to_string(work.file("f")).expect("file"), "by another program\n");
}

#[test]
fn a_large_change_keeps_both_versions() {
    let work = Sandbox::new();
    let (before, after) = ("old line\n".repeat(500), "new line\n".repeat(600));
    fs::write(work.file("f"), &before).expect("file");
    let edit = whole_file_edit(&work_path("f"), Some(before.as_bytes()), after.as_bytes());
    commit(&work.store(), vec![edit]).expect("commit");
    assert_eq!(kept_versions(&work).len(), 2);
    fs::write(work.file("f"), format!("{after}more\n")).expect("foreign");
    assert_eq!(run(&work, &["undo", "1"]).0, Some(0));
    assert_eq!(fs::read_to_string(work.file("f")).expect("file"), format!("{before}more\n"));
}

#[test]
fn a_state_folder_on_another_file_system_keeps_copies() {
    let work = Sandbox::new();
    let elsewhere = Sandbox::in_memory();
    let other = fs::metadata(elsewhere.root()).expect("meta").dev();
    if other == fs::metadata(work.root()).expect("meta").dev() {
        return skip("copies on another file system", "there is no second one to write to");
    }
    fs::write(work.file("f"), "one\ntwo\n").expect("file");
    let options = DiskOptions { state: Some(elsewhere.state()), ..DiskOptions::default() };
    let store = DiskStore::open_with(&work.root(), options).expect("store");
    commit(&store, vec![whole_file_edit(&work_path("f"), Some(b"one\ntwo\n"), b"one\n2\n")])
        .expect("commit");
    let content: Vec<_> =
        kept_versions(&elsewhere).iter().map(|path| fs::read(path).expect("kept")).collect();
    assert_eq!(content, [b"one\ntwo\n"]);
    assert_eq!(work.leftover_files(), Vec::<String>::new());
    block_on(store.undo(None, UndoMode::Apply)).expect("undo");
    assert_eq!(fs::read(work.file("f")).expect("file"), b"one\ntwo\n");
}

#[test]
fn an_undo_that_is_in_the_way_of_a_later_change_names_it() {
    let work = Sandbox::new().with("f", "a\nb\nc\nd\n");
    let engine = work.engine();
    edit(&engine, "f", "b", "B").expect("1");
    edit(&engine, "f", "d", "D").expect("2");
    edit(&engine, "f", "B", "BB").expect("3");
    let options = CallOptions::default();
    let refused = block_on(engine.undo(Some(1), &options)).expect_err("in the way");
    assert!(refused.message.contains("revision 3"), "{refused}");
    assert_eq!(fs::read(work.file("f")).expect("file"), b"a\nBB\nc\nD\n");
    block_on(engine.undo(Some(2), &options)).expect("another place");
    assert_eq!(fs::read(work.file("f")).expect("file"), b"a\nBB\nc\nd\n");
    block_on(engine.undo(Some(3), &options)).expect("3");
    block_on(engine.undo(Some(1), &options)).expect("1, now that 3 is gone");
    assert_eq!(fs::read(work.file("f")).expect("file"), b"a\nb\nc\nd\n");
    // A creation that was edited later.
    edit(&engine, "g", "", "x\n").expect("created");
    let edited = edit(&engine, "g", "x", "y").expect("edited").revision.expect("revision");
    let refused = block_on(engine.undo(Some(edited - 1), &options)).expect_err("edited since");
    assert!(refused.message.contains(&format!("revision {edited}")), "{refused}");
    // A foreign change elsewhere is no obstacle, in the same place it is.
    fs::write(work.file("g"), "y\nforeign\n").expect("foreign");
    block_on(engine.undo(Some(edited), &options)).expect("elsewhere");
    assert_eq!(fs::read(work.file("g")).expect("file"), b"x\nforeign\n");
}

#[test]
fn random_edits_are_undone_in_random_order_or_refused() {
    let rounds = count(60, 1_000);
    let work = Sandbox::in_memory();
    let start: String = (0..40).map(|n| format!("line {n:05} of the file\r\n")).collect();
    fs::write(work.file("f"), format!("\u{feff}{start}")).expect("file");
    let engine = work.engine();
    let mut random = Random::new(12_345);
    let mut standing: Vec<u64> = Vec::new();
    let (mut undone, mut refused) = (0, 0);
    // An undo that puts the old file back loses what was done since.
    let mut versions: std::collections::HashMap<u64, String> = std::collections::HashMap::new();
    let mut trampled = 0;
    for n in 0..rounds {
        if random.below(3) > 0 || standing.is_empty() {
            let text = fs::read_to_string(work.file("f")).expect("file");
            let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
            let line = lines[random.below(lines.len())];
            let report =
                edit(&engine, "f", line, &format!("line changed by {n:05}")).expect("edit");
            standing.push(report.revision.expect("revision"));
            versions.insert(report.revision.expect("revision"), text);
        } else {
            let revision = standing.swap_remove(random.below(standing.len()));
            let before = fs::read(work.file("f")).expect("file");
            let put_back = &versions[&revision];
            let text = String::from_utf8_lossy(&before).into_owned();
            let changed = |text: &str| text.lines().filter(|l| l.contains("changed by")).count();
            trampled += usize::from(changed(put_back) + 1 < changed(&text));
            match block_on(engine.undo(Some(revision), &CallOptions::default())) {
                Ok(_) => undone += 1,
                Err(refusal) => {
                    assert!(refusal.message.contains("revision"), "{refusal}");
                    assert_eq!(fs::read(work.file("f")).expect("file"), before);
                    refused += 1;
                }
            }
        }
    }
    // Undoing everything from the newest on brings back the first byte for byte.
    for entry in block_on(engine.log()).expect("log") {
        if entry.undone_by.is_none() {
            let _ = block_on(engine.undo(Some(entry.revision), &CallOptions::default()));
        }
    }
    let text = fs::read_to_string(work.file("f")).expect("file");
    assert!(text.starts_with('\u{feff}'), "{text}");
    assert_eq!((text.matches("\r\n").count(), text.lines().count()), (40, 40), "{text}");
    println!(
        "{rounds} random edits and undos: {undone} undone, {refused} refused with the file as it was"
    );
    assert!(undone > 0);
    println!("broken undo (puts the old file back): later edits lost in {trampled}");
    assert!(trampled > 0);
}

#[test]
fn a_commit_of_several_files_is_all_or_nothing() {
    let work = Sandbox::new();
    for name in ["a", "b", "c"] {
        fs::write(work.file(name), format!("{name} old\n")).expect("file");
    }
    let store = work.store();
    let batch = |names: &[&str]| names.iter().map(|name| renewal(name)).collect::<Vec<_>>();
    // One of them changed: none is written.
    fs::write(work.file("b"), "b changed elsewhere\n").expect("foreign");
    let refused = commit(&store, batch(&["c", "b", "a"])).expect_err("conflict");
    assert_eq!(refused.code, EditCode::Conflict, "{refused}");
    assert_eq!(fs::read(work.file("a")).expect("a"), b"a old\n");
    assert_eq!(fs::read(work.file("c")).expect("c"), b"c old\n");
    fs::write(work.file("b"), "b old\n").expect("back");
    // One is named twice, also by an alias.
    std::os::unix::fs::symlink("a", work.file("alias")).expect("link");
    let mut twice = batch(&["a"]);
    twice.push(whole_file_edit(&work_path("alias"), Some(b"a old\n"), b"other\n"));
    assert_eq!(commit(&store, twice).expect_err("twice").code, EditCode::Overlap);
    // All of them, a creation and a removal: one revision, answered in order, undone together.
    let mut all = batch(&["c", "a"]);
    all.push(whole_file_edit(&work_path("d/new"), None, b"made\n"));
    all.push(removal("b", b"b old\n"));
    let done = commit(&store, all).expect("commit");
    let paths: Vec<&str> = done.iter().map(|one| one.edit.path().as_str()).collect();
    assert_eq!(paths, ["c", "a", "d/new", "b"]);
    assert!(done.iter().all(|one| one.revision == done[0].revision));
    assert!(!work.file("b").exists() && work.file("d/new").exists());
    block_on(store.undo(None, UndoMode::Apply)).expect("undo");
    for name in ["a", "b", "c"] {
        assert_eq!(work.text(name), format!("{name} old\n"));
    }
    assert!(!work.file("d").exists());
    assert_eq!(work.leftover_files(), Vec::<String>::new());
}

#[test]
fn a_failure_in_the_middle_takes_back_what_was_written() {
    if !super::is_root() {
        return super::skip("a failure in the middle of a commit", "needs root to mount");
    }
    // `b` is a mount point on a read-only mount: the last step of `b` fails after `a`.
    let work = Sandbox::new();
    for name in ["a", "b", "c"] {
        fs::write(work.file(name), format!("{name} old\n")).expect("file");
    }
    let inode = fs::metadata(work.file("a")).expect("meta").ino();
    let store = work.store();
    let run = |arguments: &[&str]| {
        std::process::Command::new("mount").args(arguments).arg(work.file("b")).status()
    };
    let source = work.file("b").display().to_string();
    if !run(&["--bind", &source]).is_ok_and(|status| status.success()) {
        return super::skip("a failure in the middle of a commit", "mount is not allowed here");
    }
    let readonly = run(&["-o", "remount,ro,bind"]).is_ok_and(|status| status.success());
    let refused = commit(&store, ["a", "b", "c"].map(renewal).into());
    let _ = std::process::Command::new("umount").arg(work.file("b")).status();
    assert!(readonly, "the mount is read-only");
    let refused = refused.expect_err("b cannot be written");
    assert_eq!(refused.code, EditCode::WriteError, "{refused}");
    for name in ["a", "b", "c"] {
        assert_eq!(work.text(name), format!("{name} old\n"), "{refused}");
    }
    let now = fs::metadata(work.file("a")).expect("meta").ino();
    assert_eq!(now, inode, "the very same file is back");
    assert_eq!(work.leftover_files(), Vec::<String>::new());
}

#[test]
fn a_commit_of_several_files_that_was_killed_is_taken_back() {
    if !super::has("strace") {
        return super::skip("a killed commit of several files", "strace is not installed");
    }
    let (mut kills, mut mixed_before_start) = (0, 0);
    for syscall in ["renameat2", "fsync", "unlinkat", "openat"] {
        for when in 1..60 {
            let work = Sandbox::in_memory();
            let patch = "*** Begin Patch\n*** Update File: a\n@@\n-a old\n+a new\n*** Update File: b\n@@\n-b old\n+b new\n*** Add File: c\n+c new\n*** End Patch\n";
            fs::write(work.file("a"), "a old\n").expect("a");
            fs::write(work.file("b"), "b old\n").expect("b");
            let file = work.outside().join("patch");
            fs::write(&file, patch).expect("patch");
            let kill = format!("{syscall}:signal=KILL:when={when}");
            let apply = ["apply", file.to_str().expect("path")];
            let mut command = super::strace(&work, Path::new("/dev/null"), &[&kill], &apply);
            let output = command.output().expect("strace");
            if output.status.success() {
                break;
            }
            let look = || {
                let read = |name: &str| fs::read_to_string(work.file(name)).unwrap_or_default();
                [read("a"), read("b"), read("c")].concat()
            };
            let is_whole = |text: &str| text == "a old\nb old\n" || text == "a new\nb new\nc new\n";
            kills += 1;
            mixed_before_start += usize::from(!is_whole(&look()));
            assert!(work.restitch(&["log"]).output().expect("next start").status.success());
            assert!(is_whole(&look()), "{syscall} {when}: {:?}", look());
        }
    }
    println!(
        "{kills} kills of a commit of three files: {mixed_before_start} left it half done, 0 after the next start"
    );
    assert!(kills > 20 && mixed_before_start > 0);
}

#[test]
fn a_change_elsewhere_is_joined_and_one_in_the_same_place_is_a_conflict() {
    use restitch::edit::{EditPlan, Refusal, Splice};
    use std::sync::Arc;
    fn replace(
        snapshot: &Snapshot,
        old: &'static str,
        new: &'static str,
    ) -> Result<VerifiedEdit, Refusal> {
        let gone = || Refusal::new(EditCode::NoOccurrence, "gone");
        let at = snapshot.text().find(old).ok_or_else(gone)?;
        let splice = Splice { range: at..at + old.len(), text: new.into() };
        let plan = EditPlan::new(snapshot, vec![splice])?;
        let why = Explanation::plain(Rung::Exact);
        let edit = restitch::internals::verified(work_path("f"), snapshot, plan, why)?;
        Ok(edit.with_rebase(Arc::new(move |current| replace(current, old, new))))
    }
    let work = Sandbox::new();
    let store = work.store();
    let path = work_path("f");
    fs::write(work.file("f"), "one\ntwo\nthree\n").expect("file");
    let read = Snapshot::decode(block_on(store.load(&path)).expect("load")).expect("text");
    let change = replace(&read, "two", "zwei").expect("edit");
    fs::write(work.file("f"), "one\ntwo\nthree\nfour\n").expect("elsewhere");
    let done = commit(&store, vec![change.clone()]).expect("joined");
    says(&done[0].warnings.concat(), &["changed elsewhere"]);
    assert_eq!(fs::read(work.file("f")).expect("file"), b"one\nzwei\nthree\nfour\n");
    fs::write(work.file("f"), "one\ndeux\nthree\n").expect("same place");
    let refused = commit(&store, vec![change]).expect_err("conflict");
    assert_eq!(refused.code, EditCode::Conflict);
    assert_eq!(fs::read(work.file("f")).expect("file"), b"one\ndeux\nthree\n");
    // The same bytes with another time are the same file.
    let read = Snapshot::decode(block_on(store.load(&path)).expect("load")).expect("text");
    let change = replace(&read, "deux", "zwei").expect("edit");
    fs::write(work.file("f"), "one\ndeux\nthree\n").expect("touch");
    assert!(commit(&store, vec![change]).expect("same content")[0].warnings.is_empty());
}

#[test]
fn a_repeated_request_answers_with_the_first_result() {
    let work = Sandbox::new().with("f", "a\n");
    // Sent five times by five processes: it grows once.
    let request = ["edit", "f", "--old", "a", "--new", "a\na", "--request-id", "r1"];
    let first = run(&work, &request);
    assert_eq!(first.0, Some(0), "{}", first.1);
    for _ in 1..5 {
        assert_eq!(run(&work, &request), first);
    }
    assert_eq!(fs::read(work.file("f")).expect("file"), b"a\na\n");
    // The reply was lost before it was remembered: the history knows the request.
    fs::remove_dir_all(names(&work.state(), "answers")).expect("answers");
    let (code, reply) = run(&work, &request);
    assert_eq!((code, &reply["report"]["revision"]), (Some(0), &json!(1)), "{reply}");
    assert_eq!(fs::read(work.file("f")).expect("file"), b"a\na\n");
    // The same edit, decided twice on the same version, is written once.
    let store = work.store();
    let twice = || whole_file_edit(&work_path("f"), Some(b"a\na\n"), b"a\na\nb\n");
    let one = commit(&store, vec![twice()]).expect("first");
    let two = commit(&store, vec![twice()]).expect("second");
    assert_eq!(two[0].revision, one[0].revision);
    assert_eq!(two[0].warnings.len(), 1, "{:?}", two[0].warnings);
    let made = || whole_file_edit(&work_path("new"), None, b"x\n");
    let one = commit(&store, vec![made()]).expect("first");
    assert_eq!(commit(&store, vec![made()]).expect("second")[0].revision, one[0].revision);
}

fn names(folder: &std::path::Path, name: &str) -> std::path::PathBuf {
    let found =
        super::names_below(folder).into_iter().find(|path| path.ends_with(&format!("/{name}")));
    found.expect("there").into()
}

#[test]
fn the_change_feed_tells_revision_path_and_hash() {
    let work = Sandbox::new();
    let store = work.store();
    let mut feed = store.changes().expect("a feed");
    let done =
        commit(&store, vec![whole_file_edit(&work_path("d/f"), None, b"x\n")]).expect("created");
    let change = feed.try_recv().expect("announced");
    assert_eq!((change.revision, change.path.as_str()), (done[0].revision, "d/f"));
    assert_eq!(change.sha256, Some(restitch::internals::text::ContentHash::of(b"x\n")));
    commit(&store, vec![removal("d/f", b"x\n")]).expect("removed");
    assert_eq!(feed.try_recv().expect("announced").sha256, None);
    commit(&store, vec![whole_file_edit(&work_path("d/f"), Some(b"y\n"), b"z\n")])
        .expect_err("refused");
    assert!(feed.try_recv().is_err(), "a refusal is no change");
}
