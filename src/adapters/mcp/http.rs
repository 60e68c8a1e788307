//! The MCP server over streamable HTTP, on loopback.
//!
//! Four doors stand before a tool call: the address is loopback, the Host and the Origin
//! are listed (against DNS rebinding and web pages), the bearer token is right, and the
//! body is bounded. With a guard, all sessions of the process share it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::{MAX_FRAME, McpServer};
use crate::text::ContentHash;
use crate::tools::Toolbox;

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
    toolbox: Toolbox,
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
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts.into_iter().chain(options.hosts))
        .with_allowed_origins(origins.into_iter().chain(options.origins))
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_FRAME);
    let sessions = Arc::new(LocalSessionManager::default());
    let server = McpServer::new(toolbox);
    let service = StreamableHttpService::new(move || Ok(server.session()), sessions, config);
    let token = ContentHash::of(options.token.trim().as_bytes());
    let door = from_fn(move |request: Request, next: Next| admit(token, request, next));
    let router = Router::new().route_service("/mcp", service).layer(door);
    ready(address);
    axum::serve(listener, router).await.map_err(|error| format!("the server failed: {error}"))
}

/// Lets a request with the right token pass. Digests are compared, so that the time
/// says nothing about the token.
async fn admit(token: ContentHash, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    if given.is_some_and(|given| ContentHash::of(given.trim().as_bytes()) == token) {
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    let text = "send the token that restitch printed at its start as Authorization: Bearer TOKEN\n";
    (StatusCode::UNAUTHORIZED, challenge, text).into_response()
}
