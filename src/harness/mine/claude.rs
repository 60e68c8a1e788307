//! Claude Code: a JSON object a line; calls on `assistant` lines, results on `user` lines.

//!
//! A message is written in several records, one for each part of it, as it is streamed. All
//! have its id, but only the last has the final count of tokens, and an interrupted or an old
//! message has none: the count of its start (1 to 40) is no count of what it holds.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    Client, EditAttempt, FileAction, Transcript, replacements, string, strip_line_numbers, text_of,
};

/// What a token is long, about, in prose, code and JSON.
const BYTES_PER_TOKEN: u64 = 4;

/// Reads one session file.
pub fn read(text: &str, session: &str) -> Transcript {
    let mut out = Transcript::new(Client::Claude, session);
    let mut open: HashMap<String, (String, Value, usize)> = HashMap::new();
    let mut written: Vec<Message> = Vec::new();
    let mut index_by_id: HashMap<String, usize> = HashMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            out.skipped += 1;
            continue;
        };
        out.set_time(&record["timestamp"]);
        out.set_folder(&record["cwd"]);
        let content = record["message"]["content"].as_array();
        match (record["type"].as_str(), content) {
            (Some("assistant"), Some(parts)) => {
                let message = &record["message"];
                let known = message["id"]
                    .as_str()
                    .map(|id| *index_by_id.entry(id.to_owned()).or_insert(written.len()));
                let at = known.unwrap_or(written.len());
                if at == written.len() {
                    written.push(Message::default());
                }
                written[at].add(message, parts);
                let turn = at + 1;
                out.set_model(&message["model"]);
                for part in parts.iter().filter(|part| part["type"] == "tool_use") {
                    if let (Some(id), Some(name)) = (part["id"].as_str(), part["name"].as_str()) {
                        open.insert(id.to_owned(), (name.to_owned(), part["input"].clone(), turn));
                    }
                }
            }
            (Some("user"), Some(parts)) => {
                for part in parts.iter().filter(|part| part["type"] == "tool_result") {
                    let id = part["tool_use_id"].as_str().unwrap_or_default();
                    if let Some((name, input, turn)) = open.remove(id) {
                        step(&mut out, id, &name, &input, turn, part, &record["toolUseResult"]);
                    }
                }
            }
            _ => {}
        }
    }
    for (turn, message) in (1..).zip(&written) {
        let (tokens, estimated) = message.tokens();
        out.add_tokens(turn, tokens);
        if estimated {
            out.estimated.insert(turn);
        }
    }
    out
}

/// A message, put together from its records.
#[derive(Default)]
struct Message {
    tokens: u64,
    bytes: u64,
    /// It was streamed and its end was not recorded.
    unfinished: bool,
}

impl Message {
    fn add(&mut self, message: &Value, parts: &[Value]) {
        let counted = message["usage"]["output_tokens"].as_u64();
        self.tokens = self.tokens.max(counted.unwrap_or(0));
        self.unfinished = message.get("stop_reason").is_some_and(Value::is_null);
        for part in parts {
            let text = ["text", "thinking"].iter().find_map(|name| part[name].as_str());
            let bytes = text.map_or_else(|| part["input"].to_string().len(), str::len);
            self.bytes += bytes as u64;
        }
    }

    /// How many tokens it has, and whether that is estimated from its length.
    fn tokens(&self) -> (u64, bool) {
        let guess = self.bytes / BYTES_PER_TOKEN;
        let estimated = self.unfinished && guess > self.tokens;
        (if estimated { guess } else { self.tokens }, estimated)
    }
}

fn step(
    out: &mut Transcript,
    id: &str,
    name: &str,
    input: &Value,
    turn: usize,
    result: &Value,
    detail: &Value,
) {
    let Some(path) = string(input, &["file_path", "path", "filePath"]) else { return };
    let failed = result["is_error"].as_bool().unwrap_or(false);
    let output = text_of(&result["content"]);
    let edits = name == "Edit"
        || name == "MultiEdit"
        || (name.starts_with("mcp__") && name.contains("edit"));
    if name == "Read" && !failed {
        let file = &detail["file"];
        let from = file["startLine"].as_u64().and_then(|n| usize::try_from(n).ok());
        let lines = |name: &str| file[name].as_u64();
        if let Some(content) = file["content"].as_str() {
            let whole =
                from.is_none_or(|from| from <= 1) && lines("numLines") == lines("totalLines");
            let action =
                FileAction::Viewed { from: from.unwrap_or(1), text: content.to_owned(), whole };
            out.push(turn, &path, action);
        } else if let Some((from, text)) = strip_line_numbers(&output) {
            let whole = from == 1 && input.get("limit").is_none();
            out.push(turn, &path, FileAction::Viewed { from, text, whole });
        }
    } else if name == "Write" && !failed {
        if let Some(content) = input["content"].as_str() {
            out.push(turn, &path, FileAction::Written(content.to_owned()));
        }
    } else if edits {
        let attempt = EditAttempt {
            id: id.to_owned(),
            edits: replacements(input),
            before: detail["originalFile"].as_str().map(str::to_owned),
            shown: None,
            error: failed.then_some(output),
        };
        out.push(turn, &path, FileAction::Edited(attempt));
    }
}
