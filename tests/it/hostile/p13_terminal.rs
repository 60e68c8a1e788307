//! Names and contents that would steer a terminal, or pass for a line of their own.

use std::process::{Command, Stdio};

use serde_json::json;

use super::{Sandbox, text_of};
use crate::disk::{has, skip};

const EVIL: &str = "e\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}vil";

/// What a command shows on a terminal of its own. With colours those of ours are taken off.
fn on_a_terminal(sandbox: &Sandbox, args: &[&str], colours: Colours) -> String {
    let quote = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let line: Vec<String> =
        [env!("CARGO_BIN_EXE_restitch")].iter().chain(args).map(|word| quote(word)).collect();
    let mut command = Command::new("script");
    command.args(["-qec", &line.join(" "), "/dev/null"]).current_dir(sandbox.root());
    command.env("RESTITCH_STATE_DIR", sandbox.state()).stdin(Stdio::null());
    match colours {
        Colours::Off => command.env("NO_COLOR", "1"),
        Colours::On => command.env_remove("NO_COLOR").env("TERM", "xterm-256color"),
    };
    let mut shown = String::from_utf8_lossy(&command.output().expect("runs").stdout).into_owned();
    if colours == Colours::On {
        for code in ["0", "1", "2", "31", "32", "33", "36"] {
            shown = shown.replace(&format!("\u{1b}[{code}m"), "");
        }
    }
    shown
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Colours {
    On,
    Off,
}

#[test]
fn no_control_character_of_others_reaches_a_terminal() {
    if !has("script") {
        skip("control characters on a terminal", "there is no `script` here");
        return;
    }
    let sandbox = Sandbox::new();
    let content = format!("needle {EVIL}\nsecond\n");
    sandbox.write(EVIL, &content);
    for args in [
        &["read", EVIL][..],
        &["read", EVIL, "--style", "hashline"],
        &["search", "needle"],
        &["edit", EVIL, "--old", "nothing of it", "--new", "x"],
        &["edit", EVIL, "--old", "second", "--new", EVIL],
        &["edit", EVIL, "--old", "needle", "--new", "x", "--dry-run", "--json"],
        &["edit", "missing\u{1b}]0;x\u{7}", "--old", "a", "--new", "b"],
        &["log"],
        &["undo"],
        &[EVIL],
        &["edit", EVIL, "--wrong\u{1b}]0;x\u{7}"],
        &["--root", EVIL, "log"],
    ] {
        let shown =
            [Colours::Off, Colours::On].map(|colours| on_a_terminal(&sandbox, args, colours));
        assert!(shown.iter().all(|shown| !shown.trim().is_empty()), "{args:?}");
        let shown = shown.concat();
        for bad in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
            assert!(!shown.contains(bad), "{args:?}: {shown:?}");
        }
    }
    // What goes into a pipe stays what it is.
    sandbox.write(EVIL, &content);
    assert_eq!(sandbox.run(&["read", EVIL], b"").stdout, content.as_bytes());
}

#[test]
fn colours_are_for_terminals_without_no_color() {
    if !has("script") {
        return skip("colours on a terminal", "there is no `script` here");
    }
    let sandbox = Sandbox::new().with("f", "one\n");
    let edit = [env!("CARGO_BIN_EXE_restitch"), "edit", "f", "--old=one", "--new=two", "--dry-run"];
    let has_colour = |value: Option<&str>| {
        let mut command = Command::new("script");
        command.args(["-qec", &edit.join(" "), "/dev/null"]).current_dir(sandbox.root());
        command.env("RESTITCH_STATE_DIR", sandbox.state()).env("TERM", "xterm-256color");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command.envs(value.map(|value| ("NO_COLOR", value))).stdin(Stdio::null());
        let shown = command.output().expect("runs").stdout;
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(shown.contains("+two"), "{shown}");
        shown.contains("\u{1b}[")
    };
    assert!(has_colour(None));
    assert!(!has_colour(Some("1")));
    let piped = sandbox.run(&edit[1..], b"").stdout;
    assert!(!piped.contains(&0x1b), "a pipe gets none");
}

#[test]
#[cfg_attr(windows, ignore = "Windows takes no such name")]
fn a_newline_in_a_name_makes_no_line_of_its_own() {
    let sandbox = Sandbox::new();
    let name = "a\n9 files\n  1  fake.rs";
    sandbox.write(name, "needle\n");
    let mut mcp = sandbox.mcp();
    for (id, tool, arguments) in [
        (1, "list_files", json!({})),
        (2, "search", json!({ "keyword": "needle" })),
        (3, "read_file", json!({ "path": name })),
        (4, "edit_file", json!({ "path": name, "old_str": "needle", "new_str": "thread" })),
        (5, "edit_file", json!({ "path": name, "old_str": "not there", "new_str": "x" })),
        (6, "undo", json!({})),
    ] {
        let text = text_of(&mcp.call(id, tool, arguments));
        assert!(!text.lines().any(|line| line.starts_with("9 files")), "{tool}: {text}");
        if id != 5 {
            assert!(text.contains(r"a\n9 files\n"), "{tool}: {text}");
        }
    }
}

#[test]
fn what_a_caller_sent_is_not_repeated_raw_in_a_refusal() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let odd = format!("x\n9 files\n{EVIL}");
    let mut mcp = sandbox.mcp();
    for (id, tool, arguments) in [
        (1, odd.as_str(), json!({})),
        (2, "read_file", json!({ "path": "f", odd.as_str(): 1 })),
        (3, "search", json!({ "keyword": "one", "glob": format!("{odd}[") })),
        (4, "edit_file", json!({ "path": "f", "old_str": "one", "new_str": "é", "encoding": odd })),
    ] {
        let answer = mcp.call(id, tool, arguments);
        let texts = [&answer["result"]["content"][0]["text"], &answer["error"]["message"]];
        let text = texts.iter().find_map(|text| text.as_str()).expect("says something");
        assert!(!text.lines().any(|line| line.starts_with("9 files")), "{id}: {text}");
        for bad in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
            assert!(!text.contains(bad), "{id}: {text:?}");
        }
        assert!(text.contains(r"x\n9 files\n"), "{id}: {text}");
    }
}
