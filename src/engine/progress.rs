//! Tells an observer which stage a call has reached.

use std::sync::Arc;

named! {
    /// A stage of the pipeline, in the order in which a call goes through them.
    #[non_exhaustive]
    pub(crate) enum Stage {
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
