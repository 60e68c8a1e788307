//! The regression harness: real edits spoiled in known ways, replayed and counted.
//!
//! A [`case`] knows its truth. [`edits`] finds real edits between two versions of a
//! package, [`spoil`] makes cases of them, [`judge`] replays a case through the engine in
//! memory, [`score`] counts right, refused, **silently wrong** and failed.

pub mod case;
pub mod edits;
pub mod judge;
pub mod language;
pub mod material;
pub mod measure;
pub mod rng;
pub mod score;
pub mod spoil;
