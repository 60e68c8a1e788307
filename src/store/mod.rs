//! Stores: they load files and commit edits to them.
//!
//! On Unix the disk store is `disk`; on other systems it is `portable`, which promises less. The
//! other stores work on every system: `memory`, `staging`, and `versioned` for the caller's own
//! files.

pub(crate) mod change_feed;
#[cfg(unix)]
mod commit;
mod commits;
#[cfg(unix)]
mod confine;
#[cfg(unix)]
mod disk;
#[cfg(unix)]
mod finish;
mod folder;
#[cfg(unix)]
mod history;
#[cfg(unix)]
mod in_place;
#[cfg(unix)]
mod kernel;
#[cfg(unix)]
mod lock;
#[cfg(unix)]
mod log;
mod memory;
#[cfg(unix)]
mod metadata;
mod options;
#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(dead_code, unreachable_pub, reason = "on Unix only its tests are built"))]
mod portable;
pub(crate) mod protect;
#[cfg(unix)]
mod prune;
pub(crate) mod rebase;
pub(crate) mod record;
#[cfg(unix)]
mod refusals;
#[cfg(unix)]
mod replace;
#[cfg(any(not(unix), test))]
mod replace_file;
mod revert;
mod staging;
#[cfg(unix)]
mod state;
#[cfg(unix)]
mod temp_files;
pub(crate) mod timeline;
#[cfg(unix)]
mod undo;
pub(crate) mod versioned;
#[cfg(unix)]
mod watch;
mod worktree;
#[cfg(unix)]
mod write;

#[cfg(all(unix, feature = "search"))]
pub(crate) use confine::Reader;
#[cfg(unix)]
pub use disk::DiskStore;
#[cfg(all(unix, feature = "cli"))]
pub(crate) use disk::quiesce;
pub use folder::state_folder;
#[cfg(feature = "cli")]
pub(crate) use folder::{NO_STATE_FOLDER, canonical, usable_state_folder};
#[cfg(feature = "llm")]
pub(crate) use folder::{check_usable, delete_older, write_json};
pub use memory::{MemoryFiles, MemoryStore};
pub use options::{DiskOptions, SyncMode};
#[cfg(not(unix))]
pub use portable::DiskStore;
pub(crate) use rebase::{already_exists, refuse_duplicate_paths};
#[cfg(feature = "search")]
pub(crate) use staging::Overlay;
pub(crate) use staging::StagingStore;
pub use versioned::VersionedStore;
#[cfg(feature = "cli")]
pub(crate) use worktree::Worktree;
pub(crate) use worktree::refuse_main_checkout;
