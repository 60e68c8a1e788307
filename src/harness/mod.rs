//! The regression harness: real edits spoiled in known ways, replayed and counted.
//!
//! A [`case`] knows its truth. [`edits`] finds real edits between two versions of a
//! package, [`spoil`] makes cases of them, [`judge`] replays a case through the engine in
//! memory, [`score`] counts right, refused, **silently wrong** and failed. A [`suite`] is what
//! a team keeps: cases in folders ([`fixture`]) and in packs ([`pack`]), against a [`baseline`].

pub mod baseline;
pub mod case;
pub mod ci;
pub mod compare;
pub mod edits;
pub mod figures;
pub mod fixture;
pub mod judge;
pub mod material;
pub mod measure;
pub mod mine;
pub mod pack;
pub mod replay;
pub mod report;
pub mod rng;
pub mod score;
pub mod spoil;
pub mod suite;
