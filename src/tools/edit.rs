//! `edit`: the same as `edit_file` under the exact fields of Claude Code's `Edit`,
//! so that a client may route its own tool here.

use schemars::JsonSchema;
use serde::Deserialize;

use super::edit_file::TextEdit;
use super::{ToolCall, ToolReply, ToolSpec, Visibility, parse, schema};
use crate::edit::{EditReport, Refusal};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "edit",
    about: "Replaces old_string with new_string in a file. old_string must occur once unless replace_all is set.",
    input: schema::input_to_write::<EditArguments>,
    output: schema::output::<EditReport>,
    visibility: Visibility::Always,
    writes: true,
    run: |call| Box::pin(async move { run(call).await }),
};

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct EditArguments {
    /// The file, absolute or below the root.
    file_path: String,
    /// The text to replace. Empty to create a file.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence; false by default.
    replace_all: Option<bool>,
}

/// Makes the same edit as `edit_file`.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let given: EditArguments = parse(TOOL.name, call.arguments)?;
    let arguments = TextEdit {
        old_str: given.old_string,
        new_str: given.new_string,
        expected_replacements: None,
        replace_all: given.replace_all,
        near_line: None,
    };
    let path = call.engine.path(&given.file_path)?;
    let report = call.engine.edit_file(&path, &arguments.request()?, call.options).await?;
    Ok(ToolReply::edited(&call.words.report(report)))
}
