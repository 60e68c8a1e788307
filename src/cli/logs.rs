//! Logs on stderr, by `RESTITCH_LOG` (as `info`, `restitch::resolve=debug`). Only events
//! of this crate: what libraries log may hold headers or bodies.

use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// Starts logging.
pub(crate) fn start() {
    let wanted = std::env::var("RESTITCH_LOG").unwrap_or_else(|_| "warn".into());
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new("warn"));
    let own =
        filter_fn(|meta| meta.target() == "restitch" || meta.target().starts_with("restitch::"));
    let lines = fmt::layer().with_ansi(false).with_writer(super::out::stderr).with_filter(own);
    // A second start in one process changes nothing.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}
