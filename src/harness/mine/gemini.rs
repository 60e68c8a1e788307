//! Gemini CLI: message records a line, or one JSON object in older versions; calls and
//! their results are together in `toolCalls`.

use serde_json::Value;

use super::{Client, EditAttempt, FileAction, Transcript, replacements, string, text_of};

/// Reads one session file.
pub fn read(text: &str, session: &str) -> Transcript {
    let mut out = Transcript::new(Client::Gemini, session);
    let mut records = Vec::new();
    match serde_json::from_str::<Value>(text) {
        Ok(whole) if whole.get("messages").is_some() => {
            records.extend(whole["messages"].as_array().cloned().unwrap_or_default());
        }
        _ => {
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                match serde_json::from_str::<Value>(line) {
                    Ok(record) => records.push(record),
                    Err(_) => out.skipped += 1,
                }
            }
        }
    }
    // A record is written again when its calls have finished: the last one counts.
    let mut last: Vec<Value> = Vec::new();
    for record in records {
        let same = |old: &Value| record["id"].is_string() && old["id"] == record["id"];
        if let Some(target) = record.get("$rewindTo").and_then(Value::as_str) {
            let keep = last.iter().position(|old| old["id"] == target);
            last.truncate(keep.map_or(last.len(), |at| at + 1));
        } else if let Some(old) = last.iter_mut().find(|old| same(old)) {
            *old = record;
        } else {
            last.push(record);
        }
    }
    for (turn, record) in last.iter().filter(|record| record["type"] == "gemini").enumerate() {
        out.add_tokens(turn, record["tokens"]["output"].as_u64().unwrap_or(0));
        out.set_time(&record["timestamp"]);
        out.set_model(&record["model"]);
        for call in record["toolCalls"].as_array().into_iter().flatten() {
            out.set_time(&call["timestamp"]);
            step(&mut out, turn, call);
        }
    }
    out
}

fn step(out: &mut Transcript, turn: usize, call: &Value) {
    let input = &call["args"];
    let Some(path) = string(input, &["file_path", "absolute_path", "path"]) else { return };
    let failed = call["status"] == "error";
    let response_text = || {
        let response = &call["result"][0]["functionResponse"]["response"];
        let text = text_of(response);
        if text.is_empty() { text_of(&call["result"]) } else { text }
    };
    match call["name"].as_str().unwrap_or_default() {
        "read_file" if !failed => {
            let text = response_text();
            let cut = text.contains("file content has been truncated")
                || input.get("offset").is_some()
                || input.get("limit").is_some();
            if !cut && !text.is_empty() {
                out.push(turn, &path, FileAction::Viewed { from: 1, text, whole: true });
            }
        }
        "write_file" if !failed => {
            if let Some(content) = input["content"].as_str() {
                out.push(turn, &path, FileAction::Written(content.to_owned()));
            }
        }
        "replace" | "edit" => {
            let shown = &call["resultDisplay"];
            let attempt = EditAttempt {
                id: call["id"].as_str().unwrap_or_default().to_owned(),
                edits: replacements(input),
                before: shown["originalContent"].as_str().map(str::to_owned),
                shown: None,
                error: failed.then(response_text),
            };
            out.push(turn, &path, FileAction::Edited(attempt));
        }
        _ => {}
    }
}
