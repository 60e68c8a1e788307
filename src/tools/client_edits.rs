//! `edit` and `replace`: the same as `edit_file` under the exact fields of Claude Code's `Edit` and of
//! Gemini CLI's `replace`, so that a client may route its own tool here.

use schemars::JsonSchema;
use serde::Deserialize;

use super::edit_file::TextEdit;
use super::{Dialect, ToolCall, ToolReply, ToolSpec, Visibility, parse};
use crate::edit::{EditReport, Refusal};

pub(super) const EDIT: ToolSpec = ToolSpec::writing::<EditArguments, EditReport>(
    "edit",
    "Replaces old_string with new_string in a file. old_string must occur once unless replace_all is set.",
    |call| Box::pin(async move { edit(call).await }),
);

pub(super) const REPLACE: ToolSpec = ToolSpec::writing::<ReplaceArguments, EditReport>(
    "replace",
    "Replaces old_string with new_string in a file. One occurrence is replaced unless allow_multiple is set.",
    |call| Box::pin(async move { replace(call).await }),
)
.only(Visibility::InDialect(Dialect::Gemini));

/// The arguments of `edit`.
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

/// The arguments of `replace`.
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

async fn edit(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let given: EditArguments = parse(EDIT.name, call.arguments)?;
    let edit = TextEdit {
        old_str: given.old_string,
        new_str: given.new_string,
        replace_all: given.replace_all,
        ..TextEdit::default()
    };
    let path = call.engine.path(&given.file_path)?;
    edit.make(call, &path).await
}

async fn replace(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let given: ReplaceArguments = parse(REPLACE.name, call.arguments)?;
    let edit = TextEdit {
        old_str: given.old_string,
        new_str: given.new_string,
        expected_replacements: given.expected_replacements,
        replace_all: given.allow_multiple,
        ..TextEdit::default()
    };
    let path = call.engine.path(&given.file_path)?;
    edit.make(call, &path).await
}
