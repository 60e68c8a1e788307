//! Reads the sessions of pi, and of OpenClaw, which is made of it: one JSON object on each line.
//! Messages have a role; calls are parts of the assistant's, and each result is a message.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    Client, EditAttempt, FileAction, Transcript, replacements, string_field, strip_line_numbers,
    text_of,
};

/// What a view says below its lines if it does not show the rest of the file.
const CUT: [&str; 3] = ["more lines in file", "[Showing lines", "Use offset="];

/// Whether a line is a record of pi.
pub fn is_record(record: &Value) -> bool {
    let is_start =
        record["type"] == "session" && record["version"].is_u64() && record["cwd"].is_string();
    let role = record["message"]["role"].as_str();
    is_start || (record["type"] == "message" && role.is_some() && record.get("sessionId").is_none())
}

/// Reads one session file.
pub fn read(text: &str, session: &str) -> Transcript {
    // A file that OpenClaw has renamed keeps the name of the session before the first dot.
    let session = session.split('.').next().unwrap_or(session);
    let mut open_calls: HashMap<String, (Value, usize)> = HashMap::new();
    let mut turn = 0;
    Transcript::of_lines(Client::Pi, session, text, |out, record| {
        out.set_model(&record["modelId"]);
        let message = &record["message"];
        match message["role"].as_str() {
            Some("assistant") => {
                turn += 1;
                out.set_model(&message["model"]);
                out.add_tokens(turn, message["usage"]["output"].as_u64().unwrap_or(0));
                let parts = message["content"].as_array();
                for call in parts.into_iter().flatten().filter(|part| part["type"] == "toolCall") {
                    if let Some(id) = call["id"].as_str() {
                        open_calls.insert(id.to_owned(), (call.clone(), turn));
                    }
                }
            }
            Some("toolResult") => {
                let id = message["toolCallId"].as_str().unwrap_or_default();
                if let Some((call, turn)) = open_calls.remove(id) {
                    record_call(out, id, &call, turn, message);
                }
            }
            _ => {}
        }
    })
}

/// Records a call and its result, if the call read or changed a file.
fn record_call(out: &mut Transcript, id: &str, call: &Value, turn: usize, result: &Value) {
    let input = &call["arguments"];
    let path = string_field(input, &["path", "file_path"]);
    let output = text_of(&result["content"]);
    let error = error_of(result, &output);
    match (call["name"].as_str().unwrap_or_default(), path) {
        ("read", Some(path)) if error.is_none() => {
            let from = input["offset"].as_u64().and_then(|line| usize::try_from(line).ok());
            let from = from.unwrap_or(1).max(1);
            let is_cut =
                input.get("limit").is_some() || CUT.iter().any(|mark| output.contains(mark));
            // Without a number on each line, the text of a view is that of the file.
            let view = match CUT.iter().filter_map(|mark| output.rfind(mark)).min() {
                Some(end) => output[..end].rsplit_once('\n').map_or("", |(view, _)| view),
                None => &output,
            };
            let (from, text) = strip_line_numbers(view).unwrap_or_else(|| (from, view.to_owned()));
            let whole = from == 1 && !is_cut;
            out.push(turn, &path, FileAction::Viewed { from, text, whole });
        }
        ("write", Some(path)) if error.is_none() => {
            out.written(turn, &path, &input["content"]);
        }
        ("edit", path) => {
            let attempt = EditAttempt {
                id: id.to_owned(),
                edits: replacements(input),
                error,
                ..EditAttempt::default()
            };
            out.push(turn, &path.unwrap_or_default(), FileAction::Edited(attempt));
        }
        _ => {}
    }
}

/// Returns the error of a result. OpenClaw writes it as an object in the text.
fn error_of(result: &Value, output: &str) -> Option<String> {
    let object: Option<Value> = serde_json::from_str(output).ok();
    let written = object
        .filter(|object| object["status"] == "error")
        .map(|object| string_field(&object, &["error"]).unwrap_or_default());
    let failed = result["isError"].as_bool().unwrap_or(false);
    written.or_else(|| failed.then(|| output.to_owned()))
}
