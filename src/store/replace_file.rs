//! A fresh file takes the place of an old one, in one step.

use std::io;
use std::path::Path;

/// Puts `fresh` where `real` is. What is not content stays the old file's: on Windows its
/// access rights, attributes, creation time and streams.
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

/// Puts `fresh` where `real` is, with the permissions that stood there.
#[cfg(not(windows))]
pub(super) fn replace(fresh: &Path, real: &Path) -> io::Result<()> {
    if let Ok(meta) = std::fs::metadata(real) {
        std::fs::set_permissions(fresh, meta.permissions())?;
    }
    std::fs::rename(fresh, real)
}
