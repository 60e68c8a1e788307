//! How much one call may ask for. A call over a limit is refused by the limit's name, before
//! any work is done for it.

use crate::edit::{EditCode, EditRequest, Expected, Refusal};
use crate::text::Snapshot;

/// Edits or operations in one call.
const MAX_EDITS: usize = 1_000;

/// Places that one edit changes.
pub(super) const MAX_OCCURRENCES: usize = 100_000;

/// Edits of one file in one call, times the bytes of that file: each is looked for in all of it.
pub(super) const MAX_EDIT_WORK: usize = 4 << 30;

/// Refuses a call of more edits than one may have.
pub(crate) fn refuse_too_many_edits(what: &str, count: usize) -> Result<(), Refusal> {
    if count <= MAX_EDITS {
        return Ok(());
    }
    Err(Refusal::new(
        EditCode::TooLarge,
        format!("the call has {count} {what}; at most {MAX_EDITS} are taken in one call"),
    )
    .hint("Nothing was written. Send them in several calls."))
}

/// The refusal of many edits of a large file.
pub(super) fn too_much_work(edits: usize, bytes: usize) -> Refusal {
    let most = (MAX_EDIT_WORK / bytes.max(1)).max(1);
    Refusal::new(
        EditCode::TooLarge,
        format!("the call has {edits} edits of a file of {bytes} bytes; at most {most} edits of a file of that size are taken in one call"),
    )
    .hint("Nothing was written. Send them in several calls.")
}

/// Refuses an edit of more places than can sensibly be reported and undone.
pub(super) fn refuse_too_many_occurrences(
    request: &EditRequest,
    snapshot: &Snapshot,
) -> Result<(), Refusal> {
    let may_be_many = match request.expected {
        Expected::All => true,
        Expected::Exactly(count) => count.get() > MAX_OCCURRENCES,
    };
    if !may_be_many || request.old.is_empty() {
        return Ok(());
    }
    let finder = memchr::memmem::Finder::new(request.old.as_bytes());
    let places = finder.find_iter(snapshot.text().as_bytes()).count();
    if places <= MAX_OCCURRENCES {
        return Ok(());
    }
    Err(Refusal::new(
        EditCode::TooLarge,
        format!(
            "old_str occurs {places} times; at most {MAX_OCCURRENCES} places are changed by one edit"
        ),
    )
    .hint("Nothing was written. Use a stream editor for a change of that size."))
}
