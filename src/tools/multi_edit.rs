//! `multi_edit`: several replacements at once, all or nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit_file::EditFileArguments;
use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::{EditReport, Refusal};

pub(super) const TOOL: ToolSpec = ToolSpec::writing::<Arguments, FileReports>(
    "multi_edit",
    include_str!("../../prompts/tools/multi_edit.md"),
    |call| Box::pin(async move { run(call).await }),
);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Arguments {
    /// The edits.
    edits: Vec<EditFileArguments>,
}

/// What was done to each file. For a single file its report is at the top level as well.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct FileReports {
    /// Each file, in the order of first mention.
    files: Vec<EditReport>,
    #[serde(flatten)]
    only: Option<EditReport>,
}

impl FileReports {
    pub(super) fn new(files: Vec<EditReport>) -> Self {
        let only = if let [only] = files.as_slice() { Some(only.clone()) } else { None };
        Self { files, only }
    }

    /// The message: the text of each file's report.
    pub(super) fn text(&self) -> String {
        self.files.iter().map(EditReport::text).collect::<Vec<_>>().join("\n")
    }
}

/// The answer to a call that edited these files.
pub(super) fn reply(files: Vec<EditReport>) -> ToolReply {
    let reports = FileReports::new(files);
    ToolReply::answered(reports.text(), reports)
}

/// Applies all edits, or none of them, and answers with a report for each file.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: Arguments = parse(TOOL.name, call.arguments)?;
    let count = arguments.edits.len();
    let edits = arguments.edits.iter().enumerate().map(|(at, edit)| {
        let path = call.engine.path(&edit.path);
        let edit = path.and_then(|path| Ok((path, edit.edit.request()?)));
        edit.map_err(|refusal| refusal.with_edit_number(at, count))
    });
    let edits = edits.collect::<Result<Vec<_>, Refusal>>()?;
    Ok(reply(call.engine.multi_edit(&edits, call.options).await?))
}
