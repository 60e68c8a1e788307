//! Reads the database of crush, and of the older opencode that it comes from: sessions, messages
//! with their parts, and every version of each file that the agent edited.

use std::collections::HashMap;

use rusqlite::{Connection, Row};
use serde_json::Value;

use super::database::{columns, text_at};
use super::{
    Client, EditAttempt, FileAction, Transcript, replacements, string_field, strip_line_numbers,
};

/// A message.
struct Message {
    session: String,
    created: i64,
    parts: Vec<Value>,
    model: Option<String>,
}

/// The versions of each file in the order of their times: the time and the content.
type Versions = HashMap<String, Vec<(i64, String)>>;

/// Reads the sessions of a database into `found`.
pub fn read(
    database: &Connection,
    client: Client,
    found: &mut Vec<Transcript>,
) -> rusqlite::Result<()> {
    // Columns that a version does not have are missing values.
    let (mut messages, mut skipped) = (Vec::new(), 0);
    each_row(database, "messages", "ORDER BY session_id, created_at, rowid", |row| {
        let parts = text_at(row, "parts").and_then(|parts| serde_json::from_str(&parts).ok());
        let (Some(session), Some(Value::Array(parts))) = (text_at(row, "session_id"), parts) else {
            skipped += 1;
            return;
        };
        let created = row.get("created_at").unwrap_or_default();
        messages.push(Message { session, created, parts, model: text_at(row, "model") });
    })?;
    let mut versions = Versions::new();
    each_row(database, "files", "ORDER BY created_at, rowid", |row| {
        if let Some(path) = text_at(row, "path") {
            let created = row.get("created_at").unwrap_or_default();
            let version = (created, text_at(row, "content").unwrap_or_default());
            versions.entry(path.replace('\\', "/")).or_default().push(version);
        }
    })?;
    let mut tokens: HashMap<String, u64> = HashMap::new();
    each_row(database, "sessions", "", |row| {
        if let Some(id) = text_at(row, "id") {
            let sum: i64 = row.get("completion_tokens").unwrap_or_default();
            tokens.insert(id, sum.unsigned_abs());
        }
    })?;
    for session in messages.chunk_by(|a, b| a.session == b.session) {
        let tokens = tokens.get(&session[0].session).copied();
        let mut out = transcript(client, session, tokens, &versions);
        out.skipped = std::mem::take(&mut skipped);
        found.push(out);
    }
    Ok(())
}

/// Returns the transcript of a session with these messages, which took so many tokens.
fn transcript(
    client: Client,
    messages: &[Message],
    tokens: Option<u64>,
    versions: &Versions,
) -> Transcript {
    let mut out = Transcript::new(client, &messages[0].session);
    let mut open_calls: HashMap<&str, (&Value, usize)> = HashMap::new();
    let mut turn = 0;
    for message in messages {
        // Only older versions count in milliseconds.
        let is_in_seconds = message.created <= 100_000_000_000;
        let millis = if is_in_seconds { message.created * 1000 } else { message.created };
        out.set_time(&Value::from(millis));
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
                        let stored = |path: &str| stored_version(versions, path, message.created);
                        record_call(&mut out, call, turn, data, stored);
                    }
                }
                _ => {}
            }
        }
    }
    // Only the sum of a session is counted.
    if let (Some(tokens), 1..) = (tokens, turn) {
        let each = tokens / u64::try_from(turn).unwrap_or(1);
        for turn in 1..=turn {
            out.add_tokens(turn, each);
            out.estimated.insert(turn);
        }
    }
    out
}

/// Records a call and its result, if the call read or changed a file.
fn record_call(
    out: &mut Transcript,
    call: &Value,
    turn: usize,
    result: &Value,
    stored: impl Fn(&str) -> Option<String>,
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
            // The metadata have the whole file, whatever part of it the agent asked for.
            let whole = metadata["content"].as_str().map(|text| (1, text.to_owned()));
            let is_whole = whole.is_some();
            if let Some((from, text)) = whole.or_else(|| strip_line_numbers(output)) {
                out.push(turn, &path, FileAction::Viewed { from, text, whole: is_whole });
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
                stored: stored(&path),
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
fn stored_version(all: &Versions, path: &str, time: i64) -> Option<String> {
    let path = path.replace('\\', "/");
    let versions = all.get(&path).or_else(|| {
        let ends_so = |name: &&String| name.ends_with(&format!("/{path}"));
        all.get(all.keys().find(ends_so)?)
    })?;
    let until = versions.iter().take_while(|(created, _)| *created <= time).last();
    until.or_else(|| versions.first()).map(|(_, content)| content.clone())
}

/// Calls `take` with every row of a table, in an order; a missing table has no rows.
fn each_row(
    database: &Connection,
    table: &str,
    order: &str,
    mut take: impl FnMut(&Row<'_>),
) -> rusqlite::Result<()> {
    if columns(database, table)?.is_empty() {
        return Ok(());
    }
    let mut query = database.prepare(&format!("SELECT * FROM {table} {order}"))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        take(row);
    }
    Ok(())
}
