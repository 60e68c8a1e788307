//! `within` bounds the search by names, and is refused where a name is not sure.

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::{EditCode, EditRequest};
use restitch::engine::{CallOptions, SyntaxMode};
use restitch::port::Syntax as _;
use restitch::tools::{ToolReply, Toolbox};
use serde_json::json;

use super::languages::samples;
use crate::in_memory::{parsing, text};

fn tools(files: &[(&str, &str)]) -> Toolbox {
    parsing(files, SyntaxMode::Veto)
}

async fn edit(tools: &Toolbox, path: &str, within: &str, old: &str, new: &str) -> ToolReply {
    let call = json!({ "path": path, "old_str": old, "new_str": new, "within": within });
    tools.call("edit_file", call, &CallOptions::default()).await
}

const RUST: &str = "\
struct Pool;

impl Pool {
    /// Opens — it.
    #[inline]
    fn open(&self) -> u8 {
        let n = 1;
        n
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let n = 1;
    }
}

struct Lake;

impl Lake {
    fn open(&self) -> u8 {
        let n = 1;
        n
    }
}
";

#[tokio::test]
async fn equal_places_are_told_apart() {
    for (within, line) in [
        ("class Pool / fn open", 7),
        ("impl Pool / fn open", 7),
        ("Pool::open", 7),
        ("impl Pool", 7),
        ("impl Drop for Pool", 14),
        ("Pool / drop", 14),
        ("fn drop", 14),
        ("pub fn drop<T>(a: &[u8], b: T) {", 14),
        ("impl<'a> Drop for Pool<'a>", 14),
        ("struct Lake / open(&self)", 22),
    ] {
        let tools = tools(&[("a.rs", RUST)]);
        let reply = edit(&tools, "a.rs", within, "let n = 1;", "let n = 2;").await;
        assert!(reply.ok, "{within}: {}", reply.message);
        let after = text(&tools, "a.rs").await;
        let changed = after.lines().position(|line| line.contains("let n = 2;")).expect("changed");
        assert_eq!((changed + 1, after.matches("n = 2").count()), (line, 1), "{within}");
        assert_eq!(after.replace("n = 2", "n = 1"), RUST, "{within}: nothing else");
    }
}

/// Indentation, attributes and what the reading of a call may touch: all as without a bound.
#[tokio::test]
async fn a_lenient_reading_stays_in_its_bound() {
    let tools = tools(&[("a.rs", RUST)]);
    let reply = edit(&tools, "a.rs", "Lake / open", "let n = 1;\nn\n", "let n = 3;\nn + 1\n").await;
    assert!(reply.ok, "{}", reply.message);
    assert!(text(&tools, "a.rs").await.ends_with("        let n = 3;\n        n + 1\n    }\n}\n"));
    let reply = edit(&tools, "a.rs", "impl Pool / open", "/// Opens — it.", "/// Opens it.").await;
    assert!(reply.ok, "the comment above belongs to it: {}", reply.message);
}

#[tokio::test]
async fn what_is_not_sure_is_refused_with_the_names_there_are() {
    for (path, file, within, words) in [
        (
            "a.rs",
            RUST,
            "Pool",
            "3 times: `struct Pool` at line 1, `impl Pool` at lines 3-10, `impl Drop for Pool` at lines 12-16",
        ),
        (
            "a.rs",
            RUST,
            "fn open",
            "\"fn open\" occurs 2 times: `impl Pool / function open` at lines 4-9",
        ),
        ("a.rs", RUST, "Pool / close", "\"Pool / close\"; there is `struct Pool` at line 1, "),
        ("a.rs", RUST, "Sea / open", "there is `impl Pool / function open`"),
        ("a.rs", RUST, "mod Lake", "`struct Lake` at line 18"),
        ("a.rs", RUST, " / ", "`within` names nothing"),
        ("a.rs", "fn a( {\n let n = 1;\n}\n", "fn a", "the file does not parse"),
        ("a.md", "let n = 1;\n", "fn a", "there is no grammar for this kind of file"),
        ("a.json", "{\"a\": \"let n = 1;\"}\n", "a", "the file defines no names"),
    ] {
        let tools = tools(&[(path, file)]);
        let reply = edit(&tools, path, within, "let n = 1;", "let n = 2;").await;
        assert_eq!(reply.code, Some(EditCode::InvalidArguments), "{within}: {}", reply.message);
        assert!(reply.message.contains(words), "{within}: {}", reply.message);
        assert_eq!(text(&tools, path).await, file);
    }
    let tools = tools(&[("a.rs", RUST)]);
    let reply = edit(&tools, "a.rs", "fn drop", "        n\n", "        m\n").await;
    assert_eq!(reply.code, Some(EditCode::OccurrenceMismatch), "{}", reply.message);
    let words = "old_str is not in \"fn drop\" (lines 13-15), but at line 8";
    assert!(reply.message.contains(words), "{}", reply.message);
    let reply = edit(&tools, "a.rs", "fn drop", "let sea = 1;", "x").await;
    assert_eq!(reply.code, Some(EditCode::NoOccurrence), "{}", reply.message);
    assert!(reply.message.contains("(in \"fn drop\", lines 13-15)"), "{}", reply.message);
}

#[tokio::test]
async fn several_edits_have_a_bound_each() {
    let tools = tools(&[("a.rs", RUST)]);
    let path = tools.engine().path("a.rs").expect("path");
    let edit = |new: &str, within: &str| {
        (path.clone(), EditRequest::new("let n = 1;", new).within(within))
    };
    let edits = [edit("let n = 5;", "Lake / open"), edit("let n = 6;", "fn drop")];
    let done = tools.engine().multi_edit(&edits, &CallOptions::default()).await;
    assert!(done.is_ok(), "{done:?}");
    let after = text(&tools, "a.rs").await;
    assert!(after.find("n = 6") < after.find("n = 5"), "{after}");
}

/// The names of every language that has some.
#[test]
fn each_grammar_names_what_a_file_defines() {
    let wanted: &[(&str, &[&str])] = &[
        ("a.rs", &["function add", "function main"]),
        ("a.py", &["function path"]),
        ("a.js", &["function f"]),
        ("a.jsx", &["function A"]),
        ("a.ts", &["interface P", "function g"]),
        ("a.tsx", &["type alias P", "function A"]),
        ("a.go", &["method Pool.Open"]),
        ("A.java", &["class A", "method get"]),
        ("a.c", &["struct s", "function main"]),
        ("a.h", &["namespace a", "struct B"]),
        ("a.cpp", &["class Pool", "function open"]),
        ("a.cs", &["file scoped namespace A", "class Pool", "property Name", "method Open"]),
        ("a.rb", &["class Pool", "method open"]),
        ("a.php", &["function open"]),
        ("a.lua", &["function M.open"]),
    ];
    for (path, names) in wanted {
        let samples = samples();
        let sample = samples.iter().find(|sample| sample.path == *path).expect("a sample");
        let found = TreeSitter::new().definitions(path, &sample.file).expect("parsed");
        let found: Vec<String> = found.iter().map(|d| format!("{} {}", d.kind, d.name)).collect();
        assert_eq!(found, *names, "{path}");
    }
}
