//! Patches as git prints them, applied by the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs git in a folder; its output.
fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let out = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.quotePath=true"])
        .args(arguments)
        .output()
        .expect("git");
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

/// What git prints is applied whole, or refused with the part named: never in part.
#[test]
fn a_patch_of_git_is_applied_whole_or_refused() {
    if !crate::disk::has("git") {
        return crate::disk::skip("patches of git", "git is not installed");
    }
    type Change = fn(&Path);
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        fs::write(path, text).expect("file");
    };
    let long: String = (0..30).map(|n| format!("line {n}\n")).collect();
    // Each change, the flags of `git diff`, and what a refusal names; nothing if it is applied.
    let rows: &[(&str, Change, &[&str], Option<&str>)] = &[
        ("an edit", |f| fs::write(f.join("a.txt"), "one\nTWO\nthree\n").unwrap(), &[], None),
        (
            "an edit",
            |f| fs::write(f.join("a.txt"), "one\nTWO\nthree\n").unwrap(),
            &["--no-prefix"],
            None,
        ),
        (
            "a folder named a",
            |f| fs::write(f.join("a/x"), "new\n").unwrap(),
            &["--no-prefix"],
            None,
        ),
        ("a new file", |f| fs::write(f.join("new"), "x\ny\n").unwrap(), &[], None),
        ("without a newline", |f| fs::write(f.join("new"), "x\ny").unwrap(), &[], None),
        ("an empty file", |f| fs::write(f.join("new"), "").unwrap(), &[], None),
        ("a deletion", |f| fs::remove_file(f.join("a.txt")).unwrap(), &[], None),
        ("a deletion of an empty file", |f| fs::remove_file(f.join("empty")).unwrap(), &[], None),
        ("a newline less", |f| fs::write(f.join("a.txt"), "one\ntwo\nthree").unwrap(), &[], None),
        ("a newline more", |f| fs::write(f.join("bare"), "one\ntwo\n").unwrap(), &[], None),
        (
            "lines below a bare end",
            |f| fs::write(f.join("bare"), "one\ntwo\nthree\n").unwrap(),
            &[],
            None,
        ),
        ("a bare end that stays", |f| fs::write(f.join("bare"), "ONE\ntwo").unwrap(), &[], None),
        ("a rename", |f| fs::rename(f.join("long"), f.join("moved")).unwrap(), &["-M"], None),
        (
            "a rename with blanks and an edit",
            |f| {
                let text =
                    fs::read_to_string(f.join("long")).unwrap().replace("line 3\n", "LINE 3\n");
                fs::remove_file(f.join("long")).unwrap();
                fs::write(f.join("moved to ä"), text).unwrap();
            },
            &["-M"],
            None,
        ),
        ("a name that is quoted", |f| fs::write(f.join("é q.txt"), "x\ny\n").unwrap(), &[], None),
        ("a name with blanks", |f| fs::write(f.join("b c"), "").unwrap(), &[], None),
        (
            "a copy",
            |f| {
                fs::copy(f.join("long"), f.join("copy")).unwrap();
            },
            &["-C", "--find-copies-harder"],
            Some("copies"),
        ),
        ("a mode", |f| mode(&f.join("a.txt"), 0o755), &[], Some("mode")),
        (
            "an executable",
            |f| {
                fs::write(f.join("run"), "#!/bin/sh\n").unwrap();
                mode(&f.join("run"), 0o755);
            },
            &[],
            Some("executable"),
        ),
        ("bytes", |f| fs::write(f.join("bin"), [0, 1, 2]).unwrap(), &["--binary"], Some("binary")),
        ("bytes, unsaid", |f| fs::write(f.join("bin"), [0, 1, 2]).unwrap(), &[], Some("binary")),
        (
            "a link",
            |f| std::os::unix::fs::symlink("a.txt", f.join("l")).unwrap(),
            &[],
            Some("link"),
        ),
    ];
    for (what, change, flags, named) in rows {
        let work = tempfile::tempdir().expect("temp");
        let (ours, theirs) = (work.path().join("ours"), work.path().join("theirs"));
        for folder in [&ours, &theirs] {
            for (name, text) in [
                ("a.txt", "one\ntwo\nthree\n"),
                ("a/x", "old\n"),
                ("bare", "one\ntwo"),
                ("empty", ""),
                ("long", &long),
            ] {
                write(folder.join(name), text);
            }
        }
        git(&theirs, &["init", "-q"]);
        git(&theirs, &["add", "-A"]);
        git(&theirs, &["commit", "-qm", "base"]);
        change(&theirs);
        if named.is_some() {
            // Beside it an edit that could be applied, and must not be if the rest is not.
            fs::write(theirs.join("empty"), "beside\n").expect("file");
        }
        git(&theirs, &["add", "-A"]);
        let patch = git(&theirs, &[&["diff", "--cached"], *flags].concat());
        let before = files(&ours);
        let file = work.path().join("patch");
        fs::write(&file, &patch).expect("patch");
        let out = Command::new(env!("CARGO_BIN_EXE_restitch"))
            .args(["--no-model", "--root"])
            .arg(&ours)
            .arg("apply")
            .arg(&file)
            .env("RESTITCH_STATE_DIR", work.path().join("state"))
            .output()
            .expect("runs");
        let answer = String::from_utf8_lossy(&out.stdout).into_owned();
        let shown = String::from_utf8_lossy(&patch);
        match named {
            None => {
                assert!(out.status.success(), "{what} {flags:?}: {answer}\n{shown}");
                assert_eq!(files(&ours), files(&theirs), "{what} {flags:?}: {answer}\n{shown}");
            }
            Some(part) => {
                assert!(
                    !out.status.success() && answer.contains(part),
                    "{what}: {answer}\n{shown}"
                );
                assert_eq!(files(&ours), before, "{what}: {answer}");
            }
        }
    }
}

fn mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
}

/// Every file below a folder but git's, with its bytes.
fn files(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    for name in crate::disk::names_below(folder) {
        let below = name.strip_prefix(folder.to_str().expect("path")).expect("below").to_owned();
        if !below.starts_with("/.git") && Path::new(&name).is_file() {
            found.insert(below, fs::read(&name).expect("file"));
        }
    }
    found
}

/// 200,000 blank lines, and 20,000 sections of one file each: in time that grows with the patch.
#[test]
fn a_large_patch_takes_no_time_of_its_square() {
    let start = std::time::Instant::now();
    let blank = "\n".repeat(400_000) + "--- a\n+++ b\n";
    assert!(restitch::internals::Patch::parse(&blank, None).is_err());
    let sections: String =
        (0..20_000).map(|n| format!("--- f{n}\n+++ f{n}\n@@ -1 +1 @@\n-a\n+b\n")).collect();
    let patch = restitch::internals::Patch::parse(&sections, None).expect("patch");
    assert_eq!(patch.files.len(), 20_000);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}
