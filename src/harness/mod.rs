//! The regression harness: replays calls and counts the results.
//!
//! A [`case`] is a call together with its right result. [`mine`] makes cases of the failed edits in
//! agents' transcripts, and the workspace member `evidence` makes them of real edits with known
//! mistakes. [`judge`] replays a case through the engine in memory. [`score`] counts right, refused,
//! **silently wrong** and failed. A [`suite`] is a collection that a team keeps: cases in folders
//! ([`fixture`]) and in packs ([`pack`]).

pub(crate) mod case;
pub(crate) mod fixture;
pub(crate) mod judge;
pub mod mine;
pub mod pack;
mod parallel;
pub mod replay;
mod replies;
pub(crate) mod report;
pub(crate) mod score;
pub(crate) mod suite;

pub use parallel::parallel;
