//! Reads Codex's rollouts: one `{timestamp, type, payload}` object on each line. Edits are V4A
//! patches; the agent reads files with `cat` and `sed -n` in its shell.

use std::collections::HashMap;

use serde_json::Value;

use super::{Client, EditAttempt, FileAction, Replacement, Transcript};
use crate::patch::{BEGIN, Change, END, Hunk, Patch};

/// Reads one rollout.
pub fn read(text: &str, session: &str) -> Transcript {
    // Calls whose output has not come yet, by id: whether it is a patch, the command and the turn.
    let mut pending: HashMap<String, (bool, String, usize)> = HashMap::new();
    let mut turn = 0;
    let mut last_total = None;
    Transcript::of_lines(Client::Codex, session, text, |out, record| {
        let payload = &record["payload"];
        out.set_folder(&payload["cwd"]);
        out.set_model(&payload["model"]);
        if out.commit.is_none() {
            out.commit = payload["git"]["commit_hash"].as_str().map(str::to_owned);
        }
        let id = payload["call_id"].as_str().unwrap_or_default().to_owned();
        match payload["type"].as_str().unwrap_or_default() {
            "custom_tool_call" if payload["name"] == "apply_patch" => {
                turn += 1;
                let input = payload["input"].as_str().unwrap_or_default().to_owned();
                pending.insert(id, (true, input, turn));
            }
            "function_call" => {
                turn += 1;
                let arguments = payload["arguments"].as_str().unwrap_or_default();
                let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
                if let Some(command) = shell_command(&arguments) {
                    // Some send a patch in a shell command.
                    let is_patch = command.contains(BEGIN);
                    pending.insert(id, (is_patch, command, turn));
                }
            }
            "custom_tool_call_output" | "function_call_output" => {
                let output = output_text(&payload["output"]);
                match pending.remove(&id) {
                    Some((true, patch, turn)) => record_patch(out, &id, &patch, turn, &output),
                    Some((false, command, turn)) => record_shell(out, &command, turn, &output),
                    None => {}
                }
            }
            "token_count" => {
                // Codex repeats the last count when only its limits change. The total shows
                // whether tokens were added.
                let info = &payload["info"];
                let total = info["total_token_usage"]["output_tokens"].as_u64();
                let added = match (total, last_total) {
                    (Some(total), Some(last)) => Some(total.saturating_sub(last)),
                    _ => info["last_token_usage"]["output_tokens"].as_u64(),
                };
                last_total = total.or(last_total);
                out.add_tokens(turn, added.unwrap_or(0));
            }
            _ => {}
        }
    })
}

/// Returns the command of a shell call. In a list such as `["bash", "-lc", "cat a"]` it is the last
/// word.
fn shell_command(arguments: &Value) -> Option<String> {
    let value = ["command", "cmd", "input"].iter().find_map(|name| arguments.get(name))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => words.last()?.as_str().map(str::to_owned),
        _ => None,
    }
}

/// Returns the output of a call, which is text or JSON with the text in it.
fn output_text(value: &Value) -> String {
    let text = super::text_of(value);
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(map)) => {
            map.get("output").and_then(Value::as_str).map_or(text.clone(), str::to_owned)
        }
        _ => text,
    }
}

/// Records the files that a patch changed, or failed to change.
fn record_patch(out: &mut Transcript, id: &str, text: &str, turn: usize, output: &str) {
    let start = text.find(BEGIN).unwrap_or(0);
    let end = text.rfind(END).map_or(text.len(), |offset| offset + END.len());
    let failed = !output.contains("Success. Updated the following files")
        && (["verification failed", "Failed to find", "nvalid patch", "nvalid context"]
            .iter()
            .any(|words| output.contains(words)));
    let Ok(patch) = Patch::parse(&text[start..end.max(start)], None) else {
        if failed {
            let named = text.lines().find_map(|line| line.trim().strip_prefix("*** Update File: "));
            let error = Some(format!("invalid patch: {output}"));
            let attempt = EditAttempt { id: id.to_owned(), error, ..EditAttempt::default() };
            out.push(turn, named.unwrap_or_default(), FileAction::Edited(attempt));
        } else {
            out.skipped += 1;
        }
        return;
    };
    // Codex changes none of the files then, and names the first one that it cannot change.
    let names = |path: &str| output.contains(&format!("{path}:"));
    let one_is_named = patch.files.iter().any(|file| names(&file.path));
    for file in patch.files {
        let is_named = names(&file.path);
        let action = match file.change {
            Change::Add(content) if !failed => FileAction::Written(content),
            Change::Update { hunks, .. } if !failed || is_named || !one_is_named => {
                FileAction::Edited(EditAttempt {
                    id: id.to_owned(),
                    edits: hunks.iter().map(Replacement::from).collect(),
                    hunks,
                    error: failed.then(|| output.to_owned()),
                    ..EditAttempt::default()
                })
            }
            Change::Delete if !failed => FileAction::ChangedUnseen,
            Change::Update { .. } | Change::Add(_) | Change::Delete => continue,
        };
        out.push(turn, &file.path, action);
    }
}

impl From<&Hunk> for Replacement {
    fn from(hunk: &Hunk) -> Self {
        let (old, new) = (hunk.old_lines().join("\n"), hunk.new_lines().join("\n"));
        Self { old, new, all: false }
    }
}

/// Records what a shell command shows of a file: all of it with `cat FILE`, a part of it with
/// `sed -n 'A,Bp' FILE`. Other commands are ignored.
fn record_shell(out: &mut Transcript, command: &str, turn: usize, output: &str) {
    let words: Vec<&str> =
        command.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    // Newer versions put a header above the output.
    let text = output.split_once("\nOutput:\n").map_or(output, |(_, text)| text).to_owned();
    match words[..] {
        ["cat", path] if !path.starts_with('-') => {
            out.push(turn, path, FileAction::Viewed { from: 1, text, whole: true });
        }
        ["sed", "-n", range, path] => {
            let first_line = range.trim_end_matches('p').split(',').next();
            if let Some(from) = first_line.and_then(|number| number.parse().ok()) {
                out.push(turn, path, FileAction::Viewed { from, text, whole: false });
            }
        }
        _ => {}
    }
}
