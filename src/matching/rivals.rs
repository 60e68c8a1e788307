//! What competes with the cheapest explanation of a call: other results that are hardly dearer, and places
//! that may be the one that was quoted.

use std::collections::HashSet;

use super::costs::{Difference, LOOSE_MARGIN, MARGIN, PLAIN_SHARE};
use super::exact::NEAR;
use super::explain::Explanation;
use super::nearest::overlap;
use super::weigh::letters;

/// The cost below which something competes with an explanation.
pub(super) fn limit(best: &Explanation) -> f64 {
    best.cost + if best.is_loose { LOOSE_MARGIN } else { MARGIN }
}

/// Whether an explanation is a rival of the best one.
pub(super) fn is_rival(best: &Explanation, e: &Explanation) -> bool {
    // Results at the same place differ in what is written there, not in what was quoted.
    let limit = if overlap(&e.lines, &best.lines) { best.cost + MARGIN } else { limit(best) };
    // Only what the call changes has changed since where copied numbers name it.
    let has_kept = || {
        let new: HashSet<&str> = e.reading.new.lines().collect();
        let kept = letters(e.reading.old.lines().filter(|line| new.contains(line)));
        e.share * letters(e.reading.old.lines()) >= kept
    };
    let has_changed = || e.splice.is_none() && !overlap(&e.lines, &best.lines) && has_kept();
    e.cost < limit || stands_elsewhere(best, e) || has_changed() && is_numbered(best, e)
}

/// What stands elsewhere as it was quoted, but for what has changed since, is likelier than a twin that has
/// fewer lines so.
pub(super) fn stands_elsewhere(best: &Explanation, e: &Explanation) -> bool {
    e.as_quoted > best.as_quoted && e.as_quoted >= PLAIN_SHARE && !overlap(&e.lines, &best.lines)
}

/// Whether copied line numbers name a place that is not as it was quoted, and not the best one.
fn is_numbered(best: &Explanation, e: &Explanation) -> bool {
    let Some(named) = best.reading.first_line.and_then(|line| line.checked_sub(1)) else {
        return false;
    };
    let is_near = named.saturating_add(NEAR) >= e.lines.start && named < e.lines.end + NEAR;
    let distance = |e: &Explanation| e.lines.start.abs_diff(named);
    named != best.lines.start
        && (e.lines.contains(&named) || is_near && distance(e) < distance(best))
}

/// Whether the best explanation has to fear a conflict of which little is as quoted.
pub(super) fn fears(best: &Explanation, faint: &Explanation) -> bool {
    // Where something was only put in, the place may be the one that was quoted.
    let has_blanks = |e: &Explanation| e.differences.contains(&Difference::BlankLines);
    let has_grown = !faint.has_other_text
        && (faint.as_quoted >= best.as_quoted || has_blanks(best) && !has_blanks(faint));
    // Where both have other text than was quoted, neither is the one because of it.
    best.needs_unseen
        || best.has_other_text && faint.as_quoted >= best.as_quoted
        || faint.cost < best.cost && faint.as_quoted > best.as_quoted
        || has_grown
        || is_numbered(best, faint)
}
