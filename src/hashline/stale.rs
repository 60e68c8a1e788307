//! The refusal of stale anchors: it shows a few lines with their current anchors, ready to copy, and
//! names the ranges to read again. It never shows the whole file.

use crate::edit::{EditCode, Refusal};
use crate::text::{LineSpan, Snapshot, cut_note, format_ranges, merge_ranges};

use super::anchors::Anchor;
use crate::text::tag;

/// Why an anchor or a line number is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StaleCause {
    /// The line has another id.
    Mismatch,
    /// The file has fewer lines.
    OutOfRange,
    /// The line was there and has changed, or cannot be distinguished from equal lines.
    Changed,
    /// The anchor fits a line now, but also stood in an older version, whose lines there have changed.
    ChangedInOlder,
    /// Other lines came between the first and the last line of the range.
    Split,
    /// The versions that the caller may mean lead to different lines.
    Ambiguous,
    /// The named snapshot is not on record.
    UnknownSnapshot,
}

/// A stale anchor or line number, and where in the current file the line may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StaleAnchor {
    /// The anchor; without letters for a line number.
    pub anchor: Anchor,
    /// Why the anchor is stale.
    pub cause: StaleCause,
    /// The line of the current file that is probably meant, or the nearest to where it was.
    pub near: usize,
    /// The line around which to look if `near` is not meant.
    pub around: usize,
    /// For line numbers: the lines as named, and where they may be in the current file.
    pub lines: Option<(LineSpan, LineSpan)>,
}

impl StaleAnchor {
    /// A stale anchor whose line may be at or around `near`.
    pub(crate) fn new(anchor: Anchor, cause: StaleCause, near: usize) -> Self {
        Self { anchor, cause, near, around: near, lines: None }
    }
}

/// How many lines above and below a stale line are to be read again.
pub(crate) const RECOVERY_WINDOW: usize = 8;

/// How many lines above and below a stale line the refusal shows.
const CONTEXT: usize = 1;

/// The most lines that a refusal shows.
const MAX_LINES: usize = 24;

/// The most characters of a line that a refusal shows.
const MAX_CHARS: usize = 60;

/// The lines around `line` that may be affected.
pub(crate) fn affected_range(line: usize, total: usize) -> LineSpan {
    let line = line.clamp(1, total.max(1));
    LineSpan {
        start: line.saturating_sub(RECOVERY_WINDOW).max(1),
        end: (line + RECOVERY_WINDOW).min(total),
    }
}

/// The refusal for these anchors or numbers. `read` is the id of the version whose numbers were shown
/// first, if that is known.
pub(crate) fn refusal(stale: &[StaleAnchor], current: &Snapshot, read: Option<&str>) -> Refusal {
    let total = current.lines().total();
    // An ambiguous anchor comes once for each place; name it once.
    let mut named: Vec<&StaleAnchor> = Vec::new();
    for anchor in stale {
        if named.iter().all(|other| other.anchor != anchor.anchor) {
            named.push(anchor);
        }
    }
    let describe = |stale: &StaleAnchor| match stale.lines {
        Some((LineSpan { start, end }, _)) if start < end => format!("the range {start}-{end}"),
        Some((lines, _)) => lines.to_string(),
        None if stale.anchor.id.is_empty() => format!("line {}", stale.anchor.line),
        None => format!("anchor {}", stale.anchor),
    };
    let message = match named.as_slice() {
        [only] => format!("{} is stale: it {}", describe(only), reason(only, stale, total)),
        _ => {
            let reasons: Vec<String> = named
                .iter()
                .take(6)
                .map(|anchor| format!("{} {}", describe(anchor), reason(anchor, stale, total)))
                .collect();
            format!("{} places are stale: {}", named.len(), reasons.join("; "))
        }
    };
    let mut refusal = Refusal::new(EditCode::StaleAnchor, message);
    refusal.affected_ranges =
        merge_ranges(stale.iter().map(|anchor| affected_range(anchor.around, total)).collect());
    refusal.anchors = fresh_anchors(stale, current);
    let id = current.hash().short();
    let ranges = format_ranges(&refusal.affected_ranges);
    let hint = match stale.first().map(|anchor| anchor.cause) {
        Some(StaleCause::Ambiguous) => {
            let old = match read {
                Some(read) => format!("your old numbers with snapshot \"{read}\", which you read"),
                None => "give the snapshot you read".to_owned(),
            };
            format!("Say which: use the lines above with snapshot \"{id}\", or {old}.")
        }
        Some(StaleCause::ChangedInOlder) => {
            format!(
                "Use the lines above with snapshot \"{id}\"; if yours is not there, read ranges {ranges}."
            )
        }
        _ if refusal.anchors.is_empty() => {
            "The file is empty: append or prepend without anchor.".into()
        }
        _ => format!(
            "Use the lines above (snapshot {id}); if yours is not there, read ranges {ranges}."
        ),
    };
    refusal.hint(hint)
}

/// Why an anchor is stale, as the end of a sentence that begins with the anchor.
fn reason(stale: &StaleAnchor, all: &[StaleAnchor], total: usize) -> String {
    let places = || {
        let same_anchor = all.iter().filter(|other| other.anchor == stale.anchor);
        let place = |other: &StaleAnchor| match other.lines {
            Some((_, place)) => place.to_string(),
            None => format!("line {}", other.near),
        };
        let mut places: Vec<String> = same_anchor.map(place).collect();
        places.dedup();
        places.join(" or ")
    };
    match stale.cause {
        StaleCause::Mismatch if stale.anchor.id.is_empty() => {
            "has no id, so give it as LINE#ID".into()
        }
        StaleCause::Mismatch if stale.near != stale.anchor.line => {
            format!("does not match its line; it is line {} now", stale.near)
        }
        StaleCause::Mismatch => "does not match its line".into(),
        StaleCause::OutOfRange if stale.near < total && stale.near != stale.anchor.line => {
            format!("is past the end; it is line {} now", stale.near)
        }
        StaleCause::OutOfRange => format!("is past the end, the file has {total} lines"),
        StaleCause::Changed => "changed since it was read".into(),
        StaleCause::ChangedInOlder => {
            "fits the file as it is now, but was also shown in an older version, and that place has changed since".into()
        }
        StaleCause::Split => "ends a range into which other lines were inserted".into(),
        StaleCause::Ambiguous => {
            format!("can mean {} of the file as it is now", places())
        }
        StaleCause::UnknownSnapshot => "is from a snapshot that is not on record".into(),
    }
}

/// The lines that a refusal shows, with their current anchors: the probable lines marked by `>>>`,
/// their neighbours, and lines nearby that have the stale id.
fn fresh_anchors(stale: &[StaleAnchor], current: &Snapshot) -> Vec<String> {
    let total = current.lines().total();
    let mut numbers: Vec<usize> = Vec::new();
    for one in stale {
        numbers.extend(one.near.saturating_sub(CONTEXT).max(1)..=(one.near + CONTEXT).min(total));
        let LineSpan { start, end } = affected_range(one.around, total);
        numbers.extend((start..=end).filter(|&number| {
            current.line(number).is_some_and(|text| tag::matches(number, text, &one.anchor.id))
        }));
        // Also the line that has the number now.
        numbers.extend((1..=total).contains(&one.anchor.line).then_some(one.anchor.line));
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
        .into_iter()
        .take(MAX_LINES)
        .filter_map(|number| {
            let mark = if stale.iter().any(|one| one.near == number) { ">>> " } else { "" };
            Some(format!("{mark}{}", render_clipped(number, current.line(number)?)))
        })
        .collect()
}

/// A line as `12#VK|text`, with the id of the whole line and at most [`MAX_CHARS`] of its text.
pub(crate) fn render_clipped(number: usize, text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        None => tag::render(number, text),
        Some((end, _)) => {
            let mut out = String::with_capacity(end + 16);
            tag::push(&mut out, number, text);
            out.push('|');
            out.push_str(&text[..end]);
            out.push('…');
            out + &cut_note(text, 1, MAX_CHARS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: usize, end: usize) -> LineSpan {
        LineSpan { start, end }
    }

    #[test]
    fn the_fresh_anchor_of_a_near_line_with_the_id_is_shown() {
        let current =
            Snapshot::from_text((1..=40).map(|n| format!("line {n}\n")).collect::<String>());
        let anchor = Anchor::parse(&tag::render(20, "line 25")).expect("anchor");
        let stale = StaleAnchor::new(anchor, StaleCause::Mismatch, 20);
        let refusal = refusal(&[stale], &current, None);
        assert!(refusal.anchors.contains(&tag::render(25, "line 25")), "{:?}", refusal.anchors);
        assert!(refusal.anchors.contains(&format!(">>> {}", tag::render(20, "line 20"))));
        assert_eq!(refusal.affected_ranges, [span(12, 28)]);
    }
}
