//! Lines addressed as `LINE#ID`, where the letters of the id are made from the
//! line's content: edits by anchor, and views that carry the anchors.
//!
//! Limits: two letters are 256 values. An id tells that a line is probably the one
//! that was read; which version was read is told by the snapshot id alone, and with
//! it an anchor is carried forward through changes elsewhere ([`carry`]).

pub(crate) mod anchors;
pub(crate) mod carry;
pub(crate) mod ops;
pub(crate) mod resolve;
pub(crate) mod stale;
pub mod tag;
