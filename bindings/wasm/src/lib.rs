//! The WebAssembly half of the npm package `restitch-wasm`, which only converts between JavaScript's
//! and Rust's values.

use js_sys::{Array, JsString, Uint8Array};
use restitch::edit::Extent;
use restitch::{Applied, Applier, EditRequest, Expected, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

/// One replacement of text by text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Edit {
    old: String,
    new: String,
    replace_all: Option<bool>,
    expected: Option<usize>,
    near_line: Option<usize>,
}

/// The version of the package.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Applies edits to a text, all or none of them. Returns a report as JSON and, unless the edits are
/// refused, the text after them.
#[wasm_bindgen(js_name = applyText)]
pub fn apply_text(text: &str, edits: &str, path: Option<String>) -> Result<Array, JsError> {
    let decided =
        calls(edits)?.and_then(|calls| Applier::default().text(path.as_deref(), text, &calls));
    Ok(answer(decided, |text| JsString::from(text).into()))
}

/// The same for the bytes of a file.
#[wasm_bindgen(js_name = applyBytes)]
pub fn apply_bytes(bytes: &[u8], edits: &str, path: Option<String>) -> Result<Array, JsError> {
    let decided =
        calls(edits)?.and_then(|calls| restitch::apply_bytes(path.as_deref(), bytes, &calls));
    Ok(answer(decided, |bytes: Vec<u8>| Uint8Array::from(bytes.as_slice()).into()))
}

/// Parses edits from JSON as requests.
fn calls(edits: &str) -> Result<Result<Vec<EditRequest>, Refusal>, JsError> {
    let edits: Vec<Edit> = serde_json::from_str(edits)?;
    Ok(edits
        .into_iter()
        .map(|edit| {
            let expected = Expected::of(edit.replace_all, edit.expected)?;
            let call = EditRequest::new(edit.old, edit.new).expecting(expected);
            Ok(call.near_line(edit.near_line))
        })
        .collect())
}

/// The report as JSON, and the text after the edits if they are applied.
fn answer<T>(decided: Result<Applied<T>, Refusal>, text: impl FnOnce(T) -> JsValue) -> Array {
    match decided {
        Ok(done) => {
            let report = report(&done).to_string();
            Array::of2(&report.into(), &text(done.text))
        }
        Err(refusal) => {
            let refused = json!({ "report": refusal, "text": refusal.text() });
            Array::of1(&refused.to_string().into())
        }
    }
}

/// The report of applied edits, with the names of JavaScript.
fn report<T>(done: &Applied<T>) -> Value {
    let spans = done
        .spans()
        .into_iter()
        .map(|span| json!({ "before": extent(&span.before), "after": extent(&span.after) }));
    json!({
        "rung": done.rung.as_str(),
        "rewrites": done.rewrites.iter().map(|rewrite| rewrite.as_str()).collect::<Vec<_>>(),
        "replacements": done.replacements,
        "warnings": done.warnings,
        "spans": spans.collect::<Vec<_>>(),
        "corrected": done.corrected.as_ref().map(|used| {
            json!({ "oldStr": used.old_str, "newStr": used.new_str })
        }),
        "diff": done.diff(),
    })
}

fn extent(extent: &Extent) -> Value {
    json!({
        "startLine": extent.start_line,
        "endLine": extent.end_line,
        "startByte": extent.start_byte,
        "endByte": extent.end_byte,
    })
}
