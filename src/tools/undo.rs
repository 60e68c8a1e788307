//! `undo`: takes back a commit, byte for byte.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ToolCall, ToolReply, ToolSpec, Visibility, parse, schema};
use crate::edit::{EditReport, Refusal};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "undo",
    about: "Take back an edit, byte for byte: the last one, or the one with the revision given. \
            Creations and deletions too. Refused if a later edit changed the same lines.",
    input: schema::input::<UndoArguments>,
    output: schema::output::<UndoReport>,
    visibility: Visibility::Always,
    writes: true,
    run: |call| Box::pin(async move { run(call).await }),
};

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct UndoArguments {
    /// By default the last one.
    revision: Option<u64>,
}

/// The answer: the report of the file, or of each file if the commit had several.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct UndoReport {
    /// The revision that was undone.
    undone: u64,
    /// The revision that took it back; null for a dry run.
    undo_revision: Option<u64>,
    /// The report, when it was one file.
    #[serde(flatten)]
    file: Option<EditReport>,
    /// A report for each file.
    files: Vec<EditReport>,
}

/// Takes back the commit and answers with a report for each file.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: UndoArguments = parse(TOOL.name, call.arguments)?;
    let (undone, files) = call.engine.undo(arguments.revision, call.options).await?;
    let verb = if call.options.dry_run { "Would take back" } else { "Took back" };
    let mut message = format!("{verb} revision {undone}.");
    for file in &files {
        let _ = write!(message, "\n{}", file.text());
    }
    let report = UndoReport {
        undone,
        undo_revision: files.first().and_then(|file| file.revision),
        file: if let [one] = files.as_slice() { Some(one.clone()) } else { None },
        files,
    };
    Ok(ToolReply::answered(message, report))
}
