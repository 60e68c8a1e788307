//! The regression harness: takes real edits, puts known mistakes into them, replays them and
//! counts the results.
//!
//! A [`case`] is a call together with its right result. [`edits`] finds real edits between two
//! versions of a package, and [`mutate`] makes cases of them. [`judge`] replays a case through the
//! engine in memory. [`score`] counts right, refused, **silently wrong** and failed. A [`suite`] is
//! a collection that a team keeps: cases in folders ([`fixture`]) and in packs ([`pack`]), compared
//! with a [`baseline`].

pub(crate) mod baseline;
pub(crate) mod case;
pub(crate) mod ci;
pub(crate) mod compare;
pub(crate) mod corpus;
pub(crate) mod edits;
pub(crate) mod fixture;
pub(crate) mod judge;
pub(crate) mod measure;
pub mod mine;
pub(crate) mod mutate;
pub(crate) mod pack;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod rng;
pub(crate) mod score;
pub mod suite;
