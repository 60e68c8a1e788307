//! Tools over files in memory.

use std::path::Path;
use std::sync::Arc;

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::WorkPath;
use restitch::engine::{CallOptions, Engine, SyntaxMode};
use restitch::store::MemoryStore;
use restitch::tools::{ToolReply, Toolbox};
use serde_json::Value;

pub(crate) fn store(files: &[(&str, &str)]) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::default());
    for (path, text) in files {
        let path = WorkPath::parse(path, Path::new("/")).expect("path");
        store.put(path, text.as_bytes().to_vec());
    }
    store
}

pub(crate) fn toolbox(files: &[(&str, &str)]) -> Toolbox {
    Toolbox::new(Engine::builder(store(files)).build())
}

/// The same, with a parser.
pub(crate) fn parsing(files: &[(&str, &str)], mode: SyntaxMode) -> Toolbox {
    Toolbox::new(Engine::builder(store(files)).syntax(TreeSitter::new(), mode).build())
}

pub(crate) async fn call(tools: &Toolbox, tool: &str, arguments: Value) -> ToolReply {
    tools.call(tool, arguments, &CallOptions::default()).await
}

pub(crate) async fn text(tools: &Toolbox, path: &str) -> String {
    let path = tools.engine().path(path).expect("path");
    tools.engine().snapshot(&path).await.expect("file").text().to_owned()
}
