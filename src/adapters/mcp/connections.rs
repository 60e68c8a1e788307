//! The connections of the HTTP server. It limits their number, and how long a peer may keep one
//! before it has sent a valid token.

use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// At most this many connections at once; fewer if the process may open few files, because half of
/// those are reserved for edits.
const MAX_CONNECTIONS: usize = 512;

/// How long a peer may take until its first request with a valid token. After that its connection is
/// closed, so that silent peers do not take the places of clients.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Set once the peer of a connection has sent a valid token.
#[derive(Debug, Clone, Default)]
pub(super) struct Authenticated(Arc<AtomicBool>);

impl Authenticated {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Connected<IncomingStream<'_, Connections>> for Authenticated {
    fn connect_info(stream: IncomingStream<'_, Connections>) -> Self {
        stream.io().authenticated.clone()
    }
}

/// A listener with a limited number of connections; further ones wait until another ends.
pub(super) struct Connections {
    listener: TcpListener,
    permits: Arc<Semaphore>,
}

impl Connections {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, permits: Arc::new(Semaphore::new(max_connections())) }
    }
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        // The semaphore is never closed, so there is always a permit in the end.
        let permit = self.permits.clone().acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // An answer is sent in several small writes. Without this option each write would wait for
        // the peer to acknowledge the previous one, which costs up to 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, %address, "cannot set TCP_NODELAY; answers may be slower");
        }
        let deadline = Box::pin(tokio::time::sleep(TOKEN_TIMEOUT));
        let authenticated = Authenticated::default();
        (Connection { stream, authenticated, deadline, _permit: permit }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails to read once its peer has taken too long to send a token.
pub(super) struct Connection {
    stream: TcpStream,
    authenticated: Authenticated,
    deadline: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let is_authenticated = self.authenticated.0.load(Ordering::Acquire);
        if !is_authenticated && self.deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// How many connections this process may hold at once.
fn max_connections() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let max_files = limit.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
        (max_files / 2).clamp(1, MAX_CONNECTIONS)
    }
    #[cfg(not(unix))]
    MAX_CONNECTIONS
}
