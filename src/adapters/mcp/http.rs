//! The MCP server over streamable HTTP, on loopback.
//!
//! Four checks come before a tool call: the address is loopback, the Host and the Origin
//! are listed (against DNS rebinding and web pages), the bearer token is right, and the
//! body is bounded. With a guard, all sessions of the process share it.
//!
//! A token gives access to its own roots and no others: `/mcp` is the first of them, `/mcp/NAME`
//! the one of that name. A session belongs to one token and one root.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::admission::{AccessPolicy, Denied};
use super::connections::{self, Authenticated};
use super::metrics::Metrics;
use super::{MAX_FRAME, McpServer, RateLimiter};
use crate::text::ContentHash;

/// At most this many sessions at once; those that are idle for five minutes are closed.
const MAX_SESSIONS: usize = 64;

/// How long a request's body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a server that shuts down checks whether calls are still running.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a server that shuts down gives the last answers to reach their clients.
const FLUSH_TIME: Duration = Duration::from_millis(300);

/// How the server is reached.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// A loopback address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Hosts that are admitted besides the loopback names.
    pub hosts: Vec<String>,
    /// Origins that are admitted besides those of loopback.
    pub origins: Vec<String>,
    /// How long the server waits for running calls when it is asked to stop.
    pub drain: Duration,
}

/// The access that one token gives.
pub struct Access {
    /// The token's name in the metrics.
    pub name: String,
    /// The token, which a request must send as `Authorization: Bearer`.
    pub token: String,
    /// The name of each root in the URL and the server of that root; the first is also at `/mcp`.
    pub roots: Vec<(String, McpServer)>,
    /// Limits the calls of the token; `None` for no limit.
    pub calls: Option<Arc<RateLimiter>>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One root of one token.
struct RootService {
    name: String,
    service: StreamableHttpService<McpServer, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

/// The state that all requests share.
struct HttpServer {
    policy: AccessPolicy,
    /// The roots of each token, in the order of the policy's tokens.
    targets: Vec<Vec<RootService>>,
    metrics: Arc<Metrics>,
    closing: AtomicBool,
}

/// Serves until `stop` ends, and then until the running calls are answered. Calls `ready` with the
/// address once the server listens.
pub async fn serve_http(
    accesses: Vec<Access>,
    options: HttpOptions,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    if !options.address.ip().is_loopback() {
        return Err(format!(
            "{} is not a loopback address; for access from elsewhere, use a TLS proxy",
            options.address
        ));
    }
    for (number, access) in accesses.iter().enumerate() {
        let of_name = match access.name.is_empty() {
            true => String::new(),
            false => format!(" of `{}`", access.name),
        };
        if access.token.trim().len() < 16 {
            return Err(format!("the bearer token{of_name} is shorter than 16 characters"));
        }
        let is_used =
            accesses[..number].iter().any(|other| other.token.trim() == access.token.trim());
        if is_used {
            return Err(format!(
                "the bearer token{of_name} is used twice; give each name a token of its own"
            ));
        }
    }
    let listener = tokio::net::TcpListener::bind(options.address)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", options.address))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let origins = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    let token_digest = |access: &Access| ContentHash::of(access.token.trim().as_bytes());
    let policy = AccessPolicy {
        hosts: hosts.into_iter().chain(options.hosts).collect(),
        origins: origins.into_iter().chain(options.origins).collect(),
        tokens: accesses.iter().map(token_digest).collect(),
    };
    // rmcp checks hosts and origins again after our policy.
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(policy.hosts.clone())
        .with_allowed_origins(policy.origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_FRAME);
    let metrics = Arc::new(Metrics::default());
    let targets = accesses.into_iter().map(|access| {
        let Access { name, roots, calls, .. } = access;
        let access_name: Arc<str> = name.into();
        let target = |(name, server): (String, McpServer)| {
            let sessions = Arc::new(LocalSessionManager::default());
            let server = server.with_metrics(metrics.clone(), access_name.clone(), calls.clone());
            let new_session = move || Ok(server.for_session());
            let service = StreamableHttpService::new(new_session, sessions.clone(), config.clone());
            RootService { name, service, sessions }
        };
        roots.into_iter().map(target).collect()
    });
    let targets = targets.collect();
    let server = Arc::new(HttpServer {
        policy,
        targets,
        metrics: metrics.clone(),
        closing: AtomicBool::new(false),
    });
    let router_server = server.clone();
    let router = Router::new().fallback(move |request: Request| {
        let server = router_server.clone();
        async move { server.handle(request).await }
    });
    ready(address);
    let drained = async {
        stop.await;
        server.closing.store(true, Ordering::Release);
        let deadline = tokio::time::Instant::now() + options.drain;
        while metrics.running() > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        tokio::time::sleep(FLUSH_TIME).await;
        metrics.running()
    };
    tokio::select! {
        () = connections::serve(listener, router) => Ok(()),
        running = drained => match running {
            0 => Ok(()),
            running => Err(format!(
                "stopped while {running} calls were still running, after waiting {} s for them",
                options.drain.as_secs_f64()
            )),
        },
    }
}

impl HttpServer {
    /// Answers one request: a health probe, the metrics, or a message for a root.
    async fn handle(&self, request: Request) -> Response {
        let checked = self.policy.check(request.headers());
        let path = request.uri().path().to_owned();
        let is_closing = self.closing.load(Ordering::Acquire);
        // Health probes need no token, since their answers hold nothing else.
        let is_probe = matches!(path.as_str(), "/healthz" | "/readyz");
        let token_index = match checked {
            Ok(index) => Some(index),
            Err(Denied::Token) if is_probe => None,
            Err(why) => return self.deny(why),
        };
        match path.as_str() {
            "/healthz" => return "ok\n".into_response(),
            "/readyz" if is_closing => {
                return (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n").into_response();
            }
            "/readyz" => return "ok\n".into_response(),
            _ => {}
        }
        let Some(token_index) = token_index else { return self.deny(Denied::Token) };
        if let Some(authenticated) = request.extensions().get::<Authenticated>() {
            authenticated.set();
        }
        if path == "/metrics" {
            let content_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            return (content_type, self.metrics.text()).into_response();
        }
        let Some(target) = self.target(token_index, &path) else {
            return (StatusCode::NOT_FOUND, "this token has no root at this path\n")
                .into_response();
        };
        if is_closing {
            let retry_after = [(header::RETRY_AFTER, "1")];
            let text = "the server is shutting down; retry later\n";
            return (StatusCode::SERVICE_UNAVAILABLE, retry_after, text).into_response();
        }
        forward(target, request).await
    }

    /// The root that a path names, among the roots of one token.
    fn target(&self, token_index: usize, path: &str) -> Option<&RootService> {
        let targets = self.targets.get(token_index)?;
        match path.strip_prefix("/mcp")?.trim_end_matches('/') {
            "" => targets.first(),
            name => targets.iter().find(|target| name.strip_prefix('/') == Some(&target.name)),
        }
    }

    /// Counts a denied request and answers with the reason.
    fn deny(&self, why: Denied) -> Response {
        match why {
            Denied::Host => {
                self.metrics.record_denied("host");
                (StatusCode::FORBIDDEN, "the Host is not allowed; see --allow-host\n")
                    .into_response()
            }
            Denied::Origin => {
                self.metrics.record_denied("origin");
                (StatusCode::FORBIDDEN, "the Origin is not allowed; see --allow-origin\n")
                    .into_response()
            }
            Denied::Token => {
                self.metrics.record_denied("token");
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
                let text = "send the token of this server as Authorization: Bearer TOKEN\n";
                (StatusCode::UNAUTHORIZED, challenge, text).into_response()
            }
        }
    }
}

/// Reads the whole request within the limits of size and time, and passes it on to the root.
async fn forward(target: &RootService, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_FRAME)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let text = format!(
                "the request is longer than {} MiB or was cut off; send less in one call\n",
                MAX_FRAME >> 20
            );
            return (StatusCode::PAYLOAD_TOO_LARGE, text).into_response();
        }
        Err(_) => {
            let text = "the request took too long to arrive\n";
            return (StatusCode::REQUEST_TIMEOUT, text).into_response();
        }
    };
    let opens_session = memchr::memmem::find(&body, b"\"initialize\"").is_some();
    if opens_session && target.sessions.sessions.read().await.len() >= MAX_SESSIONS {
        let text = format!(
            "there are already {MAX_SESSIONS} sessions; end one, or wait until an idle one is closed\n"
        );
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    let request = Request::from_parts(head, Body::from(body));
    target.service.handle(request).await.map(Body::new)
}
