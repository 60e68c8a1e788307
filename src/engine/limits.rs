//! Limits of one call. A call over a limit is refused before any work is done for it, and the
//! refusal names the limit.

use crate::edit::message::OLD;
use crate::edit::{EditCode, EditRequest, Expected, Message, Refusal, VerifiedEdit, said};
use crate::text::Snapshot;

/// At most this many edits or operations in one call.
const MAX_EDITS: usize = 1_000;

/// At most this many replacements by one edit.
pub(super) const MAX_OCCURRENCES: usize = 100_000;

/// In one call, the number of edits of a file times the number of its bytes is at most this, because
/// each edit is searched for in the whole file.
pub(super) const MAX_EDIT_WORK: usize = 4 << 30;

/// The files of one call have at most this many bytes together, since all of them are in memory.
const MAX_CALL_BYTES: usize = 512 << 20;

/// Refuses a call whose files have too many bytes together. To be asked after each file, so that the
/// memory is bounded, too.
pub(crate) fn refuse_too_many_bytes(batch: &[VerifiedEdit]) -> Result<(), Refusal> {
    let bytes_of = |edit: &VerifiedEdit| edit.before().map_or(0, |before| before.bytes().len());
    if batch.iter().map(bytes_of).sum::<usize>() <= MAX_CALL_BYTES {
        return Ok(());
    }
    let mebibytes = MAX_CALL_BYTES >> 20;
    Err(too_large(
        format!(
            "the files of the call have more than {mebibytes} MiB together, which is the limit of one call"
        ),
        "Edit them in several calls.",
    ))
}

/// The refusal of a call over a limit.
fn too_large(message: impl Into<Message>, advice: &str) -> Refusal {
    Refusal::new(EditCode::TooLarge, message).hint(format!("Nothing was written. {advice}"))
}

/// Refuses a call with too many edits. `what` names them in the message.
pub(crate) fn refuse_too_many_edits(what: &str, count: usize) -> Result<(), Refusal> {
    if count <= MAX_EDITS {
        return Ok(());
    }
    Err(too_large(
        format!("the call has {count} {what}; one call may have at most {MAX_EDITS}"),
        "Send them in several calls.",
    ))
}

/// The refusal of too many edits for a file of this size.
pub(super) fn too_much_work(edits: usize, bytes: usize) -> Refusal {
    let max_edits = (MAX_EDIT_WORK / bytes.max(1)).max(1);
    too_large(
        format!(
            "the call has {edits} edits of a file of {bytes} bytes; one call may have at most {max_edits} edits of a file of that size"
        ),
        "Send them in several calls.",
    )
}

/// Refuses an edit with too many replacements to report and to undo.
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
    let occurrences = finder.find_iter(snapshot.text().as_bytes()).count();
    if occurrences <= MAX_OCCURRENCES {
        return Ok(());
    }
    Err(too_large(
        said!(
            "{OLD} occurs {occurrences} times; one edit replaces at most {MAX_OCCURRENCES} occurrences"
        ),
        "Use a stream editor for a change of that size.",
    ))
}
