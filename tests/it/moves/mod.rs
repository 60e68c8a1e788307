//! `move_lines`: bytes, endings, staleness, undo.

use proptest::prelude::*;
use restitch::edit::EditCode;
use restitch::engine::{CallOptions, Engine};
use restitch::store::{DiskOptions, DiskStore};
use restitch::tools::{ToolReply, Toolbox};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Session {
    dir: TempDir,
    tools: Toolbox,
}

impl Session {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("folder");
        let root = dir.path().join("work");
        std::fs::create_dir(&root).expect("folder");
        for (path, text) in files {
            std::fs::write(root.join(path), text).expect("file");
        }
        let state = Some(dir.path().join("state"));
        let store = DiskStore::open_with(&root, DiskOptions { state, ..DiskOptions::default() });
        let tools = Toolbox::new(Engine::builder(store.expect("store")).build());
        Self { dir, tools }
    }

    fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join("work").join(path)).ok()
    }

    fn put(&self, path: &str, text: &str) {
        std::fs::write(self.dir.path().join("work").join(path), text).expect("file");
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolReply {
        self.tools.call(tool, arguments, &CallOptions::default()).await
    }

    async fn ok(&self, arguments: Value) -> ToolReply {
        let reply = self.call("move_lines", arguments).await;
        assert!(reply.ok, "{}", reply.message);
        reply
    }

    async fn refused(&self, arguments: Value, code: EditCode) -> String {
        let reply = self.call("move_lines", arguments).await;
        assert_eq!(reply.code, Some(code), "{}", reply.message);
        reply.message
    }
}

const A: &str = "one\ntwo\nthree\nfour\nfive\n";

#[tokio::test]
async fn lines_move_within_a_file_and_the_answer_shows_both_places() {
    let session = Session::new(&[("a.txt", A)]);
    let call = json!({ "from": { "path": "a.txt", "start_line": 1, "end_line": 2 }, "to": { "after_line": 4 } });
    let reply = session.ok(call).await;
    assert_eq!(session.text("a.txt").as_deref(), Some("three\nfour\none\ntwo\nfive\n"));
    for shown in ["lines 1-2", "lines 3-4", "<<1>>three", "<<3>>one", "<<4>>two", "<<5>>five"] {
        assert!(reply.message.contains(shown), "{shown}: {}", reply.message);
    }
    assert_eq!(reply.report["to"], json!({ "path": "a.txt", "start_line": 3, "end_line": 4 }));
    let undone = session.call("undo", json!({})).await;
    assert!(undone.ok, "{}", undone.message);
    assert_eq!(session.text("a.txt").as_deref(), Some(A));
}

#[tokio::test]
async fn lines_move_between_files_in_one_commit() {
    let session = Session::new(&[("a.txt", A), ("b.txt", "eins\r\nzwei")]);
    let call = json!({ "from": { "path": "a.txt", "start_line": 4, "end_line": 5 }, "to": { "path": "b.txt", "before_line": 2 } });
    let reply = session.ok(call.clone()).await;
    assert_eq!(session.text("a.txt").as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!(session.text("b.txt").as_deref(), Some("eins\r\nfour\r\nfive\r\nzwei"));
    assert!(reply.message.contains("Edited b.txt") && reply.message.contains("Edited a.txt"));
    let revisions: Vec<_> =
        reply.report["files"].as_array().expect("files").iter().map(|f| &f["revision"]).collect();
    assert_eq!(revisions[0], revisions[1], "one commit");
    assert!(session.call("undo", json!({})).await.ok);
    assert_eq!(session.text("a.txt").as_deref(), Some(A));
    assert_eq!(session.text("b.txt").as_deref(), Some("eins\r\nzwei"));
}

#[tokio::test]
async fn lines_are_copied_and_become_a_file_of_their_own() {
    let session = Session::new(&[("a.txt", A)]);
    let range = json!({ "path": "a.txt", "start_line": 2, "end_line": 3 });
    session.ok(json!({ "from": range, "to": { "after_line": 0 }, "copy": true })).await;
    assert_eq!(session.text("a.txt").expect("file"), format!("two\nthree\n{A}"));
    session.call("undo", json!({})).await;
    let reply =
        session.ok(json!({ "from": range, "to": { "path": "new/b.txt", "after_line": 0 } })).await;
    assert_eq!(session.text("new/b.txt").as_deref(), Some("two\nthree\n"), "{}", reply.message);
    assert_eq!(session.text("a.txt").as_deref(), Some("one\nfour\nfive\n"));
    session.call("undo", json!({})).await;
    assert_eq!(session.text("new/b.txt"), None);
    assert_eq!(session.text("a.txt").as_deref(), Some(A));
}

/// The numbers are those of the read: what the session itself did since is taken into account.
#[tokio::test]
async fn numbers_and_anchors_are_carried_over_own_edits() {
    let session = Session::new(&[("a.txt", A)]);
    let read = session.call("read_file", json!({ "path": "a.txt", "style": "hashline" })).await;
    let snapshot = read.report["snapshot"].as_str().expect("snapshot").to_owned();
    let anchor = |line: usize| {
        let text = read.report["text"].as_str().expect("text");
        text.lines().nth(line - 1).expect("line").split('|').next().expect("anchor").to_owned()
    };
    session
        .call(
            "edit_lines",
            json!({ "path": "a.txt", "start_line": 1, "end_line": 0, "new_content": "zero" }),
        )
        .await;
    let call = json!({ "from": { "path": "a.txt", "start_line": 2, "snapshot": snapshot }, "to": { "after_line": 5, "snapshot": snapshot } });
    let reply = session.ok(call).await;
    assert_eq!(session.text("a.txt").as_deref(), Some("zero\none\nthree\nfour\nfive\ntwo\n"));
    assert!(reply.message.contains("what was line 2 is now line 3"), "{}", reply.message);
    let call = json!({ "from": { "path": "a.txt", "start_line": anchor(3), "end_line": anchor(4) }, "to": { "anchor": anchor(1) } });
    let reply = session.call("move_lines", call).await;
    assert_eq!(reply.code, Some(EditCode::NoChange), "they stand there: {}", reply.message);
    let call = json!({ "from": { "path": "a.txt", "start_line": anchor(5) }, "to": { "before_line": anchor(1) } });
    session.ok(call).await;
    assert_eq!(session.text("a.txt").as_deref(), Some("zero\nfive\none\nthree\nfour\ntwo\n"));
}

#[tokio::test]
async fn a_refusal_names_what_is_stale() {
    let session = Session::new(&[("a.txt", A), ("b.txt", A)]);
    let mut anchors = Vec::new();
    for path in ["a.txt", "b.txt"] {
        let read = session.call("read_file", json!({ "path": path, "style": "hashline" })).await;
        let text = read.report["text"].as_str().expect("text").to_owned();
        anchors
            .push(text.lines().nth(2).expect("line").split('|').next().expect("anchor").to_owned());
    }
    session.put("a.txt", &A.replace("three", "drei"));
    let call = json!({ "from": { "path": "a.txt", "start_line": anchors[0] }, "to": { "path": "b.txt", "after_line": 0 } });
    let why = session.refused(call, EditCode::StaleAnchor).await;
    assert!(why.contains("from: ") && why.contains("drei"), "{why}");
    session.put("a.txt", A);
    session.put("b.txt", &A.replace("three", "drei"));
    let call = json!({ "from": { "path": "a.txt", "start_line": 1 }, "to": { "path": "b.txt", "anchor": anchors[1] } });
    let why = session.refused(call, EditCode::StaleAnchor).await;
    assert!(why.contains("to: ") && why.contains("drei"), "{why}");
    assert_eq!(session.text("a.txt").as_deref(), Some(A));
}

#[tokio::test]
async fn malformed_calls_change_nothing() {
    let session = Session::new(&[("a.txt", A)]);
    let range = json!({ "path": "a.txt", "start_line": 2, "end_line": 4 });
    for (to, code) in [
        (json!({ "after_line": 3 }), EditCode::InvalidArguments),
        (json!({ "before_line": 3 }), EditCode::InvalidArguments),
        (json!({ "after_line": 4 }), EditCode::NoChange),
        (json!({ "before_line": 2 }), EditCode::NoChange),
        (json!({ "after_line": 9 }), EditCode::InvalidArguments),
        (json!({ "after_line": 1, "before_line": 5 }), EditCode::InvalidArguments),
        (json!({}), EditCode::InvalidArguments),
        (json!({ "path": "none.txt", "after_line": 3 }), EditCode::FileNotFound),
        (json!({ "path": "../b.txt", "after_line": 0 }), EditCode::InvalidPath),
        (json!({ "path": ".git/config", "after_line": 0 }), EditCode::Blocked),
    ] {
        session.refused(json!({ "from": range, "to": to }), code).await;
    }
    for from in [
        json!({ "path": "a.txt", "start_line": 4, "end_line": 2 }),
        json!({ "path": "a.txt", "start_line": 0, "end_line": 2 }),
        json!({ "path": "a.txt", "start_line": 5, "end_line": 6 }),
        json!({ "path": "a.txt", "start_line": 2, "end_line": "3#VK" }),
    ] {
        session
            .refused(json!({ "from": from, "to": { "after_line": 5 } }), EditCode::InvalidArguments)
            .await;
    }
    assert_eq!(session.text("a.txt").as_deref(), Some(A));
}

#[tokio::test]
async fn a_block_is_put_at_the_depth_of_its_new_place() {
    let rust = "mod a {\n    fn b() {\n        c();\n    }\n}\n\nfn d() {\n    let e = \"x\n  y\";\n    f(e);\n}\n";
    let session =
        Session::new(&[("a.rs", rust), ("b.go", "func a() {\n\tfor {\n\t\tb()\n\t}\n}\n")]);
    let call = json!({ "from": { "path": "a.rs", "start_line": 7, "end_line": 11 }, "to": { "after_line": 4 }, "reindent": true });
    session.ok(call).await;
    let wanted = "mod a {\n    fn b() {\n        c();\n    }\n    fn d() {\n        let e = \"x\n  y\";\n        f(e);\n    }\n}\n\n";
    assert_eq!(session.text("a.rs").as_deref(), Some(wanted), "a literal keeps its blanks");
    session.call("undo", json!({})).await;
    let call = json!({ "from": { "path": "a.rs", "start_line": 2, "end_line": 4 }, "to": { "path": "b.go", "after_line": 3 }, "copy": true, "reindent": true });
    session.ok(call).await;
    let wanted = "func a() {\n\tfor {\n\t\tb()\n\t\tfn b() {\n\t\t\tc();\n\t\t}\n\t}\n}\n";
    assert_eq!(session.text("b.go").as_deref(), Some(wanted), "in the levels of its new file");
}

/// Lines with their endings; the last may have none.
fn file() -> impl Strategy<Value = String> {
    let body = prop::sample::select(vec!["", "a", "  b", "\tc", "é→", "x y", "}"]);
    let ending = prop::sample::select(vec!["\n", "\n", "\r\n"]);
    (prop::collection::vec((body, ending), 1..9), any::<bool>()).prop_map(|(lines, open)| {
        let mut text: String = lines.iter().flat_map(|(body, ending)| [*body, *ending]).collect();
        if open && lines.last().is_some_and(|(body, _)| !body.is_empty()) {
            let ending = lines.last().map_or(0, |(_, ending)| ending.len());
            text.truncate(text.len() - ending);
        }
        text
    })
}

fn sorted<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let mut lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    lines.sort_unstable();
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_lost_or_changed(
        a in file(), b in file(), start in 0usize..9, len in 1usize..4, gap in 0usize..10,
        between in any::<bool>(), copy in any::<bool>(), above in any::<bool>(),
    ) {
        let lines: Vec<&str> = a.lines().collect();
        let start = start % lines.len();
        let end = (start + len).min(lines.len());
        let target = if between { &b } else { &a };
        let gap = gap % (target.lines().count() + 1);
        let place = match above {
            true => json!({ "path": if between { "b" } else { "a" }, "before_line": gap + 1 }),
            false => json!({ "path": if between { "b" } else { "a" }, "after_line": gap }),
        };
        let session = Session::new(&[("a", &a), ("b", &b)]);
        let call = json!({ "from": { "path": "a", "start_line": start + 1, "end_line": end }, "to": place, "copy": copy });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        let reply = runtime.block_on(session.call("move_lines", call));
        let (after_a, after_b) = (session.text("a").expect("a"), session.text("b").expect("b"));
        let idle = !between && !copy && (gap == start || gap == end);
        let inside = !between && start < gap && gap < end;
        if idle || inside {
            prop_assert!(!reply.ok, "{}", reply.message);
            prop_assert_eq!((&after_a, &after_b), (&a, &b));
            return Ok(());
        }
        // The lines themselves, in their new order.
        let block = &lines[start..end];
        let mut wanted: Vec<&str> = target.lines().collect();
        let mut at = gap;
        if !copy && !between {
            wanted.drain(start..end);
            at -= if gap >= end { block.len() } else { 0 };
        }
        wanted.splice(at..at, block.iter().copied());
        let after = if between { &after_b } else { &after_a };
        if reply.code == Some(EditCode::NoChange) {
            prop_assert_eq!(&after_a, &a);
            prop_assert_eq!(target.lines().collect::<Vec<_>>(), wanted, "equal lines trade places");
            return Ok(());
        }
        prop_assert!(reply.ok, "{}", reply.message);
        prop_assert_eq!(after.lines().collect::<Vec<_>>(), wanted);
        if between {
            let mut rest = lines.clone();
            if !copy {
                rest.drain(start..end);
            }
            prop_assert_eq!(after_a.lines().collect::<Vec<_>>(), rest);
        }
        if !copy {
            prop_assert_eq!(sorted(&[&a, &b]), sorted(&[&after_a, &after_b]));
        }
        let stretch = &reply.report["to"];
        prop_assert_eq!(stretch["start_line"].as_u64(), Some(at as u64 + 1));
        // Within a file each line keeps its own ending, but where the open end takes part.
        if !between && a.ends_with('\n') {
            let count = |text: &str| text.matches("\r\n").count();
            let own: usize = a.split_inclusive('\n').skip(start).take(end - start).map(count).sum();
            prop_assert_eq!(count(&after_a), count(&a) + if copy { own } else { 0 });
        }
        // A file of one kind of ending stays so.
        for (before, after) in [(&a, &after_a), (&b, &after_b)] {
            let crlf = |text: &str| text.matches("\r\n").count();
            let feeds = |text: &str| text.matches('\n').count();
            if crlf(before) == feeds(before) && feeds(before) > 0 {
                prop_assert_eq!(crlf(after), feeds(after), "{:?}", after);
            }
            if crlf(before) == 0 && (between || crlf(&a) == 0) {
                prop_assert_eq!(crlf(after), 0, "{:?}", after);
            }
        }
        let undone = runtime.block_on(session.call("undo", json!({})));
        prop_assert!(undone.ok, "{}", undone.message);
        prop_assert_eq!((session.text("a").expect("a"), session.text("b").expect("b")), (a, b));
    }
}
