//! `str_replace_based_edit_tool`: Anthropic's text editor, one tool with commands.
//!
//! Unlike the command of Anthropic's tool, `create` never overwrites a file. Models send the text
//! of an `insert` as `insert_text` or as `new_str`; both are accepted.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::lines_argument::LinesArgument;
use super::{Dialect, ToolCall, ToolReply, ToolSpec, Visibility, find, parse, schema};
use crate::edit::{EditCode, EditReport, EditRequest, Refusal};
use crate::port::BoxFuture;
use crate::text::{LineSpan, format_ranges, pluralize};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "str_replace_based_edit_tool",
    about: "Views and edits text files: view, create, str_replace, insert.",
    input: schema::input_to_write::<TextEditorArguments>,
    output: || {
        let view = json!({ "type": "object" });
        schema::reply(json!({ "anyOf": [schema::report::<EditReport>(), view] }))
    },
    visibility: Visibility::InDialect(Dialect::Anthropic),
    writes: true,
    run,
};

/// The commands.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Command {
    View,
    Create,
    StrReplace,
    Insert,
}

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct TextEditorArguments {
    /// What to do.
    command: Command,
    /// The file, or for view also a folder.
    path: String,
    /// For view: first and last line; -1 as the last means the end.
    view_range: Option<Vec<i64>>,
    /// For create: the whole content.
    file_text: Option<String>,
    /// For str_replace: the text to replace.
    old_str: Option<String>,
    /// For str_replace: the text to put in its place; left out to delete. For insert: the same as insert_text.
    new_str: Option<String>,
    /// For insert: the line after which the text goes; 0 for the start of the file.
    insert_line: Option<usize>,
    /// For insert: the text to insert.
    insert_text: Option<String>,
}

// Not a closure in `TOOL`: `view` looks up `list_files` in the table of tools, which contains
// `TOOL`, so its type must be written out.
fn run(call: ToolCall<'_>) -> BoxFuture<'_, Result<ToolReply, Refusal>> {
    Box::pin(execute(call))
}

/// Carries out the command of the call.
async fn execute(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let given: TextEditorArguments = parse(TOOL.name, call.arguments)?;
    let report = match given.command {
        Command::View => return view(call, &given).await,
        Command::Create => {
            let argument = require(given.file_text.clone(), "create", "file_text");
            let created = edit(call, &given, argument.map(|text| EditRequest::new("", text))).await;
            created.map_err(|refusal| as_of_create(&given.path, refusal))?
        }
        Command::StrReplace => {
            let argument = require(given.old_str.clone(), "str_replace", "old_str");
            let new = given.new_str.clone().unwrap_or_default();
            edit(call, &given, argument.map(|old| EditRequest::new(old, new))).await?
        }
        Command::Insert => insert(call, &given).await?,
    };
    Ok(ToolReply::edited(&report))
}

/// Makes the edit of `create` or `str_replace`.
async fn edit(
    call: ToolCall<'_>,
    given: &TextEditorArguments,
    request: Result<EditRequest, Refusal>,
) -> Result<EditReport, Refusal> {
    let path = call.engine.path(&given.path)?;
    call.engine.edit_file(&path, &request?, call.options).await
}

/// Inserts the text after the line that the call names.
async fn insert(call: ToolCall<'_>, given: &TextEditorArguments) -> Result<EditReport, Refusal> {
    let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    // Strict clients also send the argument that the model left out, as an empty text.
    let text = non_empty(&given.insert_text).or(non_empty(&given.new_str));
    let text = text.or(given.insert_text.clone()).or(given.new_str.clone());
    let text = require(text, "insert", "insert_text")?;
    let line = require(given.insert_line, "insert", "insert_line")?;
    let path = call.engine.path(&given.path)?;
    let total = call.engine.snapshot(&path).await?.lines().total();
    if line > total {
        return Err(Refusal::invalid(
            format!("insert_line is {line}, but `{path}` has {}", pluralize(total, "line")),
            format!("Give a line from 0 to {total}."),
        )
        .at(path.as_str()));
    }
    let lines = LinesArgument::One(text).into_lines();
    let inserted = call.engine.insert_lines(&path, line, lines, call.options).await;
    inserted.map_err(|refusal| match refusal.code {
        EditCode::StaleAnchor => by_number(refusal),
        _ => refusal,
    })
}

/// The refusal of a line that is not certain, for this tool, which has no anchors and no snapshots.
fn by_number(refusal: Refusal) -> Refusal {
    let lines = format_ranges(&refusal.affected_ranges);
    refusal.with_numbered_lines().hint(format!(
        "View the lines {lines}, then send the call again with the line's number as it is now."
    ))
}

/// The refusal of `create` for a file that exists, in the words of the command.
fn as_of_create(path: &str, refusal: Refusal) -> Refusal {
    if refusal.code != EditCode::CreateExisting {
        return refusal;
    }
    let message = format!("the file `{path}` exists, and `create` does not overwrite it").into();
    Refusal { message, ..refusal }
        .hint("To change the file, use `str_replace`. To add lines, use `insert`.")
}

/// The numbered lines of a file, or the listing of a folder.
async fn view(call: ToolCall<'_>, given: &TextEditorArguments) -> Result<ToolReply, Refusal> {
    let path = match call.engine.path(&given.path) {
        Ok(path) => path,
        // Models often view the root first, and the root is not a path of a file.
        Err(refusal) => return list_folder(call, given).await.unwrap_or(Err(refusal)),
    };
    let snapshot = match call.engine.snapshot(&path).await {
        Ok(snapshot) => snapshot,
        Err(refusal) => {
            let listing = list_folder(call, given).await.and_then(Result::ok);
            return listing.ok_or(refusal);
        }
    };
    let total = snapshot.lines().total();
    let (first, last) = match given.view_range.as_deref() {
        None | Some([]) => (1, total),
        Some(&[first]) => (clamp(first, total), total),
        Some(&[first, -1, ..]) => (clamp(first, total), total),
        Some(&[first, last, ..]) => (clamp(first, total), clamp(last, total)),
    };
    let mut text = String::new();
    for number in first..=last {
        let _ = writeln!(text, "{number}: {}", snapshot.line(number).unwrap_or_default());
    }
    if first <= last {
        call.engine.ledger().record_read(&path, &snapshot, &[LineSpan { start: first, end: last }]);
    }
    let message = text.clone();
    let view = json!({ "path": path.as_str(), "total_lines": total, "text": text });
    Ok(ToolReply::answered(message, view))
}

/// The line number, moved into the file if it is outside.
fn clamp(line: i64, total: usize) -> usize {
    usize::try_from(line).unwrap_or(1).clamp(1, total.max(1))
}

/// The answer of `list_files` about the viewed folder; `None` in a build without search.
async fn list_folder(
    call: ToolCall<'_>,
    given: &TextEditorArguments,
) -> Option<Result<ToolReply, Refusal>> {
    let list_files = find("list_files")?;
    let is_root = given.path.trim_matches(['/', '.']).is_empty()
        || given.path == call.engine.root().display().to_string();
    let mut arguments = Map::new();
    if !is_root {
        arguments.insert("path".into(), Value::String(given.path.clone()));
    }
    Some((list_files.run)(ToolCall { arguments: &arguments, ..call }).await)
}

/// The argument that a command needs, or the refusal that names it.
fn require<T>(value: Option<T>, command: &str, name: &str) -> Result<T, Refusal> {
    value.ok_or_else(|| {
        Refusal::invalid(
            format!("the command `{command}` needs `{name}`"),
            format!("Send the call again with `{name}`."),
        )
    })
}
