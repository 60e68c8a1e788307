//! What a tool answers: a code, a text for a model, and the full report.

use serde::Serialize;
use serde_json::{Map, Value, json};

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
    /// An answer of a tool that reads.
    pub fn answered(message: impl Into<String>, report: impl Serialize) -> Self {
        match serde_json::to_value(report) {
            Ok(report) => Self { ok: true, code: None, message: message.into(), report },
            Err(error) => Self::refused(Refusal::new(
                EditCode::ReadError,
                format!("the answer cannot be written as JSON: {error}"),
            )),
        }
    }

    /// A reply as [`serde_json`] wrote it, for a request that is delivered again.
    pub fn from_json(text: &str) -> Option<Self> {
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

    /// The reply with long texts and lists truncated, and `left_out` saying by how much.
    pub(super) fn truncated(mut self) -> Self {
        let mut left_out = Map::new();
        truncate_value(&mut self.report, "", &mut left_out);
        if self.message.len() > MAX_TEXT {
            let rest = truncate_text(&mut self.message);
            left_out.insert("message".into(), rest.into());
        }
        if let (Value::Object(report), false) = (&mut self.report, left_out.is_empty()) {
            report.insert("left_out".into(), Value::Object(left_out));
        }
        self
    }

    /// An edit that went through.
    pub fn edited(report: &EditReport) -> Self {
        Self::answered(report.text(), report)
    }

    /// A call that was refused; nothing was written.
    pub fn refused(refusal: Refusal) -> Self {
        let report = serde_json::to_value(&refusal).unwrap_or_else(
            |error| json!({ "message": refusal.message, "error": error.to_string() }),
        );
        Self { ok: false, code: Some(refusal.code), message: refusal.text(), report }
    }
}

/// A longer text in a reply is cut.
const MAX_TEXT: usize = 1 << 20;

/// Of a longer list in a reply only the first items are shown.
const MAX_ITEMS: usize = 10_000;

/// Cuts what is too large, and notes under its name how many bytes or items are missing.
fn truncate_value(value: &mut Value, name: &str, left_out: &mut Map<String, Value>) {
    let below = |key: &str| match name {
        "" => key.to_owned(),
        name => format!("{name}.{key}"),
    };
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            left_out.insert(name.to_owned(), truncate_text(text).into());
        }
        Value::Array(items) => {
            if items.len() > MAX_ITEMS {
                left_out.insert(name.to_owned(), (items.len() - MAX_ITEMS).into());
                items.truncate(MAX_ITEMS);
            }
            for (at, item) in items.iter_mut().enumerate() {
                truncate_value(item, &below(&at.to_string()), left_out);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                truncate_value(value, &below(key), left_out);
            }
        }
        _ => {}
    }
}

/// Cuts a text and says in it how much is missing; answers with that.
fn truncate_text(text: &mut String) -> usize {
    let mut end = MAX_TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let rest = text.len() - end;
    text.truncate(end);
    text.push_str(&format!("\n… {rest} more bytes are left out"));
    rest
}

impl From<Result<EditReport, Refusal>> for ToolReply {
    fn from(result: Result<EditReport, Refusal>) -> Self {
        match result {
            Ok(report) => Self::edited(&report),
            Err(refusal) => Self::refused(refusal),
        }
    }
}
