//! From a request to a checked edit: plans, checks of their result, reports and refusals. Nothing
//! here reads or writes a disk.

mod diff;
mod error;
pub(crate) mod message;
mod path;
mod plan;
mod report;
mod request;
mod rung;
mod spans;
mod syntax;
mod verify;

pub(crate) use diff::{file_diff, short_diff, spans_and_diff};
pub use error::{AskKind, AttemptOutcome, EditCode, Refusal};
pub(crate) use error::{Attempt, Conflict, Difference, Kept, ModelUse, Near, OutcomeDiff};
pub use message::Message;
pub(crate) use message::said;
pub use path::WorkPath;
pub(crate) use path::path_of_uri;
pub(crate) use plan::apply_splices;
pub use plan::{EditPlan, Splice};
pub use report::{Corrected, Durability, EditReport, Explanation, Verification, WriteMethod};
pub use request::{EditRequest, Expected};
pub use rung::{Rewrite, Rung};
pub use spans::{Extent, Span};
pub use syntax::{SyntaxCheck, SyntaxError, Unchecked};
pub(crate) use verify::Rebase;
pub(crate) use verify::SyntaxCheckFn;
pub use verify::VerifiedEdit;
