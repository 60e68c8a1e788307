//! Counts what a server does, in the text format that Prometheus reads. The counters hold only names
//! and numbers: no path, no text, nothing that a client chose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::tools::{self, ToolReply};

const CALLS: &str = "restitch_calls_total";
const EDITS: &str = "restitch_edits_total";
const REFUSALS: &str = "restitch_refusals_total";
const ASKS: &str = "restitch_asks_total";
const MODEL_REQUESTS: &str = "restitch_model_requests_total";
const MODEL_TOKENS: &str = "restitch_model_tokens_total";
const CACHED: &str = "restitch_cache_answers_total";
const DENIED: &str = "restitch_http_shut_out_total";
const SECONDS_SUM: &str = "restitch_call_seconds_sum";
const SECONDS_COUNT: &str = "restitch_call_seconds_count";

/// Each family: its name, its type, what it counts, and the names of its values.
const FAMILIES: &[(&str, &str, &str, &[&str])] = &[
    (CALLS, "counter", "Tool calls that were answered.", &[CALLS]),
    (EDITS, "counter", "Edits that were made, by the rung that explained them.", &[EDITS]),
    (REFUSALS, "counter", "Calls that were refused, by code.", &[REFUSALS]),
    (ASKS, "counter", "Questions to the model, by outcome.", &[ASKS]),
    (MODEL_REQUESTS, "counter", "Requests to the model.", &[MODEL_REQUESTS]),
    (MODEL_TOKENS, "counter", "Tokens, as the model's server counted them.", &[MODEL_TOKENS]),
    (CACHED, "counter", "Answers of the model that came from the cache.", &[CACHED]),
    (DENIED, "counter", "HTTP requests that were denied, by what was wrong with them.", &[DENIED]),
    ("restitch_call_seconds", "summary", "How long calls take.", &[SECONDS_SUM, SECONDS_COUNT]),
];

/// Counters of one process.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// The values by their names and their labels in Prometheus' syntax, such as `tool="edit_file"`.
    values: Mutex<BTreeMap<(&'static str, String), f64>>,
    /// Each running call holds a clone.
    pub(super) running: Arc<()>,
}

impl Metrics {
    /// How many calls are running.
    pub(super) fn running(&self) -> usize {
        Arc::strong_count(&self.running) - 1
    }

    fn add(&self, name: &'static str, labels: String, value: f64) {
        // A panic elsewhere cannot leave plain counters inconsistent.
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        *values.entry((name, labels)).or_default() += value;
    }

    /// Counts an answered call.
    pub(super) fn record_answer(&self, tool: &str, reply: &ToolReply, elapsed: Duration) {
        // A client may send any name as a tool; unknown names share one counter.
        let tool = format!("tool=\"{}\"", tools::find(tool).map_or("unknown", |tool| tool.name));
        let record = reply.counts();
        match reply.code {
            Some(code) => self.add(REFUSALS, format!("{tool},code=\"{}\"", code.as_str()), 1.0),
            None => {
                for rung in &record.rungs {
                    self.add(EDITS, format!("rung=\"{rung}\""), 1.0);
                }
            }
        }
        for (ask, outcome) in &record.asks {
            self.add(ASKS, format!("ask=\"{ask}\",outcome=\"{outcome}\""), 1.0);
        }
        self.add(MODEL_REQUESTS, String::new(), record.requests as f64);
        self.add(MODEL_TOKENS, String::new(), record.tokens as f64);
        self.add(CACHED, String::new(), record.cached as f64);
        self.add(CALLS, tool.clone(), 1.0);
        self.add(SECONDS_SUM, tool.clone(), elapsed.as_secs_f64());
        self.add(SECONDS_COUNT, tool, 1.0);
    }

    /// Counts a request that was denied.
    pub(super) fn record_denied(&self, why: &'static str) {
        self.add(DENIED, format!("why=\"{why}\""), 1.0);
    }

    /// All counters in the text format that Prometheus reads.
    pub(super) fn text(&self) -> String {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = String::new();
        for (family, kind, help, names) in FAMILIES {
            let _ = writeln!(out, "# HELP {family} {help}\n# TYPE {family} {kind}");
            for ((name, labels), value) in
                values.iter().filter(|((name, _), _)| names.contains(name))
            {
                let braces = if labels.is_empty() { "" } else { &format!("{{{labels}}}") };
                let _ = writeln!(out, "{name}{braces} {value}");
            }
        }
        let name = "restitch_calls_running";
        let _ = writeln!(out, "# HELP {name} Calls that are running.\n# TYPE {name} gauge");
        let _ = writeln!(out, "{name} {}", self.running());
        out
    }
}
