//! Finding the mistake: which mechanical reading of a call explains it.

use crate::edit::{EditCode, EditRequest, Explanation, Refusal, Splice};
use crate::text::Snapshot;

/// An explained call: where it applies and what is written there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The replacements, in text offsets of the snapshot.
    pub splices: Vec<Splice>,
    /// How the call was understood.
    pub explanation: Explanation,
}

/// Explains a call against a file, or says why it cannot be.
pub fn explain(request: &EditRequest, snapshot: &Snapshot) -> Result<Explained, Refusal> {
    let found: Vec<usize> = snapshot.text().match_indices(&request.old).map(|(at, _)| at).collect();
    match found[..] {
        [at] => Ok(Explained {
            splices: vec![Splice { range: at..at + request.old.len(), text: request.new.clone() }],
            explanation: Explanation::plain("exact"),
        }),
        [] => Err(Refusal::new(EditCode::NoOccurrence, "old_str is not in the file")),
        _ => Err(Refusal::new(EditCode::OccurrenceMismatch, "old_str is there more than once")),
    }
}
