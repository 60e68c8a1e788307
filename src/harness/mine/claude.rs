//! Claude Code: a JSON object a line; calls on `assistant` lines, results on `user` lines.

use std::collections::HashMap;

use serde_json::Value;

use super::{Attempt, Client, Deed, Transcript, replacements, string, text_of, unnumbered};

/// Reads one session file.
pub fn read(text: &str, session: &str) -> Transcript {
    let mut out = Transcript::new(Client::Claude, session);
    let mut open: HashMap<String, (String, Value, usize)> = HashMap::new();
    let mut turn = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            out.skipped += 1;
            continue;
        };
        out.tick(&record["timestamp"]);
        out.works_in(&record["cwd"]);
        let content = record["message"]["content"].as_array();
        match (record["type"].as_str(), content) {
            (Some("assistant"), Some(parts)) => {
                turn += 1;
                out.spend(turn, record["message"]["usage"]["output_tokens"].as_u64().unwrap_or(0));
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
    out
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
    let said = text_of(&result["content"]);
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
            let deed = Deed::Saw { from: from.unwrap_or(1), text: content.to_owned(), whole };
            out.push(turn, &path, deed);
        } else if let Some((from, text)) = unnumbered(&said) {
            let whole = from == 1 && input.get("limit").is_none();
            out.push(turn, &path, Deed::Saw { from, text, whole });
        }
    } else if name == "Write" && !failed {
        if let Some(content) = input["content"].as_str() {
            out.push(turn, &path, Deed::Wrote(content.to_owned()));
        }
    } else if edits {
        let attempt = Attempt {
            id: id.to_owned(),
            edits: replacements(input),
            before: detail["originalFile"].as_str().map(str::to_owned),
            error: failed.then_some(said),
        };
        out.push(turn, &path, Deed::Edited(attempt));
    }
}
