//! The MCP server: it offers the tools through rmcp. No other module uses rmcp.
//!
//! One handler serves both lifecycles (`initialize`, and the stateless one of
//! 2026-07-28). A refusal is an answer with `isError`, never a protocol error, since clients hide
//! protocol errors from the model. For clients that wrap such an answer in JSON it has no `isError`.
//! The answer is text for the model.
//! Structured content is sent only on request, because several clients would show it to the model
//! in place of the text, as one line of escaped JSON.

mod connections;
mod http;
mod lines;
mod metrics;
mod session;
mod stdio;
#[cfg(unix)]
mod streams;
mod workers;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::ServiceExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, Implementation, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use crate::edit::{EditCode, Refusal, path_of_uri};
use crate::engine::{CallOptions, Engine, Observer, UndoScope};
use crate::tools::{ToolReply, ToolSpec, Toolbox, export};

pub(crate) use http::{HttpOptions, serve_http};
#[cfg(feature = "cli")]
pub(crate) use lines::BoundedLines;
use metrics::Metrics;
pub(crate) use session::Opener;
use session::SessionTools;
use stdio::StdioTransport;
use workers::Workers;

/// The longest line in bytes that is read as a message; no edit comes near it.
const MAX_FRAME: usize = 16 * 1024 * 1024;

/// How long an answer waits until the client has taken its last progress message.
const PROGRESS_GRACE: Duration = Duration::from_millis(200);

/// The most files that a session may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 256;

/// The longest URI that can be subscribed to, in bytes: a path of 4 KiB whose bytes are all encoded.
const MAX_URI: usize = 3 * 4096;

const INSTRUCTIONS: &str = "restitch applies the edit you meant, or says exactly why it will not. \
Prefer its edit tools over others and over shell commands. A refusal carries what the next call \
needs; do not repeat a refused call as it was.";

/// Serves the tools over stdin and stdout until the client closes them. The tokio runtime needs time and,
/// on Unix, I/O: build it with `enable_all`.
pub async fn serve_stdio(server: McpServer) -> Result<(), String> {
    #[cfg(unix)]
    let (stdin, stdout) = (streams::stdin(), streams::stdout());
    #[cfg(not(unix))]
    let (stdin, stdout) = rmcp::transport::stdio();
    let (transport, writer, client_left) = StdioTransport::new(stdin, stdout, MAX_FRAME);
    let ended = match server.serve(transport).await {
        Ok(service) => {
            let cancellation = service.cancellation_token();
            tokio::spawn(async move {
                if client_left.await.is_ok() {
                    cancellation.cancel();
                }
            });
            let ended = service.waiting().await;
            ended.map(|_| ()).map_err(|error| format!("the MCP session failed: {error}"))
        }
        // A client that disconnects before its first message is not an error.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(format!("the MCP session did not start: {error}")),
    };
    // Send the last answers, but do not wait for a client that does not read them.
    let _ = tokio::time::timeout(stdio::LAST_ANSWER, writer).await;
    ended
}

/// The tools as an MCP server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// The tools of this server's session.
    tools: Arc<SessionTools>,
    /// Whether an answer holds structured content in addition to its text.
    structured: bool,
    /// The URIs that a client of the older lifecycle has subscribed to; `None` before its first
    /// subscription.
    watched: Arc<Mutex<Option<BTreeSet<String>>>>,
    workers: Workers,
    /// Whether the client has asked for the list of resources, and so wants to know of new ones.
    lists_resources: Arc<AtomicBool>,
    /// Counts the calls; `None` over stdio.
    metrics: Option<Arc<Metrics>>,
}

impl McpServer {
    /// A server that offers the tools of `toolbox`.
    pub fn new(toolbox: Toolbox) -> Self {
        let tools = Arc::new(SessionTools::new(toolbox));
        let workers = Workers::new();
        Self {
            tools,
            structured: false,
            watched: Arc::default(),
            workers,
            lists_resources: Arc::default(),
            metrics: None,
        }
    }

    /// The same server, answering with structured content too and declaring its schemas.
    #[must_use]
    pub fn structured(self) -> Self {
        Self { structured: true, ..self }
    }

    /// The same server, which ends the first answer of each session with this line.
    #[must_use]
    pub(crate) fn with_opening(self, line: String) -> Self {
        Self { tools: Arc::new(self.tools.with_opening(line)), ..self }
    }

    /// The same server, which works in the folder that its client names as a root.
    #[must_use]
    pub(crate) fn with_opener(self, opener: Opener) -> Self {
        Self { tools: Arc::new(self.tools.with_opener(opener)), ..self }
    }

    /// The server for a new session: the same tools and settings, but its own subscriptions and its
    /// own record of the lines that the client was shown.
    fn for_session(&self) -> Self {
        Self {
            tools: Arc::new(self.tools.for_new_session()),
            watched: Arc::default(),
            lists_resources: Arc::default(),
            ..self.clone()
        }
    }

    /// Notifies a client of the older lifecycle of changes to the files it has subscribed to, until
    /// the client disconnects.
    fn notify_of_changes(&self, engine: &Engine, peer: Peer<RoleServer>) {
        let Some(mut changes) = engine.changes() else { return };
        let (server, engine) = (self.clone(), engine.clone());
        tokio::spawn(async move {
            loop {
                let uris = match changes.recv().await {
                    Ok(change) => vec![file_uri(&engine, &change.path)],
                    // Some were missed: every watched file may have changed.
                    Err(RecvError::Lagged(_)) => server.watched_uris(),
                    Err(RecvError::Closed) => return,
                };
                let watched = server.watched_uris();
                for uri in uris.into_iter().filter(|uri| watched.contains(uri)) {
                    let note = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(note).await.is_err() {
                        return;
                    }
                }
            }
        });
    }

    /// Refuses resources to a client whose tools cannot read files.
    fn require_resources(&self) -> Result<(), ErrorData> {
        if self.tools.toolbox().can_read_files() {
            return Ok(());
        }
        let why = "this server offers no resources, because its --tools leave out read_file";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }

    /// The URIs that the client has subscribed to.
    fn watched_uris(&self) -> Vec<String> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().flatten().cloned().collect()
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let identity = Implementation::new("restitch", env!("CARGO_PKG_VERSION"));
        let capabilities = match self.tools.toolbox().can_read_files() {
            true => ServerCapabilities::builder()
                .enable_tools()
                .enable_resources()
                .enable_resources_subscribe()
                .enable_resources_list_changed()
                .build(),
            false => ServerCapabilities::builder().enable_tools().build(),
        };
        // Under a guard, the instructions also say what the model must do first.
        let instructions = match self.tools.toolbox().opening_message() {
            Some(opening) => format!("{INSTRUCTIONS} {opening}"),
            None => INSTRUCTIONS.to_owned(),
        };
        ServerConfig::new(capabilities).with_server_info(identity).with_instructions(instructions)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.require_resources()?;
        self.lists_resources.store(true, Ordering::Release);
        let toolbox = self.tools.session(&context, None).await.map_err(not_now)?;
        let engine = toolbox.engine();
        let files = engine.ledger().files();
        let resources = files.iter().map(|(path, snapshot)| {
            let mut resource = Resource::new(file_uri(engine, path.as_str()), path.as_str());
            resource.size = Some(snapshot.bytes().len() as u64);
            resource
        });
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.tools.ask_for_roots_again();
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unknown_method(&request.method))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools =
            self.tools.toolbox().listed_tools().filter_map(|spec| describe(spec, self.structured));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.require_resources()?;
        let not_found = |why: String| ErrorData::resource_not_found(why, None);
        let raw_path = path_of_uri(&request.uri).ok_or_else(|| {
            not_found(format!("`{}` is not the file:// URI of a file on this machine", request.uri))
        })?;
        let toolbox = self.tools.session(&context, None).await.map_err(not_now)?;
        let engine = toolbox.engine();
        let path = engine.path(&raw_path).map_err(|refusal| not_found(refusal.text()))?;
        let snapshot = engine.snapshot(&path).await.map_err(|refusal| not_found(refusal.text()))?;
        let contents = ResourceContents::text(snapshot.text(), request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.require_resources()?;
        let toolbox = self.tools.session(&context, None).await.map_err(not_now)?;
        let is_first = {
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = watched.is_none();
            let watched = watched.get_or_insert_default();
            if !watched.contains(&request.uri) {
                require_room(watched.len() + 1, [&request.uri])?;
            }
            watched.insert(request.uri);
            is_first
        };
        if is_first {
            self.notify_of_changes(toolbox.engine(), context.peer);
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = watched.as_mut() {
            watched.remove(&request.uri);
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let wanted = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        if !wanted.is_empty() {
            self.require_resources()?;
            require_room(wanted.len(), &wanted)?;
        }
        let engine = self.tools.toolbox().engine();
        let Some(mut changes) = engine.changes() else {
            context.cancelled().await;
            return Ok(());
        };
        loop {
            let uris = tokio::select! {
                change = changes.recv() => match change {
                    Ok(change) => vec![file_uri(engine, &change.path)],
                    Err(RecvError::Lagged(_)) => wanted.clone(),
                    Err(RecvError::Closed) => return Ok(()),
                },
                () = context.cancelled() => return Ok(()),
            };
            for uri in uris.into_iter().filter(|uri| wanted.contains(uri)) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _running = self.metrics.as_ref().map(|metrics| metrics.running.clone());
        let start = Instant::now();
        let (observer, progress) = forward_progress(&context);
        let client = context.peer.peer_info().map(|peer| peer.client_info.name.clone());
        let wraps_errors = client.as_deref().is_some_and(wraps_errors);
        let toolbox = match self.tools.session(&context, Some(&request.name)).await {
            Ok(toolbox) => toolbox,
            Err(refusal) => {
                let reply = ToolReply::refused(refusal);
                return Ok(answer(reply, self.structured, wraps_errors).into());
            }
        };
        let mut engine = toolbox.engine().clone();
        let ledger = engine.ledger().clone();
        let file_count_before = ledger.files().len();
        if let Some(observer) = observer {
            engine = engine.with_observer(observer);
        }
        if let Some(client) = &client {
            engine = engine.for_client(client);
        }
        let toolbox = toolbox.over(engine);
        let name = request.name.into_owned();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let tool = name.clone();
        let options = CallOptions { undo_scope: UndoScope::Session, ..CallOptions::default() };
        // Dropping `work` stops a call to the model and a commit that has not begun. If the tool
        // panics, the client gets an answer that says so.
        let work =
            self.workers.run(move || async move { toolbox.call(&name, arguments, &options).await });
        let mut reply = tokio::select! {
            result = work => result.unwrap_or_else(|| ToolReply::refused(
                Refusal::new(EditCode::ReadError, "the tool stopped with an internal error")
                    .hint("The file may or may not have changed: read it before the next edit."),
            )),
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
        };
        if let Some(metrics) = &self.metrics {
            metrics.record_answer(&tool, &reply, start.elapsed());
        }
        // Send all progress messages before the answer.
        if let Some(progress) = progress {
            // The wait is bounded, because a client that closed its side reads no progress.
            let _ = tokio::time::timeout(PROGRESS_GRACE, progress).await;
        }
        self.tools.append_notice(&mut reply);
        if self.lists_resources.load(Ordering::Acquire) && ledger.files().len() != file_count_before
        {
            // This fails only if the client has disconnected.
            let _ = context.peer.notify_resource_list_changed().await;
        }
        Ok(answer(reply, self.structured, wraps_errors).into())
    }
}

/// The methods that rmcp knows: if it passes on one of these as unknown, the parameters are
/// invalid.
const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// The answer to a request with an unknown method or invalid parameters.
fn unknown_method(method: &str) -> ErrorData {
    if METHODS.contains(&method) {
        let text = format!("the parameters of `{method}` do not match the protocol");
        return ErrorData::new(ErrorCode::INVALID_PARAMS, text, None);
    }
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None)
}

/// The answer to a request that the session cannot serve as it is.
fn not_now(refusal: Refusal) -> ErrorData {
    ErrorData::invalid_request(refusal.text(), None)
}

/// Refuses so many subscriptions, or one with so long a URI, that a client could fill the memory.
fn require_room<'a>(
    count: usize,
    uris: impl IntoIterator<Item = &'a String>,
) -> Result<(), ErrorData> {
    if count > MAX_SUBSCRIPTIONS {
        let why = format!(
            "a session may subscribe to {MAX_SUBSCRIPTIONS} files; unsubscribe from some first"
        );
        return Err(ErrorData::invalid_params(why, None));
    }
    if uris.into_iter().any(|uri| uri.len() > MAX_URI) {
        let why = format!("the URI is longer than {MAX_URI} bytes, which no file's is");
        return Err(ErrorData::invalid_params(why, None));
    }
    Ok(())
}

/// The `file://` URI of a file whose path is relative to the root.
fn file_uri(engine: &Engine, path: &str) -> String {
    let path = format!("{}/{path}", engine.root().display());
    format!("file://{}", utf8_percent_encode(&path, ENCODED))
}

/// An observer of the call's stages and the task that sends them to the client as progress; `None`
/// if the client did not ask for progress. The task ends when the observer is dropped.
fn forward_progress(
    context: &RequestContext<RoleServer>,
) -> (Option<Observer>, Option<tokio::task::JoinHandle<()>>) {
    let Some(token) = context.meta.get_progress_token() else { return (None, None) };
    let (send, mut stages) = mpsc::unbounded_channel::<String>();
    let peer = context.peer.clone();
    let forward = tokio::spawn(async move {
        let mut step = 0.0;
        while let Some(message) = stages.recv().await {
            step += 1.0;
            let note = ProgressNotificationParam::new(token.clone(), step).with_message(message);
            if peer.notify_progress(note).await.is_err() {
                return;
            }
        }
    });
    let observer: Observer = Arc::new(move |stage, subject| {
        // The receiver is gone only when the client is.
        let _ = send.send(format!("{stage}: {subject}"));
    });
    (Some(observer), Some(forward))
}

/// Whether this client shows its model an answer with `isError` as JSON in a string, with the call
/// again in front (Gemini CLI), or with the answer twice (Qwen Code).
fn wraps_errors(client: &str) -> bool {
    ["gemini-cli-mcp-client", "qwen-cli-mcp-client"].iter().any(|name| client.starts_with(name))
}

/// A tool's reply as the result of an MCP call. Where a client wraps errors, a refusal is marked by its
/// code in the text alone.
fn answer(reply: ToolReply, structured: bool, wraps_errors: bool) -> CallToolResult {
    let code = reply.code.map(EditCode::as_str).filter(|_| wraps_errors);
    let lacks_code =
        |code: &&str| !reply.message.to_ascii_uppercase().starts_with(&code.to_ascii_uppercase());
    let text = match code.filter(lacks_code) {
        Some(code) => format!("{code}: {}", reply.message),
        None => reply.message.clone(),
    };
    let text = vec![ContentBlock::text(text)];
    let mut result = match reply.ok || code.is_some() {
        true => CallToolResult::success(text),
        false => CallToolResult::error(text),
    };
    if structured {
        result.structured_content = serde_json::to_value(&reply).ok();
    }
    result
}

/// The declaration of a tool as MCP lists it.
fn describe(spec: &ToolSpec, structured: bool) -> Option<Tool> {
    let mut declaration = export::declare(export::Format::Mcp, spec);
    if structured {
        declaration["outputSchema"] = (spec.output)();
    }
    serde_json::from_value(declaration).ok()
}

/// What is encoded in the path of a URI.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_as_uris() {
        for path in ["/a/b.rs", "/a b/ü%20.txt", "/x?y#z"] {
            let uri = format!("file://{}", utf8_percent_encode(path, ENCODED));
            assert_eq!(path_of_uri(&uri).as_deref(), Some(path));
        }
        assert_eq!(utf8_percent_encode("/a b", ENCODED).to_string(), "/a%20b");
    }
}
