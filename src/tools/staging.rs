//! `staging`: shows, commits or discards the staged edits of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ToolCall, ToolReply, ToolSpec, Visibility, parse};
use crate::edit::{EditCode, Refusal};
use crate::port::CommitOptions;
use crate::text::pluralize;

pub(super) const TOOL: ToolSpec = ToolSpec {
    visibility: Visibility::Staged,
    writes: true,
    ..ToolSpec::reading::<StagingArguments, StagingReport>(
        "staging",
        "Staged edits: diff shows them all, commit writes them all or none, discard forgets them.",
        |call| Box::pin(async move { run(call).await }),
    )
};

/// What to do.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Diff,
    Commit,
    Discard,
}

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct StagingArguments {
    /// What to do.
    action: Action,
}

/// What was done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct StagingReport {
    /// The files it is about.
    files: Vec<StagedReport>,
    /// Their changes as one unified diff.
    diff: String,
}

/// One file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct StagedReport {
    /// The file.
    path: String,
    /// The revision, once committed.
    revision: Option<u64>,
}

/// Carries out the action and answers with the files and their changes.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let given: StagingArguments = parse(TOOL.name, call.arguments)?;
    let staging = call.engine.staging().ok_or_else(|| {
        Refusal::new(EditCode::Blocked, "this session is not staged: its edits are written at once")
            .hint("Start restitch with --stage to stage edits.")
    })?;
    let diff = staging.diff();
    let mut files: Vec<StagedReport> = staging
        .staged()
        .iter()
        .map(|(path, _)| StagedReport { path: path.as_str().to_owned(), revision: None })
        .collect();
    let message = match given.action {
        Action::Diff if files.is_empty() => "Nothing is staged.".to_owned(),
        Action::Diff => format!("{} staged:\n{diff}", pluralize(files.len(), "file")),
        Action::Discard => {
            format!(
                "Discarded the staged changes of {}.",
                pluralize(staging.discard().await, "file")
            )
        }
        Action::Commit => {
            let request_id = call.options.request_id.clone();
            let options = CommitOptions { request_id, ..CommitOptions::default() };
            let committed = staging.commit_staged(options).await?;
            for commit in &committed {
                if let Some(revision) = commit.revision {
                    call.engine.ledger().record_commit(revision);
                }
                let path = commit.edit.path().as_str();
                for file in files.iter_mut().filter(|file| file.path == path) {
                    file.revision = commit.revision;
                }
            }
            format!("Committed the staged changes of {}.", pluralize(committed.len(), "file"))
        }
    };
    Ok(ToolReply::answered(message, StagingReport { files, diff }))
}
