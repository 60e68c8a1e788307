//! Reads the database of crush, and of the older opencode that it comes from: sessions, messages
//! with their parts, and every version of each file that the agent edited.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;
use serde_json::Value;

use super::database::{each_row, text_at};
use super::{
    Client, EditAttempt, FileAction, Transcript, replacements, string_field, strip_line_numbers,
};

/// A message of a session.
struct Message {
    created: i64,
    parts: Vec<Value>,
    model: Option<String>,
}

/// The sessions of a database, with their messages in order.
#[derive(Default)]
struct Tables {
    messages: BTreeMap<String, Vec<Message>>,
    /// The versions of each file in the order of their times: the time and the content.
    versions: HashMap<String, Vec<(i64, String)>>,
    tokens: HashMap<String, u64>,
    skipped: usize,
}

/// Reads the sessions of a database.
pub fn read(database: &Connection, client: Client) -> rusqlite::Result<Vec<Transcript>> {
    let mut tables = Tables::default();
    let by_time = "ORDER BY created_at, rowid";
    let columns = ["session_id", "parts", "model", "created_at"];
    each_row(database, "messages", &columns, by_time, |row| {
        let parts = text_at(row, 1).and_then(|parts| serde_json::from_str(&parts).ok());
        let (Some(session), Some(Value::Array(parts))) = (text_at(row, 0), parts) else {
            tables.skipped += 1;
            return;
        };
        let created = row.get(3).unwrap_or_default();
        let message = Message { created, parts, model: text_at(row, 2) };
        tables.messages.entry(session).or_default().push(message);
    })?;
    each_row(database, "files", &["path", "content", "created_at"], by_time, |row| {
        if let Some(path) = text_at(row, 0) {
            let version = (row.get(2).unwrap_or_default(), text_at(row, 1).unwrap_or_default());
            tables.versions.entry(path.replace('\\', "/")).or_default().push(version);
        }
    })?;
    each_row(database, "sessions", &["id", "completion_tokens"], "", |row| {
        if let Some(id) = text_at(row, 0) {
            let tokens: i64 = row.get(1).unwrap_or_default();
            tables.tokens.insert(id, tokens.unsigned_abs());
        }
    })?;
    Ok(tables.transcripts(client))
}

impl Tables {
    fn transcripts(self, client: Client) -> Vec<Transcript> {
        let mut all = Vec::new();
        for (id, messages) in &self.messages {
            let mut out = Transcript::new(client, id);
            let mut open_calls: HashMap<&str, (&Value, usize)> = HashMap::new();
            let mut turn = 0;
            for message in messages {
                // Older versions count in milliseconds.
                let seconds = if message.created > 100_000_000_000 {
                    message.created / 1000
                } else {
                    message.created
                };
                out.set_time(&Value::from(seconds * 1000));
                if let Some(model) = &message.model {
                    out.set_model(&Value::from(model.as_str()));
                }
                let has = |kind: &str| message.parts.iter().any(|part| part["type"] == kind);
                if has("tool_call") || has("text") && message.model.is_some() {
                    turn += 1;
                }
                for part in &message.parts {
                    let data = &part["data"];
                    match part["type"].as_str() {
                        Some("tool_call") => {
                            if let Some(id) = data["id"].as_str() {
                                open_calls.insert(id, (data, turn));
                            }
                        }
                        Some("tool_result") => {
                            let id = data["tool_call_id"].as_str().unwrap_or_default();
                            if let Some((call, turn)) = open_calls.remove(id) {
                                self.record_call(&mut out, call, turn, data, message.created);
                            }
                        }
                        _ => {}
                    }
                }
            }
            // Only the sum of a session is counted.
            if turn > 0
                && let Some(tokens) = self.tokens.get(id)
            {
                let each = tokens / u64::try_from(turn).unwrap_or(1);
                for turn in 1..=turn {
                    out.add_tokens(turn, each);
                    out.estimated.insert(turn);
                }
            }
            all.push(out);
        }
        match all.last_mut() {
            Some(last) => last.skipped += self.skipped,
            None if self.skipped > 0 => {
                let mut out = Transcript::new(client, "unreadable");
                out.skipped = self.skipped;
                all.push(out);
            }
            None => {}
        }
        all
    }

    /// Records a call and its result, if the call read or changed a file.
    fn record_call(
        &self,
        out: &mut Transcript,
        call: &Value,
        turn: usize,
        result: &Value,
        answered: i64,
    ) {
        let nested = |value: &Value| {
            let text = value.as_str().unwrap_or_default();
            serde_json::from_str::<Value>(text).unwrap_or_default()
        };
        let (input, metadata) = (nested(&call["input"]), nested(&result["metadata"]));
        let Some(path) = string_field(&input, &["file_path", "path"]) else { return };
        let output = result["content"].as_str().unwrap_or_default();
        let failed = result["is_error"].as_bool().unwrap_or(false);
        match call["name"].as_str().unwrap_or_default() {
            "view" if !failed => {
                let view = strip_line_numbers(output);
                if let Some(text) = metadata["content"].as_str() {
                    // The metadata have the whole file, whatever part of it the agent asked for.
                    let text = text.to_owned();
                    out.viewed(turn, &path, (1, text), true);
                } else if let Some((from, text)) = view {
                    out.viewed(turn, &path, (from, text), false);
                }
            }
            "write" if !failed => {
                out.written(turn, &path, &input["content"]);
            }
            "edit" | "multiedit" => {
                let edits = replacements(&input);
                if !failed && edits.iter().any(|edit| edit.old.is_empty()) {
                    // It creates a file, or replaces all of it.
                    out.push(turn, &path, FileAction::ChangedUnseen);
                    return;
                }
                let attempt = EditAttempt {
                    id: call["id"].as_str().unwrap_or_default().to_owned(),
                    edits,
                    before: metadata["old_content"].as_str().map(str::to_owned),
                    stored: self.stored_version(&path, answered),
                    error: failed.then(|| output.to_owned()),
                    ..EditAttempt::default()
                };
                out.push(turn, &path, FileAction::Edited(attempt));
            }
            _ => {}
        }
    }

    /// Returns the newest version of a file that was stored until a time. Before the first edit, it
    /// is the first version, which is that of the file before that edit.
    fn stored_version(&self, path: &str, time: i64) -> Option<String> {
        let path = path.replace('\\', "/");
        let versions = self.versions.get(&path).or_else(|| {
            let ends_so = |name: &&String| name.ends_with(&format!("/{path}"));
            self.versions.get(self.versions.keys().find(ends_so)?)
        })?;
        let until = versions.iter().take_while(|(created, _)| *created <= time).last();
        until.or_else(|| versions.first()).map(|(_, content)| content.clone())
    }
}
