//! `edit_file` on the engine: loads the file, finds out what the call means, asks the model if there
//! is one, and checks and commits the edit.

use std::sync::Arc;

use tokio::time::timeout_at;
use tracing::Instrument as _;

use super::limits::refuse_too_many_occurrences;
use super::syntax::SyntaxGate;
use super::{CallOptions, Engine, Stage};
use crate::edit::message::OLD;
use crate::edit::{
    AttemptOutcome, EditCode, EditPlan, EditReport, EditRequest, ModelUse, Refusal, Rung,
    VerifiedEdit, WorkPath, said,
};
use crate::matching::Explained;
use crate::matching::budget::{self, Exhausted};
use crate::port::{Ask, Budget, CorrectorError, Reply};
use crate::resolve::{Model, Resolution, Resolved, Step};
use crate::text::Snapshot;
use crate::traces;

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
        self.commit_one(edit, options).await
    }

    /// Loads the file and decides the edit, without writing anything.
    async fn prepare(
        &self,
        path: &WorkPath,
        request: &EditRequest,
    ) -> Result<VerifiedEdit, Refusal> {
        self.admit(path).await?;
        match self.snapshot(path).await {
            Ok(snapshot) => self.decide(path, request, &snapshot).await,
            Err(refusal) if refusal.code == EditCode::FileNotFound && request.old.is_empty() => {
                self.prepare_creation(path, request).await
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// The checked edit that creates the file. Its content is checked for wrong escapes, like
    /// `new_str` of any edit.
    async fn prepare_creation(
        &self,
        path: &WorkPath,
        request: &EditRequest,
    ) -> Result<VerifiedEdit, Refusal> {
        let (resolved, spent) = self
            .resolve(path, request, &Snapshot::from_text(""), &mut budget::Budget::default())
            .await?;
        let Explained { splices, mut explanation, .. } = resolved.explained;
        explanation.rung = Rung::Create;
        explanation.model = spent;
        let content = splices.into_iter().next().map(|splice| splice.text).unwrap_or_default();
        VerifiedEdit::create(path.clone(), &content, explanation)
    }

    /// Decides one edit of a file; may ask the model. Writes nothing, so that dropping the future
    /// cancels the call.
    async fn decide(
        &self,
        path: &WorkPath,
        request: &EditRequest,
        snapshot: &Snapshot,
    ) -> Result<VerifiedEdit, Refusal> {
        let (resolved, spent) =
            self.resolve(path, request, snapshot, &mut budget::Budget::default()).await?;
        verified_edit(path, snapshot, resolved, &spent, &self.syntax, request).map_err(
            |mut refusal| {
                refusal.model.add(&spent);
                refusal
            },
        )
    }

    /// Finds out what a call means, within a work budget. Also returns what was spent on the model.
    pub(super) async fn resolve(
        &self,
        path: &WorkPath,
        request: &EditRequest,
        snapshot: &Snapshot,
        work: &mut budget::Budget,
    ) -> Result<(Resolved, ModelUse), Refusal> {
        if request.old.contains('\0') {
            return Err(Refusal::new(
                EditCode::InvalidArguments,
                said!("{OLD} holds a NUL character"),
            )
            .hint("Remove the NUL; text files have none."));
        }
        refuse_too_many_occurrences(request, snapshot)?;
        // The caller takes `near_line` from the version that it was shown, so it is mapped to the
        // current file.
        let near_line =
            request.near_line.and_then(|line| self.current_line_hint(path, snapshot, line));
        let request = &EditRequest { near_line, ..request.clone() };
        let model = match self.corrector {
            Some(_) => Model::Present,
            None => Model::Absent,
        };
        let budget = Budget::new(self.allowance.time, self.allowance.requests);
        let filter = |verdict| self.syntax.without_broken_outcomes(path, snapshot, verdict);
        let view = self.syntax.view(path, request, snapshot)?;
        let started = work.run(|| {
            Resolution::start_with_filter(path.as_str(), request, &view.snapshot, model, &filter)
        });
        let mut step = started.map_err(Exhausted::refusal)?;
        loop {
            step = match step {
                Step::Done(resolved) => {
                    view.admit(&resolved.explained)?;
                    return Ok((*resolved, budget.spent()));
                }
                Step::Refused(mut refusal) => {
                    refusal.model.add(&budget.spent());
                    return Err(view.explain(snapshot, &request.old, *refusal));
                }
                Step::Ask(resolution) => {
                    let ask = resolution.ask().clone();
                    tracing::debug!(path = %path, ask = %ask.kind(), "a model is asked");
                    self.report_stage(Stage::Ask, ask.kind().as_str());
                    let span = traces::ask(ask.kind().as_str());
                    let answer = self.answer(&ask, &budget).instrument(span.clone()).await;
                    let replied = work.run(|| resolution.reply(answer));
                    let (next, outcome) = replied.map_err(Exhausted::refusal)?;
                    tracing::info!(path = %path, ask = %ask.kind(), %outcome, "correction");
                    span.record("restitch.outcome", outcome.as_str());
                    if outcome == AttemptOutcome::Rejected
                        && let Some(corrector) = &self.corrector
                    {
                        corrector.rejected(&ask).await;
                    }
                    next
                }
            };
        }
    }

    /// The model's answer. Ends in time even if the corrector ignores the deadline.
    async fn answer(&self, ask: &Ask, budget: &Budget) -> Result<Reply, CorrectorError> {
        let Some(corrector) = &self.corrector else { return Err(CorrectorError::NotConfigured) };
        let answer = timeout_at(budget.deadline(), corrector.correct(ask, budget)).await;
        answer.unwrap_or(Err(CorrectorError::Timeout))
    }
}

/// The checked edit of a resolved call. If the file changes before the commit, the call is resolved
/// again on the newer version.
fn verified_edit(
    path: &WorkPath,
    snapshot: &Snapshot,
    resolved: Resolved,
    spent: &ModelUse,
    gate: &SyntaxGate,
    request: &EditRequest,
) -> Result<VerifiedEdit, Refusal> {
    gate.veto(path, request).check(snapshot, &resolved.explained)?;
    let Resolved { explained: Explained { splices, mut explanation, .. }, reapply } = resolved;
    explanation.model = spent.clone();
    let plan = EditPlan::new(snapshot, splices)?;
    let edit = VerifiedEdit::new(path.clone(), snapshot, plan, explanation)?;
    let (path, spent) = (path.clone(), spent.clone());
    let (gate, request) = (gate.clone(), request.clone());
    Ok(edit.with_rebase(Arc::new(move |current| {
        let view = gate.view(&path, &request, current)?;
        let resolved = reapply.resolve_on(&view.snapshot)?;
        view.admit(&resolved.explained)?;
        verified_edit(&path, current, resolved, &spent, &gate, &request)
    })))
}
