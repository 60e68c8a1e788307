//! The exact rung. Where `old_str` occurs in the file as often as expected, `new_str`
//! replaces it, byte for byte; anything that looks odd only causes a warning.
//!
//! There are three exceptions, each proven by the bytes: line breaks of `new_str` take the line
//! ending that the file has there; an edit that was already made is not made twice; and escapes are
//! undone where the language allows none.

use std::ops::Range;

use memchr::memmem::Finder;

use super::escapes;
use super::fold::is_word_char;
use super::indent;
use super::indent_of;
use super::placeholder;
use super::reading;
use super::refuse;
use super::source_file::SourceFile;
use super::{Explained, Verdict};
use crate::edit::{EditRequest, Expected, Explanation, Refusal, Rewrite, Rung, Splice};
use crate::text::LineEnding;

/// The verdict of the exact rung; `None` if `old_str` is not in the file character for character.
pub(super) fn decide(request: &EditRequest, file: &SourceFile<'_>) -> Option<Verdict> {
    let occurrences = find_occurrences(file, &request.old);
    if occurrences.ranges.is_empty() {
        return None;
    }
    Some(match choose_occurrences(request, file, &request.new, &occurrences) {
        Ok(ranges) => replace(request, file, &ranges, &occurrences.finder),
        Err(refusal) => Verdict::Refused(refusal),
    })
}

/// The occurrences of a text in the file.
pub(super) struct Occurrences<'a> {
    /// Building it costs as much as searching a small file, so it is kept.
    finder: Finder<'a>,
    /// The occurrences, from the first on, that do not overlap an earlier one.
    pub(super) ranges: Vec<Range<usize>>,
    /// Whether the text has a further occurrence that overlaps one of `ranges`.
    overlapping: bool,
}

/// Finds where a text is in the file character for character.
pub(super) fn find_occurrences<'a>(file: &SourceFile<'_>, old: &'a str) -> Occurrences<'a> {
    let finder = Finder::new(old);
    let bytes = file.text.as_bytes();
    // A line break is one thing, also where it is two characters.
    let splits_break = |range: &Range<usize>| {
        let is_between = |at: usize| bytes[..at].ends_with(b"\r") && bytes[at..].starts_with(b"\n");
        is_between(range.start) || is_between(range.end)
    };
    let ranges = finder.find_iter(bytes).map(|at| at..at + old.len());
    let ranges: Vec<Range<usize>> = ranges.filter(|range| !splits_break(range)).collect();
    let overlaps = |range: &Range<usize>| {
        let to = (range.end + old.len() - 1).min(bytes.len());
        finder.find(&bytes[range.start + 1..to]).is_some_and(|at| range.start + 1 + at < range.end)
    };
    // A text can overlap itself only if a prefix of it is also a suffix. For few occurrences,
    // searching is cheaper than checking that.
    let overlapping = (ranges.len() <= MAX_UNCHECKED || has_border(old.as_bytes()))
        && ranges.iter().any(overlaps);
    Occurrences { finder, ranges, overlapping }
}

/// For up to this many occurrences, overlaps are searched without a check whether they are possible.
const MAX_UNCHECKED: usize = 2;

/// Whether some proper prefix of a text is also a suffix (a border).
fn has_border(text: &[u8]) -> bool {
    let mut border_lens = vec![0; text.len()];
    let mut matched = 0;
    for at in 1..text.len() {
        while matched > 0 && text[at] != text[matched] {
            matched = border_lens[matched - 1];
        }
        matched += usize::from(text[at] == text[matched]);
        border_lens[at] = matched;
    }
    border_lens.last().is_some_and(|&border| border > 0)
}

/// The occurrences that the call means, by its expected count and `near_line`.
pub(super) fn choose_occurrences(
    request: &EditRequest,
    file: &SourceFile<'_>,
    new: &str,
    occurrences: &Occurrences<'_>,
) -> Result<Vec<Range<usize>>, Refusal> {
    let lines = || -> Vec<usize> {
        occurrences
            .ranges
            .iter()
            .map(|range| file.snapshot.lines().number_at(range.start))
            .collect()
    };
    let wrong_count = || Err(refuse::wrong_count(request, &lines(), occurrences.overlapping));
    match request.expected {
        Expected::All => Ok(occurrences.ranges.clone()),
        Expected::Exactly(count) if count.get() == occurrences.ranges.len() => {
            let is_unclear = occurrences.overlapping
                && !gives_same_text(file.text, &request.old, new, &occurrences.ranges);
            if is_unclear { wrong_count() } else { Ok(occurrences.ranges.clone()) }
        }
        Expected::Exactly(count) if count.get() == 1 => match nearest_to_line(request, &lines()) {
            Some(at) if !occurrences.overlapping => Ok(vec![occurrences.ranges[at].clone()]),
            _ => wrong_count(),
        },
        Expected::Exactly(_) => wrong_count(),
    }
}

/// The index of the line that is nearer to `near_line` than all others; `None` for a tie.
pub(super) fn nearest_to_line(request: &EditRequest, lines: &[usize]) -> Option<usize> {
    let near = request.near_line?;
    let distance = |at: &usize| lines[*at].abs_diff(near);
    let best = (0..lines.len()).min_by_key(distance)?;
    let tied = (0..lines.len()).filter(|at| distance(at) == distance(&best)).count();
    (tied == 1).then_some(best)
}

/// The most overlapping occurrences that are compared.
const MAX_OVERLAPS: usize = 16;

/// Whether it makes no difference to the resulting text if the only range in `ranges` is replaced or
/// an occurrence that overlaps it. False if there are several ranges.
fn gives_same_text(text: &str, old: &str, new: &str, ranges: &[Range<usize>]) -> bool {
    let [range] = ranges else { return false };
    let from = range.start + 1;
    let to = (range.end + old.len() - 1).min(text.len());
    let finder = Finder::new(old);
    let bytes = &text.as_bytes()[from..to];
    let overlapping_starts = (0..bytes.len()).scan(0, |next, _| {
        let at = finder.find(&bytes[*next..])? + *next;
        *next = at + 1;
        Some(from + at)
    });
    let starts: Vec<usize> = overlapping_starts.take(MAX_OVERLAPS + 1).collect();
    starts.len() <= MAX_OVERLAPS
        && starts.into_iter().all(|at| {
            let first_replaced =
                [new.as_bytes(), &text.as_bytes()[range.end..at + old.len()]].concat();
            let second_replaced = [&text.as_bytes()[range.start..at], new.as_bytes()].concat();
            first_replaced == second_replaced
        })
}

/// The verdict on replacing these occurrences by `new_str`.
fn replace(
    request: &EditRequest,
    file: &SourceFile<'_>,
    ranges: &[Range<usize>],
    finder: &Finder<'_>,
) -> Verdict {
    let applied = |range: &Range<usize>| find_applied_edit(request, file, range, finder);
    if let Some(line) = ranges.iter().take(MAX_CHECKED).find_map(applied) {
        return Verdict::Refused(match ranges.len() {
            1 => refuse::already_applied(line),
            count => refuse::partly_applied(line, count),
        });
    }
    if let Some(placeholder) = introduced_placeholder(request, file) {
        return Verdict::Refused(refuse::omission(placeholder));
    }
    let mut explanation = Explanation::plain(Rung::Exact);
    explanation.replacements = ranges.len();
    let mut new = request.new.clone();
    if let [range] = ranges {
        match escapes::review_escapes(file, range, &request.old, &request.new) {
            escapes::EscapeReview::Proven(text) => {
                new = text;
                explanation.rewrites.push(Rewrite::UnescapeNew);
            }
            escapes::EscapeReview::Suspicious => {
                explanation.warnings.push(escapes::ESCAPES_WARNING.into())
            }
            escapes::EscapeReview::Fine => {}
        }
    }
    explanation.warnings.extend(warnings_for(request, file, &ranges[0], &new));
    let splice = |range: &Range<usize>| {
        let text = with_file_endings(file, range.start, &new);
        Splice { range: range.clone(), text }
    };
    let splices: Vec<Splice> = ranges.iter().map(splice).collect();
    if splices.iter().any(|splice| splice.text != new) {
        explanation.rewrites.push(Rewrite::LineEndings);
    }
    Verdict::One(Explained::new(request, file, splices, explanation))
}

/// The most places of a call that are checked for an edit that was made already.
const MAX_CHECKED: usize = 10_000;

/// Whether a text has line breaks, and no carriage return.
fn has_only_lf(text: &str) -> bool {
    text.contains('\n') && !text.contains('\r')
}

/// `new` with the line endings that the file has near `at`. CRLF becomes LF only if all line endings
/// of the file are LF.
pub(super) fn with_file_endings(file: &SourceFile<'_>, at: usize, new: &str) -> String {
    match file.snapshot.ending_near(at) {
        LineEnding::Lf if new.contains("\r\n") && has_only_lf(file.text) => {
            return new.replace("\r\n", "\n");
        }
        LineEnding::CrLf if new.contains('\n') => {}
        _ => return new.to_owned(),
    }
    let mut out = String::with_capacity(new.len() + 16);
    let mut previous = ' ';
    for c in new.chars() {
        if c == '\n' && previous != '\r' {
            out.push('\r');
        }
        out.push(c);
        previous = c;
    }
    out
}

/// The line (from 1) at which the file already has `new` around the occurrence, so that the call
/// was probably sent before.
fn find_applied_edit(
    request: &EditRequest,
    file: &SourceFile<'_>,
    range: &Range<usize>,
    finder: &Finder<'_>,
) -> Option<usize> {
    let (old, new) = (request.old.as_str(), request.new.as_str());
    // Blank lines at its ends that the edit takes away may be there once more.
    let is_break = |c| matches!(c, '\r' | '\n');
    let begins = |text: &str| text.len() - text.trim_start_matches(is_break).len();
    let ends = |text: &str| text.len() - text.trim_end_matches(is_break).len();
    let core = old.trim_matches(is_break);
    let takes_away = (begins(new) < begins(old) || ends(new) < ends(old))
        && !core.is_empty()
        && new.trim_matches(is_break) != core;
    let shift = if takes_away { begins(old) } else { 0 };
    let core_finder = takes_away.then(|| Finder::new(core));
    let mut offsets = core_finder.as_ref().unwrap_or(finder).find_iter(new.as_bytes()).take(1_000);
    let start = offsets.find_map(|offset| {
        let start = (range.start + shift).checked_sub(offset)?;
        file.text.as_bytes()[start..].starts_with(new.as_bytes()).then_some(start)
    })?;
    if mends_structure(request, file, range) {
        return None;
    }
    Some(file.snapshot.lines().number_at(start))
}

/// Whether the edit closes what the file leaves open: then what it adds is not there yet, even if the
/// next line looks like it.
fn mends_structure(request: &EditRequest, file: &SourceFile<'_>, range: &Range<usize>) -> bool {
    let (old, new) = (request.old.as_str(), request.new.as_str());
    let Some(added) = new.strip_prefix(old).or_else(|| new.strip_suffix(old)) else { return false };
    let Some(language) = file.language else { return false };
    let after = || [&file.text[..range.start], new, &file.text[range.end..]].concat();
    if file.proves_structure() && !added.contains(is_word_char) {
        return !file.lexed().is_some_and(crate::language::Lexed::is_well_formed)
            && language.lex(&after()).is_well_formed();
    }
    let added = added.trim();
    if let Some(tag) = added.strip_prefix("</").and_then(|tag| tag.strip_suffix('>')) {
        let open = format!("<{tag}");
        let is_end = |c: Option<char>| !c.is_some_and(|c| is_word_char(c) || c == '-');
        let opened = file
            .text
            .match_indices(&open)
            .filter(|(at, open)| is_end(file.text[at + open.len()..].chars().next()));
        return opened.count() > file.text.matches(added).count();
    }
    added == "end" && {
        let opens = |line: &&str| {
            let line = line.trim();
            let first = line.split(|c: char| !is_word_char(c)).next().unwrap_or_default();
            let is_one_line = line.split(|c: char| !is_word_char(c)).any(|word| word == "end");
            !is_one_line
                && (matches!(
                    first,
                    "def"
                        | "class"
                        | "module"
                        | "if"
                        | "unless"
                        | "while"
                        | "until"
                        | "case"
                        | "begin"
                        | "for"
                        | "function"
                        | "defmodule"
                        | "defp"
                ) || line.ends_with(" do")
                    || line.ends_with('|') && line.contains(" do |"))
        };
        let closes = |line: &&str| line.trim() == "end" || line.trim().starts_with("end)");
        file.text.lines().filter(opens).count() > file.text.lines().filter(closes).count()
    }
}

/// A placeholder that `new_str` adds in code, if the edit would delete lines for it.
fn introduced_placeholder<'a>(request: &'a EditRequest, file: &SourceFile<'_>) -> Option<&'a str> {
    let placeholder = placeholder::introduced(&request.old, &request.new, file)?;
    let kept: std::collections::HashSet<&str> = request.new.lines().map(str::trim).collect();
    let lost = |line: &str| !line.trim().is_empty() && !kept.contains(line.trim());
    request.old.lines().any(lost).then_some(placeholder)
}

/// The warnings about an exact replacement.
fn warnings_for(
    request: &EditRequest,
    file: &SourceFile<'_>,
    range: &Range<usize>,
    new: &str,
) -> Vec<String> {
    let (text, old) = (file.text, request.old.as_str());
    let mut out = Vec::new();
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    let is_word = |c: Option<char>| c.is_some_and(is_word_char);
    let cut_head =
        is_word(before) && is_word(old.chars().next()) && old.chars().next() != new.chars().next();
    let cut_tail = is_word(after)
        && is_word(old.chars().next_back())
        && old.chars().next_back() != new.chars().next_back();
    if cut_head || cut_tail {
        let line = file.snapshot.lines().number_at(range.start);
        out.push(format!(
            "the old text begins or ends inside a word on line {line}; only that part was replaced"
        ));
    }
    if old.ends_with('\n') && !new.is_empty() && !new.ends_with('\n') && after.is_some() {
        out.push("the old text ends with a line break and the new text does not, so the last line of the new text and the next line of the file are now one line".into());
    }
    let joins_above = old.starts_with(['\n', '\r'])
        && !new.starts_with(['\n', '\r'])
        && !new.is_empty()
        && before.is_some_and(|c| c != '\n');
    if joins_above {
        out.push("the old text begins with a line break and the new text does not, so the line above and the first line of the new text are now one line".into());
    }
    out.extend(edge_indentation_warning(file, range, old, new));
    if matches!(after, Some('\r' | '\n')) {
        out.extend(added_blank_line_warning(old, new));
    }
    if let Some(warning) = dedent_warning(file, range, new) {
        out.push(warning);
    }
    out.extend(suspicious_text_warnings(file, old, new));
    if let Some(repeated) = repeated_neighbour(file, range, old, new) {
        out.push(format!("the new text repeats line {repeated}, which is next to the edit"));
    }
    out
}

/// The warning that a line break at the end of `new` adds a blank line, because `old` has none and
/// the line break after the replaced text stays.
pub(super) fn added_blank_line_warning(old: &str, new: &str) -> Option<String> {
    let adds_blank_line = new.len() > 1 && new.ends_with('\n') && !old.ends_with('\n');
    adds_blank_line.then(|| {
        "the new text ends with a line break and the old text does not, so a blank line was added after it"
            .to_owned()
    })
}

/// The warnings about text in `new_str` that was probably not meant to be written.
pub(super) fn suspicious_text_warnings(file: &SourceFile<'_>, old: &str, new: &str) -> Vec<String> {
    let mut out = Vec::new();
    if new.trim_start().starts_with("```")
        && !old.contains("```")
        && file.language.is_none_or(|l| l.is_code())
    {
        out.push("the new text holds a code fence, which was written as it is".into());
    }
    if placeholder::introduced(old, new, file).is_some() {
        out.push(
            "the new text holds a placeholder for other text, which was written as it is".into(),
        );
    }
    let is_all_marked = |text: &str| {
        let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
        lines.peek().is_some() && lines.all(|line| line.starts_with(['+', '-']))
    };
    let may_be_diff =
        file.language.is_none_or(|l| l.name != "diff" && l.name != "markdown" && l.name != "yaml");
    if may_be_diff
        && (is_all_marked(new) && !is_all_marked(old) || reading::is_diff_with_context(" ", new))
    {
        out.push(
            "lines of the new text begin with + or - as in a diff; they were written as they are"
                .into(),
        );
    }
    let is_conflict = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    if new.lines().any(is_conflict) && !old.lines().any(is_conflict) {
        out.push("the new text holds the markers of a merge conflict or of a search/replace block, which were written as they are".into());
    }
    out
}

/// The warning that the indentation of a line changes, because the two strings begin or end with
/// different parts of it.
fn edge_indentation_warning(
    file: &SourceFile<'_>,
    range: &Range<usize>,
    old: &str,
    new: &str,
) -> Option<String> {
    let text = file.text;
    let blanks_at_end = |text: &str| text.len() - text.trim_end_matches([' ', '\t']).len();
    let (old_blanks, new_blanks) = (blanks_at_end(old), blanks_at_end(new));
    let text_follows = text[range.end..].chars().next().is_some_and(|c| !c.is_whitespace());
    let both_are_indentation = old[..old.len() - old_blanks].ends_with('\n')
        && new[..new.len() - new_blanks].ends_with('\n');
    if both_are_indentation && text_follows && old_blanks != new_blanks {
        return Some("the old text and the new text end with different parts of the next line's indentation, so the indentation of that line has changed".to_owned());
    }
    let line_start = text[..range.start].rfind('\n').map_or(0, |feed| feed + 1);
    let leading = &text[line_start..range.start];
    let inside_indent = !leading.is_empty() && leading.trim().is_empty();
    if inside_indent && new.is_empty() && old.ends_with('\n') && text_follows_line(text, range) {
        return Some("the old text begins inside the indentation of its first line, and what is left of it is now before the next line: quote the whole indentation".to_owned());
    }
    if inside_indent && !indent_of(old).is_empty() && new.lines().count() > 1 {
        return Some("the old text begins inside the indentation of its first line, and the lines after the first were written with the indentation that was sent".to_owned());
    }
    (inside_indent && indent_of(old).is_empty() && !indent_of(new).is_empty()).then(|| {
        "the old text begins after the line's indentation and the new text brings its own, so the first line is now indented further".to_owned()
    })
}

/// Whether the line below a range that ends with a line break is not blank.
fn text_follows_line(text: &str, range: &Range<usize>) -> bool {
    text[range.end..].lines().next().is_some_and(|line| !line.trim().is_empty())
}

/// The warning that the lines of `new` after the first are indented less than the lines around
/// them.
fn dedent_warning(file: &SourceFile<'_>, range: &Range<usize>, new: &str) -> Option<String> {
    let text = file.text;
    let line_start = text[..range.start].rfind('\n').map_or(0, |feed| feed + 1);
    let leading = &text[line_start..range.start];
    let is_nonblank = |line: &&str| !line.trim().is_empty();
    if leading.is_empty() || !leading.trim().is_empty() {
        return None;
    }
    let width = |line: &str| indent::columns(indent_of(line), 4);
    let least_after_first = |text: &str| text.lines().skip(1).filter(is_nonblank).map(width).min();
    let replaced = &text[range.clone()];
    let column = indent::columns(leading, 4);
    let new_width = least_after_first(new)?;
    let first_width = column + width(new);
    let old_width = least_after_first(replaced).unwrap_or(first_width);
    let is_dedented = new_width < old_width.min(first_width);
    (is_flattened(replaced, new, column) || is_dedented).then(|| {
        "the new text was written as sent, and its lines after the first are indented less than the lines around them: indent them if they belong there".to_owned()
    })
}

/// Whether both texts begin with a line that opens a block, but only `old` indents the line after
/// it. Both begin at column `column`.
fn is_flattened(old: &str, new: &str, column: usize) -> bool {
    let indents_second = |text: &str| {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let opens = lines.next()?.trim_end().ends_with([':', '{', '(', '[']);
        let body =
            lines.next().filter(|line| opens && !line.trim().starts_with(['}', ')', ']']))?;
        let first = column + indent::columns(indent_of(text), 4);
        Some(indent::columns(indent_of(body), 4) > first)
    };
    indents_second(old) == Some(true) && indents_second(new) == Some(false)
}

/// The number of a line next to the place that `new_str` repeats as its first or last line, if
/// `old_str` does not have that line.
fn repeated_neighbour(
    file: &SourceFile<'_>,
    range: &Range<usize>,
    old: &str,
    new: &str,
) -> Option<usize> {
    let is_distinctive = |line: &str| line.trim().chars().filter(|c| is_word_char(*c)).count() >= 4;
    let is_nonblank = |line: &&str| !line.trim().is_empty();
    if new.lines().count() < 2 {
        return None;
    }
    let (first, last) = (new.lines().find(is_nonblank)?, new.lines().rev().find(is_nonblank)?);
    let text = file.text;
    let start = text[..range.start].rfind('\n').map_or(0, |feed| feed + 1);
    let end = match text[..range.end].ends_with('\n') {
        true => range.end,
        false => text[range.end..].find('\n').map_or(text.len(), |feed| range.end + feed + 1),
    };
    let above = text[..start].lines().next_back().unwrap_or_default();
    let below = text[end..].lines().next().unwrap_or_default();
    let is_repeated = |neighbour: &str, new_line: &str| {
        let is_in_old = || old.lines().any(|old_line| old_line.trim() == new_line.trim());
        neighbour.trim() == new_line.trim() && is_distinctive(new_line) && !is_in_old()
    };
    let at = if is_repeated(above, first) {
        start.checked_sub(1)?
    } else if is_repeated(below, last) {
        end
    } else {
        return None;
    };
    Some(file.snapshot.lines().number_at(at))
}
