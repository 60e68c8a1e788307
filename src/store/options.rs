//! The options of the store over a folder, the same on every system.

use std::path::PathBuf;
use std::time::Duration;

#[cfg(unix)]
use crate::edit::Durability;

named! {
    /// What a finished commit promises.
    #[derive(Default)]
    pub enum SyncMode {
        /// It survives a power cut: file and folder are synced.
        #[default]
        Durable = "durable",
        /// The file is replaced atomically, but the system decides when it reaches the disk. Faster.
        Rename = "rename",
    }
}

impl SyncMode {
    /// How safely a commit in this mode is on the disk.
    #[cfg(unix)]
    pub(super) fn durability(self) -> Durability {
        match self {
            Self::Durable => Durability::Durable,
            Self::Rename => Durability::Unknown,
        }
    }
}

/// The options of a [`super::DiskStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskOptions {
    /// Folder for history and journals. Without one nothing can be undone.
    pub state: Option<PathBuf>,
    /// Why there is no state folder, if the caller wanted one. Edits carry it as a warning.
    pub no_state_reason: Option<String>,
    /// What a finished commit promises.
    pub sync_mode: SyncMode,
    /// Protected paths, relative to the root, that edits may write nevertheless; a folder stands
    /// for everything in it.
    pub allow_protected: Vec<String>,
    /// Files with more bytes than this are refused.
    pub max_bytes: u64,
    /// How long to wait for another writer.
    pub lock_wait: Duration,
    /// How many bytes of history are kept, over all roots of the state folder; the newest commit of
    /// the root that is written to always stays.
    pub history_bytes: u64,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            state: None,
            no_state_reason: None,
            sync_mode: SyncMode::Durable,
            allow_protected: Vec::new(),
            max_bytes: 256 << 20,
            lock_wait: Duration::from_secs(30),
            history_bytes: 512 << 20,
        }
    }
}
