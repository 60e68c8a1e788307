//! Reads the records of opencode: those in the output of `opencode export`, those in its
//! database, and those of older versions, each in a file of its own
//! (`storage/message`, `storage/part`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "mine")]
use rusqlite::Connection;
use serde_json::Value;

#[cfg(feature = "mine")]
use super::database::{json_at, text_at};
use super::{
    Client, EditAttempt, FileAction, Transcript, replacements, string_field, strip_line_numbers,
    text_of,
};

/// Reads the output of `opencode export`; `None` if the text is something else.
pub fn read_export(text: &str, session: &str) -> Option<Transcript> {
    let whole: Value = serde_json::from_str(text).ok()?;
    let messages = whole["messages"].as_array()?;
    let session = whole["info"]["id"].as_str().unwrap_or(session);
    let mut out = Transcript::new(Client::Opencode, session);
    out.set_folder(&whole["info"]["directory"]);
    for (turn, message) in messages.iter().enumerate() {
        record_message(&mut out, turn, &message["info"]);
        for part in message["parts"].as_array().into_iter().flatten() {
            record_part(&mut out, turn, part);
        }
    }
    Some(out)
}

/// Reads the sessions of a folder with a file for each record.
pub fn read_storage(folder: &Path) -> io::Result<Vec<Transcript>> {
    let sessions = paths(&folder.join("message"))?.into_iter().filter(|path| path.is_dir());
    let read = |session: PathBuf| {
        let name = session.file_name().unwrap_or_default().to_string_lossy();
        let mut out = Transcript::new(Client::Opencode, &name);
        for (turn, message) in read_records(&session, &mut out)?.iter().enumerate() {
            record_message(&mut out, turn, message);
            let Some(id) = message["id"].as_str() else { continue };
            for part in read_records(&folder.join("part").join(id), &mut out)? {
                record_part(&mut out, turn, &part);
            }
        }
        Ok(out)
    };
    sessions.map(read).collect()
}

/// Reads the JSON files of a folder, and counts those that cannot be read.
fn read_records(folder: &Path, out: &mut Transcript) -> io::Result<Vec<Value>> {
    let mut records = Vec::new();
    for file in paths(folder)?.iter().filter(|file| file.extension().is_some_and(|e| e == "json")) {
        match fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            Some(record) => records.push(record),
            None => out.skipped += 1,
        }
    }
    Ok(records)
}

/// Returns the paths in a folder, sorted; none if there is no folder.
fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    all.sort();
    Ok(all)
}

/// Reads the sessions of a database, whose tables are `session`, and `message` and `part` with JSON in
/// `data`. Rows that cannot be read are counted, and messages that were deleted are gone. A part without its message has no place among the others, and is
/// left out.
#[cfg(feature = "mine")]
pub fn read_database(database: &Connection, found: &mut Vec<Transcript>) -> rusqlite::Result<()> {
    let mut query = database.prepare(
        "SELECT m.session_id, m.id, m.data, p.id, p.data, s.directory FROM message AS m
         LEFT JOIN part AS p ON p.message_id = m.id LEFT JOIN session AS s ON s.id = m.session_id
         ORDER BY m.session_id, m.id, p.id",
    )?;
    let mut rows = query.query([])?;
    let (mut turn, mut message) = (0, None);
    while let Some(row) = rows.next()? {
        let session = text_at(row, 0).unwrap_or_default();
        if found.last().is_none_or(|last| last.session != session) {
            let mut out = Transcript::new(Client::Opencode, &session);
            out.folder = text_at(row, 5).map(PathBuf::from);
            found.push(out);
            (turn, message) = (0, None);
        }
        let Some(out) = found.last_mut() else { continue };
        let id = text_at(row, 1);
        if message != id {
            (turn, message) = (turn + 1, id);
            match json_at(row, 2) {
                Some(info) => record_message(out, turn, &info),
                None => out.skipped += 1,
            }
        }
        match (text_at(row, 3), json_at(row, 4)) {
            (None, _) => {}
            (Some(_), Some(part)) => record_part(out, turn, &part),
            (Some(_), None) => out.skipped += 1,
        }
    }
    Ok(())
}

/// Records the tokens, the time, the folder and the model of a message.
fn record_message(out: &mut Transcript, turn: usize, info: &Value) {
    out.add_tokens(turn, info["tokens"]["output"].as_u64().unwrap_or(0));
    out.set_time(&info["time"]["created"]);
    out.set_folder(&info["path"]["cwd"]);
    out.set_model(&info["modelID"]);
}

/// Records a part of a message, if it is a call that read or changed a file.
fn record_part(out: &mut Transcript, turn: usize, part: &Value) {
    if part["type"] != "tool" {
        return;
    }
    let state = &part["state"];
    out.set_time(&state["time"]["start"]);
    let input = &state["input"];
    let Some(path) = string_field(input, &["filePath", "file_path", "path"]) else { return };
    let failed = state["status"] == "error";
    match part["tool"].as_str().unwrap_or_default() {
        "read" if !failed => {
            if let Some((from, text)) = strip_line_numbers(&text_of(&state["output"])) {
                let whole =
                    from == 1 && input.get("offset").is_none() && input.get("limit").is_none();
                out.push(turn, &path, FileAction::Viewed { from, text, whole });
            }
        }
        "write" if !failed => {
            out.written(turn, &path, &input["content"]);
        }
        "edit" | "multiedit" => {
            let before = state["metadata"]["filediff"]["before"].as_str().map(str::to_owned);
            let attempt = EditAttempt {
                id: part["callID"].as_str().unwrap_or_default().to_owned(),
                edits: replacements(input),
                before,
                error: failed.then(|| text_of(&state["error"])),
                ..EditAttempt::default()
            };
            out.push(turn, &path, FileAction::Edited(attempt));
        }
        _ => {}
    }
}
