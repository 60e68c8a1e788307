//! What a tool answers: a code, a text for a model, and the full report.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use tracing::Span;

use crate::edit::{EditCode, EditReport, Refusal};

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolReply {
    /// Whether it did what was asked.
    pub ok: bool,
    /// The code of a refusal.
    pub code: Option<EditCode>,
    /// The text for a model.
    pub message: String,
    /// Everything, for programs.
    pub report: Value,
}

impl ToolReply {
    /// The answer to a call that did what was asked.
    pub fn answered(message: impl Into<String>, report: impl Serialize) -> Self {
        match serde_json::to_value(report) {
            Ok(report) => Self { ok: true, code: None, message: message.into(), report },
            Err(error) => Self::refused(Refusal::new(
                EditCode::ReadError,
                format!("the answer cannot be written as JSON: {error}"),
            )),
        }
    }

    /// Reads a reply back from the JSON that it was kept as, to answer a repeated request.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let mut reply: Value = serde_json::from_str(text).ok()?;
        let code = match reply.get("code")? {
            Value::Null => None,
            code => Some(EditCode::parse(code.as_str()?)?),
        };
        let message = reply.get("message")?.as_str()?.to_owned();
        Some(Self {
            ok: reply.get("ok")?.as_bool()?,
            code,
            message,
            report: reply["report"].take(),
        })
    }

    /// The revision of the edit that it answers, if one was made.
    #[cfg(feature = "cli")]
    pub(crate) fn revision(&self) -> Option<u64> {
        let of = |report: &Value| report["revision"].as_u64();
        of(&self.report).or_else(|| of(&self.report["files"][0]))
    }

    /// The reply whose message ends with the diff of each file in its report.
    pub(super) fn with_diff(mut self) -> Self {
        let files = self.report.get("files").and_then(Value::as_array);
        let files = files.map_or(std::slice::from_ref(&self.report), Vec::as_slice);
        for diff in files.iter().filter_map(|file| file.get("diff")?.as_str()) {
            self.message.push('\n');
            self.message.push_str(diff.trim_end());
        }
        self
    }

    /// The reply with long texts and lists truncated; `left_out` in its report says by how much.
    pub(super) fn truncated(mut self) -> Self {
        let mut left_out = BTreeMap::new();
        truncate_value(&mut self.report, "", &mut left_out);
        if self.message.len() > MAX_TEXT {
            left_out.insert("message".to_owned(), truncate_text(&mut self.message));
        }
        if let (Value::Object(report), false) = (&mut self.report, left_out.is_empty()) {
            report.insert("left_out".into(), json!(left_out));
        }
        self
    }

    /// The answer to an edit that was applied.
    pub fn edited(report: &EditReport) -> Self {
        Self::answered(report.text(), report)
    }

    /// The answer to a call that was refused; nothing was written.
    pub fn refused(refusal: Refusal) -> Self {
        let text = refusal.text();
        Self::refused_as(&refusal, text)
    }

    /// The same with the text in the words of the caller.
    pub(super) fn refused_as(refusal: &Refusal, message: String) -> Self {
        let report = serde_json::to_value(refusal).unwrap_or_else(
            |error| json!({ "message": refusal.message, "error": error.to_string() }),
        );
        Self { ok: false, code: Some(refusal.code), message, report }
    }
}

/// The most bytes of a text in a reply; the end of a longer text is cut.
const MAX_TEXT: usize = 1 << 20;

/// The most items of a list in a reply; the end of a longer list is cut.
const MAX_ITEMS: usize = 10_000;

/// Cuts the texts and lists in `value`, a field with this name, that are too long. `left_out` gets the
/// number of bytes or items cut from fields of each name.
fn truncate_value(value: &mut Value, name: &str, left_out: &mut BTreeMap<String, usize>) {
    let cut = match value {
        Value::String(text) if text.len() > MAX_TEXT => truncate_text(text),
        Value::Array(items) => {
            let cut = items.len().saturating_sub(MAX_ITEMS);
            items.truncate(MAX_ITEMS);
            items.iter_mut().for_each(|item| truncate_value(item, name, left_out));
            cut
        }
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, value)| truncate_value(value, key, left_out));
            0
        }
        _ => 0,
    };
    if cut > 0 {
        *left_out.entry(name.to_owned()).or_default() += cut;
    }
}

/// Cuts a long text, adds a note that says so, and returns the number of bytes cut.
fn truncate_text(text: &mut String) -> usize {
    let end = text.floor_char_boundary(MAX_TEXT);
    let bytes_cut = text.len() - end;
    text.truncate(end);
    text.push_str(&format!("\n… {bytes_cut} more bytes are left out"));
    bytes_cut
}

impl ToolReply {
    /// Records the outcome of the call in its span.
    pub(crate) fn record_in(&self, span: &Span) {
        if span.is_disabled() {
            return;
        }
        span.record("restitch.outcome", if self.ok { "done" } else { "refused" });
        let code = self.code.map(|code| code.as_str());
        if let Some(code) = code {
            span.record("restitch.code", code);
        }
        let counts = self.counts();
        if let Some(rung) = counts.rungs.first() {
            span.record("restitch.rung", rung);
        }
        if counts.requests + counts.cached > 0 {
            span.record("restitch.model.requests", counts.requests);
            span.record("restitch.model.cached", counts.cached);
            span.record("restitch.model.tokens", counts.tokens);
        }
    }

    /// What a program that counts calls takes from the report.
    pub(crate) fn counts(&self) -> CallCounts<'_> {
        let mut counts = CallCounts::default();
        // `files` has a report of each file. Without it, the top level is the report of one file.
        match self.report.get("files").and_then(Value::as_array) {
            Some(files) => files.iter().for_each(|file| counts.add(file)),
            None => counts.add(&self.report),
        }
        counts
    }
}

/// Names and numbers of a call, never a path or text of a file.
#[derive(Debug, Default)]
pub(crate) struct CallCounts<'a> {
    /// The rung of each file's edit.
    pub(crate) rungs: Vec<&'a str>,
    /// The kind of each question to a model, with the outcome of the answer.
    pub(crate) asks: Vec<(&'a str, &'a str)>,
    /// The number of requests to the model.
    pub(crate) requests: u64,
    /// The number of answers from the cache.
    pub(crate) cached: u64,
    /// The number of tokens, as the server counted them.
    pub(crate) tokens: u64,
}

impl<'a> CallCounts<'a> {
    /// Adds the report of one file.
    fn add(&mut self, report: &'a Value) {
        self.rungs.extend(report["rung"].as_str());
        for attempt in report["attempts"].as_array().into_iter().flatten() {
            self.asks.extend(attempt["ask"].as_str().zip(attempt["outcome"].as_str()));
        }
        let count = |name: &str| report["model"][name].as_u64().unwrap_or(0);
        self.requests += count("calls");
        self.cached += count("cached");
        self.tokens += count("prompt_tokens") + count("completion_tokens");
    }
}
