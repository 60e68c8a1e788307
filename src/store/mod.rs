//! Stores: where edits are committed.

mod disk;
mod memory;

pub use disk::DiskStore;
pub use memory::MemoryStore;
