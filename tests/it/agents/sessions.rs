//! What one session over MCP is offered and told: the tools, the form of the answers, the root,
//! and an undo of its own.

use std::process::Command;

use serde_json::{Value, json};

use super::mcp::{binary, workspace};
use crate::client::Client;
use crate::sandbox::put;

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("name")).collect()
}

/// A model reads the text; the structured form is for who asks for it.
#[test]
fn answers_are_text_unless_asked() {
    let dir = workspace();
    for (flags, structured) in [(&[][..], false), (&["--structured"][..], true)] {
        let mut session = Client::session(binary(dir.path()), flags);
        let listed = session.list_tools();
        for tool in listed["tools"].as_array().expect("tools") {
            assert_eq!(tool.get("outputSchema").is_some(), structured, "{tool}");
        }
        for (tool, arguments) in [
            ("read_file", json!({"path": "a.txt"})),
            ("edit_file", json!({"path": "a.txt", "old_str": "nowhere", "new_str": "x"})),
        ] {
            let answer = &session.call(1, tool, arguments)["result"];
            assert_ne!(answer["content"][0]["text"], "");
            assert_eq!(answer.get("structuredContent").is_some(), structured, "{answer}");
        }
    }
}

/// What a session offers: one edit tool in the client's words and what goes with it, small.
#[test]
fn few_tools_are_offered_and_chosen_ones_are_all_there_is() {
    let dir = workspace();
    for (dialect, edit) in [
        ("restitch", "edit_file"),
        ("anthropic", "str_replace_based_edit_tool"),
        ("claude-code", "edit"),
        ("opencode", "edit"),
        ("gemini", "edit"),
        ("codex", "apply_patch"),
    ] {
        let mut session = Client::session(binary(dir.path()), &["--dialect", dialect]);
        let listed = session.list_tools();
        let mut offered = names(&listed);
        offered.sort_unstable();
        let mut wanted = vec![edit, "multi_edit", "read_file", "search", "undo"];
        wanted.sort_unstable();
        assert_eq!(offered, wanted, "{dialect}");
        let size = listed.to_string().len();
        println!("{dialect}: {size} bytes of declarations");
        assert!(size <= 6_144, "{dialect}: {size} bytes of declarations");
    }
    let mut guarded = Client::session(binary(dir.path()), &["--guard", "--stage"]);
    let listed = guarded.list_tools();
    for tool in ["list_files", "task_complete", "staging"] {
        assert!(names(&listed).contains(&tool), "{tool}");
    }
    let mut few = Client::session(binary(dir.path()), &["--guard", "--tools", "edit_file"]);
    let (told, is_refused) =
        few.said("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "1"}));
    assert!(is_refused && told.contains("list_files"), "{told}");
    assert_eq!(names(&few.list_tools()), ["edit_file", "list_files", "task_complete"]);
    let mut chosen = Client::session(binary(dir.path()), &["--tools", "edit_file,hashline_edit"]);
    assert_eq!(names(&chosen.list_tools()), ["edit_file", "hashline_edit"]);
    let more = &["--tools", "default,hashline_edit"];
    let mut session = Client::session(binary(dir.path()), more);
    let listed = session.list_tools();
    for tool in ["edit_file", "multi_edit", "read_file", "search", "undo", "hashline_edit"] {
        assert!(names(&listed).contains(&tool), "{tool}: {:?}", names(&listed));
    }
    assert_eq!(names(&listed).len(), 6);
    let (text, is_error) = chosen.said("read_file", json!({"path": "a.txt"}));
    assert!(is_error);
    assert!(text.contains("Use one of: edit_file, hashline_edit."), "{text}");
    let (text, _) =
        chosen.said("Edit", json!({"file_path": "a.txt", "old_string": "one", "new_string": "1"}));
    assert!(text.starts_with("Edited a.txt"), "another name of one that is offered: {text}");
    let wrong = binary(dir.path()).args(["mcp", "--tools", "edit_fil"]).output().expect("ends");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("there is no tool `edit_fil`"));
}

/// Undo takes back what this session did, and nothing of another process.
#[test]
#[cfg_attr(windows, ignore = "on Windows what is past is known to one process only")]
fn undo_is_the_sessions_own() {
    let dir = workspace();
    let file = dir.path().join("a.txt");
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_str": old, "new_str": new});
    let other = |args: &[&str]| {
        let out = binary(dir.path()).args(args).output().expect("ends");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    other(&["edit", "a.txt", "--old", "one", "--new", "eins"]);
    let mut session = Client::session(binary(dir.path()), &[]);
    let (text, is_error) = session.said("undo", json!({"revision": 0}));
    assert!(is_error);
    assert!(text.contains("nothing to undo"), "{text}");
    session.said("edit_file", edit("two", "zwei"));
    other(&["edit", "a.txt", "--old", "three", "--new", "drei"]);
    session.said("undo", json!({}));
    assert_eq!(std::fs::read_to_string(&file).expect("file"), "eins\ntwo\ndrei\n");
    let (text, _) = session.said("undo", json!({}));
    assert!(text.contains("nothing to undo"), "{text}");
    for dialect in ["claude-code", "gemini", "opencode", "codex"] {
        let flags = ["--dialect", dialect];
        let (text, _) = Client::session(binary(dir.path()), &flags).said("undo", json!({}));
        assert!(text.contains("nothing to undo"), "{dialect}: {text}");
    }
    // The command line's undo is the root's.
    other(&["undo"]);
    assert_eq!(std::fs::read_to_string(&file).expect("file"), "eins\ntwo\nthree\n");
}

/// An undo that is sent without waiting takes back the edit before it, and not an older one.
#[test]
#[cfg_attr(windows, ignore = "on Windows what is past is known to one process only")]
fn an_undo_waits_for_what_was_sent_before_it() {
    let dir = workspace();
    let call = |id, tool, arguments| crate::client::request(id, tool, arguments);
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_str": old, "new_str": new});
    let mut session = Client::session(binary(dir.path()), &[]);
    session.said("edit_file", edit("one", "eins"));
    for round in 0..30 {
        let id = 100 + 4 * round;
        session.send_at_once(&[
            call(id, "edit_file", edit("two", "zwei")),
            call(id + 1, "undo", json!({})),
            call(id + 2, "edit_file", edit("two", "deux")),
            call(id + 3, "undo", json!({})),
        ]);
        for _ in 0..4 {
            let answer = session.receive();
            assert_ne!(answer["result"]["isError"], true, "{answer}");
        }
    }
    let text = std::fs::read_to_string(dir.path().join("a.txt")).expect("file");
    assert!(text.starts_with("eins\ntwo\n"), "{text}");
}

/// The text of a call before which the client is asked for its roots, and gives this answer.
fn said_at_roots(session: &mut Client, mut answer: Value, tool: &str, arguments: Value) -> String {
    session.start_call(1, tool, arguments);
    let asked = session.receive();
    assert_eq!(asked["method"], "roots/list");
    answer["jsonrpc"] = "2.0".into();
    answer["id"] = asked["id"].clone();
    session.send(&answer);
    session.receive()["result"]["content"][0]["text"].as_str().expect("text").to_owned()
}

fn change_roots(session: &mut Client) {
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    session.ping("changed");
    session.receive();
}

/// The root: what the client says, within --root where that is given; else the folder of the
/// configuration, the git top level, the current folder. The first answer says which.
#[test]
fn the_root_is_found_and_said() {
    let dir = workspace();
    let top = dir.path().canonicalize().expect("root");
    let deep = top.join("src/deep");
    put(&top.join("src/.mcp.json"), "{}");
    put(&deep.join("b.txt"), "b\n");
    let start = |flags: &[&str], capabilities: Value| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
        command.current_dir(&deep).env("RESTITCH_STATE_DIR", top.join(".state"));
        Client::session_of("t", capabilities, command, flags)
    };
    let said = |session: &mut Client| {
        let (first, _) = session.said("search", json!({"keyword": "b"}));
        let (second, _) = session.said("search", json!({"keyword": "b"}));
        assert!(!second.contains("Root: "), "{second}");
        first.lines().last().unwrap_or_default().to_owned()
    };
    let current = said(&mut start(&[], json!({})));
    let wanted = format!("Root: {} (the current folder)", deep.display());
    assert!(current.starts_with(&wanted), "{current}");
    std::fs::create_dir(top.join(".git")).expect("git");
    let git = said(&mut start(&[], json!({})));
    assert!(git.starts_with(&format!("Root: {} (the git top level)", top.display())), "{git}");
    let found = said(&mut start(&["--root-of", ".mcp.json"], json!({})));
    let wanted = format!("Root: {} (the folder of .mcp.json)", top.join("src").display());
    assert!(found.starts_with(&wanted), "{found}");
    let given = said(&mut start(&["--root-of", ".mcp.json", "--root", ".."], json!({})));
    assert!(given.starts_with(&format!("Root: {} (--root)", top.join("src").display())), "{given}");
    for (flags, named, root) in [
        (&[][..], top.join("src"), "(the client's root)"),
        (&["--root", "."], top.join("src"), "(--root)"),
        (&["--root", "../.."], top.join("src"), "(the client's root)"),
        (&["--root-of", ".mcp.json"], top.clone(), "(the client's root)"),
        // A client that names the folder it runs in has found its configuration above it.
        (&["--root-of", ".mcp.json"], deep.clone(), "(the folder of .mcp.json)"),
        (&[], deep.clone(), "(the client's root)"),
        // A root that is not used is named, with the reason.
        (&[], top.join("nowhere"), "nowhere is not used: "),
        (&["--root", "."], top.clone(), "is not used: it is not below --root."),
    ] {
        let mut session = start(flags, json!({"roots": {}}));
        let roots = json!({"roots": [{"uri": format!("file://{}", named.display())}]});
        let answer = json!({"result": roots});
        let text = said_at_roots(&mut session, answer, "search", json!({"keyword": "b"}));
        assert!(text.contains(root), "{text}");
    }
    // The host of a URI may be named, what is no URI is a path, and the roots may change.
    let (src, top) = (top.join("src"), top.display().to_string());
    let mut session = start(&[], json!({"roots": {"listChanged": true}}));
    let mut named = |uri: String| {
        let answer = json!({"result": {"roots": [{"uri": uri}]}});
        let text = said_at_roots(&mut session, answer, "search", json!({"keyword": "b"}));
        change_roots(&mut session);
        text
    };
    let root = format!("Root: {top} (the client's root)");
    assert!(named(format!("file://localhost{top}")).contains(&root));
    assert!(named(src.display().to_string()).contains(&format!("Root: {} (the", src.display())));
    assert!(named(top).contains(&root));
    assert!(named("https://example.com".to_owned()).contains("https://example.com is not used"));
}

/// A client that says its roots have changed and then gives no root: the session stays in its folder.
/// What is staged there is not dropped when the root is another.
#[test]
fn a_changed_root_moves_neither_without_an_answer_nor_with_staged_edits() {
    let dir = workspace();
    let top = dir.path().canonicalize().expect("folder");
    let (one, two) = (top.join("one"), top.join("two"));
    for folder in [&one, &two, &top] {
        put(&folder.join("f.txt"), "old\n");
    }
    let capabilities = json!({"roots": {"listChanged": true}});
    let mut session = Client::session_of("t", capabilities, binary(&top), &["--stage"]);
    let roots = |folder: &std::path::Path| json!({"result": {"roots": [{"uri": format!("file://{}", folder.display())}]}});
    let edit = || json!({"path": "f.txt", "old_str": "old", "new_str": "new"});
    let said = said_at_roots(&mut session, roots(&one), "edit_file", edit());
    assert!(said.contains(&format!("Root: {}", one.display())), "{said}");
    change_roots(&mut session);
    // An error, and an empty list; after each the client is asked again.
    for answer in
        [json!({"error": {"code": -32603, "message": "later"}}), json!({"result": {"roots": []}})]
    {
        let said = said_at_roots(&mut session, answer, "read_file", json!({"path": "f.txt"}));
        assert!(said.contains("new") && !said.contains("Root: "), "{said}");
    }
    let said = said_at_roots(&mut session, roots(&two), "edit_file", edit());
    assert!(said.contains("staged in the old one: f.txt") && said.contains("commit"), "{said}");
    let (said, _) = session.said("staging", json!({"action": "commit"}));
    assert!(said.contains("Committed"), "{said}");
    let said = said_at_roots(&mut session, roots(&two), "read_file", json!({"path": "f.txt"}));
    assert!(said.contains("old") && said.contains(&two.display().to_string()), "{said}");
    let text = |folder: &std::path::Path| std::fs::read_to_string(folder.join("f.txt"));
    for (folder, text_then) in [(&one, "new\n"), (&two, "old\n"), (&top, "old\n")] {
        assert_eq!(text(folder).expect("file"), text_then, "{}", folder.display());
    }
}
