//! An edit that only the reading of the call breaks is refused; an exact one never is; outcomes
//! of an ambiguous call that break the file are taken away.

use restitch::edit::{EditCode, Splice, SyntaxCheck, SyntaxError};
use restitch::engine::{CallOptions, Engine, SyntaxMode};
use restitch::port::{Ask, Budget, Corrector, FutureReply, Reply, Syntax};
use restitch::tools::{ToolReply, Toolbox};
use serde_json::{Value, json};

use crate::in_memory::{parsing, store, text};

async fn edit(tools: &Toolbox, path: &str, old: &str, new: &str) -> ToolReply {
    let call = json!({ "path": path, "old_str": old, "new_str": new });
    tools.call("edit_file", call, &CallOptions::default()).await
}

const FILE: &str = "fn a() {\n    b();\n}\n\nfn c() {\n    d();\n}\n";

#[tokio::test]
async fn an_exact_edit_is_written_and_its_error_told() {
    for (mode, told) in
        [(SyntaxMode::Veto, true), (SyntaxMode::Warn, true), (SyntaxMode::Off, false)]
    {
        let tools = parsing(&[("a.rs", FILE)], mode);
        let reply = edit(&tools, "a.rs", "    d();", "    d(); }").await;
        assert!(reply.ok, "{}", reply.message);
        assert!(text(&tools, "a.rs").await.contains("d(); }"));
        let line = "Note: new syntax error at line 7: `}` without `{`";
        assert_eq!(reply.message.contains(line), told, "{mode:?}: {}", reply.message);
        let syntax = &reply.report["syntax"];
        assert_eq!(syntax["checked"], told, "{syntax}");
        if told {
            assert_eq!(syntax["new_errors"][0]["line"], 7);
            assert_eq!(syntax["new_errors"][0]["text"], "}");
            let warned = reply.report["warnings"].as_array().expect("warnings");
            let said = |w: &&Value| w.as_str().is_some_and(|w| w.contains("syntax"));
            assert_eq!(warned.iter().filter(said).count(), 1, "one line");
        } else {
            assert_eq!(syntax["why_not"], "off");
        }
    }
}

#[tokio::test]
async fn a_sound_edit_says_nothing() {
    let tools = parsing(&[("a.rs", FILE)], SyntaxMode::Veto);
    let reply = edit(&tools, "a.rs", "    d();", "    e();").await;
    assert!(!reply.message.contains("syntax"), "{}", reply.message);
    assert_eq!(reply.report["syntax"], json!({ "checked": true, "new_errors": [] }));
}

/// The call's own mistake is told, not forbidden: lenient or not, it says what it wants.
#[tokio::test]
async fn what_the_call_itself_breaks_is_told() {
    let tools = parsing(&[("a.rs", "fn a() {\n\tif b {\n\t\tc();\n\t}\n}\n")], SyntaxMode::Veto);
    // One tab too few in both, and one brace too many in `new_str`.
    let reply = edit(&tools, "a.rs", "if b {\n\tc();\n}", "if b {\n\td(); }\n}").await;
    assert!(reply.ok, "{}", reply.message);
    assert_eq!(reply.report["rung"], "indentation");
    assert!(reply.message.contains("new syntax error at line"), "{}", reply.message);
}

/// The other tools tell it as well.
#[tokio::test]
async fn every_tool_that_writes_tells_a_new_error() {
    let calls: &[(&str, Value)] = &[
        (
            "edit_lines",
            json!({ "path": "a.rs", "start_line": 6, "end_line": 6, "new_content": "    d(" }),
        ),
        (
            "hashline_edit",
            json!({ "path": "a.rs", "edits": [{ "op": "append", "lines": ["fn e( {"] }] }),
        ),
        (
            "multi_edit",
            json!({ "edits": [
            { "path": "a.rs", "old_str": "    b();", "new_str": "    b(" },
            { "path": "b.rs", "old_str": "b();", "new_str": "e();" },
        ] }),
        ),
        ("edit_file", json!({ "path": "new.rs", "old_str": "", "new_str": "fn a( {\n}\n" })),
        (
            "apply_patch",
            json!({ "patch": "*** Begin Patch\n*** Update File: a.rs\n@@\n-    d();\n+    d(\n*** End Patch\n" }),
        ),
    ];
    for (tool, arguments) in calls {
        let tools = parsing(&[("a.rs", FILE), ("b.rs", FILE)], SyntaxMode::Veto);
        let reply = tools.call(tool, arguments.clone(), &CallOptions::default()).await;
        assert!(reply.ok, "{tool}: {}", reply.message);
        assert!(reply.message.contains("new syntax error at line"), "{tool}: {}", reply.message);
        assert_eq!(reply.message.matches("syntax error").count(), 1, "{tool}: {}", reply.message);
    }
}

/// Of two outcomes of an ambiguous call one does not parse: the other is written, and why.
#[tokio::test]
async fn an_outcome_that_does_not_parse_is_taken_away() {
    let file = "r:\n    root:\n        a: 1,\n        b: 2\n";
    // As it is sent, the new line is as deep as its neighbours; moved like them, it is below `1`.
    let (old, new) = ("    a: 1,\n    b: 2\n", "    a: 1,\n        c: 3\n    b: 2\n");
    for mode in [SyntaxMode::Off, SyntaxMode::Warn] {
        let tools = parsing(&[("f.yaml", file)], mode);
        let reply = edit(&tools, "f.yaml", old, new).await;
        assert_eq!(reply.code, Some(EditCode::Ambiguous), "{}", reply.message);
        assert_eq!(reply.report["outcomes"].as_array().map(Vec::len), Some(2));
        assert_eq!(text(&tools, "f.yaml").await, file);
    }
    let tools = parsing(&[("f.yaml", file)], SyntaxMode::Veto);
    let reply = edit(&tools, "f.yaml", old, new).await;
    assert!(reply.ok, "{}", reply.message);
    let after = "r:\n    root:\n        a: 1,\n        c: 3\n        b: 2\n";
    assert_eq!(text(&tools, "f.yaml").await, after);
    let why = "1 other reading of the call would cause a syntax error at line";
    assert!(reply.message.contains(why), "{}", reply.message);
}

/// A parser that takes one text for an error.
#[derive(Debug, Clone, Copy)]
struct Forbids(&'static str);

impl Syntax for Forbids {
    fn compare(&self, _: &str, _: &str, after: &str, _: &[Splice]) -> SyntaxCheck {
        let line = after.lines().position(|line| line.contains(self.0));
        let error = line.map(|at| SyntaxError::new(at + 1, self.0, "forbidden"));
        SyntaxCheck::of(Ok(error.into_iter().collect()))
    }
}

/// A parser that fails.
#[derive(Debug)]
struct Panics;

impl Syntax for Panics {
    fn compare(&self, _: &str, _: &str, _: &str, _: &[Splice]) -> SyntaxCheck {
        panic!("the parser of the test fails")
    }
}

#[tokio::test]
async fn an_edit_whose_check_panics_is_written_recorded_and_reported() {
    for mode in [SyntaxMode::Warn, SyntaxMode::Veto] {
        let engine = Engine::builder(store(&[("b.rs", "b\n")])).syntax(Panics, mode);
        let tools = Toolbox::new(engine.build());
        let reply = edit(&tools, "b.rs", "b", "c").await;
        assert!(reply.ok, "{}", reply.message);
        assert_eq!(text(&tools, "b.rs").await, "c\n");
        let unchecked = json!({ "checked": false, "why_not": "failed", "new_errors": [] });
        assert_eq!(reply.report["syntax"], unchecked);
        assert_eq!(tools.engine().log().await.expect("log").len(), 1);
        let next = edit(&tools, "b.rs", "c", "d").await;
        assert!(next.ok, "{}", next.message);
    }
}

/// One tab too few in the call: fitted to the file, `new_str` has two of them before `d`.
const TABS: &str = "fn a() {\n\tif b {\n\t\tc();\n\t}\n}\n";
const FLAT: (&str, &str) = ("if b {\n\tc();\n}", "if b {\n\td();\n}");

#[tokio::test]
async fn a_reading_that_breaks_what_the_call_does_not_is_refused() {
    for (forbidden, mode, refused) in [
        ("\t\td();", SyntaxMode::Veto, true),
        ("\t\td();", SyntaxMode::Warn, false),
        // The call as sent has it as well, but is not exact.
        ("d();", SyntaxMode::Veto, true),
        ("nothing", SyntaxMode::Veto, false),
    ] {
        let engine = Engine::builder(store(&[("a.rs", TABS), ("b.rs", "b\n")]));
        let tools = Toolbox::new(engine.syntax(Forbids(forbidden), mode).build());
        let several = json!({ "edits": [
            { "path": "b.rs", "old_str": "b", "new_str": "c" },
            { "path": "a.rs", "old_str": FLAT.0, "new_str": FLAT.1 },
        ] });
        let several = tools
            .call("multi_edit", several, &CallOptions { dry_run: true, ..CallOptions::default() })
            .await;
        let one = edit(&tools, "a.rs", FLAT.0, FLAT.1).await;
        for reply in [one, several] {
            assert_eq!(reply.code, refused.then_some(EditCode::Syntax), "{}", reply.message);
            if refused {
                let why = "old_str matches (by `indentation`) at line 2, but new_str, changed to fit, would cause a syntax error at line 3: forbidden";
                assert!(reply.message.contains(why), "{}", reply.message);
            }
        }
        assert_eq!(text(&tools, "a.rs").await == TABS, refused);
    }
}

/// A model that answers with one place, and with the text for it.
#[derive(Debug)]
struct Points(&'static str, &'static str);

impl Corrector for Points {
    fn correct<'a>(&'a self, _: &'a Ask, _: &'a Budget) -> FutureReply<'a> {
        Box::pin(async move {
            Ok(Reply::WithNew { text: self.0.to_owned(), place: None, new: self.1.to_owned() })
        })
    }
}

#[tokio::test]
async fn what_a_model_places_is_vetted() {
    let file = "use a;\n\npub fn total_price(items: &[Item], tax: f64) -> f64 {\n    sum(items) * tax\n}\n";
    let (old, new) = (
        "pub fn total_price(list: &[Item], tax: f64) -> f64 {",
        "pub fn total_price(list: &[Item], tax: f64) -> f32 {",
    );
    let place = "pub fn total_price(items: &[Item], tax: f64) -> f64 {";
    let settled = "pub fn total_price(items: &[Item], tax: f64) -> f32 {";
    for (forbidden, refused) in [("items: &[Item], tax: f64) -> f32", true), ("-> f32", false)] {
        let engine = Engine::builder(store(&[("lib.rs", file)])).corrector(Points(place, settled));
        let tools = Toolbox::new(engine.syntax(Forbids(forbidden), SyntaxMode::Veto).build());
        let reply = edit(&tools, "lib.rs", old, new).await;
        assert_eq!(reply.code, refused.then_some(EditCode::Syntax), "{}", reply.message);
        let words =
            if refused { "(as corrected by a model)" } else { "new syntax error at line 3" };
        assert!(reply.message.contains(words), "{}", reply.message);
        assert_eq!(text(&tools, "lib.rs").await == file, refused);
    }
}
