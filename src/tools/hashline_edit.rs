//! `hashline_edit`: edits by `LINE#ID` anchor.

use schemars::JsonSchema;
use serde::Deserialize;

use super::lines_argument::LinesArgument;
use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::{EditReport, Refusal, said};
use crate::engine::HashlineRequest;
use crate::hashline::anchors::Anchor;
use crate::hashline::ops::{HashlineEdit, Op};

pub(super) const TOOL: ToolSpec = ToolSpec::writing::<Arguments, EditReport>(
    "hashline_edit",
    include_str!("../../prompts/tools/hashline_edit.md"),
    |call| {
        Box::pin(async move {
            let report = run(call).await?;
            Ok(ToolReply::answered(report.anchored_text(), &report))
        })
    },
);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file, below the root.
    path: String,
    /// The edits, all in terms of the file as it was read.
    edits: Option<Vec<EditArgument>>,
    /// Removes the file; takes no edits.
    delete: Option<bool>,
    /// A new path for the result; the old file is removed.
    rename: Option<String>,
    /// The snapshot id of the read that the anchors come from.
    snapshot: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct EditArgument {
    /// replace, append or prepend.
    op: Option<Op>,
    /// The anchor, as LINE#ID; the first line of a range.
    pos: Option<String>,
    /// The last line of a range, as LINE#ID.
    end: Option<String>,
    /// The new lines, as a list or one string; [] deletes.
    lines: LinesArgument,
}

impl EditArgument {
    /// The edit; a refusal names it by its `number` in the call.
    fn into_edit(self, number: usize) -> Result<HashlineEdit, Refusal> {
        let anchor = |argument: &Option<String>| {
            argument.as_deref().map(Anchor::parse).transpose().map_err(|mut refusal| {
                refusal.message = said!("edit {number}: {}", refusal.message);
                refusal
            })
        };
        let (pos, end) = (anchor(&self.pos)?, anchor(&self.end)?);
        // An edit that only names lines replaces them.
        let op = self.op.or((pos.is_some() || end.is_some()).then_some(Op::Replace));
        let op = op.ok_or_else(|| {
            Refusal::invalid(
                format!("edit {number} has no `op` and no `pos`"),
                "Send `op` as replace, append or prepend.",
            )
        })?;
        Ok(HashlineEdit { op, pos, end, lines: self.lines.into_lines() })
    }
}

/// Applies the edits, or deletes or renames the file.
async fn run(call: ToolCall<'_>) -> Result<EditReport, Refusal> {
    let arguments: Arguments = parse(TOOL.name, call.arguments)?;
    let path = call.engine.path(&arguments.path)?;
    let with_path = |refusal: Refusal| refusal.at(path.as_str());
    let edits = arguments.edits.unwrap_or_default().into_iter().enumerate();
    let request = HashlineRequest {
        edits: edits
            .map(|(index, edit)| edit.into_edit(index + 1))
            .collect::<Result<_, _>>()
            .map_err(with_path)?,
        delete: arguments.delete.unwrap_or(false),
        rename: arguments.rename.as_deref().map(|to| call.engine.path(to)).transpose()?,
        snapshot: arguments.snapshot,
    };
    call.engine.hashline_edit(&path, &request, call.options).await
}
