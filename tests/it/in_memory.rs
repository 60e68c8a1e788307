//! Tools over files in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::WorkPath;
use restitch::engine::{CallOptions, Engine, SyntaxMode};
use restitch::port::{BoxFuture, LoadedFile, StoreOutcome, VersionedFiles};
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

/// Files of a caller, each with its content as its version. Cloning gives another handle.
#[derive(Clone, Default)]
pub(crate) struct OwnFiles(Arc<Mutex<Files>>);

#[derive(Default)]
pub(crate) struct Files {
    texts: BTreeMap<String, Vec<u8>>,
    /// How many are written before the disk fails.
    pub(crate) writes_left: Option<usize>,
    /// The file that cannot be written.
    pub(crate) broken: Option<&'static str>,
    /// What another program saves once, right after a file was read or before it is written.
    pub(crate) saved_after_read: Option<(&'static str, &'static [u8])>,
    pub(crate) saved_before_write: Option<(&'static str, &'static [u8])>,
}

impl OwnFiles {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().expect("whole")
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        self.lock().texts.insert(path.to_owned(), bytes.to_vec());
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.lock().texts.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

impl VersionedFiles for OwnFiles {
    fn load<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<LoadedFile>, String>> {
        let text = self.text(path);
        let saved = self.lock().saved_after_read.take();
        saved.into_iter().for_each(|(path, bytes)| self.put(path, bytes));
        let file = text.map(|text| LoadedFile { bytes: text.clone().into_bytes(), version: text });
        Box::pin(ready(Ok(file)))
    }

    fn store_if<'a>(
        &'a self,
        path: &'a str,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> BoxFuture<'a, Result<StoreOutcome, String>> {
        let saved = self.lock().saved_before_write.take();
        saved.into_iter().for_each(|(path, bytes)| self.put(path, bytes));
        let now = self.text(path);
        let mut files = self.lock();
        if files.broken == Some(path) || files.writes_left == Some(0) {
            return Box::pin(ready(Err("disk on fire".to_owned())));
        }
        if now != version {
            return Box::pin(ready(Ok(StoreOutcome::VersionMismatch)));
        }
        files.writes_left = files.writes_left.map(|left| left - 1);
        match bytes {
            Some(bytes) => files.texts.insert(path.to_owned(), bytes),
            None => files.texts.remove(path),
        };
        Box::pin(ready(Ok(StoreOutcome::Written)))
    }
}
