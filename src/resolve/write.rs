//! The edit that a text of the model makes, if it passes the checks.

use std::ops::Range;

use super::PendingCall;
use super::candidates::definition;
use super::judge::{Case, as_written, check_blank_lines, conflicts, judge, reads_alike};
use crate::edit::{Corrected, EditRequest, Explanation, Rewrite, Rung, Splice, apply_splices};
use crate::language::Lexed;
use crate::matching::{
    ESCAPES_WARNING, EscapeReview, Explained, describe_conflict, escape_readings,
    review_line_escapes, spoiled_readings,
};
use crate::text::words;

impl PendingCall {
    /// The edit that writes a text at places that all have the same text. The error says, to the
    /// model, why the text is rejected. `judged` is the first place with the lines around it that
    /// `old_str` covers.
    pub(super) fn checked(
        &self,
        places: &[Range<usize>],
        judged: &Range<usize>,
        text: &str,
    ) -> Result<Explained, String> {
        let file = self.snapshot.text();
        let first = places.first().ok_or("the answer names no place")?;
        let is_partial = !file[self.place_of_text(first, text)].ends_with('\n');
        let Some(shorter) = text.strip_suffix('\n').filter(|_| is_partial) else {
            return self.checked_exactly(places, judged, text);
        };
        // The last line break ends the last line, or stands for a blank line.
        let shorter = shorter.strip_suffix('\r').unwrap_or(shorter);
        self.checked_exactly(places, judged, shorter)
            .or_else(|why| self.checked_exactly(places, judged, text).map_err(|_| why))
    }

    fn checked_exactly(
        &self,
        places: &[Range<usize>],
        judged: &Range<usize>,
        text: &str,
    ) -> Result<Explained, String> {
        let file = self.snapshot.text();
        let first = places.first().ok_or("the answer names no place")?;
        let place = self.place_of_text(first, text);
        let ending = self.snapshot.ending_near(place.start).as_str();
        let whole_definition = definition(&self.snapshot, judged);
        let case = Case {
            old: &self.request.old,
            new: &self.request.new,
            found: &file[place.clone()],
            definition: &file[whole_definition],
            language: self.request.language,
        };
        let written = as_written(&case, text, ending);
        let around = judged.start.min(place.start)..judged.end.max(place.end);
        let judged_text =
            [&file[around.start..place.start], &written, &file[place.end..around.end]].concat();
        let found = &file[around.clone()];
        self.judged_as_sent_or_repaired(&Case { found, ..case }, &place, &judged_text)?;
        check_blank_lines(&case, (&file[..place.start], &file[place.end..]), &written)?;
        let mut warnings = Vec::new();
        let old = &file[place.clone()];
        match review_line_escapes(&self.snapshot, self.request.language, &place, &written) {
            EscapeReview::Fine => {}
            EscapeReview::Proven(_) => {
                return Err("the text has `\\n` or `\\\"` where the language does not allow it; write what they stand for".into());
            }
            EscapeReview::Suspicious => warnings.push(ESCAPES_WARNING.to_owned()),
        }
        let splices: Vec<Splice> = places
            .iter()
            .map(|other| Splice { range: self.place_of_text(other, text), text: written.clone() })
            .collect();
        if self.breaks_structure(&splices) {
            return Err("the result would leave brackets or literals unclosed".into());
        }
        let mut explanation = Explanation::plain(Rung::Model);
        explanation.replacements = splices.len();
        explanation.rewrites.push(Rewrite::ModelOld);
        if written != self.request.new {
            explanation.rewrites.push(Rewrite::ModelNew);
        }
        let first_line = self.snapshot.lines().number_at(around.start);
        explanation.conflicts = conflicts(&Case { found, ..case }, &judged_text, first_line);
        explanation.warnings = warnings;
        explanation.warnings.extend(explanation.conflicts.iter().map(describe_conflict));
        explanation.corrected = Some(Corrected { old_str: old.to_owned(), new_str: written });
        Ok(Explained { splices, explanation, is_guess: false })
    }

    /// Judges a text against the call as it was sent. Where its escapes or other traits of the whole
    /// text are a mistake, the call without them counts as well.
    fn judged_as_sent_or_repaired(
        &self,
        case: &Case<'_>,
        place: &Range<usize>,
        text: &str,
    ) -> Result<(), String> {
        let EditRequest { old, new, language, .. } = &self.request;
        let marked = with_marks(old, new, case.found);
        let (old, new) = marked.as_ref().map_or((old, new), |(old, new)| (old, new));
        let as_sent = judge(&Case { old, new, ..*case }, text);
        if as_sent.is_ok() {
            return as_sent;
        }
        let mut readings: Vec<(String, String)> = Vec::new();
        if review_line_escapes(&self.snapshot, *language, place, new) != EscapeReview::Fine {
            readings.extend(escape_readings(new).into_iter().map(|new| (old.clone(), new)));
        }
        readings.extend(spoiled_readings(old, new));
        if let Some(numberless) = without_numbers(new) {
            readings.push((old.clone(), numberless));
        }
        readings.extend(without_lines_gone(old, new, case.found).map(|old| (old, new.clone())));
        let is_accepted =
            |(old, new): &(String, String)| judge(&Case { old, new, ..*case }, text).is_ok();
        if readings.iter().any(is_accepted) { Ok(()) } else { as_sent }
    }

    /// The edit without a text from the model: `new_str` as sent, if the place has the words of
    /// `old_str` at the same depth. The error asks for the text.
    pub(super) fn merged(
        &self,
        places: &[Range<usize>],
        judged: &Range<usize>,
    ) -> Result<Explained, String> {
        let found = places.first().map_or("", |place| &self.snapshot.text()[place.clone()]);
        let EditRequest { old, new, language, .. } = &self.request;
        let depths = |text: &str| -> Vec<usize> {
            let lines = text.trim_end().lines().filter(|line| !line.trim().is_empty());
            lines.map(|line| line.len() - line.trim_start().len()).collect()
        };
        if !reads_alike(old, found, *language) || depths(old) != depths(found) {
            return Err(
                "these lines differ from what the edit expects; give their whole new text".into()
            );
        }
        self.checked(places, judged, new)
    }

    /// The place that a text replaces: with the indentation before it, if the text brings its own,
    /// and with the whole lines, if they are deleted.
    fn place_of_text(&self, place: &Range<usize>, text: &str) -> Range<usize> {
        let file = self.snapshot.text();
        let line_start = file[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let is_indented = file[line_start..place.start].trim().is_empty();
        let found = &file[place.clone()];
        if text.trim().is_empty() && is_indented {
            let rest = &file[place.end..];
            let line_end = rest.find('\n').map_or(file.len(), |at| place.end + at + 1);
            if found.ends_with('\n') || file[place.end..line_end].trim().is_empty() {
                let end = if found.ends_with('\n') { place.end } else { line_end };
                return line_start..end;
            }
        }
        let brings_indent = text.starts_with([' ', '\t']) && !found.starts_with([' ', '\t']);
        match is_indented && brings_indent {
            true => line_start..place.end,
            false => place.clone(),
        }
    }

    /// Whether splices leave brackets or literals open that were closed, and the call does not.
    fn breaks_structure(&self, splices: &[Splice]) -> bool {
        let Some(language) = self.request.language.filter(|language| language.is_lexed()) else {
            return false;
        };
        let text = self.snapshot.text();
        if !language.lex(text).is_well_formed() {
            return false;
        }
        let after = apply_splices(text, splices);
        let closed = |lexed: &Lexed| (lexed.closed, lexed.unmatched.clone());
        !language.lex(&after).is_well_formed()
            && closed(&language.lex(&self.request.old)) == closed(&language.lex(&self.request.new))
    }
}

/// Both texts with what the file has before each of their lines and they have not: the marks of a
/// comment, of a quote, of a box. `None` unless it stands before two lines of `old`, and most.
fn with_marks(old: &str, new: &str, found: &str) -> Option<(String, String)> {
    let lines: Vec<&str> = old.lines().filter(|line| !line.trim().is_empty()).collect();
    let marks_of = |line: &&str| {
        let own = found.lines().find(|own| own.ends_with(line.trim_start()))?;
        let marks = own.strip_suffix(*line)?;
        Some(marks).filter(|marks| !marks.trim().is_empty())
    };
    let marks = lines.iter().find_map(marks_of)?;
    let marked = lines.iter().filter(|line| marks_of(line) == Some(marks)).count();
    let mark = |text: &str| {
        let lines = text.split('\n').map(|line| match line.trim().is_empty() {
            true => line.to_owned(),
            false => format!("{marks}{line}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    (marked > 1 && 2 * marked > lines.len()).then(|| (mark(old), mark(new)))
}

/// The text without numbers that some of its lines were copied with; `None` if fewer than two lines
/// in a row have numbers in a row.
fn without_numbers(text: &str) -> Option<String> {
    let number = |line: &str| {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        line[..digits].parse::<usize>().ok().map(|number| (number, digits))
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let is_in_row = |pair: &[&str]| matches!((number(pair[0]), number(pair[1])), (Some(a), Some(b)) if a.0 + 1 == b.0);
    let bare = |line: &&str| number(line).map_or(*line, |(_, digits)| &line[digits..]).to_owned();
    lines
        .windows(2)
        .any(is_in_row)
        .then(|| lines.iter().map(bare).collect::<Vec<String>>().join("\n"))
}

/// `old` without lines that nothing in the file stands for, if the call drops them and writes no more
/// lines than the others: what it wants can only be in their place.
fn without_lines_gone(old: &str, new: &str, found: &str) -> Option<String> {
    let lines = |text: &'_ str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let (own, there) = (lines(old), lines(found));
    let is_form_of = |line: &str, other: &String| {
        let there: Vec<&str> = words(other).collect();
        2 * words(line).filter(|word| there.contains(word)).count() >= words(line).count()
    };
    let algorithm = similar::Algorithm::Patience;
    let gone: Vec<usize> = similar::capture_diff_slices(algorithm, &own, &there)
        .into_iter()
        .filter(|op| op.tag() != similar::DiffTag::Equal)
        .flat_map(|op| op.old_range().map(move |at| (at, op.new_range())))
        .filter(|(at, others)| !there[others.clone()].iter().any(|o| is_form_of(&own[*at], o)))
        .map(|(at, _)| at)
        .collect();
    let added = lines(new);
    let is_dropped = gone.iter().all(|at| !added.contains(&own[*at]));
    let kept = old.split_inclusive('\n').enumerate().filter(|(at, _)| !gone.contains(at));
    (!gone.is_empty() && is_dropped && added.len() + gone.len() <= own.len())
        .then(|| kept.map(|(_, line)| line).collect())
}
