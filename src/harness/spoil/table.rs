//! The ways, in families.

use super::Spoil::{Rows, Text};
use super::Wanted::{Refused, Right};
use super::{Spoil, Wanted, Way, decorate, escapes, indent, lines, refuse, unicode, wording};
use crate::edit::EditCode::{
    self, AlreadyApplied, CreateExisting, InvalidArguments, NoChange, NoOccurrence,
    OccurrenceMismatch, Omission,
};

const fn way(
    id: &'static str,
    family: &'static str,
    wanted: Wanted,
    steps: &'static [Spoil],
) -> Way {
    Way { id, family, wanted, steps }
}

const ABSENT: Wanted = Refused(&[NoOccurrence]);
const MANY: Wanted = Refused(&[OccurrenceMismatch]);
/// The call is wrong in more than one way, and either reason helps.
const ANY: Wanted = Refused(NOT_THERE);
const NOT_THERE: &[EditCode] = &[NoOccurrence, OccurrenceMismatch];

/// Every way of the generator. Ids are stable; the order is that of the tables.
pub(crate) const WAYS: &[Way] = &[
    // Calls that are right already and must stay so.
    way("exact", "control", Right, &[]),
    way("exact-trimmed", "control", Right, &[Text(decorate::trimmed)]),
    way("exact-every-name", "control", Right, &[Text(refuse::every_name)]),
    way("exact-near-line", "control", Right, &[Text(refuse::near_line)]),
    // Indentation.
    way("tab-few", "indentation", Right, &[Text(indent::tab_few)]),
    way("tab-few-but-new", "indentation", Right, &[Rows(indent::tab_few_but_new)]),
    way("tab-many", "indentation", Right, &[Text(indent::tab_many)]),
    way("level-few", "indentation", Right, &[Text(indent::level_few)]),
    way("shift-many", "indentation", Right, &[Text(indent::shift_many)]),
    way("shift-odd", "indentation", Right, &[Text(indent::shift_odd)]),
    way("dedented", "indentation", Right, &[Text(indent::dedented)]),
    way("first-lost", "indentation", Right, &[Text(indent::first_lost)]),
    way("2-spaces-for-tabs", "indentation", Right, &[Text(indent::spaces_for_tabs::<2>)]),
    way("4-spaces-for-tabs", "indentation", Right, &[Text(indent::spaces_for_tabs::<4>)]),
    way("8-spaces-for-tabs", "indentation", Right, &[Text(indent::spaces_for_tabs::<8>)]),
    way("tabs-for-spaces", "indentation", Right, &[Text(indent::tabs_for_spaces)]),
    way("2-for-4-spaces", "indentation", Right, &[Text(indent::two_for_four)]),
    way("4-for-2-spaces", "indentation", Right, &[Text(indent::four_for_two)]),
    // Escapes.
    way("escaped", "escapes", Right, &[Text(escapes::level)]),
    way("escaped-old", "escapes", Right, &[Text(escapes::level_of_old)]),
    way("escaped-line-breaks", "escapes", Right, &[Text(escapes::line_breaks)]),
    way("escaped-tabs", "escapes", Right, &[Text(escapes::tabs)]),
    way("escaped-double-quotes", "escapes", Right, &[Text(escapes::double_quotes)]),
    way("escaped-single-quotes", "escapes", Right, &[Text(escapes::single_quotes)]),
    way("escaped-backticks", "escapes", Right, &[Text(escapes::backticks)]),
    way("escaped-backslashes", "escapes", Right, &[Text(escapes::backslashes)]),
    // Line endings and blanks at line ends.
    way("crlf-in-call", "endings", Right, &[Text(decorate::crlf_in_call)]),
    way("crlf-in-file", "endings", Right, &[Text(decorate::crlf_in_file)]),
    way("crlf-around", "endings", Right, &[Text(decorate::crlf_around)]),
    way("mixed-endings", "endings", Right, &[Rows(lines::mixed_endings)]),
    way("newline-at-end", "endings", Right, &[Text(decorate::newline_at_end)]),
    way("trailing-in-file", "trailing blanks", Right, &[Rows(lines::trailing_in_file)]),
    way("trailing-at-change", "trailing blanks", Right, &[Rows(lines::trailing_at_change)]),
    way("trailing-in-call", "trailing blanks", Right, &[Rows(lines::trailing_in_call)]),
    way("trailing-in-old", "trailing blanks", Right, &[Rows(lines::trailing_in_old)]),
    way(
        "blank-lines-hold-blanks",
        "trailing blanks",
        Right,
        &[Rows(lines::blank_lines_hold_blanks)],
    ),
    // What a view, a chat or a diff puts around text.
    way("numbers-pipe", "decoration", Right, &[Text(decorate::numbers::<0>)]),
    way("numbers-arrow", "decoration", Right, &[Text(decorate::numbers::<1>)]),
    way("numbers-colon", "decoration", Right, &[Text(decorate::numbers::<2>)]),
    way("numbers-tab", "decoration", Right, &[Text(decorate::numbers::<3>)]),
    way("numbers-angle", "decoration", Right, &[Text(decorate::numbers::<4>)]),
    way("numbers-hashline", "decoration", Right, &[Text(decorate::numbers::<5>)]),
    way("numbers-l", "decoration", Right, &[Text(decorate::numbers::<6>)]),
    way("numbers-cat", "decoration", Right, &[Text(decorate::numbers::<7>)]),
    way("numbers-pipe-old", "decoration", Right, &[Text(decorate::numbers_of_old::<0>)]),
    way("numbers-arrow-old", "decoration", Right, &[Text(decorate::numbers_of_old::<1>)]),
    way("numbers-tab-old", "decoration", Right, &[Text(decorate::numbers_of_old::<3>)]),
    way("numbers-hashline-old", "decoration", Right, &[Text(decorate::numbers_of_old::<5>)]),
    way("diff-markers", "decoration", Right, &[Rows(decorate::diff_markers)]),
    way("diff-sides", "decoration", Right, &[Rows(decorate::diff_sides)]),
    way("fence", "decoration", Right, &[Text(decorate::fence)]),
    way("fence-old", "decoration", Right, &[Text(decorate::fence_of_old)]),
    way("html", "decoration", Right, &[Text(decorate::html)]),
    way("html-angles", "decoration", Right, &[Text(decorate::html_angles)]),
    way("outer-blanks", "decoration", Right, &[Text(decorate::outer_blanks)]),
    way("outer-blanks-old", "decoration", Right, &[Text(decorate::outer_blanks_of_old)]),
    // Characters that look alike.
    way("typographic-file", "unicode", Right, &[Rows(unicode::typographic_file)]),
    way("typographic-change", "unicode", Right, &[Rows(unicode::typographic_change)]),
    way("typographic-call", "unicode", Right, &[Rows(unicode::typographic_call)]),
    way("nbsp-in-file", "unicode", Right, &[Rows(unicode::nbsp_in_file)]),
    way("nbsp-in-call", "unicode", Right, &[Rows(unicode::nbsp_in_call)]),
    way("invisible-in-file", "unicode", Right, &[Rows(unicode::invisible_in_file)]),
    way("invisible-in-call", "unicode", Right, &[Rows(unicode::invisible_in_call)]),
    way("nfd-in-call", "unicode", Right, &[Rows(unicode::nfd_in_call)]),
    way("nfc-in-call", "unicode", Right, &[Rows(unicode::nfc_in_call)]),
    way("fullwidth-in-file", "unicode", Right, &[Rows(unicode::fullwidth_in_file)]),
    // Lines that come, go and break elsewhere.
    way("blank-dropped", "lines", Right, &[Rows(lines::blank_dropped)]),
    way("blank-added", "lines", Right, &[Rows(lines::blank_added)]),
    way("joined", "lines", Right, &[Rows(lines::joined)]),
    way("wrapped", "lines", Right, &[Rows(lines::wrapped)]),
    way("elided-context", "lines", Right, &[Rows(lines::elided_context)]),
    way("elided-removed", "lines", Right, &[Rows(lines::elided_removed)]),
    // Spelling.
    way("spacing-lost", "wording", Right, &[Rows(wording::spacing_lost)]),
    way("spacing-doubled", "wording", Right, &[Rows(wording::spacing_doubled)]),
    way("quotes-swapped", "wording", Right, &[Rows(wording::quotes_swapped)]),
    way("semicolons-lost", "wording", Right, &[Rows(wording::semicolons_lost)]),
    way("end-lost", "wording", Right, &[Rows(wording::end_lost)]),
    way("end-added", "wording", Right, &[Rows(wording::end_added)]),
    way("comment-misremembered", "wording", Right, &[Rows(wording::comment_misremembered)]),
    way("context-stale", "refuse: stale", ABSENT, &[Rows(wording::context_stale)]),
    // Two at once.
    way(
        "tab-few+numbers",
        "two at once",
        Right,
        &[Text(indent::tab_few), Text(decorate::numbers::<1>)],
    ),
    way("tab-few+escaped", "two at once", Right, &[Text(indent::tab_few), Text(escapes::level)]),
    way(
        "tab-few+crlf",
        "two at once",
        Right,
        &[Text(indent::tab_few), Text(decorate::crlf_in_file)],
    ),
    way(
        "tab-few+typographic",
        "two at once",
        Right,
        &[Rows(unicode::typographic_file), Text(indent::tab_few)],
    ),
    way(
        "tab-few+trailing",
        "two at once",
        Right,
        &[Rows(lines::trailing_in_file), Text(indent::tab_few)],
    ),
    way(
        "tab-few+blank-dropped",
        "two at once",
        Right,
        &[Rows(lines::blank_dropped), Text(indent::tab_few)],
    ),
    way(
        "4-spaces-for-tabs+dedented",
        "two at once",
        Right,
        &[Text(indent::spaces_for_tabs::<4>), Text(indent::dedented)],
    ),
    way(
        "tabs-for-spaces+dedented",
        "two at once",
        Right,
        &[Text(indent::tabs_for_spaces), Text(indent::dedented)],
    ),
    way(
        "2-for-4-spaces+dedented",
        "two at once",
        Right,
        &[Text(indent::two_for_four), Text(indent::dedented)],
    ),
    way(
        "4-for-2-spaces+dedented",
        "two at once",
        Right,
        &[Text(indent::four_for_two), Text(indent::dedented)],
    ),
    way("dedented+fence", "two at once", Right, &[Text(indent::dedented), Text(decorate::fence)]),
    way("level-few+html", "two at once", Right, &[Text(indent::level_few), Text(decorate::html)]),
    way(
        "fence+numbers",
        "two at once",
        Right,
        &[Text(decorate::numbers::<0>), Text(decorate::fence)],
    ),
    way(
        "crlf+trailing",
        "two at once",
        Right,
        &[Rows(lines::trailing_in_call), Text(decorate::crlf_in_call)],
    ),
    way(
        "quotes+semicolons",
        "two at once",
        Right,
        &[Rows(wording::quotes_swapped), Rows(wording::semicolons_lost)],
    ),
    way(
        "4-spaces-for-tabs+end",
        "two at once",
        Right,
        &[Rows(wording::end_lost), Text(indent::spaces_for_tabs::<4>)],
    ),
    way(
        "typographic+trailing",
        "two at once",
        Right,
        &[Rows(unicode::typographic_call), Rows(lines::trailing_in_call)],
    ),
    // Calls that must be refused.
    way("absent", "refuse: absent", ABSENT, &[Rows(refuse::absent)]),
    way("absent-renamed", "refuse: absent", ABSENT, &[Rows(refuse::absent_renamed)]),
    way("bare-elision", "refuse: absent", ANY, &[Text(refuse::bare_elision)]),
    way("ends-alien", "refuse: absent", ABSENT, &[Rows(refuse::ends_alien)]),
    way("middle-rewritten", "refuse: stale", ABSENT, &[Rows(refuse::middle_rewritten)]),
    way("other-number", "refuse: stale", ABSENT, &[Rows(refuse::other_number)]),
    way("other-name", "refuse: stale", ABSENT, &[Rows(refuse::other_name)]),
    way("other-string", "refuse: stale", ABSENT, &[Rows(refuse::other_string)]),
    way(
        "other-name+tab-few",
        "refuse: stale",
        ABSENT,
        &[Rows(refuse::other_name), Text(indent::tab_few)],
    ),
    way(
        "other-number+shift",
        "refuse: stale",
        ABSENT,
        &[Rows(refuse::other_number), Text(indent::shift_many)],
    ),
    way("file-has-more", "refuse: stale", ABSENT, &[Rows(refuse::file_has_more)]),
    way("old-has-more", "refuse: stale", ABSENT, &[Rows(refuse::old_has_more)]),
    way("twice", "refuse: ambiguous", MANY, &[Text(refuse::twice)]),
    way("twice-folded", "refuse: ambiguous", MANY, &[Text(refuse::twice_folded)]),
    way("two-depths", "refuse: ambiguous", ANY, &[Text(refuse::two_depths)]),
    way("twins-equally-near", "refuse: ambiguous", ANY, &[Rows(refuse::twins_equally_near)]),
    way("name-repeats", "refuse: count", MANY, &[Text(refuse::name_repeats)]),
    way("expects-too-many", "refuse: count", MANY, &[Text(refuse::expects_too_many)]),
    way(
        "already-applied",
        "refuse: nothing to do",
        Refused(&[AlreadyApplied, NoChange]),
        &[Rows(refuse::already_applied)],
    ),
    way("no-change", "refuse: nothing to do", Refused(&[NoChange]), &[Text(refuse::no_change)]),
    way(
        "empty-old",
        "refuse: arguments",
        Refused(&[CreateExisting, InvalidArguments]),
        &[Text(refuse::empty_old)],
    ),
    way("omission", "refuse: arguments", Refused(&[Omission]), &[Rows(refuse::omission)]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = WAYS.iter().map(|way| way.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), WAYS.len());
    }
}
