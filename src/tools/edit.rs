//! `edit`: the same as `edit_file` under the exact fields of Claude Code's `Edit`, so that a client may
//! route its own tool here.

use schemars::JsonSchema;
use serde::Deserialize;

use super::edit_file::TextEdit;
use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::{EditReport, Refusal};

pub(super) const TOOL: ToolSpec = ToolSpec::writing::<Arguments, EditReport>(
    "edit",
    "Replaces old_string with new_string in a file. old_string must occur once unless replace_all is set.",
    |call| Box::pin(async move { run(call).await }),
);

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, absolute or below the root.
    file_path: String,
    /// The text to replace. Empty to create a file.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence; false by default.
    replace_all: Option<bool>,
}

async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let given: Arguments = parse(TOOL.name, call.arguments)?;
    let edit = TextEdit {
        old_str: given.old_string,
        new_str: given.new_string,
        replace_all: given.replace_all,
        ..TextEdit::default()
    };
    let path = call.engine.path(&given.file_path)?;
    edit.make(call, &path).await
}
