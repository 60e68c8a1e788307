//! Moves a new file over an old one in one step.

use std::io;
use std::path::Path;

/// Moves the file `fresh` to the path `real`. The access rights, attributes, creation time and
/// streams of the old file at `real` stay.
#[cfg(windows)]
pub(super) fn replace(fresh: &Path, real: &Path) -> io::Result<()> {
    use winsafe::co::REPLACEFILE;

    if !real.exists() {
        return std::fs::rename(fresh, real);
    }
    let (old, new) = (real.to_string_lossy(), fresh.to_string_lossy());
    winsafe::ReplaceFile(&old, &new, None, REPLACEFILE::default())
        .map_err(|code| io::Error::from_raw_os_error(code.raw().cast_signed()))
}

/// Moves the file `fresh` to the path `real`, with the permissions of the old file there.
#[cfg(not(windows))]
pub(super) fn replace(fresh: &Path, real: &Path) -> io::Result<()> {
    if let Ok(meta) = std::fs::metadata(real) {
        std::fs::set_permissions(fresh, meta.permissions())?;
    }
    std::fs::rename(fresh, real)
}
