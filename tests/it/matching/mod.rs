//! The readings, row by row: a file, a call, and the file that must come of it, or the
//! code of the refusal. Rows are data; each collection runs through the public library.

mod bounds;
mod forbidden;
mod guesses;
mod laws;
mod multi;
mod nearest;
mod refusals;
mod repaired;
mod rows;
mod seed_004;
mod weighing;

use restitch::edit::{EditCode, EditPlan, EditRequest, Refusal, WorkPath};
use restitch::internals::matching::{Explained, explain};
use restitch::internals::text::Snapshot;

/// The outcome of a call on a file in memory: the text after and the rung.
pub(crate) fn apply(file: &str, request: &EditRequest) -> Result<(String, String), Refusal> {
    let snapshot = Snapshot::from_text(file);
    let Explained { splices, explanation, .. } = explain(request, &snapshot)?;
    let plan = EditPlan::new(&snapshot, splices)?;
    let after = plan.text_after();
    let path = WorkPath::parse("file", std::path::Path::new("/w"))?;
    let rung = explanation.rung.to_string();
    restitch::internals::verified(path, &snapshot, plan, explanation)?;
    Ok((after, rung))
}

/// The code of a call that must be refused.
pub(crate) fn code(file: &str, request: &EditRequest) -> EditCode {
    match apply(file, request) {
        Ok((after, rung)) => panic!("applied by {rung}:\n{after}"),
        Err(refusal) => refusal.code,
    }
}
