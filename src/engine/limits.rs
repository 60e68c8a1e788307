//! How much one call may ask for. A call over a limit is refused by the limit's name, before
//! any work is done for it.

use crate::edit::{EditCode, EditRequest, Expected, Refusal};
use crate::text::Snapshot;

/// Edits or operations in one call.
pub(super) const MOST_EDITS: usize = 1_000;

/// Places that one edit changes.
pub(super) const MOST_PLACES: usize = 100_000;

/// The refusal of too much of something.
pub(super) fn too_many(what: &str, count: usize, most: usize) -> Refusal {
    Refusal::new(
        EditCode::TooLarge,
        format!("the call has {count} {what}; at most {most} are taken in one call"),
    )
    .hint("Nothing was written. Send them in several calls.")
}

/// Refuses an edit of more places than are reported and undone with sense.
pub(super) fn admit_places(request: &EditRequest, snapshot: &Snapshot) -> Result<(), Refusal> {
    let may_be_many = match request.expected {
        Expected::All => true,
        Expected::Exactly(count) => count.get() > MOST_PLACES,
    };
    if !may_be_many || request.old.is_empty() {
        return Ok(());
    }
    let finder = memchr::memmem::Finder::new(request.old.as_bytes());
    let places = finder.find_iter(snapshot.text().as_bytes()).count();
    if places <= MOST_PLACES {
        return Ok(());
    }
    Err(Refusal::new(
        EditCode::TooLarge,
        format!(
            "old_str occurs {places} times; at most {MOST_PLACES} places are changed by one edit"
        ),
    )
    .hint("Nothing was written. Use a stream editor for a change of that size."))
}
