//! Logs on stderr, by `RESTITCH_LOG` (as `info`, `restitch::correct=debug`). Only events
//! of this crate: what libraries log may hold headers or bodies.

use tracing_subscriber::filter::{EnvFilter, FilterExt as _, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// Starts logging, and sending traces where the environment asks for it.
pub(crate) fn start() {
    let wanted = std::env::var("RESTITCH_LOG").unwrap_or_else(|_| "warn".into());
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new("warn"));
    let own = filter_fn(|meta| {
        let is_ours = meta.target() == "restitch" || meta.target().starts_with("restitch::");
        is_ours && meta.target() != crate::spans::TARGET
    });
    let lines =
        fmt::layer().with_ansi(false).with_writer(super::out::stderr).with_filter(filter.and(own));
    let registry = tracing_subscriber::registry().with(lines);
    #[cfg(feature = "otel")]
    let (registry, trouble) = match super::traces::layer() {
        Ok(traces) => (registry.with(traces), None),
        Err(why) => (registry.with(None), Some(why)),
    };
    // A second start in one process changes nothing.
    let _ = registry.try_init();
    #[cfg(feature = "otel")]
    if let Some(why) = trouble {
        tracing::warn!("no traces are sent: {why}");
    }
}
