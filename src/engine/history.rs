//! The history of a root: undo, the log, the change feed, repeated requests.

use tokio::sync::broadcast;
use tracing::Instrument as _;

use super::{CallOptions, Engine, UndoScope};
use crate::edit::{EditCode, EditReport, Refusal, WorkPath};
use crate::port::{Change, Committed, RequestId, RequestStatus, Revision, UndoMode};
use crate::spans;

impl Engine {
    /// Takes back a commit: the one named, or the last one that was not undone (of the root or
    /// of this session, as the options say). Answers with the revision that was undone and a
    /// report for each file.
    pub async fn undo(
        &self,
        revision: Option<u64>,
        options: &CallOptions,
    ) -> Result<(u64, Vec<EditReport>), Refusal> {
        let mode = if options.dry_run { UndoMode::DryRun } else { UndoMode::Apply };
        let revision = match (revision, options.undo_scope) {
            (None, UndoScope::Session) => Some(self.last_session_revision().await?),
            (given, _) => given,
        };
        let _writing = self.ledger.lock_writes().await;
        let span = spans::undo();
        let undone = self.store.undo(revision, mode).instrument(span.clone()).await;
        spans::record_result(&span, &undone);
        let undone = undone?;
        Ok((
            undone.revision,
            undone.committed.into_iter().map(|done| self.record_commit(done)).collect(),
        ))
    }

    /// The newest commit of this session that was not undone.
    async fn last_session_revision(&self) -> Result<u64, Refusal> {
        let nothing = || {
            Refusal::new(
                EditCode::NoChange,
                "there is nothing to undo: this session made no edits, or all of them were undone",
            )
            .hint("To take back an older edit, give its revision.")
        };
        let own = self.ledger.revisions();
        if own.is_empty() {
            return Err(nothing());
        }
        let in_effect = |entry: &&Revision| {
            own.contains(&entry.revision) && entry.undoes.is_none() && entry.undone_by.is_none()
        };
        let log = self.store.log().await?;
        log.iter().find(in_effect).map(|entry| entry.revision).ok_or_else(nothing)
    }

    /// The commits that can be undone or were, newest first.
    pub async fn log(&self) -> Result<Vec<Revision>, Refusal> {
        self.store.log().await
    }

    /// Announces every commit from now on, so that a preview can refresh; `None` when
    /// the store does not.
    pub fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        self.store.changes()
    }

    /// Refuses a path that policy does not allow to be written. Call it before reading the content.
    pub async fn admit(&self, path: &WorkPath) -> Result<(), Refusal> {
        self.store.admit(path).await
    }

    /// What is known of a request.
    pub async fn recall(&self, request: &RequestId) -> RequestStatus {
        self.store.recall(request).await
    }

    /// The reports of commits that were made before.
    pub fn reports(&self, committed: Vec<Committed>) -> Vec<EditReport> {
        committed.into_iter().map(super::report_of).collect()
    }

    /// Remembers the answer to a request.
    pub async fn remember(&self, request: &RequestId, answer: String) {
        self.store.remember(request, answer).await;
    }
}
