//! `multi_edit`: several replacements, in one file or many, all against the files as
//! they are, all or nothing.

use std::collections::HashSet;
use std::sync::Arc;

use super::limits::{MOST_EDITS, too_many};
use super::{CallOptions, Engine};
use crate::edit::{
    EditCode, EditPlan, EditReport, EditRequest, Explanation, Refusal, Rung, VerifiedEdit, WorkPath,
};
use crate::text::Snapshot;

impl Engine {
    /// Applies all edits or none; one report a file, in the order of first mention.
    pub async fn multi_edit(
        &self,
        edits: &[(WorkPath, EditRequest)],
        options: &CallOptions,
    ) -> Result<Vec<EditReport>, Refusal> {
        if edits.is_empty() {
            return Err(Refusal::new(EditCode::InvalidArguments, "edits is empty")
                .hint("Send at least one edit."));
        }
        if edits.len() > MOST_EDITS {
            return Err(too_many("edits", edits.len(), MOST_EDITS));
        }
        let mut seen = HashSet::new();
        let files: Vec<&WorkPath> =
            edits.iter().map(|(path, _)| path).filter(|path| seen.insert(*path)).collect();
        let mut batch: Vec<VerifiedEdit> = Vec::new();
        for path in files {
            let edit = self.prepare_all(path, edits).await.map_err(|mut refusal| {
                for edit in &batch {
                    refusal.model.add(&edit.explanation().model);
                }
                refusal.at(path.as_str())
            })?;
            batch.push(edit);
        }
        self.commit(batch, options).await
    }

    /// One checked edit of a file out of all edits that name it.
    async fn prepare_all(
        &self,
        path: &WorkPath,
        edits: &[(WorkPath, EditRequest)],
    ) -> Result<VerifiedEdit, Refusal> {
        self.admit(path).await?;
        let numbered = |number: usize, refusal: Refusal| refusal.of_edit(number, edits.len());
        let own = edits.iter().enumerate().filter(|(_, (file, _))| file == path);
        let own: Vec<(usize, &EditRequest)> = own.map(|(n, (_, request))| (n, request)).collect();
        let snapshot = match self.snapshot(path).await {
            Ok(snapshot) => snapshot,
            Err(refusal) => {
                return match own[..] {
                    [(_, only)]
                        if refusal.code == EditCode::FileNotFound && only.old.is_empty() =>
                    {
                        VerifiedEdit::create(
                            path.clone(),
                            &only.new,
                            Explanation::plain(Rung::Create),
                        )
                    }
                    _ => Err(numbered(own[0].0, refusal)),
                };
            }
        };
        let mut parts: Vec<VerifiedEdit> = Vec::new();
        for (number, request) in own {
            match self.decide(path, request, &snapshot).await {
                Ok(part) => parts.push(part),
                Err(mut refusal) => {
                    for part in &parts {
                        refusal.model.add(&part.explanation().model);
                    }
                    return Err(numbered(number, refusal));
                }
            }
        }
        join(path, &snapshot, parts)
    }
}

/// Several checked edits of one version of a file as one.
fn join(
    path: &WorkPath,
    snapshot: &Snapshot,
    parts: Vec<VerifiedEdit>,
) -> Result<VerifiedEdit, Refusal> {
    let splices =
        parts.iter().filter_map(VerifiedEdit::plan).flat_map(|plan| plan.splices().to_vec());
    let plan = EditPlan::new(snapshot, splices.collect())?;
    let mut explanation = Explanation::plain(Rung::Exact);
    explanation.replacements = 0;
    for part in &parts {
        explanation.absorb(part.explanation());
    }
    let edit = VerifiedEdit::new(path.clone(), snapshot, plan, explanation)?;
    let path = path.clone();
    Ok(edit.with_rebase(Arc::new(move |current| {
        let again =
            parts.iter().map(|part| part.rebase(current).unwrap_or_else(|| Err(changed(&path))));
        join(&path, current, again.collect::<Result<_, _>>()?)
    })))
}

fn changed(path: &WorkPath) -> Refusal {
    Refusal::new(EditCode::Conflict, format!("`{path}` changed while the edit was decided"))
        .hint("Nothing was written. Send the same call again.")
}
