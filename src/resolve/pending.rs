//! A call that a model may be asked about: the questions to ask, and the edit that an answer leads
//! to.

use std::ops::Range;

use super::survey::{self, Survey};
use super::{
    Adjust, Choice, ConflictedRegion, Policy, Reapply, Resolution, Resolved, State, Step, conflict,
    describe_conflict, describe_conflicts, done, refused,
};
use crate::edit::{
    Attempt, Conflict, Corrected, EditRequest, Expected, Explanation, OutcomeDiff, Refusal,
    Rewrite, Rung, Splice,
};
use crate::matching::{
    ConflictHunk, ESCAPES_WARNING, Explained, Merge, escape_readings, explain, merge_at,
    merge_with_resolutions,
};
use crate::port::Ask;
use crate::text::{LineSpan, Snapshot};

/// A call, its file, and what the model may decide about it.
#[derive(Debug)]
pub(super) struct PendingCall {
    pub(super) path: String,
    pub(super) request: EditRequest,
    pub(super) snapshot: Snapshot,
    pub(super) policy: Policy,
}

impl PendingCall {
    /// Asks the model which text of the file `old_str` means, or refuses the call if it cannot be
    /// asked.
    pub(super) fn correct_old(self, refusal: Refusal, read: &[LineSpan]) -> Step {
        let skip = |why: &str| {
            let detail = why.to_owned();
            vec![Attempt { ask: "correct_old", outcome: "skipped", detail }]
        };
        let (old, new) = (&self.request.old, &self.request.new);
        if self.snapshot.text().trim().is_empty() || old.trim().is_empty() {
            return Step::Refused(Box::new(refusal));
        }
        if old.len() + new.len() > survey::MAX_CALLER_BYTES {
            return refused(refusal, skip("old_str and new_str are too long to be sent"));
        }
        if self.snapshot.text().len() > survey::MAX_FILE_BYTES {
            return refused(refusal, skip("the file is too large to be searched"));
        }
        let survey = Survey::of(old, &self.snapshot, read);
        if survey.windows.is_empty() || survey.regions.is_empty() {
            return refused(refusal, skip("nothing in the file is similar to old_str"));
        }
        let ask = Ask::CorrectOld {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: old.clone(),
            new: new.clone(),
            expected: match self.request.expected {
                Expected::Exactly(count) => Some(count.get()),
                Expected::All => None,
            },
            windows: survey.windows.clone(),
        };
        let state = State::CorrectOld { refusal, survey };
        Step::Ask(Box::new(Resolution { call: self, attempts: Vec::new(), state, ask }))
    }

    /// Merges the call into the file at the places that the model has found. If there are conflicts,
    /// `offered_new` is the model's `new_str` that resolves them.
    pub(super) fn merge_at(
        self,
        attempts: Vec<Attempt>,
        refusal: Refusal,
        places: &[Range<usize>],
        offered_new: Option<String>,
    ) -> Step {
        let Some(place) = places.first() else { return refused(refusal, attempts) };
        let mut outcomes = match merge_at(&self.request, &self.snapshot, place.clone()) {
            Merge::Broken => return refused(refusal, attempts),
            Merge::Clean(outcomes) => outcomes,
            Merge::Conflicts { hunks, skeleton, range } => {
                let known: Vec<Option<String>> = hunks.iter().map(conflict::merge_words).collect();
                let places = places.to_vec();
                let conflict =
                    ConflictedRegion { places, range, hunks, known, skeleton, whole: false };
                return self.adjust_new(attempts, refusal, conflict, offered_new);
            }
        };
        if let Some(conflict) = self.stale_words_conflict(places) {
            return self.adjust_new(attempts, refusal, conflict, offered_new);
        }
        if outcomes.len() > 1 {
            let mut refusal = refusal;
            refusal.outcomes = outcomes
                .iter()
                .map(|(splice, how)| OutcomeDiff { how: how.clone(), diff: self.diff(splice) })
                .collect();
            let explained = outcomes
                .into_iter()
                .map(|(splice, _)| self.explained(self.repeat_at(splice, places), Vec::new()))
                .collect();
            return self.choose(attempts, refusal, explained);
        }
        let Some((splice, _)) = outcomes.pop() else { return refused(refusal, attempts) };
        let explained = self.explained(self.repeat_at(splice, places), Vec::new());
        if !self.changes(&explained) {
            return refused(refusal, attempts);
        }
        let resolved = self.by_model(explained);
        self.finish(attempts, resolved)
    }

    /// The splice of the first place, repeated at each of the places, which all have the same text.
    fn repeat_at(&self, splice: Splice, places: &[Range<usize>]) -> Vec<Splice> {
        let first = places.first().map_or(0, |place| place.start);
        let shifted_to = |place: &Range<usize>| {
            let shift = |at: usize| place.start + at - first;
            let range = shift(splice.range.start)..shift(splice.range.end);
            Splice { range, text: splice.text.clone() }
        };
        match places.len() {
            1 => vec![splice],
            _ => places.iter().map(shifted_to).collect(),
        }
    }

    /// The whole place as one conflict, if the merge would write stale names: the call's new lines
    /// use a word of `old_str` that the file does not have. `None` if there is no such word.
    fn stale_words_conflict(&self, places: &[Range<usize>]) -> Option<ConflictedRegion> {
        let place = places.first()?;
        let found = &self.snapshot.text()[place.clone()];
        let words = |text: &str| -> std::collections::HashSet<String> {
            let is_separator = |c: char| !(c.is_alphanumeric() || c == '_');
            text.split(is_separator).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let old_words = words(&self.request.old);
        let file_words = words(self.snapshot.text());
        let old_lines: std::collections::HashSet<&str> =
            self.request.old.lines().map(str::trim).collect();
        let new_lines = self.request.new.lines().filter(|line| !old_lines.contains(line.trim()));
        let new_words = words(&new_lines.collect::<Vec<_>>().join("\n"));
        let has_stale_word = new_words
            .into_iter()
            .any(|word| old_words.contains(&word) && !file_words.contains(&word));
        has_stale_word.then(|| ConflictedRegion {
            places: places.to_vec(),
            range: place.clone(),
            hunks: vec![ConflictHunk {
                lines: self.snapshot.lines().number_at(place.start) - 1
                    ..self.snapshot.lines().number_at(place.end.max(1) - 1),
                believed: self.request.old.trim_end_matches('\n').to_owned(),
                found: found.to_owned(),
                wanted: self.request.new.trim_end_matches('\n').to_owned(),
            }],
            known: vec![None],
            skeleton: vec![None],
            whole: true,
        })
    }

    /// Resolves the conflicts with the known resolutions or with `offered_new`, or asks the model for
    /// an adjusted `new_str`.
    fn adjust_new(
        self,
        mut attempts: Vec<Attempt>,
        refusal: Refusal,
        conflict: ConflictedRegion,
        offered_new: Option<String>,
    ) -> Step {
        if conflict.known.iter().all(Option::is_some) {
            let answers = conflict.known.iter().flatten().cloned().collect::<Vec<_>>();
            return match self.resolved_edit(&conflict, &answers) {
                Ok(explained) => {
                    let resolved = self.by_model(explained);
                    self.finish(attempts, resolved)
                }
                Err(_) => refused(refusal, attempts),
            };
        }
        if self.policy.adjust == Adjust::Merge {
            return refused(refusal, attempts);
        }
        if let Some(offered_new) = offered_new {
            let result = self.resolve_conflicts(&conflict, &offered_new);
            let (outcome, detail) = match &result {
                Ok(explained) => ("accepted", describe_conflicts(&explained.explanation.conflicts)),
                Err(why) => ("rejected", why.clone()),
            };
            attempts.push(Attempt { ask: "adjust_new", outcome, detail });
            if let Ok(explained) = result {
                let resolved = self.by_model(explained);
                return self.finish(attempts, resolved);
            }
        }
        let ask = Ask::AdjustNew {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            corrected_old: self.snapshot.text()[conflict.range.clone()].to_owned(),
            new: self.request.new.clone(),
        };
        let state = State::AdjustNew { refusal, conflict };
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

    /// Resolves each conflict with its part of an answer; the error says why the answer is rejected.
    pub(super) fn resolve_conflicts(
        &self,
        conflict: &ConflictedRegion,
        answer: &str,
    ) -> Result<Explained, String> {
        let answer = self.strip_surroundings(&conflict.range, answer);
        let parts = conflict::split_answer(&conflict.skeleton, &answer)?;
        let mut answers = Vec::new();
        for ((hunk, part), known) in conflict.hunks.iter().zip(parts).zip(&conflict.known) {
            let text = match known {
                Some(text) => text.clone(),
                None => {
                    conflict::check_merge(hunk, &part)?;
                    conflict::normalize_whitespace(hunk, &conflict::reindent(hunk, &part))
                }
            };
            answers.push(text);
        }
        self.resolved_edit(conflict, &answers)
    }

    /// The answer without first and last lines that only repeat the file above and below the place.
    fn strip_surroundings(&self, place: &Range<usize>, answer: &str) -> String {
        let text = self.snapshot.text();
        let mut lines: Vec<&str> = answer.trim_matches('\n').split('\n').collect();
        // If the place ends inside a line, what follows on that line is not a line below it.
        let partial_lines = usize::from(!text[..place.end].ends_with('\n'));
        let below: Vec<&str> =
            text[place.end..].lines().skip(partial_lines).take(lines.len()).collect();
        let above: Vec<&str> = text[..place.start].lines().rev().take(lines.len()).collect();
        let same = |a: &str, b: &str| a.trim() == b.trim();
        let has_text = |lines: &[&str]| lines.iter().any(|line| !line.trim().is_empty());
        let repeated_below = (1..=below.len()).rev().find(|&count| {
            let tail = &lines[lines.len() - count..];
            tail.iter().zip(&below).all(|(a, b)| same(a, b)) && has_text(tail)
        });
        lines.truncate(lines.len() - repeated_below.unwrap_or(0));
        let repeated_above = (1..=above.len().min(lines.len())).rev().find(|&count| {
            let head = &lines[..count];
            head.iter().rev().zip(&above).all(|(a, b)| same(a, b)) && has_text(head)
        });
        lines.drain(..repeated_above.unwrap_or(0));
        lines.join("\n")
    }

    /// The edit in which each conflict is replaced by its answer; an error if it breaks the syntax or
    /// changes nothing.
    fn resolved_edit(
        &self,
        conflict: &ConflictedRegion,
        answers: &[String],
    ) -> Result<Explained, String> {
        let place = conflict.places[0].clone();
        let splice = match conflict.whole {
            true => Some(Splice { range: place, text: answers.join("\n") }),
            false => merge_with_resolutions(&self.request, &self.snapshot, place, answers),
        };
        let splice = splice.ok_or("the result would leave brackets or literals unclosed")?;
        let conflicts = conflict.hunks.iter().zip(answers).map(|(hunk, written)| Conflict {
            start_line: hunk.lines.start + 1,
            end_line: hunk.lines.end,
            believed: hunk.believed.clone(),
            found: hunk.found.clone(),
            written: Some(written.clone()),
        });
        let splices = self.repeat_at(splice, &conflict.places);
        let explained = self.explained(splices, conflicts.collect());
        match self.changes(&explained) {
            true => Ok(explained),
            false => Err("the answer does not change the file".into()),
        }
    }

    /// Whether an edit changes the file.
    fn changes(&self, explained: &Explained) -> bool {
        let text = self.snapshot.text();
        explained.splices.iter().any(|splice| text[splice.range.clone()] != splice.text)
    }

    /// These splices as an edit that a model located, with its report.
    fn explained(&self, splices: Vec<Splice>, conflicts: Vec<Conflict>) -> Explained {
        let mut explanation = Explanation::plain(Rung::Model);
        explanation.replacements = splices.len();
        explanation.rewrites.push(Rewrite::ModelOld);
        if !conflicts.is_empty() {
            explanation.rewrites.push(Rewrite::ModelNew);
        }
        explanation.warnings.extend(conflicts.iter().map(describe_conflict));
        explanation.conflicts = conflicts;
        if let Some(first) = splices.first() {
            explanation.corrected = Some(Corrected {
                old_str: self.snapshot.text()[first.range.clone()].to_owned(),
                new_str: first.text.clone(),
            });
        }
        Explained { splices, explanation }
    }

    /// An edit that a model located. It can be reapplied to another version that has the same text.
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

    /// Asks the model to choose among several outcomes, or refuses the call if it may not.
    pub(super) fn choose(
        self,
        attempts: Vec<Attempt>,
        refusal: Refusal,
        outcomes: Vec<Explained>,
    ) -> Step {
        let expects_one = self.request.expected == Expected::default();
        if self.policy.choose == Choice::Off || outcomes.len() < 2 || !expects_one {
            return refused(refusal, attempts);
        }
        let descriptions = refusal.outcomes.iter();
        let ask = Ask::Choose {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            new: self.request.new.clone(),
            outcomes: descriptions
                .map(|outcome| format!("{}\n{}", outcome.how, outcome.diff))
                .collect(),
        };
        let state = State::Choose { refusal, outcomes };
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

    /// Asks for a repair of the escapes if they are suspicious; otherwise the resolution is done.
    pub(super) fn finish(self, attempts: Vec<Attempt>, resolved: Resolved) -> Step {
        let warnings = &resolved.explained.explanation.warnings;
        let is_suspicious = warnings.iter().any(|warning| warning == ESCAPES_WARNING);
        let readings = match is_suspicious && self.request.new.len() <= survey::MAX_CALLER_BYTES {
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

    /// The same call with another `new_str`; `None` if no reading explains it.
    pub(super) fn with_new_str(&self, new: &str) -> Option<Resolved> {
        let request = EditRequest { new: new.to_owned(), ..self.request.clone() };
        let mut explained = explain(&request, &self.snapshot).ok()?;
        explained.explanation.rewrites.push(Rewrite::ModelEscapes);
        explained.explanation.corrected =
            Some(Corrected { old_str: request.old.clone(), new_str: new.to_owned() });
        Some(Resolved { explained, reapply: Reapply::Ladder(request) })
    }

    /// A short diff of the file before and after a splice.
    fn diff(&self, splice: &Splice) -> String {
        let text = self.snapshot.text();
        let after = [&text[..splice.range.start], &splice.text, &text[splice.range.end..]].concat();
        let after = Snapshot::from_text(after);
        crate::edit::short_diff(&self.snapshot, std::slice::from_ref(splice), &after)
    }

    /// The lines of these places in words.
    pub(super) fn describe_lines(&self, places: &[Range<usize>]) -> String {
        let line = |at: usize| self.snapshot.lines().number_at(at);
        match places {
            [] => "no line".into(),
            [range] => {
                let (start, end) = (line(range.start), line(range.end.saturating_sub(1)));
                LineSpan { start, end }.to_string()
            }
            [first, ..] => {
                format!("{} places, the first at line {}", places.len(), line(first.start))
            }
        }
    }

    /// The expected number of matches in words.
    pub(super) fn expected_count(&self) -> String {
        match self.request.expected {
            Expected::Exactly(count) => count.to_string(),
            Expected::All => "any number".into(),
        }
    }
}
