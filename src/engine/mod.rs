//! The engine: loads files, decides what a call means, checks the result, commits it and reports.
//!
//! It combines implementations of the traits in [`crate::port`]. `Engine::builder(store)` starts an
//! engine without a model; a model and policies are added to the builder.

mod edit_file;
pub(crate) mod hashline;
mod limits;
mod lines;
mod multi_edit;
#[cfg(feature = "search")]
mod near_paths;
#[cfg(feature = "search")]
mod object_search;
mod progress;
mod read;
#[cfg(feature = "search")]
mod search;
mod syntax;
mod undo;
mod within;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument as _;

use crate::edit::{Durability, EditCode, Refusal, VerifiedEdit, WorkPath};
use crate::port::{CommitOptions, Committed, Corrector, FileStore, RequestId, Syntax};
use crate::session::Ledger;
#[cfg(feature = "search")]
use crate::store::Overlay;
use crate::store::{StagingStore, already_exists, refuse_duplicate_paths, refuse_main_checkout};
use crate::text::{Content, Encoding, NotText, Snapshot};
use crate::traces;

pub use crate::edit::EditReport;
pub(crate) use hashline::HashlineRequest;
pub(crate) use limits::{refuse_too_many_bytes, refuse_too_many_edits};
pub(crate) use progress::{Observer, Stage};
pub(crate) use syntax::SyntaxGate;
pub use syntax::SyntaxMode;

/// The options of one call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallOptions {
    /// Decide and report, but write nothing.
    pub dry_run: bool,
    /// The caller's id for this request. If the same request is sent again, the first result is the
    /// answer.
    pub request_id: Option<RequestId>,
    /// Which edit an undo without a revision undoes.
    pub undo_scope: UndoScope,
}

/// Which edit an undo without a revision undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UndoScope {
    /// The last edit in the root, by any process.
    #[default]
    Root,
    /// The last edit of this session.
    Session,
}

/// Applies edits. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    store: Arc<dyn FileStore>,
    corrector: Option<Arc<dyn Corrector>>,
    observer: Option<Observer>,
    client: Option<Arc<str>>,
    allowance: Allowance,
    pub(crate) syntax: SyntaxGate,
    staging: Option<Arc<StagingStore>>,
    ledger: Arc<Ledger>,
    encoding: Option<Encoding>,
}

/// What one call may spend on a model.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The time for all questions together.
    pub time: Duration,
    /// The number of requests, retries included.
    pub requests: u32,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { time: Duration::from_secs(40), requests: 4 }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("root", &self.store.root()).finish_non_exhaustive()
    }
}

/// Builds an [`Engine`].
#[allow(missing_debug_implementations, reason = "holds trait objects and lives for one expression")]
pub struct EngineBuilder {
    engine: Engine,
}

impl EngineBuilder {
    /// Sets the corrector, which is asked when no reading explains a call.
    #[must_use]
    pub fn corrector(mut self, corrector: impl Corrector + 'static) -> Self {
        self.engine.corrector = Some(Arc::new(corrector));
        self
    }

    /// Sets what one call may spend on a model.
    #[must_use]
    pub fn allowance(mut self, allowance: Allowance) -> Self {
        self.engine.allowance = allowance;
        self
    }

    /// Sets the parser, and what happens if an edit introduces a syntax error.
    #[must_use]
    pub fn syntax(mut self, syntax: impl Syntax + 'static, mode: SyntaxMode) -> Self {
        self.engine.syntax = SyntaxGate::new(syntax, mode);
        self
    }

    /// Builds the engine.
    pub fn build(self) -> Engine {
        self.engine
    }
}

impl Engine {
    /// Starts an engine over a store, without a model.
    pub fn builder(store: impl FileStore + 'static) -> EngineBuilder {
        EngineBuilder {
            engine: Self {
                store: Arc::new(store),
                corrector: None,
                observer: None,
                client: None,
                allowance: Allowance::default(),
                syntax: SyntaxGate::default(),
                staging: None,
                ledger: Arc::default(),
                encoding: None,
            },
        }
    }

    /// The same engine, in which a call may wait for a model at most this long.
    #[must_use]
    pub(crate) fn with_model_time_at_most(&self, time: Duration) -> Self {
        let time = self.allowance.time.min(time);
        Self { allowance: Allowance { time, ..self.allowance }, ..self.clone() }
    }

    /// The same engine, which reports each stage to `observer`, too.
    #[must_use]
    pub(crate) fn with_observer(&self, observer: Observer) -> Self {
        let observer: Observer = match self.observer.clone() {
            None => observer,
            Some(first) => Arc::new(move |stage, subject| {
                first(stage, subject);
                observer(stage, subject);
            }),
        };
        Self { observer: Some(observer), ..self.clone() }
    }

    /// The same engine, called by this client.
    #[must_use]
    pub(crate) fn for_client(&self, client: &str) -> Self {
        Self { client: Some(client.into()), ..self.clone() }
    }

    /// The same engine, which decodes every file in this encoding.
    #[must_use]
    pub(crate) fn with_encoding(&self, encoding: Encoding) -> Self {
        Self { encoding: Some(encoding), ..self.clone() }
    }

    /// The same engine over a staging store: edits stay in memory until they are committed
    /// together.
    #[must_use]
    pub fn staged(&self) -> Self {
        let staging = Arc::new(StagingStore::over(self.store.clone()));
        Self { store: staging.clone(), staging: Some(staging), ..self.clone() }
    }

    /// The staging store, if there is one.
    pub fn staging(&self) -> Option<&Arc<StagingStore>> {
        self.staging.as_ref()
    }

    /// The same engine with a ledger of its own, for a new session.
    #[must_use]
    pub fn session(&self) -> Self {
        Self { ledger: Arc::default(), ..self.clone() }
    }

    /// The record of what this session was shown and wrote.
    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// The same engine with a ledger that several callers share.
    #[cfg(feature = "mcp")]
    pub(crate) fn shared_session(&self) -> Self {
        Self { ledger: Arc::new(Ledger::shared()), ..self.clone() }
    }

    /// Tells the observer, if there is one, which stage a call has reached.
    fn report_stage(&self, stage: Stage, subject: &str) {
        if let Some(observer) = &self.observer {
            observer(stage, subject);
        }
    }

    /// The root of the store.
    pub fn root(&self) -> &Path {
        self.store.root()
    }

    /// Whether the root is a folder of this machine.
    pub(crate) fn has_folder(&self) -> bool {
        self.store.is_folder()
    }

    /// Whether the files can be listed and searched.
    pub(crate) fn can_list(&self) -> bool {
        self.store.is_folder() || self.store.lister().is_some()
    }

    /// The staged files, which code that walks or lists the root must take into account.
    #[cfg(feature = "search")]
    fn overlay(&self) -> Overlay {
        self.staging.as_ref().map(|staging| staging.overlay()).unwrap_or_default()
    }

    /// Parses a path that a caller gave for a file.
    pub fn path(&self, raw: &str) -> Result<WorkPath, Refusal> {
        if raw.ends_with('/') && Path::new(raw).file_name().is_some() {
            let why =
                format!("path `{}` ends with a slash, so it is a folder's", raw.escape_debug());
            return Err(Refusal::new(EditCode::InvalidPath, why)
                .at(raw)
                .hint("Give the path of the file, without a slash at its end."));
        }
        WorkPath::of_caller(raw, self.store.root())
            .map_err(|refusal| self.refuse_main_checkout(raw).unwrap_or(refusal))
    }

    /// The refusal of a path to a file of the main checkout, if the root is in a worktree.
    pub(crate) fn refuse_main_checkout(&self, raw: &str) -> Option<Refusal> {
        self.store.is_folder().then(|| refuse_main_checkout(raw, self.store.root()))?
    }

    /// Loads a file as text.
    pub async fn snapshot(&self, path: &WorkPath) -> Result<Snapshot, Refusal> {
        self.report_stage(Stage::Read, path.as_str());
        let bytes = {
            // So the session has recorded each of its commits that the loaded file contains.
            let _writing = self.ledger.lock_writes().await;
            self.store.load(path).await?
        };
        self.report_stage(Stage::Locate, path.as_str());
        let decoded = match self.encoding {
            Some(encoding) => Snapshot::decode_as(bytes, encoding),
            None => Snapshot::decode(bytes),
        };
        let decoded = decoded.inspect(|snapshot| {
            // In most cases it is the version that the last call has written or shown.
            if let Some(known) = self.ledger.last_version(path) {
                snapshot.learn_from(&known);
            }
        });
        decoded.map_err(|why| {
            let hint = match why {
                NotText::WrongEncoding(_) => "Give another `encoding`, or leave it out.",
                _ => {
                    "restitch reads and edits only text. If this is UTF-16 without a mark, give `encoding`: utf-16le or utf-16be; else use another tool."
                }
            };
            Refusal::new(EditCode::NotText, format!("`{path}` is not text: {why}"))
                .at(path.as_str())
                .hint(hint)
        })
    }

    /// Commits checked edits, all or none, and returns a report of each. With `dry_run`, nothing is
    /// written.
    pub async fn commit(
        &self,
        batch: Vec<VerifiedEdit>,
        options: &CallOptions,
    ) -> Result<Vec<EditReport>, Refusal> {
        refuse_duplicate_paths(&batch)?;
        if options.dry_run {
            // What a commit finds out when it writes.
            for edit in &batch {
                self.store.admit(edit.path()).await?;
                if edit.base().is_none() {
                    self.refuse_existing(edit.path()).await?;
                }
            }
        }
        refuse_too_many_bytes(&batch)?;
        let batch: Vec<_> =
            batch.into_iter().map(|edit| self.syntax.with_syntax_check(edit)).collect();
        if options.dry_run {
            return Ok(batch.iter().map(EditReport::new).collect());
        }
        for edit in &batch {
            self.report_stage(Stage::Write, edit.path().as_str());
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // The reports, and the syntax checks for them, are made on another thread: the commit needs
            // neither, and waits for the disk meanwhile.
            let edits = batch.clone();
            runtime.spawn_blocking(move || {
                for edit in &edits {
                    // First the hash, which the history needs before the disk is waited for.
                    drop((edit.after().map(Content::hash), EditReport::new(edit)));
                }
            });
            // If the caller has cancelled the call, it ends here, before anything is written.
            tokio::task::yield_now().await;
        }
        let commit =
            CommitOptions { request_id: options.request_id.clone(), client: self.client.clone() };
        let _writing = self.ledger.lock_writes().await;
        let span = traces::commit(batch.len());
        let committed = self.store.commit(batch, commit).instrument(span.clone()).await;
        traces::record_result(&span, &committed);
        let committed = committed?;
        Ok(committed.into_iter().map(|committed| self.record_commit(committed)).collect())
    }

    /// Commits one checked edit.
    pub(crate) async fn commit_one(
        &self,
        edit: VerifiedEdit,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        Ok(self.commit(vec![edit], options).await?.remove(0))
    }

    /// Refuses to create a file that exists.
    pub(crate) async fn refuse_existing(&self, path: &WorkPath) -> Result<(), Refusal> {
        match self.store.load(path).await {
            Err(refusal) if refusal.code == EditCode::FileNotFound => Ok(()),
            Err(refusal) => Err(refusal),
            Ok(_) => Err(already_exists(path)),
        }
    }

    /// Records a commit in the session, and returns its report.
    fn record_commit(&self, committed: Committed) -> EditReport {
        let edit = committed.edit.clone();
        let report = report_of(committed);
        if report.durability != Durability::DryRun {
            self.record_edit(&edit, &report);
        }
        if let Some(revision) = report.revision {
            self.ledger.record_commit(revision);
        }
        report
    }

    /// Records the new version of a file in the session.
    fn record_edit(&self, edit: &VerifiedEdit, report: &EditReport) {
        match edit.after().and_then(Content::snapshot) {
            Some(after) => {
                self.ledger.record_edit(edit.path(), edit.before(), &after, &report.spans);
            }
            None => self.ledger.forget(edit.path()),
        }
    }
}

/// The report of a committed edit.
fn report_of(committed: Committed) -> EditReport {
    let mut report = EditReport::new(&committed.edit);
    report.durability = committed.durability;
    if !matches!(committed.durability, Durability::DryRun | Durability::Staged) {
        report.revision = committed.revision;
        report.write_method = Some(committed.method);
    }
    report.explanation.warnings.extend(committed.warnings);
    report
}
