//! From a request to a checked edit: plans over original offsets, postconditions,
//! reports and refusals. Pure; the disk is elsewhere.

mod diff;
mod error;
mod path;
mod plan;
mod report;
mod request;
mod verify;

pub use error::{Attempt, Difference, EditCode, Near, Refusal};
pub use path::WorkPath;
pub use plan::{EditPlan, Splice};
pub use report::{
    Corrected, Durability, EditReport, Explanation, Extent, LineShift, ModelUse, Span,
    Verification, WriteMethod,
};
pub use request::{EditRequest, Expected};
pub use verify::{After, Rebase, VerifiedEdit};
