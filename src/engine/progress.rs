//! Tells an observer which stage a call has reached.

use std::sync::Arc;

use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, Reply};

named! {
    /// A stage of the pipeline, in the order in which a call goes through them.
    #[non_exhaustive]
    pub enum Stage {
        /// The file is being read.
        Read = "read",
        /// The text is being looked for.
        Locate = "locate",
        /// A model is being asked.
        Ask = "ask the model",
        /// The checked edit is being written.
        Write = "write",
    }
}

/// Receives each stage with its subject: a path, or the kind of question to a model.
pub(crate) type Observer = Arc<dyn Fn(Stage, &str) + Send + Sync>;

/// A corrector that tells the observer each time it is asked.
pub(super) struct ObservedCorrector {
    pub(super) inner: Arc<dyn Corrector>,
    pub(super) observer: Observer,
}

impl Corrector for ObservedCorrector {
    fn is_available(&self) -> bool {
        self.inner.is_available()
    }

    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        (self.observer)(Stage::Ask, ask.kind());
        self.inner.correct(ask, budget)
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        self.inner.rejected(ask)
    }
}
