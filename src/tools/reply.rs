//! What a tool answers: a code, a text for a model, and the full report.

use serde::Serialize;
use serde_json::{Value, json};

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

impl From<Result<EditReport, Refusal>> for ToolReply {
    fn from(result: Result<EditReport, Refusal>) -> Self {
        match result {
            Ok(report) => Self::edited(&report),
            Err(refusal) => Self::refused(refusal),
        }
    }
}
