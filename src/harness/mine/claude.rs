//! Reads Claude Code's transcripts: one JSON object on each line, with calls on `assistant` lines
//! and results on `user` lines.
//!
//! A message is streamed into several records, one for each of its parts. All of them have the
//! message's id, but only the last one has the final count of tokens. An interrupted message, and
//! any message of an old version, has no final count: the count at its start (1 to 40) says nothing
//! about its length.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    Client, EditAttempt, FileAction, Transcript, replacements, string_field, strip_line_numbers,
    text_of,
};

/// The rough length of a token in prose, code and JSON.
const BYTES_PER_TOKEN: u64 = 4;

/// Reads one session file.
pub fn read(text: &str, session: &str) -> Transcript {
    // Calls without a result yet, by id: the tool, its input and the turn.
    let mut open_calls: HashMap<String, (String, Value, usize)> = HashMap::new();
    let mut messages: Vec<Message> = Vec::new();
    let mut index_by_id: HashMap<String, usize> = HashMap::new();
    // Checkpoints have one name for all.
    let is_checkpoint = ["full", "transcript"].contains(&session);
    let mut out = Transcript::of_lines(Client::Claude, session, text, |out, record| {
        if is_checkpoint && let Some(id) = record["sessionId"].as_str() {
            out.session = id.to_owned();
        }
        let content = record["message"]["content"].as_array();
        match (record["type"].as_str(), content) {
            (Some("assistant"), Some(parts)) => {
                let message = &record["message"];
                // A message with an id may have earlier records; one without is new.
                let index = match message["id"].as_str() {
                    Some(id) => *index_by_id.entry(id.to_owned()).or_insert(messages.len()),
                    None => messages.len(),
                };
                if index == messages.len() {
                    messages.push(Message::default());
                }
                messages[index].add(message, parts);
                let turn = index + 1;
                out.set_model(&message["model"]);
                for part in parts.iter().filter(|part| part["type"] == "tool_use") {
                    if let (Some(id), Some(name)) = (part["id"].as_str(), part["name"].as_str()) {
                        let call = (name.to_owned(), part["input"].clone(), turn);
                        open_calls.insert(id.to_owned(), call);
                    }
                }
            }
            (Some("user"), Some(parts)) => {
                for part in parts.iter().filter(|part| part["type"] == "tool_result") {
                    let id = part["tool_use_id"].as_str().unwrap_or_default();
                    if let Some((name, input, turn)) = open_calls.remove(id) {
                        let detail = &record["toolUseResult"];
                        record_call(out, id, &name, &input, turn, part, detail);
                    }
                }
            }
            _ => {}
        }
    });
    for (turn, message) in (1..).zip(&messages) {
        let (tokens, estimated) = message.tokens();
        out.add_tokens(turn, tokens);
        if estimated {
            out.estimated.insert(turn);
        }
    }
    out
}

/// The length of a message, summed up from its records.
#[derive(Default)]
struct Message {
    /// The highest count of tokens in a record.
    tokens: u64,
    /// The number of bytes of the message's parts.
    bytes: u64,
    /// Whether the last record does not have the final count.
    is_unfinished: bool,
}

impl Message {
    /// Adds a record of the message.
    fn add(&mut self, message: &Value, parts: &[Value]) {
        let counted = message["usage"]["output_tokens"].as_u64();
        self.tokens = self.tokens.max(counted.unwrap_or(0));
        self.is_unfinished = message.get("stop_reason").is_some_and(Value::is_null);
        for part in parts {
            let text = ["text", "thinking"].iter().find_map(|name| part[name].as_str());
            let bytes = text.map_or_else(|| part["input"].to_string().len(), str::len);
            self.bytes += bytes as u64;
        }
    }

    /// Returns the number of tokens, and whether it is estimated from the message's length.
    fn tokens(&self) -> (u64, bool) {
        let estimate = self.bytes / BYTES_PER_TOKEN;
        let is_estimated = self.is_unfinished && estimate > self.tokens;
        (if is_estimated { estimate } else { self.tokens }, is_estimated)
    }
}

/// Records a call and its result, if the call read or changed a file.
fn record_call(
    out: &mut Transcript,
    id: &str,
    name: &str,
    input: &Value,
    turn: usize,
    result: &Value,
    detail: &Value,
) {
    let Some(path) = string_field(input, &["file_path", "path", "filePath"]) else { return };
    let failed = result["is_error"].as_bool().unwrap_or(false);
    let output = text_of(&result["content"]);
    let is_edit = name == "Edit"
        || name == "MultiEdit"
        || (name.starts_with("mcp__") && name.contains("edit"));
    if name == "Read" && !failed {
        let file = &detail["file"];
        let start_line = file["startLine"].as_u64().and_then(|line| usize::try_from(line).ok());
        let from = start_line.unwrap_or(1);
        if let Some(content) = file["content"].as_str() {
            let has_all_lines = file["numLines"].as_u64() == file["totalLines"].as_u64();
            let whole = from <= 1 && has_all_lines;
            out.push(turn, &path, FileAction::Viewed { from, text: content.to_owned(), whole });
        } else if let Some((from, text)) = strip_line_numbers(&output) {
            let whole = from == 1 && input.get("limit").is_none();
            out.push(turn, &path, FileAction::Viewed { from, text, whole });
        }
    } else if name == "Write" && !failed {
        out.written(turn, &path, &input["content"]);
    } else if is_edit {
        let attempt = EditAttempt {
            id: id.to_owned(),
            edits: replacements(input),
            before: detail["originalFile"].as_str().map(str::to_owned),
            error: failed.then_some(output),
            ..EditAttempt::default()
        };
        out.push(turn, &path, FileAction::Edited(attempt));
    }
}
