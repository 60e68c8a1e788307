//! Lines addressed as `LINE#ID`, where the letters of the id are made from the
//! line's content: edits by anchor, and views that carry the anchors.
//!
//! Limits: two letters are 256 values. An id tells that a line is probably the one
//! that was read; only the snapshot id says which version was read, and with
//! it an anchor is mapped through changes elsewhere ([`line_map`]).

pub(crate) mod anchors;
pub(crate) mod line_map;
pub(crate) mod ops;
pub(crate) mod resolver;
pub(crate) mod stale;
pub mod tag;
