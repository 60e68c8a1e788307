//! How the store over a folder works, the same on every system.

use std::path::PathBuf;
use std::time::Duration;

/// What a finished commit promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// It survives a power cut: file and folder are synced.
    #[default]
    Durable,
    /// It is atomic, and written back when the system likes. Faster.
    Rename,
}

/// How much history is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// At most this many bytes, over all roots of the state folder; the newest commit of
    /// the root that is written to always stays.
    pub bytes: u64,
    /// A commit is deleted when it is older than this, and commits were made on at least as many
    /// later days: so a clock that jumps ahead deletes nothing.
    pub age: Duration,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { bytes: 512 << 20, age: Duration::from_secs(30 * 24 * 3600) }
    }
}

/// How a [`super::DiskStore`] works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskOptions {
    /// Folder for history and journals. Without one nothing can be undone.
    pub state: Option<PathBuf>,
    /// Why there is no state folder, where that is not the caller's wish: said with edits.
    pub no_state_reason: Option<String>,
    /// What a finished commit promises.
    pub sync_mode: SyncMode,
    /// Protected paths, relative to the root, that may be written all the same; a folder
    /// stands for everything in it.
    pub allow_protected: Vec<String>,
    /// Larger files are refused.
    pub max_bytes: u64,
    /// How long to wait for another writer.
    pub lock_wait: Duration,
    /// How much history is kept.
    pub history: HistoryLimits,
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
            history: HistoryLimits::default(),
        }
    }
}
