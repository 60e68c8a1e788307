//! Ports: small traits for everything that the engine needs from outside, such as stores and
//! models.

mod chat;
mod corrector;
mod formatter;
mod store;
mod syntax;
mod versioned;

use std::future::Future;
use std::pin::Pin;

pub use chat::{ChatError, ChatModel, ChatReply, ChatRequest};
pub use corrector::{Ask, Budget, Corrector, CorrectorError, Location, NoCorrector, Reply, Window};
pub use formatter::{Formatted, Formatter, NoFormatter};
pub use store::{
    Change, CommitOptions, Committed, FileStore, ListedObject, Listing, Overlay, RequestId,
    RequestStatus, Revision, RevisionFile, UndoMode, Undone,
};
pub(crate) use store::{duplicate_edit, refuse_duplicate_paths};
pub use syntax::{Definition, NoSyntax, Syntax};
pub use versioned::{LoadedFile, StoreOutcome, VersionedFiles};

/// A boxed future, so that the traits stay usable as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
