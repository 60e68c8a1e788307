//! The kinds of mistake that the generator adds to real edits, as a table of mutations.
//!
//! A mutation takes an edit whose result is known and changes what the model says, or
//! what the file holds, or both. It keeps four versions of each line side by side
//! (the file's, `old_str`'s, `new_str`'s and the result's), so the truth is made
//! together with the mistake and never computed by the code under test.
//!
//! Why the truth of a recoverable case is the only right answer:
//! - the edit's lines are unique in the file even when everything that a reading
//!   folds is removed (see [`edits`](super::edits)), checked again after mutating;
//! - a mistake that touches `new_str` touches it where the same line of `old_str` is
//!   touched, or in a way that can be undone without knowing the file;
//! - lines that only the file knows about are placed between two kept lines, never
//!   next to a change;
//! - a mutation does not apply (`None`) where its mistake cannot be told from meaning, for
//!   example quotes beside backslashes; and a case whose mutated `old_str` occurs
//!   exactly in the file is dropped unless the literal result is the truth.

mod decorate;
mod escapes;
mod indent;
mod lines;
mod refuse;
mod table;
mod unicode;
mod wording;

pub(crate) use table::MUTATIONS;

use super::case::{Case, Truth};
use super::edits::{DiffLine, RealEdit, folded};
use super::rng::Rng;
use crate::edit::{EditCode, Expected};

/// What the engine must do with a mutated call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// The bytes that the edit meant.
    Right,
    /// A refusal with one of these codes.
    Refused(&'static [EditCode]),
}

/// One step of a mutation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// Changes lines, where their roles are still known.
    Lines(fn(&mut EditDraft<'_>, &mut Rng) -> Option<()>),
    /// Changes whole strings.
    Strings(fn(&mut CallDraft, &mut Rng) -> Option<()>),
}

/// One kind of mistake that a model makes in an edit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mutation {
    /// Its stable name.
    pub id: &'static str,
    /// The group it is scored with.
    pub family: &'static str,
    /// What must come of it.
    pub expectation: Expectation,
    /// What it does.
    pub steps: &'static [Step],
}

/// What an edit does with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineRole {
    /// Context.
    Context,
    /// Removed or rewritten.
    Removed,
    /// Written.
    Added,
}

/// One line in its four versions. `None` where a version does not have it.
#[derive(Debug, Clone)]
pub(crate) struct DraftLine {
    /// Its role in the real edit.
    pub role: LineRole,
    /// In the file before.
    pub file: Option<String>,
    /// In `old_str`.
    pub old: Option<String>,
    /// In `new_str`.
    pub new: Option<String>,
    /// In the file afterwards.
    pub after: Option<String>,
    /// The line break, in the file.
    pub ending: &'static str,
    /// Another line, with its break, that is as right as `after`.
    pub alternative: Option<(String, &'static str)>,
}

/// An edit while its lines are being mutated.
#[derive(Debug, Clone)]
pub(crate) struct EditDraft<'e> {
    /// The real edit.
    pub edit: &'e RealEdit,
    /// The lines.
    pub lines: Vec<DraftLine>,
    /// The file above, ending in a line break unless empty.
    pub head: String,
    /// The file below, starting with the line break of the last line.
    pub tail: String,
}

/// A call in the making: strings, no more lines.
#[derive(Debug, Clone)]
pub(crate) struct CallDraft {
    /// The file above the edit.
    pub head: String,
    /// What the edit replaces.
    pub region: String,
    /// The file below.
    pub tail: String,
    /// What is in the region's place afterwards.
    pub after: String,
    /// What may be there as well.
    pub alternative: Option<String>,
    /// `old_str`
    pub old: String,
    /// `new_str`
    pub new: String,
    /// How often.
    pub expected: Expected,
    /// The tie breaker.
    pub near_line: Option<usize>,
}

impl CallDraft {
    /// The file.
    pub(crate) fn before(&self) -> String {
        [self.head.as_str(), &self.region, &self.tail].concat()
    }

    /// The number of the region's first line.
    pub(crate) fn first_line(&self) -> usize {
        self.head.matches('\n').count() + 1
    }
}

impl DraftLine {
    fn context(line: &str) -> Self {
        let line = Some(line.to_owned());
        Self {
            role: LineRole::Context,
            file: line.clone(),
            old: line.clone(),
            new: line.clone(),
            after: line,
            ending: "\n",
            alternative: None,
        }
    }

    fn from_diff(diff_line: &DiffLine) -> Self {
        match diff_line {
            DiffLine::Context(line) => Self::context(line),
            DiffLine::Removed(line) => {
                Self { role: LineRole::Removed, new: None, after: None, ..Self::context(line) }
            }
            DiffLine::Added(line) => {
                Self { role: LineRole::Added, file: None, old: None, ..Self::context(line) }
            }
        }
    }

    /// Whether it is a context line with words in it.
    pub(crate) fn is_context_text(&self) -> bool {
        self.role == LineRole::Context && self.file.as_ref().is_some_and(|l| !l.trim().is_empty())
    }

    /// Whether it is a blank context line.
    pub(crate) fn is_blank_context(&self) -> bool {
        self.role == LineRole::Context && self.file.as_ref().is_some_and(|l| l.trim().is_empty())
    }

    /// Changes what the model says of the line, in both strings.
    pub(crate) fn change_in_call(&mut self, change: impl Fn(&str) -> String) {
        for line in [&mut self.old, &mut self.new].into_iter().flatten() {
            *line = change(line);
        }
    }

    /// Changes what the file holds, before and after.
    pub(crate) fn change_in_file(&mut self, change: impl Fn(&str) -> String) {
        for line in [&mut self.file, &mut self.after].into_iter().flatten() {
            *line = change(line);
        }
    }
}

impl<'e> EditDraft<'e> {
    fn new(edit: &'e RealEdit) -> Self {
        Self {
            edit,
            lines: edit.lines.iter().map(DraftLine::from_diff).collect(),
            head: edit.head().to_owned(),
            tail: edit.tail().to_owned(),
        }
    }

    /// Shows more of the file above and below as context, up to blank ends.
    pub(crate) fn widen_context(&mut self, above: usize, below: usize) {
        for _ in 0..above {
            let Some(body) = self.head.strip_suffix('\n') else { break };
            let start = body.rfind('\n').map_or(0, |at| at + 1);
            self.lines.insert(0, DraftLine::context(&body[start..]));
            self.head.truncate(start);
        }
        for _ in 0..below {
            let Some(rest) = self.tail.strip_prefix('\n').filter(|rest| rest.contains('\n')) else {
                break;
            };
            let end = rest.find('\n').unwrap_or(rest.len());
            self.lines.push(DraftLine::context(&rest[..end]));
            self.tail = rest[end..].to_owned();
        }
        while self.lines.first().is_some_and(DraftLine::is_blank_context) {
            self.lines.remove(0);
            self.head.push('\n');
        }
        while self.lines.last().is_some_and(DraftLine::is_blank_context) {
            self.lines.pop();
            self.tail.insert(0, '\n');
        }
    }

    /// The indexes of lines that a test accepts.
    pub(crate) fn positions(&self, test: impl Fn(&DraftLine) -> bool) -> Vec<usize> {
        (0..self.lines.len()).filter(|&at| test(&self.lines[at])).collect()
    }

    /// Whether a line and both its neighbours are context, none of them the edge.
    pub(crate) fn is_inside_context(&self, at: usize) -> bool {
        at > 0
            && at + 1 < self.lines.len()
            && self.lines[at - 1..=at + 1]
                .iter()
                .all(|draft_line| draft_line.role == LineRole::Context)
    }

    /// The file's own lines of the edit.
    pub(crate) fn file_lines(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|draft_line| draft_line.file.as_deref()).collect()
    }

    /// How many lines of the edit have words.
    pub(crate) fn nonblank_lines(&self) -> usize {
        self.file_lines().iter().filter(|line| !line.trim().is_empty()).count()
    }

    /// Whether a line that goes or comes has a twin that stays, and the file tells them
    /// apart only by what the call does not know: then either may be the one that stays.
    fn has_interchangeable_line(&self) -> bool {
        let is_twin = |kept: &DraftLine, other: &DraftLine| {
            let line = other.old.as_ref().or(other.new.as_ref());
            line.zip(kept.old.as_ref()).is_some_and(|(a, b)| a.trim_end() == b.trim_end())
        };
        let (kept, others): (Vec<&DraftLine>, Vec<&DraftLine>) =
            self.lines.iter().partition(|draft_line| draft_line.role == LineRole::Context);
        let apart = kept.into_iter().filter(|draft_line| draft_line.file != draft_line.old);
        apart.into_iter().any(|kept| others.iter().any(|other| is_twin(kept, other)))
    }

    /// Every line of the file outside the edit.
    pub(crate) fn lines_outside(&self) -> impl Iterator<Item = &str> {
        self.head.lines().chain(self.tail.lines())
    }

    /// The share of the edit's lines that some other place of the file repeats in
    /// the same order, from 0 to 1. Cases for loose readings want this low.
    pub(crate) fn repeated_share(&self) -> f64 {
        let edit_lines: Vec<String> = self.file_lines().iter().map(|line| folded(line)).collect();
        let words = edit_lines.iter().filter(|line| !line.is_empty()).count().max(1);
        let best = [&self.head, &self.tail]
            .into_iter()
            .map(|text| {
                let other: Vec<String> = text.lines().map(folded).collect();
                (0..other.len())
                    .map(|at| {
                        let end = (at + edit_lines.len()).min(other.len());
                        let pairs = edit_lines.iter().zip(&other[at..end]);
                        pairs.filter(|(a, b)| a == b && !a.is_empty()).count()
                    })
                    .max()
                    .unwrap_or(0)
            })
            .max()
            .unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "line counts are small")]
        let share = best as f64 / words as f64;
        share
    }

    fn into_call(self, final_break: FinalBreak) -> CallDraft {
        let join = |pick: fn(&DraftLine) -> Option<&str>, endings: LineBreaks| {
            let mut out = String::new();
            let mut last = "";
            for draft_line in &self.lines {
                if let Some(line) = pick(draft_line) {
                    out.push_str(last);
                    out.push_str(line);
                    last = match endings {
                        LineBreaks::Lf => "\n",
                        LineBreaks::AsInFile => draft_line.ending,
                    };
                }
            }
            out
        };
        let alternative =
            self.lines.iter().any(|draft_line| draft_line.alternative.is_some()).then(|| {
                let mut other = self.clone();
                for draft_line in &mut other.lines {
                    if let Some((line, ending)) = draft_line.alternative.take() {
                        (draft_line.after, draft_line.ending) = (Some(line), ending);
                    }
                }
                other.into_call(final_break).after
            });
        let mut call = CallDraft {
            alternative,
            region: join(|draft_line| draft_line.file.as_deref(), LineBreaks::AsInFile),
            after: join(|draft_line| draft_line.after.as_deref(), LineBreaks::AsInFile),
            old: join(|draft_line| draft_line.old.as_deref(), LineBreaks::Lf),
            new: join(|draft_line| draft_line.new.as_deref(), LineBreaks::Lf),
            head: self.head,
            tail: self.tail,
            expected: Expected::default(),
            near_line: None,
        };
        if final_break == FinalBreak::Included && call.tail.starts_with('\n') {
            call.tail.remove(0);
            for text in [&mut call.region, &mut call.after, &mut call.old, &mut call.new] {
                text.push('\n');
            }
        }
        call
    }
}

#[derive(Clone, Copy)]
enum LineBreaks {
    Lf,
    AsInFile,
}

/// How the strings of the call end: with or without the last line's break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinalBreak {
    Omitted,
    Included,
}

impl Mutation {
    /// The case that this mutation makes of an edit, or `None` where it does not apply
    /// or where the truth would not be certain.
    pub(crate) fn apply(&self, edit: &RealEdit, seed: u64) -> Option<Case> {
        let mut rng = Rng::new(seed, &format!("{}\n{}", self.id, edit.id));
        let mut draft = EditDraft::new(edit);
        let real = draft.clone().into_call(FinalBreak::Omitted);
        for step in self.steps {
            if let Step::Lines(change) = step {
                change(&mut draft, &mut rng)?;
            }
        }
        if draft.has_interchangeable_line() {
            return None;
        }
        let final_break = if rng.chance(30) { FinalBreak::Included } else { FinalBreak::Omitted };
        let mut call = draft.into_call(final_break);
        let plain = (call.old.clone(), call.new.clone(), call.before());
        for step in self.steps {
            if let Step::Strings(change) = step {
                change(&mut call, &mut rng)?;
            }
        }
        let untouched = !self.steps.is_empty()
            && (call.old.trim_end(), call.new.trim_end()) == (&*real.old, &*real.new)
            && call.before() == *edit.file
            && call.expected == Expected::default()
            && call.near_line.is_none();
        let idle = self.steps.iter().any(|step| matches!(step, Step::Strings(_)))
            && plain == (call.old.clone(), call.new.clone(), call.before())
            && call.expected == Expected::default()
            && call.near_line.is_none();
        if untouched || idle {
            return None;
        }
        self.is_certain(&call).then(|| self.case(edit, call))
    }

    fn is_certain(&self, call: &CallDraft) -> bool {
        let before = call.before();
        let literal: Vec<usize> = before.match_indices(&call.old).map(|(at, _)| at).collect();
        match self.expectation {
            // A text that is in the file after all is not absent.
            Expectation::Refused(codes) => codes != [EditCode::NoOccurrence] || literal.is_empty(),
            Expectation::Right
                if call.expected != Expected::default() || call.near_line.is_some() =>
            {
                call.region != call.after
            }
            Expectation::Right => {
                let region = folded(&call.region);
                let unique =
                    memchr::memmem::find_iter(folded(&before).as_bytes(), region.as_bytes())
                        .count()
                        == 1;
                let truth = [call.head.as_str(), &call.after, &call.tail].concat();
                let literally_right = match literal[..] {
                    [] => true,
                    [at] => {
                        [&before[..at], &call.new, &before[at + call.old.len()..]].concat() == truth
                    }
                    _ => false,
                };
                unique && literally_right && call.region != call.after && call.old != call.new
            }
        }
    }

    fn case(&self, edit: &RealEdit, call: CallDraft) -> Case {
        let range = call.head.len()..call.head.len() + call.region.len();
        Case {
            id: format!("{}@{}", self.id, edit.id),
            cause: self.id.to_owned(),
            family: self.family.to_owned(),
            language: edit.language.name.to_owned(),
            path: edit.path.clone(),
            before: call.before().into_bytes(),
            old: call.old,
            new: call.new,
            expected: call.expected,
            near_line: call.near_line,
            truth: match self.expectation {
                Expectation::Right => Truth::Right {
                    range,
                    texts: [Some(call.after), call.alternative].into_iter().flatten().collect(),
                },
                Expectation::Refused(codes) => Truth::Refused(codes.to_vec()),
            },
        }
    }
}

/// The mutation with this id.
pub(crate) fn by_id(id: &str) -> Option<&'static Mutation> {
    MUTATIONS.iter().find(|mutation| mutation.id == id)
}
