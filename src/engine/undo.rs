//! The history on the engine: undo, the log, the change feed, and repeated requests.

use tokio::sync::broadcast;
use tracing::Instrument as _;

use super::{CallOptions, Engine, UndoScope};
use crate::edit::{EditCode, EditReport, Refusal, WorkPath};
use crate::port::{
    Change, Committed, History, RequestId, RequestStatus, Revision, UndoMode, no_history,
};
use crate::traces;

impl Engine {
    /// Undoes the commit `revision`. Without it, undoes the last commit that is not undone yet, in
    /// the root or by this session as the options say. Returns the revision that was undone and a
    /// report of each file.
    pub async fn undo(
        &self,
        revision: Option<u64>,
        options: &CallOptions,
    ) -> Result<(u64, Vec<EditReport>), Refusal> {
        if self.staging.is_some() {
            return Err(Refusal::new(
                EditCode::Blocked,
                "this session's edits are staged, and undo takes back only commits",
            )
            .hint("Send the tool `staging` with action discard to drop all staged edits, or edit the staged files back."));
        }
        let mode = if options.dry_run { UndoMode::DryRun } else { UndoMode::Apply };
        let revision = match (revision, options.undo_scope) {
            (None, UndoScope::Session) => Some(self.last_session_revision().await?),
            (given, _) => given,
        };
        let _writing = self.ledger.lock_writes().await;
        let span = traces::undo();
        let undone = self.history()?.undo(revision, mode).instrument(span.clone()).await;
        traces::record_result(&span, &undone);
        let undone = undone?;
        let reports = undone.committed.into_iter().map(|file| self.record_commit(file)).collect();
        Ok((undone.revision, reports))
    }

    /// The history of the store; a refusal if it has none.
    fn history(&self) -> Result<&dyn History, Refusal> {
        self.store.history().ok_or_else(no_history)
    }

    /// The newest revision of this session that is neither undone nor an undo.
    async fn last_session_revision(&self) -> Result<u64, Refusal> {
        let session_revisions = self.ledger.revisions();
        let can_be_undone = |entry: &&Revision| {
            session_revisions.contains(&entry.revision)
                && entry.undoes.is_none()
                && entry.undone_by.is_none()
        };
        let log = self.history()?.log().await?;
        log.iter().find(can_be_undone).map(|entry| entry.revision).ok_or_else(|| {
            Refusal::new(
                EditCode::NoChange,
                "there is nothing to undo: this session made no edits, or all of them were undone or are not in the history any more",
            )
            .hint("To take back an older edit, give its revision, which `restitch log` shows.")
        })
    }

    /// The commits in the history, newest first.
    pub async fn log(&self) -> Result<Vec<Revision>, Refusal> {
        self.history()?.log().await
    }

    /// What a commit in the history wrote, as one report for each file.
    pub async fn committed(&self, revision: u64) -> Result<Vec<EditReport>, Refusal> {
        Ok(self.reports(self.history()?.committed(revision).await?))
    }

    /// A receiver of every commit from now on, so that a preview can refresh; `None` if the store
    /// does not announce commits.
    pub fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        self.store.history()?.changes()
    }

    /// Refuses a path that must not be written, such as a protected one. Call this before reading
    /// the content.
    pub async fn admit(&self, path: &WorkPath) -> Result<(), Refusal> {
        self.store.admit(path).await
    }

    /// What the store knows of a request.
    pub async fn recall(&self, request: &RequestId) -> RequestStatus {
        if let Some(status) = self.staging.as_ref().and_then(|staging| staging.recall(request)) {
            return status;
        }
        // It may be the request that committed what was staged.
        match self.store.history() {
            Some(history) => history.recall(request).await,
            None => RequestStatus::Unknown,
        }
    }

    /// The reports of earlier commits.
    pub fn reports(&self, committed: Vec<Committed>) -> Vec<EditReport> {
        committed.into_iter().map(super::report_of).collect()
    }

    /// Stores the answer to a request, for when it is sent again.
    pub async fn remember(&self, request: &RequestId, answer: String) {
        match (&self.staging, self.store.history()) {
            (Some(staging), _) => staging.remember(request, answer),
            (None, Some(history)) => history.remember(request, answer).await,
            (None, None) => {}
        }
    }
}
