//! `apply_patch`: V4A patches, search/replace blocks and unified diffs; all files or none.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::{EditPlan, EditReport, Explanation, Refusal, Rung, VerifiedEdit, WorkPath, said};
use crate::engine::{Engine, refuse_too_many_bytes, refuse_too_many_edits};
use crate::matching::budget::{Budget, Exhausted};
use crate::patch::{Change, Hunk, Patch, locate_hunks};
use crate::text::{Snapshot, clip};

pub(super) const TOOL: ToolSpec = ToolSpec::writing::<ApplyPatchArguments, PatchReport>(
    "apply_patch",
    "Applies a patch to one or more files, all or nothing; prefer it to other edit tools: V4A (*** Begin Patch … *** End Patch), search/replace blocks, or a unified diff.",
    |call| Box::pin(async move { run(call).await }),
);

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct ApplyPatchArguments {
    /// The patch.
    patch: String,
    /// The file, for blocks that name none.
    path: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PatchReport {
    /// Each file, in the order of the patch.
    files: Vec<EditReport>,
}

/// Applies the patch to all of its files, or to none, and answers with a report for each.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let given: ApplyPatchArguments = parse(TOOL.name, call.arguments)?;
    let patch = Patch::parse(&given.patch, given.path.as_deref())?;
    let batch = prepare(call.engine, &patch).await?;
    let files = call.engine.commit(batch, call.options).await?;
    Ok(ToolReply::answered(summary(&files), PatchReport { files }))
}

/// Works out and checks the edits of every file in a patch; nothing is written.
pub(crate) async fn prepare(engine: &Engine, patch: &Patch) -> Result<Vec<VerifiedEdit>, Refusal> {
    let parts_per_file = patch.files.iter().map(|file| match &file.change {
        Change::Update { hunks, .. } => hunks.len().max(1),
        Change::Add(_) | Change::Delete => 1,
    });
    refuse_too_many_edits("files and hunks", parts_per_file.sum())?;
    let mut batch = Vec::new();
    for file in &patch.files {
        let path = engine.path(&file.path)?;
        let edits = prepare_file(engine, &path, &file.change).await;
        batch.extend(edits.map_err(|mut refusal| {
            if patch.files.len() > 1 && !refusal.message.contains(path.as_str()) {
                refusal.message = said!("`{path}`: {}", refusal.message);
            }
            refusal.at(path.as_str())
        })?);
        refuse_too_many_bytes(&batch)?;
    }
    Ok(batch)
}

/// The edits of one file: two if the patch moves it, a creation and a deletion.
async fn prepare_file(
    engine: &Engine,
    path: &WorkPath,
    change: &Change,
) -> Result<Vec<VerifiedEdit>, Refusal> {
    engine.admit(path).await?;
    match change {
        Change::Add(content) => {
            engine.refuse_existing(path).await?;
            Ok(vec![VerifiedEdit::create(path.clone(), content, Explanation::plain(Rung::Create))?])
        }
        Change::Delete => {
            let before = engine.snapshot(path).await?;
            Ok(vec![deletion(path, before)])
        }
        Change::Update { move_to: None, hunks } => {
            let snapshot = engine.snapshot(path).await?;
            Ok(vec![update(path, hunks, &snapshot)?])
        }
        Change::Update { move_to: Some(target), hunks } => {
            let target = engine.path(target)?;
            engine.refuse_existing(&target).await?;
            let snapshot = engine.snapshot(path).await?;
            let after = if hunks.is_empty() {
                Some(snapshot.clone().into())
            } else {
                update(path, hunks, &snapshot)?.after().cloned()
            };
            let creation =
                VerifiedEdit::restore(target, None, after, Explanation::plain(Rung::Move));
            Ok(vec![creation, deletion(path, snapshot)])
        }
    }
}

/// The deletion of a file whose content is `before`.
fn deletion(path: &WorkPath, before: Snapshot) -> VerifiedEdit {
    VerifiedEdit::restore(path.clone(), Some(before), None, Explanation::plain(Rung::Delete))
}

/// The update of one file. If the file changes before the write, the hunks are located again.
fn update(path: &WorkPath, hunks: &[Hunk], snapshot: &Snapshot) -> Result<VerifiedEdit, Refusal> {
    let explained = Budget::default().run(|| locate_hunks(path.as_str(), snapshot, hunks));
    let explained = explained.map_err(Exhausted::refusal)??;
    let plan = EditPlan::new(snapshot, explained.splices)?;
    let edit = VerifiedEdit::new(path.clone(), snapshot, plan, explained.explanation)?;
    let (path, hunks) = (path.clone(), hunks.to_vec());
    Ok(edit.with_rebase(Arc::new(move |current| update(&path, &hunks, current))))
}

/// The message: the list of files that Codex's `apply_patch` prints, then each file's report.
fn summary(files: &[EditReport]) -> String {
    let mut out = String::from(match files.first().map(|file| file.durability) {
        Some(crate::edit::Durability::DryRun) => "Would update the following files:",
        _ => "Success. Updated the following files:",
    });
    for file in files {
        let letter = match (file.before_sha256, file.after_sha256) {
            (None, _) => 'A',
            (_, None) => 'D',
            _ => 'M',
        };
        let _ = write!(out, "\n{letter} {}", file.path);
    }
    for file in files {
        let _ = write!(out, "\n\n{}", file.text());
    }
    clip(&out, 3_000)
}
