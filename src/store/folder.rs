//! The default state folder, and paths as callers write them.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(feature = "llm")]
use std::time::Duration;

/// The folder for history and journals: `RESTITCH_STATE_DIR`, or else `restitch` in the folder
/// that the system reserves for such data. `None` if no environment variable names one.
pub fn state_folder() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = folder("RESTITCH_STATE_DIR");
    if cfg!(windows) {
        return named.or_else(|| folder("LOCALAPPDATA").map(|data| data.join("restitch")));
    }
    named
        .or_else(|| folder("XDG_STATE_HOME").map(|state| state.join("restitch")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/state/restitch")))
}

/// The path with its links resolved, in the form that callers write: without the prefix `\\?\` of
/// Windows.
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    Ok(if cfg!(windows) { without_verbatim_prefix(&path) } else { path })
}

/// The path without the prefix `\\?\` of Windows.
fn without_verbatim_prefix(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    match text.strip_prefix(r"\\?\") {
        Some(rest) => match rest.strip_prefix(r"UNC\") {
            Some(share) => PathBuf::from(format!(r"\\{share}")),
            None => PathBuf::from(rest),
        },
        None => path.to_owned(),
    }
}

/// The reason that messages give when [`state_folder`] returns `None`.
#[cfg(feature = "cli")]
pub(crate) const NO_STATE_FOLDER: &str =
    "there is no state folder, since none of RESTITCH_STATE_DIR, XDG_STATE_HOME and HOME is set";

/// The folder from [`state_folder`], created if it is missing; an error if there is none, if other
/// users can access its content, or if it is not writable.
#[cfg(feature = "cli")]
pub(crate) fn usable_state_folder() -> Result<PathBuf, String> {
    let folder = state_folder().ok_or(NO_STATE_FOLDER)?;
    check_usable(&folder).map_err(|error| {
        format!("the state folder {} cannot be used ({error})", folder.display())
    })?;
    Ok(folder)
}

/// Creates the folder if it is missing; an error if other users can access its content, or if it is
/// not writable.
#[cfg(all(feature = "llm", unix))]
pub(crate) fn check_usable(folder: &Path) -> io::Result<()> {
    let state = super::state::StateFolder::open(folder)?;
    rustix::fs::access(state.path(), rustix::fs::Access::WRITE_OK)?;
    Ok(())
}

#[cfg(all(feature = "llm", not(unix)))]
pub(crate) fn check_usable(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    tempfile::NamedTempFile::new_in(folder).map(drop)
}

/// Writes a value as JSON to a file, whole or not at all, and creates its folder if it is missing.
#[cfg(feature = "llm")]
pub(crate) fn write_json(file: &Path, value: &impl serde::Serialize) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let temp = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&temp, value)?;
    temp.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Deletes the files in a folder that have not been written for so long.
#[cfg(feature = "llm")]
pub(crate) fn delete_older(folder: &Path, max_age: Duration) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if age.is_some_and(|age| age > max_age) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_paths_are_as_callers_write_them() {
        for (canonical, written) in [
            (r"\\?\C:\work", r"C:\work"),
            (r"\\?\UNC\host\share\a", r"\\host\share\a"),
            ("/w", "/w"),
        ] {
            assert_eq!(without_verbatim_prefix(Path::new(canonical)), Path::new(written));
        }
    }
}
