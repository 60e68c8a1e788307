//! Where state is kept when nobody names a folder.

use std::env;
use std::path::PathBuf;

/// The folder for history and journals, as the environment names it: `RESTITCH_STATE_DIR`, or
/// the one of the system's rules.
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
