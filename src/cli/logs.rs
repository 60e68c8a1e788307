//! Logs on stderr, filtered by `RESTITCH_LOG` (such as `info` or `restitch::correct=debug`). Only
//! events of this crate are logged, because those of libraries may contain headers or bodies.

use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// Starts logging.
pub(crate) fn start() {
    let directives = std::env::var("RESTITCH_LOG").unwrap_or_else(|_| "warn".into());
    let level_filter =
        directives.parse().unwrap_or_else(|_| Targets::new().with_default(LevelFilter::WARN));
    let own_events = filter_fn(|meta| {
        let is_ours = meta.target() == "restitch" || meta.target().starts_with("restitch::");
        is_ours && meta.target() != crate::traces::TARGET
    });
    let lines = fmt::layer()
        .with_ansi(false)
        .with_writer(super::out::stderr)
        .with_filter(level_filter.and(own_events));
    // A second start in one process changes nothing.
    let _ = tracing_subscriber::registry().with(lines).try_init();
}
