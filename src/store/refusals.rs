//! The refusals of the disk store. Each says what happened, where, and what to do next.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::confine::OpenError;
pub(super) use super::rebase::{already_exists, conflict, not_found};
use crate::edit::{EditCode, Refusal, WorkPath};

/// The error number of the system, if the error has one.
fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw_os_error)
}

/// Whether the error has one of these error numbers.
pub(super) fn has_errno(error: &io::Error, any_of: &[Errno]) -> bool {
    errno(error).is_some_and(|errno| any_of.contains(&errno))
}

/// The refusal of a commit of several files that could not be rolled back after a crash.
pub(super) fn no_rollback(path: &WorkPath, file_count: usize, error: &io::Error) -> Refusal {
    Refusal::new(
        EditCode::WriteError,
        format!(
            "nothing was written: the state folder cannot record this commit of {file_count} files ({error}), so a crash could leave it half done"
        ),
    )
    .at(path.as_str())
    .hint("Edit one file per call, or tell the user to make the state folder (RESTITCH_STATE_DIR) writable.")
}

/// The refusal of a path that cannot be resolved to a file below the root.
pub(super) fn not_reachable(path: &WorkPath, error: &io::Error) -> Refusal {
    let why = match errno(error) {
        Some(Errno::NOENT) => return not_found(path),
        Some(Errno::XDEV) => "leads outside the root through a symbolic link",
        Some(Errno::LOOP) => "leads through a loop of symbolic links",
        Some(Errno::NOTDIR) => "uses a file as if it were a folder",
        Some(Errno::ISDIR) => "is a folder, not a file",
        Some(Errno::NAMETOOLONG) => "has a part that is too long for the file system",
        _ => return not_read(path, error),
    };
    Refusal::new(EditCode::InvalidPath, format!("`{path}` {why}"))
        .at(path.as_str())
        .hint("Give the path of a file below the root.")
}

/// The refusal of any call once the path of the root no longer leads to the folder that was opened.
pub(super) fn root_lost(root: &Path, error: &io::Error) -> Refusal {
    let root = root.display();
    let why = match errno(error) {
        Some(Errno::NOENT) => "is gone".to_owned(),
        Some(Errno::XDEV) => "now leads elsewhere".to_owned(),
        _ => format!("cannot be reached: {error}"),
    };
    Refusal::new(EditCode::InvalidPath, format!("the root {root} {why}; nothing was done"))
        .hint("Put the folder back, or start restitch again with the right root.")
}

/// What to do once the process can open no more files.
const TOO_MANY_OPEN: &str = "Too many files are open. Send fewer files in one call, or tell the user to raise the limit (ulimit -n).";

/// The refusal after a file could not be read.
pub(super) fn not_read(path: &WorkPath, error: &io::Error) -> Refusal {
    if error.kind() == io::ErrorKind::FileTooLarge {
        return Refusal::new(EditCode::TooLarge, format!("`{path}` is too large: {error}"))
            .at(path.as_str())
            .hint("Use a tool for streams, such as sed, or split the file.");
    }
    let hint = match errno(error) {
        Some(Errno::ACCESS | Errno::PERM) => {
            "Ask the user for read permission on it, and for access to its folder."
        }
        Some(Errno::MFILE | Errno::NFILE) => TOO_MANY_OPEN,
        _ => "Check the disk, then send the same call again.",
    };
    Refusal::new(EditCode::ReadError, format!("cannot read `{path}`: {error}"))
        .at(path.as_str())
        .hint(hint)
}

/// The refusal of a target that could not be opened as a regular file.
pub(super) fn not_a_file(path: &WorkPath, why: OpenError) -> Refusal {
    match why {
        OpenError::Missing => not_found(path),
        OpenError::Kind(kind) => {
            Refusal::new(EditCode::InvalidPath, format!("`{path}` is {kind}, not a regular file"))
                .at(path.as_str())
                .hint("Give the path of a regular file.")
        }
        OpenError::Moved => conflict(path, "was moved repeatedly while restitch tried to open it"),
        OpenError::Io(error) => not_reachable(path, &error),
    }
}

/// The refusal after a write that failed and left everything as it was. `doing` names the step that
/// failed.
pub(super) fn not_written(path: &WorkPath, doing: &str, error: &io::Error) -> Refusal {
    let hint = match errno(error) {
        Some(Errno::NOSPC | Errno::DQUOT) => "Free some space, then send the same call again.",
        Some(Errno::ACCESS | Errno::PERM) => {
            "Ask the user for write permission on it and on its folder."
        }
        Some(Errno::MFILE | Errno::NFILE) => TOO_MANY_OPEN,
        _ => "Remove the cause, or tell the user, then send the same call again.",
    };
    Refusal::new(
        EditCode::WriteError,
        format!("cannot write `{path}`: {doing}: {error}; the file is as it was"),
    )
    .at(path.as_str())
    .hint(hint)
}

/// The refusal of a file whose permissions do not let this user write it.
pub(super) fn read_only(path: &WorkPath) -> Refusal {
    Refusal::new(EditCode::WriteError, format!("`{path}` is write-protected; nothing was written"))
        .at(path.as_str())
        .hint("If the user wants it changed, its owner must let this user write it (chmod, chown).")
}
