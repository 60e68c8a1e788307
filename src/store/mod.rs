//! Stores: where edits are committed.
//!
//! The disk store needs Unix; the stores in memory work everywhere.

#[cfg(unix)]
mod carry;
#[cfg(unix)]
mod commit;
#[cfg(unix)]
mod confine;
#[cfg(unix)]
mod disk;
#[cfg(unix)]
mod feed;
#[cfg(unix)]
mod history;
#[cfg(unix)]
mod in_place;
#[cfg(unix)]
mod lease;
#[cfg(unix)]
mod limits;
mod litter;
#[cfg(unix)]
mod lock;
mod memory;
#[cfg(unix)]
mod metadata;
#[cfg(unix)]
mod past;
#[cfg(unix)]
mod protect;
#[cfg(unix)]
mod replace;
#[cfg(unix)]
mod settle;
mod staging;
#[cfg(unix)]
mod state;
#[cfg(unix)]
mod trouble;
#[cfg(unix)]
mod undo;

#[cfg(unix)]
pub use disk::{DiskOptions, DiskStore, Promise, quiesce};
#[cfg(unix)]
pub use history::HistoryLimits;
pub use memory::MemoryStore;
pub use staging::{StagedFile, StagingStore};
