//! `edit_lines`: edits by line number.

use schemars::JsonSchema;
use serde::Deserialize;

use super::lines_argument::LinesArgument;
use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::{EditReport, Refusal};
use crate::line_edit::LineChange;
use crate::text::LineSpan;

pub(super) const TOOL: ToolSpec = ToolSpec::writing::<Arguments, EditReport>(
    "edit_lines",
    include_str!("../../prompts/tools/edit_lines.md"),
    |call| {
        Box::pin(async move {
            let report = run(call).await.map_err(Refusal::with_numbered_lines)?;
            Ok(ToolReply::answered(report.numbered_text(), &report))
        })
    },
);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file, below the root.
    path: String,
    /// The edits, all in the numbering of the version that you were shown.
    edits: Option<Vec<EditArgument>>,
    /// For a single edit: the first line to replace.
    start_line: Option<usize>,
    /// For a single edit: the last line to replace; start_line - 1 inserts before start_line.
    end_line: Option<usize>,
    /// For a single edit: the new lines; empty to delete.
    new_content: Option<LinesArgument>,
    /// The snapshot id of the read that the numbers come from.
    snapshot: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct EditArgument {
    /// The first line to replace.
    start_line: usize,
    /// The last line to replace; start_line - 1 inserts before start_line.
    end_line: usize,
    /// The new lines; empty to delete.
    new_content: LinesArgument,
}

impl Arguments {
    /// The edits of the list, or the single edit at the top level.
    fn changes(self) -> Result<Vec<LineChange>, Refusal> {
        // Beside a list, strict clients fill the other arguments with zeros and an empty text.
        let has_list = self.edits.is_some();
        let without_filler = |line: Option<usize>| line.filter(|&line| !has_list || line != 0);
        let (start_line, end_line) =
            (without_filler(self.start_line), without_filler(self.end_line));
        let content = self.new_content.filter(|lines| !has_list || !lines.is_empty());
        let edits = match (self.edits, (start_line, end_line, content)) {
            (Some(edits), (None, None, None)) => edits,
            (None, (Some(start_line), Some(end_line), Some(new_content))) => {
                vec![EditArgument { start_line, end_line, new_content }]
            }
            (Some(_), _) => {
                return Err(invalid_shape(
                    "edits cannot be combined with start_line, end_line or new_content at the top",
                ));
            }
            (None, _) => {
                return Err(invalid_shape("start_line, end_line and new_content are all needed"));
            }
        };
        Ok(edits
            .into_iter()
            .map(|edit| LineChange {
                span: LineSpan { start: edit.start_line, end: edit.end_line },
                lines: edit.new_content.into_content(),
            })
            .collect())
    }
}

/// The refusal of arguments that are neither a list of edits nor one whole edit.
fn invalid_shape(message: &str) -> Refusal {
    Refusal::invalid(
        message,
        "Send path and edits: [{start_line, end_line, new_content}], or the three fields beside path.",
    )
}

/// Replaces or inserts lines by number.
async fn run(call: ToolCall<'_>) -> Result<EditReport, Refusal> {
    let arguments: Arguments = parse(TOOL.name, call.arguments)?;
    let path = call.engine.path(&arguments.path)?;
    let snapshot = arguments.snapshot.clone();
    let changes = arguments.changes().map_err(|refusal| refusal.at(path.as_str()))?;
    call.engine.edit_lines(&path, changes, snapshot.as_deref(), call.options).await
}
