//! `hashline_edit` on the engine.

use super::limits::refuse_too_many_edits;
use super::lines::create;
use super::{CallOptions, Engine};
use crate::edit::{EditCode, EditReport, Explanation, Refusal, Rung, VerifiedEdit, WorkPath};
use crate::hashline::ops::{self, HashlineEdit, Op};
use crate::hashline::resolver::Resolver;
use crate::text::Snapshot;

/// A call of `hashline_edit`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HashlineRequest {
    /// The edits. All anchors are those of the file as it was read.
    pub edits: Vec<HashlineEdit>,
    /// Whether to remove the file.
    pub delete: bool,
    /// The path to which the file is moved, with the edits applied.
    pub rename: Option<WorkPath>,
    /// The id of the version that the anchors come from, or the first digits of the id.
    pub snapshot: Option<String>,
}

impl Engine {
    /// Edits lines by anchor, removes the file, or moves it to another path.
    pub async fn hashline_edit(
        &self,
        path: &WorkPath,
        request: &HashlineRequest,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        self.hashline(path, request, options).await.map_err(|refusal| refusal.at(path.as_str()))
    }

    /// Does what [`Engine::hashline_edit`] says; its refusals do not name the path.
    async fn hashline(
        &self,
        path: &WorkPath,
        request: &HashlineRequest,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        self.admit(path).await?;
        if request.delete {
            return self.delete(path, request, options).await;
        }
        let current = match self.snapshot(path).await {
            Err(refusal) if refusal.code == EditCode::FileNotFound => {
                let edit = create_from(path, request, refusal)?;
                return self.commit_one(edit, options).await;
            }
            current => current?,
        };
        let Some(to) = &request.rename else {
            let edit = self.prepare_hashline(path, request, &current).await?;
            return self.commit_one(edit, options).await;
        };
        let edit = if request.edits.is_empty() {
            refuse_other_version(request, &current)?;
            None
        } else {
            Some(self.prepare_hashline(path, request, &current).await?)
        };
        self.rename(path, to, current, edit, options).await
    }

    /// The checked edit of the lines.
    async fn prepare_hashline(
        &self,
        path: &WorkPath,
        request: &HashlineRequest,
        current: &Snapshot,
    ) -> Result<VerifiedEdit, Refusal> {
        refuse_too_many_edits("edits", request.edits.len())?;
        let snapshot_id = request.snapshot.as_deref();
        let versions = self.versions(path, current, snapshot_id).await;
        let resolver = || Resolver::new(current, &versions, snapshot_id);
        let located = match ops::locate(&request.edits, current, resolver()) {
            // Another process may have moved the lines. The history of the store shows where they
            // are.
            Err(refusal) if refusal.code == EditCode::StaleAnchor && snapshot_id.is_none() => {
                let recorded = self.recorded_versions(path, None).await;
                ops::locate(&request.edits, current, resolver().with_recorded_versions(&recorded))
            }
            other => other,
        };
        let located =
            located.inspect_err(|refusal| self.record_fresh_anchors(path, current, refusal))?;
        let mut explanation =
            Explanation::plain(if located.has_moved { Rung::Carried } else { Rung::Exact });
        explanation.warnings = located.warnings;
        let anchored = located.edits.iter().flat_map(|edit| [edit.span.start, edit.span.end]);
        let anchored: Vec<usize> = anchored.collect();
        let known = if snapshot_id.is_some() { None } else { Some(anchored.as_slice()) };
        self.decide_lines(path, current, located.edits, explanation, known)
    }

    /// Removes the file.
    async fn delete(
        &self,
        path: &WorkPath,
        request: &HashlineRequest,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        if !request.edits.is_empty() || request.rename.is_some() {
            return Err(Refusal::invalid(
                "delete removes the whole file and takes neither edits nor rename",
                "Send delete with edits: [], or to delete lines use replace with lines: [].",
            ));
        }
        let before = self.snapshot(path).await?;
        refuse_other_version(request, &before)?;
        let explanation = Explanation::plain(Rung::Delete);
        let edit = VerifiedEdit::restore(path.clone(), Some(before), None, explanation);
        self.commit_one(edit, options).await
    }

    /// Writes the file, with `edit` if there is one, to the new path and removes the old one, in
    /// one commit. Both are made for `before`, so that no other program's version is lost.
    async fn rename(
        &self,
        from: &WorkPath,
        to: &WorkPath,
        before: Snapshot,
        edit: Option<VerifiedEdit>,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        if from == to {
            return Err(Refusal::invalid(
                "rename is the file's own path",
                "Leave rename out, or give another path.",
            ));
        }
        let explanation = edit
            .as_ref()
            .map_or_else(|| Explanation::plain(Rung::Rename), |edit| edit.explanation().clone());
        let content = edit.as_ref().and_then(VerifiedEdit::after).cloned();
        let content = content.unwrap_or_else(|| before.clone().into());
        let create = VerifiedEdit::restore(to.clone(), None, Some(content), explanation);
        let remove = VerifiedEdit::restore(
            from.clone(),
            Some(before),
            None,
            Explanation::plain(Rung::Rename),
        );
        let committed = self.commit(vec![create, remove], options).await;
        let mut reports = committed.map_err(|refusal| match refusal.code {
            EditCode::CreateExisting => refusal.hint("Give another path as rename."),
            _ => refusal,
        })?;
        let created = reports.remove(0);
        let mut report = match edit {
            None => created,
            // The diff and the spans are those of the edit, not of a new file.
            Some(edit) => EditReport {
                path: created.path,
                revision: created.revision,
                durability: created.durability,
                explanation: created.explanation,
                after_sha256: created.after_sha256,
                ..EditReport::new(&edit)
            },
        };
        report.explanation.warnings.push(format!("`{from}` is now `{to}`"));
        Ok(report)
    }
}

/// Refuses to remove or move a whole file whose version is not the one that the call names: nothing
/// in it was looked at, so nothing shows whether the caller means what is there now.
fn refuse_other_version(request: &HashlineRequest, current: &Snapshot) -> Result<(), Refusal> {
    match &request.snapshot {
        Some(id) if !current.hash().is_named_by(id) => Err(Refusal::new(
            EditCode::StaleAnchor,
            format!("the file is not as in snapshot {id} any more"),
        )
        .hint(format!(
            "Read the file. If it may go as it is now, send this call with snapshot \"{}\".",
            current.hash().short()
        ))),
        _ => Ok(()),
    }
}

/// The checked edit that creates a file by appends and prepends without anchors. Any other call is
/// refused with `missing`, the refusal that the file does not exist.
fn create_from(
    path: &WorkPath,
    request: &HashlineRequest,
    missing: Refusal,
) -> Result<VerifiedEdit, Refusal> {
    let adds_without_anchor = |edit: &HashlineEdit| {
        edit.op != Op::Replace && edit.pos.is_none() && edit.end.is_none() && !edit.lines.is_empty()
    };
    if request.edits.is_empty()
        || request.rename.is_some()
        || !request.edits.iter().all(adds_without_anchor)
    {
        return Err(missing.hint("To create the file use append without pos and without rename."));
    }
    let edits_of = |op: Op| request.edits.iter().filter(move |edit| edit.op == op);
    let edits = edits_of(Op::Prepend).chain(edits_of(Op::Append));
    let lines = edits.flat_map(|edit| edit.lines.clone());
    create(path, lines)
}
