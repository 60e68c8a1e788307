//! `undo`: takes back a commit, byte for byte.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::multi_edit::FileReports;
use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::Refusal;

pub(super) const TOOL: ToolSpec = ToolSpec {
    writes: true,
    ..ToolSpec::reading::<UndoArguments, UndoReport>(
        "undo",
        "Take back an edit, byte for byte: the last one, or the one with the revision given. \
         Creations and deletions too. Refused if a later edit changed the same lines.",
        |call| Box::pin(async move { run(call).await }),
    )
};

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct UndoArguments {
    /// By default the last one.
    revision: Option<u64>,
}

/// The answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct UndoReport {
    /// The revision that was undone.
    undone: u64,
    /// The revision that took it back; null for a dry run.
    undo_revision: Option<u64>,
    #[serde(flatten)]
    reports: FileReports,
}

/// Takes back the commit and answers with a report for each file.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: UndoArguments = parse(TOOL.name, call.arguments)?;
    let (undone, files) = call.engine.undo(arguments.revision, call.options).await?;
    let verb = if call.options.dry_run { "Would take back" } else { "Took back" };
    let undo_revision = files.first().and_then(|file| file.revision);
    let reports = FileReports::new(files);
    let message = format!("{verb} revision {undone}.\n{}", reports.text());
    Ok(ToolReply::answered(message, UndoReport { undone, undo_revision, reports }))
}
