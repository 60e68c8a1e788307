//! What a model saw of restitch: from the requests that the scripted model received.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// The tools of restitch as the client declared them, and the answers as it gave them.
pub(super) struct Seen {
    /// The names and the bytes of each declaration.
    tools: Vec<(String, usize)>,
    /// The bytes of all of them.
    pub(super) declared: usize,
    /// The answers of all tools, in order.
    pub(super) answers: Vec<String>,
    /// The last request, as text.
    pub(super) whole: String,
    /// The last request as a reader wants it; see [`plain_body`].
    pub(super) body: String,
    /// The bytes of the last request as it came.
    pub(super) size: usize,
}

impl Seen {
    /// Reads the requests of one run; the one with the most answers is the last.
    pub(super) fn read(folder: &Path, project: &Path) -> Self {
        let mut last = (Vec::new(), Value::Null);
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .expect("requests")
            .map(|entry| entry.expect("entry").path())
            .filter(|path| path.file_name().is_some_and(|name| name != "script.json"))
            .collect();
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(file).expect("request");
            let body: Value = serde_json::from_str(&text).expect("JSON");
            let answers = answers(&body);
            if answers.len() >= last.0.len() && !declarations(&body).is_empty() {
                last = (answers, body);
            }
        }
        let (answers, body) = last;
        let root = project.display().to_string();
        let mut tools: Vec<(String, usize)> = declarations(&body)
            .into_iter()
            .map(|(name, tool)| (name, tool.to_string().len()))
            .filter(|(name, _)| {
                name.contains("restitch") || !body.to_string().contains("restitch_")
            })
            .collect();
        if tools.iter().any(|(name, _)| name.contains("restitch")) {
            tools.retain(|(name, _)| name.contains("restitch"));
        }
        tools.sort();
        Self {
            declared: tools.iter().map(|(_, bytes)| bytes).sum(),
            tools,
            answers: answers.iter().map(|text| steady(&text.replace(&root, "$ROOT"))).collect(),
            whole: body.to_string(),
            size: body.to_string().len(),
            body: plain_body(&body, &root),
        }
    }

    /// Whether the model is offered restitch's tool of that name.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|(name, _)| {
            name.strip_suffix(tool).is_some_and(|head| {
                head.is_empty()
                    || !head.ends_with(|c: char| c.is_ascii_alphabetic()) && head != "multi_"
            })
        })
    }

    /// For a reader of snapshots.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{} bytes of declarations\n", self.declared);
        for (name, bytes) in &self.tools {
            let _ = writeln!(out, "  {name} {bytes}");
        }
        for (number, answer) in self.answers.iter().enumerate() {
            let _ = writeln!(out, "\n-- answer {}, {} bytes\n{answer}", number + 1, answer.len());
        }
        out
    }
}

/// A whole request body: restitch's declarations, the calls and the answers as they are, the
/// client's other tools by name, and in the place of its own prose a mark, since that is
/// another project's. What differs from run to run is left out.
fn plain_body(body: &Value, root: &str) -> String {
    let ours = body.to_string().contains("restitch");
    let text = serde_json::to_string_pretty(&plain_value(body, ours, Whose::Client)).expect("JSON");
    let text = text.replace(root, "$ROOT").replace(&root.replace("/project", ""), "$TOP");
    let changing = ["Took back revision ", "Wall time: ", "<total_tokens>"];
    changing.iter().fold(text, |text, mark| without_numbers(&text, mark)) + "\n"
}

/// The text without the number behind each mark.
fn without_numbers(text: &str, mark: &str) -> String {
    let mut parts = text.split(mark);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        out.push_str(&format!("{mark}…{rest}"));
    }
    out
}

/// Whose words stand in a part of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Client,
    Ours,
}

fn plain_value(value: &Value, named: bool, whose: Whose) -> Value {
    const CALLS: &[&str] =
        &["tool_calls", "functionCall", "functionResponse", "arguments", "input", "output"];
    match value {
        Value::Object(object) => {
            let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
            let role = object.get("role").and_then(Value::as_str).unwrap_or_default();
            let name = object.get("name").or_else(|| object.get("function")?.get("name"));
            let name = name.and_then(Value::as_str).unwrap_or_default();
            let declared = ["parameters", "input_schema", "parametersJsonSchema"]
                .iter()
                .any(|key| object.contains_key(*key) || object.get("function").is_some());
            let is_ours = whose == Whose::Ours || !named || name.contains("restitch");
            if declared && kind != "tool_use" && !object.contains_key("role") {
                let call = object.get("function").is_some_and(|f| f.get("arguments").is_some());
                if !is_ours && !call {
                    return name.into();
                }
            }
            let part_of_call = kind == "tool_result"
                || kind.contains("_call")
                || kind == "tool_use"
                || kind == "namespace" && is_ours
                || role == "tool"
                || declared && is_ours;
            // Ids of one run, in another order each time.
            let lasting = object.iter().filter(|(key, _)| *key != "client_metadata");
            let kept = lasting.map(|(key, value)| {
                let inside = part_of_call || key != "input" && CALLS.contains(&key.as_str());
                let whose = if inside { Whose::Ours } else { whose };
                let steady =
                    key.ends_with("id") || key.contains("signature") || key.ends_with("_key");
                let value = if steady && value.is_string() {
                    "…".into()
                } else {
                    plain_value(value, named, whose)
                };
                (key.clone(), value)
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(|item| plain_value(item, named, whose)).collect(),
        Value::String(text) if whose == Whose::Ours => text.clone().into(),
        Value::String(text) if text.len() > 48 || text.contains('\n') => {
            "<the client's own text>".into()
        }
        other => other.clone(),
    }
}

/// The tools of a request with their names, in any of the four interfaces.
fn declarations(body: &Value) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let named = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    // Some models search for tools and find them in an answer.
    let found = list(&body["input"]).into_iter().flat_map(|item| list(&item["tools"]));
    for tool in list(&body["tools"]).into_iter().chain(found) {
        if tool["type"] == "namespace" {
            let space = named(&tool);
            out.extend(
                list(&tool["tools"])
                    .into_iter()
                    .map(|one| (format!("{space}.{}", named(&one)), one)),
            );
        } else if tool["functionDeclarations"].is_array() {
            out.extend(
                list(&tool["functionDeclarations"]).into_iter().map(|one| (named(&one), one)),
            );
        } else if tool["function"].is_object() {
            out.push((named(&tool["function"]), tool["function"].clone()));
        } else {
            out.push((named(&tool), tool));
        }
    }
    out
}

/// The answers of tools in a request, in any of the four interfaces.
fn answers(body: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for message in list(&body["messages"]) {
        let content = plain(&message["content"]);
        // smolagents sends what a tool answered as the user's words.
        if message["role"] == "tool" || content.starts_with("Observation:") {
            out.push(content);
        }
        for block in list(&message["content"]) {
            if block["type"] == "tool_result" {
                out.push(plain(&block["content"]));
            }
        }
    }
    let mut call = &Value::Null;
    for item in body["input"].as_array().into_iter().flatten() {
        if item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output")) {
            // Some clients answer a call in several items.
            match out.last_mut() {
                Some(last) if *call == item["call_id"] => *last += &plain(&item["output"]),
                _ => out.push(plain(&item["output"])),
            }
            call = &item["call_id"];
        }
    }
    for content in list(&body["contents"]) {
        for part in list(&content["parts"]) {
            let response = &part["functionResponse"]["response"];
            if response.is_object() {
                let text = if response["output"].is_null() {
                    &response["error"]
                } else {
                    &response["output"]
                };
                out.push(plain(text));
            }
        }
    }
    out
}

/// The text of an answer, whether it comes as one or in parts.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => match serde_json::from_str(text) {
            // Some clients hand on the parts as JSON.
            Ok(parts @ Value::Array(_)) if text.starts_with("[{\"type\"") => plain(&parts),
            Ok(Value::Object(answer)) if answer.contains_key("content") => {
                plain(&answer["content"])
            }
            Ok(Value::Object(answer)) if answer.contains_key("error") => plain(&answer["error"]),
            _ => text.clone(),
        },
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// The text without what changes from run to run.
fn steady(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let reminder = ["<system-reminder>", "</system-reminder>", "<total_tokens>"];
        if reminder.iter().any(|mark| line.starts_with(mark)) {
            continue;
        }
        match line.split_once("Wall time: ") {
            Some((head, _)) => out.push_str(&format!("{head}Wall time: …")),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    let out = out.trim_end();
    match out.split_once("Took back revision ") {
        Some((head, tail)) => {
            let rest = tail.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{head}Took back revision …{rest}")
        }
        None => out.to_owned(),
    }
}
