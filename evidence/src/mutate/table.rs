//! The table of all mutations, by family.

use super::Expectation::{Refused, Right};
use super::Step::{Lines, Strings};
use super::{
    Expectation, Mutation, Step, decorate, escapes, indent, lines, refuse, unicode, wording,
};
use restitch::EditCode::{
    AlreadyApplied, Ambiguous, CreateExisting, InvalidArguments, NoChange, NoOccurrence,
    OccurrenceMismatch, Omission,
};

const fn mutation(
    id: &'static str,
    family: &'static str,
    expectation: Expectation,
    steps: &'static [Step],
) -> Mutation {
    Mutation { id, family, expectation, steps }
}

/// `old_str` is not in the file.
const ABSENT: Expectation = Refused(&[NoOccurrence]);
/// `old_str` does not occur as often as expected.
const OTHER_COUNT: Expectation = Refused(&[OccurrenceMismatch]);
/// Both reasons apply, so either code is right.
const ABSENT_OR_OTHER_COUNT: Expectation = Refused(&[NoOccurrence, OccurrenceMismatch]);
/// The place that is meant has changed, and another one is only like it.
const CHANGED: Expectation = Refused(&[NoOccurrence, Ambiguous, OccurrenceMismatch]);
/// Lines would go that nobody quoted.
const UNSEEN: Expectation = Refused(&[Omission, NoOccurrence]);

/// Every mutation of the generator, in the order in which tables show them. Ids never change.
pub(crate) const MUTATIONS: &[Mutation] = &[
    // Calls without a mistake.
    mutation("exact", "control", Right, &[]),
    mutation("exact-trimmed", "control", Right, &[Strings(decorate::trimmed)]),
    mutation("exact-every-name", "control", Right, &[Strings(refuse::every_name)]),
    mutation("exact-near-line", "control", Right, &[Strings(refuse::near_line)]),
    // Indentation.
    mutation("tab-few", "indentation", Right, &[Strings(indent::one_tab_too_few)]),
    mutation(
        "tab-few-but-new",
        "indentation",
        Right,
        &[Lines(indent::one_tab_too_few_but_in_added)],
    ),
    mutation("tab-many", "indentation", Right, &[Strings(indent::one_tab_too_many)]),
    mutation("level-few", "indentation", Right, &[Strings(indent::one_level_too_few)]),
    mutation("shift-many", "indentation", Right, &[Strings(indent::some_spaces_too_many)]),
    mutation("shift-odd", "indentation", Right, &[Strings(indent::one_space_too_few)]),
    mutation("dedented", "indentation", Right, &[Strings(indent::dedented)]),
    mutation("first-lost", "indentation", Right, &[Strings(indent::first_lost)]),
    mutation("depths-differ", "indentation", Right, &[Strings(indent::depths_differ)]),
    mutation("literal-in-new", "indentation", Right, &[Lines(indent::literal_in_new)]),
    mutation("margin-in-new", "indentation", Right, &[Lines(indent::margin_in_new)]),
    mutation("2-spaces-for-tabs", "indentation", Right, &[Strings(indent::spaces_for_tabs::<2>)]),
    mutation("4-spaces-for-tabs", "indentation", Right, &[Strings(indent::spaces_for_tabs::<4>)]),
    mutation("8-spaces-for-tabs", "indentation", Right, &[Strings(indent::spaces_for_tabs::<8>)]),
    mutation("tabs-for-spaces", "indentation", Right, &[Strings(indent::tabs_for_spaces)]),
    mutation("2-for-4-spaces", "indentation", Right, &[Strings(indent::two_for_four)]),
    mutation("4-for-2-spaces", "indentation", Right, &[Strings(indent::four_for_two)]),
    // Escapes.
    mutation("escaped", "escapes", Right, &[Strings(escapes::escape_both)]),
    mutation("escaped-old", "escapes", Right, &[Strings(escapes::escape_old)]),
    mutation("escaped-line-breaks", "escapes", Right, &[Strings(escapes::line_breaks)]),
    mutation("escaped-tabs", "escapes", Right, &[Strings(escapes::tabs)]),
    mutation("escaped-double-quotes", "escapes", Right, &[Strings(escapes::double_quotes)]),
    mutation("escaped-single-quotes", "escapes", Right, &[Strings(escapes::single_quotes)]),
    mutation("escaped-backticks", "escapes", Right, &[Strings(escapes::backticks)]),
    mutation("escaped-backslashes", "escapes", Right, &[Strings(escapes::backslashes)]),
    mutation("escaped-kept-lines", "escapes", Right, &[Lines(escapes::kept_lines)]),
    // Line breaks, and whitespace at the end of lines.
    mutation("crlf-in-call", "endings", Right, &[Strings(decorate::crlf_in_call)]),
    mutation("crlf-in-file", "endings", Right, &[Strings(decorate::crlf_in_file)]),
    mutation("crlf-around", "endings", Right, &[Strings(decorate::crlf_around)]),
    mutation("mixed-endings", "endings", Right, &[Lines(lines::mixed_endings)]),
    mutation("newline-at-end", "endings", Right, &[Strings(decorate::newline_at_end)]),
    mutation("trailing-in-file", "trailing blanks", Right, &[Lines(lines::trailing_in_file)]),
    mutation("trailing-at-change", "trailing blanks", Right, &[Lines(lines::trailing_at_change)]),
    mutation("trailing-in-call", "trailing blanks", Right, &[Lines(lines::trailing_in_call)]),
    mutation("trailing-in-old", "trailing blanks", Right, &[Lines(lines::trailing_in_old)]),
    mutation(
        "blank-lines-hold-blanks",
        "trailing blanks",
        Right,
        &[Lines(lines::blank_lines_hold_blanks)],
    ),
    // Text that a view, a chat or a diff adds.
    mutation("numbers-pipe", "decoration", Right, &[Strings(decorate::numbers::<0>)]),
    mutation("numbers-arrow", "decoration", Right, &[Strings(decorate::numbers::<1>)]),
    mutation("numbers-colon", "decoration", Right, &[Strings(decorate::numbers::<2>)]),
    mutation("numbers-tab", "decoration", Right, &[Strings(decorate::numbers::<3>)]),
    mutation("numbers-angle", "decoration", Right, &[Strings(decorate::numbers::<4>)]),
    mutation("numbers-hashline", "decoration", Right, &[Strings(decorate::numbers::<5>)]),
    mutation("numbers-l", "decoration", Right, &[Strings(decorate::numbers::<6>)]),
    mutation("numbers-cat", "decoration", Right, &[Strings(decorate::numbers::<7>)]),
    mutation("numbers-pipe-old", "decoration", Right, &[Strings(decorate::numbers_of_old::<0>)]),
    mutation("numbers-arrow-old", "decoration", Right, &[Strings(decorate::numbers_of_old::<1>)]),
    mutation("numbers-tab-old", "decoration", Right, &[Strings(decorate::numbers_of_old::<3>)]),
    mutation(
        "numbers-hashline-old",
        "decoration",
        Right,
        &[Strings(decorate::numbers_of_old::<5>)],
    ),
    mutation("numbers-not-of-added", "decoration", Right, &[Lines(decorate::numbers_but_of_added)]),
    mutation("html-not-of-added", "decoration", Right, &[Lines(decorate::html_but_of_added)]),
    mutation("diff-markers", "decoration", Right, &[Lines(decorate::diff_markers)]),
    mutation("diff-sides", "decoration", Right, &[Lines(decorate::diff_sides)]),
    mutation("fence", "decoration", Right, &[Strings(decorate::fence)]),
    mutation("fence-old", "decoration", Right, &[Strings(decorate::fence_of_old)]),
    mutation("html", "decoration", Right, &[Strings(decorate::html)]),
    mutation("html-angles", "decoration", Right, &[Strings(decorate::html_angles)]),
    mutation("outer-blanks", "decoration", Right, &[Strings(decorate::outer_blanks)]),
    mutation("outer-blanks-old", "decoration", Right, &[Strings(decorate::outer_blanks_of_old)]),
    // Characters that look alike.
    mutation("typographic-file", "unicode", Right, &[Lines(unicode::typographic_file)]),
    mutation("typographic-change", "unicode", Right, &[Lines(unicode::typographic_change)]),
    mutation("typographic-call", "unicode", Right, &[Lines(unicode::typographic_call)]),
    mutation("nbsp-in-file", "unicode", Right, &[Lines(unicode::nbsp_in_file)]),
    mutation("nbsp-in-call", "unicode", Right, &[Lines(unicode::nbsp_in_call)]),
    mutation("invisible-in-file", "unicode", Right, &[Lines(unicode::invisible_in_file)]),
    mutation("invisible-in-call", "unicode", Right, &[Lines(unicode::invisible_in_call)]),
    mutation("nfd-in-call", "unicode", Right, &[Lines(unicode::nfd_in_call)]),
    mutation("nfc-in-call", "unicode", Right, &[Lines(unicode::nfc_in_call)]),
    mutation("fullwidth-in-file", "unicode", Right, &[Lines(unicode::fullwidth_in_file)]),
    // Lines that are missing, added, joined or wrapped.
    mutation("blank-dropped", "lines", Right, &[Lines(lines::blank_dropped)]),
    mutation("blank-added", "lines", Right, &[Lines(lines::blank_added)]),
    mutation("joined", "lines", Right, &[Lines(lines::joined)]),
    mutation("wrapped", "lines", Right, &[Lines(lines::wrapped)]),
    mutation("elided-context", "lines", Right, &[Lines(lines::elided_context)]),
    // Spelling.
    mutation("spacing-lost", "wording", Right, &[Lines(wording::spacing_lost)]),
    mutation("spacing-doubled", "wording", Right, &[Lines(wording::spacing_doubled)]),
    mutation("quotes-swapped", "wording", Right, &[Lines(wording::quotes_swapped)]),
    mutation("semicolons-lost", "wording", Right, &[Lines(wording::semicolons_lost)]),
    mutation("end-lost", "wording", Right, &[Lines(wording::end_lost)]),
    mutation("end-added", "wording", Right, &[Lines(wording::end_added)]),
    mutation("comment-misremembered", "wording", Right, &[Lines(wording::comment_misremembered)]),
    mutation("context-stale", "refuse: stale", ABSENT, &[Lines(wording::context_stale)]),
    mutation("elided-removed", "refuse: unseen lines", UNSEEN, &[Lines(lines::elided_removed)]),
    mutation("elided-section", "refuse: unseen lines", UNSEEN, &[Lines(lines::elided_section)]),
    mutation(
        "elided-differently",
        "refuse: unseen lines",
        UNSEEN,
        &[Lines(lines::elided_differently)],
    ),
    // Two mistakes at once.
    mutation(
        "tab-few+numbers",
        "two at once",
        Right,
        &[Strings(indent::one_tab_too_few), Strings(decorate::numbers::<1>)],
    ),
    mutation(
        "tab-few+escaped",
        "two at once",
        Right,
        &[Strings(indent::one_tab_too_few), Strings(escapes::escape_both)],
    ),
    mutation(
        "tab-few+crlf",
        "two at once",
        Right,
        &[Strings(indent::one_tab_too_few), Strings(decorate::crlf_in_file)],
    ),
    mutation(
        "tab-few+typographic",
        "two at once",
        Right,
        &[Lines(unicode::typographic_file), Strings(indent::one_tab_too_few)],
    ),
    mutation(
        "tab-few+trailing",
        "two at once",
        Right,
        &[Lines(lines::trailing_in_file), Strings(indent::one_tab_too_few)],
    ),
    mutation(
        "tab-few+blank-dropped",
        "two at once",
        Right,
        &[Lines(lines::blank_dropped), Strings(indent::one_tab_too_few)],
    ),
    mutation(
        "4-spaces-for-tabs+dedented",
        "two at once",
        Right,
        &[Strings(indent::spaces_for_tabs::<4>), Strings(indent::dedented)],
    ),
    mutation(
        "tabs-for-spaces+dedented",
        "two at once",
        Right,
        &[Strings(indent::tabs_for_spaces), Strings(indent::dedented)],
    ),
    mutation(
        "2-for-4-spaces+dedented",
        "two at once",
        Right,
        &[Strings(indent::two_for_four), Strings(indent::dedented)],
    ),
    mutation(
        "4-for-2-spaces+dedented",
        "two at once",
        Right,
        &[Strings(indent::four_for_two), Strings(indent::dedented)],
    ),
    mutation(
        "dedented+fence",
        "two at once",
        Right,
        &[Strings(indent::dedented), Strings(decorate::fence)],
    ),
    mutation(
        "level-few+html",
        "two at once",
        Right,
        &[Strings(indent::one_level_too_few), Strings(decorate::html)],
    ),
    mutation(
        "fence+numbers",
        "two at once",
        Right,
        &[Strings(decorate::numbers::<0>), Strings(decorate::fence)],
    ),
    mutation(
        "crlf+trailing",
        "two at once",
        Right,
        &[Lines(lines::trailing_in_call), Strings(decorate::crlf_in_call)],
    ),
    mutation(
        "quotes+semicolons",
        "two at once",
        Right,
        &[Lines(wording::quotes_swapped), Lines(wording::semicolons_lost)],
    ),
    mutation(
        "4-spaces-for-tabs+end",
        "two at once",
        Right,
        &[Lines(wording::end_lost), Strings(indent::spaces_for_tabs::<4>)],
    ),
    mutation(
        "typographic+trailing",
        "two at once",
        Right,
        &[Lines(unicode::typographic_call), Lines(lines::trailing_in_call)],
    ),
    // Calls that must be refused.
    mutation("absent", "refuse: absent", ABSENT, &[Lines(refuse::absent)]),
    mutation("absent-renamed", "refuse: absent", ABSENT, &[Lines(refuse::absent_renamed)]),
    mutation(
        "bare-elision",
        "refuse: absent",
        ABSENT_OR_OTHER_COUNT,
        &[Strings(refuse::bare_elision)],
    ),
    mutation("ends-alien", "refuse: absent", ABSENT, &[Lines(refuse::outer_lines_absent)]),
    mutation("middle-rewritten", "refuse: stale", ABSENT, &[Lines(refuse::middle_rewritten)]),
    mutation("other-number", "refuse: stale", ABSENT, &[Lines(refuse::other_number)]),
    mutation("other-name", "refuse: stale", ABSENT, &[Lines(refuse::other_name)]),
    mutation("other-string", "refuse: stale", ABSENT, &[Lines(refuse::other_string)]),
    mutation(
        "other-name+tab-few",
        "refuse: stale",
        ABSENT,
        &[Lines(refuse::other_name), Strings(indent::one_tab_too_few)],
    ),
    mutation(
        "other-number+shift",
        "refuse: stale",
        ABSENT,
        &[Lines(refuse::other_number), Strings(indent::some_spaces_too_many)],
    ),
    mutation("file-has-more", "refuse: stale", ABSENT, &[Lines(refuse::file_has_more)]),
    mutation("old-has-more", "refuse: stale", ABSENT, &[Lines(refuse::old_has_more)]),
    mutation("twin-deeper", "refuse: stale", CHANGED, &[Lines(refuse::twin_deeper)]),
    mutation("twin-trailing", "refuse: stale", CHANGED, &[Lines(refuse::twin_trailing)]),
    mutation("twin-blank-line", "refuse: stale", CHANGED, &[Lines(refuse::twin_blank_line)]),
    mutation("twin-spacing", "refuse: stale", CHANGED, &[Lines(refuse::twin_spacing)]),
    mutation("twice", "refuse: ambiguous", OTHER_COUNT, &[Strings(refuse::twice)]),
    mutation("twice-folded", "refuse: ambiguous", OTHER_COUNT, &[Strings(refuse::twice_folded)]),
    mutation(
        "two-depths",
        "refuse: ambiguous",
        ABSENT_OR_OTHER_COUNT,
        &[Strings(refuse::two_depths)],
    ),
    mutation(
        "twins-equally-near",
        "refuse: ambiguous",
        ABSENT_OR_OTHER_COUNT,
        &[Lines(refuse::twins_equally_near)],
    ),
    mutation("name-repeats", "refuse: count", OTHER_COUNT, &[Strings(refuse::name_repeats)]),
    mutation(
        "expects-too-many",
        "refuse: count",
        OTHER_COUNT,
        &[Strings(refuse::expects_too_many)],
    ),
    mutation(
        "already-applied",
        "refuse: nothing to do",
        Refused(&[AlreadyApplied, NoChange]),
        &[Lines(refuse::already_applied)],
    ),
    mutation(
        "every-name-again",
        "refuse: nothing to do",
        Refused(&[AlreadyApplied, NoChange, OccurrenceMismatch]),
        &[Strings(refuse::every_name_again)],
    ),
    mutation(
        "no-change",
        "refuse: nothing to do",
        Refused(&[NoChange]),
        &[Strings(refuse::no_change)],
    ),
    mutation(
        "empty-old",
        "refuse: arguments",
        Refused(&[CreateExisting, InvalidArguments]),
        &[Strings(refuse::empty_old)],
    ),
    mutation("omission", "refuse: arguments", Refused(&[Omission]), &[Lines(refuse::omission)]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = MUTATIONS.iter().map(|mutation| mutation.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), MUTATIONS.len());
    }
}
