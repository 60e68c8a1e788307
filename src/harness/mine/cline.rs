//! Reads the conversations of Cline: `api_conversation_history.json` in a folder for each task, a
//! list of messages. A call is a part of the message, or, in older versions, tags in its text; the
//! answer is in the next message of the user. A refused edit quotes the whole file.

use serde_json::Value;

use super::{Client, EditAttempt, FileAction, Replacement, Transcript, string_field, text_of};
use crate::patch::{Change, Hunk, Patch};

/// A call without a result yet.
struct OpenCall {
    id: String,
    tool: String,
    input: Value,
    turn: usize,
}

/// Whether these are the messages of a conversation.
pub fn is_conversation(messages: &[Value]) -> bool {
    let has_role = |message: &Value| {
        matches!(message["role"].as_str(), Some("user" | "assistant"))
            && message.get("content").is_some()
    };
    !messages.is_empty() && messages.iter().all(has_role)
}

/// Reads the conversation of one task; `None` if the text is something else.
pub fn read(text: &str, session: &str) -> Option<Transcript> {
    let messages: Vec<Value> = serde_json::from_str(text).ok()?;
    let mut out = Transcript::new(Client::Cline, session);
    let mut open: Vec<OpenCall> = Vec::new();
    let mut turn = 0;
    for message in &messages {
        out.set_time(&message["ts"]);
        let parts = match &message["content"] {
            Value::Array(parts) => parts.clone(),
            Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
            _ => continue,
        };
        if message["role"] == "assistant" {
            turn += 1;
            open.clear();
            out.set_model(&message["modelInfo"]["modelId"]);
            for part in &parts {
                if part["type"] == "tool_use" {
                    open.push(OpenCall {
                        id: part["id"].as_str().unwrap_or_default().to_owned(),
                        tool: part["name"].as_str().unwrap_or_default().to_owned(),
                        input: part["input"].clone(),
                        turn,
                    });
                } else if let Some(text) = part["text"].as_str() {
                    open.extend(tagged_calls(text, turn));
                }
            }
            continue;
        }
        let answer_text = |part: &Value| match part["type"].as_str() {
            Some("tool_result") => text_of(&part["content"]),
            _ => text_of(part),
        };
        let answers: Vec<String> = parts.iter().map(answer_text).collect();
        for call in open.drain(..) {
            let own = parts.iter().position(|part| part["tool_use_id"] == call.id.as_str());
            let result = match own {
                Some(index) => answers[index].clone(),
                // The answer begins with the name of the tool; its text may be in the next part.
                None => {
                    let mark = format!("[{}", call.tool);
                    let from = answers.iter().position(|text| text.starts_with(&mark));
                    from.map(|from| answers[from..].join("\n")).unwrap_or_default()
                }
            };
            record_call(&mut out, &call, &result);
        }
    }
    Some(out)
}

/// Returns the calls in the text of an answer, which are tags with a tag for each argument.
fn tagged_calls(text: &str, turn: usize) -> Vec<OpenCall> {
    let mut calls = Vec::new();
    for tool in ["replace_in_file", "write_to_file", "read_file"] {
        let mut rest = text;
        while let Some((body, after)) =
            opened(rest, tool).and_then(|text| text.split_once(&end(tool)))
        {
            rest = after;
            // A text may have tags with the names of arguments in it.
            let path = opened(body, "path").and_then(|text| text.split_once(&end("path")));
            let text_in = |name: &str| opened(body, name)?.rsplit_once(&end(name));
            let arguments =
                [("path", path), ("diff", text_in("diff")), ("content", text_in("content"))];
            let arguments = arguments.into_iter().filter_map(|(name, found)| {
                let (value, _) = found?;
                let value = value.strip_prefix('\n').unwrap_or(value);
                Some((name.to_owned(), Value::from(value)))
            });
            let id = format!("{turn}.{}", calls.len() + 1);
            let input = Value::Object(arguments.collect());
            calls.push(OpenCall { id, tool: tool.into(), input, turn });
        }
    }
    calls
}

/// Returns the text behind a tag.
fn opened<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    text.split_once(&format!("<{tag}>")).map(|(_, behind)| behind)
}

fn end(tag: &str) -> String {
    format!("</{tag}>")
}

/// Returns a file that an answer quotes as a whole, between tags that name its path.
fn quoted_file(answer: &str, tag: &str) -> Option<String> {
    let (_, rest) = answer.split_once(&format!("<{tag} path="))?;
    let (_, rest) = rest.split_once(">\n")?;
    let (body, _) = rest.split_once(&end(tag))?;
    Some(body.strip_suffix('\n').unwrap_or(body).to_owned())
}

/// Records a call and its answer, if the call read or changed a file.
fn record_call(out: &mut Transcript, call: &OpenCall, answer: &str) {
    let Some(path) = string_field(&call.input, &["path", "absolutePath"]) else { return };
    let path = path.trim();
    let failed = answer.contains("<error>") || answer.contains("The tool execution failed");
    let denied = answer.contains("The user denied this operation");
    let saved = quoted_file(answer, "final_file_content");
    match call.tool.as_str() {
        "read_file" if !failed && !denied => {
            let text = answer.split_once("Result:\n").map_or(answer, |(_, text)| text);
            let whole = FileAction::Viewed { from: 1, text: text.to_owned(), whole: true };
            out.push(call.turn, path, whole);
        }
        "write_to_file" if !failed && !denied => {
            let content = saved.or_else(|| string_field(&call.input, &["content"]));
            if let Some(content) = content {
                out.push(call.turn, path, FileAction::Written(content));
            }
        }
        "replace_in_file" => {
            let diff = call.input["diff"].as_str().unwrap_or_default();
            let hunks = blocks(diff, path);
            let error = match (failed, denied) {
                (true, _) => Some(answer.to_owned()),
                (false, true) => Some("The user denied this operation".to_owned()),
                (false, false) => None,
            };
            let is_done = error.is_none();
            let attempt = EditAttempt {
                id: call.id.clone(),
                edits: hunks.iter().map(Replacement::from).collect(),
                hunks,
                before: if is_done { None } else { quoted_file(answer, "file_content") },
                error,
                ..EditAttempt::default()
            };
            out.push(call.turn, path, FileAction::Edited(attempt));
            if let (true, Some(text)) = (is_done, saved) {
                out.push(call.turn, path, FileAction::Viewed { from: 1, text, whole: true });
            }
        }
        _ => {}
    }
}

/// Returns the search/replace blocks of a call; none if they cannot be parsed.
fn blocks(diff: &str, path: &str) -> Vec<Hunk> {
    let Ok(patch) = Patch::parse(diff, Some(path)) else { return Vec::new() };
    let hunks = patch.files.into_iter().filter_map(|file| match file.change {
        Change::Update { hunks, .. } => Some(hunks),
        Change::Add(_) | Change::Delete => None,
    });
    hunks.flatten().collect()
}
