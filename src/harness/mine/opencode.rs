//! Reads opencode's transcripts: a tree of files with one record each (`storage/message`,
//! `storage/part`), or the output of `opencode export`. Newer versions keep the same records in a
//! [database](super::database).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

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

/// Reads the sessions of every storage tree below `root`.
pub fn read_storage(root: &Path) -> io::Result<Vec<Transcript>> {
    let mut sessions = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        if dir.join("message").is_dir() && dir.join("part").is_dir() {
            for session in folders(&dir.join("message"))? {
                sessions.push(read_session(&session, &dir.join("part"))?);
            }
        } else {
            pending.extend(folders(&dir)?);
        }
    }
    Ok(sessions)
}

/// Returns the folders in a folder, sorted.
fn folders(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    all.retain(|path| path.is_dir());
    all.sort();
    Ok(all)
}

/// Reads the JSON files of a folder, sorted by name, and counts those that are not JSON in
/// `skipped`. A folder that does not exist has none.
fn read_records(dir: &Path, skipped: &mut usize) -> io::Result<Vec<Value>> {
    let mut files: Vec<PathBuf> = match fs::read_dir(dir) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        match serde_json::from_slice(&fs::read(&file)?) {
            Ok(record) => all.push(record),
            Err(_) => *skipped += 1,
        }
    }
    Ok(all)
}

/// Reads a session from the folder of its messages and the folder of all parts.
fn read_session(messages_dir: &Path, parts_dir: &Path) -> io::Result<Transcript> {
    let name =
        messages_dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut out = Transcript::new(Client::Opencode, &name);
    let mut skipped = 0;
    for (turn, record) in read_records(messages_dir, &mut skipped)?.iter().enumerate() {
        record_message(&mut out, turn, record);
        let Some(id) = record["id"].as_str() else { continue };
        for part in read_records(&parts_dir.join(id), &mut skipped)? {
            record_part(&mut out, turn, &part);
        }
    }
    out.skipped += skipped;
    Ok(out)
}

/// Records the tokens, the time, the folder and the model of a message.
pub(super) fn record_message(out: &mut Transcript, turn: usize, info: &Value) {
    out.add_tokens(turn, info["tokens"]["output"].as_u64().unwrap_or(0));
    out.set_time(&info["time"]["created"]);
    out.set_folder(&info["path"]["cwd"]);
    out.set_model(&info["modelID"]);
}

/// Records a part of a message, if it is a call that read or changed a file.
pub(super) fn record_part(out: &mut Transcript, turn: usize, part: &Value) {
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
            if let Some(content) = input["content"].as_str() {
                out.push(turn, &path, FileAction::Written(content.to_owned()));
            }
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
