//! Removes what views and diffs add to a line and what models copy with it: line numbers, anchors,
//! diff markers, carriage returns.

use std::collections::HashSet;

use crate::edit::Rewrite;
use crate::language::Language;
use crate::matching::indent_of;
use crate::matching::reading::{NumberStyle, diff_side, parse_line_number};
use crate::text::Snapshot;
use crate::text::tag;

use super::{LocatedEdit, RepairLog};

/// Removes carriage returns at the ends of lines, since the file's own line endings are used.
pub(super) fn strip_carriage_returns(edit: &mut LocatedEdit, log: &mut RepairLog) {
    let mut dropped = 0;
    for line in edit.lines.iter_mut().filter(|line| line.ends_with('\r')) {
        line.pop();
        dropped += 1;
    }
    if dropped > 0 {
        log.record(Rewrite::CarriageReturns, format!("edit {}: dropped the carriage return at the end of {dropped} line(s); the file's own line endings are used", edit.number));
    }
}

/// A line with the line number or anchor that a view of the file prints before it.
struct Prefix<'a> {
    style: NumberStyle,
    /// The number in the prefix.
    number: usize,
    /// The letters of an anchor.
    id: Option<&'a str>,
    /// The line without its prefix.
    text: &'a str,
}

impl<'a> Prefix<'a> {
    /// Parses the prefix of a line; `None` if it has none.
    fn of(line: &'a str) -> Option<Self> {
        let trimmed = line.trim_start();
        let trimmed = trimmed.strip_prefix(">>>").map_or(trimmed, str::trim_start);
        let (style, number, text) = parse_line_number(trimmed)?;
        let mut id = None;
        if style == NumberStyle::Anchor {
            let letters = trimmed.split('#').nth(1)?.split(['|', ':']).next()?;
            let is_id = letters.len() == 2 && letters.bytes().all(|b| tag::ALPHABET.contains(&b));
            if !is_id {
                return None;
            }
            id = Some(letters);
        }
        Some(Self { style, number, id, text })
    }

    /// Whether it is the anchor of the line of the file with its number: no text is that by chance.
    fn is_anchor_of(&self, file: &Snapshot) -> bool {
        file.line(self.number)
            .is_some_and(|line| self.id.is_some_and(|id| tag::matches(self.number, line, id)))
    }

    /// The line without its prefix and without `padding` after it.
    fn text_without(&self, padding: &str) -> &'a str {
        self.text.strip_prefix(padding).unwrap_or(self.text)
    }

    /// Whether only restitch's own views print this form.
    fn is_ours(&self) -> bool {
        matches!(self.style, NumberStyle::Angles | NumberStyle::Anchor)
    }
}

/// Removes line numbers that were copied with the lines.
pub(super) fn strip_line_prefixes(edit: &mut LocatedEdit, file: &Snapshot, log: &mut RepairLog) {
    let span = edit.span;
    let nonblank = edit.lines.iter().filter(|line| !line.trim().is_empty());
    let nonblank_count = nonblank.clone().count();
    let prefixes: Vec<Prefix<'_>> = nonblank.filter_map(|line| Prefix::of(line)).collect();
    let marked = prefixes.len();
    if marked == 0 {
        return;
    }
    let has_prefix =
        |number: usize| file.line(number).is_some_and(|line| Prefix::of(line).is_some());
    // If the file's own lines start like that, the prefixes may belong to the text.
    if (span.start.saturating_sub(1)..=span.end.max(span.start)).any(has_prefix) {
        return;
    }
    let are_consecutive = prefixes.windows(2).all(|pair| pair[1].number == pair[0].number + 1);
    let around = span.start.saturating_sub(1)..=span.end.max(span.start) + 1;
    let starts_here = around.contains(&prefixes[0].number);
    let number_this_place = starts_here && are_consecutive;
    let have_same_style = prefixes.windows(2).all(|pair| pair[0].style == pair[1].style);
    let are_on_all_lines = marked == nonblank_count && have_same_style;
    let are_ours = prefixes.iter().all(Prefix::is_ours);
    // Whether the line that a prefix names in the file is the line without its prefix.
    let matches_file = |prefix: &Prefix<'_>, padding: &str| {
        let text = prefix.text_without(padding);
        file.line(prefix.number)
            .is_some_and(|line| line.trim_end() == text.trim_end() && !line.trim().is_empty())
    };
    let any_matches = |padding: &str| prefixes.iter().any(|prefix| matches_file(prefix, padding));
    // Some views print a space between the number and the line.
    let padding = match (any_matches(""), any_matches(" ")) {
        (false, true) => " ",
        _ => "",
    };
    let all_match = prefixes.iter().all(|prefix| matches_file(prefix, padding));
    let is_proven = are_on_all_lines
        && (number_this_place && (are_ours || any_matches(padding)) || all_match)
        || prefixes.iter().all(|prefix| prefix.is_anchor_of(file));
    if !is_proven {
        if are_ours || are_on_all_lines && number_this_place {
            log.warnings.push(format!(
                "edit {}: {marked} of its lines start like a line number prefix; they were written as given",
                edit.number
            ));
        }
        return;
    }
    let strip = |line: &String| match Prefix::of(line) {
        Some(prefix) => prefix.text_without(padding).to_owned(),
        None => line.clone(),
    };
    edit.lines = edit.lines.iter().map(strip).collect();
    log.record(
        Rewrite::LinePrefixes,
        format!("edit {}: dropped the line number prefixes of its lines", edit.number),
    );
}

/// Removes the markers in the first column if the lines are a diff of the replaced lines.
pub(super) fn strip_diff_markers(
    edit: &mut LocatedEdit,
    file: &Snapshot,
    language: Option<&'static Language>,
    log: &mut RepairLog,
) {
    let old_lines = edit.replaced_lines(file);
    let new_lines: Vec<&String> = edit.lines.iter().filter(|line| !line.is_empty()).collect();
    let plus_count = new_lines.iter().filter(|line| line.starts_with('+')).count();
    if plus_count == 0 || old_lines.iter().any(|line| line.trim_start().starts_with('+')) {
        return;
    }
    let text = edit.lines.join("\n");
    let side = |marker: char, other: char| -> Option<Vec<String>> {
        Some(diff_side(&text, marker, other)?.split('\n').map(str::to_owned).collect())
    };
    let without_marker = |line: &str| line.get(1..).unwrap_or_default().to_owned();
    let all_have_plus = plus_count == new_lines.len();
    // The lines are a diff if its old side is exactly the replaced lines.
    let is_hunk = !all_have_plus && side('-', '+').is_some_and(|lines| lines == old_lines);
    // If every line has a `+`, one of three things proves that it is a marker. One is that a line
    // without its `+` is a replaced line.
    let old_set: HashSet<&str> = old_lines.iter().copied().collect();
    let is_replaced_line = |line: &&String| {
        let text = without_marker(line);
        text.trim().len() >= 4 && old_set.contains(text.as_str())
    };
    // In code: without its `+`, the first line has the indentation of the first replaced line.
    let is_code = language.is_some_and(Language::is_code);
    let first_old = old_lines.iter().find(|line| !line.trim().is_empty());
    let has_old_indent = is_code
        && first_old.zip(new_lines.first()).is_some_and(|(old, new)| {
            !indent_of(old).is_empty() && indent_of(&without_marker(new)) == indent_of(old)
        });
    // In code too: no line of the file begins so, and none of these reads as an operator.
    let is_operator = |line: &&String| {
        let text = &line[1..];
        text.starts_with('+') || indent_of(text) == " "
    };
    let begins_with_plus = |line: &str| line.trim_start().starts_with('+');
    let is_foreign_mark = || {
        is_code && !new_lines.iter().any(is_operator) && !file.text().lines().any(begins_with_plus)
    };
    let are_added_lines = all_have_plus
        && (new_lines.iter().any(is_replaced_line) || has_old_indent || is_foreign_mark());
    if is_hunk || are_added_lines {
        edit.lines = match side('+', '-') {
            Some(lines) => lines,
            None => edit.lines.iter().map(|line| without_marker(line)).collect(),
        };
        log.record(
            Rewrite::StripDiffMarkers,
            format!("edit {}: dropped the diff markers of its lines", edit.number),
        );
    } else if all_have_plus {
        log.warnings.push(format!(
            "edit {}: every line starts with `+`; written as given, since that may not be a diff marker",
            edit.number
        ));
    }
}
