//! Files of rules that came with a folder and are no files.

use std::os::unix::fs::symlink;
use std::time::Duration;

use serde_json::json;

use super::{Sandbox, text_of};

fn listed(sandbox: &Sandbox) -> String {
    let mut mcp = sandbox.mcp();
    mcp.start_call(1, "list_files", json!({}));
    text_of(&mcp.answer(&1.into(), Duration::from_secs(20)))
}

#[test]
fn devices_pipes_and_links_in_the_place_of_rules_are_not_opened() {
    for name in [".gitignore", ".ignore", "sub/.gitignore", ".git/info/exclude", ".git/config"] {
        for target in ["/dev/zero", "/proc/self/fd/0", "fifo"] {
            let sandbox = Sandbox::new();
            sandbox.write("a.rs", "fn a() {}\n");
            sandbox.write("sub/b.rs", "fn b() {}\n");
            let path = sandbox.root().join(name);
            std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
            if target == "fifo" {
                rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).expect("fifo");
            } else {
                symlink(target, &path).expect("link");
            }
            let text = listed(&sandbox);
            assert!(text.contains("a.rs") && text.contains("sub/b.rs"), "{name} {target}: {text}");
        }
    }
}

#[test]
fn rules_hold_below_the_root_and_what_is_above_has_no_say() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.above().join(".gitignore"), "*\n").expect("above");
    sandbox.write(".gitignore", "/target/\n*.log\n!keep.log\n/only.rs\n");
    sandbox.write("sub/.gitignore", "!wanted.log\n*.tmp\n");
    sandbox.write(".ignore", "docs/\n");
    sandbox.write(".git/info/exclude", "secret.rs\n");
    for name in [
        "a.rs",
        "only.rs",
        "sub/only.rs",
        "target/x.rs",
        "sub/target/y.rs",
        "z.log",
        "keep.log",
        "sub/wanted.log",
        "sub/other.log",
        "sub/q.tmp",
        "q.tmp",
        "docs/d.rs",
        "secret.rs",
        "nested/.git/HEAD",
        "nested/n.log",
        "big/x.rs",
    ] {
        sandbox.write(name, "x\n");
    }
    sandbox.write("big/.gitignore", "x.rs\n".repeat(300_000));
    let text = listed(&sandbox);
    for name in [
        "a.rs",
        "sub/only.rs",
        "sub/target/y.rs",
        "keep.log",
        "sub/wanted.log",
        "q.tmp",
        // A repository of its own has its own rules; rules that are too large are none.
        "nested/n.log",
        "big/x.rs",
    ] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} is missing: {text}");
    }
    for name in
        ["only.rs", "target/x.rs", "z.log", "sub/other.log", "sub/q.tmp", "docs/", "secret.rs"]
    {
        assert!(!text.lines().any(|line| line.starts_with(name)), "{name} is there: {text}");
    }
}

/// A rule of a megabyte takes seconds to read, in each folder anew.
#[test]
fn a_rule_that_is_longer_than_any_path_leaves_nothing_out() {
    let sandbox = Sandbox::new();
    sandbox.write("a.rs", "fn a() {}\n");
    sandbox.write("b.rs", "fn b() {}\n");
    sandbox.write(".gitignore", format!("{}a.rs\nb.rs\n", "**/".repeat(1_400)));
    let text = listed(&sandbox);
    assert!(text.contains("a.rs") && !text.contains("b.rs"), "{text}");
}
