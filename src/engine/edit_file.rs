//! `edit_file`: load, explain, check, commit, report.

use super::{CallOptions, Engine};
use crate::edit::{
    EditCode, EditPlan, EditReport, EditRequest, Explanation, Refusal, VerifiedEdit, WorkPath,
};
use crate::matching::explain;
use crate::text::Snapshot;

impl Engine {
    /// Applies one edit.
    pub async fn edit_file(
        &self,
        path: &WorkPath,
        request: &EditRequest,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        let edit =
            self.prepare(path, request).await.map_err(|refusal| refusal.at(path.as_str()))?;
        let mut reports = self.commit(vec![edit], options).await?;
        Ok(reports.remove(0))
    }

    async fn prepare(
        &self,
        path: &WorkPath,
        request: &EditRequest,
    ) -> Result<VerifiedEdit, Refusal> {
        match self.snapshot(path).await {
            Ok(snapshot) => decide(path, request, &snapshot),
            Err(refusal) if refusal.code == EditCode::FileNotFound && request.old.is_empty() => {
                VerifiedEdit::create(path.clone(), &request.new, Explanation::plain("create"))
            }
            Err(refusal) => Err(refusal),
        }
    }
}

fn decide(
    path: &WorkPath,
    request: &EditRequest,
    snapshot: &Snapshot,
) -> Result<VerifiedEdit, Refusal> {
    let explained = explain(request, snapshot)?;
    let plan = EditPlan::new(snapshot, explained.splices)?;
    let edit = VerifiedEdit::new(path.clone(), snapshot, plan, explained.explanation)?;
    let (path, request) = (path.clone(), request.clone());
    Ok(edit.with_rebase(std::sync::Arc::new(move |current| decide(&path, &request, current))))
}
