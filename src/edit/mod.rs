//! From a request to a checked edit: plans, checks of their result, reports and refusals. Nothing
//! here reads or writes a disk.

mod diff;
mod error;
mod path;
mod plan;
mod report;
mod request;
mod rung;
mod spans;
mod syntax;
mod verify;

pub(crate) use diff::short_diff;
pub use error::{Attempt, Conflict, Difference, EditCode, Near, OutcomeDiff, Refusal};
pub use path::WorkPath;
pub use plan::{EditPlan, Splice};
pub use report::{
    Corrected, Durability, EditReport, Explanation, ModelUse, Verification, WriteMethod,
};
pub use request::{EditRequest, Expected};
pub use rung::{Rewrite, Rung};
pub(crate) use spans::spans_and_diff;
pub use spans::{Extent, LineShift, Span};
pub use syntax::{FormatNote, SyntaxCheck, SyntaxError, Unchecked};
pub(crate) use verify::SyntaxCheckFn;
pub use verify::{After, Rebase, VerifiedEdit};
