//! The MCP server over streamable HTTP: one root, one token, on loopback.
//!
//! rmcp checks the Host and the Origin (against DNS rebinding and web pages). The layers here check
//! the bearer token, bound the body, the sessions and the connections, and turn calls away while the
//! server shuts down. With a guard, all sessions of the process share it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;

use super::connections::{Authenticated, serve};
use super::metrics::Metrics;
use super::{MAX_FRAME, McpServer};
use crate::text::ContentHash;

/// At most this many sessions at once; those that are idle for five minutes are closed.
const MAX_SESSIONS: usize = 64;

/// The fewest characters of a token.
const MIN_TOKEN: usize = 16;

/// How long a request's body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a server that shuts down checks whether calls are still running.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a server that shuts down gives the last answers to reach their clients.
const FLUSH_TIME: Duration = Duration::from_millis(300);

/// How the server is reached.
pub(crate) struct HttpOptions {
    /// A loopback address; port 0 takes a free one.
    pub address: SocketAddr,
    /// The token, which a request must send as `Authorization: Bearer`.
    pub token: String,
    /// How long the server waits for running calls when it is asked to stop.
    pub drain: Duration,
}

/// The state that all requests share.
struct HttpServer {
    /// The digest of the token. Digests are compared in place of tokens, so that the time of the
    /// comparison tells nothing about a token.
    token: ContentHash,
    sessions: Arc<LocalSessionManager>,
    metrics: Arc<Metrics>,
    closing: AtomicBool,
}

/// Serves until `stop` ends, and then until the running calls are answered. Calls `ready` with the
/// address once the server listens.
pub(crate) async fn serve_http(
    server: McpServer,
    options: HttpOptions,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    if options.token.trim().len() < MIN_TOKEN {
        return Err(format!("the bearer token is shorter than {MIN_TOKEN} characters"));
    }
    let listener = tokio::net::TcpListener::bind(options.address)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", options.address))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let sessions = Arc::new(LocalSessionManager::default());
    let metrics = Arc::new(Metrics::default());
    let state = Arc::new(HttpServer {
        token: ContentHash::of(options.token.trim().as_bytes()),
        sessions: sessions.clone(),
        metrics: metrics.clone(),
        closing: AtomicBool::new(false),
    });
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(["localhost", "127.0.0.1", "::1"])
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_FRAME);
    let server = McpServer { metrics: Some(metrics.clone()), ..server };
    let mcp = StreamableHttpService::new(move || Ok(server.for_session()), sessions, config);
    let router = Router::new()
        .route_service("/mcp", mcp)
        .layer(from_fn_with_state(state.clone(), bound_request))
        .layer(from_fn_with_state(state.clone(), turn_away_while_closing))
        .route("/metrics", get(show_metrics))
        .layer(from_fn_with_state(state.clone(), require_token))
        // Probes need no token, since their answers hold nothing else.
        .route("/healthz", get("ok\n"))
        .route("/readyz", get(show_readiness))
        .with_state(state.clone());
    ready(address);
    let drained = async {
        stop.await;
        state.closing.store(true, Ordering::Release);
        let deadline = tokio::time::Instant::now() + options.drain;
        while metrics.running() > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        tokio::time::sleep(FLUSH_TIME).await;
        metrics.running()
    };
    tokio::select! {
        never = serve(listener, router) => never,
        running = drained => match running {
            0 => Ok(()),
            running => Err(format!(
                "stopped while {running} calls were still running, after waiting {} s for them",
                options.drain.as_secs_f64()
            )),
        },
    }
}

/// Whether these headers hold the token.
fn has_token(headers: &HeaderMap, token: ContentHash) -> bool {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = value
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    bearer.is_some_and(|(_, given)| ContentHash::of(given.trim().as_bytes()) == token)
}

/// Lets only requests with the token pass.
async fn require_token(
    State(server): State<Arc<HttpServer>>,
    Extension(authenticated): Extension<Authenticated>,
    request: Request,
    next: Next,
) -> Response {
    if !has_token(request.headers(), server.token) {
        server.metrics.record_denied("token");
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        let text = "send the token of this server as Authorization: Bearer TOKEN\n";
        return (StatusCode::UNAUTHORIZED, challenge, text).into_response();
    }
    authenticated.set();
    let response = next.run(request).await;
    // Only rmcp's check of the Host and the Origin answers with this status.
    if response.status() == StatusCode::FORBIDDEN {
        server.metrics.record_denied("host or origin");
    }
    response
}

/// Answers new requests with 503 once the server shuts down.
async fn turn_away_while_closing(
    State(server): State<Arc<HttpServer>>,
    request: Request,
    next: Next,
) -> Response {
    if !server.closing.load(Ordering::Acquire) {
        return next.run(request).await;
    }
    let retry_after = [(header::RETRY_AFTER, "1")];
    let text = "the server is shutting down; retry later\n";
    (StatusCode::SERVICE_UNAVAILABLE, retry_after, text).into_response()
}

/// Passes a request on once its whole body has arrived within the limits of size and time, unless it
/// would open one session too many.
async fn bound_request(
    State(server): State<Arc<HttpServer>>,
    request: Request,
    next: Next,
) -> Response {
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
    if opens_session(&body) && server.sessions.sessions.read().await.len() >= MAX_SESSIONS {
        let text = format!(
            "there are already {MAX_SESSIONS} sessions; end one, or wait until an idle one is closed\n"
        );
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    next.run(Request::from_parts(head, Body::from(body))).await
}

/// Whether the message is the one that opens a session.
fn opens_session(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message {
        method: String,
    }
    serde_json::from_slice::<Message>(body).is_ok_and(|message| message.method == "initialize")
}

/// Answers `/metrics`.
async fn show_metrics(State(server): State<Arc<HttpServer>>) -> impl axum::response::IntoResponse {
    let content_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (content_type, server.metrics.text())
}

/// Answers `/readyz`.
async fn show_readiness(State(server): State<Arc<HttpServer>>) -> (StatusCode, &'static str) {
    match server.closing.load(Ordering::Acquire) {
        true => (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n"),
        false => (StatusCode::OK, "ok\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_and_only_as_a_bearer_passes() {
        let token = ContentHash::of(b"the token of this test");
        let passes = |authorization: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, authorization.parse().expect("header"));
            has_token(&headers, token)
        };
        for good in ["Bearer the token of this test", "BEARER the token of this test "] {
            assert!(passes(good), "{good}");
        }
        for bad in ["Bearer other", "Basic the token of this test", "the token of this test", ""] {
            assert!(!passes(bad), "{bad}");
        }
        assert!(!has_token(&HeaderMap::new(), token));
    }
}
