//! The MCP server over streamable HTTP, on loopback.
//!
//! Four checks come before a tool call: the address is loopback, the Host and the Origin
//! are listed (against DNS rebinding and web pages), the bearer token is right, and the
//! body is bounded. With a guard, all sessions of the process share it.
//!
//! A token opens its own roots and no others: at `/mcp` the first of them, at `/mcp/NAME` the
//! one of that name. A session belongs to one token and one root.

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

use super::doors::{Doors, Shut};
use super::metrics::Metrics;
use super::peers::{self, Admitted};
use super::{MAX_FRAME, McpServer, Rate};
use crate::port::SharedCounts;
use crate::text::ContentHash;

/// At most this many sessions at once; those that are idle for five minutes are closed.
const MOST_SESSIONS: usize = 64;

/// How long a request's body may take to arrive.
const BODY: Duration = Duration::from_secs(30);

/// How often a server that is going down looks for calls under way, and how long the last answers
/// get on their way.
const LOOK: Duration = Duration::from_millis(50);
const LAST_WORD: Duration = Duration::from_millis(300);

/// How the server is reached.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// A loopback address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Hosts beside the loopback names.
    pub hosts: Vec<String>,
    /// Origins beside those of loopback.
    pub origins: Vec<String>,
    /// How long calls under way are waited for when the server is told to stop.
    pub drain: Duration,
    /// What this process shares with others, for the metrics.
    pub shared: Option<Arc<SharedCounts>>,
}

/// What one token opens.
pub struct Access {
    /// What it is called in the metrics.
    pub name: String,
    /// What a request must carry as `Authorization: Bearer`.
    pub token: String,
    /// The servers of its roots, by their names in the path; the first is also at `/mcp`.
    pub roots: Vec<(String, McpServer)>,
    /// How often it may call a tool.
    pub calls: Option<Arc<Rate>>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One root of one token.
struct Target {
    name: String,
    service: StreamableHttpService<McpServer, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

/// What all requests share.
struct House {
    doors: Doors,
    /// By token, in the order of the doors.
    targets: Vec<Vec<Target>>,
    metrics: Arc<Metrics>,
    closing: AtomicBool,
}

/// Serves until `stop`, and then until the calls under way are over. `ready` is told the address.
pub async fn serve_http(
    accesses: Vec<Access>,
    options: HttpOptions,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    if !options.address.ip().is_loopback() {
        return Err(format!(
            "{} is not a loopback address; put a proxy with TLS in front for others",
            options.address
        ));
    }
    for (number, access) in accesses.iter().enumerate() {
        let who =
            if access.name.is_empty() { String::new() } else { format!(" of `{}`", access.name) };
        if access.token.trim().len() < 16 {
            return Err(format!("the bearer token{who} is shorter than 16 characters"));
        }
        if accesses[..number].iter().any(|other| other.token.trim() == access.token.trim()) {
            return Err(format!("the bearer token{who} is used twice; give each access its own"));
        }
    }
    let listener = tokio::net::TcpListener::bind(options.address)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", options.address))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let origins = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    let token = |access: &Access| ContentHash::of(access.token.trim().as_bytes());
    let doors = Doors {
        hosts: hosts.into_iter().chain(options.hosts).collect(),
        origins: origins.into_iter().chain(options.origins).collect(),
        tokens: accesses.iter().map(token).collect(),
    };
    // The library looks again at what the doors have let in.
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(doors.hosts.clone())
        .with_allowed_origins(doors.origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_FRAME);
    let metrics = Arc::new(Metrics::sharing(options.shared));
    let targets = accesses.into_iter().map(|access| {
        let Access { name, roots, calls, .. } = access;
        let own: Arc<str> = name.into();
        let target = |(name, server): (String, McpServer)| {
            let sessions = Arc::new(LocalSessionManager::default());
            let server = server.counted(metrics.clone(), own.clone(), calls.clone());
            let make = move || Ok(server.for_session());
            let service = StreamableHttpService::new(make, sessions.clone(), config.clone());
            Target { name, service, sessions }
        };
        roots.into_iter().map(target).collect()
    });
    let targets = targets.collect();
    let house = Arc::new(House {
        doors,
        targets,
        metrics: metrics.clone(),
        closing: AtomicBool::new(false),
    });
    let open = house.clone();
    let router = Router::new().fallback(move |request: Request| {
        let house = open.clone();
        async move { house.answer(request).await }
    });
    ready(address);
    let drained = async {
        stop.await;
        house.closing.store(true, Ordering::Release);
        let deadline = tokio::time::Instant::now() + options.drain;
        while metrics.running() > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
        tokio::time::sleep(LAST_WORD).await;
        metrics.running()
    };
    tokio::select! {
        () = peers::serve(listener, router) => Ok(()),
        running = drained => match running {
            0 => Ok(()),
            running => Err(format!(
                "stopped with {running} calls under way, after {} s of waiting for them",
                options.drain.as_secs_f64()
            )),
        },
    }
}

impl House {
    async fn answer(&self, request: Request) -> Response {
        let checked = self.doors.check(request.headers());
        let path = request.uri().path().to_owned();
        let is_closing = self.closing.load(Ordering::Acquire);
        // Who asks after our health has no token, and learns nothing else.
        let is_probe = matches!(path.as_str(), "/healthz" | "/readyz");
        let access = match checked {
            Ok(access) => Some(access),
            Err(Shut::Token) if is_probe => None,
            Err(why) => return self.shut_out(why),
        };
        match path.as_str() {
            "/healthz" => return "ok\n".into_response(),
            "/readyz" if is_closing => {
                return (StatusCode::SERVICE_UNAVAILABLE, "going down\n").into_response();
            }
            "/readyz" => return "ok\n".into_response(),
            _ => {}
        }
        let Some(access) = access else { return self.shut_out(Shut::Token) };
        if let Some(admitted) = request.extensions().get::<Admitted>() {
            admitted.set();
        }
        if path == "/metrics" {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            return (kind, self.metrics.text()).into_response();
        }
        let Some(target) = self.target(access, &path) else {
            return (StatusCode::NOT_FOUND, "there is no such root for this token\n")
                .into_response();
        };
        if is_closing {
            let later = [(header::RETRY_AFTER, "1")];
            let text = "the server is shutting down; retry later\n";
            return (StatusCode::SERVICE_UNAVAILABLE, later, text).into_response();
        }
        enter(target, request).await
    }

    /// The root that a path names, among those of the token.
    fn target(&self, access: usize, path: &str) -> Option<&Target> {
        let targets = self.targets.get(access)?;
        match path.strip_prefix("/mcp")?.trim_end_matches('/') {
            "" => targets.first(),
            name => targets.iter().find(|target| name.strip_prefix('/') == Some(&target.name)),
        }
    }

    fn shut_out(&self, why: Shut) -> Response {
        match why {
            Shut::Host => {
                self.metrics.shut_out("host");
                (StatusCode::FORBIDDEN, "the Host is not listed\n").into_response()
            }
            Shut::Origin => {
                self.metrics.shut_out("origin");
                (StatusCode::FORBIDDEN, "the Origin is not listed\n").into_response()
            }
            Shut::Token => {
                self.metrics.shut_out("token");
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
                let text = "send the token that restitch printed at its start as Authorization: Bearer TOKEN\n";
                (StatusCode::UNAUTHORIZED, challenge, text).into_response()
            }
        }
    }
}

/// Hands a request over that is there as a whole.
async fn enter(target: &Target, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY, to_bytes(body, MAX_FRAME)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let text = format!("the request is longer than {} MiB or was cut\n", MAX_FRAME >> 20);
            return (StatusCode::PAYLOAD_TOO_LARGE, text).into_response();
        }
        Err(_) => {
            let text = "the request took too long to arrive\n";
            return (StatusCode::REQUEST_TIMEOUT, text).into_response();
        }
    };
    let opens = memchr::memmem::find(&body, b"\"initialize\"").is_some();
    if opens && target.sessions.sessions.read().await.len() >= MOST_SESSIONS {
        let text = format!(
            "there are {MOST_SESSIONS} sessions; end one, or wait until one that is idle is closed\n"
        );
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    let request = Request::from_parts(head, Body::from(body));
    target.service.handle(request).await.map(Body::new)
}
