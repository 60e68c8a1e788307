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
    Some(match choose_occurrences(request, file, &occurrences) {
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
    let overlapping = ranges.iter().any(overlaps);
    Occurrences { finder, ranges, overlapping }
}

/// The occurrences that the call means, by its expected count and `near_line`.
pub(super) fn choose_occurrences(
    request: &EditRequest,
    file: &SourceFile<'_>,
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
        Expected::Exactly(_) if occurrences.overlapping => wrong_count(),
        Expected::Exactly(count) if count.get() == occurrences.ranges.len() => {
            Ok(occurrences.ranges.clone())
        }
        Expected::Exactly(count) if count.get() == 1 => match nearest_to_line(request, &lines()) {
            Some(at) => Ok(vec![occurrences.ranges[at].clone()]),
            None => wrong_count(),
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
        LineEnding::Lf if has_only_lf(file.text) => new.replace("\r\n", "\n"),
        LineEnding::CrLf => new.replace("\r\n", "\n").replace('\n', "\r\n"),
        _ => new.to_owned(),
    }
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
            let mut words = line.split(|c: char| !is_word_char(c));
            let opens_block = words.clone().next().is_some_and(|word| OPENERS.contains(&word))
                || line.ends_with(" do")
                || line.ends_with('|') && line.contains(" do |");
            opens_block && !words.any(|word| word == "end")
        };
        let closes = |line: &&str| line.trim() == "end" || line.trim().starts_with("end)");
        file.text.lines().filter(opens).count() > file.text.lines().filter(closes).count()
    }
}

/// The words that begin a block which `end` closes, in the languages that have such blocks.
const OPENERS: &[&str] = &[
    "def",
    "class",
    "module",
    "if",
    "unless",
    "while",
    "until",
    "case",
    "begin",
    "for",
    "function",
    "defmodule",
    "defp",
];

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
    let joins_below =
        old.ends_with('\n') && !new.is_empty() && !new.ends_with('\n') && after.is_some();
    let joins_above = old.starts_with(['\n', '\r'])
        && !new.starts_with(['\n', '\r'])
        && !new.is_empty()
        && before.is_some_and(|c| c != '\n');
    if joins_below || joins_above {
        let edge = if joins_below { "ends" } else { "begins" };
        out.push(format!(
            "the old text {edge} with a line break and the new text does not, so a line of the new text and the line of the file beside it are now one line"
        ));
    }
    out.extend(indentation_warning(file, range, old, new));
    if matches!(after, Some('\r' | '\n')) {
        out.extend(added_blank_line_warning(old, new));
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

/// The warning that lines may have the wrong indentation now: because the two strings begin or end with
/// different parts of it, or because lines of `new` are less deep than those around them.
fn indentation_warning(
    file: &SourceFile<'_>,
    range: &Range<usize>,
    old: &str,
    new: &str,
) -> Option<String> {
    let text = file.text;
    let next_line = text[range.end..].lines().next().unwrap_or_default();
    let blanks_at_end = |text: &str| text.len() - text.trim_end_matches([' ', '\t']).len();
    let (old_blanks, new_blanks) = (blanks_at_end(old), blanks_at_end(new));
    let ends_differ = old[..old.len() - old_blanks].ends_with('\n')
        && new[..new.len() - new_blanks].ends_with('\n')
        && next_line.starts_with(|c: char| !c.is_whitespace())
        && old_blanks != new_blanks;
    let line_start = text[..range.start].rfind('\n').map_or(0, |feed| feed + 1);
    let leading = &text[line_start..range.start];
    let begins_inside = !leading.is_empty() && leading.trim().is_empty();
    let starts_differ = || match indent_of(old).is_empty() {
        true => !indent_of(new).is_empty(),
        false => new.lines().count() > 1,
    };
    let leaves_rest = || new.is_empty() && old.ends_with('\n') && !next_line.trim().is_empty();
    let width = |line: &str| indent::columns(indent_of(line), 4);
    let least_after_first =
        |text: &str| text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(width).min();
    let is_dedented = || {
        let first = indent::columns(leading, 4) + width(new);
        let old = least_after_first(&text[range.clone()]).unwrap_or(first);
        least_after_first(new).is_some_and(|new| new < old.min(first))
    };
    let warning = if begins_inside && is_dedented() {
        "the new text was written as sent, and its lines after the first are indented less than the lines around them: indent them if they belong there"
    } else if ends_differ || begins_inside && (starts_differ() || leaves_rest()) {
        "the old text begins or ends inside the indentation of a line, and the new text was written as sent: check the indentation of its lines and of the next one"
    } else {
        return None;
    };
    Some(warning.to_owned())
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
    let number_at = |offset| file.snapshot.lines().number_at(offset);
    let (above, below) = (number_at(range.start) - 1, number_at(range.end - 1) + 1);
    let is_repeated = |number: usize, new_line: &str| {
        let is_in_old = || old.lines().any(|old_line| old_line.trim() == new_line.trim());
        let neighbour = file.snapshot.line(number).map(str::trim);
        neighbour == Some(new_line.trim()) && is_distinctive(new_line) && !is_in_old()
    };
    if is_repeated(above, first) {
        return Some(above);
    }
    is_repeated(below, last).then_some(below)
}
