//! The questions about a call. One that would be too long is not asked.

use std::ops::Range;

use super::candidates::{Candidates, MAX_FILE_BYTES, MAX_QUESTION_BYTES};
use super::{PendingCall, Resolution, Resolved, State, Step, Turn, done, refused};
use crate::edit::message::OLD;
use crate::edit::{
    AskKind, Attempt, AttemptOutcome, EditCode, EditRequest, Expected, Refusal, said,
};
use crate::matching::{ESCAPES_WARNING, Explained, escape_readings, nearest};
use crate::port::{Ask, Question};

impl PendingCall {
    /// Asks a question, or goes on without an answer if the question is too long.
    pub(super) fn question(self, mut attempts: Vec<Attempt>, state: State, ask: Ask) -> Step {
        let size = ask.size();
        if size > MAX_QUESTION_BYTES {
            let detail = format!(
                "the question would be too long, {size} bytes of at most {MAX_QUESTION_BYTES}; smaller edits can be asked about"
            );
            attempts.push(Attempt { ask: ask.kind(), outcome: AttemptOutcome::Skipped, detail });
            return state.without_answer(attempts);
        }
        Step::Ask(Box::new(Resolution { call: self, attempts, state, ask }))
    }

    /// Asks the model about an edit that the matcher explains only by lines that differ in words.
    /// Without an answer, the matcher's decision stands.
    pub(super) fn confirm(self, resolved: Resolved) -> Step {
        let ranges: Vec<_> =
            resolved.explained.splices.iter().map(|splice| splice.range.clone()).collect();
        let lines = self.describe_lines(&ranges);
        let message = said!(
            "{OLD} is not in the file: {lines} {} in words, and the model did not confirm the edit",
            if lines.starts_with("lines") { "differ" } else { "differs" }
        );
        let mut refusal = Refusal::new(EditCode::NoOccurrence, message)
            .hint(said!("Read {lines}, then send {OLD} exactly as the file has it."));
        refusal.nearest = nearest(&self.snapshot, &self.request.old, 3);
        self.ask_first(refusal, Some(resolved))
    }

    /// Asks the model which place `old_str` means, and for its new text; or goes on without it if it
    /// cannot be asked. `fallback` is what the matcher would write.
    pub(super) fn ask_first(self, refusal: Refusal, fallback: Option<Resolved>) -> Step {
        let old = &self.request.old;
        if self.snapshot.text().trim().is_empty() || old.trim().is_empty() {
            return refused(refusal, Vec::new());
        }
        let is_searched =
            self.snapshot.text().len() <= MAX_FILE_BYTES && old.len() <= MAX_QUESTION_BYTES * 8;
        let candidates = match is_searched {
            true => Candidates::of(&self.request, &self.snapshot, &refusal.conflicts),
            false => Candidates::default(),
        };
        if candidates.shown.is_empty() || candidates.regions.is_empty() {
            let detail = match is_searched {
                true => "nothing in the file is similar to the old text",
                false => "the file or the old text is too large to be searched",
            };
            let attempt = Attempt {
                ask: AskKind::CorrectOld,
                outcome: AttemptOutcome::Skipped,
                detail: detail.to_owned(),
            };
            return match fallback {
                Some(resolved) => done(vec![attempt], resolved),
                None => refused(refusal, vec![attempt]),
            };
        }
        let ask = self.edit_question(&candidates, None);
        let state = State::Edit { refusal, fallback, candidates, turn: Turn::First };
        self.question(Vec::new(), state, ask)
    }

    /// A question about this call.
    fn ask(&self, question: Question) -> Ask {
        let EditRequest { old, new, .. } = self.request.clone();
        Ask { path: self.path.clone(), file: self.snapshot.hash(), old, new, question }
    }

    /// The question for a place and its new text; `reason` is what was wrong with the first answer.
    pub(super) fn edit_question(&self, candidates: &Candidates, reason: Option<String>) -> Ask {
        self.ask(Question::CorrectOld {
            expected: match self.request.expected {
                Expected::Exactly(count) => Some(count.get()),
                Expected::All => None,
            },
            windows: candidates.windows(&self.snapshot),
            reason,
        })
    }

    /// The question for the whole new text of places that the model has named.
    pub(super) fn text_question(&self, places: &[Range<usize>], reason: String) -> Ask {
        let place = places.first().cloned().unwrap_or_default();
        let corrected_old = self.snapshot.text()[place].to_owned();
        self.ask(Question::AdjustNew { corrected_old, reason })
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
        let corrected_old = text[place.clone()].to_owned();
        let outcomes_shown = differing_lines(&results);
        let ask = self.ask(Question::Choose { corrected_old, outcomes: outcomes_shown });
        self.question(Vec::new(), State::Choose { refusal, outcomes, place }, ask)
    }

    /// Asks for a repair of the escapes if they are suspicious; otherwise the resolution is done.
    pub(super) fn finish(self, attempts: Vec<Attempt>, resolved: Resolved) -> Step {
        let warnings = &resolved.explained.explanation.warnings;
        // In prose, nothing says what an escape means: it is only told.
        let is_code = self.request.language.is_some_and(|language| language.is_code());
        let is_suspicious = is_code && warnings.iter().any(|warning| warning == ESCAPES_WARNING);
        let readings = match is_suspicious {
            true => escape_readings(&self.request.new),
            false => Vec::new(),
        };
        if readings.is_empty() {
            return done(attempts, resolved);
        }
        let ask = self.ask(Question::RepairEscapes);
        self.question(attempts, State::RepairEscapes { resolved, readings }, ask)
    }

    /// The lines of these places in words.
    pub(super) fn describe_lines(&self, places: &[Range<usize>]) -> String {
        match places {
            [] => "no line".into(),
            [range] => self.snapshot.lines_of(range).to_string(),
            [first, ..] => {
                let line = self.snapshot.lines().number_at(first.start);
                format!("{} places, the first at line {line}", places.len())
            }
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
}

/// The lines in which texts differ, with two lines around. Blanks at the ends of a line are shown as
/// `·`, tabs as `→` and an empty line as `¶`, so that no two look alike.
fn differing_lines(texts: &[String]) -> Vec<String> {
    const AROUND: usize = 2;
    let lines: Vec<Vec<&str>> = texts.iter().map(|text| text.split('\n').collect()).collect();
    let all_equal = |line: &dyn Fn(&Vec<&str>) -> Option<String>| {
        lines.len() > 1 && lines.iter().all(|text| line(text) == line(&lines[0]))
    };
    let shortest = lines.iter().map(Vec::len).min().unwrap_or(0);
    let at_top = |at: usize| all_equal(&|text| text.get(at).map(|line| (*line).to_owned()));
    let above = (0..shortest).take_while(|at| at_top(*at)).count();
    let at_end =
        |at: usize| all_equal(&|text| text.iter().nth_back(at).map(|line| (*line).to_owned()));
    let below = (0..shortest - above).take_while(|at| at_end(*at)).count();
    let visible = |line: &&str| {
        let marks = |blanks: &str| blanks.replace(' ', "·").replace('\t', "→").replace('\r', "");
        let (body, inner) = (line.trim(), line.trim_start());
        let (indent, tail) = (&line[..line.len() - inner.len()], &inner[body.len()..]);
        let shown = format!("{}{body}{}", marks(indent), marks(tail));
        if shown.is_empty() { "¶\n".to_owned() } else { shown + "\n" }
    };
    let shown = |text: &Vec<&str>| {
        let from = above.saturating_sub(AROUND);
        let to = (text.len() - below + AROUND).min(text.len());
        text[from..to].iter().map(visible).collect()
    };
    lines.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_that_differ_only_in_blanks_look_different() {
        let shown = |texts: [&str; 2]| differing_lines(&texts.map(str::to_owned));
        assert_eq!(shown(["a\n\tb\nc", "a\n  b\nc"]), ["a\n→b\nc\n", "a\n··b\nc\n"]);
        assert_eq!(shown(["a", "a\n"]), ["a\n", "a\n¶\n"]);
        assert_eq!(shown(["a ", "a"]), ["a·\n", "a\n"]);
        assert_eq!(shown(["a\nb\nc\nd\ne\nf", "a\nb\nc\nd\nx\nf"])[1], "c\nd\nx\nf\n");
        assert_eq!(differing_lines(&["a\nb".to_owned()]), ["a\nb\n"]);
    }
}
