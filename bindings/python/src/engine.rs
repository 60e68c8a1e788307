//! The engine: tools over a folder or over a store of the caller's own.

use std::future::ready;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use restitch::adapters::syntax::TreeSitter;
use restitch::engine::{CallOptions, UndoScope};
use restitch::model::{Limited, ModelCorrector, PromptBook, Secrets};
use restitch::port::{
    BoxFuture, Budget, ChatError, ChatModel, ChatReply, ChatRequest, LoadedFile, StoreOutcome,
    VersionedFiles,
};
use restitch::store::{DiskOptions, DiskStore, VersionedStore, state_folder};
use restitch::tools::Toolbox;
use restitch::tools::export::{Format, export};
use serde_json::Value;

/// Runs tools by their names, with arguments and replies as JSON.
#[pyclass(frozen, module = "restitch_edit._native")]
pub(crate) struct Engine {
    toolbox: Toolbox,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (root, store, model, state, allow_protected, syntax))]
    fn new(
        root: Option<PathBuf>,
        store: Option<Py<PyAny>>,
        model: Option<Py<PyAny>>,
        state: Option<PathBuf>,
        allow_protected: Vec<String>,
        syntax: &str,
    ) -> PyResult<Self> {
        let syntax = crate::mode(syntax)?;
        let builder = match (store, root) {
            (Some(store), root) => {
                let root = root.unwrap_or_else(|| PathBuf::from("/"));
                restitch::engine::Engine::builder(VersionedStore::new(Files(store), root))
            }
            (None, Some(root)) => {
                restitch::engine::Engine::builder(disk(&root, state, allow_protected)?)
            }
            (None, None) => return Err(PyValueError::new_err("give `root` or `store`")),
        };
        let builder = builder.syntax(TreeSitter::new(), syntax);
        let builder = match model {
            None => builder,
            Some(model) => builder.corrector(corrector(Callback(model))?),
        };
        Ok(Self { toolbox: Toolbox::new(builder.build()) })
    }

    /// Runs a tool; arguments and reply are JSON.
    fn call(
        &self,
        py: Python<'_>,
        name: &str,
        arguments: &str,
        dry_run: bool,
        request_id: Option<String>,
    ) -> PyResult<String> {
        // Text that is not JSON is passed on: the tools parse it leniently or say what is wrong.
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
        let options = CallOptions {
            dry_run,
            request_id: request_id.map(restitch::port::RequestId::new),
            undo_scope: UndoScope::Session,
        };
        py.detach(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .map_err(|error| PyOSError::new_err(format!("cannot start: {error}")))?;
            let reply = runtime.block_on(self.toolbox.call(name, arguments, &options));
            runtime.shutdown_background();
            serde_json::to_string(&reply).map_err(|error| PyValueError::new_err(error.to_string()))
        })
    }

    /// The declarations of the tools, as JSON.
    fn tools(&self, format: &str) -> PyResult<String> {
        let format = Format::named("format", format).map_err(PyValueError::new_err)?;
        Ok(export(format, self.toolbox.listed_tools()).to_string())
    }
}

/// A store of the files below `root`.
fn disk(root: &Path, state: Option<PathBuf>, allow_protected: Vec<String>) -> PyResult<DiskStore> {
    let state = state.or_else(state_folder);
    let options = DiskOptions { state, allow_protected, ..DiskOptions::default() };
    DiskStore::open_with(root, options)
        .map_err(|error| PyOSError::new_err(format!("cannot open {}: {error}", root.display())))
}

/// A corrector that asks the caller's model.
fn corrector(model: Callback) -> PyResult<Limited<ModelCorrector<Callback>>> {
    let prompts =
        PromptBook::built_in().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let corrector = ModelCorrector::new(model, prompts, Secrets::new());
    Ok(Limited::new(corrector))
}

/// The caller's model: a Python callable that answers a question.
struct Callback(Py<PyAny>);

impl ChatModel for Callback {
    fn identity(&self) -> String {
        "the caller's model".into()
    }

    fn ask<'a>(
        &'a self,
        request: &'a ChatRequest,
        budget: &'a Budget,
        _usable: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        if !budget.take_request() {
            return Box::pin(ready(Err(ChatError::Budget)));
        }
        let left = budget.deadline().saturating_duration_since(tokio::time::Instant::now());
        // Call it on the caller's own thread, since it may use objects that belong to that thread.
        let answer = Python::attach(|py| {
            let ChatRequest { system, user, schema_name, schema, answer_tokens } = request;
            let schema = schema.to_string();
            let arguments =
                (system, user, *schema_name, schema, *answer_tokens, left.as_secs_f64());
            self.0.call1(py, arguments)?.extract::<String>(py)
        });
        let answer = answer
            .map(|content| ChatReply { content })
            .map_err(|error| ChatError::Failed(error.to_string()));
        Box::pin(ready(answer))
    }
}

/// The caller's store: a Python object with `load` and `store_if`.
struct Files(Py<PyAny>);

impl VersionedFiles for Files {
    fn load<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<LoadedFile>, String>> {
        let loaded = Python::attach(|py| {
            let loaded = self.0.call_method1(py, "load", (path,))?;
            loaded.extract::<Option<(Vec<u8>, String)>>(py)
        });
        let file = loaded.map(|file| file.map(|(bytes, version)| LoadedFile { bytes, version }));
        Box::pin(ready(file.map_err(|error| error.to_string())))
    }

    fn store_if<'a>(
        &'a self,
        path: &'a str,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> BoxFuture<'a, Result<StoreOutcome, String>> {
        let written = Python::attach(|py| {
            let bytes = bytes.map(|bytes| PyBytes::new(py, &bytes));
            self.0.call_method1(py, "store_if", (path, bytes, version))?.is_truthy(py)
        });
        let outcome = written.map(|is_written| match is_written {
            true => StoreOutcome::Written,
            false => StoreOutcome::VersionMismatch,
        });
        Box::pin(ready(outcome.map_err(|error| error.to_string())))
    }
}
