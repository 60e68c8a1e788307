//! Patches as git prints them, applied by the command line.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::rows::rows;
use crate::sandbox::{git, put};

/// What git prints is applied whole, or refused with the part named: never in part.
#[test]
fn a_patch_of_git_is_applied_whole_or_refused() {
    if !crate::disk::has("git") {
        return crate::disk::skip("patches of git", "git is not installed");
    }
    let long: String = (0..30).map(|n| format!("line {n}\n")).collect();
    // Each change as a shell makes it, the flags of `git diff`, and what a refusal names; nothing if it
    // is applied.
    let rows: Vec<[String; 4]> = rows(include_str!("git_patches.jsonl"));
    for [what, change, flags, named] in rows {
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
                put(&folder.join(name), text);
            }
        }
        git(&theirs, &["init", "-q"]);
        git(&theirs, &["add", "-A"]);
        git(&theirs, &["commit", "-qm", "base"]);
        let made = Command::new("sh").args(["-c", &change]).current_dir(&theirs).status();
        assert!(made.expect("sh").success(), "{change}");
        if !named.is_empty() {
            // Beside it an edit that could be applied, and must not be if the rest is not.
            fs::write(theirs.join("empty"), "beside\n").expect("file");
        }
        git(&theirs, &["add", "-A"]);
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let patch = git(&theirs, &[&["diff", "--cached"], &flags[..]].concat());
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
        let is_applied = named.is_empty();
        assert_eq!(out.status.success(), is_applied, "{what} {flags:?}: {answer}\n{shown}");
        let wanted = if is_applied { files(&theirs) } else { before };
        assert_eq!(files(&ours), wanted, "{what} {flags:?}: {answer}\n{shown}");
        assert!(answer.contains(&named), "{what}: {answer}\n{shown}");
    }
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
