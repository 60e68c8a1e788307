//! Reads Gemini CLI's transcripts: one message on each line, or one JSON object in older versions.
//! Calls and their results are together in `toolCalls`.

use serde_json::Value;

use super::{Client, EditAttempt, FileAction, Transcript, replacements, string_field, text_of};

/// Reads one session file.
pub fn read(text: &str, session: &str) -> Transcript {
    let mut out = Transcript::new(Client::Gemini, session);
    let whole: Option<Value> = serde_json::from_str(text).ok();
    let records = match whole.as_ref().and_then(|whole| whole["messages"].as_array()) {
        Some(messages) => messages.clone(),
        None => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let records: Vec<Option<Value>> =
                lines.map(|line| serde_json::from_str(line).ok()).collect();
            out.skipped = records.iter().filter(|record| record.is_none()).count();
            records.into_iter().flatten().collect()
        }
    };
    // A message is written again when its calls have finished: the last record of it counts.
    let mut messages: Vec<Value> = Vec::new();
    for record in records {
        let is_same = |message: &Value| record["id"].is_string() && message["id"] == record["id"];
        if let Some(target) = record.get("$rewindTo").and_then(Value::as_str) {
            if let Some(index) = messages.iter().position(|message| message["id"] == target) {
                messages.truncate(index + 1);
            }
        } else if let Some(message) = messages.iter_mut().find(|message| is_same(message)) {
            *message = record;
        } else {
            messages.push(record);
        }
    }
    let answers = messages.iter().filter(|message| message["type"] == "gemini");
    for (turn, record) in answers.enumerate() {
        out.add_tokens(turn, record["tokens"]["output"].as_u64().unwrap_or(0));
        out.set_time(&record["timestamp"]);
        out.set_model(&record["model"]);
        for call in record["toolCalls"].as_array().into_iter().flatten() {
            out.set_time(&call["timestamp"]);
            record_call(&mut out, turn, call);
        }
    }
    out
}

/// Records a call and its result, if the call read or changed a file.
fn record_call(out: &mut Transcript, turn: usize, call: &Value) {
    let input = &call["args"];
    let Some(path) = string_field(input, &["file_path", "absolute_path", "path"]) else { return };
    let failed = call["status"] == "error";
    let response_text = || {
        let response = &call["result"][0]["functionResponse"]["response"];
        let text = text_of(response);
        if text.is_empty() { text_of(&call["result"]) } else { text }
    };
    match call["name"].as_str().unwrap_or_default() {
        "read_file" if !failed => {
            let text = response_text();
            let is_partial = text.contains("file content has been truncated")
                || input.get("offset").is_some()
                || input.get("limit").is_some();
            if !is_partial && !text.is_empty() {
                out.push(turn, &path, FileAction::Viewed { from: 1, text, whole: true });
            }
        }
        "write_file" if !failed => {
            out.written(turn, &path, &input["content"]);
        }
        "replace" | "edit" => {
            let original = &call["resultDisplay"]["originalContent"];
            let attempt = EditAttempt {
                id: call["id"].as_str().unwrap_or_default().to_owned(),
                edits: replacements(input),
                before: original.as_str().map(str::to_owned),
                error: failed.then(response_text),
                ..EditAttempt::default()
            };
            out.push(turn, &path, FileAction::Edited(attempt));
        }
        _ => {}
    }
}
