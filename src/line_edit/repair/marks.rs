//! What views and diffs add to a line and models copy with it: line numbers, anchors, diff
//! markers, carriage returns.

use crate::edit::Rewrite;
use crate::hashline::tag;
use crate::language::Language;
use crate::matching::indent_of;
use crate::matching::reading::{NumberStyle, diff_side, parse_line_number};
use crate::text::Snapshot;

use super::{LocatedEdit, RepairLog};

/// A carriage return at the end of a line is half a line ending; the file has its own.
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

/// A line number in front of a line, as a view of the file prints it.
struct Prefix<'a> {
    style: NumberStyle,
    line: usize,
    rest: &'a str,
}

impl<'a> Prefix<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let text = text.strip_prefix(">>>").map_or(text, str::trim_start);
        let (style, line, rest) = parse_line_number(text)?;
        if style == NumberStyle::Anchor {
            let id = text.split('#').nth(1)?.split(['|', ':']).next()?;
            let known = tag::Width::from_letters(id.len()).is_some()
                && id.bytes().all(|b| tag::ALPHABET.contains(&b));
            known.then_some(())?;
        }
        Some(Self { style, line, rest })
    }

    /// Whether only our own views print this form.
    fn is_ours(&self) -> bool {
        matches!(self.style, NumberStyle::Angles | NumberStyle::Anchor)
    }
}

/// Removes line numbers that were copied with the lines.
pub(super) fn strip_line_prefixes(edit: &mut LocatedEdit, file: &Snapshot, log: &mut RepairLog) {
    let span = edit.span;
    let full = edit.lines.iter().filter(|line| !line.trim().is_empty());
    let parsed: Vec<Option<Prefix<'_>>> = full.map(|line| Prefix::of(line)).collect();
    let marked = parsed.iter().flatten().count();
    if marked == 0 {
        return;
    }
    let has_prefix =
        |number: usize| file.line(number).is_some_and(|line| Prefix::of(line).is_some());
    // The file has such text itself.
    if (span.start.saturating_sub(1)..=span.end.max(span.start)).any(has_prefix) {
        return;
    }
    let numbers: Vec<usize> = parsed.iter().flatten().map(|prefix| prefix.line).collect();
    let consecutive = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let around = span.start.saturating_sub(1)..=span.end.max(span.start) + 1;
    let here = numbers.first().is_some_and(|first| around.contains(first));
    let same_style = parsed
        .iter()
        .flatten()
        .zip(parsed.iter().flatten().skip(1))
        .all(|(a, b)| a.style == b.style);
    let ours = parsed.iter().flatten().all(Prefix::is_ours);
    // Without the number, and perhaps one space after it, the line is the file's.
    let is_real = |prefix: &Prefix<'_>, padding: &str| {
        let rest = prefix.rest.strip_prefix(padding).unwrap_or(prefix.rest);
        file.line(prefix.line)
            .is_some_and(|line| line.trim_end() == rest.trim_end() && !line.trim().is_empty())
    };
    let real = |padding: &str| parsed.iter().flatten().any(|prefix| is_real(prefix, padding));
    let padding = match (real(""), real(" ")) {
        (false, true) => " ",
        _ => "",
    };
    let all = marked == parsed.len() && same_style;
    let placed = here && consecutive;
    let named = parsed.iter().flatten().all(|prefix| is_real(prefix, padding));
    let proven = all && (placed && (ours || real(padding)) || named);
    if !proven {
        if ours || all && placed {
            log.warnings.push(format!(
                "edit {}: {marked} of its lines start like a line number prefix; they were written as given",
                edit.number
            ));
        }
        return;
    }
    let strip = |line: &String| {
        Prefix::of(line).map_or_else(
            || line.clone(),
            |prefix| prefix.rest.strip_prefix(padding).unwrap_or(prefix.rest).to_owned(),
        )
    };
    edit.lines = edit.lines.iter().map(strip).collect();
    log.record(
        Rewrite::LinePrefixes,
        format!("edit {}: dropped the line number prefixes of its lines", edit.number),
    );
}

/// Removes the first column if the lines are a diff of the replaced ones.
pub(super) fn strip_diff_markers(
    edit: &mut LocatedEdit,
    file: &Snapshot,
    language: Option<&'static Language>,
    log: &mut RepairLog,
) {
    let old = edit.replaced_lines(file);
    let full: Vec<&String> = edit.lines.iter().filter(|line| !line.is_empty()).collect();
    let plus = full.iter().filter(|line| line.starts_with('+')).count();
    if plus == 0 || old.iter().any(|line| line.trim_start().starts_with('+')) {
        return;
    }
    let text = edit.lines.join("\n");
    let side = |own: char, other: char| -> Option<Vec<String>> {
        Some(diff_side(&text, own, other)?.split('\n').map(str::to_owned).collect())
    };
    // Context and removed lines, in order, must be the replaced lines, all of them.
    let has_old = full.iter().any(|line| !line.starts_with('+'));
    let hunk = has_old && side('-', '+').is_some_and(|lines| lines == old);
    let rest = |line: &str| line.get(1..).unwrap_or_default().to_owned();
    let all = plus == full.len();
    // Or every line is marked, and without its mark one of them is a replaced line.
    let echo = |line: &&String| {
        let text = rest(line);
        text.trim().len() >= 4 && old.contains(&text.as_str())
    };
    // Or, in code, the first one has the indentation of the first replaced line behind it.
    let first = old.iter().find(|line| !line.trim().is_empty());
    let deep = language.is_some_and(Language::is_code)
        && first.zip(full.first()).is_some_and(|(old, new)| {
            !indent_of(old).is_empty() && indent_of(&rest(new)) == indent_of(old)
        });
    if hunk || all && !old.is_empty() && (full.iter().any(echo) || deep) {
        edit.lines = match side('+', '-') {
            Some(lines) => lines,
            None => edit.lines.iter().map(|line| rest(line)).collect(),
        };
        log.record(
            Rewrite::StripDiffMarkers,
            format!("edit {}: dropped the diff markers of its lines", edit.number),
        );
    } else if all {
        log.warnings.push(format!(
            "edit {}: every line starts with `+`; written as given, since nothing proves it a diff marker",
            edit.number
        ));
    }
}
