//! The connections of the HTTP server. It limits their number and how long a peer may be silent.
//! At the limit it closes the oldest connection that has not sent a valid token.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// At most this many connections at once; fewer if the process may open few files, because three
/// quarters of those are reserved for edits.
const MAX_CONNECTIONS: usize = 128;

/// How long a peer may take to send the headers of a request, counted from the previous request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Set once the peer of a connection has sent a valid token.
#[derive(Debug, Clone, Default)]
pub(super) struct Authenticated(Arc<AtomicBool>);

impl Authenticated {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
struct Connection {
    authenticated: Authenticated,
    task: AbortHandle,
}

/// The connections, oldest first.
type Connections = Arc<Mutex<BTreeMap<u64, Connection>>>;

/// Serves connections until the process ends.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let connections: Connections = Arc::default();
    let limit = max_connections();
    for number in 0_u64.. {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection");
                evict_unauthenticated(&connections);
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let is_full = connections.lock().unwrap_or_else(PoisonError::into_inner).len() >= limit;
        if is_full && !evict_unauthenticated(&connections) {
            tokio::spawn(reject(stream, address));
            continue;
        }
        // An answer is sent in several small writes. Without this option each write would wait for
        // the peer to acknowledge the previous one, which costs up to 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, %address, "cannot set TCP_NODELAY; answers may be slower");
        }
        let authenticated = Authenticated::default();
        let service = router.clone().layer(Extension(authenticated.clone()));
        let task_connections = connections.clone();
        // Locked until the connection is in the map, so that a task that ends at once finds it.
        let mut locked = connections.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tokio::spawn(async move {
            let _guard = RemoveOnDrop(task_connections, number);
            let io = TokioIo::new(stream);
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
            let served = http.serve_connection(io, TowerToHyperService::new(service));
            if let Err(error) = served.with_upgrades().await {
                tracing::debug!(%error, %address, "a connection ended early");
            }
        });
        locked.insert(number, Connection { authenticated, task: task.abort_handle() });
    }
}

/// Removes a connection from the map when its task ends or is aborted.
struct RemoveOnDrop(Connections, u64);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// Closes the oldest connection whose peer has not sent a valid token; returns `false` if there is
/// none.
fn evict_unauthenticated(connections: &Connections) -> bool {
    let mut connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
    let oldest = connections
        .iter()
        .find(|(_, connection)| !connection.authenticated.get())
        .map(|(number, _)| *number);
    let Some(connection) = oldest.and_then(|number| connections.remove(&number)) else {
        return false;
    };
    connection.task.abort();
    true
}

/// Answers a connection that exceeds the limit with 503 and closes it.
async fn reject(mut stream: TcpStream, address: SocketAddr) {
    tracing::warn!(%address, "a connection was rejected: there are too many");
    let text = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let _ = tokio::time::timeout(HEADER_TIMEOUT, stream.write_all(text.as_bytes())).await;
}

/// How many connections this process may hold at once.
fn max_connections() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let max_files = limit.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
        (max_files / 4).clamp(1, MAX_CONNECTIONS)
    }
    #[cfg(not(unix))]
    MAX_CONNECTIONS
}
