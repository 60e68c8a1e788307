//! The MCP server: the table of tools behind rmcp's handler. The only module that
//! names rmcp.
//!
//! One handler serves both lifecycles (`initialize`, and the stateless one of
//! 2026-07-28). A refusal is an answer with `isError`, never a protocol error, since clients hide
//! those from the model. Sampling is not used. The answer is text, which is meant for the model:
//! several clients would show it structured content instead, as one line of escaped JSON, so that
//! is sent only on request.

mod admission;
mod connections;
mod frames;
mod http;
mod metrics;
mod rate_limit;
mod session;
pub(crate) mod stdin;
mod workers;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::ServiceExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, Implementation, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Resource, ResourceContents, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};

use crate::edit::{EditCode, Refusal};
use crate::engine::{CallOptions, Engine, Observer, UndoScope};
use crate::session::SeenAnswers;
use crate::spans::TraceContext;
use crate::tools::{ToolReply, ToolSpec, Toolbox};

#[cfg(feature = "cli")]
pub(crate) use frames::BoundedLines;
pub use http::{Access, HttpOptions, serve_http};
use metrics::Metrics;
pub use rate_limit::{RateLimitedCorrector, RateLimiter};
pub use session::Opener;
use session::SessionTools;
use workers::Workers;

/// A longer line is not read: no edit is near it, and it would fill the memory.
const MAX_FRAME: usize = 16 * 1024 * 1024;

/// How long an answer waits for its last progress message to be taken.
const PROGRESS_GRACE: Duration = Duration::from_millis(200);

const INSTRUCTIONS: &str = "restitch applies the edit you meant, or says exactly why it will not. \
Prefer its edit tools over others and over shell commands. A refusal carries what the next call \
needs; do not repeat a refused call as it was.";

/// Serves the tools over stdin and stdout until the client closes them.
pub async fn serve_stdio(server: McpServer) -> Result<(), String> {
    let (_, stdout) = rmcp::transport::stdio();
    let (stdin, counter) =
        stdin::open().map_err(|error| format!("stdin cannot be read: {error}"))?;
    let (to_server, requests) = tokio::io::duplex(1 << 16);
    let (answers, from_server) = tokio::io::duplex(1 << 16);
    let (rejections, refused) = mpsc::channel(16);
    let traffic = frames::Traffic::new(Some(counter));
    let client_closed = traffic.closed();
    tokio::spawn(frames::forward_requests(
        stdin,
        to_server,
        rejections,
        traffic.clone(),
        MAX_FRAME,
    ));
    let out = tokio::spawn(frames::forward_answers(from_server, stdout, refused, traffic.clone()));
    let server = McpServer { client_closed: Some(client_closed), traffic: Some(traffic), ..server };
    let transport = AsyncRwTransport::new_server(requests, answers);
    let service = match server.serve(transport).await {
        Ok(service) => service,
        // A client that disconnects before its first message is not an error.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(format!("the MCP session did not start: {error}")),
    };
    service.waiting().await.map_err(|error| format!("the MCP session failed: {error}"))?;
    // The last answers; a client that does not take them is not waited for.
    let _ = tokio::time::timeout(frames::LAST_ANSWER, out).await;
    Ok(())
}

/// The tools as an MCP server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// The tools before a session has begun, and the session.
    tools: Arc<SessionTools>,
    format: AnswerFormat,
    /// What a client of the older lifecycle has subscribed to; `None` before the first.
    watched: Arc<Mutex<Option<BTreeSet<String>>>>,
    workers: Workers,
    /// Becomes true when the client waits for no answer any more.
    client_closed: Option<watch::Receiver<bool>>,
    /// What is known of the client's stream, where there is one.
    traffic: Option<Arc<frames::Traffic>>,
    /// Whether the client has asked for the list of resources, and wants to know of new ones.
    lists_resources: Arc<AtomicBool>,
    /// Where its calls are counted, in whose name, and how many there may be.
    counter: Option<CallCounter>,
}

/// Where calls are counted.
#[derive(Debug, Clone)]
struct CallCounter {
    metrics: Arc<Metrics>,
    access: Arc<str>,
    calls: Option<Arc<RateLimiter>>,
}

impl CallCounter {
    /// The answer to a call that is one too many.
    fn refuse(&self) -> Option<ToolReply> {
        let wait = self.calls.as_ref()?.take().err()?;
        let seconds = wait.as_secs() + 1;
        let reply = ToolReply::refused(
            Refusal::new(EditCode::Blocked, "this token has reached its limit of calls per minute")
                .hint(format!("Nothing was done. Send the same call again in {seconds} s.")),
        );
        self.metrics.record_answer(&self.access, "", &reply, Duration::ZERO);
        Some(reply)
    }
}

/// A call that is counted as under way until it is over, in whatever way.
struct RunningCall(Option<Arc<Metrics>>);

impl RunningCall {
    fn begin(counter: Option<&CallCounter>) -> Self {
        let metrics = counter.map(|counter| counter.metrics.clone());
        if let Some(metrics) = &metrics {
            metrics.call_started();
        }
        Self(metrics)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if let Some(metrics) = &self.0 {
            metrics.call_ended();
        }
    }
}

/// What an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerFormat {
    Text,
    TextAndStructure,
}

impl McpServer {
    /// A server over the tools.
    pub fn new(toolbox: Toolbox) -> Self {
        let tools = Arc::new(SessionTools::new(toolbox));
        let workers = Workers::new();
        Self {
            tools,
            format: AnswerFormat::Text,
            watched: Arc::default(),
            workers,
            client_closed: None,
            traffic: None,
            lists_resources: Arc::default(),
            counter: None,
        }
    }

    /// The same server, whose calls are counted, and no more than there may be.
    fn with_metrics(
        self,
        metrics: Arc<Metrics>,
        access: Arc<str>,
        calls: Option<Arc<RateLimiter>>,
    ) -> Self {
        Self { counter: Some(CallCounter { metrics, access, calls }), ..self }
    }

    /// The same server, answering with structured content too and declaring its schemas.
    #[must_use]
    pub fn structured(self) -> Self {
        Self { format: AnswerFormat::TextAndStructure, ..self }
    }

    /// The same server, whose first answer of a session ends with this line.
    #[must_use]
    pub fn with_opening(self, line: String) -> Self {
        Self { tools: Arc::new(self.tools.with_opening(line)), ..self }
    }

    /// The same server, which works in the folder that its client names as a root.
    #[must_use]
    pub fn with_opener(self, opener: Opener) -> Self {
        Self { tools: Arc::new(self.tools.with_opener(opener)), ..self }
    }

    /// The server for one more session: nothing of another's.
    fn for_session(&self) -> Self {
        Self {
            tools: Arc::new(self.tools.for_new_session()),
            watched: Arc::default(),
            lists_resources: Arc::default(),
            ..self.clone()
        }
    }

    /// Tells a peer of the older lifecycle about the files it watches, until it is gone.
    fn announce(&self, engine: &Engine, peer: Peer<RoleServer>) {
        let Some(mut changes) = engine.changes() else { return };
        let (server, engine) = (self.clone(), engine.clone());
        tokio::spawn(async move {
            loop {
                let uris = match changes.recv().await {
                    Ok(change) => vec![uri(&engine, &change.path)],
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

    fn watched_uris(&self) -> Vec<String> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().flatten().cloned().collect()
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let identity = Implementation::new("restitch", env!("CARGO_PKG_VERSION"));
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .build();
        // A guarded session begins as the agent's does: with what it must do first.
        let opening = self.tools.toolbox().guard().and_then(|guard| guard.opening_message());
        let instructions = match opening {
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
        self.lists_resources.store(true, Ordering::Release);
        let toolbox = self.tools.session(&context).await;
        let engine = toolbox.engine();
        let files = engine.ledger().files();
        let resources = files.iter().map(|(path, snapshot)| {
            let mut resource = Resource::new(uri(engine, path.as_str()), path.as_str());
            resource.size = Some(snapshot.bytes().len() as u64);
            resource
        });
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(frames::unknown_method(request.method))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.toolbox().listed_tools().map(|spec| describe(spec, self.format));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let missing = |why: String| ErrorData::resource_not_found(why, None);
        let raw = request.uri.strip_prefix("file://").map(uri_decode);
        let raw = raw.ok_or_else(|| missing(format!("`{}` is not a file URI", request.uri)))?;
        let toolbox = self.tools.session(&context).await;
        let engine = toolbox.engine();
        let path = engine.path(&raw).map_err(|refusal| missing(refusal.text()))?;
        let snapshot = engine.snapshot(&path).await.map_err(|refusal| missing(refusal.text()))?;
        let contents = ResourceContents::text(snapshot.text(), request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let first = {
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            let first = watched.is_none();
            watched.get_or_insert_default().insert(request.uri);
            first
        };
        if first {
            let toolbox = self.tools.session(&context).await;
            self.announce(toolbox.engine(), context.peer);
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
        let engine = self.tools.toolbox().engine();
        let Some(mut changes) = engine.changes() else {
            context.cancelled().await;
            return Ok(());
        };
        loop {
            let uris = tokio::select! {
                change = changes.recv() => match change {
                    Ok(change) => vec![uri(engine, &change.path)],
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
        let _running = RunningCall::begin(self.counter.as_ref());
        let begun = Instant::now();
        if let Some(refused) = self.counter.as_ref().and_then(CallCounter::refuse) {
            return Ok(answer(refused, self.format).into());
        }
        let (observer, progress) = progress(&context);
        let id = context.id.clone().into_json_value().to_string();
        let toolbox = self.tools.session(&context).await.with_observer(observer);
        let seen_answers = match &self.traffic {
            Some(traffic) => traffic.seen_answers(&id),
            // Requests without a session share one record: it is not known who was told what.
            None if self.tools.is_shared(&context) => SeenAnswers::Unknown,
            None => SeenAnswers::UpTo(toolbox.engine().ledger().now()),
        };
        let ledger = toolbox.engine().ledger().clone();
        let files = ledger.files().len();
        let toolbox = match context.peer.peer_info() {
            Some(peer) => toolbox.for_client(&peer.client_info.name),
            None => toolbox,
        };
        let name = request.name.into_owned();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let called = name.clone();
        let options = CallOptions { trace: trace(&context), ..options(seen_answers) };
        // Dropping the work reaches the model call and a commit that has not begun; a panic
        // in it is an answer.
        let work = self.workers.run(move || async move {
            let (reply, pending) = toolbox.call_deferred(&name, arguments, &options).await;
            (reply, Some(pending))
        });
        let (mut reply, pending) = tokio::select! {
            done = work => done.unwrap_or_else(|| (ToolReply::refused(
                Refusal::new(EditCode::ReadError, "the tool stopped with an internal error")
                    .hint("Nothing is known about the outcome: read the file before the next edit."),
            ), None)),
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
            () = closed(self.client_closed.clone()) => {
                return Err(ErrorData::internal_error("the client closed its side", None));
            }
        };
        if let Some(CallCounter { metrics, access, .. }) = &self.counter {
            metrics.record_answer(access, &called, &reply, begun.elapsed());
        }
        // Progress arrives before the answer it belongs to.
        if let Some(progress) = progress {
            // A client that closed its side takes no progress any more; the answer must not
            // wait for that.
            let _ = tokio::time::timeout(PROGRESS_GRACE, progress).await;
        }
        self.tools.append_notice(&mut reply);
        if self.lists_resources.load(Ordering::Acquire) && ledger.files().len() != files {
            // A client that is gone needs no news.
            let _ = context.peer.notify_resource_list_changed().await;
        }
        match (pending, &self.traffic) {
            (Some(pending), Some(traffic)) => traffic.answer_ready(id, pending),
            (Some(pending), None) => drop(pending.deliver()),
            (None, _) => {}
        }
        Ok(answer(reply, self.format).into())
    }
}

/// The trace that a call is part of: what the call itself says, or else its HTTP request.
fn trace(context: &RequestContext<RoleServer>) -> Option<TraceContext> {
    let field = |name: &str| context.meta.get(name)?.as_str().map(str::to_owned);
    TraceContext::from_fields(field).or_else(|| {
        let head = context.extensions.get::<axum::http::request::Parts>()?;
        TraceContext::from_fields(|name| Some(head.headers.get(name)?.to_str().ok()?.to_owned()))
    })
}

/// An undo without a revision is the session's own.
fn options(seen_answers: SeenAnswers) -> CallOptions {
    CallOptions { undo_scope: UndoScope::Session, seen_answers, ..CallOptions::default() }
}

/// The URI of a file below the root.
fn uri(engine: &Engine, path: &str) -> String {
    format!("file://{}", uri_encode(&format!("{}/{path}", engine.root().display())))
}

/// Waits until the client waits for no answer any more.
async fn closed(over: Option<watch::Receiver<bool>>) {
    let Some(mut over) = over else { return std::future::pending().await };
    if over.wait_for(|over| *over).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// An observer that forwards stages as progress, when the client asked for it, and
/// the task that does so; it ends when the observer is dropped.
fn progress(
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

fn answer(reply: ToolReply, format: AnswerFormat) -> CallToolResult {
    let text = vec![ContentBlock::text(reply.message.clone())];
    let mut result =
        if reply.ok { CallToolResult::success(text) } else { CallToolResult::error(text) };
    if format == AnswerFormat::TextAndStructure {
        result.structured_content = serde_json::to_value(&reply).ok();
    }
    result
}

fn describe(spec: &ToolSpec, format: AnswerFormat) -> Tool {
    // Only differences from the defaults of the protocol are sent, because each byte costs tokens.
    let annotations = ToolAnnotations::new().read_only(!spec.writes).open_world(false);
    let annotations = if spec.writes { annotations.destructive(true) } else { annotations };
    let tool = Tool::new(spec.name, spec.about, Arc::new(object((spec.input)())))
        .with_annotations(annotations);
    match format {
        AnswerFormat::Text => tool,
        AnswerFormat::TextAndStructure => {
            tool.with_raw_output_schema(Arc::new(object((spec.output)())))
        }
    }
}

fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// A path as the path part of a URI.
fn uri_encode(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The path that a URI's path part stands for.
fn uri_decode(uri: &str) -> String {
    let bytes = uri.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = uri.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_as_uris() {
        for path in ["/a/b.rs", "/a b/ü%20.txt", "/x?y#z"] {
            assert_eq!(uri_decode(&uri_encode(path)), path);
        }
        assert_eq!(uri_encode("/a b"), "/a%20b");
    }
}
