//! What a server has done, in the text form that Prometheus reads. Names and numbers only:
//! no path, no text, nothing that a client chose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::engine::CallRecord;
use crate::port::SharedCounts;
use crate::tools::{self, ToolReply};

/// The upper ends of the histogram's buckets, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 40.0];

/// Counters of one process.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    counts: Mutex<Counts>,
    shared: Option<Arc<SharedCounts>>,
}

/// The labels of a counter, as they are written.
type Labels = String;

#[derive(Debug, Default)]
struct Counts {
    calls: BTreeMap<Labels, u64>,
    edits: BTreeMap<Labels, u64>,
    refusals: BTreeMap<Labels, u64>,
    asks: BTreeMap<Labels, u64>,
    model_requests: BTreeMap<Labels, u64>,
    model_tokens: BTreeMap<Labels, u64>,
    cached: BTreeMap<Labels, u64>,
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
    /// None of this process yet, and what it shares with others.
    pub(super) fn new(shared: Option<Arc<SharedCounts>>) -> Self {
        Self { shared, ..Self::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        // Plain counters: a panic elsewhere cannot leave them broken.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call has begun.
    pub(super) fn call_started(&self) {
        self.lock().running += 1;
    }

    /// A call is over, in whatever way.
    pub(super) fn call_ended(&self) {
        let mut counts = self.lock();
        counts.running = counts.running.saturating_sub(1);
    }

    /// Calls that are under way.
    pub(super) fn running(&self) -> u64 {
        self.lock().running
    }

    /// What came of a call. `access` is the name of the token in the configuration.
    pub(super) fn record_answer(
        &self,
        access: &str,
        tool: &str,
        reply: &ToolReply,
        took: Duration,
    ) {
        // A client may call anything by any name; that must not make a counter each.
        let tool = tools::find(tool).map_or("unknown", |tool| tool.name);
        let code = reply.code.map(|code| code.as_str());
        let note = CallRecord::from_report(tool, code, &reply.report);
        let access = escape_label(access);
        let own = format!("access=\"{access}\"");
        let add = |counter: &mut BTreeMap<Labels, u64>, labels: Labels, number: u64| {
            if number > 0 {
                *counter.entry(labels).or_default() += number;
            }
        };
        let mut counts = self.lock();
        add(&mut counts.calls, format!("{own},tool=\"{tool}\""), 1);
        if let Some(code) = code {
            add(&mut counts.refusals, format!("{own},tool=\"{tool}\",code=\"{code}\""), 1);
        } else {
            for rung in &note.rungs {
                add(&mut counts.edits, format!("{own},rung=\"{rung}\""), 1);
            }
        }
        for (ask, outcome) in &note.asks {
            add(&mut counts.asks, format!("{own},ask=\"{ask}\",outcome=\"{outcome}\""), 1);
        }
        add(&mut counts.model_requests, own.clone(), note.requests);
        add(&mut counts.model_tokens, own.clone(), note.tokens);
        add(&mut counts.cached, own, note.cached);
        let seconds = took.as_secs_f64();
        let histogram = counts.seconds.entry(format!("tool=\"{tool}\"")).or_default();
        histogram.count += 1;
        histogram.sum += seconds;
        for (bucket, end) in histogram.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= end);
        }
    }

    /// A request was not let in.
    pub(super) fn denied(&self, why: &'static str) {
        *self.lock().denied.entry(format!("why=\"{why}\"")).or_default() += 1;
    }

    /// All of it, as Prometheus reads it.
    pub(super) fn text(&self) -> String {
        let counts = self.lock();
        let mut out = String::new();
        let mut family = |name: &str, help: &str, values: &BTreeMap<Labels, u64>| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter");
            for (labels, value) in values {
                let _ = writeln!(out, "{name}{{{labels}}} {value}");
            }
        };
        family("restitch_calls_total", "Tool calls that were answered.", &counts.calls);
        family(
            "restitch_edits_total",
            "Edits that were made, by the rung that explained them.",
            &counts.edits,
        );
        family("restitch_refusals_total", "Calls that were refused, by code.", &counts.refusals);
        family(
            "restitch_asks_total",
            "Questions to the model, and what came of them.",
            &counts.asks,
        );
        family("restitch_model_requests_total", "Requests to the model.", &counts.model_requests);
        family(
            "restitch_model_tokens_total",
            "Tokens, as the model's server counted them.",
            &counts.model_tokens,
        );
        family(
            "restitch_cache_answers_total",
            "Answers of the model that came from the cache.",
            &counts.cached,
        );
        family(
            "restitch_http_shut_out_total",
            "HTTP requests that were not let in.",
            &counts.denied,
        );
        if let Some(shared) = &self.shared {
            let values = shared.all().map(|(what, value)| (format!("what=\"{what}\""), value));
            family(
                "restitch_shared_total",
                "What came of sharing answers and limits with other processes.",
                &values.into_iter().collect(),
            );
        }
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
        let _ = writeln!(out, "# HELP {name} Calls that are under way.\n# TYPE {name} gauge");
        let _ = writeln!(out, "{name} {}", counts.running);
        out
    }
}

/// A label's value.
fn escape_label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
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
        metrics.record_answer("ci \"1\"", "edit_file", &done, Duration::from_millis(3));
        let refused = ToolReply::refused(Refusal::new(EditCode::NoOccurrence, "secret text"));
        metrics.record_answer("a", "secret tool", &refused, Duration::from_secs(2));
        let text = metrics.text();
        for line in [
            r#"restitch_calls_total{access="ci \"1\"",tool="edit_file"} 1"#,
            r#"restitch_edits_total{access="ci \"1\"",rung="indentation"} 1"#,
            r#"restitch_refusals_total{access="a",tool="unknown",code="EDIT_NO_OCCURRENCE_FOUND"} 1"#,
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
