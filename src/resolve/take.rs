//! What comes of an answer to each question.

use std::collections::HashSet;
use std::ops::Range;

use super::candidates::{Candidates, MAX_QUESTION_BYTES};
use super::place::{self, Rejection};
use super::{Next, PendingCall, Reapply, Resolved, State, Taken, Turn};
use crate::edit::message::OLD;
use crate::edit::{
    AttemptOutcome, Corrected, EditCode, EditRequest, Expected, Refusal, Rewrite, said,
};
use crate::matching::{Explained, describe_conflict, explain};
use crate::port::Reply;

impl Taken {
    fn done(detail: String, resolved: Resolved) -> Self {
        Self { outcome: AttemptOutcome::Accepted, detail, next: Next::Done(Box::new(resolved)) }
    }

    fn refused(outcome: AttemptOutcome, detail: impl Into<String>, refusal: Refusal) -> Self {
        Self { outcome, detail: detail.into(), next: Next::Refused(Box::new(refusal)) }
    }

    pub(super) fn declined(detail: &str, refusal: Refusal) -> Self {
        Self::refused(AttemptOutcome::Declined, detail, refusal)
    }
}

impl PendingCall {
    /// Takes an answer that names a place, and perhaps gives its new text.
    pub(super) fn take_edit(
        &self,
        reply: Reply,
        refusal: Refusal,
        candidates: Candidates,
        turn: Turn,
    ) -> Taken {
        let (text, place, new) = match reply {
            Reply::Text(text) => (text, None, None),
            Reply::Located { text, place } => (text, Some(place), None),
            Reply::WithNew { text, place, new } => (text, place, Some(new)),
            Reply::AlreadyDone => {
                return match self.already_done() {
                    Some(done) => {
                        Taken::refused(AttemptOutcome::Accepted, "the file has the edit", done)
                    }
                    None => Taken::refused(
                        AttemptOutcome::Rejected,
                        "the file does not have the edit",
                        refusal,
                    ),
                };
            }
            Reply::Unsure => {
                let why = "you asked for more of the file; this is more of it";
                let more = self.ask_again(refusal, candidates, turn, why.into(), true);
                return Taken { detail: "the model asks for more of the file".into(), ..more };
            }
            _ => return Taken::declined("the model sees no match", refusal),
        };
        let found =
            place::locate(&self.request, &self.snapshot, &candidates, &text, place.as_ref());
        let places = match found {
            Ok(places) => places,
            Err(Rejection::TooOften(lines)) => {
                let (mismatch, why) = self.too_often(&refusal, lines);
                return Taken::refused(AttemptOutcome::Rejected, why, mismatch);
            }
            Err(Rejection::Other(why)) => {
                return self.ask_again(refusal, candidates, turn, why, false);
            }
        };
        let judged = place::widened(&places, &candidates);
        let checked = match &new {
            Some(new) => self.checked(&places, &judged, new),
            None => self.merged(&places, &judged),
        };
        let lines = self.describe_lines(&places);
        let why = match checked {
            Ok(explained) => {
                let detail = format!("{lines}: {}", summary(&explained));
                return Taken::done(detail, self.by_model(explained));
            }
            Err(why) => why,
        };
        // Without a text, the place alone is accepted.
        let (outcome, detail) = match new {
            Some(_) => (AttemptOutcome::Rejected, why.clone()),
            None => {
                (AttemptOutcome::Accepted, format!("the old text corrected to the text at {lines}"))
            }
        };
        if turn == Turn::Second {
            return Taken::refused(outcome, detail, refusal);
        }
        let ask = self.text_question(&places, why);
        let state = State::NewText { refusal, places, judged };
        Taken { outcome, detail, next: Next::Ask(Box::new(state), Box::new(ask)) }
    }

    /// Asks once more, with more of the file if there is room, or refuses the call.
    fn ask_again(
        &self,
        refusal: Refusal,
        candidates: Candidates,
        turn: Turn,
        why: String,
        needs_more: bool,
    ) -> Taken {
        let outcome = if needs_more { AttemptOutcome::Declined } else { AttemptOutcome::Rejected };
        let size = self.edit_question(&Candidates::default(), None).size();
        let room = MAX_QUESTION_BYTES.saturating_sub(size);
        let more = candidates.with_more(&self.snapshot, room);
        let candidates = match more {
            Some(more) => more,
            None if needs_more => return Taken::refused(outcome, why, refusal),
            None => candidates,
        };
        if turn == Turn::Second {
            return Taken::refused(outcome, why, refusal);
        }
        let ask = self.edit_question(&candidates, Some(why.clone()));
        let state = State::Edit { refusal, fallback: None, candidates, turn: Turn::Second };
        Taken { outcome, detail: why, next: Next::Ask(Box::new(state), Box::new(ask)) }
    }

    /// Takes the new text of places that are known.
    pub(super) fn take_text(
        &self,
        places: &[Range<usize>],
        judged: &Range<usize>,
        text: &str,
        refusal: Refusal,
    ) -> Taken {
        match self.checked(places, judged, text) {
            Ok(explained) => Taken::done(summary(&explained), self.by_model(explained)),
            Err(why) => Taken::refused(AttemptOutcome::Rejected, why, refusal),
        }
    }

    /// Takes the number of an outcome, or the new text of the place.
    pub(super) fn take_choice(
        &self,
        reply: Reply,
        refusal: Refusal,
        mut outcomes: Vec<Explained>,
        place: Range<usize>,
    ) -> Taken {
        let number = match reply {
            Reply::Outcome(number) => number,
            Reply::Text(text) => {
                return self.take_text(std::slice::from_ref(&place), &place, &text, refusal);
            }
            _ => return Taken::declined("the model chooses none", refusal),
        };
        let index = number.checked_sub(1).filter(|index| *index < outcomes.len());
        let Some(index) = index else {
            return Taken::refused(
                AttemptOutcome::Rejected,
                format!("there is no outcome {number}"),
                refusal,
            );
        };
        let how = refusal.outcomes.get(index).map_or("", |outcome| outcome.how.as_str());
        let detail = format!("outcome {number}: {how}");
        let mut explained = outcomes.swap_remove(index);
        explained.explanation.rewrites.push(Rewrite::ModelChoice);
        let resolved = Resolved { explained, reapply: Reapply::Never };
        Taken { outcome: AttemptOutcome::Accepted, detail, next: Next::Chosen(Box::new(resolved)) }
    }

    /// Takes an answer about the escapes of `new_str`, of which these are the readings.
    pub(super) fn take_escapes(
        &self,
        reply: Reply,
        mut resolved: Resolved,
        readings: &[String],
    ) -> Taken {
        let (outcome, detail) = match reply {
            Reply::Text(text) if text == self.request.new => {
                (AttemptOutcome::Accepted, "the model says that no change is needed")
            }
            Reply::Text(text) if readings.contains(&text) => match self.with_new_str(&text) {
                Some(repaired) => {
                    resolved = repaired;
                    (AttemptOutcome::Accepted, "the new text unescaped")
                }
                None => (AttemptOutcome::Rejected, "the call with the unescaped text is refused"),
            },
            Reply::Declined | Reply::Unsure => {
                (AttemptOutcome::Declined, "the model gives no text")
            }
            _ => (
                AttemptOutcome::Rejected,
                "the answer changes more of the new text than its escapes",
            ),
        };
        if outcome == AttemptOutcome::Rejected {
            let warnings = &mut resolved.explained.explanation.warnings;
            warnings.push("the model's repair of these escapes was rejected".into());
        }
        Taken { outcome, detail: detail.into(), next: Next::Done(Box::new(resolved)) }
    }

    /// An edit by a model's answer. It can be reapplied to another version that has the same text.
    fn by_model(&self, explained: Explained) -> Resolved {
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
    fn already_done(&self) -> Option<Refusal> {
        let text = self.snapshot.text();
        let lines = |text: &str| -> HashSet<String> {
            let lines = text.lines().map(|line| line.split_whitespace().collect::<String>());
            lines.filter(|line| !line.is_empty()).collect()
        };
        let (old, new, file) = (lines(&self.request.old), lines(&self.request.new), lines(text));
        let mut added = new.difference(&old).peekable();
        let is_done = match added.peek() {
            // A part of a line is made where it is and what it replaces is not.
            Some(_) if !self.request.new.trim().contains('\n') => {
                let (old, new) = (self.request.old.trim(), self.request.new.trim());
                text.contains(new) && (new.contains(old) || !text.contains(old))
            }
            Some(_) => added.all(|line| file.contains(line)),
            None => old.difference(&new).all(|line| !file.contains(line)),
        };
        is_done.then(|| {
            Refusal::new(EditCode::AlreadyApplied, "the file already has the edit, as a model says")
                .hint("Read the lines if you are not sure; otherwise go on with the next step. Do not send it again.")
        })
    }

    /// The refusal of a corrected text that occurs too often, and the reason in words.
    fn too_often(&self, refusal: &Refusal, lines: Vec<usize>) -> (Refusal, String) {
        let expected = match self.request.expected {
            Expected::Exactly(count) => count.to_string(),
            Expected::All => "any number".into(),
        };
        let why =
            format!("the corrected old text occurs {} times, expected {expected}", lines.len());
        let mut mismatch = Refusal::new(EditCode::OccurrenceMismatch, why.clone())
            .hint(said!("Give an {OLD} with enough lines around it to be unique."));
        mismatch.nearest = refusal.nearest.clone();
        mismatch.occurrences = lines;
        (mismatch, why)
    }

    /// The same call with another `new_str`; `None` if no reading explains it.
    fn with_new_str(&self, new: &str) -> Option<Resolved> {
        let request = EditRequest { new: new.to_owned(), ..self.request.clone() };
        let mut explained = explain(&request, &self.snapshot).ok()?;
        explained.explanation.rewrites.push(Rewrite::ModelEscapes);
        explained.explanation.corrected =
            Some(Corrected { old_str: request.old.clone(), new_str: new.to_owned() });
        Some(Resolved { explained, reapply: Reapply::Ladder(request) })
    }
}

/// Describes a model's edit in one line, by the first line that differed from the call.
fn summary(explained: &Explained) -> String {
    match explained.explanation.conflicts.first() {
        None => "the text passed the checks".into(),
        Some(first) => describe_conflict(first),
    }
}
