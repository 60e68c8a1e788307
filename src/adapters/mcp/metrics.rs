//! Counts what a server does, in the text format that Prometheus reads. The counters hold only names
//! and numbers: no path, no text, nothing that a client chose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::tools::{self, ToolReply};

/// The upper bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 40.0];

/// Counters of one process.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    counts: Mutex<Counts>,
}

/// The labels of a counter in Prometheus' syntax, such as `tool="edit_file",code="EDIT_CONFLICT"`.
type Labels = String;

#[derive(Debug, Default)]
struct Counts {
    calls: BTreeMap<Labels, u64>,
    edits: BTreeMap<Labels, u64>,
    refusals: BTreeMap<Labels, u64>,
    asks: BTreeMap<Labels, u64>,
    model_requests: u64,
    model_tokens: u64,
    cached: u64,
    denied: BTreeMap<Labels, u64>,
    seconds: BTreeMap<Labels, Histogram>,
    running: u64,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        // A panic elsewhere cannot leave plain counters inconsistent.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call as running.
    pub(super) fn call_started(&self) {
        self.lock().running += 1;
    }

    /// Counts a call as no longer running, however it ended.
    pub(super) fn call_ended(&self) {
        let mut counts = self.lock();
        counts.running = counts.running.saturating_sub(1);
    }

    /// How many calls are running.
    pub(super) fn running(&self) -> u64 {
        self.lock().running
    }

    /// Counts an answered call.
    pub(super) fn record_answer(&self, tool: &str, reply: &ToolReply, elapsed: Duration) {
        // A client may send any name as a tool; unknown names share one counter.
        let tool = tools::find(tool).map_or("unknown", |tool| tool.name);
        let code = reply.code.map(|code| code.as_str());
        let record = reply.counts();
        let mut counts = self.lock();
        *counts.calls.entry(format!("tool=\"{tool}\"")).or_default() += 1;
        if let Some(code) = code {
            let labels = format!("tool=\"{tool}\",code=\"{code}\"");
            *counts.refusals.entry(labels).or_default() += 1;
        } else {
            for rung in &record.rungs {
                *counts.edits.entry(format!("rung=\"{rung}\"")).or_default() += 1;
            }
        }
        for (ask, outcome) in &record.asks {
            let labels = format!("ask=\"{ask}\",outcome=\"{outcome}\"");
            *counts.asks.entry(labels).or_default() += 1;
        }
        counts.model_requests += record.requests;
        counts.model_tokens += record.tokens;
        counts.cached += record.cached;
        let seconds = elapsed.as_secs_f64();
        let histogram = counts.seconds.entry(format!("tool=\"{tool}\"")).or_default();
        histogram.count += 1;
        histogram.sum += seconds;
        for (bucket, end) in histogram.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= end);
        }
    }

    /// Counts a request that was denied.
    pub(super) fn record_denied(&self, why: &'static str) {
        *self.lock().denied.entry(format!("why=\"{why}\"")).or_default() += 1;
    }

    /// All counters in the text format that Prometheus reads.
    pub(super) fn text(&self) -> String {
        let counts = self.lock();
        let mut out = String::new();
        let mut family = |name: &str, help: &str, values: &BTreeMap<Labels, u64>| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter");
            for (labels, value) in values {
                let braces = if labels.is_empty() { "" } else { &format!("{{{labels}}}") };
                let _ = writeln!(out, "{name}{braces} {value}");
            }
        };
        let total = |value: u64| BTreeMap::from([(Labels::new(), value)]);
        family("restitch_calls_total", "Tool calls that were answered.", &counts.calls);
        family(
            "restitch_edits_total",
            "Edits that were made, by the rung that explained them.",
            &counts.edits,
        );
        family("restitch_refusals_total", "Calls that were refused, by code.", &counts.refusals);
        family("restitch_asks_total", "Questions to the model, by outcome.", &counts.asks);
        family(
            "restitch_model_requests_total",
            "Requests to the model.",
            &total(counts.model_requests),
        );
        family(
            "restitch_model_tokens_total",
            "Tokens, as the model's server counted them.",
            &total(counts.model_tokens),
        );
        family(
            "restitch_cache_answers_total",
            "Answers of the model that came from the cache.",
            &total(counts.cached),
        );
        family(
            "restitch_http_shut_out_total",
            "HTTP requests that were denied, by what was wrong with them.",
            &counts.denied,
        );
        let name = "restitch_call_seconds";
        let _ = writeln!(out, "# HELP {name} How long calls take.\n# TYPE {name} histogram");
        for (labels, histogram) in &counts.seconds {
            for (end, count) in BUCKETS.iter().zip(histogram.buckets) {
                let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{end}\"}} {count}");
            }
            let Histogram { count, sum, .. } = histogram;
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(out, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}");
        }
        let name = "restitch_calls_running";
        let _ = writeln!(out, "# HELP {name} Calls that are running.\n# TYPE {name} gauge");
        let _ = writeln!(out, "{name} {}", counts.running);
        out
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::edit::{EditCode, Refusal};

    #[test]
    fn calls_are_counted_by_names_that_are_known() {
        let metrics = Metrics::default();
        let done =
            ToolReply::answered("done", json!({ "rung": "indentation", "path": "secret.rs" }));
        metrics.record_answer("edit_file", &done, Duration::from_millis(3));
        let refused = ToolReply::refused(Refusal::new(EditCode::NoOccurrence, "secret text"));
        metrics.record_answer("secret tool", &refused, Duration::from_secs(2));
        let text = metrics.text();
        for line in [
            r#"restitch_calls_total{tool="edit_file"} 1"#,
            r#"restitch_edits_total{rung="indentation"} 1"#,
            r#"restitch_refusals_total{tool="unknown",code="EDIT_NO_OCCURRENCE_FOUND"} 1"#,
            r#"restitch_call_seconds_bucket{tool="edit_file",le="0.0025"} 0"#,
            r#"restitch_call_seconds_bucket{tool="edit_file",le="0.005"} 1"#,
            r#"restitch_call_seconds_bucket{tool="unknown",le="+Inf"} 1"#,
            r#"restitch_call_seconds_count{tool="unknown"} 1"#,
            "restitch_calls_running 0",
        ] {
            assert!(text.lines().any(|got| got == line), "{line}\n{text}");
        }
        assert!(!text.contains("secret"), "{text}");
    }
}
