//! The pure resolution of one call: what no mechanical reading explains becomes a
//! question, and an answer becomes an edit only by passing the same verdict as a
//! mechanical reading. No I/O, no clock; a short driver in the engine feeds it.
//!
//! The model points, chooses or settles; it never writes freely. The number of questions
//! is bounded by the states: at most one of each kind.
//!
//! ```text
//! start ─┬─ One ───────────────────────────────────────────┬─ Done
//!        ├─ Ambiguous ─ Choose ────────────────────────────┤
//!        ├─ Missing ─ CorrectOld ─┬─ merge is clean ───────┤
//!        │                        ├─ several ─ Choose ─────┤
//!        │                        └─ conflicts ─ AdjustNew ┴─ RepairEscapes ─ Done
//!        └─ Refused
//! ```
//!
//! A refusal that is not "no place" never becomes an edit by CorrectOld.

mod corrected;
mod hunks;
mod survey;

use std::ops::Range;

use serde::Deserialize;

use crate::edit::{
    Attempt, Conflict, Corrected, EditCode, EditRequest, Expected, Explanation, OutcomeDiff,
    Refusal, Rewrite, Rung, Splice,
};
use crate::matching::{
    ESCAPES_WARNING, Explained, Hunk, Onto, Verdict as Matched, decide, escape_readings, explain,
    onto, settled,
};
use crate::port::{Ask, CorrectorError, Reply};
use crate::text::{LineSpan, Snapshot};

use corrected::Trouble;
use survey::Survey;

/// Who settles conflicts after a model found the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjust {
    /// The model, within the words of the call and the file.
    #[default]
    Model,
    /// No one: a call with conflicts is refused.
    Merge,
}

/// Who chooses where several texts are consistent with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// No one: the call is refused.
    Off,
    /// The model, by number.
    #[default]
    Model,
}

/// What a model may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Lines that the caller and the file have both changed.
    pub adjust: Adjust,
    /// Between several texts.
    pub choose: Choice,
}

/// Whether a model can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// No: every question is answered by the original refusal.
    Absent,
    /// Ask, under this policy.
    Present(Policy),
}

/// The next step of a resolution.
#[derive(Debug)]
#[must_use]
pub enum Step {
    /// The call is explained.
    Done(Box<Resolved>),
    /// A question has to be answered first.
    Ask(Box<Resolution>),
    /// The call is refused; nothing may be written.
    Refused(Box<Refusal>),
}

/// An explained call, and how to explain it again on another version of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Where it applies and what is written there.
    pub explained: Explained,
    /// How to decide it again, without a model.
    pub again: Again,
}

/// How to decide a resolved call again on another version of the file. Pure.
#[allow(clippy::large_enum_variant, reason = "there is one of them a call")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Again {
    /// By the ladder, as if it were called now.
    Ladder(EditRequest),
    /// By the corrected strings, which must occur exactly as often.
    Exact(EditRequest, Explanation),
    /// Not at all: the decision holds for one version only.
    Never,
}

impl Again {
    /// The same call, resolved on the version that is there now.
    pub fn on(&self, current: &Snapshot) -> Result<Resolved, Refusal> {
        Ok(Resolved { explained: self.decide(current)?, again: self.clone() })
    }

    /// Explains the call on the version that is there now.
    pub fn decide(&self, current: &Snapshot) -> Result<Explained, Refusal> {
        let conflict = || {
            Refusal::new(EditCode::Conflict, "the file changed while the correction was decided")
                .hint("Nothing was written. Send the same call again.")
        };
        match self {
            Self::Ladder(request) => explain(request, current),
            Self::Exact(request, explanation) => {
                let found = corrected::occurrences(&request.old, current.text());
                let fits = match request.expected {
                    Expected::Exactly(count) => found.len() == count.get(),
                    Expected::All => !found.is_empty(),
                };
                if !fits {
                    return Err(conflict());
                }
                Ok(exact(request, &found, explanation.clone()))
            }
            Self::Never => Err(conflict()),
        }
    }
}

/// A resolution that waits for an answer.
#[derive(Debug)]
pub struct Resolution {
    call: Call,
    attempts: Vec<Attempt>,
    state: State,
    ask: Ask,
}

#[derive(Debug)]
struct Call {
    path: String,
    request: EditRequest,
    snapshot: Snapshot,
    policy: Policy,
}

#[allow(clippy::large_enum_variant, reason = "there is one of them a call")]
#[derive(Debug)]
enum State {
    CorrectOld { refusal: Refusal, survey: Survey },
    AdjustNew { refusal: Refusal, conflict: Conflicted },
    Choose { refusal: Refusal, outcomes: Vec<Explained> },
    RepairEscapes { resolved: Resolved, readings: Vec<String> },
}

/// A place with conflicts that a model is asked about.
#[derive(Debug)]
struct Conflicted {
    /// The place; with several, all say the same, and are settled alike.
    places: Vec<Range<usize>>,
    /// The part of the first that the merge stands for.
    range: Range<usize>,
    hunks: Vec<Hunk>,
    /// For each hunk its text, where no question is needed.
    known: Vec<Option<String>>,
    frame: Vec<Option<String>>,
    /// The conflict is the whole region, because new lines use words that the file lacks.
    whole: bool,
}

impl Resolution {
    /// Starts with the ladder. `read` is what the caller has read of the file.
    pub fn start(
        path: &str,
        request: &EditRequest,
        snapshot: &Snapshot,
        model: Model,
        read: &[LineSpan],
    ) -> Step {
        Self::start_vetted(path, request, snapshot, model, read, &|matched| matched)
    }

    /// The same, where `vet` may take outcomes of the verdict away before anything comes of it.
    pub fn start_vetted(
        path: &str,
        request: &EditRequest,
        snapshot: &Snapshot,
        model: Model,
        read: &[LineSpan],
        vet: &dyn Fn(Matched) -> Matched,
    ) -> Step {
        let request = &request.clone().for_path(path);
        let matched = vet(decide(request, snapshot));
        let Model::Present(policy) = model else {
            return match matched.into_result() {
                Ok(explained) => Step::Done(Box::new(Resolved::by_ladder(explained, request))),
                Err(refusal) => Step::Refused(Box::new(refusal)),
            };
        };
        let call = Call {
            path: path.to_owned(),
            request: request.clone(),
            snapshot: snapshot.clone(),
            policy,
        };
        match matched {
            Matched::One(explained) => {
                call.finish(Vec::new(), Resolved::by_ladder(explained, request))
            }
            Matched::Ambiguous { outcomes, refusal } => call.choose(Vec::new(), refusal, outcomes),
            Matched::Missing(refusal) => call.correct_old(refusal, read),
            Matched::Refused(refusal) => Step::Refused(Box::new(refusal)),
        }
    }

    /// What has to be answered.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Goes on with an answer, or with the reason why there is none, and says what
    /// became of the answer.
    pub fn reply(self, answer: Result<Reply, CorrectorError>) -> (Step, Verdict) {
        let Self { call, mut attempts, state, ask } = self;
        let kind = ask.kind();
        let mut note = |outcome: &'static str, detail: String| {
            attempts.push(Attempt { ask: kind, outcome, detail });
            match outcome {
                "accepted" => Verdict::Accepted,
                "rejected" => Verdict::Rejected,
                _ => Verdict::NoAnswer,
            }
        };
        let reply = match answer {
            Ok(Reply::Declined) => Err(note("declined", "the model sees no match".into())),
            Ok(reply) => Ok(reply),
            Err(
                error @ (CorrectorError::Off
                | CorrectorError::Sensitive(_)
                | CorrectorError::Skipped(_)),
            ) => Err(note("skipped", error.to_string())),
            Err(error) => Err(note("failed", error.to_string())),
        };
        match state {
            State::CorrectOld { refusal, survey } => {
                let reply = match reply {
                    Ok(reply) => reply,
                    Err(verdict) => return (refused(refusal, attempts), verdict),
                };
                match corrected::check(&call.request, &call.snapshot, &survey, &reply) {
                    Ok(accepted) => {
                        let places = accepted.found;
                        let lines = call.line_of(&places);
                        let verdict =
                            note("accepted", format!("old_str corrected to the text at {lines}"));
                        let offered = match reply {
                            Reply::Settled { new, .. } => Some(new),
                            _ => None,
                        };
                        (call.put_onto(attempts, refusal, &places, offered), verdict)
                    }
                    Err(Trouble::TooOften(lines)) => {
                        let why = format!(
                            "the corrected old_str occurs {} times, expected {}",
                            lines.len(),
                            call.expected_words()
                        );
                        let verdict = note("rejected", why.clone());
                        let mut mismatch = Refusal::new(EditCode::OccurrenceMismatch, why)
                            .hint("Give an old_str with enough lines around it to be unique.");
                        mismatch.nearest = refusal.nearest;
                        mismatch.occurrences = lines;
                        (refused(mismatch, attempts), verdict)
                    }
                    Err(Trouble::Other(why)) => {
                        let verdict = note("rejected", why);
                        (refused(refusal, attempts), verdict)
                    }
                }
            }
            State::AdjustNew { refusal, conflict } => {
                let text = match reply {
                    Ok(Reply::Text(text)) => text,
                    Ok(_) => {
                        let verdict = note("rejected", "the answer is not a text".into());
                        return (refused(refusal, attempts), verdict);
                    }
                    Err(verdict) => return (refused(refusal, attempts), verdict),
                };
                match call.settle(&conflict, &text) {
                    Ok(explained) => {
                        let verdict = note("accepted", said(&explained.explanation.conflicts));
                        let resolved = call.by_model(explained);
                        (call.finish(attempts, resolved), verdict)
                    }
                    Err(why) => {
                        let verdict = note("rejected", why);
                        (refused(refusal, attempts), verdict)
                    }
                }
            }
            State::Choose { refusal, mut outcomes } => {
                let number = match reply {
                    Ok(Reply::Window(number)) => number,
                    Ok(_) => {
                        let verdict = note("rejected", "the answer is not a number".into());
                        return (refused(refusal, attempts), verdict);
                    }
                    Err(verdict) => return (refused(refusal, attempts), verdict),
                };
                let Some(at) = number.checked_sub(1).filter(|at| *at < outcomes.len()) else {
                    let verdict = note("rejected", format!("there is no outcome {number}"));
                    return (refused(refusal, attempts), verdict);
                };
                let how = refusal.outcomes.get(at).map_or("", |outcome| outcome.how.as_str());
                let verdict = note("accepted", format!("outcome {number}: {how}"));
                let mut explained = outcomes.swap_remove(at);
                explained.explanation.rewrites.push(Rewrite::ModelChoice);
                let resolved = Resolved { explained, again: Again::Never };
                (call.finish(attempts, resolved), verdict)
            }
            State::RepairEscapes { mut resolved, readings } => {
                let verdict = match reply {
                    Ok(Reply::Text(text)) if text == call.request.new => {
                        note("accepted", "no change needed, says the model".into())
                    }
                    Ok(Reply::Text(text)) if readings.contains(&text) => {
                        match call.rewritten(&text) {
                            Some(repaired) => {
                                resolved = repaired;
                                note("accepted", "new_str unescaped".into())
                            }
                            None => note("rejected", "the unescaped text cannot be placed".into()),
                        }
                    }
                    Ok(_) => note("rejected", "not a reading of new_str".into()),
                    Err(verdict) => verdict,
                };
                if verdict == Verdict::Rejected {
                    let warnings = &mut resolved.explained.explanation.warnings;
                    warnings.push("a repair of these escapes was rejected".into());
                }
                (done(attempts, resolved), verdict)
            }
        }
    }
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It passed the checks.
    Accepted,
    /// It did not.
    Rejected,
    /// There was none, or it was "no match".
    NoAnswer,
}

impl Resolved {
    fn by_ladder(explained: Explained, request: &EditRequest) -> Self {
        Self { explained, again: Again::Ladder(request.clone()) }
    }
}

impl Call {
    fn correct_old(self, refusal: Refusal, read: &[LineSpan]) -> Step {
        let skip = |why: &str| {
            let detail = why.to_owned();
            vec![Attempt { ask: "correct_old", outcome: "skipped", detail }]
        };
        let (old, new) = (&self.request.old, &self.request.new);
        if self.snapshot.text().trim().is_empty() || old.trim().is_empty() {
            return Step::Refused(Box::new(refusal));
        }
        if old.len() + new.len() > survey::MOST_CALLER_BYTES {
            return refused(refusal, skip("old_str and new_str are too long to be sent"));
        }
        if self.snapshot.text().len() > survey::MOST_FILE_BYTES {
            return refused(refusal, skip("the file is too large to be searched"));
        }
        let survey = Survey::of(old, &self.snapshot, read);
        if survey.windows.is_empty() || survey.regions.is_empty() {
            return refused(refusal, skip("nothing in the file is like old_str"));
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

    /// Puts the call onto places that are known to be meant.
    /// `offered` settles conflicts, if there are any.
    fn put_onto(
        self,
        attempts: Vec<Attempt>,
        refusal: Refusal,
        places: &[Range<usize>],
        offered: Option<String>,
    ) -> Step {
        let Some(place) = places.first() else { return refused(refusal, attempts) };
        let mut outcomes = match onto(&self.request, &self.snapshot, place.clone()) {
            Onto::Broken => return refused(refusal, attempts),
            Onto::Clean(outcomes) => outcomes,
            Onto::Conflicts { hunks, frame, range } => {
                let known: Vec<Option<String>> = hunks.iter().map(hunks::merged).collect();
                let places = places.to_vec();
                let conflict = Conflicted { places, range, hunks, known, frame, whole: false };
                return self.adjust_new(attempts, refusal, conflict, offered);
            }
        };
        if let Some(conflict) = self.uses_stale_words(places) {
            return self.adjust_new(attempts, refusal, conflict, offered);
        }
        if outcomes.len() > 1 {
            let mut refusal = refusal;
            refusal.outcomes = outcomes
                .iter()
                .map(|(splice, how)| OutcomeDiff { how: how.clone(), diff: self.diff(splice) })
                .collect();
            let explained = outcomes
                .into_iter()
                .map(|(splice, _)| self.explained(self.everywhere(splice, places), Vec::new()))
                .collect();
            return self.choose(attempts, refusal, explained);
        }
        let Some((splice, _)) = outcomes.pop() else { return refused(refusal, attempts) };
        let explained = self.explained(self.everywhere(splice, places), Vec::new());
        if !self.changes(&explained) {
            return refused(refusal, attempts);
        }
        let resolved = self.by_model(explained);
        self.finish(attempts, resolved)
    }

    /// A splice of the first place, at each place that says the same.
    fn everywhere(&self, splice: Splice, places: &[Range<usize>]) -> Vec<Splice> {
        let first = places.first().map_or(0, |place| place.start);
        let moved = |place: &Range<usize>| {
            let to = |at: usize| place.start + at - first;
            let range = to(splice.range.start)..to(splice.range.end);
            Splice { range, text: splice.text.clone() }
        };
        match places.len() {
            1 => vec![splice],
            _ => places.iter().map(moved).collect(),
        }
    }

    /// Whether the merge would write stale names: a kept line has other words in the file, and
    /// the call's new lines use the words that the file does not have.
    fn uses_stale_words(&self, places: &[Range<usize>]) -> Option<Conflicted> {
        let place = places.first()?;
        let found = &self.snapshot.text()[place.clone()];
        let words = |text: &str| -> std::collections::HashSet<String> {
            let word = |c: char| !(c.is_alphanumeric() || c == '_');
            text.split(word).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let (old, file) = (words(&self.request.old), words(found));
        let kept: std::collections::HashSet<&str> =
            self.request.old.lines().map(str::trim).collect();
        let fresh: String = self
            .request
            .new
            .lines()
            .filter(|line| !kept.contains(line.trim()))
            .collect::<Vec<_>>()
            .join("\n");
        let everywhere = words(self.snapshot.text());
        let stale = words(&fresh).into_iter().any(|word| {
            old.contains(&word) && !file.contains(&word) && !everywhere.contains(&word)
        });
        stale.then(|| Conflicted {
            places: places.to_vec(),
            range: place.clone(),
            hunks: vec![Hunk {
                lines: self.snapshot.lines().number_at(place.start) - 1
                    ..self.snapshot.lines().number_at(place.end.max(1) - 1),
                believed: self.request.old.trim_end_matches('\n').to_owned(),
                found: found.to_owned(),
                wanted: self.request.new.trim_end_matches('\n').to_owned(),
            }],
            known: vec![None],
            frame: vec![None],
            whole: true,
        })
    }

    fn adjust_new(
        self,
        mut attempts: Vec<Attempt>,
        refusal: Refusal,
        conflict: Conflicted,
        offered: Option<String>,
    ) -> Step {
        if conflict.known.iter().all(Option::is_some) {
            let answers = conflict.known.iter().flatten().cloned().collect::<Vec<_>>();
            return match self.write_settled(&conflict, &answers) {
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
        let offered = offered.map(|text| self.settle(&conflict, &text));
        if let Some(settled) = offered {
            let (outcome, detail) = match &settled {
                Ok(explained) => ("accepted", said(&explained.explanation.conflicts)),
                Err(why) => ("rejected", why.clone()),
            };
            attempts.push(Attempt { ask: "adjust_new", outcome, detail });
            if let Ok(explained) = settled {
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

    /// Takes from an answer what stands in the place of each conflict.
    fn settle(&self, conflict: &Conflicted, answer: &str) -> Result<Explained, String> {
        let answer = self.without_surroundings(&conflict.range, answer);
        let parts = hunks::parts(&conflict.frame, &answer)?;
        let mut answers = Vec::new();
        for ((hunk, part), known) in conflict.hunks.iter().zip(parts).zip(&conflict.known) {
            let text = match known {
                Some(text) => text.clone(),
                None => {
                    hunks::check(hunk, &part)?;
                    hunks::spaced(hunk, &hunks::at_depth(hunk, &part))
                }
            };
            answers.push(text);
        }
        self.write_settled(conflict, &answers)
    }

    /// An answer without the lines above and below the place that it has repeated.
    fn without_surroundings(&self, place: &Range<usize>, answer: &str) -> String {
        let text = self.snapshot.text();
        let mut lines: Vec<&str> = answer.trim_matches('\n').split('\n').collect();
        let rest = usize::from(!text[..place.end].ends_with('\n'));
        let below: Vec<&str> = text[place.end..].lines().skip(rest).take(lines.len()).collect();
        let above: Vec<&str> = text[..place.start].lines().rev().take(lines.len()).collect();
        let same = |a: &&str, b: &str| a.trim() == b.trim();
        let echoed = (1..=below.len()).rev().find(|&count| {
            let tail = &lines[lines.len() - count..];
            tail.iter().zip(&below).all(|(a, b)| same(a, b))
                && tail.iter().any(|l| !l.trim().is_empty())
        });
        lines.truncate(lines.len() - echoed.unwrap_or(0));
        let echoed = (1..=above.len().min(lines.len())).rev().find(|&count| {
            let head = &lines[..count];
            head.iter().rev().zip(&above).all(|(a, b)| same(a, b))
                && head.iter().any(|l| !l.trim().is_empty())
        });
        lines.drain(..echoed.unwrap_or(0));
        lines.join("\n")
    }

    fn write_settled(
        &self,
        conflict: &Conflicted,
        answers: &[String],
    ) -> Result<Explained, String> {
        let place = conflict.places[0].clone();
        let splice = match conflict.whole {
            true => Some(Splice { range: place, text: answers.join("\n") }),
            false => settled(&self.request, &self.snapshot, place, answers),
        };
        let splice = splice.ok_or("the result would leave brackets or literals unclosed")?;
        let conflicts = conflict.hunks.iter().zip(answers).map(|(hunk, written)| Conflict {
            start_line: hunk.lines.start + 1,
            end_line: hunk.lines.end,
            believed: hunk.believed.clone(),
            found: hunk.found.clone(),
            written: Some(written.clone()),
        });
        let splices = self.everywhere(splice, &conflict.places);
        let explained = self.explained(splices, conflicts.collect());
        match self.changes(&explained) {
            true => Ok(explained),
            false => Err("the answer leaves the file as it is".into()),
        }
    }

    fn changes(&self, explained: &Explained) -> bool {
        let text = self.snapshot.text();
        explained.splices.iter().any(|splice| text[splice.range.clone()] != splice.text)
    }

    fn explained(&self, splices: Vec<Splice>, conflicts: Vec<Conflict>) -> Explained {
        let mut explanation = Explanation::plain(Rung::Model);
        explanation.replacements = splices.len();
        explanation.rewrites.push(Rewrite::ModelOld);
        if !conflicts.is_empty() {
            explanation.rewrites.push(Rewrite::ModelNew);
        }
        explanation.warnings.extend(conflicts.iter().map(in_words));
        explanation.conflicts = conflicts;
        if let Some(first) = splices.first() {
            explanation.corrected = Some(Corrected {
                old_str: self.snapshot.text()[first.range.clone()].to_owned(),
                new_str: first.text.clone(),
            });
        }
        Explained { splices, explanation }
    }

    /// An edit that a model placed, and how to decide it again: by the file's own text.
    fn by_model(&self, explained: Explained) -> Resolved {
        let again = match &explained.splices[..] {
            [splice, ..] => {
                let old = self.snapshot.text()[splice.range.clone()].to_owned();
                let request = EditRequest { old, new: splice.text.clone(), ..self.request.clone() };
                Again::Exact(request, explained.explanation.clone())
            }
            _ => Again::Never,
        };
        Resolved { explained, again }
    }

    fn choose(self, attempts: Vec<Attempt>, refusal: Refusal, outcomes: Vec<Explained>) -> Step {
        let simple = self.request.expected == Expected::default();
        if self.policy.choose == Choice::Off || outcomes.len() < 2 || !simple {
            return refused(refusal, attempts);
        }
        let shown = refusal.outcomes.iter();
        let ask = Ask::Choose {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            new: self.request.new.clone(),
            outcomes: shown.map(|o| format!("{}\n{}", o.how, o.diff)).collect(),
        };
        let state = State::Choose { refusal, outcomes };
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

    /// Asks for a repair of the escapes, where there is evidence, or is done.
    fn finish(self, attempts: Vec<Attempt>, resolved: Resolved) -> Step {
        let warnings = &resolved.explained.explanation.warnings;
        let suspicious = warnings.iter().any(|warning| warning == ESCAPES_WARNING);
        let readings = match suspicious && self.request.new.len() <= survey::MOST_CALLER_BYTES {
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

    /// The same call with another `new_str`.
    fn rewritten(&self, new: &str) -> Option<Resolved> {
        let request = EditRequest { new: new.to_owned(), ..self.request.clone() };
        let mut explained = explain(&request, &self.snapshot).ok()?;
        explained.explanation.rewrites.push(Rewrite::ModelEscapes);
        explained.explanation.corrected =
            Some(Corrected { old_str: request.old.clone(), new_str: new.to_owned() });
        Some(Resolved { explained, again: Again::Ladder(request) })
    }

    fn diff(&self, splice: &Splice) -> String {
        let text = self.snapshot.text();
        let after = [&text[..splice.range.start], &splice.text, &text[splice.range.end..]].concat();
        let after = Snapshot::from_text(after);
        crate::edit::short_diff(&self.snapshot, std::slice::from_ref(splice), &after)
    }

    fn line_of(&self, found: &[Range<usize>]) -> String {
        let line = |at: usize| self.snapshot.lines().number_at(at);
        match found {
            [] => "no line".into(),
            [range] => {
                let (start, end) = (line(range.start), line(range.end.saturating_sub(1)));
                LineSpan { start, end }.to_string()
            }
            [first, ..] => format!("{} places from line {} on", found.len(), line(first.start)),
        }
    }

    fn expected_words(&self) -> String {
        match self.request.expected {
            Expected::Exactly(count) => count.to_string(),
            Expected::All => "any number".into(),
        }
    }
}

/// A settled conflict in one line.
fn in_words(conflict: &Conflict) -> String {
    let first = |text: &str| {
        let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        line.chars().take(80).collect::<String>()
    };
    let written = conflict.written.as_deref().map(first).unwrap_or_default();
    format!(
        "line {} had `{}`, not `{}`; it is `{written}` now",
        conflict.start_line,
        first(&conflict.found),
        first(&conflict.believed)
    )
}

fn said(conflicts: &[Conflict]) -> String {
    match conflicts {
        [] => "new_str adjusted".into(),
        [first, ..] => in_words(first),
    }
}

fn done(attempts: Vec<Attempt>, mut resolved: Resolved) -> Step {
    resolved.explained.explanation.attempts.extend(attempts.iter().cloned());
    if let Again::Exact(_, explanation) = &mut resolved.again {
        explanation.attempts.extend(attempts);
    }
    Step::Done(Box::new(resolved))
}

fn refused(mut refusal: Refusal, attempts: Vec<Attempt>) -> Step {
    refusal.attempts.extend(attempts);
    Step::Refused(Box::new(refusal))
}

/// The explanation of a text that stands literally in the file.
fn exact(request: &EditRequest, found: &[Range<usize>], mut explanation: Explanation) -> Explained {
    explanation.replacements = found.len();
    let splice = |range: &Range<usize>| Splice { range: range.clone(), text: request.new.clone() };
    Explained { splices: found.iter().map(splice).collect(), explanation }
}
