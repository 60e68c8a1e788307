//! The ladder as data: every rung, strictest first. The table feeds the matcher, the
//! reports, the README and the tests.

use std::borrow::Cow;
use std::fmt;

use super::Explained;
use super::artefacts::{self, Artefact};
use super::call::{Call, lacks_break};
use super::frame::{OTHERWISE, stands_otherwise};
use super::merge::Conflict;
use super::slack::Slack;
use super::window::split;
use super::{align, elide, reflow, refuse};
use crate::edit::{Explanation, Refusal, Splice};

/// One way to understand a call.
pub trait Rung: Sync {
    /// The stable name in reports.
    fn id(&self) -> &'static str;
    /// What mistake it explains, for people.
    fn about(&self) -> &'static str;
    /// `None` when it finds no place at all; otherwise its decision is final.
    fn explain(&self, call: &Call<'_>) -> Option<Result<Explained, Refusal>>;
}

impl fmt::Debug for dyn Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

const EXACT: Slack = Slack::NONE;

fn fold(parts: &[Slack]) -> Slack {
    parts.iter().fold(EXACT, |all, part| all | *part)
}

/// Every rung, strictest first.
pub const LADDER: &[&dyn Rung] = &[
    &Exact,
    &Decoded("unescaped", "one level of escaping too many: `\\n`, `\\t`, `\\\"`, `\\\\`, `\\$`"),
    &Decoded("line_endings", "line endings of another kind"),
    &Decoded(
        "line_numbers",
        "line numbers copied from a view: `12|`, `12 │`, `12→`, `12:`, `12-`, `[12]`, `<<12>>`, `12#VK|`",
    ),
    &Decoded("diff_markers", "`+`, `-` and blank copied from a diff, `> ` from a quotation"),
    &Decoded(
        "code_fence",
        "a code fence, quotes or the tags of a tool around the text, the file's name above it",
    ),
    &Decoded("html_entities", "`&lt;`, `&quot;`, `&amp;` for the characters"),
    &Decoded("outer_blank_lines", "blank lines around the text"),
    &Folded("line_endings", "line endings of another kind", 0),
    &Folded("trailing_blanks", "blanks at the ends of lines", 1),
    &Folded("look_alikes", "typographic quotes, dashes, spaces, composed letters", 2),
    &Folded("indentation", "lines too deep or too shallow, tabs for spaces", INDENTATION),
    &Folded("look_alikes_and_indentation", "both of these", 4),
    &Folded("blank_lines", "blank lines that come or go", 5),
    &Folded("spacing", "white space inside lines, outside string literals", 6),
    &Folded("punctuation", "kind of quotes; `,` or `;` at the end of a line", 7),
    &reflow::Reflowed,
    &elide::Elided,
    &Applied,
    &align::Aligned,
];

/// The fold of lines that are too deep or too shallow.
pub(super) const INDENTATION: usize = 3;

/// Which fold forgives look-alikes.
pub(super) const LOOK_ALIKES: usize = 2;

/// What each fold forgives. Each forgives what the ones above it do, but that
/// look-alikes and indentation stand side by side before they are joined.
pub(super) fn folds(at: usize) -> Slack {
    let base = fold(&[Slack::ENDING, Slack::TRAILING]);
    let both = fold(&[base, Slack::LOOK_ALIKE, Slack::INDENT]);
    match at {
        0 => Slack::ENDING,
        1 => base,
        2 => base | Slack::LOOK_ALIKE,
        3 => base | Slack::INDENT,
        4 => both,
        5 => both | Slack::BLANK,
        6 => both | Slack::BLANK | Slack::SPACING,
        _ => fold(&[both, Slack::BLANK, Slack::SPACING, Slack::PUNCTUATION]),
    }
}

/// Character for character.
struct Exact;

impl Rung for Exact {
    fn id(&self) -> &'static str {
        "exact"
    }

    fn about(&self) -> &'static str {
        "nothing: the text is in the file, character for character"
    }

    fn explain(&self, call: &Call<'_>) -> Option<Result<Explained, Refusal>> {
        let (old, new) = (&call.request.old, &call.request.new);
        let mut exact = call.decide_exact(old, new, Explanation::plain("exact"))?;
        let place = exact.as_ref().ok().and_then(|found| found.splices.first());
        let place = place.map(|splice| splice.range.clone());
        match place.as_ref().and_then(|place| artefacts::find(call, place)) {
            Some(Artefact::Unclear(why)) => {
                let line = call.snapshot.lines().number_at(place?.start);
                return Some(Err(refuse::written_otherwise(line, why)));
            }
            Some(Artefact::Undone(new, rewrite)) => {
                let mut explanation = Explanation::plain("exact");
                explanation.rewrites.push(rewrite.to_owned());
                exact = call.decide_exact(old, &new, explanation)?;
                return Some(
                    call.or_at_its_depth(exact, &new, "indentation", || &call.readings()[0]),
                );
            }
            None => {}
        }
        Some(call.or_at_its_depth(exact, new, "indentation", || &call.readings()[0]))
    }
}

/// `old_str` is nowhere and `new_str` is there: a refusal, not a match. It stands here
/// because what follows would take the text beside it for the one that is meant.
struct Applied;

impl Rung for Applied {
    fn id(&self) -> &'static str {
        "already_applied"
    }

    fn about(&self) -> &'static str {
        "nothing to do: `new_str` is in the file and `old_str` is not (refused)"
    }

    fn explain(&self, call: &Call<'_>) -> Option<Result<Explained, Refusal>> {
        refuse::applied(call).map(Err)
    }
}

/// Character for character, once a mistake of the whole text is undone.
struct Decoded(&'static str, &'static str);

impl Rung for Decoded {
    fn id(&self) -> &'static str {
        self.0
    }

    fn about(&self) -> &'static str {
        self.1
    }

    fn explain(&self, call: &Call<'_>) -> Option<Result<Explained, Refusal>> {
        call.readings()
            .iter()
            .filter(|read| !read.reading.ids.is_empty() && read.reading.rung == self.0)
            .find_map(|read| {
                if read.reading.whole_lines || read.reading.unclear {
                    return call.decide_windows(read, EXACT, self.0);
                }
                let mut explanation = Explanation::plain(self.0);
                explanation.rewrites = read.reading.ids.iter().map(|id| (*id).to_owned()).collect();
                // Such a text was repaired; the break that its new one lacks was forgotten.
                let (old, mut new) = (&read.reading.old, Cow::Borrowed(&*read.reading.new));
                if lacks_break(old, &new) {
                    new.to_mut().push('\n');
                }
                let exact = call.decide_exact(old, &new, explanation)?;
                let places = exact.iter().flat_map(|found| &found.splices);
                let line = |at: usize| call.source().line_at(at);
                let unclear = places.clone().find_map(|Splice { range, .. }| {
                    let last = line(range.end.saturating_sub(1).max(range.start));
                    let edges = line(range.start)..last + 1;
                    call.break_is_clear(&read.reading, line(range.end))
                        .and_then(|()| call.edges_are_clear(&read.reading, edges))
                        .err()
                });
                if exact.is_ok() && stands_otherwise(&split(old), &split(&new)) {
                    let why = OTHERWISE;
                    let line = places.clone().next().map_or(0, |splice| line(splice.range.start));
                    let conflict = Conflict { line, why };
                    return Some(Err(refuse::conflict_over(call, Some(line..=line), &conflict)));
                }
                if let Some(again) =
                    exact.as_ref().ok().and_then(|found| call.any_brings_again(&found.splices))
                {
                    return Some(Err(refuse::brings_again(again)));
                }
                if let Some(conflict) = unclear {
                    let lines = conflict.line.saturating_sub(1)..=conflict.line;
                    return Some(Err(refuse::conflict_over(call, Some(lines), &conflict)));
                }
                if let Some(refusal) = exact.as_ref().ok().and_then(|found| call.as_written(found))
                {
                    return Some(Err(refusal));
                }
                Some(call.or_at_its_depth(exact, &new, self.0, || read))
            })
    }
}

/// The same lines under a fold.
struct Folded(&'static str, &'static str, usize);

impl Rung for Folded {
    fn id(&self) -> &'static str {
        self.0
    }

    fn about(&self) -> &'static str {
        self.1
    }

    fn explain(&self, call: &Call<'_>) -> Option<Result<Explained, Refusal>> {
        call.readings().iter().find_map(|read| call.decide_windows(read, folds(self.2), self.0))
    }
}
