//! Tries the rungs of the ladder, strictest first. The first rung that finds a candidate decides.

use std::ops::Range;

use super::align::{self, Alignment};
use super::candidate::{self, Candidate, Candidates, ChunkKind, Needle};
use super::indent_of;
use super::rank::{Ranking, rank};
use super::reading::{NewText, Reading};
use super::source_file::{SourceFile, Tolerance, split_lines};
use super::{
    Explained, Verdict, already_applied, budget, elide, exact, fold, outcome, placeholder, reading,
    reflow, refuse, veto,
};
use crate::edit::{
    EditRequest, Expected, Explanation, OutcomeDiff, Refusal, Rewrite, Rung, Splice,
};
use crate::text::{LineEnding, Snapshot};

/// A call and the file that the rungs match it against.
#[derive(Clone, Copy)]
pub(super) struct LadderCall<'a, 't> {
    pub(super) request: &'a EditRequest,
    pub(super) file: &'a SourceFile<'t>,
}

/// A possible edit of a call.
struct PossibleEdit {
    splices: Vec<Splice>,
    /// How this edit reads the call, in a few words.
    how: String,
}

impl PossibleEdit {
    /// The edit that writes an outcome at one candidate.
    fn of(outcome: outcome::Outcome) -> Self {
        Self { splices: vec![outcome.splice], how: outcome.how }
    }
}

impl LadderCall<'_, '_> {
    /// The verdict at the strictest tolerance at which a reading has a candidate.
    pub(super) fn match_by_tolerance(self, readings: &[Reading]) -> Option<Verdict> {
        Tolerance::ALL.into_iter().find_map(|tolerance| {
            readings.iter().find_map(|reading| self.match_reading(reading, tolerance))
        })
    }

    /// Whether a tolerance may be used for this file. Spacing and punctuation may be ignored only if
    /// the language is known and they mean nothing in it.
    fn allows(self, tolerance: Tolerance) -> bool {
        tolerance < Tolerance::Spacing
            || self.file.language.is_some_and(|language| language.is_free_form())
    }

    /// The verdict of one reading at one tolerance; `None` if it has no candidate.
    fn match_reading(self, reading: &Reading, tolerance: Tolerance) -> Option<Verdict> {
        if !self.allows(tolerance) {
            return None;
        }
        let is_rewritten = !reading.rewrites.is_empty();
        if tolerance == Tolerance::LineEndings && is_rewritten && !reading.whole_lines {
            let occurrences = exact::find_occurrences(self.file, &reading.old);
            if occurrences.ranges.iter().any(|range| !self.splits_name(range)) {
                return Some(self.replace_exact(reading, &occurrences));
            }
        }
        let candidates = self.find_candidates(reading, tolerance);
        let rung = match tolerance {
            Tolerance::LineEndings => reading.rung,
            Tolerance::TrailingBlanks => Rung::TrailingBlanks,
            Tolerance::LookAlikes => Rung::LookAlikes,
            Tolerance::Indentation => Rung::Indentation,
            Tolerance::LookAlikesAndIndentation => Rung::LookAlikesAndIndentation,
            Tolerance::BlankLines => Rung::BlankLines,
            Tolerance::Spacing => Rung::Spacing,
            Tolerance::Punctuation => Rung::Punctuation,
        };
        // A single number may belong to the text; it is a line number only if the text is at that
        // line.
        if reading.rewrites.contains(&Rewrite::LineNumbers)
            && let Some(number) = reading::lone_line_number(&self.request.old)
            && !candidates.lines.contains(&number)
        {
            return None;
        }
        // If a candidate is directly below a fence of the file, the call quotes that fence, and it is
        // no mistake.
        let is_below_fence = |candidate: &Candidate| {
            let above = candidate.lines().start.checked_sub(1);
            above.is_some_and(|line| reading::is_fence(self.file.body(line)))
        };
        if reading.rewrites.contains(&Rewrite::CodeFence)
            && candidates.list.iter().any(is_below_fence)
        {
            return None;
        }
        (!candidates.list.is_empty()).then(|| self.choose(reading, &candidates, rung))
    }

    /// The candidates for one reading at one tolerance, whether or not the file allows it.
    fn find_candidates(self, reading: &Reading, tolerance: Tolerance) -> Candidates {
        let lines = split_lines(&reading.old);
        budget::spend(lines.len() + self.file.lines().len());
        let needle = Needle {
            lines: &lines,
            whole_lines: reading.whole_lines,
            ends_with_newline: reading.old.ends_with('\n'),
        };
        self.drop_partial_lines(reading, candidate::find_candidates(self.file, needle, tolerance))
    }

    /// Whether a range begins or ends inside a name or a number.
    fn splits_name(self, range: &Range<usize>) -> bool {
        let splits = |at: usize| candidate::splits_name(self.file.text, at);
        splits(range.start) || splits(range.end)
    }

    /// For a text of several lines, drops the candidates that begin or end inside a line of the file,
    /// unless the call keeps that line unchanged: a change to part of a line might have to
    /// continue in the rest of it. If indentation is ignored, a candidate must begin at the start of
    /// a line.
    fn drop_partial_lines(self, reading: &Reading, candidates: Candidates) -> Candidates {
        let old = split_lines(&reading.old);
        if old.len() < 2 || !candidates.is_complete() {
            return candidates;
        }
        let keeps_first = reading.new.texts().all(|new| split_lines(new).first() == old.first());
        let keeps_last = reading.new.texts().all(|new| split_lines(new).last() == old.last());
        let fits = |candidate: &Candidate| {
            let (begins_inside, ends_inside) = candidate.partial_edges(self.file);
            let may_begin_inside = keeps_first && !candidate.tolerance.ignores_indentation();
            (!begins_inside || may_begin_inside) && (!ends_inside || keeps_last)
        };
        // If any candidate fits, the others count too: either may be meant.
        match candidates.list.iter().any(fits) {
            true => candidates,
            false => Candidates::default(),
        }
    }

    /// The verdict of a reading whose `old` is in the file character for character.
    fn replace_exact(self, reading: &Reading, occurrences: &exact::Occurrences<'_>) -> Verdict {
        let request = EditRequest { old: reading.old.clone(), ..self.request.clone() };
        let new = reading.new.texts().next().unwrap_or_default();
        let ranges = match exact::choose_occurrences(&request, self.file, new, occurrences) {
            Ok(ranges) => ranges,
            Err(refusal) => return Verdict::Refused(refusal),
        };
        if let Some(line) =
            already_applied::find_applied_edit(self.file, reading, Tolerance::LineEndings)
        {
            return Verdict::Refused(refuse::already_applied(line));
        }
        let splices_for = |new: &str| -> Vec<Splice> {
            let splice = |range: &Range<usize>| Splice {
                range: range.clone(),
                text: exact::with_file_endings(self.file, range.start, new),
            };
            ranges.iter().map(splice).collect()
        };
        let edits = reading.new.texts().zip(outcome::NEW_TEXT_DESCRIPTIONS);
        let edits = edits
            .map(|(new, how)| PossibleEdit { splices: splices_for(new), how: how.to_owned() })
            .collect();
        self.decide(reading, edits, reading.rung, &reading.rewrites)
    }

    /// Chooses which of a rung's candidates the call means, by its expected count and line, and
    /// decides what it writes there.
    fn choose(self, reading: &Reading, candidates: &Candidates, rung: Rung) -> Verdict {
        let lines = &candidates.lines;
        let wrong_count = || Verdict::Refused(refuse::wrong_count(self.request, lines, false));
        if !candidates.is_complete() {
            return wrong_count();
        }
        let candidates = &candidates.list;
        let chosen: Vec<&Candidate> = match self.request.expected {
            Expected::All => candidates.iter().collect(),
            Expected::Exactly(count) if count.get() == candidates.len() => {
                candidates.iter().collect()
            }
            Expected::Exactly(count) if count.get() == 1 => {
                let nearest = exact::nearest_to_line(self.request, lines);
                match nearest.or_else(|| self.numbered_candidate(reading, lines)) {
                    Some(at) => vec![&candidates[at]],
                    None => return wrong_count(),
                }
            }
            Expected::Exactly(_) => return wrong_count(),
        };
        let mut previous_end = 0;
        for candidate in &chosen {
            if candidate.range().start < previous_end {
                return wrong_count();
            }
            previous_end = candidate.range().end;
        }
        if let [candidate] = chosen[..] {
            if let Some(line) =
                already_applied::find_applied_edit(self.file, reading, candidate.tolerance)
            {
                return Verdict::Refused(refuse::already_applied(line));
            }
            if let Some(nearer) = already_applied::find_closer_region(
                self.file,
                &split_lines(&reading.old),
                candidate,
            ) {
                return Verdict::Refused(refuse::closer_elsewhere(self.request, lines[0], nearer));
            }
        }
        self.write(reading, &chosen, rung)
    }

    /// The index of the candidate that begins at the line number that was copied into `old_str`, if
    /// there is exactly one.
    fn numbered_candidate(self, reading: &Reading, lines: &[usize]) -> Option<usize> {
        if !reading.rewrites.contains(&Rewrite::LineNumbers) {
            return None;
        }
        let (_, number, _) = reading::parse_line_number(self.request.old.lines().next()?)?;
        let mut at_number = (0..lines.len()).filter(|&at| lines[at] == number);
        at_number.next().filter(|_| at_number.next().is_none())
    }

    /// Decides what the call writes at the chosen candidates.
    fn write(self, reading: &Reading, candidates: &[&Candidate], rung: Rung) -> Verdict {
        let mut edits: Vec<PossibleEdit> = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            let outcomes = match outcome::outcomes(self.file, candidate, &reading.old, &reading.new)
            {
                Ok(outcomes) => outcomes,
                Err(draft) => {
                    let (ranking, place) = (self.rank(), candidate.lines());
                    let refusal =
                        refuse::stale(self.request, self.file, ranking, &place, &draft.hunks);
                    return Verdict::Missing(refusal);
                }
            };
            if at == 0 {
                edits = outcomes.into_iter().map(PossibleEdit::of).collect();
                continue;
            }
            // An edit must read the call in the same way at every candidate. If the numbers of
            // outcomes differ, no edit does.
            if outcomes.len() != edits.len() {
                edits.clear();
                break;
            }
            for (edit, outcome) in edits.iter_mut().zip(outcomes) {
                edit.splices.push(outcome.splice);
            }
        }
        let mut rewrites = reading.rewrites.clone();
        for candidate in candidates {
            for rewrite in self.rewrites(candidate, &split_lines(&reading.old), rung) {
                if !rewrites.contains(&rewrite) {
                    rewrites.push(rewrite);
                }
            }
        }
        let rung = rung_of_differences(rung, &rewrites);
        if !edits.is_empty() {
            return self.decide(reading, edits, rung, &rewrites);
        }
        // No reading determines the indentation: the guesses are shown, but none is applied on its
        // own.
        let guesses = match candidates {
            [candidate] => outcome::guesses(self.file, candidate, &reading.old, &reading.new),
            _ => Vec::new(),
        };
        let guesses = guesses.into_iter().map(PossibleEdit::of).collect();
        match self.decide(reading, guesses, rung, &rewrites) {
            Verdict::Ambiguous { outcomes, refusal, .. } => {
                Verdict::Ambiguous { outcomes, are_guesses: true, refusal }
            }
            other => {
                let line = candidates.first().map_or(1, |candidate| candidate.lines().start + 1);
                let mut refusal = refuse::ambiguous(line, rung, 0);
                if let Verdict::One(guess) = other {
                    let how = "a guess that nothing in the call confirms".to_owned();
                    refusal.outcomes.push(OutcomeDiff { how, diff: self.diff(&guess.splices) });
                }
                Verdict::Refused(refusal)
            }
        }
    }

    /// The verdict on some possible edits. Those that break intact brackets or literals are dropped; if
    /// only one is left, it is applied.
    fn decide(
        self,
        reading: &Reading,
        edits: Vec<PossibleEdit>,
        rung: Rung,
        rewrites: &[Rewrite],
    ) -> Verdict {
        let file = self.file;
        let first = edits.first().and_then(|edit| edit.splices.first());
        let line = first.map_or(1, |first| file.snapshot.lines().number_at(first.range.start));
        if let Some(placeholder) = self.introduced_placeholder(reading) {
            return Verdict::Refused(refuse::omission(&placeholder));
        }
        let mut intact: Vec<PossibleEdit> = Vec::new();
        let texts: Vec<&str> = reading.new.texts().collect();
        for edit in edits {
            let splices = &edit.splices;
            let is_broken =
                texts.iter().all(|new| veto::breaks_structure(file, splices, &reading.old, new));
            let is_known =
                || intact.iter().any(|seen| is_same_result(file.text, &seen.splices, splices));
            if !is_broken && !is_known() {
                intact.push(edit);
            }
        }
        let explained = |splices: Vec<Splice>| {
            let mut explanation = Explanation::plain(rung);
            explanation.rewrites = rewrites.to_vec();
            let new = reading.new.texts().next().unwrap_or_default();
            explanation.warnings.extend(exact::suspicious_text_warnings(file, &reading.old, new));
            explanation.warnings.extend(exact::added_blank_line_warning(&reading.old, new));
            Explained::new(self.request, file, splices, explanation)
        };
        let changes_file =
            |splices: &[Splice]| splices.iter().any(|s| file.text[s.range.clone()] != s.text);
        let writes_new = |splice: &Splice| texts.iter().any(|new| new.trim() == splice.text.trim());
        match intact.len() {
            0 => Verdict::Refused(refuse::leaves_unclosed(line, rung)),
            1 => match intact.pop() {
                Some(edit) if changes_file(&edit.splices) => Verdict::One(explained(edit.splices)),
                Some(edit) if !edit.splices.iter().any(writes_new) => {
                    Verdict::Refused(refuse::only_ignored_changes(line, rung))
                }
                _ => Verdict::Refused(refuse::already_applied(line)),
            },
            count => {
                let mut refusal = refuse::ambiguous(line, rung, count);
                refusal.outcomes = intact
                    .iter()
                    .map(|edit| OutcomeDiff {
                        how: edit.how.clone(),
                        diff: self.diff(&edit.splices),
                    })
                    .collect();
                let outcomes = intact.into_iter().map(|edit| explained(edit.splices)).collect();
                Verdict::Ambiguous { outcomes, are_guesses: false, refusal }
            }
        }
    }

    /// A short diff of what the splices change.
    fn diff(self, splices: &[Splice]) -> String {
        let after = veto::apply_splices(self.file.text, splices);
        crate::edit::short_diff(self.file.snapshot, splices, &Snapshot::from_text(after))
    }

    /// A placeholder that `new_str` adds in code: written as it is, it would replace lines.
    fn introduced_placeholder(self, reading: &Reading) -> Option<String> {
        if !self.file.language.is_some_and(|language| language.is_code()) {
            return None;
        }
        let mut found = reading
            .new
            .texts()
            .filter_map(|new| placeholder::introduced(&reading.old, new, self.file.text));
        found.next().map(str::to_owned)
    }

    /// The rewrites that turn the call's text into the text of the candidate.
    fn rewrites(self, candidate: &Candidate, old: &[&str], rung: Rung) -> Vec<Rewrite> {
        let mut out = Vec::new();
        match rung {
            Rung::Reflowed => out.push(Rewrite::Reflow),
            Rung::Elided => out.push(Rewrite::Elision),
            Rung::Aligned => out.push(Rewrite::StaleContext),
            _ => {}
        }
        let found = &self.file.text[candidate.range()];
        let file_has_crlf = found.contains("\r\n");
        let endings_differ = match self.request.old.contains("\r\n") {
            true => found.contains('\n') && !file_has_crlf,
            false => file_has_crlf,
        };
        let file_lacks_last_break = self.request.old.ends_with('\n')
            && candidate.lines().end == self.file.lines().len()
            && self.file.lines().last().is_some_and(|last| last.ending == LineEnding::None);
        if endings_differ || file_lacks_last_break {
            out.push(Rewrite::LineEndings);
        }
        for chunk in &candidate.chunks {
            if chunk.kind != ChunkKind::Same {
                continue;
            }
            if chunk.old.is_empty() != chunk.lines.is_empty() {
                out.push(Rewrite::BlankLines);
            } else if chunk.old.len() == 1 && chunk.lines.len() == 1 {
                push_rewrites(
                    old[chunk.old.start],
                    candidate.text(chunk, self.file),
                    chunk.from_start,
                    &mut out,
                );
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The verdict of the first reading whose words the file has with other line breaks.
    pub(super) fn match_reflowed(self, readings: &[Reading]) -> Option<Verdict> {
        if !self.allows(Tolerance::Spacing) {
            return None;
        }
        readings.iter().find_map(|reading| {
            let candidates = self.find_reflowed(reading);
            (!candidates.list.is_empty()).then(|| self.choose(reading, &candidates, Rung::Reflowed))
        })
    }

    /// The candidates that have the words of a reading with other line breaks.
    fn find_reflowed(self, reading: &Reading) -> Candidates {
        let found = reflow::find_candidates(self.file, &split_lines(&reading.old));
        self.drop_partial_lines(reading, Candidates::of(found))
    }

    /// The rung that would find a place if the language were known.
    fn rung_for_known_language(self, readings: &[Reading]) -> Option<Rung> {
        if self.file.language.is_some() {
            return None;
        }
        let finds = |tolerance| {
            readings.iter().any(|r| !self.find_candidates(r, tolerance).list.is_empty())
        };
        let rungs =
            [(Tolerance::Spacing, Rung::Spacing), (Tolerance::Punctuation, Rung::Punctuation)];
        let found = rungs.into_iter().find(|(tolerance, _)| finds(*tolerance));
        found.map(|(_, rung)| rung).or_else(|| {
            let is_reflowed = readings.iter().any(|r| !self.find_reflowed(r).list.is_empty());
            is_reflowed.then_some(Rung::Reflowed)
        })
    }

    /// The verdict of the first reading with placeholders that stand for lines of the file.
    pub(super) fn match_elided(self, readings: &[Reading]) -> Option<Verdict> {
        Tolerance::ALL.into_iter().filter(|t| self.allows(*t)).find_map(|tolerance| {
            readings.iter().find_map(|reading| {
                let candidates =
                    elide::find_candidates(self.file, &split_lines(&reading.old), tolerance);
                (!candidates.is_empty()).then(|| self.choose_elided(reading, &candidates))
            })
        })
    }

    /// The verdict on the ways to fill the placeholders: the edit if all of them give the same text,
    /// otherwise a refusal.
    fn choose_elided(self, reading: &Reading, candidates: &[Candidate]) -> Verdict {
        let lines: Vec<usize> =
            candidates.iter().map(|candidate| candidate.lines().start + 1).collect();
        if elide::is_truncated(candidates) || self.request.expected != Expected::default() {
            return Verdict::Refused(refuse::wrong_count(self.request, &lines, false));
        }
        if let Some(line) =
            already_applied::find_applied_edit(self.file, reading, candidates[0].tolerance)
        {
            return Verdict::Refused(refuse::already_applied(line));
        }
        let mut verdicts =
            candidates.iter().map(|candidate| self.write(reading, &[candidate], Rung::Elided));
        let Some(first) = verdicts.next() else {
            return Verdict::Refused(refuse::wrong_count(self.request, &lines, false));
        };
        let Verdict::One(explained) = &first else { return first };
        let is_same = |other: Verdict| match other {
            Verdict::One(other) => {
                is_same_result(self.file.text, &explained.splices, &other.splices)
            }
            _ => false,
        };
        match verdicts.all(is_same) {
            true => first,
            false => Verdict::Refused(refuse::wrong_count(self.request, &lines, false)),
        }
    }

    /// The refusal of a call whose `new_str` is in the file while its `old_str` is not.
    pub(super) fn find_applied(self, readings: &[Reading]) -> Option<Verdict> {
        let tolerance = Tolerance::LookAlikesAndIndentation;
        let line = readings.iter().find_map(|reading| {
            already_applied::find_applied_edit(self.file, reading, tolerance)
        })?;
        Some(Verdict::Refused(refuse::already_applied(line)))
    }

    /// The verdict of the last rung, which compares the call with the region most similar to it.
    pub(super) fn match_aligned(self, readings: &[Reading]) -> Verdict {
        match self.align(readings) {
            Ok(verdict) => verdict,
            Err(mut refusal) => {
                if let Some(rung) = self.rung_for_known_language(readings) {
                    refuse::blame_unknown_language(&mut refusal, rung);
                }
                Verdict::Missing(refusal)
            }
        }
    }

    /// The verdict at the most similar region if a reading may be applied there, otherwise the
    /// refusal that shows the conflicts or the similar regions.
    fn align(self, readings: &[Reading]) -> Result<Verdict, Refusal> {
        let mut stale = None;
        for reading in readings {
            let NewText::Known(new) = &reading.new else { continue };
            match align::align(self.file, &reading.old, new) {
                Alignment::Match(candidate) if self.request.expected == Expected::default() => {
                    return Ok(self.write(reading, &[&candidate], Rung::Aligned));
                }
                Alignment::Stale(candidate) => {
                    stale.get_or_insert((reading, candidate));
                }
                Alignment::Match(_) | Alignment::None => {}
            }
        }
        if let Some((reading, candidate)) = stale {
            let hunks = outcome::conflicts(self.file, &candidate, &reading.old, &reading.new);
            let place = candidate.lines();
            // If rare lines and words point elsewhere, the place is not known.
            let ranking = self.rank();
            if !hunks.is_empty() && ranking.is_nearest(&place) {
                return Err(refuse::stale(self.request, self.file, ranking, &place, &hunks));
            }
        }
        Err(refuse::not_found(self.request, self.file))
    }

    /// The regions of the file that are nearest to `old_str` as it was sent.
    fn rank(self) -> Ranking {
        rank(self.file, &split_lines(&self.request.old), refuse::MAX_NEAREST)
    }
}

/// Whether two lists of splices give the same text.
fn is_same_result(text: &str, a: &[Splice], b: &[Splice]) -> bool {
    a == b || veto::apply_splices(text, a) == veto::apply_splices(text, b)
}

/// The rung to report. The search for look-alikes also finds a part of a line that differs only in
/// the white space at its ends, so the rung of the actual differences is reported.
fn rung_of_differences(rung: Rung, rewrites: &[Rewrite]) -> Rung {
    if !matches!(rung, Rung::LookAlikes | Rung::LookAlikesAndIndentation) {
        return rung;
    }
    let has = |rewrite| rewrites.contains(&rewrite);
    match (has(Rewrite::LookAlikes), has(Rewrite::Indentation)) {
        (true, true) => Rung::LookAlikesAndIndentation,
        (true, false) => Rung::LookAlikes,
        (false, true) => Rung::Indentation,
        (false, false) if has(Rewrite::Spacing) => Rung::Spacing,
        (false, false) if has(Rewrite::TrailingBlanks) => Rung::TrailingBlanks,
        (false, false) => rung,
    }
}

/// Adds a rewrite for each difference between a line of the call and a line of the file. `from_start`
/// says whether the match begins where the line of the file begins.
fn push_rewrites(call_line: &str, file_line: &str, from_start: bool, out: &mut Vec<Rewrite>) {
    let trailing_blanks = |line: &str| line[line.trim_end().len()..].to_owned();
    if indent_of(call_line) != indent_of(file_line) && !file_line.trim().is_empty() {
        // White space before a part of a line is inside the line.
        out.push(if from_start { Rewrite::Indentation } else { Rewrite::Spacing });
    }
    if trailing_blanks(call_line) != trailing_blanks(file_line) {
        out.push(Rewrite::TrailingBlanks);
    }
    let (call_text, file_text) = (call_line.trim(), file_line.trim());
    if call_text == file_text {
        return;
    }
    let is_equal = |fold| fold::is_equal(call_text, file_text, fold);
    if is_equal(fold::Fold::LookAlike) {
        out.push(Rewrite::LookAlikes);
        return;
    }
    // The lines differ in more than look-alikes. Look-alikes are among the differences only if the
    // characters beyond ASCII differ.
    let beyond_ascii = |text: &str| text.chars().filter(|c| !c.is_ascii()).collect::<String>();
    if beyond_ascii(call_text) != beyond_ascii(file_text) {
        out.push(Rewrite::LookAlikes);
    }
    out.push(if is_equal(fold::Fold::Spacing) { Rewrite::Spacing } else { Rewrite::Punctuation });
}
