//! The engine: tools over a folder or over a store of the caller's own.

use std::path::{Path, PathBuf};

use napi::Status;
use napi::bindgen_prelude::{Buffer, Error, FnArgs, Promise, Result};
use napi::threadsafe_function::ThreadsafeFunction;
use napi_derive::napi;
use restitch::adapters::syntax::TreeSitter;
use restitch::engine::{CallOptions, Engine, UndoScope};
use restitch::model::{Limited, ModelCorrector, PromptBook, Secrets};
use restitch::port::{
    BoxFuture, Budget, ChatError, ChatModel, ChatReply, ChatRequest, LoadedFile, StoreOutcome,
    VersionedFiles,
};
use restitch::store::{DiskOptions, DiskStore, VersionedStore, state_folder};
use restitch::tools::Toolbox;
use restitch::tools::export::{Format, export};
use serde_json::{Value, json};

/// A file as the caller's store has it.
#[napi(object)]
pub struct NativeLoaded {
    pub bytes: Buffer,
    pub version: String,
}

type Call<T, R> = ThreadsafeFunction<T, Promise<R>, T, Status, false, true>;
type Load = Call<FnArgs<(String,)>, Option<NativeLoaded>>;
type StoreIf = Call<FnArgs<(String, Option<Buffer>, Option<String>)>, bool>;
type Ask = Call<FnArgs<(String,)>, String>;

/// Tools by name and JSON.
#[napi]
pub struct NativeEngine {
    toolbox: Toolbox,
}

#[napi]
impl NativeEngine {
    #[napi(constructor)]
    pub fn new(
        root: Option<String>,
        state: Option<String>,
        allow_protected: Vec<String>,
        syntax: Option<String>,
        #[napi(ts_arg_type = "((path: string) => Promise<NativeLoaded | null>) | null")]
        load: Option<Load>,
        #[napi(
            ts_arg_type = "((path: string, bytes: Buffer | null, version: string | null) => Promise<boolean>) | null"
        )]
        store_if: Option<StoreIf>,
        #[napi(ts_arg_type = "((question: string) => Promise<string>) | null")] model: Option<Ask>,
    ) -> Result<Self> {
        let syntax = crate::mode(syntax)?;
        let builder = match (load, store_if, root) {
            (Some(load), Some(store_if), root) => {
                let files = Files { load, store_if };
                Engine::builder(VersionedStore::new(files, root.unwrap_or_else(|| "/".into())))
            }
            (_, _, Some(root)) => {
                Engine::builder(disk(Path::new(&root), state.map(PathBuf::from), allow_protected)?)
            }
            _ => return Err(Error::from_reason("give `root` or `store`")),
        };
        let builder = builder.syntax(TreeSitter::new(), syntax);
        let builder = match model {
            None => builder,
            Some(model) => {
                let prompts = PromptBook::built_in()
                    .map_err(|error| Error::from_reason(error.to_string()))?;
                let model = ModelCorrector::new(Callback(model), prompts, Secrets::new());
                builder.corrector(Limited::new(model))
            }
        };
        Ok(Self { toolbox: Toolbox::new(builder.build()) })
    }

    /// Runs a tool; arguments and reply are JSON.
    #[napi]
    pub async fn call(
        &self,
        name: String,
        arguments: String,
        dry_run: bool,
        request_id: Option<String>,
    ) -> Result<String> {
        // Text that is not JSON is passed on: the tools parse it leniently or say what is wrong.
        let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
        let options = CallOptions {
            dry_run,
            request_id: request_id.map(restitch::port::RequestId::new),
            undo_scope: UndoScope::Session,
        };
        let reply = self.toolbox.call(&name, arguments, &options).await;
        serde_json::to_string(&reply).map_err(|error| Error::from_reason(error.to_string()))
    }

    /// The declarations, as JSON.
    #[napi]
    pub fn tools(&self, format: String) -> Result<String> {
        let format = Format::named("format", &format).map_err(Error::from_reason)?;
        Ok(export(format, self.toolbox.listed_tools()).to_string())
    }
}

/// A store of the files below `root`.
fn disk(root: &Path, state: Option<PathBuf>, allow_protected: Vec<String>) -> Result<DiskStore> {
    let state = state.or_else(state_folder);
    let options = DiskOptions { state, allow_protected, ..DiskOptions::default() };
    DiskStore::open_with(root, options)
        .map_err(|error| Error::from_reason(format!("cannot open {}: {error}", root.display())))
}

/// The caller's model: a JavaScript function that answers a question.
struct Callback(Ask);

impl ChatModel for Callback {
    fn identity(&self) -> String {
        "the caller's model".into()
    }

    fn ask<'a>(
        &'a self,
        request: &'a ChatRequest,
        budget: &'a Budget,
        _usable: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, std::result::Result<ChatReply, ChatError>> {
        Box::pin(async move {
            if !budget.take_request() {
                return Err(ChatError::Budget);
            }
            let left = budget.deadline().saturating_duration_since(tokio::time::Instant::now());
            let question = json!({
                "system": request.system,
                "prompt": request.user,
                "schemaName": request.schema_name,
                "schema": request.schema,
                "maxTokens": request.answer_tokens,
                "timeout": left.as_secs_f64(),
            });
            let failed = |error: Error| ChatError::Failed(error.reason.to_string());
            let answer = self.0.call_async((question.to_string(),).into()).await.map_err(failed)?;
            let content = answer.await.map_err(failed)?;
            Ok(ChatReply { content })
        })
    }
}

/// The caller's store: two JavaScript functions.
struct Files {
    load: Load,
    store_if: StoreIf,
}

impl VersionedFiles for Files {
    fn load<'a>(
        &'a self,
        path: &'a str,
    ) -> BoxFuture<'a, std::result::Result<Option<LoadedFile>, String>> {
        Box::pin(async move {
            let promise = self.load.call_async((path.to_owned(),).into()).await.map_err(reason)?;
            let loaded = promise.await.map_err(reason)?;
            Ok(loaded.map(|file| LoadedFile { bytes: file.bytes.to_vec(), version: file.version }))
        })
    }

    fn store_if<'a>(
        &'a self,
        path: &'a str,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> BoxFuture<'a, std::result::Result<StoreOutcome, String>> {
        Box::pin(async move {
            let arguments = (path.to_owned(), bytes.map(Buffer::from), version).into();
            let promise = self.store_if.call_async(arguments).await.map_err(reason)?;
            let is_written = promise.await.map_err(reason)?;
            Ok(if is_written { StoreOutcome::Written } else { StoreOutcome::VersionMismatch })
        })
    }
}

/// The message of a JavaScript error.
fn reason(error: Error) -> String {
    error.reason.to_string()
}
