//! The MCP server over streamable HTTP, on loopback.
//!
//! Four doors stand before a tool call: the address is loopback, the Host and the Origin
//! are listed (against DNS rebinding and web pages), the bearer token is right, and the
//! body is bounded. With a guard, all sessions of the process share it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::doors::{Doors, Shut};
use super::peers::{self, Admitted};
use super::{MAX_FRAME, McpServer};
use crate::text::ContentHash;

/// At most this many sessions at once; those that are idle for five minutes are closed.
const MOST_SESSIONS: usize = 64;

/// How long a request's body may take to arrive.
const BODY: Duration = Duration::from_secs(30);

/// How the server is reached.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// A loopback address; port 0 takes a free one.
    pub address: SocketAddr,
    /// What a request must carry as `Authorization: Bearer`.
    pub token: String,
    /// Hosts beside the loopback names.
    pub hosts: Vec<String>,
    /// Origins beside those of loopback.
    pub origins: Vec<String>,
}

/// Serves until the process ends. `ready` is told the address.
pub async fn serve_http(
    server: McpServer,
    options: HttpOptions,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    if !options.address.ip().is_loopback() {
        return Err(format!(
            "{} is not a loopback address; put a proxy with TLS in front for others",
            options.address
        ));
    }
    if options.token.trim().len() < 16 {
        return Err("the bearer token is shorter than 16 characters".into());
    }
    let listener = tokio::net::TcpListener::bind(options.address)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", options.address))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let origins = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    let doors = Doors {
        hosts: hosts.into_iter().chain(options.hosts).collect(),
        origins: origins.into_iter().chain(options.origins).collect(),
        token: ContentHash::of(options.token.trim().as_bytes()),
    };
    // The library looks again at what the doors have let in.
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(doors.hosts.clone())
        .with_allowed_origins(doors.origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_FRAME);
    let sessions = Arc::new(LocalSessionManager::default());
    let make = move || Ok(server.for_session());
    let service = StreamableHttpService::new(make, sessions.clone(), config);
    let door = from_fn(move |request: Request, next: Next| {
        let (doors, sessions) = (doors.clone(), sessions.clone());
        async move { admit(&doors, &sessions, request, next).await }
    });
    let router = Router::new().route_service("/mcp", service).layer(door);
    ready(address);
    peers::serve(listener, router).await;
    Ok(())
}

/// Lets a request pass that may come in and is there as a whole.
async fn admit(
    doors: &Doors,
    sessions: &LocalSessionManager,
    request: Request,
    next: Next,
) -> Response {
    match doors.check(request.headers()) {
        Ok(()) => {}
        Err(Shut::Host) => {
            return (StatusCode::FORBIDDEN, "the Host is not listed\n").into_response();
        }
        Err(Shut::Origin) => {
            return (StatusCode::FORBIDDEN, "the Origin is not listed\n").into_response();
        }
        Err(Shut::Token) => {
            let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
            let text = "send the token that restitch printed at its start as Authorization: Bearer TOKEN\n";
            return (StatusCode::UNAUTHORIZED, challenge, text).into_response();
        }
    }
    if let Some(admitted) = request.extensions().get::<Admitted>() {
        admitted.set();
    }
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
    if opens && sessions.sessions.read().await.len() >= MOST_SESSIONS {
        let text = format!(
            "there are {MOST_SESSIONS} sessions; end one, or wait until one that is idle is closed\n"
        );
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    next.run(Request::from_parts(head, Body::from(body))).await
}
