//! Lines addressed as `LINE#ID`, where the letters of the id are made from the
//! line's content: edits by anchor, and views that carry the anchors.
//!
//! Limits: two letters are 256 values. An id tells that a line is probably the one
//! that was read; which version was read is told by the snapshot id alone, and with
//! it an anchor is carried forward through changes elsewhere ([`carry`]).

pub mod anchors;
pub mod carry;
pub mod ops;
mod repair;
pub mod resolve;
pub mod stale;
pub mod tag;

use crate::line_edit::LineChange;
use crate::text::Snapshot;

/// Drops copied line prefixes from a change by number, where that is proven.
pub(crate) fn prefixes(name: &str, change: &mut LineChange, file: &Snapshot) -> repair::Notes {
    let mut notes = repair::Notes::default();
    repair::carriage_returns(name, &mut change.lines, &mut notes);
    repair::prefixes(name, change.span, &mut change.lines, file, &mut notes);
    notes
}
