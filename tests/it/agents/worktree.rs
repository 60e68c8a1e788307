//! An agent in a git worktree that names a file of the main checkout.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::server::restitch;
use crate::client::Client;
use crate::disk::{has, skip};
use crate::sandbox::put;

/// A main checkout with a client's configuration that is not committed, and in it a worktree.
struct Checkouts {
    _temp: tempfile::TempDir,
    main: PathBuf,
    worktree: PathBuf,
}

fn checkouts(worktree: &str) -> Option<Checkouts> {
    if !has("git") {
        skip("worktrees", "there is no git");
        return None;
    }
    let temp = tempfile::tempdir().expect("folder");
    let main = temp.path().canonicalize().expect("folder").join("app");
    put(&main.join("src/a.py"), "one = 1\n");
    let git = |arguments: &[&str]| drop(crate::sandbox::git(&main, arguments));
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    git(&["worktree", "add", "-q", worktree]);
    std::fs::write(main.join(".mcp.json"), "{}").expect("file");
    let worktree = main.join(worktree).canonicalize().expect("worktree");
    Some(Checkouts { _temp: temp, main, worktree })
}

fn server(folder: &Path, flags: &[&str]) -> Client {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command.args(flags).current_dir(folder).env("RESTITCH_STATE_DIR", folder.join(".state"));
    Client::session(command, &["--root-of", ".mcp.json"])
}

fn edit(path: impl AsRef<Path>) -> Value {
    json!({ "path": path.as_ref(), "old_str": "one = 1", "new_str": "one = 2" })
}

fn text(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("src/a.py")).expect("file")
}

/// Inside the main checkout, as Claude Code makes them, and beside it.
#[test]
fn a_file_of_the_main_checkout_is_refused_with_both_paths() {
    for place in [".claude/worktrees/x", "../x"] {
        let Some(made) = checkouts(place) else { return };
        let (other, own) = (made.main.join("src/a.py"), made.worktree.join("src/a.py"));
        let up = made.worktree.components().count() - made.main.components().count();
        let mut session = server(&made.worktree.join("src"), &[]);
        for path in [other.clone(), Path::new(&"../".repeat(up)).join("src/a.py")] {
            if up == 0 && path.is_relative() {
                continue;
            }
            let (said, is_error) = session.said("edit_file", edit(&path));
            assert!(is_error, "{said}");
            for path in [&other, &own] {
                assert!(said.contains(&format!("`{}`", path.display())), "{said}");
            }
        }
        let (said, _) = session.said("edit_file", edit(&own));
        assert_eq!(
            (text(&made.main).as_str(), text(&made.worktree).as_str()),
            ("one = 1\n", "one = 2\n"),
            "{said}"
        );
        let (said, _) = session.said("read_file", json!({ "path": "/no/such/file" }));
        assert!(!said.contains("main checkout"), "{said}");
    }
}

/// A relative path is that of the worktree, although the client's configuration is above it.
#[test]
fn the_root_is_the_worktree_unless_it_is_given() {
    let Some(made) = checkouts(".claude/worktrees/x") else { return };
    let (said, _) = server(&made.worktree, &[]).said("edit_file", edit("src/a.py"));
    assert_eq!(
        (text(&made.main).as_str(), text(&made.worktree).as_str()),
        ("one = 1\n", "one = 2\n"),
        "{said}"
    );
    let root = made.main.display().to_string();
    let mut session = server(&made.worktree, &["--root", &root]);
    let (said, _) = session.said("edit_file", edit(made.main.join("src/a.py")));
    assert_eq!(text(&made.main), "one = 2\n", "{said}");
}

/// The client's own tool would write there.
#[tokio::test]
async fn a_hook_denies_an_edit_of_the_main_checkout() {
    let Some(made) = checkouts(".claude/worktrees/x") else { return };
    let elsewhere = tempfile::tempdir().expect("folder");
    let input = |folder: &Path| {
        json!({
            "cwd": made.worktree, "hook_event_name": "PreToolUse", "tool_name": "Edit",
            "tool_input": {
                "file_path": folder.join("src/a.py"), "old_string": "one = 1", "new_string": "one = 2",
            },
        })
        .to_string()
    };
    let denied = restitch(elsewhere.path(), &["hook", "claude"], &input(&made.main)).await;
    assert!(denied.stdout.contains("\"deny\""), "{} {}", denied.stdout, denied.stderr);
    let own = made.worktree.join("src/a.py").display().to_string();
    assert!(denied.stdout.contains(&own), "{}", denied.stdout);
    let fine = restitch(elsewhere.path(), &["hook", "claude"], &input(&made.worktree)).await;
    assert_eq!(fine.stdout, "", "{}", fine.stderr);
}
