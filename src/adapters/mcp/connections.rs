//! The connections of the HTTP server. It limits their number, and how long a peer may keep one
//! before it has sent a valid token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::serve::Listener;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

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

    /// Ends once a peer without a token has had its time.
    async fn timeout(&self) {
        tokio::time::sleep(TOKEN_TIMEOUT).await;
        if self.0.load(Ordering::Acquire) {
            std::future::pending().await
        }
    }
}

/// Answers the requests of a limited number of connections; further ones wait until another ends.
pub(super) async fn serve(mut listener: TcpListener, router: Router) -> ! {
    let permits = Arc::new(Semaphore::new(max_connections()));
    loop {
        // The semaphore is never closed, so there is always a permit in the end.
        let permit = permits.clone().acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut listener).await;
        // An answer is sent in several small writes. Without this option each write would wait for
        // the peer to acknowledge the previous one, which costs up to 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, %address, "cannot set TCP_NODELAY; answers may be slower");
        }
        let authenticated = Authenticated::default();
        let service = router.clone().layer(Extension(authenticated.clone()));
        let service = TowerToHyperService::new(service);
        let answered = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            let _permit = permit;
            tokio::select! {
                _ = answered => {}
                () = authenticated.timeout() => {}
            }
        });
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
