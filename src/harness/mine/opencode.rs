//! Reads the records of opencode: those in the output of `opencode export`, and those in its
//! [database](super::database).

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
