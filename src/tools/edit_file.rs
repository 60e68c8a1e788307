//! `edit_file`: replace text by text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ToolCall, ToolReply, ToolSpec, Visibility, parse, schema};
use crate::edit::{EditCode, EditReport, EditRequest, Expected, Refusal};
use crate::engine::Outputs;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "edit_file",
    about: include_str!("../../prompts/tools/edit_file.md"),
    input: schema::input_with_encoding::<Arguments>,
    output: schema::output::<EditReport>,
    visibility: Visibility::Always,
    writes: true,
    run: |call| Box::pin(async move { run(call).await.unwrap_or_else(ToolReply::refused) }),
};

/// An edit and its file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct EditFileArguments {
    /// The file, below the root.
    pub(super) path: String,
    #[serde(flatten)]
    pub(super) edit: TextEdit,
}

/// What to replace, and by what.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct TextEdit {
    /// The text to find. Empty to create a file.
    pub(super) old_str: String,
    /// The text to put in its place.
    pub(super) new_str: String,
    /// How often old_str occurs; 1 by default.
    pub(super) expected_replacements: Option<usize>,
    /// Replace every occurrence.
    pub(super) replace_all: Option<bool>,
    /// A line near the text; breaks a tie.
    pub(super) near_line: Option<usize>,
}

/// The arguments of a single edit, of a file or of a notebook's cell.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Arguments {
    #[serde(flatten)]
    file_edit: EditFileArguments,
    /// The definition that contains the text: class Pool / fn open.
    within: Option<String>,
    /// A notebook's cell, by its id.
    cell: Option<String>,
    /// Clears the cell's outputs.
    clear_outputs: Option<bool>,
}

/// The report of an edit. For a cell there is a second report, with the cell's own line numbers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Report {
    #[serde(flatten)]
    file: EditReport,
    /// The edit in the lines of the cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<EditReport>,
}

impl TextEdit {
    /// The request, or a refusal if `expected_replacements` is 0.
    pub(super) fn request(&self) -> Result<EditRequest, Refusal> {
        let expected = Expected::of(self.replace_all, self.expected_replacements)?;
        Ok(EditRequest {
            expected,
            near_line: self.near_line,
            ..EditRequest::new(&self.old_str, &self.new_str)
        })
    }
}

/// Edits a file or, if the call names one, a notebook's cell.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let Arguments { file_edit, within, cell, clear_outputs } = parse(TOOL.name, call.arguments)?;
    let EditFileArguments { path, edit } = file_edit;
    let path = call.engine.path(&path)?;
    let request = EditRequest { within, ..edit.request()? };
    let outputs = match clear_outputs.unwrap_or(false) {
        true => Outputs::Cleared,
        false => Outputs::Kept,
    };
    match cell {
        Some(cell) => {
            let (file_report, cell_report) =
                call.engine.edit_cell(&path, &cell, &request, outputs, call.options).await?;
            let message = cell_report.text();
            let report = Report { file: file_report, cell: Some(cell_report) };
            Ok(ToolReply::answered(message, report))
        }
        None if outputs == Outputs::Cleared => {
            Err(Refusal::new(EditCode::InvalidArguments, "clear_outputs is given without a cell")
                .hint("Give the id of the cell as `cell`, or leave clear_outputs out."))
        }
        None => {
            let report = call.engine.edit_file(&path, &request, call.options).await?;
            Ok(ToolReply::edited(&report))
        }
    }
}
