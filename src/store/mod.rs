//! Stores: where edits are committed.

mod carry;
mod commit;
mod confine;
mod disk;
mod feed;
mod history;
mod in_place;
mod litter;
mod lock;
mod memory;
mod metadata;
mod past;
mod protect;
mod replace;
mod settle;
mod staging;
mod state;
mod trouble;
mod undo;

pub use disk::{DiskOptions, DiskStore, Promise, quiesce};
pub use history::HistoryLimits;
pub use memory::MemoryStore;
pub use staging::{StagedFile, StagingStore};
