//! Reading, searching and editing by line and by anchor, over the tools as they are called.

mod anchors;
mod differential;
mod figures;
mod identities;
mod numbers;
mod repairs;
mod search;
mod seeds;
mod staging;

use regex::{Captures, Regex};
use restitch::adapters::syntax::TreeSitter;
use restitch::edit::EditCode;
use restitch::engine::{CallOptions, Engine, SyntaxMode};
use restitch::store::DiskStore;
use restitch::tools::{ToolReply, Toolbox};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sandbox::{folder_with, put};

/// One session over a temporary folder.
pub(crate) struct Session {
    pub(crate) dir: TempDir,
    pub(crate) tools: Toolbox,
}

impl Session {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = folder_with(files);
        let store = DiskStore::open(dir.path()).expect("store");
        Self { dir, tools: Toolbox::new(Engine::builder(store).build()) }
    }

    /// The same, with a staging layer over the folder.
    pub(crate) fn staged(files: &[(&str, &str)]) -> Self {
        let Self { dir, .. } = Self::new(files);
        let store = DiskStore::open(dir.path()).expect("store");
        Self { dir, tools: Toolbox::new(Engine::builder(store).build().staged()) }
    }

    /// The same with one file, and edits that are parsed.
    fn parsed(path: &str, text: &str) -> Self {
        let Self { dir, .. } = Self::new(&[(path, text)]);
        let store = DiskStore::open(dir.path()).expect("store");
        let engine = Engine::builder(store).syntax(TreeSitter::new(), SyntaxMode::Veto).build();
        Self { dir, tools: Toolbox::new(engine) }
    }

    /// Writes a file behind the session's back.
    pub(crate) fn put(&self, path: &str, text: &str) {
        put(&self.dir.path().join(path), text);
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(path)).expect("read")
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.dir.path().join(path).exists()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolReply {
        self.tools.call(tool, arguments, &CallOptions::default()).await
    }

    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments).await;
        assert!(reply.ok, "{}", reply.message);
        reply.report
    }

    pub(crate) async fn refused(&self, tool: &str, arguments: Value, code: &str) -> ToolReply {
        let reply = self.call(tool, arguments).await;
        assert_eq!(reply.code.map(EditCode::as_str), Some(code), "{}", reply.message);
        reply
    }

    pub(crate) async fn read(&self, path: &str, style: &str) -> Value {
        self.ok("read_file", json!({ "path": path, "style": style })).await
    }

    /// One hashline edit, all in one.
    pub(crate) async fn hashline(&self, path: &str, edits: Value) -> Value {
        self.ok("hashline_edit", json!({ "path": path, "edits": edits })).await
    }
}

/// The anchor of a line of a text.
pub(crate) fn anchor(text: &str, number: usize) -> String {
    let line = text.split('\n').nth(number - 1).expect("line");
    let rendered = restitch::internals::tag::render(number, line);
    rendered.split('|').next().expect("anchor").to_owned()
}

/// The value with `@3` at the start of a text become the anchor of line 3.
pub(crate) fn with_anchors(before: &str, value: &Value) -> Value {
    let mark = Regex::new(r#""@([0-9]+)"#).expect("pattern");
    let line = |found: &Captures<'_>| format!("\"{}", anchor(before, found[1].parse().expect("n")));
    serde_json::from_str(&mark.replace_all(&value.to_string(), line)).expect("JSON")
}

/// A call of `edit_lines`.
pub(crate) fn line_edit(start: usize, end: usize, content: &str) -> Value {
    json!({ "path": "f", "start_line": start, "end_line": end, "new_content": content })
}

/// The edits of a call that replaces a line of `before` by its anchor.
fn line_by(before: &str, line: usize, text: &str) -> Value {
    json!([{ "op": "replace", "pos": anchor(before, line), "lines": [text] }])
}

/// The same call in the numbers of a version.
fn of_version(snapshot: &Value, mut call: Value) -> Value {
    call["snapshot"] = snapshot.clone();
    call
}

/// The paths of the files in a report.
fn paths(report: &Value) -> Vec<&str> {
    let files = report["files"].as_array().expect("files");
    files.iter().map(|file| file["path"].as_str().expect("path")).collect()
}

pub(crate) fn warnings(report: &Value) -> String {
    report["warnings"].to_string()
}
