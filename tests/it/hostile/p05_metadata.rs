//! What belongs to a file beside its bytes, and names that are no text.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use super::Sandbox;
use crate::disk::{is_root, names_below, skip};

#[test]
fn undo_through_a_link_changes_the_file_and_not_its_twin() {
    let sandbox = Sandbox::new();
    let odd = sandbox.root().join(OsStr::from_bytes(b"dir\xff"));
    let twin = sandbox.root().join("dir\u{fffd}");
    for folder in [&odd, &twin] {
        fs::create_dir(folder).expect("folder");
        fs::write(folder.join("f"), "one\n").expect("file");
    }
    symlink(&odd, sandbox.root().join("link")).expect("link");
    let replies = sandbox.batch(&[
        json!({ "arguments": { "path": "link/f", "old_str": "one", "new_str": "two" } }),
        // The twin looks as the edit left the other.
        json!({ "arguments": { "path": "dir\u{fffd}/f", "old_str": "one", "new_str": "two" } }),
        json!({ "tool": "undo", "arguments": { "revision": 1 } }),
    ]);
    assert_eq!(replies[2]["ok"], true, "{}", replies[2]);
    assert_eq!(fs::read_to_string(odd.join("f")).expect("file"), "one\n");
    assert_eq!(fs::read_to_string(twin.join("f")).expect("file"), "two\n");
}

#[test]
fn undo_does_not_follow_a_link_that_came_later() {
    let sandbox = Sandbox::new();
    let call =
        |path: &str| json!({ "arguments": { "path": path, "old_str": "one", "new_str": "two" } });
    let undo = |revision: &Value| json!({ "tool": "undo", "arguments": { "revision": revision } });
    for (name, link, leads_to) in [("x", "x", "y"), ("d/f", "d", "e")] {
        sandbox.write(name, "one\n");
        let reply = &sandbox.batch(&[call(name)])[0];
        // Another file that looks as the edit left this one.
        sandbox.write(if name == "x" { "y" } else { "e/f" }, "two\n");
        let (way, aside) = (sandbox.root().join(link), sandbox.root().join(format!("{link}-old")));
        fs::rename(&way, aside).expect("moved");
        symlink(leads_to, &way).expect("link");
        let undone = &sandbox.batch(&[undo(&reply["report"]["revision"])])[0];
        assert_eq!(undone["code"], "EDIT_CONFLICT", "{undone}");
        assert!(undone["message"].as_str().is_some_and(|text| text.contains("through a link to")));
        assert_eq!(sandbox.text(name), "two\n", "the other file stays");
    }
}

#[test]
fn the_warning_about_an_open_log_says_where_its_later_lines_go() {
    let sandbox = Sandbox::new().with("app.log", "first\n");
    let mut log =
        OpenOptions::new().append(true).open(sandbox.root().join("app.log")).expect("log");
    let call = json!({ "path": "app.log", "old_str": "first", "new_str": "FIRST" });
    let reply = &sandbox.batch(&[json!({ "arguments": call })])[0];
    let warnings = reply["report"]["warnings"].to_string();
    if !warnings.contains("open for writing") {
        assert!(warnings == "[]", "{warnings}");
        return skip("files that are open for appending", "no leases on this file system");
    }
    log.write_all(b"later\n").expect("appended");
    let kept =
        names_below(&sandbox.root()).into_iter().find(|name| name.contains("kept")).expect("kept");
    assert!(warnings.contains(kept.rsplit('/').next().expect("name")), "{warnings}");
    assert_eq!(fs::read_to_string(kept).expect("kept"), "first\nlater\n");
    assert_eq!(sandbox.text("app.log"), "FIRST\n");
}

fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

fn told(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn flags_and_capabilities_are_kept() {
    let sandbox = Sandbox::new().with("f", "one\n").with("g", "one\n");
    let (f, g) = (sandbox.root().join("f"), sandbox.root().join("g"));
    let (f, g) = (f.to_str().expect("path"), g.to_str().expect("path"));
    let edit =
        |path: &str| json!({ "arguments": { "path": path, "old_str": "one", "new_str": "two" } });
    if works("chattr", &["+d", f]) {
        // What this file system does not have beside it, it does not keep either.
        let more = ["+A", "+S", "+s", "+u", "+j"].iter().filter(|flag| works("chattr", &[flag, f]));
        println!("flags beside +d: {}", more.count());
        let before = told("lsattr", &[f]);
        assert_eq!(sandbox.batch(&[edit("f")])[0]["ok"], true);
        assert_eq!(told("lsattr", &[f]), before);
    } else {
        skip("flags of chattr", "chattr does not work here");
    }
    if is_root() && works("setcap", &["cap_net_raw+ep", g]) {
        fs::hard_link(g, sandbox.root().join("second")).expect("second name");
        let before = told("getcap", &[g]);
        let reply = &sandbox.batch(&[edit("g")])[0];
        assert_eq!(reply["ok"], true, "{reply}");
        assert_eq!(told("getcap", &[g]), before, "{reply}");
        assert_eq!(sandbox.text("second"), "two\n");
    } else {
        skip("file capabilities", "setcap does not work here");
    }
}

#[test]
fn an_attribute_whose_name_is_no_text_stops_no_edit_and_is_kept() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let path = sandbox.root().join("f");
    let name = b"user.n\xffame";
    if rustix::fs::setxattr(&path, &name[..], b"v", rustix::fs::XattrFlags::empty()).is_err() {
        return skip("attributes with odd names", "no such attributes on this file system");
    }
    let call = json!({ "path": "f", "old_str": "one", "new_str": "two" });
    let reply = &sandbox.batch(&[json!({ "arguments": call })])[0];
    assert_eq!(reply["ok"], true, "{reply}");
    let mut value = [0; 8];
    let length = rustix::fs::getxattr(&path, &name[..], &mut value[..]).expect("kept");
    assert_eq!(&value[..length], b"v");
}

#[test]
fn a_hard_link_of_a_lower_layer_can_be_edited() {
    let sandbox = Sandbox::new();
    for name in ["lower", "upper", "work", "merged"] {
        fs::create_dir(sandbox.above().join(name)).expect("folder");
    }
    let lower = sandbox.above().join("lower");
    fs::write(lower.join("f"), "one\n").expect("file");
    fs::hard_link(lower.join("f"), lower.join("g")).expect("link");
    let at = |name: &str| sandbox.above().join(name).display().to_string();
    let merged = at("merged");
    let options =
        format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    if !works("mount", &["-t", "overlay", "overlay", "-o", &options, &merged]) {
        return skip("overlays", "no overlay can be mounted here");
    }
    let out = sandbox.run(&["--root", &merged, "edit", "f", "--old", "one", "--new", "two"], b"");
    let text = fs::read_to_string(sandbox.above().join("merged/f")).expect("file");
    let gone = works("umount", &[&merged]);
    assert!(out.status.success() && text == "two\n", "{}", String::from_utf8_lossy(&out.stdout));
    assert!(gone, "the overlay is still mounted at {merged}");
}
