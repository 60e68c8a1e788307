//! Internals that the tests and benchmarks of this repository use in addition to the API. Nothing
//! here is stable.

#[cfg(feature = "cli")]
pub use crate::harness::{mine, suite};
pub use crate::hashline::tag;
pub use crate::patch::Patch;
pub use crate::reading::read;

use crate::edit::{After, EditPlan, Explanation, Refusal, VerifiedEdit, WorkPath};
use crate::text::Snapshot;

pub mod resolve {
    //! The pure resolution of one call.

    pub use crate::resolve::{
        Adjust, AnswerVerdict, Choice, Model, Policy, Reapply, Resolution, Step,
    };
}

/// An edit that passed the checks.
pub fn verified(
    path: WorkPath,
    before: &Snapshot,
    plan: EditPlan,
    explanation: Explanation,
) -> Result<VerifiedEdit, Refusal> {
    VerifiedEdit::new(path, before, plan, explanation)
}

/// A file with exactly these bytes in the place of another, unchecked.
pub fn restored(
    path: WorkPath,
    before: Option<Snapshot>,
    after: After,
    explanation: Explanation,
) -> VerifiedEdit {
    VerifiedEdit::restore(path, before, after, explanation)
}

/// Which of these paths the rules of an ignore file, in the folder above, leave out.
#[cfg(feature = "search")]
pub fn ignored_paths<'a>(rules: &str, paths: &[&'a str]) -> Vec<&'a str> {
    crate::search::ignored_paths(rules, paths)
}

/// The numbers of the commits that a log of the history tells of.
#[cfg(unix)]
pub fn revisions_in(log: &[u8]) -> Vec<u64> {
    crate::store::revisions_in(log)
}

/// The version before and the version after that a journal of a write in place holds.
#[cfg(unix)]
pub fn journal_versions(journal: &[u8]) -> std::io::Result<(&[u8], &[u8])> {
    crate::store::journal_versions(journal)
}
