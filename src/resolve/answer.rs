//! A call that a model may be asked about: the questions to ask, and the edit that an answer makes.

use std::collections::HashSet;
use std::ops::Range;

use super::candidates::{self, Candidates, definition};
use super::judge::{Case, as_written, conflicts, judge, reads_alike};
use super::{Reapply, Resolution, Resolved, State, Step, Turn, describe_conflict, done, refused};
use crate::edit::{
    Attempt, Corrected, EditCode, EditRequest, Expected, Explanation, Refusal, Rewrite, Rung,
    Splice,
};
use crate::language::Lexed;
use crate::matching::{
    ESCAPES_WARNING, EscapeReview, Explained, escape_readings, explain, nearest,
    review_line_escapes,
};
use crate::port::Ask;
use crate::text::{LineSpan, Snapshot};

/// A call and its file.
#[derive(Debug)]
pub(super) struct PendingCall {
    pub(super) path: String,
    pub(super) request: EditRequest,
    pub(super) snapshot: Snapshot,
}

impl PendingCall {
    /// Asks the model about an edit that the matcher explains only by lines that differ in words.
    /// Without an answer, the matcher's decision stands.
    pub(super) fn confirm(self, resolved: Resolved) -> Step {
        let ranges: Vec<_> =
            resolved.explained.splices.iter().map(|splice| splice.range.clone()).collect();
        let lines = self.describe_lines(&ranges);
        let message = format!(
            "old_str is not in the file: {lines} {} in words, and the model did not confirm the edit",
            if lines.starts_with("lines") { "differ" } else { "differs" }
        );
        let mut refusal = Refusal::new(EditCode::NoOccurrence, message)
            .hint(format!("Read {lines}, then send old_str exactly as the file has it."));
        refusal.nearest = nearest(&self.snapshot, &self.request.old, 3);
        self.ask_first(refusal, Some(resolved))
    }

    /// Asks the model which place `old_str` means, and for its new text; or refuses the call if it
    /// cannot be asked.
    pub(super) fn ask_edit(self, refusal: Refusal) -> Step {
        self.ask_first(refusal, None)
    }

    fn ask_first(self, refusal: Refusal, fallback: Option<Resolved>) -> Step {
        let skipped = |refusal: Refusal, fallback: Option<Resolved>, why: &str| {
            let attempts =
                vec![Attempt { ask: "correct_old", outcome: "skipped", detail: why.to_owned() }];
            match fallback {
                Some(resolved) => done(attempts, resolved),
                None => refused(refusal, attempts),
            }
        };
        let (old, new) = (&self.request.old, &self.request.new);
        if self.snapshot.text().trim().is_empty() || old.trim().is_empty() {
            return refused(refusal, Vec::new());
        }
        if old.len() + new.len() > candidates::MAX_CALLER_BYTES {
            return skipped(refusal, fallback, "old_str and new_str are too long to be sent");
        }
        if self.snapshot.text().len() > candidates::MAX_FILE_BYTES {
            return skipped(refusal, fallback, "the file is too large to be searched");
        }
        let candidates = Candidates::of(&self.request, &self.snapshot, &refusal.conflicts);
        if candidates.shown.is_empty() || candidates.regions.is_empty() {
            return skipped(refusal, fallback, "nothing in the file is similar to old_str");
        }
        self.edit_question(Vec::new(), refusal, fallback, candidates, None)
    }

    /// Asks once more for the place and its text, with what was wrong with the first answer.
    pub(super) fn ask_edit_again(
        self,
        attempts: Vec<Attempt>,
        refusal: Refusal,
        candidates: Candidates,
        reason: String,
    ) -> Step {
        self.edit_question(attempts, refusal, None, candidates, Some(reason))
    }

    fn edit_question(
        self,
        attempts: Vec<Attempt>,
        refusal: Refusal,
        fallback: Option<Resolved>,
        candidates: Candidates,
        reason: Option<String>,
    ) -> Step {
        let turn = if reason.is_none() { Turn::First } else { Turn::Second };
        let ask = Ask::CorrectOld {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            new: self.request.new.clone(),
            expected: match self.request.expected {
                Expected::Exactly(count) => Some(count.get()),
                Expected::All => None,
            },
            windows: candidates.windows(&self.snapshot),
            reason,
        };
        let state = State::Edit { refusal, fallback, candidates, turn };
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

    /// Asks for the whole new text of places that the model has named.
    pub(super) fn ask_text(
        self,
        attempts: Vec<Attempt>,
        refusal: Refusal,
        places: Vec<Range<usize>>,
        judged: Range<usize>,
        reason: String,
    ) -> Step {
        let place = places.first().cloned().unwrap_or_default();
        let ask = Ask::AdjustNew {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            corrected_old: self.snapshot.text()[place].to_owned(),
            new: self.request.new.clone(),
            reason,
        };
        let state = State::NewText { refusal, places, judged };
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

    /// Asks the model to choose among outcomes, or refuses the call if it cannot be asked.
    pub(super) fn choose(self, refusal: Refusal, outcomes: Vec<Explained>) -> Step {
        let expects_one = self.request.expected == Expected::default();
        let ranges = || outcomes.iter().flat_map(|outcome| &outcome.splices).map(|s| &s.range);
        let (start, end) = (ranges().map(|r| r.start).min(), ranges().map(|r| r.end).max());
        let (Some(start), Some(end), true) = (start, end, expects_one) else {
            return refused(refusal, Vec::new());
        };
        let place = self.whole_lines(&(start..end));
        let text = self.snapshot.text();
        let results: Vec<String> = outcomes
            .iter()
            .map(|outcome| {
                let mut out = String::new();
                let mut at = place.start;
                for splice in &outcome.splices {
                    out.push_str(text.get(at..splice.range.start).unwrap_or_default());
                    out.push_str(&splice.text);
                    at = splice.range.end;
                }
                out + &text[at.min(place.end)..place.end]
            })
            .collect();
        let ask = Ask::Choose {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            new: self.request.new.clone(),
            corrected_old: text[place.clone()].to_owned(),
            outcomes: differing_lines(&results),
        };
        let state = State::Choose { refusal, outcomes, place };
        Step::Ask(Box::new(Resolution { call: self, attempts: Vec::new(), state, ask }))
    }

    /// Asks for a repair of the escapes if they are suspicious; otherwise the resolution is done.
    pub(super) fn finish(self, attempts: Vec<Attempt>, resolved: Resolved) -> Step {
        let warnings = &resolved.explained.explanation.warnings;
        let is_suspicious = warnings.iter().any(|warning| warning == ESCAPES_WARNING);
        let readings = match is_suspicious && self.request.new.len() <= candidates::MAX_CALLER_BYTES
        {
            true => escape_readings(&self.request.new),
            false => Vec::new(),
        };
        if readings.is_empty() {
            return done(attempts, resolved);
        }
        let ask = Ask::RepairEscapes {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            new: self.request.new.clone(),
        };
        let state = State::RepairEscapes { resolved, readings };
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

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
        let place = self.place_of_text(first, text);
        let ending = self.snapshot.ending_near(place.start).as_str();
        let is_partial = !file[place.clone()].ends_with('\n');
        let text = match text.strip_suffix('\n').filter(|_| is_partial) {
            Some(text) => text.strip_suffix('\r').unwrap_or(text),
            None => text,
        };
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
        self.judged_as_sent_or_unescaped(&Case { found, ..case }, &place, &judged_text)?;
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
        Ok(Explained { splices, explanation })
    }

    /// Judges a text against the call as it was sent. Where its escapes are a mistake, the call
    /// without them counts as well.
    fn judged_as_sent_or_unescaped(
        &self,
        case: &Case<'_>,
        place: &Range<usize>,
        text: &str,
    ) -> Result<(), String> {
        let as_sent = judge(case, text);
        if as_sent.is_ok() {
            return as_sent;
        }
        let EditRequest { old, new, language, .. } = &self.request;
        let mut readings: Vec<(String, String)> = Vec::new();
        if review_line_escapes(&self.snapshot, *language, place, new) != EscapeReview::Fine {
            readings.extend(escape_readings(new).into_iter().map(|new| (old.clone(), new)));
        }
        // Both texts were escaped once too often, if that is how the file reads.
        let common = |old: &str| {
            let lines = |text: &str| -> HashSet<String> {
                text.lines().map(|line| line.trim().to_owned()).collect()
            };
            lines(old).intersection(&lines(case.found)).count()
        };
        let both = escape_readings(old).into_iter().zip(escape_readings(new));
        readings.extend(both.filter(|(unescaped, _)| common(unescaped) > common(old)));
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

    /// An edit by a model's answer. It can be reapplied to another version that has the same text.
    pub(super) fn by_model(&self, explained: Explained) -> Resolved {
        let reapply = match &explained.splices[..] {
            [splice, ..] => {
                let old = self.snapshot.text()[splice.range.clone()].to_owned();
                let request = EditRequest { old, new: splice.text.clone(), ..self.request.clone() };
                Reapply::Exact(request, explained.explanation.clone())
            }
            _ => Reapply::Never,
        };
        Resolved { explained, reapply }
    }

    /// The refusal of an edit that the file has already; `None` if it does not.
    pub(super) fn already_done(&self) -> Option<Refusal> {
        let text = self.snapshot.text();
        let lines = |text: &str| -> HashSet<String> {
            let lines = text.lines().map(|line| line.split_whitespace().collect::<String>());
            lines.filter(|line| !line.is_empty()).collect()
        };
        let (old, new, file) = (lines(&self.request.old), lines(&self.request.new), lines(text));
        let mut added = new.difference(&old).peekable();
        let is_done = match added.peek() {
            Some(_) => added.all(|line| file.contains(line)),
            None => old.difference(&new).all(|line| !file.contains(line)),
        };
        is_done.then(|| {
            Refusal::new(EditCode::AlreadyApplied, "the file already has the edit, as a model says")
                .hint("Read the lines if you are not sure; otherwise go on with the next step. Do not send it again.")
        })
    }

    /// The refusal of a corrected text that occurs too often, and the reason in words.
    pub(super) fn too_often(&self, refusal: &Refusal, lines: Vec<usize>) -> (Refusal, String) {
        let expected = match self.request.expected {
            Expected::Exactly(count) => count.to_string(),
            Expected::All => "any number".into(),
        };
        let why =
            format!("the corrected old_str occurs {} times, expected {expected}", lines.len());
        let mut mismatch = Refusal::new(EditCode::OccurrenceMismatch, why.clone())
            .hint("Give an old_str with enough lines around it to be unique.");
        mismatch.nearest = refusal.nearest.clone();
        mismatch.occurrences = lines;
        (mismatch, why)
    }

    /// The same call with another `new_str`; `None` if no reading explains it.
    pub(super) fn with_new_str(&self, new: &str) -> Option<Resolved> {
        let request = EditRequest { new: new.to_owned(), ..self.request.clone() };
        let mut explained = explain(&request, &self.snapshot).ok()?;
        explained.explanation.rewrites.push(Rewrite::ModelEscapes);
        explained.explanation.corrected =
            Some(Corrected { old_str: request.old.clone(), new_str: new.to_owned() });
        Some(Resolved { explained, reapply: Reapply::Ladder(request) })
    }

    /// The lines of these places in words.
    pub(super) fn describe_lines(&self, places: &[Range<usize>]) -> String {
        let line = |at: usize| self.snapshot.lines().number_at(at);
        match places {
            [] => "no line".into(),
            [range] => {
                let (start, end) = (line(range.start), line(range.end.saturating_sub(1)));
                LineSpan { start, end: end.max(start) }.to_string()
            }
            [first, ..] => {
                format!("{} places, the first at line {}", places.len(), line(first.start))
            }
        }
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

    /// The whole lines of a range, without the last line's ending.
    fn whole_lines(&self, range: &Range<usize>) -> Range<usize> {
        let text = self.snapshot.text();
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let last = text[..range.end].trim_end_matches(['\n', '\r']).len().max(start);
        let end = text[last..].find('\n').map_or(text.len(), |at| last + at);
        start..text[..end].trim_end_matches('\r').len().max(start)
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
        let mut after = String::new();
        let mut at = 0;
        for splice in splices {
            after.push_str(&text[at..splice.range.start]);
            after.push_str(&splice.text);
            at = splice.range.end;
        }
        after.push_str(&text[at..]);
        let closed = |lexed: &Lexed| (lexed.closed, lexed.unmatched.clone());
        !language.lex(&after).is_well_formed()
            && closed(&language.lex(&self.request.old)) == closed(&language.lex(&self.request.new))
    }
}

/// The lines in which texts differ, with two lines around; blanks at the start of a line are shown
/// as `·` and tabs as `→`, so that no two look alike.
fn differing_lines(texts: &[String]) -> Vec<String> {
    const AROUND: usize = 2;
    let lines: Vec<Vec<&str>> = texts.iter().map(|text| text.lines().collect()).collect();
    let shortest = lines.iter().map(Vec::len).min().unwrap_or(0);
    let all_equal = |line: &dyn Fn(&Vec<&str>) -> String| {
        let first = lines.first().map(line);
        lines.iter().all(|text| Some(line(text)) == first)
    };
    let is_single = lines.len() < 2;
    let above = match is_single {
        true => 0,
        false => (0..shortest).take_while(|at| all_equal(&|text| text[*at].to_owned())).count(),
    };
    let below = match is_single {
        true => 0,
        false => (0..shortest - above)
            .take_while(|at| all_equal(&|text| text[text.len() - 1 - at].to_owned()))
            .count(),
    };
    let visible = |line: &str| {
        let body = line.trim_start_matches([' ', '\t']);
        let indent = line[..line.len() - body.len()].replace(' ', "·").replace('\t', "→");
        format!("{indent}{body}\n")
    };
    let shown = |text: &Vec<&str>| {
        let from = above.saturating_sub(AROUND);
        let to = (text.len() - below + AROUND).min(text.len());
        text[from..to].iter().map(|line| visible(line)).collect()
    };
    lines.iter().map(shown).collect()
}
