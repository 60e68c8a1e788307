//! `multi_edit` on the engine: several replacements in one file or many, all or none. Each is matched
//! in the file as it is before the call.

use std::collections::HashSet;
use std::sync::Arc;

use super::limits::{MAX_EDIT_WORK, refuse_too_many_bytes, refuse_too_many_edits, too_much_work};
use super::syntax::SyntaxGate;
use super::{CallOptions, Engine};
use crate::edit::{
    EditCode, EditPlan, EditReport, EditRequest, Explanation, ModelUse, Refusal, Rung,
    VerifiedEdit, WorkPath, said,
};
use crate::matching::Explained;
use crate::matching::budget::Budget;
use crate::resolve::Resolved;
use crate::text::Snapshot;

impl Engine {
    /// Applies all edits or none. Returns one report for each file, in the order in which the files
    /// first appear in the call.
    pub async fn multi_edit(
        &self,
        edits: &[(WorkPath, EditRequest)],
        options: &CallOptions,
    ) -> Result<Vec<EditReport>, Refusal> {
        if edits.is_empty() {
            return Err(Refusal::invalid("edits is empty", "Send at least one edit."));
        }
        refuse_too_many_edits("edits", edits.len())?;
        let mut seen = HashSet::new();
        let files: Vec<&WorkPath> =
            edits.iter().map(|(path, _)| path).filter(|path| seen.insert(*path)).collect();
        let mut batch: Vec<VerifiedEdit> = Vec::new();
        let mut work = Budget::default();
        for path in files {
            let edit = self.prepare_file(path, edits, &mut work).await.map_err(|mut refusal| {
                for edit in &batch {
                    refusal.model.add(&edit.explanation().model);
                }
                refusal.at(path.as_str())
            })?;
            batch.push(edit);
            refuse_too_many_bytes(&batch)?;
        }
        self.commit(batch, options).await
    }

    /// Combines all edits of one file into one checked edit.
    async fn prepare_file(
        &self,
        path: &WorkPath,
        edits: &[(WorkPath, EditRequest)],
        work: &mut Budget,
    ) -> Result<VerifiedEdit, Refusal> {
        self.admit(path).await?;
        let has_others = edits.iter().any(|(other, _)| other != path);
        let numbered = |number: usize, mut refusal: Refusal| {
            if has_others && !refusal.message.contains(&format!("`{path}`")) {
                refusal.message = said!("in `{path}`, {}", refusal.message);
            }
            refusal.with_edit_number(number, edits.len())
        };
        let requests = edits.iter().enumerate().filter(|(_, (file, _))| file == path);
        let requests: Vec<(usize, &EditRequest)> =
            requests.map(|(number, (_, request))| (number, request)).collect();
        let snapshot = match self.snapshot(path).await {
            Ok(snapshot) => snapshot,
            Err(refusal) => {
                let (first, request) = requests[0];
                if refusal.code != EditCode::FileNotFound || !request.old.is_empty() {
                    return Err(numbered(first, refusal));
                }
                if let [_, .., (last, _)] = requests[..] {
                    return Err(several_of_new_file(path, first, last));
                }
                let created = self.prepare_creation(path, request, work).await;
                return created.map_err(|refusal| numbered(first, refusal));
            }
        };
        let bytes = snapshot.bytes().len();
        if requests.len().saturating_mul(bytes) > MAX_EDIT_WORK {
            return Err(too_much_work(requests.len(), bytes));
        }
        let mut parts: Vec<Part> = Vec::with_capacity(requests.len());
        for (number, request) in requests {
            // If the caller has cancelled the call, it ends here.
            if tokio::runtime::Handle::try_current().is_ok() {
                tokio::task::yield_now().await;
            }
            let resolved = self.resolve(path, request, &snapshot, work).await;
            let resolved = resolved.and_then(|(resolved, spent)| {
                self.syntax.veto(path, request, &snapshot, &resolved.explained)?;
                Ok((resolved, spent))
            });
            match resolved {
                Ok((resolved, spent)) => {
                    parts.push(Part { number, resolved, spent, request: request.clone() });
                }
                Err(mut refusal) => {
                    for part in &parts {
                        refusal.model.add(&part.spent);
                    }
                    let of_file = edits.iter().enumerate().filter(|(_, (file, _))| file == path);
                    let of_file = of_file.map(|(at, (_, edit))| (at, edit));
                    let refusal = refusal.hint_at_sibling_edit(
                        number,
                        &request.old,
                        snapshot.text(),
                        of_file,
                    );
                    return Err(numbered(number, refusal));
                }
            }
        }
        combine(path, &snapshot, &parts, &self.syntax).map_err(|joint_refusal| {
            // If a part is refused on its own, too, its refusal is more precise.
            let refused_part = parts.iter().find_map(|part| {
                let alone = combine(path, &snapshot, std::slice::from_ref(part), &self.syntax);
                Some((part.number, alone.err()?))
            });
            let mut refusal = match refused_part {
                Some((number, refusal)) => numbered(number, refusal),
                None => joint_refusal,
            };
            for part in &parts {
                refusal.model.add(&part.spent);
            }
            refusal
        })
    }
}

impl Engine {
    /// The checked edit that creates the file. Its content is checked for wrong escapes, like
    /// `new_str` of any edit.
    async fn prepare_creation(
        &self,
        path: &WorkPath,
        request: &EditRequest,
        work: &mut Budget,
    ) -> Result<VerifiedEdit, Refusal> {
        let (resolved, spent) = self.resolve(path, request, &Snapshot::from_text(""), work).await?;
        let Explained { splices, mut explanation, .. } = resolved.explained;
        explanation.rung = Rung::Create;
        explanation.model = spent;
        let content = splices.into_iter().next().map(|splice| splice.text).unwrap_or_default();
        VerifiedEdit::create(path.clone(), &content, explanation)
    }
}

/// The refusal of a call that creates a file and edits it, too, in the edits from `first` to `last`.
fn several_of_new_file(path: &WorkPath, first: usize, last: usize) -> Refusal {
    let (first, last) = (first + 1, last + 1);
    Refusal::new(
        EditCode::Overlap,
        format!("edit {first} creates `{path}`, so edit {last} has no text there to find: all edits of a call see the files as they are before it"),
    )
    .hint("No edit of the call was made. Give the new file's whole text in one edit.")
}

/// One resolved edit of a file. It does not hold the text of the file, because there may be many
/// parts.
#[derive(Debug, Clone)]
struct Part {
    /// The place of the edit in the call, from 0.
    number: usize,
    resolved: Resolved,
    spent: ModelUse,
    request: EditRequest,
}

impl Part {
    /// Whether the edit would write what is already in the file.
    fn changes_nothing(&self, snapshot: &Snapshot) -> bool {
        let splices = &self.resolved.explained.splices;
        splices.iter().all(|splice| snapshot.text().get(splice.range.clone()) == Some(&splice.text))
    }
}

/// Combines resolved edits of one version of a file into one checked edit.
fn combine(
    path: &WorkPath,
    snapshot: &Snapshot,
    parts: &[Part],
    gate: &SyntaxGate,
) -> Result<VerifiedEdit, Refusal> {
    let unchanged = parts.iter().find(|part| part.changes_nothing(snapshot));
    // A part that changes nothing is checked alone, so that the check refuses it.
    let parts = unchanged.map_or(parts, std::slice::from_ref);
    let splices = parts.iter().flat_map(|part| part.resolved.explained.splices.iter().cloned());
    let plan = EditPlan::new(snapshot, splices.collect())?;
    let explanations = parts.iter().map(|part| {
        let single = part.resolved.explained.explanation.clone();
        Explanation { model: part.spent.clone(), ..single }
    });
    let explanation = Explanation::of_edits(explanations.collect());
    let edit = VerifiedEdit::new(path.clone(), snapshot, plan, explanation)?;
    let (path, parts, gate) = (path.clone(), parts.to_vec(), gate.clone());
    Ok(edit.with_rebase(Arc::new(move |current| {
        let resolved_again = parts.iter().map(|part| {
            let view = gate.view(&path, &part.request, current)?;
            let explained = part.resolved.reapply.decide(&view.snapshot)?;
            view.admit(&explained)?;
            gate.veto(&path, &part.request, current, &explained)?;
            let resolved = Resolved { explained, ..part.resolved.clone() };
            Ok(Part { resolved, ..part.clone() })
        });
        let parts = resolved_again.collect::<Result<Vec<_>, Refusal>>()?;
        combine(&path, current, &parts, &gate)
    })))
}
