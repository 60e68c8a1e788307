//! `edit_file` on the engine: finds out what an edit means, and asks the model if there is one.

use tokio::time::timeout_at;
use tracing::Instrument as _;

use super::limits::refuse_too_many_occurrences;
use super::{CallOptions, Engine, Stage};
use crate::edit::message::OLD;
use crate::edit::{AttemptOutcome, EditReport, EditRequest, ModelUse, Refusal, WorkPath, said};
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
        let edit = [(path.clone(), request.clone())];
        Ok(self.multi_edit(&edit, options).await?.remove(0))
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
            return Err(Refusal::invalid(
                said!("{OLD} holds a NUL character"),
                "Remove the NUL; text files have none.",
            ));
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
