//! Spans for tracing: one for each call of a tool, and below it one for each question to a model and
//! each commit. They have names and numbers, never a path or a text. Without a subscriber they cost
//! nothing. The fields `otel.…` have the names that layers for OpenTelemetry look for.

use tracing::Span;
use tracing::field::Empty;

use crate::edit::Refusal;

/// The target of every span here, by which subscribers know them.
pub(crate) const TARGET: &str = "restitch::spans";

/// The span of a call of a tool.
pub(crate) fn call(tool: &'static str) -> Span {
    tracing::info_span!(
        target: TARGET, "call", otel.name = tool, otel.kind = "server", restitch.tool = tool,
        restitch.outcome = Empty, restitch.code = Empty, restitch.rung = Empty,
        restitch.model.requests = Empty, restitch.model.cached = Empty, restitch.model.tokens = Empty,
    )
}

/// The span of a question to a model.
pub(crate) fn ask(kind: &'static str) -> Span {
    tracing::info_span!(
        target: TARGET, "ask", otel.name = "ask model", restitch.ask = kind, restitch.outcome = Empty,
    )
}

/// The span of a commit that changes `files` files.
pub(crate) fn commit(files: usize) -> Span {
    tracing::info_span!(
        target: TARGET, "commit", restitch.files = files, restitch.outcome = Empty,
        restitch.code = Empty,
    )
}

/// The span of an undo.
pub(crate) fn undo() -> Span {
    tracing::info_span!(
        target: TARGET, "undo", restitch.outcome = Empty, restitch.code = Empty,
    )
}

/// Records the outcome of a commit or an undo.
pub(crate) fn record_result<T>(span: &Span, result: &Result<T, Refusal>) {
    match result {
        Ok(_) => span.record("restitch.outcome", "done"),
        Err(refusal) => span
            .record("restitch.outcome", "refused")
            .record("restitch.code", refusal.code.as_str()),
    };
}
