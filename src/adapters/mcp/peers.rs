//! Connections of the HTTP server: how many there are, how long they may be silent, and
//! which is closed when there is no more room. One that has shown the token stays.

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

/// At most this many connections at once; fewer where the process may have few files open,
/// of which three quarters are kept back for edits.
const MOST_CONNECTIONS: usize = 128;

/// How long a peer may take for the head of a request, the silence before it included.
const HEAD: Duration = Duration::from_secs(10);

/// Whether the peer of a connection has shown the token.
#[derive(Debug, Clone, Default)]
pub(super) struct Admitted(Arc<AtomicBool>);

impl Admitted {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
struct Peer {
    admitted: Admitted,
    task: AbortHandle,
}

/// The connections, oldest first.
type Peers = Arc<Mutex<BTreeMap<u64, Peer>>>;

/// Serves connections until the process ends.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let peers: Peers = Arc::default();
    let most = most_connections();
    for number in 0_u64.. {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection");
                make_room(&peers);
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let is_full = peers.lock().unwrap_or_else(PoisonError::into_inner).len() >= most;
        if is_full && !make_room(&peers) {
            tokio::spawn(send_away(stream, address));
            continue;
        }
        // An answer comes in several small writes. Held back until the peer has acknowledged the one
        // before, it would take 40 ms more.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, %address, "small writes are held back");
        }
        let admitted = Admitted::default();
        let service = router.clone().layer(Extension(admitted.clone()));
        let (left, held) = (peers.clone(), peers.clone());
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tokio::spawn(async move {
            let _gone = Gone(left, number);
            let io = TokioIo::new(stream);
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD);
            let served = http.serve_connection(io, TowerToHyperService::new(service));
            if let Err(error) = served.with_upgrades().await {
                tracing::debug!(%error, %address, "a connection ended early");
            }
        });
        held.insert(number, Peer { admitted, task: task.abort_handle() });
    }
}

/// Takes a connection off the list when it ends, in whatever way.
struct Gone(Peers, u64);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// Ends the oldest connection whose peer has not shown the token; `false` when all have.
fn make_room(peers: &Peers) -> bool {
    let mut peers = peers.lock().unwrap_or_else(PoisonError::into_inner);
    let oldest = peers.iter().find(|(_, peer)| !peer.admitted.get()).map(|(number, _)| *number);
    let Some(peer) = oldest.and_then(|number| peers.remove(&number)) else { return false };
    peer.task.abort();
    true
}

async fn send_away(mut stream: TcpStream, address: SocketAddr) {
    tracing::warn!(%address, "a connection was sent away: there are too many");
    let text = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let _ = tokio::time::timeout(HEAD, stream.write_all(text.as_bytes())).await;
}

fn most_connections() -> usize {
    #[cfg(unix)]
    {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
        (files / 4).clamp(1, MOST_CONNECTIONS)
    }
    #[cfg(not(unix))]
    MOST_CONNECTIONS
}
