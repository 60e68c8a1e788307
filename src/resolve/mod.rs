//! The pure resolution of one call: what no mechanical reading explains becomes a
//! question, and an answer becomes an edit only by passing the same checks as
//! anything else. No I/O, no clock; a short driver in the engine feeds it.
//!
//! The number of questions is bounded by the states: at most one of each kind.
//!
//! ```text
//! start ─┬─ explained ────────────────────────────┬─ Done
//!        ├─ not found ─ CorrectOld ─ AdjustNew ───┤
//!        ├─ too often ─ Choose (off by default) ──┴─ RepairEscapes ─ Done
//!        └─ anything else ─ Refused
//! ```
//!
//! Limits: whether an answer that passes is what the caller meant is not decided
//! here; that it lies in the nearest place, loses nothing that the caller wrote and
//! brings in nothing that neither the caller nor the file has, is.

mod adjusted;
mod corrected;
mod escapes;
mod nearness;
mod survey;
mod tokens;

use std::ops::Range;

use serde::Deserialize;

use crate::edit::{
    Attempt, Corrected, EditCode, EditRequest, Expected, Explanation, Refusal, Splice,
};
use crate::matching::{Explained, explain, merge_onto};
use crate::port::{Ask, CorrectorError, Reply};
use crate::text::{LineSpan, Snapshot};

use corrected::Trouble;
use survey::Survey;

/// Who adjusts `new_str` after a model corrected `old_str`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjust {
    /// The model, checked against the merge.
    #[default]
    Model,
    /// The three-way merge alone; no second question.
    Merge,
}

/// Who chooses where several places fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Nobody: the call is refused.
    #[default]
    Off,
    /// The model.
    Model,
}

/// What a model may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// After a correction of `old_str`.
    pub adjust: Adjust,
    /// Between several places.
    pub choose: Choice,
}

/// Whether there is somebody to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Nobody: every question is answered by the original refusal.
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
    /// Somebody has to answer first.
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

#[derive(Debug)]
enum State {
    CorrectOld { refusal: Refusal, survey: Survey },
    AdjustNew { refusal: Refusal, old: String, found: Vec<Range<usize>>, merged: Option<String> },
    Choose { refusal: Refusal, lines: Vec<usize> },
    RepairEscapes { resolved: Resolved, readings: Vec<String> },
}

impl Resolution {
    /// Starts with the ladder.
    pub fn start(path: &str, request: &EditRequest, snapshot: &Snapshot, model: Model) -> Step {
        let refusal = match explain(request, snapshot) {
            Ok(explained) => {
                let again = Again::Ladder(request.clone());
                let resolved = Resolved { explained, again };
                return match model {
                    Model::Absent => Step::Done(Box::new(resolved)),
                    Model::Present(policy) => {
                        Call::new(path, request, snapshot, policy).finish(Vec::new(), resolved)
                    }
                };
            }
            Err(refusal) => refusal,
        };
        let Model::Present(policy) = model else { return Step::Refused(Box::new(refusal)) };
        let call = Call::new(path, request, snapshot, policy);
        match refusal.code {
            EditCode::NoOccurrence => call.correct_old(refusal),
            EditCode::OccurrenceMismatch if policy.choose == Choice::Model => call.choose(refusal),
            _ => Step::Refused(Box::new(refusal)),
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
            Err(error @ (CorrectorError::Off | CorrectorError::Sensitive(_))) => {
                Err(note("skipped", error.to_string()))
            }
            Err(error @ CorrectorError::Skipped(_)) => Err(note("skipped", error.to_string())),
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
                        let lines = call.line_of(&accepted.found);
                        let verdict =
                            note("accepted", format!("old_str corrected to the text at {lines}"));
                        let step = call.adjust_new(attempts, refusal, accepted.old, accepted.found);
                        (step, verdict)
                    }
                    Err(Trouble::TooOften(lines)) => {
                        let expected = call.expected_words();
                        let verdict = note(
                            "rejected",
                            format!("the corrected old_str occurs {} times", lines.len()),
                        );
                        let mut mismatch = Refusal::new(
                            EditCode::OccurrenceMismatch,
                            format!(
                                "the corrected old_str occurs {} times, expected {expected}",
                                lines.len()
                            ),
                        )
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
            State::AdjustNew { refusal, old, found, merged } => {
                let (new, verdict) = match reply {
                    Ok(Reply::Text(text)) => {
                        let base = adjusted::Base {
                            old: &call.request.old,
                            new: &call.request.new,
                            region: &old,
                            merged: merged.as_deref(),
                        };
                        match adjusted::check(&base, &text) {
                            Ok(adjusted::Answer::Merge(text)) => {
                                (Some(text), note("accepted", "agrees with the merge".into()))
                            }
                            Ok(adjusted::Answer::Own(text)) => {
                                (Some(text), note("accepted", "new_str adjusted".into()))
                            }
                            Err(why) => (merged, note("rejected", why)),
                        }
                    }
                    Ok(_) => (merged, note("rejected", "the answer is not a text".into())),
                    // A declined or skipped question leaves what needs no model. Trouble
                    // with the server means that the correction as a whole has failed.
                    Err(verdict) => {
                        let failed = attempts.last().is_some_and(|a| a.outcome == "failed");
                        (if failed { None } else { merged }, verdict)
                    }
                };
                let step = match new {
                    Some(new) => call.corrected(attempts, old, new, &found),
                    None => refused(refusal, attempts),
                };
                (step, verdict)
            }
            State::Choose { refusal, lines } => {
                let window = match reply {
                    Ok(Reply::Window(window)) => window,
                    Ok(_) => {
                        let verdict = note("rejected", "the answer is not a number".into());
                        return (refused(refusal, attempts), verdict);
                    }
                    Err(verdict) => return (refused(refusal, attempts), verdict),
                };
                let chosen = window.checked_sub(1).and_then(|index| lines.get(index).copied());
                let Some(line) = chosen else {
                    let verdict = note("rejected", format!("there is no place {window}"));
                    return (refused(refusal, attempts), verdict);
                };
                match call.at_line(line) {
                    Some(resolved) => {
                        let verdict = note("accepted", format!("the place at line {line}"));
                        (call.finish(attempts, resolved), verdict)
                    }
                    None => {
                        let verdict =
                            note("rejected", format!("the edit cannot be tied to line {line}"));
                        (refused(refusal, attempts), verdict)
                    }
                }
            }
            State::RepairEscapes { mut resolved, readings } => {
                let verdict = match reply {
                    Ok(Reply::Text(text)) if text == call.request_new(&resolved) => {
                        note("accepted", "no change needed, says the model".into())
                    }
                    Ok(Reply::Text(text)) if readings.contains(&text) => {
                        match call.rewritten(&resolved, &text) {
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
                if verdict != Verdict::Accepted {
                    resolved.explained.explanation.warnings.push(
                        "new_str holds escapes outside of string literals; it was written as given"
                            .into(),
                    );
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

impl Call {
    fn new(path: &str, request: &EditRequest, snapshot: &Snapshot, policy: Policy) -> Self {
        Self { path: path.to_owned(), request: request.clone(), snapshot: snapshot.clone(), policy }
    }

    fn correct_old(self, refusal: Refusal) -> Step {
        let skip =
            |why: &str| Attempt { ask: "correct_old", outcome: "skipped", detail: why.to_owned() };
        let (old, new) = (&self.request.old, &self.request.new);
        if self.snapshot.text().trim().is_empty() || old.trim().is_empty() {
            return Step::Refused(Box::new(refusal));
        }
        if old.len() + new.len() > survey::MOST_CALLER_BYTES {
            return refused(refusal, vec![skip("old_str and new_str are too long to be sent")]);
        }
        if self.snapshot.text().len() > survey::MOST_FILE_BYTES {
            return refused(refusal, vec![skip("the file is too large to be searched")]);
        }
        let survey = Survey::of(old, &self.snapshot);
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

    fn adjust_new(
        self,
        attempts: Vec<Attempt>,
        refusal: Refusal,
        old: String,
        found: Vec<Range<usize>>,
    ) -> Step {
        if old == self.request.old {
            let new = self.request.new.clone();
            return self.corrected(attempts, old, new, &found);
        }
        let merged = found
            .first()
            .and_then(|range| merge_onto(&self.request, &self.snapshot, range.clone()));
        if self.policy.adjust == Adjust::Merge {
            return match merged {
                Some(new) => self.corrected(attempts, old, new, &found),
                None => refused(refusal, attempts),
            };
        }
        let ask = Ask::AdjustNew {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            corrected_old: old.clone(),
            new: self.request.new.clone(),
        };
        let state = State::AdjustNew { refusal, old, found, merged };
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

    /// The edit of a corrected `old_str`.
    fn corrected(
        self,
        attempts: Vec<Attempt>,
        old: String,
        new: String,
        found: &[Range<usize>],
    ) -> Step {
        let mut explanation = Explanation::plain("model");
        explanation.rewrites.push("model:old_str".into());
        if new != self.request.new {
            explanation.rewrites.push("model:new_str".into());
        }
        explanation.corrected = Some(Corrected { old_str: old.clone(), new_str: new.clone() });
        let request = EditRequest { old, new, ..self.request.clone() };
        let explained = exact(&request, found, explanation.clone());
        let resolved = Resolved { explained, again: Again::Exact(request, explanation) };
        self.finish(attempts, resolved)
    }

    fn choose(self, refusal: Refusal) -> Step {
        let lines = self.places(&refusal);
        if lines.len() < 2 || self.request.expected != Expected::default() {
            return Step::Refused(Box::new(refusal));
        }
        let ask = Ask::Choose {
            path: self.path.clone(),
            file: self.snapshot.hash(),
            old: self.request.old.clone(),
            new: self.request.new.clone(),
            windows: survey::around(&self.snapshot, &lines),
        };
        let state = State::Choose { refusal, lines };
        Step::Ask(Box::new(Resolution { call: self, attempts: Vec::new(), state, ask }))
    }

    /// First lines of the places that fit, few enough to be shown.
    fn places(&self, refusal: &Refusal) -> Vec<usize> {
        let mut lines = refusal.occurrences.clone();
        if lines.is_empty() {
            let found = corrected::occurrences(&self.request.old, self.snapshot.text());
            lines = found.iter().map(|r| self.snapshot.lines().number_at(r.start)).collect();
        }
        lines.dedup();
        if lines.len() > survey::MOST_PLACES { Vec::new() } else { lines }
    }

    /// The call, tied to one line. The ladder takes the line as a tie break only.
    fn at_line(&self, line: usize) -> Option<Resolved> {
        let tied = EditRequest { near_line: Some(line), ..self.request.clone() };
        let at = |explained: &Explained| {
            let [splice] = &explained.splices[..] else { return false };
            let start = self.snapshot.lines().number_at(splice.range.start);
            (line..=line + self.request.old.lines().count()).contains(&start)
        };
        if let Ok(explained) = explain(&tied, &self.snapshot)
            && at(&explained)
        {
            return Some(Resolved { explained, again: Again::Never });
        }
        let found = corrected::occurrences(&self.request.old, self.snapshot.text());
        let mut here =
            found.into_iter().filter(|r| self.snapshot.lines().number_at(r.start) == line);
        let (Some(range), None) = (here.next(), here.next()) else { return None };
        let explained = exact(&self.request, &[range], Explanation::plain("exact"));
        Some(Resolved { explained, again: Again::Never })
    }

    /// Asks for a repair of the escapes, where there is evidence, or is done.
    fn finish(self, attempts: Vec<Attempt>, resolved: Resolved) -> Step {
        let readings = self.proven_readings(&resolved);
        if readings.is_empty() {
            return done(attempts, resolved);
        }
        let new = self.request_new(&resolved).to_owned();
        let old = match &resolved.again {
            Again::Exact(request, _) => request.old.clone(),
            _ => self.request.old.clone(),
        };
        let file = self.snapshot.hash();
        let ask = Ask::RepairEscapes { path: self.path.clone(), file, old, new };
        let state = State::RepairEscapes { resolved, readings };
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

    fn request_new<'a>(&'a self, resolved: &'a Resolved) -> &'a str {
        match &resolved.again {
            Again::Exact(request, _) => &request.new,
            _ => &self.request.new,
        }
    }

    /// Readings of `new_str` whose result is sound where the result as given is not.
    fn proven_readings(&self, resolved: &Resolved) -> Vec<String> {
        let new = self.request_new(resolved);
        if !new.contains('\\') || new.len() > survey::MOST_CALLER_BYTES {
            return Vec::new();
        }
        let Some(language) = escapes::Language::of(&self.path) else { return Vec::new() };
        let before = language.faults(self.snapshot.text());
        let faults = |resolved: &Resolved| {
            language.faults(&spliced(self.snapshot.text(), &resolved.explained.splices))
        };
        if faults(resolved) <= before {
            return Vec::new();
        }
        let sound = |reading: &String| {
            self.rewritten(resolved, reading).is_some_and(|r| faults(&r) <= before)
        };
        escapes::readings(new, language).into_iter().filter(sound).collect()
    }

    /// The same edit with another `new_str`.
    fn rewritten(&self, resolved: &Resolved, new: &str) -> Option<Resolved> {
        let rewrite = |explanation: &mut Explanation, old: &str| {
            explanation.rewrites.push("model:escapes".into());
            explanation.corrected =
                Some(Corrected { old_str: old.to_owned(), new_str: new.to_owned() });
        };
        match &resolved.again {
            Again::Exact(request, explanation) => {
                let request = EditRequest { new: new.to_owned(), ..request.clone() };
                let mut explanation = explanation.clone();
                rewrite(&mut explanation, &request.old);
                let found = corrected::occurrences(&request.old, self.snapshot.text());
                let explained = exact(&request, &found, explanation.clone());
                Some(Resolved { explained, again: Again::Exact(request, explanation) })
            }
            Again::Ladder(request) => {
                let request = EditRequest { new: new.to_owned(), ..request.clone() };
                let mut explained = explain(&request, &self.snapshot).ok()?;
                rewrite(&mut explained.explanation, &request.old);
                Some(Resolved { explained, again: Again::Ladder(request) })
            }
            Again::Never => None,
        }
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

fn spliced(text: &str, splices: &[Splice]) -> String {
    let mut sorted: Vec<&Splice> = splices.iter().collect();
    sorted.sort_by_key(|splice| splice.range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for splice in sorted {
        out.push_str(text.get(at..splice.range.start).unwrap_or_default());
        out.push_str(&splice.text);
        at = splice.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
