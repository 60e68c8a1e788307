//! Ports: small traits for everything that the engine needs from outside, such as stores and
//! models.

mod chat;
mod corrector;
mod store;
mod syntax;
mod versioned;

use std::future::Future;
use std::pin::Pin;

pub use crate::edit::{Durability, VerifiedEdit, WorkPath, WriteMethod};
pub use crate::text::{ContentHash, Snapshot};
pub use chat::{ChatError, ChatModel, ChatReply, ChatRequest};
pub use corrector::Budget;
#[doc(hidden)]
pub use corrector::{
    Ask, Corrector, CorrectorError, FutureReply, Location, Question, Reply, Window,
};
pub(crate) use store::no_history;
pub use store::{
    Change, CommitOptions, Committed, FileStore, History, ListedObject, Lister, Listing, RequestId,
    RequestStatus, Revision, RevisionFile, UndoMode, Undone,
};
pub(crate) use syntax::NoSyntax;
#[doc(hidden)]
pub use syntax::{Definition, Syntax};
pub use versioned::{LoadedFile, StoreOutcome, VersionedFiles};

/// A boxed future, so that the traits stay usable as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
