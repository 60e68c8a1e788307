//! Traces to an OpenTelemetry collector, configured by the standard environment variables of
//! OpenTelemetry. Nothing is sent unless one of them names a collector. An unreachable collector
//! delays no call: spans wait in a bounded queue, and are dropped when it is full. At the end, the
//! spans in the queue are sent within [`FLUSH_TIMEOUT`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter as Otlp, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::spans::TARGET;

/// The time to send the last spans in.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The provider that sends spans, until [`finish`] takes it.
static PROVIDER: Mutex<Option<SdkTracerProvider>> = Mutex::new(None);

/// The value of an environment variable, unless it is missing or blank.
fn non_empty_var(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The value of an exporter setting: the one for traces, else the one for all signals.
fn exporter_setting(name: &str) -> Option<String> {
    non_empty_var(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
        .or_else(|| non_empty_var(&format!("OTEL_EXPORTER_OTLP_{name}")))
}

/// The protocol to send traces with, `None` if the environment asks for no traces, or the reason why
/// they cannot be sent.
fn protocol() -> Result<Option<Protocol>, String> {
    if non_empty_var("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    match non_empty_var("OTEL_TRACES_EXPORTER").as_deref() {
        Some("none") => return Ok(None),
        Some("otlp") => {}
        Some(other) => {
            return Err(format!(
                "OTEL_TRACES_EXPORTER={other} is not supported; set it to otlp or none"
            ));
        }
        None if exporter_setting("ENDPOINT").is_none() => return Ok(None),
        None => {}
    }
    match exporter_setting("PROTOCOL").as_deref() {
        None | Some("http/protobuf") => Ok(Some(Protocol::HttpBinary)),
        Some("http/json") => Ok(Some(Protocol::HttpJson)),
        Some(other) => Err(format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL={other} is not supported; set it to http/protobuf or http/json"
        )),
    }
}

/// The layer that sends spans, `None` if the environment asks for no traces, or the reason why they
/// cannot be sent.
pub(crate) fn layer<S>() -> Result<Option<impl Layer<S>>, String>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let Some(protocol) = protocol()? else { return Ok(None) };
    // Fails if the client of a model's server has installed the same provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = Otlp::builder().with_http().with_protocol(protocol);
    let exporter = exporter.build().map_err(|error| error.to_string())?;
    let is_named = non_empty_var("OTEL_SERVICE_NAME").is_some()
        || non_empty_var("OTEL_RESOURCE_ATTRIBUTES")
            .is_some_and(|all| all.contains("service.name="));
    let mut resource = Resource::builder();
    if !is_named {
        resource = resource.with_service_name("restitch");
    }
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let provider = SdkTracerProvider::builder()
        .with_resource(resource.with_attribute(version).build())
        .with_batch_exporter(WarnOnceExporter { inner: exporter, warned: AtomicBool::new(false) })
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("restitch"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(|meta| meta.is_span() && meta.target() == TARGET));
    *PROVIDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(provider);
    Ok(Some(layer))
}

/// Sends the spans in the queue, and waits no longer than [`FLUSH_TIMEOUT`].
pub(crate) fn finish() {
    let provider = PROVIDER.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(provider) = provider {
        // The exporter has already warned of spans that could not be sent.
        let _ = provider.shutdown_with_timeout(FLUSH_TIMEOUT);
    }
}

/// An exporter that warns once if spans cannot be sent.
#[derive(Debug)]
struct WarnOnceExporter {
    inner: Otlp,
    warned: AtomicBool,
}

impl SpanExporter for WarnOnceExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.inner.export(batch).await;
        if let Err(error) = &sent
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %error,
                "traces cannot be sent; edits go on without them. Check OTEL_EXPORTER_OTLP_ENDPOINT and the collector"
            );
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
