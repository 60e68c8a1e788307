//! Edits by anchors such as `12#VK`, where the letters are a short hash of the line's content.
//!
//! Limits: two letters have 256 values, so a matching id means only that the line is probably the one
//! that was read. The snapshot id says which version was read; with it, an anchor is mapped across
//! changes elsewhere in the file ([`line_map`]).

pub(crate) mod anchors;
pub(crate) mod line_map;
pub(crate) mod numbering;
pub(crate) mod ops;
pub(crate) mod resolver;
pub(crate) mod stale;
