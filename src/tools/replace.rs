//! `replace`: the same as `edit_file` under the exact fields of Gemini CLI.

use schemars::JsonSchema;
use serde::Deserialize;

use super::edit_file::TextEdit;
use super::{Dialect, ToolCall, ToolReply, ToolSpec, Visibility, parse, schema};
use crate::edit::{EditReport, Refusal};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "replace",
    about: "Replaces old_string with new_string in a file. One occurrence is replaced unless allow_multiple is set.",
    input: schema::input_to_write::<ReplaceArguments>,
    output: schema::output::<EditReport>,
    visibility: Visibility::InDialect(Dialect::Gemini),
    writes: true,
    run: |call| Box::pin(async move { run(call).await }),
};

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct ReplaceArguments {
    /// The file, absolute or below the root.
    file_path: String,
    /// What the change is for.
    #[expect(dead_code, reason = "part of the tool's form; the edit does not depend on it")]
    instruction: Option<String>,
    /// The text to replace. Empty to create a file.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence.
    allow_multiple: Option<bool>,
    /// How many occurrences to replace.
    expected_replacements: Option<usize>,
}

/// Makes the same edit as `edit_file`.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let given: ReplaceArguments = parse(TOOL.name, call.arguments)?;
    let arguments = TextEdit {
        old_str: given.old_string,
        new_str: given.new_string,
        expected_replacements: given.expected_replacements,
        replace_all: given.allow_multiple,
        near_line: None,
    };
    let path = call.engine.path(&given.file_path)?;
    let report = call.engine.edit_file(&path, &arguments.request()?, call.options).await?;
    Ok(ToolReply::edited(&call.words.report(report)))
}
