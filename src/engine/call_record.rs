//! Records of calls, for statistics. They have names, codes and counts, but never a path or text of
//! a file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRecord {
    /// The tool.
    pub tool: String,
    /// The name that the client gives itself, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The rung of each file's edit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<String>,
    /// The rewrites of the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<String>,
    /// The kind of each question to a model, with the outcome of the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<(String, String)>,
    /// The number of requests to the model.
    pub requests: u64,
    /// The number of answers from the cache.
    pub cached: u64,
    /// The number of tokens, as the server counted them.
    pub tokens: u64,
    /// The time spent waiting for the model, in milliseconds.
    pub millis: u64,
}

/// Receives a record of each call that could change files.
pub(crate) type CallRecorder = Arc<dyn Fn(CallRecord) + Send + Sync>;

impl CallRecord {
    /// The record of a call with this report.
    pub(crate) fn from_report(tool: &str, code: Option<&str>, report: &Value) -> Self {
        let mut record =
            Self { tool: tool.to_owned(), code: code.map(str::to_owned), ..Self::default() };
        // `files` has a report of each file. Without it, the top level is the report of one file.
        match report["files"].as_array() {
            Some(files) => files.iter().for_each(|file| record.add_report(file)),
            None => record.add_report(report),
        }
        record
    }

    /// Adds the report of one file.
    fn add_report(&mut self, report: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.rungs.extend(text(&report["rung"]));
        let rewrites = report["rewrites"].as_array().into_iter().flatten();
        self.rewrites.extend(rewrites.filter_map(text));
        for attempt in report["attempts"].as_array().into_iter().flatten() {
            let ask_and_outcome = text(&attempt["ask"]).zip(text(&attempt["outcome"]));
            self.asks.extend(ask_and_outcome);
        }
        let count = |name: &str| report["model"][name].as_u64().unwrap_or(0);
        self.requests += count("calls");
        self.cached += count("cached");
        self.tokens += count("prompt_tokens") + count("completion_tokens");
        self.millis += count("millis");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_note_holds_names_and_numbers_only() {
        let report = json!({"files": [
            {"path": "secret/place.rs", "rung": "exact", "rewrites": [], "attempts": [], "diff": "+secret"},
            {"path": "b", "rung": "model", "rewrites": ["indentation"],
             "attempts": [{"ask": "correct_old", "outcome": "accepted", "detail": "secret"}],
             "model": {"calls": 2, "cached": 1, "prompt_tokens": 10, "completion_tokens": 5, "millis": 7}},
        ]});
        let record = CallRecord::from_report("multi_edit", None, &report);
        assert_eq!(record.rungs, ["exact", "model"]);
        assert_eq!(record.asks, [("correct_old".to_owned(), "accepted".to_owned())]);
        assert_eq!((record.requests, record.cached, record.tokens, record.millis), (2, 1, 15, 7));
        let text = serde_json::to_string(&record).expect("JSON");
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(serde_json::from_str::<CallRecord>(&text).expect("reads"), record);
    }
}
