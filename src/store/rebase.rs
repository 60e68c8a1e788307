//! An edit for the current version of its file, and the refusals that every store shares.

use std::collections::BTreeSet;

use crate::edit::message::EMPTY_OLD;
use crate::edit::{EditCode, Refusal, VerifiedEdit, WorkPath, said};
use crate::text::{ContentHash, Snapshot};

/// The edit for the current bytes of its file (`None` if there is no file): unchanged if it was
/// made for them, else matched again.
pub fn rebase_edit(edit: VerifiedEdit, current: Option<&[u8]>) -> Result<VerifiedEdit, Refusal> {
    let changed = || conflict(edit.path(), "has changed since it was read");
    match (current, edit.base()) {
        (None, None) => Ok(edit),
        (Some(bytes), Some(base)) if ContentHash::of(bytes) == base => Ok(edit),
        (Some(_), None) => Err(already_exists(edit.path())),
        (None, Some(_)) => Err(not_found(edit.path())),
        (Some(bytes), Some(_)) => {
            let snapshot = Snapshot::decode(bytes.to_vec()).map_err(|_| changed())?;
            edit.rebase(&snapshot).unwrap_or_else(|| Err(changed()))
        }
    }
}

/// The refusal of a path without a file.
pub fn not_found(path: &WorkPath) -> Refusal {
    Refusal::new(EditCode::FileNotFound, format!("there is no file `{path}`"))
        .at(path.as_str())
        .hint(said!("To create the file, {EMPTY_OLD}."))
}

/// The refusal to create a file that exists.
pub(crate) fn already_exists(path: &WorkPath) -> Refusal {
    Refusal::new(EditCode::CreateExisting, format!("`{path}` exists already"))
        .at(path.as_str())
        .hint("Read the file and edit it instead of creating it.")
}

/// The refusal of an edit that another program has interfered with; `why` follows the path in the
/// message.
pub(super) fn conflict(path: &WorkPath, why: &str) -> Refusal {
    Refusal::new(EditCode::Conflict, format!("`{path}` {why}"))
        .at(path.as_str())
        .hint("Nothing was written. Send the same call again.")
}

/// Refuses two edits of one file in a batch: each was made for the same version, so the second
/// would take back the first.
pub fn refuse_duplicate_paths(batch: &[VerifiedEdit]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    match batch.iter().find(|edit| !seen.insert(edit.path())) {
        Some(second) => Err(duplicate_edit(second.path())),
        None => Ok(()),
    }
}

/// The refusal of a second edit of the same file in one commit.
pub(super) fn duplicate_edit(path: &WorkPath) -> Refusal {
    Refusal::new(
        EditCode::Overlap,
        format!("this commit has two edits of `{path}`, perhaps under different names"),
    )
    .at(path.as_str())
    .hint("Combine all edits of one file into one.")
}
